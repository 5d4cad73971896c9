"""Measures this package in two checkouts, in turns: what did a change of the whole cost?

    python benchmarks/two_checkouts.py OLDER NEWER [--jvm 25] [--seconds 120] [--json FILE]

Both are directories in which `make install java` has run.  A process of each is there all the
time, with JVMs of its own, and they measure by turns, some milliseconds each, so that other work on
the machine disturbs both alike.  It prints the medians, and of the ratios of neighbours, newer to
older, the median and the middle half.  A first attach takes a fresh JVM for each turn.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median, quantiles
from typing import Any

ROWS = {
    "attach": "first attach to first answer",
    "call": "one cheap call",
    "map": "the same over 1,000 handles, per call",
    "map-list": "the same over a list of objects, per call",
    "stacks": "all stacks with names and lines",
    "classes": "signature, status and loader of every class",
    "breakpoint": "breakpoint answered by an empty handler",
    "class": "class file load hook answered unchanged",
}

WORKER = """
import json, os, sys, tempfile, time
from contextlib import ExitStack
from pathlib import Path
from statistics import median
sys.path[:0] = [f"{sys.argv[1]}/benchmarks", f"{sys.argv[1]}/tests"]
import answered, jvms, jvmti, numpy, run
if sys.argv[3] == "one":
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
jvm = jvms.named(sys.argv[2])
with ExitStack() as stack:
    classes = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    for program in ("Target", "Answered"):
        run.compile_program(jvms.distribution_jdk(), program, classes)
    pid, _ = stack.enter_context(run.target(jvm, classes, run.FEW_THREADS))
    few = stack.enter_context(jvmti.attach(pid))
    pid, _ = stack.enter_context(run.target(jvm, classes))
    many = stack.enter_context(jvmti.attach(pid))
    stopped, program = answered.launched(jvm, classes)
    stack.callback(stopped.popen.kill)
    env, thread = few.env, few.threads["worker-0"]
    handles = ([one for one in few.threads if one.name.startswith("worker-")] * 1000)[:1000]
    column = numpy.array([one._handle for one in handles], "<u8")
    hit = stopped.jni.get_static_method_id(stopped.find_class("Answered"), "hit", "()V")

    def of(rounds, action, each=1):
        action()
        return median(run.timed(rounds, action)) / each

    def asked(what, times):
        program.process.stdin.write(f"{what} {times}\\n".encode())
        program.process.stdin.flush()
        return int(program.process.stdout.readline())

    def breakpoints():
        with stopped.env.on("Breakpoint", answered.nothing):
            stopped.env.set_breakpoint(hit, 0)
            found = asked("hits", 300)
            stopped.env.clear_breakpoint(hit, 0)
        return found

    def class_files():
        with stopped.env.on("ClassFileLoadHook", answered.nothing):
            return asked("classes", 100)

    def attach():
        with run.target(jvm, classes, run.FEW_THREADS) as (pid, _):
            began = time.perf_counter_ns()
            vm = jvmti.attach(pid)
            vm.env.get_all_threads()
            taken = time.perf_counter_ns() - began
            vm.detach()
        return taken

    measures = {
        "call": lambda: of(300, lambda: env.get_thread_state(thread)),
        "map": lambda: of(20, lambda: env.map.get_thread_state(column), 1000),
        "map-list": lambda: of(10, lambda: env.map.get_thread_state(handles), 1000),
        "stacks": lambda: of(3, many.threads.snapshot),
        "classes": lambda: of(3, lambda: run.all_classes(many)),
        "breakpoint": breakpoints,
        "class": class_files,
        "attach": attach,
    }
    for name in ("call", "breakpoint"):
        measures[name](); measures[name]()
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(measures[line.strip()]()), flush=True)
"""


class Worker:
    """One checkout's process, which measures on request."""

    def __init__(self, checkout: Path, jvm: str, processors: str) -> None:
        python = checkout / ".venv" / "bin" / "python"
        self._process: Any = subprocess.Popen(
            [python, "-c", WORKER, checkout, jvm, processors],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ready(self) -> None:
        line = self._process.stdout.readline()
        assert line == "ready\n", line

    def measure(self, what: str) -> float:
        self._process.stdin.write(f"{what}\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def end(self) -> None:
        self._process.stdin.close()
        self._process.wait(30)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("older", type=Path)
    parser.add_argument("newer", type=Path)
    parser.add_argument("--jvm", default="25")
    parser.add_argument("--seconds", type=float, default=120.0, help="begin no turn after this")
    parser.add_argument("--one-processor", action="store_true")
    parser.add_argument("--only", default=",".join(ROWS), help="rows: " + ",".join(ROWS))
    parser.add_argument("--json", type=Path, help="add the turns to those of this file")
    chosen = parser.parse_args()
    ends = time.monotonic() + chosen.seconds
    file = chosen.json
    turns: dict[str, list[list[float]]] = (
        json.loads(file.read_text()) if file is not None and file.exists() else {}
    )
    processors = "one" if chosen.one_processor else "all"
    checkouts = (chosen.older.resolve(), chosen.newer.resolve())
    workers = [Worker(checkout, chosen.jvm, processors) for checkout in checkouts]
    for worker in workers:
        worker.ready()
    number = 0
    while time.monotonic() < ends:
        number += 1
        for what in chosen.only.split(","):
            if what == "attach" and number % 5 != 1 and chosen.only != "attach":
                continue
            order = (0, 1) if number % 2 else (1, 0)
            found = {which: workers[which].measure(what) for which in order}
            turns.setdefault(what, []).append([found[0], found[1]])
    for worker in workers:
        worker.end()
    if file is not None:
        file.write_text(json.dumps(turns))
    print(f"JDK {chosen.jvm}, {number} turns, Python {sys.version.split()[0]}\n")
    print("| measure | before: µs | after: µs | after / before | middle half |")
    print("|---|--:|--:|--:|---|")
    for key, what in ROWS.items():
        if len(turns.get(key, ())) > 1:
            older, newer = zip(*turns[key], strict=True)
            low, middle, high = quantiles([new / old for old, new in turns[key]], n=4)
            print(
                f"| {what} | {median(older) / 1000:.3g} | {median(newer) / 1000:.3g} "
                f"| {middle:.2f} | {low:.2f} to {high:.2f} |"
            )


if __name__ == "__main__":
    main()
