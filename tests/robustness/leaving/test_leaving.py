"""However a controller goes, the JVM is what it was before."""

from __future__ import annotations

import signal
import statistics
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import jvmti
from jvmti.interface.constants import VerboseFlag
from robustness import steady
from robustness.leaving import cycles, kills, probed_kills
from tracing.java_agents import replacing_jar

if TYPE_CHECKING:
    from collections.abc import Callable

    import programs

pytestmark = [pytest.mark.stress, pytest.mark.timeout(300)]


def comes_back_at_once(outcome: kills.Outcome) -> None:
    """The first full 10 ms of the program come soon; the machine's own pauses may delay some."""
    assert statistics.median(outcome.recoveries) <= 0.1, outcome
    assert max(outcome.recoveries) <= 0.1 + max(0.5, *outcome.pauses), outcome


@pytest.mark.slow
def test_a_killed_controller_leaves_nothing_suspended_held_or_open(
    java_program: programs.JavaPrograms, rounds: Callable[[int, int], int]
) -> None:
    outcome = kills.kill(steady.launch(java_program), rounds(5, 10), seed=3)
    assert outcome.busy >= 1
    comes_back_at_once(outcome)


@pytest.mark.slow
@pytest.mark.oldest_and_newest
@pytest.mark.parametrize("how", kills.HOW)
def test_a_controller_that_goes_in_a_storm_of_events_leaves_none_behind(
    java_program: programs.JavaPrograms, how: str, rounds: Callable[[int, int], int]
) -> None:
    if java_program.jvm.name == "zero":
        pytest.skip("the interpreter-only VM cannot have breakpoints")
    target = steady.launch(java_program)
    outcome = kills.kill(target, rounds(2, 6), seed=5, controller="storming", how=how)
    assert outcome.busy >= 1
    comes_back_at_once(outcome)


@pytest.mark.slow
@pytest.mark.newest
@pytest.mark.not_sanitized(reason="it looks at the program's rate")
def test_killed_controllers_leave_the_hottest_method_as_fast_and_its_class_as_it_was(
    java_program: programs.JavaPrograms, tmp_path: Path, rounds: Callable[[int, int], int]
) -> None:
    program = java_program("UnderFire", "virtual", jvm_args=["-Xmx128m"])
    program.expect("ready")
    kills = rounds(2, 10)
    outcome = probed_kills.kill(program, replacing_jar(tmp_path), kills, 7, "everything")
    assert len(outcome.recoveries) == kills


@pytest.mark.oldest_and_newest
@pytest.mark.not_sanitized(reason="a sanitizer keeps freed memory for a while")
def test_attaching_and_detaching_leaves_no_memory_threads_or_descriptors(
    java_program: programs.JavaPrograms,
) -> None:
    target = steady.launch(java_program, jvm_args=cycles.SMALL_HEAP)
    growth = cycles.cycle(target, 200, warm_up=300)
    assert growth.per_cycle <= 8, f"{growth.per_cycle:.1f} KB a cycle"


def test_a_controller_that_ends_without_detaching_leaves_nothing(
    java_program: programs.JavaPrograms,
) -> None:
    target = steady.launch(java_program)
    jvmti.attach(target.pid).detach()
    rest = target.at_rest()
    program = (
        "import jvmti, sys; vm = jvmti.attach(int(sys.argv[1]));"
        "thread = vm.env.get_all_threads()[0]; batch = vm.env.map.get_thread_state([thread]);"
        "monitor = vm.env.create_raw_monitor('held'); vm.env.raw_monitor_enter(monitor)"
    )
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", program, str(target.pid)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert target.settles_at(rest), (rest, target.footprint())


def test_verbose_output_ends_with_the_session(java_program: programs.JavaPrograms) -> None:
    witness = java_program("Witness")
    witness.expect("ready")
    with jvmti.attach(witness.pid) as vm:
        vm.env.set_verbose_flag(VerboseFlag.CLASS, True)
        witness.send("verbose-class")
        witness.expect("true")  # what the VM reports now comes in between
    witness.send("verbose-class")
    witness.expect("false")


@pytest.mark.not_sanitized(reason="a JVM of another process does not preload the runtime")
def test_a_vm_held_in_onload_starts_when_its_controller_is_killed(
    java_program: programs.JavaPrograms, tmp_path: Path
) -> None:
    jvm = java_program.jvm
    classes = kills.programs.compiler.classes("Steady")
    held = (
        "import jvmti, sys, time\n"
        "vm = jvmti.launch(sys.argv[1:], hold=True, stdin=None)\n"
        "monitor = vm.env.create_raw_monitor('held')\n"
        "vm.env.raw_monitor_enter(monitor)\n"
        "vm.env.add_capabilities(vm.env.get_potential_capabilities())\n"
        # Nobody handles what comes before the VM is live, and nothing else ends its wait.
        "vm.env.on('ClassLoad', lambda event: None, timeout=None)\n"
        "print('held', flush=True)\n"
        "time.sleep(600)\n"
    )
    command = [jvm.java, *jvm.args, "-cp", str(classes), "Steady"]
    controller = subprocess.Popen(
        [sys.executable, "-c", held, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert controller.stdin is not None
    assert controller.stdout is not None
    try:
        assert controller.stdout.readline() == "held\n"
        controller.send_signal(signal.SIGKILL)
        controller.wait()
        # The program has the same standard input and output.
        assert controller.stdout.readline() == "ready\n"
        controller.stdin.write("locks\n")
        controller.stdin.flush()
        assert controller.stdout.readline() == "free\n"
    finally:
        controller.kill()
        controller.stdin.close()  # the program ends with its input
        assert controller.stdout.read() == ""
        controller.stdout.close()
