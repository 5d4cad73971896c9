"""Handles: identity, ownership, and what a stale or foreign one gives."""

from __future__ import annotations

import gc
import subprocess
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import jvmti
import programs
from interrupts import interrupt_in
from jvmti.refs import Method, String
from jvmti.wire.channel import ThreadChannel

errors = jvmti.errors


@pytest.fixture(scope="module")
def vm(witness: programs.JavaProgram) -> Iterator[jvmti.VM]:
    with jvmti.attach(witness.pid, timeout=60) as attached:
        yield attached


def objects_held(vm: jvmti.VM) -> int:
    agent = vm.stats.agent
    assert agent is not None
    return agent.objects


def messages_sent(vm: jvmti.VM) -> int:
    """How many so far; asking the agent for its part would be one more."""
    return sum(channel.messages for channel in vm._session.channels)


@pytest.mark.newest
def test_an_index_finds_what_it_holds_after_insertions_and_removals(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    program = tmp_path / "index"
    source = root / "tests" / "native" / "index.cpp"
    options = ["-std=c++17", "-O1", "-Wall", "-Werror", f"-I{root / 'native'}"]
    subprocess.run(["c++", *options, source, "-o", program], check=True)
    ended = subprocess.run([program], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout


def test_one_java_object_is_one_python_object_while_held(vm: jvmti.VM) -> None:
    jni = vm.jni
    cls = jni.find_class("java/lang/String")
    text = jni.new_string("one")
    assert jni.find_class("java/lang/String") is cls
    assert jni.get_object_class(text) is cls
    array = jni.new_object_array(3, cls, text)
    assert all(jni.get_object_array_element(array, index) is text for index in range(3))
    assert {cls: 1}[jni.get_object_class(text)] == 1


def test_equal_java_strings_are_two_objects(vm: jvmti.VM) -> None:
    one, other = vm.jni.new_string("same"), vm.jni.new_string("same")
    assert one != other
    assert one == one
    assert len({one, other}) == 2
    assert one != "same"
    assert one is not None


def test_wrappers_without_the_identity_still_compare_and_hash_by_it(vm: jvmti.VM) -> None:
    text = vm.jni.new_string("shared")
    column = vm.map.new_local_ref([text, text]).check().value
    first, second = column[0], column[1]
    assert first is not second
    assert first == second == text
    assert hash(first) == hash(second) == hash(text)
    assert len({first, second, text}) == 1


def test_a_hash_does_not_change_while_the_wrapper_lives(vm: jvmti.VM) -> None:
    column = vm.map.new_string(["kept"]).check().value
    one = column[0]
    before = hash(one)
    seen = {one: "value"}
    # Others take and give up the identity of the same object meanwhile.
    for _ in range(3):
        vm.jni.new_string("something else")
        again = vm.jni.get_object_class(one)
        del again
    assert hash(one) == before
    assert seen[one] == "value"
    column.release()
    assert hash(one) == before


def test_finalizers_release_in_batches(vm: jvmti.VM) -> None:
    vm.jni.get_version()
    before = objects_held(vm)
    held = [vm.jni.new_string(str(number)) for number in range(500)]
    assert objects_held(vm) == before + 500
    messages = messages_sent(vm)
    held.clear()
    gc.collect()
    assert messages_sent(vm) == messages
    vm.jni.get_version()
    assert messages_sent(vm) == messages + 1
    assert objects_held(vm) == before


def test_objects_that_were_sent_again_are_given_up_all_the_same(vm: jvmti.VM) -> None:
    before = objects_held(vm)
    for _ in range(5):
        cls = vm.jni.find_class("java/util/concurrent/Phaser")
        for _ in range(20):
            assert vm.jni.find_class("java/util/concurrent/Phaser") is cls
        assert objects_held(vm) == before + 1
        del cls
        assert objects_held(vm) == before


def test_exceptions_give_their_throwable_up_when_they_go(vm: jvmti.VM) -> None:
    before = objects_held(vm)
    for _ in range(10):
        with pytest.raises(jvmti.JavaException) as raised:
            vm.jni.find_class("no/such/Class")
        assert raised.value.throwable is not None
    del raised
    gc.collect()
    assert objects_held(vm) == before
    vm.jni.exception_clear()


def test_a_released_wrapper_gives_a_clear_error(vm: jvmti.VM) -> None:
    before = objects_held(vm)
    text = vm.jni.new_string("given up")
    text.release()
    assert objects_held(vm) == before
    with pytest.raises(errors.InvalidObject, match="argument string has been released"):
        vm.jni.get_string_length(text)
    cls = vm.jni.find_class("java/util/Currency")
    cls.release()
    with pytest.raises(errors.InvalidClass, match="has been released"):
        vm.jni.get_superclass(cls)
    text.release()
    assert text != vm.jni.new_string("given up")
    assert text != cls
    assert text == text


def test_a_released_object_comes_back_as_a_new_wrapper(vm: jvmti.VM) -> None:
    cls = vm.jni.find_class("java/util/Currency")
    cls.release()
    again = vm.jni.find_class("java/util/Currency")
    assert again is not cls
    assert vm.env.get_class_signature(again).signature == "Ljava/util/Currency;"


def test_a_handle_is_never_taken_for_the_one_that_reuses_its_place(vm: jvmti.VM) -> None:
    stale = vm.jni.new_string("old")
    number = stale._handle
    vm.jni.delete_local_ref(stale)
    fresh = [vm.jni.new_string("new") for _ in range(50)]
    assert number not in {one._handle for one in fresh}
    assert number & 0xFFFFFFFF in {one._handle & 0xFFFFFFFF for one in fresh}
    with pytest.raises(errors.InvalidObject):
        vm.jni.get_string_chars(stale)


def test_a_wrapper_can_be_weakly_referenced_in_python(vm: jvmti.VM) -> None:
    text = vm.jni.new_string("weak in Python")
    reference = weakref.ref(text)
    assert reference() is text
    del text
    gc.collect()
    assert reference() is None


def test_a_held_object_is_not_collected_and_a_released_one_is(
    vm: jvmti.VM, witness: programs.JavaProgram
) -> None:
    jni = vm.jni
    object_class = jni.find_class("java/lang/Object")
    constructor = jni.get_method_id(object_class, "<init>", "()V")
    held = jni.new_object(object_class, constructor)
    weak = jni.new_weak_global_ref(held)
    assert witness.ask("gc") == "ok"
    assert jni.is_same_object(weak, held)
    held.release()
    vm.jni.get_version()  # takes the release along
    for _ in range(3):
        assert witness.ask("gc") == "ok"
    assert jni.is_same_object(weak, None)


def test_a_weak_reference_equals_only_itself(vm: jvmti.VM) -> None:
    text = vm.jni.new_string("named twice")
    weak, other = vm.jni.new_weak_global_ref(text), vm.jni.new_weak_global_ref(text)
    assert weak == weak
    assert weak != other
    assert weak != text
    assert text != weak
    assert len({weak, other, text}) == 3


def test_a_weak_reference_stands_for_its_object(vm: jvmti.VM) -> None:
    text = vm.jni.new_string("by a weak one")
    weak: Any = vm.jni.new_weak_global_ref(text)
    assert vm.jni.get_string_chars(weak) == "by a weak one"
    assert vm.env.get_object_size(weak) == vm.env.get_object_size(text)


# ---- sessions --------------------------------------------------------------------------------


def test_two_sessions_have_the_same_objects_each_for_itself(
    vm: jvmti.VM, witness: programs.JavaProgram
) -> None:
    mine = vm.jni.find_class("java/lang/Thread")
    with jvmti.attach(witness.pid, timeout=60) as other:
        theirs = other.jni.find_class("java/lang/Thread")
        assert mine != theirs
        assert vm.env.get_object_hash_code(mine) == other.env.get_object_hash_code(theirs)
        assert vm.jni.find_class("java/lang/Thread") is mine
        assert other.jni.find_class("java/lang/Thread") is theirs
        for session, handle in ((vm, theirs), (other, mine)):
            with pytest.raises(errors.ForeignHandle, match="another session"):
                session.env.get_class_signature(handle)
            with pytest.raises(errors.ForeignHandle):
                session.jni.is_same_object(handle, None)
        # Tags of identity are private to each session.
        other.env.add_capabilities(jvmti.Capabilities.of("can_tag_objects"))
        assert other.env.get_tag(theirs) == 0
        held = objects_held(vm)
        del theirs
        other.jni.get_version()
        assert objects_held(vm) == held
    assert vm.env.get_class_signature(mine).signature == "Ljava/lang/Thread;"


def test_handles_of_a_session_that_is_over_say_so(witness: programs.JavaProgram) -> None:
    with jvmti.attach(witness.pid, timeout=60) as over:
        cls = over.jni.find_class("java/lang/Object")
        other = over.jni.find_class("java/lang/String")
    with pytest.raises(errors.SessionClosed, match="detached"):
        over.env.get_class_signature(cls)
    assert cls != other
    assert cls == cls
    cls.release()
    other.release()


def test_methods_and_fields_are_values(vm: jvmti.VM) -> None:
    jni = vm.jni
    string = jni.find_class("java/lang/String")
    length = jni.get_method_id(string, "length", "()I")
    assert jni.get_method_id(string, "length", "()I") == length
    assert hash(jni.get_method_id(string, "length", "()I")) == hash(length)
    assert jni.get_method_id(string, "hashCode", "()I") != length
    assert isinstance(length, Method)
    assert length != 5
    field = jni.get_field_id(string, "hash", "I")
    assert jni.get_field_id(string, "hash", "I") == field
    assert field != length


def test_threads_share_the_wrappers_of_a_session(vm: jvmti.VM) -> None:
    before = objects_held(vm)
    start = threading.Barrier(4)
    found: list[Any] = []

    def look() -> None:
        start.wait()
        for _ in range(200):
            cls = vm.jni.find_class("java/util/BitSet")
            assert vm.env.get_class_signature(cls).signature == "Ljava/util/BitSet;"
            del cls
        found.append(vm.jni.find_class("java/util/BitSet"))

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(one is found[0] for one in found)
    assert objects_held(vm) == before + 1
    found.clear()
    assert objects_held(vm) == before


def test_local_frames_belong_to_the_thread_that_pushed_them(vm: jvmti.VM) -> None:
    vm.jni.push_local_frame(4)
    elsewhere: list[String] = []
    other = threading.Thread(target=lambda: elsewhere.append(vm.jni.new_string("elsewhere")))
    other.start()
    other.join()
    inside = vm.jni.new_string("inside")
    vm.jni.pop_local_frame()
    assert vm.jni.get_string_chars(elsewhere[0]) == "elsewhere"
    with pytest.raises(errors.InvalidObject):
        vm.jni.get_string_chars(inside)


def test_a_wrapper_shows_its_kind_and_no_pointer(vm: jvmti.VM) -> None:
    text = vm.jni.new_string("shown")
    assert "String" in repr(text)
    assert "0x7f" not in repr(text)


# ---- Ctrl-C while something is dropped --------------------------------------------------------


def strings(vm: jvmti.VM) -> list[Any]:
    return [vm.jni.new_string("dropped") for _ in range(3)]


def circle(vm: jvmti.VM) -> None:
    """What only the collector finds."""
    made: list[Any] = strings(vm)
    made.append(made)


def columns(vm: jvmti.VM) -> list[Any]:
    column = vm.map.new_local_ref(strings(vm)).check().value
    return [column, column[0]]


def channel(vm: jvmti.VM) -> list[Any]:
    return [ThreadChannel(vm._session.open())]


@pytest.mark.parametrize("make", [strings, circle, columns, channel])
def test_ctrl_c_is_not_lost_where_something_is_dropped(make: Any, vm: jvmti.VM) -> None:
    before = vm.stats.agent
    assert before is not None
    for _ in range(20):
        dropped = make(vm)
        with pytest.raises(KeyboardInterrupt):
            interrupt_in(gc.collect if make is circle else dropped.clear)
    while True:
        after = vm.stats.agent
        assert after is not None
        if (after.objects, after.channels) == (before.objects, before.channels):
            break


def test_ctrl_c_is_not_lost_where_a_session_is_dropped(witness: programs.JavaProgram) -> None:
    for _ in range(5):
        sessions = [jvmti.attach(witness.pid, timeout=60)]
        sessions[0].detach()
        with pytest.raises(KeyboardInterrupt):
            interrupt_in(sessions.clear)
        with pytest.raises(KeyboardInterrupt):
            interrupt_in(gc.collect)


def test_a_release_is_reported_once(vm: jvmti.VM) -> None:
    """However it comes, and goes: by hand, with its column, or after it was sent again."""
    before = objects_held(vm)
    text = vm.jni.new_string("held")
    array = vm.jni.new_object_array(2, vm.jni.get_object_class(text), text)
    assert vm.jni.get_object_array_element(array, 1) is text
    text.release()
    text.release()
    again = vm.jni.get_object_array_element(array, 0)
    assert again is not text
    del text
    assert vm.jni.get_string_length(again) == 4
    del again
    column = vm.map.get_object_array_element([array, array], [0, 1]).check().value
    first = column[0]
    column.release()
    first.release()
    del first, column
    assert objects_held(vm) == before + 1
    array.release()
    assert objects_held(vm) == before
