"""From the rows of a snapshot to the objects of its VM.

Most are found along the references that lead to them. The others need a walk: while nothing has
moved, a dump has its objects in the order of a walk over the heap, so a class and a position among
its objects identify an object.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy

from jvmti.heap.library import EXTENT_CLASS, NONE, Indices
from jvmti.heap.objects import Objects
from jvmti.liveheap.live_contents import unchanged
from jvmti.liveheap.loaders import LoadedClasses
from jvmti.liveheap.passes import Progress
from jvmti.liveheap.path_lookup import PathLookup
from jvmti.liveheap.scan import LiveRows

if TYPE_CHECKING:
    from jvmti.heap.snapshot import Snapshot
    from jvmti.liveheap.live_heap import LiveHeap

__all__ = ["LiveObjects"]


class LiveObjects:
    """Finds the objects of one snapshot.

    Args:
        heap: of the VM.
        snapshot: its snapshot.
        by_address: its objects come in the order of their addresses, not of the file.
        collections: the number of garbage collections before.
    """

    def __init__(
        self, heap: LiveHeap, snapshot: Snapshot, by_address: bool, collections: int | None
    ) -> None:
        self._heap = heap
        self._snapshot = snapshot
        self._by_address = by_address
        self._collections = collections
        self._places: dict[int, Any] = {}
        self._along = PathLookup(heap._vm, snapshot)

    def find(
        self,
        column: Objects,
        content: bool,
        timeout: float | None,
        progress: Progress | None = None,
    ) -> LiveRows:
        """The objects of a column; see `Snapshot.live`."""
        heap = self._heap
        heap._check("live")
        began = time.monotonic()
        rows = column.indices
        wanted, inverse = numpy.unique(rows, return_inverse=True)
        # Null and classes have no live object here.
        there = self._snapshot._dump.extent[wanted[wanted != NONE]] & EXTENT_CLASS == 0
        sought = wanted[: len(there)][there]
        pause = 0.0
        loaded = LoadedClasses(heap._vm)
        try:
            until = None if timeout is None else began + timeout
            found = self._along.find(sought, loaded, until, progress) if len(sought) else []
            changed: set[int] = self._leave_changed(sought, found) if content else set()
            left = numpy.array([one is None for one in found], bool)
            if left.any():
                done = len(found) - int(left.sum())
                report = None if progress is None else lambda count: progress(done + count)
                more, pause = self._walked(sought[left], loaded, timeout, began, report)
                if content:
                    changed |= self._leave_changed(sought[left], more)
                for at, one in zip(numpy.flatnonzero(left).tolist(), more, strict=True):
                    found[at] = one
            if progress is not None:
                progress(len(found))
        finally:
            loaded.release()
        changed -= {
            index for index, one in zip(sought.tolist(), found, strict=True) if one is not None
        }
        by_number: list[Any] = [None] * len(wanted)
        for at, one in zip(numpy.flatnonzero(there).tolist(), found, strict=True):
            by_number[at] = one
        objects = [by_number[at] for at in inverse.tolist()]
        now, before = heap._collections(), self._collections
        have = sum(one is not None for one in objects)
        return LiveRows(
            rows,
            objects,
            have / len(rows) if len(rows) else 1.0,
            pause,
            None if now is None or before is None else now - before,
            sorted(changed),
        )

    def _leave_changed(self, rows: Indices, objects: list[Any]) -> set[int]:
        """Leave out objects whose contents differ from the snapshot's; returns their numbers."""
        at = numpy.array([place for place, one in enumerate(objects) if one is not None], int)
        handles = numpy.array([objects[place]._handle for place in at.tolist()], numpy.uint64)
        if not len(at):
            return set()
        differ = at[~unchanged(self._heap._vm, self._snapshot, rows[at], handles)]
        for place in differ.tolist():
            objects[place] = None
        return set(rows[differ].tolist())

    def _walked(
        self,
        sought: Indices,
        loaded: LoadedClasses,
        timeout: float | None,
        began: float,
        progress: Progress | None,
    ) -> tuple[list[Any], float]:
        """The objects at the same positions among those of their classes."""
        snapshot = self._snapshot
        objects: list[Any] = [None] * len(sought)
        column = Objects(snapshot, sought)
        class_indices = column.class_indices
        # A class name that several loaders have is ambiguous.
        here, live = Counter(snapshot.classes.names), Counter(loaded.names)
        at = {name: place for place, name in enumerate(loaded.names)}
        names = snapshot.classes.names
        usable = [
            index
            for index in numpy.unique(class_indices).tolist()
            if here[names[index]] == live[names[index]] == 1
        ]
        chosen = numpy.flatnonzero(numpy.isin(class_indices, usable))
        if not len(chosen):
            return objects, 0.0
        numbers = numpy.searchsorted(usable, class_indices[chosen])
        ordinals = self._ordinals(sought[chosen], class_indices[chosen])
        order = numpy.lexsort((ordinals, numbers))
        found, pause = self._heap._find_objects(
            [loaded.handles[at[names[index]]] for index in usable],
            numbers[order] + 1,
            ordinals[order],
            # Class and length suffice, and a dump lacks the sizes of some classes.
            numpy.full(len(chosen), -1),
            column.lengths[chosen][order],
            timeout,
            began,
            progress,
        )
        for place, one in zip(chosen[order].tolist(), found, strict=True):
            objects[place] = one
        return objects, pause

    def _ordinals(self, rows: Any, classes: Any) -> Any:
        """The position of each object among those of its class, in the order of the heap."""
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
