"""What goes wrong with heaps; `jvmti.errors` lists the whole tree."""

from __future__ import annotations

from collections.abc import Sequence

from jvmti.interface.errors import Error

__all__ = [
    "Cancelled",
    "HeapError",
    "NoRoom",
    "NoSuchClass",
    "NoSuchField",
    "NotADump",
    "TooManyObjects",
    "near_it",
]


class HeapError(Error):
    """Something about a heap dump or a snapshot."""


class NotADump(HeapError, ValueError):
    """The file is not a heap dump in the HPROF format."""


class NoSuchClass(HeapError, LookupError):
    """A name or pattern matches no class; the message names some that are near.

    Attributes:
        pattern: the name or pattern.
        near: names that look like it, the nearest first.
    """

    def __init__(self, pattern: str, near: Sequence[str], where: str) -> None:
        self.pattern = pattern
        self.near = tuple(near)
        super().__init__(f"no class {where} matches {pattern!r}{near_it(self.near)}")


class NoSuchField(HeapError, LookupError):
    """No class or object of a column has a field of this name; the message names some near it.

    Attributes:
        name: the name.
        near: names that look like it, the nearest first.
    """

    def __init__(self, name: str, near: Sequence[str], of: str) -> None:
        self.name = name
        self.near = tuple(near)
        super().__init__(f"{of} has no field {name!r}{near_it(self.near)}")


class TooManyObjects(HeapError):
    """A dump has more objects than can be numbered, or a live heap more than were allowed to be
    looked at; nothing remains of the attempt."""


class NoRoom(HeapError, MemoryError):
    """There is not enough memory for what would be written; nothing was done."""


class Cancelled(HeapError):
    """A long step was cancelled."""


def near_it(names: Sequence[str]) -> str:
    """The end of a message about a name that is not there."""
    return f"; near it: {', '.join(names)}" if names else ""
