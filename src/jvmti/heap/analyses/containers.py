"""Collections of the class library by size and fill.

The fill of a collection is the used part of its array; the rest is wasted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy
from numpy.typing import NDArray

from jvmti.heap.library import NONE
from jvmti.heap.objects import Objects
from jvmti.text.printable import escaped
from jvmti.text.quantities import quantity

if TYPE_CHECKING:
    from jvmti.heap.snapshot import Snapshot

__all__ = ["Collections", "collections"]

#: Class, the field of its array, and the field of its size if it has one.
_KINDS: list[tuple[str, str, str | None]] = [
    ("java.util.HashMap", "table", "size"),
    ("java.util.Hashtable", "table", "count"),
    ("java.util.WeakHashMap", "table", "size"),
    ("java.util.IdentityHashMap", "table", "size"),
    ("java.util.concurrent.ConcurrentHashMap", "table", None),
    ("java.util.ArrayList", "elementData", "size"),
    ("java.util.Vector", "elementData", "elementCount"),
    ("java.util.ArrayDeque", "elements", None),
    ("java.util.PriorityQueue", "queue", "size"),
    ("java.util.concurrent.CopyOnWriteArrayList", "array", None),
]
#: Of an open hash table, which has keys and values side by side.
_IN_PAIRS = "java.util.IdentityHashMap"


class Collections(NamedTuple):
    """The collections of one class and those below it.

    Attributes:
        class_name: the class.
        objects: the collections.
        sizes: how many entries each has.
        capacities: the lengths of their arrays; 0 without one.
        wasted: bytes of unused places in all of them.
    """

    class_name: str
    objects: Objects
    sizes: NDArray[numpy.int64]
    capacities: NDArray[numpy.int64]
    wasted: int

    @property
    def empty(self) -> Objects:
        """Those without entries."""
        found: Objects = self.objects[numpy.asarray(self.sizes == 0)]
        return found

    @property
    def fill(self) -> NDArray[numpy.float64]:
        """The used part of each array, from 0 to 1; 0 without one."""
        filled = self.sizes / numpy.maximum(self.capacities, 1)
        return numpy.minimum(filled, 1.0)

    def by_size(self) -> dict[int, int]:
        """How many have up to 0, 1, 2, 4, 8, … entries."""
        counts: dict[int, int] = {}
        bounds = numpy.where(
            self.sizes <= 1,
            self.sizes,
            2 ** numpy.ceil(numpy.log2(numpy.maximum(self.sizes, 1))).astype(numpy.int64),
        )
        for bound, count in zip(*numpy.unique(bounds, return_counts=True), strict=True):
            counts[int(bound)] = int(count)
        return counts

    @escaped
    def __repr__(self) -> str:
        return (
            f"<{len(self.objects):,} of {self.class_name}, {len(self.empty):,} empty, "
            f"{quantity(self.wasted, 'byte')} unused>"
        )


def collections(snapshot: Snapshot) -> list[Collections]:
    """The collections of a heap by class, those that waste most first.

    Sets are maps inside, and count as such.
    """
    found = []
    reference = int(snapshot._dump.summary.reference_size)
    for name, array_field, size_field in _KINDS:
        if name not in snapshot.classes.names:
            continue
        objects = snapshot.objects(name, subclasses=True)
        if not len(objects) or objects[0] is None or objects[0].cls.field(array_field) is None:
            continue
        arrays = objects[array_field]
        capacities = numpy.maximum(arrays.lengths, 0) // (2 if name == _IN_PAIRS else 1)
        used = _used(snapshot, arrays)
        if size_field is not None:
            sizes = numpy.asarray(objects[size_field]).astype(numpy.int64)
        elif name.endswith("ConcurrentHashMap"):
            sizes = _concurrent_sizes(objects)
        else:
            sizes = used
        places = numpy.maximum(numpy.maximum(arrays.lengths, 0) - used, 0)
        wasted = int(places.sum()) * reference
        found.append(Collections(name, objects, sizes, capacities, wasted))
    return sorted(found, key=lambda one: one.wasted, reverse=True)


def _used(snapshot: Snapshot, arrays: Objects) -> NDArray[numpy.int64]:
    """How many elements of each array are not null."""
    counts = numpy.zeros(len(arrays), numpy.int64)
    present = arrays.indices != NONE
    rows = snapshot._dump.rows
    indices = arrays.indices[present].astype(numpy.int64)
    counts[present] = rows[indices + 1].astype(numpy.int64) - rows[indices].astype(numpy.int64)
    return counts


def _concurrent_sizes(objects: Objects) -> NDArray[numpy.int64]:
    """The base count plus the cells of contending threads."""
    sizes = numpy.asarray(objects["baseCount"]).astype(numpy.int64)
    cells = objects["counterCells"]
    rows, counted = cells.elements()
    if len(rows):
        numpy.add.at(sizes, rows, numpy.asarray(counted["value"]).astype(numpy.int64))
    return sizes
