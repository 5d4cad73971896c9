"""Map requests and batches: many calls in one message, columns in and out."""

from __future__ import annotations

import struct
import threading
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import jvmti
import programs
from jvmti.interface.errors import ErrorCode
from jvmti.refs import Class, String
from jvmti.wire.columns import HandleColumn, ListColumn, TextColumn

errors = jvmti.errors


@pytest.fixture(scope="module")
def vm(witness: programs.JavaProgram) -> Iterator[jvmti.VM]:
    with jvmti.attach(witness.pid, timeout=60) as attached:
        attached.env.add_capabilities(jvmti.Capabilities.of("can_tag_objects"))
        yield attached


@pytest.fixture(scope="module")
def strings(vm: jvmti.VM) -> list[String]:
    """Strings of one character, two, and so on."""
    return [vm.jni.new_string("é" * length) for length in range(1, 101)]


def objects_held(vm: jvmti.VM) -> int:
    agent = vm.stats.agent
    assert agent is not None
    return agent.objects


def messages_sent(vm: jvmti.VM) -> int:
    """How many so far; asking the agent for its part would be one more."""
    return sum(channel.messages for channel in vm._session.channels)


# ---- map requests ----------------------------------------------------------------------------


def test_numbers_come_as_an_array(vm: jvmti.VM, strings: list[String]) -> None:
    columns = vm.map.get_string_utf_length(strings)
    assert len(columns) == 100
    assert columns.status.dtype == "u2"
    assert not columns.status.any()
    assert columns.value.dtype == "i4"
    assert columns.value.tolist() == [2 * length for length in range(1, 101)]
    assert columns.check() is columns


def test_a_column_of_results_is_a_column_of_arguments(vm: jvmti.VM, strings: list[String]) -> None:
    classes = vm.map.get_object_class(strings).value
    assert isinstance(classes, HandleColumn)
    signatures = vm.env.map.get_class_signature(classes)
    assert isinstance(signatures.signature, TextColumn)
    assert set(signatures.signature) == {"Ljava/lang/String;"}
    assert signatures.generic[0] is not None
    again = vm.env.map.get_class_signature(classes.array)
    assert list(again.signature) == list(signatures.signature)


def test_numpy_columns_and_single_arguments_mix(vm: jvmti.VM) -> None:
    jni = vm.jni
    array = jni.new_object_array(4, jni.find_class("java/lang/Integer"))
    integer = jni.find_class("java/lang/Integer")
    value_of = jni.get_static_method_id(integer, "valueOf", "(I)Ljava/lang/Integer;")
    boxed = [jni.call_static_object_method(integer, value_of, [n]) for n in (5, 6, 7, 8)]
    for order in (numpy.array([3, 2, 1, 0]), numpy.array([3, 2, 1, 0], "u1")):
        vm.map.set_object_array_element(array, order, boxed).check()
    elements = vm.map.get_object_array_element(array, numpy.arange(4)).check().value
    int_value = jni.get_method_id(integer, "intValue", "()I")
    assert vm.map.call_int_method(elements, int_value).value.tolist() == [8, 7, 6, 5]


def test_a_failing_row_leaves_the_others(vm: jvmti.VM, strings: list[String]) -> None:
    gone = vm.jni.new_string("gone")
    vm.jni.delete_local_ref(gone)
    columns = vm.map.get_string_chars([strings[0], gone, strings[2]])
    assert columns.status.tolist() == [0, ErrorCode.INVALID_OBJECT, 0]
    assert columns.value[0] == "é"
    assert columns.value[2] == "ééé"
    with pytest.raises(errors.InvalidObject, match="in row 1 of 3"):
        columns.check()
    assert "1 failed" in repr(columns)


def test_a_row_that_throws_says_so(vm: jvmti.VM) -> None:
    array = vm.jni.new_object_array(2, vm.jni.find_class("java/lang/String"))
    columns = vm.map.get_object_array_element(array, [0, 5, 1])
    assert columns.status.tolist() == [0, 1000, 0]
    assert list(columns.value) == [None, None, None]
    with pytest.raises(jvmti.JavaException, match="in row 1 of 3"):
        columns.check()
    assert not vm.jni.exception_check()


def test_text_that_is_missing_and_text_that_is_empty_differ(vm: jvmti.VM) -> None:
    jni = vm.jni
    classes = [jni.find_class(n) for n in ("java/util/List", "[I", "java/lang/String")]
    generic = vm.env.map.get_class_signature(classes).generic
    assert generic[1] is None
    assert list(generic)[1] is None
    assert generic[0].startswith("<E:")
    assert generic[-1] == vm.env.get_class_signature(classes[2]).generic
    assert generic[0:2] == [generic[0], None]
    texts = [jni.new_string(text) for text in ("", "😀", "\0", "a")]
    assert list(vm.map.get_string_chars(texts).value) == ["", "😀", "\0", "a"]
    assert list(vm.map.get_string_utf_chars(texts).value) == ["", "😀", "\0", "a"]


def test_columns_of_text_are_arguments(vm: jvmti.VM) -> None:
    names = ["java/lang/String", "java/util/List", "no/such/Class", "[[I"]
    columns = vm.map.find_class(names)
    assert columns.status.tolist() == [0, 0, 1000, 0]
    signatures = vm.env.map.get_class_signature(vm.map.find_class(names[:2]).value).signature
    assert [text[1:-1] for text in signatures] == names[:2]
    made = vm.map.new_string(signatures).check().value
    assert list(vm.map.get_string_chars(made).value) == list(signatures)


def test_lists_come_as_counts_and_items(vm: jvmti.VM) -> None:
    jni = vm.jni
    names = ("java/util/ArrayList", "java/lang/Runnable", "java/lang/String")
    classes = [jni.find_class(name) for name in names]
    interfaces = vm.env.map.get_implemented_interfaces(classes).value
    assert isinstance(interfaces, ListColumn)
    assert interfaces.counts[1] == 0
    assert interfaces[1] == []
    for row, cls in enumerate(classes):
        assert interfaces[row] == vm.env.get_implemented_interfaces(cls)
    assert interfaces[-1] == interfaces[2]
    with pytest.raises(IndexError):
        interfaces[3]
    methods = vm.env.map.get_class_methods(classes).value
    for row, cls in enumerate(classes):
        assert methods[row] == vm.env.get_class_methods(cls)


def test_structures_come_as_columns_of_their_members(vm: jvmti.VM) -> None:
    threads = vm.env.get_all_threads()
    infos = vm.env.map.get_thread_info(threads)
    single = [vm.env.get_thread_info(thread) for thread in threads]
    assert list(infos.name) == [info.name for info in single]
    assert infos.priority.tolist() == [info.priority for info in single]
    assert list(infos.thread_group) == [info.thread_group for info in single]
    stacks = vm.env.map.get_stack_trace(threads, 0, 5).value
    assert len(stacks) == len(threads)
    assert set(stacks[0]) == {"method", "location"}


def test_blocks_of_elements_come_apart(vm: jvmti.VM) -> None:
    jni = vm.jni
    arrays = [jni.new_int_array(length) for length in (0, 3, 1)]
    jni.set_int_array_region(arrays[1], 0, numpy.array([1, 2, 3]))
    blocks = vm.map.get_int_array_elements(arrays).value
    assert [block.tolist() for block in blocks] == [[], [1, 2, 3], [0]]
    assert blocks[1].dtype == "i4"
    raw = vm.map.get_primitive_array_critical(arrays).value
    assert raw[1] == struct.pack("<3i", 1, 2, 3)


def test_no_rows_give_empty_columns(vm: jvmti.VM) -> None:
    columns = vm.env.map.get_class_signature([])
    assert len(columns) == 0
    assert list(columns.signature) == []
    assert len(vm.map.get_string_length(numpy.empty(0, "u8")).value) == 0
    assert len(vm.map.get_object_class([]).value) == 0


def test_without_a_column_there_is_one_row(vm: jvmti.VM, strings: list[String]) -> None:
    assert vm.map.get_version().value.tolist() == [vm.jni.get_version()]
    assert vm.map.get_string_length(strings[4]).value.tolist() == [5]


def test_columns_of_different_lengths_are_refused(vm: jvmti.VM, strings: list[String]) -> None:
    with pytest.raises(ValueError, match=r"column ref2 has 2 rows, others 3"):
        vm.map.is_same_object(strings[:3], strings[:2])
    with pytest.raises(ValueError, match="one dimension"):
        vm.map.get_string_length(numpy.zeros((2, 2), "u8"))


def test_columns_of_other_things_are_refused(vm: jvmti.VM, strings: list[String]) -> None:
    array = vm.jni.new_object_array(1, vm.jni.find_class("java/lang/String"))
    with pytest.raises(TypeError, match="column index must hold int32, not float64"):
        vm.map.get_object_array_element(array, numpy.array([0.5]))
    with pytest.raises(OverflowError, match="column index"):
        vm.map.get_object_array_element(array, numpy.array([2**31]))
    with pytest.raises(OverflowError, match="does not fit"):
        vm.map.get_object_array_element(array, [2**31])
    with pytest.raises(errors.InvalidObject, match="must be a String, not ObjectArray"):
        vm.map.get_string_length([strings[0], array])
    with pytest.raises(TypeError):
        vm.map.get_string_length()
    with pytest.raises(TypeError):
        vm.map.get_string_length(strings, other=1)
    with pytest.raises(AttributeError, match="no_such_function"):
        vm.map.no_such_function  # noqa: B018
    with pytest.raises(AttributeError, match="no column 'nothing'; there are value"):
        vm.map.get_string_length(strings).nothing  # noqa: B018


@pytest.mark.parametrize("kind", ["nonsense", "array of no objects", "method"])
def test_handles_that_were_never_issued_fail_row_by_row(kind: str, vm: jvmti.VM) -> None:
    if kind == "nonsense":
        handles = numpy.array([0, 1, 2**63, 2**64 - 1, 0x0800000000000000], "u8")
        status = vm.map.get_string_length(handles).status
    elif kind == "method":
        string = vm.jni.find_class("java/lang/String")
        method = vm.jni.get_method_id(string, "length", "()I")
        handles = numpy.array([method._handle], "u8")
        status = vm.map.get_string_length(handles).status
    else:
        column = vm.map.new_string(["no array"]).value
        handles = column.array
        status = vm.map.get_array_length(handles).status
    assert (status == ErrorCode.INVALID_OBJECT).all()


def test_a_large_request_goes_through_shared_memory(vm: jvmti.VM) -> None:
    rows = 100_000
    array = vm.jni.new_object_array(1000, vm.jni.find_class("java/lang/String"))
    texts = vm.map.new_string([f"text {n}" for n in range(1000)]).check().value
    vm.map.set_object_array_element(array, numpy.arange(1000), texts).check()
    before = vm.stats.bytes
    indices = numpy.arange(rows) % 1001
    columns = vm.map.get_object_array_element(array, indices)
    assert vm.stats.bytes - before < 1000  # the socket carried but the announcement
    assert numpy.count_nonzero(columns.status) == numpy.count_nonzero(indices == 1000)
    assert (columns.status[indices == 1000] == 1000).all()
    assert columns.value[1001] == texts[0]
    lengths = vm.map.get_string_length(columns.value)
    assert lengths.value[999] == len("text 999")
    long_reply = vm.map.get_string_chars(columns.value).value
    assert long_reply[rows - 1] == f"text {int(indices[-1])}"


# ---- handle columns --------------------------------------------------------------------------


def test_a_column_of_handles_is_given_up_as_one(vm: jvmti.VM, strings: list[String]) -> None:
    before = objects_held(vm)
    column = vm.map.new_local_ref(strings).check().value
    assert objects_held(vm) == before + 100
    one = column[7]
    assert one == strings[7]
    messages = messages_sent(vm)
    column.release()
    assert messages_sent(vm) == messages  # goes ahead of the next request
    assert objects_held(vm) == before
    assert len(column) == 0
    with pytest.raises(errors.InvalidObject):
        vm.jni.get_string_length(one)
    column.release()


def test_a_wrapper_keeps_the_column_it_came_from(vm: jvmti.VM, strings: list[String]) -> None:
    before = objects_held(vm)
    one = vm.map.new_local_ref(strings).check().value[7]
    assert objects_held(vm) == before + 100
    assert vm.jni.get_string_length(one) == 8
    del one
    assert objects_held(vm) == before


def test_a_column_of_another_session_is_refused(
    vm: jvmti.VM, witness: programs.JavaProgram
) -> None:
    with jvmti.attach(witness.pid, timeout=60) as other:
        column = other.map.find_class(["java/lang/String", "java/lang/Object"]).value
        with pytest.raises(errors.ForeignHandle, match="another session"):
            vm.env.map.get_class_signature(column)
        with pytest.raises(errors.ForeignHandle):
            vm.env.map.get_class_signature([column[0]])
        with pytest.raises(errors.ForeignHandle):
            vm.env.get_class_signature(column[0])


# ---- batches ---------------------------------------------------------------------------------


def test_a_batch_is_one_message(vm: jvmti.VM, strings: list[String]) -> None:
    vm.jni.get_version()
    before = messages_sent(vm)
    with vm.jni.batch() as batch:
        lengths = [batch.get_string_length(one) for one in strings]
        text = batch.get_string_chars(strings[1])
    assert messages_sent(vm) == before + 1
    assert [length.result() for length in lengths] == list(range(1, 101))
    assert text.result() == "éé"


def test_each_call_of_a_batch_has_its_own_failure(vm: jvmti.VM, strings: list[String]) -> None:
    gone = vm.jni.new_string("gone")
    vm.jni.delete_local_ref(gone)
    with vm.jni.batch() as batch:
        stale = batch.get_string_length(gone)
        missing = batch.find_class("no/such/Class")
        good = batch.get_string_length(strings[2])
    with pytest.raises(errors.InvalidObject):
        stale.result()
    with pytest.raises(jvmti.JavaException, match="no/such/Class"):
        missing.result()
    assert good.result() == 3


def test_the_arguments_of_a_batch_live_until_it_is_sent(vm: jvmti.VM) -> None:
    with vm.jni.batch() as batch:
        lengths = [batch.get_string_length(vm.jni.new_string("x" * n)) for n in range(10)]
        vm.jni.get_version()
    assert [length.result() for length in lengths] == list(range(10))


def test_a_batch_must_be_sent_before_its_results_are_there(vm: jvmti.VM) -> None:
    with vm.env.batch() as batch:
        phase = batch.get_phase()
        with pytest.raises(RuntimeError, match="leave the batch first"):
            phase.result()
        with pytest.raises(TypeError, match="klass must be a Class"):
            batch.get_class_signature("text")
    assert phase.result() == vm.env.get_phase()
    with vm.env.batch():
        pass


def test_a_batch_that_fails_in_its_block_is_not_sent(vm: jvmti.VM) -> None:
    cls = vm.jni.find_class("java/lang/Object")
    vm.env.set_tag(cls, 0)

    def fail() -> None:
        with vm.env.batch() as batch:
            batch.set_tag(cls, 9)
            raise KeyError("in the block")

    with pytest.raises(KeyError):
        fail()
    assert vm.env.get_tag(cls) == 0


def test_threads_map_at_once(vm: jvmti.VM, strings: list[String]) -> None:
    outcome: list[Any] = []

    def work() -> None:
        for _ in range(20):
            outcome.append(vm.map.get_string_length(strings).value.sum())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcome == [5050] * 80


def test_classes_of_objects_are_one_python_object_when_asked_singly(
    vm: jvmti.VM, strings: list[String]
) -> None:
    column = vm.map.get_object_class(strings[:2]).value
    first: Class = column[0]
    assert first == column[1]
    assert hash(first) == hash(column[1]) == hash(vm.jni.find_class("java/lang/String"))
    assert len({column[0], column[1], vm.jni.find_class("java/lang/String")}) == 1
