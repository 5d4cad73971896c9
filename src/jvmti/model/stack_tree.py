"""Many stacks as one tree: what is on how many of them, and under what.

Taken at once it shows where the threads of a program are; sampled for some seconds, where it spends
its time.
"""

from __future__ import annotations

import difflib
import logging
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy

from jvmti import display
from jvmti.interface.constants import JavaLangThreadState
from jvmti.text.names import suggestion
from jvmti.text.printable import escaped, escaped_lines

if TYPE_CHECKING:
    from jvmti.display import Report
    from jvmti.model.threads import ThreadSnapshot
    from jvmti.model.vm import VM

__all__ = ["StackNode", "StackTree", "at_once", "sampled"]

log = logging.getLogger("jvmti")

_STATES = ("RUNNABLE", "BLOCKED", "WAITING", "TIMED_WAITING")
"""States of threads that have a stack."""


class StackNode:
    """A frame under all the frames that lead to it.

    Attributes:
        name: class and method, or a thread; empty for the root above all.
        count: on how many stacks it is.
        ends: on how many of them nothing is called from it.
    """

    __slots__ = ("_children", "count", "ends", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.count = 0
        self.ends = 0
        self._children: dict[str, StackNode] = {}

    @property
    def children(self) -> list[StackNode]:
        """What is called from it, what is on most stacks first."""
        return sorted(self._children.values(), key=lambda one: (-one.count, one.name))

    @escaped
    def __repr__(self) -> str:
        return f"<StackNode {self.name}, on {self.count:,} stacks>"


class StackTree:
    """Stacks merged from their outermost frames on; ``str`` is an indented tree.

    Attributes:
        root: the node above all; its ``count`` is how many stacks there are.
        looks: how often the threads were looked at.
        seconds: for how long.
        longest_look: the longest of the looks in seconds; the VM stood still for at most as long.
        unseen: why it has no stacks, where none was chosen.
    """

    def __init__(self) -> None:
        self.root = StackNode("")
        self.looks = 0
        self.seconds = 0.0
        self.longest_look = 0.0
        self.unseen = ""

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
        """Every node with its depth, the root's children having 0, from above.

        Args:
            threshold: the part of all stacks that a node is on at least.
        """
        threshold *= self.root.count
        waiting = [(0, one) for one in reversed(self.root.children)]
        while waiting:
            depth, node = waiting.pop()
            if node.count >= threshold:
                yield depth, node
                waiting += [(depth + 1, one) for one in reversed(node.children)]

    def under(self, pattern: str) -> StackTree:
        """The parts of stacks from the outermost frame on whose name fits a shell pattern.

        ``tree.under("com.acme.*")`` is what the threads do in that package, whatever called it.
        """
        found = StackTree()
        found.looks, found.seconds = self.looks, self.seconds
        found.longest_look = self.longest_look
        found.unseen = self.unseen
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
        """The frames in which most stacks end, with how many do."""
        found: Counter[str] = Counter()
        for _, node in self.walk():
            found[node.name] += node.ends
        return [(name, count) for name, count in found.most_common(most) if count]

    def lines(self, threshold: float = 0.01) -> list[str]:
        """The tree as text: share, number of stacks, and the name, indented.

        A frame that has only one below it, on as many stacks, is not indented anew.

        Args:
            threshold: the part of all stacks that a frame is on at least to be shown.
        """
        found = []
        levels: list[int] = [0]
        only = False
        for depth, node in self.walk(threshold):
            del levels[depth + 1 :]
            level = levels[depth]
            mark = "· " if only else ""
            share = node.count / self.root.count
            found.append(f"{share:6.1%} {node.count:>7,}  {'  ' * level}{mark}{node.name}")
            only = len(node._children) == 1 and node.ends == 0
            levels.append(level if only else level + 1)
        return found

    def to_collapsed(self) -> str:
        """The stacks in the form that tools for flame graphs read.

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
        what = f"{self.looks:,} looks in {self.seconds:.3g} s" if self.looks > 1 else "one look"
        why = f": {self.unseen}" if self.unseen and not self else ""
        return f"<StackTree of {len(self):,} stacks, {what}{why}>"

    _repr_html_ = display.html


def _merge(node: StackNode, above: StackNode) -> None:
    waiting = [(node, above)]
    while waiting:
        one, into = waiting.pop()
        below = into._children.setdefault(one.name, StackNode(one.name))
        below.count += one.count
        below.ends += one.ends
        waiting += [(child, below) for child in one._children.values()]


def at_once(
    threads: Iterable[ThreadSnapshot],
    *,
    state: str | None = None,
    lines: bool = False,
    by_thread: bool = False,
) -> StackTree:
    """The stacks of a snapshot of the threads as a tree; see `Threads.stack_tree`."""
    _check(state)
    tree = StackTree()
    tree.looks = 1
    threads = list(threads)
    for thread in threads:
        if thread.frames and state in (None, thread.java_state):
            names = [str(one) if lines else _name(one.method) for one in reversed(thread.frames)]
            tree.add([thread.name, *names] if by_thread else names)
    tree.unseen = _none_in(state, len(threads))
    return tree


def sampled(
    vm: VM,
    seconds: float,
    hz: float,
    *,
    state: str | None,
    names: str,
    by_thread: bool,
    share: float,
    most_frames: int,
    progress: Report | None,
) -> StackTree:
    """Stacks of some seconds as a tree; see `Threads.sample`."""
    _check(state)
    if not (0 < hz <= 1000 and seconds >= 0 and 0 < share <= 1):
        raise ValueError(
            "sampling takes at least 0 seconds, up to 1,000 looks a second, and a share of the "
            f"time between 0 and 1, not {seconds!r}, {hz!r} and {share!r}"
        )
    if progress is not None:
        return _Sampler(vm, state, names, by_thread, most_frames).run(seconds, hz, share, progress)
    with display.progress(f"sampling stacks for {seconds:g} s") as report:
        return _Sampler(vm, state, names, by_thread, most_frames).run(seconds, hz, share, report)


class _Sampler:
    """Counts stacks as columns of method handles; names are looked up once, at the end."""

    def __init__(
        self, vm: VM, state: str | None, names: str, by_thread: bool, most_frames: int
    ) -> None:
        self._vm = vm
        self._state = state
        self._pattern = names
        self._by_thread = by_thread
        self._most_frames = most_frames
        self._seen: Counter[tuple[str, bytes]] = Counter()
        self._names: dict[int, str | None] = {}
        self._chosen = 0
        self._others: set[str] = set()

    def run(self, seconds: float, hz: float, share: float, report: Report) -> StackTree:
        tree = StackTree()
        begun = time.monotonic()
        after = begun
        while True:
            before = time.monotonic()
            self._look()
            after = time.monotonic()
            took = after - before
            tree.looks += 1
            if tree.looks == 1 and not self._chosen:
                log.warning("%s (sampling goes on: threads may come)", self._no_such())
            tree.longest_look = max(tree.longest_look, took)
            report(int(after - begun), max(round(seconds), 1))
            due = max(before + 1 / hz, after + took * (1 / share - 1))
            if due > begun + seconds:
                break
            time.sleep(max(due - after, 0.0))
        tree.seconds = after - begun
        tree.unseen = _none_in(self._state, self._chosen) if self._chosen else self._no_such()
        for (thread, stack), count in self._seen.items():
            methods = self._vm.methods.of(numpy.frombuffer(stack, "<u8").tolist())
            frames = [_name(one) for one in reversed(methods)]
            tree.add([thread, *frames] if self._by_thread else frames, count)
        return tree

    def _look(self) -> None:
        vm = self._vm
        traces = vm.env.map.get_all_stack_traces(self._most_frames).check().value.items
        threads, stacks = traces["thread"], traces["frame_buffer"]
        states = traces["state"].tolist()
        handles: Any = stacks.items["method"].array
        ends = stacks.offsets.tolist()
        rows = [
            row
            for row in range(len(threads))
            if ends[row + 1] > ends[row]
            and self._state in (None, JavaLangThreadState.of(states[row]).name)
        ]
        numbers = vm.threads.ids(threads)
        unknown = {row for row in range(len(threads)) if numbers[row] not in self._names}
        if unknown:
            self._learn(threads, numbers)
        for row in rows:
            name = self._names[numbers[row]]
            if name is not None:
                stack = handles[ends[row] : ends[row + 1]].tobytes()
                self._seen[name if self._by_thread else "", stack] += 1
        threads.release()

    def _learn(self, threads: Any, numbers: list[int]) -> None:
        """The names of threads; ``None`` for the agent's own, and those not asked for."""
        ours = self._vm.threads._service_rows(threads).tolist()
        names = self._vm.env.map.get_thread_info(threads).name
        for number, own, name in zip(numbers, ours, names, strict=True):
            chosen = not own and fnmatchcase(name or "", self._pattern)
            self._names[number] = (name or "") if chosen else None
            if chosen:
                self._chosen += 1
            elif not own:
                self._others.add(name or "")

    def _no_such(self) -> str:
        stem = self._pattern.removesuffix("*")
        if stem != self._pattern:  # then it is the beginnings of names that it may be near to
            near = suggestion(stem, {name[: len(stem)] + "*" for name in self._others})
        else:
            near = suggestion(self._pattern, self._others)
        return f"no thread's name matches {self._pattern!r}{near}"


def _none_in(state: str | None, threads: int) -> str:
    return f"none of {threads:,} threads had a stack{f' and was {state}' if state else ''}"


def _name(method: Any) -> str:
    return f"{method.class_name}.{method.name}"


def _check(state: str | None) -> None:
    if state is not None and state not in _STATES:
        near = difflib.get_close_matches(state.upper(), _STATES, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else f": one of {', '.join(_STATES)}"
        raise ValueError(f"{state!r} is not a java.lang.Thread.State{hint}")
