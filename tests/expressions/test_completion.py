"""Completion offers the names that an expression may go on with, and calls nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from jvmti.expressions import Completion, completions

if TYPE_CHECKING:
    from jvmti.model.threads.frames import Frame


def texts(found: list[Completion]) -> list[str]:
    return list(dict.fromkeys(one.text for one in found))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ["compiled", "text", "number", "bump", "Inner", "this", "null"]),
        ("num", ["number7", "number"]),
        ("1 + num", ["number7", "number"]),
        ("f(num", ["number7", "number"]),
        ("this.tot", ["total"]),
        ("inner.", ["depth", "total", "toString", "hashCode"]),
        ("inner.d", ["depth"]),
        ("text.", ["length", "charAt", "substring"]),
        ("text.trim().len", ["length"]),  # the declared type of what a call returns
        ("list.get(0).", ["hashCode"]),
        ("((String) o).len", ["length"]),
        ("o.len", ["length"]),  # the object is a text, whatever the variable says
        ('"abc".len', ["length"]),
        ("ints.", ["length", "clone"]),
        ("grid[0].l", ["length"]),
        ("new Inner(3).tot", ["total"]),
        ("Color.", ["RED", "GREEN", "valueOf", "values", "class"]),
        ("Judged.", ["counter", "BIG", "count", "Inner", "Box"]),
        ("Math.ma", ["max"]),
        ("java.", ["util", "lang"]),
        ("java.util.Array", ["ArrayList"]),
        ("Integer.MAX", ["MAX_VALUE"]),
        ("super.", ["hidden", "secret", "called"]),
        ("StringBuil", ["StringBuilder"]),
        ("next.", ["number", "bump"]),  # null, so its declared type
        ("box.held.", ["length"]),
    ],
)
def test_names_that_may_follow(frame: Frame, text: str, expected: list[str]) -> None:
    found = completions(frame, text)
    assert set(expected) <= set(texts(found)), texts(found)[:30]
    word = re.search(r"\w*$", text)
    assert word is not None
    assert all(one.text.lower().startswith(word[0].lower()) for one in found)
    assert all(one.start == word.start() for one in found)
    assert "<init>" not in texts(found)


@pytest.mark.parametrize("text", ['"te', "1.", "i.", "nowhere.", "'x", "text::l"])
def test_nothing_follows_what_has_no_names(frame: Frame, text: str) -> None:
    assert completions(frame, text) == []


def test_nothing_is_called(frame: Frame) -> None:
    assert "length" in texts(completions(frame, "own(bump())."))
    assert completions(frame, "count().") == []
    assert "length" in texts(completions(frame, "breaking.toString()."))
    assert frame.evaluate("counter") == 0
    assert frame.evaluate("number") == 7


def test_a_completion_says_what_it_is(frame: Frame) -> None:
    found = {one.label: one for one in completions(frame, "1 + inn + 3", 7)}
    assert found["inner"] == Completion("inner", "inner", "variable", "Judged$Inner", 4)
    methods = {one.label: one for one in completions(frame, "own")}
    assert methods["own(int)"] == Completion("own", "own(int)", "method", "java.lang.String", 0)
    fields = {one.label: one for one in completions(frame, "this.weights")}
    assert fields["weights"] == Completion("weights", "weights", "field", "double[]", 5)
    kinds = {one.text: one.kind for one in completions(frame, "Judged.")}
    assert kinds["Box"] == "class"
