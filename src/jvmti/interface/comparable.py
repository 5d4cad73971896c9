"""Comparisons of values of Java's types with constants, in conditions of all kinds."""

from __future__ import annotations

from jvmti.interface.signatures import BOXED, STRING, a_type

TEXTS = {
    STRING,
    "Ljava/lang/Object;",
    "Ljava/lang/CharSequence;",
    "Ljava/lang/Comparable;",
    "Ljava/io/Serializable;",
    "Ljava/lang/constant/Constable;",
    "Ljava/lang/constant/ConstantDesc;",
}
"""The types that a string has."""
MAY_BE_BOXES = (TEXTS - {STRING, "Ljava/lang/CharSequence;"}) | {"Ljava/lang/Number;"}
"""Other types that a box has."""
_WANTED = {
    "Z": "True or False by == and !=",
    "C": "a character",
    **dict.fromkeys("BSIJ", "an integer"),
    **dict.fromkeys("FD", "a number"),
}


def incomparable(name: str, signature: str, value: object, wanted: str | None = None) -> str:
    """The message that a value cannot be compared with a constant.

    Args:
        name: of the value.
        signature: of its type.
        value: the constant.
        wanted: what it compares with, where that does not follow from the type.
    """
    if wanted is None:
        wanted = _WANTED.get(BOXED.get(signature, signature))
    if wanted is None:
        wanted = "a text or None" if signature in TEXTS else "None only"
    constant = "null" if value is None else repr(value)
    return f"{name} is {a_type(signature)}, which compares with {wanted}, not {constant}"


__all__ = ["MAY_BE_BOXES", "TEXTS", "incomparable"]
