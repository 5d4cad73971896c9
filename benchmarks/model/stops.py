"""Measures what a breakpoint costs that stops nobody, beside the same in an agent in C++.

    python benchmarks/model/stops.py [--jvm 17,25] [--quick]

The Java program times itself how long a thread needs to pass; the two ways take turns.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).parents[1]
sys.path[:0] = [str(BENCHMARKS), str(BENCHMARKS.parent / "tests")]

from answered import Program  # noqa: E402
from run import best, compile_floor, compile_program, machine, time_of  # noqa: E402

import jvms  # noqa: E402
import jvmti  # noqa: E402
from processors import PLACES  # noqa: E402

Figures = dict[str, float]


@contextmanager
def program(jvm: jvms.Jvm, classes: Path, *options: str) -> Iterator[Program]:
    command = [jvm.java, *jvm.args, *options, "-cp", str(classes), "Stopped"]
    quiet: dict[str, Any] = {"stderr": subprocess.DEVNULL}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **quiet
    ) as process:
        try:
            yield Program(process)
        finally:
            process.stdin.close()  # type: ignore[union-attr]


def floor(jvm: jvms.Jvm, classes: Path, library: Path, times: int) -> Figures:
    found = {}
    for option in ("bare", "local", "field"):
        with program(jvm, classes, f"-agentpath:{library}={option}") as target:
            found[option] = target.ask("hits", times)
    return found


def ours(jvm: jvms.Jvm, classes: Path, times: int) -> Figures:
    vm = jvmti.launch(
        [jvm.java, *jvm.args, "-cp", classes, "Stopped"],
        capabilities=["can_generate_breakpoint_events", "can_access_local_variables"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert vm.popen is not None
    target = Program(vm.popen)
    with vm:
        hit = next(one for one in vm.find_class("Stopped").methods if one.name == "hit")
        ways: dict[str, Callable[[], Any]] = {
            "condition": lambda: hit.breakpoint(when="n < 0"),
            "field": lambda: hit.breakpoint(when="order.total > 100000"),
            "text": lambda: hit.breakpoint(when="name == 'Host'"),
            "hits": lambda: hit.breakpoint(hits="after 1000000000"),
            "thread": lambda: hit.breakpoint(thread=vm.threads["Finalizer"]),
            "caller": lambda: hit.breakpoint(caller="com.acme.*"),
            "callable": lambda: hit.breakpoint(when=lambda stop: False),
        }
        found = {"plain": target.ask("hits", times)}
        for name, made in ways.items():
            point = made()
            found[name] = target.ask("hits", times if name != "callable" else times // 5)
            assert point.hits == 0
            point.cancel()
    assert vm.popen.stdin is not None
    vm.popen.stdin.close()
    vm.popen.wait()
    return found


def table(us: Figures, base: Figures) -> str:
    bare = base["bare"]
    reads = base["local"] - bare
    condition = us["condition"] - bare
    field_reads, field = base["field"] - bare, us["field"] - bare

    def verdict(met: bool, text: str) -> str:
        return f"{text}: {'met' if met else '**missed**'}"

    lines = [
        ("a breakpoint that stops no thread", "over the bare one", "in all", "limit"),
        ("---",) * 4,
        ("empty callback in C++", "–", f"{time_of(bare)} (without: {time_of(us['plain'])})", "–"),
        ("GetLocalInt in C++", time_of(reads), time_of(base["local"]), "–"),
        (
            '`when="n < 0"`',
            f"{time_of(condition)} = {condition / reads:.2f} × GetLocalInt",
            time_of(us["condition"]),
            verdict(condition <= 1.2 * reads, "≤ 1.2 ×"),
        ),
        (
            "GetLocalObject and GetIntField in C++",
            time_of(field_reads),
            time_of(base["field"]),
            "–",
        ),
        (
            '`when="order.total > 100000"`',
            f"{time_of(field)} = {field / field_reads:.2f} × those two",
            time_of(us["field"]),
            verdict(field <= 1.2 * field_reads, "≤ 1.2 ×"),
        ),
        ("`when=\"name == 'Host'\"`", time_of(us["text"] - bare), time_of(us["text"]), "–"),
    ]
    for name in ("hits", "thread", "caller"):
        over = us[name] - bare
        lines.append(
            (f"`{name}=`", time_of(over), time_of(us[name]), verdict(over <= 1000, "≤ 1 µs"))
        )
    over = us["callable"] - bare
    lines.append(("`when=` a Python function", time_of(over), time_of(us["callable"]), "–"))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--jvm", default="17,25")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, rougher figures")
    chosen = parser.parse_args()
    times, repeats = (5000, 1) if chosen.quick else (20000, 3)
    jdk = jvms.distribution_jdk()
    if jdk is None:
        raise SystemExit("there is no JDK with javac; `make java` installs one")
    missed = False
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        compile_program(jdk, "Stopped", directory)
        library = compile_floor("stopped", directory)
        for version in chosen.jvm.split(","):
            jvm = jvms.named(version)
            runs = []
            for _ in range(repeats):
                for placed in PLACES:
                    with placed():
                        runs.append(
                            (ours(jvm, directory, times), floor(jvm, directory, library, times))
                        )
            found = table(best([run[0] for run in runs]), best([run[1] for run in runs]))
            missed |= "missed" in found
            print(f"JDK {version}\n\n{found}\n", flush=True)
    print(machine())
    return int(missed)


if __name__ == "__main__":
    raise SystemExit(main())
