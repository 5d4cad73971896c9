"""Shortest paths from the roots to objects, merged over many of them.

A breadth-first walk from all roots finds the shortest path to each of some objects, and ends when
it has reached all of them. These paths form a tree, in which each node knows how many of the
objects it leads to.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy

from jvmti import display
from jvmti.heap.library import NONE, Sizes, Ways
from jvmti.heap.reference_names import reference_names
from jvmti.text.printable import escaped
from jvmti.text.quantities import quantity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from jvmti.heap.objects import Object, Objects
    from jvmti.heap.snapshot import Snapshot

__all__ = ["Node", "PathTree"]


class Node:
    """An object on the path to others.

    Attributes:
        object: the object.
        count: how many of the target objects lie behind it, itself included.
    """

    __slots__ = ("_at", "_parent", "_tree", "count", "object")

    def __init__(self, tree: PathTree, at: int, parent: Object | None) -> None:
        obj = tree._snapshot._object(int(tree._merged.objects[at]))
        assert obj is not None
        self._tree = tree
        self._at = at
        self._parent = parent
        self.object = obj
        self.count = int(tree._counts[at])

    @property
    def reference(self) -> str:
        """The reference from the node above: a field, ``[7]``, or the kind of root."""
        if self._parent is None:
            return self._tree._snapshot.roots.describe(self.object)
        return self._tree._snapshot.reference_name(self._parent, self.object)

    @property
    def size(self) -> int:
        """Shallow bytes of the target objects behind it."""
        return int(self._tree._sizes()[self._at])

    @property
    def is_target(self) -> bool:
        """Whether it is one of the target objects."""
        return bool(self._tree._merged.chosen[self._at])

    @property
    def children(self) -> list[Node]:
        """The next nodes, those that lead to most objects first, up to the tree's limit."""
        return self._tree._children(self._at, self.object)

    @escaped
    def __repr__(self) -> str:
        return f"<{self.reference} → {self.object!r}, {quantity(self.count, 'object')}>"


class PathTree:
    """Shortest paths from the roots to some objects, merged; iterating yields the roots' nodes.

    Attributes:
        objects: the target objects, each once.
        unreached: those of them that no path leads to.
    """

    def __init__(self, snapshot: Snapshot, objects: Objects, ways: Ways, limit: int) -> None:
        self._snapshot = snapshot
        self._limit = limit
        self._ways = ways
        self.objects = objects.unique()
        self._merged = ways.merged(self.objects.indices, snapshot._report)
        reached = self._merged.objects[self._merged.chosen]
        self.unreached = self.objects[:0]
        if len(reached) < len(self.objects):
            self.unreached = self.objects[~numpy.isin(self.objects.indices, reached)]
        self._counts = self._summed(self._merged.chosen)
        self._roots = int(numpy.count_nonzero(self._merged.parents == NONE))
        self._bytes: Sizes | None = None

    def _summed(self, own: NDArray[Any]) -> Sizes:
        """For each node the sum over the target objects behind it."""
        sums = own.astype(numpy.uint64)
        self._snapshot._dump.sum_ways(self._merged.parents, sums)
        return sums

    def _sizes(self) -> Sizes:
        """For each node the bytes of the target objects behind it."""
        from jvmti.heap.objects import Objects

        if self._bytes is None:
            _, _, chosen = self._merged
            own = numpy.zeros(len(chosen), numpy.uint64)
            own[chosen] = Objects(self._snapshot, self._merged.objects[chosen]).sizes
            self._bytes = self._summed(own)
        return self._bytes

    @property
    def places(self) -> int:
        """How many objects lie on these paths, including the target objects."""
        return len(self._merged.objects)

    @property
    def roots(self) -> list[Node]:
        """The nodes of the roots, those that lead to most objects first."""
        return self._children(NONE, None)

    def path(self, obj: Object) -> list[tuple[str, Object]]:
        """A path from a root to an object: each reference, and its object.

        Empty for an unreachable object.
        """
        from jvmti.heap.objects import Object

        merged = self._merged
        found = numpy.flatnonzero(merged.objects == obj.index)
        if not len(found):
            # Not on the paths of this tree, so walk to it alone.
            merged = self._ways.merged(numpy.array([obj.index], numpy.uint32))
            found = numpy.arange(len(merged.objects))[-1:]
        if not len(found):
            return []
        at = int(found[0])
        places = [at]
        while (at := int(merged.parents[at])) != NONE:
            places.append(at)
        way = merged.objects[places[::-1]]
        objects = [Object(self._snapshot, index) for index in way.tolist()]
        names = reference_names(self._snapshot, way[:-1], way[1:])
        return list(zip([self._snapshot.roots.describe(objects[0]), *names], objects, strict=True))

    def lines(self, *, depth: int = 20, width: int = 5, most: int | None = None) -> list[str]:
        """The tree as text, indented.

        Args:
            depth: levels at most.
            width: children of each node at most.
            most: lines at most: the nodes that lead to most objects, and among equals the deeper
                ones.
        """
        children: dict[int, list[Node]] = {}
        numbers = itertools.count()
        waiting = [(-node.count, 0, next(numbers), node, NONE) for node in self.roots[:width]]
        left = self.places if most is None else most
        # No child leads to more than its parent, so its parents are there already.
        while waiting and left > 0:
            _, level, _, node, above = heapq.heappop(waiting)
            children.setdefault(above, []).append(node)
            left -= 1
            if 1 - level < depth:
                for child in node.children[:width]:
                    entry = (-child.count, level - 1, next(numbers), child, node._at)
                    heapq.heappush(waiting, entry)
        found: list[str] = []
        open_ = [(node, 0) for node in reversed(children.get(NONE, []))]
        while open_:
            node, indent = open_.pop()
            found.append(f"{'  ' * indent}{node.reference}: {node.object!r} ({node.count:,})")
            open_ += [(child, indent + 1) for child in reversed(children.get(node._at, []))]
        return found

    def _children(self, above: int, parent: Object | None) -> list[Node]:
        # The roots come first, then parents in the order of their children.
        parents = self._merged.parents
        roots = self._roots
        if above == NONE:
            first, last = 0, roots
        else:
            # Of the same type, so that the column is not converted for each node.
            ends = numpy.array([above, above + 1], parents.dtype)
            first, last = numpy.searchsorted(parents[roots:], ends) + roots
        counts = self._counts[first:last]
        # Sorts only those that are returned: a node may have millions.
        least = 0
        if len(counts) > self._limit:
            least = numpy.partition(counts, -self._limit)[-self._limit]
        more = numpy.flatnonzero(counts > least)
        most = more[numpy.argsort(counts[more], kind="stable")[::-1]]
        equal = numpy.flatnonzero(counts == least)[: self._limit - len(most)]
        return [
            Node(self, at, parent)
            for at in (numpy.append(most, equal)[: self._limit] + first).tolist()
        ]

    def __iter__(self) -> Iterator[Node]:
        return iter(self.roots)

    @escaped
    def __repr__(self) -> str:
        return f"<PathTree to {quantity(len(self.objects), 'object')}>"

    _repr_html_ = display.html
