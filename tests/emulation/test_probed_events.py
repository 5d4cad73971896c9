"""Events that probes report: as the VM's own, only where they are wanted, and gone with us."""

from __future__ import annotations

import signal
import struct
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest

import jvms
import jvmti
import programs
from conformance.evidence import Evidence
from emulation import late
from emulation.test_events import code, program, vm
from events.conftest import NO_INFLATION, NO_SIGNAL, WARM
from events.seen import Code
from events.test_exceptions import of_class
from jvmti.model.debug.late.event_probes import EventProbes
from jvmti.target.agent_library import library_for_executable
from prepared import attaching

# "read" is left out: the JDK calls 100,000 methods for its answer.
COMMANDS = ("calculate 7", "descend 3", "nested 4", "fail oops", "write", "returned aLong")

CONTROLLER = """
import sys, jvmti
vm = jvmti.attach(int(sys.argv[1]), capabilities="all", timeout=60, emulate=True)
method = vm.find_class("Events").methods["straight"]
vm.env.set_breakpoint(method, 0)
vm.env.on("MethodExit", lambda event: None, thread=vm.threads["Finalizer"])
def wait(event):
    print("waits", flush=True)
    sys.stdin.read()
vm.env.on("Breakpoint", wait, timeout=None)
print("armed", flush=True)
sys.stdin.read()
"""


def sequence(vm: jvmti.VM, ask: Callable[[str], str]) -> list[tuple[Any, ...]]:
    """What events say of the program's own methods while it carries out the commands."""
    code = Code(vm, "Events")
    watched = Code(vm, "Events$Watched")
    env, main = vm.env, vm.threads["main"]
    found: list[tuple[Any, ...]] = []

    def note(event: Any) -> None:
        method = event.method
        if not method.class_name.startswith("Events"):
            return
        more: tuple[Any, ...] = ()
        if hasattr(event, "return_value"):
            value = event.return_value
            shown = value if isinstance(value, int | float | str | bool) else value is None
            more = (event.was_popped_by_exception, shown)
        if hasattr(event, "location"):
            more = (event.location, *more)
        if hasattr(event, "new_value"):
            more = (*more, event.field.name, str(event.new_value))
        found.append((type(event).__name__, method.class_name, method.name, *more))

    for location in {one.start_location for one in env.get_line_number_table(code["straight"])}:
        env.set_breakpoint(code["straight"], location)
    fields = [watched.field(name) for name in ("anInt", "aDouble", "aString", "counter")]
    for field in fields:
        env.set_field_modification_watch(watched.cls, field)
    events = ("Breakpoint", "MethodEntry", "MethodExit", "FieldModification", "ExceptionCatch")
    handlers = [env.on(event, note, thread=main) for event in events]
    for command in COMMANDS:
        ask(command)
    assert {handler.emulated for handler in handlers} == {bool(vm.emulation.held(env))}
    for handler in handlers:
        handler.cancel()
    return found


@pytest.mark.oldest_and_newest
def test_events_are_those_of_the_vm(
    jvm: jvms.Jvm, java_program: programs.JavaPrograms, program: programs.JavaProgram, vm: jvmti.VM
) -> None:
    """A JVM that was started for it is the witness: methods, places, values, and their order."""
    library = library_for_executable(jvm.java)
    reserved = java_program(
        "Events", jvm_args=[f"-agentpath:{library}=reserve", NO_SIGNAL, NO_INFLATION]
    )
    reserved.expect("ready", timeout=60)
    for command in WARM:
        reserved.ask(command)
    with jvmti.attach(reserved.pid, capabilities="all", timeout=30) as native:
        expected = sequence(native, reserved.ask)
    assert vm.env.get_capabilities() & vm.emulation.emulates
    assert sequence(vm, program.ask) == expected
    assert len(expected) > 60


@pytest.mark.oldest_and_newest
def test_a_stream_puts_probes_only_into_the_classes_that_it_wants_and_once(
    program: programs.JavaProgram, vm: jvmti.VM, monkeypatch: pytest.MonkeyPatch
) -> None:
    woven: list[list[str]] = []
    weave = EventProbes._weave

    def note(probes: EventProbes, classes: Any, *more: Any) -> None:
        woven.append([one.name for one in classes])
        weave(probes, classes, *more)

    monkeypatch.setattr(EventProbes, "_weave", note)
    with vm.env.stream(["MethodEntry", "MethodExit"], classes="Events") as stream:
        assert stream.emulated == ("MethodEntry", "MethodExit")
        assert woven == [["Events"]]
        assert program.ask("descend 3").startswith("3 ")
        found: list[tuple[str, str]] = []
        while sum(name == "down" for _, name in found) < 8:
            records = stream.read(30)
            assert len(records) > 0
            found += zip(records["method_class"], records["method"], strict=True)
        assert {one for one, _ in found} == {"Events"}
    assert woven == [["Events"], ["Events"]]
    probes = vm.breakpoints.event_probes
    assert probes is not None
    assert {one.class_name for one in probes._sites} <= {"Events"}


def test_single_steps_are_sent_where_lines_begin(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code, evidence: Evidence
) -> None:
    evidence.shows("SingleStep")
    evidence.proves("set_event_notification_mode")
    env, main = vm.env, vm.threads["main"]
    method = code["straight"]
    lines = [one.start_location for one in env.get_line_number_table(method)]
    seen: list[tuple[int, int]] = []
    others: set[str] = set()

    def note(event: Any) -> None:
        others.add(event.thread.name)
        if event.method == method:
            seen.append((event.location, env.get_local_int(event.thread, 0, 0)))
            assert env.get_frame_location(event.thread, 0) == (method, event.location)

    with env.on("SingleStep", note, thread=main):
        assert program.ask("calculate 2") == "7"
        assert program.ask("thread runner calculate 4") == "13"
    assert program.ask("calculate 3") == "10"
    assert seen == [(location, 2) for location in lines]
    assert others == {"main"}


def many_variables(name: bytes, length: int) -> bytes:
    """The class file of a method with 200 variables on each of 150 lines."""
    texts = (name, b"java/lang/Object", b"method", b"()V", b"Code", b"LineNumberTable")
    pool = b"".join(struct.pack(">BH", 1, len(one)) + one for one in texts)
    pool += struct.pack(">BHBH", 7, 1, 7, 2)
    code = b"".join(bytes([0x04, 0x36, slot]) for slot in range(200)) + bytes(length) + b"\xb1"
    lines = b"".join(struct.pack(">HH", 600 + line, 1 + line) for line in range(150))
    table = struct.pack(">HIH", 6, 2 + len(lines), 150) + lines
    body = struct.pack(">HHI", 1, 200, len(code)) + code + struct.pack(">HH", 0, 1) + table
    method = struct.pack(">HHHHHI", 9, 3, 4, 1, 5, len(body)) + body
    head = struct.pack(">IHHH", 0xCAFEBABE, 0, 52, 9) + pool
    return head + struct.pack(">HHHHHH", 33, 7, 8, 0, 0, 1) + method + bytes(2)


@pytest.mark.newest
def test_events_come_without_variables_where_a_method_has_no_room_for_them(
    vm: jvmti.VM, caplog: pytest.LogCaptureFixture
) -> None:
    env, jni = vm.env, vm.jni
    loader = vm.find_class("Events").loader
    many = jni.define_class("Many", loader, many_variables(b"Many", 149))
    # This one has room for none, and says so.
    jni.define_class("Full", loader, many_variables(b"Full", 64_800))
    method = jni.get_static_method_id(many, "method", "()V")
    seen: list[tuple[str, int]] = []

    def note(event: Any) -> None:
        if event.method == method:
            seen.append((event.declaration.name, getattr(event, "location", -1)))
            with pytest.raises(jvmti.errors.TypeMismatch):
                env.get_local_object(event.thread, 0, 7)
            with pytest.raises(jvmti.errors.OpaqueFrame):
                env.set_local_int(event.thread, 0, 7, 1)
            if event.declaration.name == "SingleStep":
                assert env.get_local_int(event.thread, 0, 7) == 1  # from the live frame

    def read(event: Any) -> None:
        assert env.get_local_int(event.thread, 0, 7) == 1
        seen.append(("Breakpoint", event.location))

    env.set_breakpoint(method, 700)
    names = ("MethodEntry", "SingleStep", "MethodExit")
    with ExitStack() as stack:
        stack.enter_context(env.on("Breakpoint", read, own=True))
        for name in names:
            stack.enter_context(env.on(name, note, own=True))
        jni.call_static_void_method(many, method)
    assert [where for name, where in seen if name == "SingleStep"] == list(range(600, 750))
    assert [seen[0], seen[-1]] == [("MethodEntry", -1), ("MethodExit", -1)]
    assert ("Breakpoint", 700) in seen
    warned = [one for one in caplog.messages if "at least one method reports no events" in one]
    assert len(warned) == 1


def test_locations_are_those_without_probes(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code, evidence: Evidence
) -> None:
    evidence.proves("get_line_number_table", "get_local_variable_table", "get_method_location")
    evidence.proves("get_stack_trace", "get_frame_count", "get_frame_location")
    evidence.proves("get_all_stack_traces", "get_thread_list_stack_traces")
    env, method = vm.env, code["straight"]
    lines, variables = env.get_line_number_table(method), env.get_local_variable_table(method)
    end = env.get_method_location(method)
    bytecodes = env.get_bytecodes(method)
    for one in lines:
        env.set_breakpoint(method, one.start_location)
    assert len(env.get_bytecodes(method)) > len(bytecodes)
    assert env.get_line_number_table(method) == lines
    assert env.get_local_variable_table(method) == variables
    assert env.get_method_location(method) == end
    stacks = []

    def look(event: Any) -> None:
        stack = env.get_stack_trace(event.thread, 0, 2)
        place = env.get_frame_location(event.thread, 0)
        assert (place.method, place.location) == (stack[0].method, stack[0].location)
        assert env.get_frame_count(event.thread) == len(env.get_stack_trace(None, 0, 100))
        [own] = env.get_thread_list_stack_traces([event.thread], 2)
        assert own.frame_buffer == stack
        every = {one.thread: one.frame_buffer for one in env.get_all_stack_traces(2)}
        assert every[event.thread] == stack
        caller: Any = stack[1].method
        stacks.append((event.location, stack[0].location, caller.name))

    with env.on("Breakpoint", look):
        assert program.ask("calculate 5") == "16"
    places = [one.start_location for one in lines]
    assert stacks == [(place, place, "calculate") for place in places]
    for one in lines:
        env.clear_breakpoint(method, one.start_location)
    assert env.get_bytecodes(method) == bytecodes


def test_numbers_of_callers_are_those_that_were_passed(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code, evidence: Evidence
) -> None:
    evidence.proves("get_local_int", "get_local_long", "get_local_object")
    env = vm.env
    numbers: list[int] = []

    def read(event: Any) -> None:
        numbers.extend(env.get_local_int(event.thread, 1, slot) for slot in (0, 1))
        for wrong in (env.get_local_long, env.get_local_object):
            with pytest.raises(jvmti.errors.TypeMismatch):
                wrong(event.thread, 1, 0)
        with pytest.raises(jvmti.errors.InvalidSlot):
            env.get_local_int(event.thread, 1, 40)
        # It has no value yet.
        with pytest.raises(jvmti.errors.OpaqueFrame, match="does not keep"):
            env.get_local_int(event.thread, 1, 2)

    env.set_breakpoint(code["inner"], 0)
    with env.on("Breakpoint", read):
        assert program.ask("nested 4") == "11"
    assert numbers == [4, 5]


@pytest.mark.since(25)
def test_frame_pops_that_are_cleared_are_not_reported(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code, evidence: Evidence
) -> None:
    evidence.proves("clear_all_frame_pops")
    env = vm.env
    popped: list[str] = []
    clears = [True]

    def ask(event: Any) -> None:
        env.notify_frame_pop(None, 0)
        if clears.pop():
            env.clear_all_frame_pops(None)

    env.set_breakpoint(code["inner"], 0)
    with (
        env.on("Breakpoint", ask),
        env.on("FramePop", lambda event: popped.append(event.method.name)),
    ):
        assert program.ask("nested 4") == "11"
        assert popped == []
        clears.append(False)
        assert program.ask("nested 4") == "11"
    assert popped == ["inner"]


def test_exceptions_are_seen_where_they_are_made_and_where_they_are_caught(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code, evidence: Evidence
) -> None:
    evidence.shows("Exception", "ExceptionCatch")
    thrown, caught = of_class(vm, "Events$Failure"), of_class(vm, "Events$Failure")
    with vm.env.on("Exception", thrown), vm.env.on("ExceptionCatch", caught):
        message, line = program.ask("fail oops").split()
    assert message == "oops"
    made = thrown.only
    assert (made.thread, made.method) == (vm.threads["main"], code["throwing"])
    assert code.line_of("throwing", made.location) == int(line)
    assert (made.catch_method, made.catch_location) == (None, 0)
    assert caught.only.exception == made.exception
    assert (caught.only.thread, caught.only.method) == (vm.threads["main"], code["catching"])
    assert code.line_of("catching", caught.only.location) > code.line_of("catching", 0)


@pytest.mark.oldest_and_newest
def test_an_exception_into_the_handlers_own_thread_comes_in_a_call_of_the_handler(
    program: programs.JavaProgram,
) -> None:
    """The page says so: emulated functions call JNI, where a thread receives such an exception."""
    assert "stop_thread" in late.said_of("get_all_stack_traces")
    with jvmti.attach(program.pid, capabilities="all", timeout=30, emulate=True) as vm:
        vm.timeout = 60
        jni = vm.jni
        failure = jni.find_class("java/lang/ArithmeticException")
        make = jni.get_method_id(failure, "<init>", "(Ljava/lang/String;)V")

        def stop(event: Any) -> None:
            thrown = jni.new_object(failure, make, [jni.new_string("from a handler")])
            vm.env.stop_thread(event.thread, thrown)
            vm.env.get_all_stack_traces(1)
            jni.get_version()

        vm.env.set_breakpoint(Code(vm, "Events")["inner"], 0)
        with vm.env.on("Breakpoint", stop):
            answer = program.ask("thread runner nested 4")
        errors = [str(one.error) for one in vm.handler_errors]
    assert (answer, len(errors)) in (
        ("11", 1),
        ("error java.lang.ArithmeticException: from a handler", 0),
    )
    assert all("from a handler" in one for one in errors)


@pytest.mark.oldest_and_newest
def test_classes_of_one_name_have_their_own_locations(
    java_program: programs.JavaPrograms,
) -> None:
    target = java_program("Stopping", jvm_args=[NO_SIGNAL])
    target.expect("ready", timeout=60)
    target.ask("load 2")
    with jvmti.attach(target.pid, capabilities="all", timeout=30, emulate=True) as vm:
        env = vm.env
        methods = [one.methods["answer"] for one in vm.classes("Stopping$Loaded")]
        assert len(methods) == 2
        before = [env.get_line_number_table(one) for one in methods]
        for method in methods:
            env.set_breakpoint(method, 0)
            assert [env.get_line_number_table(one) for one in methods] == before
        env.clear_breakpoint(methods[0], 0)
        assert [env.get_line_number_table(one) for one in methods] == before
        with vm.trace("Stopping$Loaded.answer"):
            assert [env.get_line_number_table(one) for one in methods] == before
        assert [env.get_line_number_table(one) for one in methods] == before


@pytest.mark.oldest_and_newest
def test_a_killed_controller_lets_the_thread_go_and_the_classes_are_as_before(
    java_program: programs.JavaPrograms,
) -> None:
    target = java_program("Events", jvm_args=[NO_SIGNAL, NO_INFLATION])
    target.expect("ready", timeout=60)
    target.ask("calculate 1")
    with jvmti.attach(target.pid, timeout=30) as before:
        names = ("Events", "java.util.HashMap", "java.lang.String")
        files = {name: bytes(before.find_class(name).class_file) for name in names}
    controller = attaching("-c", CONTROLLER, target.pid)
    assert controller.stdout.readline() == "armed\n"
    target.send("calculate 5")
    assert controller.stdout.readline() == "waits\n"
    controller.send_signal(signal.SIGKILL)
    controller.communicate()
    target.expect("16", timeout=60)
    with jvmti.attach(target.pid, timeout=30) as after:
        until = time.monotonic() + 60
        found = {}
        while found != files and time.monotonic() < until:
            found = {name: bytes(after.find_class(name).class_file) for name in names}
        assert found == files
    assert target.ask("calculate 6") == "19"


__all__ = ["code", "program", "vm"]
