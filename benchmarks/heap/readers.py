"""Measures the way from a dump file to the retained sizes of all objects, beside other readers.

    python benchmarks/heap/readers.py [--millions 1,10] [--longest 10] [--shark DIRECTORY]

The others are the heap library of the NetBeans profiler, the one in VisualVM, and Shark, that of
LeakCanary, where a directory has its jars.  All read the same file from memory, one after the
other.  The others get a heap that is large enough, a directory in memory for their index files, and
read a small dump first, so that their code is compiled.  Memory is the most that a process had of
its own, without mapped files; index files count.
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

import dumps  # the script beside this one, which finds the modules of the tests

# isort: split
import compiler
import jvms

BENCHMARKS = Path(__file__).parents[1]
PROGRAMS = BENCHMARKS / "java"
LIMITS = {10: (2.0, 20)}
"""Seconds that so many million objects may take, and how many times as long the others must."""


class Options(NamedTuple):
    """How often this package reads, and for how many seconds another may."""

    rounds: int
    patience: float


class Read(NamedTuple):
    """One reading: seconds and bytes; another's may have been ended before its time."""

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
    """Have another reader read a small dump and then this one; it may keep files beside both."""
    with tempfile.TemporaryDirectory(dir=path.parent) as made:
        directory = Path(made)
        links = [directory / "warm.hprof", directory / "heap.hprof"]
        for link, target in zip(links, (warm, path), strict=True):
            link.hardlink_to(target)
        start = [f"-Djava.io.tmpdir={directory}", *command[1:], *map(str, links)]
        with subprocess.Popen([command[0], *start], stdout=subprocess.PIPE, text=True) as java:
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
            raise SystemExit(f"{' '.join(command)} failed with status {java.returncode}")
        return Read(float(said[0]) + float(said[1]), most)


def report(
    millions: float, others: dict[str, list[str]], files: tuple[Path, Path], options: Options
) -> bool:
    """Measure one size and print it; whether that is within the limits."""
    warm, path = files
    watched = dumps.measured(path, memory=True)
    mine = statistics.median(
        dumps.measured(path, memory=False)["total"] for _ in range(options.rounds)
    )
    cells = [f"{watched['objects']:,}", f"{mine:.2f} s, {watched['memory'] >> 20:,} MB"]
    best = float("inf")
    for command in others.values():
        read = read_by_other(command, warm, path, options.patience)
        best = min(best, read.seconds)
        more = "> " if read.ended else ""
        cells.append(f"{more}{read.seconds:,.1f} s, {more}{read.memory >> 20:,} MB")
        cells.append(f"{more}{read.seconds / mine:,.0f} ×")
    seconds, ratio = LIMITS.get(int(millions), (None, None))
    met = seconds is None or ratio is None or (mine <= seconds and best / mine >= ratio)
    if seconds is not None:
        cells.append(f"≤ {seconds:g} s, ≤ 1/{ratio}: {'met' if met else 'missed'}")
    print("| " + " | ".join(cells) + " |", flush=True)
    return met


def main() -> None:
    """Measure what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jvm", default="17")
    parser.add_argument("--millions", default="1,10")
    parser.add_argument("--longest", type=int, help="of a linked list in the heap")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--patience", type=float, default=150, help="seconds, for another")
    parser.add_argument("--shark", type=Path, help="directory with com.squareup.leakcanary:shark")
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
        rivals = {"NetBeans": str(jar)}
        if arguments.shark:
            rivals["Shark"] = f"{arguments.shark.absolute()}/*"
        path_of = ["-cp", ":".join([*rivals.values(), str(classes)])]
        sources = [str(PROGRAMS / f"{name}.java") for name in ("Mixed", *rivals)]
        compile_command = [*compiler.compile_command(11, None), *path_of, "-d", str(classes)]
        subprocess.run([*compile_command, *sources], check=True)
        warm, path = directory / "warm.hprof", directory / "heap.hprof"
        dumps.make_dump(jvm, classes, 0.02, warm, 10)
        print(
            "| objects | jvmti | " + " | ".join(f"{one} | longer" for one in rivals) + " | limit |"
        )
        print("| --- " * (3 + 2 * len(rivals)) + "|")
        for millions in map(float, arguments.millions.split(",")):
            dumps.make_dump(jvm, classes, millions, path, arguments.longest)
            room = f"-Xmx{4 if millions < 5 else 10}g"
            others = {name: [jvm.java, room, *path_of, name] for name in rivals}
            options = Options(arguments.rounds, arguments.patience)
            met &= report(millions, others, (warm, path), options)
            path.unlink()
    sys.exit(0 if met else 1)


if __name__ == "__main__":
    main()
