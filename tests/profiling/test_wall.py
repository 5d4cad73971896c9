"""Profiles of wall-clock time, beside what the program knows of itself."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import numpy
import pytest

import jvmti
from jvmti.profile.tables import Kind, State
from profiling.shares import of_thread

if TYPE_CHECKING:
    from collections.abc import Iterator

    from programs import JavaProgram, JavaPrograms

STATES = {
    "sleeper": ("Waiting.sleeping", State.SLEEPING),
    "parker": ("Waiting.parked", State.PARKED),
    "waiter": ("Waiting.waiting", State.WAITING),
    "holder": ("Waiting.holding", State.SLEEPING),
    "blocked": ("Waiting.blocked", State.BLOCKED),
}


@pytest.fixture(scope="module")
def program(shared_java_program: JavaPrograms) -> JavaProgram:
    started = shared_java_program("Waiting", jvm_args=["-Xmx256m"])
    started.expect("ready")
    return started


@pytest.fixture(scope="module")
def vm(program: JavaProgram) -> Iterator[jvmti.VM]:
    with jvmti.attach(program.pid, timeout=30) as attached:
        yield attached
    assert program.running()


def test_each_thread_has_the_time_that_passed_in_its_state(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    with vm.profile("wall", interval=0.005) as profile:
        program.ask("work 1000")
        time.sleep(0.5)
    (limits,) = profile.limits
    passed = limits.duration
    assert profile.kinds == (Kind.WALL,)
    for name, (method, state) in STATES.items():
        thread = of_thread(profile, name)
        assert thread.weight / 1e9 == pytest.approx(passed, rel=0.05), name
        assert thread.share(method) == 1, name
        assert set(thread.samples.state.tolist()) == {state}, name
    main = of_thread(profile, "main")
    assert main.weight / 1e9 == pytest.approx(passed, rel=0.05)
    assert main.with_frame("Waiting.workUntil").weight / 1e9 == pytest.approx(1, rel=0.15)
    # Else it reads its input, which is native code; a busy machine gives it a processor late.
    assert main.by("state")["native"].weight > 0
    assert (limits.engine, limits.lost, limits.failed) == ("deltas", 0, 0)
    # Some ten threads at 5 ms; a busy machine looks later.
    assert limits.effective is not None
    assert 0.002 < limits.effective < 0.05
    assert limits.safepoint_biased


def test_work_and_sleep_in_turn_have_their_shares(vm: jvmti.VM, program: JavaProgram) -> None:
    with vm.profile("wall", interval=0.002) as profile:
        _, work, sleep = program.ask("pulse 70", timeout=60).split()
    thread = of_thread(profile, "pulse")
    # A busy machine wakes the agent's thread late, and rather while the program sleeps.
    assert thread.share("Waiting.pulseWork") == pytest.approx(
        int(work) / (int(work) + int(sleep)), abs=0.1
    )
    assert thread.weight == pytest.approx(int(work) + int(sleep), rel=0.05)


def test_time_is_that_of_its_moment(vm: jvmti.VM, program: JavaProgram) -> None:
    with vm.profile("wall", interval=0.005) as profile:
        time.sleep(0.7)
        program.ask("work 600")
        time.sleep(0.7)
    main = of_thread(profile, "main")
    assert main.between(0, 0.6).share("Waiting.workUntil") == 0
    assert main.between(0.8, 1.2).share("Waiting.workUntil") > 0.95


def test_some_threads_only(vm: jvmti.VM) -> None:
    with vm.profile("wall", interval=0.005, threads=["park*", "w?iter"]) as profile:
        time.sleep(0.3)
    assert {one.name for one in profile.threads} == {"parker", "waiter"}
    with pytest.raises(ValueError, match="wall-clock time only"):
        vm.profile("cpu", threads="park*")


@pytest.mark.since(21)
def test_virtual_threads_are_seen_where_they_wait(java_program: JavaPrograms) -> None:
    program = java_program("Waiting", jvm_args=["-Xmx256m"])
    program.expect("ready")
    with jvmti.attach(program.pid, timeout=30) as vm:
        program.ask("virtual 10000", timeout=60)
        with vm.profile("wall") as profile:
            time.sleep(3)
    virtual = profile.where([profile.threads[n].virtual for n in profile.samples.thread])
    assert {one.name for one in profile.threads if one.virtual} == {f"task-{n}" for n in range(10)}
    # Some 500 picks: their share of 0.25 has a deviation of 0.02.
    assert virtual.share("Waiting.virtualSleep") == pytest.approx(0.25, abs=0.08)
    assert virtual.share("Waiting.virtualAwait") == pytest.approx(0.75, abs=0.08)
    passed = profile.limits[0].duration
    assert virtual.weight / 1e9 / 10000 == pytest.approx(passed, rel=0.2)
    assert profile.limits[0].virtual_threads


def test_several_kinds_at_once(vm: jvmti.VM, program: JavaProgram) -> None:
    with vm.profile("cpu", "wall", "alloc", interval={"cpu": 0.002, "alloc": 4096}) as profile:
        asked = time.monotonic()
        _, used = program.ask("work 600").split()
        most = time.monotonic() - asked
    assert Kind.CPU in profile.kinds
    assert Kind.WALL in profile.kinds
    cpu, wall = (
        of_thread(profile[kind], "main").with_frame("Waiting.workUntil").weight
        for kind in ("cpu", "wall")
    )
    assert cpu == pytest.approx(int(used), rel=0.15)
    # Each end may be an interval off, and more on a busy machine, where the end of the work, too,
    # may come late.
    assert 0.6 * 6e8 < wall < (most + 0.2) * 1e9
    assert [one.interval for one in profile.limits][:2] == [0.002, 0.02]
    with pytest.raises(ValueError, match="takes a dictionary"):
        vm.profile("cpu", "wall", interval=0.01)


def test_names_that_no_thread_has_are_reported(vm: jvmti.VM) -> None:
    profile = vm.profile("wall", threads=["nobody-*", "none"]).stop()
    assert "No thread was found whose name matches nobody-*, none." in profile.limits[0].notes


def test_processor_time_without_signals(vm: jvmti.VM, program: JavaProgram) -> None:
    with vm.profile("cpu", engine="deltas", interval=0.005) as profile:
        _, used = program.ask("work 1000").split()
    main = of_thread(profile, "main")
    assert main.with_frame("Waiting.workUntil").weight == pytest.approx(int(used), rel=0.1)
    assert set(main.samples.state.tolist()) == {State.RUNNING}
    assert of_thread(profile, "parker").weight == 0
    (limits,) = profile.limits
    assert limits.safepoint_biased
    assert limits.inlined_exact
    assert any("only at safepoints" in one for one in limits.complaints())


def test_threads_that_change_their_names_are_reported(vm: jvmti.VM, program: JavaProgram) -> None:
    (thread,) = [one for one in vm.threads if one.name == "parker"]
    with vm.profile("wall", interval=0.01, threads="parker") as profile:
        while not len(profile.update()):
            time.sleep(0.02)
        assert not profile.limits[0].notes
        thread.call("setName", "renamed")
        assert {one.name for one in profile.update().threads} == {"renamed"}
        thread.call("setName", "parker")
    assert {one.name for one in profile.threads} == {"parker"}
    assert profile.limits[0].notes == (
        "1 thread changed its name: all of its samples have the last one.",
    )


def test_threads_that_there_was_no_time_to_look_at_are_reported(java_program: JavaPrograms) -> None:
    program = java_program("Waiting", jvm_args=["-Xmx64m"])
    program.expect("ready")
    program.ask("idle 300", timeout=60)
    with jvmti.attach(program.pid, timeout=30) as vm:
        # A tick takes a thirtieth of the interval at most, here for a thread or two.
        with vm.profile("wall", interval=0.0001) as profile:
            pass
        seen = len(numpy.unique(profile.samples.thread))
        (note,) = [one for one in profile.limits[0].notes if "have no samples" in one]
        assert seen < 270
        unseen, alive = map(int, re.findall(r"\d+", note)[:2])
        # Threads of the VM come and go.
        assert alive == pytest.approx(len(vm.threads), abs=5)
        assert unseen == pytest.approx(alive - seen, abs=5)
        with vm.profile("wall", interval=0.1) as profile:
            for _ in range(300):
                if len(profile.update().threads) > 300:
                    break
                time.sleep(0.1)
    assert not any("have no samples" in one for one in profile.limits[0].notes)
