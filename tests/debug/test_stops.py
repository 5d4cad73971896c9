"""Breakpoints, watchpoints, catchpoints and steps; the program says what became of it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import jvmti
from debug import stopping
from debug.stopping import LINE, SOON, method, taken
from jvmti.env.structures import LocalVariableEntry
from jvmti.expressions import condition
from jvmti.interface.capabilities import Capabilities
from jvmti.interface.errors import ClassNotPrepared, NotAvailable, OpaqueFrame, StopOver
from jvmti.layouts.conditions import RECORDED, RECORDS
from jvmti.model.debug.conditions import ConditionError, ControllerCondition, compiled, parse
from jvmti.model.debug.stops import Stop
from jvmti.operations.agent import AgentOperations
from prepared import Prepared

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jvms import Jvm
    from jvmti.model.threads.java_thread import Thread
    from programs import JavaProgram, JavaPrograms


pytestmark = pytest.mark.usefixtures("nothing_stops_any_more")


@pytest.fixture
def run(program: JavaProgram) -> Iterator[Callable[[str, str, int], None]]:
    """Lets a thread of the program do something; it has ended with the test."""
    names = []

    def start(name: str, what: str, number: int) -> None:
        assert program.ask(f"start {name} {what} {number}") == "started"
        names.append(name)

    yield start
    for name in names:
        program.ask(f"join {name}", timeout=SOON)


# ---- breakpoints ----------------------------------------------------------------------------


def test_a_loop_over_a_breakpoint_sees_each_thread_wait_with_its_variables(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    seen = []
    with method(vm, "add").breakpoint(line=LINE["sum"]) as stops:
        program.ask("start t add 5")
        for stop in stops:
            assert stop.line == stop.frame.line == LINE["sum"]
            assert (stop.method.name, stop.thread.name) == ("add", "t")
            assert stop.frames[1].method.name == "perform"
            seen.append(dict(stop.locals))
            if len(seen) == 3:
                break
    assert seen == [{"n": n, "name": f"x{n}", "twice": 2 * n} for n in range(3)]
    assert program.ask("join t") == str(sum(2 * n + 2 for n in range(5)))
    assert stops.hits == 3
    with pytest.raises(StopOver):
        stop.locals  # noqa: B018


@pytest.mark.natively("the event itself is another matter")
def test_a_handler_of_the_same_event_is_asked_after_each_stop_while_there_is_one(
    jvm: Jvm, java_program: JavaPrograms
) -> None:
    order: list[str] = []
    # A program of its own: in the shared one another session has the breakpoints.
    program = stopping.start(java_program, jvm)
    with stopping.attached(program) as vm:
        with method(vm, "add").breakpoint(line=LINE["sum"]) as stops:
            with vm.breakpoints.env.on("Breakpoint", lambda event: order.append("handler")):
                program.ask("start t add 3")
                for _ in range(3):
                    assert taken(stops).thread.name == "t"
                    order.append("stop")
        assert program.ask("join t") == str(sum(2 * n + 2 for n in range(3)))
    assert order == ["stop", "handler", "stop", "handler", "stop"]


def test_calls_in_the_body_run_on_the_thread_that_waits(
    vm: jvmti.VM, run: Callable[[str, str, int], None]
) -> None:
    with method(vm, "add").breakpoint() as stops:
        run("t", "add", 2)
        stop = taken(stops)
        assert vm.env.get_frame_count(None) == vm.env.get_frame_count(stop.thread)
        current = vm.find_class("java.lang.Thread")
        now = vm.jni.get_static_method_id(current, "currentThread", "()Ljava/lang/Thread;")
        assert vm.jni.call_static_object_method(current, now) == stop.thread
        assert taken(stops).thread == stop.thread
    assert vm.jni.call_static_object_method(current, now) != stop.thread


def test_variables_are_written_where_the_thread_waits(vm: jvmti.VM, program: JavaProgram) -> None:
    with method(vm, "add").breakpoint(line=LINE["sum"]) as stops:
        program.ask("start t add 1")
        stop = taken(stops)
        stop.locals["twice"] = 1000
        stop.locals["name"] = "four"
        with pytest.raises(TypeError, match="expected int, got str 'x'"):
            stop.locals["n"] = "x"
        with pytest.raises(KeyError, match="name"):
            stop.locals["nam"]
    assert program.ask("join t") == "1004"


def test_every_type_of_variable_is_shown_as_python_has_it(
    vm: jvmti.VM, run: Callable[[str, str, int], None]
) -> None:
    with method(vm, "mixed").breakpoint(line=LINE["mixed"]) as stops:
        run("t", "mixed", 0)
        shown = dict(taken(stops).locals)
    assert shown.pop("f") == pytest.approx(0.1)
    assert shown == {
        "flag": True, "b": -5, "c": "c", "s": 300, "i": 70000, "l": 1 << 40, "d": 2.5,
        "text": "Host", "object": "an object", "array": None,
    }  # fmt: skip


@pytest.mark.natively("a frame is not popped")
def test_a_frame_is_popped_and_another_value_returned(vm: jvmti.VM, program: JavaProgram) -> None:
    if not Capabilities.can_pop_frame & vm.env.get_potential_capabilities():
        pytest.skip("the interpreter-only VM does neither")
    add = method(vm, "add")
    with add.breakpoint(line=LINE["return"]) as stops:
        program.ask("start t add 1")
        taken(stops).frame.pop()
        again = taken(stops)
        assert again.locals["n"] == 0
        again.frame.return_(77)
    assert stops.hits == 2
    assert program.ask("join t") == "77"


def test_a_function_is_called_while_the_thread_waits(vm: jvmti.VM, program: JavaProgram) -> None:
    seen: list[Any] = []

    def look(stop: Stop) -> None:
        seen.append((stop.locals["n"], stop.is_waiting))
        if stop.locals["n"] == 3:
            stop.locals["n"] = 47

    point = method(vm, "add").breakpoint(line=LINE["twice"], do=look)
    program.ask("start t add 4")
    assert program.ask("join t") == str(sum(2 * n + 2 for n in [0, 1, 2, 47]))
    assert seen == [(n, True) for n in range(4)]
    assert point.hits == 4
    with pytest.raises(RuntimeError, match="do= and iteration"):
        next(iter(point))
    point.cancel()
    program.ask("start t add 4")
    program.ask("join t")
    assert point.hits == 4


def test_without_either_threads_pass_and_are_counted(vm: jvmti.VM, program: JavaProgram) -> None:
    point = method(vm, "add").breakpoint()
    assert not point.wait(0)
    program.ask("start t add 3")
    program.ask("join t")
    assert [point.wait(SOON) for _ in range(3)] == [True] * 3
    assert point.hits == 3
    assert not point.wait(0)
    with pytest.raises(RuntimeError, match="with"):
        iter(point)
    point.cancel()
    assert not point.is_active


def test_two_threads_wait_at_one_breakpoint_side_by_side(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    with method(vm, "add").breakpoint() as stops:
        program.ask("start one add 1")
        program.ask("start two add 1")
        assert stops.wait(SOON)
        assert stops.wait(SOON)
        first, second = taken(stops), None
        names = {first.thread.name}
        assert first.is_waiting
        second = taken(stops)
        assert not first.is_waiting
        assert names | {second.thread.name} == {"one", "two"}
    assert program.ask("join one") == program.ask("join two") == "2"


def test_several_breakpoints_share_a_place(vm: jvmti.VM, program: JavaProgram) -> None:
    add = method(vm, "add")
    odd = add.breakpoint(line=LINE["sum"], when="n == 1")
    counted = add.breakpoint(line=LINE["sum"])
    with add.breakpoint(line=LINE["sum"]) as stops:
        program.ask("start t add 3")
        assert [taken(stops).locals["n"] for _ in range(3)] == [0, 1, 2]
    program.ask("join t")
    assert (odd.hits, counted.hits) == (1, 3)
    counted.cancel()
    program.ask("start t add 3")
    program.ask("join t")
    assert (odd.hits, counted.hits, stops.hits) == (2, 3, 3)
    odd.cancel()


@pytest.mark.natively("probes at one place stop a thread one after the other")
def test_two_blocks_at_one_place_both_have_the_thread(vm: jvmti.VM, program: JavaProgram) -> None:
    add = method(vm, "add")
    with add.breakpoint() as outer, add.breakpoint() as inner:
        program.ask("start t add 1")
        one, other = taken(outer), taken(inner)
        assert one.thread == other.thread
        assert one.locals["n"] == other.locals["n"] == 0
        assert outer.next(0) is None
        assert other.is_waiting
        assert other.locals["n"] == 0
    assert program.ask("join t") == "2"


@pytest.mark.natively("probes at one place stop a thread one after the other")
@pytest.mark.parametrize("made", ["before", "after"])
def test_conditions_and_functions_of_a_place_are_done_before_anybody_has_the_thread(
    vm: jvmti.VM, program: JavaProgram, made: str, rounds: Callable[[int, int], int]
) -> None:
    # All of them speak with the thread that waits, so they must not do it at once.
    add = method(vm, "add")
    done: dict[str, list[tuple[str, int]]] = {"asked": [], "refused": [], "called": []}
    stops: dict[str, list[Stop]] = {what: [] for what in done}

    def speak(stop: Stop) -> int:
        often = range(rounds(5, 40))
        seen = {(stop.locals["n"], vm.env.get_frame_count(None)) for _ in often}
        ((n, _),) = seen
        return int(n)

    def note(what: str, answer: bool) -> Callable[[Stop], bool]:
        def ask(stop: Stop) -> bool:
            done[what].append((stop.thread.name, speak(stop)))
            stops[what].append(stop)
            return answer

        return ask

    earlier = [add.breakpoint()] if made == "before" else []
    asking = add.breakpoint(when=note("asked", True))
    refusing = add.breakpoint(when=note("refused", False))
    calling = add.breakpoint(do=note("called", True))
    with earlier.pop() if earlier else add.breakpoint() as first:
        for name in ("one", "two", "three"):
            program.ask(f"start {name} add 4")
        held = []
        for _ in range(12):
            stop = taken(first)
            assert all(len(what) > len(held) for what in done.values())
            held.append((stop.thread.name, speak(stop)))
            assert all(held[-1] in what for what in done.values())
    assert sorted(held) == sorted((name, n) for name in ("one", "two", "three") for n in range(4))
    assert [one.hits for one in (first, asking, refusing, calling)] == [12, 12, 0, 12]
    for name in ("one", "two", "three"):
        assert program.ask(f"join {name}") == "20"
    assert not any(stop.is_waiting for seen in stops.values() for stop in seen)
    for point in (asking, refusing, calling):
        point.cancel()


def test_a_call_of_the_controllers_own_stops_where_somebody_else_iterates(
    vm: jvmti.VM, run: Callable[[str, str, int], None]
) -> None:
    add = method(vm, "add")
    found: list[int] = []

    def call() -> None:
        text = vm.jni.new_string("four")
        found.append(vm.jni.call_static_int_method(stopping.cls(vm), add, [20, text]))

    with add.breakpoint(line=LINE["sum"]) as stops:
        caller = threading.Thread(target=call)
        caller.start()
        stop = taken(stops)
        assert stop.locals["twice"] == 40
        stop.locals["twice"] = 50
        assert stops.next(0) is None
        caller.join(SOON)
        assert found == [54]
        # One that the iterating thread makes itself cannot wait for that thread.
        call()
        assert found == [54, 44]
        assert stops.missed == 1


def test_a_function_is_called_on_the_thread_whose_call_stopped(vm: jvmti.VM) -> None:
    add = method(vm, "add")
    on: list[int] = []
    point = add.breakpoint(do=lambda stop: on.append(threading.get_ident()))
    text = vm.jni.new_string("four")
    assert vm.jni.call_static_int_method(stopping.cls(vm), add, [20, text]) == 44
    assert on == [threading.get_ident()]
    point.cancel()


def test_a_stop_is_its_threads_alone(vm: jvmti.VM, run: Callable[[str, str, int], None]) -> None:
    with method(vm, "add").breakpoint() as stops:
        run("t", "add", 1)
        stop = taken(stops)
        errors: list[BaseException] = []

        def use() -> None:
            try:
                stop.locals  # noqa: B018
            except StopOver as error:
                errors.append(error)

        other = threading.Thread(target=use)
        other.start()
        other.join()
        assert "another Python thread" in str(errors[0])


def test_cancelling_from_another_thread_ends_the_loop_and_lets_go(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    with method(vm, "add").breakpoint() as stops:
        program.ask("start t add 1")
        stop = taken(stops)
        other = threading.Thread(target=stops.cancel)
        other.start()
        other.join()
        assert program.ask("join t") == "2"
        assert not stop.is_waiting
        with pytest.raises(StopOver):
            vm.env.get_frame_count(None)
        assert vm.jni.get_version()  # the error once, and the thread has its own channel again
        assert stops.next(SOON) is None


def test_an_error_in_the_block_lets_the_thread_go(vm: jvmti.VM, program: JavaProgram) -> None:
    with pytest.raises(ZeroDivisionError), method(vm, "add").breakpoint() as stops:
        program.ask("start t add 2")
        taken(stops)
        raise ZeroDivisionError
    assert program.ask("join t") == "6"


# ---- conditions -----------------------------------------------------------------------------


CONDITIONS = [
    ("flag", True),
    ("not flag", False),
    ("flag == True and b == -5", True),
    ("b < -5 or s >= 300", True),
    ("c == 'c'", True),
    ("'d' > c", True),
    ("0 < s <= 299", False),
    ("s <= 300 and i >= 70000 and d <= 2.5 and d >= 2.5", True),
    ("s < 300 or s > 300 or d < 2.5 or d > 2.5", False),
    ("i == 70000 and l == 1099511627776", True),
    ("l > 1099511627776", False),
    ("f == 0.1", True),
    ("d > 2 and d < 2.6", True),
    ("d != 2.5", False),
    ("text == 'Host'", True),
    ("text != 'Host'", False),
    ("text == 'Hos'", False),
    ("object == 'an object'", True),
    ("object is None", False),
    ("array is None", True),
    ("array != None", False),
    ("not (text == 'x' or not flag)", True),
    ("(flag or b == 1) and (c == 'x' or i > 0)", True),
    ("(flag and b == 1) or (c == 'x' and i > 0)", False),
]


def test_conditions_are_what_python_makes_of_them(vm: jvmti.VM, program: JavaProgram) -> None:
    mixed = method(vm, "mixed")
    points = [mixed.breakpoint(line=LINE["mixed"], when=when) for when, _ in CONDITIONS]
    false = [point for point, (_, holds) in zip(points, CONDITIONS, strict=True) if not holds]
    program.ask("start t mixed 0")
    program.ask("join t")
    hits = [(when, point.hits) for point, (when, _) in zip(points, CONDITIONS, strict=True)]
    assert hits == [(when, int(holds)) for when, holds in CONDITIONS]
    for point in points:
        if point not in false:
            point.cancel()
    # Nobody is asked about those that do not hold.
    answered = vm.stats.agent.events_answered  # type: ignore[union-attr]
    program.ask("start t mixed 0")
    program.ask("join t")
    assert vm.stats.agent.events_answered == answered  # type: ignore[union-attr]
    for point in false:
        point.cancel()


FIELDS = [
    ("part.open", True),
    ("not part.open", False),
    ("part.letter == 99 and part.small == -5 and part.medium == 300", True),
    ("part.size == 3", True),
    ("part.size > 3", False),
    ("3 > part.size", False),
    ('part["Stopping$Sized"].size == 7', True),
    ("part.large == 1099511627776", True),
    ("part.large < 1099511627776", False),
    ("part.share == 1.5 and part.weight >= 2.5", True),
    ("part.weight < 2.5", False),
    ("part.name == 'first'", True),
    ("part.name != 'first'", False),
    ("part.any == 'an object' and part.array is None", True),
    ("part.next.name == 'second' and part.next.size == 3", True),
    ("part.next.next is None", True),
    ("part.next.next.size == 3", False),
    ("part.next.next.name == 'third'", False),
    ("none.size == 3", False),
    ("none.next.next.open", False),
    ("not none.open and n == 1", True),
    ("n == 2 or part.next.size == 3", True),
]
LENGTHS_AND_BOXES = [
    ("len(part.name) == 5 and len(part.next.name) > 5", True),
    ("len(part.name) < 5", False),
    ("len(part.counts) == 3 and 1 == len(part.shapes)", True),
    ("len(part.counts) != 3", False),
    ("len(part.array) == 0", False),
    ("len(part.next.next.name) == 0", False),
    ("part.boxed == 5 and part.huge > 1099511627775 and part.half < 0.75", True),
    ("part.boxed > 5", False),
    ("part.sure and part.mark == 109", True),
    ("not part.sure", False),
    ("part.lacking == 5", False),
    ("part.lacking is None and part.boxed is not None", True),
]


@pytest.mark.parametrize("wanted", [FIELDS, LENGTHS_AND_BOXES], ids=["fields", "lengths and boxes"])
def test_conditions_look_into_objects_to_any_depth(
    wanted: list[tuple[str, bool]], vm: jvmti.VM, program: JavaProgram
) -> None:
    program.ask("start t parts 1")  # the class of its variables is loaded
    program.ask("join t")
    parts = method(vm, "parts")
    points = [parts.breakpoint(line=LINE["parts"], when=when) for when, _ in wanted]
    program.ask("start t parts 1")
    assert program.ask("join t") == "4"
    hits = [(when, point.hits) for point, (when, _) in zip(points, wanted, strict=True)]
    assert hits == [(when, int(holds)) for when, holds in wanted]
    for point in points:
        point.cancel()


@pytest.mark.natively("weaving asks, too")
def test_a_java_condition_on_fields_that_is_false_asks_nobody(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    program.ask("start t parts 1")  # its class is loaded
    program.ask("join t")
    (grown,) = (one for one in vm.find_class("Stopping$Part").methods if one.name == "grown")
    for text in (
        "size > 3",
        "this.size == 3 && n == 2",
        'next.next.name.equals("x") || n > 1',
        "name.length() > 5 || counts.length != 3",
        "boxed > 5 || !sure",
    ):
        with grown.breakpoint(line=LINE["grown"], when=condition(text), do=print) as point:
            answered = vm.stats.agent.events_answered  # type: ignore[union-attr]
            program.ask("start t parts 1")
            program.ask("join t")
            assert vm.stats.agent.events_answered == answered, text  # type: ignore[union-attr]
            assert point.hits == 0
    with grown.breakpoint(line=LINE["grown"], when=condition("size == 3 && n == 1")) as stops:
        program.ask("start t parts 1")
        assert taken(stops).locals["n"] == 1
    program.ask("join t")


class Recorded:
    """What `do` takes whose values the agent records; it is called where it cannot."""

    def __init__(self, *values: str) -> None:
        self.values = values
        self.called = 0

    def recording(self, method: object, at: int) -> Recorded:
        """What is wanted at a place."""
        return self

    def __call__(self, stop: Stop) -> None:
        self.called += 1


@pytest.mark.natively("probes record by themselves")
def test_values_are_recorded_where_the_condition_holds_and_nobody_is_asked(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    wanted = Recorded("flag", "b", "c", "s", "i", "l", "f", "d", "text", "len(text)")
    values = [True, -5, "c", 300, 70000, 1 << 40, 0.10000000149011612, 2.5, "Host", 4]
    part = Recorded("part.boxed", "part.lacking", "part.next.name", "len(part.counts)", "part.sure")
    of_part = [5, None, "second", 3, True]
    program.ask("start t parts 1")  # the class of its variables is loaded
    program.ask("join t")
    for name, record, right, when, wrong in (
        ("mixed", wanted, values, "i == 70000", "i == 1"),
        ("parts", part, of_part, "part.size == 3", "part.size > 3"),
    ):
        with (
            method(vm, name).breakpoint(line=LINE[name], when=when, do=record) as point,
            method(vm, name).breakpoint(line=LINE[name], when=wrong, do=record) as other,
        ):
            before = time.monotonic_ns()
            answered = vm.stats.agent.events_answered  # type: ignore[union-attr]
            for _ in range(20):
                program.ask(f"start t {name} 1")
                program.ask("join t")
            assert vm.stats.agent.events_answered == answered  # type: ignore[union-attr]
            records = vm.breakpoints.records
            assert records is not None
            found = records.take()
            assert [one[1:] for one in found] == [(record, right)] * 20
            times = [one.time for one in found]
            assert before < times[0]
            assert times == sorted(times)
            assert times[-1] < time.monotonic_ns()
            assert records.take() == []
            assert records.take_dropped() == 0
            assert point.hits == other.hits == record.called == 0
            assert not point.waits


@pytest.mark.natively("probes record by themselves")
def test_what_cannot_be_recorded_is_asked_for_and_what_comes_too_fast_is_counted(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    mixed = method(vm, "mixed")
    for values in (["array"], ["len(array)"]):  # no such type, null
        record = Recorded(*values)
        with mixed.breakpoint(line=LINE["mixed"], do=record) as point:
            program.ask("start t mixed 0")
            program.ask("join t")
            assert record.called == point.hits == 1
    most = RECORDS.PER_SECOND
    program.ask(f"start t add {2 * most}")  # so that it is compiled
    program.ask("join t", timeout=SOON)
    with method(vm, "add").breakpoint(line=LINE["sum"], do=Recorded("n")) as point:
        program.ask(f"start t add {2 * most}")
        program.ask("join t", timeout=SOON)
        assert point.hits == 0
    assert vm.breakpoints.records is not None
    records = vm.breakpoints.records.take()
    assert [one.values for one in records[:most]] == [[n] for n in range(most)]
    dropped = vm.breakpoints.records.take_dropped()
    # In a second that begins later, there are some more.
    assert dropped + len(records) == 2 * most


@pytest.mark.natively("probes record by themselves")
def test_hits_that_find_no_space_are_counted_and_later_ones_are_recorded_again(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    numbers = ["n"] * 100
    size = RECORDED.size + 9 * len(numbers)
    with method(vm, "add").breakpoint(line=LINE["sum"], do=Recorded(*numbers)):
        records = vm.breakpoints.open_records()
        most = RECORDS.SIZE // size
        for _ in range(2):
            program.ask(f"start t add {most + 100}")
            program.ask("join t", timeout=SOON)
            assert records.take_dropped() == 100
            assert len(records.take()) == most


@pytest.mark.natively("probes record by themselves")
def test_records_of_several_breakpoints_have_the_order_of_the_hits_and_their_counts(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    one, two = Recorded("n"), Recorded("n")
    with (
        method(vm, "add").breakpoint(line=LINE["twice"], hits=2, do=one),
        method(vm, "add").breakpoint(line=LINE["sum"], when="n != 3", hits="after 1", do=two),
    ):
        program.ask("start t add 6")
        program.ask("join t")
        is_light = vm.version.major >= 21
        if is_light:
            program.ask("virtual v add 2")
            program.ask("join v")
        assert vm.breakpoints.records is not None
        found = [(record.form, *record.values) for record in vm.breakpoints.records.take()]
    right = [(one, 1), (two, 1), (two, 2), (one, 3), (two, 4), (one, 5), (two, 5)]
    in_virtual = [(two, 0), (one, 1), (two, 1)]
    assert found == right + in_virtual * is_light
    assert one.called == two.called == 0


@pytest.mark.natively("of probes, a class that is loaded later changes nothing")
def test_a_condition_on_a_class_that_is_loaded_later_goes_to_the_agent_then(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    assert "Stopping$Late" not in vm.classes
    with method(vm, "late").breakpoint(line=LINE["late"], when=condition("one.size > 3")) as stops:
        program.ask("start t late 1")  # the function is asked
        program.ask("join t")
        answered = vm.stats.agent.events_answered  # type: ignore[union-attr]
        for _ in range(5):
            program.ask("start t late 2")
            program.ask("join t")
        assert vm.stats.agent.events_answered == answered  # type: ignore[union-attr]
        assert stops.hits == 0
        program.ask("start t late 4")
        assert taken(stops).locals["n"] == 4
    program.ask("join t")


def test_a_class_that_is_loaded_and_not_prepared_is_waited_for(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    loader = stopping.cls(vm).loader
    assert loader is not None
    spare = loader.call("loadClass", "Stopping$Spare")
    with pytest.raises(ClassNotPrepared):
        spare.methods  # noqa: B018
    with vm.breakpoint("Stopping$Spare", "spare") as stops:
        assert stops.is_pending
        assert "none of its code can have run yet" in str(stops.pending_reason)
        program.ask("start t spare 4")
        assert taken(stops).locals["n"] == 4
        assert not stops.is_pending
    assert program.ask("join t") == "5"


@pytest.mark.natively("probes evaluate more")
def test_fields_that_the_agent_cannot_compare_are_named(vm: jvmti.VM) -> None:
    parts = method(vm, "parts")
    vm.jni.find_class("Stopping$Part")  # which loads it
    for when, says in [
        ("part.sizes == 3", r"Stopping\$Part has no field 'sizes' of its instances"),
        ("part.size.less == 3", "an int has no fields"),
        ("some.size == 3", "java.lang.Object has no field 'size'"),
        ("part.size == 'x'", "part.size is an int, which compares with an integer, not 'x'"),
        ("part.name > 'x'", "no order"),
        ("len(part.size) > 3", "an int has no length"),
        ("len(part.name) == 'x'", r"len\(part.name\) is an int, which compares with an integer"),
        ("part.boxed == 'x'", "part.boxed is an int, which compares with an integer, not 'x'"),
        ("part.array == 3", "None only, not 3"),
        ("part.size == none.size", "two variables"),
    ]:
        with pytest.raises(ConditionError, match=says):
            parts.breakpoint(line=LINE["parts"], when=when)
    with pytest.raises(ConditionError, match=r"'part.size'.*only breakpoints compare fields"):
        vm.catch("java.lang.Error", when="part.size == 3")


@pytest.mark.natively("the controller reads variables natively")
def test_a_condition_decided_here_is_what_the_agent_makes_of_it(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    mixed = method(vm, "mixed")
    points = [
        mixed.breakpoint(line=LINE["mixed"], when=ControllerCondition(vm, when))
        for when, _ in CONDITIONS
    ]
    program.ask("start t mixed 0")
    program.ask("join t")
    hits = [(when, point.hits) for point, (when, _) in zip(points, CONDITIONS, strict=True)]
    assert hits == [(when, int(holds)) for when, holds in CONDITIONS]
    for point in points:
        point.cancel()


REFUSED = [
    ("nn == 1", r"'nn'.*no such local variable; there are n, name$"),
    ("sum == 1", r"'sum'.*no value yet"),
    ("n == 'x'", r"n is an int, which compares with an integer, not 'x'"),
    ("name > 'x'", r"no order"),
    ("name == 3", r"a text or None, not 3"),
    ("sum(name) == 3", r"'sum\(name\)'.*neither a variable nor a constant.*function"),
    ("len(n) == 3", r"'n' in the condition 'len\(n\) == 3': an int has no length"),
    ("name.length() == 3", r"'name.length\(\)'.*neither"),
    ("n == twice", "two variables"),
    ("n in (1, 2)", "does not know `in`"),
    ("n + 1", r"'n \+ 1'"),
    ("n ==", "not an expression"),
    ("n == 99999999999999999999", "what an int can be"),
    ("n", "n is an int"),
    (" or ".join(["n == 1"] * 100), "too long"),
]


@pytest.mark.natively("probes evaluate more")
def test_what_the_agent_cannot_evaluate_is_named(vm: jvmti.VM) -> None:
    add = method(vm, "add")
    for when, says in REFUSED:
        with pytest.raises(ConditionError, match=says):
            add.breakpoint(line=LINE["twice"], when=when)


@pytest.mark.natively("it needs no JVM")
def test_a_variable_is_there_up_to_the_end_of_its_range() -> None:
    table = [LocalVariableEntry(2, 4, "n", "I", None, 1)]
    tree = parse("n > 1")
    for location in (2, 5):
        assert compiled("n > 1", tree, table, location).instructions
    for location in (1, 6):
        with pytest.raises(ConditionError):
            compiled("n > 1", tree, table, location)


def test_of_many_variables_those_with_near_names_are_listed(vm: jvmti.VM) -> None:
    mixed = method(vm, "mixed")
    with pytest.raises(ConditionError, match=r"there are text$"):
        mixed.breakpoint(when="texd == 'x'")
    with pytest.raises(ConditionError, match=r"there are flag, b, c, s, i, l, f, d, others$"):
        mixed.breakpoint(when="zyx == 1")
    with pytest.raises(ConditionError, match=r"there are none at this place"):
        method(vm, "unload").breakpoint(location=0, when="zyx == 1")


@pytest.mark.natively("probes have plans")
def test_instructions_that_make_no_sense_are_refused_and_the_others_do_no_harm(
    vm: jvmti.VM, program: JavaProgram, rounds: Callable[[int, int], int]
) -> None:
    rng = random.Random(5)
    small = [0, 1, 2, 3, 4, 5, 6, 7, 8, 100, *map(ord, "IJFDLT"), -1, 1 << 40]
    large = [0, 1, 4, 1 << 32 | 2, 3 << 32 | 4, -1, (1 << 63) - 1, -(1 << 63)]
    point = method(vm, "mixed").breakpoint(when=lambda stop: False)
    number = point._number
    env, _ = point._numbers[number]
    agent = AgentOperations(vm._session, env._number)
    classes = (stopping.cls(vm), vm.find_class("java.lang.String"))
    fields = [one for cls in classes for one in cls.fields if not one.is_static]
    taken = refused = 0
    for _ in range(rounds(400, 4000)):
        words: list[int] = []
        for _ in range(rng.choice([1, 1, 2, 5])):
            if rng.random() < 0.6:
                type_ = ord(rng.choice("IJFDLT"))
                operation = rng.choice([1, 1, 5, 6, 7, 7])
                slot = rng.randrange(20 if operation in (1, 5) else len(fields) + 1)
                words += [operation, type_, slot, rng.choice([1, 2, 2, 3]), rng.choice(large)]
            else:
                words += [*rng.choices(small, k=4), rng.choice(large)]
        words = words[: rng.choice([len(words)] * 9 + [len(words) - 1])]
        texts = rng.randbytes(rng.choice([0, 4, 7, 8]))
        try:
            agent.install_breakpoint(number, method(vm, "mixed"), 0, words, texts, fields, True)
            taken += 1
        except jvmti.JvmtiError:
            refused += 1
        if taken % 30 == 29:  # a place has room for so many
            program.ask("start t mixed 0")
            assert program.ask("join t") == str(1 << 40)
            point.cancel()
            point = method(vm, "mixed").breakpoint(when=lambda stop: False)
            number = point._number
    assert taken > 20
    assert refused > 100
    point.cancel()


def test_a_python_condition_is_asked_on_the_thread_that_waits(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    with method(vm, "add").breakpoint(
        when=lambda stop: stop.locals["n"] % 2 == 1, hits="after 1"
    ) as stops:
        program.ask("start t add 6")
        assert [taken(stops).locals["n"] for _ in range(2)] == [3, 5]
    program.ask("join t")
    with method(vm, "add").breakpoint(
        when=lambda stop: stop.locals["n"] % 2 == 1, hits="only 2"
    ) as stops:
        program.ask("start t add 8")
        assert taken(stops).locals["n"] == 3
    program.ask("join t")
    assert stops.hits == 1


def test_hits_are_counted_in_the_agent(vm: jvmti.VM, program: JavaProgram) -> None:
    every: dict[Any, list[int]] = {1: list(range(10)), 3: [2, 5, 8], "every 4": [3, 7]}
    wanted = {**every, "after 7": [7, 8, 9], "only 4": [3]}
    found: dict[Any, list[int]] = {hits: [] for hits in wanted}
    points = [
        method(vm, "add").breakpoint(
            hits=hits, do=lambda stop, seen=seen: seen.append(stop.locals["n"])
        )
        for hits, seen in found.items()
    ]
    program.ask("start t add 10")
    program.ask("join t")
    assert found == wanted
    assert [point.hits for point in points] == [len(seen) for seen in wanted.values()]
    for point in points:
        point.cancel()


def test_threads_and_callers_are_chosen_in_the_agent(vm: jvmti.VM, program: JavaProgram) -> None:
    add = method(vm, "add")
    by_method = add.breakpoint(caller=method(vm, "another"))
    by_pattern = add.breakpoint(caller=["Nothing.*", "Stopping.per*"])
    with add.breakpoint() as stops:
        program.ask("start chosen add 2")
        chosen = taken(stops).thread
        alone = add.breakpoint(thread=chosen)
    program.ask("join chosen")
    program.ask("start passing other 3")
    program.ask("join passing")
    assert (by_method.hits, by_pattern.hits, alone.hits) == (3, 2, 1)
    for point in (by_method, by_pattern, alone):
        point.cancel()


def test_a_stop_keeps_its_variables_while_its_class_is_changed(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    with vm.breakpoint("Stopping", "add", line=LINE["sum"]) as stops:
        program.ask("start t other 1")
        stop = taken(stops)
        frame = stop.frame
        with vm.trace("Stopping.*"):
            assert stop.locals["twice"] == 0
            assert frame.locals["twice"] == 0
            frame.locals["twice"] = 30
            caller = stop.frames[1]
            assert (caller.method.name, caller.line) == ("another", LINE["another"])
        assert (stop.line, stop.locals["twice"]) == (LINE["sum"], 30)
        assert frame.locals["twice"] == 30
    assert program.ask("join t") == "35"


# ---- steps ----------------------------------------------------------------------------------


@pytest.mark.natively("late a step out ends at the next line")
def test_steps_go_over_calls_into_them_and_out_again(vm: jvmti.VM, program: JavaProgram) -> None:
    with method(vm, "factorial").breakpoint(line=LINE["recurse"], hits="after 2") as stops:
        program.ask("start t factorial 5")
        stop = taken(stops)  # 3 times 2
        assert stop.locals["n"] == 3
        stops_again = []
        step = stop.step("into")
        assert step is not None
        stops_again.append((step.line, step.locals["n"]))
        step = step.step("over")  # which comes to the breakpoint
        assert step is not None
        stops_again.append((step.line, step.locals["n"]))
        step = step.step("over")  # the call below does not stop: it is over at once
        assert step is not None
        stops_again.append((step.line, step.locals["n"]))
        assert step.locals["below"] == 1
        step = step.step("out")
        assert step is not None
        stops_again.append((step.line, step.locals["n"]))
        step = step.step("over")
        assert step is not None
        stops_again.append((step.line, step.locals["below"]))
    assert stops_again == [
        (LINE["test"], 2),
        (LINE["recurse"], 2),
        (LINE["multiply"], 2),
        (LINE["recurse"], 3),
        (LINE["multiply"], 2),
    ]
    assert program.ask("join t") == "120"


@pytest.mark.natively("probes do not follow native code")
def test_a_step_into_a_call_passes_over_what_has_no_lines(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    with method(vm, "proxied").breakpoint(line=LINE["proxied"]) as stops:
        program.ask("start t proxied 0")
        step = taken(stops).step("into")
        assert step is not None
        assert (step.method.name, step.line) == ("invoke", LINE["handled"])
    assert program.ask("join t") == "handled"


def test_a_step_over_a_call_that_throws_ends_in_the_handler(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    with method(vm, "guarded").breakpoint(line=LINE["try"]) as stops:
        program.ask("start t guarded 1")
        step = taken(stops).step("over")
        assert step is not None
        assert (step.method.name, step.line) == ("guarded", LINE["handler"] - 1)
    assert program.ask("join t") == "-1"


@pytest.mark.natively("the caller has no probes")
def test_a_step_out_of_a_method_that_throws_ends_where_it_is_caught(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    with method(vm, "thrower").breakpoint(line=LINE["decide"]) as stops:
        program.ask("start t guarded 1")
        step = taken(stops).step("out")
        assert step is not None
        assert (step.method.name, step.line) == ("guarded", LINE["handler"] - 1)
    assert program.ask("join t") == "-1"


@pytest.mark.natively("the callers have no probes")
def test_a_step_that_never_ends_ends_with_the_thread(vm: jvmti.VM, program: JavaProgram) -> None:
    with method(vm, "thrower").breakpoint(line=LINE["decide"]) as stops:
        program.ask("start t thrower 1")
        stop = taken(stops)
        lines = []
        while stop is not None:
            lines.append(stop.method.name)
            stop = stop.step("out")  # type: ignore[assignment]
    assert lines == ["thrower", "run"]  # which catches it
    assert program.ask("join t").startswith("threw java.lang.IllegalStateException: n is 1")


def test_another_stop_ends_a_step(vm: jvmti.VM, program: JavaProgram) -> None:
    inner = method(vm, "add").breakpoint(line=LINE["sum"])
    with method(vm, "another").breakpoint() as stops, inner:
        program.ask("start t other 1")
        stop = taken(stops).step("over")
        assert stop is not None
        assert (stop.request, stop.line) == (inner, LINE["sum"])
        back = stop.step("out")
        assert back is not None
        assert back.line == LINE["another"]
    assert inner.hits == 1
    program.ask("join t")


@pytest.mark.natively("no frame is popped")
@pytest.mark.parametrize("left_by", ["popped", "returned", "popped and returned"])
def test_a_step_over_a_call_goes_on_when_its_frame_is_left(
    vm: jvmti.VM, program: JavaProgram, left_by: str
) -> None:
    if not Capabilities.can_pop_frame & vm.env.get_potential_capabilities():
        pytest.skip("the interpreter-only VM does neither")
    seen = []

    def leave(stop: Stop) -> None:
        seen.append(stop.locals["n"])
        if "popped" in left_by and len(seen) == 1:
            stop.frame.pop()
        elif "returned" in left_by:
            stop.frame.return_(77)

    inner = method(vm, "add").breakpoint(line=LINE["sum"], do=leave)
    with method(vm, "perform").breakpoint(line=LINE["adding"]) as stops:
        program.ask("start t add 1")
        step = taken(stops).step("over", timeout=SOON)
        assert step is not None
        assert (step.method.name, step.line) == ("perform", LINE["adding"] + 1)
    inner.cancel()
    assert program.ask("join t") == ("77" if "returned" in left_by else "2")
    assert seen == ([0] if left_by == "returned" else [0, 0])


@pytest.mark.natively("no frame is popped")
def test_a_step_out_of_a_frame_that_is_popped_ends_before_the_call_is_made_again(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    if not Capabilities.can_pop_frame & vm.env.get_potential_capabilities():
        pytest.skip("the interpreter-only VM does not pop frames")
    inner = method(vm, "add").breakpoint(
        line=LINE["sum"], hits="every 1", do=lambda stop: stop.frame.pop()
    )
    with method(vm, "add").breakpoint(line=LINE["twice"]) as stops:
        program.ask("start t other 1")
        stop = taken(stops)
        step = stop.step("out", timeout=SOON)
        assert step is not None
        assert (step.method.name, step.line) == ("another", LINE["another"])
        inner.cancel()
        again = step.step("into", timeout=SOON)
        assert again is not None
        assert (again.method.name, again.line) == ("add", LINE["twice"])
    assert program.ask("join t") == "5"


@pytest.mark.natively("no frame is popped")
def test_steps_of_a_thread_whose_frame_is_popped_while_it_is_suspended_go_on(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    if not Capabilities.can_pop_frame & vm.env.get_potential_capabilities():
        pytest.skip("the interpreter-only VM does not pop frames")
    with method(vm, "add").breakpoint(line=LINE["sum"]) as inner:
        program.ask("start t other 1")
        stop = taken(inner)
        # The step out waits for the end of this frame, which is discarded instead.
        with stop.thread.step("out") as steps:
            stop.frame.pop()
            inner.cancel()
            step = steps.next(SOON)
            assert step is not None
            assert (step.method.name, step.line) == ("another", LINE["another"])
    assert program.ask("join t") == "5"


def test_a_handler_resumes_its_own_thread_which_another_python_thread_has_suspended(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    """Asked on the suspended thread itself, the agent would never answer."""
    arrived, suspended, resumed = threading.Event(), threading.Event(), threading.Event()
    found: list[Any] = []

    def resume(stop: Stop) -> None:
        found.append(stop.thread)
        arrived.set()
        assert suspended.wait(SOON)
        found[1].resume()
        resumed.set()

    with method(vm, "add").breakpoint(line=LINE["sum"], do=resume):
        program.ask("start t add 1")
        assert arrived.wait(SOON)
        found.append(found[0].suspended())
        found[1].suspend()
        suspended.set()
        try:
            assert resumed.wait(SOON / 4)
        finally:
            found[1].resume()
    assert program.ask("join t") == "2"


# ---- frames of virtual threads ----------------------------------------------------------------


def virtual(vm: jvmti.VM, method: str, state: str) -> Thread:
    """The virtual thread that has come to a method, in that state."""
    until = time.monotonic() + SOON
    while time.monotonic() < until:
        for thread in vm.threads.virtual:
            methods = [frame.method.name for frame in thread.frames]
            if method in methods and thread.java_state == state:
                return thread
    raise AssertionError(f"no virtual thread has come to {method}")


@pytest.fixture
def with_virtual_threads(vm: jvmti.VM) -> Iterator[None]:
    if vm.version.major < 21:
        pytest.skip("this release has no virtual threads")
    # Made at their first use, and kept.
    vm.env_with("can_pop_frame", "can_support_virtual_threads")
    vm.env_with("can_force_early_return", "can_support_virtual_threads")
    yield
    vm._bootstrap_classes.pop("java/lang/VirtualThread", None)


@pytest.mark.since(21)
@pytest.mark.natively("no frame is popped")
def test_a_virtual_thread_at_a_stop_leaves_its_frame_as_others_do(
    vm: jvmti.VM, program: JavaProgram, with_virtual_threads: None
) -> None:
    with method(vm, "add").breakpoint(line=LINE["return"]) as stops:
        program.ask("virtual v add 1")
        stop = taken(stops)
        assert stop.thread.is_virtual
        with pytest.raises(ValueError, match="only the top frame can be popped"):
            stop.frames[1].pop()
        stop.frame.pop()
        again = taken(stops)
        assert again.frame.depth == stops.hits - 2 == 0
        again.frame.return_(77)
    assert program.ask("join v") == "77"


@pytest.mark.since(21)
@pytest.mark.natively("no frame is popped")
def test_a_virtual_thread_that_is_suspended_on_its_carrier_leaves_its_frame(
    vm: jvmti.VM, program: JavaProgram, with_virtual_threads: None
) -> None:
    program.ask("virtual v spin 0")
    thread = virtual(vm, "spin", "RUNNABLE")
    with pytest.raises(jvmti.errors.ThreadNotSuspended):
        thread.frames[0].return_(78)
    with thread.suspended():
        assert thread.carrier is not None
        assert not thread.is_pinned  # no release says of a thread that runs
        thread.frames[0].pop()
    virtual(vm, "spin", "RUNNABLE")  # its caller may not have made the call again yet
    with thread.suspended():
        thread.frames[0].return_(78)
    assert program.ask("join v") == "78"


@pytest.mark.since(21)
@pytest.mark.natively("no frame is popped")
def test_a_virtual_thread_without_a_carrier_cannot_leave_its_frame(
    vm: jvmti.VM, program: JavaProgram, with_virtual_threads: None
) -> None:
    program.ask("virtual v wait 0")
    thread = virtual(vm, "waiting", "WAITING")
    assert not thread.is_pinned
    with thread.suspended():
        top = thread.frames[0]
        for leave in (top.pop, lambda: top.return_(True)):
            with pytest.raises(OpaqueFrame, match=r"not mounted .*a breakpoint, or .* runs"):
                leave()
    program.ask("release")
    assert program.ask("join v") == "2"


@pytest.mark.since(21)
@pytest.mark.natively("no frame is popped")
def test_a_virtual_thread_that_waits_in_synchronized_is_pinned_up_to_java_23(
    vm: jvmti.VM, program: JavaProgram, jvm: Jvm, with_virtual_threads: None
) -> None:
    program.ask("virtual v guard 0")
    thread = virtual(vm, "guarding", "WAITING")
    assert (thread.carrier is not None) == thread.is_pinned == (jvm.feature < 24)
    with thread.suspended():
        assert thread.is_pinned == (jvm.feature < 24)
    program.ask("release")
    assert program.ask("join v") == "3"


@pytest.mark.natively("probes leave a frame themselves")
def test_a_frame_above_a_native_method_cannot_be_left(vm: jvmti.VM, program: JavaProgram) -> None:
    if not Capabilities.can_pop_frame & vm.env.get_potential_capabilities():
        pytest.skip("the interpreter-only VM does neither")
    reader = vm.threads["main"]
    with reader.suspended():
        top = reader.frames[0]
        assert top.is_native
        for leave in (top.pop, lambda: top.return_(0)):
            with pytest.raises(OpaqueFrame, match="is native"):
                leave()


@pytest.mark.natively("late the last step ends where the method returns")
def test_a_thread_is_stepped_line_by_line(vm: jvmti.VM, program: JavaProgram) -> None:
    with method(vm, "loop").breakpoint() as stops:
        program.ask("start t loop 2")
        stop = taken(stops)
        lines = [stop.line]
        with stop.thread.step("over") as steps:
            for step in steps:
                lines.append(step.line)
                if step.method.name != "loop":
                    break
    first = LINE["for"] - 1
    again = [LINE["for"], LINE["body"]]
    assert lines[:-1] == [first, *again, *again, LINE["for"], LINE["end"]]
    assert program.ask("join t") == "1"


@pytest.mark.natively("probes step by line")
def test_steps_by_instruction_are_the_bytecodes(vm: jvmti.VM, program: JavaProgram) -> None:
    seen: list[int] = []
    with method(vm, "another").breakpoint() as stops:
        program.ask("start t other 1")
        stop = taken(stops)
        at: list[Any] = [stop]
        while at[-1].method.name == "another":
            seen.append(at[-1].location)
            at.append(at[-1].step("over", by="instruction"))
    # iload, ldc, invokestatic, ireturn
    assert seen == [0, 1, 3, 6]
    program.ask("join t")


@pytest.mark.since(21)
def test_a_virtual_thread_stops_and_steps_as_others_do(vm: jvmti.VM, program: JavaProgram) -> None:
    with method(vm, "add").breakpoint(line=LINE["twice"], when="n == 1") as stops:
        program.ask("virtual v add 3")
        stop = taken(stops)
        assert stop.thread.is_virtual
        assert stop.locals["name"] == "x1"
        step = stop.step("over")
        assert step is not None
        assert (step.line, step.locals["twice"]) == (LINE["sum"], 2)
    assert program.ask("join v") == "12"


def test_bad_steps_are_refused(vm: jvmti.VM) -> None:
    thread = vm.threads["main"]
    with pytest.raises(ValueError, match="over"):
        thread.step("sideways")
    with pytest.raises(ValueError, match="instruction"):
        thread.step("into", by="page")


# ---- watches and exceptions -----------------------------------------------------------------


def test_a_watched_field_says_what_will_be_written(vm: jvmti.VM, program: JavaProgram) -> None:
    with stopping.field(vm, "written").watch() as stops:
        program.ask("start t fields 3")
        assert [taken(stops).value for _ in range(3)] == [0, 1, 2]
        assert stops.next(0) is None
    assert program.ask("join t") == "2 30 done"


def test_an_instance_field_is_distinguished_from_others_and_a_text_is_one(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    seen: list[Any] = []
    counted = stopping.field(vm, "counted").watch(do=lambda s: seen.append((s.line, s.value)))
    read = stopping.field(vm, "counted").watch(
        read=True, write=False, do=lambda s: seen.append(("read", s.value))
    )
    label = stopping.field(vm, "label").watch(do=lambda s: seen.append((s.line, s.object)))
    program.ask("start t fields 1")
    program.ask("join t")
    line = LINE["instance"]
    assert seen == [("read", 0), (line, 10), (LINE["label"], None), ("read", 10)]
    for watch in (counted, read, label):
        watch.cancel()


@pytest.mark.natively("an exception is seen as it is made")
def test_an_exception_is_stopped_at_where_it_is_thrown(vm: jvmti.VM, program: JavaProgram) -> None:
    with vm.catch("java.lang.NullPointerException") as stops:
        program.ask("start t null 1")
        stop = taken(stops)
        assert stop.line == LINE["null"]
        assert stop.exception is not None
        assert stop.exception.cls.name == "java.lang.NullPointerException"
        assert stop.catch_method is not None
        assert stop.catch_method.name == "nothing"
    assert program.ask("join t") == "caught"


@pytest.mark.natively("the probes of methods without the variable are left out")
def test_a_watch_stops_where_a_condition_on_variables_holds(
    vm: jvmti.VM, program: JavaProgram, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "jvmti")
    written, label = stopping.field(vm, "written"), stopping.field(vm, "label")
    every = written.watch(when="i >= 1", hits="every 2")
    elsewhere = label.watch(when="i == 3")  # where the loop's variable is gone
    with written.watch(when="i == 1 and one is not None and n != 4") as stops:
        program.ask("start t fields 4")
        program.ask("join t")
        program.ask("start t fields 5")
        stop = taken(stops)
        assert (stop.value, stop.line, stop.locals["n"]) == (1, LINE["static"], 5)
        assert stops.next(0) is None
    program.ask("join t")
    assert every.hits == (3 + 4) // 2
    assert elsewhere.hits == 0
    reported = [one.message for one in caplog.records if "the condition is false in" in one.message]
    assert len(reported) == 1
    assert (
        "Stopping.fields: 'i' in the condition 'i == 3': the variable has no value" in reported[0]
    )
    with pytest.raises(ConditionError, match="not an expression"):
        label.watch(when="i ==")
    for watch in (every, elsewhere):
        watch.cancel()
    assert not list(vm.breakpoints)


@pytest.mark.natively("an exception is seen as it is made")
def test_an_exception_is_stopped_at_where_a_condition_on_variables_holds(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    with vm.catch("java.lang.IllegalStateException", when="n > 1") as stops:
        for number in (1, 2):
            program.ask(f"start t{number} guarded {number}")
        stop = taken(stops)
        assert stop.exception is not None
        assert stop.exception.call("getMessage") == "n is 2"
        assert stops.next(0) is None
    assert [program.ask(f"join t{number}") for number in (1, 2)] == ["-1", "-1"]


@pytest.mark.natively("an exception is seen as it is made")
def test_exceptions_are_chosen_by_superclass_pattern_and_fate(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    by = {
        "subclass": vm.catch("java.lang.RuntimeException"),
        "pattern": vm.catch("java.lang.Illegal*"),
        "simple": vm.catch("IllegalStateException"),
        "other": vm.catch("java.io.IOException"),
        "caught": vm.catch("java.lang.IllegalStateException", uncaught=False),
        "uncaught": vm.catch("java.lang.IllegalStateException", caught=False),
    }
    program.ask("start t guarded 1")
    program.ask("join t")
    hits = {name: catch.hits for name, catch in by.items()}
    assert [name for name in hits if hits[name]] == ["subclass", "pattern", "simple", "caught"]
    assert set(hits.values()) == {0, 1}
    for catch in by.values():
        catch.cancel()
    with pytest.raises(ValueError, match="caught"):
        vm.catch("x", caught=False, uncaught=False)


# ---- classes that are yet to come -----------------------------------------------------------


def test_a_class_that_is_not_loaded_is_reported_once_with_similar_names(
    vm: jvmti.VM, program: JavaProgram, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "jvmti")
    for name, level in (("Stoping", "WARNING"), ("zq.zqzqzqzq", "INFO"), ("zq.*", "INFO")):
        point, catch = vm.breakpoint(name, "add"), vm.catch(name)
        assert point.is_pending
        said = point.pending_reason
        assert said is not None
        assert catch.pending_reason == said
        near = f"no class {name!r} is loaded yet; similar names that are: Stopping"
        assert said.startswith(near) if level == "WARNING" else said == near.partition(";")[0]
        reported = [(one.levelname, one.message) for one in caplog.records]
        assert reported == [
            (level, f"breakpoint pending: {said}"),
            (level, f"catchpoint pending: {said}"),
        ]
        caplog.clear()
        assert repr(point) == f"<Breakpoint {name}.add: pending, {said}, 0 hits>"
        assert repr(catch) == f"<Catchpoint {name}: {said}, 0 hits>"
        point.cancel()
        catch.cancel()
    # Where there is one there is nothing to say.
    loaded = [vm.catch(), vm.catch("java.lang.*"), vm.breakpoint("Stopping", "add")]
    assert [one.pending_reason for one in loaded] == [None, None, None]
    for one in loaded:
        one.cancel()


def test_a_breakpoint_waits_for_classes_of_several_loaders(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    with vm.breakpoint("Stopping$Loaded", "answer", when="n >= 1") as stops:
        assert stops.is_pending
        found: list[str] = []
        loading = threading.Thread(target=lambda: found.append(program.ask("load 3", timeout=SOON)))
        loading.start()
        seen = []
        while len(seen) < 2:
            stop = taken(stops)
            seen.append((stop.line, stop.locals["n"]))
        assert stops.next(0) is None
        loading.join(SOON)
        assert found == ["6"]
        assert seen == [(LINE["loaded"], 1), (LINE["loaded"], 2)]
        assert len(stops.places) == 3
        loading = threading.Thread(target=lambda: found.append(program.ask("load 2", timeout=SOON)))
        loading.start()
        assert taken(stops).locals["n"] == 1
    loading.join(SOON)
    assert found[1] == "3"
    # A breakpoint of the VM's keeps its class; now nothing does any more.
    del stop
    assert vm.phase is not None  # what Python has let go of goes along with a call
    assert program.ask("unload", timeout=SOON) == "true"
    with vm.breakpoint("Stopping$Loaded", "answer") as stops:
        assert stops.is_pending
        loading = threading.Thread(target=lambda: found.append(program.ask("load 1", timeout=SOON)))
        loading.start()
        assert taken(stops).locals["n"] == 0
    loading.join(SOON)
    assert vm.phase is not None
    assert program.ask("unload", timeout=SOON) == "true"


def test_a_breakpoint_by_pattern_takes_loaded_classes_too(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    point = vm.breakpoint("Stop*", "an*")
    assert [one.name for one, _ in point.places] == ["another"]
    by_line = vm.breakpoint("Stopping", line=LINE["sum"])
    assert [one.name for one, _ in by_line.places] == ["add"]
    program.ask("start t other 1")
    program.ask("join t")
    assert (point.hits, by_line.hits) == (1, 1)
    assert program.ask("load 1") == "1"
    assert point.hits == 2
    point.cancel()
    by_line.cancel()
    assert vm.phase is not None
    assert program.ask("unload", timeout=SOON) == "true"


# ---- what goes wrong ------------------------------------------------------------------------


def test_what_has_no_place_says_why(vm: jvmti.VM) -> None:
    with pytest.raises(ValueError, match=rf"nearest lines with code: {LINE['twice']}, "):
        method(vm, "add").breakpoint(line=LINE["twice"] - 3)
    with pytest.raises(LookupError, match="did you mean 'factorial'"):
        vm.breakpoint("Stopping", "factoriel")
    with pytest.raises(LookupError, match=r"no signature \(J\)V; there are \(ILjava"):
        vm.breakpoint("Stopping", "add", signature="(J)V")
    with pytest.raises(ValueError, match='for a method add of Stopping, pass "Stopping", "add"'):
        vm.breakpoint("Stopping.add")
    with pytest.raises(TypeError, match="not int; a line goes as line="):
        vm.breakpoint("Stopping", 12)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not Method; for a Method that you have"):
        vm.breakpoint(method(vm, "add"))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no method of Stopping has code at line 1;"):
        vm.breakpoint("Stopping", line=1)
    shape = {one.name: one for one in vm.find_class("Stopping$Shape").methods}
    with pytest.raises(ValueError, match="area is abstract"):
        shape["area"].breakpoint()
    with pytest.raises(ValueError, match="drawn is native"):
        shape["drawn"].breakpoint()
    with pytest.raises(jvmti.errors.InvalidLocation):
        method(vm, "add").breakpoint(location=10_000)
    with pytest.raises(ValueError, match='"after 10" or "only 10", not 0'):
        method(vm, "add").breakpoint(hits=0)
    with pytest.raises(TypeError, match="thread="):
        method(vm, "add").breakpoint(thread="t")  # type: ignore[arg-type]


@pytest.mark.natively("it starts a JVM of its own")
def test_a_class_without_tables_says_what_is_missing(jvm: Jvm, java_program: JavaPrograms) -> None:
    program = java_program(
        "Stopping",
        debug=False,
        jvm_args=stopping.reserving(jvm),
    )
    program.expect("ready", timeout=60)
    with jvmti.attach(program.pid, timeout=30) as vm:
        add = method(vm, "add")
        with pytest.raises(ValueError, match=r"without line numbers .*location="):
            add.breakpoint(line=LINE["sum"])
        reported = r"javac -g\); its parameters are slot0 \(int\), slot1 \(java.lang.String\)"
        with pytest.raises(ConditionError, match=reported):
            add.breakpoint(when="n == 1")
        with add.breakpoint(when="slot0 > 1 and slot1 == 'x2'") as stops:
            program.ask("start t add 4")
            stop = taken(stops)
            assert dict(stop.locals) == {0: 2, 1: "x2"}
        assert program.ask("join t") == "20"
        with add.breakpoint(location=0) as stops:
            program.ask("start t add 1")
            stop = taken(stops)
            assert stop.line is None
            with pytest.raises(KeyError, match="javac -g"):
                stop.locals["n"]
        assert program.ask("join t") == "2"


# ---- sessions that go -----------------------------------------------------------------------


@pytest.mark.natively("it starts a JVM of its own")
def test_who_holds_breakpoints_is_named_and_leaves_them_to_others(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    point = method(vm, "add").breakpoint()
    with jvmti.attach(program.pid, timeout=30) as other:
        with pytest.raises(NotAvailable, match="held by controller"):
            method(other, "add").breakpoint()
    point.cancel()


@pytest.mark.natively("it starts a JVM of its own")
def test_a_jvm_that_does_not_give_steps_gives_none_by_instruction(
    jvm: Jvm, java_program: JavaPrograms
) -> None:
    program = java_program("Stopping", jvm_args=["-XX:+StartAttachListener"])
    program.expect("ready", timeout=60)
    with jvmti.attach(program.pid, timeout=30) as vm:
        with pytest.raises(NotAvailable, match="attached late steps threads by line"):
            vm.threads["main"].step(by="instruction")
        assert len(vm.breakpoints) == 0


@pytest.mark.natively("it starts a JVM of its own")
def test_a_held_jvm_has_its_first_stop_before_the_program_runs(
    jvm: Jvm, java_classes: Callable[..., Path]
) -> None:
    command = [jvm.java, *jvm.args, "-cp", java_classes("Stopping"), "Stopping"]
    silent = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL}
    with jvmti.launch(command, hold=True, **silent) as vm:  # type: ignore[arg-type]
        assert vm.popen is not None
        with vm.breakpoint("Stopping", "main") as stops:
            assert stops.is_pending
            vm.proceed()
            stop = taken(stops)
            assert stop.thread.name == "main"
            assert stop.locals["arguments"] is not None
            step = stop.step("over")
            assert step is not None
            assert step.line == (stop.line or 0) + 1
        assert vm.popen.stdin is not None
        vm.popen.stdin.close()
        assert vm.popen.wait(SOON) == 0


@pytest.mark.natively("it is about the VM's own capabilities")
def test_an_environment_of_the_users_own_lends_what_only_one_can_have(
    jvm: Jvm, java_program: JavaPrograms
) -> None:
    program = stopping.start(java_program, jvm)
    with jvmti.attach(program.pid, timeout=30, capabilities="all") as vm:
        with method(vm, "add").breakpoint(line=LINE["sum"], when="n == 1") as stops:
            program.ask("start t add 3")
            stop = taken(stops)
            assert stop.locals["twice"] == 2
            step = stop.step()
            assert step is not None
            assert step.line == LINE["return"]
        assert program.ask("join t") == "12"


DIES = """
import os, signal, sys
import jvmti

vm = jvmti.attach(int(sys.argv[1]), timeout=30)
add = next(one for one in vm.find_class("Stopping").methods if one.name == "add")
class Recorded:
    values = ["n"]
    def recording(self, method, at):
        return self
    def __call__(self, stop):
        raise SystemExit("asked")
add.breakpoint(line=int(sys.argv[2]) - 1, do=Recorded())
with add.breakpoint(line=int(sys.argv[2]), when="n >= 0") as stops:
    print("ready", flush=True)
    stop = next(stops)
    steps = stop.thread.step("into")
    print("stopped", flush=True)
    if sys.argv[3] == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if sys.argv[3] == "detached":
        vm.detach()
        sys.exit()
    signal.pause()
"""


@pytest.fixture(scope="module")
def left(jvm: Jvm, shared_java_program: JavaPrograms) -> JavaProgram:
    """A program with which nobody else has a session."""
    return stopping.start(shared_java_program, jvm)


@pytest.mark.file_in_turn
@pytest.mark.natively("test_late_stops kills its controllers")
@pytest.mark.parametrize("how", ["interrupted", "detached", "killed"])
def test_however_the_controller_goes_threads_go_on_at_full_speed(
    left: JavaProgram, how: str
) -> None:
    program = left
    with Prepared(
        ["-c", DIES, str(program.pid), str(LINE["sum"]), how],
        ["jvmti.target.attach", "jvmti.model.debug.breakpoints"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as controller:
        assert controller.stdout is not None
        assert controller.stdout.readline() == b"ready\n"
        program.ask("start t add 3")
        assert controller.stdout.readline() == b"stopped\n"
        maps = Path(f"/proc/{program.pid}/maps")
        assert how != "interrupted" or "memfd:jvmti" in maps.read_text()
        if how == "interrupted":
            os.kill(controller.pid, signal.SIGINT)
        assert program.ask("join t", timeout=SOON) == "12"
        controller.kill()
    # Another one can have them all now, and nothing of the first is left.
    with jvmti.attach(program.pid, timeout=30) as vm:
        while vm.stats.agent.sessions > 1:  # type: ignore[union-attr]
            pass  # the thread goes first, and then what the dead one held
        assert "memfd:jvmti" not in maps.read_text()
        with method(vm, "add").breakpoint(line=LINE["sum"]) as stops:
            program.ask("start t add 1")
            assert taken(stops).locals["n"] == 0
        assert program.ask("join t") == "2"
