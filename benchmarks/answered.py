"""Measures events that are answered, beside callbacks in C++ that do nothing, and beside JDI.

    python benchmarks/answered.py [--jvm 17,25] [--quick] [--readme]

How long a thread is held up is measured by the Java program itself, the same for every way.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests")]

from run import best, compile_floor, compile_program, machine, ratio_of, time_of  # noqa: E402

import jvms  # noqa: E402
import jvmti  # noqa: E402
from processors import PLACES  # noqa: E402

Figures = dict[str, float]


class Program:
    """The program that is stopped, spoken to line by line."""

    def __init__(self, process: Any) -> None:
        self.process = process
        self.said: list[str] = []
        while (line := process.stdout.readline().decode()) != "ready\n":
            assert line, "the program has ended"
            self.said.append(line)

    def ask(self, what: str, times: int) -> float:
        """The median time in nanoseconds; a first round warms up."""
        answers = []
        for _ in range(4):
            self.process.stdin.write(f"{what} {times}\n".encode())
            self.process.stdin.flush()
            answers.append(int(self.process.stdout.readline()))
        return min(answers[1:])


@contextmanager
def program(jvm: jvms.Jvm, classes: Path, *options: str) -> Iterator[Program]:
    with subprocess.Popen(
        [jvm.java, *jvm.args, *options, "-cp", str(classes), "Answered"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            yield Program(process)
        finally:
            process.stdin.close()


def launched(jvm: jvms.Jvm, classes: Path) -> tuple[jvmti.VM, Program]:
    vm = jvmti.launch(
        [jvm.java, *jvm.args, "-cp", classes, "Answered"],
        capabilities=["can_generate_breakpoint_events"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    return vm, Program(vm.popen)


def nothing(event: Any) -> None:
    """Answer at once."""


def ours(jvm: jvms.Jvm, classes: Path, times: int) -> Figures:
    vm, target = launched(jvm, classes)
    assert vm.popen is not None
    with vm:
        found = {"plain": target.ask("hits", times), "plain class": target.ask("classes", times)}
        with vm.env.on("Breakpoint", nothing):
            hit = vm.jni.get_static_method_id(vm.find_class("Answered"), "hit", "()V")
            vm.env.set_breakpoint(hit, 0)
            found["breakpoint"] = target.ask("hits", times)
            vm.env.clear_breakpoint(hit, 0)
        with vm.env.on("ClassFileLoadHook", nothing):
            found["class"] = target.ask("classes", times)
    vm.popen.stdin.close()  # type: ignore[union-attr]
    vm.popen.wait()
    return found


def floor(jvm: jvms.Jvm, classes: Path, library: Path, times: int) -> Figures:
    found = {}
    for option, what in (("breakpoint", "hits"), ("hook", "classes")):
        with program(jvm, classes, f"-agentpath:{library}={option}") as target:
            found[{"hits": "breakpoint", "classes": "class"}[what]] = target.ask(what, times)
    return found


def with_jdi(jvm: jvms.Jvm, jdk: Path, classes: Path, times: int) -> Figures:
    agent = "-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=127.0.0.1:0"
    with program(jvm, classes, agent) as target:
        (port,) = re.findall(r"address: (?:\S+:)?(\d+)", "".join(target.said))
        command = [jdk / "bin" / "java", "-cp", str(classes), "JdiBreakpoint", port]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as debugger:
            try:
                assert debugger.stdout is not None
                assert debugger.stdout.readline() == b"ready\n"
                return {"breakpoint": target.ask("hits", max(times // 10, 200))}
            finally:
                debugger.kill()


def start_ups(jvm: jvms.Jvm, library: Path, directory: Path, rounds: int) -> Figures:
    """How long a compiler takes over a source tree, its own start included."""
    (compiler,) = sorted((jvms.INSTALLED / "ecj").glob("*.jar"))[-1:]
    sources = sorted(str(path) for path in (HERE.parent / "tests" / "java").glob("*.java"))
    arguments = [
        "-jar", str(compiler), "-nowarn", "-proceedOnError", "-11", "-d", str(directory), *sources,
    ]  # fmt: skip
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    times: dict[str, list[float]] = {"plain": [], "floor": [], "jvmti": []}
    classes = 0
    for _ in range(rounds):
        for way, options in (("plain", []), ("floor", [f"-agentpath:{library}=hook"])):
            began = time.perf_counter_ns()
            subprocess.run([jvm.java, *jvm.args, *options, *arguments], check=False, **quiet)
            times[way].append(time.perf_counter_ns() - began)
        began = time.perf_counter_ns()
        vm = jvmti.launch([jvm.java, *jvm.args, *arguments], hold=True, **quiet)
        seen: list[None] = []
        vm.env.on("ClassFileLoadHook", lambda _, seen=seen: seen.append(None))
        vm.proceed()
        assert vm.popen is not None
        vm.popen.wait()
        times["jvmti"].append(time.perf_counter_ns() - began)
        classes = len(seen)
    return {**{f"start {way}": min(one) for way, one in times.items()}, "classes": classes}


def rows(us: Figures, base: Figures, jdi: Figures) -> list[Sequence[str]]:
    stop, klass = us["breakpoint"], us["class"] - base["class"]
    start = us["start jvmti"] / us["start plain"]

    def verdict(met: bool, text: str) -> str:
        return f"{text}: {'met' if met else '**missed**'}"

    return [
        (
            "breakpoint answered by an empty handler",
            f"{ratio_of(jdi['breakpoint'], stop)} × JDI",
            time_of(stop),
            time_of(jdi["breakpoint"]),
            time_of(base["breakpoint"]),
            verdict(stop <= 15e3 and stop * 8 <= jdi["breakpoint"], "≤ 15 µs, ≤ 1/8 of JDI"),
        ),
        (
            "class file load hook answered unchanged, over an empty hook in C++",
            "–",
            f"{time_of(klass)} ({time_of(us['class'])} in all)",
            "–",
            f"{time_of(base['class'])} (without a hook: {time_of(us['plain class'])})",
            verdict(klass <= 30e3, "≤ 30 µs"),
        ),
        (
            f"a compiler from start to end, {us['classes']:.0f} classes answered",
            f"{start:.2f} × the time without an agent",
            time_of(us["start jvmti"]),
            "–",
            f"{time_of(us['start floor'])} (without an agent: {time_of(us['start plain'])})",
            verdict(start <= 1.3, "≤ 1.3 ×"),
        ),
    ]


def table(measured: list[Sequence[str]]) -> str:
    head = ("measure", "compared", "jvmti", "JDI", "empty callback in C++", "limit")
    lines = [head, ("---",) * len(head), *measured]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--jvm", default="17,25")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, rougher figures")
    chosen = parser.parse_args()
    times, repeats = (2000, 1) if chosen.quick else (10000, 3)
    jdk = jvms.distribution_jdk()
    if jdk is None:
        raise SystemExit("there is no JDK with javac and JDI; `make java` installs one")
    missed = False
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        for source in ("Answered", "JdiBreakpoint"):
            compile_program(jdk, source, directory)
        library = compile_floor("answered", directory)
        for version in chosen.jvm.split(","):
            jvm = jvms.named(version)
            debugged = jvm
            if not list(jvm.home.glob("lib/libjdwp.so")) and jvms.feature_of(jdk) == jvm.feature:
                debugged = jvms.Jvm(version, jdk)
            ways: dict[str, Callable[[], Figures]] = {
                "jvmti": lambda jvm=jvm: ours(jvm, directory, times),
                "floor": lambda jvm=jvm: floor(jvm, directory, library, times),
                "jdi": lambda jvm=debugged: with_jdi(jvm, jdk, directory, times),
            }
            runs = []
            for _ in range(repeats):
                for placed in PLACES:
                    with placed():
                        runs.append({way: measure() for way, measure in ways.items()})
            measured = {way: best([run[way] for run in runs]) for way in ways}
            measured["jvmti"] |= start_ups(jvm, library, directory / "out", repeats)
            found = table(rows(measured["jvmti"], measured["floor"], measured["jdi"]))
            missed |= "missed" in found
            print(f"JDK {version}\n\n{found}\n", flush=True)
    print(machine())
    return int(missed)


if __name__ == "__main__":
    raise SystemExit(main())
