"""Values of objects, many in one reply.

The reply: `COUNTS`; the numbers, 64 bits each; the lengths of the texts, 32 bits each; a letter for
each value; the texts in UTF-16. Objects travel separately, as handles.
"""

from __future__ import annotations

import enum

from jvmti.layouts.declare import Record, shared

COUNTS = Record("ValueCounts", values="uint32_t", numbers="uint32_t", texts="uint32_t")


@shared("uint8_t")
class Letter(enum.IntEnum):
    """The kind of a value; for a primitive type, the letter of its descriptor, with a number."""

    OBJECT = ord("l")
    NULL = ord("n")
    TEXT = ord("t")
    TEXT_CUT = ord("u")
    """Text of which only the beginning was read."""
    CONTENTS = ord("c")
    """The first elements of the object before follow; its number is how many there are in all."""
    END = ord("e")
    """Of these elements."""


__all__ = ["COUNTS", "Letter"]
