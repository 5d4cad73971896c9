"""Ends the adapter in the middle of a session, again and again; nothing may stay suspended.

python tests/adapter/killed_editors.py --jvm 25 --kills 100 --seed 1 --ways attached,launched,left

Each kill is meant for something that the editor does, from its first request on, and comes some
milliseconds after that has begun. What was attached to must go on, and have no probe and nothing of
the session any more; what was launched must end, or go on where the configuration says so (`left`).
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1]
if __name__ == "__main__":
    sys.path.insert(0, str(TESTS))

import compiler  # noqa: E402
import jvms  # noqa: E402
import jvmti  # noqa: E402
from adapter.client import SOURCE, Client, Failed, line  # noqa: E402
from jvmti.interface.constants import ThreadState  # noqa: E402

LINES = ("NET", "GROSS", "BOTH", "NESTED", "CAUGHT", "DEEP")
BEGINNING = ("initialize", "launch or attach", "breakpoints", "configurationDone")
LATER = (
    "running",
    "stopped",
    "stepping",
    "evaluating",
    "logging",
    "exceptions",
    "fields",
    "paused",
)
SOON = 300.0
"""Seconds for what may take its time on a busy machine, which may stop all of it, too."""


class Editor:
    """An editor that debugs a program until its adapter is killed.

    Args:
        rng: decides what it does.
        request: `launch` or `attach`, and its arguments.

    Attributes:
        client: speaks to the adapter.
        doing: what it does.
    """

    def __init__(self, rng: random.Random, request: str, **arguments: Any) -> None:
        self.client = Client()
        self.doing = ""
        self._end: BaseException | None = None
        self._rng = rng
        self._request = request
        self._arguments = arguments
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def _work(self) -> None:
        try:
            self._begin()
            while True:
                self._session()
        except (AssertionError, Failed, OSError, ValueError, TypeError) as error:
            self._end = error  # of the kill, or before it

    def _begin(self) -> None:
        client = self.client
        self.doing = "initialize"
        client.initialize()
        self.doing = "launch or attach"
        client.ask(self._request, **self._arguments)
        client.event("initialized", SOON)
        self.doing = "breakpoints"
        client.breakpoints(*(line(word) for word in self._rng.sample(LINES, 2)))
        self.doing = "configurationDone"
        client.ask("configurationDone")

    def _session(self) -> None:
        client, rng = self.client, self._rng
        self.doing = "running"
        client.breakpoints(*(line(word) for word in rng.sample(LINES, 2)))
        thread = client.stopped(timeout=SOON)
        self.doing = "stopped"
        client.locals(thread)
        self.doing = "stepping"
        with suppress(Failed):  # a late step cannot leave for a caller without probes
            for _ in range(rng.randrange(1, 4)):
                client.go(rng.choice(("next", "stepIn", "stepOut")), thread)
                client.frames(thread)
        self.doing = "evaluating"
        client.evaluate(thread, rng.choice(("square(3)", "pause(1)", "total + 1")))
        client.breakpoints()
        for does in rng.sample((self._log, self._catch, self._watch, self._pause), 4):
            does(thread)
        client.ask("continue", threadId=thread)

    def _log(self, thread: int) -> None:
        self.doing = "logging"
        message = self._rng.choice(("{n}", "{n} {String.valueOf(n)}"))
        self.client.breakpoints({"line": line("NESTED"), "logMessage": message})
        self.client.ask("continue", threadId=thread)
        self.client.event("output", SOON)
        self.client.breakpoints(line("NESTED"))
        self.client.stopped("breakpoint", SOON)
        self.client.breakpoints()

    def _catch(self, thread: int) -> None:
        self.doing = "exceptions"
        options = [
            {"filterId": one, "condition": "java.lang.IllegalStateException"}
            for one in ("caught", "uncaught")
        ]
        self.client.ask("setExceptionBreakpoints", filters=[], filterOptions=options)
        self.client.go("continue", thread)
        self.client.ask("exceptionInfo", threadId=thread)
        self.client.ask("setExceptionBreakpoints", filters=[])

    def _watch(self, thread: int) -> None:
        self.doing = "fields"
        wanted = [{"dataId": "Debugged.total", "accessType": "write"}]
        self.client.ask("setDataBreakpoints", breakpoints=wanted)
        self.client.go("continue", thread)
        self.client.ask("setDataBreakpoints", breakpoints=[])

    def _pause(self, thread: int) -> None:
        self.doing = "paused"
        self.client.ask("continue", threadId=thread)
        self.client.ask("pause", threadId=thread)
        self.client.stopped("pause", SOON)
        self.client.frames(thread)

    def kill(self, wanted: str) -> str:
        """End the adapter while the editor does something; what it did then."""
        rng, process = self._rng, self.client.process
        assert process is not None
        until = time.monotonic() + SOON
        while self.doing != wanted:
            assert time.monotonic() < until, f"no {wanted}: {self.doing}, {self.client.events[-3:]}"
            assert self._thread.is_alive(), f"no {wanted} after {self.doing}: {self._end!r}"
            time.sleep(0.001)
        time.sleep(rng.choice((0, 0.01, 0.05)) * rng.random())
        doing = self.doing
        how = rng.choice(("killed", "terminated", "left"))
        if how == "left":
            process.stdin.close()  # type: ignore[union-attr]
        else:
            process.send_signal(signal.SIGKILL if how == "killed" else signal.SIGTERM)
        self._thread.join(SOON)
        assert not self._thread.is_alive(), f"the adapter outlives its editor, which was {doing}"
        process.wait(SOON)
        return doing


# ---- what must be afterwards -------------------------------------------------------------------


def until(holds: Callable[[], object], what: str) -> float:
    """Wait for it; the seconds that it took."""
    began = time.monotonic()
    while not holds():
        assert time.monotonic() < began + SOON, what
        time.sleep(0.01)
    return time.monotonic() - began


def check_works(pid: int) -> None:
    """A program works, and has nothing of a session.

    Raises:
        AssertionError: it does not.
    """
    with jvmti.attach(pid) as vm:
        cls = vm.find_class("Debugged")
        before = cls["total"]
        until(lambda: cls["total"] != before, "the program works no more")
        for name in ("Debugged", "Debugged$Line", "Debugged$Priced", "java.lang.Throwable"):
            assert b"JvmtiProbes" not in bytes(vm.find_class(name).class_file), name
        for thread in vm.env.get_all_threads():
            state = vm.env.get_thread_state(thread)
            assert not state & ThreadState.SUSPENDED, thread


def processes(mark: str) -> list[int]:
    """The JVMs that have a word in their command lines."""
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                words = (place / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if mark.encode() in words and words[0].endswith(b"/java"):
                found.append(int(place.name))
    return found


class Kills:
    """Kills of one seed.

    Args:
        jvm: runs the programs.
        seed: decides all.

    Attributes:
        doing: how often the editor was killed while it did what.
        longest: the seconds until what was killed was over, at most.
    """

    def __init__(self, jvm: str, seed: int) -> None:
        self._seed = seed
        self._rng = random.Random(seed)
        java = str(jvms.named(jvm).java)
        self._command = [java, "-cp", str(compiler.classes("Debugged")), "Debugged"]
        self.doing: Counter[str] = Counter()
        self.longest = 0.0
        self.program = subprocess.Popen(
            self._command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._lines: list[bytes] = []
        assert self.program.stdout is not None
        read = (self._lines.extend, (self.program.stdout,))
        threading.Thread(target=read[0], args=read[1], daemon=True).start()
        until(lambda: self._lines, "the program does not begin")
        with jvmti.attach(self.program.pid) as vm:
            self._books = vm.stats.agent

    def kill(self, number: int, way: str) -> None:
        """Kill one editor, and look at the program then."""
        rng = self._rng
        wanted = rng.choice(BEGINNING if rng.random() < 0.3 else LATER)
        more = {"sourcePaths": [str(SOURCE.parent)], "suspendAllThreads": rng.random() < 0.3}
        if way == "attached":
            editor = Editor(rng, "attach", pid=self.program.pid, **more)
            self.doing[editor.kill(wanted)] += 1
            self._check_attached(number)
            return
        mark = f"-Dkilled.editor={self._seed}-{number}"
        command = [self._command[0], mark, *self._command[1:]]
        editor = Editor(rng, "launch", command=command, endsWithSession=way != "left", **more)
        self.doing[editor.kill(wanted)] += 1
        if way == "launched":
            took = until(lambda: not processes(mark), f"{mark} has not ended")
            self.longest = max(self.longest, took)
            return
        time.sleep(0.3)
        for pid in processes(mark):  # none, if it was killed before it had started one
            check_works(pid)
            subprocess.run(["kill", "-9", str(pid)], check=True)

    def _check_attached(self, number: int) -> None:
        before = len(self._lines)
        self.longest = max(
            self.longest,
            until(lambda: len(self._lines) >= before + 3, "the program works no more"),
        )
        assert self.program.poll() is None, "the program has ended"
        if number % 5 == 4:
            check_works(self.program.pid)
            with jvmti.attach(self.program.pid) as vm:
                assert vm.stats.agent == self._books, (vm.stats.agent, self._books)

    def close(self) -> None:
        """End the program that was attached to."""
        self.program.kill()
        self.program.wait()


def main() -> None:
    """Kill as many as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--jvm", default="25")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--ways", default="attached,launched,left")
    chosen = parser.parse_args()
    kills = Kills(chosen.jvm, chosen.seed)
    ways = chosen.ways.split(",")
    try:
        for number in range(chosen.kills):
            kills.kill(number, ways[number % len(ways)])
            if number % 10 == 9 or number == chosen.kills - 1:
                doing = ", ".join(f"{name} {count}" for name, count in kills.doing.most_common())
                print(f"{number + 1} kills ({doing}), {kills.longest:.1f} s", flush=True)
    finally:
        kills.close()


if __name__ == "__main__":
    main()
