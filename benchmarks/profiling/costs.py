"""Measures what profiles cost, beside async-profiler, and whether they reach what they must.

    python benchmarks/profiling/costs.py [--jvm 17,25] [--rounds 12] [--only cpu,virtual,alloc]

A program does units of work. A cost is the processor time of its process for a unit while a profile
is taken, divided by that without one: the median over rounds in which everybody has a turn, in an
order by chance, each beside the turns without a profile before and after it. So other work on the
machine does little harm. A turn begins a moment after the profile does, and so does one after it:
what a profile of locks changes in the JDK's classes is compiled anew each time.
Of processor time the third column is a handler that does nothing (`floors/signals.cpp`): what the
kernel takes for as many signals.
Each 10 ms, and on some machines each ms, a profile of processor time costs less than turns stray
by. So these costs are found from those of more samples: each ms from each 0.25 ms, of everybody
alike, and each 10 ms from each ms with the processor time of the agent's own threads.
`benchmarks/profiling/accuracy.py` has how right profiles are.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NamedTuple

BENCHMARKS = Path(__file__).parents[1]
ROOT = BENCHMARKS.parent
sys.path[:0] = [str(BENCHMARKS), str(ROOT / "tests"), str(ROOT / "scripts")]

from run import compile_floor, compile_program, machine, piped  # noqa: E402

import jvms  # noqa: E402
import jvmti  # noqa: E402
from async_profiler import AsyncProfiler  # noqa: E402
from real_programs import jdk  # noqa: E402

TURN = 500
"""Milliseconds of a turn."""
AGENT_TURNS = 6
"""As many turns long are the threads of the agent watched."""
WARM = 200
"""The same before it."""
WORK = ("cpu", "virtual", "alloc", "locks")
"""The kinds of work that the program does."""
PARTS = (*WORK, "wall", "flame", "top")
TICK = 0.01
"""Seconds: in these the kernel counts a process's time."""
NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
QUARTER = 0.25
"""Milliseconds from one sample to the next, for the cost of a fourth as many."""

Turn = Callable[[], AbstractContextManager[object]]


class Cost(NamedTuple):
    """The median of the ratios of turns, and its standard error."""

    ratio: float
    error: float | None = None

    def of_part(self, part: float) -> Cost:
        """The cost of this part of the samples."""
        return Cost(1 + (self.ratio - 1) * part, None if self.error is None else self.error * part)

    def __str__(self) -> str:
        return f"{self.ratio:.4f}" + ("" if self.error is None else f" ± {self.error:.4f}")


def middle(ratios: list[float]) -> Cost:
    """The median, whose error is estimated from the quartiles: some turns stray far."""
    low, _, high = statistics.quantiles(ratios, n=4)
    spread = (high - low) / 1.349
    return Cost(statistics.median(ratios), 1.253 * spread / len(ratios) ** 0.5)


class Work:
    """The program at work."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.pid = process.pid
        self._process = process
        self.line("ready")

    def line(self, begins: str) -> list[str]:
        """The words of its next line that begins so; async-profiler may print others."""
        assert self._process.stdout is not None
        while not (line := self._process.stdout.readline()).startswith(begins):
            if not line:
                raise EOFError("the program has ended")
        return line.split()

    def ask(self, what: str) -> list[str]:
        """Its answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{what}\n")
        self._process.stdin.flush()
        return self.line("did")

    def unit(self, what: str, milliseconds: int = TURN) -> float:
        """Nanoseconds of processor time for a unit."""
        _, units, used, _ = self.ask(f"{what} {milliseconds}")
        return int(used) / int(units)


@contextmanager
def working(jvm: jvms.Jvm, classes: Path, main: str = "ProfiledWork") -> Iterator[Work]:
    """The program."""
    command = [jvm.java, *jvm.args, "-Xmx512m", "-cp", str(classes), main]
    with piped(command) as process:
        yield Work(process)


def costs(work: Work, what: str, turns: dict[str, Turn], rounds: int) -> dict[str, Cost]:
    """The cost of each turn, beside turns without a profile."""
    found: dict[str, list[float]] = {name: [] for name in turns}
    chance = random.Random(1)
    before = work.unit(what)
    for _ in range(rounds):
        names = list(turns)
        chance.shuffle(names)
        for name in names:
            with turns[name]():
                work.ask(f"{what} {WARM}")
                during = work.unit(what)
            work.ask(f"{what} {WARM}")
            after = work.unit(what)
            found[name].append(2 * during / (before + after))
            before = after
    return {name: middle(ones) for name, ones in found.items()}


def agent_share(work: Work, what: str, turn: Turn) -> float:
    """The part of the processor time that the agent's own threads take."""

    def used() -> int:
        found = 0
        for task in Path(f"/proc/{work.pid}/task").iterdir():
            try:
                if (task / "comm").read_text().startswith("jvmti"):
                    found += int((task / "schedstat").read_text().split()[0])
            except FileNotFoundError:
                continue  # it has just ended
        return found

    with turn():
        work.ask(f"{what} {WARM}")
        before = used()
        whole = int(work.ask(f"{what} {TURN * AGENT_TURNS}")[2])
        return (used() - before) / whole


def with_fewer_samples(work: Work, what: str, turns: tuple[Turn, Turn], many: Cost) -> Cost:
    """The cost of a tenth of the samples of a turn, whose own cost is known.

    Args:
        work: the program.
        what: its work.
        turns: with all samples, and with a tenth of them.
        many: the cost of the first.
    """
    all_samples, few = (agent_share(work, what, turn) for turn in turns)
    error = None if many.error is None else many.error / 10
    return Cost(1 + (many.ratio - 1 - all_samples) / 10 + few, error)


def profiled(vm: jvmti.VM, kind: str, interval: float, **options: str) -> Turn:
    """Turns with a profile of ours."""
    return lambda: vm.profile(kind, interval=interval, **options)


def beside(peer: AsyncProfiler, options: str) -> Turn:
    """Turns with async-profiler."""

    @contextmanager
    def turn() -> Iterator[None]:
        peer.start(options)
        try:
            yield
        finally:
            peer.stop()

    return turn


def with_empty_handler(vm: jvmti.VM, library: Path, milliseconds: float) -> Turn:
    """Turns with signals, each so many milliseconds of a thread, whose handler does nothing."""

    @contextmanager
    def turn() -> Iterator[None]:
        ask(f"start {round(milliseconds * 1_000_000)}")
        try:
            yield
        finally:
            ask("stop")

    def ask(what: str) -> None:
        answer = vm.diagnostic_command(f'JVMTI.agent_load {library} "{what}"')
        if "return code: 0" not in answer:
            raise RuntimeError(f"the handler that does nothing: {answer}")

    return turn


def row(what: str, ours: Cost, theirs: Cost | None, asked: str, good: bool,
        empty: Cost | None = None) -> None:  # fmt: skip
    """Print a row of the table."""
    cells = (what, ours, theirs or "", empty or "", asked, "yes" if good else "no")
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def compared(jvm: jvms.Jvm, folder: Path, rounds: int, parts: list[str]) -> None:
    """Print the table of costs."""
    with working(jvm, folder) as work, jvmti.attach(work.pid, timeout=30) as vm:
        peer = AsyncProfiler(vm, folder)
        with vm.profile("cpu") as first:  # compiles anew what must be
            for what in {"cpu", *parts}:
                if what in WORK and (what != "virtual" or jvm.feature >= 21):
                    work.ask(f"{what} 3000")
        empty = compile_floor("signals", folder)
        engine = first.limits[0].engine
        event = "cpu" if engine == "perf" else "ctimer"
        for what, title in (("cpu", "CPU"), ("virtual", "CPU of virtual threads")):
            if what not in parts or (what == "virtual" and jvm.feature < 21):
                continue
            found = costs(
                work,
                what,
                {
                    f"{name} {ms}": turn
                    for ms in (QUARTER, 1, 10)
                    for name, turn in (
                        ("ours", profiled(vm, "cpu", ms / 1000)),
                        ("theirs", beside(peer, f"event={event},interval={round(ms * 1000)}us")),
                        ("empty", with_empty_handler(vm, empty, ms)),
                    )
                },
                rounds,
            )
            for ms in (QUARTER, 1, 10):
                ours, theirs = found[f"ours {ms}"], found[f"theirs {ms}"]
                most = 1 + 1.1 * max(theirs.ratio - 1, 0)
                if ms == 10:
                    most = 1.01
                row(f"{title}, {ms} ms, by {engine}", ours, theirs, f"{most:.3f}",
                    ours.ratio <= most, found[f"empty {ms}"])  # fmt: skip
            ours, theirs, none = (
                found[f"{name} {QUARTER}"].of_part(QUARTER) for name in ("ours", "theirs", "empty")
            )
            most = 1 + 1.1 * max(theirs.ratio - 1, 0)
            row(f"{title}, 1 ms, from samples each {QUARTER} ms", ours, theirs, f"{most:.3f}",
                ours.ratio <= most, none)  # fmt: skip
            both = (profiled(vm, "cpu", 0.001), profiled(vm, "cpu", 0.01))
            few = with_fewer_samples(work, what, both, found["ours 1"])
            row(f"{title}, 10 ms, from samples each ms", few, None, "1.010", few.ratio <= 1.01)
        for what, kind, interval, options, asked in (
            ("alloc", "alloc", 512 * 1024, "event=alloc,alloc=512k", 1.05),
            ("locks", "lock", 0.00001, "event=lock,lock=10us", 1.01),
        ):
            if what not in parts:
                continue
            found = costs(
                work,
                what,
                {"ours": profiled(vm, kind, interval), "theirs": beside(peer, options)},
                rounds,
            )
            most = min(asked, max(found["theirs"].ratio, 1.0)) if kind == "alloc" else asked
            text = f"≤ {asked}, ≤ async-profiler's" if kind == "alloc" else f"≤ {asked}"
            row(kind, found["ours"], found["theirs"], text,
                found["ours"].ratio <= most)  # fmt: skip
        if "wall" not in parts:
            return
        work.ask("idle 500")
        found = costs(
            work,
            "cpu",
            {
                "ours": profiled(vm, "wall", 0.01),
                "theirs": beside(peer, "event=wall,interval=10ms"),
            },
            rounds,
        )
        most = min(1.03, max(found["theirs"].ratio, 1.0))
        text = "≤ 1.03, ≤ async-profiler's"
        row("wall, 10 ms, 500 idle threads", found["ours"], found["theirs"], text,
            found["ours"].ratio <= most)  # fmt: skip


def flame_graph(jvm: jvms.Jvm, folder: Path) -> None:
    """Print how long the command takes from its start to a flame graph of one second."""
    # An installed package has its bytecode; sources that are linked have it after a first run.
    environment = {key: value for key, value in os.environ.items() if key != NO_BYTECODE}
    command = [sys.executable, "-m", "jvmti", "profile"]
    times = []
    with working(jvm, folder) as work:
        for number in range(6):
            path = folder / f"{jvm.name}-{number}.html"
            began = time.perf_counter()
            subprocess.run(
                [*command, str(work.pid), "--duration", "1", "-o", str(path)],
                check=True, stderr=subprocess.DEVNULL, env=environment,
            )  # fmt: skip
            times.append(time.perf_counter() - began)
    times = times[1:]
    seconds = statistics.median(times)
    row("attach, 1 s, flame graph, in seconds", Cost(seconds), None, "≤ 1.5", seconds <= 1.5)


def processor_time(pid: int) -> float:
    """Seconds of processor time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK


def top_at_work(jvm: jvms.Jvm, folder: Path, seconds: float = 10.0) -> None:
    """Print what `jvmti top` takes of a processor with 200 threads, on both sides."""
    with working(jvm, folder) as work:
        work.ask("idle 200")
        time.sleep(1)
        before = processor_time(work.pid)
        time.sleep(seconds / 2)
        idle = (processor_time(work.pid) - before) * 2
        command = [sys.executable, "-m", "jvmti", "top", str(work.pid)]
        with open_terminal(command) as shown:
            time.sleep(3)
            began, theirs = processor_time(shown.pid), processor_time(work.pid)
            time.sleep(seconds)
            used = processor_time(shown.pid) - began + processor_time(work.pid) - theirs - idle
    share = used / seconds
    row("jvmti top, 200 threads, part of a core", Cost(share), None, "≤ 0.02", share <= 0.02)


@contextmanager
def open_terminal(command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """A program on a terminal of its own, whose output is read and forgotten."""
    import pty
    import threading

    ours, theirs = pty.openpty()

    def drain() -> None:
        try:
            while os.read(ours, 1 << 16):
                pass
        except OSError:
            return  # the program has ended

    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "xterm"}
    ) as process:
        threading.Thread(target=drain, daemon=True).start()
        try:
            yield process
        finally:
            process.kill()
    os.close(theirs)
    os.close(ours)


def main() -> int:
    """Run all parts on each JVM."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jvm", default="17,25", help="which JVMs")
    parser.add_argument("--rounds", type=int, default=12, help="turns of each profiler")
    parser.add_argument("--only", default=",".join(PARTS), help="which of these parts")
    given = parser.parse_args()
    parts = given.only.split(",")
    print(machine())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        compile_program(jdk(), "ProfiledWork", folder)
        for wanted in given.jvm.split(","):
            jvm = jvms.named(wanted)
            print(f"\n### JDK {jvm.feature}")
            print(
                "\n| | jvmti | async-profiler | empty handler | asked | reached |"
                "\n| --- | --- | --- | --- | --- | --- |"
            )
            if {*WORK, "wall"} & {*parts}:
                compared(jvm, folder, given.rounds, parts)
            if "flame" in parts:
                flame_graph(jvm, folder)
            if "top" in parts:
                top_at_work(jvm, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
