"""A short random walk over the public interface; the long ones are in docs/robustness.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from robustness.walks import random_walk, walk_steps

if TYPE_CHECKING:
    from pathlib import Path

    import jvms

pytestmark = [pytest.mark.stress, pytest.mark.slow, pytest.mark.timeout(600)]


def test_whatever_controllers_do_the_program_lives(jvm: jvms.Jvm, tmp_path: Path) -> None:
    if jvm.name == "zero":
        pytest.skip("the interpreter-only VM uses objects that a collection may have moved")
    walked = random_walk.run(jvm, 9, 0, 3, tmp_path / "walks")
    assert [one.verdict for one in walked] == ["well"] * len(walked), walked
    assert sum(one.steps for one in walked) > 0


def test_every_function_is_walked_over_or_has_a_reason_not_to() -> None:
    called = {one.name for one in walk_steps.FUNCTIONS_CALLED}
    every = {*walk_steps.FUNCTIONS, *walk_steps.JNI_FUNCTIONS}
    callbacks = {one.name for one in walk_steps.FUNCTIONS.values() if one.callback}
    assert every == called | (set(walk_steps.NOT_HERE) & every) | callbacks
    assert all(walk_steps.NOT_HERE.values())
