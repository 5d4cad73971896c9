"""Measures what is asked of a live heap, beside ``jmap`` and beside a bare walk in C++.

    python benchmarks/heap/live.py [--jvm 17,25] [--millions 1,10] [--rounds 5] [--readme]

Each JVM and size gets a fresh program (`Heap.java`).  Times are the best of the rounds; the limits
are the project's own.
"""

from __future__ import annotations

import argparse
import os
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
ROOT = BENCHMARKS.parent
sys.path[:0] = [str(BENCHMARKS), str(ROOT / "tests")]

from run import compile_floor  # noqa: E402

import jvms  # noqa: E402
import jvmti  # noqa: E402
from jvmti.heap import Snapshot  # noqa: E402
from jvmti.target import hotspot  # noqa: E402

README = BENCHMARKS / "README.md"
MARKS = ("<!-- heap figures -->", "<!-- end of heap figures -->")


@contextmanager
def program(jvm: jvms.Jvm, classes: Path, millions: float) -> Iterator[int]:
    heap = f"-Xmx{int(256 + millions * 160)}m"
    command = [jvm.java, *jvm.args, heap, "-cp", str(classes), "Heap", str(millions)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield process.pid
        finally:
            process.stdin.close()


def timed(rounds: int, action: Callable[[], Any]) -> tuple[float, Any]:
    best, result = float("inf"), None
    for _ in range(rounds):
        began = time.perf_counter()
        result = action()
        best = min(best, time.perf_counter() - began)
    return best, result


def least(rounds: int, action: Callable[[], Any]) -> float:
    """The shortest pause that an action reports."""
    return min(action().pause for _ in range(rounds))


def measured(
    jvm: jvms.Jvm, jdk: Path, classes: Path, floor: Path, millions: float, rounds: int
) -> dict[str, float]:
    figures: dict[str, float] = {}
    with program(jvm, classes, millions) as pid:
        jmap = [jdk / "bin" / "jmap", "-histo", str(pid)]
        figures["jmap"], _ = timed(
            rounds, lambda: subprocess.run(jmap, check=True, stdout=subprocess.DEVNULL)
        )
        with jvmti.attach(pid) as vm:
            heap = vm.heap
            figures["histogram"], histogram = timed(rounds, heap.histogram)
            figures["histogram pause"] = least(rounds, lambda: heap.histogram(loaders=False))
            figures["objects"] = histogram.total_count
            said = floor.parent / f"{pid}"
            hotspot.load_agent(vm.process, str(floor), str(said), timeout=60)
            figures["floor"] = int(said.read_text().split()[0]) / 1e9
            figures["scan"], scan = timed(rounds, heap.scan)
            figures["scan pause"] = least(rounds, heap.scan)
            figures["contents pause"] = least(
                rounds, lambda: heap.scan(strings=True, fields=True, arrays=True)
            )
            figures["some pause"] = least(rounds, lambda: heap.scan("Heap$Order", fields=True))
            orders = scan["Heap$Order"]
            wanted = orders.row[:: max(len(orders) // 1000, 1)][:1000]
            figures["live"], live = timed(rounds, lambda: scan.live(wanted))
            figures["coverage"] = live.coverage
            vault = vm.find_class("Heap$Vault").instances(limit=1)[0]
            order = vm.find_class("Heap$Order").instances(limit=1)[0]
            few = max(rounds // 2, 1)
            figures["referrers"], _ = timed(few, order.referrers)
            figures["path"], path = timed(few, order.path_to_root)
            figures["path passes"] = path.passes
            figures["retained"], retained = timed(few, vault.retained_size)
            assert retained.count == 1002, retained
            figures |= of_snapshots(vm, few)
    return figures


def thousand(objects: Any) -> Any:
    """A thousand of some objects, from everywhere among them."""
    return objects[:: max(len(objects) // 1000, 1)][:1000]


def of_snapshots(vm: jvmti.VM, rounds: int) -> dict[str, float]:
    """From the running VM to a graph with retained sizes, beside a dump without us."""
    figures: dict[str, float] = {}
    path = Path("/dev/shm") / f"stock-{vm.process.pid}.hprof"
    stock = ["GC.heap_dump", "-all", "-overwrite", str(path)]
    try:
        figures["stock dump"], _ = timed(
            rounds, lambda: hotspot.command(vm.process, "jcmd", " ".join(stock), timeout=120)
        )
    finally:
        path.unlink(missing_ok=True)

    def snapshot() -> Snapshot:
        made = vm.heap.snapshot()
        made.dominators()
        return made

    figures["snapshot"], graph = timed(rounds, snapshot)
    figures["snapshot pause"] = graph.pause
    orders = thousand(graph.objects("Heap$Order"))
    began = time.perf_counter()
    found = graph.live(orders)
    figures["rows"] = time.perf_counter() - began
    figures["rows found"] = found.coverage
    graph = snapshot()  # of which nothing has been asked before
    some = thousand(graph.objects())
    began = time.perf_counter()
    found = graph.live(some)
    figures["any rows"] = time.perf_counter() - began
    figures["any rows found"] = found.coverage
    began = time.perf_counter()
    graph.paths_to_roots(graph.objects("Heap$Order")).lines()
    figures["paths"] = time.perf_counter() - began
    return figures


def seconds(value: float) -> str:
    return f"{value:.2f} s" if value >= 1 else f"{value * 1000:.3g} ms"


def rows(figures: dict[str, float], millions: float, feature: int) -> list[tuple[str, str, str]]:
    def verdict(met: bool, text: str) -> str:
        return f"{text}: {'met' if met else '**missed**'}"

    ten = millions == 10
    floor, scan = figures["floor"], figures["scan pause"]
    stopped = f"{seconds(figures['snapshot pause'])} (a dump: {seconds(figures['stock dump'])})"
    return [
        (
            "histogram, with loaders",
            f"{seconds(figures['histogram'])} (`jmap -histo`: {seconds(figures['jmap'])})",
            verdict(figures["histogram"] * 2 <= figures["jmap"], "≤ 1/2 of `jmap`"),
        ),
        ("… program stopped, at most", seconds(figures["histogram pause"]), ""),
        ("bare walk in C++ that only counts", seconds(floor), ""),
        (
            "scan, program stopped",
            f"{seconds(scan)}, {scan / floor:.2f} × the bare walk",
            verdict(
                scan <= 2 * floor and (not ten or scan <= 0.6),
                "≤ 2 ×, ≤ 0.6 s" if ten else "≤ 2 ×",
            ),
        ),
        ("… as a call, histogram included", seconds(figures["scan"]), ""),
        ("… with strings, fields, arrays, stopped", seconds(figures["contents pause"]), ""),
        ("… of one class with fields, stopped", seconds(figures["some pause"]), ""),
        (
            "1,000 rows to live objects",
            f"{seconds(figures['live'])}, {figures['coverage']:.1%} found",
            verdict(figures["live"] <= 0.6, "≤ 0.6 s"),
        ),
        ("referrers of an object", seconds(figures["referrers"]), ""),
        (
            "path to a root",
            f"{seconds(figures['path'])}, {figures['path passes']:.0f} passes",
            "",
        ),
        ("retained size", seconds(figures["retained"]), ""),
        (
            "snapshot with retained sizes",
            f"{seconds(figures['snapshot'])}, stopped for {stopped}",
            verdict(
                figures["snapshot pause"] <= 1.1 * figures["stock dump"]
                and (not ten or figures["snapshot"] <= (4 if feature < 25 else 3)),
                f"≤ {4 if feature < 25 else 3} s, stopped as by a dump" if ten else "as by a dump",
            ),
        ),
        (
            "… 1,000 of its rows to live objects, at once",
            f"{seconds(figures['rows'])}, {figures['rows found']:.1%} found",
            verdict(figures["rows"] <= 0.6 and figures["rows found"] >= 0.95, "≤ 0.6 s, ≥ 95 %"),
        ),
        (
            "… of all classes",
            f"{seconds(figures['any rows'])}, {figures['any rows found']:.1%} found",
            "",
        ),
        (
            "… the shortest ways to roots for a class, merged",
            seconds(figures["paths"]),
            verdict(figures["paths"] <= 0.5, "≤ 0.5 s") if ten else "",
        ),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jvm", default="17,25")
    parser.add_argument("--millions", default="1,10")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--readme", action="store_true")
    given = parser.parse_args()
    jdk = jvms.distribution_jdk()
    if jdk is None:
        parser.error("no JDK here; `make java` installs one")
    text, missed = [], False
    with tempfile.TemporaryDirectory() as temporary:
        classes = Path(temporary)
        subprocess.run(
            [
                jdk / "bin" / "javac",
                "--release",
                "11",
                "-d",
                classes,
                PROGRAMS / "Heap.java",
            ],
            check=True,
        )
        floor = compile_floor("heap", classes)
        for name in given.jvm.split(","):
            jvm = jvms.named(name)
            for millions in map(float, given.millions.split(",")):
                figures = measured(jvm, jdk, classes, floor, millions, given.rounds)
                lines = rows(figures, millions, jvm.feature)
                missed = missed or any("missed" in verdict for _, _, verdict in lines)
                title = f"### JDK {jvm}, {figures['objects'] / 1e6:.3g} million objects"
                table = ["| measure | | limit |", "| --- | --- | --- |"]
                table += [f"| {' | '.join(line)} |" for line in lines]
                text += [title, "", *table, ""]
                print("\n".join([title, "", *table, ""]), flush=True)
    if given.readme:
        page = README.read_text()
        start, end = MARKS
        whole = f"{start}\n\n" + "\n".join(text) + f"\n{end}"
        README.write_text(re.sub(f"{start}.*{end}", lambda _: whole, page, flags=re.DOTALL))
    return int(missed)


if __name__ == "__main__":
    os.environ.pop("JAVA_TOOL_OPTIONS", None)
    sys.exit(main())
