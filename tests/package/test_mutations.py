"""The list of small faults that show what the tests find fits the sources."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "scripts"))

import mutations  # noqa: E402


def test_there_are_enough_of_them() -> None:
    assert len(mutations.MUTATIONS) >= 60


@pytest.mark.parametrize("mutation", mutations.MUTATIONS, ids=lambda one: one.what)
def test_a_fault_changes_something_that_is_there(mutation: mutations.Mutation) -> None:
    text = mutations.find(mutation).read_text()
    assert text.replace(mutation.before, mutation.after, 1) != text
    for test in mutation.likely.split():
        assert (ROOT / test).exists(), test


def test_the_page_names_a_test_for_each_fault() -> None:
    tests = ROOT / "tests"
    rows = re.findall(
        r"^\| ([^|]+) \| `([\w/]+\.py)`: ([\w ]+) \|$", (tests / "README.md").read_text(), re.M
    )
    assert [what for what, _, _ in rows] == [one.what for one in mutations.MUTATIONS]
    for _, file, test in rows:
        name = f"test_{test.replace(' ', '_')}"
        assert re.search(rf"\b{name}\b", (tests / file).read_text()), f"{file} has no {name}"


SUMMARY = """\
ERROR tests/test_a.py - SyntaxError: no
FAILED tests/test_b.py::test_one[25] - assert 1 == 2
ERROR tests/test_b.py::test_two - OSError
"""


def test_what_finds_a_fault_is_a_test_that_failed() -> None:
    assert mutations.failed_tests(1, SUMMARY) == [
        "tests/test_b.py::test_one[25]",
        "tests/test_b.py::test_two",
    ]
    assert mutations.failed_tests(1, SUMMARY.splitlines()[0]) == []


@pytest.mark.parametrize("status", [0, 2, 3, 4, 5, -11])
def test_a_run_that_broke_off_finds_nothing(status: int) -> None:
    assert mutations.failed_tests(status, SUMMARY) == []


def test_faults_are_chosen_by_number() -> None:
    assert mutations.numbers_of("1,2,5-9") == [1, 2, 5, 6, 7, 8, 9]
    for wrong in ("", "0", "9-5", "x", str(len(mutations.MUTATIONS) + 1)):
        with pytest.raises(ValueError):
            mutations.numbers_of(wrong)
