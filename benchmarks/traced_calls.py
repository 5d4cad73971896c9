"""Measures what a traced call costs, and how long it takes to put probes into classes.

    python benchmarks/traced_calls.py [--jvm HOME] [--threads N] [--no-arthas]

One program runs on; each tool traces the same two methods for some seconds, in turns.  `add` takes
two ints and returns one, `named` takes a string and an object and returns a string; the figures are
nanoseconds of processor time of a call over the bare one.  Beside it: the VM's own MethodExit
events, in a JVM that was started for them, and Arthas, whose `watch` has the same contents.
"""

from __future__ import annotations

import argparse
import contextlib
import queue
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PROGRAMS = HERE / "java"
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT / "tests"), str(ROOT / "scripts")]

from java_tracers import Arthas  # noqa: E402

import jvms  # noqa: E402
import jvmti  # noqa: E402

WATCHED = "'{params,returnObj}' -n 99999999"
METHODS = ("TracedCalls.add", "TracedCalls.named")
SETTLE, LOOK = 3.0, 2.0
"""Seconds until the JVM has compiled what is called now, and seconds of measuring."""


class Target:
    """The program, and what it says of its calls."""

    def __init__(
        self,
        java: Path,
        classes: Path,
        threads: int,
        *options: str,
        program: str = "TracedCalls",
        kinds: int = 1,
    ) -> None:
        command = [java, "-Xmx256m", *options, "-cp", classes, program, str(threads), str(kinds)]
        self.process = subprocess.Popen(
            [str(one) for one in command],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        assert self._lines.get(timeout=20) == "ready\n"

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)

    def nanoseconds(self) -> tuple[float, float]:
        """What a call of each method takes, in the median."""
        time.sleep(SETTLE)
        while not self._lines.empty():
            self._lines.get()
        rows: list[tuple[float, float]] = []
        for _ in range(10):  # a busy machine may let it say nothing for a while
            time.sleep(LOOK)
            while not self._lines.empty():
                words = self._lines.get().split()
                if len(words) == 3:
                    rows.append((float(words[0]), float(words[1])))
            if rows:
                break
        if not rows:
            return float("nan"), float("nan")
        return statistics.median(one for one, _ in rows), statistics.median(one for _, one in rows)

    def end(self) -> None:
        """End it."""
        self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def drained(trace: Any) -> Iterator[None]:
    """Take what a trace records, as fast as it comes."""
    done = threading.Event()

    def drain() -> None:
        while not done.is_set():
            if len(trace._memory.take()) == 0:
                time.sleep(0.001)
            trace._memory.allow(None)

    thread = threading.Thread(target=drain)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def traced(vm: Any, **options: Any) -> Callable[[], contextlib.AbstractContextManager[Any]]:
    """A trace with these options, and somebody who reads it."""

    @contextlib.contextmanager
    def tracing() -> Iterator[None]:
        with vm.trace(*METHODS, **options) as trace:
            if options.get("limit", 0) is None and not options.get("summary"):
                with drained(trace):
                    yield
            else:
                yield

    return tracing


@contextlib.contextmanager
def logged(vm: Any, text: str, method: str = METHODS[0], **options: Any) -> Iterator[None]:
    """A logpoint where a method begins, and somebody who reads it."""
    with vm.logpoint(method, text, limit=None, **options) as log, drained(log):
        yield


def _traced(**options: Any) -> Callable[[Any], contextlib.AbstractContextManager[Any]]:
    return lambda vm: traced(vm, **options)()


def _logged(
    text: str, method: str = METHODS[0], **options: Any
) -> Callable[[Any], contextlib.AbstractContextManager[Any]]:
    return lambda vm: logged(vm, text, method, **options)


def _false(when: str) -> Callable[[Any], contextlib.AbstractContextManager[Any]]:
    """A trace whose condition never holds; one of the two methods may lack its values."""
    return _traced(when=when, unloaded=True)


ARMS: tuple[tuple[str, Callable[[Any], contextlib.AbstractContextManager[Any]]], ...] = (
    ("jvmti, attached only", contextlib.nullcontext),
    ("jvmti, the time alone (--over 1h)", _traced(over=3600.0)),
    ("jvmti, a false condition of a number", _false("a == -1 and b == -2")),
    ("jvmti, a false condition of a text", _false("name == 'another'")),
    ("jvmti, a false condition of own fields", _false("this.total == -1")),
    ("jvmti, a false condition of a path", _false("other.total == -1")),
    ("jvmti, summary", _traced(summary=True)),
    ("jvmti, above the limit", _traced()),
    ("jvmti, each call recorded", _traced(limit=None)),
    ("jvmti, without arguments", _traced(limit=None, arguments=False)),
    ("jvmti, a counter", lambda vm: vm.logpoint(METHODS[0], by="method")),
    ("jvmti, a logpoint without values", _logged("here")),
    ("jvmti, a logpoint of a false condition", _logged("{a} {b}", when="a == -1")),
    *(
        # `add` has no `other` and no `name`.
        (f"jvmti, a false condition in `named`: {when}", _logged("here", METHODS[1], when=when))
        for when in (
            "this.total == -1",
            "this.price < 0",
            "name == 'another'",
            "other.total == -1",
            "other.price < 0",
            "other.closed",
            "other.none != None",
            "other.none.total == 1",
            "other.boxed == 1",
            "len(other.sizes) > 3",
            "type(other) == 'x'",
            "type(other) in 'com.*'",
        )
    ),
    ("jvmti, a logpoint with two ints", _logged("{a} {b}")),
    ("jvmti, afterwards", contextlib.nullcontext),
)


def main() -> int:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jvm", type=Path, default=jvms.distribution_jdk())
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--classes", type=int, default=1, metavar="N", help="of the objects that `named` takes"
    )
    parser.add_argument("--no-arthas", action="store_true")
    parser.add_argument("--only", default="", metavar="WORD", help="rows whose names have it")
    given = parser.parse_args()
    java = given.jvm / "bin" / "java"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        javac = jvms.distribution_jdk() / "bin" / "javac"
        subprocess.run(
            [javac, "-g", "--release", "11", "-d", folder, PROGRAMS / "TracedCalls.java"],
            check=True,
        )
        rows: list[tuple[str, float, float]] = []

        def row(what: str, target: Target, bare: tuple[float, float] = (0.0, 0.0)) -> None:
            add, named = target.nanoseconds()
            rows.append((what, add - bare[0], named - bare[1]))
            print(f"{what:56} {rows[-1][1]:12,.1f} {rows[-1][2]:12,.1f}", flush=True)

        print(f"{'nanoseconds of a call':56} {'add':>12} {'named':>12}")
        target = Target(java, folder, given.threads, kinds=given.classes)
        try:
            bare = target.nanoseconds()
            print(f"{'bare':56} {bare[0]:12,.1f} {bare[1]:12,.1f}   (the others are over this)")
            with jvmti.attach(target.process.pid, timeout=30) as vm:
                for what, arm in ARMS:
                    if given.only in what:
                        with arm(vm):
                            row(what, target, bare)
            if not given.no_arthas and given.only in "Arthas, watch":
                arthas = Arthas(java, target.process.pid, folder)
                watches = (f"watch {one.replace('.', ' ')} {WATCHED}" for one in METHODS)
                with arthas.armed(*watches):
                    row("Arthas, watch", target, bare)
        finally:
            target.end()
        if given.only:
            return 0
        reserved = jvmti.java_tool_options(jvmti.AgentOptions(reserve=()))
        target = Target(java, folder, given.threads, *reserved.split())
        try:
            with jvmti.attach(target.process.pid, timeout=30) as vm:
                env = vm.new_env()
                env.add_capabilities({"can_generate_method_exit_events"})
                stream = env.stream("MethodExit", methods=["add", "named"])
                done = threading.Event()
                reader = threading.Thread(
                    target=lambda: [stream.read(0.1) for _ in iter(done.is_set, True)]
                )
                reader.start()
                row("the VM's MethodExit events, streamed", target, bare)
                done.set()
                reader.join()
                stream.close()
        finally:
            target.end()
    found = {what: add for what, add, _ in rows}
    recorded = found["jvmti, each call recorded"]
    print()
    for other in ("the VM's MethodExit events, streamed", "Arthas, watch"):
        # No figure is one that said nothing in time.
        if found.get(other, 0) > 0:
            print(f"{other}: {found[other] / recorded:,.0f} × a recorded call of jvmti")
    return 0


if __name__ == "__main__":
    sys.exit(main())
