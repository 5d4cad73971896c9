"""Names of classes and class loaders: shell patterns, and what is said when one fits nothing."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from jvmti.heap.errors import NoSuchClass
from jvmti.spec.signatures import fitting

BOOTSTRAP = "bootstrap"
"""What the class loader of the VM itself is called here."""

_JDK = {
    "jdk.internal.loader.ClassLoaders$AppClassLoader": "app",
    "jdk.internal.loader.ClassLoaders$PlatformClassLoader": "platform",
}

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
    """For each name whether one of the patterns fits it.

    Args:
        names: the names; ``None`` fits nothing.
        patterns: the patterns.
        where: what the names are of, for the message: ``"in the heap"``.

    Raises:
        NoSuchClass: one of the patterns fits none of the names.
    """
    known = {name for name in names if name is not None}
    chosen: set[str] = set()
    for pattern in listed(patterns):
        fits = fitting(pattern)
        found = {pattern} & known or set(filter(fits, known))
        if not found:
            raise NoSuchClass(pattern, near(pattern, known), where)
        chosen |= found
    return [name in chosen for name in names]


def loader_name(name: str | None, cls: str, number: int) -> str:
    """What a class loader is called: ``platform``, ``app``, or its name, or class, and number.

    Args:
        name: the name that it has been given.
        cls: the Java name of its class.
        number: what tells it from others.
    """
    return _JDK.get(cls) or f"{name or cls} @{number:x}"


def package_of(class_name: str) -> str:
    """The package of a class or of an array's elements: ``(none)`` for ``int[]``."""
    return class_name.replace("[]", "").rpartition(".")[0] or "(none)"


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
    alike = difflib.get_close_matches(word, lasts, most, 0.6)
    further = [name for last in alike for name in lasts[last] if name not in containing]
    return (containing + further)[:most]


__all__ = ["BOOTSTRAP", "Patterns", "listed", "loader_name", "matching", "near", "package_of"]
