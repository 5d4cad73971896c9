"""Measures what a stream costs the program, above an agent whose callbacks do nothing.

    python benchmarks/streams.py [--jvm 17,25] [--rounds N] [--readme]

prints a table for each JVM; with ``--readme`` it also writes the figures into
benchmarks/README.md.  The floor (floors/streams.cpp) is compiled with the machine's ``c++``.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PROGRAMS = HERE / "java"
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT / "tests")]

from run import compile_floor, compile_program  # noqa: E402

import jvms  # noqa: E402
import jvmti  # noqa: E402

README = HERE / "README.md"
COUNT = 4_000
TIMES = 10
RING = 1 << 22
"""Bytes for a thread, so that a round fits and the reader is not part of what is measured."""

WORK = {"classes": "Streaming", "methods": "work"}
BARE: dict[str, Any] = {"timestamps": False}

#: What is measured: a label, the floor's event, the program's command, the events, the options.
CASES: list[tuple[str, str, str, Any, dict[str, Any]]] = [
    ("MethodEntry", "MethodEntry", "call", "MethodEntry", BARE),
    ("MethodEntry, with time", "MethodEntry", "call", "MethodEntry", {}),
    ("… of one class and method", "MethodEntry", "call", "MethodEntry", {**BARE, **WORK}),
    ("… all filtered out", "MethodEntry", "call", "MethodEntry", {**BARE, "classes": "other.*"}),
    ("… with 8 frames of stack", "MethodEntry", "call", "MethodEntry", {**BARE, "stack": 8}),
    ("MethodEntry and MethodExit", "MethodExit", "call", ["MethodEntry", "MethodExit"], BARE),
    ("MethodExit of 1 ms or more", "MethodExit", "call", "MethodExit",
     {**BARE, "min_duration": 0.001}),
    ("FieldModification", "FieldModification", "write", "FieldModification", BARE),
    ("FieldModification, with time", "FieldModification", "write", "FieldModification", {}),
    ("… of one class", "FieldModification", "write", "FieldModification",
     {**BARE, "classes": "Streaming"}),
    ("… all filtered out", "FieldModification", "write", "FieldModification",
     {**BARE, "classes": "other.*"}),
]  # fmt: skip


#: Nanoseconds above the floor that a stream may cost; with two threads, twice as many.
LIMITS = {
    "MethodEntry": 10,
    "MethodEntry, with time": 30,
    "FieldModification": 10,
    "FieldModification, with time": 30,
}


class Program:
    """The Java program, spoken to line by line."""

    def __init__(self, popen: Any) -> None:
        self.popen = popen
        self.said: list[str] = []
        while (line := self.read()) != "ready":
            assert line, "the program has ended"
            self.said.append(line)

    def read(self) -> str:
        return str(self.popen.stdout.readline().decode().strip())

    def say(self, line: str) -> float:
        self.popen.stdin.write(f"{line}\n".encode())
        self.popen.stdin.flush()
        return float(self.read())

    def ask(self, command: str, threads: int) -> float:
        """Nanoseconds for one time."""
        return self.say(f"{command} {COUNT} {threads} {TIMES}")

    def close(self) -> None:
        self.popen.communicate(timeout=30)


def command(jvm: jvms.Jvm, classes: Path, *options: str) -> list[str]:
    return [jvm.java, *jvm.args, *options, "-cp", str(classes), "Streaming"]


SOLO = "FieldModification"
"""Only one agent of a VM can have it, so that the floor needs a VM of its own."""


@contextmanager
def floor(jvm: jvms.Jvm, classes: Path, library: Path, event: str) -> Iterator[Program]:
    """The program under a session that asks for nothing, so that the two VMs are alike."""
    option = f"-agentpath:{library}={event}"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    vm = jvmti.launch(command(jvm, classes, option), hold=True, **pipes)
    vm.proceed()
    program = Program(vm.popen)
    try:
        yield program
    finally:
        vm.detach()
        program.close()


@contextmanager
def streamed(
    jvm: jvms.Jvm, classes: Path, library: Path, event: str
) -> Iterator[tuple[Program, jvmti.VM]]:
    """The program under a session that has no more capabilities than the floor."""
    needed = {
        "MethodEntry": {"can_generate_method_entry_events"},
        "MethodExit": {"can_generate_method_entry_events", "can_generate_method_exit_events"},
        SOLO: {"can_generate_field_modification_events"},
    }[event]
    options = [] if event == SOLO else [f"-agentpath:{library}={event}"]
    vm = jvmti.launch(
        command(jvm, classes, *options), hold=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    vm.env.add_capabilities(needed)
    vm.proceed()
    program = Program(vm.popen)
    try:
        if event == SOLO:
            klass = vm.find_class("Streaming")
            [field] = [field for field in klass.fields if field.name == "field"]
            vm.env.set_field_modification_watch(klass, field)
        yield program, vm
    finally:
        vm.detach()
        program.close()


def measure(
    jvm: jvms.Jvm, classes: Path, library: Path, rounds: int, only: str
) -> dict[tuple[str, int], tuple[float, float, float]]:
    """For each case and number of threads: nanoseconds of the floor, of the stream and between."""
    found: dict[tuple[str, int], tuple[float, float, float]] = {}
    for event in ("MethodEntry", "MethodExit", "FieldModification"):
        if not any(case[0].startswith(only) and case[1] == event for case in CASES):
            continue
        taken: dict[tuple[str, int], list[tuple[float, float, float]]] = {}
        for _ in range(4 if event == SOLO else 2):  # two programs differ by some nanoseconds
            with ExitStack() as stack:
                program, vm = stack.enter_context(streamed(jvm, classes, library, event))
                below = program
                if event == SOLO:
                    below = stack.enter_context(floor(jvm, classes, library, event))
                for label, of, what, events, options in CASES:
                    if of != event or not label.startswith(only):
                        continue
                    key = label if not label.startswith("…") else f"{event} {label}"
                    for threads in (1, 2):
                        for attempt in range(rounds + 1):
                            below.say("floor 1")
                            base = below.ask(what, threads)
                            below.say("floor 0")
                            with vm.env.stream(events, size=RING, **options) as it:
                                for _ in range(8):  # until all of the memory is there
                                    program.ask(what, threads)
                                    while it.read(0, 1 << 22):
                                        pass
                                above = program.ask(what, threads)
                                assert it.dropped == 0
                            below.say("floor 1")
                            base = (base + below.ask(what, threads)) / 2
                            below.say("floor 0")
                            if attempt:
                                rows = taken.setdefault((key, threads), [])
                                rows.append((base, above, above - base))
        found |= {
            key: tuple(statistics.median(column) for column in zip(*rows, strict=True))
            for key, rows in taken.items()
        }
    return found


def with_jdi(jvm: jvms.Jvm, jdk: Path, classes: Path) -> dict[str, float]:
    """Nanoseconds for one event that a debugger gets without stopping for it."""
    if not list(jvm.home.glob("lib/libjdwp.so")) and jvms.feature_of(jdk) == jvm.feature:
        jvm = jvms.Jvm(jvm.name, jdk)
    agent = "-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=127.0.0.1:0"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    found = {}
    for label, what in (("MethodEntry", "call"), ("FieldModification", "write")):
        with subprocess.Popen(command(jvm, classes, agent), **pipes) as popen:  # type: ignore[call-overload]
            program = Program(popen)
            (port,) = re.findall(r"address: (?:\S+:)?(\d+)", "".join(program.said))
            client = [jdk / "bin" / "java", "-cp", str(classes), "JdiStreaming", port, what]
            with subprocess.Popen(client, stdout=subprocess.PIPE) as debugger:
                assert debugger.stdout is not None
                assert debugger.stdout.readline() == b"ready\n"
                program.ask(what, 1)
                found[label] = program.ask(what, 1)
                program.close()
                debugger.kill()
    return found


def measure_reading(jvm: jvms.Jvm, classes: Path, library: Path) -> dict[str, float]:
    """Millions of events a second that are read, with all their columns."""
    found = {}
    for event, what in (("MethodEntry", "call"), ("FieldModification", "write")):
        with streamed(jvm, classes, library, event) as (program, vm):
            with vm.env.stream(event, size=RING) as it:
                best = 0.0
                for _ in range(20):
                    program.ask(what, 1)
                    start = time.perf_counter()
                    count = 0
                    while records := it.read(0):
                        count += len(records)
                        for name in it.columns:
                            records[name]
                    best = max(best, count / (time.perf_counter() - start) / 1e6)
            found[event] = best
    return found


def verdict(key: str, threads: int, between: float) -> str:
    if key not in LIMITS:
        return ""
    limit = LIMITS[key] * threads
    return f" (≤ {limit}: {'met' if between <= limit else '**missed**'})"


def table(
    jvm: jvms.Jvm, figures: Any, reading: dict[str, float], debugger: dict[str, float]
) -> str:
    lines = [
        f"### JDK {jvm.name}",
        "",
        "| stream of | floor | stream | above it | two threads: floor | stream | above it |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for key in dict.fromkeys(key for key, _ in figures):
        cells = []
        for threads in (1, 2):
            base, above, between = figures[key, threads]
            cells += [f"{base:.0f} ns", f"{above:.0f} ns ({above / base:.2f} ×)"]
            cells.append(f"{between:+.1f} ns{verdict(key, threads, between)}")
        lines.append(f"| {key} | {' | '.join(cells)} |")
    read = ", ".join(f"{name} {rate:.0f} million" for name, rate in reading.items())
    through = ", ".join(f"{name} {took / 1000:.1f} µs" for name, took in debugger.items())
    lines += ["", f"Read with all columns, events a second: {read}.", ""]
    lines += [f"The same events through JDI, which stops no thread for them either: {through}.", ""]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jvm", default="17,25")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default="", help="cases whose name begins so")
    parser.add_argument("--readme", action="store_true")
    arguments = parser.parse_args()
    jdk = jvms.distribution_jdk()
    assert jdk is not None, "make java"
    tables = []
    with tempfile.TemporaryDirectory() as directory:
        classes = Path(directory)
        subprocess.run(
            [
                jdk / "bin" / "javac",
                "--release",
                "11",
                "-d",
                classes,
                PROGRAMS / "Streaming.java",
            ],
            check=True,
        )
        compile_program(jdk, "JdiStreaming", classes)
        library = compile_floor("streams", classes)
        for name in arguments.jvm.split(","):
            jvm = jvms.named(name)
            figures = measure(jvm, classes, library, arguments.rounds, arguments.only)
            debugger = with_jdi(jvm, jdk, classes)
            reading = measure_reading(jvm, classes, library)
            tables.append(table(jvm, figures, reading, debugger))
            print(tables[-1], flush=True)
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    missed = any("**missed**" in one for one in tables)
    if arguments.readme:
        begin, end = "<!-- figures of streams -->", "<!-- end of figures of streams -->"
        text = README.read_text()
        body = f"{begin}\n\n" + "\n".join(tables) + f"\n{end}"
        README.write_text(re.sub(f"{begin}.*{end}", lambda _: body, text, flags=re.DOTALL))
    sys.exit(missed)


if __name__ == "__main__":
    main()
