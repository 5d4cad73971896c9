"""Shell patterns for class names, and the error for one that matches nothing."""

from __future__ import annotations

from collections.abc import Sequence

from jvmti.heap.errors import NoSuchClass
from jvmti.interface.signatures import matcher
from jvmti.text.names import similar_names

Patterns = str | Sequence[str]
"""One shell pattern for names of classes, or several: ``"java.util.*Map"``."""


def listed(patterns: Patterns) -> list[str]:
    """Patterns as a list.

    Raises:
        TypeError: something else was given.
        ValueError: there is none.
    """
    found = [patterns] if isinstance(patterns, str) else list(patterns)
    for one in found:
        if not isinstance(one, str):
            raise TypeError(f"a pattern for classes must be text, not {type(one).__name__}")
    if not found:
        raise ValueError("a pattern for classes is missing; '*' takes all")
    return found


def matching(names: Sequence[str | None], patterns: Patterns, where: str) -> list[bool]:
    """For each name, whether one of the patterns matches it.

    Args:
        names: the names; ``None`` matches nothing.
        patterns: the patterns.
        where: what the names belong to, for the message: ``"that has objects"``.

    Raises:
        NoSuchClass: one of the patterns matches none of the names.
    """
    known = {name for name in names if name is not None}
    chosen: set[str] = set()
    for pattern in listed(patterns):
        matches = matcher(pattern)
        found = {pattern} & known or set(filter(matches, known))
        if not found:
            raise NoSuchClass(pattern, similar_names(pattern, known), where)
        chosen |= found
    return [name in chosen for name in names]


__all__ = ["Patterns", "listed", "matching"]
