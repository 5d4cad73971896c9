"""Attaches and detaches again and again, and looks what is left in the JVM.

python tests/robustness/leaving/cycles.py --jvm 17 --cycles 1000
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).parents[2]
sys.path.insert(0, str(TESTS))

import jvms  # noqa: E402
import jvmti  # noqa: E402
import programs  # noqa: E402
from robustness import steady  # noqa: E402

SMALL_HEAP = ("-Xms32m", "-Xmx32m", "-XX:+AlwaysPreTouch")
"""A heap of one size that is resident from the start, so that only the rest can grow."""


@dataclass
class Growth:
    """What the cycles left behind."""

    cycles: int
    seconds: float
    kilobytes: int

    @property
    def per_cycle(self) -> float:
        return self.kilobytes / self.cycles


def cycle(target: steady.Steady, cycles: int, warm_up: int) -> Growth:
    """Attach, work a little and detach; everything but memory must be back each time."""
    books = None
    rest = target.at_rest()
    resident = 0
    begun = time.monotonic()
    for number in range(warm_up + cycles):
        if number == 1:
            rest = target.at_rest()  # the VM's own attach listener came with the first
        if number == warm_up:
            rest = target.at_rest()
            resident = rest.resident
            begun = time.monotonic()
        with jvmti.attach(target.pid) as vm:
            now = vm.stats.agent
            books = books or now
            assert now == books, (now, books)
            vm.env.get_all_threads()
            vm.env.map.get_class_signature(vm.env.get_loaded_classes()[:100])
        if number and number % 50 == 0:
            assert target.settles_at(rest), (rest, target.footprint())
    seconds = time.monotonic() - begun
    after = target.at_rest()
    assert target.settles_at(rest), (rest, target.footprint())
    return Growth(cycles, seconds, after.resident - resident)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jvm", default="17")
    parser.add_argument("--cycles", type=int, default=1000)
    parser.add_argument("--warm-up", type=int, default=300)
    chosen = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix=f"cycles-{chosen.jvm}-"))
    started = programs.JavaPrograms(jvms.named(chosen.jvm), directory)
    try:
        target = steady.launch(started, spins=True, jvm_args=SMALL_HEAP)
        growth = cycle(target, chosen.cycles, chosen.warm_up)
    finally:
        started.close()
    print(
        json.dumps(
            {
                "jvm": chosen.jvm,
                "cycles": growth.cycles,
                "ms per cycle": round(growth.seconds / growth.cycles * 1000, 2),
                "KB grown": growth.kilobytes,
                "KB per cycle": round(growth.per_cycle, 3),
            }
        )
    )


if __name__ == "__main__":
    main()
