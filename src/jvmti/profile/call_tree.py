"""Stacks as one tree, and the methods on each stack: what all views of a profile count with.

Everything here is about the distinct stacks, and is computed once for all parts of a profile.  The
samples come in as one weight for each stack.
"""

from __future__ import annotations

from functools import cached_property

import numpy
from numpy.typing import NDArray

from jvmti.profile.tables import Frames, Stacks

__all__ = ["NO_STACK", "CallTree", "Columns", "added", "distinct", "sorted_rows"]

Column = NDArray[numpy.int32]

NO_STACK = "(no stack)"
"""The name of what has no stack, because it could not be walked."""


class CallTree:
    """A tree of nodes; parents come before their children, and node 0 is the root.

    Attributes:
        parent: the node above each node; that of the root is itself.
        name: the number of each node's method; -1 for the root.
        end: the node in which each stack ends.
        levels: where each level of the tree begins; the last number is that of all nodes.
    """

    def __init__(self, stacks: Stacks, code: Column, *, inverted: bool = False) -> None:
        """Merge the stacks from one end on.

        Args:
            stacks: the stacks.
            code: a number for each frame; frames of equal numbers merge.
            inverted: from the innermost frames on.
        """
        depth = stacks.depths
        # Stacks ordered by depth, so that those with a further frame are a slice.
        order = numpy.argsort(-depth, kind="stable")
        sorted_depth = depth[order]
        first = stacks.offsets[:-1][order] if inverted else stacks.offsets[1:][order] - 1
        step = 1 if inverted else -1
        names = code[stacks.frames]
        different = int(code.max()) + 1 if len(code) else 1
        at = numpy.zeros(len(order), numpy.int64)
        parents = [numpy.zeros(1, numpy.int64)]
        codes = [numpy.full(1, -1, numpy.int64)]
        self.levels = [0, 1]
        nodes = 1
        alive = len(order)
        for level in range(int(sorted_depth[0]) if len(order) else 0):
            alive = int(numpy.searchsorted(-sorted_depth[:alive], -level, "left"))
            key = at[:alive] * different + names[first[:alive] + step * level]
            found, at[:alive] = numpy.unique(key, return_inverse=True)
            at[:alive] += nodes
            parents.append(found // different)
            codes.append(found % different)
            nodes += len(found)
            self.levels.append(nodes)
        self.parent = numpy.concatenate(parents)
        self.name = numpy.concatenate(codes)
        self.end = numpy.empty(len(order), numpy.int64)
        self.end[order] = at

    def __len__(self) -> int:
        return len(self.parent)

    def counted(self, weights: NDArray[numpy.int64]) -> tuple[NDArray[numpy.int64], ...]:
        """The weight of each node with all below it, and its own.

        Args:
            weights: the weight of each stack.
        """
        own = added(self.end, weights, len(self))
        total = own.copy()
        for level in range(len(self.levels) - 2, 0, -1):
            begin, end = self.levels[level], self.levels[level + 1]
            above = self.parent[begin:end]  # ascends, because keys were sorted by parent
            firsts = numpy.flatnonzero(numpy.diff(above, prepend=-1))
            total[above[firsts]] += numpy.add.reduceat(total[begin:end], firsts)
        return total, own


class Columns:
    """The methods of a profile, and the stacks that they are on.

    Attributes:
        stacks: the stacks.
        frames: the frames.
    """

    def __init__(self, stacks: Stacks, frames: Frames) -> None:
        self.stacks = stacks
        self.frames = frames

    @cached_property
    def _methods(self) -> tuple[Column, list[str]]:
        return distinct(self.frames.names())

    @property
    def method(self) -> Column:
        """The number of each frame's method; lines and overloads are the same method."""
        return self._methods[0]

    @property
    def names(self) -> list[str]:
        """``class.method`` of each method."""
        return self._methods[1]

    @cached_property
    def tree(self) -> CallTree:
        """The stacks merged from their outermost frames on."""
        return CallTree(self.stacks, self.method)

    @cached_property
    def inverted(self) -> CallTree:
        """The stacks merged from their innermost frames on."""
        return CallTree(self.stacks, self.method, inverted=True)

    def on_stacks(self, code: Column) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64]]:
        """Each number with each stack that has it, once: stacks and numbers as two columns.

        Args:
            code: a number for each frame.
        """
        different = int(code.max()) + 1 if len(code) else 1
        stack = numpy.repeat(numpy.arange(len(self.stacks)), self.stacks.depths)
        pairs = stack * different + code[self.stacks.frames]
        # NumPy's own function for this takes 60 times as long where most are different.
        pairs.sort()
        pairs = pairs[numpy.diff(pairs, prepend=-1) != 0]
        return pairs // different, pairs % different

    @cached_property
    def methods_on_stacks(self) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64]]:
        """Each method with each stack that has it: stacks and methods as two columns."""
        return self.on_stacks(self.method)

    def innermost(self, *, skip_types: bool) -> NDArray[numpy.int64]:
        """The row of the innermost frame of each stack; -1 where there is none.

        Args:
            skip_types: take the frame of code instead of the class that was allocated.
        """
        from jvmti.profile.tables import FrameKind

        depth = self.stacks.depths
        at = self.stacks.offsets[:-1].copy()
        found = numpy.full(len(depth), -1, numpy.int64)
        some = depth > 0
        found[some] = self.stacks.frames[at[some]]
        if skip_types and len(self.frames):
            is_type = some & (self.frames.kind[found] == FrameKind.TYPE)
            deeper = is_type & (depth > 1)
            found[is_type] = -1
            found[deeper] = self.stacks.frames[at[deeper] + 1]
        return found


def distinct(texts: list[str]) -> tuple[Column, list[str]]:
    """The number of each text among the distinct ones, and these."""
    numbers: dict[str, int] = {}
    column = [numbers.setdefault(text, len(numbers)) for text in texts]
    return numpy.array(column, numpy.int32), list(numbers)


def added(
    rows: NDArray[numpy.integer], weights: NDArray[numpy.int64], number: int
) -> NDArray[numpy.int64]:
    """The sum of the weights for each row number.

    `numpy.bincount` adds in floating point, which is exact up to 2**53: a hundred days in
    nanoseconds, or nine petabytes.
    """
    return numpy.bincount(rows, weights, number).astype(numpy.int64)


def sorted_rows(keys: NDArray[numpy.int64]) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64]]:
    """Keys in ascending order, none of them negative, and the row of each.

    NumPy sorts numbers several times faster than it finds their order, so each takes its row along
    in its lowest bits where there is room for both.
    """
    bits = max(len(keys) - 1, 0).bit_length()
    if int(keys.max(initial=0)).bit_length() + bits > 63:
        order = numpy.argsort(keys)
        return keys[order], order
    both = keys << bits
    both |= numpy.arange(len(keys))
    both.sort()
    return both >> bits, both & ((1 << bits) - 1)
