"""async-profiler in the same JVM: each of the two is right, or says that it cannot be."""

from __future__ import annotations

import platform
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

import async_profiler
import jvmti
from async_profiler import AsyncProfiler
from jvmti.interface.errors import NotAvailable
from profiling.shares import error, known_shares, noise, of_thread

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from jvmti.profile.profile import Profile
    from programs import JavaProgram, JavaPrograms

pytestmark = [
    pytest.mark.oldest_and_newest,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="the library's processor"),
]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the library of async-profiler is."""
    if shutil.which("mvn") is None:
        pytest.skip("there is no mvn to fetch async-profiler with")
    made = tmp_path_factory.mktemp("async-profiler")
    try:
        async_profiler.library(made)
    except subprocess.CalledProcessError:
        pytest.skip("async-profiler cannot be fetched here")
    return made


@pytest.fixture
def program(java_program: JavaPrograms) -> JavaProgram:
    started = java_program("Profiled", jvm_args=["-Xmx128m"])
    started.expect("ready")
    started.ask("mixed 1", timeout=60)
    return started


@pytest.fixture
def vm(program: JavaProgram) -> Iterator[jvmti.VM]:
    with jvmti.attach(program.pid, timeout=30) as attached:
        attached.profile("cpu").stop()  # compiles anew what must be
        yield attached
    # Faults of the program's own still reach the VM.
    assert answer(program, "nulls 100000", "100000 ") == "100000 nulls"


def answer(program: JavaProgram, ask: str, begins: str) -> str:
    """Its answer; async-profiler may print lines of its own before."""
    program.send(ask)
    while not (line := program.read_line(timeout=60)).startswith(begins):
        pass
    return line


def is_right(profile: Profile, known: dict[str, int], samples: int) -> None:
    # Each shares the processor with the other, whose handlers are in no method.
    assert error(profile, known) < 3 * noise(known, samples) + 4


@pytest.mark.parametrize("first", ["ours", "theirs"])
def test_both_profiles_of_processor_time_are_right(
    vm: jvmti.VM, program: JavaProgram, folder: Path, first: str
) -> None:
    other = AsyncProfiler(vm, folder)
    options = "event=cpu,interval=1ms"
    if first == "theirs":
        other.start(options)
    profile = vm.profile("cpu", interval=0.001)
    if first == "ours":
        other.start(options)
    known = known_shares(program, 1.5)
    profile.stop()
    theirs = other.stop().with_frame("Profiled.mixed")
    main = of_thread(profile, "main")
    assert len(main) > 100
    # A signal of ours may come in the handler of the other one, whose stack cannot be walked.
    walked = main.with_frame("Profiled.mixed")
    assert walked.weight > 0.7 * main.weight
    is_right(walked, known, len(walked))
    is_right(theirs, known, theirs.weight // 1_000_000)
    used = sum(known.values())
    assert main.weight == pytest.approx(used, rel=0.15)
    assert profile.limits[0].engine in ("perf", "timer")
    # And alone again, after it.
    with vm.profile("cpu", interval=0.001) as profile:
        known = known_shares(program, 1.5)
    main = of_thread(profile, "main")
    is_right(main, known, len(main))


@pytest.mark.since(17)  # before, async-profiler takes samples in a way of its own
def test_allocations_are_of_one_of_them(vm: jvmti.VM, program: JavaProgram, folder: Path) -> None:
    other = AsyncProfiler(vm, folder)
    other.start("event=alloc")
    with pytest.raises(NotAvailable, match="another environment has the events"):
        vm.profile("alloc")
    known_shares(program, 0.5)
    assert other.stop().weight > 0
