"""Memory runs out at places in the agent that allocate: the JVM and the controller go on."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from robustness.faults import failing

if TYPE_CHECKING:
    from pathlib import Path

    import programs

pytestmark = [
    pytest.mark.not_sanitized(reason="it has an agent of its own"),
    pytest.mark.stress,
    pytest.mark.slow,
    pytest.mark.oldest_and_newest,
    pytest.mark.timeout(900),
]

PIECES, PLACES = 8, 3
"""Of so many pieces of work so many places are tried; `failing.py` tries them all."""


def test_places_that_allocate_can_fail(
    java_program: programs.JavaPrograms, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JVMTI_AGENT_LIBRARY", str(failing.library()))
    trial = failing.Trial(java_program, failing.Allocations(tmp_path))
    choice = random.Random(java_program.jvm.feature)
    tried = 0
    for work in choice.sample(failing.PIECES, PIECES):
        new = trial.look(work)[1]
        for number in choice.sample(sorted(new), min(PLACES, len(new))):
            trial.fail(work, number, new[number])
            tried += 1
        trial.close(work)
    outcome = trial.outcome
    assert outcome.faults == []
    # How threads and events fall decides a little about what comes when.
    assert len(outcome.reached) > tried * 0.7
    assert any("OUT_OF_MEMORY" in one for one in outcome.answers)
