"""Duplicates in a heap: strings, and arrays of primitive types."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy

from jvmti.heap.library import NONE, Sizes
from jvmti.heap.objects import Objects
from jvmti.heap.strings import STRING, string_arrays
from jvmti.text.printable import escaped
from jvmti.text.quantities import quantity

if TYPE_CHECKING:
    from jvmti.heap.snapshot import Snapshot

__all__ = ["Duplicates", "duplicate_arrays", "duplicate_strings"]


class Duplicates(NamedTuple):
    """Objects with the same content.

    Attributes:
        objects: all of them.
        wasted: bytes that a single copy would save.
    """

    objects: Objects
    wasted: int

    @property
    def text(self) -> str | None:
        """Their text, if they are strings."""
        return self.objects[:1].strings()[0]

    @escaped
    def __repr__(self) -> str:
        return (
            f"<{len(self.objects):,} times {self.objects[0]!r}, "
            f"{quantity(self.wasted, 'byte')} wasted>"
        )


def duplicate_strings(snapshot: Snapshot, *, limit: int = 100) -> list[Duplicates]:
    """Strings with the same text, those that waste most first.

    Strings that share one array waste only themselves.
    """
    if STRING not in snapshot.classes.names:
        return []
    strings = snapshot.objects(STRING)
    arrays, coders = string_arrays(snapshot, strings.indices)
    present = arrays != NONE
    strings, arrays, coders = strings[present], arrays[present], coders[present]
    # The same bytes are another text with another coder.
    keys = snapshot._dump.hash_arrays(arrays) ^ coders.astype(numpy.uint64)
    return _groups(strings, Objects(snapshot, arrays), keys, limit)


def duplicate_arrays(
    snapshot: Snapshot, *, min_bytes: int = 0, strings: bool = False, limit: int = 100
) -> list[Duplicates]:
    """Arrays of primitive types with the same content, those that waste most first.

    Args:
        snapshot: where to look.
        min_bytes: bytes that an array takes at least.
        strings: whether to include those of strings.
        limit: the most results.
    """
    primitive = numpy.flatnonzero(snapshot._dump.classes["element"] > 2).tolist()
    arrays = snapshot._objects_of(primitive)
    arrays = arrays[arrays.sizes >= min_bytes]
    if not strings and STRING in snapshot.classes.names:
        behind, _ = string_arrays(snapshot, snapshot.objects(STRING).indices)
        mask = snapshot._mask(Objects(snapshot, behind))
        arrays = arrays[~mask[arrays.indices]]
    return _groups(arrays, None, snapshot._dump.hash_arrays(arrays.indices), limit)


def _groups(objects: Objects, arrays: Objects | None, keys: Sizes, limit: int) -> list[Duplicates]:
    if not len(objects):
        return []
    order = numpy.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = numpy.flatnonzero(numpy.append(True, ordered[1:] != ordered[:-1]))
    counts = numpy.diff(numpy.append(starts, len(ordered)))
    sizes = objects.sizes
    # Estimates by the first of each; exact figures only for the results.
    alone = sizes[order[starts]] + (0 if arrays is None else arrays.sizes[order[starts]])
    waste = (counts - 1).astype(numpy.uint64) * alone
    best = numpy.argsort(waste)[::-1][: 2 * limit]
    found = []
    for at in best.tolist():
        if counts[at] < 2:
            continue
        members = order[starts[at] : starts[at] + counts[at]]
        group = objects[members]
        total = int(sizes[members].sum()) - int(sizes[members[0]])
        if arrays is not None:
            distinct = arrays[members].unique().sizes
            total += int(distinct.sum()) - int(distinct[0])
        found.append(Duplicates(group, total))
    found.sort(key=lambda one: one.wasted, reverse=True)
    return found[:limit]
