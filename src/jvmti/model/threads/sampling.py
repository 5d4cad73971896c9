"""The stacks of live threads as a tree: of one moment, or sampled for some seconds."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from jvmti import display
from jvmti.deferred import difflib, numpy
from jvmti.interface.constants import JavaLangThreadState
from jvmti.stacks.tree import StackTree
from jvmti.text.names import suggestion
from jvmti.text.quantities import quantity

if TYPE_CHECKING:
    from jvmti.display import Report
    from jvmti.model.threads.java_thread import ThreadSnapshot
    from jvmti.model.vm import VM

__all__ = ["at_once", "sampled"]

log = logging.getLogger("jvmti")

_STATES = ("RUNNABLE", "BLOCKED", "WAITING", "TIMED_WAITING")
"""States of threads that have a stack."""


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
    tree.samples = 1
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
            "sampling takes at least 0 seconds, up to 1,000 samples a second, and a share of the "
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
            self._sample()
            after = time.monotonic()
            took = after - before
            tree.samples += 1
            if tree.samples == 1 and not self._chosen:
                log.warning("%s (sampling goes on: threads may come)", self._no_such())
            tree.longest_sample = max(tree.longest_sample, took)
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

    def _sample(self) -> None:
        vm = self._vm
        traces = vm.lookup_env.map.get_all_stack_traces(self._most_frames).check().value.items
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
        ours = self._vm.threads._service_rows(threads)
        names = self._vm.threads.names(threads)
        for number, own, name in zip(numbers, ours, names, strict=True):
            chosen = not own and fnmatchcase(name, self._pattern)
            self._names[number] = name if chosen else None
            if chosen:
                self._chosen += 1
            elif not own:
                self._others.add(name)

    def _no_such(self) -> str:
        stem = self._pattern.removesuffix("*")
        if stem != self._pattern:  # then it is the beginnings of names that it may be near to
            near = suggestion(stem, {name[: len(stem)] + "*" for name in self._others})
        else:
            near = suggestion(self._pattern, self._others)
        return f"no thread's name matches {self._pattern!r}{near}"


def _none_in(state: str | None, threads: int) -> str:
    return (
        f"none of {quantity(threads, 'thread')} had a stack{f' and was {state}' if state else ''}"
    )


def _name(method: Any) -> str:
    return f"{method.class_name}.{method.name}"


def _check(state: str | None) -> None:
    if state is not None and state not in _STATES:
        near = difflib.get_close_matches(state.upper(), _STATES, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else f": one of {', '.join(_STATES)}"
        raise ValueError(f"{state!r} is not a java.lang.Thread.State{hint}")
