"""Measures probes beside Arthas and Byteman: what arming takes, and what a call costs.

    python benchmarks/tracers.py [--jvm 17,25] [--only arms,costs]

Each tool gets the same classes and the same methods in the same run.  The program takes the time
of calls itself, as processor time of its own thread; the VM's log of safepoints says for how long
it was stopped.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT / "tests"), str(ROOT / "scripts")]

from java_tracers import Arthas, Byteman, rule  # noqa: E402
from probes import CLASSES, longest_safepoint, working  # noqa: E402
from run import compile_program, machine  # noqa: E402
from traced_calls import METHODS, Target, logged, traced  # noqa: E402

import jvms  # noqa: E402
import jvmti  # noqa: E402

HOT = "Probed$Class*.*"
MANY = "-E Probed.Class.* .* -n 99999999 -m 2000"
BELOW = "INTERFACE java.util.function.IntUnaryOperator"
ONE = "CLASS TracedCalls"
COUNT = 'incrementCounter("calls")'

Armed = Callable[[], AbstractContextManager[float]]
Row = tuple[str, Armed]


def timed(arm: Callable[[], AbstractContextManager[Any]]) -> Armed:
    """What arms, and says how many seconds that took."""

    @contextmanager
    def arming() -> Iterator[float]:
        began = time.monotonic()
        with arm():
            yield time.monotonic() - began

    return arming


def hot_rules(name: str, at: str, action: str) -> tuple[str, ...]:
    """Byteman's rules for the methods of all hot classes, which it chooses by their interface.

    It would ask for the enclosing class before it compiles a rule; these have none that knows them.
    """
    return tuple(
        rule(f"{name} {method}", BELOW, method, at, "true", action, compiled=False)
        for method in ("applyAsInt", "step")
    )


def arming_rows(vm: Any, arthas: Arthas, byteman: Byteman) -> dict[str, list[Row]]:
    """What arms a thousand classes, by the tool."""
    return {
        "jvmti": [
            ("count", timed(lambda: vm.logpoint(HOT, by="method"))),
            ("record", timed(lambda: vm.trace(HOT))),
        ],
        "Arthas": [
            ("count", lambda: arthas.armed("monitor -E Probed.Class.* .* -c 100 -m 2000")),
            ("record", lambda: arthas.armed(f"watch {MANY} 'params' 'params[0] == -1'")),
            ("trace", lambda: arthas.armed(f"trace {MANY} 'params[0] == -1'")),
        ],
        "Byteman": [
            ("count", lambda: byteman.armed(*hot_rules("counts", "ENTRY", COUNT))),
            ("record", lambda: byteman.armed(*hot_rules("records", "EXIT", 'traceln("err", "")'))),
        ],
    }


def arms(jvm: jvms.Jvm, classes: Path, folder: Path) -> None:
    """Each tool arms the same classes, in a JVM of its own, some times."""
    print(
        f"{'arming 1,000 hot classes, ms':34} {'first':>10} {'stop':>8} {'again':>10} {'stop':>8}"
    )
    best: dict[tuple[str, str], float] = {}
    for tool in ("jvmti", "Arthas", "Byteman"):
        log = folder / f"safepoints-{tool}"
        with ExitStack() as stack:
            options = f"-Xlog:safepoint=info:file={log}"
            program = stack.enter_context(working(jvm, classes, options))
            program.lines(8)
            attached: list[Any] = [None, None, None]
            pid = program.process.pid
            if tool == "jvmti":
                attached[0] = stack.enter_context(jvmti.attach(pid, timeout=30))
                attached[0].classes  # noqa: B018  (the list is there before the clock starts)
            elif tool == "Arthas":
                attached[1] = Arthas(Path(jvm.java), pid, folder)
            else:
                attached[2] = Byteman(pid)
            for what, arm in arming_rows(*attached)[tool]:
                found = []
                for _ in range(3):
                    logged_before = log.stat().st_size
                    with arm() as took:
                        stopped = longest_safepoint(log.read_text()[logged_before:])
                        found.append((took * 1e3, stopped * 1e3))
                    program.lines(0.5)
                again = [min(column) for column in zip(*found[1:], strict=True)]
                best[tool, what] = found[0][0]
                print(
                    f"{tool + ', ' + what:34} {found[0][0]:10,.0f} {found[0][1]:8,.1f} "
                    f"{again[0]:10,.0f} {again[1]:8,.1f}",
                    flush=True,
                )
    for tool, what in best:
        if tool != "jvmti":
            ours = best["jvmti", "record" if what == "trace" else what]
            print(f"  {what}: jvmti takes {ours / best[tool, what]:.3f} of {tool}'s time")


def recording_rules() -> tuple[str, ...]:
    """Byteman's rules that print two arguments and the value of each call."""
    text = '"" + $1 + " " + $2 + " " + $!'
    return tuple(
        rule(f"records {name}", ONE, f"{name}{types}", "EXIT", "true", f'traceln("err", {text})')
        for name, types in (("add", "(int,int)"), ("named", "(String,Object)"))
    )


def cost_rows(vm: Any, arthas: Arthas, byteman: Byteman) -> list[tuple[str, str, Armed]]:
    """What each call of `add` does, by what it is and the tool."""

    def watching(command: str, method: str = "add") -> Armed:
        words = command.partition(" ")
        return lambda: arthas.armed(f"{words[0]} TracedCalls {method} {words[2]}")

    def ruled(*rules: str) -> Armed:
        return lambda: byteman.armed(*rules)

    silent = 'traceln("err", "here")'
    return [
        ("counted", "jvmti", timed(lambda: vm.logpoint(METHODS[0], by="method"))),
        ("counted", "Arthas, monitor", watching("monitor -c 100")),
        ("counted", "Byteman", ruled(rule("counts", ONE, "add(int,int)", "ENTRY", "true", COUNT))),
        ("timed", "jvmti", timed(lambda: vm.trace(METHODS[0], summary=True))),
        ("timed", "Arthas, trace", watching("trace -n 99999999")),
        ("false condition", "jvmti", timed(lambda: logged(vm, "here", when="a == -1"))),
        (
            "false condition",
            "Arthas, watch",
            watching("watch '{params,returnObj}' 'params[0] == -1' -b -n 99999999"),
        ),
        (
            "false condition",
            "Byteman",
            ruled(rule("false", ONE, "add(int,int)", "ENTRY", "$1 == -1", silent)),
        ),
        ("recorded", "jvmti", timed(traced(vm, limit=None))),
        (
            "recorded",
            "Arthas, watch",
            watching("watch '{params,returnObj}' -n 99999999"),
        ),
        ("recorded", "Byteman", ruled(*recording_rules())),
    ]


def costs(jvm: jvms.Jvm, classes: Path, folder: Path) -> None:
    """What a call costs over the bare one, for each tool in one program."""
    target = Target(Path(jvm.java), classes, 1)
    try:
        bare, _ = target.nanoseconds()
        print(f"{'a call, ns over the bare one':34} {'':>10}   (bare: {bare:.1f})")
        with jvmti.attach(target.process.pid, timeout=30) as vm:
            byteman = Byteman(target.process.pid)
            arthas = Arthas(Path(jvm.java), target.process.pid, folder)
            ours = 0.0
            for what, tool, arm in cost_rows(vm, arthas, byteman):
                with arm():
                    took = target.nanoseconds()[0] - bare
                if tool == "jvmti":
                    ours = took
                    beside = ""
                elif ours > 0.2:
                    beside = f"{took / ours:10,.0f} × jvmti"
                else:
                    beside = "           (nothing to divide by)"
                print(f"{what + ': ' + tool:34} {took:10,.1f} {beside}", flush=True)
        took = target.nanoseconds()[0] - bare
        print(f"{'afterwards':34} {took:10,.1f}")
    finally:
        target.end()


def main() -> int:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--jvm", default="17,25")
    parser.add_argument("--only", default="arms,costs")
    given = parser.parse_args()
    jdk = jvms.distribution_jdk()
    if jdk is None:
        raise SystemExit("there is no JDK with javac; `make java` installs one")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for source in ("Probed", "TracedCalls"):
            compile_program(jdk, source, folder)
        for version in given.jvm.split(","):
            print(f"JDK {version}, {CLASSES:,} hot classes")
            for measure in (arms, costs):
                if measure.__name__ in given.only.split(","):
                    with tempfile.TemporaryDirectory() as own:
                        measure(jvms.named(version), folder, Path(own))
    print(machine())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
