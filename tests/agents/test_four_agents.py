"""Four agents at once on one busy program, each with events of its own."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from jvmti.target.agent_library import library_for_executable

if TYPE_CHECKING:
    from jvms import Jvm
    from programs import JavaPrograms
    from running import Runner

pytestmark = pytest.mark.oldest_and_newest

COUNTING = Path(__file__).parent / "counting.py"
#: What each agent counts, and under which name it finds what the program counts itself.
KINDS = {"steps": "step", "thrown": "Busy$Expected", "writes": "busy", "waits": "Busy$Lock"}
THREADS, TIMES = 4, 150


class Agents:
    """The four agents' words on a command line, and what they have counted."""

    def __init__(self, directory: Path) -> None:
        self.files = {kind: directory / kind for kind in KINDS}
        self.scripts = [f"{COUNTING}={kind}:{file}" for kind, file in self.files.items()]

    def there(self) -> bool:
        """Whether all have begun."""
        return all(file.exists() and file.read_text() for file in self.files.values())

    def check(self, line: str) -> None:
        """Compare with what the program says: each has its own events, and all of them."""
        own = {name: int(number) for name, number in re.findall(r"(\w+) (\d+)", line)}
        each = THREADS * TIMES
        assert own == {"steps": 2 * each, "thrown": each, "writes": each, "waits": each}
        for kind, file in self.files.items():
            noted: dict[str, Any] = json.loads(file.read_text())
            assert noted["errors"] == []
            counts = noted["counts"]
            counts.pop("other", None)  # exceptions and waits within the library
            assert counts == {KINDS[kind]: own[kind]}


@pytest.fixture
def agents(tmp_path: Path) -> Agents:
    """The agents, with files of the test's own."""
    return Agents(tmp_path)


def test_four_agents_that_start_with_the_program(runner: Runner, agents: Agents) -> None:
    java = runner.java("Busy", str(THREADS), str(TIMES))
    started = runner.start(*runner.jvmti("run", *agents.scripts, "--", *java))
    out, errors = started.communicate("go\n", timeout=100)
    assert started.returncode == 0, errors
    assert "Traceback" not in errors, errors
    agents.check(out.splitlines()[-1])


def test_four_agents_that_are_attached_by_four_commands(
    runner: Runner, agents: Agents, java_program: JavaPrograms, jvm: Jvm
) -> None:
    reserve = f"-agentpath:{library_for_executable(jvm.java)}=reserve"
    program = java_program(
        "Busy", str(THREADS), str(TIMES), jvm_args=[reserve, "-XX:+StartAttachListener"]
    )
    program.expect("ready")
    attached = [
        runner.start(*runner.jvmti("attach", str(program.pid), script)) for script in agents.scripts
    ]
    until = time.monotonic() + 60
    while not agents.there():
        assert time.monotonic() < until
        assert all(one.poll() is None for one in attached)
        time.sleep(0.02)
    line = program.ask("go", timeout=100)
    assert program.stop() == 0
    for one in attached:
        _, errors = one.communicate(timeout=30)
        assert one.returncode == 0, errors
        assert "Traceback" not in errors, errors
    agents.check(line)
