"""A treemap of retained sizes: an area for each place in the dominator tree, inside of its
owner's.

The outermost areas are packages: those of the classes of objects that only roots hold.  Each byte
of the reachable heap is in one place at each level, so areas can be compared.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy

from jvmti.heap.analyses.places import Place, places_below
from jvmti.interface.frozen import frozen
from jvmti.text.names import package_of

if TYPE_CHECKING:
    from jvmti.heap.dominators import DominatorTree
    from jvmti.heap.snapshot import Snapshot

__all__ = ["Area", "Rectangle", "squarified", "treemap"]

_WIDTH = 200
"""Places of one kind below a place to look at."""
_DEEPEST = 10
"""Levels of areas inside of others."""
_LONGEST = 100
"""Levels to go down for one area."""
_NAMES = 7
"""The most places in the name of an area."""
_SINGLE = 0.95
"""From this share on, the name of the only large place below another follows it in one area."""


@dataclass
class Area:
    """One area, for a place or for some places that are too small.

    Attributes:
        name: the place; several, from the outside in, if one holds hardly more than the next.
        count: objects of the (last) place; the number of places if it stands for several small
            ones.
        retained: bytes.
        areas: those inside, the largest first; the rest is the place's own.
        is_rest: whether it stands for places that are too small.
    """

    name: str
    count: int
    retained: int
    areas: list[Area] = field(default_factory=list)
    is_rest: bool = False


def treemap(snapshot: Snapshot, *, threshold: float = 0.001, limit: int = 800) -> Area:
    """The whole heap as areas.

    Args:
        snapshot: the heap to show.
        threshold: the part of the heap below which places are merged.
        limit: the most areas.
    """
    tree = snapshot.dominators()
    threshold_bytes = max(1, int(threshold * tree.total))
    whole = Area("", len(snapshot), tree.total)
    packages: dict[str, Area] = {}
    opened: list[tuple[int, int, int, Area, Place]] = []
    numbers = itertools.count()
    every = places_below(snapshot, tree, None, len(snapshot.classes) * 2)
    for place in every:
        name = package_of(place.class_name)
        area = packages.setdefault(name, Area(name, 0, 0))
        area.count += len(place.members)
        area.retained += place.retained
        area.areas.append(_area(place))
        if place.retained >= threshold_bytes:
            heapq.heappush(opened, (-place.retained, next(numbers), 1, area.areas[-1], place))
    for area in packages.values():
        area.areas = _joined(area.areas, threshold_bytes)
    whole.areas = _joined(list(packages.values()), threshold_bytes)
    made = len(whole.areas) + len(opened)
    while opened and made < limit:
        _, _, level, area, place = heapq.heappop(opened)
        place, below = _followed(snapshot, tree, area, place)
        areas = [_area(one) for one in below]
        area.areas = _joined(areas, threshold_bytes)
        made += len(area.areas)
        for one, inner in zip(below, areas, strict=True):
            if one.retained >= threshold_bytes and level < _DEEPEST:
                heapq.heappush(opened, (-one.retained, next(numbers), level + 1, inner, one))
    return whole


def _area(place: Place) -> Area:
    count = len(place.members)
    return Area(f"{count:,} × {place.name}" if count > 1 else place.name, count, place.retained)


def _followed(
    snapshot: Snapshot, tree: DominatorTree, area: Area, place: Place
) -> tuple[Place, list[Place]]:
    """Go down while one place below has nearly everything."""
    names: list[str] = []
    for _ in range(_LONGEST):
        place, below = _below(snapshot, tree, place)
        names.append(_area(place).name)
        if not below or below[0].retained < _SINGLE * area.retained:
            break
        place = below[0]
    area.name = " → ".join(names[:_NAMES]) + (" → …" if len(names) > _NAMES else "")
    area.count = len(place.members)
    return place, below


def _below(snapshot: Snapshot, tree: DominatorTree, place: Place) -> tuple[Place, list[Place]]:
    """A place merged with those of its own kind below, such as links of a list; and the rest."""
    own = [place.members]
    found: dict[str, list[Place]] = {}
    layer = place.members
    for step in range(_LONGEST):
        below = places_below(snapshot, tree, layer, _WIDTH)
        layer = numpy.zeros(0, numpy.uint32)
        for one in below:
            if one.name == place.name and step + 1 < _LONGEST:
                layer = numpy.append(layer, one.members)
            else:
                found.setdefault(one.name, []).append(one)
        if not len(layer):
            break
        own.append(layer)
    merged = [
        same[0]._replace(
            members=numpy.concatenate([one.members for one in same]),
            retained=sum(one.retained for one in same),
        )
        for same in found.values()
    ]
    merged.sort(key=lambda one: -one.retained)
    return place._replace(members=numpy.concatenate(own)), merged


def _joined(areas: list[Area], threshold: int) -> list[Area]:
    """Those that are large enough, the largest first, and one for all others."""
    areas = sorted(areas, key=lambda area: -area.retained)
    large = [area for area in areas if area.retained >= threshold]
    small = areas[len(large) :]
    rest = sum(area.retained for area in small)
    if rest >= threshold:
        large.append(Area("others", len(small), rest, is_rest=True))
    return large


@frozen
class Rectangle:
    """The rectangle of an area, in the units of the available space."""

    left: float
    top: float
    width: float
    height: float


def squarified(sizes: Sequence[float], width: float, height: float) -> list[Rectangle]:
    """Divide a rectangle into parts in proportion to sizes, as square as possible.

    Args:
        sizes: positive numbers, preferably the largest first; their parts fill the rectangle.
        width: of the rectangle.
        height: of the rectangle.
    """
    made: list[Rectangle] = []
    left = top = 0.0
    total = float(sum(sizes))
    at = 0
    while at < len(sizes) and total > 0 and width > 0 and height > 0:
        # A row along the shorter side grows while that makes its worst part more square.
        side = min(width, height)
        scale = width * height / total
        count, worst = 1, _longest(sizes[at : at + 1], side, scale)
        while at + count < len(sizes):
            longer = _longest(sizes[at : at + count + 1], side, scale)
            if longer > worst:
                break
            count, worst = count + 1, longer
        row = sizes[at : at + count]
        thick = sum(row) * scale / side
        along = 0.0
        for size in row:
            length = size * scale / thick
            made.append(
                Rectangle(left, top + along, thick, length)
                if width >= height
                else Rectangle(left + along, top, length, thick)
            )
            along += length
        if width >= height:
            left, width = left + thick, width - thick
        else:
            top, height = top + thick, height - thick
        total -= sum(row)
        at += count
    return made


def _longest(row: Sequence[float], side: float, scale: float) -> float:
    """The aspect ratio of the worst rectangle in a row."""
    thick = sum(row) * scale / side
    lengths = [size * scale / thick for size in row]
    return max(max(thick / length, length / thick) for length in lengths)
