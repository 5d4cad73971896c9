"""Stacks of methods whose callers were deoptimized while they ran."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

import pytest

import jvmti

if TYPE_CHECKING:
    from programs import JavaPrograms

FLAGS = [
    "-Xmx64m",
    "-Xbatch",  # the caller is compiled when the program is ready
    "-XX:CompileCommand=quiet",
    "-XX:CompileCommand=dontinline,Deoptimized.work",
    "-XX:CompileCommand=dontinline,Deoptimized.caller",
]


@pytest.mark.since(21)
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the registers of x86_64 are known")
def test_they_have_their_callers(java_program: JavaPrograms) -> None:
    program = java_program("Deoptimized", jvm_args=FLAGS)
    program.expect("ready", timeout=60)
    with (
        jvmti.attach(program.pid, timeout=30) as vm,
        vm.profile("cpu", interval=0.001) as profile,
    ):
        program.ask("run 500")
    assert profile.share("Deoptimized.work") > 0.6, profile.limits
    assert profile.share("Deoptimized.caller") > 0.6, profile.top(9)
    assert profile.share("Deoptimized.main") > 0.6, profile.top(9)
