"""Traces of calls in a running JVM, by probes that are put into its classes."""

from __future__ import annotations

import os
import signal
import textwrap
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import jvmti
from jvmti.instrumentation.probes import BadProbe
from jvmti.interface.errors import UnmodifiableClass
from jvmti.interface.signatures import parameters_of, signature_of
from jvmti.layouts.probe_memory import MEMORY, PROBE_SITE
from jvmti.layouts.probes import RecordedKind
from jvmti.tracing.records.calls import Call, Calls, tree_of
from jvmti.tracing.records.sites import RecordedObject, read_sites
from prepared import attaching

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jvms import Jvm
    from jvmti.tracing.trace import Trace
    from programs import JavaProgram, JavaPrograms

ORDER = "Traced$Order"
SOURCE = Path(__file__).parents[1] / "java" / "Traced.java"
LINES = dict(enumerate(SOURCE.read_text().splitlines(), 1))
(MAIN,) = [f"Traced.main:{number}" for number, line in LINES.items() if "println(answer(" in line]


@pytest.fixture(scope="module")
def traced(shared_java_program: JavaPrograms) -> JavaProgram:
    program = shared_java_program("Traced", jvm_args=["-Xmx128m", "-Xss512k"])
    program.expect("ready")
    # Classes are loaded when something needs them.
    program.ask("add 1")
    return program


@pytest.fixture(scope="module")
def vm(traced: JavaProgram) -> Iterator[jvmti.VM]:
    with jvmti.attach(traced.pid, timeout=30) as attached:
        yield attached
    assert traced.running()


WAYS: dict[str, Callable[[jvmti.VM, str], Any]] = {
    "trace": lambda vm, name: vm.trace(f"{name}.run"),
    "trace of what is loaded later": lambda vm, name: vm.trace(f"{name}.*", unloaded=True),
    "logpoint": lambda vm, name: vm.logpoint(f"{name}.run", "x"),
    "count": lambda vm, name: vm.logpoint(f"{name}.*", by="method"),
    "change": lambda vm, name: vm.change(f"{name}.run", returns=3),
    "breakpoint": lambda vm, name: vm.breakpoint(name, "get*"),
    "line": lambda vm, name: vm.breakpoint(name, line=3),
    "catch": lambda vm, name: vm.catch(name),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_has_no_code_is_refused_before_anything_changes(traced: JavaProgram, way: str) -> None:
    traced.ask("lambda 1")
    # A breakpoint has a set of probes made for steps, which its session keeps.
    with jvmti.attach(traced.pid, timeout=30) as vm:
        check_refused(vm, way)


def check_refused(vm: jvmti.VM, way: str) -> None:
    """Nothing of what has no code gets probes."""
    hidden = next(one for one in vm.classes() if "Traced$$Lambda" in one.name)
    name = next(one.name for one in hidden.methods if one.name != "<init>")
    for of, why in (
        ("int", "int is a primitive type, and has no code"),
        ("java.lang.String[]", r"java\.lang\.String\[\] is an array class, and has no code"),
        (hidden.name, "(is hidden|is no exception|has code at line)"),
    ):
        with pytest.raises((LookupError, ValueError, UnmodifiableClass), match=why):
            WAYS[way](vm, of)
    with pytest.raises(UnmodifiableClass, match=r"lambda\$\.\.\. of Traced"):
        vm.trace(f"{hidden.name}.{name}")
    with pytest.raises(LookupError, match="matches only arrays and hidden classes"):
        vm.trace("Traced$$Lambda*.*")
    assert not list(vm.breakpoints)


@pytest.mark.parametrize("name", ["java.lang.Integer", "java.lang.Object", "Traced"])
def test_only_exceptions_are_caught(vm: jvmti.VM, name: str) -> None:
    with pytest.raises(LookupError, match=f"{name} is no exception: it does not extend java.lang"):
        vm.catch(name)
    vm.catch("java.lang.Throwable").cancel()


def calls_of(trace: Trace, most: int) -> list[Call]:
    """So many calls, or those of ten seconds."""
    found: list[Call] = []
    until = time.monotonic() + 10
    while len(found) < most and time.monotonic() < until:
        found += trace.read(0.1)
    return found


def test_a_call_has_its_arguments_its_value_and_its_time(vm: jvmti.VM, traced: JavaProgram) -> None:
    before = time.monotonic_ns()
    with vm.trace(f"{ORDER}.add") as trace:
        traced.ask("add 3")
        calls = calls_of(trace, 3)
    after = time.monotonic_ns()
    assert [one.arguments for one in calls] == [(0, "tea 0"), (1, "tea 1"), (2, "tea 2")]
    assert [one.value for one in calls] == [calls[0].value, *[calls[0].value + n for n in (1, 3)]]
    for one in calls:
        assert (one.class_name, one.method) == (ORDER, "add")
        assert one.descriptor == "(ILjava/lang/String;)I"
        assert one.thread == "main"
        assert one.thread_id > 0
        assert one.exception is None
        assert one.line > 0
        assert before < one.time - one.duration < one.time < after
    assert str(calls[1]).startswith(f'{ORDER}.add(1, "tea 1") = {calls[1].value}  ')
    assert [one.time for one in calls] == sorted(one.time for one in calls)
    assert trace.dropped == 0


def test_values_are_of_every_type(vm: jvmti.VM, traced: JavaProgram) -> None:
    with vm.trace(f"{ORDER}.everything") as trace:
        traced.ask("everything")
        (call,) = calls_of(trace, 1)
    assert call.arguments == (True, -2, "x", -3, 4, 5, 1.5, 2.5)
    assert [type(value) for value in call.arguments[:2]] == [bool, int]
    assert call.value == 9


def test_objects_are_what_they_say_of_themselves(vm: jvmti.VM, traced: JavaProgram) -> None:
    with vm.trace(f"{ORDER}.objects", text=16) as trace:
        traced.ask("objects")
        first, second = calls_of(trace, 2)
    text, color, type_, numbers, boxed, none = first.arguments
    assert (text, boxed, none) == ("a text", 42, None)
    assert str(color) == "Traced$Color.GREEN"
    assert str(type_) == "java.lang.String.class"
    assert (numbers.kind, numbers.number, str(numbers)) == (RecordedKind.ARRAY, 3, "int[3]")
    assert first.value.class_name.startswith("java.util.ImmutableCollections$List")
    long, color, type_, numbers, boxed, order = second.arguments
    assert (long.text, long.is_cut, long.number) == ("a very long text", True, 49)
    assert str(long) == '"a very long text…"'
    assert (color, numbers, boxed) == (None, None, None)
    assert str(type_) == "int.class"
    assert order.class_name == ORDER
    assert order == second.value
    assert str(order) == f"{ORDER}@{order.number:x}"


def test_a_condition_behind_variables_of_two_slots(vm: jvmti.VM, traced: JavaProgram) -> None:
    with vm.trace(f"{ORDER}.longer", when="value > 3") as trace:
        assert [traced.ask(f"longer {number}") for number in (1, 50)] == ["2", "4"]
        [call] = calls_of(trace, 1)
    assert (call.arguments, call.value) == ((50,), 4)


def test_a_long_text_is_cut_between_characters(vm: jvmti.VM, traced: JavaProgram) -> None:
    with vm.trace(f"{ORDER}.objects", text=16) as trace:
        traced.ask("wide")
        text = calls_of(trace, 1)[0].arguments[0]
    assert (text.text, text.is_cut, text.number) == ("ab" + 4 * "€", True, 10)


def test_an_exception_that_leaves_a_method_ends_its_call(vm: jvmti.VM, traced: JavaProgram) -> None:
    with vm.trace(f"{ORDER}.check") as trace:
        assert traced.ask("check 1") == "caught"
        assert traced.ask("check 0") == "abc"
        failed, fine = calls_of(trace, 2)
    assert failed.exception == RecordedObject(
        "java.lang.IllegalStateException",
        RecordedKind.THROWABLE,
        "too long: abcd",
        False,
        failed.exception.number if failed.exception else 0,
    )
    assert failed.value is None
    assert failed.outcome == "! java.lang.IllegalStateException: too long: abcd"
    assert (fine.exception, fine.value, fine.arguments) == (None, "abc", ("abc",))


def test_arguments_are_those_that_were_passed(vm: jvmti.VM, traced: JavaProgram) -> None:
    with vm.trace(f"{ORDER}.changes") as trace:
        traced.ask("changes")
        (call,) = calls_of(trace, 1)
    assert call.arguments == (5, "five")
    assert call.outcome == ""
    assert ")  " in str(call)


def test_constructors_are_traced_where_the_pattern_names_them(
    vm: jvmti.VM, traced: JavaProgram
) -> None:
    with vm.trace(f"{ORDER}.*") as trace, vm.trace(f"{ORDER}.<init>(int)") as made:
        traced.ask("make 7")
        traced.ask("deep 0")
        (call,) = calls_of(made, 1)
        others = calls_of(trace, 1)
    assert (call.method, call.arguments) == ("<init>", (7,))
    assert [one.method for one in others] == ["deep"]


def test_only_calls_that_took_long(vm: jvmti.VM, traced: JavaProgram) -> None:
    with vm.trace(f"{ORDER}.slow", over=0.05) as trace:
        traced.ask("slow 1")
        traced.ask("slow 80")
        traced.ask("slow 1")
        (call,) = calls_of(trace, 1)
        assert not trace.read(0.2)
    assert call.arguments == (80,)
    assert call.duration >= 80_000_000


def test_the_tree_has_each_call_below_the_one_that_made_it(
    vm: jvmti.VM, traced: JavaProgram
) -> None:
    with vm.trace(f"{ORDER}.deep") as trace:
        traced.ask("deep 2")
        traced.ask("deep 1")
        root = tree_of(calls_of(trace, 5))
    counts = []
    node = root
    while node.children:
        (node,) = node.children.values()
        counts.append(node.calls)
    assert counts == [2, 2, 1]
    (outer,) = root.children.values()
    assert outer.own == outer.total - sum(one.total for one in outer.children.values())
    assert len(root.lines()) == 3


def test_a_summary_counts_every_call(vm: jvmti.VM, traced: JavaProgram) -> None:
    with vm.trace(f"{ORDER}.add", f"{ORDER}.check", f"{ORDER}.slow", summary=True) as trace:
        traced.ask("random 20000", timeout=60)
        for number in (0, 1, 0):
            traced.ask(f"check {number}")
        traced.ask("slow 60")
        found = {one.name: one for one in trace.summary()}
    add, check, slow = (found[f"{ORDER}.{name}"] for name in ("add", "check", "slow"))
    assert (add.calls, add.failures) == (20000, 0)
    assert (check.calls, check.failures) == (3, 1)
    assert (slow.calls, slow.failures) == (1, 0)
    assert 60_000_000 <= slow.longest == slow.total
    assert slow.p50 == slow.p99 == slow.longest
    assert add.p50 <= add.p99 <= add.longest <= add.total
    assert add.mean == add.total / 20000


def test_threads_are_distinguished(vm: jvmti.VM, traced: JavaProgram) -> None:
    with vm.trace(f"{ORDER}.add") as trace:
        traced.ask("threads 40")
        calls = calls_of(trace, 40)
    assert sorted(one.arguments[0] for one in calls) == list(range(40))
    assert len({one.thread_id for one in calls}) == 40
    assert all(one.thread.startswith(("adder", "#")) for one in calls)


def test_calls_above_the_limit_are_dropped_and_counted(vm: jvmti.VM, traced: JavaProgram) -> None:
    with vm.trace(f"{ORDER}.add", limit=50) as trace:
        traced.ask("random 3000", timeout=60)
        calls = trace.read()
        time.sleep(1.1)
        trace.read()
        traced.ask("random 10")
        later = calls_of(trace, 10)
        assert len(calls) <= 50
        assert len(calls) + trace.dropped == 3000
    assert len(later) == 10


def test_all_calls_are_there_without_a_limit(vm: jvmti.VM, traced: JavaProgram) -> None:
    with vm.trace(f"{ORDER}.add", limit=None) as trace:
        found = []
        for _ in range(20):
            traced.ask("random 1000", timeout=60)
            found += trace.read()
        found += trace.read()
    assert trace.dropped == 0
    assert len(found) == 20000
    values = [one.value for one in found]
    assert values == sorted(values)


def test_a_class_that_is_loaded_later_gets_probes(java_program: JavaPrograms) -> None:
    program = java_program("Traced")
    program.expect("ready")
    with jvmti.attach(program.pid, timeout=30) as vm:
        with pytest.raises(LookupError, match="no loaded class matches 'Traced\\$Later'"):
            vm.trace("Traced$Later.late")
        with vm.trace("Traced$Later.late", unloaded=True) as trace:
            assert program.ask("late 21") == "42"
            (call,) = calls_of(trace, 1)
        assert (call.arguments, call.value) == ((21,), 42)
        # One that was loaded with probes in it loses them, too.
        assert b"JvmtiProbes" not in bytes(vm.find_class("Traced$Later").class_file)
        assert program.ask("late 4") == "8"


def test_classes_of_the_jdk_can_be_traced(vm: jvmti.VM, traced: JavaProgram) -> None:
    names = ("java.util.ArrayList.*", "java.lang.Thread.*", "java.lang.String.length")
    with vm.trace(*names, limit=None) as trace:
        traced.ask("threads 3")
        traced.ask("add 3")
        calls = calls_of(trace, 10)
    assert {one.class_name for one in calls} >= {"java.lang.Thread"}
    assert any(one.thread == "main" for one in calls)


@pytest.mark.parametrize("options", [{}, {"arguments": False}, {"stack": 3, "text": 16}], ids=str)
def test_a_table_has_what_the_calls_have(
    vm: jvmti.VM, traced: JavaProgram, options: dict[str, Any]
) -> None:
    patterns = (f"{ORDER}.*", f"call {ORDER}.add in Traced.*", "java.lang.String.valueOf")
    with (
        vm.trace(*patterns, limit=None, **options) as one,
        vm.trace(*patterns, limit=None, **options) as other,
    ):
        asked = ("add 30", "everything", "objects", "wide", "longer 50", "check 0", "check 1")
        for request in (*asked, "deep 4", "threads 3", "price 2"):
            traced.ask(request)
        calls, table = one.read(5), other.read_table(5)
        assert len(calls) == len(table) > 70
        wanted, found = calls.to_arrow(), table.to_arrow()
        assert found.schema == wanted.schema
        for name in wanted.column_names:
            if name not in ("time", "duration"):
                assert found[name].to_pylist() == wanted[name].to_pylist(), name
        assert table.time.tolist() == found["time"].to_pylist() == sorted(table.time.tolist())
        assert [table.names[number] for number in table.name] == [call.name for call in calls]
        assert table.first(7).to_arrow().to_pylist() == found.to_pylist()[:7]
        assert len(other.read_table()) == 0
        assert other.read_table().to_arrow().schema == found.schema


@pytest.mark.parametrize("stack", [0, 2])
def test_the_calls_of_a_method_are_a_table_with_types(
    vm: jvmti.VM, traced: JavaProgram, stack: int
) -> None:
    import pyarrow

    wide = "Traced.wide"
    with (
        vm.trace("Traced*.*", limit=None, stack=stack) as one,
        vm.trace("Traced*.*", limit=None, stack=stack) as other,
    ):
        for request in ("add 30", "everything", "check 0", "check 1", "price 2"):
            traced.ask(request)
        calls, table = one.read(5), other.read_table(5)
    types = {"Z": pyarrow.bool_(), "B": pyarrow.int8(), "S": pyarrow.int16(), "I": pyarrow.int32()}
    types |= {"J": pyarrow.int64(), "F": pyarrow.float32(), "D": pyarrow.float64()}
    seen = set()
    for name, descriptor in sorted({(call.name, call.descriptor) for call in calls}):
        mine = [call for call in calls if (call.name, call.descriptor) == (name, descriptor)]
        found = table.of_method(name, descriptor)
        assert found["thread"].to_pylist() == [call.thread for call in mine]
        signatures = [signature_of(one) for one in parameters_of(descriptor)]
        for number, signature in enumerate(signatures):
            column = found[f"arg{number}"]
            assert column.type == types.get(signature, pyarrow.string())
            wanted = [call.arguments[number] for call in mine if not call.omitted]
            if signature in types:
                assert column.to_pylist() == pytest.approx(wanted)
            seen.add(signature)
        result = descriptor.partition(")")[2]
        assert ("value" in found.column_names) == (result != "V")
        if result in types:
            assert found["value"].to_pylist() == [call.value for call in mine]
        thrown = [None if call.exception is None else str(call.exception) for call in mine]
        assert found["exception"].to_pylist() == thrown
    assert seen >= {"I", "J", "D", "Z", "Ljava/lang/String;"}
    add = table.of_method(f"{ORDER}.add")
    assert add["arg1"].to_pylist() == [f"tea {number}" for number in range(30)]
    for name, why in ((f"{ORDER}.ad", "did you mean"), (wide, "there is no call of")):
        with pytest.raises(LookupError, match=why):
            table.of_method(name)


def test_a_table_takes_all_that_is_recorded(vm: jvmti.VM, traced: JavaProgram) -> None:
    with vm.trace(f"{ORDER}.add", limit=None) as trace:
        found = []
        for _ in range(5):
            traced.ask("add 1500")
            found.append(trace.read_table())
        assert trace.dropped == 0
    assert [len(one) for one in found] == [1500] * 5
    arguments = found[-1].to_arrow()["arguments"].to_pylist()
    assert arguments == [[str(number), f'"tea {number}"'] for number in range(1500)]


def test_a_table_has_no_objects(vm: jvmti.VM) -> None:
    with vm.trace(f"{ORDER}.add", objects=10) as trace, pytest.raises(ValueError, match="objects="):
        trace.read_table()


def test_two_traces_of_one_method_see_the_same(vm: jvmti.VM, traced: JavaProgram) -> None:
    with (
        jvmti.attach(traced.pid, timeout=30) as other,
        vm.trace(f"{ORDER}.add") as first,
        other.trace(f"{ORDER}.add") as second,
    ):
        traced.ask("add 4")
        seen, also = calls_of(first, 4), calls_of(second, 4)
        assert [one.arguments for one in seen] == [one.arguments for one in also]
        second.close()
        traced.ask("add 2")
        assert len(calls_of(first, 2)) == 2
        assert not second.read()


def test_classes_are_afterwards_what_they_were(vm: jvmti.VM, traced: JavaProgram) -> None:
    cls = vm.find_class(ORDER)
    with vm.trace(f"{ORDER}.*"):
        pass
    before = bytes(cls.class_file)
    for _ in range(3):
        with vm.trace(f"{ORDER}.*", "java.util.ArrayList.*") as trace:
            traced.ask("add 2")
            assert b"JvmtiProbes" in bytes(cls.class_file)
            assert trace.classes == 2
        assert bytes(cls.class_file) == before


_CONTROLLER = """
    import sys, time, jvmti
    vm = jvmti.attach(int(sys.argv[1]), timeout=30)
    traces = [vm.trace("Traced.*", limit=None), vm.trace("Traced*.*", summary=True)]
    print("armed", flush=True)
    time.sleep(60)
"""


def test_a_killed_controller_leaves_no_probes(vm: jvmti.VM, traced: JavaProgram) -> None:
    cls = vm.find_class("Traced")
    with vm.trace("Traced*.*"):
        pass
    before = bytes(cls.class_file)
    traced.ask("start 2")
    for _ in range(3):
        controller = attaching("-c", textwrap.dedent(_CONTROLLER), traced.pid)
        assert controller.stdout.readline() == "armed\n"
        assert bytes(cls.class_file) != before
        os.kill(controller.pid, signal.SIGKILL)
        controller.communicate()
        until = time.monotonic() + 10
        while bytes(cls.class_file) != before and time.monotonic() < until:
            time.sleep(0.05)
        assert bytes(cls.class_file) == before
        counted = int(traced.ask("counted"))
        while int(traced.ask("counted")) == counted:
            time.sleep(0.01)
    traced.ask("stop")


def test_arming_and_disarming_while_threads_run(vm: jvmti.VM, traced: JavaProgram) -> None:
    traced.ask("start 3")
    for number in range(10):
        with vm.trace("Traced.spin", limit=None if number % 2 else 10) as trace:
            calls = calls_of(trace, 5)
            assert all(
                one.value == (one.arguments[0] * 31 + 7 + (1 << 31)) % (1 << 32) - (1 << 31)
                for one in calls
            )
            assert {one.thread for one in calls} <= {f"spinner {n}" for n in range(3)}
    traced.ask("stop")


def test_a_stack_that_overflows_in_a_probe_harms_nothing(vm: jvmti.VM, traced: JavaProgram) -> None:
    with vm.trace(f"{ORDER}.endless", limit=None) as trace:
        assert traced.ask("overflow 30", timeout=60) == "overflown"
        assert traced.ask("deep 3") == "3"
        calls = calls_of(trace, 30)
    assert calls
    assert all(one.exception is not None for one in calls)
    assert traced.ask("overflow 3", timeout=60) == "overflown"
    endless = f"{ORDER}.endless"
    stops: list[object] = []
    with (
        vm.trace(endless, objects=5, stack=5, limit=None),
        vm.trace(endless, by="this.total"),
        vm.logpoint(endless, by="caller"),
        vm.logpoint(f"call *.* in {endless}", "{target} {type(target)} {thread}", limit=None),
        vm.change(endless, returns=3, when="arg0 == -1 or this.total == -1"),
        vm.breakpoint(ORDER, "endless", hits="every 500", do=stops.append),
    ):
        # What looks at the whole of a stack of thousands of frames takes a minute.
        assert traced.ask("overflow 3", timeout=20) == "overflown"
        assert traced.ask("deep 3") == "3"
    assert stops


def test_virtual_threads_are_traced(java_program: JavaPrograms, jvm: Jvm) -> None:
    if jvm.name not in ("21", "25"):
        pytest.skip("virtual threads came with Java 21")
    program = java_program("VirtualThreads")
    program.expect("ready")
    with jvmti.attach(program.pid, timeout=30) as vm, vm.trace("VirtualThreads.work") as trace:
        assert program.ask("run 20") == "60"
        calls = calls_of(trace, 60)
    assert len(calls) == 60
    assert len({one.thread_id for one in calls}) == 20


def test_a_thread_without_a_name_has_its_number(vm: jvmti.VM, traced: JavaProgram) -> None:
    main = vm.threads["main"]
    (number,) = vm.threads.ids([main])
    main.call("setName", "")
    try:
        with vm.logpoint(f"{ORDER}.add", "by {thread}") as log:
            traced.ask("add 1")
            (hit,) = log.read(5.0)
    finally:
        main.call("setName", "main")
    assert (hit.thread, hit.text) == (f"#{number}", f"by #{number}")


def test_calls_have_their_callers(vm: jvmti.VM, traced: JavaProgram) -> None:
    with vm.trace(f"{ORDER}.deep", stack=3, arguments=False) as trace:
        traced.ask("deep 4")
        calls = calls_of(trace, 5)
    deep = next(line for line in LINES if "1 + deep(levels - 1)" in LINES[line])
    asked = next(line for line in LINES if '"" + order.deep(number)' in LINES[line])
    inner = [f"{ORDER}.deep:{deep}"] * 4
    for level, call in enumerate(calls):
        assert list(call.stack) == [*inner[level:], f"Traced.answer:{asked}", MAIN][:3]
        assert call.value == level
    with vm.trace(f"{ORDER}.add", stack=1, text=8) as trace:
        traced.ask("add 1")
        (call,) = calls_of(trace, 1)
    assert [one.rpartition(":")[0] for one in call.stack] == ["Traced.answer"]
    assert call.arguments == (0, "tea 0")


@pytest.mark.parametrize("stack", [-1, 257])
def test_a_number_of_callers_that_makes_no_sense_is_refused(vm: jvmti.VM, stack: int) -> None:
    with pytest.raises(BadProbe, match="a number of frames, at most 256"):
        vm.trace(f"{ORDER}.deep", stack=stack)


def test_columns_are_a_table(vm: jvmti.VM, traced: JavaProgram) -> None:
    pytest.importorskip("pyarrow")
    with vm.trace(f"{ORDER}.add", f"{ORDER}.check") as trace:
        traced.ask("add 2")
        traced.ask("check 1")
        table = Calls(calls_of(trace, 3)).to_arrow()
    rows = table.to_pylist()
    assert rows[0]["arguments"] == ["0", '"tea 0"']
    assert [row["method"] for row in rows] == ["add", "add", "check"]
    assert rows[2]["exception"] == "java.lang.IllegalStateException: too long: abcd"
    assert rows[2]["value"] is None
    assert rows[2]["stack"] == []
    assert Calls().to_arrow().schema == table.schema


def test_patterns_that_take_nothing_are_refused_before_anything_changes(
    vm: jvmti.VM, traced: JavaProgram
) -> None:
    traced.ask("send 1")  # loads the classes that the conditions below are about
    before = vm.stats.agent
    with pytest.raises(LookupError, match=r"'Traced\$Ordr'; similar ones: Traced\$Order"):
        vm.trace("Traced$Ordr.add")
    with pytest.raises(LookupError, match=r"no method 'ad' with code: it has add"):
        vm.trace(f"{ORDER}.ad")
    with pytest.raises(LookupError, match=r"'java.util.HashMap' is a class, and '.*[*]' its meth"):
        vm.trace("java.util.HashMap")
    with pytest.raises(LookupError, match=r"'java.util' is a package, and 'java.util.[*].[*]' all"):
        vm.trace("java.util.*")
    with pytest.raises(LookupError, match=r"use 'java.lang.ref.Reference.enqueue'"):
        vm.trace("java.lang.ref.WeakReference.enqueue")
    with pytest.raises(LookupError, match=r"no method for .*add\(long\)': it has add\(int, "):
        vm.trace(f"{ORDER}.add(long)")
    with pytest.raises(LookupError, match=r"Object\.hashCode is native: it has no code"):
        vm.trace("java.lang.Object.hashCode")
    with pytest.raises(LookupError, match="no method"):
        vm.trace(f"{ORDER}.add", f"{ORDER}.nothing")
    for name in ("int", "int[]"):
        with pytest.raises(LookupError, match="int.* is an? .* and has no code"):
            vm.trace(f"{name}.*")
    with pytest.raises(BadProbe, match=r"Traced\$Order has no field 'totl'.*'total'"):
        vm.trace(f"{ORDER}.add", when="this.totl == 1")
    for condition in ("what.nothing.more == 'a'", "arg1.nothing == 1"):
        with pytest.raises(BadProbe, match=r"': java.lang.String has no field 'nothing'"):
            vm.trace(f"{ORDER}.add", when=condition)
    with pytest.raises(BadProbe, match=r"'item.nam': .*Item has no .*'name'.*item\[\"its.Name\"\]"):
        vm.trace("Traced$Pack.send", when="item.nam == 'tea'")
    with pytest.raises(BadProbe, match="'item.count.more': item.count is an int, no obj"):
        vm.trace("Traced$Pack.send", when="item.count.more == 1")
    with pytest.raises(BadProbe, match="'this.made': made is static"):
        vm.trace("Traced$Item.<init>", when="this.made > 1")
    with pytest.raises(BadProbe, match="is not CLASS.METHOD"):
        vm.trace("Traced")
    with pytest.raises(BadProbe, match="needs a pattern"):
        vm.trace()
    assert b"JvmtiProbes" not in bytes(vm.find_class(ORDER).class_file)
    assert before is not None
    with vm.trace(f"{ORDER}.add") as trace:
        with pytest.raises(ValueError, match="by=.method. to count"):
            trace.summary()
        assert repr(trace) == f"<Trace of {ORDER}.add in 1 class>"
    assert repr(trace).endswith("closed>")


def test_sets_of_probes_are_as_many_as_the_agent_has_room_for(
    vm: jvmti.VM, traced: JavaProgram
) -> None:
    until = time.monotonic() + 10
    while vm.stats.agent is not None and vm.stats.agent.sessions > 1 and time.monotonic() < until:
        time.sleep(0.05)
    traces: list[Trace] = []
    try:
        # Each change of a class takes the JVM longer than the one before.
        with pytest.raises(jvmti.JvmtiError, match=f"{MEMORY.SETS} sets of probes"):
            for number in range(1, MEMORY.SETS + 2):
                if number % 16:
                    traces.append(vm.trace("not.There.add", unloaded=True))
                else:
                    traces.append(vm.trace(f"{ORDER}.add"))
        # A session whose stops went by probes keeps a set for its steps.
        assert len(traces) in (MEMORY.SETS - 1, MEMORY.SETS)
        traced.ask("add 1")
        assert all(len(calls_of(one, 1)) == 1 for one in traces[15::16])
        assert not any(one.read(0) for one in traces if one not in traces[15::16])
    finally:
        for one in traces:
            one.close()
    with vm.trace(f"{ORDER}.add") as trace:
        traced.ask("add 1")
        assert len(calls_of(trace, 1)) == 1


def test_iterating_ends_with_the_trace(vm: jvmti.VM, traced: JavaProgram) -> None:
    trace = vm.trace(f"{ORDER}.add")
    closer = threading.Timer(0.5, trace.close)
    closer.start()
    traced.ask("add 3")
    assert [one.arguments[0] for one in trace] == [0, 1, 2]
    closer.join()


@pytest.mark.parametrize(
    ("condition", "asked", "seen"),
    [
        ("pieces > 2", "add 5", [(3, "tea 3"), (4, "tea 4")]),
        ("2 <= pieces < 4", "add 5", [(2, "tea 2"), (3, "tea 3")]),
        ("arg0 == 1 or arg1 == 'tea 3'", "add 5", [(1, "tea 1"), (3, "tea 3")]),
        ("not pieces != 4", "add 5", [(4, "tea 4")]),
        ("pieces > 2.5", "add 4", [(3, "tea 3")]),
        ("what == 'tea 2' and pieces >= 2", "add 5", [(2, "tea 2")]),
        ("what != 'tea 0'", "add 2", [(1, "tea 1")]),
        ("what == None", "add 3", []),
        ("what is not None and pieces == 0", "add 3", [(0, "tea 0")]),
        ("len(what) == 6", "add 11", [(10, "tea 10")]),
        ("thread.name == 'main' and pieces == 1", "add 2", [(1, "tea 1")]),
        ("thread.name == 'other'", "add 2", []),
        ("this.total < 0", "add 2", []),
        ("this.total >= 0 and pieces", "add 2", [(1, "tea 1")]),
        ("value < 0", "add 2", []),
        ("value >= 0 and pieces == 1", "add 2", [(1, "tea 1")]),
        ("this.total >= 0 and what == 'a'", "add 2", []),
        ("pieces > 0 and value >= 0 and what == 'tea 2'", "add 5", [(2, "tea 2")]),
        ("value >= 0 and (pieces == 1 or this.total < 0)", "add 5", [(1, "tea 1")]),
        ("what != 'tea 0' and what != 'tea 1' and thread != None", "add 3", [(2, "tea 2")]),
        ("pieces < 5000000000 and pieces > 0", "add 2", [(1, "tea 1")]),
    ],
)
def test_only_calls_for_which_a_condition_holds(
    vm: jvmti.VM, traced: JavaProgram, condition: str, asked: str, seen: list[tuple[int, str]]
) -> None:
    with vm.trace(f"{ORDER}.add", when=condition) as trace:
        traced.ask(asked)
        calls = calls_of(trace, len(seen))
        assert not trace.read(0.1)
    assert [one.arguments for one in calls] == seen


@pytest.mark.parametrize(
    ("condition", "count"),
    [
        ("boxed == 42", 1),
        ("boxed > 42", 0),
        ("boxed == None", 1),
        ("none == None", 1),
        ("none == 'a text'", 0),
        ("none != 'a text'", 1),
        ("color != 'a text'", 1),
        ("color == None", 1),
        ("color.name == 'GREEN'", 1),
        ("color.ordinal == 1", 1),
        ("len(numbers) == 3", 1),
        ("numbers.length > 3", 0),
        ("type.name == 'nobody'", 0),
        ("none.total >= 0", 1),
        ("value.total >= 0", 1),
        ("text == 'a text' or none != None", 2),
    ],
)
def test_conditions_look_into_objects(
    vm: jvmti.VM, traced: JavaProgram, condition: str, count: int
) -> None:
    with vm.trace(f"{ORDER}.objects", when=condition) as trace:
        traced.ask("objects")
        assert len(calls_of(trace, count)) == count
        assert not trace.read(0.1)


def test_conditions_of_failing_calls(vm: jvmti.VM, traced: JavaProgram) -> None:
    with (
        vm.trace(f"{ORDER}.check", when="exception != None") as failed,
        vm.trace(f"{ORDER}.check", when="exception.detailMessage == 'nothing'") as other,
        vm.trace(f"{ORDER}.check", when="value == 'abc'") as fine,
        vm.trace(f"{ORDER}.check", when="len(text) >= 4", summary=True) as long,
    ):
        traced.ask("check 1")
        traced.ask("check 0")
        assert [one.outcome[0] for one in calls_of(failed, 1)] == ["!"]
        assert [one.outcome for one in calls_of(fine, 1)] == ['= "abc"']
        assert not other.read(0.1)
        (use,) = long.summary()
        assert (use.calls, use.failures) == (1, 1)


def test_conditions_in_static_methods_and_of_every_type(vm: jvmti.VM, traced: JavaProgram) -> None:
    taken = (
        "z",
        "b == -2",
        "c == 120",
        "s < 0",
        "i == 4",
        "j == 5",
        "f == 1.5",
        "d > 2.4",
        "d < 3",
    )
    left = ("not z", "b > 0", "f < 1.5", "d != 2.5", "f == 1")
    for condition, wanted in [*((one, 1) for one in taken), *((one, 0) for one in left)]:
        with vm.trace(f"{ORDER}.everything", when=condition) as trace:
            traced.ask("everything")
            assert len(calls_of(trace, wanted)) == wanted, condition
            assert not trace.read(0.05), condition
    with pytest.raises(BadProbe, match="c is a char, which compares with a character, not 'yes'"):
        vm.trace(f"{ORDER}.everything", when="c == 'yes'")


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        ("pieces >", "is not an expression: invalid syntax$"),
        ("pieces = 1", "is not an expression: `==` compares"),
        ("pieces > 1 && what == 'a'", "is not an expression: write `and`, `or` and `not`"),
        ("!(pieces > 1)", "is not an expression: write `and`, `or` and `not`"),
        ("pieces == total", "one side is a value, the other a constant"),
        ("1 == 2", "one side is a value, the other a constant"),
        ("pieces in what", "behind `in` is a pattern"),
        ("what.length() == 3", "methods cannot be called"),
        ("what < 'ab'", "have no order"),
        ("pieces == 1 << 70", "one side is a value"),
        ("pieces == 1180591620717411303424", "does not fit a long"),
        ("value == 1 and exception != None", "a value or an exception, never both"),
        ("3", "a condition compares"),
        ("what == b'a'", "not a number, a text"),
    ],
)
def test_conditions_that_make_no_sense_are_refused(
    vm: jvmti.VM, traced: JavaProgram, condition: str, why: str
) -> None:
    with pytest.raises(BadProbe, match=why):
        vm.trace(f"{ORDER}.add", when=condition)


def test_a_condition_about_what_a_method_does_not_have(vm: jvmti.VM, traced: JavaProgram) -> None:
    with pytest.raises(LookupError, match="has the values of the condition 'amount > 1'"):
        vm.trace(f"{ORDER}.add", when="amount > 1")
    with vm.trace(f"{ORDER}.*", when="pieces > 1") as trace:
        traced.ask("add 3")
        traced.ask("deep 2")
        assert [one.method for one in calls_of(trace, 1)] == ["add"]


def test_calls_that_run_while_classes_get_probes_are_named(
    vm: jvmti.VM, traced: JavaProgram
) -> None:
    traced.ask("start 2")
    with vm.trace("Traced.spin", f"{ORDER}.add") as trace:
        assert trace.running["Traced.run"] == 2
        assert "Traced.main" in trace.running
        assert not any(name.startswith(ORDER) for name in trace.running)
    traced.ask("stop")


def test_the_first_trace_leaves_class_files_byte_for_byte(java_program: JavaPrograms) -> None:
    program = java_program("Traced")
    program.expect("ready")
    program.ask("add 1")
    names = (ORDER, "Traced", "java.util.ArrayList", "java.lang.Thread")
    with jvmti.attach(program.pid, timeout=30) as vm:
        before = {name: bytes(vm.find_class(name).class_file) for name in names}
        with vm.trace(*(f"{name}.*" for name in names), when="arg0 != 7") as trace:
            program.ask("threads 2")
            assert trace.classes == len(names)
        assert {name: bytes(vm.find_class(name).class_file) for name in names} == before


@pytest.mark.parametrize(
    "options", [{}, {"when": "arg0 == 'tea'"}], ids=["records", "a condition of a text"]
)
def test_what_links_and_compares_for_probes_has_probes_itself(
    java_program: JavaPrograms, options: dict[str, str]
) -> None:
    program = java_program("Traced", jvm_args=["-Xint", "-Xss512k", "-Xmx64m"])
    program.expect("ready")
    patterns = ("java.lang.String*.*", "java.lang.ClassLoader.*", "jdk.internal.*.*")
    with jvmti.attach(program.pid, timeout=30) as vm:
        with vm.trace(*patterns, unloaded=True, **options) as trace:
            program.ask("add 3")
            vm.jni.find_class("java/util/concurrent/Phaser")
            assert not trace.ended
            program.ask("add 3")
        assert program.ask("add 1")
    assert program.running()


def test_a_list_of_places_comes_in_parts() -> None:
    """As of a program with so many classes that it is larger than a part."""
    whole = b"".join(
        PROBE_SITE.struct.pack(0, 0, line, len(texts)) + texts
        for line in range(1, 4)
        for texts in [b"\0".join([b"com/acme/Order", b"add", b"(I)I", b"I;I", b""])]
    )
    sites, size = read_sites(whole)
    assert ([site.line for site in sites], size) == ([1, 2, 3], len(whole))
    for cut in range(len(whole)):
        sites, size = read_sites(whole[:cut])
        assert size == len(sites) * len(whole) // 3
        rest, rest_size = read_sites(whole[size:])
        assert [site.line for site in (*sites, *rest)] == [1, 2, 3]
        assert size + rest_size == len(whole)
