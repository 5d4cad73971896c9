"""Measures what it takes to read the variables of a caller in a JVM that was attached to late.

    python benchmarks/model/callers.py [--jvm 11,17,21,25] [--quick]

At a stop the thread walks its own stack and gives all of them; of a thread that is suspended the
heap walk gives the objects. Both read the same frame of one program, by turns.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

BENCHMARKS = Path(__file__).parents[1]
sys.path[:0] = [str(BENCHMARKS), str(BENCHMARKS.parent / "tests")]

from run import compile_program, machine, time_of  # noqa: E402

import jvms  # noqa: E402
import jvmti  # noqa: E402

_FIRST = 10
"""Stops that do not count."""


def _read(thread: Any) -> float:
    """Nanoseconds that it takes to read the variables of a thread's second frame."""
    frame = thread.frames[1]
    began = time.perf_counter_ns()
    frame.locals.read()
    return time.perf_counter_ns() - began


def measured(jvm: jvms.Jvm, classes: Path, rounds: int) -> tuple[list[float], list[float]]:
    """Nanoseconds of each read, at a stop and of the suspended thread."""
    command = [jvm.java, *jvm.args, "-cp", str(classes), "DebuggedWork"]
    pipe: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, text=True, **pipe) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write("beat 1\n")
            process.stdin.flush()
            process.stdout.readline()
            with (
                jvmti.attach(process.pid) as vm,
                ThreadPoolExecutor(1) as elsewhere,
                vm.breakpoint("DebuggedWork$Order", "add") as stops,
            ):
                at_stops, by_heap = [], []
                for number in range(rounds + _FIRST):
                    stop = stops.next(30)
                    assert stop is not None
                    thread = stop.thread
                    # Of the same frame, as of a thread that is only suspended.
                    heap = elsewhere.submit(lambda: _read(thread)).result()  # noqa: B023
                    at_stop = _read(thread)
                    if number >= _FIRST:
                        at_stops.append(at_stop)
                        by_heap.append(heap)
        finally:
            process.kill()
    return at_stops, by_heap


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jvm", default="11,17,21,25", help="JVMs, with commas between them")
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    chosen = parser.parse_args()
    jdk = jvms.distribution_jdk()
    if jdk is None:
        raise SystemExit("there is no JDK with javac; `make java` installs one")
    print(machine())
    with tempfile.TemporaryDirectory() as directory:
        classes = Path(directory)
        compile_program(jdk, "DebuggedWork", classes)
        print("| JVM | at a stop | by the heap | ratio |\n|---|--:|--:|--:|")
        for name in chosen.jvm.split(","):
            found = measured(jvms.named(name), classes, 40 if chosen.quick else 300)
            stop, heap = (median(one) for one in found)
            print(f"| {name} | {time_of(stop)} | {time_of(heap)} | {stop / heap:.2f} |")


if __name__ == "__main__":
    main()
