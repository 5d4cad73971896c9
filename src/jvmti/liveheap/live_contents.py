"""Whether live objects still have the contents of a snapshot.

Texts, elements of primitive arrays and primitive fields are read as columns: a message for each
type and each few megabytes, for any number of objects.  No Java code runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import NDArray

from jvmti.heap.classes import OBJECT, TYPES
from jvmti.heap.library import NONE, Indices
from jvmti.heap.strings import string_arrays
from jvmti.wire.columns import HandleColumn

if TYPE_CHECKING:
    from jvmti.heap.snapshot import Snapshot
    from jvmti.liveheap.running_vm import RunningVM

__all__ = ["unchanged"]

_PART = 8 << 20
"""Bytes of contents in one message, or up to twice as many."""
_FIELDS = 100_000
"""Fields that one message reads."""
_LETTERS = dict(zip(TYPES, "ZCFDBSIJ", strict=True))
_BYTE, _CHAR = 8, 5

Handles = NDArray[numpy.uint64]
Mask = NDArray[numpy.bool_]
Numbers = NDArray[numpy.int64]


def unchanged(vm: RunningVM, snapshot: Snapshot, rows: Indices, handles: Handles) -> Mask:
    """Which live objects have the contents of a snapshot's.

    Strings are compared by their text, not by their fields, because the hash is computed lazily.

    Args:
        vm: the VM of the live objects.
        snapshot: its snapshot.
        rows: the numbers of objects of the snapshot.
        handles: for each a live object of the same class and, for an array, the same length.
    """
    return _Contents(vm, snapshot, rows, handles).compared()


class _Contents:
    def __init__(self, vm: RunningVM, snapshot: Snapshot, rows: Indices, handles: Handles) -> None:
        self._vm = vm
        self._snapshot = snapshot
        self._dump = snapshot._dump
        self._rows = rows
        self._handles = handles
        self._same: Mask = numpy.ones(len(rows), numpy.bool_)

    def compared(self) -> Mask:
        values, coders = string_arrays(self._snapshot, self._rows)
        elements = self._dump.classes["element"][self._dump.class_of[self._rows]]
        self._strings(values, coders)
        for kind, (name, dtype) in TYPES.items():
            at = numpy.flatnonzero(elements == kind)
            if len(at):
                read = getattr(self._vm.map, f"get_{name}_array_region")
                saved = dtype.newbyteorder(">")
                self._regions(read, at, self._rows[at], self._lengths(at), saved, dtype)
        self._fields(numpy.flatnonzero((elements == 0) & (values == NONE)))
        return self._same

    # ---- strings and arrays ----------------------------------------------------------------

    def _lengths(self, at: Any) -> Numbers:
        lengths: Numbers = self._dump.extent[self._rows[at]].astype(numpy.int64)
        return lengths

    def _strings(self, values: Indices, coders: NDArray[numpy.uint8]) -> None:
        at = numpy.flatnonzero(values != NONE)
        if not len(at):
            return
        arrays, wide = values[at], coders[at] != 0
        kinds = self._dump.classes["element"][self._dump.class_of[arrays]]
        lengths = self._dump.extent[arrays].astype(numpy.int64)
        lengths[wide] //= 2
        live = self._vm.map.get_string_length(self._handles[at])
        alike = (live.status == 0) & (live.value == lengths)
        self._same[at[~alike]] = False
        read = self._vm.map.get_string_region
        unit = numpy.dtype("<u2")
        # Bytes are in the VM's byte order, characters in that of the file.
        for chosen, saved in (
            ((kinds == _BYTE) & ~wide, "u1"),
            ((kinds == _BYTE) & wide, "<u2"),
            (kinds == _CHAR, ">u2"),
        ):
            own = alike & chosen
            self._regions(read, at[own], arrays[own], lengths[own], numpy.dtype(saved), unit)

    def _regions(
        self,
        read: Callable[..., Any],
        at: Any,
        arrays: Indices,
        lengths: Numbers,
        saved: numpy.dtype[Any],
        live: numpy.dtype[Any],
    ) -> None:
        """Compare values read from live objects with arrays of the snapshot."""
        for which, start, count in _parts(lengths, _PART // live.itemsize):
            found = read(self._handles[at[which]], start, count)
            good = (found.status == 0) & (found.value.lengths == count * live.itemsize)
            self._same[at[which[~good]]] = False
            which, start, count = which[good], start[good], count[good]
            if not len(which):
                continue
            wanted = self._snapshot._elements(saved, arrays[which], count, start)
            differ = ~_equal(numpy.frombuffer(found.value.data, live), wanted)
            begins = numpy.cumsum(count) - count
            self._same[at[which[numpy.logical_or.reduceat(differ, begins)]]] = False

    # ---- fields ----------------------------------------------------------------------------

    def _fields(self, at: Any) -> None:
        """Compare the primitive fields of objects, all of one type together."""
        classes = self._dump.class_of[self._rows[at]]
        members = {
            index: at[classes == index]
            for index in numpy.unique(classes).tolist()
            if any(one.type_code != OBJECT for one in self._class(index).all_fields)
        }
        numbers = self._field_numbers({index: int(own[0]) for index, own in members.items()})
        wanted: dict[int, list[tuple[Any, Handles, Any]]] = {}
        for index, own in members.items():
            objects = numpy.ascontiguousarray(self._rows[own])
            offsets = numpy.full(len(self._dump.classes), -1, numpy.int64)
            for field, offset in self._class(index).fields_at():
                kind = field.type_code
                if kind == OBJECT:
                    continue
                number = numbers.get((field.declaring_class.index, field.name, _LETTERS[kind]), 0)
                if not number:  # the class has been changed
                    self._same[own] = False
                    continue
                offsets[index] = offset
                values = self._dump.read_fields(objects, offsets, TYPES[kind][1])
                same_field = numpy.full(len(own), number, numpy.uint64)
                wanted.setdefault(kind, []).append((own, same_field, values))
        for kind, pieces in wanted.items():
            read = getattr(self._vm.map, f"get_{TYPES[kind][0]}_field")
            places, fields, values = (numpy.concatenate(one) for one in zip(*pieces, strict=True))
            for begin in range(0, len(places), _FIELDS):
                part = slice(begin, begin + _FIELDS)
                found = read(self._handles[places[part]], fields[part])
                live = found.value.view(values.dtype)
                bad = (found.status != 0) | ~_equal(live, values[part])
                self._same[places[part][bad]] = False

    def _class(self, index: int) -> Any:
        return self._snapshot.classes.by_index(index)

    def _field_numbers(self, samples: dict[int, int]) -> dict[tuple[int, str, str], int]:
        """Handles of the fields of live classes: by class of the snapshot, name and type.

        Args:
            samples: for each class the position of one of its objects.
        """
        live: dict[int, int] = {}
        columns: list[HandleColumn] = []
        try:
            level = list(samples)
            objects = self._handles[list(samples.values())]
            found = self._vm.map.get_object_class(objects)
            while level:
                columns.append(found.value)
                live.update(zip(level, found.value.array.tolist(), strict=True))
                above = {}
                for index in level:
                    superclass = self._class(index).superclass
                    if superclass is not None and superclass.index not in live and live[index]:
                        above[superclass.index] = live[index]
                level = list(above)
                if level:
                    below = numpy.array(list(above.values()), numpy.uint64)
                    found = self._vm.map.get_superclass(below)
            return self._declared({index: handle for index, handle in live.items() if handle})
        finally:
            for column in columns:
                column.release()

    def _declared(self, live: dict[int, int]) -> dict[tuple[int, str, str], int]:
        indices = list(live)
        handles = numpy.array(list(live.values()), numpy.uint64)
        env = self._vm.env
        if not indices:
            return {}
        fields = env.map.get_class_fields(handles).value
        counts = numpy.maximum(fields.counts, 0)
        owners = numpy.repeat(numpy.arange(len(indices)), counts)
        if not len(owners):
            return {}
        numbers = fields.items.array
        named = env.map.get_field_name(handles[owners], numbers)
        return {
            (indices[owner], name, signature): number
            for owner, name, signature, number in zip(
                owners.tolist(), named.name, named.signature, numbers.tolist(), strict=True
            )
        }


def _parts(lengths: Numbers, most: int) -> Iterator[tuple[Any, Numbers, Numbers]]:
    """Regions of arrays, grouped by message: array, start, length.

    Args:
        lengths: of the arrays.
        most: items of a region, and of a message without its last region.
    """
    pieces = -(-lengths // most)
    which = numpy.repeat(numpy.arange(len(lengths)), pieces)
    before = numpy.cumsum(pieces) - pieces
    start = (numpy.arange(len(which)) - before[which]) * most
    count = numpy.minimum(lengths[which] - start, most)
    message = (numpy.cumsum(count) - count) // most
    for part in numpy.split(numpy.arange(len(which)), numpy.flatnonzero(numpy.diff(message)) + 1):
        if len(part):
            yield which[part], start[part], count[part]


def _equal(live: NDArray[Any], saved: NDArray[Any]) -> Mask:
    """Which values are equal; a dump does not keep the kind of a NaN."""
    if live.dtype.kind != "f":
        return numpy.asarray(live == saved)
    bits = live.dtype.str.replace("f", "u"), saved.dtype.str.replace("f", "u")
    same = live.view(bits[0]) == saved.view(bits[1])
    return numpy.asarray(same | (numpy.isnan(live) & numpy.isnan(saved)))
