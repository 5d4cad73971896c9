"""From the rows of a snapshot to the objects of the VM that it was taken of.

A dump has its objects in the order in which a walk over the heap meets them, as long as nothing has
moved: so a class and a place among its objects find an object again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from jvmti.heap.library import NONE
from jvmti.heap.loaders import LoadedClasses
from jvmti.heap.scan import LiveRows

if TYPE_CHECKING:
    from jvmti.heap.live import LiveHeap
    from jvmti.heap.objects import Objects
    from jvmti.heap.snapshot import Snapshot

__all__ = ["LiveObjects"]

_MOST = 20_000
"""Objects that one pass looks for; GetObjectsWithTags takes the square of it."""
_CLASS = "java.lang.Class"


class LiveObjects:
    """Finds the objects of one snapshot.

    Args:
        heap: of the VM.
        snapshot: what was taken of it.
        by_address: its objects come in the order of their addresses, not of the file.
        collections: how many garbage collections there had been.
    """

    def __init__(
        self, heap: LiveHeap, snapshot: Snapshot, by_address: bool, collections: int | None
    ) -> None:
        self._heap = heap
        self._snapshot = snapshot
        self._by_address = by_address
        self._collections = collections
        self._places: dict[int, Any] = {}

    def find(self, column: Objects, timeout: float | None) -> LiveRows:
        """The objects of a column; see `Snapshot.live`."""
        heap, snapshot = self._heap, self._snapshot
        heap._check("live")
        if len(column) > _MOST:
            raise ValueError(
                f"{len(column):,} objects are more than {_MOST:,}, which one pass looks for; "
                "choose among them first"
            )
        rows = column.indices
        objects: list[Any] = [None] * len(rows)
        class_indices = column.class_indices
        names = snapshot.classes.names
        wanted = {
            int(index): names[int(index)]
            for index in numpy.unique(class_indices)
            if index != NONE and names[int(index)] != _CLASS
        }
        loaded = LoadedClasses(heap._vm)
        pause = 0.0
        try:
            # A name that several loaders have a class of says nothing.
            twice = {name for name in wanted.values() if names.count(name) > 1}
            at = {name: place for place, name in enumerate(loaded.names)}
            twice |= {name for name in wanted.values() if loaded.names.count(name) != 1}
            usable = sorted(index for index, name in wanted.items() if name not in twice)
            chosen = numpy.flatnonzero(numpy.isin(class_indices, usable))
            if len(chosen):
                numbers = numpy.searchsorted(usable, class_indices[chosen])
                ordinals = self._ordinals(rows[chosen], class_indices[chosen])
                order = numpy.lexsort((ordinals, numbers))
                found, pause = heap._find_objects(
                    [loaded.handles[at[names[index]]] for index in usable],
                    numbers[order] + 1,
                    ordinals[order],
                    column.sizes[chosen][order],
                    column.lengths[chosen][order],
                    timeout,
                )
                for place, one in zip(chosen[order].tolist(), found, strict=True):
                    objects[place] = one
        finally:
            loaded.release()
        now, before = heap._collections(), self._collections
        there = sum(one is not None for one in objects)
        return LiveRows(
            rows,
            objects,
            there / len(rows) if len(rows) else 1.0,
            pause,
            None if now is None or before is None else now - before,
        )

    def _ordinals(self, rows: Any, classes: Any) -> Any:
        """The place of each object among those of its class, in the order of the heap."""
        dump = self._snapshot._dump
        places = dump.addresses(rows) if self._by_address else rows
        found = numpy.zeros(len(rows), numpy.int64)
        for index in numpy.unique(classes).tolist():
            members = self._places.get(index)
            if members is None:
                members = numpy.flatnonzero(dump.class_of == index).astype(numpy.uint32)
                if self._by_address:
                    members = numpy.sort(dump.addresses(members))
                self._places = {index: members}
            own = classes == index
            found[own] = numpy.searchsorted(members, places[own])
        return found
