"""Profiles of processor time, beside what the program knows of itself."""

from __future__ import annotations

import os
import signal
import subprocess
import textwrap
import threading
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import jvmti
from jvmti.interface.errors import NotAvailable
from jvmti.layouts.profiles import ProfiledKind, ProfileEngine
from jvmti.profile.tables import FrameKind, Kind, State
from jvmti.profiling.live_profile import LiveProfile
from jvmti.target import hotspot
from prepared import attaching
from profiling.shares import error, noise, of_thread, parsed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jvms import Jvm
    from jvmti.profile.profile import Profile
    from programs import JavaProgram, JavaPrograms

ENGINES = ["perf", "timer"]


@pytest.fixture(scope="module")
def program(shared_java_program: JavaPrograms) -> JavaProgram:
    started = shared_java_program("Profiled", jvm_args=["-Xmx128m"])
    started.expect("ready")
    started.ask("mixed 0.4")
    return started


@pytest.fixture(scope="module")
def vm(program: JavaProgram) -> Iterator[jvmti.VM]:
    with jvmti.attach(program.pid, timeout=30) as attached:
        # What a JVM compiles anew for exact frames it compiles here.
        opened(attached, None).stop()
        program.ask("mixed 1")
        yield attached
    assert program.running()


def opened(vm: jvmti.VM, engine: str | None, **options: float) -> LiveProfile:
    """A profile; skips where the kernel does not have this engine."""
    try:
        profile = vm.profile("cpu", engine=engine, **options)
    except NotAvailable as refused:
        if engine is None or "kernel" not in str(refused):
            raise
        pytest.skip(str(refused))
    assert isinstance(profile, LiveProfile)
    return profile


def signal_sources(pid: int) -> int:
    """How many timers and performance events a process has."""
    timers = Path(f"/proc/{pid}/timers").read_text().count("ID:")
    names = []
    for one in Path(f"/proc/{pid}/fd").iterdir():
        try:
            names.append(os.readlink(one))
        except FileNotFoundError:
            continue
    return timers + sum("perf_event" in name for name in names)


@pytest.mark.parametrize("engine", ENGINES)
def test_shares_and_sum_are_those_that_the_program_measures(
    vm: jvmti.VM, program: JavaProgram, engine: str
) -> None:
    with opened(vm, engine, interval=0.001) as profile:
        known = parsed(program.ask("mixed 1.3"))
    main = of_thread(profile, "main")
    assert main.kinds == (Kind.CPU,)
    assert main.weight == pytest.approx(sum(known.values()), rel=0.1)
    # Other tests run beside it; alone it is 1.2 times the noise, as
    # benchmarks/profiling/accuracy.py shows.
    assert error(main, known) < 3 * noise(known, len(main)) + 2
    (limits,) = profile.limits
    assert limits.engine == engine
    assert limits.interval == 0.001
    assert limits.failed is not None
    # Alone it is one or two in a hundred; more where the compilers get less of the processor.
    assert limits.failed < 0.1 * len(profile)
    assert limits.lost == 0
    assert limits.safepoint_biased is False
    assert profile.began <= int(profile.samples.time.min())
    assert int(profile.samples.time.max()) < profile.ended
    assert set(profile.samples.state.tolist()) == {State.RUNNING}


COLLECTORS = ["Serial", "Parallel", "G1", "Z", "Shenandoah"]


@pytest.mark.parametrize("collector", COLLECTORS)
def test_collector_and_compiler_are_told_apart(
    jvm: Jvm, java_program: JavaPrograms, collector: str
) -> None:
    flags = ["-XX:+UnlockExperimentalVMOptions", f"-XX:+Use{collector}GC"]
    tried = subprocess.run([jvm.java, *jvm.args, *flags, "-version"], capture_output=True)
    if tried.returncode != 0:
        pytest.skip(f"this JVM has no {collector}")
    program = java_program("Collected", jvm_args=[*flags, "-Xmx128m"])
    program.expect("ready")

    def kinds(vm: jvmti.VM, command: str) -> dict[str, int]:
        with vm.profile("cpu", interval=0.001) as profile:
            assert program.ask(command, timeout=60) == "done"
        return {use.name: use.own for use in profile.top(None, by="kind")}

    with jvmti.attach(program.pid, timeout=30) as vm:
        # What attaching leaves to compile, and to link, is over.
        kinds(vm, "collect 1")
        collecting = kinds(vm, "collect 20")
        assert collecting["collector"] > 0.6 * sum(collecting.values()), collecting
        if collector == "Serial" and jvm.name != "zero":
            compiling = kinds(vm, "compile")
            assert compiling["compiler"] > 0.1 * sum(compiling.values()), compiling
            assert compiling.get("collector", 0) < compiling["compiler"]


@pytest.mark.since(21)
def test_shares_in_a_virtual_thread_are_those_that_it_measures(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    with vm.profile("cpu", interval=0.001) as profile:
        known = parsed(program.ask("virtual 1.3", timeout=60))
    work = profile.with_frame("Profiled.turns")
    # It measures the time that passed, of which a busy machine takes some.
    assert error(work, known) < 3 * noise(known, len(work)) + 6
    # They are its own, and not its carrier's.
    assert profile.limits[0].virtual_threads is True
    assert list(work.by("thread")) == ["(unnamed virtual thread)"]


def test_threads_of_the_vm_have_its_code(vm: jvmti.VM, program: JavaProgram) -> None:
    with vm.profile("cpu", interval=0.001) as profile:
        # The VM answers on a thread of its own, which runs no Java then.
        for _ in range(50):
            hotspot.command(vm.process, "jcmd", "VM.flags -all")
    answering = profile.by("thread")["Attach Listener"]
    depths = [len(answering.stacks[stack]) for stack in answering.samples.stack.tolist()]
    assert depths.count(0) < 0.3 * len(depths)


def test_stacks_have_lines_and_say_what_is_no_java(vm: jvmti.VM, program: JavaProgram) -> None:
    with vm.profile("cpu", interval=0.002) as profile:
        program.ask("mixed 0.8")
    frames = {frame.name: frame for frame in profile.frames}
    source = (Path(__file__).parents[1] / "java" / "Profiled.java").read_text().splitlines()
    for frame in profile.frames:
        if frame.name == "Profiled.mixed":
            assert frame.descriptor == "(D)Ljava/lang/String;"
    # Some samples are of the method itself, which takes the time and chooses a part.
    lines = Counter(
        source[frame.line - 1].strip()
        for stack in profile.samples.stack.tolist()
        for frame in (profile.frames[at] for at in profile.stacks[stack])
        if frame.name == "Profiled.run" and frame.line > 0
    )
    parts = {line: count for line, count in lines.items() if line.endswith("(until);")}
    assert len(parts) == 9
    assert sum(parts.values()) > 0.97 * lines.total()
    assert set(lines) - set(parts) <= {
        "switch (which) {",
        "long until = System.nanoTime() + nanos;",
    }
    assert frames["Profiled.main"].line > 0
    assert frames["java.lang.Runtime.totalMemory"].kind is FrameKind.NATIVE
    assert frames["libjvm.so"].kind is FrameKind.VM
    of_java = {one.kind for one in frames.values() if one.class_name} - {FrameKind.NATIVE}
    assert of_java == {FrameKind.JAVA}
    # The outermost frame of main is main.
    main = of_thread(profile, "main")
    outermost = {
        profile.frames[profile.stacks[stack][-1]].name
        for stack in set(main.samples.stack.tolist())
        if len(profile.stacks[stack])
    }
    assert "Profiled.main" in outermost
    (thread,) = [one for one in profile.threads if one.name == "main"]
    assert thread.group == "main"
    assert thread.id == 1 or thread.id > 0
    assert not thread.virtual


@pytest.mark.parametrize("engine", ENGINES)
def test_the_kernel_is_told_apart(vm: jvmti.VM, program: JavaProgram, engine: str) -> None:
    def of_kernel(work: str) -> tuple[float, Profile]:
        # Classes that load at the first time would take any part of what a busy machine leaves.
        program.ask(f"{work} 0.02", timeout=60)
        with opened(vm, engine, interval=0.002) as profile:
            program.ask(f"{work} 0.5", timeout=60)
        # Beside the work there is the command, which is read and answered in the interpreter.
        main = of_thread(profile, "main").with_frame(f"Profiled.{work}")
        kinds = {one.name: one.own_share for one in main.top(10, "kind")}
        return kinds.get("kernel", 0.0), main

    # A read of 16 MB is milliseconds in the kernel, and nobody copies what was read.
    reading, main = of_kernel("zeros")
    assert reading > 0.8
    calling = main.callers("(kernel)")
    assert any("FileDispatcherImpl.read0" in line for line in calling.lines())
    assert of_kernel("mixed")[0] < 0.1


def test_threads_that_come_and_go_are_followed(vm: jvmti.VM, program: JavaProgram) -> None:
    with vm.profile("cpu", interval=0.0005) as profile:
        assert program.ask("threads 1000", timeout=60) == "done"
    names = {one.name for one in profile.threads}
    assert {f"short {n}" for n in range(10)} <= names
    assert "(ended thread)" not in names
    short = profile.where([profile.threads[n].name[:6] == "short " for n in profile.samples.thread])
    assert short.share("Profiled.loop") > 0.8
    assert len({profile.threads[n].id for n in short.samples.thread}) > 50


def test_threads_that_use_less_than_the_interval_have_their_share(
    vm: jvmti.VM, program: JavaProgram
) -> None:
    with opened(vm, "perf", interval=0.01) as profile:
        known = int(program.ask("brief 1200", timeout=60))
    brief = profile.where([profile.threads[n].name[:6] == "brief " for n in profile.samples.thread])
    # 120 samples, and what a thread does before it measures and after.
    assert brief.weight == pytest.approx(known, rel=0.4)


def test_views_grow_with_update_and_stay_after_the_end(vm: jvmti.VM, program: JavaProgram) -> None:
    profile = vm.profile("cpu", interval=0.002)
    assert len(profile) == 0
    assert profile.running
    program.ask("mixed 0.3")
    first = len(profile.update())
    assert first > 20
    assert profile.share("Profiled.main") > 0.3
    program.ask("mixed 0.3")
    assert len(profile) == first
    vm.threads["main"].call("setName", "main by another name")
    assert not repr(profile).startswith("<Profile: 0 cpu samples ")
    assert "running" in repr(profile)
    assert len(profile.stop()) > first
    vm.threads["main by another name"].call("setName", "main")
    names = [thread.name for thread in profile.threads]
    assert "main by another name" in names
    assert "main" not in names
    assert not profile.running
    assert len(profile.stop()) == len(profile)
    assert "stopped" in repr(profile)
    part = profile.between(0, 0.5)
    assert 0 < len(part) < len(profile)
    assert part.top(1)[0].own > 0
    assert signal_sources(program.pid) == 0


def test_one_profile_at_a_time_has_the_signals(vm: jvmti.VM, program: JavaProgram) -> None:
    with vm.profile("cpu"), jvmti.attach(program.pid) as other:
        with pytest.raises(NotAvailable, match="another profile"):
            other.profile("cpu", engine="timer")
        with pytest.raises(NotAvailable, match="another profile"):
            vm.profile("cpu", engine="timer")
    with vm.profile("cpu", interval=0.001) as profile:
        program.ask("mixed 0.3")
    assert len(profile) > 10


def test_a_detached_session_leaves_nothing(program: JavaProgram) -> None:
    with jvmti.attach(program.pid) as vm:
        vm.profile("cpu", interval=0.001)
        assert signal_sources(program.pid) > 5
    assert signal_sources(program.pid) == 0
    program.ask("mixed 0.2")


@pytest.mark.parametrize(
    ("kinds", "options", "message"),
    [
        (["cpus"], {}, "none of cpu"),
        ([], {"engine": "best"}, "none of perf, timer, deltas"),
        ([], {"engine": "births"}, "none of perf, timer, deltas, which take cpu"),
        (["wall"], {"engine": "perf"}, "none of deltas, which take wall"),
        (["wall"], {"threads": []}, "has no pattern"),
        (["wall"], {"threads": ""}, "has no pattern"),
        ([], {"interval": 0}, "not positive"),
        ([], {"interval": float("nan")}, "not positive"),
        ([], {"interval": float("inf")}, "longer than 86,400 s"),
        (["alloc"], {"interval": 1 << 31}, "not from 1 byte to 2 GB"),
        (["alloc"], {"interval": 0.5}, "not from 1 byte"),
        (["alloc", "live"], {"interval": {"alloc": 4096}}, "one interval for both"),
        ([], {"source": "jfr", "depth": 8}, "neither depth= nor exact="),
        ([], {"source": "jfr", "interval": 0.0001}, "takes 1 ms at least"),
        ([], {"interval": 0.00005}, "shorter than 0.0001 s"),
        ([], {"interval": {"wall": 1}}, "which is no kind"),
        ([], {"depth": 0}, "not from 1"),
        ([], {"depth": 1 << 20}, "not from 1"),
    ],
)
def test_wrong_options_are_refused(
    vm: jvmti.VM, kinds: list[str], options: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        vm.profile(*kinds, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [ProfiledKind.CPU, ProfiledKind.WALL])
def test_the_agent_refuses_intervals_that_leave_no_time(vm: jvmti.VM, kind: ProfiledKind) -> None:
    with pytest.raises(jvmti.errors.IllegalArgument, match="leave the program no time"):
        vm._agent.open_profile(kind, ProfileEngine.BEST, 99_999, 64, False, None)


def test_an_interval_is_a_number(vm: jvmti.VM) -> None:
    with pytest.raises(TypeError, match="interval='10 ms' is no number"):
        vm.profile("cpu", interval="10 ms")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="interval=True is no number"):
        vm.profile("cpu", interval=True)


def test_deep_stacks_are_cut_and_counted(vm: jvmti.VM, program: JavaProgram) -> None:
    with vm.profile("cpu", interval=0.001, depth=20) as profile:
        program.ask("mixed 0.5")
    assert profile.limits[0].truncated
    assert int(profile.stacks.depths.max()) <= 21
    deep = [
        stack
        for stack in profile.stacks
        if len(stack) >= 20 and profile.frames[stack[-1]].name == "Profiled.deep"
    ]
    assert deep


def test_long_walks_leave_the_program_some_time(vm: jvmti.VM, program: JavaProgram) -> None:
    # To walk 2,000 frames takes longer than the interval, and signals come up meanwhile.
    alone = int(program.ask("far 0.3"))
    with vm.profile("cpu", interval=0.0001, depth=2048) as profile:
        assert int(program.ask("far 0.3", timeout=60)) > 0.01 * alone
    assert (
        profile.with_frame("Profiled.deep").weight
        > 0.5 * profile.with_frame("Profiled.main").weight
    )


KILLED = textwrap.dedent(
    """
    import sys, time
    import jvmti
    vm = jvmti.attach(int(sys.argv[1]))
    profile = vm.profile("cpu", interval=0.001, engine=sys.argv[2] or None)
    print("profiling", flush=True)
    time.sleep(60)
    """
)


@pytest.mark.stress
@pytest.mark.parametrize("engine", ENGINES)
def test_a_killed_controller_leaves_nothing(
    vm: jvmti.VM, program: JavaProgram, engine: str
) -> None:
    opened(vm, engine).stop()
    work = threading.Thread(target=program.ask, args=["mixed 1.5", 60])
    work.start()
    for kill in range(5):
        with attaching("-c", KILLED, program.pid, engine) as controller:
            assert controller.stdout.readline() == "profiling\n"
            time.sleep(0.04 * kill)
            assert signal_sources(program.pid) > 5
            controller.kill()
        until = time.monotonic() + 10
        while signal_sources(program.pid) and time.monotonic() < until:
            time.sleep(0.01)
        assert signal_sources(program.pid) == 0
    work.join(60)
    assert program.ask("mixed 0.1")


def test_handlers_of_the_program_are_left_alone(java_program: JavaPrograms) -> None:
    program = java_program("Profiled", jvm_args=["-Xmx64m"])
    program.expect("ready")
    assert program.ask("handle PROF") == "handled"
    with jvmti.attach(program.pid) as vm:
        # There is another signal for that.
        with opened(vm, "timer", interval=0.002) as profile:
            program.ask("mixed 0.7")
        assert profile.share("Profiled.main") > 0.3
        os.kill(program.pid, signal.SIGPROF)
        assert program.read_line() == "SIGPROF"
    program = java_program("Profiled", jvm_args=["-Xmx64m"])
    program.expect("ready")
    for name in ("PROF", "STKFLT"):
        assert program.ask(f"handle {name}") == "handled"
    with (
        jvmti.attach(program.pid) as vm,
        pytest.raises(NotAvailable, match="SIGPROF and SIGSTKFLT have handlers already"),
    ):
        vm.profile("cpu", engine="timer")
    for name in ("PROF", "STKFLT"):
        os.kill(program.pid, getattr(signal, f"SIG{name}", 16))
        assert program.read_line() == f"SIG{name}"


def test_a_handler_that_comes_later_ends_no_profile(java_program: JavaPrograms) -> None:
    program = java_program("Profiled", jvm_args=["-Xmx64m"])
    program.expect("ready")
    program.ask("mixed 0.5")
    with jvmti.attach(program.pid) as vm:
        with opened(vm, None, interval=0.002) as profile:
            # The signals that are under way reach the program: it prints each.
            program.send("handle PROF")
            while program.read_line() != "handled":
                pass
            time.sleep(0.2)
            program.send("mixed 1")
            while not (line := program.read_line(timeout=30)).startswith("loop="):
                pass
        used = sum(parsed(line).values())
        main = of_thread(profile, "main").with_frame("Profiled.mixed")
        assert main.weight == pytest.approx(used, rel=0.2)
        assert any("set its own handler" in note for note in profile.limits[0].notes)
        with opened(vm, None, interval=0.002) as profile:
            program.send("handle STKFLT")
            time.sleep(0.3)
            program.send("mixed 0.5")
            while not program.read_line(timeout=30).startswith("loop="):
                pass
        # Others have all signals now.
        assert any("no samples after" in note for note in profile.limits[0].notes)
    assert signal_sources(program.pid) == 0


def test_a_profile_goes_up_to_the_end_of_its_program(java_program: JavaPrograms) -> None:
    program = java_program("Profiled", jvm_args=["-Xmx64m"])
    program.expect("ready")
    vm = jvmti.attach(program.pid)
    profile = vm.profile("cpu", interval=0.001)
    known = parsed(program.ask("mixed 0.7"))
    program.stop()
    assert vm.wait(10)
    profile.stop()
    assert of_thread(profile, "main").weight > 0.95 * sum(known.values())
