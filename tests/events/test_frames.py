"""What a debugger does to the frames of a thread that it has stopped."""

from __future__ import annotations

import functools
from typing import Any

import pytest

import jvmti
import programs
from conformance.evidence import Evidence
from events.seen import Code
from jvmti.interface.capabilities import Capabilities
from jvmti.interface.constants import ClassStatus, ThreadState


def needs(env: jvmti.Env, *names: str) -> None:
    """Skip where the VM does not offer a capability, as the interpreter-only one."""
    if Capabilities.of(*names) & ~env.get_capabilities():
        pytest.skip(f"this VM has no {' '.join(names)}")


READ: dict[str, tuple[str, Any]] = {
    "z": ("int", 1),
    "b": ("int", -8),
    "c": ("int", ord("C")),
    "s": ("int", -16),
    "i": ("int", -32),
    "j": ("long", -64),
    "f": ("float", 1.5),
    "d": ("double", -2.25),
    "o": ("object", "text"),
}
WRITTEN: dict[str, Any] = {
    "z": 0,
    "b": 8,
    "c": ord("D"),
    "s": 16,
    "i": 32,
    "j": 64,
    "f": -1.5,
    "d": 2.25,
    "o": "other",
}


def test_local_variables_of_all_types_are_read_and_written_in_a_breakpoint(
    kind: str,
    program: programs.JavaProgram,
    vm: jvmti.VM,
    code: Code,
    evidence: Evidence,
) -> None:
    env = vm.env
    functions = [f"{verb}_local_{type_}" for verb in ("get", "set") for type_, _ in READ.values()]
    evidence.proves(*functions)
    slots = {entry.name: entry.slot for entry in env.get_local_variable_table(code["mixed"])}
    found: dict[str, Any] = {}

    def exchange(event: Any) -> None:
        for name, (type_, _) in READ.items():
            get = getattr(env, f"get_local_{type_}")
            value = get(event.thread, 0, slots[name])
            found[name] = str(value) if type_ == "object" else value
            new = vm.jni.new_string(WRITTEN[name]) if type_ == "object" else WRITTEN[name]
            getattr(env, f"set_local_{type_}")(event.thread, 0, slots[name], new)

    env.set_breakpoint(code["mixed"], 0)
    with env.on("Breakpoint", exchange):
        answer = program.ask(f"{kind} runner variables")
    assert found == {name: value for name, (_, value) in READ.items()}
    assert answer == "false,8,68,16,32,64,-1.5,2.25,other,33"


def test_a_variable_of_a_caller_is_changed(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code
) -> None:
    env = vm.env
    slot = next(e.slot for e in env.get_local_variable_table(code["outer"]) if e.name == "value")
    seen: list[int] = []

    def change(event: Any) -> None:
        seen.append(env.get_local_int(event.thread, 1, slot))
        with pytest.raises(jvmti.errors.TypeMismatch):
            env.get_local_object(event.thread, 1, slot)

    env.set_breakpoint(code["inner"], 0)
    with env.on("Breakpoint", change):
        assert program.ask("nested 4") == "11"
    assert seen == [4]
    assert vm.handler_errors == []


def test_a_popped_frame_is_entered_again(
    kind: str,
    program: programs.JavaProgram,
    vm: jvmti.VM,
    code: Code,
    evidence: Evidence,
) -> None:
    needs(vm.env, "can_pop_frame")
    evidence.proves("pop_frame")
    entered: list[int] = []

    def pop_once(event: Any) -> None:
        entered.append(vm.env.get_local_int(event.thread, 0, 0))
        if len(entered) == 1:
            vm.env.pop_frame(event.thread)

    vm.env.set_breakpoint(code["inner"], 0)
    with vm.env.on("Breakpoint", pop_once):
        assert program.ask(f"{kind} runner nested 4") == "11"
    assert entered == [5, 5]


def test_a_handler_leaves_its_frame_while_it_has_another_thread_suspended(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code
) -> None:
    """The other thread runs on at the end of the block, though this one is to run no Java code."""
    needs(vm.env, "can_suspend", "can_force_early_return")
    other = vm.threads["Finalizer"]
    states: list[bool] = []

    def is_suspended() -> bool:
        return bool(vm.env.get_thread_state(other) & ThreadState.SUSPENDED)

    def leave(event: Any) -> None:
        with other.suspended():
            states.append(is_suspended())
            vm.env.force_early_return_int(None, 100)
        states.append(is_suspended())

    vm.env.set_breakpoint(code["inner"], 0)
    with vm.env.on("Breakpoint", leave, thread=vm.threads["main"]):
        answer = program.ask("nested 4")
    assert states == [True, False]
    assert answer == "101"


def test_a_handler_leaves_one_frame_at_a_time(
    kind: str, program: programs.JavaProgram, vm: jvmti.VM, code: Code
) -> None:
    """HotSpot would pop the frame and return from its caller, with any value, and crash."""
    needs(vm.env, "can_pop_frame", "can_force_early_return")
    entered: list[int] = []

    def leave(event: Any) -> None:
        entered.append(vm.env.get_local_int(event.thread, 0, 0))
        if len(entered) < 4:
            vm.env.pop_frame(event.thread)
        else:
            vm.env.force_early_return_int(event.thread, 100)
        for again in (
            functools.partial(vm.env.pop_frame, event.thread),
            functools.partial(vm.env.force_early_return_int, event.thread, 100),
            functools.partial(vm.env.force_early_return_object, None, event.thread),
        ):
            with pytest.raises(jvmti.errors.Internal, match="has not run since"):
                again()

    vm.env.set_breakpoint(code["inner"], 0)
    with vm.env.on("Breakpoint", leave):
        assert program.ask(f"{kind} runner nested 4") == "101"
    assert entered == [5, 5, 5, 5]
    assert vm.handler_errors == []


def test_popping_a_frame_lets_go_of_its_lock(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code
) -> None:
    """The monitor has an owner in the frame, none when it was popped, and one when it is back."""
    env = vm.env
    needs(env, "can_pop_frame", "can_get_monitor_info")
    owners: list[Any] = []
    usage = functools.partial(env.get_object_monitor_usage, code.cls)

    def look(event: Any) -> None:
        if event.method == code["locked"]:
            found = usage()
            owners.append((found.owner and found.owner.name, found.entry_count))
            if len(owners) == 1:
                env.pop_frame(event.thread)
                env.set_breakpoint(code["locking"], event_location(event))
        else:
            found = usage()
            owners.append((found.owner, found.entry_count))

    def event_location(event: Any) -> int:
        """Where the caller is, which it comes back to."""
        return int(env.get_frame_location(event.thread, 1).location)

    env.set_breakpoint(code["locked"], 0)
    with env.on("Breakpoint", look, thread=vm.threads["main"]):
        assert program.ask("locking 4") == "5 free"
    assert owners == [("main", 1), (None, 0), ("main", 1)]


RETURNED: dict[str, tuple[str, Any, str]] = {
    "aBoolean": ("int", 1, "true"),
    "aByte": ("int", -8, "-8"),
    "aChar": ("int", ord("C"), "67"),
    "aShort": ("int", -16, "-16"),
    "anInt": ("int", -32, "-32"),
    "aLong": ("long", -64, "-64"),
    "aFloat": ("float", 1.5, "1.5"),
    "aDouble": ("double", -2.25, "-2.25"),
    "aString": ("object", "ours", "ours"),
    "aVoid": ("void", None, "nothing"),
}


def test_methods_of_every_type_are_made_to_return_early_from_a_handler(
    program: programs.JavaProgram, vm: jvmti.VM, evidence: Evidence
) -> None:
    """Their code does not run: the program counts no call."""
    needs(vm.env, "can_force_early_return")
    returning = Code(vm, "Events$Returning")
    named = {returning[name]: name for name in RETURNED}
    left: dict[str, tuple[bool, Any]] = {}

    def leave(event: Any) -> None:
        type_, value, _ = RETURNED[named[event.method]]
        force = getattr(vm.env, f"force_early_return_{type_}")
        if type_ == "void":
            force(None)
        else:
            force(None, vm.jni.new_string(value) if type_ == "object" else value)

    def note(event: Any) -> None:
        if event.method in named:
            name = named[event.method]
            assert name not in left
            value = event.return_value
            left[name] = event.was_popped_by_exception, str(value) if name == "aString" else value

    for method in named:
        vm.env.set_breakpoint(method, 0)
    with (
        vm.env.on("Breakpoint", leave),
        vm.env.on("MethodExit", note, thread=vm.threads["main"]),
    ):
        # In one command: each method that a command leaves is an event.
        answers = program.ask(f"returned {' '.join(RETURNED)}").split(", ")
    for method in named:
        vm.env.clear_breakpoint(method, 0)
    assert answers == [f"{printed} 0" for _, _, printed in RETURNED.values()]
    # A Java char is text in an event; the interface lets an int stand for it where it is forced.
    forced = {name: value for name, (_, value, _) in RETURNED.items()}
    assert left == {name: (False, value) for name, value in (forced | {"aChar": "C"}).items()}
    evidence.proves(*(f"force_early_return_{type_}" for type_, _, _ in RETURNED.values()))
    again = program.ask(f"returned {' '.join(RETURNED)}").split(", ")
    assert all(answer.endswith(" 1") for answer in again)


@pytest.mark.since(21)
@pytest.mark.parametrize("kind", ["virtual"], indirect=True)
def test_a_virtual_thread_is_made_to_return_early(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code, kind: str
) -> None:
    needs(vm.env, "can_force_early_return")
    vm.env.set_breakpoint(code["inner"], 0)
    with vm.env.on("Breakpoint", lambda event: vm.env.force_early_return_int(event.thread, 100)):
        assert program.ask("virtual runner nested 4") == "101"


def test_an_exception_is_thrown_into_the_handler_s_own_thread(
    kind: str, program: programs.JavaProgram, vm: jvmti.VM, code: Code
) -> None:
    """Asynchronously: the thread throws it at the place where the handler stopped it."""
    jni = vm.jni
    failure = jni.find_class("java/lang/ArithmeticException")
    make = jni.get_method_id(failure, "<init>", "(Ljava/lang/String;)V")

    def stop(event: Any) -> None:
        thrown = jni.new_object(failure, make, [jni.new_string("from a handler")])
        vm.env.stop_thread(event.thread, thrown)
        # Release 11 leaves it to the VM's own thread, which does one thing after the other.
        vm.env.get_all_stack_traces(1)

    vm.env.set_breakpoint(code["inner"], 0)
    with vm.env.on("Breakpoint", stop):
        answer = program.ask(f"{kind} runner nested 4")
    assert answer == "error java.lang.ArithmeticException: from a handler"


def lines_of(env: jvmti.Env, method: Any) -> list[int]:
    """Where the lines of a method begin."""
    return sorted({entry.start_location for entry in env.get_line_number_table(method)})


def test_a_thousand_breakpoints(program: programs.JavaProgram, vm: jvmti.VM, code: Code) -> None:
    """In every line of the program, and where the methods of many other classes begin."""
    env = vm.env
    placed: list[tuple[Any, int]] = []
    for method in code.cls.methods:
        placed += [(method, location) for location in lines_of(env, method)]
    for cls in vm.classes("java.util.*"):
        if cls.status & ClassStatus.PREPARED:
            abstract_or_native = 0x0400 | 0x0100
            placed += [(one, 0) for one in cls.methods if not one.modifiers & abstract_or_native]
    placed = placed[:1000]
    assert len(placed) == 1000
    for method, location in placed:
        env.set_breakpoint(method, location)
    seen: list[tuple[Any, int]] = []
    with env.on(
        "Breakpoint",
        lambda event: seen.append((event.method, event.location)),
        thread=vm.threads["main"],
    ):
        assert program.ask("nested 4", timeout=60) == "11"
    inside = [one for one in seen if one[0] in (code["outer"], code["inner"])]
    outer = [(code["outer"], location) for location in lines_of(env, code["outer"])]
    inner = [(code["inner"], location) for location in lines_of(env, code["inner"])]
    assert inside == [*outer[:2], *inner, *outer[2:]]
    assert set(seen) <= set(placed)
    for method, location in placed:
        env.clear_breakpoint(method, location)
    with env.on("Breakpoint", seen.append):
        before = len(seen)
        assert program.ask("nested 4") == "11"
        assert len(seen) == before


def test_a_frame_pop_is_reported_before_the_breakpoint_behind_it(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code
) -> None:
    """The order of a step out: the method is left, then the caller goes on."""
    env = vm.env
    order: list[str] = []

    def stop(event: Any) -> None:
        order.append(f"breakpoint in {event.method.name}")
        if event.method == code["inner"]:
            env.notify_frame_pop(event.thread, 0)

    behind = lines_of(env, code["outer"])[-1]
    env.set_breakpoint(code["inner"], 0)
    env.set_breakpoint(code["outer"], behind)
    with (
        env.on("Breakpoint", stop),
        env.on("FramePop", lambda event: order.append(f"left {event.method.name}")),
    ):
        assert program.ask("nested 4") == "11"
    assert order == ["breakpoint in inner", "left inner", "breakpoint in outer"]
