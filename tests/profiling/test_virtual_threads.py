"""Profiles of virtual threads: their samples are their own, and not their carriers'."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

import jvmti
from jvmti.interface.errors import NotAvailable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jvmti.profile.profile import Profile
    from programs import JavaProgram, JavaPrograms

pytestmark = pytest.mark.on("21", "25")

FLAGS = ["-Xmx128m", "-Djdk.virtualThreadScheduler.parallelism=1"]
NAMED = {"one": 0.1, "two": 0.2, "seven 七": 0.7}


@pytest.fixture(scope="module")
def program(shared_java_program: JavaPrograms) -> JavaProgram:
    started = shared_java_program("Carried", jvm_args=FLAGS)
    started.expect("ready")
    return started


@pytest.fixture(scope="module")
def vm(program: JavaProgram) -> Iterator[jvmti.VM]:
    with jvmti.attach(program.pid, timeout=30) as attached:
        yield attached
    assert program.running()


def has_shares(profile: Profile, known: dict[str, float], off: float) -> None:
    """Whether each thread has its part of the weight."""
    parts = profile.by("thread").weights
    assert set(parts) == set(known), parts
    for name, share in known.items():
        assert parts[name] / profile.weight == pytest.approx(share, abs=off), parts


@pytest.mark.parametrize("engine", ["perf", "timer"])
def test_processor_time_is_that_of_the_virtual_thread(
    vm: jvmti.VM, program: JavaProgram, engine: str
) -> None:
    try:
        profile = vm.profile("cpu", engine=engine, interval=0.001)
    except NotAvailable as refused:
        if "kernel" not in str(refused):
            raise
        pytest.skip(str(refused))
    with profile:
        program.ask("named 60", timeout=60)
    # Some 150 samples at the least, by timers.
    has_shares(profile.with_frame("Carried.unit"), NAMED, 0.12)
    assert profile.limits[0].virtual_threads
    virtual = [one for one in profile.threads if one.virtual]
    assert sorted(one.name for one in virtual) == sorted(NAMED)
    assert {one.group for one in virtual} == {"VirtualThreads"}
    assert len({one.id for one in virtual}) == 3
    # A carrier has the time of its own, and the stacks of the others end where its begin.
    carrier = profile.by("group").get("CarrierThreads")
    assert carrier is None or carrier.weight < 0.2 * profile.weight
    of_virtual = profile.where([profile.threads[n].virtual for n in profile.samples.thread])
    assert of_virtual.share("java.util.concurrent.ForkJoinPool.runWorker") == 0
    assert of_virtual.share("Carried.units") > 0.95


@pytest.mark.parametrize(
    "collector",
    ["Serial", "Parallel", "Z", "Shenandoah"],  # the program of the others has G1
)
def test_collectors_that_move_threads(java_program: JavaPrograms, collector: str) -> None:
    program = java_program("Carried", jvm_args=[*FLAGS, f"-XX:+Use{collector}GC"])
    program.expect("ready")
    with jvmti.attach(program.pid, timeout=30) as vm:
        with vm.profile("cpu", interval=0.002) as profile:
            program.send("named 30")
            for _ in range(3):
                vm.env.force_garbage_collection()
            program.expect("did 0", timeout=60)
        assert profile.limits[0].virtual_threads
    has_shares(profile.with_frame("Carried.unit"), NAMED, 0.15)


def test_many_without_names_are_told_apart(vm: jvmti.VM, program: JavaProgram) -> None:
    with vm.profile("cpu", interval=0.001) as profile:
        program.ask("many 50 6", timeout=60)
    work = profile.with_frame("Carried.unit")
    threads = [profile.threads[n] for n in set(work.samples.thread.tolist())]
    assert len({one.id for one in threads}) == len(threads) > 25
    # One that has ended before it was named has its number.
    assert all(
        one.name in ("(unnamed virtual thread)", f"#{one.id}") and one.virtual for one in threads
    ), threads


@pytest.mark.parametrize("kind", ["alloc", "live"])
def test_allocated_memory_is_that_of_the_virtual_thread(
    vm: jvmti.VM, program: JavaProgram, kind: str
) -> None:
    with vm.profile(kind, interval=16384) as profile:
        program.ask("allocating 30000", timeout=60)
    made = profile.with_frame("Carried.allocate")
    if kind == "alloc":
        has_shares(made, {"little": 0.25, "much": 0.75}, 0.08)
        assert made.weight == pytest.approx(4 * 30000 * 1016, rel=0.15)
    else:
        assert set(made.by("thread")) <= {"little", "much"}
        assert len(made) > 0
    assert all(one.virtual for one in (profile.threads[n] for n in made.samples.thread))


def test_threads_that_change_their_carriers_all_the_time(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    with vm.profile("cpu", interval=0.0005) as profile:
        program.ask("storm 40 1", timeout=60)
        program.ask("births 1", timeout=60)
    names = {one.name for one in profile.threads if one.virtual}
    assert any(re.fullmatch(r"storm \d+", name) for name in names)
    # No platform thread is taken for one that it carries.
    platform = {one.id for one in profile.threads if not one.virtual}
    assert not platform & {one.id for one in profile.threads if one.virtual}
    assert {one.name for one in profile.threads if not one.virtual} >= {"main"}
