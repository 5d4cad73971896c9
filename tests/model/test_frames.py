"""Frames of the model: variables, `this`, leaving; the program tells what has become of it."""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import jvmti
from jvmti.model.threads.frames import Frame, FrameGone, read_stack
from jvmti.target.agent_library import library_for_executable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jvms import Jvm
    from jvmti.model.threads.java_thread import Thread
    from programs import JavaProgram, JavaPrograms


@pytest.fixture(scope="module")
def served(jvm: Jvm, shared_java_program: JavaPrograms) -> JavaProgram:
    options = [f"-agentpath:{library_for_executable(jvm.java)}=reserve", "-XX:+StartAttachListener"]
    program = shared_java_program("Served", jvm_args=options)
    program.expect("ready")
    return program


@pytest.fixture(scope="module")
def vm(served: JavaProgram) -> Iterator[jvmti.VM]:
    with jvmti.attach(served.pid, timeout=30) as attached:
        attached.env_with("can_suspend", "can_access_local_variables")
        yield attached
    assert served.running()


@pytest.fixture(scope="module")
def acting(jvm: Jvm, shared_java_program: JavaPrograms) -> Iterator[tuple[JavaProgram, jvmti.VM]]:
    """The program Frames, whose threads tell what became of their methods, and a session on it."""
    options = [f"-agentpath:{library_for_executable(jvm.java)}=reserve", "-XX:+StartAttachListener"]
    program = shared_java_program("Frames", jvm_args=options)
    program.expect("ready")
    with jvmti.attach(program.pid, timeout=30) as attached:
        yield program, attached


def frame_of(thread: object, method: str) -> Frame:
    frames: list[Frame] = thread.frames  # type: ignore[attr-defined]
    return next(frame for frame in frames if frame.method.name == method)


def test_variables_have_their_values_and_types(vm: jvmti.VM) -> None:
    with vm.threads["http-1"].suspended():
        frame = frame_of(vm.threads["http-1"], "serve")
        values = dict(frame.locals)
        assert list(values)[:8] == [
            "this", "request", "size", "share", "letter", "open", "path", "body"
        ]  # fmt: skip
        assert values["size"] == 1 << 40
        assert values["share"] == 0.5
        assert values["letter"] == "Ж"
        assert values["open"] is True
        assert values["path"] == "/index.html"
        assert values["request"].cls.name == "Served$Request"
        assert values["body"].cls.name == "byte[]"
        assert values["this"] == frame.this == frame.locals[0]
        assert frame.this.cls.name == "Served$Server"
        for one in frame.locals.variables:
            assert frame.locals[one.name] == frame.locals[one.slot] == values[one.name]
        assert {one.name: one.type for one in frame.locals.variables} | {"round": "int"} == {
            "this": "Served$Server",
            "request": "Served$Request",
            "size": "long",
            "share": "double",
            "letter": "char",
            "open": "boolean",
            "path": "java.lang.String",
            "body": "byte[]",
            "round": "int",
        }
        assert "char letter = 'Ж'" in str(frame.locals)
        assert repr(frame.locals).startswith("<Locals this, request, size")


def test_a_running_thread_stands_still_for_the_moment(vm: jvmti.VM) -> None:
    # A frame further down stays where it is while others come and go.
    frame = frame_of(vm.threads["holder"], "holdOuter")
    assert dict(frame.locals) == {}
    assert frame.this is None
    assert not vm.threads["holder"].is_suspended


def test_variables_are_written(vm: jvmti.VM, served: JavaProgram) -> None:
    thread = vm.threads["http-1"]
    old = served.ask("last").split()
    assert old[2:6] == [str(1 << 40), "0.5", "Ж", "true"]
    with thread.suspended():
        found = frame_of(thread, "serve").locals
        found["size"] = -5
        found["share"] = 0.25
        found["letter"] = "x"
        found["open"] = False
        found["path"] = None
        assert found["path"] is None
        found["path"] = "/other"
        with pytest.raises(TypeError):
            found["size"] = "much"
        with pytest.raises((TypeError, OverflowError)):
            found["letter"] = "xy"
        with pytest.raises(TypeError):
            found["path"] = found["request"]
    while not (last := served.ask("last")).startswith("/other"):
        pass
    assert last == "/other 7 -5 0.25 x false 3"
    with thread.suspended():
        found = frame_of(thread, "serve").locals
        found["size"], found["share"], found["letter"] = 1 << 40, 0.5, "Ж"
        found["open"], found["path"] = True, "/index.html"


@contextlib.contextmanager
def suspended_in_sleep(thread: Thread) -> Iterator[None]:
    """Suspend a thread where it sleeps, as it does most of the time."""
    while True:
        with thread.suspended():
            if thread.frames[0].is_native:
                yield
                return


def test_a_variable_that_is_not_there_is_explained(vm: jvmti.VM) -> None:
    with suspended_in_sleep(vm.threads["http-1"]):
        found = frame_of(vm.threads["http-1"], "serve").locals
        with pytest.raises(KeyError, match="there are 'request'"):
            found["requst"]
        with pytest.raises(KeyError, match=r"'after' has no value at Served.java.*in lines \d+"):
            found["after"]
        with pytest.raises(KeyError, match="begins in slot 77"):
            found[77]
        assert "requst" not in found
        assert "request" in found
        native = vm.threads["http-1"].frames[0]
        assert native.is_native
        assert dict(native.locals) == {}
        with pytest.raises(KeyError, match="native"):
            native.locals["millis"]


def test_the_source_of_a_frame_has_its_line_marked(vm: jvmti.VM) -> None:
    with vm.threads["http-1"].suspended():
        frame = frame_of(vm.threads["http-1"], "serve")
        assert frame.line is not None
        vm.source_path.append(Path(__file__).parent.parent / "java")
        try:
            marked = [line for line in str(frame.source).splitlines() if line.startswith(">")]
            assert frame.source.line(frame.line).strip() in marked[0]
            assert marked[0].split()[1] == str(frame.line)
            assert "void serve(Request request" in frame.source.text
        finally:
            vm.source_path.clear()


def test_a_frame_that_is_gone_says_so(vm: jvmti.VM, served: JavaProgram, jvm: Jvm) -> None:
    thread = vm.threads["http-1"]
    with thread.suspended():
        frame = thread.frames[0]
        deeper = frame_of(thread, "serve")
    served.ask("spin on")
    try:
        rounds = int(served.ask("rounds"))
        while int(served.ask("rounds")) < rounds + 10:
            pass
        with pytest.raises(FrameGone, match="moved on"):
            frame.find(vm.env)
        with pytest.raises(FrameGone):
            deeper.locals["size"] = 3
        if jvm.name != "zero":  # which pops no frames
            with pytest.raises(ValueError, match="only the top frame"), thread.suspended():
                thread.frames[1].pop()
    finally:
        served.ask("spin off")


def test_what_a_thread_does_is_followed_to_a_value(vm: jvmti.VM, served: JavaProgram) -> None:
    served.ask("spin on")
    rounds = int(served.ask("rounds"))
    try:
        while int(served.ask("rounds")) < rounds + 10:
            pass  # it is out of its last sleep then
        with vm.threads["http-1"].suspended():
            host = vm.threads["http-1"].frames[0].locals["request"]["headers"].call("get", "Host")
            assert host == served.ask("header Host") == "example.org"
    finally:
        served.ask("spin off")


def test_without_a_table_slots_are_read_by_their_type(java_program: JavaPrograms, jvm: Jvm) -> None:
    options = [f"-agentpath:{library_for_executable(jvm.java)}=reserve"]
    program = java_program("Served", jvm_args=options, debug=False)
    program.expect("ready")
    with jvmti.attach(program.pid, timeout=30) as vm, vm.threads["http-1"].suspended():
        found = frame_of(vm.threads["http-1"], "serve").locals
        assert list(found) == ["this", 1, 2, 4, 6]
        assert found["this"].cls.name == "Served$Server"
        assert found[1].cls.name == "Served$Request"
        assert (found[2], found[4], found[6]) == (1 << 40, 0.5, "Ж")
        assert found[7, "int"] == 1
        assert found[8, "java.lang.String"] == "/index.html"
        with pytest.raises(jvmti.errors.TypeMismatch):
            found[8, "int"]
        for middle in (3, 5):  # of a long and of a double
            with pytest.raises(jvmti.errors.InvalidSlot, match=f"begins at slot {middle}"):
                found[middle, "int"]
        with pytest.raises(KeyError, match="compiled without its variables"):
            found["request"]
        with pytest.raises(KeyError, match=r'locals\[8, "int"\]'):
            found[8]
        found[2] = 9
        assert found[2] == 9


def program_has_not(vm: jvmti.VM, capability: str) -> bool:
    """Whether the VM lacks a capability, as the interpreter-only one does; the model says so."""
    if capability in vm.env.get_potential_capabilities():
        return False
    frame = vm.threads["main"].frames[0]
    with pytest.raises(jvmti.errors.NotAvailable, match=capability):
        (frame.pop if capability == "can_pop_frame" else lambda: frame.return_(1))()
    return True


@pytest.mark.parametrize(
    ("kind", "value", "becomes"),
    [
        ("boolean", True, "true"),
        ("byte", -128, "-128"),
        ("char", "Ж", str(ord("Ж"))),
        ("short", -3, "-3"),
        ("int", 42, "42"),
        ("long", 1 << 40, str(1 << 40)),
        ("float", 0.25, "0.25"),
        ("double", -0.5, "-0.5"),
        ("String", "from Python", "from Python"),
        ("void", None, "nothing"),
    ],
)
def test_a_method_returns_the_given_value(
    acting: tuple[JavaProgram, jvmti.VM], kind: str, value: object, becomes: str
) -> None:
    program, vm = acting
    if program_has_not(vm, "can_force_early_return"):
        return
    program.ask(f"run returning-{kind} {kind}")
    thread = vm.threads[f"returning-{kind}"]
    with thread.suspended():
        frame = thread.frames[0]
        with pytest.raises(TypeError):
            frame.return_(object())
        frame.return_(value)
    assert program.ask(f"outcome returning-{kind}") == f"returned {becomes}"


def test_a_popped_frame_is_called_again(acting: tuple[JavaProgram, jvmti.VM]) -> None:
    program, vm = acting
    if program_has_not(vm, "can_pop_frame"):
        return
    program.ask("run popped argument")
    thread = vm.threads["popped"]
    with pytest.raises((jvmti.errors.ThreadNotSuspended, FrameGone)):
        thread.frames[0].pop()
    assert program.ask("progress popped") == "1 105"
    with thread.suspended():
        frame = thread.frames[0]
        assert frame.locals["value"] == 105
        frame.pop()
    # Arguments keep what the method gave them.
    assert program.ask("await popped 2") == "2 205"
    assert program.ask("result popped") == "returned 205"
    with pytest.raises(FrameGone):
        frame.find(vm.env)


def test_variables_are_seen_in_a_handler(acting: tuple[JavaProgram, jvmti.VM]) -> None:
    program, vm = acting
    vm.env.add_capabilities({"can_generate_method_exit_events"})
    program.ask("distinct 1")
    seen = []

    def left(event: Any) -> None:
        if event.method.name == "distinct":
            frame = event.thread.frames[0]
            seen.append((frame.method, frame.locals["value"], frame.this, list(frame.locals)))
            assert not event.thread.is_suspended

    with vm.env.on("MethodExit", left, vm.threads["main"]):
        program.ask("distinct 5")
    vm.env.relinquish_capabilities(vm.env.get_capabilities())
    ((method, value, this, names),) = seen
    assert (method.class_name, value, this, names) == ("Frames", 5, None, ["value"])
    assert vm.handler_errors == []


def test_a_handler_that_overruns_leaves_nothing_suspended(
    acting: tuple[JavaProgram, jvmti.VM],
) -> None:
    program, vm = acting
    program.ask("run overrun counting")
    thread = vm.threads["overrun"]
    vm.env.add_capabilities({"can_generate_method_exit_events"})
    seen = []

    def left(event: Any) -> None:
        if event.method.name == "distinct" and not seen:
            with thread.suspended():
                seen.append(thread.is_suspended)
                while True:
                    vm.env.get_phase()

    with vm.env.on("MethodExit", left, vm.threads["main"], timeout=0.3):
        program.ask("distinct 5")
        while not vm.handler_errors:
            pass
    vm.env.relinquish_capabilities(vm.env.get_capabilities())
    assert seen == [True]
    assert "overrun" in str(vm.handler_errors.pop())
    assert not thread.is_suspended
    assert program.ask("result overrun") == "returned counted"


def test_a_launched_program_has_its_variables(jvm: Jvm, java_classes: Callable[..., Path]) -> None:
    command = [jvm.java, *jvm.args, "-cp", str(java_classes("Served")), "Served"]
    with jvmti.launch(
        command,
        capabilities={"can_access_local_variables"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as vm:
        assert vm.popen is not None
        assert vm.popen.stdout is not None
        assert vm.popen.stdin is not None
        try:
            assert vm.popen.stdout.readline() == b"ready\n"
            with vm.threads["http-1"].suspended():
                assert frame_of(vm.threads["http-1"], "serve").locals["path"] == "/index.html"
            for thread in vm.threads.virtual:
                with thread.suspended():
                    frame = next(one for one in thread.frames if one.method.name == "run")
                    assert "this" in dict(frame.locals) or "task" in dict(frame.locals)
        finally:
            vm.popen.stdin.close()
            vm.popen.stdout.close()
            vm.popen.wait()


def test_late_attach_reads_objects_and_says_what_more_takes(java_program: JavaPrograms) -> None:
    program = java_program("Served")
    program.expect("ready")
    with jvmti.attach(program.pid, timeout=30) as vm:
        with vm.threads["http-1"].suspended():
            frame = frame_of(vm.threads["http-1"], "serve")
            assert frame.locals["path"] == "/index.html"
            assert frame.this["last"].startswith("/index.html 7 ")
            for key in ("size", "share", "letter", "open"):
                with pytest.raises(
                    jvmti.errors.NotAvailable,
                    match=r"primitive.* can_access_local_variables: most VMs.*launch.*reserve",
                ):
                    frame.locals[key]
                assert f"{key} = ?" in str(frame.locals)


def test_a_stack_of_one_message_is_that_of_single_calls(vm: jvmti.VM) -> None:
    thread = vm.threads["http-1"]
    env = vm.lookup_env
    with thread.suspended():
        whole = read_stack(thread, 100, before=True)
        plain = env.get_stack_trace(thread, 0, 100)
        assert [(one.method, one.location) for one in whole.frames] == [
            (one.method, one.location) for one in plain
        ]
        assert whole.depth == len(plain) == env.get_frame_count(thread)
        for frame in whole.frames:
            lines = [] if frame.is_native else frame.method.lines
            starts = [one for one in lines if one.start_location <= frame.location]
            latest = max(starts, key=lambda one: one.start_location, default=None)
            assert frame.line == (None if latest is None else latest.line_number)
            assert frame.before_probes == frame.location  # there are none
        part = read_stack(thread, 2)
        assert (part.frames, part.depth) == (whole.frames[:2], whole.depth)
        assert part.frames[0].before_probes is None  # nobody asked
        # Of a stack that is known already, only the topmost frame is made anew.
        again = read_stack(thread, 100, before=True, last=whole)
        assert again == whole
        assert [one is two for one, two in zip(again.frames, whole.frames, strict=True)] == [
            number > 0 for number in range(whole.depth)
        ]
        # Where fewer were wanted of those that came, the others are missing there.
        for most in range(1, whole.depth):
            few = whole._replace(frames=whole.frames[:most])
            assert read_stack(thread, 100, before=True, last=few) == whole
        other = read_stack(vm.threads["main"], 100, before=True, last=whole)
        assert other.frames[-1].thread == vm.threads["main"]
