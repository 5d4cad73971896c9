"""The list of small faults that show what the tests find fits the sources."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "scripts"))

import mutations  # noqa: E402


def test_there_are_enough_of_them() -> None:
    assert len(mutations.MUTATIONS) >= 60


@pytest.mark.parametrize("mutation", mutations.MUTATIONS, ids=lambda one: one.what)
def test_a_fault_changes_something_that_is_there(mutation: mutations.Mutation) -> None:
    text = mutations.find(mutation).read_text()
    assert text.replace(mutation.before, mutation.after, 1) != text
    for test in mutation.tests.split():
        assert (ROOT / test).exists(), test
