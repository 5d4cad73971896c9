"""Compares profiles with async-profiler's, and with what programs know of themselves.

    python benchmarks/profiles.py [--jvm 17,25] [--seconds 4]

The first part is a program that measures the processor time of its parts: the table has the total
variation distance of each profile from these, in percentage points, beside what the noise of as
many samples has on average. The second part is the Eclipse compiler at work: how many of the ten
hottest methods are the same, and the distance of the two profiles from each other, beside that of
two of one kind.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT / "tests"), str(ROOT / "scripts")]

from run import machine  # noqa: E402

import jvms  # noqa: E402
import jvmti  # noqa: E402
from async_profiler import AsyncProfiler  # noqa: E402
from profiling.shares import error, noise, of_thread, parsed  # noqa: E402
from real_programs import jdk  # noqa: E402

INTERVAL = 0.001
WARM = 3.0
REPEATS = 3
TEN = 10


@contextmanager
def beside(peer: AsyncProfiler) -> Iterator[list[Any]]:
    """A block that async-profiler profiles; then the list has the profile."""
    found: list[Any] = []
    peer.start(f"event=cpu,interval={round(INTERVAL * 1e9)}")
    yield found
    found.append(peer.stop())


@contextmanager
def recorded(vm: jvmti.VM) -> Iterator[list[Any]]:
    """A block that Flight Recorder records, at the shortest interval that it has."""
    found: list[Any] = []
    intervals = {"interval": 0.01} if vm.version.major >= 17 else {}
    with vm.profile("cpu", source="jfr", **intervals) as profile:
        yield found
    found.append(profile)


@contextmanager
def ours(vm: jvmti.VM) -> Iterator[list[Any]]:
    """A block that this package profiles; then the list has the profile."""
    found: list[Any] = []
    with vm.profile("cpu", interval=INTERVAL) as profile:
        yield found
    found.append(profile)


@contextmanager
def known_shares(jvm: jvms.Jvm, classes: Path) -> Iterator[tuple[int, Callable[[str], str]]]:
    """The program that measures itself, and how to ask it."""
    command = [jvm.java, *jvm.args, "-Xmx256m", "-cp", str(classes), "Profiled"]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        stdin, stdout = process.stdin, process.stdout

        def ask(line: str) -> str:
            stdin.write(f"{line}\n")
            stdin.flush()
            # async-profiler prints, too.
            while not (answer := stdout.readline()).startswith("loop="):
                if not answer:
                    raise EOFError("the program has ended")
            return answer

        assert stdout.readline() == "ready\n"
        try:
            yield process.pid, ask
        finally:
            process.kill()


def shares(jvm: jvms.Jvm, folder: Path, classes: Path, seconds: float) -> None:
    """Print the distances from the truth."""
    rows: dict[str, list[tuple[float, float]]] = {"jvmti": [], "async-profiler": [], "JFR": []}
    with known_shares(jvm, classes) as (pid, ask), jvmti.attach(pid, timeout=30) as vm:
        vm.profile("cpu").stop()  # compiles anew what must be
        ask(f"mixed {WARM}")
        peer = AsyncProfiler(vm, folder)
        for _ in range(REPEATS):
            for name, taken in (
                ("jvmti", ours(vm)),
                ("async-profiler", beside(peer)),
                ("JFR", recorded(vm)),
            ):
                with taken as found:
                    known = parsed(ask(f"mixed {seconds}"))
                (profile,) = found
                # Collapsed stacks have no threads; only the main one is in this method.
                if name == "async-profiler":
                    profile = profile.with_frame("Profiled.mixed")
                else:
                    profile = of_thread(profile, "main")
                samples = sum(known.values()) / (0.01 if name == "JFR" else INTERVAL) / 1e9
                rows[name].append((error(profile, known), noise(known, round(samples))))
    print(f"\n### JDK {jvm.feature}: distance from the truth\n")
    print("| | percentage points | noise |\n| --- | --- | --- |")
    for name, found_ in rows.items():
        mine = statistics.median(one[0] for one in found_)
        print(f"| {name} | {mine:.2f} | {statistics.median(one[1] for one in found_):.2f} |")


def compiler_at_work(jvm: jvms.Jvm, folder: Path, seconds: float) -> None:
    """Print how far profiles of the Eclipse compiler agree."""
    ecj = ROOT / ".jvms" / "ecj" / "ecj.jar"
    sources = sorted(str(one) for one in (ROOT / "tests" / "java").glob("*.java"))
    command = [jvm.java, *jvm.args, "-Xmx512m", "-jar", str(ecj), "-source", "17", "-target", "17"]
    command += ["-nowarn", "-proceedOnError", "-d", "none", "-repeat", "1000", *sources]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            time.sleep(3 * WARM)
            with jvmti.attach(process.pid, timeout=30) as vm:
                vm.profile("cpu").stop()
                time.sleep(WARM)
                peer = AsyncProfiler(vm, folder)
                found: dict[str, list[dict[str, float]]] = {"jvmti": [], "async-profiler": []}
                for _ in range(2):
                    for name, taken in (("jvmti", ours(vm)), ("async-profiler", beside(peer))):
                        with taken as profiles:
                            time.sleep(seconds)
                        profile = profiles[0].with_frame("org.eclipse.jdt.*")
                        found[name].append(own_shares(profile))
        finally:
            process.kill()
    mine, theirs = found["jvmti"], found["async-profiler"]
    same = len(set(hottest(mine[0])) & set(hottest(theirs[0])))
    again = len(set(hottest(theirs[0])) & set(hottest(theirs[1])))
    print(f"\n### JDK {jvm.feature}: the Eclipse compiler\n")
    print("| | of the ten hottest methods are the same | distance |\n| --- | --- | --- |")
    print(f"| jvmti and async-profiler | {same} | {apart(mine[0], theirs[0]):.1f} |")
    print(f"| async-profiler twice | {again} | {apart(*theirs):.1f} |")
    print(
        f"| jvmti twice | {len(set(hottest(mine[0])) & set(hottest(mine[1])))} "
        f"| {apart(*mine):.1f} |"
    )
    for title, one, other in (
        ("jvmti", mine[0], theirs[0]),
        ("async-profiler", theirs[0], mine[0]),
    ):
        for name in hottest(one):
            if name not in hottest(other):
                print(
                    f"only in the ten of {title}: {name} {one[name]:.2%}, "
                    f"there {other.get(name, 0):.2%}"
                )


def own_shares(profile: Any) -> dict[str, float]:
    """The part of each Java method; what it calls outside of Java is its own."""
    found: dict[str, float] = {}
    java = [bool(name) for name in profile.frames.class_name]
    names = profile.frames.names()
    for stack, weight in enumerate(profile.stack_weights.tolist()):
        if not weight:
            continue
        row = next((one for one in profile.stacks[stack].tolist() if java[one]), None)
        name = "?" if row is None else names[row]
        found[name] = found.get(name, 0) + weight / profile.weight
    return found


def hottest(found: dict[str, float]) -> list[str]:
    """The ten methods with the largest parts."""
    return sorted(found, key=lambda name: -found[name])[:TEN]


def apart(one: dict[str, float], other: dict[str, float]) -> float:
    """The total variation distance, in percentage points."""
    return 50 * sum(
        abs(one.get(name, 0) - other.get(name, 0)) for name in one.keys() | other.keys()
    )


def main() -> int:
    """Run both parts on each JVM."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jvm", default="17,25", help="which JVMs")
    parser.add_argument("--seconds", type=float, default=4.0, help="of each profile")
    given = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as name:
        classes = Path(name)
        source = ROOT / "tests" / "java" / "Profiled.java"
        subprocess.run(
            [jdk() / "bin" / "javac", "-nowarn", "-g", "-source", "11", "-target", "11"]
            + ["-d", classes, source],
            check=True,
            stderr=subprocess.DEVNULL,
        )
        for wanted in given.jvm.split(","):
            jvm = jvms.named(wanted)
            shares(jvm, classes, classes, given.seconds)
            compiler_at_work(jvm, classes, given.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
