"""A short run of what fuzz_frames.py does a million times: damaged frames harm nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from robustness import steady
from robustness.connections import fuzz_frames

if TYPE_CHECKING:
    import programs

FRAMES = 4_000
"""An amount of work, not of time: a slow machine does the same, and no machine waits."""


@pytest.mark.stress
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_damaged_frames_leave_the_program_running(java_program: programs.JavaPrograms) -> None:
    target = steady.launch(java_program)
    # The interpreter-only VM takes its time.
    frames = 200 if java_program.jvm.name == "zero" else FRAMES
    sent, answers = fuzz_frames.fuzz(target, frames, seed=7, seconds=120)
    assert sent >= frames
    kinds = fuzz_frames.Kind
    wanted = {int(kinds.RETURN), int(kinds.MALFORMED)}
    assert wanted <= set(answers) <= {*wanted, int(kinds.CALLBACK)}
    # Some of the damage can be answered; most of a stream comes behind what cannot.
    assert answers[kinds.RETURN] + answers[kinds.MALFORMED] > sent / 100
