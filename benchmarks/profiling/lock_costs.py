"""Measures what profiles of locks cost, beside async-profiler, where waits have a fixed rate.

    python benchmarks/profiling/lock_costs.py [--jvm 17,25] [--rounds 6] [--locks lock]
        [--only jvmti,nothing]

The program waits 667 times a second for a lock that another thread has for 10 µs to 1 ms. It counts
the processor time that its threads use for their work; what its process uses beyond that is for
waiting and waking, and hardly depends on other work on the machine. So a thousandth of the whole is
seen. Profiles come and go in turns of five seconds, each between two without one; a figure is the
median of the turns, with the interval that 95 of 100 such medians fall into, by resampling.
"Nothing" is a turn as between two others, whose cost is the error of the rest.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

BENCHMARKS = Path(__file__).parents[1]
ROOT = BENCHMARKS.parent
sys.path[:0] = [str(BENCHMARKS), str(ROOT / "tests"), str(ROOT / "scripts")]

from costs import Work, beside, profiled, working  # noqa: E402
from run import compile_program, machine  # noqa: E402

import jvms  # noqa: E402
import jvmti  # noqa: E402
from async_profiler import AsyncProfiler  # noqa: E402
from real_programs import jdk  # noqa: E402

WARM, TURN = 3.0, 2.0
"""Seconds: what a profile changes is compiled anew each time, which the first of them are for."""
LEAST = 100
"""Waits in a turn."""
RESAMPLED = 2000
SCHEDULED = 2
"""The kernel's clock of the processor time of a process, in nanoseconds."""


@dataclass
class Turn:
    """What a wait took in one turn, in nanoseconds."""

    work: float
    """The processor time of the work between two waits, the same in all turns on average."""
    rest: float
    """What the process used beyond that."""
    waited: float
    """How long a thread waited."""


def turn(work: Work) -> Turn:
    """Take one."""
    clock = ~work.pid << 3 | SCHEDULED

    def now() -> list[int]:
        return [*map(int, work.ask("did")[1:]), time.clock_gettime_ns(clock)]

    time.sleep(WARM)
    before = now()
    count = 0
    while count < LEAST:
        time.sleep(TURN)
        count, waited, worked, used = (
            then - earlier for earlier, then in zip(before, now(), strict=True)
        )
    return Turn(worked / count, (used - worked) / count, waited / count)


def interval(values: list[float]) -> tuple[float, float]:
    """Where 95 of 100 medians fall, if others are like these."""
    chance = random.Random(1)
    medians = sorted(
        statistics.median(chance.choices(values, k=len(values))) for _ in range(RESAMPLED)
    )
    return medians[RESAMPLED * 25 // 1000], medians[RESAMPLED * 975 // 1000]


def compared(jvm: jvms.Jvm, folder: Path, given: argparse.Namespace) -> None:
    """Print the table."""
    print("| lock | profile | for each wait | 95 of 100 | processor time | 95 of 100 |")
    print("| --- | --- | --- | --- | --- | --- |")
    with working(jvm, folder, "PacedLocks") as work, jvmti.attach(work.pid, timeout=30) as vm:
        turns = {
            "jvmti": profiled(vm, "lock", 0.00001),
            "async-profiler": beside(AsyncProfiler(vm, folder), "event=lock,lock=10us"),
            "nothing": contextmanager(lambda: iter([None])),
        }
        turns = {name: turns[name] for name in given.only.split(",")}
        chance = random.Random(1)
        for kind in given.locks.split(","):
            work.ask(kind)
            for take in turns.values():
                with take():
                    turn(work)
            more: dict[str, list[float]] = {name: [] for name in turns}
            before = turn(work)
            usual = [before]
            for _ in range(given.rounds):
                for name in chance.sample(list(turns), len(turns)):
                    with turns[name]():
                        during = turn(work)
                    after = turn(work)
                    more[name].append(during.rest - (before.rest + after.rest) / 2)
                    before = after
                    usual.append(after)
            whole = statistics.fmean(one.work for one in usual)
            whole += statistics.median(one.rest for one in usual)
            for name, values in more.items():
                middle, (low, high) = statistics.median(values), interval(values)
                print(
                    f"| {kind} | {name} | {middle / 1e3:.2f} µs | "
                    f"{low / 1e3:.2f} to {high / 1e3:.2f} | {1 + middle / whole:.4f} | "
                    f"{1 + low / whole:.4f} to {1 + high / whole:.4f} |",
                    flush=True,
                )
            waited = statistics.median(one.waited for one in usual) / 1e3
            rest = statistics.median(one.rest for one in usual) / 1e3
            print(
                f"\n{kind}: a wait takes {waited:.0f} µs; the threads use {whole / 1e3:.0f} µs of "
                f"processor time for each, {rest:.1f} of them to wait and wake\n"
            )


def main() -> int:
    """Print the table of each JVM."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jvm", default="17,25", help="which JVMs")
    parser.add_argument("--rounds", type=int, default=6, help="turns of each profiler")
    parser.add_argument("--locks", default="monitor,lock", help="which kinds of locks")
    parser.add_argument(
        "--only", default="jvmti,async-profiler,nothing", help="which profiles, or none"
    )
    given = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        compile_program(jdk(), "PacedLocks", folder)
        for wanted in given.jvm.split(","):
            jvm = jvms.named(wanted)
            print(f"\n### JDK {jvm.feature}: a profile of locks, from 10 µs\n")
            compared(jvm, folder, given)
    return 0


if __name__ == "__main__":
    sys.exit(main())
