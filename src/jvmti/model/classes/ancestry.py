"""A class and all that is above it, in one message."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


class Ancestry:
    """The superclasses and interfaces of a class, each of which has a place; its own is 0.

    Attributes:
        classes: the classes, each once.
        signatures: of each.
    """

    def __init__(self, cls: Any) -> None:
        found = cls._vm._agent.ancestry(cls)
        self.classes: list[Any] = list(found.classes)
        self.signatures = [one.decode() for one in found.signatures.split(b"\0")[:-1]]
        self._superclasses = [int(place) - 1 for place in found.superclasses]
        ends = list(itertools.accumulate(map(int, found.interface_counts), initial=0))
        above = [int(place) - 1 for place in found.interfaces]
        self._interfaces = [above[start:end] for start, end in itertools.pairwise(ends)]
        for one, signature in zip(self.classes, self.signatures, strict=True):
            one._signature = signature

    def chain(self) -> Iterator[int]:
        """The places of the class and of its superclasses, the nearest first."""
        at = 0
        while at >= 0:
            yield at
            at = self._superclasses[at]

    def interfaces(self, place: int) -> list[int]:
        """The places of what a class implements, or extends as an interface, directly."""
        return self._interfaces[place]

    def parents(self, place: int) -> list[int]:
        """The places of what is directly above a class."""
        above = self._superclasses[place]
        return [*([above] if above >= 0 else []), *self._interfaces[place]]


__all__ = ["Ancestry"]
