"""The upper part of the dominator tree: the objects that retain most, as many as can be shown."""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy

if TYPE_CHECKING:
    from jvmti.heap.objects import Object
    from jvmti.heap.snapshot import Snapshot

__all__ = ["Branch", "outline"]

_FEW = 3
"""Children that are given even if they are small."""


@dataclass
class Branch:
    """An object with the largest of those that it dominates directly.

    Attributes:
        object: the object; ``None`` for the root above all.
        retained: bytes that it retains.
        children: how many it dominates directly.
        branches: the largest of them.
        others: how many there are besides.
        others_class: the class of most of these.
        others_of_class: how many are of that.
        others_retained: bytes that those retain.
    """

    object: Object | None
    retained: int
    children: int = 0
    branches: list[Branch] = field(default_factory=list)
    others: int = 0
    others_class: str = ""
    others_of_class: int = 0
    others_retained: int = 0


def outline(
    snapshot: Snapshot,
    *,
    limit: int = 2000,
    width: int = 40,
    depth: int = 60,
    threshold: float = 0.0001,
) -> Branch:
    """The dominator tree, cut where it becomes small.

    What is unfolded next is always what retains most, so that the objects given are the largest.

    Args:
        snapshot: whose tree.
        limit: the most objects, about.
        width: the most children of one.
        depth: the most levels.
        threshold: the part of the heap that a child retains, unless it is one of the three largest.
    """
    tree = snapshot.dominators()
    top = Branch(None, tree.total)
    numbers = itertools.count()
    opened = [(-top.retained, next(numbers), 0, top)]
    made = 0
    while opened:
        _, _, level, branch = heapq.heappop(opened)
        children = tree.children(branch.object)
        branch.children = len(children)
        retained = children.retained
        large = max(_FEW, int(numpy.count_nonzero(retained >= threshold * tree.total)))
        shown = min(len(children), width, large) if made < limit and level < depth else 0
        for obj, size in zip(children[:shown], retained[:shown].tolist(), strict=True):
            assert obj is not None
            branch.branches.append(Branch(obj, size))
            heapq.heappush(opened, (-size, next(numbers), level + 1, branch.branches[-1]))
        made += shown
        branch.others = len(children) - shown
        branch.others_retained = int(retained[shown:].sum())
        if branch.others:
            counts = numpy.bincount(children[shown:].class_indices)
            branch.others_class = snapshot.classes.names[int(counts.argmax())]
            branch.others_of_class = int(counts.max())
    return top
