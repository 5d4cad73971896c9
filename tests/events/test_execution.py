"""Events of running code: steps, breakpoints, methods entered and left, frames popped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import compiler
import jvms
import jvmti
import programs
from conformance import javap
from conformance.evidence import Evidence
from events.seen import Code, Seen
from jvmti.interface.constants import Event, EventMode


def main_thread(vm: jvmti.VM) -> Any:
    return vm.threads["main"]


def test_a_breakpoint_tells_thread_method_and_location(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code, evidence: Evidence
) -> None:
    evidence.shows("Breakpoint")
    evidence.proves("set_breakpoint", "clear_breakpoint")
    env = vm.env
    locations = [entry.start_location for entry in env.get_line_number_table(code["straight"])]
    seen = Seen()
    with env.on("Breakpoint", seen):
        for location in locations:
            env.set_breakpoint(code["straight"], location)
        assert program.ask("calculate 5") == "16"
        for location in locations:
            env.clear_breakpoint(code["straight"], location)
        assert program.ask("calculate 6") == "19"
    assert [event.location for event in seen] == locations
    assert {event.method for event in seen} == {code["straight"]}
    assert {event.thread for event in seen} == {main_thread(vm)}


def test_the_handler_of_a_breakpoint_finds_the_thread_there(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code
) -> None:
    env = vm.env
    found = {}

    def look(event: Any) -> None:
        found["current"] = env.get_current_thread()
        found["frames"] = [frame.method.name for frame in env.get_stack_trace(event.thread, 0, 3)]
        found["argument"] = env.get_local_int(event.thread, 0, 0)
        found["location"] = env.get_frame_location(event.thread, 0)

    env.set_breakpoint(code["straight"], 0)
    with env.on("Breakpoint", look):
        assert program.ask("thread worker calculate 41") == "124"
    env.clear_breakpoint(code["straight"], 0)
    assert found["current"].name == "worker"
    assert found["frames"] == ["straight", "calculate", *found["frames"][2:]]
    assert found["argument"] == 41
    assert found["location"] == (code["straight"], 0)


def test_a_breakpoint_stops_either_kind_of_thread(
    kind: str, program: programs.JavaProgram, vm: jvmti.VM, code: Code
) -> None:
    seen = Seen(note=lambda event: (event.thread.name, event.thread.is_virtual))
    vm.env.set_breakpoint(code["straight"], 0)
    with vm.env.on("Breakpoint", seen):
        assert program.ask(f"{kind} runner calculate 1") == "4"
    vm.env.clear_breakpoint(code["straight"], 0)
    assert seen == [("runner", kind == "virtual")]


def test_single_step_is_switched_on_at_a_breakpoint(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code, jdk: Path, evidence: Evidence
) -> None:
    evidence.shows("SingleStep")
    evidence.proves("set_event_notification_mode")
    env = vm.env
    written = javap.read(jdk, compiler.classes("Events") / "Events.class").method("straight")
    steps = Seen(lambda event: event.method == code["straight"])

    def begin(event: Any) -> None:
        env.set_event_notification_mode(EventMode.ENABLE, Event.SINGLE_STEP, event.thread)

    def end(event: Any) -> None:
        env.set_event_notification_mode(EventMode.DISABLE, Event.SINGLE_STEP, event.thread)

    env.set_breakpoint(code["straight"], 0)
    env.set_breakpoint(code["echo"], 0)
    env.set_event_callbacks(
        {
            Event.BREAKPOINT: lambda event: (
                begin(event) if event.method == code["straight"] else end(event)
            ),
            Event.SINGLE_STEP: steps,
        }
    )
    env.set_event_notification_mode(EventMode.ENABLE, Event.BREAKPOINT)
    try:
        assert program.ask("calculate 2") == "7"
        assert program.ask("echo done") == "done"
        counted = len(steps)
        assert program.ask("calculate 2") == "7"
    finally:
        env.set_event_notification_mode(EventMode.DISABLE, Event.BREAKPOINT)
        end(steps[0])
        env.set_event_callbacks(None)
        env.clear_breakpoint(code["straight"], 0)
        env.clear_breakpoint(code["echo"], 0)
    instructions = [location for location, _ in written.instructions]
    # At the breakpoint itself the thread had already begun its instruction.
    assert [event.location for event in steps[:counted]] == instructions[1:]
    assert {event.thread for event in steps} == {main_thread(vm)}


def test_methods_are_entered_and_left_in_java_s_own_order(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code, evidence: Evidence
) -> None:
    evidence.shows("MethodEntry", "MethodExit")
    env = vm.env
    trace: list[str] = []

    def entered(event: Any) -> None:
        if event.method == code["down"]:
            assert event.thread == main
            trace.append(f"enter {env.get_local_int(event.thread, 0, 0)}")

    def left(event: Any) -> None:
        if event.method == code["down"]:
            assert not event.was_popped_by_exception
            trace.append(f"leave {event.return_value}")

    main = main_thread(vm)
    with env.on("MethodEntry", entered, thread=main), env.on("MethodExit", left, thread=main):
        answer = program.ask("descend 3")
    assert answer == "3 " + ", ".join(trace)
    assert trace[0] == "enter 3"
    assert trace[-1] == "leave 3"
    assert len(trace) == 8


RETURNED = {
    "aBoolean": ("false", False),
    "aByte": ("1", 1),
    "aChar": ("1", "\x01"),
    "aShort": ("1", 1),
    "anInt": ("1", 1),
    "aLong": ("1", 1),
    "aFloat": ("1.0", 1.0),
    "aDouble": ("1.0", 1.0),
    "aString": ("its own", "its own"),
    "aVoid": ("nothing", None),
}


def test_a_method_exit_brings_what_is_returned_whatever_its_type(
    program: programs.JavaProgram, vm: jvmti.VM
) -> None:
    returning = Code(vm, "Events$Returning")
    seen = Seen(lambda event: event.method in mine)
    mine = {returning[name] for name in RETURNED}
    with vm.env.on("MethodExit", seen, thread=main_thread(vm)):
        # In one command: each method that a command leaves is an event.
        answers = program.ask(f"returned {' '.join(RETURNED)}").split(", ")
    assert answers == [f"{printed} 1" for printed, _ in RETURNED.values()]
    assert [event.method for event in seen] == [returning[name] for name in RETURNED]
    values = [
        str(event.return_value) if name == "aString" else event.return_value
        for name, event in zip(RETURNED, seen, strict=True)
    ]
    assert values == [value for _, value in RETURNED.values()]


def test_an_exception_leaves_methods_without_a_value(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code
) -> None:
    seen = Seen(lambda event: event.method in (code["throwing"], code["passing"], code["catching"]))
    with vm.env.on("MethodExit", seen, thread=main_thread(vm)):
        answer = program.ask("fail oops")
    assert [
        (event.method.name, event.was_popped_by_exception, event.return_value is None)
        for event in seen
    ] == [("throwing", True, True), ("passing", True, True), ("catching", False, False)]
    assert str(seen[-1].return_value) == answer


def test_a_native_method_is_entered_and_left_too(
    program: programs.JavaProgram, vm: jvmti.VM, jvm: jvms.Jvm
) -> None:
    if jvm.name == "zero":
        pytest.skip("this VM does not tell of native methods")
    trace = []
    main = main_thread(vm)

    def note(event: Any) -> None:
        if event.method.name == "identityHashCode" and event.method.is_native:
            trace.append(getattr(event, "return_value", "entered"))

    with vm.env.on("MethodEntry", note, thread=main), vm.env.on("MethodExit", note, thread=main):
        answer = program.ask("copy 3")
    assert trace == ["entered", int(answer.split()[1])]


@pytest.mark.parametrize("how", ["return", "exception"])
def test_a_frame_that_was_asked_for_is_popped(
    how: str, program: programs.JavaProgram, vm: jvmti.VM, code: Code, evidence: Evidence
) -> None:
    evidence.shows("FramePop")
    evidence.proves("notify_frame_pop")
    env = vm.env
    place = code["inner"] if how == "return" else code["throwing"]
    outer = code["outer"] if how == "return" else code["passing"]
    popped = Seen(note=lambda event: (event.method, event.was_popped_by_exception, event.thread))

    def ask(event: Any) -> None:
        env.notify_frame_pop(None, 0)
        env.notify_frame_pop(None, 1)

    env.set_breakpoint(place, 0)
    with env.on("Breakpoint", ask), env.on("FramePop", popped):
        if how == "return":
            assert program.ask("nested 4") == "11"
        else:
            assert program.ask("fail oops").startswith("oops ")
        env.clear_breakpoint(place, 0)
        assert program.ask("nested 4") == "11"
    by_exception = how == "exception"
    assert popped == [
        (place, by_exception, main_thread(vm)),
        (outer, by_exception, main_thread(vm)),
    ]


@pytest.mark.since(21)
def test_a_frame_is_popped_on_a_virtual_thread(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code
) -> None:
    env = vm.env
    popped = Seen(note=lambda event: (event.method.name, event.thread.is_virtual))
    env.set_breakpoint(code["inner"], 0)
    with (
        env.on("Breakpoint", lambda event: env.notify_frame_pop(event.thread, 1)),
        env.on("FramePop", popped),
    ):
        assert program.ask("virtual runner nested 4") == "11"
    env.clear_breakpoint(code["inner"], 0)
    assert popped == [("outer", True)]


@pytest.mark.parametrize("event", ["Breakpoint", "MethodEntry", "MethodExit"])
def test_an_event_for_one_thread_comes_from_no_other(
    event: str, program: programs.JavaProgram, vm: jvmti.VM, code: Code
) -> None:
    seen = Seen(lambda event: event.method == code["straight"])
    vm.env.set_breakpoint(code["straight"], 0)
    with vm.env.on(event, seen, thread=main_thread(vm)):
        assert program.ask("thread other calculate 5") == "16"
        assert program.ask("calculate 5") == "16"
        assert program.ask("thread other calculate 5") == "16"
    assert program.ask("calculate 5") == "16"
    vm.env.clear_breakpoint(code["straight"], 0)
    assert [one.thread for one in seen] == [main_thread(vm)]


def test_each_of_two_environments_receives_what_it_enabled(
    program: programs.JavaProgram, vm: jvmti.VM, another: jvmti.Env, code: Code
) -> None:
    order: list[tuple[str, jvmti.Env]] = []

    def noting(what: str) -> Any:
        def note(event: Any) -> None:
            if event.method == code["straight"]:
                order.append((what, event.env))

        return note

    main = main_thread(vm)
    with (
        vm.env.on("MethodEntry", noting("entry"), thread=main),
        another.on("MethodEntry", noting("entry"), thread=main),
        another.on("MethodExit", noting("exit"), thread=main),
    ):
        assert program.ask("calculate 5") == "16"
    # Environments get an event in the order in which they were made.
    assert order == [("entry", vm.env), ("entry", another), ("exit", another)]
    order.clear()
    with another.on("MethodExit", noting("exit"), thread=main):
        assert program.ask("calculate 5") == "16"
    assert order == [("exit", another)]


def test_handlers_of_one_event_are_called_in_the_order_of_their_registration(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code
) -> None:
    order: list[int] = []
    vm.env.set_breakpoint(code["straight"], 0)
    with (
        vm.env.on("Breakpoint", lambda event: order.append(1)),
        vm.env.on("Breakpoint", lambda event: order.append(2)) as second,
        vm.env.on("Breakpoint", lambda event: order.append(3)),
    ):
        assert program.ask("calculate 5") == "16"
        second.cancel()
        assert program.ask("calculate 5") == "16"
    vm.env.clear_breakpoint(code["straight"], 0)
    assert order == [1, 2, 3, 1, 3]


def test_callbacks_are_set_all_at_once(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code, evidence: Evidence
) -> None:
    evidence.proves("set_event_callbacks", "set_event_notification_mode")
    env = vm.env
    entered = Seen(lambda event: event.method == code["straight"])
    left = Seen(lambda event: event.method == code["straight"])
    main = main_thread(vm)
    events = (Event.METHOD_ENTRY, Event.METHOD_EXIT)
    for event in events:
        env.set_event_notification_mode(EventMode.ENABLE, event, main)
    try:
        assert program.ask("calculate 1") == "4"  # enabled, but nobody to call
        env.set_event_callbacks({Event.METHOD_ENTRY: entered})
        assert program.ask("calculate 1") == "4"
        env.set_event_callbacks({Event.METHOD_EXIT: left})
        assert program.ask("calculate 1") == "4"
        env.set_event_callbacks(None)
        assert program.ask("calculate 1") == "4"
    finally:
        for event in events:
            env.set_event_notification_mode(EventMode.DISABLE, event, main)
    assert len(entered) == 1
    assert [event.return_value for event in left] == [4]
