"""What handlers may do and what becomes of those that do not do well."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import jvms
import jvmti
import programs
from events.seen import Code, Seen
from jvmti.interface.constants import Event, EventMode
from jvmti.interface.errors import CallTimeout, HandlerOverran, SessionClosed


@pytest.fixture
def vm(program: programs.JavaProgram) -> Any:
    """A session for one test, whose handlers may fail."""
    with jvmti.attach(program.pid, capabilities="all", timeout=30) as attached:
        attached.timeout = 60
        yield attached
    assert program.ask("echo alive") == "alive"


@pytest.fixture
def stopping(vm: jvmti.VM, code: Code) -> None:
    """The program meets a breakpoint in every calculation."""
    vm.env.set_breakpoint(code["straight"], 0)


# Handlers that fail ---------------------------------------------------------------------------


def test_a_handler_that_raises_is_reported_once_and_counted(
    program: programs.JavaProgram, vm: jvmti.VM, stopping: None, caplog: pytest.LogCaptureFixture
) -> None:
    seen = Seen()

    def fail(event: Any) -> None:
        raise ZeroDivisionError("on purpose")

    with vm.env.on("Breakpoint", fail), vm.env.on("Breakpoint", seen):
        for value in range(5):
            assert program.ask(f"calculate {value}") == str(value * 3 + 1)
    [failed] = vm.handler_errors
    assert (failed.event, failed.count, type(failed.error)) == ("Breakpoint", 5, ZeroDivisionError)
    assert failed.place.startswith(__file__)
    assert "5 times" in str(failed)
    assert len(caplog.records) == 1
    assert len(seen) == 5, "the next handler was called all the same"


def test_handlers_that_raise_in_two_places_are_reported_twice(
    program: programs.JavaProgram, vm: jvmti.VM, stopping: None
) -> None:
    def fail(event: Any) -> None:
        if vm.env.get_local_int(event.thread, 0, 0) == 1:
            raise ValueError("one")
        raise ValueError("another")

    with vm.env.on("Breakpoint", fail):
        for value in (1, 2, 1):
            program.ask(f"calculate {value}")
    assert sorted(error.count for error in vm.handler_errors) == [1, 2]


def test_handlers_that_end_their_thread_are_reported_and_the_events_go_on(
    program: programs.JavaProgram, vm: jvmti.VM, stopping: None
) -> None:
    """More often than there are threads for handlers."""
    vm.handler_limit = 2

    def leave(event: Any) -> None:
        raise SystemExit(3)

    with vm.env.on("Breakpoint", leave):
        for value in range(5):
            assert program.ask(f"calculate {value}") == str(value * 3 + 1)
    [failed] = vm.handler_errors
    assert (failed.count, type(failed.error)) == (5, SystemExit)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ("text", TypeError),
        (17, TypeError),
        (b"", ValueError),
        (b"no class file", ValueError),
        (["list"], TypeError),
    ],
)
def test_an_answer_that_is_no_class_file_changes_nothing(
    answer: Any, error: type, program: programs.JavaProgram, vm: jvmti.VM
) -> None:
    def hook(event: Any) -> Any:
        return answer if event.name == "Events$Loaded" else None

    with vm.env.on("ClassFileLoadHook", hook):
        assert program.ask("load") == "loaded first"
    [failed] = vm.handler_errors
    assert type(failed.error) is error
    assert failed.event == "ClassFileLoadHook"


def test_a_class_file_that_the_vm_does_not_take_fails_the_loading_and_nothing_else(
    program: programs.JavaProgram, vm: jvmti.VM
) -> None:
    def hook(event: Any) -> Any:
        return event.class_data[:40] if event.name == "Events$Loaded" else None

    with vm.env.on("ClassFileLoadHook", hook):
        assert program.ask("load").startswith("error java.lang.ClassFormatError")
    assert program.ask("load") == "loaded first"
    assert vm.handler_errors == []


def test_an_answer_to_an_event_that_takes_none_is_ignored(
    program: programs.JavaProgram, vm: jvmti.VM, stopping: None
) -> None:
    with vm.env.on("Breakpoint", lambda event: "whatever"):
        assert program.ask("calculate 1") == "4"
    assert vm.handler_errors == []


def test_a_wrong_registration_is_refused_with_a_reason(vm: jvmti.VM) -> None:
    with pytest.raises(ValueError, match="there is no event 'Breakpont'"):
        vm.env.on("Breakpont", print)
    with pytest.raises(TypeError, match="callable"):
        vm.env.on("Breakpoint", "print")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="timeout"):
        vm.env.on("Breakpoint", print, timeout=0)
    with pytest.raises(ValueError, match=r"env\.stream"):
        vm.env.on("ObjectFree", print)
    with pytest.raises(TypeError, match="callable"):
        vm.env.set_event_callbacks({"GarbageCollectionStart": "print"})  # type: ignore[dict-item]
    bare = vm.new_env()
    with pytest.raises(jvmti.errors.MustPossessCapability, match="can_generate_breakpoint_events"):
        bare.on("Breakpoint", print)


def test_a_registration_that_failed_leaves_nothing_behind(
    program: programs.JavaProgram, vm: jvmti.VM, stopping: None
) -> None:
    bare = vm.new_env()
    seen = Seen()
    with pytest.raises(jvmti.errors.MustPossessCapability):
        bare.on("SingleStep", seen)
    bare.add_capabilities({"can_generate_single_step_events"})
    bare.set_event_notification_mode(EventMode.ENABLE, Event.SINGLE_STEP, vm.threads["main"])
    assert program.ask("calculate 1") == "4"
    assert seen == []


# Handlers that take too long ------------------------------------------------------------------


def test_a_thread_goes_on_without_a_handler_that_takes_too_long(
    program: programs.JavaProgram, vm: jvmti.VM, stopping: None
) -> None:
    go_on = threading.Event()
    done = threading.Event()
    raised: list[BaseException] = []

    def slow(event: Any) -> None:
        assert go_on.wait(60)
        try:
            vm.env.get_phase()
        except HandlerOverran as error:
            raised.append(error)
        done.set()

    before = vm.stats.agent
    assert before is not None
    with vm.env.on("Breakpoint", slow, timeout=0.2):
        assert program.ask("calculate 1") == "4"
        stats = vm.stats.agent
        assert stats is not None
        assert stats.events_overran == before.events_overran + 1
        go_on.set()
        assert done.wait(30)
    assert "get_phase" in str(raised[0])
    assert vm.handler_errors == []
    seen = Seen()
    with vm.env.on("Breakpoint", seen):
        for value in range(3):
            program.ask(f"calculate {value}")
    assert len(seen) == 3, "events are handled as before"


def test_a_handler_that_overruns_while_it_calls_learns_it_from_the_call(
    program: programs.JavaProgram, vm: jvmti.VM, stopping: None
) -> None:
    """It calls all the time; one of the calls finds that nobody waits any more."""
    raised = threading.Event()
    calls: list[int] = []

    def busy(event: Any) -> None:
        try:
            while True:
                vm.env.get_local_int(event.thread, 0, 0)
                calls.append(1)
        except HandlerOverran:
            raised.set()
            raise

    with vm.env.on("Breakpoint", busy, timeout=0.3):
        assert program.ask("calculate 1") == "4"
        assert raised.wait(30)
    assert len(calls) > 5


def test_the_limits_of_several_handlers_add_up(
    program: programs.JavaProgram, vm: jvmti.VM, stopping: None
) -> None:
    """The second begins when the first has used its own time."""
    done: list[int] = []

    def pausing(number: int) -> Callable[[Any], None]:
        def pause(event: Any) -> None:
            threading.Event().wait(0.3)
            vm.env.get_local_int(event.thread, 0, 0)
            done.append(number)

        return pause

    with (
        vm.env.on("Breakpoint", pausing(1), timeout=1),
        vm.env.on("Breakpoint", pausing(2), timeout=1),
    ):
        assert program.ask("calculate 1") == "4"
    assert done == [1, 2]
    assert vm.handler_errors == []


def test_debugger_s_events_wait_for_ever_and_others_do_not(vm: jvmti.VM) -> None:
    for event, limit in (("Breakpoint", None), ("MethodEntry", None), ("ThreadStart", 10.0)):
        with vm.env.on(event, lambda event: None) as handler:
            assert handler.timeout == limit


# Leaving from within --------------------------------------------------------------------------


def test_a_handler_cancels_itself(
    program: programs.JavaProgram, vm: jvmti.VM, stopping: None
) -> None:
    seen = Seen()

    def once(event: Any) -> None:
        seen(event)
        handler.cancel()

    handler = vm.env.on("Breakpoint", once)
    for value in range(3):
        assert program.ask(f"calculate {value}") == str(value * 3 + 1)
    assert len(seen) == 1
    assert "cancelled" in repr(handler)


def test_a_handler_registers_another(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code, stopping: None
) -> None:
    popped = Seen()

    def first(event: Any) -> None:
        vm.env.on("FramePop", popped)
        vm.env.notify_frame_pop(event.thread, 0)

    with vm.env.on("Breakpoint", first):
        assert program.ask("calculate 1") == "4"
    assert [event.method for event in popped] == [code["straight"]]


def test_a_handler_disposes_of_its_environment(program: programs.JavaProgram, vm: jvmti.VM) -> None:
    second = vm.new_env()
    second.add_capabilities({"can_generate_method_entry_events"})
    seen = Seen()

    def last(event: Any) -> None:
        seen(event)
        second.dispose_environment()
        with pytest.raises(jvmti.errors.InvalidEnvironment):
            second.get_phase()
        assert vm.env.get_phase() == 4

    second.on("MethodEntry", last, thread=vm.threads["main"])
    assert program.ask("calculate 1") == "4"
    assert program.ask("calculate 2") == "7"
    assert len(seen) == 1
    assert vm.handler_errors == []


def test_a_handler_ends_the_session(program: programs.JavaProgram, code: Code) -> None:
    session = jvmti.attach(program.pid, capabilities="all", timeout=30)
    own = Code(session, "Events")
    after: list[str] = []
    left = threading.Event()

    def leave(event: Any) -> None:
        session.detach()
        try:
            session.env.get_phase()
        except SessionClosed:
            after.append("closed")
        left.set()

    # The breakpoint belongs to one environment at a time.
    code.vm.env.relinquish_capabilities({"can_generate_breakpoint_events"})
    session.env.add_capabilities({"can_generate_breakpoint_events"})
    session.env.set_breakpoint(own["straight"], 0)
    session.env.on("Breakpoint", leave)
    assert program.ask("calculate 1") == "4"
    assert left.wait(30)
    assert after == ["closed"]
    assert session.closed
    assert program.ask("calculate 2") == "7"


def test_a_session_is_left_while_a_handler_is_at_work(
    program: programs.JavaProgram, vm: jvmti.VM, stopping: None
) -> None:
    inside, go_on, done = threading.Event(), threading.Event(), threading.Event()
    raised: list[str] = []

    def slow(event: Any) -> None:
        inside.set()
        assert go_on.wait(60)
        try:
            vm.env.get_phase()
        except Exception as error:
            raised.append(type(error).__name__)
        done.set()

    vm.env.on("Breakpoint", slow)
    program.send("calculate 1")
    assert inside.wait(30)
    vm.detach()
    program.expect("4")  # the thread went on, before the handler did
    assert not done.is_set()
    go_on.set()
    assert done.wait(30)
    assert raised == ["SessionClosed"]


def test_cancelling_while_a_handler_is_at_work_lets_it_finish(
    program: programs.JavaProgram, vm: jvmti.VM, stopping: None
) -> None:
    inside, go_on = threading.Event(), threading.Event()
    found: list[int] = []

    def slow(event: Any) -> None:
        inside.set()
        assert go_on.wait(60)
        found.append(vm.env.get_local_int(event.thread, 0, 0))

    handler = vm.env.on("Breakpoint", slow)
    program.send("calculate 5")
    assert inside.wait(30)
    handler.cancel()
    go_on.set()
    program.expect("16")
    assert found == [5]
    assert program.ask("calculate 6") == "19"
    assert found == [5]


# Events within events -------------------------------------------------------------------------


def straight_of(vm: jvmti.VM, code: Code) -> Callable[[int], int]:
    """Calls the program's method from Python."""
    method = vm.jni.get_static_method_id(code.cls, "straight", "(I)I")
    return lambda value: vm.jni.call_static_int_method(code.cls, method, [value])


@pytest.mark.oldest_and_newest
def test_an_event_whose_handler_has_just_gone_gives_back_its_objects(vm: jvmti.VM) -> None:
    changing = vm.jni.find_class("Events$Changing")
    with vm.env.on("ClassFileLoadHook", lambda _: None, own=True):
        # As until the agent knows it.
        vm._handlers._plans.clear()
        assert vm.stats.agent is not None
        before = vm.stats.agent.objects
        vm.env.retransform_classes([changing])
        assert vm.stats.agent is not None
        assert vm.stats.agent.objects == before


def test_an_event_that_a_call_runs_into_is_handled_by_the_calling_thread(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code, stopping: None
) -> None:
    handled: list[tuple[str, int]] = []

    def note(event: Any) -> None:
        argument = vm.env.get_local_int(event.thread, 0, 0)
        handled.append((threading.current_thread().name, argument))

    straight = straight_of(vm, code)
    with vm.env.on("Breakpoint", note):
        assert straight(5) == 16
        other: list[int] = []
        thread = threading.Thread(target=lambda: other.append(straight(6)), name="another")
        thread.start()
        thread.join()
        assert other == [19]
    assert handled == [(threading.current_thread().name, 5), ("another", 6)]


def test_a_handler_s_own_call_runs_into_the_event_again(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code, stopping: None
) -> None:
    """Conversations within conversations, each answered in its turn."""
    depths: list[int] = []
    straight = straight_of(vm, code)

    def again(event: Any) -> None:
        value = vm.env.get_local_int(event.thread, 0, 0)
        depths.append(value)
        if value < 10:
            assert straight(value + 1) == (value + 1) * 3 + 1
        depths.append(-value)

    with vm.env.on("Breakpoint", again):
        assert program.ask("calculate 1") == "4"
    assert depths == [1, -1], "a handler's own work is not reported to it unless it asks for that"
    depths.clear()
    with vm.env.on("Breakpoint", again, own=True):
        assert program.ask("calculate 1") == "4"
    assert depths == [*range(1, 11), *range(-10, 0)]
    assert vm.handler_errors == []


def test_a_late_reply_in_a_handler_is_never_taken_for_another(
    program: programs.JavaProgram, vm: jvmti.VM, stopping: None
) -> None:
    """A handler has one channel, on which the late ones come first."""
    cls = vm.jni.find_class("java/lang/Thread")
    sleep = vm.jni.get_static_method_id(cls, "sleep", "(J)V")
    limited = vm.jni.with_timeout(0.01)
    names: list[str] = []

    def ask(event: Any) -> None:
        for _ in range(3):
            for _ in range(2):
                with contextlib.suppress(CallTimeout):
                    limited.call_static_void_method(cls, sleep, [30])
                    names.append("in time")
            names.append(vm.env.get_error_name(99))

    with vm.env.on("Breakpoint", ask):
        assert program.ask("calculate 1") == "4"
    assert names == ["JVMTI_ERROR_MUST_POSSESS_CAPABILITY"] * 3
    assert vm.handler_errors == []


def test_ctrl_c_in_a_handler_that_a_call_ran_into_leaves_the_session_usable(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code, stopping: None
) -> None:
    straight = straight_of(vm, code)
    outcomes: list[str] = []

    def interrupted(event: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        threading.Event().wait(30)
        outcomes.append("went on")

    with vm.env.on("Breakpoint", interrupted):
        with pytest.raises(KeyboardInterrupt):
            straight(5)
    assert outcomes == []
    assert straight(6) == 19
    assert program.ask("calculate 7") == "22"
    assert vm.env.get_phase() == 4


def test_ctrl_c_in_a_call_of_such_a_handler(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code, stopping: None
) -> None:
    straight = straight_of(vm, code)
    sleep = vm.jni.get_static_method_id(vm.jni.find_class("java/lang/Thread"), "sleep", "(J)V")

    def interrupted(event: Any) -> None:
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        vm.jni.call_static_void_method(vm.jni.find_class("java/lang/Thread"), sleep, [3000])
        threading.Event().wait(30)

    with vm.env.on("Breakpoint", interrupted):
        with pytest.raises(KeyboardInterrupt):
            straight(5)
    assert straight(6) == 19
    assert program.ask("calculate 7") == "22"


# Side by side ---------------------------------------------------------------------------------


def test_handlers_of_different_threads_run_side_by_side(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code
) -> None:
    """Each of them waits until all of them are there."""
    count = 24
    vm.handler_limit = count
    barrier = threading.Barrier(count)
    numbers: list[int] = []

    def meet(event: Any) -> None:
        barrier.wait(60)
        numbers.append(vm.env.get_local_int(event.thread, 0, 0))
        barrier.wait(60)

    vm.env.set_breakpoint(code["meet"], 0)
    with vm.env.on("Breakpoint", meet):
        assert program.ask(f"parallel {count}", timeout=90) == str(count)
    assert sorted(numbers) == list(range(count))
    assert vm.handler_errors == []


def test_no_more_handlers_run_at_once_than_the_limit(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code
) -> None:
    vm.handler_limit = 3
    running: list[int] = []
    most: list[int] = []
    three = threading.Barrier(3)
    waited = threading.Event()

    def meet(event: Any) -> None:
        running.append(1)
        most.append(len(running))
        with contextlib.suppress(threading.BrokenBarrierError):
            three.wait(10)
        if not waited.is_set():
            waited.set()
        running.pop()

    vm.env.set_breakpoint(code["meet"], 0)
    with vm.env.on("Breakpoint", meet):
        assert program.ask("parallel 12", timeout=90) == "12"
    assert max(most) == 3
    assert len(most) == 12
    with pytest.raises(ValueError):
        vm.handler_limit = 0


def test_threads_that_wait_for_a_handler_are_counted(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code
) -> None:
    vm.handler_limit = 1
    go_on = threading.Event()
    vm.env.set_breakpoint(code["meet"], 0)
    with vm.env.on("Breakpoint", lambda event: go_on.wait(60)):
        program.send("parallel 5")
        deadline = time.monotonic() + 30
        while (stats := vm.stats.agent) is not None and stats.events_waiting < 4:
            assert time.monotonic() < deadline, stats
        go_on.set()
        program.expect("5")
    stats = vm.stats.agent
    assert stats is not None
    assert stats.events_waiting == 0


@pytest.mark.parametrize("limit", [1, 16])
def test_nothing_is_lost_when_many_threads_send_many_events(
    limit: int, program: programs.JavaProgram, vm: jvmti.VM, code: Code
) -> None:
    vm.handler_limit = limit
    numbers: list[int] = []
    vm.env.set_breakpoint(code["meet"], 0)
    with vm.env.on(
        "Breakpoint", lambda event: numbers.append(vm.env.get_local_int(event.thread, 0, 0))
    ):
        for _ in range(5):
            assert program.ask("parallel 40", timeout=90) == "40"
    assert sorted(numbers) == sorted(5 * [*range(40)])


def test_virtual_threads_are_handled_like_others(
    program: programs.JavaProgram, vm: jvmti.VM, stopping: None, jvm: jvms.Jvm
) -> None:
    if jvm.feature < 21:
        pytest.skip("this release has no virtual threads")
    found: list[tuple[int, str]] = []

    def look(event: Any) -> None:
        found.append((vm.env.get_local_int(event.thread, 0, 0), event.thread.name))

    with vm.env.on("Breakpoint", look):
        for value in range(5):
            assert program.ask(f"virtual light-{value} calculate {value}") == str(value * 3 + 1)
    assert found == [(value, f"light-{value}") for value in range(5)]
