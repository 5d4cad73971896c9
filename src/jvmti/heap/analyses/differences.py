"""Differences between two snapshots of the same VM."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy

from jvmti.heap.analyses.owners import is_container
from jvmti.heap.analyses.places import places_below
from jvmti.heap.reference_names import reference_names
from jvmti.interface.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jvmti.heap.dominators import DominatorTree
    from jvmti.heap.library import Indices
    from jvmti.heap.snapshot import Snapshot

__all__ = ["Growth", "growth", "grown", "path_growth"]


@frozen
class Growth:
    """One class, or one path from the roots, in both snapshots.

    Attributes:
        name: the class, or the path: names of classes and fields.
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
    """Growth by class, most bytes first, without unchanged classes.

    Classes of the same name count as one, because loaders have no lasting names.
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
    before: Snapshot, after: Snapshot, *, depth: int = 6, threshold: int = 1024, width: int = 20
) -> list[Growth]:
    """Growth by place in the dominator tree, most bytes first.

    A place is the classes and fields on the path down to it; objects of one class that one field of
    a place's objects leads to form one place, and so do those of its arrays. So all entries of a
    collection are one place. If no field of the owner itself leads to an object, only the class is
    named.

    Args:
        before: the earlier snapshot.
        after: the later one.
        depth: levels to look at.
        threshold: the least growth of a place, in bytes.
        width: how many places below one to follow, the largest first.
    """
    old, new = _places(before, depth, width), _places(after, depth, width)
    found = [
        one
        for name in new
        if (one := _growth_of(name, old.get(name), new[name])).bytes >= threshold
    ]
    return sorted(found, key=lambda one: (-one.bytes, one.name))


def grown(
    before: Snapshot, after: Snapshot, *, depth: int = 9, threshold: int = 1024, width: int = 20
) -> list[Growth]:
    """Accumulations and their places, most bytes first: each growth once.

    Of the places of `path_growth`, on each path down from the roots, it is the first with more
    objects than before that is not a collection or array; if there is none, the last that has most
    of the growth.

    Args:
        before: the earlier snapshot.
        after: the later one.
        depth: levels to look at.
        threshold: the least growth of a place, in bytes.
        width: how many places below one to follow, the largest first.
    """
    old, new = _places(before, depth, width), _places(after, depth, width)
    growths = {name: _growth_of(name, old.get(name), place) for name, place in new.items()}
    below: dict[str, list[str]] = {}
    for name, place in new.items():
        if growths[name].bytes >= threshold:
            below.setdefault(place.above, []).append(name)
    found: list[Growth] = []
    waiting = below.get("", [])[:]
    while waiting:
        name = waiting.pop()
        one, place = growths[name], new[name]
        further = [each for each in below.get(name, []) if growths[each].bytes * 10 >= one.bytes]
        is_end = one.count > 0 and not place.is_class and not is_container(place.class_name)
        if is_end or 2 * sum(growths[each].bytes for each in further) < one.bytes:
            found.append(one)
        else:
            waiting += further
    return sorted(found, key=lambda one: (-one.bytes, one.name))


class _Place(NamedTuple):
    """Objects of one class at one place, and the bytes that they retain."""

    number: int
    size: int
    above: str
    class_name: str
    is_class: bool


def _growth_of(name: str, old: _Place | None, new: _Place) -> Growth:
    count, size = (0, 0) if old is None else (old.number, old.size)
    return Growth(name, new.number - count, new.size - size, new.number, new.size)


def _places(snapshot: Snapshot, depth: int, width: int) -> dict[str, _Place]:
    """Objects and retained bytes of each place."""
    tree = snapshot.dominators()
    found: dict[str, _Place] = {}
    waiting: list[tuple[str, Indices | None, int]] = [("", None, 0)]
    while waiting:
        name, owners, level = waiting.pop()
        for one in places_below(snapshot, tree, owners, width):
            for step, members in _by_field(snapshot, tree, name, one.members):
                place = f"{step}{one.name}"
                size = int(tree.retained[members].sum())
                found[place] = _Place(len(members), size, name, one.class_name, one.is_class)
                if level + 1 < depth:
                    waiting.append((place, members, level + 1))
    return found


def _by_field(
    snapshot: Snapshot, tree: DominatorTree, name: str, members: Indices
) -> Iterator[tuple[str, Indices]]:
    """Objects below one place by the reference that leads to them: the place's name with it, and
    the objects."""
    if not name:
        yield "", members
        return
    names = reference_names(snapshot, tree.idom[members], members, elements=False)
    labels, group = numpy.unique(numpy.array(names), return_inverse=True)
    for at, label in enumerate(labels.tolist()):
        field = label.removeprefix("static ")
        step = name if field == "?" else f"{name}.{field}"
        yield f"{step} → ", members[group == at]
