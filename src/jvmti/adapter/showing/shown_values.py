"""Values of the program as the client shows them: a text, a type, and whether they have parts."""

from __future__ import annotations

import math
from typing import Any

from jvmti import refs
from jvmti.interface.signatures import java_name
from jvmti.model.objects.reading import Contents
from jvmti.model.values.conversion import is_box
from jvmti.model.values.views import short_with
from jvmti.text.printable import printable

_TEXT = 2000
"""Characters of a text at most."""
_ESCAPES = {'"': '\\"', "\\": "\\\\"}


def text_of(
    value: Any,
    signature: str | None = None,
    *,
    contents: Contents | None = None,
    as_hex: bool = False,
) -> str:
    """A value in Java's words, in one line.

    Args:
        value: as the model has it.
        signature: of its type, where it is known.
        contents: those of an array or a list, where they are known.
        as_hex: write whole numbers in hexadecimal.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value:#x}" if as_hex else str(value)
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, str):
        if signature == "C":
            return f"'{_escaped(value)}'"
        shown = _escaped(value[:_TEXT])
        return f'"{shown}"' + (f"… ({len(value):,} characters)" if len(value) > _TEXT else "")
    if isinstance(value, refs.Object) and hasattr(value, "cls"):
        if is_box(value.cls):
            inside: Any = value.value  # type: ignore[attr-defined]
            return text_of(inside, "C" if isinstance(inside, str) else None)
        text = repr(value) if contents is None else short_with(value, contents)
        return text[1:-1] if text.startswith("<") and text.endswith(">") else text
    return printable(str(value))


def type_of(value: Any, signature: str | None = None) -> str | None:
    """The name of a value's type; of an object, of its class."""
    if isinstance(value, refs.Object) and hasattr(value, "cls"):
        return printable(value.cls.name)
    if signature is not None:
        return printable(java_name(signature))
    if isinstance(value, str):
        return "java.lang.String"
    for kind, name in ((bool, "boolean"), (int, "int"), (float, "double")):
        if isinstance(value, kind):
            wide = kind is int and not -(1 << 31) <= value < 1 << 31
            return "long" if wide else name
    return None


def has_parts(value: Any) -> bool:
    """Whether a value has fields, elements or entries to show."""
    if not isinstance(value, refs.Object) or not hasattr(value, "cls"):
        return False
    return not isinstance(value, refs.String) and not is_box(value.cls)


def _escaped(text: str) -> str:
    return printable("".join(_ESCAPES.get(one, one) for one in text))


def _float(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)


__all__ = ["has_parts", "text_of", "type_of"]
