"""Stops: where threads of the program wait to be looked at.

Breakpoints, watched fields, steps and caught exceptions are `Stops`, each of which gives `Stop`
after `Stop` to whoever iterates over it, calls a function with each, or only counts them.

Of a stop the agent tells on a channel that a Python thread of its own reads.  That thread lends the
conversation to the thread that iterates: what the body of the loop calls runs on the Java thread
that waits, as it does in a handler, until the next iteration or the end of the block.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from jvmti import refs
from jvmti.env.environment import AgentOperations, Env
from jvmti.env.events import EVENTS
from jvmti.model.conditions import Asked
from jvmti.spec.constants import Event, ThreadState
from jvmti.spec.errors import SessionClosed, StopOver, TargetLost
from jvmti.spec.signatures import fitting
from jvmti.spec.text import harmless
from jvmti.wire.session import LentConversation

if TYPE_CHECKING:
    from jvmti.model.classes import Class, Field, Method
    from jvmti.model.frames import Frame
    from jvmti.model.locals import Locals
    from jvmti.model.objects import Object, Throwable
    from jvmti.model.threads import Thread
    from jvmti.model.vm import VM

log = logging.getLogger("jvmti")

Self = TypeVar("Self", bound="Stops")

_LOOK_AGAIN = 0.25
"""Seconds after which whoever waits for a stop looks whether the JVM is still there."""

_ALSO = {
    Event.SINGLE_STEP: ("can_generate_frame_pop_events",),
    Event.CLASS_FILE_LOAD_HOOK: ("can_retransform_classes",),
}
"""Capabilities that a stop needs beside those of its event."""

_OF_CLASSES = (Event.CLASS_PREPARE, Event.CLASS_FILE_LOAD_HOOK)

_HITS = re.compile(r"(every|after)\s+([0-9]+)\Z")


class Stop:
    """A thread that has come to a stop, and waits there.

    Attributes:
        stops: what it has met: the breakpoint, the watch, the step.
        thread: the thread.
        method: the method that it is in.
        location: the bytecode index of what it would execute next.
        exception: the exception that was thrown, for `vm.catch`.
        catch_method: who will catch it, as far as the VM can foresee; ``None`` if nobody.
        object: the object whose field is accessed; ``None`` for a static one.
        field: the watched field.
        new_value: what is about to be written to it.
        is_write: whether it is about to be written.
    """

    exception: Throwable | None = None
    catch_method: Method | None = None
    object: Object | None = None
    field: Field | None = None
    new_value: Any = None
    is_write: bool = False

    def __init__(
        self, stops: Stops, thread: Thread, method: Method, location: int, lent: LentConversation
    ) -> None:
        self.stops = stops
        self.thread = thread
        self.method = method
        self.location = location
        self._lent = lent
        self._borrower: int | None = threading.get_ident()
        self._over = threading.Event()
        self._line: int | None = None
        self._within: Stops | None = None
        """Whose iteration it is the current one of."""

    @property
    def _vm(self) -> VM:
        return self.stops._vm

    @property
    def is_waiting(self) -> bool:
        """Whether the thread still waits here."""
        return not self._over.is_set()

    @property
    def line(self) -> int | None:
        """The source line; ``None`` where the class file does not tell."""
        if self._line is None:
            before = [e for e in self.method.lines if e.start_location <= self.location]
            if before:
                self._line = max(before, key=lambda entry: entry.start_location).line_number
        return self._line

    @property
    def frame(self) -> Frame:
        """The frame that stopped, the topmost of the thread.

        Raises:
            StopOver: the thread has gone on.
        """
        with self._speaking():
            return self.thread.get_frames(1)[0]

    @property
    def frames(self) -> list[Frame]:
        """The thread's stack, the frame that stopped first.

        Raises:
            StopOver: the thread has gone on.
        """
        with self._speaking():
            return self.thread.frames

    @property
    def locals(self) -> Locals:
        """The local variables of the frame: ``stop.locals["n"]``, to read and to write.

        Raises:
            StopOver: the thread has gone on.
        """
        return self.frame.locals

    @property
    def value(self) -> Any:
        """What it is about: the exception thrown, what is written to the field, or what is in a
        field about to be read; ``None`` for other stops.

        Raises:
            StopOver: the thread has gone on, so that nobody knows what the field has now.
        """
        if self.field is None:
            return self.exception
        if self.is_write:
            return self.new_value
        with self._speaking():
            owner: Any = self.field.declaring_class if self.object is None else self.object
            return owner[self.field.name]

    def step(
        self, how: str = "over", by: str = "line", timeout: float | None = None
    ) -> Stop | None:
        """Let the thread make one step, and wait for it there.

        This stop is over then.  Where the thread meets another stop before, that one is given.
        The new stop is over at the next iteration, as this one would have been.

        Args:
            how: ``"into"`` calls, ``"over"`` them, or ``"out"`` of the method.
            by: ``"line"`` or ``"instruction"``.
            timeout: seconds to wait; ``None`` waits for as long as it takes.

        Returns:
            The stop; ``None`` if the thread has ended, or the time has passed, and then the thread
            runs on.

        Raises:
            StopOver: the thread has gone on.
            ValueError: there is no such step.
            Duplicate: the thread is being stepped already.
            RuntimeError: a function was given this stop, which has to return before the thread
                can go on; there, ``stop.thread.step(…, do=function)`` is what to use.
        """
        self._check()
        return self._vm.stops.step_from(self, how, by, timeout)

    # ---- the conversation ------------------------------------------------------------------

    def _check(self) -> None:
        if self._over.is_set():
            raise StopOver(f"{self.thread!r} has gone on from this stop at {self.where}")
        if self._borrower != threading.get_ident():
            raise StopOver(
                "this stop was given to another Python thread, and only that one can use it"
            )

    @contextmanager
    def _speaking(self) -> Iterator[None]:
        """What is called inside the block runs on the thread that has stopped."""
        self._check()
        session = self._vm._session
        lent = session.conversation
        if lent is self._lent:
            yield
            return
        with session.within(self._lent):
            yield

    def _borrow(self) -> None:
        self._borrower = threading.get_ident()
        self._vm._session.borrow(self._lent)

    def _let_go(self) -> None:
        """The thread may go on; once is enough."""
        if self._over.is_set():
            if self._borrower == threading.get_ident():
                self._vm._session.give_back(self._lent)
            return
        with self._lent.lock:  # a call of another thread's comes to its end first
            self._lent.over = True
        if self._borrower == threading.get_ident():
            self._vm._session.give_back(self._lent)
        self._over.set()

    @property
    def where(self) -> str:
        """Class, method and place as in stack traces."""
        names = self.method._known
        at = f":{self._line}" if self._line is not None else ""
        return f"{names.class_name}.{names.name}({names.source_file or 'Unknown Source'}{at})"

    @harmless
    def __repr__(self) -> str:
        state = "" if self.is_waiting else ", gone on"
        return f"<Stop {self.where}{state}>"


class Stops:
    """Something that threads stop at; base of `Breakpoint`, `Watch`, `Catch` and `Steps`.

    In a ``with`` block it is an iterator of `Stop`: a thread that comes by waits until it has been
    given out and the next one is asked for, or the block is left.  With a function (``do=``) a
    thread waits while that is called.  Otherwise threads pass and are counted.

    Attributes:
        hits: how often it has stopped a thread.
        missed: how often a thread passed that nobody could have been given: the one that iterates
            ran into it by a call of its own.
        awaited: that no class of the name was loaded when it was made, and which near ones were;
            ``None`` where there was one, or the VM had not started.
    """

    _EVENT: Event

    def __init__(
        self,
        vm: VM,
        *,
        when: str | Callable[[Stop], object] | None,
        hits: int | str | None,
        thread: Thread | Iterable[Thread] | None,
        caller: str | Iterable[str] | Method | None,
        do: Callable[[Stop], object] | None,
    ) -> None:
        if do is not None and not callable(do):
            raise TypeError(f"do= must be callable, not {type(do).__name__}")
        if isinstance(when, str):
            when = Asked(vm, when)
        if when is not None and not callable(when):
            raise TypeError(f"when= must be callable or a text, not {type(when).__name__}")
        self._vm = vm
        self._when = when
        self._do = do
        self._every, self._after = _every_and_after(hits)
        self._passes = 0
        self._threads = _threads(thread)
        self._callers = _callers(caller)
        self.hits = 0
        self.missed = 0
        self.awaited: str | None = None
        self._waited = 0
        self._changed = threading.Condition()
        self._arrived: deque[Stop] = deque()
        self._current: Stop | None = None
        self._block: int | None = None
        self._numbers: dict[int, tuple[Env, Event]] = {}
        self._cancelled = False

    # ---- in the agent ----------------------------------------------------------------------

    def _make(self, event: Event, *, kinds: int = 0, classes: str | None = None) -> int:
        """A stop in the agent, enabled and as yet without a place: its number."""
        vm = self._vm
        table = vm.stops
        env = table.environment(*EVENTS[event].declaration.capabilities, *_ALSO.get(event, ()))
        filters = event not in _OF_CLASSES
        in_agent = self._when is None and filters
        table.open()
        agent = AgentOperations(vm._session, env._number)
        number = agent.make_stop(
            event,
            table.env._number,
            self._every if in_agent else 1,
            self._after if in_agent else 0,
            kinds,
            list(self._threads) if filters else [],
            self._callers if filters else None,
            classes,
        )
        self._numbers[number] = env, event
        table.by_number[number] = self
        try:
            if event is not Event.SINGLE_STEP:  # which the agent switches for single threads
                table.enabling.enable(env, EVENTS[event].declaration, None)
        except BaseException:
            self._unmake(number, enabled=False)
            raise
        return number

    def _unmake(self, number: int, enabled: bool = True) -> None:
        found = self._numbers.pop(number, None)
        self._vm.stops.by_number.pop(number, None)
        if found is None or self._vm.closed:
            return
        env, event = found
        try:
            AgentOperations(self._vm._session, env._number).remove_stop(number)
            if enabled and event is not Event.SINGLE_STEP:
                self._vm.stops.enabling.disable(env, EVENTS[event].declaration, None)
        except (SessionClosed, TargetLost) as error:
            log.debug("%r ends with the session: %s", self, error)

    def _say_if_not_loaded(self, classes: str) -> None:
        """Say once that it waits for classes that are not loaded: their name may be misspelt."""
        if not self._vm._session.live:
            return
        loaded = self._vm.classes
        if is_pattern(classes):
            if any(map(fitting(classes), loaded.names().names)):
                return
            near = []
        elif classes in loaded:
            return
        else:
            near = loaded.near(classes)
        hint = f"; near ones that are: {', '.join(near)}" if near else ""
        self.awaited = f"no class {classes!r} is loaded yet{hint}"
        level = logging.WARNING if near else logging.INFO
        log.log(level, "a %s waits: %s", type(self).__name__.lower(), self.awaited)

    def _agent(self, number: int) -> AgentOperations:
        env, _ = self._numbers[number]
        return AgentOperations(self._vm._session, env._number)

    def cancel(self) -> None:
        """Stop no more threads, and let those go that wait; once is enough."""
        with self._changed:
            self._cancelled = True
            self._changed.notify_all()
        self._let_go_all()
        for number in list(self._numbers):
            self._unmake(number)

    @property
    def is_active(self) -> bool:
        """Whether it has not been cancelled, and the session lasts."""
        return not self._cancelled and not self._vm.closed

    # ---- for who iterates ------------------------------------------------------------------

    def __enter__(self: Self) -> Self:
        if self._cancelled:
            raise RuntimeError(f"{self!r} has been cancelled")
        if self._do is not None:
            return self
        with self._changed:
            self._block = threading.get_ident()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.cancel()

    def __iter__(self: Self) -> Self:
        self._check_block()
        return self

    def __next__(self) -> Stop:
        stop = self.next()
        if stop is None:
            raise StopIteration
        return stop

    def next(self, timeout: float | None = None) -> Stop | None:
        """Let the thread of the last stop go on, and wait for the next.

        Args:
            timeout: seconds to wait; ``None`` waits for as long as it takes.

        Returns:
            The stop; ``None`` if the time has passed, it was cancelled, or the JVM has ended.
        """
        self._check_block()
        self._go_on()
        return self._take(timeout)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it has been hit again since the last call of this.

        Args:
            timeout: seconds to wait; ``None`` waits for as long as it takes.

        Returns:
            Whether it has; false if the time has passed, it was cancelled, or the JVM has ended.
        """
        until = _until(timeout)
        with self._changed:
            while self.hits <= self._waited:
                if not self._wait(until):
                    return False
            self._waited += 1
            return True

    def _check_block(self) -> None:
        if self._do is not None:
            raise RuntimeError("there is a function that is given the stops; do= and iteration "
                               "exclude each other")  # fmt: skip
        if self._block is None:
            raise RuntimeError(
                "threads wait for who iterates in a `with` block only, at whose end they are let "
                "go: `with … as stops: for stop in stops: …`"
            )

    def _go_on(self) -> None:
        """Let the thread of the last stop go on."""
        if self._current is not None:
            self._current._let_go()
            self._current = None

    def _take(self, timeout: float | None, thread: Thread | None = None) -> Stop | None:
        """Wait for the next stop and make the caller its borrower; of a thread, until that ends."""
        until = _until(timeout)
        with self._changed:
            while not self._has_arrived():
                if self._cancelled or not self._wait(until):
                    return None
                if thread is not None and not self._has_arrived() and not _is_alive(thread):
                    return None
            # In this order, so that an interrupt finds the stop in one place or the other.
            self._current = stop = self._arrived[0]
            self._arrived.popleft()
        stop._within = self
        stop._borrow()
        return stop

    def _has_arrived(self) -> bool:
        """Whether there is a stop to give out; those that were let go meanwhile are forgotten."""
        while self._arrived and not self._arrived[0].is_waiting:
            self._arrived.popleft()
        return bool(self._arrived)

    def _wait(self, until: float | None) -> bool:
        """Wait for a change; false when the time has passed, or nothing will come."""
        left = _LOOK_AGAIN if until is None else min(until - time.monotonic(), _LOOK_AGAIN)
        if left <= 0 or self._cancelled:
            return False
        if not self._changed.wait(left):
            session = self._vm._session
            return session.closed is None and not session._ended(0)
        return self.is_active or bool(self._arrived)

    def _let_go_all(self) -> None:
        self._go_on()
        with self._changed:
            waiting = list(self._arrived)
            self._arrived.clear()
        for stop in waiting:
            stop._let_go()

    # ---- for threads that come by ----------------------------------------------------------

    def _wants(self, stop: Stop) -> bool:
        """What of the condition is decided here, on the thread that is told."""
        if self._when is None:
            return True
        if not self._when(stop):
            return False
        with self._changed:
            self._passes += 1
            beyond = self._passes - self._after
        return beyond > 0 and beyond % self._every == 0

    def _offer(self, stop: Stop) -> bool:
        """Leave a stop to who iterates; false where nobody does."""
        with self._changed:
            self.hits += 1
            offered = self._block is not None and not self._cancelled
            if offered and self._block == threading.get_ident():
                offered = False
                self.missed += 1
                log.warning(
                    "%r: the thread that iterates over the stops ran into one by a call of its "
                    "own, so the call goes on; make it from another thread, or use do=",
                    self,
                )
            if offered:
                self._arrived.append(stop)
            self._changed.notify_all()
        return offered

    def _pass(self) -> None:
        """It has stopped a thread that is given to somebody else."""
        with self._changed:
            self.hits += 1
            self._changed.notify_all()

    def _prepared(self, cls: Class) -> None:
        """A class is prepared that it waits for."""

    def _will_be_redefined(self, cls: Class) -> None:
        """A class that it is in is about to be redefined."""

    def _look_for_classes(self) -> None:
        """The VM is live, and classes may have been prepared unseen."""

    def _met(self, stop: Stop) -> bool:
        """A thread has come by: whether somebody will let it go later."""
        if self._do is None:
            return self._offer(stop)
        with self._changed:
            if self._cancelled:
                return False
            self.hits += 1
            self._changed.notify_all()
        try:
            self._do(stop)
        finally:
            stop._let_go()
        return False

    @harmless
    def __repr__(self) -> str:
        state = "cancelled" if self._cancelled else f"{self.hits} hits"
        return f"<{type(self).__name__} {self._what()}, {state}>"

    def _what(self) -> str:
        return ""


def is_pattern(name: str) -> bool:
    """Whether a name of classes is a shell pattern for several."""
    return any(character in name for character in "*?[")


def _until(timeout: float | None) -> float | None:
    return None if timeout is None else time.monotonic() + timeout


def _is_alive(thread: Thread) -> bool:
    return bool(thread.state & ThreadState.ALIVE)


def _every_and_after(hits: int | str | None) -> tuple[int, int]:
    """Which passes are told of: every so many-th, beyond so many.

    Raises:
        ValueError: it says neither.
    """
    if hits is None:
        return 1, 0
    if isinstance(hits, int) and not isinstance(hits, bool) and hits > 0:
        return hits, 0
    found = _HITS.match(hits.strip()) if isinstance(hits, str) else None
    if found is not None:
        kind, number = found[1], int(found[2])
        if kind == "after" and number < 1 << 63:
            return 1, number
        if kind == "every" and 0 < number < 1 << 31:
            return number, 0
    raise ValueError(f'hits= takes a positive number, "every 10" or "after 10", not {hits!r}')


def _threads(thread: Any) -> list[refs.Thread]:
    if thread is None:
        return []
    found = [thread] if isinstance(thread, refs.Thread) else list(thread)
    for one in found:
        if not isinstance(one, refs.Thread):
            raise TypeError(f"thread= takes threads, not {type(one).__name__}")
    if not found:
        raise ValueError("thread= names no thread")
    return found


def _callers(caller: Any) -> str | None:
    """Patterns, one a line, for class and name of the calling method."""
    if caller is None:
        return None
    if isinstance(caller, refs.Method):
        method: Any = caller
        return f"{method.class_name}.{method.name}"
    patterns = [caller] if isinstance(caller, str) else list(caller)
    if not patterns or not all(isinstance(one, str) and one.strip() for one in patterns):
        raise TypeError('caller= takes a method, or patterns such as "com.acme.Order.*"')
    return "\n".join(patterns)


__all__ = ["Stop", "Stops", "is_pattern"]
