"""The whole of JNI's function table: what has a method, what has been shown, what is left out.

This module comes last of those about JNI, so that all the others have had their say.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import jvms
from conformance.evidence import BOOK, RESULT
from jvmti.jni.interface import EXCLUDED, FUNCTIONS

HERE = Path(__file__).parent
PAGE = jvms.ROOT / "docs" / "jni.md"


def test_every_function_has_given_a_right_result(
    jvm: jvms.Jvm, request: pytest.FixtureRequest
) -> None:
    chosen = {item.path.name for item in request.session.items}
    missing = {path.name for path in HERE.glob("test_jni_*.py")} - chosen
    config = request.config
    parts = (
        config.option.keyword
        or getattr(config.option, "lf", False)
        or any("::" in one for one in config.args)
    )
    if missing or parts:
        pytest.skip("only a run of all tests about JNI can tell")
    unproven = []
    for name, declaration in FUNCTIONS.items():
        shown = BOOK.shown.get(f"jni.{name}", {}).get(jvm.name, set())
        since = int(declaration.since.split(".")[0])
        wanted = RESULT if since <= jvm.feature else "NOT_IN_THIS_VERSION"
        if wanted not in shown:
            unproven.append(name)
    assert not unproven


def test_few_functions_are_left_out_and_each_for_a_reason() -> None:
    assert len(EXCLUDED) < 10
    assert all(len(one.reason.split()) > 5 and one.reason[-1] == "." for one in EXCLUDED.values())
    declared = {declaration.c_name for declaration in FUNCTIONS.values()}
    assert not declared & set(EXCLUDED)


def test_the_page_tells_what_is_left_out_and_why() -> None:
    text = " ".join(PAGE.read_text().split())
    for name, one in EXCLUDED.items():
        assert f"`{name}` | {one.reason}" in text
    folded = sum(len(declaration.folds) for declaration in FUNCTIONS.values())
    assert f"{len(FUNCTIONS)} methods" in text
    assert f"{folded} variadic and `va_list` forms" in text
    assert len(FUNCTIONS) + folded + len(EXCLUDED) == 232
