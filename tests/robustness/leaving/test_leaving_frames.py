"""A thread that must leave its frame, and handlers from which a frame cannot be left.

HotSpot leaves the next frame that comes back to the interpreter, whichever it is: what runs Java
code between the request and the return of the handler crashes the JVM, on every release.  So every
function is called there, and every request made from a handler of every event.
"""

from __future__ import annotations

import contextlib
import itertools
import re
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

import jvms
import jvmti
import programs
from conformance.finding import field_named, thread_named
from conformance.test_errors_by_declaration import valid
from events.seen import Code
from jvmti.env.events import EVENTS, Frames
from jvmti.env.interface import FUNCTIONS
from jvmti.interface import shapes
from jvmti.interface.capabilities import Capabilities
from jvmti.interface.declaration import Declaration
from jvmti.interface.errors import LeavingFrame, OpaqueFrame
from jvmti.jni.interface import FUNCTIONS as JNI_FUNCTIONS
from jvmti.operations.functions import OPERATIONS
from jvmti.refs import (
    Class,
    ClassLoader,
    Field,
    Memory,
    Method,
    Module,
    Object,
    RawMonitor,
    Thread,
    ThreadGroup,
    handles,
)
from jvmti.target.agent_library import library_for_executable
from robustness import departing

NO_SIGNAL = "-XX:+StartAttachListener"
QUICK = ("-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Xmx128m")

NOT_CALLED = {
    "fatal_error": "ends the VM by its meaning",
    "exception_describe": "prints between the program's answers",
    "set_verbose_flag": "prints between the program's answers",
    "proceed": "for a VM that is held",
    "refuse": "for a VM that is held",
    "suspend_thread": "the thread would wait for the test",
    "suspend_all_virtual_threads": "stops the carriers' scheduler",
    "raw_monitor_enter": "called with its exit",
    "raw_monitor_wait": "waits for nobody",
    "clear_breakpoint": "the breakpoint that the test itself has set",
    "set_event_handling": "would take the test's own handler away",
    "dispose_environment": "the test's own environment",
    "relinquish_capabilities": "of the test's own environment",
    "open_temporary_file": "needs a file",
    "deallocate": "gives back what other calls need",
}
"""Functions that are left out, and why."""

needs_leaving = pytest.mark.usefixtures("can_leave")


class Given:
    """Arguments of each kind, found before the thread must leave."""

    def __init__(self, vm: jvmti.VM, code: Code) -> None:
        self.vm = vm
        env, jni = vm.env, vm.jni
        watched = vm.find_class("Events$Watched")
        text = jni.new_string("some text")
        thrown = jni.alloc_object(jni.find_class("java/lang/IllegalStateException"))
        self.of_kind: dict[Any, Any] = {
            Class: watched,
            Thread: thread_named(env, "Finalizer"),
            ThreadGroup: env.get_top_thread_groups()[0],
            ClassLoader: env.get_class_loader(code.cls),
            Module: env.get_named_module(None, "java/lang"),
            Method: code["inner"],
            Field: field_named(env, watched, "anInt"),
            RawMonitor: env.create_raw_monitor("given"),
            Memory: env.allocate(64),
            Object: text,
            handles.String: text,
            handles.Throwable: thrown,
            handles.Array: jni.new_int_array(4),
            handles.ObjectArray: jni.new_object_array(3, jni.find_class("java/lang/Object"), None),
            handles.WeakReference: jni.new_weak_global_ref(thrown),
        }
        for name in ("Boolean", "Byte", "Char", "Short", "Int", "Long", "Float", "Double"):
            made = getattr(jni, f"new_{name.lower()}_array")(4)
            self.of_kind[getattr(handles, f"{name}Array")] = made

    def arguments(self, declaration: Declaration) -> tuple[Any, ...]:
        """Valid arguments, or nearly so."""
        return tuple(
            valid(self.vm._session, shape, self.of_kind.__getitem__)
            for _, shape in shapes.inputs_of(declaration)
        )

    def calls(self) -> Iterator[tuple[str, Callable[[], Any]]]:
        """A call of every function, and of what the model has most use for."""
        vm = self.vm
        yield from self.real_calls()  # before the references that they need are given back
        tables = ((FUNCTIONS, vm.env), (JNI_FUNCTIONS, vm.jni), (OPERATIONS, vm._agent))
        for functions, table in tables:
            for name, declaration in functions.items():
                leaves = name == "pop_frame" or name.startswith("force_early_return")
                if name in NOT_CALLED or leaves or (declaration.callback and table is vm.env):
                    continue
                try:
                    arguments = self.arguments(declaration)
                except KeyError:
                    continue  # a kind that only one function gives
                yield name, partial(getattr(table, name), *arguments)

    def real_calls(self) -> Iterator[tuple[str, Callable[[], Any]]]:
        """Calls that do succeed otherwise, and those that throw."""
        vm, jni, env = self.vm, self.vm.jni, self.vm.env
        text, monitor = self.of_kind[handles.String], self.of_kind[RawMonitor]
        string = jni.get_object_class(text)
        describe = jni.get_method_id(string, "toString", "()Ljava/lang/String;")
        length = jni.get_method_id(string, "length", "()I")
        anything = jni.find_class("java/lang/Object")
        construct = jni.get_method_id(anything, "<init>", "()V")
        arithmetic = jni.find_class("java/lang/ArithmeticException")
        array = self.of_kind[handles.ObjectArray]
        main = vm.threads["main"]
        yield "find_class", lambda: jni.find_class("Events$Sampled")
        yield "call_object_method", lambda: jni.call_object_method(text, describe)
        yield "call_int_method", lambda: jni.call_int_method(text, length)
        yield "new_object", lambda: jni.new_object(anything, construct)
        yield "throw_new", lambda: jni.throw_new(arithmetic, "on its way")
        yield "get_method_id", lambda: jni.get_method_id(string, "missing", "()I")
        yield "get_field_id", lambda: jni.get_field_id(string, "missing", "I")
        yield "get_object_array_element", lambda: jni.get_object_array_element(array, 17)
        yield "raw monitor", lambda: (env.raw_monitor_enter(monitor), env.raw_monitor_exit(monitor))
        yield "obj.call", lambda: text.call("length")
        yield "obj.value", lambda: text.value
        yield "str", lambda: str(self.of_kind[handles.Throwable])
        yield "obj.cls.name", lambda: self.of_kind[handles.Throwable].cls.name
        yield "thread.name", lambda: main.name
        yield "thread.frames", lambda: [(one.method.name, one.line) for one in main.frames]
        yield "frame.locals", lambda: dict(main.frames[0].locals)
        yield "vm.classes", lambda: [one.name for one in vm.classes("java.util.concurrent.*")]
        yield "cls.methods", lambda: [one.name for one in vm.find_class("Events").methods]
        yield "cls.fields", lambda: vm.find_class("Events").fields
        yield "vm.threads", lambda: [one.name for one in vm.threads]
        yield "heap.histogram", lambda: vm.heap.histogram()


# The collector that objects move under is looked at once.
@pytest.fixture(scope="module", params=["default", pytest.param("ZGC", marks=pytest.mark.on("21"))])
def program(
    request: pytest.FixtureRequest, jvm: jvms.Jvm, shared_java_program: programs.JavaPrograms
) -> programs.JavaProgram:
    """The program Events with all capabilities reserved."""
    library = library_for_executable(jvm.java)
    collector = ["-XX:+UseZGC"] if request.param == "ZGC" else []
    arguments = [f"-agentpath:{library}=reserve", NO_SIGNAL, *QUICK, *collector]
    started = shared_java_program("Events", jvm_args=arguments)
    started.expect("ready", timeout=60)
    for command in ("calculate 1", "nested 1", "fail once", "returned anInt"):
        started.ask(command)
    return started


@pytest.fixture
def vm(program: programs.JavaProgram) -> Iterator[jvmti.VM]:
    """A session with all capabilities."""
    with jvmti.attach(program.pid, capabilities="all", timeout=30) as attached:
        attached.timeout = 60
        yield attached
        assert attached.handler_errors == []
    assert program.ask("echo alive") == "alive"


@pytest.fixture
def can_leave(vm: jvmti.VM) -> None:
    """Skip on the interpreter-only VM."""
    wanted = Capabilities.of("can_pop_frame", "can_force_early_return")
    if wanted & ~vm.env.get_capabilities():
        pytest.skip("this VM leaves no frames")


@pytest.fixture
def code(vm: jvmti.VM) -> Code:
    """The methods of the main class."""
    return Code(vm, "Events")


def leaving(
    program: programs.JavaProgram,
    vm: jvmti.VM,
    code: Code,
    request: str,
    then: Callable[[jvmti.Env, Any], None],
) -> None:
    """Tell the program's thread to leave a frame once, and do something else in that handler."""
    env = vm.env
    events = itertools.count()

    def handler(event: Any) -> None:
        if next(events) > 0:
            return
        if request == "pop":
            env.pop_frame(event.thread)
        else:
            env.force_early_return_int(None, 100)
        then(env, event)

    env.set_breakpoint(code["inner"], 0)
    with env.on("Breakpoint", handler, thread=vm.threads["main"], timeout=120):
        answer = program.ask("nested 4", timeout=120)
    env.clear_breakpoint(code["inner"], 0)
    assert answer == ("11" if request == "pop" else "101"), "the frame was left, and no other"


@needs_leaving
@pytest.mark.parametrize("request_", ["pop", "return"])
def test_no_call_harms_a_thread_that_is_leaving_its_frame(
    request_: str, program: programs.JavaProgram, vm: jvmti.VM, code: Code
) -> None:
    """Every function in one handler, and those declared to run Java code are refused."""
    given = Given(vm, code)
    calls = list(given.calls())
    runs_java = {
        name
        for functions in (FUNCTIONS, JNI_FUNCTIONS)
        for name, declaration in functions.items()
        if declaration.runs_java
    }
    refused: set[str] = set()
    succeeded: set[str] = set()

    def call_everything(env: jvmti.Env, event: Any) -> None:
        for name, call in calls:
            try:
                call()
                succeeded.add(name)
            except LeavingFrame:
                refused.add(name)
            except (jvmti.errors.TargetLost, jvmti.errors.SessionClosed):
                raise
            except Exception:  # arguments that do not fit are not what this is about
                continue

    leaving(program, vm, code, request_, call_everything)
    assert {"find_class", "call_int_method", "throw_new", "obj.call", "redefine_classes"} <= refused
    assert {"get_superclass", "get_class_signature", "thread.name", "thread.frames"} <= succeeded
    assert not succeeded & runs_java


@needs_leaving
def test_each_function_alone_leaves_the_request_as_it_is(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code
) -> None:
    """Java code that ran unnoticed would have used the request up: the next is then made anew."""
    given = Given(vm, code)
    for _, call in given.calls():

        def one_call(env: jvmti.Env, event: Any, call: Callable[[], Any] = call) -> None:
            with contextlib.suppress(Exception):
                call()

        leaving(program, vm, code, "return", one_call)


@needs_leaving
def test_what_is_refused_is_done_elsewhere(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code
) -> None:
    """Another Python thread has a thread of the JVM of its own."""
    text = vm.jni.new_string("some text")
    found: list[Any] = []

    def look(env: jvmti.Env, event: Any) -> None:
        with pytest.raises(LeavingFrame, match="before pop_frame, or on another Python thread"):
            text.call("length")
        other = threading.Thread(target=lambda: found.append(text.call("length")))
        other.start()
        other.join()

    leaving(program, vm, code, "return", look)
    assert found == [9]
    leaving(program, vm, code, "pop", look)
    assert found == [9, 9]


@needs_leaving
def test_the_handler_of_the_exit_that_follows_may_call_anything(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code
) -> None:
    """An early return causes MethodExit, when the thread is on its way out."""
    text = vm.jni.new_string("some text")
    left: list[Any] = []

    def exit(event: Any) -> None:
        if event.method == code["inner"]:
            left.append((event.return_value, text.call("length")))

    with vm.env.on("MethodExit", exit, thread=vm.threads["main"]):
        leaving(program, vm, code, "return", lambda env, event: None)
    assert left == [(100, 9)]


@needs_leaving
def test_handlers_of_other_environments_get_the_same_event(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code
) -> None:
    """Theirs comes on the same thread, before that has left its frame."""
    other = vm.new_env()
    other.add_capabilities(Capabilities.of("can_generate_method_entry_events"))
    text = vm.jni.new_string("some text")
    answers: list[str] = []

    def also(event: Any) -> None:
        if event.method != code["inner"]:
            return
        try:
            answers.append(str(text.call("length")))
        except LeavingFrame:
            answers.append("leaving")

    def first(event: Any) -> None:
        if event.method == code["inner"]:
            vm.env.force_early_return_int(None, 100)

    main = vm.threads["main"]
    with vm.env.on("MethodEntry", first, thread=main), other.on("MethodEntry", also, thread=main):
        assert program.ask("nested 4") == "101"
    assert answers == ["leaving"]
    other.dispose_environment()


# ---- which handlers a frame can be left from ---------------------------------------------------

ACTS = departing.ACTS | {
    "SingleStep": "touch",
    "MethodEntry": "locked",
    "MethodExit": "locked",
    "SampledObjectAlloc": "loadOwn",
    "VMObjectAlloc": "lambda",
    "ClassLoad": "lambda",
    "ClassPrepare": "lambda",
    "ClassFileLoadHook": "loadForName",
}
"""Methods of Departing in which the events are sent."""

NO_FRAME = {
    "VMInit", "VMStart", "VMDeath", "DataDumpRequest", "DynamicCodeGenerated",
    "CompiledMethodLoad", "CompiledMethodUnload", "VirtualThreadStart", "VirtualThreadEnd",
}  # fmt: skip
"""Events sent by threads of the VM, or where no method of the program is on the stack."""

FORCED = {"I": "int", "V": "void"}


class Departure:
    """One event and one request, on a program of its own until it has been left."""

    def __init__(self, programs_: programs.JavaPrograms, jvm: jvms.Jvm, *arguments: str) -> None:
        library = library_for_executable(jvm.java)
        self.program = programs_(
            "Departing",
            jvm_args=[
                f"-agentpath:{library}=reserve",
                "-Xlog:disable",
                NO_SIGNAL,
                *QUICK,
                *arguments,
            ],
        )
        self.program.expect("ready", timeout=60)
        self.vm = jvmti.attach(self.program.pid, capabilities="all", timeout=30)
        self.vm.timeout = 60
        self.code = Code(self.vm, "Departing")

    def leave(self, event: Any, request: str, by_another: bool) -> str:
        """Make a request in a handler, where a method of ours is on top; what came of it."""
        env = self.vm.env
        thread = getattr(event, "thread", None) or env.get_current_thread()
        if env.get_frame_count(thread) == 0:
            return ""
        method = env.get_frame_location(thread, 0).method
        if method.declaring_class != self.code.cls or method.name in ("call", "main"):
            return ""
        type_ = method.signature[-1]
        if type_ not in FORCED:
            return ""

        def ask() -> None:
            if request == "pop":
                env.pop_frame(thread)
            elif type_ == "V":
                env.force_early_return_void(thread)
            else:
                env.force_early_return_int(thread, 100)

        try:
            if by_another:
                with_suspended(env, thread, ask)
            else:
                ask()
        except OpaqueFrame:
            return "opaque"
        return "left"

    def prepare(self, event: str, act: str) -> None:
        """Ask the VM for the event."""
        env, cls = self.vm.env, self.code.cls
        if event == "SampledObjectAlloc":
            env.set_heap_sampling_interval(0)
        elif event == "FieldAccess":
            env.set_field_access_watch(cls, field_named(env, cls, "field"))
        elif event == "FieldModification":
            env.set_field_modification_watch(cls, field_named(env, cls, "number"))
        elif event in ("Breakpoint", "FramePop"):
            env.set_breakpoint(self.code[act], 0)
        if event == "FramePop":
            env.on("Breakpoint", lambda it: env.notify_frame_pop(it.thread, 0))

    def close(self) -> None:
        """Leave, and see that the program goes on."""
        self.vm.detach()
        for act in ("touch", "explicit", "loadForName", "contended", "lambda"):
            assert self.program.ask(act, timeout=60) in ("4", "5")
        assert self.program.crash() is None
        self.program.stop()


def with_suspended(env: jvmti.Env, thread: Any, ask: Callable[[], None]) -> None:
    """Suspend a thread, ask, and resume it, all from a Python thread of one's own."""
    raised: list[BaseException] = []

    def work() -> None:
        try:
            env.suspend_thread(thread)
            try:
                ask()
            finally:
                env.resume_thread(thread)
        except BaseException as error:
            raised.append(error)

    worker = threading.Thread(target=work)
    worker.start()
    worker.join(60)
    if raised:
        raise raised[0]


def test_every_event_is_in_the_table() -> None:
    known = {
        event.declaration.name for event in EVENTS.values() if not event.declaration.vm_stopped
    }
    assert set(ACTS) | NO_FRAME == known


def test_the_page_of_events_has_what_these_tests_show() -> None:
    """The table event by request is made of the same declarations."""
    page = (jvms.ROOT / "docs" / "reference" / "jvmti" / "events.md").read_text()
    rows = dict(re.findall(r"^\| \[(\w+)\]\(#\w+\) \| (.*) \|$", page, re.M))
    answers = {
        Frames.LEAVABLE: ["yes", "yes"],
        Frames.RETURNABLE: ["OPAQUE_FRAME", "yes"],
        Frames.FIXED: ["OPAQUE_FRAME", "OPAQUE_FRAME"],
    }
    for event in EVENTS.values():
        frames = event.declaration.frames
        stopped = event.declaration.vm_stopped
        expected = ["of no thread"] * 2 if stopped else answers[frames]
        assert rows.pop(event.__name__).split(" | ")[:2] == expected
    assert rows == {}


REQUESTS = [(request, by_another) for request in ("pop", "return") for by_another in (False, True)]
"""By the thread itself, and by another that has suspended it in its handler."""


@pytest.mark.parametrize("event", ACTS)
def test_a_frame_is_left_from_a_handler_or_the_request_is_refused(
    event: str, jvm: jvms.Jvm, java_program: programs.JavaPrograms
) -> None:
    """What is refused is asked in one handler, and the thread goes on as if nobody had asked."""
    if jvm.name == "zero":
        pytest.skip("this VM leaves no frames")
    frames = next(one for one in EVENTS.values() if one.__name__ == event).declaration.frames
    departure = Departure(java_program, jvm)
    departure.prepare(event, ACTS[event])
    left = {"pop": frames is Frames.LEAVABLE, "return": frames is not Frames.FIXED}
    todo = [one for one in REQUESTS if not left[one[0]]] + [one for one in REQUESTS if left[one[0]]]
    outcomes: list[str] = []

    def handler(it: Any) -> None:
        nonlocal idle
        if idle:
            idle = it.thread != main
            return
        while len(outcomes) < len(todo):
            outcome = departure.leave(it, *todo[len(outcomes)])
            if outcome:
                outcomes.append(outcome)
            if outcome != "opaque":
                return

    main = departure.vm.threads["main"]
    # After its first sample, which is due by chance, every allocation of a thread is one.
    idle = event == "SampledObjectAlloc"
    with departure.vm.env.on(event, handler, timeout=60):
        for _ in range(500):  # more than the room of a thread, and than a first interval
            if idle:
                departure.program.ask("allocateMany", timeout=60)
        assert not idle
        for _ in range(5):
            if len(outcomes) < len(todo):  # every further step is a conversation
                departure.program.ask(ACTS[event], timeout=60)
    assert departure.vm.handler_errors == []
    departure.close()
    expected = ["left" if left[request] else "opaque" for request, _ in todo]
    assert outcomes == expected or (frames is Frames.FIXED and outcomes == [])
    if event in ("SampledObjectAlloc", "ClassLoad", "ClassPrepare", "MonitorContendedEnter"):
        assert outcomes
