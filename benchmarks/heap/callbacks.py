"""Measures heap walks with a Python function for each object, beside callbacks in C++.

    python benchmarks/heap/callbacks.py [--jvm 17,25] [--objects 1000000]

The Java program walks its own heap for the figures in C++; the same JVM is walked by both.  Of
three walks on one processor and three on all the fastest counts.  JDI has nothing like it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).parents[1]
sys.path[:0] = [str(BENCHMARKS), str(BENCHMARKS.parent / "tests")]

from run import best, compile_floor, compile_program, machine, time_of  # noqa: E402

import jvms  # noqa: E402
import jvmti  # noqa: E402
from jvmti.env.structures import HeapCallbacks  # noqa: E402
from jvmti.interface.constants import HeapFilter, HeapVisitControl  # noqa: E402
from processors import PLACES  # noqa: E402

WALKS = 3
ON = HeapVisitControl.OBJECTS


def visited(class_tag: int, size: int, tag: Any, length: int) -> HeapVisitControl:
    """Look at an object."""
    return ON


def read(class_tag: int, size: int, tag: Any, length: int) -> HeapVisitControl:
    """Look at an object and its tag."""
    return HeapVisitControl.ABORT if tag.value else ON


def tagged(class_tag: int, size: int, tag: Any, length: int) -> HeapVisitControl:
    """Write an object's tag."""
    tag.value = 7
    return ON


def measure(jvm: jvms.Jvm, classes: Path, library: Path, objects: int) -> dict[str, float]:
    """Seconds for each way."""
    vm = jvmti.launch(
        [jvm.java, *jvm.args, f"-agentpath:{library}", "-cp", classes, "Walked", str(objects)],
        capabilities=["can_tag_objects"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    process = vm.popen
    assert process is not None
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"

    def floor(what: str) -> float:
        times = []
        for _ in range(WALKS):
            process.stdin.write(f"{what}\n".encode())
            process.stdin.flush()
            times.append(int(process.stdout.readline()) / 1e9)
        return min(times)

    def ours(function: Callable[..., Any]) -> float:
        times = []
        for _ in range(WALKS):
            env = vm.new_env()  # in which nothing has a tag so far
            env.add_capabilities({"can_tag_objects"})
            callbacks = HeapCallbacks(heap_iteration_callback=function)
            start = time.perf_counter()
            env.iterate_through_heap(HeapFilter(0), vm.find_class("Walked$Item"), callbacks)
            times.append(time.perf_counter() - start)
            env.dispose_environment()
        return min(times)

    with vm:
        found = {"visited": ours(visited), "read": ours(read), "tagged": ours(tagged)}
        found["floor"], found["floor tagged"] = floor("walk"), floor("tag")
    process.stdin.close()
    process.wait()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--jvm", default="17,25")
    parser.add_argument("--objects", type=int, default=1_000_000)
    chosen = parser.parse_args()
    jdk = jvms.distribution_jdk()
    if jdk is None:
        raise SystemExit("there is no JDK with javac; `make java` installs one")
    missed = False
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        compile_program(jdk, "Walked", directory)
        library = compile_floor("walk", directory)
        for version in chosen.jvm.split(","):
            runs = []
            for placed in PLACES:
                with placed():
                    runs.append(measure(jvms.named(version), directory, library, chosen.objects))
            found = best(runs)
            print(f"### JDK {version}, {chosen.objects:,} objects\n")
            print("| a Python function for each | time | for each object | in C++ | limit |")
            print("| --- | --- | --- | --- | --- |")
            for way, what, base, limit in (
                ("visited", "that looks at the object", "floor", 2),
                ("read", "that reads its tag too", "floor", 2),
                ("tagged", "that writes its tag", "floor tagged", 15),
            ):
                allowed = limit * chosen.objects / 1_000_000
                met = found[way] <= allowed
                missed |= not met
                each = time_of(found[way] / chosen.objects * 1e9)
                verdict = "met" if met else "**missed**"
                print(
                    f"| {what} | {found[way]:.2f} s | {each} | {found[base]:.3f} s "
                    f"| ≤ {allowed:g} s: {verdict} |"
                )
            print(flush=True)
    print(machine())
    return int(missed)


if __name__ == "__main__":
    raise SystemExit(main())
