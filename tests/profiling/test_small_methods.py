"""Frames of methods so small that most of their time is making and leaving their frame."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

import pytest

import jvmti

if TYPE_CHECKING:
    from programs import JavaPrograms

SHAPES = ("Triangle", "Square", "Pentagon", "Hexagon")


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the code of x86_64 is known")
def test_their_time_is_theirs(java_program: JavaPrograms) -> None:
    program = java_program("Shapes", jvm_args=["-Xmx64m"])
    program.expect("ready")
    program.ask("run 1000")
    with jvmti.attach(program.pid, timeout=30) as vm:
        vm.profile("cpu").stop()  # compiles anew what must be
        program.ask("run 500")
        with vm.profile("cpu", interval=0.001) as profile:
            program.ask("run 1000")
    profile = profile.with_frame("Shapes.run")
    own = {use.name: use.own_share for use in profile.top(None)}
    # Each has 0.13 to 0.18, as in async-profiler. The call by the table of interfaces is sum's.
    for shape in SHAPES:
        assert own[f"Shapes${shape}.sides"] > 0.06, own
    assert profile.share("Shapes.sum") > 0.85
