"""Measures the debugger that editors speak to, beside debuggers by JDI.

    python benchmarks/debugger.py [--jvm 17,25] [--quick] [--only-sessions] [--rounds N]
        [--only-hits] [--only-rest] [--turns N]

Both debug the same program while it runs, and the table has the ratios: of sessions, which take
turns, by the best and in brackets by the median. JDI's program has been started with the JDK's
debugging agent, ours with nothing.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from typing import Any

HERE = Path(__file__).parent
PROGRAMS = HERE / "java"
sys.path[:0] = [str(HERE), str(HERE.parent / "tests")]

from plain_client import PlainClient  # noqa: E402
from run import compile_program, machine, ratio_of, time_of  # noqa: E402

import bytecode  # noqa: E402, F401 - an installed package has it
import jvms  # noqa: E402
import jvmti  # noqa: E402
from adapter.client import COMMAND, Failed  # noqa: E402
from adapter.real_programs import jars_of  # noqa: E402

Figures = dict[str, float]
Times = dict[str, list[float]]
SOURCE = PROGRAMS / "DebuggedWork.java"
LINE = next(
    number for number, text in enumerate(SOURCE.read_text().splitlines(), 1) if "// ADD" in text
)
CONDITION = "this.total > 100000 && n == 3"
MESSAGE = "n={n} total={this.total}"
PEER = "com.microsoft.java:com.microsoft.java.debug.core:0.25.1"
AGENT = "-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=127.0.0.1:{}"
_BURSTS, _BURST = 3, 5000
"""Hits that are logged, all of which the editor shows."""
_STEPS = 40
"""Steps from a stop, most of them around a loop."""
_NOTCH = 1.57
"""Half the width of a median's interval, by the distance between the quartiles and the number of
measurements: the notch of a box plot."""
_SLICES = 15
"""Times that a turn of the program is measured."""


class Program:
    """A program that is spoken to line by line.

    Args:
        command: what starts it.
        errors: where its standard error goes to.
    """

    def __init__(self, *command: Any, errors: int | None = None) -> None:
        self.process = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        self.said: list[str] = []
        while (line := self._line()) != "ready\n":
            self.said.append(line)

    def _line(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the program has ended"
        return line

    def ask(self, what: str) -> int:
        """The number that it answers."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()
        while not (line := self._line()).strip().isdigit():
            pass  # what the VM says of agents
        return int(line)

    def close(self) -> None:
        """End it."""
        self.process.kill()
        self.process.communicate()


@contextmanager
def program(jvm: jvms.Jvm, classes: Path, *options: str) -> Iterator[Program]:
    """The program that is debugged."""
    command = [jvm.java, *jvm.args, *options, "-cp", classes, "DebuggedWork"]
    made = Program(*command, errors=subprocess.DEVNULL)
    try:
        yield made
    finally:
        made.close()


class Turns:
    """How often the program computes in a second of processor time, with a debugger and without.

    Both in turns, many short ones, so that what else goes on meets both alike.
    """

    def __init__(self, target: Program, rounds: int) -> None:
        self._target = target
        self._rounds = rounds

    def _speed(self) -> float:
        self._target.ask("work 100")  # what attaching and leaving cost is another measure
        return median(self._target.ask("work 50") for _ in range(_SLICES))

    def lost(self, attach: Any, detach: Any) -> list[float]:
        """The part that is lost, in percent, by each pair of turns."""
        lost = []
        before = self._speed()
        for _ in range(self._rounds):
            attach()
            during = self._speed()
            detach()
            after = self._speed()
            lost.append((1 - during / ((before + after) / 2)) * 100)
            before = after
        return lost


def _add(found: Times, name: str, nanoseconds: float) -> None:
    found.setdefault(name, []).append(nanoseconds)


def _add_steps(found: Times, name: str, times: Sequence[float]) -> None:
    """The times of a session's steps, or of the looks after them."""
    _add(found, name, times[1])
    _add(found, f"tenth {name}", times[9])
    _add(found, f"each {name}", median(times[1:]))


def _figures(found: Times) -> Figures:
    """The best of each measure, and its median."""
    best = {name: min(times) for name, times in found.items()}
    return best | {f"median {name}": median(times) for name, times in found.items()}


# ---- by JDI ------------------------------------------------------------------------------------


@contextmanager
def _with_agent(jvm: jvms.Jvm, classes: Path) -> Iterator[tuple[Program, int]]:
    """The program with the JDK's debugging agent, and its port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with program(jvm, classes, AGENT.format(port)) as target:
        yield target, port


def _jdi_command(jdk: Path, classes: Path, port: int) -> list[Any]:
    return [jdk / "bin" / "java", "-cp", classes, "JdiDebugger", port, LINE]


def _jdi_session(target: Program, command: Sequence[Any], found: Times) -> None:
    # A debugger of its own for each session, as an editor starts one.
    began = time.perf_counter_ns()
    with closing(Program(*command)) as client:
        started = time.perf_counter_ns() - began
        target.ask("beat 1")
        for what in ("first stop", "look"):
            _add(found, what, client.ask(what))
        _add(found, "start", started + found["first stop"][-1])
        taken = [(client.ask("step"), client.ask("look")) for _ in range(_STEPS)]
        _add_steps(found, "step", [step for step, _ in taken])
        _add_steps(found, "look again", [look for _, look in taken])
        client.ask("go on")
        target.ask("beat 0")
        client.ask("detach")


def with_jdi(jvm: jvms.Jvm, jdk: Path, classes: Path, chosen: argparse.Namespace) -> Figures:
    """The measures by JDI, but for those of sessions."""
    found: Times = {}
    with _with_agent(jvm, classes) as (target, port):
        with closing(Program(*_jdi_command(jdk, classes, port))) as client:
            if not chosen.only_rest:
                client.ask("attach")
                for what in ("condition", "log"):
                    client.ask(what)
                    target.ask("run 300")
                    found[what] = [target.ask(f"run {chosen.hits // 50}")]
                found["native condition"] = found["condition"]
                found["native log"] = found["log"]
                client.ask("detach")
            if chosen.only_hits:
                return {name: min(times) for name, times in found.items()}
            turns = Turns(target, chosen.turns)
            lost = turns.lost(lambda: client.ask("attach"), lambda: client.ask("detach"))
            target.ask(f"threads {chosen.threads}")
            client.ask("attach")
            for _ in range(3):
                _add(found, "threads", client.ask("threads"))
    return {**{name: min(times) for name, times in found.items()}, **_estimate(lost)}


def _estimate(lost: list[float]) -> Figures:
    """The median of what is lost, and how far it may be from that of endless turns (95 %)."""
    low, middle, high = quantiles(lost, n=4)
    return {"lost": middle, "within": _NOTCH * (high - low) / math.sqrt(len(lost))}


# ---- by the adapter ----------------------------------------------------------------------------


class Editor:
    """An editor's side of a session.

    Args:
        command: starts an adapter; by default ours.
        scope: what it calls the variables of a frame.
    """

    def __init__(self, command: Sequence[Any] = COMMAND, scope: str = "Locals") -> None:
        self._scope = scope
        pipe = subprocess.PIPE
        # Not by the tests' server of Pythons that have imported all: the start is what is measured.
        self._process = subprocess.Popen(
            list(map(str, command)), stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, bufsize=0
        )
        assert self._process.stdout is not None
        assert self._process.stdin is not None
        self.client = PlainClient(self._process.stdout, self._process.stdin)
        self.client.initialize()
        with suppress(Failed):  # there is no program yet, but all that answers requests is loaded
            self.client.ask("threads")

    def attach(self, pid: int, *breakpoints: dict[str, Any]) -> None:
        """Attach to a program, with breakpoints."""
        # All threads, as with JDI.
        self.begin({"pid": pid, "sourcePaths": [str(PROGRAMS)], "poolThreads": 0}, *breakpoints)

    def begin(self, where: dict[str, Any], *breakpoints: dict[str, Any]) -> None:
        """Attach to a program that the arguments name, with breakpoints."""
        self.client.ask("attach", **where)
        self.client.event("initialized")
        self.set(*breakpoints)
        self.client.ask("configurationDone")

    def set(self, *breakpoints: dict[str, Any]) -> None:
        """Set the breakpoints."""
        source = {"path": str(SOURCE)}
        found = self.client.ask("setBreakpoints", source=source, breakpoints=breakpoints)
        assert all(one["verified"] for one in found["breakpoints"]), found

    def look(self, thread: int) -> int:
        """What an editor asks for when a thread has stopped: its stack, variables, and fields."""
        asked = self.client.ask("stackTrace", threadId=thread, startFrame=0, levels=20)
        frames = asked["stackFrames"]
        scopes = self.client.ask("scopes", frameId=frames[0]["id"])["scopes"]
        scope = next(one for one in scopes if one["name"] == self._scope)
        variables = self.client.variables(scope["variablesReference"])
        fields = self.client.variables(variables["this"]["variablesReference"])
        assert "total" in fields
        return len(frames)

    def close(self) -> None:
        """End the session."""
        self.client.disconnect()
        self._process.wait()


def _timed(action: Any) -> tuple[float, Any]:
    began = time.perf_counter_ns()
    result = action()
    return time.perf_counter_ns() - began, result


def _session(
    target: Program, made: Callable[[], Editor], attach: Callable[[Editor], object], found: Times
) -> None:
    """What an editor measures in a session."""
    target.ask("beat 1")
    started, editor = _timed(made)
    began = time.perf_counter_ns()
    attach(editor)
    thread = editor.client.stopped("breakpoint")
    _add(found, "first stop", time.perf_counter_ns() - began)
    _add(found, "start", started + found["first stop"][-1])
    step, look = partial(editor.client.step, thread), partial(editor.look, thread)
    _add(found, "look", _timed(look)[0])
    taken = [(_timed(step)[0], _timed(look)[0]) for _ in range(_STEPS)]
    _add_steps(found, "step", [one for one, _ in taken])
    _add_steps(found, "look again", [one for _, one in taken])
    editor.set()
    editor.client.ask("continue", threadId=thread)
    target.ask("beat 0")
    editor.close()


def sessions(
    jvm: jvms.Jvm, debugged: jvms.Jvm, jdk: Path, classes: Path, rounds: int
) -> tuple[Figures, Figures]:
    """The measures of sessions, ours and by JDI, in turns."""
    us: Times = {}
    jdi: Times = {}
    with _with_agent(debugged, classes) as (target, port), program(jvm, classes) as plain:
        where = plain.process.pid
        for _ in range(rounds):
            _jdi_session(target, _jdi_command(jdk, classes, port), jdi)
            _session(plain, Editor, lambda editor: editor.attach(where, {"line": LINE}), us)
    return _figures(us), _figures(jdi)


def with_peer(jvm: jvms.Jvm, jdk: Path, classes: Path, rounds: int) -> Figures:
    """The measures of VS Code's debugger for Java, which has the protocol in front of JDI, too."""
    path = os.pathsep.join(map(str, [classes, *jars_of(PEER)]))
    command = [jdk / "bin" / "java", "-cp", path, "JavaDebug", "DebuggedWork$Order"]
    found: Times = {}
    with _with_agent(jvm, classes) as (target, port):
        where = {"hostName": "127.0.0.1", "port": port}
        for _ in range(rounds):
            _session(
                target,
                lambda: Editor(command, "Local"),
                lambda editor: editor.begin(where, {"line": LINE}),
                found,
            )
    return _figures(found)


def ours(jvm: jvms.Jvm, classes: Path, chosen: argparse.Namespace) -> Figures:
    """The measures of this package, but for those of sessions."""
    found: Times = {}
    with program(jvm, classes) as target:
        pid = target.process.pid
        if not chosen.only_rest:
            found |= _hits(target, chosen.hits)
            found |= _native(jvm, classes, chosen.hits)
        if chosen.only_hits:
            return {name: min(times) for name, times in found.items()}
        turns = Turns(target, chosen.turns)
        sessions: list[Editor] = []

        def attach() -> None:
            sessions.append(Editor())
            sessions[-1].attach(pid, {"line": LINE})

        lost = turns.lost(attach, lambda: sessions.pop().close())
        target.ask(f"threads {chosen.threads}")
        editor = Editor()
        editor.attach(pid)
        for _ in range(3):
            taken, body = _timed(lambda: editor.client.ask("threads"))
            assert len(body["threads"]) >= chosen.threads, len(body["threads"])
            _add(found, "threads", taken)
        editor.close()
    return {**{name: min(times) for name, times in found.items()}, **_estimate(lost)}


def _hits(target: Program, hits: int) -> Times:
    """What hits cost that stop nothing, in a JVM that was attached to."""
    found: Times = {}
    editor = Editor()
    editor.attach(target.process.pid, {"line": LINE, "condition": CONDITION})
    target.ask(f"run {hits}")
    found["condition"] = [target.ask(f"run {hits}")]
    editor.set({"line": LINE, "logMessage": MESSAGE})
    said = ""
    for _ in range(_BURSTS):
        _add(found, "log", target.ask(f"run {_BURST}"))
        said += editor.client.output("stdout", 1)
    assert len(re.findall(r"^n=\d+ total=\d+$", said, re.MULTILINE)) == _BURSTS * _BURST
    editor.close()
    return found


def _native(jvm: jvms.Jvm, classes: Path, hits: int) -> Times:
    """The same hits where the VM itself has breakpoints, as in programs that were launched."""
    found: Times = {}
    reserved = jvmti.java_tool_options(jvmti.AgentOptions(reserve=())).split()
    with program(jvm, classes, *reserved) as target:
        editor = Editor()
        editor.attach(target.process.pid, {"line": LINE, "condition": CONDITION})
        target.ask("run 1000")
        found["native condition"] = [target.ask(f"run {hits}")]
        editor.set({"line": LINE, "logMessage": MESSAGE})
        for _ in range(_BURSTS):
            _add(found, "native log", target.ask(f"run {_BURST}"))
            said = editor.client.output("stdout", 1)
            assert len(re.findall(r"^n=\d+ total=\d+$", said, re.MULTILINE)) == _BURST
        editor.close()
    return found


# ---- the table ---------------------------------------------------------------------------------

_MEASURES = [
    ("first stop", "attach to the first stop", 2),
    ("start", "from the start of the debugger's process to the first stop", 2),
    ("look", "stop to stack, variables and fields in the client", 2),
    ("look again", "the same after the second step of a session", 2),
    ("tenth look again", "after the tenth", 2),
    ("each look again", f"after a step, the median of the 2nd to the {_STEPS}th", 2),
    ("step", "the second step of a session over a line", 2),
    ("tenth step", "the tenth", 2),
    ("each step", f"the median of the 2nd to the {_STEPS}th", 2),
    ("condition", f"a hit whose condition is false: `{CONDITION}`", 50),
    ("native condition", "the same in a program that was launched", 50),
    ("log", f"a hit that is logged: `{MESSAGE}`", 50),
    ("native log", "the same in a program that was launched", 50),
    ("threads", "all threads with their names", 2),
]


def rows(us: Figures, jdi: Figures, peer: Figures) -> list[Sequence[str]]:
    """The lines of the table."""
    found: list[Sequence[str]] = []
    for name, title, factor in _MEASURES:
        if name not in us:
            continue
        met = "met" if us[name] * factor <= jdi[name] else "**missed**"
        found.append(
            (
                title,
                f"{_both(name, lambda one: ratio_of(jdi[one], us[one]), us)} × JDI",
                _both(name, lambda one: time_of(us[one]), us),
                _both(name, lambda one: time_of(jdi[one]), us),
                _both(name, lambda one: time_of(peer[one]), us) if name in peer else "–",
                f"≤ 1/{factor} of JDI: {met}",
            )
        )
    if "lost" not in us:
        return found
    found.append(
        (
            "what the program loses while nothing is stopped",
            "–",
            f"{us['lost']:.1f} % ± {us['within']:.1f}",
            f"{jdi['lost']:.1f} % ± {jdi['within']:.1f}",
            "–",
            f"≤ 1 %: {'met' if us['lost'] <= 1 else '**missed**'}",
        )
    )
    return found


def _both(name: str, shown: Callable[[str], str], us: Figures) -> str:
    """The best, and the median in brackets, where there is one."""
    middle = f"median {name}"
    return f"{shown(name)} ({shown(middle)})" if middle in us else shown(name)


def table(measured: list[Sequence[str]]) -> str:
    """The table as Markdown."""
    head = ("measure", "faster than", "jvmti", "JDI", "java-debug", "limit")
    lines = [head, ("---",) * len(head), *measured]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> int:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--jvm", default="17,25")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, rougher figures")
    parser.add_argument(
        "--only-sessions", action="store_true", help="from the start to the looks after a step"
    )
    parser.add_argument("--only-hits", action="store_true", help="conditions and logpoints")
    parser.add_argument(
        "--only-rest", action="store_true", help="what is lost while nothing is stopped, threads"
    )
    parser.add_argument("--rounds", type=int, help="sessions of each")
    parser.add_argument("--turns", type=int, help="turns with a debugger and without")
    chosen = parser.parse_args()
    chosen.rounds = chosen.rounds or (3 if chosen.quick else 7)
    chosen.turns = chosen.turns or (10 if chosen.quick else 30)
    chosen.hits, chosen.threads = 100_000, 2_000 if chosen.quick else 10_000
    jdk = jvms.distribution_jdk()
    if jdk is None:
        raise SystemExit("there is no JDK with javac and JDI; `make java` installs one")
    missed = False
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        for source in ("DebuggedWork", "JdiDebugger"):
            compile_program(jdk, source, directory)
        path = os.pathsep.join(map(str, jars_of(PEER)))
        javac = [
            jdk / "bin" / "javac",
            "-cp",
            path,
            "-d",
            directory,
            PROGRAMS / "JavaDebug.java",
        ]
        subprocess.run(javac, check=True)
        for version in chosen.jvm.split(","):
            jvm = jvms.named(version)
            debugged = jvm
            if not list(jvm.home.glob("lib/libjdwp.so")) and jvms.feature_of(jdk) == jvm.feature:
                debugged = jvms.Jvm(version, jdk)
            us: Figures = {}
            jdi: Figures = {}
            peer: Figures = {}
            if not chosen.only_hits and not chosen.only_rest:
                us, jdi = sessions(jvm, debugged, jdk, directory, chosen.rounds)
            if not chosen.only_sessions:
                peer = with_peer(debugged, jdk, directory, chosen.rounds) if us else {}
                jdi |= with_jdi(debugged, jdk, directory, chosen)
                us |= ours(jvm, directory, chosen)
            found = table(rows(us, jdi, peer))
            missed |= "missed" in found
            print(f"JDK {version}, {chosen.threads:,} threads\n")
            print(f"{found}\n", flush=True)
    print(machine(), os.cpu_count(), "processors")
    return int(missed)


if __name__ == "__main__":
    raise SystemExit(main())
