"""Measures probes that stand in for the VM's events, and what arming and leaving cost the program.

    python benchmarks/probes.py [--jvm 17,25] [--no-arthas]

Each row has the same program do the same with the VM's own way, in a JVM that was started for it,
and with probes in a JVM without preparation; the program itself takes the time.
"""

from __future__ import annotations

import argparse
import queue
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

HERE = Path(__file__).parent
PROGRAMS = HERE / "java"
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT / "tests"), str(ROOT / "scripts")]

from answered import Program, nothing  # noqa: E402
from java_tracers import Arthas, load  # noqa: E402
from run import compile_program, machine  # noqa: E402
from traced_calls import METHODS, Target, logged, traced  # noqa: E402

import jvms  # noqa: E402
import jvmti  # noqa: E402
from jvmti.tracing import logpoint  # noqa: E402

CLASSES = 1000
PATIENCE = 300
"""Seconds to wait for a line, on a machine with much other work."""
QUIET: dict[str, Any] = {"stderr": subprocess.DEVNULL}


class Working:
    """The program Probed: what it says of itself."""

    def __init__(self, jvm: jvms.Jvm, classes: Path, *options: str) -> None:
        command = [jvm.java, *jvm.args, "-Xmx512m", *options, "-cp", str(classes), "Probed"]
        self.process = subprocess.Popen(
            [*command, str(CLASSES)], stdout=subprocess.PIPE, text=True, **QUIET
        )
        self._lines: queue.Queue[tuple[float, list[float]]] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line[0].isdigit():
                self._lines.put((time.monotonic(), [float(word) for word in line.split()]))

    def lines(self, seconds: float) -> list[tuple[float, list[float]]]:
        """What it prints from now on, with the moments."""
        while not self._lines.empty():
            self._lines.get()
        time.sleep(seconds)
        found = []
        while not self._lines.empty():
            found.append(self._lines.get())
        return found

    def worked(self, seconds: float) -> list[tuple[float, list[float]]]:
        """What it prints until it has used so much more processor time, with the moments."""
        while not self._lines.empty():
            self._lines.get()
        found = [self._lines.get(timeout=PATIENCE)]
        while found[-1][1][3] - found[0][1][3] < seconds:
            found.append(self._lines.get(timeout=PATIENCE))
        return found

    def medians(self, settle: float = 4, look: float = 2) -> list[float]:
        """Nanoseconds of a call and of an exception, and calls a second."""
        self.lines(settle)
        rows = [numbers for _, numbers in self.lines(look)]
        return [statistics.median(column) for column in zip(*rows, strict=True)]

    def end(self) -> None:
        """End it."""
        self.process.kill()
        self.process.wait()


@contextmanager
def working(jvm: jvms.Jvm, classes: Path, *options: str) -> Iterator[Working]:
    """The program while it runs."""
    program = Working(jvm, classes, *options)
    try:
        yield program
    finally:
        program.end()


def answered(jvm: jvms.Jvm, classes: Path, late: bool, times: int = 5000) -> float:
    """Nanoseconds of a breakpoint that an empty function answers."""
    command = [jvm.java, *jvm.args, "-cp", str(classes), "Answered"]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    if late:
        process = subprocess.Popen(command, **pipes, **QUIET)
        program = Program(process)
        vm = jvmti.attach(process.pid)
    else:
        vm = jvmti.launch(command, capabilities="all", **pipes)
        assert vm.popen is not None
        process = vm.popen
        program = Program(process)
    with vm:
        program.ask("hits", times)
        with vm.breakpoint("Answered", "hit", do=nothing):
            found = program.ask("hits", times)
    process.stdin.close()
    process.wait()
    return found


def answers(jvm: jvms.Jvm, classes: Path, _: argparse.Namespace) -> None:
    """The emulated breakpoint beside the VM's."""
    pairs = [(answered(jvm, classes, False), answered(jvm, classes, True)) for _ in range(3)]
    native, late = (min(column) for column in zip(*pairs, strict=True))
    show("breakpoint answered by an empty function", native / 1e3, late / 1e3, "µs", late / native)


def watches(jvm: jvms.Jvm, classes: Path, _: argparse.Namespace) -> None:
    """A breakpoint elsewhere in a hot method, and exceptions that are recorded."""
    reserved = jvmti.java_tool_options(jvmti.AgentOptions(reserve=())).split()
    source = (PROGRAMS / "Probed.java").read_text().splitlines()
    (line,) = [number for number, text in enumerate(source, 1) if "// never reached" in text]
    found: list[list[float]] = []
    for options in (reserved, []):
        with working(jvm, classes, *options) as program:
            with jvmti.attach(program.process.pid, timeout=30) as vm:
                bare = program.medians()
                with vm.breakpoint("Probed", "hot", line=line):
                    hot = program.medians()[0]
                if options:
                    env = vm.new_env()
                    env.add_capabilities({"can_generate_exception_events"})
                    with env.stream("Exception") as stream:
                        done = threading.Event()
                        reader = threading.Thread(target=read, args=(stream, done))
                        reader.start()
                        thrown = program.medians()[1]
                        done.set()
                        reader.join()
                else:
                    with vm.logpoint("throw Probed.*", "{exception}", limit=None) as log:
                        done = threading.Event()
                        reader = threading.Thread(target=read, args=(log, done))
                        reader.start()
                        thrown = program.medians()[1]
                        done.set()
                        reader.join()
                found.append([hot / bare[0], thrown - bare[1], bare[1]])
    (hot, thrown, _), (late_hot, late_thrown, bare_thrown) = found
    show("breakpoint elsewhere in a hot method, of the time without", hot, late_hot, "×", late_hot)
    show(
        f"exception recorded, over the {bare_thrown:,.0f} ns that one takes",
        thrown,
        late_thrown,
        "ns",
        late_thrown / thrown,
    )


def read(records: Any, done: threading.Event) -> None:
    """Take what is recorded."""
    while not done.is_set():
        records.read(0.1)


def longest_safepoint(text: str) -> float:
    """Seconds of the longest safepoint in a log of the VM's, from the request until it resumed."""
    found = re.findall(r'Safepoint "\w+".*Total: +(\d+) ns', text)
    return max(map(int, found)) / 1e9


Rates = list[tuple[float, list[float]]]
WARM = 30
"""Seconds of processor time until a thousand classes have been compiled, on a slow machine, too."""
AGAIN = 16
"""The same for classes that have been changed, when the program is warm."""
SOON = {"17": 10, "25": 3}
"""Seconds after which a program is asked to be as fast as before it had probes."""
MOMENTS = (0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 12)
"""Seconds after which its calls are compared with those before."""


def around(rates: Rates, at: float) -> float:
    """Calls a second around a moment, of several lines, so that a lucky one counts little."""
    found = [one[2] for when, one in rates if abs(when - at) <= 0.3]
    return statistics.median(found) if found else float("nan")


def seconds_until(rates: Rates, began: float, before: float) -> float:
    """How long it took until there were 98 % of the calls before; infinite if there never were."""
    moments = (began + number / 10 for number in range(3, int((rates[-1][0] - began) * 10)))
    found = (at - began for at in moments if around(rates, at) >= 0.98 * before)
    return next(found, float("inf"))


def compiled(program: Working) -> float:
    """Calls a second once all is compiled."""
    rates = program.worked(WARM)
    return statistics.median(one[2] for _, one in rates if one[3] > rates[-1][1][3] - 3)


def arms(jvm: jvms.Jvm, classes: Path, given: argparse.Namespace) -> None:
    """A thousand hot classes get probes."""
    log = classes / "safepoints"
    with working(jvm, classes, f"-Xlog:safepoint=info:file={log}") as program:
        program.lines(13)
        with jvmti.attach(program.process.pid, timeout=30) as vm:
            vm.classes  # noqa: B018  (the list is there before the clock starts)
            logged = log.stat().st_size
            began = time.monotonic()
            trace = vm.trace("Probed$Class*.*", summary=True)
            took = time.monotonic() - began
            stopped = longest_safepoint(log.read_text()[logged:])
            assert trace.classes == CLASSES, trace.classes
            trace.close()
    show(f"arming {CLASSES:,} classes", float("nan"), took, "s", float("nan"))
    show("  the longest that the VM stopped for it", float("nan"), stopped, "s", stopped / took)
    if not given.no_arthas:
        arthas_arms(jvm, classes, took)


def beside(jvm: jvms.Jvm, classes: Path, _: argparse.Namespace) -> None:
    """Breakpoints in one method: each set beside those before it, and the oldest removed."""

    def took(does: Callable[[], object]) -> float:
        began = time.monotonic()
        does()
        return 1e3 * (time.monotonic() - began)

    with working(jvm, classes) as program:
        program.lines(3)
        with jvmti.attach(program.process.pid, timeout=30) as vm:
            points: list[Any] = []

            def add() -> None:
                """One more that never stops the program."""
                when = f"a == -{len(points) + 2}"
                points.append(vm.breakpoint("Probed", "hot", when=when))

            sets = [took(add) for _ in range(60)]
            turns = [(took(points[number].cancel), took(add)) for number in range(10)]
    first = min(sets[:10])  # the least busy of ten
    cancelled, added = (min(column) for column in zip(*turns, strict=True))
    show("a breakpoint beside up to 9 in a method, beside 59", first, added, "ms", added / first)
    show("  added as the 60th, the oldest removed", added, cancelled, "ms", cancelled / added)


def left(program: Working, _: Path) -> None:
    """All hot classes get probes, and lose them again."""
    with jvmti.attach(program.process.pid, timeout=30) as vm:
        with vm.trace("Probed$Class*.*", summary=True) as trace:
            assert trace.classes == CLASSES, trace.classes
            program.worked(AGAIN)


def retransformed(program: Working, classes: Path) -> None:
    """An agent of `java.lang.instrument` has them retransformed twice, and changes nothing."""
    jar = classes / "retransforms.jar"
    with zipfile.ZipFile(jar, "w") as packed:
        packed.write(classes / "Retransforms.class", "Retransforms.class")
        lines = ("Agent-Class: Retransforms", "Can-Retransform-Classes: true", "")
        packed.writestr("META-INF/MANIFEST.MF", "\n".join(lines))
    options = f"{jar}=Probed$Class"
    load(program.process.pid, options)
    program.worked(AGAIN)
    load(program.process.pid, options)


def leaves(jvm: jvms.Jvm, classes: Path, given: argparse.Namespace) -> None:
    """A thousand hot classes lose their probes, in turns with a plain agent's, in new JVMs."""
    found: dict[str, list[list[float]]] = {}
    moments = " ".join(f"{one:5g}" for one in MOMENTS)
    print(f"  {'seconds':14}{moments}  98 % after   (% of the calls before)", flush=True)
    for _ in range(given.rounds):
        for does in (retransformed, left):
            with working(jvm, classes) as program:
                before = compiled(program)
                does(program, classes)
                began = time.monotonic()
                rates = program.lines(MOMENTS[-1] + 1)
                curve = [100 * around(rates, began + at) / before for at in MOMENTS]
                row = [*curve, seconds_until(rates, began, before)]
            found.setdefault(does.__name__, []).append(row)
            shown = " ".join(f"{one:5.0f}" for one in curve)
            print(f"  {does.__name__:14}{shown}  {row[-1]:5.1f} s", flush=True)
    alone, ours = (
        [statistics.median(column) for column in zip(*rows, strict=True)] for rows in found.values()
    )
    soon = SOON.get(jvm.name, 10)
    print(f"  beside an agent that retransforms the same classes; medians of {given.rounds} JVMs")
    what = "after leaving: until 98 % of the calls before"
    show(what, alone[-1], ours[-1], "s", ours[-1] / alone[-1])
    for after in (soon, MOMENTS[-1]):
        at = MOMENTS.index(after)
        what = f"  of the calls before, after {after} s"
        show(what, alone[at], ours[at], "%", ours[at] / alone[at])


def arthas_arms(jvm: jvms.Jvm, classes: Path, took: float) -> None:
    """Arthas does the same."""
    with working(jvm, classes) as program, tempfile.TemporaryDirectory() as name:
        program.medians(8, 2)
        arthas = Arthas(Path(jvm.java), program.process.pid, Path(name))
        with arthas.armed("monitor -E Probed.Class.* .* -c 100 -m 2000") as theirs:
            show("  beside Arthas", theirs, took, "s", took / theirs)


def shares(jvm: jvms.Jvm, classes: Path, _: argparse.Namespace) -> None:
    """Two threads in the same probes, beside one."""
    costs: list[list[float]] = []
    bares = []
    for threads in (1, 2):
        target = Target(Path(jvm.java), classes, threads)
        try:
            bare, _ = target.nanoseconds()
            bares.append(bare)
            with jvmti.attach(target.process.pid, timeout=30) as vm:
                found = []
                for _, arm in SHARED:
                    with arm(vm):
                        found.append(target.nanoseconds()[0] - bare)
                costs.append(found)
        finally:
            target.end()
    print(f"{'nanoseconds of processor time over the bare call':56} {'1 thread':>10} {'2':>10}")
    show(
        "the bare call, which adds to a field of its own object", *bares, "ns", bares[1] / bares[0]
    )
    for (what, _), one, two in zip(SHARED, *costs, strict=True):
        show(what, one, two, "ns", two / one)


def throws(jvm: jvms.Jvm, classes: Path, _: argparse.Namespace) -> None:
    """What a probe where an exception is thrown costs, where C2 makes a jump of the throw."""
    place = "throw Thrown.*"
    target = Target(Path(jvm.java), classes, 1, program="Thrown")
    print(f"{'nanoseconds of processor time of a throw':56} {'ready':>10} {'made':>10}")
    try:
        bare = target.nanoseconds()
        show("thrown and caught, without a probe", *bare, "ns", bare[1] / bare[0])
        with jvmti.attach(target.process.pid, timeout=30) as vm:
            for what, arm in (
                ("a counter", lambda: vm.logpoint(place, by="method")),
                ("a record without values", lambda: logged(vm, "here", place)),
                ("a record of the exception", lambda: logged(vm, "{exception}", place)),
            ):
                with arm():
                    ready, made = target.nanoseconds()
                show(
                    f"  over that, with {what}",
                    ready - bare[0],
                    made - bare[1],
                    "ns",
                    ready / bare[0],
                )
    finally:
        target.end()


@contextmanager
def untimed(vm: Any) -> Iterator[None]:
    """A logpoint whose hits have no time, which costs more than all the rest of a record."""
    with mock.patch.object(logpoint, "_BEGAN", logpoint._UNTIMED), logged(vm, "here"):
        yield


SHARED: tuple[tuple[str, Callable[[Any], AbstractContextManager[Any]]], ...] = (
    ("a counter", lambda vm: vm.logpoint(METHODS[0], by="method")),
    ("a record without values or time", lambda vm: untimed(vm)),
    ("a record with its time", lambda vm: logged(vm, "here")),
    ("a summary", lambda vm: vm.trace(METHODS[0], summary=True)),
    ("a call with two arguments and its value", lambda vm: traced(vm, limit=None)()),
)


def show(what: str, native: float, late: float, unit: str, ratio: float) -> None:
    """Print a row."""
    print(f"{what:56} {native:10,.2f} {late:10,.2f} {unit:3} {ratio:8.2f}", flush=True)


def main() -> int:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--jvm", default="17,25")
    parser.add_argument("--no-arthas", action="store_true")
    parser.add_argument("--only", default="answers,watches,arms,beside,leaves,shares,throws")
    parser.add_argument("--rounds", type=int, default=3, help="JVMs for each way to leave")
    given = parser.parse_args()
    jdk = jvms.distribution_jdk()
    if jdk is None:
        raise SystemExit("there is no JDK with javac; `make java` installs one")
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        for source in ("Answered", "Probed", "Retransforms", "Thrown", "TracedCalls"):
            compile_program(jdk, source, directory)
        for version in given.jvm.split(","):
            print(f"JDK {version:52} {'VM, Arthas':>10} {'probes':>10}     {'ratio':>8}")
            for measure in (answers, watches, arms, beside, leaves, shares, throws):
                if measure.__name__ in given.only.split(","):
                    measure(jvms.named(version), directory, given)
    print(machine())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
