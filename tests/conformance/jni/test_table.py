"""The whole of JNI's function table: what has a method, and what is left out."""

from __future__ import annotations

import jvms
from jvmti.jni.interface import EXCLUDED, FUNCTIONS

PAGE = jvms.ROOT / "docs" / "jni.md"


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
