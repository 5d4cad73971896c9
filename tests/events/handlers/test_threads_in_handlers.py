"""What a handler does to its own thread beyond frames: it suspends it, and throws into it."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

import jvmti
import programs
from conformance.evidence import Evidence
from events.seen import Code
from jvmti.env.events import EVENTS
from jvmti.interface.constants import ThreadState
from jvmti.interface.errors import ErrorCode

# ---- a thread suspends itself ------------------------------------------------------------------


class Stopped:
    """Calls the program's `nested` on a thread of its own, and suspends that in a handler."""

    def __init__(self, program: programs.JavaProgram, vm: jvmti.VM, code: Code, kind: str) -> None:
        self.program, self.vm, self.env = program, vm, vm.env
        self.kind = kind
        self.thread: Any = None
        self.said: list[Any] = []
        self.handled = threading.Event()
        vm.env.set_breakpoint(code["inner"], 0)

    def suspend(self, ask: Any) -> None:
        """Run the program until its handler has asked for the suspension of the thread."""

        def handler(event: Any) -> None:
            self.thread = event.thread
            self.said.append(ask(event))
            # It still carries out what the handler asks for.
            self.said.append(self.env.get_local_int(event.thread, 0, 0))
            self.said.append(self.vm.jni.get_string_length(self.vm.jni.new_string("text")))
            self.handled.set()

        self.handler = self.env.on("Breakpoint", handler)
        self.program.send(f"{self.kind} runner nested 4")
        assert self.handled.wait(60)

    def is_suspended(self) -> bool:
        """Wait a little for it: the handler may not have returned yet."""
        for _ in range(600):
            if self.env.get_thread_state(self.thread) & ThreadState.SUSPENDED:
                return True
            time.sleep(0.05)
        return False

    def resumed(self) -> None:
        """The program's answer, once the thread goes on."""
        assert self.program.read_line(60) == "11"
        self.handler.cancel()


def list_of_one(env: jvmti.Env, thread: Any) -> None:
    assert env.suspend_thread_list([thread]) == [ErrorCode.NONE]


ASKS: dict[str, Any] = {
    "None": lambda env, event: env.suspend_thread(None),
    "named": lambda env, event: env.suspend_thread(event.thread),
    "list": lambda env, event: list_of_one(env, event.thread),
}


@pytest.mark.parametrize("how", ASKS)
def test_a_handler_suspends_its_thread_which_another_resumes(
    how: str,
    kind: str,
    program: programs.JavaProgram,
    vm: jvmti.VM,
    code: Code,
    evidence: Evidence,
) -> None:
    evidence.proves("suspend_thread_list" if how == "list" else "suspend_thread")
    stopped = Stopped(program, vm, code, kind)
    stopped.suspend(lambda event: ASKS[how](vm.env, event))
    assert stopped.is_suspended()
    assert stopped.said == [None, 5, 4]
    vm.env.resume_thread(stopped.thread)
    stopped.resumed()


def test_a_handler_learns_that_its_thread_is_suspended_already(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code
) -> None:
    stopped = Stopped(program, vm, code, "thread")

    def twice(event: Any) -> None:
        vm.env.suspend_thread(None)
        with pytest.raises(jvmti.errors.ThreadSuspended):
            vm.env.suspend_thread(event.thread)

    stopped.suspend(twice)
    assert stopped.is_suspended()
    with pytest.raises(jvmti.errors.ThreadSuspended):
        vm.env.suspend_thread(stopped.thread)
    vm.env.resume_thread(stopped.thread)
    stopped.resumed()


def test_a_thread_is_resumed_before_its_handler_has_returned(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code
) -> None:
    """Then it is not suspended at all."""
    stopped = Stopped(program, vm, code, "thread")

    def ask(event: Any) -> None:
        vm.env.suspend_thread(None)
        other = threading.Thread(target=vm.env.resume_thread, args=[event.thread])
        other.start()
        other.join()

    stopped.suspend(ask)
    stopped.resumed()


def test_a_thread_that_suspended_itself_goes_on_when_the_session_ends(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code
) -> None:
    stopped = Stopped(program, vm, code, "thread")
    stopped.suspend(lambda event: vm.env.suspend_thread(None))
    assert stopped.is_suspended()
    vm.detach()
    assert program.read_line(60) == "11"


def test_outside_of_handlers_the_current_thread_is_the_agent_s(vm: jvmti.VM) -> None:
    with pytest.raises(jvmti.errors.InvalidThread, match="would never come back"):
        vm.env.suspend_thread(None)


# ---- a handler throws --------------------------------------------------------------------------

CARRIED = {
    "Breakpoint": "nested 4",
    "SingleStep": "nested 4",
    "MethodEntry": "nested 4",
    "FieldAccess": "read",
    "FieldModification": "write",
    "ExceptionCatch": "fail it",
}
"""Commands that cause the events which bring an exception to the program."""

ANYWHERE = ("SingleStep", "MethodEntry")
"""Those of them that are sent for everything that runs."""


def test_the_table_of_events_that_carry_exceptions_is_whole() -> None:
    declared = {one.__name__ for one in EVENTS.values() if one.declaration.carries_exceptions}
    assert declared == set(CARRIED)


@pytest.mark.parametrize("caught", [False, True], ids=["through", "caught"])
@pytest.mark.parametrize("event", CARRIED)
def test_what_a_handler_throws_reaches_the_program(
    event: str, caught: bool, program: programs.JavaProgram, vm: jvmti.VM, code: Code
) -> None:
    """Whether the handler lets the exception through in Python, or catches it and goes on."""
    env, jni = vm.env, vm.jni
    if jvms_has_none(env, event):
        pytest.skip("this VM does not send it")
    failure = jni.find_class("java/lang/ArithmeticException")
    thrown: list[Any] = []
    handlers: list[Any] = []
    watched = vm.find_class("Events$Watched")
    fields = {env.get_field_name(watched, one).name: one for one in env.get_class_fields(watched)}
    if event == "Breakpoint":
        env.set_breakpoint(code["inner"], 0)
    elif event == "FieldAccess":
        env.set_field_access_watch(watched, fields["anInt"])
    elif event == "FieldModification":
        env.set_field_modification_watch(watched, fields["aByte"])

    def throw(it: Any) -> None:
        if thrown or (event in ANYWHERE and it.method != code["inner"]):
            return
        thrown.append(it.method.name)
        handlers[-1].cancel()
        if not caught:
            jni.throw_new(failure, "from a handler")
        with pytest.raises(jvmti.JavaException, match="from a handler"):
            jni.throw_new(failure, "from a handler")
        # Other calls do not take it back.
        assert jni.get_string_length(jni.new_string("text")) == 4

    main = vm.threads["main"]

    def begin(it: Any = None) -> None:
        handlers.append(env.on(event, throw, thread=main))

    if event in ANYWHERE:  # from near there on, as what reads and answers a command is long
        env.set_breakpoint(code["outer"], 0)
        handlers.append(env.on("Breakpoint", begin, thread=main))
    else:
        begin()
    answer = program.ask(CARRIED[event])
    assert thrown
    assert answer == "error java.lang.ArithmeticException: from a handler"


def jvms_has_none(env: jvmti.Env, event: str) -> bool:
    """Whether the VM lacks what the event needs."""
    declaration = next(one for one in EVENTS.values() if one.__name__ == event).declaration
    wanted = jvmti.Capabilities.of(declaration.capabilities)
    return bool(wanted & ~env.get_capabilities())


def test_another_environment_s_handler_works_while_an_exception_waits(
    program: programs.JavaProgram, vm: jvmti.VM, another: jvmti.Env
) -> None:
    """The VM tells both of one event, and the thread enters the second with the exception."""
    jni = vm.jni
    failure = jni.find_class("java/lang/ArithmeticException")
    done: list[str] = []

    def throw(it: Any) -> None:
        if "threw" not in done:
            done.append("threw")
            jni.throw_new(failure, "from a handler")

    def work(it: Any) -> None:
        if "worked" not in done:
            # The program's class loader runs for a name that nobody has asked for.
            with pytest.raises(jvmti.JavaException, match="NoClassDefFound"):
                jni.find_class("no/such/Thing")
            assert jni.get_string_length(jni.new_string("text")) == 4
            done.append("worked")

    main = vm.threads["main"]
    with (
        vm.env.on("ExceptionCatch", throw, thread=main),
        another.on("ExceptionCatch", work, thread=main),
    ):
        answer = program.ask("fail it")
    assert sorted(done) == ["threw", "worked"]
    assert answer == "error java.lang.ArithmeticException: from a handler"


def test_an_exception_that_is_cleared_does_not_reach_the_program(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code
) -> None:
    jni = vm.jni
    failure = jni.find_class("java/lang/ArithmeticException")

    def throw(event: Any) -> None:
        with pytest.raises(jvmti.JavaException):
            jni.throw_new(failure, "from a handler")
        jni.exception_clear()

    vm.env.set_breakpoint(code["inner"], 0)
    with vm.env.on("Breakpoint", throw):
        assert program.ask("nested 4") == "11"


def test_an_exception_that_a_called_method_throws_does_not_reach_the_program(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code
) -> None:
    def call(event: Any) -> None:
        with pytest.raises(jvmti.JavaException):
            vm.jni.find_class("no/such/Thing")

    vm.env.set_breakpoint(code["inner"], 0)
    with vm.env.on("Breakpoint", call):
        assert program.ask("nested 4") == "11"


@pytest.mark.parametrize("event", ["Exception", "MethodExit", "ClassPrepare"])
def test_where_the_vm_would_not_bring_it_to_the_program_throwing_is_refused(
    event: str, program: programs.JavaProgram, vm: jvmti.VM, code: Code
) -> None:
    jni = vm.jni
    failure = jni.find_class("java/lang/ArithmeticException")
    refused: list[str] = []

    def throw(it: Any) -> None:
        with pytest.raises(jvmti.errors.UnsupportedOperation) as caught:
            jni.throw_new(failure, "from a handler")
        refused.append(str(caught.value))

    with vm.env.on(event, throw, thread=vm.threads["main"]):
        vm.find_class("Events")
        assert program.ask("fail it").startswith("it ")
        program.ask("returned anInt")
    if event != "ClassPrepare":  # all may have been prepared before
        assert "from a handler of this event" in refused[0]


def test_a_stop_s_function_throws_into_the_program(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code
) -> None:
    """The model's breakpoints are events of the same thread."""
    jni = vm.jni
    failure = jni.find_class("java/lang/ArithmeticException")
    with code["inner"].breakpoint() as stops:
        program.send("nested 4")
        assert stops.next(60) is not None
        with pytest.raises(jvmti.JavaException):
            jni.throw_new(failure, "from a stop")
    assert program.read_line(60) == "error java.lang.ArithmeticException: from a stop"


def test_an_agent_thread_ends_with_what_its_function_throws(
    program: programs.JavaProgram, vm: jvmti.VM
) -> None:
    """The VM hands it to the thread's handler of uncaught exceptions, which reports it here."""
    env, jni = vm.env, vm.jni
    thread_class = jni.find_class("java/lang/Thread")
    construct = jni.get_method_id(thread_class, "<init>", "(Ljava/lang/String;)V")
    failure = jni.find_class("java/lang/ArithmeticException")
    thread = jni.new_object(thread_class, construct, [jni.new_string("lent")])
    uncaught: list[str] = []
    reported = threading.Event()

    def entered(event: Any) -> None:
        if event.method.name == "dispatchUncaughtException" and event.thread == thread:
            uncaught.append(event.method.name)
            reported.set()

    def work(arg: Any) -> None:
        jni.throw_new(failure, "from an agent thread")

    with env.on("MethodEntry", entered):
        env.run_agent_thread(thread, work, None, 5)
        assert reported.wait(60)
    assert uncaught == ["dispatchUncaughtException"]
