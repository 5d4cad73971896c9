"""Stops, and the requests that cause them: breakpoints, watchpoints, catchpoints and steps.

Each of these is a `StopRequest`.  A loop over it receives a `Stop` for each thread that stops; with
a function it calls that instead, and with neither it only counts.

The agent reports a stop on a channel, which a Python thread of the session reads.  That thread
lends its conversation to the thread that iterates, so calls in the body of the loop run on the
stopped Java thread, as in a handler, until the next iteration or the end of the block.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from jvmti import refs
from jvmti.env.environment import Env
from jvmti.env.events import EVENTS
from jvmti.interface.constants import Event, ThreadState
from jvmti.interface.errors import SessionClosed, StopOver, TargetLost
from jvmti.interface.signatures import matcher
from jvmti.model.debug.conditions import ControllerCondition
from jvmti.model.debug.foreseen_calls import ForeseenCalls
from jvmti.model.debug.late.stop_probes import ProbedFrame, StopProbes
from jvmti.operations.agent import AgentOperations
from jvmti.text.printable import escaped
from jvmti.text.quantities import quantity
from jvmti.wire.session import BorrowedConversation

if TYPE_CHECKING:
    from jvmti.instrumentation.probes import Probe
    from jvmti.model.classes.java_class import Class, Field, Method
    from jvmti.model.debug.late.stoppoints import ValuesAtPlace
    from jvmti.model.debug.stop_queue import StopQueue
    from jvmti.model.objects.java_object import Object, Throwable
    from jvmti.model.threads.frames import Frame
    from jvmti.model.threads.java_thread import Thread
    from jvmti.model.threads.locals import Locals
    from jvmti.model.vm import VM

log = logging.getLogger("jvmti")

Self = TypeVar("Self", bound="StopRequest")
T = TypeVar("T")

CHECK_EVERY = 0.25
"""While waiting for a stop, check this often whether the JVM is still there, in seconds."""

_ALSO = {
    Event.SINGLE_STEP: ("can_generate_frame_pop_events", "can_generate_method_entry_events"),
    Event.CLASS_FILE_LOAD_HOOK: ("can_retransform_classes",),
}
"""Capabilities that a request needs besides those of its event."""

_OF_CLASSES = (Event.CLASS_PREPARE, Event.CLASS_FILE_LOAD_HOOK)

_HITS = re.compile(r"(every|after|only)\s+([0-9]+)\Z")

_GRACE = 0.1
"""Seconds that a thread has for the end of a call that overran its limit."""


class Stop:
    """A thread that has stopped and waits.

    Attributes:
        request: what stopped it: the breakpoint, watchpoint, catchpoint or step.
        thread: the thread.
        method: the method that it is in.
        location: the bytecode index of the next instruction.
        exception: the thrown exception, for `vm.catch`.
        catch_method: the method that will catch it, by the VM's prediction; ``None`` if it expects
            none to.
        object: the object whose field is accessed; ``None`` for a static field.
        field: the watched field.
        new_value: the value about to be written to it.
        is_write: whether the field is about to be written.
        is_at_end: whether a step has come to the end of its method, about to return or,
            after an exception, to be left. Only steps of an agent that was attached late end
            there, see `step`.
        is_thrown: whether that is after an exception; `line` is then the one that it comes from,
            as far as the step knows.
        probed: the variables of the frame, if a probe stopped it; else ``None``.
        at_place: what is known at a place of `VM.stop_at`; else ``None``.
        foreseen: what has come along with it, see `ForeseenCalls`.
        is_alone: whether it is the only stop of this moment; several requests can share a place.
    """

    is_alone = False
    foreseen: ForeseenCalls | None = None
    probed: ProbedFrame | None = None
    at_place: ValuesAtPlace | None = None
    exception: Throwable | None = None
    catch_method: Method | None = None
    object: Object | None = None
    field: Field | None = None
    new_value: Any = None
    is_write: bool = False
    is_at_end: bool = False
    is_thrown: bool = False

    def __init__(
        self,
        request: StopRequest,
        thread: Thread,
        method: Method,
        location: int,
        borrowed: BorrowedConversation,
    ) -> None:
        self.request = request
        self.thread = thread
        self.method = method
        self.location = location
        self._borrowed = borrowed
        self._borrower: int | None = threading.get_ident()
        self._is_over = False
        self._ended: threading.Event | None = None
        """Set when it is over; only of stops that a thread waits for."""
        self._line: int | None = None
        self._within: StopRequest | None = None
        """The request whose loop received it."""

    @property
    def _vm(self) -> VM:
        return self.request._vm

    def is_same_hit(self, other: Stop) -> bool:
        """Whether both are of one moment of a thread: several requests can share a place."""
        mine, its = self._borrowed, other._borrowed
        return mine.channel is its.channel and mine.number == its.number

    @property
    def is_waiting(self) -> bool:
        """Whether the thread still waits at this stop."""
        return not self._is_over

    @property
    def line(self) -> int | None:
        """The source line; ``None`` if the class file has no line numbers."""
        if self.is_thrown and self.at_place is not None:
            if self._line is None:
                with self._conversing():
                    self._line = self.at_place.line_of_throw(self.method)
            return self._line
        if self._line is None and self.is_thrown:
            self._line, _ = self._vm.breakpoints.thrown_in.get(id(self.thread), (None, 0))
        if self._line is None:
            before = [e for e in self.method.lines if e.start_location <= self.location]
            if before:
                self._line = max(before, key=lambda entry: entry.start_location).line_number
        return self._line

    @property
    def frame(self) -> Frame:
        """The topmost frame of the thread.

        Raises:
            StopOver: the thread has resumed.
        """
        with self._conversing():
            return self.thread.get_frames(1)[0]

    @property
    def frames(self) -> list[Frame]:
        """The thread's stack, topmost frame first.

        Raises:
            StopOver: the thread has resumed.
        """
        with self._conversing():
            return self.thread.frames

    @property
    def locals(self) -> Locals:
        """The local variables of the topmost frame, to read and write: ``stop.locals["n"]``.

        Raises:
            StopOver: the thread has resumed.
        """
        return self.frame.locals

    @property
    def value(self) -> Any:
        """The thrown exception, the value about to be written to the field, or the value of the
        field about to be read; of `VM.stop_at` the value at the place; ``None`` for other stops.

        Raises:
            StopOver: the thread has resumed, so the value of the field is no longer known.
        """
        if self.at_place is not None:
            return self.at_place.value
        if self.field is None:
            return self.exception
        if self.is_write:
            return self.new_value
        with self._conversing():
            owner: Any = self.field.declaring_class if self.object is None else self.object
            return owner[self.field.name]

    @property
    def names(self) -> dict[str, tuple[Any, str]]:
        """Values that the stop has besides its frame, by name, each with its signature.

        ``exception``, the thrown one; or of a field ``object``, whose it is, and ``new_value``; or
        what is known at the place of `VM.stop_at`, as `ValuesAtPlace.names` has it.
        """
        if self.at_place is not None:
            return self.at_place.names
        if self.exception is not None:
            return {"exception": (self.exception, self.exception.cls.signature)}
        found: dict[str, tuple[Any, str]] = {}
        if self.object is not None:
            found["object"] = self.object, self.object.cls.signature
        if self.field is not None and self.is_write:
            found["new_value"] = self.new_value, self.field.signature
        return found

    def step(
        self,
        how: str = "over",
        by: str = "line",
        timeout: float | None = None,
        *,
        skips: str | None = None,
    ) -> Stop | None:
        """Let the thread make one step, and wait until it stops again.

        This ends the current stop.  If the thread stops elsewhere first, at a breakpoint for
        example, the method returns that stop.  The new stop lasts until the next iteration.

        Args:
            how: ``"into"`` calls, ``"over"`` them, or ``"out"`` of the method.
            by: ``"line"`` or ``"instruction"``.
            timeout: seconds to wait; ``None`` waits without limit.
            skips: patterns for classes that steps into calls pass over, one a line: they end in
                what these call, unless that is passed over, too.

        Returns:
            The new stop; ``None`` if the thread has ended or the time is over, in which case the
            thread runs on.

        If the agent was attached late, probes report where lines begin in methods that were called
        after they got probes, see docs/breakpoints.md. Where the callers of a method have none, a
        step out of it ends at its end (`is_at_end`).

        Raises:
            NotAvailable: the agent was attached late, and the step is by instruction, or the stop
                is at the end of a method whose callers have no probes.
            StopOver: the thread has resumed.
            ValueError: there is no such step.
            Duplicate: the thread is being stepped already.
            RuntimeError: a ``do=`` function received this stop.  The thread resumes only when
                that function returns; use ``stop.thread.step(…, do=function)`` in it.
        """
        self._check()
        return self._vm.breakpoints.step_from(self, how, by, timeout, skips)

    # ---- the conversation ------------------------------------------------------------------

    def _check(self) -> None:
        if self._is_over:
            raise StopOver(f"{self.thread!r} has resumed from this stop at {self.where}")
        if self._borrower != threading.get_ident():
            raise StopOver(
                "this stop belongs to another Python thread; only the thread that received it can "
                "use it"
            )

    @contextmanager
    def _conversing(self) -> Iterator[None]:
        """Run the calls inside the block on the stopped thread."""
        self._check()
        session = self._vm._session
        borrowed = session.conversation
        if borrowed is self._borrowed:
            yield
            return
        with session.within(self._borrowed):
            yield

    def lend(self, function: Callable[[], T]) -> T:
        """Call a function that may use it on the calling Python thread, while its receiver waits.

        Args:
            function: the function.
        """
        receiver, self._borrower = self._borrower, threading.get_ident()
        session = self.request._vm._session
        outer = session.enter(self._borrowed)
        try:
            return function()
        finally:
            session.enter(outer)
            self._borrower = receiver

    def check_answers(self) -> None:
        """Refuse to go on where the thread still runs a call that overran its limit.

        Raises:
            CallTimeout: it does.
        """
        session = self._vm._session
        session.check_answers(self._borrowed, "a call", _GRACE)

    def foresee(self) -> None:
        """A step from here takes along what is asked for at this stop, see `ForeseenCalls`."""
        if self.foreseen is None:
            self.foreseen = ForeseenCalls(self._vm._session)
        self._borrowed.foreseen = self.foreseen.reply

    def forget_foreseen(self) -> None:
        """Use no more of the replies that came along with it: something may have changed."""
        if self.foreseen is not None:
            with self._borrowed.lock:
                self.foreseen.forget()

    def _borrow(self) -> None:
        self._borrower = threading.get_ident()
        self._vm._session.borrow(self._borrowed)

    def _release(self) -> None:
        """Let the thread resume; further calls do nothing."""
        if not self._is_over:
            with self._borrowed.lock:  # let a call of another thread finish
                self._borrowed.over = self._is_over = True
            if self._ended is not None:
                self._ended.set()
        if self._borrower == threading.get_ident():
            self._vm._session.give_back(self._borrowed)

    def _await_release(self) -> None:
        """Wait until the thread that has it lets the Java thread resume."""
        with self._borrowed.lock:
            if self._is_over:
                return
            self._ended = threading.Event()
        self._ended.wait()

    @property
    def where(self) -> str:
        """Class, method, file and line, as in a stack trace."""
        names = self.method._known
        at = f":{self._line}" if self._line is not None else ""
        return f"{names.class_name}.{names.name}({names.source_file or 'Unknown Source'}{at})"

    @escaped
    def __repr__(self) -> str:
        state = "" if self.is_waiting else ", resumed"
        return f"<Stop {self.where}{state}>"


class StopRequest:
    """A request to stop threads; base of `Breakpoint`, `Watchpoint`, `Catchpoint` and `Steps`.

    In a ``with`` block it is an iterator of `Stop`: a thread that hits it waits until the loop has
    received its stop and asks for the next one, or leaves the block.  With a function (``do=``) the
    thread waits while the function runs.  Otherwise it only counts hits.

    Attributes:
        hits: how often it was hit.
        missed: how often the thread that iterates hit it by a call of its own; such a hit cannot
            stop.
        pending_reason: says that no class of the name was loaded at the time of the request, with
            similar names, or that none of its code can have run; ``None`` otherwise, or if the VM
            had not started.
    """

    _emulated: int | None = None
    _counts_at_places = False
    """Whether the agent counts hits wherever it decides the condition, see `Breakpoint`."""
    _also = 0
    """Further threads that stop, as `Within` has them."""

    def __init__(
        self,
        vm: VM,
        *,
        when: str | Callable[[Stop], object] | None,
        hits: int | str | None,
        thread: Thread | Iterable[Thread] | None,
        caller: str | Iterable[str] | Method | None,
        do: Callable[[Stop], object] | None,
        max_pause: float | None = None,
    ) -> None:
        if do is not None and not callable(do):
            raise TypeError(f"do= must be callable, not {type(do).__name__}")
        if isinstance(when, str):
            when = ControllerCondition(vm, when)
        if when is not None and not callable(when):
            raise TypeError(f"when= must be callable or a text, not {type(when).__name__}")
        self._vm = vm
        self._when = when
        self._do = do
        self._max_pause = max_pause
        self._every, self._after = _every_and_after(hits)
        self._passes = 0
        self._threads = _threads(thread)
        self._callers = _callers(caller)
        self.hits = 0
        self.missed = 0
        self.pending_reason: str | None = None
        self._waited = 0
        self._changed = threading.Condition()
        self._arrived: deque[Stop] = deque()
        self._current: Stop | None = None
        self._block: int | None = None
        self._queue: StopQueue | None = None
        self._numbers: dict[int, tuple[Env, Event]] = {}
        self._cancelled = False
        self._probes: StopProbes | None = None
        self._event: Event = Event.BREAKPOINT

    # ---- in the agent ----------------------------------------------------------------------

    def _make(self, event: Event, *, kinds: int = 0, classes: str | None = None) -> int:
        """Make a request in the agent, enabled and without a place; return its number."""
        vm = self._vm
        table = vm.breakpoints
        env = table.environment(*EVENTS[event].declaration.capabilities, *_ALSO.get(event, ()))
        filters = event not in _OF_CLASSES
        in_agent = (self._when is None or self._counts_at_places) and filters
        table.open()
        agent = AgentOperations(vm._session, env._number)
        number = agent.create_stop_request(
            event,
            table.env._number,
            self._every if in_agent else 1,
            self._after if in_agent else 0,
            kinds | self._also,
            list(self._threads) if filters else [],
            self._callers if filters else None,
            classes,
        )
        self._numbers[number] = env, event
        table.by_number[number] = self
        try:
            if event is not Event.SINGLE_STEP:  # the agent enables it per thread
                table.enabling.enable(env, EVENTS[event].declaration, None)
        except BaseException:
            self._unmake(number, enabled=False)
            raise
        return number

    def _make_probes(
        self, event: Event, probes: Sequence[Probe], classes: str | None = None
    ) -> None:
        """Make a request in the agent that probes of its own stop threads for."""
        self._event = event
        self._emulated = self._make_emulated(event, classes)
        env, _ = self._numbers[self._emulated]
        self._probes = StopProbes(
            self._vm, env._number, self._emulated, probes, max_pause=self._max_pause
        )

    def _make_emulated(self, event: Event, classes: str | None = None) -> int:
        """Make a request in the agent whose threads are stopped by probes; return its number."""
        vm = self._vm
        table = vm.breakpoints
        table.open()
        env = table.env
        in_agent = self._when is None
        number = AgentOperations(vm._session, env._number).create_stop_request(
            event,
            env._number,
            self._every if in_agent else 1,
            self._after if in_agent else 0,
            self._also,
            list(self._threads),
            self._callers,
            classes,
        )
        self._numbers[number] = env, event
        table.by_number[number] = self
        return number

    @property
    def is_emulated(self) -> bool:
        """Whether probes stand in for it, because the agent was attached late."""
        return self._probes is not None

    @property
    def running(self) -> dict[str, int]:
        """The number of threads in calls of methods at the time when these got probes.

        Such a call does not stop before the method's next call. Empty where the VM itself stops
        threads.
        """
        return {} if self._probes is None else dict(self._probes.running)

    def _is_place(self, method: Any) -> bool:
        """Whether a probe in a method, which may have a namesake, is of this request."""
        return True

    def _about_probe(self, probed: ProbedFrame) -> dict[str, Any]:
        """The attributes of a stop at a probe, from the values before the variables."""
        return {}

    def _unmake(self, number: int, enabled: bool = True) -> None:
        found = self._numbers.pop(number, None)
        self._vm.breakpoints.by_number.pop(number, None)
        if found is None or self._vm.closed:
            return
        env, event = found
        try:
            AgentOperations(self._vm._session, env._number).remove_stop_request(number)
            if enabled and event is not Event.SINGLE_STEP and number != self._emulated:
                self._vm.breakpoints.enabling.disable(env, EVENTS[event].declaration, None)
        except (SessionClosed, TargetLost) as error:
            log.debug("%r ends with the session: %s", self, error)

    def _warn_if_not_loaded(self, classes: str, meant: str | None = None) -> None:
        """Warn once if no class of the name is loaded: it may be misspelt.

        Args:
            classes: the name, or a pattern.
            meant: the patterns that it stands for, if it is no name of a class.
        """
        if not self._vm._session.live:
            return
        loaded = self._vm.classes
        meant = meant or classes
        if is_pattern(meant):
            if any(map(matcher(meant), loaded.names().names)):
                return
        elif meant in loaded:
            return
        near = [] if is_pattern(classes) else loaded.near(classes)
        hint = f"; similar names that are: {', '.join(near)}" if near else ""
        names = ", ".join(map(repr, classes.split("\n")))
        self.pending_reason = f"no class {names} is loaded yet{hint}"
        level = logging.WARNING if near else logging.INFO
        log.log(level, "%s pending: %s", type(self).__name__.lower(), self.pending_reason)

    def _agent(self, number: int) -> AgentOperations:
        env, _ = self._numbers[number]
        return AgentOperations(self._vm._session, env._number)

    def cancel(self) -> None:
        """Remove the request and let its waiting threads resume; further calls do nothing."""
        with self._changed:
            self._cancelled = True
            self._changed.notify_all()
        self._release_all()
        for number in list(self._numbers):
            self._unmake(number)
        if self._vm.closed:
            return
        self._vm.breakpoints.forget_steps(
            self, () if self._probes is None else self._probes.class_names
        )
        if self._probes is not None:
            self._probes.close()

    @property
    def is_active(self) -> bool:
        """Whether it is in effect: not cancelled, and the session is open."""
        return not self._cancelled and not self._vm.closed

    # ---- for the loop ------------------------------------------------------------------

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
        """Let the thread of the last stop resume, and wait for the next stop.

        Args:
            timeout: seconds to wait; ``None`` waits without limit.

        Returns:
            The stop; ``None`` if the time is over, the request was cancelled, or the JVM has ended.
        """
        self._check_block()
        self._resume()
        return self._take(timeout)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for a hit since the last call of this method.

        Args:
            timeout: seconds to wait; ``None`` waits without limit.

        Returns:
            Whether there was one; false if the time is over, the request was cancelled, or the JVM
            has ended.
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
            raise RuntimeError("the do= function receives the stops: do= and iteration exclude "
                               "each other")  # fmt: skip
        if self._block is None:
            raise RuntimeError(
                "iterate in a `with` block, whose end lets the threads resume: "
                "`with … as stops: for stop in stops: …`"
            )

    def _resume(self) -> None:
        """Let the thread of the last stop resume."""
        if self._current is not None:
            self._current._release()
            self._current = None

    def _take(self, timeout: float | None, thread: Thread | None = None) -> Stop | None:
        """Wait for the next stop and lend it to the caller; of one thread, until that one ends."""
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
        """Whether a stop has arrived; drops those that have been released since."""
        while self._arrived and not self._arrived[0].is_waiting:
            self._arrived.popleft()
        return bool(self._arrived)

    def _wait(self, until: float | None) -> bool:
        """Wait for a change; false if the time is over, or nothing can come any more."""
        left = CHECK_EVERY if until is None else min(until - time.monotonic(), CHECK_EVERY)
        if left <= 0 or self._cancelled:
            return False
        if not self._changed.wait(left):
            session = self._vm._session
            return not session.has_ended()
        return self.is_active or bool(self._arrived)

    def _release_all(self) -> None:
        self._resume()
        with self._changed:
            waiting = list(self._arrived)
            self._arrived.clear()
        for stop in waiting:
            stop._release()

    # ---- for threads that hit it ----------------------------------------------------------

    def _matches(self, stop: Stop) -> bool:
        """Evaluate what the agent leaves to the controller: the condition, and then hit counts."""
        if self._when is None:
            return True
        return bool(self._holds_at(stop)) and self._counts(stop)

    def _counts(self, stop: Stop) -> bool:
        """Whether a hit whose condition holds is one of those that it is for."""
        with self._changed:
            self._passes += 1
            beyond = self._passes - self._after
        return beyond == 1 if self._every == 0 else beyond > 0 and beyond % self._every == 0

    def _holds_at(self, stop: Stop) -> object:
        """Whether the condition holds, as far as it is for the controller to say."""
        assert self._when is not None
        return self._when(stop)

    def _receive_in(self, queue: StopQueue) -> None:
        """Leave the stops to a queue from now on.

        Raises:
            RuntimeError: they go to a function or a loop already.
        """
        with self._changed:
            if self._do is not None or self._block is not None or self._queue not in (None, queue):
                raise RuntimeError(f"the stops of {self!r} go elsewhere already")
            self._queue = queue

    def _offer(self, stop: Stop) -> bool:
        """Leave a stop to the loop or the queue; false if there is none."""
        if self._queue is not None:
            self._pass()
            return not self._cancelled and self._queue._offer(stop)
        with self._changed:
            self.hits += 1
            offered = self._block is not None and not self._cancelled
            if offered and self._block == threading.get_ident():
                offered = False
                self.missed += 1
                log.warning(
                    "%r: the thread that iterates over the stops hit it by a call of its own, so "
                    "it did not stop; make the call from another thread, or use do=",
                    self,
                )
            if offered:
                self._arrived.append(stop)
            self._changed.notify_all()
        return offered

    def _pass(self) -> None:
        """Count a hit whose stop goes to another request."""
        with self._changed:
            self.hits += 1
            self._changed.notify_all()

    def _class_prepared(self, cls: Class) -> None:
        """A class that it waits for has been prepared."""

    def _class_redefining(self, cls: Class) -> None:
        """A class with one of its places is about to be redefined."""

    def _went_live(self) -> None:
        """The VM is live: look for classes that were prepared before."""

    def _hit(self, stop: Stop) -> bool:
        """A thread has hit it; return whether a loop will release it later."""
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
            stop._release()
        return False

    @escaped
    def __repr__(self) -> str:
        state = "cancelled" if self._cancelled else quantity(self.hits, "hit")
        return f"<{type(self).__name__} {self._described()}, {state}>"

    def _described(self) -> str:
        return ""


def is_pattern(name: str) -> bool:
    """Whether a class name is a shell pattern, or several on lines of their own."""
    return any(character in name for character in "*?[\n")


def _until(timeout: float | None) -> float | None:
    return None if timeout is None else time.monotonic() + timeout


def _is_alive(thread: Thread) -> bool:
    return bool(thread.state & ThreadState.ALIVE)


def _every_and_after(hits: int | str | None) -> tuple[int, int]:
    """The period of hits that count, 0 for the first of them alone, and how many to skip first.

    Raises:
        ValueError: the value is neither a number nor such a text.
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
        if kind == "only" and 0 < number < 1 << 63:
            return 0, number - 1
    raise ValueError(
        f'hits= takes a positive number, "every 10", "after 10" or "only 10", not {hits!r}'
    )


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
    """Patterns, one per line, for class and name of the calling method."""
    if caller is None:
        return None
    if isinstance(caller, refs.Method):
        method: Any = caller
        return f"{method.class_name}.{method.name}"
    patterns = [caller] if isinstance(caller, str) else list(caller)
    if not patterns or not all(isinstance(one, str) and one.strip() for one in patterns):
        raise TypeError('caller= takes a method, or patterns such as "com.acme.Order.*"')
    return "\n".join(patterns)


__all__ = ["CHECK_EVERY", "Stop", "StopRequest", "is_pattern"]
