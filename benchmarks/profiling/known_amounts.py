"""What profiles say of amounts that programs know of themselves, as a part of these.

`accuracy.py --only amounts` prints the tables.
"""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from run import piped

import jvms
import jvmti
from real_programs import jdk

ROOT = Path(__file__).parents[2]
ALLOCATED = {4 << 10: 600_000, 64 << 10: 3_000_000, 512 << 10: 8_000_000}
"""How many small objects are allocated, by the interval: so many that their samples vary by chance
by less than one in a hundred."""
RUNS = 3
WAITS = 4000
"""Milliseconds of each run with locks."""
VIRTUAL = 10_000
WATCHED = 10.0
"""Seconds that these are watched."""
REQUESTS = 150
"""Rounds."""


class Asked:
    """A program that answers each line with one."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.pid = process.pid
        self._line()

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise EOFError("the program has ended")
        return line

    def ask(self, line: str) -> list[str]:
        """The words of an answer behind the first."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        return self._line().split()[1:]


@contextmanager
def asked(jvm: jvms.Jvm, folder: Path, program: str, *flags: str) -> Iterator[Asked]:
    """A program of the tests' at work."""
    subprocess.run(
        [jdk() / "bin" / "javac", "-nowarn", "-g", "-source", "11", "-target", "11"]
        + ["-d", folder, ROOT / "tests" / "java" / f"{program}.java"],
        check=True,
        stderr=subprocess.DEVNULL,
    )
    command = [jvm.java, *jvm.args, "-Xmx256m", *flags, "-cp", str(folder), program]
    with piped(command) as process:
        yield Asked(process)


def row(jvm: jvms.Jvm, what: str, parts: list[float], samples: float) -> None:
    """Print one: the median, and the lowest and the highest."""
    middle = statistics.median(parts)
    print(
        f"| {jvm.feature} | {what} | {middle:.3f} | {min(parts):.3f} to {max(parts):.3f} | "
        f"{samples:,.0f} |",
        flush=True,
    )


def allocations(jvm: jvms.Jvm, folder: Path) -> None:
    """Objects of two sizes at two places."""
    with asked(jvm, folder, "Sites") as sites, jvmti.attach(sites.pid, timeout=30) as vm:
        sites.ask("allocate 200000")
        for interval, count in ALLOCATED.items():
            found: dict[str, list[tuple[float, int]]] = {"small": [], "large": []}
            for _ in range(RUNS):
                with vm.profile("alloc", interval=interval) as profile:
                    known = map(int, sites.ask(f"allocate {count}"))
                for (name, runs), number in zip(found.items(), known, strict=True):
                    part = profile.with_frame(f"Sites.{name}")
                    runs.append((part.weight / number, len(part)))
            for name, runs in found.items():
                size = {"small": "1,000", "large": "8,000"}[name]
                what = f"objects of {size} bytes, each {interval >> 10} KB"
                parts, samples = zip(*runs, strict=True)
                row(jvm, what, list(parts), statistics.fmean(samples))


def waits(jvm: jvms.Jvm, folder: Path) -> None:
    """Waits of a millisecond and of half a second, for monitors and for other locks."""
    with asked(jvm, folder, "FrequentWaits") as program:
        with jvmti.attach(program.pid, timeout=30) as vm:
            for kind, lock in (("monitor", "monitors"), ("lock", "`ReentrantLock`")):
                found: dict[str, list[tuple[float, int]]] = {"short": [], "long": []}
                for _ in range(RUNS):
                    with vm.profile("lock") as profile:
                        _, *known = map(int, program.ask(f"{kind} {WAITS}"))
                    for (name, runs), number in zip(found.items(), known, strict=True):
                        part = profile.by("thread")[f"{name} waiter"]
                        runs.append((part.weight / number, len(part)))
                for name, runs in found.items():
                    parts, samples = zip(*runs, strict=True)
                    row(jvm, f"{name} waits for {lock}", list(parts), statistics.fmean(samples))


def virtual(jvm: jvms.Jvm, folder: Path) -> None:
    """Virtual threads that wait in two places."""
    with asked(jvm, folder, "Waiting") as program, jvmti.attach(program.pid, timeout=30) as vm:
        program.ask(f"virtual {VIRTUAL}")
        found: dict[str, list[float]] = {"virtualSleep": [], "virtualAwait": [], "all": []}
        samples = []
        for _ in range(RUNS):
            with vm.profile("wall") as profile:
                time.sleep(WATCHED)
            (limits,) = profile.limits
            whole = VIRTUAL * limits.duration * 1e9
            part = profile.where([profile.threads[n].virtual for n in profile.samples.thread])
            samples.append(len(part))
            found["all"].append(part.weight / whole)
            for name, share in (("virtualSleep", 0.25), ("virtualAwait", 0.75)):
                found[name].append(part.with_frame(f"Waiting.{name}").weight / whole / share)
        for name, parts in found.items():
            what = {
                "virtualSleep": "2,500 virtual threads that sleep",
                "virtualAwait": "7,500 that wait for a latch",
                "all": "all 10,000 together",
            }[name]
            row(jvm, what, parts, statistics.fmean(samples))


def requests(jvm: jvms.Jvm, folder: Path) -> None:
    """Processor time of requests, by a value that names them."""
    with asked(jvm, folder, "Serving") as program, jvmti.attach(program.pid, timeout=30) as vm:
        program.ask("serve 20")
        found: dict[str, list[tuple[float, int]]] = {}
        for _ in range(RUNS):
            with vm.profile("cpu", interval=0.001, by="Serving.handle(request).path") as profile:
                words = program.ask(f"serve {REQUESTS}")
            known = {path: int(used) for path, used in zip(words[::2], words[1::2], strict=True)}
            profile = profile.with_frame("Serving.serve")
            parts = profile.by("label")
            for path in ("/order", "/search", "/broken"):
                share = known[path] / sum(known.values())
                part = parts[path]
                found.setdefault(path, []).append((part.weight / profile.weight / share, len(part)))
        for path, runs in found.items():
            values, samples = zip(*runs, strict=True)
            what = f"processor time of requests for `{path}`, as a share"
            row(jvm, what, list(values), statistics.fmean(samples))


def amounts(jvm: jvms.Jvm, folder: Path) -> None:
    """Print the rows of one JVM."""
    print(f"\n### JDK {jvm.feature}: of what the program knows\n")
    print("| | | of the truth | of three runs | samples |\n| --- | --- | --- | --- | --- |")
    allocations(jvm, folder)
    waits(jvm, folder)
    if jvm.feature >= 21:
        virtual(jvm, folder)
    requests(jvm, folder)


__all__ = ["allocations", "amounts"]
