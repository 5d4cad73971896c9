"""Profiles by Flight Recorder in the target."""

from __future__ import annotations

import glob
import os
import tempfile
import time
from typing import TYPE_CHECKING

import pytest

import jvmti
from jvmti.interface.errors import NotAvailable
from jvmti.profile.tables import Kind
from profiling.shares import of_thread

if TYPE_CHECKING:
    from collections.abc import Iterator

    from programs import JavaProgram, JavaPrograms


@pytest.fixture(scope="module")
def program(shared_java_program: JavaPrograms) -> JavaProgram:
    started = shared_java_program("Waiting", jvm_args=["-Xmx256m"])
    started.expect("ready")
    return started


@pytest.fixture(scope="module")
def vm(program: JavaProgram) -> Iterator[jvmti.VM]:
    with jvmti.attach(program.pid, timeout=30) as attached:
        if "JFR.start" not in attached.diagnostic_commands:
            pytest.skip("this JVM has no Flight Recorder")
        yield attached
    assert program.running()


def folders() -> set[str]:
    return set(glob.glob(os.path.join(tempfile.gettempdir(), "jvmti-jfr-*")))


def test_its_samples_are_a_profile(vm: jvmti.VM, program: JavaProgram) -> None:
    before = folders()
    with vm.profile("cpu", source="jfr") as profile:
        assert profile.running
        program.ask("work 1000")
        assert len(profile.update())
        assert profile.kinds == (Kind.CPU,)
        early = len(profile)
        program.ask("work 1000")
    assert not profile.running
    assert len(profile) > early
    # Flight Recorder takes few samples on a busy machine, some of them of the start.
    assert of_thread(profile, "main").share("Waiting.workUntil") > 0.7
    assert all(one.engine.startswith("JFR") for one in profile.limits)
    assert profile.between(0, 0.5).weight < profile.weight
    assert len(profile.stop()) == len(profile)
    assert "No available recordings" in vm.diagnostic_command("JFR.check")
    assert folders() == before


@pytest.mark.since(17)
def test_an_interval_is_passed_on(vm: jvmti.VM, program: JavaProgram) -> None:
    with vm.profile("cpu", "lock", source="jfr", interval={"cpu": 0.05}) as profile:
        began = time.monotonic()
        program.ask("work 1500")
        passed = time.monotonic() - began
    main = of_thread(profile["cpu"], "main")
    # Fewer on a busy machine; more than twice as many with Flight Recorder's own interval.
    assert 0 < len(main) <= 1.3 * passed / 0.05
    assert main.limits[0].interval == pytest.approx(0.05)


def test_a_slower_recording_beside_it_changes_nothing(vm: jvmti.VM, program: JavaProgram) -> None:
    vm.diagnostic_command("JFR.start name=slower settings=default")
    with vm.profile("cpu", source="jfr") as profile:
        while not len(profile):  # it takes few on a busy machine
            program.ask("work 500")
            profile.update()
    vm.diagnostic_command("JFR.stop name=slower")
    assert profile.limits[0].interval == pytest.approx(0.01)  # the other one has 0.02


@pytest.mark.since(17)
def test_kinds_without_samples_are_said(vm: jvmti.VM, program: JavaProgram) -> None:
    with vm.profile("wall", "lock", source="jfr", interval={"lock": 10}) as profile:
        pass
    assert {one.kind for one in profile.limits} == {Kind.WALL, Kind.LOCK}
    assert not len(profile["lock"])
    assert profile["lock"].limits[0].notes == (
        "Flight Recorder recorded none of its events JavaMonitorEnter and ThreadPark.",
    )


def test_a_runtime_without_the_module_is_refused(java_program: JavaPrograms) -> None:
    if java_program.jvm.feature >= 21:
        pytest.skip("from 21 on JFR.start brings the module")
    modules = "--limit-modules=java.base,java.management,jdk.management"
    program = java_program("Waiting", jvm_args=["-Xmx64m", modules])
    program.expect("ready")
    before = folders()
    with jvmti.attach(program.pid, timeout=30) as vm:
        with pytest.raises(NotAvailable, match="jdk.jfr"):
            vm.profile("cpu", source="jfr")
    assert folders() == before


def test_what_it_cannot_do_is_said(vm: jvmti.VM) -> None:
    before = folders()
    with pytest.raises(ValueError, match="no samples of kind live"):
        vm.profile("live", source="jfr")
    with pytest.raises(ValueError, match="allocations a second"):
        vm.profile("alloc", source="jfr", interval=1000)
    with pytest.raises(ValueError, match="takes none of engine="):
        vm.profile("cpu", source="jfr", engine="perf")
    with pytest.raises(ValueError, match="none of agent, jfr"):
        vm.profile("cpu", source="perf")  # type: ignore[arg-type]
    assert folders() == before


def test_a_program_that_ends_leaves_its_samples(java_program: JavaPrograms) -> None:
    program = java_program("Waiting", jvm_args=["-Xmx64m"])
    program.expect("ready")
    before = folders()
    with jvmti.attach(program.pid, timeout=30) as vm:
        if "JFR.start" not in vm.diagnostic_commands:
            pytest.skip("this JVM has no Flight Recorder")
        profile = vm.profile("cpu", source="jfr")
        program.ask("work 700")
        program.stop()
        profile.stop()
    assert profile.with_frame("Waiting.workUntil").weight > 0
    assert folders() <= before
    killed = java_program("Waiting", jvm_args=["-Xmx64m"])
    killed.expect("ready")
    with jvmti.attach(killed.pid, timeout=30) as vm:
        profile = vm.profile("cpu", source="jfr")
        killed.kill()
        profile.stop()
    assert profile.kinds == (Kind.CPU,)
    assert any("ended without writing" in note for note in profile.limits[0].notes)
