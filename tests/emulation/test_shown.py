"""What engines say that they emulate has been shown by the tests of this folder; it runs last."""

from __future__ import annotations

import pytest

import jvms
from emulation import late
from jvmti.env.interface import FUNCTIONS


def test_all_that_is_emulated_was_shown(request: pytest.FixtureRequest, jvm: jvms.Jvm) -> None:
    """It counts what the others here have shown on this JVM."""
    if request.config.option.keyword or any(
        one.endswith(".py") or "::" in one for one in request.config.args
    ):
        pytest.skip("not all tests of this folder run")
    there = {
        name
        for name in late.emulated()
        if name not in FUNCTIONS or jvm.feature >= int(FUNCTIONS[name].since.partition(".")[0])
    }
    assert there - late.SHOWN.get(jvm.name, set()) == set()


def test_what_depends_on_an_emulated_capability_is_emulated_or_said_to_be_lacking() -> None:
    spoken_of = late.emulated() | late.lacking()
    silent = {name for one in late.DECLARED for name in late.gated(str(one.capability)) - spoken_of}
    assert silent == set()
