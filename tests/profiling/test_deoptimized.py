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
    "-Xbatch",  # the callers are compiled when the program is ready
    "-XX:CompileCommand=quiet",
    *(
        f"-XX:CompileCommand=dontinline,Deoptimized.{method}"
        for method in ("work", "caller*", "deep", "initialized")
    ),
    "-XX:CompileCommand=exclude,Deoptimized.interpreted",
]


@pytest.mark.since(21)
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the registers of x86_64 are known")
def test_they_have_their_callers_or_are_counted(java_program: JavaPrograms) -> None:
    program = java_program("Deoptimized", jvm_args=FLAGS)
    program.expect("ready", timeout=60)
    with jvmti.attach(program.pid, timeout=30) as vm:

        def taken(command: str) -> jvmti.profile.Profile:
            with vm.profile("cpu", interval=0.001) as profile:
                program.ask(command)
            profile = profile.with_frame("Deoptimized.work")
            assert len(profile) > 50, profile.limits
            return profile

        for command, caller in (
            ("run 500", "caller"),
            ("deep 300", "callerOfDeep"),
            ("interpreted 300", "callerOfInterpreted"),
        ):
            profile = taken(command)
            assert profile.share(f"Deoptimized.{caller}") > 0.9, profile.top(9)
            assert profile.share("Deoptimized.main") > 0.9, profile.top(9)
            assert (profile.limits[0].cut or 0) < 0.1 * len(profile), profile.limits
        # Below the initializer is code of the VM, which the walk cannot pass by itself.
        profile = taken("initializer 300")
        without = 1 - profile.share("Deoptimized.main")
        assert without > 0.9, profile.top(9)
        (limits,) = profile.limits
        assert limits.cut == pytest.approx(without * len(profile), rel=0.2), limits
        assert any("without their outermost callers" in text for text in limits.complaints())
