"""A random walk over everything that the package offers, on one JVM, for as long as one likes.

    python tests/robustness/walks/random_walk.py --jvm 17 --seed 1 --minutes 60
    python tests/robustness/walks/random_walk.py --jvm 17 --seed 1 --walk 42

Each walk is the life of one JVM: with a collector, a heap, stacks and a compiler that the seed
chooses, started by a controller and held in OnLoad or attached to later, with one to three
controllers (`walking_controller.py`) at once, which are killed, stopped, continued and replaced.
Afterwards the program's heart must beat on, the agent must have nothing left, no thread may be
suspended, and the program must come to its end.  What did not go well keeps its directory: the
crash report, the program's output, a log of the steps of each controller, and stacks where
something hung.  With `JVMTI_TEST_SANITIZED=address,undefined` it runs on an agent with sanitizers.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[2]
sys.path.insert(0, str(TESTS))

import agent_builds  # noqa: E402
import compiler  # noqa: E402
import jvms  # noqa: E402
import jvmti  # noqa: E402
from jvmti.interface.constants import ThreadState  # noqa: E402
from jvmti.target.agent_library import own_library  # noqa: E402

COLLECTORS = {
    "Serial": ["-XX:+UseSerialGC"],
    "Parallel": ["-XX:+UseParallelGC"],
    "G1": ["-XX:+UseG1GC"],
    "ZGC": ["-XX:+UnlockExperimentalVMOptions", "-XX:+UseZGC"],
    "GenZGC": ["-XX:+UseZGC", "-XX:+ZGenerational"],
    "Shenandoah": ["-XX:+UnlockExperimentalVMOptions", "-XX:+UseShenandoahGC"],
}
COMPILERS = {
    "mixed": [],
    "int": ["-Xint"],
    "comp": ["-Xcomp", "-XX:TieredStopAtLevel=1"],
    "C1": ["-XX:TieredStopAtLevel=1"],
    "C2": ["-XX:-TieredCompilation"],
}
ALWAYS = [
    "-XX:+UnlockDiagnosticVMOptions", "-XX:-CreateCoredumpOnCrash", "-XX:+StartAttachListener",
    "-Xlog:disable", "-Xlog:all=error:stderr", "-Xshare:auto", "-Dwalk.one=first",
]  # fmt: skip

ENOUGH = 20
"""Steps of all controllers together for each second that a walk lasts, after which it may end."""

NO_ANSWER = (jvmti.Error, jvmti.AttachError)

_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """A program whose controller was killed becomes our child, so that its end can be seen."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def collectors_of(jvm: jvms.Jvm) -> list[str]:
    """Those that this JVM starts with; ZGC wants addresses where sanitizers have their memory."""
    found = []
    for name, flags in COLLECTORS.items():
        if agent_builds.SANITIZED and "-XX:+UseZGC" in flags:
            continue
        done = subprocess.run(
            [jvm.java, *jvm.args, *flags, "-Xmx32m", "-version"], capture_output=True, check=False
        )
        if done.returncode == 0:
            found.append(name)
    return found


@dataclass
class Outcome:
    """How a walk went."""

    number: int
    flags: list[str]
    started: str
    verdict: str = "well"
    seconds: float = 0.0
    steps: int = 0
    kills: int = 0
    pauses: int = 0
    controllers: int = 0
    surprises: list[str] = field(default_factory=list)
    directory: str = ""


class Walk:
    """One life of a JVM."""

    def __init__(
        self,
        jvm: jvms.Jvm,
        collectors: list[str],
        seed: int,
        number: int,
        directory: Path,
        seconds: float,
    ) -> None:
        self.jvm = jvm
        self.random = rng = random.Random(f"{seed}/{number}")
        self.seconds = seconds
        self.directory = directory
        directory.mkdir(parents=True)
        self.classes = compiler.classes("Walked")
        small = rng.random() < 0.4
        stack = rng.choice([0, 0, 256 << 10])
        flags = [
            *COLLECTORS[rng.choice(collectors)],
            *COMPILERS[rng.choice([*COMPILERS])],
            "-Xmx16m" if small else rng.choice(["-Xmx64m", "-Xmx256m"]),
            *(["-Xss512k"] if rng.random() < 0.3 else []),
        ]
        self.reserve = rng.random() < 0.85
        self.launched = rng.random() < 0.4
        self.outcome = Outcome(number, flags, "launched" if self.launched else "attached")
        self.outcome.directory = str(self.directory)
        room = (1 << 19) if small else (1 << 21)
        self.command = [
            jvm.java, *jvm.args, *flags, *ALWAYS, "-XX:+IgnoreUnrecognizedVMOptions",
            f"-XX:ErrorFile={self.directory}/hs_err_%p.log", "-cp", str(self.classes),
            "Walked", str(stack), str(room),
        ]  # fmt: skip
        self.pid = 0
        self.program: subprocess.Popen[bytes] | None = None  # where we have started it ourselves
        self.controllers: list[subprocess.Popen[str]] = []
        self.status: int | None = None

    # ---- the program -------------------------------------------------------------------------

    def start(self) -> None:
        if not self.launched:
            command = list(self.command)
            if self.reserve:
                command.insert(1, f"-agentpath:{own_library()}=reserve")
            with (self.directory / "stdout").open("wb") as out:
                with (self.directory / "stderr").open("wb") as err:
                    self.program = subprocess.Popen(
                        command,
                        stdout=out,
                        stderr=err,
                        stdin=subprocess.DEVNULL,
                        cwd=self.directory,
                        env=agent_builds.environment_of_java(self.directory),
                    )
            self.pid = self.program.pid
        else:
            controller = self.control("--", *self.command)
            assert controller.stdout is not None
            line = controller.stdout.readline()
            if not line:
                controller.wait()
                raise Trouble("did not start")
            self.pid = int(line)
        if self.launched and self.random.random() < 0.7:
            return  # it may stay in OnLoad for long: the others come meanwhile, or not at all
        self.await_beats(1, 120, "did not start")

    def alive(self) -> bool:
        """Whether it runs; where we are its parent, its status is kept when it has ended."""
        if self.status is not None:
            return False
        if self.program is not None:
            self.status = self.program.poll()
            return self.status is None
        with contextlib.suppress(ChildProcessError):
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            if ended:
                self.status = os.waitstatus_to_exitcode(status)
                return False
        try:
            state = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            state = "gone"
        if state == "gone" and self.status is None:
            self.status = 0  # its controller has seen its end
        return state not in ("Z", "gone")

    def beats(self) -> int:
        try:
            return (self.directory / "stdout").read_bytes().count(b"beat")
        except OSError:
            return 0

    def crashed(self) -> bool:
        crash = self.status is not None and self.status < 0 and self.status != -signal.SIGKILL
        reports = [*self.directory.glob("hs_err*"), *agent_builds.reports(self.directory)]
        return crash or bool(reports)

    def await_beats(self, count: int, seconds: float, what: str) -> None:
        until = time.monotonic() + seconds
        wanted = self.beats() + count
        while self.beats() < wanted:
            if not self.alive():
                raise Trouble("crash" if self.crashed() else "ended")
            if time.monotonic() > until:
                self.look_at_hang()
                raise Trouble(what)
            time.sleep(0.05)

    # ---- controllers -------------------------------------------------------------------------

    def control(self, *target: str) -> subprocess.Popen[str]:
        self.outcome.controllers += 1
        name = f"controller-{self.outcome.controllers}"
        seconds = self.random.uniform(2, self.seconds)
        with (self.directory / f"{name}.err").open("w") as err:
            made = subprocess.Popen(
                [
                    sys.executable, str(Path(__file__).with_name("walking_controller.py")),
                    str(self.random.getrandbits(48)), f"{seconds:.1f}", str(self.classes),
                    str(self.directory / f"{name}.log"), *target,
                ],
                stdout=subprocess.PIPE, stderr=err, text=True,
            )  # fmt: skip
        self.controllers.append(made)
        return made

    def running(self) -> list[subprocess.Popen[str]]:
        return [one for one in self.controllers if one.poll() is None]

    def steps(self) -> int:
        """How many steps all controllers have begun."""
        logs = self.directory.glob("controller-*.log")
        return sum(log.read_bytes().count(b"\n") for log in logs)

    def await_steps(self, count: int, seconds: float) -> None:
        """Wait until the controllers have come further: a busy machine only makes it longer."""
        until = time.monotonic() + seconds
        wanted = self.steps() + count
        while self.steps() < wanted and time.monotonic() < until and self.alive():
            time.sleep(0.05)

    def disturb(self) -> None:
        """Let controllers come and go, until they have made enough steps."""
        rng = self.random
        most = rng.choice([1, 2, 2, 3])
        least = time.monotonic() + self.seconds
        until = least + 4 * self.seconds
        while self.alive() and (
            time.monotonic() < least
            or (self.steps() < ENOUGH * self.seconds and time.monotonic() < until)
        ):
            running = self.running()
            if len(running) < most:
                self.control(str(self.pid))
            self.await_steps(rng.choice([1, 10, 50, 100]), self.seconds)
            if not running or rng.random() < 0.5:
                continue
            one = rng.choice(running)
            what = rng.random()
            if what < 0.4:
                one.kill()
                self.outcome.kills += 1
            elif what < 0.9:
                one.send_signal(signal.SIGSTOP)
                self.outcome.pauses += 1
                time.sleep(rng.uniform(0.1, 3))
                one.send_signal(rng.choice([signal.SIGCONT] * 3 + [signal.SIGKILL]))
            else:
                one.send_signal(signal.SIGINT)

    def end_controllers(self) -> None:
        kindly = self.random.random() < 0.5
        for one in self.running():
            one.send_signal(signal.SIGCONT)
            if not kindly:
                one.kill()
        until = time.monotonic() + self.seconds + 90
        while (running := self.running()) and time.monotonic() < until and self.alive():
            time.sleep(0.1)
        for one in running:
            if self.alive():
                one.send_signal(signal.SIGUSR1)
                time.sleep(1)
                self.outcome.surprises.append("a controller does not end")
            one.kill()
        for one in self.controllers:
            one.wait()
            if one.stdout is not None:
                one.stdout.close()

    # ---- the end -----------------------------------------------------------------------------

    def check(self) -> None:
        """The program goes on as if nobody had been there, and then comes to its end."""
        self.await_beats(5, 60, "heart stands still")
        try:
            vm = jvmti.attach(self.pid, timeout=60)
        except NO_ANSWER as error:
            if not self.alive():
                raise Trouble("crash" if self.crashed() else "ended") from error
            self.look_at_hang()
            raise Trouble(f"no attach: {error}") from error
        try:
            self.check_from_within(vm)
        except NO_ANSWER as error:
            if not self.alive():
                raise Trouble("crash" if self.crashed() else "ended") from error
            self.look_at_hang()
            raise Trouble(f"no answer: {error}") from error
        finally:
            with contextlib.suppress(*NO_ANSWER):
                vm.detach(timeout=30)
        self.await_beats(3, 60, "heart stands still after the last look")
        (self.directory / "stop").touch()
        until = time.monotonic() + 60
        while self.alive() or self.status is None:
            if time.monotonic() > until:
                self.look_at_hang()
                raise Trouble("does not end")
            time.sleep(0.05)
        if self.crashed():
            raise Trouble("crash at the end")
        if self.status != 0:
            raise Trouble(f"exit status {self.status}")

    def check_from_within(self, vm: jvmti.VM) -> None:
        vm.timeout = 30
        until = time.monotonic() + 30
        while (stats := vm.stats.agent).sessions > 1 and time.monotonic() < until:
            time.sleep(0.1)
        suspended = [one.name for one in vm.threads if one.state & ThreadState.SUSPENDED]
        if suspended:
            raise Trouble(f"suspended: {suspended}")
        if stats.sessions > 1:
            self.look_at_hang()
            raise Trouble(f"{stats.sessions - 1} sessions are left")

    def look_at_hang(self) -> None:
        """Write down where all threads are, as seen from outside."""
        lines = []
        for task in sorted(Path(f"/proc/{self.pid}/task").glob("*")):
            parts = [task.name]
            for name in ("comm", "wchan", "syscall"):
                with contextlib.suppress(OSError):
                    parts.append((task / name).read_text().strip())
            lines.append(" ".join(parts))
        (self.directory / "tasks").write_text("\n".join(lines))
        if shutil.which("gdb"):
            with (
                (self.directory / "stacks").open("w") as out,
                contextlib.suppress(subprocess.TimeoutExpired),
            ):
                subprocess.run(
                    ["gdb", "-p", str(self.pid), "-batch", "-ex", "thread apply all bt"],
                    stdout=out, stderr=subprocess.DEVNULL, timeout=120, check=False,
                )  # fmt: skip

    def run(self) -> Outcome:
        begun = time.monotonic()
        outcome = self.outcome
        try:
            self.start()
            self.disturb()
            if not self.alive() and self.crashed():
                raise Trouble("crash")
            self.end_controllers()
            self.check()
        except Trouble as trouble:
            outcome.verdict = str(trouble)
            if trouble.args[0] in ("ended", "did not start"):
                outcome.verdict += f": {self.last_words()}"
        finally:
            self.clear_up()
        outcome.seconds = round(time.monotonic() - begun, 1)
        self.count_steps()
        return outcome

    def last_words(self) -> str:
        try:
            return (self.directory / "stderr").read_text(errors="replace").strip()[-200:]
        except OSError:
            return ""

    def clear_up(self) -> None:
        for one in self.controllers:
            one.kill()
            one.wait()
        # Nobody else can have got its number: either it is our child, or it is no more.
        if self.pid and self.alive():
            os.kill(self.pid, signal.SIGKILL)
            until = time.monotonic() + 20
            while self.alive() and time.monotonic() < until:
                time.sleep(0.05)
        for socket in (Path(f"/tmp/.java_pid{self.pid}"), Path(f"/tmp/hsperfdata_root/{self.pid}")):
            with contextlib.suppress(OSError):
                socket.unlink()

    def count_steps(self) -> None:
        for log in self.directory.glob("*.log"):
            if log.name.startswith("hs_err"):
                continue
            text = log.read_text(errors="replace")
            self.outcome.steps += text.count("\n")
            pieces = text.split("SURPRISE ")[1:]
            self.outcome.surprises += [piece.splitlines()[0][:300] for piece in pieces]
        for number, controller in enumerate(self.controllers, 1):
            words = (self.directory / f"controller-{number}.err").read_text(errors="replace")
            if controller.returncode > 0 and not words.rstrip().endswith("KeyboardInterrupt"):
                self.outcome.surprises.append(words.rstrip()[-300:])


class Trouble(Exception):
    """What a walk ended with that it should not have."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jvm", default="17", help="a name, or the home of another JVM")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seconds", type=float, default=20, help="that each walk is disturbed")
    parser.add_argument("--walk", type=int, help="only this one, which is repeated for the time")
    parser.add_argument("--directory", type=Path)
    chosen = parser.parse_args()
    walked = run(
        jvms.named(chosen.jvm), chosen.seed, chosen.minutes * 60, chosen.seconds,
        chosen.directory, chosen.walk,
    )  # fmt: skip
    return 1 if any(one.verdict != "well" for one in walked) else 0


def run(
    jvm: jvms.Jvm,
    seed: int,
    seconds: float,
    each: float,
    directory: Path | None = None,
    only: int | None = None,
    tell: Callable[[str], object] = lambda line: print(line, flush=True),
) -> list[Outcome]:
    """Walk for some time; every outcome is printed as a line of JSON, and the sum at the end."""
    adopt_orphans()
    agent_builds.choose()
    root = directory or Path(tempfile.mkdtemp(prefix=f"walk-{jvm.name}-"))
    collectors = collectors_of(jvm)
    tell(
        json.dumps(
            {"jvm": jvm.name, "seed": seed, "collectors": collectors, "directory": str(root)}
        )
    )
    walked: list[Outcome] = []
    until = time.monotonic() + seconds
    number = 0
    while not walked or time.monotonic() < until:
        place = root / str(number)
        walk = Walk(jvm, collectors, seed, number if only is None else only, place, each)
        outcome = walk.run()
        walked.append(outcome)
        tell(json.dumps(vars(outcome)))
        if outcome.verdict == "well" and not outcome.surprises:
            shutil.rmtree(place)
        number += 1
    tell(json.dumps(summary(jvm, seed, walked)))
    return walked


def summary(jvm: jvms.Jvm, seed: int, walked: list[Outcome]) -> dict[str, Any]:
    """All walks in a few numbers."""
    return {
        "jvm": jvm.name,
        "seed": seed,
        "walks": len(walked),
        "minutes": round(sum(one.seconds for one in walked) / 60, 1),
        "steps": sum(one.steps for one in walked),
        "controllers": sum(one.controllers for one in walked),
        "kills": sum(one.kills for one in walked),
        "pauses": sum(one.pauses for one in walked),
        "verdicts": Counter(one.verdict for one in walked),
        "surprises": Counter(text for one in walked for text in one.surprises),
    }


if __name__ == "__main__":
    sys.exit(main())
