"""Who holds this: shortest ways from the roots, merged over many objects.

One breadth-first walk from all roots gives the shortest way to every object.  The ways to some
objects make a tree, in which each node knows how many of them it leads to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy
from numpy.typing import NDArray

from jvmti import display
from jvmti.heap.library import NONE, Indices, Sizes
from jvmti.heap.reference_names import reference_names

if TYPE_CHECKING:
    from jvmti.heap.objects import Object, Objects
    from jvmti.heap.snapshot import Snapshot

__all__ = ["Node", "PathTree"]


class Node:
    """An object on the way to others.

    Attributes:
        object: the object.
        count: how many of the objects in question lie behind it, itself included.
    """

    __slots__ = ("_parent", "_tree", "count", "object")

    def __init__(self, tree: PathTree, obj: Object, parent: Object | None) -> None:
        self._tree = tree
        self._parent = parent
        self.object = obj
        self.count = int(tree._counts[obj.index])

    @property
    def reference(self) -> str:
        """What leads here from the node above: a field, ``[7]``, or the kind of root."""
        if self._parent is None:
            return self._tree._snapshot.roots.describe(self.object)
        return self._tree._snapshot.reference_name(self._parent, self.object)

    @property
    def size(self) -> int:
        """Bytes of the objects in question behind it, without what they retain."""
        return int(self._tree._sizes()[self.object.index])

    @property
    def is_target(self) -> bool:
        """Whether it is one of the objects in question."""
        return bool(self._tree._targets[self.object.index])

    @property
    def children(self) -> list[Node]:
        """The next nodes, those that lead to most first, at most as many as the tree's limit."""
        return self._tree._children(self.object.index, self.object)

    def __repr__(self) -> str:
        return f"<{self.reference} → {self.object!r}, {self.count:,} objects>"


class PathTree:
    """Shortest ways from the roots to some objects, merged; iterating gives the roots' nodes.

    Attributes:
        objects: the objects in question, each once.
        unreached: those of them that no way leads to.
    """

    def __init__(
        self, snapshot: Snapshot, objects: Objects, before: Indices, order: Indices, limit: int
    ) -> None:

        self._snapshot = snapshot
        self._limit = limit
        self.objects = objects.unique()
        reached = before[self.objects.indices] != NONE
        self.unreached = self.objects[~reached]
        found = self.objects.indices[reached]
        count = len(before)
        self._targets = numpy.zeros(count, numpy.bool_)
        self._targets[found] = True
        self._counts: Sizes = numpy.zeros(count + 1, numpy.uint64)
        self._counts[found] = 1
        snapshot._dump.sum_ways(before, order, self._counts)
        self._order = order
        self._found = found
        self._bytes: Sizes | None = None
        self._grouped: tuple[Indices, Indices, NDArray[numpy.int64]] | None = None
        self._root = count
        self._before = before

    def _sizes(self) -> Sizes:
        """For each object the bytes of those in question that lie behind it."""
        from jvmti.heap.objects import Objects

        if self._bytes is None:
            sums = numpy.zeros(len(self._before) + 1, numpy.uint64)
            sums[self._found] = Objects(self._snapshot, self._found).sizes
            self._snapshot._dump.sum_ways(self._before, self._order, sums)
            self._bytes = sums
        return self._bytes

    def _groups(self) -> tuple[Indices, Indices, NDArray[numpy.int64]]:
        """The nodes with those of one parent together; the parents, sorted; where theirs begin.

        In the order of a breadth-first walk the children of a node are together already.
        """
        if self._grouped is None:
            nodes = self._order[(self._counts != 0)[self._order]]
            above = self._before[nodes]
            starts = numpy.flatnonzero(numpy.append(True, above[1:] != above[:-1])[: len(above)])
            parents = above[starts]
            sorting = numpy.argsort(parents)
            ends = numpy.append(starts[1:], len(nodes))[: len(starts)]
            ranges = numpy.stack([starts, ends], axis=1)[sorting]
            self._grouped = nodes, parents[sorting], ranges
        return self._grouped

    @property
    def roots(self) -> list[Node]:
        """The nodes of the roots, those that lead to most first."""
        return self._children(self._root, None)

    def path(self, obj: Object) -> list[tuple[str, Object]]:
        """One way from a root to an object: what leads to each, and the object.

        Empty for what cannot be reached.
        """
        from jvmti.heap.objects import Object

        at = obj.index
        if int(self._before[at]) == NONE:
            return []
        numbers = []
        while at < self._root:
            numbers.append(at)
            at = int(self._before[at])
        way = numpy.array(numbers[::-1], numpy.uint32)
        objects = [Object(self._snapshot, index) for index in way.tolist()]
        names = reference_names(self._snapshot, way[:-1], way[1:])
        return list(zip([self._snapshot.roots.describe(objects[0]), *names], objects, strict=True))

    def lines(self, *, depth: int = 20, width: int = 5) -> list[str]:
        """The tree as text, indented, with at most some levels and children of each node."""
        found: list[str] = []
        waiting = [(node, 0) for node in reversed(self.roots[:width])]
        while waiting:
            node, level = waiting.pop()
            found.append(f"{'  ' * level}{node.reference}: {node.object!r} ({node.count:,})")
            if level + 1 < depth:
                waiting += [(child, level + 1) for child in reversed(node.children[:width])]
        return found

    def _children(self, above: int, parent: Object | None) -> list[Node]:
        nodes, parents, ranges = self._groups()
        at = int(numpy.searchsorted(parents, above))
        if at == len(parents) or int(parents[at]) != above:
            return []
        children = nodes[ranges[at, 0] : ranges[at, 1]]
        order = numpy.argsort(self._counts[children], kind="stable")[::-1][: self._limit]
        found = []
        for index in children[order].tolist():
            obj = self._snapshot._object(index)
            assert obj is not None
            found.append(Node(self, obj, parent))
        return found

    def __iter__(self) -> Iterator[Node]:
        return iter(self.roots)

    def __repr__(self) -> str:
        return f"<PathTree to {len(self.objects):,} objects>"

    _repr_html_ = display.html
