"""The dominator tree: which objects alone keep others alive.

An object dominates another if every path from a root to that one passes it; it retains its own size
and that of all objects that it dominates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy

from jvmti.heap.library import NONE, Indices, Progress, Sizes
from jvmti.text.printable import escaped
from jvmti.text.quantities import quantity

if TYPE_CHECKING:
    from jvmti.heap.objects import Object, Objects
    from jvmti.heap.snapshot import Snapshot

__all__ = ["DominatorTree", "AccumulationPoint"]


class AccumulationPoint(NamedTuple):
    """An accumulation point: an object that retains far more than any of its children.

    Attributes:
        object: the accumulation point.
        retained: bytes that it retains.
        largest_child: bytes that its largest child retains.
        children: how many it has.
    """

    object: Object
    retained: int
    largest_child: int
    children: int

    @property
    def drop(self) -> int:
        """The difference in retained bytes between the object and its largest child."""
        return self.retained - self.largest_child


class DominatorTree:
    """The dominator tree of a snapshot; its root stands above all roots of the heap.

    Attributes:
        idom: for each object the number of its immediate dominator: the number of objects stands
            for the root above all, `jvmti.heap.NONE` for unreachable ones.
        retained: bytes that each retains; the last item is the root's, so the reachable heap's.
    """

    def __init__(
        self, snapshot: Snapshot, without: int = 0, report: Progress | None = None
    ) -> None:
        self._snapshot = snapshot
        self.idom: Indices
        self.retained: Sizes
        self.idom, self.retained = snapshot._dump.dominators(without, report)
        self._downwards: tuple[Sizes, Indices] | None = None

    @property
    def total(self) -> int:
        """Bytes of all reachable objects."""
        return int(self.retained[-1])

    def dominator(self, obj: Object) -> Object | None:
        """The nearest object that all paths to it pass; ``None`` for the root above all."""
        at = int(self.idom[obj.index])
        return None if at >= len(self.idom) else self._snapshot._object(at)

    def dominators(self, obj: Object) -> list[Object]:
        """All objects that dominate it, nearest first."""
        found = []
        above = self.dominator(obj)
        while above is not None:
            found.append(above)
            above = self.dominator(above)
        return found

    def children(self, obj: Object | None = None) -> Objects:
        """The objects that an object dominates directly, the largest first; by default those of the
        root."""
        from jvmti.heap.objects import Objects

        rows, items = self._down()
        at = len(self.idom) if obj is None else obj.index
        children = items[int(rows[at]) : int(rows[at + 1])]
        order = numpy.argsort(self.retained[children])[::-1]
        return Objects(self._snapshot, children[order])

    def children_of_all(self, owners: Indices) -> Indices:
        """The numbers of the objects that several objects dominate directly, in no particular
        order."""
        rows, items = self._down()
        at = owners.astype(numpy.int64)
        first = rows[at].astype(numpy.int64)
        counts = rows[at + 1].astype(numpy.int64) - first
        starts = numpy.cumsum(counts) - counts
        places = numpy.arange(int(counts.sum())) + numpy.repeat(first - starts, counts)
        return numpy.asarray(items[places])

    def accumulation_points(
        self, threshold: float = 0.01, *, limit: int = 100
    ) -> list[AccumulationPoint]:
        """Objects that retain far more than their largest child, by the drop in retained size.

        Args:
            threshold: the smallest drop, in bytes, or below 1 as a fraction of the heap.
            limit: return at most this many, the largest first.
        """
        threshold = max(1, int(threshold * self.total if threshold < 1 else threshold))
        rows, items = self._down()
        candidates = numpy.flatnonzero(self.retained[:-1] >= threshold)
        found = []
        for at in candidates.tolist():
            children = self.retained[items[int(rows[at]) : int(rows[at + 1])]]
            largest = int(children.max()) if len(children) else 0
            if int(self.retained[at]) - largest >= threshold:
                found.append((int(self.retained[at]) - largest, at, largest, len(children)))
        found.sort(reverse=True)
        points = []
        for _, at, largest, count in found[:limit]:
            obj = self._snapshot._object(at)
            assert obj is not None
            points.append(AccumulationPoint(obj, int(self.retained[at]), largest, count))
        return points

    def retained_by_class(self) -> Sizes:
        """Bytes that the objects of each class retain one by one, none counted twice.

        This leaves out what several objects of a class hold only together; `Objects.retained_size`
        is the exact figure for one class.
        """
        count = len(self._snapshot.classes)
        return self._by_group(numpy.arange(count, dtype=numpy.uint32), count, as_itself=False)

    def retained_by_group(self, groups: Indices, count: int) -> Sizes:
        """The same for groups of classes, such as packages or loaders.

        A class object, with what its static fields hold, belongs to the group of its class.

        Args:
            groups: for each class the number of its group; too large a number leaves it out.
            count: how many groups there are.
        """
        return self._by_group(groups, count, as_itself=True)

    def _by_group(self, groups: Indices, count: int, *, as_itself: bool) -> Sizes:
        rows, items = self._down()
        dump = self._snapshot._dump
        return dump.retained_by_group(groups, count, as_itself, rows, items, self.retained)

    def _down(self) -> tuple[Sizes, Indices]:
        if self._downwards is None:
            self._downwards = self._snapshot._dump.children(self.idom)
        return self._downwards

    @escaped
    def __repr__(self) -> str:
        reached = int(numpy.count_nonzero(self.idom != NONE))
        return f"<DominatorTree of {quantity(reached, 'object')}, {quantity(self.total, 'byte')}>"
