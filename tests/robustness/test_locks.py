"""Nobody has a lock of the agent's where another thread can stop him."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import steady
from controllers import Controller

import jvmti

if TYPE_CHECKING:
    from collections.abc import Iterator

    import programs

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CHECKED = ROOT / "build" / "checked" / "agent" / "libjvmti.so"
SECONDS = 3.0

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
    shared_java_program: programs.JavaPrograms, what: str, controllers: list[Controller]
) -> None:
    if shared_java_program.jvm.name == "zero" and what != "walking":
        pytest.skip("the interpreter-only VM cannot have breakpoints")
    target = steady.launch(shared_java_program)
    script = HERE / "suspending_controller.py"
    controllers.append(Controller(script, target.pid, what, SECONDS))
    assert int(controllers[-1].says("done").split()[1]) > 0
    assert is_whole(target)


@pytest.mark.parametrize("what", ["faithful", "model", "walking"])
def test_a_controller_that_is_killed_among_suspensions_leaves_nothing_suspended(
    shared_java_program: programs.JavaPrograms, what: str, controllers: list[Controller]
) -> None:
    if shared_java_program.jvm.name == "zero" and what != "walking":
        pytest.skip("the interpreter-only VM cannot have breakpoints")
    target = steady.launch(shared_java_program)
    script = HERE / "suspending_controller.py"
    for _ in range(3):
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
        script = HERE / "storming_controller.py"
        controllers.append(Controller(script, target.pid, 7, "killed"))
        controllers[-1].says("busy")
        controllers[-1].kill()
    else:
        script = HERE / "suspending_controller.py"
        controllers.append(Controller(script, target.pid, what, 1.0))
        controllers[-1].says("done")
    assert is_whole(target)
    assert "lock check" not in target.program.stderr
