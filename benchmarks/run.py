"""Measures this package beside JDI and beside ctypes in one process with the JVM.

    python benchmarks/run.py [--jvm 17,25] [--quick] [--json FILE] [--readme]

prints a table for each JVM and says which limits are met; with ``--readme`` it also writes the
figures into benchmarks/README.md.  The JVMs and the JDK (for javac, jcmd and JDI) are those that
``make java`` installs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).parent
PROGRAMS = HERE / "java"
ROOT = HERE.parent
sys.path.insert(0, str(ROOT / "tests"))

import numpy  # noqa: E402

import jvms  # noqa: E402
import jvmti  # noqa: E402
from processors import one_processor  # noqa: E402

Figures = dict[str, float]
README = HERE / "README.md"

#: Single calls are measured on a program of ten threads, stacks on one of a hundred.
FEW_THREADS = "-Dthreads=10"


# ---- the programs ------------------------------------------------------------------------------


def compile_program(jdk: Path, name: str, to: Path) -> None:
    release = [] if name == "Jdi" else ["--release", "11"]
    subprocess.run(
        [jdk / "bin" / "javac", *release, "-g", "-d", to, PROGRAMS / f"{name}.java"],
        check=True,
    )


def compile_floor(name: str, to: Path) -> Path:
    """The agent of one of the folder floors, as a library in another folder."""
    include = jvms.named("25").home / "include"
    library = to / f"libfloor_{name}.so"
    subprocess.run(
        ["c++", "-O2", "-std=c++17", "-shared", "-fPIC", "-I", include, "-I", include / "linux",
         "-o", library, HERE / "floors" / f"{name}.cpp"],
        check=True,
    )  # fmt: skip
    return library


@contextmanager
def target(jvm: jvms.Jvm, classes: Path, *options: str) -> Iterator[tuple[int, list[str]]]:
    """The Java program that is looked at: its process id, and what it printed before "ready"."""
    with subprocess.Popen(
        [jvm.java, *jvm.args, *options, "-cp", str(classes), "Target"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        said = []
        for line in process.stdout:
            if line == "ready\n":
                break
            said.append(line)
        try:
            time.sleep(0.5)  # for compiler threads to come to rest
            yield process.pid, said
        finally:
            process.stdin.close()


def timed(rounds: int, action: Callable[[], Any]) -> list[int]:
    times = []
    for _ in range(rounds):
        began = time.perf_counter_ns()
        action()
        times.append(time.perf_counter_ns() - began)
    return times


def best(runs: list[Figures]) -> Figures:
    """Of several runs the one that the machine's other work disturbed least, for each measure."""
    return {name: min(run[name] for run in runs) for name in runs[0]}


def printed(command: list[str | Path]) -> Figures:
    """The measures that a program prints, a name and a number on each line."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=300)
    lines = (line.split() for line in done.stdout.splitlines())
    return {words[0]: float(words[1]) for words in lines if len(words) == 2}


# ---- what is measured --------------------------------------------------------------------------


def attach_times(jvm: jvms.Jvm, jdk: Path, classes: Path, rounds: int) -> Figures:
    """First attach to first answer on a fresh JVM, and jcmd's thread dump of the same JVM."""
    ours, dumps = [], []
    for _ in range(rounds):
        with target(jvm, classes) as (pid, _):
            began = time.perf_counter_ns()
            vm = jvmti.attach(pid)
            vm.env.get_all_threads()
            ours.append(time.perf_counter_ns() - began)
            vm.detach()
            jcmd = [jdk / "bin" / "jcmd", str(pid), "Thread.print"]
            dumps += timed(
                1, lambda jcmd=jcmd: subprocess.run(jcmd, check=True, stdout=subprocess.DEVNULL)
            )
    return {"attach": median(ours), "attach-slowest": max(ours), "jcmd": median(dumps)}


def ours(jvm: jvms.Jvm, classes: Path, calls: int, rounds: int) -> Figures:
    """The measures of this package on one JVM."""
    figures: Figures = {}
    with one_processor(), target(jvm, classes, FEW_THREADS) as (pid, _), jvmti.attach(pid) as vm:
        calls_of(vm, calls, rounds, figures, "")
    with target(jvm, classes) as (pid, _), jvmti.attach(pid) as vm:
        calls_of(vm, calls, rounds, figures, "-free")
        times = timed(rounds, vm.threads.snapshot)
        figures["frames"] = len(stacks(vm))
        figures["stacks-first"] = times[0]
        figures["stacks"] = median(times)

        times = timed(rounds, lambda: all_classes(vm))
        figures["class-count"] = len(all_classes(vm))
        figures["classes-first"] = times[0]
        figures["classes"] = median(times)
    return figures


def calls_of(vm: jvmti.VM, calls: int, rounds: int, figures: Figures, suffix: str) -> None:
    env = vm.env
    thread = vm.threads["worker-0"]
    timed(calls, lambda: env.get_thread_state(thread))
    figures[f"call{suffix}"] = median(timed(calls, lambda: env.get_thread_state(thread)))

    workers = [one for one in vm.threads if one.name.startswith("worker-")]
    handles = (workers * 1000)[:1000]
    column = numpy.array([one._handle for one in handles], "<u8")
    states = env.map.get_thread_state(column).check().value
    assert (states == states[0]).all()
    for name, given in (("map", column), ("map-list", handles)):
        times = timed(rounds * 10, lambda given=given: env.map.get_thread_state(given))
        figures[f"{name}{suffix}"] = median(times) / 1000


def stacks(vm: jvmti.VM) -> list[tuple[str, str, str, int | None]]:
    """Every frame of every thread: what the snapshot has, spelled out to see that it is there."""
    return [
        (snapshot.name, frame.method.class_name, frame.method.name, frame.line)
        for snapshot in vm.threads.snapshot()
        for frame in snapshot.frames
    ]


def all_classes(vm: jvmti.VM) -> list[tuple[str, int, int]]:
    """Signature, status and loader of every loaded class."""
    env = vm.env
    loaded = env.map.get_loaded_classes().check().value.items
    signatures = env.map.get_class_signature(loaded).check().signature
    statuses = env.map.get_class_status(loaded).check().value
    loaders = env.map.get_class_loader(loaded).check().value
    return list(zip(signatures, statuses.tolist(), loaders.array.tolist(), strict=True))


def with_jdi(jvm: jvms.Jvm, jdk: Path, classes: Path, calls: int, rounds: int) -> Figures:
    agent = "-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=127.0.0.1:0"
    figures: Figures = {}
    for threads, place in (("-Dthreads=100", nullcontext()), (FEW_THREADS, one_processor())):
        with place, target(jvm, classes, agent, threads) as (_, said):
            (port,) = re.findall(r"address: (?:\S+:)?(\d+)", "".join(said))
            java = jdk / "bin" / "java"
            found = printed([java, "-cp", classes, "Jdi", port, str(calls), str(rounds)])
        if figures:
            figures["call"] = found["call"]
        else:
            figures = {**found, "call-free": found["call"]}
    return figures


def in_process(jvm: jvms.Jvm, classes: Path, calls: int, rounds: int) -> Figures:
    libjvm = jvm.home / "lib" / "server" / "libjvm.so"
    script = HERE / "in_process.py"
    return printed([sys.executable, script, libjvm, classes, str(calls), str(rounds)])


# ---- the report --------------------------------------------------------------------------------


def time_of(nanoseconds: float) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.3g} {unit}"
    return f"{nanoseconds:.0f} ns"


def ratio_of(slower: float, faster: float) -> str:
    return f"{slower / faster:.0f}" if slower >= 10 * faster else f"{slower / faster:.1f}"


def per_thousand(figures: Figures, key: str = "classes") -> float:
    return figures[key] * 1000 / figures["class-count"]


def calls(figures: Figures) -> float:
    """One call where it fares best: on one processor or on all."""
    return min(figures["call"], figures["call-free"])


def rows(measured: dict[str, Figures]) -> list[tuple[str, str, str, str, str, str]]:
    """For each measure: its name, ours as times faster than the other, ours, the others, limit."""
    us, jdi, inside = measured["jvmti"], measured["jdi"], measured["ctypes"]
    attach, call, batch = us["attach"], calls(us), us["map"]
    classes = per_thousand(us)

    def verdict(met: bool, text: str) -> str:
        return f"{text}: {'met' if met else '**missed**'}"

    return [
        (
            "first attach to first answer",
            f"{ratio_of(us['jcmd'], attach)} × `jcmd`, {ratio_of(jdi['attach'], attach)} × JDI",
            time_of(attach),
            f"{time_of(jdi['attach'])} (`jcmd`: {time_of(us['jcmd'])})",
            "–",
            verdict(attach <= 10e6 and attach * 20 <= us["jcmd"], "≤ 10 ms, ≤ 1/20 of `jcmd`"),
        ),
        (
            "one cheap call",
            f"{ratio_of(calls(jdi), call)} × JDI",
            f"{time_of(us['call-free'])} (on one processor: {time_of(us['call'])})",
            f"{time_of(jdi['call-free'])} (on one processor: {time_of(jdi['call'])})",
            time_of(inside["call"]),
            verdict(call <= 20e3 and call * 2 <= calls(jdi), "≤ 20 µs, ≤ 1/2 of JDI"),
        ),
        (
            "the same over 1,000 handles, per call",
            f"{ratio_of(calls(jdi), batch)} × JDI",
            (
                f"{time_of(batch)} (from a list of objects: {time_of(us['map-list'])}; "
                f"with 100 threads in the VM: {time_of(us['map-free'])})"
            ),
            time_of(calls(jdi)),
            time_of(inside["call"]),
            verdict(batch <= 300, "≤ 300 ns"),
        ),
        (
            f"all stacks, {us['frames']:.0f} frames with names and lines",
            (
                f"{ratio_of(jdi['stacks'], us['stacks'])} × JDI, first time "
                f"{ratio_of(jdi['stacks-first'], us['stacks-first'])} ×"
            ),
            f"{time_of(us['stacks'])} (first: {time_of(us['stacks-first'])})",
            f"{time_of(jdi['stacks'])} (first: {time_of(jdi['stacks-first'])})",
            f"{time_of(inside['stacks'])} (first: {time_of(inside['stacks-first'])})",
            verdict(
                us["stacks"] * 4 <= jdi["stacks"] and us["stacks-first"] * 4 <= jdi["stacks-first"],
                "≤ 1/4 of JDI",
            ),
        ),
        (
            "signature, status and loader of 1,000 loaded classes",
            (
                f"{ratio_of(per_thousand(jdi, 'classes-first'), per_thousand(us, 'classes-first'))}"
                " × JDI"
            ),
            f"{time_of(classes)} (first: {time_of(per_thousand(us, 'classes-first'))})",
            (
                f"first: {time_of(per_thousand(jdi, 'classes-first'))} (then it remembers, "
                f"{time_of(per_thousand(jdi))})"
            ),
            time_of(per_thousand(inside)),
            verdict(classes <= 5e6, "≤ 5 ms"),
        ),
    ]


def table(measured: dict[str, Figures]) -> str:
    head = ("measure", "faster than", "jvmti", "JDI", "ctypes in process", "limit")
    lines = [head, ("---",) * len(head), *rows(measured)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


@contextmanager
def piped(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """A program that is asked line by line; it is killed at the end."""
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{os.cpu_count()} cores {os.uname().machine}, {memory:.0f} GB, Linux "
        f"{os.uname().release.split('-')[0]}, Python {sys.version.split()[0]}"
    )


def write_readme(all_figures: dict[str, dict[str, Figures]]) -> None:
    """Put the tables between the two marks of the README."""
    parts = [f"Measured on a virtual machine with other work on it: {machine()}.\n"]
    for name, measured in all_figures.items():
        parts.append(f"### JDK {name}\n\n{table(measured)}\n")
    text = README.read_text()
    start, end = "<!-- figures -->\n", "<!-- end of figures -->"
    before, _, rest = text.partition(start)
    _, _, after = rest.partition(end)
    README.write_text(f"{before}{start}\n" + "\n".join(parts) + f"\n{end}{after}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--jvm", default="17,25", help="the JVMs to measure on: 17,25")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, rougher figures")
    parser.add_argument("--json", type=Path, help="write the raw figures there")
    parser.add_argument("--readme", action="store_true", help="write the README's tables")
    chosen = parser.parse_args()
    calls, rounds, attaches, repeats = (500, 5, 3, 1) if chosen.quick else (5000, 21, 5, 3)
    jdk = jvms.distribution_jdk()
    if jdk is None:
        raise SystemExit("there is no JDK with javac, jcmd and JDI; `make java` installs one")
    figures: dict[str, dict[str, Figures]] = {}
    with tempfile.TemporaryDirectory() as directory:
        classes = Path(directory)
        for program in ("Target", "Jdi"):
            compile_program(jdk, program, classes)
        for name in chosen.jvm.split(","):
            # The debugger's agent, which JDI needs, is in the JDK and not in every runtime.
            jvm = jvms.named(name)
            if not list(jvm.home.glob("lib/libjdwp.so")) and jvms.feature_of(jdk) == jvm.feature:
                jvm = jvms.Jvm(name, jdk)
            ways: dict[str, Callable[[], Figures]] = {
                "jvmti": lambda jvm=jvm: {
                    **ours(jvm, classes, calls, rounds),
                    **attach_times(jvm, jdk, classes, attaches),
                },
                "jdi": lambda jvm=jvm: with_jdi(jvm, jdk, classes, calls, rounds),
                "ctypes": lambda jvm=jvm: in_process(jvm, classes, calls, rounds),
            }
            runs = [{way: measure() for way, measure in ways.items()} for _ in range(repeats)]
            measured = {way: best([run[way] for run in runs]) for way in ways}
            figures[name] = measured
            print(f"JDK {name}\n{table(measured)}\n", flush=True)
    if chosen.json:
        chosen.json.write_text(json.dumps(figures, indent=2) + "\n")
    if chosen.readme:
        write_readme(figures)
    return int(any("missed" in table(measured) for measured in figures.values()))


if __name__ == "__main__":
    raise SystemExit(main())
