"""Profiles of allocated memory and of locks, beside what the program knows of itself."""

from __future__ import annotations

import ctypes
import os
import pickle
import re
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import jvmti
from jvmti.interface.errors import NotAvailable
from jvmti.profile.tables import Kind
from jvmti.profiling import live_profile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from programs import JavaProgram, JavaPrograms


@pytest.fixture(scope="module")
def sites(shared_java_program: JavaPrograms) -> JavaProgram:
    program = shared_java_program("Sites", jvm_args=["-Xmx128m"])
    program.expect("ready")
    return program


@pytest.fixture(scope="module")
def vm(sites: JavaProgram) -> Iterator[jvmti.VM]:
    with jvmti.attach(sites.pid, timeout=30) as attached:
        yield attached
    assert sites.running()


def test_allocated_bytes_belong_to_their_places(vm: jvmti.VM, sites: JavaProgram) -> None:
    with vm.profile("alloc", interval=32 * 1024) as profile:
        _, small, large = sites.ask("allocate 400000").split()
    # A copy for another process does without the VM.
    assert pickle.loads(pickle.dumps(profile)) == profile
    profile = profile.with_frame("Sites.allocate")
    # Some 12,000 samples of the small ones, whose number varies by one in a hundred. Up to Java 17
    # they begin each second buffer, and then the VM samples them for what the last one wasted: six
    # in a hundred too much.
    assert profile.with_frame("Sites.small").weight == pytest.approx(int(small), rel=0.035)
    assert profile.with_frame("Sites.large").weight == pytest.approx(int(large), rel=0.03)
    types = {use.name: use.own for use in profile.top(None, by="type")}
    assert types["byte[]"] == pytest.approx(int(small), rel=0.035)
    assert types["long[]"] == pytest.approx(int(large), rel=0.03)
    assert profile.by("thread")["allocating"].weight == profile.weight
    (limits,) = profile.limits
    assert (limits.engine, limits.lost) == ("events", 0)


def test_processor_time_has_its_stack_where_allocations_are_sampled(
    vm: jvmti.VM, sites: JavaProgram
) -> None:
    sites.ask("allocate 20000")
    # Most of it is the profile's own then, in callbacks below a stub that no handler walks past.
    intervals = {"cpu": 0.001, "alloc": 4096}
    with vm.profile("cpu", "alloc", interval=intervals) as profile:
        sites.ask("allocate 100000")
    (limits,) = [one for one in profile.limits if one.kind is Kind.CPU]
    if limits.engine == "deltas":
        pytest.skip(limits.reason)
    work = profile["cpu"].by("thread")["allocating"]
    assert len(work) > 100
    # 0.9 of it; 0.3 where such walks fail.
    assert work.share("Sites.allocate") > 0.7, (limits, work.top(5))


def test_what_stays_alive_has_the_place_of_its_birth(vm: jvmti.VM, sites: JavaProgram) -> None:
    profile = vm.profile("live", interval=16 * 1024)
    _, kept = sites.ask("keep 120000").split()
    sites.ask("allocate 20000")
    vm.env.force_garbage_collection()
    assert len(profile.update()) == 0
    profile.stop()
    assert profile.kind is Kind.LIVE
    assert profile.with_frame("Sites.keep").weight == pytest.approx(int(kept), rel=0.08)
    # The program holds one of each until it allocates the next.
    assert profile.with_frame("Sites.allocate").weight < 0.01 * int(kept)
    assert profile.with_frame("Sites.keep").top(1, by="type")[0].name == "byte[]"
    assert profile.by("thread")["main"].weight > 0
    (limits,) = profile.limits
    assert (limits.engine, limits.lost, limits.notes) == ("births", 0, ())
    with vm.profile("live", interval=1024) as profile:
        sites.ask("keep 100")
    (note,) = profile.limits[0].notes
    assert "no collection" in note
    with vm.profile("live", interval=16 * 1024) as profile:
        sites.ask("drop 0")
        vm.env.force_garbage_collection()
    assert profile.with_frame("Sites.keep").weight == 0


def test_what_a_collection_has_just_freed_is_not_alive(vm: jvmti.VM, sites: JavaProgram) -> None:
    # The VM reports it some time after the collection.
    with vm.profile("live", interval=16 * 1024) as profile:
        _, kept = sites.ask("keep 120000").split()
        sites.ask("drop 0")
        vm.env.force_garbage_collection()
    assert int(kept) > 1_000_000
    # The empty list keeps its array, and a dead variable perhaps the last object.
    alive = {use.name: use.own for use in profile.with_frame("Sites.keep").top(None, by="type")}
    assert alive.get("byte[]", 0) < 0.005 * int(kept), alive


def test_waits_for_a_monitor_belong_to_their_place(vm: jvmti.VM, sites: JavaProgram) -> None:
    with vm.profile("lock") as profile:
        (_, waited) = sites.ask("contend 15").split()
    profile = profile.with_frame("Sites.enter")
    # The program takes the time around each wait, and may have to wait for a processor there.
    assert 0.85 * int(waited) < profile.weight < 1.01 * int(waited)
    assert set(profile.by("thread")) == {"waiter 0", "waiter 1"}
    # Whole stacks, also the first ones, whose methods the VM has given no ids yet.
    assert profile.share("java.lang.Thread.run") == 1
    assert profile.top(1, by="type")[0].name == "java.lang.Object"
    # The main thread holds it; of the two that wait, one has it for a moment before the other.
    owners = profile.by("owner").weights
    assert owners["main"] > 0.5 * profile.weight, owners
    assert set(owners) <= {"", "main", "waiter 0", "waiter 1"}


def test_owners_are_found_without_stopping_the_program(
    vm: jvmti.VM, sites: JavaProgram, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    vm.diagnostic_command(f"VM.log output={log} what=safepoint*=debug,vmoperation*=debug")
    try:
        with vm.profile("lock", interval=0.000001) as profile:
            sites.ask("contend 8")
            sites.ask("quarrel 500000", timeout=60)
        vm.env.force_garbage_collection()
    finally:
        vm.diagnostic_command("VM.log disable")
    quarrel = profile.with_frame("Sites.enterOften")
    assert len(quarrel) > 20
    quarrellers = quarrel.by("owner").weights
    assert set(quarrellers) <= {"", "quarreller 0", "quarreller 1", "quarreller 2"}
    assert quarrellers.get("", 0) < 0.1 * quarrel.weight, quarrellers
    owners = profile.with_frame("Sites.enter").by("owner").weights
    assert owners["main"] > 0.3 * sum(owners.values()), owners
    stops = log.read_text()
    assert re.search("GC|Collect", stops), stops
    assert "MonitorUsage" not in stops


@pytest.mark.since(21)
def test_a_virtual_thread_that_owns_a_lock_is_the_owner(
    java_program: JavaPrograms,
) -> None:
    # Two carriers wait with their threads on Java 21.
    flags = ["-Xmx64m", "-Djdk.virtualThreadScheduler.parallelism=4"]
    program = java_program("LightOwner", jvm_args=flags)
    program.expect("ready")
    with jvmti.attach(program.pid, timeout=30) as vm:
        with vm.profile("lock") as profile:
            program.ask("contend 10", timeout=60)
        with vm.profile("lock", interval=0.000001) as trade:
            program.ask("trade 20000", timeout=60)
        with vm.profile("lock") as kept:
            program.ask("keep 40", timeout=60)
    profile = profile.with_frame("LightOwner.enter")
    owners = profile.by("owner").weights
    # From 24 on the VM has a number only; the first owner may have ended when its name is asked.
    numbers = {name for name in owners if re.fullmatch(r"#\d+", name)}
    assert set(owners) <= {"", "light owner", "light waiter", "heavy waiter", *numbers}, owners
    assert owners["light owner"] > 0.5 * profile.weight, owners
    # Of these it is read, as there are too many to ask the VM.
    traders = trade.with_frame("LightOwner.take").by("owner").weights
    assert set(traders) <= {"", "trader 0", "trader 1"}
    assert traders.get("", 0) < 0.1 * sum(traders.values()), traders
    # Of a lock the owner is named although it has not waited itself.
    assert kept.with_frame("LightOwner.want").by("owner").shares["keeper"] > 0.8
    waiters = profile.by("thread").weights
    assert set(waiters) == {"light waiter", "heavy waiter"}
    assert min(waiters.values()) > 0.3 * profile.weight


def test_parking_for_a_lock_belongs_to_its_place(vm: jvmti.VM, sites: JavaProgram) -> None:
    with vm.profile("lock") as profile:
        (_, waited) = sites.ask("park 15").split()
        sites.ask("contend 3")
    parked = profile.with_frame("Sites.lock")
    assert parked.weight == pytest.approx(int(waited), rel=0.05)
    assert parked.by("state").weights["parked"] > 0.99 * parked.weight
    # The first time a thread may wait for the other to initialize a class of the lock's.
    parked = parked.by("state")["parked"]
    # A thread that has ended before its record is read has a number only.
    assert all(re.fullmatch(r"parker [01]|#\d+", name) for name in parked.by("thread"))
    assert parked.top(1, by="type")[0].name == "java.util.concurrent.locks.ReentrantLock$FairSync"
    # Whole stacks, without what reports the wait.
    assert parked.share("java.lang.Thread.run") == 1
    assert not any("JvmtiProbes" in name for name in parked.frames.names())
    # The main thread has it; of the two that wait, one has it before the other.
    owners = parked.by("owner").weights
    assert owners["main"] > 0.9 * parked.weight, owners
    # One that waits for a condition waits for no lock.
    assert profile.with_frame("Sites.await").weight == 0
    # Nor does one that parks for something else, and such ones leave no fewer samples of locks.
    assert profile.with_frame("Sites.idle").weight == 0
    assert [(one.engine, one.lost) for one in profile.limits] == [("events", 0)]
    assert profile.with_frame("Sites.enter").weight > 0


def test_a_burst_of_samples_loses_none(vm: jvmti.VM, sites: JavaProgram) -> None:
    with vm.profile("alloc", interval=64) as profile:
        _, small, large = sites.ask("allocate 70000", timeout=60).split()
    profile = profile.with_frame("Sites.allocate")
    assert len(profile) > 100_000
    assert profile.limits[0].lost == 0
    assert profile.weight == pytest.approx(int(small) + int(large), rel=0.03)


SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17


@contextmanager
def stopped(program: JavaProgram, name: str) -> Iterator[None]:
    """One thread of a program stands still, as a debugger of native code would stop it."""
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    ptrace.restype = ctypes.c_long
    (thread,) = [
        int(one.parent.name)
        for one in Path(f"/proc/{program.pid}/task").glob("*/comm")
        if one.read_text().strip() == name
    ]
    if ptrace(SEIZE, thread, None, None) != 0:
        pytest.skip(f"a thread cannot be stopped here: {os.strerror(ctypes.get_errno())}")
    ptrace(INTERRUPT, thread, None, None)
    os.waitpid(thread, 0x40000000)  # __WALL
    try:
        yield
    finally:
        ptrace(DETACH, thread, None, None)


@pytest.mark.oldest_and_newest
def test_dropped_samples_give_their_weight_to_others(
    vm: jvmti.VM, sites: JavaProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Neither the agent's thread nor this process makes room before the end.
    monkeypatch.setattr(live_profile, "READ_EVERY", 600.0)
    with vm.profile("alloc", interval=64) as profile, stopped(sites, "jvmti profiler"):
        _, small, large = sites.ask("allocate 150000", timeout=60).split()
    profile = profile.with_frame("Sites.allocate")
    (limits,) = profile.limits
    assert limits.lost is not None
    assert limits.lost > 10_000
    assert len(profile) < 225_000 - 10_000
    assert any("weight of dropped samples" in note for note in limits.notes)
    # As if none had been dropped.
    assert profile.weight == pytest.approx(int(small) + int(large), rel=0.03)
    assert profile.with_frame("Sites.small").weight == pytest.approx(int(small), rel=0.05)


def test_short_waits_are_left_out(vm: jvmti.VM, sites: JavaProgram) -> None:
    with vm.profile("lock", interval=1.0) as profile:
        sites.ask("contend 2")
    assert len(profile.with_frame("Sites.enter")) == 0


def test_allocated_and_living_memory_are_sampled_at_once(vm: jvmti.VM, sites: JavaProgram) -> None:
    sites.ask("drop 0")
    with vm.profile("alloc", "live", interval={"alloc": 16384, "live": 16384}) as profile:
        _, kept = sites.ask("keep 60000").split()
        vm.env.force_garbage_collection()
    arrays = profile.with_frame("Sites.keep")
    assert arrays["alloc"].weight == pytest.approx(60_000_000, rel=0.1)
    assert arrays["live"].weight == pytest.approx(int(kept), rel=0.1)


def test_profiles_of_allocations_share_the_samples_of_the_vm(
    vm: jvmti.VM, sites: JavaProgram
) -> None:
    with vm.profile("alloc") as profile, jvmti.attach(sites.pid, timeout=30) as other:
        with pytest.raises(NotAvailable, match="with another interval"):
            other.profile("live", interval=4096)
        with other.profile("alloc") as second:
            sites.ask("allocate 4000")
        assert second.weight > 0
        # The first one goes on.
        before = profile.update().weight
        sites.ask("allocate 4000")
        assert profile.update().weight > before >= second.weight
    # Nobody has them any more, so another interval is as good.
    with vm.profile("alloc", interval=4096) as profile:
        sites.ask("allocate 4000")
    assert profile.weight > 0


def test_events_that_another_environment_has_are_refused(vm: jvmti.VM) -> None:
    env = vm.new_env()
    env.add_capabilities({"can_generate_sampled_object_alloc_events"})
    try:
        with pytest.raises(NotAvailable, match="another environment has the events"):
            vm.profile("alloc")
    finally:
        env.dispose_environment()
    vm.profile("alloc").stop()


@pytest.mark.parametrize(
    ("kind", "options", "error", "why"),
    [
        ("heat", {}, ValueError, "is none of cpu, wall, alloc, live, lock"),
        ("alloc", {"engine": "perf"}, ValueError, "is for processor and wall-clock time"),
        ("lock", {"interval": 0}, ValueError, "is not positive"),
    ],
)
def test_what_cannot_be_sampled_is_refused(
    vm: jvmti.VM, kind: str, options: dict[str, object], error: type[Exception], why: str
) -> None:
    with pytest.raises(error, match=why):
        vm.profile(kind, **options)
