"""Finds the live objects behind those of a snapshot by following reference paths.

The search starts at classes and threads and reads fields and elements, in a few messages for each
step.  It works for any heap size, even if a collector has moved objects.  The program runs
meanwhile; a changed class or length reveals an object that it has replaced on the path.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import NDArray

from jvmti.heap.classes import OBJECT
from jvmti.heap.library import EXTENT_CLASS, FINAL, NONE, PHANTOM, SOFT, WEAK, Indices, Ways
from jvmti.interface.errors import Error
from jvmti.wire.columns import HandleColumn

if TYPE_CHECKING:
    from jvmti.heap.snapshot import Snapshot
    from jvmti.liveheap.loaders import LoadedClasses
    from jvmti.liveheap.passes import Progress
    from jvmti.liveheap.running_vm import RunningVM

__all__ = ["PathLookup"]

_DEEPEST = 100
"""Paths with more steps are left to a heap walk, which is faster then."""
_PART = 20_000
"""Objects to search for together."""
_THREAD = 0x08
_NOT_STRONG = WEAK | SOFT | PHANTOM | FINAL

Handles = NDArray[numpy.uint64]


class PathLookup:
    """Follows the paths of a snapshot in the VM.

    Args:
        vm: the VM.
        snapshot: its snapshot.
    """

    def __init__(self, vm: RunningVM, snapshot: Snapshot) -> None:
        self._vm = vm
        self._snapshot = snapshot
        self._ways: Ways | None = None

    def find(
        self,
        wanted: Indices,
        loaded: LoadedClasses,
        until: float | None = None,
        progress: Progress | None = None,
    ) -> list[Any]:
        """The live objects behind some of the snapshot, ``None`` for those it cannot find.

        Args:
            wanted: the numbers of objects, in ascending order, each once.
            loaded: the classes that are loaded now.
            until: the time by the monotonic clock to stop the search.
            progress: receives how many it has found.
        """
        if self._ways is None:
            self._ways = Ways(self._snapshot._dump, _NOT_STRONG, self._roots())
        steps = _Steps(self._vm, self._snapshot, loaded, self._ways)
        found: list[Any] = []
        # In parts, so that handles of all objects on the paths never exist at once.
        for begin in range(0, len(wanted), _PART):
            if until is not None and time.monotonic() > until:
                break
            if begin and progress is not None:
                progress(sum(one is not None for one in found))
            found += steps.find(wanted[begin : begin + _PART])
        return found + [None] * (len(wanted) - len(found))

    def _roots(self) -> Indices:
        """Objects to start from in the VM: classes and threads, not locals of stacks and JNI."""
        snapshot = self._snapshot
        classes = snapshot._dump.classes["object"]
        roots = snapshot._dump.roots
        threads = roots["object"][roots["kind"] == _THREAD]
        return numpy.concatenate([classes[classes != NONE], threads]).astype(numpy.uint32)


class _Steps:
    """One search, step by step."""

    def __init__(
        self, vm: RunningVM, snapshot: Snapshot, loaded: LoadedClasses, ways: Ways
    ) -> None:
        self._vm = vm
        self._snapshot = snapshot
        self._dump = snapshot._dump
        self._loaded = loaded
        self._ways = ways
        self._columns: list[HandleColumn] = []
        self._fields: dict[str, dict[str, int]] = {}
        self._threads: dict[int, Any] = {}
        # A class name is ambiguous if several loaders have it.
        here, there = Counter(snapshot.classes.names), Counter(loaded.names)
        self._places = {
            name: place
            for place, name in enumerate(loaded.names)
            if name is not None and there[name] == here[name] == 1
        }
        #: For each class of the snapshot the handle of that in the VM, 0 for none.
        self._classes: Handles = numpy.array(
            [
                loaded.handles.array[self._places[name]] if name in self._places else 0
                for name in snapshot.classes.names
            ],
            numpy.uint64,
        )

    def find(self, wanted: Indices) -> list[Any]:
        nodes, parents, chosen = self._ways.merged(wanted)
        found: list[Any] = [None] * len(wanted)
        handles = numpy.zeros(len(nodes), numpy.uint64)
        roots = int(numpy.count_nonzero(parents == NONE))
        kept = numpy.zeros(0, numpy.uint64)
        try:
            handles[:roots] = self._named(nodes[:roots])
            begin, end = 0, roots
            for _ in range(_DEEPEST):
                # Parents are in order, so the children of one step are together.
                begin, end = end, roots + int(numpy.searchsorted(parents[roots:], end))
                if begin == end:
                    break
                above = parents[begin:end]
                handles[begin:end] = self._step(nodes[above], nodes[begin:end], handles[above])
            there = numpy.flatnonzero(chosen & (handles != 0))
            named, there = there[there < roots], there[there >= roots]
            places = numpy.searchsorted(wanted, nodes[named])
            for place, node in zip(places.tolist(), nodes[named].tolist(), strict=True):
                found[place] = self._threads.get(node)
            kept = handles[there]
            column = HandleColumn(self._vm._session, kept)
            places = numpy.searchsorted(wanted, nodes[there])
            for at, place in enumerate(places.tolist()):
                found[place] = column[at]
        finally:
            for one in self._columns:
                one.array = one.array[~numpy.isin(one.array, kept)]
                one.release()
            self._columns.clear()
        return found

    def _named(self, roots: Indices) -> Handles:
        """The classes and threads at the beginning of paths."""
        extent = self._dump.extent[roots]
        is_class = (extent & EXTENT_CLASS) != 0
        found = numpy.zeros(len(roots), numpy.uint64)
        found[is_class] = self._classes[extent[is_class] & ~numpy.uint32(EXTENT_CLASS)]
        threads = numpy.flatnonzero(~is_class)
        number = self._field_numbers("java.lang.Thread").get("tid", 0)
        if len(threads) and number:
            live = self._vm.env.get_all_threads()
            numbers = self._vm.map.get_long_field(live, numpy.full(len(live), number, "<u8"))
            by_number = dict(zip(numbers.listed(), live, strict=True))
            column = self._snapshot.column(roots[threads].tolist())
            for at, index, tid in zip(
                threads.tolist(), roots[threads].tolist(), column["tid"].tolist(), strict=True
            ):
                if tid in by_number:
                    self._threads[index] = by_number[tid]
                    found[at] = by_number[tid]._handle
        return found

    def _step(self, sources: Indices, targets: Indices, receivers: Handles) -> Handles:
        """Follow one reference each: read the snapshot's targets from live objects.

        Args:
            sources: objects of the snapshot.
            targets: an object for each that it refers to.
            receivers: the handle of the live object of each source; 0 for none.
        """
        dump = self._dump
        found = numpy.zeros(len(targets), numpy.uint64)
        open_ = (receivers != 0) & ((dump.extent[targets] & EXTENT_CLASS) == 0)
        is_class = (dump.extent[sources] & EXTENT_CLASS) != 0
        is_array = (dump.classes["element"][dump.class_of[sources]] != 0) & ~is_class
        rows = numpy.flatnonzero(open_ & is_class)
        loads, fields = self._static_fields(sources[rows], targets[rows])
        self._read("get_static_object_field", found, rows, receivers, fields)
        own = rows[loads]
        if len(own):
            self._take(found, own, self._vm.env.map.get_class_loader(receivers[own]))
        rows = numpy.flatnonzero(open_ & is_array)
        places = self._element_places(sources[rows], targets[rows])
        own = rows[places >= 0]
        if len(own):
            places = places[places >= 0]
            self._take(found, own, self._vm.map.get_object_array_element(receivers[own], places))
        rows = numpy.flatnonzero(open_ & ~is_array & ~is_class)
        fields = self._instance_fields(sources[rows], targets[rows])
        self._read("get_object_field", found, rows, receivers, fields)
        found[~self._alike(found, targets)] = 0
        return found

    def _read(
        self, function: str, found: Handles, rows: Any, receivers: Handles, fields: Handles
    ) -> None:
        rows, fields = rows[fields != 0], fields[fields != 0]
        if len(rows):
            self._take(found, rows, getattr(self._vm.map, function)(receivers[rows], fields))

    def _take(self, found: Handles, rows: Any, columns: Any) -> None:
        """Keep the result of a request; failed rows are null."""
        self._columns.append(columns.value)
        found[rows] = columns.value.array

    def _alike(self, found: Handles, targets: Indices) -> NDArray[numpy.bool_]:
        """Which live objects still have the class and the length from the snapshot."""
        alike = numpy.zeros(len(found), numpy.bool_)
        dump = self._dump
        wanted = self._classes[dump.class_of[targets]]
        rows = numpy.flatnonzero((found != 0) & (wanted != 0))
        if not len(rows):
            return alike
        classes = self._vm.map.get_object_class(found[rows]).value
        alike[rows] = self._vm.map.is_same_object(classes, wanted[rows]).value != 0
        classes.release()
        rows = rows[alike[rows] & (dump.classes["element"][dump.class_of[targets[rows]]] != 0)]
        if len(rows):
            lengths = self._vm.map.get_array_length(found[rows]).value
            alike[rows] = lengths == dump.extent[targets[rows]]
        return alike

    # ---- which field or element it is -----------------------------------------------------

    def _field_numbers(self, name: str) -> dict[str, int]:
        """The handles of the fields that a class declares, by name."""
        known = self._fields.get(name)
        if known is None:
            known = self._fields[name] = {}
            if name in self._places:
                env = self._vm.env
                cls = self._loaded.handles[self._places[name]]
                try:
                    fields = list(env.get_class_fields(cls))
                except Error:
                    fields = []  # the class is not linked yet, or unloaded
                if fields:
                    names = env.map.get_field_name(cls, fields).check().name
                    counts = Counter(names)
                    known |= {
                        one: field._handle
                        for one, field in zip(names, fields, strict=True)
                        if counts[one] == 1
                    }
        return known

    def _static_fields(self, classes: Indices, targets: Indices) -> tuple[Any, Handles]:
        """The static field of each class that refers to its target; or that its loader does."""
        found = numpy.zeros(len(classes), numpy.uint64)
        loads = numpy.zeros(len(classes), numpy.bool_)
        for source in numpy.unique(classes).tolist():
            cls = self._snapshot.classes.by_index(int(self._dump.extent[source]) & ~EXTENT_CLASS)
            rows = numpy.flatnonzero(classes == source)
            fields = [one for one in cls.fields if one.static and one.type_code == OBJECT]
            bits = numpy.array([one.value_bits for one in fields], numpy.uint64)
            holds = dict(zip(self._dump.find(bits).tolist(), fields, strict=True))
            numbers = self._field_numbers(cls.name)
            for row in rows.tolist():
                target = int(targets[row])
                if target in holds:
                    found[row] = numbers.get(holds[target].name, 0)
                else:
                    loads[row] = cls.loader is not None and cls.loader.index == target
        return loads, found

    def _instance_fields(self, sources: Indices, targets: Indices) -> Handles:
        """The field of each source that refers to its target, 0 if none does."""
        found = numpy.zeros(len(sources), numpy.uint64)
        classes = self._dump.class_of[sources]
        for index in numpy.unique(classes).tolist():
            rows = numpy.flatnonzero(classes == index)
            offsets = numpy.full(len(self._dump.classes), -1, numpy.int64)
            for field, offset in self._snapshot.classes.by_index(index).fields_at():
                if field.type_code != OBJECT or not len(rows):
                    continue
                offsets[index] = offset
                own = numpy.ascontiguousarray(sources[rows])
                holds = self._dump.read_fields(own, offsets, None) == targets[rows]
                numbers = self._field_numbers(field.declaring_class.name)
                found[rows[holds]] = numbers.get(field.name, 0)
                rows = rows[~holds]
        return found

    def _element_places(self, arrays: Indices, targets: Indices) -> NDArray[numpy.int64]:
        """The index of each target in its array, -1 if absent."""
        found = numpy.full(len(arrays), -1, numpy.int64)
        if not len(arrays):
            return found
        sought = numpy.zeros(len(self._dump.class_of) + 1, numpy.bool_)
        sought[targets] = True
        order = numpy.argsort(arrays, kind="stable")
        distinct, starts = numpy.unique(arrays[order], return_index=True)
        ends = numpy.append(starts[1:], len(order))
        for array, start, end in zip(
            distinct.tolist(), starts.tolist(), ends.tolist(), strict=True
        ):
            elements = self._dump.read_elements(array, int(self._dump.extent[array]))
            # NONE, for null, is beyond all objects.
            at = numpy.flatnonzero(sought[numpy.minimum(elements, len(sought) - 1)])
            where = dict(zip(elements[at].tolist(), at.tolist(), strict=True))
            for row in order[start:end].tolist():
                found[row] = where.get(int(targets[row]), -1)
        return found
