"""The chapter "Timers": clocks, and processor time of threads."""

from __future__ import annotations

import time

import pytest

import jvms
import jvmti
import programs
from conformance.evidence import Evidence
from conformance.finding import kept, thread_named
from jvmti.interface.constants import TimerKind
from jvmti.refs import Thread


def test_the_clock_goes_as_fast_as_ours(env: jvmti.Env, evidence: Evidence) -> None:
    evidence.proves("get_time", "get_timer_info")
    first, ours = env.get_time(), time.monotonic_ns()
    time.sleep(0.05)
    passed, ours_passed = env.get_time() - first, time.monotonic_ns() - ours
    assert abs(passed - ours_passed) < 20_000_000
    info = env.get_timer_info()
    assert info.kind is TimerKind.ELAPSED
    assert not info.may_skip_backward


def test_a_threads_processor_time_is_that_of_its_bean(
    env: jvmti.Env, witness: programs.JavaProgram, evidence: Evidence
) -> None:
    evidence.proves("get_thread_cpu_time", "get_thread_cpu_timer_info")
    busy = thread_named(env, "busy")
    before = int(witness.ask("cpu busy"))
    measured = env.get_thread_cpu_time(busy)
    after = int(witness.ask("cpu busy"))
    assert before <= measured <= after
    assert env.get_thread_cpu_timer_info().kind is TimerKind.TOTAL_CPU


def test_the_current_thread_uses_processor_time_as_it_is_called(
    env: jvmti.Env, evidence: Evidence
) -> None:
    """The current thread is our service thread: its calls are what it spends its time on."""
    evidence.proves("get_current_thread_cpu_time", "get_current_thread_cpu_timer_info")
    ours = env.get_current_thread()
    before = env.get_current_thread_cpu_time()
    for _ in range(200):
        env.get_loaded_classes()
    between = env.get_thread_cpu_time(ours)
    after = env.get_current_thread_cpu_time()
    assert before < between < after
    assert after - before > 1_000_000
    info = env.get_current_thread_cpu_timer_info()
    assert info.kind is TimerKind.TOTAL_CPU
    assert info.max_value == -1  # all 64 bits


def test_a_virtual_thread_has_no_processor_time_of_its_own(
    vm: jvmti.VM, env: jvmti.Env, jvm: jvms.Jvm, evidence: Evidence
) -> None:
    if jvm.feature < 21:
        return
    evidence.provokes("get_thread_cpu_time", "UNSUPPORTED_OPERATION")
    virtual = virtual_thread(vm)
    with pytest.raises(jvmti.errors.UnsupportedOperation):
        env.get_thread_cpu_time(virtual)


def virtual_thread(vm: jvmti.VM) -> Thread:
    """The Witness's virtual thread."""
    found = kept(vm, "virtual", of="threads")
    assert isinstance(found, Thread)
    return found


def test_processors_are_those_that_java_sees(
    env: jvmti.Env, witness: programs.JavaProgram, evidence: Evidence
) -> None:
    evidence.proves("get_available_processors")
    assert env.get_available_processors() == int(witness.ask("processors"))
