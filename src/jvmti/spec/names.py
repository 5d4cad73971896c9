"""Names that people read, of class loaders and packages, and names that are near to a wrong one."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable

BOOTSTRAP = "bootstrap"
"""What the class loader of the VM itself is called here."""

_FEW = 12
"""As many names can be told all at once."""

_JDK = {
    "jdk.internal.loader.ClassLoaders$AppClassLoader": "app",
    "jdk.internal.loader.ClassLoaders$PlatformClassLoader": "platform",
}


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


def suggestion(
    name: str,
    names: Iterable[str | None],
    most: int = 3,
    *,
    shown: Callable[[str], str] = repr,
) -> str:
    """What to add to an error about a name that is not there: near ones, or all where few are.

    Args:
        name: what is not there.
        names: what there is.
        most: how many near ones to tell at most.
        shown: how a name is told.
    """
    known = sorted({one for one in names if one})
    found = near(name, known, most)
    if found:
        return f"; did you mean {' or '.join(map(shown, found))}?"
    if known and len(known) <= _FEW:
        return f"; there are {', '.join(map(shown, known))}"
    return ""


__all__ = ["BOOTSTRAP", "loader_name", "near", "package_of", "suggestion"]
