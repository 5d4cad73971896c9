"""Profiles a program in turmoil (`tests/java/Turmoil.java`) with every collector and mode.

python tests/robustness/profiled/turmoil.py --jvm 17 --minutes 30

takes profiles of all kinds, one after the other and several at once, with a sample each
millisecond, and divides the minutes among the collectors, ``-Xint`` and ``-Xcomp``. With
``--virtual`` the program does all of it on virtual threads; ``--denied perf_event_open`` has the
kernel deny it this call, as containers do, and ``--denied perf_event_open,timer_create`` both.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

TESTS = Path(__file__).parents[2]
sys.path.insert(0, str(TESTS))

import jvms  # noqa: E402
import jvmti  # noqa: E402
import programs  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Sequence

MODES = {
    "serial": ["-XX:+UseSerialGC"],
    "parallel": ["-XX:+UseParallelGC"],
    "g1": ["-XX:+UseG1GC"],
    "z": ["-XX:+UseZGC"],
    "shenandoah": ["-XX:+UseShenandoahGC"],
    "int": ["-XX:+UseSerialGC", "-Xint"],
    "comp": ["-XX:+UseSerialGC", "-Xcomp"],
    "own": ["-XX:+UseSerialGC", "-Xcomp", "-XX:CompileCommand=quiet"]
    + [
        f"-XX:CompileCommand=compileonly,{methods}"
        for methods in ("Turmoil*.*", "java/util/concurrent/*.*", "java/lang/Thread*.*")
    ],
}
"""The options of each: with ``own`` the program's own methods are compiled at their first call,
which leaves out what an attach runs, four fifths of the work of ``comp``."""
DENYING = str(TESTS / "profiling" / "denied_calls.py")
SINCE = {"z": 17, "shenandoah": 17}

CHOICES: tuple[Sequence[str], ...] = (
    ("cpu",),
    ("cpu", "wall", "lock"),
    ("cpu", "live"),
    ("wall", "alloc", "live"),
)
INTERVALS = {"cpu": 0.001, "wall": 0.001, "alloc": 16384, "live": 16384, "lock": 0.00001}


@dataclass
class Outcome:
    """What the profiles of a mode had."""

    mode: str
    profiles: int = 0
    samples: int = 0
    failed: int = 0
    faults: int = 0
    lost: int = 0
    seconds: float = 0.0
    processor: float = 0.0
    """Seconds of processor time that the program had meanwhile."""
    rounds: tuple[int, ...] = ()
    """How often the program has loaded, thrown, allocated, started and locked."""


def modes_of(jvm: jvms.Jvm) -> list[str]:
    """The modes that a JVM has."""
    return [mode for mode in MODES if has_mode(jvm, mode)]


def has_mode(jvm: jvms.Jvm, mode: str) -> bool:
    """Whether a JVM starts in a mode."""
    if jvm.feature < SINCE.get(mode, 0):
        return False
    return jvm.run(*MODES[mode], "-version", check=False, timeout=60).returncode == 0


def _faults(notes: Sequence[str]) -> int:
    return sum(
        int(note.split()[0].replace(",", "")) for note in notes if "walks met a fault" in note
    )


def _processor(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def profile(
    started: programs.JavaPrograms,
    mode: str,
    seconds: float,
    seed: int,
    threads: str = "",
    denied: str = "",
) -> Outcome:
    """Profile the program in a mode for so long, with ``virtual`` threads or others.

    Args:
        started: starts it.
        mode: one of `MODES`.
        seconds: how long.
        seed: of what is chosen by chance.
        threads: ``virtual``, or nothing.
        denied: names of system calls that the kernel denies it, as `denied_calls` has them.
    """
    random_ = random.Random(seed)
    program = started(
        "Turmoil",
        *threads.split(),
        jvm_args=["-Xmx24m", *MODES[mode]],
        wrapper=[os.path.realpath(sys.executable), DENYING, denied] if denied else [],
    )
    program.expect("ready", timeout=120)
    outcome = Outcome(mode)
    began, before = time.monotonic(), _processor(program.pid)
    with jvmti.attach(program.pid, timeout=60) as vm:
        while (left := seconds - (time.monotonic() - began)) > 0 or outcome.profiles < 2:
            kinds = CHOICES[outcome.profiles % len(CHOICES)]
            intervals = {kind: INTERVALS[kind] for kind in kinds}
            with vm.profile(*kinds, interval=intervals) as taken:
                used = _processor(program.pid)
                time.sleep(min(max(left, 0.5), random_.uniform(0.5, 3)))
                used = _processor(program.pid) - used
            outcome.profiles += 1
            outcome.samples += len(taken)
            for one in taken.limits:
                outcome.failed += one.failed or 0
                outcome.lost += one.lost or 0
                outcome.faults += _faults(one.notes)
                # Threads that end while they are listed are no loss.
                assert not any("nothing to follow" in note for note in one.notes), one.notes
            if "cpu" in kinds and used > 0.2:  # on a busy machine it may have had nothing
                assert len(taken["cpu"]) > 20, (mode, used, taken.limits)
                assert taken["cpu"].top(3)
    outcome.seconds = time.monotonic() - began
    outcome.processor = _processor(program.pid) - before
    program.send("?")
    # The VM may warn before.
    while not (line := program.read_line(timeout=60)).startswith("done "):
        pass
    outcome.rounds = tuple(map(int, line.split()[1:]))
    # Where all is compiled at its first call, a first round may take longer than this.
    assert all(outcome.rounds) or (mode == "comp" and seconds < 60), outcome
    assert program.running(), program.crash()
    program.stop()
    return outcome


def main() -> None:
    """Profile every mode, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jvm", default="17")
    parser.add_argument("--minutes", type=float, default=30.0, help="in all")
    parser.add_argument("--virtual", action="store_true", help="on virtual threads")
    parser.add_argument("--denied", default="", help="system calls that the kernel denies it")
    parser.add_argument("--modes", help="some of " + ",".join(MODES))
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    jvm = jvms.named(chosen.jvm)
    modes = chosen.modes.split(",") if chosen.modes else modes_of(jvm)
    with programs.of_script(jvm, "turmoil") as started:
        for number, mode in enumerate(modes):
            seconds, threads = chosen.minutes * 60 / len(modes), "virtual" * chosen.virtual
            outcome = profile(started, mode, seconds, chosen.seed + number, threads, chosen.denied)
            print(json.dumps({"jvm": chosen.jvm, **asdict(outcome)}), flush=True)


if __name__ == "__main__":
    main()
