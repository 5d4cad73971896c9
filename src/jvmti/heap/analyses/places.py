"""Places in the dominator tree: all objects of one class below one place.

All entries of a collection are one place. A class object is a place of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy

from jvmti.heap.library import EXTENT_CLASS, Indices

if TYPE_CHECKING:
    from jvmti.heap.dominators import DominatorTree
    from jvmti.heap.snapshot import Snapshot

__all__ = ["Place", "places_below"]


class Place(NamedTuple):
    """Objects of one class that the same place dominates directly.

    Attributes:
        class_name: their class; for a class object, the class that it stands for.
        is_class: whether it is a class object.
        members: their numbers.
        retained: bytes that they retain, each by itself.
    """

    class_name: str
    is_class: bool
    members: Indices
    retained: int

    @property
    def name(self) -> str:
        """Its name: ``java.lang.String``, or ``class java.lang.String``."""
        return f"class {self.class_name}" if self.is_class else self.class_name


def places_below(
    snapshot: Snapshot, tree: DominatorTree, owners: Indices | None, width: int
) -> list[Place]:
    """The places directly below some objects, the largest first.

    Args:
        snapshot: whose objects they are.
        tree: its dominator tree.
        owners: the numbers of the objects; ``None`` for the root above all.
        width: the most results.
    """
    above = numpy.array([len(tree.idom)], numpy.uint32) if owners is None else owners
    children = tree.children_of_all(above)
    if not len(children):
        return []
    dump = snapshot._dump
    classes = len(snapshot.classes)
    extents = dump.extent[children]
    labels = numpy.where(
        extents & EXTENT_CLASS, classes + (extents & ~numpy.uint32(EXTENT_CLASS)),
        dump.class_of[children],
    )  # fmt: skip
    distinct, group = numpy.unique(labels, return_inverse=True)
    sizes = numpy.zeros(len(distinct), numpy.uint64)
    numpy.add.at(sizes, group, tree.retained[children])
    sorted_children = children[numpy.argsort(group, kind="stable")]
    ends = numpy.cumsum(numpy.bincount(group))
    found = []
    for at in numpy.argsort(sizes)[::-1][:width].tolist():
        is_class, index = divmod(int(distinct[at]), classes)
        begin = int(ends[at - 1]) if at else 0
        members = sorted_children[begin : int(ends[at])]
        found.append(Place(snapshot.classes.names[index], bool(is_class), members, int(sizes[at])))
    return found
