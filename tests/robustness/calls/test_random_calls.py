"""Whatever is called with whatever arguments, no JVM crashes, hangs or keeps anything.

The long runs are in docs/robustness.md; here each JVM gets a short one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from robustness import steady
from robustness.calls import fuzz_calls, random_calls

if TYPE_CHECKING:
    from pathlib import Path

    import programs

pytestmark = [pytest.mark.stress, pytest.mark.slow, pytest.mark.timeout(300)]

CALLS = 5_000
"""An amount of work, not of time: a slow machine does the same, and no machine waits."""


def test_random_calls_leave_the_program_running(
    java_program: programs.JavaPrograms, tmp_path: Path
) -> None:
    target = steady.launch(java_program, spins=True)
    fuzzer = fuzz_calls.fuzz(target, CALLS, seed=7, directory=tmp_path, seconds=120)
    assert fuzzer.calls >= CALLS
    assert fuzzer.statuses[0] > fuzzer.calls / 20, "hardly any call was a good one"


def test_every_function_is_called_or_has_a_reason_not_to() -> None:
    fuzzer = random_calls.Fuzzer(1)
    named = {one.name for one in fuzzer.functions} | set(random_calls.EXCLUDED)
    callbacks = {one.name for one in random_calls.FUNCTIONS.values() if one.callback}
    every = {*random_calls.FUNCTIONS, *random_calls.JNI_FUNCTIONS, *random_calls.OPERATIONS}
    assert every == named | callbacks
    assert set(random_calls.EXCLUDED) <= every
    assert all(random_calls.EXCLUDED.values())
