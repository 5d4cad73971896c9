"""Compares profiles with async-profiler's, and with what programs know of themselves.

    python benchmarks/profiling/accuracy.py [--jvm 11,17] [--only shares,amounts,ecj,h2,…]

The first part is a program that measures the processor time of its parts, on a platform thread and
on a virtual one: the table has the total variation distance of each profile from these, in
percentage points, beside what the noise of as many samples has on average. The second is programs
that count what they allocate, how long they wait, and what requests take. The others are the
Eclipse compiler at work, the database H2, the mock server WireMock (``wiremock``), and a Spark job
(``make .venv/.spark``), whose driver and executors are one profile: how many of the ten hottest
methods are the same, and the distance of the two profiles from each other, beside that of two of
one kind.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

BENCHMARKS = Path(__file__).parents[1]
ROOT = BENCHMARKS.parent
sys.path[:0] = [str(BENCHMARKS), str(ROOT / "tests"), str(ROOT / "scripts")]

import known_amounts  # noqa: E402
import numpy  # noqa: E402
from run import compile_program, machine, piped  # noqa: E402

import jars  # noqa: E402
import jvms  # noqa: E402
import jvmti  # noqa: E402
import maven  # noqa: E402
from async_profiler import AsyncProfiler  # noqa: E402
from jvmti.profile import FrameKind  # noqa: E402
from profiling.shares import error, noise, parsed  # noqa: E402
from real_programs import jdk, jvm_below  # noqa: E402

INTERVAL = 0.001
WARM = 3.0
REPEATS = 3
TEN = 10
WIREMOCK = "org.wiremock:wiremock-standalone:3.9.2"
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
    with piped(command) as process:
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
        yield process.pid, ask


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
    ecj = jars.eclipse_compiler(jvm)
    database, sources = jars.with_sources(jars.DATABASE)
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(sources) as archive:
            archive.extractall(folder)
        command = [jvm.java, *jvm.args, "-Xmx512m", "-jar", str(ecj), "-source", "11"]
        command += ["-target", "11", "-nowarn", "-proceedOnError", "-d", "none"]
        command += ["-cp", str(database), "-repeat", "1000", folder]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with subprocess.Popen(command, **quiet) as process:
            try:
                time.sleep(3 * WARM)
                yield [process.pid]
            finally:
                process.kill()


PATHS = {"/short": "short", "/long": "{{request.path}} {{randomValue length=2000}}"}
"""What WireMock answers; the second is a template."""


@contextmanager
def mock_server(jvm: jvms.Jvm) -> Iterator[list[int]]:
    """The mock server WireMock, which another JVM asks; the process id of the server's."""
    (jar,) = maven.fetched([WIREMOCK], ROOT / "build" / "jars")
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    server = [jvm.java, *jvm.args, "-Xmx512m", "-jar", str(jar), "--port", str(port)]
    server += ["--max-request-journal-entries", "1000", "--disable-banner"]
    with tempfile.TemporaryDirectory() as folder, ExitStack() as running:
        compile_program(jdk(), "Asking", Path(folder))
        started = running.enter_context(subprocess.Popen([*server, "--root-dir", folder]))
        running.callback(started.kill)
        for path, body in PATHS.items():
            answer = {"body": body, "transformers": ["response-template"]}
            mapping = {"request": {"urlPath": path}, "response": answer}
            asked = Request(
                f"http://localhost:{port}/__admin/mappings", json.dumps(mapping).encode()
            )
            for _ in range(100):
                with suppress(OSError):  # until it listens
                    urlopen(asked).close()
                    break
                time.sleep(0.3)
            else:
                raise EOFError("WireMock does not answer")
        addresses = [f"http://localhost:{port}{path}" for path in PATHS]
        asking = [jvm.java, *jvm.args, "-Xmx128m", "-cp", folder, "Asking", *addresses]
        running.callback(running.enter_context(subprocess.Popen(asking)).kill)
        time.sleep(3 * WARM)
        yield [started.pid]


@contextmanager
def database(jvm: jvms.Jvm) -> Iterator[list[int]]:
    """The database H2, which two threads use; the process id of its JVM."""
    (jar,) = jars.fetched(jars.DATABASE)
    with tempfile.TemporaryDirectory() as folder:
        compile_program(jdk(), "Queried", Path(folder))
        command = [jvm.java, *jvm.args, "-Xmx512m", "-cp", f"{jar}:{folder}", "Queried"]
        with subprocess.Popen([*command, "jdbc:h2:mem:orders"]) as process:
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
        env={**os.environ, "JAVA_HOME": str(jvms.home_for_spark(jvm))},
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


class Windows:
    """What the methods of a program had in each of many short profiles of one profiler."""

    def __init__(self) -> None:
        self._found: list[Counter[str]] = []

    def add(self, profiles: list[Any], pattern: str) -> None:
        """One more window, of some JVMs together."""
        found: Counter[str] = Counter()
        for profile in profiles:
            add_own_weights(found, profile.with_frame(pattern))
        self._found.append(found)

    def half(self, which: int) -> Windows:
        """Every other window."""
        made = Windows()
        made._found = self._found[which::2]
        return made

    def shares(self) -> dict[str, float]:
        """The part of each method."""
        whole = sum(self._found, Counter())
        return {name: weight / whole.total() for name, weight in whole.items()}

    def error(self, method: str) -> float:
        """The standard error of the part of a method, by how much it differs among windows."""
        totals = [one.total() for one in self._found]
        share = self.shares().get(method, 0.0)
        rests = [
            one[method] - share * total for one, total in zip(self._found, totals, strict=True)
        ]
        return math.sqrt(sum(rest * rest for rest in rests)) / sum(totals)


def agreement(title: str, pids: list[int], folder: Path, given: argparse.Namespace) -> None:
    """Print how far profiles of some JVMs, taken together, agree with async-profiler's.

    The profilers take turns in short windows, so that both see all stages of the work.
    """
    found = {"jvmti": Windows(), "async-profiler": Windows()}
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
        for _ in range(given.windows):
            for name, all_ in takers.items():
                with ExitStack() as taken:
                    lists = [taken.enter_context(taker()) for taker in all_]
                    time.sleep(given.window)
                found[name].add([profile for (profile,) in lists], given.pattern)
    mine, theirs = found["jvmti"], found["async-profiler"]
    print(f"\n### {title}\n")
    print("| | of the ten hottest methods are the same | distance |\n| --- | --- | --- |")
    rows = {
        "jvmti and async-profiler": [(mine, theirs)],
        "the same of halves": [(mine.half(n), theirs.half(m)) for n in (0, 1) for m in (0, 1)],
        "async-profiler twice, of halves": [(theirs.half(0), theirs.half(1))],
        "jvmti twice, of halves": [(mine.half(0), mine.half(1))],
    }
    for name, pairs in rows.items():
        shares = [(one.shares(), other.shares()) for one, other in pairs]
        same = statistics.fmean(len(set(hottest(a)) & set(hottest(b))) for a, b in shares)
        distance = statistics.fmean(apart(a, b) for a, b in shares)
        print(f"| {name} | {same:.1f} | {distance:.1f} |")
    print("\n| method | jvmti | async-profiler | errors apart |\n| --- | --- | --- | --- |")
    own, peer = mine.shares(), theirs.shares()
    chosen = dict.fromkeys([*hottest(own), *hottest(peer)])
    chosen |= dict.fromkeys(
        sorted(own.keys() | peer.keys(), key=lambda one: -abs(own.get(one, 0) - peer.get(one, 0)))[
            :TEN
        ]
    )
    for method in chosen:
        a, b = own.get(method, 0.0), peer.get(method, 0.0)
        apart_ = (a - b) / (math.hypot(mine.error(method), theirs.error(method)) or 1)
        print(f"| {method} | {a:.2%} | {b:.2%} | {apart_:+.1f} |", flush=True)


JAVA = (FrameKind.COMPILED, FrameKind.INTERPRETED, FrameKind.INLINED)
HIDDEN = re.compile(r"[/.+](0x[0-9a-f]+|\d+)(?=\.|$)")
"""What the name of a hidden class ends with; each profiler writes it in its own way."""


def add_own_weights(found: Counter[str], profile: Any) -> None:
    """Add what each Java method had; what it calls outside of Java is its own."""
    frames = profile.frames
    # Native functions of async-profiler may have a point in their name, but no kind.
    known = numpy.isin(frames.kind, JAVA)
    java = known if known.any() else numpy.array([bool(name) for name in frames.class_name])
    names = [HIDDEN.sub("", name) for name in frames.names()]
    for stack, weight in enumerate(profile.stack_weights.tolist()):
        if not weight:
            continue
        row = next((one for one in profile.stacks[stack].tolist() if java[one]), None)
        found["?" if row is None else names[row]] += weight


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
    every = "shares, amounts, allocations, ecj, h2, wiremock, spark"
    parser.add_argument("--only", default="shares,ecj", help=every)
    parser.add_argument("--jfr", action="store_true", help="Flight Recorder, too")
    parser.add_argument("--seconds", type=float, default=4.0, help="of each profile")
    parser.add_argument("--windows", type=int, default=40, help="of each profiler")
    parser.add_argument("--window", type=float, default=0.5, help="seconds of one")
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
            if "allocations" in parts:
                known_amounts.allocations(jvm, classes)
            if "amounts" in parts:
                known_amounts.amounts(jvm, classes)
            for name, program, title, pattern in (
                ("ecj", compiler, "the Eclipse compiler", "org.eclipse.jdt.*"),
                ("h2", database, "the database H2", "org.h2.*"),
                ("wiremock", mock_server, "the mock server WireMock", "*"),
                ("spark", spark, "a Spark job, its driver and two executors", "*"),
            ):
                if name in parts:
                    with program(jvm) as pids:
                        heading = f"JDK {jvm.feature}: {title}"
                        given.pattern = pattern
                        agreement(heading, pids, classes, given)
    return 0


if __name__ == "__main__":
    sys.exit(main())
