"""The chapter "Thread": threads as java.lang.management knows them, stopped and let go."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import jvms
import jvmti
import programs
from conformance import frames
from conformance.evidence import Evidence
from conformance.finding import thread_named
from jvmti.interface.constants import ThreadState
from jvmti.interface.errors import ErrorCode
from jvmti.refs import Object, Thread

STATES = {
    "sleeping": ThreadState.SLEEPING,
    "waiting": ThreadState.IN_OBJECT_WAIT,
    "blocked": ThreadState.BLOCKED_ON_MONITOR_ENTER,
    "parked": ThreadState.PARKED,
    "queued": ThreadState.PARKED,
    "deep": ThreadState.PARKED,
    "holder": ThreadState.PARKED,
}


@pytest.fixture(scope="module")
def stage(jvm: jvms.Jvm, shared_java_program: programs.JavaPrograms) -> Iterator[frames.Stage]:
    yield from frames.stage(jvm, shared_java_program)


def java_state(state: ThreadState) -> str:
    """The java.lang.Thread.State that the flags stand for."""
    if not state & ThreadState.ALIVE:
        return "TERMINATED" if state & ThreadState.TERMINATED else "NEW"
    if state & ThreadState.BLOCKED_ON_MONITOR_ENTER:
        return "BLOCKED"
    if state & ThreadState.WAITING_INDEFINITELY:
        return "WAITING"
    return "TIMED_WAITING" if state & ThreadState.WAITING_WITH_TIMEOUT else "RUNNABLE"


def new_object(vm: jvmti.VM, name: str, signature: str = "()V", *arguments: Any) -> Any:
    cls = vm.jni.find_class(name)
    return vm.jni.new_object(cls, vm.jni.get_method_id(cls, "<init>", signature), arguments)


def monitors(env: jvmti.Env, objects: list[Object]) -> set[str]:
    """Objects as the Witness writes them, by class and identity."""
    return {
        env.get_class_signature(jvmti.JNI(env._session).get_object_class(one))
        .signature[1:-1]
        .replace("/", ".")
        + f"@{env.get_object_hash_code(one)}"
        for one in objects
    }


@pytest.mark.parametrize(("name", "flag"), STATES.items())
def test_the_state_of_a_thread_is_the_one_that_java_reports(
    env: jvmti.Env, witness: programs.JavaProgram, evidence: Evidence, name: str, flag: ThreadState
) -> None:
    evidence.proves("get_thread_state")
    state = env.get_thread_state(thread_named(env, name))
    assert state & flag
    assert java_state(state) == witness.ask(f"state {name}")


def test_threads_before_and_after_their_life(
    vm: jvmti.VM, witness: programs.JavaProgram, evidence: Evidence
) -> None:
    evidence.proves("get_thread_state", "get_thread_info")
    name = vm.jni.new_string_utf("made")
    made = new_object(vm, "java/lang/Thread", "(Ljava/lang/String;)V", name)
    assert java_state(vm.env.get_thread_state(made)) == "NEW"
    assert vm.env.get_thread_info(made).name == "made"
    assert witness.ask("start ending") == "ok"
    ending = thread_named(vm.env, "ending")
    assert witness.ask("end ending") == "ok"
    assert java_state(vm.env.get_thread_state(ending)) == "TERMINATED"
    assert vm.env.get_thread_info(ending).thread_group is None


def test_the_current_thread_is_the_service_thread_of_each_python_thread(
    vm: jvmti.VM, evidence: Evidence
) -> None:
    evidence.proves("get_current_thread", "get_thread_state", "get_thread_info")
    env = vm.env
    own = env.get_current_thread()
    assert own == env.get_current_thread()
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(env.get_current_thread).result(10)
        assert other != own
        assert {own, other} <= set(vm.service_threads())
    assert own is not None
    assert env.get_thread_state() & ThreadState.ALIVE
    assert env.get_thread_info().name == env.get_thread_info(own).name


def test_all_threads_are_those_of_java_and_the_agents_own(
    vm: jvmti.VM, witness: programs.JavaProgram, evidence: Evidence
) -> None:
    evidence.proves("get_all_threads", "get_thread_info")
    threads = vm.env.get_all_threads()
    found = {vm.env.get_thread_info(thread).name: thread for thread in threads}
    java = {name.replace("\\u0020", " ") for name in witness.ask("threads").split()}
    own = {vm.env.get_thread_info(thread).name for thread in vm.service_threads()}
    assert java <= set(found)
    assert own <= set(found)
    assert not own & java
    assert "virtual" not in found
    for name in ("main", "sleeping", "deep"):
        info = vm.env.get_thread_info(found[name])
        assert str(info.priority) == witness.ask(f"priority {name}")
        assert str(info.is_daemon).lower() == witness.ask(f"daemon {name}")
        assert info.thread_group is not None
        group = vm.env.get_thread_group_info(info.thread_group).name
        assert group == witness.ask(f"group {name}")
        assert info.context_class_loader is not None


def test_a_virtual_thread_has_a_state_and_a_name(stage: frames.Stage, evidence: Evidence) -> None:
    evidence.proves("get_thread_state", "get_thread_info")
    actor = stage.act("park", virtual=True)
    state = stage.env.get_thread_state(actor.thread)
    assert java_state(state) == stage.program.ask(f"state {actor.name}") == "WAITING"
    info = stage.env.get_thread_info(actor.thread)
    assert (info.name, info.priority, info.is_daemon) == (actor.name, 5, True)
    assert info.thread_group is not None
    assert stage.env.get_thread_group_info(info.thread_group).name == "VirtualThreads"


# Suspending ---------------------------------------------------------------------------------


def moves(actor: frames.Actor) -> bool:
    """Whether the thread's counter goes up, as soon as it has a processor."""
    before = actor.progress()[1]
    until = time.monotonic() + 20
    while actor.progress()[1] == before:
        if time.monotonic() > until:
            return False
        time.sleep(0.002)
    return True


def stands_still(actor: frames.Actor) -> bool:
    """Whether the thread's counter does not go up."""
    before = actor.progress()[1]
    time.sleep(0.1)
    return actor.progress()[1] == before


@frames.on_both_kinds
def test_a_suspended_thread_stands_still_until_it_is_resumed(
    stage: frames.Stage, evidence: Evidence, virtual: bool
) -> None:
    evidence.proves("suspend_thread", "resume_thread", "get_thread_state")
    evidence.provokes("suspend_thread", "THREAD_SUSPENDED")
    evidence.provokes("resume_thread", "THREAD_NOT_SUSPENDED")
    actor = stage.act("counting", virtual)
    assert moves(actor)
    with pytest.raises(jvmti.errors.ThreadNotSuspended):
        stage.env.resume_thread(actor.thread)
    stage.env.suspend_thread(actor.thread)
    assert stage.env.get_thread_state(actor.thread) & ThreadState.SUSPENDED
    assert stands_still(actor)
    with pytest.raises(jvmti.errors.ThreadSuspended):
        stage.env.suspend_thread(actor.thread)
    stage.env.resume_thread(actor.thread)
    assert moves(actor)
    with pytest.raises(jvmti.errors.ThreadNotSuspended):
        stage.env.resume_thread(actor.thread)
    assert actor.result() == "returned counted"


@frames.on_both_kinds
def test_a_list_is_suspended_and_resumed_thread_by_thread(
    stage: frames.Stage, evidence: Evidence, virtual: bool
) -> None:
    evidence.proves("suspend_thread_list", "resume_thread_list")
    evidence.provokes("suspend_thread_list", "THREAD_SUSPENDED")
    evidence.provokes("resume_thread_list", "THREAD_NOT_SUSPENDED")
    one, two = stage.act("counting", virtual), stage.act("counting", virtual)
    unstarted = new_object(stage.vm, "java/lang/Thread")
    both = [one.thread, two.thread]
    stage.env.suspend_thread(one.thread)
    assert stage.env.suspend_thread_list([*both, unstarted]) == [
        ErrorCode.THREAD_SUSPENDED,
        ErrorCode.NONE,
        ErrorCode.THREAD_NOT_ALIVE,
    ]
    assert stands_still(one)
    assert stands_still(two)
    stage.env.resume_thread(one.thread)
    assert stage.env.resume_thread_list([*both, unstarted]) == [
        ErrorCode.THREAD_NOT_SUSPENDED,
        ErrorCode.NONE,
        ErrorCode.THREAD_NOT_ALIVE,
    ]
    assert moves(one)
    assert moves(two)
    for actor in (one, two):
        assert actor.result() == "returned counted"


def no_threads(stage: frames.Stage) -> list[Any]:
    """What names no live thread: released here, stale, never issued, of another kind, weak."""
    env, jni = stage.env, stage.vm.jni
    released = new_object(stage.vm, "java/lang/Thread")
    number = released._handle
    released.release()
    env.get_phase()  # carries the release
    numbers = [number, Thread.KIND << 56 | 0xFFFF_FFFF, stage.main._handle]
    text: Any = jni.new_weak_global_ref(jni.new_string_utf("no thread"))
    return [released, *(Thread(stage.vm._session, number) for number in numbers), text]


@frames.on_both_kinds
def test_what_is_no_thread_fails_in_its_place_in_the_list(
    stage: frames.Stage, evidence: Evidence, virtual: bool
) -> None:
    evidence.provokes("suspend_thread_list", "INVALID_THREAD")
    evidence.provokes("resume_thread_list", "INVALID_THREAD")
    first, last = stage.act("counting", virtual), stage.act("counting", virtual)
    wrong = no_threads(stage)
    expected = [
        ErrorCode.NONE,
        *[ErrorCode.INVALID_THREAD] * len(wrong),
        ErrorCode.NONE,
    ]
    request = [first.thread, *wrong, last.thread]
    assert stage.env.suspend_thread_list(request) == expected
    assert stands_still(first)
    assert stands_still(last)
    assert stage.env.resume_thread_list(request) == expected
    assert moves(first)
    assert moves(last)
    for actor in (first, last):
        assert actor.result() == "returned counted"


def test_all_virtual_threads_are_suspended_but_the_exceptions(
    stage: frames.Stage, jvm: jvms.Jvm, evidence: Evidence
) -> None:
    if jvm.feature < 21:
        with pytest.raises(jvmti.errors.NotInThisVersion):
            stage.env.suspend_all_virtual_threads([])
        with pytest.raises(jvmti.errors.NotInThisVersion):
            stage.env.resume_all_virtual_threads([])
        return
    evidence.proves("suspend_all_virtual_threads", "resume_all_virtual_threads")
    for name in ("suspend_all_virtual_threads", "resume_all_virtual_threads"):
        evidence.provokes(name, "INVALID_THREAD")
    one, platform = stage.act("counting", virtual=True), stage.act("counting")
    free = stage.act("park", virtual=True)
    with pytest.raises(jvmti.errors.InvalidThread):
        stage.env.suspend_all_virtual_threads([platform.thread])
    stage.env.suspend_all_virtual_threads([free.thread])
    try:
        assert stands_still(one)
        assert moves(platform)
        assert not stage.env.get_thread_state(free.thread) & ThreadState.SUSPENDED
        with pytest.raises(jvmti.errors.InvalidThread):
            stage.env.resume_all_virtual_threads([platform.thread])
        stage.env.resume_all_virtual_threads([one.thread])
        assert stands_still(one)
    finally:
        stage.env.resume_all_virtual_threads([])
    assert moves(one)
    assert one.result() == platform.result() == "returned counted"


def test_a_session_that_goes_resumes_what_it_suspended(
    stage: frames.Stage, evidence: Evidence
) -> None:
    evidence.proves("suspend_thread")
    suspending = jvmti.Capabilities.of({"can_suspend"})
    actor = stage.act("counting")
    stage.env.relinquish_capabilities(suspending)
    try:
        with jvmti.attach(stage.program.pid, capabilities={"can_suspend"}) as leaving:
            name = stage.env.get_thread_info(actor.thread).name
            assert name is not None
            leaving.env.suspend_thread(thread_named(leaving.env, name))
            assert stands_still(actor)
        assert moves(actor)
    finally:
        stage.env.add_capabilities(suspending)
    assert actor.result() == "returned counted"


def test_a_session_that_goes_leaves_what_another_suspended(
    stage: frames.Stage, evidence: Evidence
) -> None:
    evidence.proves("suspend_thread_list")
    suspending = jvmti.Capabilities.of({"can_suspend"})
    ours, theirs = stage.act("counting"), stage.act("counting")
    with ours.suspended():
        stage.env.relinquish_capabilities(suspending)
        try:
            with jvmti.attach(stage.program.pid, capabilities={"can_suspend"}) as leaving:
                both = [thread_named(leaving.env, actor.name) for actor in (ours, theirs)]
                assert leaving.env.suspend_thread_list(both) == [
                    ErrorCode.THREAD_SUSPENDED,
                    ErrorCode.NONE,
                ]
            assert stands_still(ours)
            assert moves(theirs)
        finally:
            stage.env.add_capabilities(suspending)
    for actor in (ours, theirs):
        assert actor.result() == "returned counted"


@pytest.mark.parametrize("function", ["suspend_thread", "stop_thread", "interrupt_thread"])
def test_service_threads_are_left_alone(vm: jvmti.VM, evidence: Evidence, function: str) -> None:
    evidence.provokes(function, "INVALID_THREAD")
    further = [new_object(vm, "java/lang/Error")] if function == "stop_thread" else []
    for thread in vm.service_threads():
        with pytest.raises(jvmti.errors.InvalidThread):
            getattr(vm.env, function)(thread, *further)


# Signals ------------------------------------------------------------------------------------


@frames.on_both_kinds
def test_an_interrupted_thread_sees_the_interrupt(
    stage: frames.Stage, evidence: Evidence, virtual: bool
) -> None:
    evidence.proves("interrupt_thread")
    actor = stage.act("native", virtual)
    stage.env.interrupt_thread(actor.thread)
    assert actor.outcome().startswith("threw java.lang.InterruptedException")


def test_an_exception_is_thrown_in_another_thread(stage: frames.Stage, evidence: Evidence) -> None:
    evidence.proves("stop_thread")
    evidence.provokes("stop_thread", "INVALID_OBJECT")
    text = stage.vm.jni.new_string_utf("stop")
    exception = new_object(
        stage.vm, "java/lang/IllegalStateException", "(Ljava/lang/String;)V", text
    )
    actor = stage.act("counting")
    with pytest.raises(jvmti.errors.InvalidObject):  # a string cannot be thrown
        stage.env.stop_thread(actor.thread, text)
    stage.env.stop_thread(actor.thread, exception)
    assert actor.outcome() == "threw java.lang.IllegalStateException stop"


def test_a_virtual_thread_is_stopped_only_where_it_can_throw(
    stage: frames.Stage, evidence: Evidence
) -> None:
    evidence.provokes("stop_thread", "THREAD_NOT_SUSPENDED", "OPAQUE_FRAME")
    exception = new_object(stage.vm, "java/lang/IllegalStateException")
    parked = stage.act("park", virtual=True)
    with pytest.raises(jvmti.errors.ThreadNotSuspended):
        stage.env.stop_thread(parked.thread, exception)
    with parked.suspended(), pytest.raises(jvmti.errors.OpaqueFrame):
        stage.env.stop_thread(parked.thread, exception)
    counting = stage.act("counting", virtual=True)
    with counting.suspended():
        stage.env.stop_thread(counting.thread, exception)
    assert counting.outcome() == "threw java.lang.IllegalStateException null"


# Monitors -----------------------------------------------------------------------------------


def test_owned_monitors_are_those_that_java_reports(
    env: jvmti.Env, witness: programs.JavaProgram, evidence: Evidence
) -> None:
    evidence.proves("get_owned_monitor_info", "get_owned_monitor_stack_depth_info")
    for name in ("holder", "sleeping"):
        reported = dict(one.rsplit(":", 1) for one in witness.ask(f"monitors {name}").split())
        thread = thread_named(env, name)
        assert monitors(env, env.get_owned_monitor_info(thread)) == set(reported)
        found = env.get_owned_monitor_stack_depth_info(thread)
        for one in found:
            (described,) = monitors(env, [one.monitor])
            assert str(one.stack_depth) == reported[described]
        assert len(found) == len(reported)
    assert env.get_owned_monitor_info() == []
    assert env.get_owned_monitor_stack_depth_info() == []


def test_a_monitor_entered_through_jni_has_no_frame(vm: jvmti.VM, evidence: Evidence) -> None:
    evidence.proves("get_owned_monitor_info", "get_owned_monitor_stack_depth_info")
    held = new_object(vm, "java/lang/Object")
    vm.jni.monitor_enter(held)
    assert vm.env.get_owned_monitor_info() == [held]
    (info,) = vm.env.get_owned_monitor_stack_depth_info()
    assert (info.monitor, info.stack_depth) == (held, -1)
    vm.jni.monitor_exit(held)
    assert vm.env.get_owned_monitor_info() == []


def test_the_contended_monitor_is_the_one_that_java_reports(
    env: jvmti.Env, witness: programs.JavaProgram, evidence: Evidence
) -> None:
    evidence.proves("get_current_contended_monitor")
    contended = env.get_current_contended_monitor(thread_named(env, "blocked"))
    assert contended is not None
    assert monitors(env, [contended]) == {witness.ask("contended blocked")}
    assert env.get_current_contended_monitor(thread_named(env, "sleeping")) is None
    assert env.get_current_contended_monitor() is None


# Storage ------------------------------------------------------------------------------------


@frames.on_both_kinds
def test_a_thread_stores_any_python_object_for_each_environment(
    stage: frames.Stage, evidence: Evidence, virtual: bool
) -> None:
    evidence.proves("set_thread_local_storage", "get_thread_local_storage")
    env, further = stage.env, stage.vm.new_env()
    one, two = stage.act("park", virtual).thread, stage.act("park", virtual).thread
    stored: list[Any] = [{"any": "thing"}, object(), 0, "", stage]
    for value in stored:
        env.set_thread_local_storage(one, value)
        assert env.get_thread_local_storage(one) is value
    assert env.get_thread_local_storage(two) is None
    assert further.get_thread_local_storage(one) is None
    further.set_thread_local_storage(one, "other")
    assert env.get_thread_local_storage(one) is stage
    assert further.get_thread_local_storage(one) == "other"
    env.set_thread_local_storage(one, None)
    assert env.get_thread_local_storage(one) is None
    assert further.get_thread_local_storage(one) == "other"
    further.dispose_environment()


def test_the_current_thread_has_storage_of_its_own(env: jvmti.Env, evidence: Evidence) -> None:
    evidence.proves("set_thread_local_storage", "get_thread_local_storage")
    env.set_thread_local_storage(None, "mine")

    def others() -> tuple[Any, Any]:
        before = env.get_thread_local_storage()
        env.set_thread_local_storage(None, "theirs")
        return before, env.get_thread_local_storage()

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(others).result(10) == (None, "theirs")
    assert env.get_thread_local_storage() == "mine"
    current = env.get_current_thread()
    assert isinstance(current, Thread)
    assert env.get_thread_local_storage(current) == "mine"
    env.set_thread_local_storage(None, None)
