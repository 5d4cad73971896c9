"""The chapter "Raw Monitor": two Python threads meet in a lock of the JVM.

Each Python thread has a JVM thread of its own, so what blocks one does not block the other.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import jvms
import jvmti
import programs
from conformance.evidence import Evidence
from jvmti.refs import RawMonitor


@pytest.fixture
def monitor(env: jvmti.Env) -> Iterator[RawMonitor]:
    made = env.create_raw_monitor("shared ü")
    yield made
    try:
        env.destroy_raw_monitor(made)
    except jvmti.errors.InvalidMonitor:
        pass  # the test has done so


@pytest.fixture
def other() -> Iterator[ThreadPoolExecutor]:
    """Another Python thread."""
    with ThreadPoolExecutor(1) as pool:
        yield pool


def test_a_monitor_keeps_another_thread_out(
    env: jvmti.Env, monitor: RawMonitor, other: ThreadPoolExecutor, evidence: Evidence
) -> None:
    evidence.proves("create_raw_monitor", "raw_monitor_enter", "raw_monitor_exit")
    env.raw_monitor_enter(monitor)
    env.raw_monitor_enter(monitor)  # its owner may come in again
    inside = other.submit(env.raw_monitor_enter, monitor)
    time.sleep(0.1)
    assert not inside.done()
    env.raw_monitor_exit(monitor)
    time.sleep(0.1)
    assert not inside.done()  # left once of twice
    env.raw_monitor_exit(monitor)
    inside.result(10)
    with pytest.raises(jvmti.errors.NotMonitorOwner):
        env.raw_monitor_exit(monitor)
    other.submit(env.raw_monitor_exit, monitor).result(10)


@pytest.mark.parametrize("notify", ["raw_monitor_notify", "raw_monitor_notify_all"])
def test_a_waiting_thread_is_woken(
    env: jvmti.Env,
    monitor: RawMonitor,
    other: ThreadPoolExecutor,
    evidence: Evidence,
    notify: str,
) -> None:
    evidence.proves("raw_monitor_wait", notify)
    entered = threading.Event()

    def wait() -> float:
        env.raw_monitor_enter(monitor)
        entered.set()
        start = time.monotonic()
        env.raw_monitor_wait(monitor, 0)
        env.raw_monitor_exit(monitor)
        return time.monotonic() - start

    waiting = other.submit(wait)
    entered.wait(10)
    time.sleep(0.2)
    assert not waiting.done()
    env.raw_monitor_enter(monitor)  # free: it was given up for the wait
    getattr(env, notify)(monitor)
    time.sleep(0.1)
    assert not waiting.done()  # still ours
    env.raw_monitor_exit(monitor)
    assert waiting.result(10) >= 0.2


def test_one_of_two_is_notified_or_both(
    env: jvmti.Env, monitor: RawMonitor, evidence: Evidence
) -> None:
    evidence.proves("raw_monitor_notify", "raw_monitor_notify_all")
    entered = threading.Semaphore(0)
    woken = threading.Semaphore(0)

    def wait() -> None:
        env.raw_monitor_enter(monitor)
        entered.release()
        env.raw_monitor_wait(monitor, 0)
        env.raw_monitor_exit(monitor)
        woken.release()

    def wake(how: str) -> None:
        env.raw_monitor_enter(monitor)
        getattr(env, how)(monitor)
        env.raw_monitor_exit(monitor)

    with ThreadPoolExecutor(3) as pool:
        waiting = [pool.submit(wait) for _ in range(3)]
        for _ in waiting:
            assert entered.acquire(timeout=10)
        wake("raw_monitor_notify")
        assert woken.acquire(timeout=10)
        assert not woken.acquire(timeout=0.2)
        wake("raw_monitor_notify_all")
        assert woken.acquire(timeout=10)
        assert woken.acquire(timeout=10)
        for one in waiting:
            one.result(10)


def test_a_wait_ends_with_its_time(env: jvmti.Env, monitor: RawMonitor, evidence: Evidence) -> None:
    evidence.proves("raw_monitor_wait")
    env.raw_monitor_enter(monitor)
    start = time.monotonic()
    env.raw_monitor_wait(monitor, 150)
    assert 0.14 <= time.monotonic() - start < 60
    env.raw_monitor_exit(monitor)


def test_who_is_not_inside_may_not_leave_wait_or_notify(
    env: jvmti.Env, monitor: RawMonitor, other: ThreadPoolExecutor, evidence: Evidence
) -> None:
    for name in ("exit", "wait", "notify", "notify_all"):
        evidence.provokes(f"raw_monitor_{name}", "NOT_MONITOR_OWNER")
    evidence.provokes("destroy_raw_monitor", "NOT_MONITOR_OWNER")
    for _ in range(2):  # free first, then another's
        with pytest.raises(jvmti.errors.NotMonitorOwner):
            env.raw_monitor_exit(monitor)
        with pytest.raises(jvmti.errors.NotMonitorOwner):
            env.raw_monitor_wait(monitor, 10)
        with pytest.raises(jvmti.errors.NotMonitorOwner):
            env.raw_monitor_notify(monitor)
        with pytest.raises(jvmti.errors.NotMonitorOwner):
            env.raw_monitor_notify_all(monitor)
        other.submit(env.raw_monitor_enter, monitor).result(10)
    with pytest.raises(jvmti.errors.NotMonitorOwner):
        env.destroy_raw_monitor(monitor)
    other.submit(env.raw_monitor_exit, monitor).result(10)
    other.submit(env.raw_monitor_exit, monitor).result(10)


def test_a_destroyed_monitor_is_none(env: jvmti.Env, evidence: Evidence) -> None:
    evidence.proves("destroy_raw_monitor")
    for name in ("enter", "exit", "notify", "notify_all", "wait"):
        evidence.provokes(f"raw_monitor_{name}", "INVALID_MONITOR")
    evidence.provokes("destroy_raw_monitor", "INVALID_MONITOR")
    monitor = env.create_raw_monitor("gone")
    env.raw_monitor_enter(monitor)
    env.raw_monitor_enter(monitor)
    env.destroy_raw_monitor(monitor)  # its owner need not leave it first
    for name in ("enter", "exit", "notify", "notify_all"):
        with pytest.raises(jvmti.errors.InvalidMonitor):
            getattr(env, f"raw_monitor_{name}")(monitor)
    with pytest.raises(jvmti.errors.InvalidMonitor):
        env.raw_monitor_wait(monitor, 10)
    with pytest.raises(jvmti.errors.InvalidMonitor):
        env.destroy_raw_monitor(monitor)


def test_an_interrupt_ends_a_wait(
    env: jvmti.Env, monitor: RawMonitor, other: ThreadPoolExecutor, evidence: Evidence
) -> None:
    """Through java.lang.Thread, because the agent keeps its threads from InterruptThread."""
    evidence.provokes("raw_monitor_wait", "INTERRUPT")
    jni = jvmti_jni(env)
    thread = other.submit(env.get_current_thread).result(10)
    assert thread is not None

    def wait() -> None:
        env.raw_monitor_enter(monitor)
        try:
            env.raw_monitor_wait(monitor, 30_000)
        finally:
            env.raw_monitor_exit(monitor)

    waiting = other.submit(wait)
    time.sleep(0.2)
    cls = jni.find_class("java/lang/Thread")
    jni.call_void_method(thread, jni.get_method_id(cls, "interrupt", "()V"), [])
    with pytest.raises(jvmti.errors.Interrupt):
        waiting.result(10)


def jvmti_jni(env: jvmti.Env) -> jvmti.JNI:
    return jvmti.JNI(env._session)


def test_what_a_thread_held_is_free_when_the_thread_has_ended(
    env: jvmti.Env, monitor: RawMonitor, evidence: Evidence
) -> None:
    evidence.proves("raw_monitor_enter")

    def enter_twice() -> None:
        env.raw_monitor_enter(monitor)
        env.raw_monitor_enter(monitor)

    ended = threading.Thread(target=enter_twice)
    ended.start()
    ended.join()
    env.with_timeout(10).raw_monitor_enter(monitor)
    env.raw_monitor_exit(monitor)


def test_what_a_session_held_is_free_when_it_has_gone(
    env: jvmti.Env, witness: programs.JavaProgram, evidence: Evidence
) -> None:
    evidence.proves("raw_monitor_enter", "create_raw_monitor")
    with jvmti.attach(witness.pid) as leaving:
        held = leaving.env.create_raw_monitor("held")
        leaving.env.raw_monitor_enter(held)
        with ThreadPoolExecutor(1) as pool:
            stuck = pool.submit(leaving.env.with_timeout(30).raw_monitor_enter, held)
            time.sleep(0.1)
            leaving.detach()
            # It got the monitor as its owner went, or was let go; but it is not stuck any more.
            assert isinstance(stuck.exception(10), jvmti.Error | None)
    assert witness.running()
    assert env.get_all_threads()


def test_what_was_entered_in_onload_is_left_when_onload_is_over(jvm: jvms.Jvm) -> None:
    """HotSpot would hand it to the main thread, which has no Python thread that could leave it."""
    with jvmti.launch([jvm.java, *jvm.args, "-version"], hold=True, stdout=-3, stderr=-3) as vm:
        vm.timeout = 60
        env = vm.env
        monitor = env.create_raw_monitor("onload")
        env.raw_monitor_enter(monitor)
        env.raw_monitor_enter(monitor)
        done: list[str] = []

        def begun(event: Any) -> None:
            with pytest.raises(jvmti.errors.NotMonitorOwner):
                env.raw_monitor_exit(monitor)
            env.raw_monitor_enter(monitor)
            env.raw_monitor_exit(monitor)
            done.append(event.thread.name)

        env.on("VMInit", begun)
        with contextlib.suppress(jvmti.errors.TargetLost):
            vm.proceed()
        assert vm.popen is not None
        assert vm.popen.wait(60) == 0
        assert done == ["main"]
        assert vm.handler_errors == []
