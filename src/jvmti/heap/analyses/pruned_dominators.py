"""The dominator tree without its small branches, for reports."""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy

if TYPE_CHECKING:
    from jvmti.heap.objects import Object
    from jvmti.heap.snapshot import Snapshot

__all__ = ["Branch", "pruned_dominator_tree"]

_FEW = 3
"""Children to show even if they are small."""


@dataclass
class Branch:
    """An object with the largest of its children in the dominator tree.

    Attributes:
        object: the object; ``None`` for the virtual root.
        retained: bytes that it retains.
        children: how many objects it dominates directly.
        branches: the largest of these.
        others: how many children are left out.
        others_class: the most frequent class of these.
        others_of_class: how many of them are of that class.
        others_retained: bytes that they retain.
    """

    object: Object | None
    retained: int
    children: int = 0
    branches: list[Branch] = field(default_factory=list)
    others: int = 0
    others_class: str = ""
    others_of_class: int = 0
    others_retained: int = 0


def pruned_dominator_tree(
    snapshot: Snapshot,
    *,
    limit: int = 2000,
    width: int = 40,
    depth: int = 60,
    threshold: float = 0.0001,
) -> Branch:
    """The dominator tree without its small branches.

    It expands the largest object first, so the result has the largest objects of the heap.

    Args:
        snapshot: the heap.
        limit: the maximum number of objects, about.
        width: the maximum number of children of one object.
        depth: the maximum number of levels.
        threshold: the smallest child, as a fraction of the heap; the three largest always count.
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
        listed = min(len(children), width, large) if made < limit and level < depth else 0
        for obj, size in zip(children[:listed], retained[:listed].tolist(), strict=True):
            assert obj is not None
            branch.branches.append(Branch(obj, size))
            heapq.heappush(opened, (-size, next(numbers), level + 1, branch.branches[-1]))
        made += listed
        branch.others = len(children) - listed
        branch.others_retained = int(retained[listed:].sum())
        if branch.others:
            counts = numpy.bincount(children[listed:].class_indices)
            branch.others_class = snapshot.classes.names[int(counts.argmax())]
            branch.others_of_class = int(counts.max())
    return top
