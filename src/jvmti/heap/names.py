"""Choosing classes by name: shell patterns, and what is said when one fits nothing."""

from __future__ import annotations

import difflib
import fnmatch
import re
from collections.abc import Iterable, Sequence

Patterns = str | Sequence[str]
"""One shell pattern for names of classes, or several: ``"java.util.*Map"``."""


class NothingMatches(LookupError):
    """A pattern fits no class.

    Attributes:
        pattern: the pattern.
        near: names that look like it, the nearest first.
    """

    def __init__(self, pattern: str, near: Sequence[str], where: str) -> None:
        self.pattern = pattern
        self.near = tuple(near)
        hint = f"; near it: {', '.join(self.near)}" if near else ""
        super().__init__(f"no class {where} matches {pattern!r}{hint}")


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
    """For each name whether one of the patterns fits it.

    An array class has a name such as ``int[]``.  In a pattern that is the name of a class, as
    ``java.lang.String[]`` is, nothing has a special meaning.

    Args:
        names: the names; ``None`` fits nothing.
        patterns: the patterns.
        where: what the names are of, for the message: ``"in the heap"``.

    Raises:
        NothingMatches: one of the patterns fits none of the names.
    """
    known = {name for name in names if name is not None}
    chosen: set[str] = set()
    for pattern in listed(patterns):
        # `[]` at the end of the name of an array class is no set of characters.
        shell = pattern.replace("[]", "[[]]")
        match = re.compile(fnmatch.translate(shell)).match
        found = {pattern} & known or {name for name in known if match(name)}
        if not found:
            raise NothingMatches(pattern, near(pattern, known), where)
        chosen |= found
    return [name in chosen for name in names]


def near(pattern: str, names: Iterable[str], most: int = 4) -> list[str]:
    """Names that look like a pattern, the nearest first."""
    names = sorted(set(names))
    word = pattern.strip("*?").rpartition(".")[2].strip("*?").lower()
    if not word:
        return []
    containing = [name for name in names if word in name.lower()]
    containing.sort(key=lambda name: (name.rpartition(".")[2].lower() != word, len(name)))
    if len(containing) >= most:
        return containing[:most]
    lasts: dict[str, list[str]] = {}
    for name in names:
        lasts.setdefault(name.rpartition(".")[2].lower(), []).append(name)
    alike = difflib.get_close_matches(word, lasts, most, 0.7)
    further = [name for last in alike for name in lasts[last] if name not in containing]
    return (containing + further)[:most]


__all__ = ["NothingMatches", "Patterns", "listed", "matching", "near"]
