"""The nodes of a profile's tree, as columns until somebody looks at one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from jvmti.stacks.tree import StackNode

__all__ = ["TreeNodes"]

Column = NDArray[numpy.int64]


class TreeNodes:
    """A row for each node; those with a count of 0 are left out."""

    def __init__(
        self, parents: Column, codes: Column, names: Sequence[str], counts: Column, ends: Column
    ) -> None:
        """Order them by what is above them.

        Args:
            parents: the row of the node above each; row 0 is the root.
            codes: the number of the name of each node; no two below the same node are equal.
            names: the names.
            counts: the weight of each node with all below it.
            ends: its own weight.
        """
        self._parents, self._codes, self._names = parents, codes, names
        self._counts, self._ends = counts, ends
        rows = numpy.flatnonzero(counts[1:]) + 1
        self._rows = rows[numpy.argsort(parents[rows], kind="stable")]
        below = numpy.bincount(parents[rows], minlength=len(parents))
        self._last = numpy.cumsum(below)
        self._first = self._last - below

    def children(self, row: int) -> dict[str, StackNode]:
        """The nodes below a row."""
        rows = self._rows[self._first[row] : self._last[row]]
        found = {}
        for one, code, count, ends in zip(
            rows.tolist(),
            self._codes[rows].tolist(),
            self._counts[rows].tolist(),
            self._ends[rows].tolist(),
            strict=True,
        ):
            node = found[self._names[code]] = StackNode(self._names[code], (self, one))
            node.count, node.ends = count, ends
        return found

    def table(self) -> Any:
        """All nodes as a ``pyarrow.Table``."""
        from jvmti.profile.formats.arrow import nodes_table

        return nodes_table(self._parents, self._codes, self._names, self._counts, self._ends)
