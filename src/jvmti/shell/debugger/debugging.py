"""The debugger of a prompt: its requests by number, the threads that have stopped, and the frame.

Threads stop while the prompt waits for the user.  A notice says so at once; the thread is taken
when the user enters the next line, whose calls then run on it.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

from jvmti.interface.errors import Error
from jvmti.model.classes.step_filters import JDK, StepFilters, is_lambda
from jvmti.model.debug.stepping import end_in_words
from jvmti.model.debug.stop_queue import StopQueue
from jvmti.shell.debugger.source_lines import numbered
from jvmti.shell.notices import notice
from jvmti.shell.registry import UsageError
from jvmti.text.printable import printable

if TYPE_CHECKING:
    from jvmti.expressions import JavaCondition, PythonCondition
    from jvmti.model.classes.java_class import Method
    from jvmti.model.debug.stops import Stop, StopRequest
    from jvmti.model.threads.frames import Frame
    from jvmti.model.vm import VM
    from jvmti.sources.source import Source
    from jvmti.tracing.logpoint import Logpoint

NO_GRAMMAR = "Java expressions need another package ({}): pip install 'jvmti[debug]'"


CONTEXT = 3
"""Lines of source that a stop shows before and after its own."""

_MOST_LAMBDAS = 64
"""Lambdas of a class where a step may end that other code calls."""


class Entry:
    """A request of the user's.

    Attributes:
        number: the user's name for it.
        kind: such as ``breakpoint``.
        text: the place and the conditions, as the user wrote them.
        request: the request; a logpoint is one that stops nothing.
        once: it ends with its first stop.
        condition: what is evaluated while the thread waits, if anything is.
    """

    def __init__(
        self,
        number: int,
        kind: str,
        text: str,
        request: StopRequest | Logpoint,
        once: bool,
        condition: JavaCondition | PythonCondition | None,
    ) -> None:
        self.number = number
        self.kind = kind
        self.text = text
        self.request = request
        self.once = once
        self.condition = condition

    def __str__(self) -> str:
        return f"{self.kind} {self.number}"


class Debugging:
    """The debugger of one prompt.

    Attributes:
        entries: the requests by number.
        depth: the selected frame of the selected thread; 0 is where it has stopped.
        announces: print a notice when a thread stops, for a user at a prompt.
        filters: what steps pass over.
        skipped: the patterns for classes among it, as the user wrote them.
    """

    def __init__(self, vm: VM, names: MutableMapping[str, Any]) -> None:
        self.vm = vm
        self._names = names
        self._given: dict[str, Any] = {}
        """Variables that this has put into the prompt."""
        self.queue = StopQueue(vm, self._announce)
        self.entries: dict[int, Entry] = {}
        self._last = 0
        self._selected: Stop | None = None
        self._announced: Stop | None = None
        """The stop whose source is shown; the next line of the user goes there."""
        self._announcing = threading.Lock()
        self.depth = 0
        self._waits = False
        self.announces = False
        self.filters = StepFilters()
        self.skipped = [JDK]
        self._listed: tuple[object, int] | None = None

    # ---- requests --------------------------------------------------------------------------

    def add(
        self,
        kind: str,
        text: str,
        request: StopRequest | Logpoint,
        *,
        once: bool = False,
        condition: JavaCondition | PythonCondition | None = None,
    ) -> Entry:
        """Give a request a number, and receive its stops."""
        from jvmti.model.debug.stops import StopRequest

        self._last += 1
        entry = self.entries[self._last] = Entry(self._last, kind, text, request, once, condition)
        if isinstance(request, StopRequest) and kind != "logpoint":
            self.queue.add(request)
        return entry

    def remove(self, number: int) -> Entry:
        """End a request; threads that have stopped at it stay stopped.

        Raises:
            UsageError: there is none of that number.
        """
        if number not in self.entries:
            there = ", ".join(map(str, self.entries)) or "none"
            raise UsageError(f"there is no request {number}; there are: {there}")
        entry = self.entries.pop(number)
        from jvmti.model.debug.stops import StopRequest

        if not isinstance(entry.request, StopRequest):
            entry.request.close()
        elif entry.kind == "logpoint":
            entry.request.cancel()
        else:
            self.queue.remove(entry.request)
        return entry

    def entry_of(self, stop: Stop) -> Entry | None:
        """The user's request that caused a stop; ``None`` after a step."""
        return next((one for one in self.entries.values() if one.request is stop.request), None)

    # ---- the selected thread ---------------------------------------------------------------

    def attend(self) -> None:
        """Go to a thread that has stopped since the last line, unless another is selected."""
        if self._selected is not None and self._selected.is_waiting:
            return
        self._selected = None
        shown = self._announced
        waiting = [stop for stop in self.queue.stops if self.queue.is_taken(stop)]
        if not waiting and shown is not None and shown.is_waiting:
            waiting = [shown]
        stop = waiting[0] if waiting else self.queue.take()
        if stop is not None:
            self.select(stop)
        else:
            self._forget()

    def select(self, stop: Stop, depth: int = 0) -> None:
        """Select a stopped thread and a frame of it."""
        taken = self.queue.take(stop)
        if taken is None:
            raise UsageError("the thread has resumed meanwhile")
        self._selected, self.depth, self._listed = taken, depth, None
        entry = self.entry_of(taken)
        if entry is not None and entry.once:
            self.remove(entry.number)
        self._give("stop", taken)
        self._give("frame", self.frame)

    def _give(self, name: str, value: Any) -> None:
        """Set a variable of the prompt, unless the user has one of that name."""
        if name not in self._names or self._names[name] is self._given.get(name):
            self._names[name] = self._given[name] = value

    def _forget(self) -> None:
        for name, value in self._given.items():
            if self._names.get(name) is value:
                del self._names[name]
        self._given.clear()

    @property
    def stop(self) -> Stop:
        """The selected stop.

        Raises:
            UsageError: no thread has stopped.
        """
        self.attend()
        if self._selected is None:
            hint = "%break sets a breakpoint" if not self.entries else "%wait waits for one"
            raise UsageError(f"no thread has stopped; {hint}")
        return self._selected

    @property
    def selected(self) -> Stop | None:
        """The selected stop, or ``None``."""
        self.attend()
        return self._selected

    @property
    def frames(self) -> list[Frame]:
        """The stack of the selected thread."""
        return self.stop.frames

    @property
    def frame(self) -> Frame:
        """The selected frame.

        Raises:
            UsageError: no thread has stopped.
        """
        stop = self.stop
        with self.queue.on_thread(stop):
            frames = stop.thread.get_frames(self.depth + 1)
        return frames[min(self.depth, len(frames) - 1)]

    def wait(self, timeout: float | None) -> Stop | None:
        """Wait for a stop and select it."""
        self._waits = True
        try:
            stop = self.queue.take(timeout=timeout)
        finally:
            self._waits = False
        if stop is not None:
            self.select(stop)
        return stop

    def resume(self, stop: Stop) -> None:
        """Let a thread run on."""
        self.queue.release(stop)
        if stop is self._selected:
            self._selected = None

    def step(self, how: str, by: str, count: int) -> Stop | None:
        """Step the selected thread, and select where it is then.

        Returns:
            The new stop; ``None`` if the thread has ended.
        """
        stop: Stop | None = self.stop
        for _ in range(count):
            assert stop is not None
            request = stop.request
            # A step that begins in a class that is passed over stays in it.
            skips = by == "line" and not self.filters.skips(stop.method)
            began = stop.method
            stop = self.queue.step(stop, how, by, skips=self.filters.classes if skips else None)
            if skips and stop is not None:
                stop = self._left(stop, began, how)
            # A breakpoint on the way ends the steps.
            if stop is None or (stop.request is not request and self.entry_of(stop) is not None):
                break
        self._selected = None
        if stop is not None:
            self.select(stop)
        return stop

    def _left(self, stop: Stop, began: Method, how: str) -> Stop | None:
        """Run on from a stop in a method that steps pass over, until one where they end."""
        entries: list[StopRequest] = []
        found: Stop | None = stop
        try:
            while found is not None and self._passes(found) and found.request not in entries:
                if not entries and how != "out":
                    # What runs there may call code of the line that the step began at.
                    its = began.declaring_class.methods
                    for one in [one for one in its if is_lambda(one.name)][:_MOST_LAMBDAS]:
                        entries.append(one.breakpoint(thread=found.thread))
                        self.queue.add(entries[-1])
                found = self.queue.step(found, "out", skips=self.filters.classes)
        finally:
            for entry in entries:
                self.queue.remove(entry)
        return found

    def _passes(self, stop: Stop) -> bool:
        if stop.is_at_end or self.entry_of(stop) is not None:
            return False
        return self.filters.skips(stop.method)

    # ---- for people ------------------------------------------------------------------------

    def _announce(self, stop: Stop) -> None:
        """A thread has stopped; this runs on a thread of its own."""
        if self._waits or not self.announces:
            return  # %wait shows it, or a script
        text = self.described(stop, stop.frame)
        with self._announcing:
            ahead = (self._selected, self._announced)
            if any(one is not None and one is not stop and one.is_waiting for one in ahead):
                name = printable(stop.thread.name)
                text = text.partition("\n")[0] + f"; %thread {name} goes there"
            else:
                self._announced = stop
            notice(text)

    def described(self, stop: Stop, frame: Frame) -> str:
        """Where a thread has stopped, why, and the lines of source around."""
        entry = self.entry_of(stop)
        head = f'"{printable(stop.thread.name)}" at {printable(str(frame))}'
        if frame.depth:
            return self._with_source(head, frame)
        why = [] if entry is None else [str(entry)]
        if stop.at_place is not None:
            why.append(printable(str(stop.at_place), 200))
        elif stop.exception is not None:
            thrown = f"{stop.exception.cls.name}: {stop.exception.message or 'no message'}"
            caught = stop.catch_method
            fate = f"caught by {caught.class_name}.{caught.name}" if caught else "not caught"
            if not stop.request.is_emulated:
                thrown += f", {fate}"
            why.append(printable(thrown))
        if stop.field is not None:
            name = f"{stop.field.declaring_class.name}.{stop.field.name}"
            becomes = f"becomes {stop.new_value!r}" if stop.is_write else "is read"
            why.append(printable(f"{name} {becomes}"))
        end = end_in_words(stop) if stop.at_place is None else None
        if end is not None:
            why.append(end)
        condition = None if entry is None else entry.condition
        if condition is not None and condition.problem:
            why.append(f"its condition failed: {printable(condition.problem, 200)}")
            condition.problem = None  # until it fails again
        return self._with_source(", ".join([head, *why]), frame)

    def _with_source(self, text: str, frame: Frame) -> str:
        source = self.source_around(frame)
        return text if source is None else f"{text}\n{source}"

    def source_around(self, frame: Frame, context: int = CONTEXT) -> str | None:
        """The lines around a frame's, for the terminal; ``None`` without source code."""
        try:
            source = self.vm.source_path.at(frame)
        except (LookupError, Error, OSError):
            return None
        if source.marked is None:
            return None
        return numbered(
            source.part(source.marked - context, source.marked + context, source.marked)
        )

    def listed(self, source: Source, first: int | None, count: int) -> Source:
        """A piece of a source: around its mark at first, then what follows.

        Args:
            source: the whole of it.
            first: the first line; without it, where the last piece ended.
            count: how many lines.
        """
        key = source.path
        if first is None:
            if self._listed is not None and self._listed[0] == key:
                first = self._listed[1]
            else:
                first = max((source.marked or 1) - count // 2, 1)
        self._listed = key, first + count
        return source.part(first, first + count - 1, source.marked)

    def close(self) -> None:
        """End all requests and let all threads run on."""
        for number in list(self.entries):
            self.remove(number)
        self.queue.close()
        self._forget()


_OF: weakref.WeakKeyDictionary[VM, Debugging] = weakref.WeakKeyDictionary()


def debugging(vm: VM, names: Any) -> Debugging:
    """The debugger of a JVM's prompt, made at its first use.

    Args:
        vm: the JVM.
        names: the variables of the prompt.
    """
    if vm not in _OF:
        _OF[vm] = Debugging(vm, names)
    return _OF[vm]


def at_prompt(vm: VM, names: Any) -> None:
    """A prompt begins: from now on it says when threads stop."""
    debugging(vm, names).announces = True


def attend(vm: VM) -> None:
    """Before a line of the user's: go to a thread that has stopped, if none is selected."""
    found = _OF.get(vm)
    if found is not None and not vm.closed:
        found.attend()


def deciding(text: str, names: Mapping[str, Any]) -> JavaCondition | PythonCondition:
    """A condition that is more than the agent can decide.

    Args:
        text: a Java expression, of which the agent decides what it can; or a Python one behind
            ``=py``.
        names: the variables of the prompt.

    Raises:
        UsageError: it is not an expression of that language, or Java's grammar is not installed.
    """
    from jvmti.expressions import PYTHON, PythonCondition, condition

    try:
        return PythonCondition(text, names) if text.startswith(PYTHON) else condition(text)
    except ImportError as error:
        raise UsageError(NO_GRAMMAR.format(error)) from None


__all__ = [
    "CONTEXT",
    "NO_GRAMMAR",
    "Debugging",
    "Entry",
    "at_prompt",
    "attend",
    "debugging",
    "deciding",
]
