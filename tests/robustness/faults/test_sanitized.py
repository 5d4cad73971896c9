"""A fault in an agent is reported, whichever sanitizer it is for.

`make sanitize` runs all tests of this folder on an agent with sanitizers.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import agent_builds

if TYPE_CHECKING:
    import programs

SANITIZERS = "address,undefined"
FAULTY = Path(__file__).parents[2] / "native" / "faulty.cpp"

pytestmark = [
    pytest.mark.stress,
    pytest.mark.slow,
    pytest.mark.oldest_and_newest,
    pytest.mark.timeout(600),
]


def use(sanitizers: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have programs preload their runtime, or skip where the compiler has none."""
    if agent_builds.runtime(sanitizers) is None:
        pytest.skip(f"the compiler has no runtime of its {sanitizers} sanitizer")
    monkeypatch.setattr(agent_builds, "SANITIZED", sanitizers)


@pytest.mark.parametrize(
    ("sanitizers", "fault", "report"),
    [
        (SANITIZERS, "address", "heap-use-after-free"),
        (SANITIZERS, "undefined", "signed integer overflow"),
        ("thread", "thread", "data race"),
    ],
)
def test_a_fault_in_an_agent_is_reported(
    java_program: programs.JavaPrograms,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    sanitizers: str,
    fault: str,
    report: str,
) -> None:
    use(sanitizers, monkeypatch)
    library = tmp_path / "libfaulty.so"
    command = ["c++", "-shared", "-fPIC", f"-fsanitize={sanitizers}", "-fno-sanitize-recover=all"]
    subprocess.run([*command, "-o", library, FAULTY], check=True)
    program = java_program.start([f"-agentpath:{library}={fault}", "-XX:+UseSerialGC", "-version"])
    java_program.started.remove(program)  # which would fail this test, as it should others
    assert program.process.wait(60) != 0
    crash = program.crash()
    program.stop()
    assert crash is not None
    assert report in crash
