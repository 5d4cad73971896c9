"""Errors of heaps; `jvmti.errors` lists the whole tree."""

from __future__ import annotations

from collections.abc import Sequence

from jvmti.interface.errors import Error

__all__ = [
    "Cancelled",
    "HeapError",
    "NotEnoughMemory",
    "NoSuchClass",
    "NoSuchField",
    "NotADump",
    "TooManyObjects",
    "near_it",
]


class HeapError(Error):
    """An error with a heap dump or a snapshot."""


class NotADump(HeapError, ValueError):
    """The file is not a heap dump in the HPROF format."""


class NoSuchClass(HeapError, LookupError):
    """A name or pattern matches no class; the message suggests similar names.

    Attributes:
        pattern: the name or pattern.
        near: similar names, the most similar first.
    """

    def __init__(self, pattern: str, near: Sequence[str], where: str) -> None:
        self.pattern = pattern
        self.near = tuple(near)
        super().__init__(f"no class {where} matches {pattern!r}{near_it(self.near)}")


class NoSuchField(HeapError, LookupError):
    """No class or object of a column has a field of this name; the message suggests similar ones.

    Attributes:
        name: the name.
        near: similar names, the most similar first.
    """

    def __init__(self, name: str, near: Sequence[str], of: str) -> None:
        self.name = name
        self.near = tuple(near)
        super().__init__(f"{of} has no field {name!r}{near_it(self.near)}")


class TooManyObjects(HeapError):
    """A dump has more objects than numbers are available, or a live heap has more than the limit;
    the attempt leaves nothing behind."""


class NotEnoughMemory(HeapError, MemoryError):
    """There is not enough memory for the result; nothing was done."""


class Cancelled(HeapError):
    """A long step was cancelled."""


def near_it(names: Sequence[str]) -> str:
    """The end of a message about a name that is not there."""
    return f"; similar: {', '.join(names)}" if names else ""
