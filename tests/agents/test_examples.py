"""The agents in examples/agents, each next to a witness that knows the same facts."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import jvms

if TYPE_CHECKING:
    from jvms import Jvm
    from running import Runner

pytestmark = pytest.mark.oldest_and_newest

AGENTS = jvms.ROOT / "examples" / "agents"
#: A quarter of what the C agents that the JDK used to bring have, in lines.
LONGEST = {
    "version_check": 37,
    "gctest": 75,
    "compiled_method_load": 50,
    "heap_viewer": 62,
    "minst": 150,
    "waiters": 175,
    "mtrace": 187,
    "heap_tracker": 250,
    "hprof": 750,
}


class Output:
    """What an agent and the program it watched have printed."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines

    def fact(self, name: str) -> int:
        """A number that the program knows."""
        [line] = [line for line in self.lines if re.fullmatch(rf"{name} -?\d+", line)]
        return int(line.split()[1])

    def match(self, pattern: str) -> re.Match[str]:
        """The only line like that."""
        found = [one for line in self.lines if (one := re.fullmatch(pattern, line))]
        assert len(found) == 1, (pattern, self.lines)
        return found[0]


def watch(runner: Runner, agent: str, *work: str, options: str = "", jvm: str = "") -> Output:
    """Run `Workload` with an agent."""
    java = runner.java("Workload", *work)
    java[1:1] = jvm.split()
    script = f"{AGENTS / agent}.py={options}" if options else f"{AGENTS / agent}.py"
    done = runner(*runner.jvmti("run", script, "--", *java), timeout=110)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return Output(done.stdout.splitlines())


@pytest.mark.parametrize("path", sorted(AGENTS.glob("*.py")), ids=lambda path: path.stem)
def test_an_agent_takes_a_quarter_of_its_ancestors_lines(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= LONGEST[path.stem]


def test_version_check_names_the_versions_of_the_jvm(runner: Runner, jvm: Jvm) -> None:
    output = watch(runner, "version_check", options=str(jvm.feature))
    release = re.search(r'JAVA_VERSION="([^"]+)"', (jvm.home / "release").read_text())
    assert release
    output.match(rf"JVM TI {jvm.feature}\.\d+\.\d+, JNI not yet, package jvmti .+")
    assert re.sub(r"[+-].*", "", output.match(r"java.vm.version = (.*)")[1]) == release[1]


def test_version_check_keeps_an_old_jvm_from_starting(runner: Runner, jvm: Jvm) -> None:
    script = f"{AGENTS / 'version_check'}.py={jvm.feature + 1}"
    done = runner(*runner.jvmti("run", script, "--", *runner.java("Workload", "calls")))
    assert done.returncode == 1
    assert f"JVM TI {jvm.feature + 1} or later is wanted" in done.stderr
    assert "call " not in done.stdout


def test_waiters_counts_what_the_threads_own_management_counts(runner: Runner) -> None:
    output = watch(runner, "waiters", "contention")
    for line in (r"thread worker", r"object Workload\$Shared"):
        found = output.match(line + r": blocked (\d+), waited (\d+), timed out (\d+), seconds (.+)")
        assert int(found[1]) == output.fact("blocked")
        assert int(found[2]) == int(found[3]) == output.fact("waited") == 4
        assert 4 * 0.015 < float(found[4]) < 30


@pytest.mark.parametrize("agent", ["mtrace", "minst"])
def test_calls_are_counted_as_often_as_the_methods_themselves_say(
    runner: Runner, agent: str
) -> None:
    output = watch(runner, agent, "calls", options="Workload*Counted")
    ends = {"mtrace": r", (\d+) returns", "minst": ""}[agent]
    for name, fact in ((r"call\(I\)I", "call"), (r"later\(I\)I", "later")):
        found = output.match(rf"Workload\$Counted\.{name}: (\d+) calls{ends}")
        assert {int(one) for one in found.groups()} == {output.fact(fact)}
    thrown = r", 0 returns, 7 by an exception" if agent == "mtrace" else ""
    found = output.match(rf"Workload\$Counted\.fail\(J\)J: (\d+) calls{thrown}")
    assert int(found[1]) == output.fact("fail") == 7
    output.match(rf"Workload\$Counted\.<init>\(\)V: 1 calls{', 1 returns' if ends else ''}")


def test_minst_changes_the_platforms_classes_so_that_the_verifier_takes_them(
    runner: Runner,
) -> None:
    verify = "-XX:+UnlockDiagnosticVMOptions -XX:+BytecodeVerificationLocal -Xshare:off"
    output = watch(runner, "minst", "skips", options="java.util.*", jvm=verify)
    puts = r"ConcurrentSkipListMap\.put\(Ljava/lang/Object;Ljava/lang/Object;\)Ljava/lang/Object;"
    found = output.match(rf"java\.util\.concurrent\.{puts}: (\d+) calls")
    assert int(found[1]) == output.fact("puts") == 200


def test_compiled_method_load_tells_of_the_methods_that_the_jvm_says_it_compiles(
    runner: Runner, jvm: Jvm
) -> None:
    if jvm.name == "zero":
        pytest.skip("this VM compiles nothing")
    output = watch(
        runner, "compiled_method_load", "hot", options="Workload", jvm="-XX:+PrintCompilation"
    )
    # 123   45 %     4       Workload::spin @ 4 (29 bytes)   made not entrant
    said = set()
    for line in output.lines:
        found = re.match(r" *\d+ +\d+ ([ %sbn!]{5,6}) *[1-4] +Workload::(\w+) ", line)
        if found and "made not" not in line:
            said.add(found[2])
    loaded = {
        found[1] for line in output.lines if (found := re.match(r"load Workload\.(\w+)\(", line))
    }
    assert {"spin", "twist"} <= loaded <= said
    assert any(re.fullmatch(r"  inlines Workload\.twist\(I\)I", line) for line in output.lines)
    source = (jvms.ROOT / "tests" / "java" / "Workload.java").read_text().splitlines()
    at = next(number for number, line in enumerate(source, 1) if "sum * 31" in line)
    assert any(re.fullmatch(rf"  0x\w+ bytecode \d+ line {at}", line) for line in output.lines)


def test_heap_tracker_says_where_the_living_were_allocated(runner: Runner) -> None:
    output = watch(runner, "heap_tracker", "items", options="Workload*Item")
    found = output.match(r"Workload\$Item: (\d+) alive of (\d+), (\d+) bytes in all")
    assert int(found[1]) == output.fact("kept") == 100
    assert int(found[2]) == output.fact("items") == 500
    assert int(found[3]) == 500 * 32
    at = output.lines.index(found[0])
    stack = ["Workload.make", "Workload.items", "Workload.main"]
    assert output.lines[at + 1 : at + 4] == [f"    at {name}" for name in stack]


def test_hprof_finds_the_busy_method_and_writes_a_dump(runner: Runner) -> None:
    dump = runner.directory / "heap.hprof"
    output = watch(runner, "hprof", "hot", options=f"heap:{dump},depth:4")
    at = next(n for n, line in enumerate(output.lines) if line.startswith("PROCESSOR TIME"))
    first = output.lines[at + 1].split()
    assert first[0] == "1"
    assert re.match(r"Workload\.(spin|twist)\(Workload\.java:\d+\)", first[3])
    assert float(first[1].rstrip("%")) > 20
    assert dump.read_bytes()[:18] == b"JAVA PROFILE 1.0.2"


def test_hprof_divides_the_processor_time_as_the_threads_have_used_it(runner: Runner) -> None:
    """A thread that waits, for us or for anything else, has no part of it."""
    script = f"{AGENTS / 'hprof'}.py=top:1000,depth:30"
    done = runner(*runner.jvmti("run", script, "--", *runner.java("Portions", "3000")))
    assert done.returncode == 0, done.stderr
    output = Output(done.stdout.splitlines())
    at = next(n for n, line in enumerate(output.lines) if line.startswith("PROCESSOR TIME"))
    end = next(n for n, line in enumerate(output.lines) if line.startswith("ALLOCATION SITES"))
    portions = {"compute": 0, "allocate": 0}
    milliseconds = 0
    for line in output.lines[at + 1 : end]:
        if counted := re.match(r" *\d+ +[\d.]+% +(\d+) ", line):
            milliseconds = int(counted[1])
        if of := re.search(r"Portions\.(compute|allocate)\(", line):
            portions[of[1]] += milliseconds
    used = output.fact("allocates") / (output.fact("computes") + output.fact("allocates"))
    charged = portions["allocate"] / sum(portions.values())
    assert abs(charged - used) < 0.1, (charged, used)
    sites = "\n".join(output.lines[end:])
    assert re.search(r"\d byte\[\]\n +Portions\.allocate:\d+", sites)


def test_gctest_counts_the_collections_that_the_jvms_own_management_counts(
    runner: Runner,
) -> None:
    # With this collector the management counts every collection, and each stops the VM once.
    output = watch(runner, "gctest", "collections", jvm="-XX:+UseSerialGC")
    found = output.match(r"(\d+) collections, ([\d.]+) ms, 0 not seen")
    assert int(found[1]) == output.fact("collections") >= 3
    assert 0 < float(found[2]) < 60_000
    numbers = [int(line.split()[1][:-1]) for line in output.lines if line.endswith(" ms")]
    assert numbers == list(range(1, int(found[1]) + 1))


def test_heap_viewer_looks_whenever_the_program_is_sent_a_quit_signal(runner: Runner) -> None:
    """While the program runs and is killed by none of it; the counts are those of the moment."""
    script = f"{AGENTS / 'heap_viewer'}.py=100000"
    started = runner.start(*runner.jvmti("run", script, "--", *runner.java("Streamed")))
    assert started.stdin is not None
    assert started.stdout is not None
    # The program, its VM and the script write to one pipe, and none in whole lines: a word of one
    # may stand in the middle of a line of another.
    descriptor = started.stdout.fileno()
    text = ""

    def until(pattern: str) -> re.Match[str]:
        nonlocal text
        while not (found := re.search(pattern, text)):
            more = os.read(descriptor, 65536).decode()
            assert more, f"{pattern} is not in {text}"
            text += more
        text = text[found.end() :]
        return found

    until("ready")
    for kept in (37, 12):
        started.stdin.write(f"tagged {kept}\n")
        started.stdin.flush()
        until("kept")
        os.kill(started.pid, signal.SIGQUIT)
        assert int(until(r"(\d+) objects, \d+ bytes")[1]) > 1000
        assert int(until(r" (\d+) Streamed\$Kept\n")[1]) == kept
    out, errors = started.communicate(timeout=60)
    assert started.returncode == 0, errors
    assert "Traceback" not in errors, errors
    assert re.search(r"^ *\d+ +12 Streamed\$Kept$", out, re.M), "and at the end"


def test_heap_viewer_counts_the_objects_that_the_program_has_kept(runner: Runner) -> None:
    output = watch(runner, "heap_viewer", "items", options="100000")
    found = output.match(r" *(\d+) +(\d+) Workload\$Item")
    # An object of two longs: 32 bytes with its header.
    assert (int(found[1]), int(found[2])) == (100 * 32, output.fact("kept")) == (3200, 100)
    whole = output.match(r"(\d+) objects, (\d+) bytes")
    rows = [re.fullmatch(r" *(\d+) +(\d+) \S+", line) for line in output.lines]
    assert sum(int(row[2]) for row in rows if row) == int(whole[1])
    assert sum(int(row[1]) for row in rows if row) == int(whole[2])
