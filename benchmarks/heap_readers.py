"""Measures the way from a dump file to the retained sizes of all objects, beside another reader.

    python benchmarks/heap_readers.py [--millions 1,10] [--longest 10] [--rounds 3]

The other reader is the heap library of the NetBeans profiler, the one in VisualVM.  Both read the
same file from memory, one after the other, in turns.  It gets a heap that is large enough, a
directory in memory for its index files, and reads a small dump first, so that its code is compiled.
Memory is the most that a process had of its own, without mapped files; its index files count.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import compiler
import heap  # the script beside this one, which finds the modules of the tests
import jvms

HERE = Path(__file__).parent
LIMITS = {10: (2.0, 20)}
"""Seconds that so many million objects may take, and how many times as long the other must."""


class Read(NamedTuple):
    """One reading: seconds and bytes; the other's may have been ended before its time."""

    seconds: float
    memory: int
    ended: bool = False


def own_memory(pid: int) -> int:
    """Bytes of a process's own memory; 0 when it has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Anonymous:"))


def files_in(directory: Path) -> int:
    """Bytes of the files in a directory, which come and go."""
    total = 0
    for path in directory.rglob("*"):
        try:
            total += path.stat().st_blocks * 512
        except OSError:
            continue
    return total


def read_by_other(command: list[str], warm: Path, path: Path, patience: float) -> Read:
    """Have the other reader read a small dump and then this one; it keeps files beside both."""
    with tempfile.TemporaryDirectory(dir=path.parent) as made:
        directory = Path(made)
        links = [directory / "warm.hprof", directory / "heap.hprof"]
        for link, target in zip(links, (warm, path), strict=True):
            link.hardlink_to(target)
        start = [f"-Djava.io.tmpdir={directory}", "NetBeans", *map(str, links)]
        with subprocess.Popen([*command, *start], stdout=subprocess.PIPE, text=True) as java:
            assert java.stdout is not None
            java.stdout.readline()
            begin = time.monotonic()
            most = 0
            while java.poll() is None:
                shared = files_in(directory) - sum(link.stat().st_blocks * 512 for link in links)
                most = max(most, own_memory(java.pid) + shared)
                if time.monotonic() - begin > patience:
                    java.kill()
                    return Read(time.monotonic() - begin, most, ended=True)
                time.sleep(0.1)
            said = java.stdout.read().split()
        if java.returncode:
            raise SystemExit(f"the other reader failed with status {java.returncode}")
        return Read(float(said[0]) + float(said[1]), most)


def measure(
    command: list[str], warm: Path, path: Path, rounds: int, patience: float
) -> tuple[list[Read], list[Read], int]:
    """Ours, the other's, and the number of objects."""
    ours, others = [], []
    memory = heap.measured(path, memory=True)
    for _ in range(rounds):
        ours.append(Read(heap.measured(path, memory=False)["total"], memory["memory"]))
        if not any(other.ended for other in others):
            others.append(read_by_other(command, warm, path, patience))
    return ours, others, memory["objects"]


def report(millions: float, ours: list[Read], others: list[Read], objects: int) -> bool:
    """Print the figures of one size; whether they are within the limits."""
    mine = statistics.median(one.seconds for one in ours)
    ended = any(one.ended for one in others)
    theirs = statistics.median(one.seconds for one in others)
    more = "> " if ended else ""
    memory = [max(one.memory for one in reads) for reads in (ours, others)]
    seconds, ratio = LIMITS.get(int(millions), (None, None))
    met = seconds is None or ratio is None or (mine <= seconds and theirs / mine >= ratio)
    limit = "" if seconds is None else f"≤ {seconds:g} s, ≤ 1/{ratio}: {'met' if met else 'missed'}"
    print(
        f"| {objects:,} | {more}{theirs / mine:,.0f} × | {mine:.2f} s, {memory[0] >> 20:,} MB | "
        f"{more}{theirs:,.1f} s, {memory[1] >> 20:,} MB | {limit} |",
        flush=True,
    )
    return met


def main() -> None:
    """Measure what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jvm", default="17")
    parser.add_argument("--millions", default="1,10")
    parser.add_argument("--longest", type=int, help="of a linked list in the heap")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--patience", type=float, default=150, help="seconds, for the other")
    parser.add_argument("--directory", default="/dev/shm")
    arguments = parser.parse_args()
    jvm = jvms.named(arguments.jvm)
    jar = jvms.INSTALLED / "netbeans" / "heap.jar"
    if jvm.missing or not jar.exists():
        raise SystemExit(jvm.missing or "the NetBeans profiler is not installed; `make java` does")
    met = True
    with tempfile.TemporaryDirectory(dir=arguments.directory) as made:
        directory = Path(made)
        classes = directory / "classes"
        compile_command = [*compiler.compile_command(11, None), "-cp", str(jar), "-d", str(classes)]
        sources = [str(HERE / "Mixed.java"), str(HERE / "NetBeans.java")]
        subprocess.run([*compile_command, *sources], check=True)
        warm = directory / "warm.hprof"
        heap.make_dump(jvm, classes, 0.05, warm, 10)
        print("| objects | faster | jvmti | NetBeans | limit |\n| --- | --- | --- | --- | --- |")
        for millions in map(float, arguments.millions.split(",")):
            path = directory / "heap.hprof"
            heap.make_dump(jvm, classes, millions, path, arguments.longest)
            command = [jvm.java, f"-Xmx{4 if millions < 5 else 8}g", "-cp", f"{jar}:{classes}"]
            read = measure(command, warm, path, arguments.rounds, arguments.patience)
            met &= report(millions, *read)
            path.unlink()
    sys.exit(0 if met else 1)


if __name__ == "__main__":
    main()
