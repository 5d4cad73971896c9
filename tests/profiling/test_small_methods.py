"""Frames of methods so small that most of their time is making and leaving their frame."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

import pytest

import jvmti
from profiling.shares import of_thread

if TYPE_CHECKING:
    from programs import JavaPrograms

SHAPES = ("Triangle", "Square", "Pentagon", "Hexagon")


@pytest.mark.timeout(360)  # three seconds of processor time
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the code of x86_64 is known")
def test_their_time_is_theirs(java_program: JavaPrograms) -> None:
    flags = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints"]
    program = java_program("Shapes", jvm_args=["-Xmx96m", *flags])
    program.expect("ready")
    program.ask("run 500", timeout=120)
    with jvmti.attach(program.pid, timeout=30) as vm:
        vm.profile("cpu").stop()  # compiles anew what must be
        program.ask("run 300", timeout=120)
        with vm.profile("cpu", interval=0.001) as profile:
            program.ask("run 1000", timeout=120)
        program.ask("compare 200", timeout=120)
        with vm.profile("cpu", interval=0.001) as texts:
            program.ask("compare 500", timeout=120)
        program.ask("load 200", timeout=120)
        with vm.profile("cpu", interval=0.001) as loads:
            program.ask("load 500", timeout=120)
    profile = profile.with_frame("Shapes.run")
    own = {use.name: use.own_share for use in profile.top(None)}
    # Each has 0.03 to 0.18, by the processor; 0.01 together where edges of frames are not known.
    # The call by the table of interfaces is sum's.
    shares = [own[f"Shapes${shape}.sides"] for shape in SHAPES]
    assert min(shares) > 0.02, own
    assert sum(shares) > 0.15, own
    assert profile.share("Shapes.sum") > 0.85
    # While it compares, code keeps registers on top of its frame; and what calls the VM to allocate
    # notes no return address.
    work = texts.with_frame("Shapes.compareAll")
    assert work.weight > 0.9 * of_thread(texts, "main").weight, texts.limits
    failed = texts.limits[0].failed
    assert failed is not None
    assert failed < 0.05 * len(texts), texts.limits
    # The processor charges a load that waits to the next instruction, which is the caller's: 0.26
    # where that is taken for what waits.
    loads = loads.with_frame("Shapes.follow")
    own = {use.name: use.own_share for use in loads.top(None)}
    assert own.get("Shapes$Far.loaded", 0) > 0.36, own
