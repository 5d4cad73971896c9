"""Profiles of a JVM to which the kernel denies what samples are taken with."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import jvmti
from jvmti.interface.errors import NotAvailable
from jvmti.profile.tables import Kind
from places import CONTAINER, jvm_below
from profiling.shares import of_thread

if TYPE_CHECKING:
    from programs import JavaPrograms

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="numbers of system calls")

NO_PERF = "the kernel does not allow perf_event_open here"
NO_TIMER = "the kernel does not allow timers on the processor time of threads here"


@pytest.mark.parametrize(
    ("denied", "engine", "reason"),
    [
        ("perf_event_open", "timer", NO_PERF),
        ("perf_event_open,timer_create", "deltas", f"{NO_PERF}; {NO_TIMER}"),
    ],
)
def test_the_next_engine_takes_over_and_says_why(
    java_program: JavaPrograms, denied: str, engine: str, reason: str
) -> None:
    script = str(Path(__file__).parent / "denied_calls.py")
    program = java_program(
        "Waiting", jvm_args=["-Xmx64m"], wrapper=[os.path.realpath(sys.executable), script, denied]
    )
    program.expect("ready")
    with jvmti.attach(program.pid, timeout=30) as vm:
        with vm.profile("cpu", interval=0.005) as profile:
            _, used = program.ask("work 1500").split()
        (limits,) = profile.limits
        assert (limits.engine, limits.reason) == (engine, reason)
        assert any(reason in one for one in limits.complaints())
        work = of_thread(profile, "main").with_frame("Waiting.workUntil")
        assert work.weight == pytest.approx(int(used), rel=0.15)
        with pytest.raises(NotAvailable, match="does not allow perf_event_open"):
            vm.profile("cpu", engine="perf")


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can")
def test_each_kind_works_in_a_container_without_perf(java_program: JavaPrograms) -> None:
    script = str(Path(__file__).parent / "denied_calls.py")
    container = [os.path.realpath(sys.executable), script, "perf_event_open", *CONTAINER]
    program = java_program("Serving", jvm_args=["-Xmx64m"], wrapper=container)
    program.expect("ready")
    with jvmti.attach(jvm_below(program.pid).pid, timeout=30) as vm:
        intervals = {"cpu": 0.005, "wall": 0.005, "alloc": 16384, "live": 16384}
        with vm.profile("cpu", "wall", "alloc", "live", "lock", interval=intervals) as profile:
            # What it has kept is forgotten at the next.
            for work in ("serve 60", "enter 5", "lock 5", "allocate 20"):
                program.ask(work, timeout=60)
    assert "timer" in {one.engine for one in profile.limits if one.kind is Kind.CPU}
    # Its /proc is not its own, and has other numbers for its threads.
    assert not any(
        "threads have no samples" in note for one in profile.limits for note in one.notes
    )
    methods = {"cpu": "burn", "wall": "handle", "alloc": "allocate", "live": "use", "lock": "use"}
    for kind, method in methods.items():
        assert profile[kind].with_frame(f"Serving.{method}").weight > 0, (kind, profile.limits)
