"""Comparisons of values of Java's types with constants, in conditions of all kinds."""

from __future__ import annotations

from jvmti.interface.signatures import java_name

STRING = "Ljava/lang/String;"
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
BOXES = {
    f"Ljava/lang/{name};": letter
    for name, letter in {
        "Boolean": "Z",
        "Byte": "B",
        "Character": "C",
        "Short": "S",
        "Integer": "I",
        "Long": "J",
        "Float": "F",
        "Double": "D",
    }.items()
}
"""The types of boxes, with the type of what is in them."""
MAY_BE_BOXES = (TEXTS - {STRING, "Ljava/lang/CharSequence;"}) | {"Ljava/lang/Number;"}
"""Other types that a box has."""
INTEGERS = {
    "Z": (0, 1),
    "B": (-(1 << 7), (1 << 7) - 1),
    "C": (0, (1 << 16) - 1),
    "S": (-(1 << 15), (1 << 15) - 1),
    "I": (-(1 << 31), (1 << 31) - 1),
    "J": (-(1 << 63), (1 << 63) - 1),
}
"""The least and the greatest number of a type."""
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
        wanted = _WANTED.get(BOXES.get(signature, signature))
    if wanted is None:
        wanted = "a text or None" if signature in TEXTS else "None only"
    constant = "null" if value is None else repr(value)
    return f"{name} is a {java_name(signature)}, which compares with {wanted}, not {constant}"


__all__ = ["BOXES", "INTEGERS", "MAY_BE_BOXES", "STRING", "TEXTS", "incomparable"]
