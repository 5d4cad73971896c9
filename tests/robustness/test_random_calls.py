"""Whatever is called with whatever arguments, no JVM crashes, hangs or keeps anything.

The long runs are in docs/robustness.md; here each JVM gets a short one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import fuzz_calls
import fuzz_frames
import pytest
import random_calls
import steady

if TYPE_CHECKING:
    from pathlib import Path

    import programs

pytestmark = [pytest.mark.stress, pytest.mark.slow, pytest.mark.timeout(300)]


def test_random_calls_leave_the_program_running(
    java_program: programs.JavaPrograms, tmp_path: Path
) -> None:
    target = steady.launch(java_program)
    fuzzer = fuzz_calls.fuzz(target, 60_000, seed=7, directory=tmp_path, seconds=20)
    assert fuzzer.calls >= 2_500
    assert fuzzer.statuses[0] > fuzzer.calls / 20, "hardly any call was a good one"


def test_damaged_frames_leave_the_program_running(java_program: programs.JavaPrograms) -> None:
    target = steady.launch(java_program)
    sent, answers = fuzz_frames.fuzz(target, 20_000, seed=7, seconds=20)
    # The interpreter-only VM takes its time.
    assert sent >= (100 if java_program.jvm.name == "zero" else 1_000)
    kinds = fuzz_frames.Kind
    assert set(answers) <= {int(kinds.RETURN), int(kinds.MALFORMED), int(kinds.CALLBACK)}


def test_every_function_is_called_or_has_a_reason_not_to() -> None:
    fuzzer = random_calls.Fuzzer(1)
    named = {one.name for one in fuzzer.functions} | set(random_calls.EXCLUDED)
    callbacks = {one.name for one in random_calls.FUNCTIONS.values() if one.callback}
    every = {*random_calls.FUNCTIONS, *random_calls.JNI_FUNCTIONS, *random_calls.OPERATIONS}
    assert every == named | callbacks
    assert set(random_calls.EXCLUDED) <= every
    assert all(random_calls.EXCLUDED.values())
