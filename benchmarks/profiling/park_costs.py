"""Measures what the probes for parking cost, by turning them on and off while a profile is open.

    python benchmarks/profiling/park_costs.py [--jvm 17,25] [--pairs 75]

`lock_costs.py` has profiles come and go, so that each turn has to begin with the compiler's work;
its turns are few, and stray by more than a hundredth. Here the classes stay as they are. Probes of
a set do nothing while the number in its control line, in the agent's memory, is another: the
script writes there. A turn with and a turn without the probes are a pair; the processor time
of the program's threads beyond their work, for each wait, is compared in each pair. What the
agent's own threads use is in another column.
"""

from __future__ import annotations

import argparse
import random
import statistics
import struct
import sys
import tempfile
import time
from pathlib import Path

BENCHMARKS = Path(__file__).parents[1]
ROOT = BENCHMARKS.parent
sys.path[:0] = [str(BENCHMARKS), str(ROOT / "tests"), str(ROOT / "scripts")]

from costs import Work, working  # noqa: E402
from lock_costs import SCHEDULED, interval  # noqa: E402
from run import compile_program, machine  # noqa: E402

import jvms  # noqa: E402
import jvmti  # noqa: E402
from jvmti.layouts.probe_memory import CONTROL  # noqa: E402
from real_programs import jdk  # noqa: E402

SHORTEST = 10_000
"""Nanoseconds."""
LINE = 64
WARM = 40
"""Turns before the first pair: both ways are compiled by then."""
TURN = 0.4
SETTLE = 0.3
"""Seconds before a turn. After a pause the profile takes more samples for a while: without these
there were 73 a second in turns of 0.25 s with the probes, and 24 of waits that go on."""
LEAST = 50
"""Waits in a turn: one with fewer is taken again."""


class Switch:
    """The control line of the set of probes, in the memory of the target."""

    def __init__(self, pid: int) -> None:
        self._memory = Path(f"/proc/{pid}/mem").open("r+b", buffering=0)
        found = []
        library = False
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            bounds, access, *_, name = (
                line.split(None, 5) if line.count("/") else (*line.split(), "")
            )
            library = "jvmti" in name if name else library
            if not library or not access.startswith("rw"):
                continue
            first, end = (int(one, 16) for one in bounds.split("-"))
            self._memory.seek(first)
            data = self._memory.read(end - first)
            for at in range(-first % LINE, len(data) - LINE + 1, LINE):
                control = CONTROL.struct.unpack_from(data, at)
                values = dict(zip(CONTROL.fields, control, strict=True))
                if (
                    values["shortest"] == SHORTEST
                    and not values["size"]
                    and 0 < values["number"] < 1 << 32
                    and values["waits"] > 4096
                ):
                    found.append((first + at + CONTROL.offsets["number"], values["number"]))
        ((self._at, self._number),) = found

    def turn(self, on: bool) -> None:
        """On, or off."""
        self._memory.seek(self._at)
        self._memory.write(struct.pack("<q", self._number if on else 0))


def times(pid: int, name: str) -> int:
    """The processor time of the threads whose names begin like that, in nanoseconds."""
    return sum(
        int((one / "schedstat").read_text().split()[0])
        for one in Path(f"/proc/{pid}/task").iterdir()
        if (one / "comm").read_text().startswith(name)
    )


def compared(work: Work, vm: jvmti.VM, pairs: int) -> str:
    """A row of the table."""
    clock = ~work.pid << 3 | SCHEDULED
    chance = random.Random(1)

    def now() -> tuple[int, int, int]:
        waits, _, worked = map(int, work.ask("did")[1:])
        return waits, worked, times(work.pid, "first") + times(work.pid, "second")

    def turn(on: bool) -> tuple[float, float]:
        """Processor time for a wait, beyond the work and with it."""
        switch.turn(on)
        time.sleep(SETTLE)
        count = 0
        while count < LEAST:
            before = now()
            began = time.time_ns()
            time.sleep(TURN)
            count, worked, used = (b - a for a, b in zip(before, now(), strict=True))
        if on:
            with_probes.append((began, time.time_ns()))
        return (used - worked) / count, used / count

    with_probes: list[tuple[int, int]] = []
    work.ask("lock")
    with vm.profile("lock", interval=SHORTEST / 1e9) as profile:
        switch = Switch(work.pid)
        for number in range(WARM):
            turn(number % 2 == 0)
        agent, whole = times(work.pid, "jvmti"), time.clock_gettime_ns(clock)
        more, used = [], []
        for _ in range(pairs):
            found = {on: turn(on) for on in chance.sample((False, True), 2)}
            more.append(found[True][0] - found[False][0])
            used.append(found[False][1])
        agent = times(work.pid, "jvmti") - agent
        whole = time.clock_gettime_ns(clock) - whole
        switch.turn(on=True)
    mean, error = statistics.fmean(more), statistics.stdev(more) / len(more) ** 0.5
    middle, (low, high) = statistics.median(more), interval(more)
    base = statistics.median(used)
    moments = profile.samples.time
    taken = sum(int(((moments >= began) & (moments < ended)).sum()) for began, ended in with_probes)
    seconds = sum(ended - began for began, ended in with_probes) / 1e9
    return (
        f"| {mean / 1e3:.2f} ± {error / 1e3:.2f} µs | {middle / 1e3:.2f} ({low / 1e3:.2f} to "
        f"{high / 1e3:.2f}) | {base / 1e3:.0f} µs | {1 + mean / base:.4f} | {agent / whole:.4f} | "
        f"{taken / seconds:.0f} |"
    )


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jvm", default="17,25", help="which JVMs")
    parser.add_argument("--pairs", type=int, default=75, help="pairs of turns")
    given = parser.parse_args()
    print(machine())
    print(
        "\n| | for each wait, mean | median | of | processor time | its threads | samples in 1 s |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        compile_program(jdk(), "PacedLocks", folder)
        for wanted in given.jvm.split(","):
            jvm = jvms.named(wanted)
            with working(jvm, folder, "PacedLocks") as work:
                with jvmti.attach(work.pid, timeout=30) as vm:
                    print(f"| {jvm.feature} {compared(work, vm, given.pairs)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
