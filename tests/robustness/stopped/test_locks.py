"""Nobody has a lock of the agent's where another thread can stop him."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import compiler
import jvmti
from jvmti.env.interface import FUNCTIONS
from jvmti.jni.interface import EXCLUDED
from jvmti.jni.interface import FUNCTIONS as JNI_FUNCTIONS
from robustness import steady
from robustness.controllers import Controller

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import programs
    from jvms import Jvm

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
CHECKED = ROOT / "build" / "checked" / "agent" / "libjvmti.so"
SECONDS = 0.6

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def controllers() -> Iterator[list[Controller]]:
    started: list[Controller] = []
    yield started
    for controller in started:
        controller.kill()


def is_whole(target: steady.Steady) -> bool:
    """Whether nothing of a session is left, and nothing stands still."""
    with jvmti.attach(target.pid, timeout=60) as vm:
        alone = steady.wait_until(lambda: vm.stats.agent.sessions == 1, 60)
    return alone and target.goes_on() and target.prey_runs()


@pytest.mark.parametrize("what", ["faithful", "model", "walking"])
def test_threads_that_suspend_each_other_all_come_to_their_end(
    java_program: programs.JavaPrograms,
    what: str,
    controllers: list[Controller],
    rounds: Callable[[int, int], int],
) -> None:
    if java_program.jvm.name == "zero" and what != "walking":
        pytest.skip("the interpreter-only VM cannot have breakpoints")
    target = steady.launch(java_program)
    script = HERE / "suspending_controller.py"
    controllers.append(Controller(script, target.pid, what, SECONDS * rounds(1, 10)))
    assert int(controllers[-1].says("done").split()[1]) > 0
    assert is_whole(target)


@pytest.mark.parametrize("what", ["faithful", "model", "walking"])
def test_a_controller_that_is_killed_among_suspensions_leaves_nothing_suspended(
    java_program: programs.JavaPrograms,
    what: str,
    controllers: list[Controller],
    rounds: Callable[[int, int], int],
) -> None:
    if java_program.jvm.name == "zero" and what != "walking":
        pytest.skip("the interpreter-only VM cannot have breakpoints")
    target = steady.launch(java_program)
    script = HERE / "suspending_controller.py"
    for _ in range(rounds(2, 6)):
        controllers.append(Controller(script, target.pid, what, 60))
        controllers[-1].says("busy")
        controllers[-1].kill()
        assert is_whole(target)


@pytest.fixture(scope="module")
def checked() -> Path:
    """The agent that ends the JVM where a lock is held in a call into it."""
    done = subprocess.run(
        ["make", "--silent", "checked"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return CHECKED


def violated(jvm: Jvm, checked: Path, kind: str, directory: Path) -> tuple[int, list[str]]:
    """Let the agent break a rule at the VM's start: the JVM's status, and what was said of it."""
    command = [jvm.java, *jvm.args, "-Xmx32m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    command += ["-XX:-CreateCoredumpOnCrash", f"-agentpath:{checked}"]
    command += ["-cp", str(compiler.classes("Idle")), "Idle"]
    done = subprocess.run(
        command, cwd=directory, env={**os.environ, "JVMTI_LOCK_VIOLATION": kind},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    return done.returncode, re.findall(r"^jvmti: lock check: (.*)$", done.stderr, re.M)


HOLDS = r" while the thread holds( 0x[0-9a-f]+ \(\d\))+"
JNI = {one.c_name: one.since for one in JNI_FUNCTIONS.values()} | dict.fromkeys(EXCLUDED, "1.1")
LATER = {str(release): release for release in range(12, 100)}
"""The releases that a function can be newer than the oldest JVM with."""
VIOLATIONS = {
    "jvmti": "GetPhase" + HOLDS,
    "jni": "GetVersion" + HOLDS,
    "environment": "GetEnv" + HOLDS,
    "send": "send" + HOLDS,
    "order": r"lock 0x[0-9a-f]+ \(2\) is taken while the thread holds 0x[0-9a-f]+ \(3\)",
    "rank": r"lock 0x[0-9a-f]+ \(3\) is taken while the thread holds 0x[0-9a-f]+ \(3\)",
    "twice": r"lock (0x[0-9a-f]+) \(2\) is taken while the thread holds \1 \(2\)",
    "stranger": "a lock is given up that it does not hold, while the thread holds",
    "wait": "a condition is waited for" + HOLDS,
}


@pytest.mark.oldest_and_newest
@pytest.mark.parametrize("kind", VIOLATIONS)
def test_a_thread_that_breaks_a_rule_ends_the_jvm_with_a_message(
    jvm: Jvm, checked: Path, kind: str, tmp_path: Path
) -> None:
    status, messages = violated(jvm, checked, kind, tmp_path)
    assert status == -signal.SIGABRT
    assert len(messages) == 1
    assert re.fullmatch(VIOLATIONS[kind], messages[0])


def test_no_function_of_the_vm_is_called_past_the_look(
    jvm: Jvm, checked: Path, tmp_path: Path
) -> None:
    status, messages = violated(jvm, checked, "each function", tmp_path)
    assert status == 0  # each of them was called in a process of its own
    called = [re.match(r"(\w+) while the thread holds", message) for message in messages]
    folded = [one for one in JNI_FUNCTIONS.values() if one.folds]
    wanted = {one.c_name for one in FUNCTIONS.values()}
    wanted |= {name for name, since in JNI.items() if LATER.get(since, 0) <= jvm.feature}
    wanted |= {f"{one.c_name[:-1]}V" for one in folded}
    assert sorted(one[1] for one in called if one) == sorted(wanted)
    # C++ does not call by these; C does, in other libraries of the program.
    variadic = {f"nothing looks at slot {one.slot - 2}" for one in folded}
    assert {message for message, one in zip(messages, called, strict=True) if not one} == variadic


@pytest.mark.oldest_and_newest
@pytest.mark.parametrize("what", ["faithful", "model", "walking", "storm"])
def test_no_lock_is_held_in_a_call_into_the_vm(
    java_program: programs.JavaPrograms,
    checked: Path,
    what: str,
    controllers: list[Controller],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("JVMTI_AGENT_LIBRARY", str(checked))
    target = steady.launch(java_program)
    if what == "storm":
        script = HERE.parent / "leaving" / "storming_controller.py"
        controllers.append(Controller(script, target.pid, 7, "killed"))
        controllers[-1].says("busy")
        controllers[-1].kill()
    else:
        script = HERE / "suspending_controller.py"
        controllers.append(Controller(script, target.pid, what, SECONDS))
        controllers[-1].says("done")
    assert is_whole(target)
    assert "lock check" not in target.program.stderr
