"""Measures what is asked of all classes of a big program.

    python benchmarks/model/classes.py [--jvm 17,25] [--classes 30000] [--rounds 7] [--readme]

Each JVM gets a fresh program (`ManyClasses.java`).  Times are the best of the rounds; the limits
are the project's own.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).parents[1]
PROGRAMS = BENCHMARKS / "java"
sys.path.insert(0, str(BENCHMARKS.parent / "tests"))

import compiler  # noqa: E402
import jvms  # noqa: E402
import jvmti  # noqa: E402

README = BENCHMARKS / "README.md"
MARKS = ("<!-- class figures -->", "<!-- end of class figures -->")


@contextmanager
def program(jvm: jvms.Jvm, classes: Path, count: int) -> Iterator[int]:
    command = [jvm.java, *jvm.args, "-cp", str(classes), "ManyClasses", str(count)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == f"ready {count}\n"
        try:
            yield process.pid
        finally:
            process.stdin.close()


def timed(rounds: int, action: Callable[[], Any]) -> float:
    best = float("inf")
    for _ in range(rounds):
        began = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - began)
    return best


def misspelt(vm: jvmti.VM) -> None:
    with contextlib.suppress(LookupError):
        vm.find_class("com.acme.order.OrderPaymentHandlr704")


def measured(vm: jvmti.VM, rounds: int) -> Iterator[tuple[str, float, float | None]]:
    """What, seconds, and the limit in seconds."""

    def listed() -> None:
        table = vm.classes.names()
        assert len(list(zip(table.names, table.loader_names, strict=True))) >= 30_000

    string = vm.find_class("java.lang.String")
    for what, action, limit in (
        ("all classes with names and loaders", listed, 0.060),
        ("a name completed, with its package", lambda: vm.classes.complete("java.util.Ha"), 0.030),
        ("a name completed, without", lambda: vm.classes.complete("OrderPay"), 0.030),
        ("how many there are", lambda: len(vm.classes), None),
        ("a class found by its name", lambda: vm.find_class("java.util.HashMap"), None),
        ("a misspelt name, with suggestions", lambda: misspelt(vm), None),
        ("a pattern that fits few", lambda: vm.classes("java.util.*Map"), None),
        ("all as an Arrow table, with modules and modifiers", vm.classes.to_arrow, None),
        ("the class file of `java.lang.String`", lambda: string.class_file, None),
    ):
        yield what, timed(rounds, action), limit


def table(jvm: jvms.Jvm, rows: list[tuple[str, float, float | None]]) -> str:
    lines = [
        f"### JDK {jvm.feature}",
        "",
        "| of 30,000 classes | jvmti | limit |",
        "| --- | --- | --- |",
    ]
    for what, seconds, limit in rows:
        met = (
            ""
            if limit is None
            else f"≤ {limit * 1000:.0f} ms: " + ("met" if seconds <= limit else "**missed**")
        )
        lines.append(f"| {what} | {seconds * 1000:.1f} ms | {met} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jvm", default="17,25")
    parser.add_argument("--classes", type=int, default=30_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--readme", action="store_true")
    options = parser.parse_args()
    tables = []
    with tempfile.TemporaryDirectory() as directory:
        command = [*compiler.compile_command(11, None), "-d", directory]
        subprocess.run([*command, str(PROGRAMS / "ManyClasses.java")], check=True)
        for name in options.jvm.split(","):
            jvm = jvms.named(name)
            with (
                program(jvm, Path(directory), options.classes) as pid,
                jvmti.attach(pid, timeout=30) as vm,
            ):
                tables.append(table(jvm, list(measured(vm, options.rounds))))
            print(tables[-1] + "\n", flush=True)
    if options.readme:
        text = "\n\n".join(tables)
        replaced = re.sub(
            f"(?<={MARKS[0]}\n).*?(?={MARKS[1]})",
            lambda _: f"\n{text}\n\n",
            README.read_text(),
            flags=re.S,
        )
        README.write_text(replaced)


if __name__ == "__main__":
    main()
