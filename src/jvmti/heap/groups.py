"""Objects grouped by a value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import NDArray

from jvmti.heap.library import Sizes
from jvmti.text.printable import escaped
from jvmti.text.quantities import quantity

if TYPE_CHECKING:
    from jvmti.heap.objects import Objects

__all__ = ["Groups", "group"]


class Groups:
    """Objects by a value: pairs of the value and its objects, the largest groups first.

    ::

        by_name = orders.group_by(orders["customer"]["name"])
        by_name.keys[0], by_name.count[0], by_name.sum("total")[0]

    Attributes:
        members: all the objects.
        keys: the value of each group: a number, a text, an object, or None for null and masked.
        number: the group of each member, ``int64``.
        count: how many objects each group has, ``int64``.
    """

    def __init__(self, members: Objects, keys: list[Any], number: NDArray[numpy.int64]) -> None:
        self.members = members
        count = numpy.bincount(number, minlength=len(keys)).astype(numpy.int64)
        order = numpy.argsort(-count, kind="stable")
        place = numpy.empty(len(keys), numpy.int64)
        place[order] = numpy.arange(len(keys))
        self.keys = [keys[at] for at in order.tolist()]
        self.number: NDArray[numpy.int64] = place[number]
        self.count: NDArray[numpy.int64] = count[order]

    @property
    def bytes(self) -> Sizes:
        """Bytes that the objects of each group take by themselves, ``uint64``."""
        found = numpy.zeros(len(self), numpy.uint64)
        numpy.add.at(found, self.number, self.members.sizes)
        return found

    def sum(self, values: Any) -> NDArray[Any]:
        """The sum of a value in each group; masked values count as 0.

        Args:
            values: the name of a primitive field, a number for each member, or a function of the
                members that returns them.
        """
        numbers = numpy.ma.filled(self.members._values(values), 0)
        wide = numpy.float64 if numbers.dtype.kind == "f" else numpy.int64
        found = numpy.zeros(len(self), numbers.dtype if numbers.dtype == numpy.uint64 else wide)
        numpy.add.at(found, self.number, numbers)
        return found

    def retained(self) -> Sizes:
        """Bytes that would be freed with each group, ``uint64``; a walk over the graph for each."""
        sizes = [members.retained_size() for _, members in self]
        return numpy.array(sizes, numpy.uint64)

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self[one] for one in range(len(self))[at]]
        at = range(len(self))[at]
        return self.keys[at], self.members[self.number == at]

    def __iter__(self) -> Iterator[tuple[Any, Objects]]:
        order = numpy.argsort(self.number, kind="stable")
        ends = numpy.cumsum(self.count).tolist()
        for key, begin, end in zip(self.keys, [0, *ends], ends, strict=False):
            yield key, self.members[order[begin:end]]

    @escaped
    def __repr__(self) -> str:
        return f"<{quantity(len(self.members), 'object')} in {quantity(len(self), 'group')}>"


def group(members: Objects, values: Any) -> Groups:
    """Group objects by a value for each: an array, a column of objects, or a sequence."""
    from jvmti.heap.objects import Objects

    masked = numpy.ma.getmaskarray(values) if numpy.ma.isMA(values) else None
    if isinstance(values, Objects):
        distinct, number = numpy.unique(values.indices, return_inverse=True)
        column = Objects(values._snapshot, distinct)
        texts = column.strings()
        return _merged(
            members,
            [one if text is None else text for one, text in zip(column, texts, strict=True)],
            number,
        )
    if isinstance(values, numpy.ndarray) and values.dtype != object:
        distinct, number = numpy.unique(numpy.ma.getdata(values), return_inverse=True)
        keys = distinct.tolist()
    else:
        keys = list(values)
        number = numpy.arange(len(keys))
    if masked is not None and masked.any():
        number = numpy.where(masked, len(keys), number)
        keys = [*keys, None]
    return _merged(members, keys, number)


def _merged(members: Objects, keys: list[Any], number: NDArray[Any]) -> Groups:
    """Groups in which equal keys are one, and none is empty."""
    used = numpy.bincount(number, minlength=len(keys)) > 0
    numbers: dict[Any, int] = {}
    place = numpy.zeros(len(keys), numpy.int64)
    for at in numpy.flatnonzero(used).tolist():
        place[at] = numbers.setdefault(keys[at], len(numbers))
    return Groups(members, list(numbers), place[number])
