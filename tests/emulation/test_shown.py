"""What engines say that they emulate has been shown by the tests of this folder; it runs last."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import jvms
from conformance.evidence import FOLDERS
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


def test_tests_of_what_is_emulated_run_here_too() -> None:
    """Those of conformance, and of events, that claim to show such a function or event."""
    here = set().union(
        *(
            re.findall(r"\btest_\w+", file.read_text())
            for file in Path(__file__).parent.glob("*.py")
        )
    )
    claiming = {
        test
        for folder in FOLDERS
        for file in folder.rglob("test_*.py")
        for test, claims in claims_of(file)
        if any(re.fullmatch(one, name) for one in claims for name in late.emulated())
    }
    assert len(claiming) > 50
    assert claiming - here == set()  # or `late.LEFT_OUT` says why not
    assert set(late.LEFT_OUT) - claiming == set()


def claims_of(file: Path) -> Iterator[tuple[str, list[str]]]:
    """The tests of a file, with patterns of the functions and events that they claim to show."""
    for test in ast.parse(file.read_text()).body:
        if isinstance(test, ast.FunctionDef) and test.name.startswith("test_"):
            calls = [one for one in ast.walk(test) if isinstance(one, ast.Call)]
            claims = [one for one in calls if ast.unparse(one.func).startswith("evidence.")]
            yield test.name, [pattern_of(name) for one in claims for name in one.args]


def pattern_of(name: ast.expr) -> str:
    """A name, or a pattern of one that is put together."""
    if isinstance(name, ast.Constant):
        return re.escape(str(name.value))
    if isinstance(name, ast.JoinedStr):
        return "".join(
            re.escape(str(one.value)) if isinstance(one, ast.Constant) else ".*"
            for one in name.values
        )
    return ""  # names in a variable: none of what is emulated
