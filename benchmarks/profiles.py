"""Compares profiles with async-profiler's, and with what programs know of themselves.

    python benchmarks/profiles.py [--jvm 11,17,21,25] [--seconds 4] [--only shares,ecj,spark]

The first part is a program that measures the processor time of its parts, on a platform thread and
on a virtual one: the table has the total variation distance of each profile from these, in
percentage points, beside what the noise of as many samples has on average. The others are the
Eclipse compiler at work, and a Spark job (``make .venv/.spark``), whose driver and executors are
one profile: how many of the ten hottest methods are the same, and the distance of the two profiles
from each other, beside that of two of one kind.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT / "tests"), str(ROOT / "scripts")]

from run import machine  # noqa: E402

import jvms  # noqa: E402
import jvmti  # noqa: E402
from async_profiler import AsyncProfiler  # noqa: E402
from profiling.shares import error, noise, parsed  # noqa: E402
from real_programs import jdk, jvm_below  # noqa: E402

INTERVAL = 0.001
WARM = 3.0
REPEATS = 3
TEN = 10
SPARK_JOBS = 3
"""Before the first profile."""

Taker = Callable[[], AbstractContextManager[list[Any]]]


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


def shares(jvm: jvms.Jvm, folder: Path, classes: Path, seconds: float, jfr: bool) -> None:
    """Print the distances from the truth."""
    rows: dict[tuple[str, str], list[tuple[float, float]]] = {}
    with known_shares(jvm, classes) as (pid, ask), jvmti.attach(pid, timeout=30) as vm:
        vm.profile("cpu").stop()  # compiles anew what must be
        ask(f"mixed {WARM}")
        peer = AsyncProfiler(vm, folder)
        programs = ["mixed", "virtual"] if jvm.feature >= 21 else ["mixed"]
        for program in [*programs] * REPEATS:
            takers = {"jvmti": ours(vm), "async-profiler": beside(peer)}
            if jfr:
                takers["JFR"] = recorded(vm)
            for name, taken in takers.items():
                with taken as found:
                    known = parsed(ask(f"{program} {seconds}"))
                (profile,) = found
                # Collapsed stacks have no threads; only one thread is in this method.
                profile = profile.with_frame("Profiled.turns")
                samples = sum(known.values()) / (0.01 if name == "JFR" else INTERVAL) / 1e9
                if name == "jvmti":
                    samples = len(profile)
                distances = rows.setdefault((program, name), [])
                distances.append((error(profile, known), noise(known, round(samples))))
    print(f"\n### JDK {jvm.feature}: distance from the truth\n")
    print("| | | percentage points | noise | ratio |\n| --- | --- | --- | --- | --- |")
    for (program, name), found_ in rows.items():
        mine = statistics.median(one[0] for one in found_)
        by_chance = statistics.median(one[1] for one in found_)
        ratio = mine / by_chance
        print(f"| {program} | {name} | {mine:.2f} | {by_chance:.2f} | {ratio:.2f} |", flush=True)


@contextmanager
def compiler(jvm: jvms.Jvm) -> Iterator[list[int]]:
    """The Eclipse compiler, at work; the process ids of its JVMs."""
    ecj = ROOT / ".jvms" / "ecj" / "ecj.jar"
    sources = sorted(str(one) for one in (ROOT / "tests" / "java").glob("*.java"))
    command = [jvm.java, *jvm.args, "-Xmx512m", "-jar", str(ecj), "-source", "17", "-target", "17"]
    command += ["-nowarn", "-proceedOnError", "-d", "none", "-repeat", "1000", *sources]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            time.sleep(3 * WARM)
            yield [process.pid]
        finally:
            process.kill()


JOBS = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local-cluster[2,1,1024]").appName("jobs").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
while True:
    rows = spark.range(2_000_000).selectExpr("id % 1000 as k", "id * 3 as v")
    rows.join(rows.groupBy("k").count(), "k").groupBy("k").sum("v").orderBy("k").collect()
    print("job", flush=True)
"""


@contextmanager
def spark(jvm: jvms.Jvm) -> Iterator[list[int]]:
    """A PySpark job that repeats; the process ids of its driver's JVM and of its executors'."""
    process = subprocess.Popen(
        [sys.executable, "-c", JOBS],
        env={**os.environ, "JAVA_HOME": str(jdk())},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        for _ in range(SPARK_JOBS):
            if not process.stdout.readline():
                raise EOFError("Spark has ended")
        # Its own output may not fill the pipe.
        threading.Thread(target=process.stdout.read, daemon=True).start()
        executors = [one for one in jvmti.processes() if one.main.endswith("ExecutorBackend")]
        yield [jvm_below(process.pid, "SparkSubmit"), *(one.pid for one in executors)]
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def agreement(title: str, pids: list[int], folder: Path, seconds: float, pattern: str) -> None:
    """Print how far profiles of some JVMs, taken together, agree with async-profiler's."""
    found: dict[str, list[dict[str, float]]] = {"jvmti": [], "async-profiler": []}
    with ExitStack() as attached:
        vms = [attached.enter_context(jvmti.attach(pid, timeout=60)) for pid in pids]
        peers = [AsyncProfiler(vm, folder) for vm in vms]
        for vm in vms:
            vm.profile("cpu").stop()
        time.sleep(WARM)
        takers: dict[str, list[Taker]] = {
            "jvmti": [partial(ours, vm) for vm in vms],
            "async-profiler": [partial(beside, peer) for peer in peers],
        }
        for name, all_ in [*takers.items()] * 2:
            with ExitStack() as taken:
                lists = [taken.enter_context(taker()) for taker in all_]
                time.sleep(seconds)
            first, *others = [profile for (profile,) in lists]
            whole = first.merge(*others) if others else first
            found[name].append(own_shares(whole.with_frame(pattern)))
    mine, theirs = found["jvmti"], found["async-profiler"]
    print(f"\n### {title}\n")
    print("| | of the ten hottest methods are the same | distance |\n| --- | --- | --- |")
    for name, one, other in (
        ("jvmti and async-profiler", mine[0], theirs[0]),
        ("async-profiler twice", *theirs),
        ("jvmti twice", *mine),
    ):
        same = len(set(hottest(one)) & set(hottest(other)))
        print(f"| {name} | {same} | {apart(one, other):.1f} |")
    for name, one, other in (
        ("jvmti", mine[0], theirs[0]),
        ("async-profiler", theirs[0], mine[0]),
    ):
        for method in hottest(one):
            if method not in hottest(other):
                print(
                    f"only in the ten of {name}: {method} {one[method]:.2%}, "
                    f"there {other.get(method, 0):.2%}"
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
    """Run the parts on each JVM."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jvm", default="11,17,21,25", help="which JVMs")
    parser.add_argument("--only", default="shares,ecj", help="which parts: shares, ecj, spark")
    parser.add_argument("--jfr", action="store_true", help="Flight Recorder, too")
    parser.add_argument("--seconds", type=float, default=4.0, help="of each profile")
    given = parser.parse_args()
    parts = given.only.split(",")
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
            if "shares" in parts:
                shares(jvm, classes, classes, given.seconds, given.jfr)
            for name, program, title, pattern in (
                ("ecj", compiler, "the Eclipse compiler", "org.eclipse.jdt.*"),
                ("spark", spark, "a Spark job, its driver and two executors", "*"),
            ):
                if name in parts:
                    with program(jvm) as pids:
                        heading = f"JDK {jvm.feature}: {title}"
                        agreement(heading, pids, classes, given.seconds, pattern)
    return 0


if __name__ == "__main__":
    sys.exit(main())
