"""The references from objects to others, for a whole column of pairs at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from jvmti.heap.classes import OBJECT
from jvmti.heap.library import CLASS_EDGE, EXTENT_CLASS, Indices

if TYPE_CHECKING:
    from jvmti.heap.snapshot import Snapshot

__all__ = ["reference_names"]


def reference_names(
    snapshot: Snapshot, sources: Indices, targets: Indices, *, elements: bool = True
) -> list[str]:
    """The reference from each source to its target; see `Snapshot.reference_name`.

    Reads the fields of objects of one class together, so that a million pairs take as long as a few
    thousand one by one.

    Args:
        snapshot: whose objects they are.
        sources: numbers of the objects that refer.
        targets: numbers of the referred objects, as many.
        elements: whether to find the indices in arrays, array by array; ``"?"`` otherwise.
    """
    dump = snapshot._dump
    names = ["?"] * len(sources)
    classes = dump.class_of[sources]
    is_class = (dump.extent[sources] & EXTENT_CLASS) != 0
    is_array = (dump.classes["element"][classes] != 0) & ~is_class
    alone = is_class | is_array if elements else is_class
    for row in numpy.flatnonzero(alone).tolist():
        source, target = snapshot._object(int(sources[row])), snapshot._object(int(targets[row]))
        assert source is not None
        assert target is not None
        names[row] = snapshot.reference_name(source, target)
    plain = numpy.flatnonzero(~(is_class | is_array))
    kinds = classes[plain]
    for kind in numpy.unique(kinds).tolist():
        rows = plain[kinds == kind]
        for name, hits in _fields(snapshot, kind, sources[rows], targets[rows]):
            for row in rows[hits].tolist():
                names[row] = name if names[row] == "?" else f"{names[row]}, {name}"
    return names


def _fields(snapshot: Snapshot, index: int, sources: Indices, targets: Indices) -> Any:
    """For each reference of the objects of a class, its name and the rows in which it matches."""
    dump = snapshot._dump
    cls = snapshot.classes.by_index(index)
    if cls.object is not None and int(dump.classes["flags"][index]) & CLASS_EDGE:
        yield "<class>", targets == cls.object.index
    sources = numpy.ascontiguousarray(sources)
    offsets = numpy.full(len(dump.classes), -1, numpy.int64)
    for field, offset in cls.fields_at():
        if field.type_code == OBJECT:
            offsets[index] = offset
            yield field.name, dump.read_fields(sources, offsets, None) == targets
