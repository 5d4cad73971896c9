"""Measures what exploring a JVM through objects costs.

    python benchmarks/model/objects.py [--jvm 17,25] [--rounds 5]

Each figure is the best median of the rounds, with the program and Python on one processor, as in
run.py; that across processors stands beside it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

BENCHMARKS = Path(__file__).parents[1]
PROGRAMS = BENCHMARKS / "java"
sys.path.insert(0, str(BENCHMARKS.parent / "tests"))

import jvms  # noqa: E402
import jvmti  # noqa: E402


@contextmanager
def program(jvm: jvms.Jvm, name: str) -> Iterator[int]:
    """The Java program that is looked at: its process id."""
    jdk = jvms.distribution_jdk()
    assert jdk is not None, "make java installs one"
    with tempfile.TemporaryDirectory() as directory:
        source = PROGRAMS / f"{name}.java"
        compiler = [jdk / "bin" / "javac", "--release", "11", "-g", "-d", directory]
        subprocess.run([*compiler, source], check=True)
        with subprocess.Popen(
            [jvm.java, *jvm.args, "-cp", directory, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            try:
                yield process.pid
            finally:
                process.stdin.close()


def share_one_processor(pid: int, processors: set[int]) -> None:
    """Let this process and all threads of another run on these processors only."""
    os.sched_setaffinity(0, processors)
    for thread in os.listdir(f"/proc/{pid}/task"):
        os.sched_setaffinity(int(thread), processors)


def middle(times: int, rounds: int, action: Callable[[], Any]) -> float:
    """The least of the medians of some rounds, in seconds."""
    found = []
    for _ in range(rounds):
        taken = []
        for _ in range(times):
            began = time.perf_counter()
            action()
            taken.append(time.perf_counter() - began)
        found.append(median(taken))
    return min(found)


def objects(vm: jvmti.VM) -> list[tuple[str, int, float, Callable[[], Any]]]:
    """What is measured: its name, how often, its limit in seconds, and how to do it."""
    cls = vm.find_class("Model")
    twenty, numbers = cls["twenty"], cls["map"]
    before = vm.stats.messages
    assert len(twenty.fields()) == 20
    assert len(numbers.value) == 10_000
    before = vm.stats.messages
    twenty.fields()
    assert vm.stats.messages - before == 2, "one crossing, and one for the count"
    return [
        ("all fields of an object with 20 fields", 500, 60e-6, twenty.fields),
        ("one field", 500, 60e-6, lambda: twenty["e"]),
        ("one call with two numbers", 500, 60e-6, lambda: twenty.call("add", 1, 2)),
        ("a dict from a HashMap of 10,000 strings", 5, 50e-3, lambda: numbers.value),
        ("repr of that HashMap", 100, 1e-3, lambda: repr(numbers)),
    ]


def main() -> int:
    """Print the figures, and whether each limit is kept."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--jvm", default="17,25")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    missed = 0
    everywhere = os.sched_getaffinity(0)
    for name in options.jvm.split(","):
        with program(jvms.named(name), "Model") as pid, jvmti.attach(pid, timeout=30) as vm:
            for what, times, limit, action in objects(vm):
                figures = []
                for processors in ({min(everywhere)}, everywhere):
                    share_one_processor(pid, processors)
                    action()
                    figures.append(middle(times, options.rounds, action) * 1e6)
                missed += figures[0] > limit * 1e6
                print(
                    f"JDK {name}: {what}: {figures[0]:,.1f} µs "
                    f"(across processors: {figures[1]:,.1f} µs), limit {limit * 1e6:,.0f} µs"
                )
            share_one_processor(pid, everywhere)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
