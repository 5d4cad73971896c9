"""What is different between two snapshots of the same VM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy

from jvmti.heap.library import EXTENT_CLASS, Indices

if TYPE_CHECKING:
    from jvmti.heap.snapshot import Snapshot

__all__ = ["Growth", "growth", "path_growth"]


@dataclass(frozen=True)
class Growth:
    """One class, or one way from the roots, in both snapshots.

    Attributes:
        name: the class, or the way: names of classes and fields.
        count: objects more than before; less if negative.
        bytes: bytes more than before.
        count_after: objects now.
        bytes_after: bytes now.
    """

    name: str
    count: int
    bytes: int
    count_after: int
    bytes_after: int


def growth(before: Snapshot, after: Snapshot) -> list[Growth]:
    """What grew by class, most bytes first; classes that did not change are left out.

    Classes of the same name count as one, for loaders have no names that last.
    """
    sums: dict[str, list[int]] = {}
    for at, snapshot in enumerate((before, after)):
        for row in snapshot.histogram():
            entry = sums.setdefault(row.name, [0, 0, 0, 0])
            entry[2 * at] += row.count
            entry[2 * at + 1] += row.bytes
    found = [
        Growth(name, after_count - count, after_bytes - size, after_count, after_bytes)
        for name, (count, size, after_count, after_bytes) in sums.items()
        if (count, size) != (after_count, after_bytes)
    ]
    return sorted(found, key=lambda one: (-one.bytes, one.name))


def path_growth(
    before: Snapshot, after: Snapshot, *, depth: int = 6, least: int = 1024, width: int = 20
) -> list[Growth]:
    """What grew by the place in the dominator tree, most bytes first.

    A place is the classes on the way down to it; objects of one class under one place are taken
    together, so that the entries of a collection are one place, however many they are.

    Args:
        before: the earlier snapshot.
        after: the later one.
        depth: levels that are looked at.
        least: bytes that a place has grown by at least.
        width: places below one that are followed, the largest.
    """
    old, new = _places(before, depth, width), _places(after, depth, width)
    found = []
    for name, (count, size) in new.items():
        count_before, size_before = old.get(name, (0, 0))
        if size - size_before >= least:
            found.append(Growth(name, count - count_before, size - size_before, count, size))
    return sorted(found, key=lambda one: (-one.bytes, one.name))


def _places(snapshot: Snapshot, depth: int, width: int) -> dict[str, tuple[int, int]]:
    """Objects and retained bytes of each place."""
    tree = snapshot.dominators()
    dump = snapshot._dump
    classes = len(snapshot.classes)
    found: dict[str, tuple[int, int]] = {}
    top = numpy.array([len(tree.idom)], numpy.uint32)
    waiting: list[tuple[str, Indices, int]] = [("", top, 0)]
    while waiting:
        name, owners, level = waiting.pop()
        children = tree.children_of_all(owners)
        if not len(children):
            continue
        # A class object is a place of its own.
        extents = dump.extent[children]
        labels = numpy.where(
            extents & EXTENT_CLASS, classes + (extents & ~numpy.uint32(EXTENT_CLASS)),
            dump.class_of[children],
        )  # fmt: skip
        distinct, group = numpy.unique(labels, return_inverse=True)
        sizes = numpy.zeros(len(distinct), numpy.uint64)
        numpy.add.at(sizes, group, tree.retained[children])
        counts = numpy.bincount(group)
        for at in numpy.argsort(sizes)[::-1][:width].tolist():
            label = int(distinct[at])
            text = snapshot.classes.names[label % classes]
            if label >= classes:
                text = f"class {text}"
            place = f"{name} → {text}" if name else text
            found[place] = (int(counts[at]), int(sizes[at]))
            if level + 1 < depth:
                waiting.append((place, children[group == at], level + 1))
    return found
