"""A short form of `turmoil.py`: profiles of a program in which everything changes all the time."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

import pytest

from robustness.profiled import turmoil

if TYPE_CHECKING:
    from collections.abc import Callable

    from programs import JavaPrograms

pytestmark = [pytest.mark.oldest_and_newest, pytest.mark.stress, pytest.mark.timeout(240)]


@pytest.mark.since(21)
def test_profiles_of_virtual_threads_in_turmoil(
    java_program: JavaPrograms, rounds: Callable[[int, int], int]
) -> None:
    if java_program.jvm.name == "zero":
        pytest.skip("the interpreter-only VM takes no samples by signals")
    outcome = turmoil.profile(java_program, "g1", rounds(2, 10), seed=1, threads="virtual")
    assert outcome.samples > 100, outcome
    assert outcome.failed < 0.35 * outcome.samples, outcome


@pytest.mark.parametrize("mode", [mode for mode in turmoil.MODES if mode != "comp"])
def test_profiles_of_a_program_in_turmoil(
    java_program: JavaPrograms, mode: str, rounds: Callable[[int, int], int]
) -> None:
    if java_program.jvm.name == "zero":
        pytest.skip("the interpreter-only VM takes no samples by signals")
    if not turmoil.has_mode(java_program.jvm, mode):
        pytest.skip(f"this JVM has no {mode}")
    outcome = turmoil.profile(java_program, mode, seconds=rounds(1, 10) / 2, seed=1)
    assert outcome.samples > 100, outcome
    # A walk may fail where a frame is not complete, or its code was thrown away.
    assert outcome.failed < 0.35 * outcome.samples, outcome


@pytest.mark.skipif(platform.machine() != "x86_64", reason="numbers of system calls")
@pytest.mark.parametrize("denied", ["perf_event_open", "perf_event_open,timer_create"])
def test_profiles_of_a_program_in_turmoil_to_which_the_kernel_denies_calls(
    java_program: JavaPrograms, denied: str, rounds: Callable[[int, int], int]
) -> None:
    if java_program.jvm.name == "zero":
        pytest.skip("the interpreter-only VM takes no samples by signals")
    seconds = rounds(1, 10) / 2
    outcome = turmoil.profile(java_program, "serial", seconds, seed=1, denied=denied)
    assert outcome.samples > 50, outcome
    assert outcome.failed < 0.35 * outcome.samples, outcome
