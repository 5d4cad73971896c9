"""A class and all its ancestors, in one message."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


class Ancestry:
    """The superclasses and interfaces of a class, numbered; the class itself is 0.

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
        """The numbers of the class and of its superclasses, the nearest first."""
        at = 0
        while at >= 0:
            yield at
            at = self._superclasses[at]

    def interfaces(self, place: int) -> list[int]:
        """The numbers of the interfaces that a class directly implements or extends."""
        return self._interfaces[place]

    def parents(self, place: int) -> list[int]:
        """The numbers of a class's direct ancestors."""
        above = self._superclasses[place]
        return [*([above] if above >= 0 else []), *self._interfaces[place]]


__all__ = ["Ancestry"]
