"""Readable names of class loaders and packages, and suggestions of similar names."""

from __future__ import annotations

from collections.abc import Callable, Iterable

BOOTSTRAP = "bootstrap"
"""The name of the VM's own class loader."""

_FEW = 12
"""Up to this many names, a message lists all."""

_JDK = {
    "jdk.internal.loader.ClassLoaders$AppClassLoader": "app",
    "jdk.internal.loader.ClassLoaders$PlatformClassLoader": "platform",
}


def loader_name(name: str | None, cls: str, identity: int | str) -> str:
    """The name of a class loader: ``platform``, ``app``, or name, class and identity hash.

    It is ``com.acme.PluginLoader @1b2c3d``, or ``shop (com.acme.PluginLoader) @1b2c3d`` for one
    that has a name, in every listing, whether of a running VM or of a dump.

    Args:
        name: its own name.
        cls: the Java name of its class.
        identity: its identity hash, or another unique text if that is unknown.
    """
    mark = f"@{identity:x}" if isinstance(identity, int) else identity
    return _JDK.get(cls) or f"{f'{name} ({cls})' if name else cls} {mark}"


def place_in_words(place: int, of: int) -> str:
    """A place in the order of loading in words; empty for the only one."""
    if of < 2:
        return ""
    if place == of:
        return f"newest of {of}"
    return f"oldest of {of}" if place == 1 else f"{_ordinal(place)} of {of}"


def _ordinal(number: int) -> str:
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def package_of(class_name: str) -> str:
    """The package of a class or of an array's elements: ``(none)`` for ``int[]``."""
    return class_name.replace("[]", "").rpartition(".")[0] or "(none)"


def similar_names(pattern: str, names: Iterable[str], most: int = 4) -> list[str]:
    """Names similar to a pattern, the most similar first."""
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
    import difflib  # for mistakes only

    alike = difflib.get_close_matches(word, lasts, most, 0.6)
    further = [name for last in alike for name in lasts[last] if name not in containing]
    return (containing + further)[:most]


def suggestion(
    name: str,
    names: Iterable[str | None],
    most: int = 3,
    *,
    formatted: Callable[[str], str] = repr,
) -> str:
    """The end of an error about an unknown name: similar ones, or all if there are few.

    Args:
        name: the unknown name.
        names: the known names.
        most: how many similar names to list at most.
        shown: formats a name.
    """
    known = sorted({one for one in names if one})
    found = similar_names(name, known, most)
    if found:
        return f"; did you mean {' or '.join(map(formatted, found))}?"
    if known and len(known) <= _FEW:
        return f"; there are {', '.join(map(formatted, known))}"
    return ""


__all__ = [
    "BOOTSTRAP",
    "loader_name",
    "similar_names",
    "package_of",
    "place_in_words",
    "suggestion",
]
