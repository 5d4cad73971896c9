"""Measures how long a dump file takes to become a snapshot with retained sizes.

    python benchmarks/heap/dumps.py [--jvm 17] [--millions 1,10] [--rounds 3] [--directory /dev/shm]

starts Mixed.java with so many objects, has the JVM dump it, and reads the dump in fresh
processes, the file being in the page cache.  Memory is the most that a process had of its own:
the mapped file does not count, for it can be given up at any time.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).parents[1]
PROGRAMS = BENCHMARKS / "java"
ROOT = BENCHMARKS.parent
sys.path.insert(0, str(ROOT / "tests"))

import jvms  # noqa: E402

LIMITS = {1: None, 10: 2.0, 50: 15.0}
"""Seconds that so many million objects may take."""


def make_dump(
    jvm: jvms.Jvm, classes: Path, millions: float, path: Path, longest: int | None = None
) -> float:
    """Run the program and dump its heap; the seconds that the dump took.

    No linked list in it is longer than `longest`, where that is given.
    """
    from jvmti.target import hotspot
    from jvmti.target.processes import search

    # About 60 bytes of heap an object, and as much again for the collector.
    heap = f"-Xmx{max(1, int(millions) * 150 // 1000 + 1)}g"
    command = [jvm.java, *jvm.args, heap, "-XX:+UseParallelGC", "-cp", str(classes), "Mixed"]
    counts = [str(int(millions * 1_000_000)), *([] if longest is None else [str(longest)])]
    program = subprocess.Popen([*command, *counts], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert program.stdout is not None
    assert program.stdin is not None
    try:
        assert program.stdout.readline().startswith(b"ready")
        begin = time.monotonic()
        said = hotspot.command(
            search.inspect(program.pid), "dumpheap", str(path), "-all", timeout=300
        )
        assert path.exists(), said
        return time.monotonic() - begin
    finally:
        program.stdin.close()
        program.wait(60)


def private_memory() -> int:
    """Bytes of the process's own memory, without what is mapped of files."""
    total = 0
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines():
        if line.startswith("Anonymous:"):
            total = int(line.split()[1]) << 10
    return total


def measure(path: str) -> dict[str, Any]:
    """Read a dump once; in a process of its own."""
    most = 0
    done = threading.Event()

    def watch() -> None:
        nonlocal most
        while not done.wait(0.01):
            most = max(most, private_memory())

    import jvmti.heap

    base = private_memory()
    watcher = threading.Thread(target=watch)
    if os.environ.get("JVMTI_BENCH_MEMORY"):
        watcher.start()
    times: dict[str, float] = {}
    begin = at = time.perf_counter()

    def lap(name: str) -> None:
        nonlocal at
        now = time.perf_counter()
        times[name] = now - at
        at = now

    snapshot = jvmti.heap.open(path)
    lap("records, classes, references")
    tree = snapshot.dominators()
    lap("dominators and retained sizes")
    total = at - begin
    done.set()
    if watcher.is_alive():
        watcher.join()
    most = max(most, private_memory())
    at = time.perf_counter()
    orders = snapshot.objects("Mixed$Order")
    lap("objects of a class")
    customers = orders["customer"]
    lap("follow a field")
    customers["name"].present()[:100_000].strings()
    lap("100,000 strings")
    snapshot.paths_to_roots(orders)
    lap("merged paths to roots of a class")
    snapshot.retained_size(orders)
    lap("retained size of a class, exact")
    snapshot.histogram(retained=True)
    lap("histogram with retained sizes")
    summary = snapshot._dump.summary
    return {
        "total": total,
        "times": times,
        "memory": most - base,
        "objects": int(summary.objects),
        "references": int(summary.references),
        "retained": tree.total,
    }


def measured(path: Path, *, memory: bool) -> dict[str, Any]:
    """The measurements of a fresh process."""
    environment = {**os.environ, "JVMTI_BENCH_MEMORY": "1" if memory else ""}
    done = subprocess.run(
        [sys.executable, __file__, "--measure", str(path)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def report(millions: int, size: int, dumped: float, path: Path, rounds: int) -> None:
    """Measure some rounds and print them."""
    runs = [measured(path, memory=False) for _ in range(rounds)]
    watched = measured(path, memory=True)
    objects, references = runs[0]["objects"], runs[0]["references"]
    allowed = 40 + 16 * references / objects
    total = statistics.median(run["total"] for run in runs)
    limit = LIMITS.get(millions)
    print(f"\n{objects:,} objects, {references:,} references, {size / 1e6:,.0f} MB of dump")
    print(f"  {'dump, by the JVM':40} {dumped:8.3f} s")
    for name in runs[0]["times"]:
        print(f"  {name:40} {statistics.median(run['times'][name] for run in runs):8.3f} s")
    print(f"  {'file to retained sizes':40} {total:8.3f} s" + (f"  (≤ {limit} s)" if limit else ""))
    print(
        f"  {'memory of its own, at most':40} {watched['memory'] / objects:8.1f} bytes an object"
        f"  (≤ {allowed:.1f})",
        flush=True,
    )


def main() -> None:
    """Measure what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jvm", default="17")
    parser.add_argument("--millions", default="1,10")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--directory", default="/dev/shm")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(arguments.measure)))
        return
    jvm = jvms.named(arguments.jvm)
    if jvm.missing:
        raise SystemExit(jvm.missing)
    import compiler

    with tempfile.TemporaryDirectory(dir=arguments.directory) as directory:
        classes = Path(directory) / "classes"
        compile_command = compiler.compile_command(11, None)
        subprocess.run(
            [*compile_command, "-d", str(classes), str(PROGRAMS / "Mixed.java")],
            check=True,
        )
        for millions in map(int, arguments.millions.split(",")):
            path = Path(directory) / "heap.hprof"
            dumped = make_dump(jvm, classes, millions, path)
            report(millions, path.stat().st_size, dumped, path, arguments.rounds)
            path.unlink()


if __name__ == "__main__":
    main()
