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
