"""Many stacks as one tree of frames, with counts.

A single capture shows where the threads of a program are; samples over some seconds show where it
spends its time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Any, Protocol

from jvmti import display
from jvmti.text.printable import escaped, escaped_lines
from jvmti.text.quantities import quantity

__all__ = ["StackNode", "StackTree"]


class _Nodes(Protocol):
    """Nodes that become objects when they are looked at, known by their rows."""

    def children(self, row: int) -> dict[str, StackNode]:
        """The nodes below a row, by their names."""

    def table(self) -> Any:
        """All nodes as a ``pyarrow.Table``."""


class StackNode:
    """A frame below the frames that lead to it.

    Attributes:
        name: class and method, or a thread; empty for the root.
        count: the number of stacks with it.
        ends: the number of stacks that end here.
    """

    __slots__ = ("_below", "_later", "count", "ends", "name")

    def __init__(self, name: str, later: tuple[_Nodes, int] | None = None) -> None:
        """Make a node.

        Args:
            name: its name.
            later: the nodes and the row whose children it has, which are made when they are
                asked for; ``None`` if it has none yet.
        """
        self.name = name
        self.count = 0
        self.ends = 0
        self._below: dict[str, StackNode] = {}
        self._later = later

    @property
    def _children(self) -> dict[str, StackNode]:
        if self._later is not None:
            nodes, row = self._later
            self._below, self._later = nodes.children(row), None
        return self._below

    @property
    def children(self) -> list[StackNode]:
        """The frames that it calls, those on most stacks first."""
        return sorted(self._children.values(), key=lambda one: (-one.count, one.name))

    @escaped
    def __repr__(self) -> str:
        return f"<StackNode {self.name}, on {quantity(self.count, 'stack')}>"


def _stacks(count: int) -> str:
    return quantity(count, "stack")


class StackTree(display.Tabular):
    """Stacks merged from their outermost frames on; ``str`` is an indented tree.

    Attributes:
        root: the root; its ``count`` is the number of stacks.
        amount: formats a count. In the tree of a profile a stack counts as many times as it has
            nanoseconds or bytes.
        samples: the number of samples.
        seconds: for how long.
        longest_sample: the longest sample in seconds; the VM was stopped for at most as long.
        unseen: why it has no stacks, if there are none.
    """

    def __init__(self) -> None:
        self.root = StackNode("")
        self.samples = 0
        self.seconds = 0.0
        self.longest_sample = 0.0
        self.unseen = ""
        self.amount: Callable[[int], str] = _stacks
        self._nodes: _Nodes | None = None

    @classmethod
    def of_nodes(cls, nodes: _Nodes, count: int, ends: int) -> StackTree:
        """A tree of nodes, of which few are ever looked at.

        Args:
            nodes: the nodes; row 0 is the root.
            count: the number of stacks.
            ends: the number of those that are empty.
        """
        made = cls()
        made._nodes = nodes
        made.root = StackNode("", (nodes, 0))
        made.root.count, made.root.ends = count, ends
        return made

    def to_arrow(self) -> Any:
        """The tree as a ``pyarrow.Table``, a row for each node; the root is row 0.

        Its columns: ``parent``, the row above it, ``name``, ``total``, the count of the node with
        all below it, and ``own``.

        Raises:
            ImportError: pyarrow is not installed.
        """
        if self._nodes is not None:
            return self._nodes.table()
        import pyarrow

        rows: list[tuple[int | None, str | None, int, int]] = [
            (None, None, self.root.count, self.root.ends)
        ]
        path = [0]
        for depth, node in self.walk():
            path[depth + 1 :] = [len(rows)]
            rows.append((path[depth], node.name, node.count, node.ends))
        parents, names, totals, own = map(list, zip(*rows, strict=True))
        return pyarrow.table({"parent": parents, "name": names, "total": totals, "own": own})

    def add(self, stack: Iterable[str], count: int = 1) -> None:
        """Add a stack.

        Args:
            stack: names, the outermost frame first.
            count: how many times it was seen.
        """
        node = self.root
        node.count += count
        for name in stack:
            below = node._children.get(name)
            if below is None:
                below = node._children[name] = StackNode(name)
            below.count += count
            node = below
        node.ends += count

    def __len__(self) -> int:
        return self.root.count

    def walk(self, threshold: float = 0.0) -> Iterator[tuple[int, StackNode]]:
        """Every node with its depth, parents first; the root's children have 0.

        Args:
            threshold: the smallest share of all stacks.
        """
        threshold *= self.root.count
        waiting = [(0, one) for one in reversed(self.root.children)]
        while waiting:
            depth, node = waiting.pop()
            if node.count >= threshold:
                yield depth, node
                waiting += [(depth + 1, one) for one in reversed(node.children)]

    def under(self, pattern: str) -> StackTree:
        """The parts of stacks from the outermost frame that matches a shell pattern.

        ``tree.under("com.acme.*")`` is what the threads do in that package, for any caller.
        """
        found = StackTree()
        found.samples, found.seconds = self.samples, self.seconds
        found.longest_sample = self.longest_sample
        found.unseen = self.unseen
        found.amount = self.amount
        waiting = list(self.root._children.values())
        while waiting:
            node = waiting.pop()
            if fnmatchcase(node.name, pattern):
                found.root.count += node.count
                _merge(node, found.root)
            else:
                waiting += node._children.values()
        return found

    def top(self, most: int = 20) -> list[tuple[str, int]]:
        """The frames in which most stacks end, with counts."""
        found: Counter[str] = Counter()
        for _, node in self.walk():
            found[node.name] += node.ends
        return [(name, count) for name, count in found.most_common(most) if count]

    def lines(self, threshold: float = 0.01) -> list[str]:
        """The tree as text: share, number of stacks, and the name, indented.

        A frame with only one below it, on as many stacks, adds no indentation.

        Args:
            threshold: the smallest share of all stacks to show.
        """
        found = []
        levels: list[int] = [0]
        only = False
        own = self.amount is _stacks
        for depth, node in self.walk(threshold):
            del levels[depth + 1 :]
            level = levels[depth]
            mark = "· " if only else ""
            share = node.count / self.root.count
            count = f"{node.count:,}" if own else self.amount(node.count)
            found.append(f"{share:6.1%} {count:>7}  {'  ' * level}{mark}{node.name}")
            only = len(node._children) == 1 and node.ends == 0
            levels.append(level if only else level + 1)
        return found

    def to_collapsed(self) -> str:
        """The stacks in the format of flame graph tools.

        A line for each different stack: its frames, the outermost first, with semicolons between
        them, a space, and the number of stacks.  Semicolons and line breaks in names, which only
        those of threads can have, become commas and spaces.
        """
        found = []
        path: list[str] = []
        for depth, node in self.walk():
            path[depth:] = [" ".join(node.name.replace(";", ",").split()) or "?"]
            if node.ends:
                found.append(f"{';'.join(path)} {node.ends}\n")
        return "".join(found)

    @escaped_lines
    def __str__(self) -> str:
        return "\n".join([repr(self), *self.lines()])

    @escaped
    def __repr__(self) -> str:
        what = (
            f"{quantity(self.samples, 'sample')} in {self.seconds:.3g} s"
            if self.samples != 1
            else "one sample"
        )
        why = f": {self.unseen}" if self.unseen and not self else ""
        return f"<StackTree of {self.amount(len(self))}, {what}{why}>"

    _repr_html_ = display.html


def _merge(node: StackNode, above: StackNode) -> None:
    waiting = [(node, above)]
    while waiting:
        one, into = waiting.pop()
        below = into._children.setdefault(one.name, StackNode(one.name))
        below.count += one.count
        below.ends += one.ends
        waiting += [(child, below) for child in one._children.values()]
