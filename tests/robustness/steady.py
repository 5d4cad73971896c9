"""A program that works at a steady rate (`tests/java/Steady.java`), and what its process shows.

Everything here works without pytest as well, for the long runs.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import agent_builds
import programs
from jvmti.target.agent_library import own_library

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass(frozen=True)
class Footprint:
    """What a process has at a moment."""

    descriptors: int
    threads: tuple[str, ...]
    """Their names, without those that the VM starts and ends by itself."""
    resident: int
    """In kilobytes."""


OWN_OF_THE_VM = (
    "C1 Compiler", "C2 Compiler", "Common-Cleaner", "Sweeper", "Attach Listener", "VirtualThread-u",
)  # fmt: skip
"""Threads that come with the first attach, direct buffer or virtual thread, or with work to
compile."""


def _is_report(descriptor: Path) -> bool:
    """Whether it is the file that a sanitizer has opened to report into."""
    try:
        return f"/{agent_builds.REPORT}." in os.readlink(descriptor)
    except FileNotFoundError:
        return False  # it has been closed meanwhile


def footprint(pid: int) -> Footprint:
    names = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            name = (task / "comm").read_text().strip()
        except OSError:
            continue  # it has ended meanwhile
        if not name.startswith(OWN_OF_THE_VM):
            names.append(name)
    status = dict(
        line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
    )
    descriptors = list(Path(f"/proc/{pid}/fd").iterdir())
    if agent_builds.SANITIZED:
        descriptors = [one for one in descriptors if not _is_report(one)]
    return Footprint(
        len(descriptors),
        tuple(sorted(names)),
        int(status["VmRSS"].split()[0]),
    )


def wait_until(condition: Callable[[], bool], seconds: float = 10) -> bool:
    """Wait for something that takes a moment; tell whether it came."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


FIXED_THREADS = ("-XX:+IgnoreUnrecognizedVMOptions", "-XX:-UseDynamicNumberOfCompilerThreads")
"""The compiler's threads come and go otherwise, and would look like the agent's."""


NO_SIGNAL = "-XX:+StartAttachListener"
"""The JVM can be attached to from the start: one that is slow to take the signal of an attach
would answer a second one with a thread dump among the program's answers."""


LOG_APART = ("-Xlog:disable", "-Xlog:all=warning:stderr")
"""The VM tells of exhausted resources on standard output otherwise, among the answers too."""


class Steady:
    """The running program, spoken to."""

    def __init__(self, program: programs.JavaProgram) -> None:
        self.program = program
        self.pid = program.pid
        program.expect("ready", timeout=60)

    def footprint(self) -> Footprint:
        return footprint(self.pid)

    def at_rest(self) -> Footprint:
        """What the process has once threads that are about to end have ended."""
        seen = [self.footprint()]
        while len(seen) < 10 or any(
            (one.threads, one.descriptors) != (seen[-1].threads, seen[-1].descriptors)
            for one in seen[-10:]
        ):
            time.sleep(0.01)
            seen.append(self.footprint())
        return seen[-1]

    def settles_at(self, wanted: Footprint, seconds: float = 10) -> bool:
        """Whether descriptors and threads come back to what they were."""

        def same() -> bool:
            now = self.footprint()
            return (now.descriptors, now.threads) == (wanted.descriptors, wanted.threads)

        return wait_until(same, seconds)

    def count(self) -> int:
        return int(self.program.ask("count", timeout=30))

    def goes_on(self) -> bool:
        before = self.count()
        return wait_until(lambda: self.count() > before)

    def rates(self, samples: int) -> list[tuple[float, int]]:
        """The newest counts per 10 ms with their times (seconds of `time.monotonic`)."""
        answer = self.program.ask(f"rates {samples}", timeout=30)
        pairs = (pair.split(":") for pair in answer.split())
        return [(int(at) / 1e9, int(count)) for at, count in pairs]

    def prey_runs(self) -> bool:
        """Whether every thread that may be suspended comes round."""
        return any(self.program.ask("prey", timeout=30) == "4" for _ in range(6))

    def locks_are_free(self) -> bool:
        return self.program.ask("locks", timeout=30) == "free"


def launch(
    java_program: programs.JavaPrograms,
    *,
    reserve: bool = True,
    spins: bool = False,
    calm: bool = False,
    jvm_args: Sequence[str] = (),
    log: Path | None = None,
) -> Steady:
    """Start the program; with `reserve` a later attach can have every capability.

    With `spins` one of its threads is in Java code at every moment.  That takes a whole processor,
    and what runs beside it twice as long.  With `calm` the prey rests longer: where each of its
    calls is an event, it takes a third of a processor otherwise.
    """
    arguments = ["-Xmx256m", "-XX:+UseSerialGC", *FIXED_THREADS, NO_SIGNAL]
    arguments += [*LOG_APART, *jvm_args]
    if reserve:
        where = f",log={log}" if log else ""
        arguments.append(f"-agentpath:{own_library()}=reserve{where}")
    words = [word for word, asked in (("spin", spins), ("calm", calm)) if asked]
    return Steady(java_program("Steady", *words, jvm_args=arguments))
