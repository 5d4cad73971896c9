"""Controllers that are killed in the middle of a profile leave nothing of it."""

from __future__ import annotations

import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import jvmti
from prepared import attaching
from robustness import steady

if TYPE_CHECKING:
    from programs import JavaProgram, JavaPrograms

pytestmark = [pytest.mark.oldest_and_newest, pytest.mark.stress, pytest.mark.timeout(180)]

CONTROLLER = textwrap.dedent(
    """
    import sys, time
    import jvmti
    vm = jvmti.attach(int(sys.argv[1]))
    profile = vm.profile(*sys.argv[2].split("+"))
    print("profiling", flush=True)
    time.sleep(60)
    """
)


def processor_time(pid: int) -> int:
    """Ticks that the process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def is_idle(pid: int) -> bool:
    """Whether a second passes in which it uses next to no processor time."""
    before = processor_time(pid)
    time.sleep(1)
    return processor_time(pid) - before <= 2


def kill_one(pid: int, kinds: str, after: float) -> None:
    with attaching("-c", CONTROLLER, pid, kinds) as controller:
        assert controller.stdout.readline() == "profiling\n"
        time.sleep(after)
        controller.kill()


SYNCHRONIZER = "java.util.concurrent.locks.AbstractQueuedSynchronizer"


def work(program: JavaProgram) -> None:
    """Make samples of every kind."""
    for line in ("allocate 20000", "contend 3", "park 3"):
        program.ask(line, timeout=60)


@pytest.mark.parametrize("kinds", ["wall", "alloc", "live", "lock", "cpu+wall+live+lock"])
def test_nothing_of_the_profile_remains(java_program: JavaPrograms, kinds: str) -> None:
    program = java_program("Sites", jvm_args=["-Xmx128m"])
    program.expect("ready")
    work(program)
    with jvmti.attach(program.pid, timeout=30) as vm:
        vm.profile(*kinds.split("+")).stop()
    with jvmti.attach(program.pid, timeout=30) as vm:
        books = vm.stats.agent
        park = bytes(vm.find_class(SYNCHRONIZER).class_file)
    work(program)
    assert steady.wait_until(lambda: is_idle(program.pid), 20)
    rest = steady.footprint(program.pid)
    for kill in range(3):
        kill_one(program.pid, kinds, 0.3 * kill)
        assert steady.wait_until(lambda: steady.footprint(program.pid).threads == rest.threads), (
            steady.footprint(program.pid)
        )
        work(program)
    # No timer, no probe, no tag or event, no thread, and nothing that costs.
    assert Path(f"/proc/{program.pid}/timers").read_text() == ""
    assert steady.footprint(program.pid).descriptors <= rest.descriptors
    assert steady.wait_until(lambda: is_idle(program.pid), 20)
    with jvmti.attach(program.pid, timeout=30) as vm:
        assert vm.stats.agent == books
        assert bytes(vm.find_class(SYNCHRONIZER).class_file) == park
        # Another one can have what that one had, and is right.
        with vm.profile("live" if "live" in kinds else "alloc", interval=16384) as profile:
            sites = program.ask("keep 30000").split()
        assert profile.weight > 0.5 * int(sites[1])
        with vm.profile("lock") as locks:
            _, waited = program.ask("contend 5").split()
        assert locks.with_frame("Sites.enter").weight == pytest.approx(int(waited), rel=0.1)
