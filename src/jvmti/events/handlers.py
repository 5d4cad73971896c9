"""Handlers: Python functions that receive events, while the thread of the event waits.

Every event is answered on the channel on which it came. If a call of this process causes it, that
is the caller's channel, and the handler runs on the Python thread that waits for the call. All
others come on the channels of a pool, each with its own Python thread; the pool grows on demand, up
to a limit.
"""

from __future__ import annotations

import logging
import struct
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

from jvmti.env.environment import Env
from jvmti.env.events import EVENTS, EventDeclaration, JvmtiEvent
from jvmti.events.enabling import Enabling
from jvmti.events.late import LateCallbacks
from jvmti.interface.constants import Event
from jvmti.interface.errors import (
    CallTimeout,
    Error,
    HandlerOverran,
    JavaException,
    OutOfMemory,
    SessionClosed,
    TargetLost,
)
from jvmti.interface.shapes import Bytes, Number, Reference, shape_of
from jvmti.layouts.conversations import OPENING
from jvmti.operations.agent import AgentOperations
from jvmti.refs import Thread
from jvmti.text.printable import escaped
from jvmti.wire import codecs

if TYPE_CHECKING:
    from jvmti.wire.channel import Channel
    from jvmti.wire.session import Session

log = logging.getLogger("jvmti")

Function = Callable[[Any], Any]

_LASTING = {"thread", "virtual_thread", "loader", "protection_domain"}
"""Attributes that often have the same value in the next event."""

OTHERS = OPENING.JNI_CALL
"""Numbers in frames from here on are not events; see `jvmti.wire.openings`."""

OWN = OPENING.OWN_WORK
"""In the number of an event: this controller's own work caused it."""

_RETRY_AFTER = 0.1
"""Seconds until a thread asks again, after the target had no channel for it."""

CLASS_FILE = b"\xca\xfe\xba\xbe"


class Unset:
    """Use the event's own time limit."""

    def __repr__(self) -> str:
        return "the event's own"


UNSET = Unset()


@dataclass
class HandlerError:
    """An exception that handlers raised at one place."""

    event: str
    """The event."""
    error: BaseException
    """The first exception raised there."""
    place: str
    """File and line."""
    count: int = 1
    """How often."""

    @escaped
    def __str__(self) -> str:
        times = "" if self.count == 1 else f" ({self.count} times)"
        return (
            f"{self.event} handler, {self.place}: {type(self.error).__name__}: {self.error}{times}"
        )


class Handler:
    """A function registered for an event; leaving its ``with`` block, or `cancel`, ends it.

    Attributes:
        env: the environment that receives the event.
        event: the event.
        function: the function to call.
        thread: the only thread whose events are handled; ``None`` for all.
        timeout: seconds that the event's thread waits for the function; ``None`` for ever.
        emulated: whether probes report the event, because the VM does not.
    """

    def __init__(
        self,
        handlers: Handlers,
        env: Env,
        declaration: EventDeclaration,
        function: Function,
        thread: Thread | None,
        timeout: float | None,
        own: bool,
    ) -> None:
        self.env = env
        self.event = declaration.constant
        self.function = function
        self.thread = thread
        self.timeout = timeout
        self.own = own
        self.emulated = False
        self._handlers = handlers
        self._active = True

    def cancel(self) -> None:
        """Stop handling events; repeating it does nothing.

        A handler that is running finishes.
        """
        if self._active:
            self._active = False
            self._handlers.remove(self)

    def __enter__(self) -> Handler:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.cancel()

    @escaped
    def __repr__(self) -> str:
        state = ", emulated" if self.emulated else ""
        state += "" if self._active else ", cancelled"
        return f"<Handler of {self.event.name}{state}>"


class _Last:
    """The last event that a thread handled.

    The next event usually has the same thread or loader, so their handles need not be released and
    received again each time; often it is equal in everything.
    """

    __slots__ = ("decoder", "env", "lasting", "payload", "thread", "values")

    def __init__(self) -> None:
        self.lasting: list[Any] = []
        self.decoder: _Decoder | None = None
        """Reads events whose parameters depend on the payload alone; the last was one."""
        self.env: Env | None = None
        self.payload = b""
        self.values: dict[str, Any] = {}
        """The values of the payload."""
        self.thread: Any = None
        """The only counted one among them."""


class _Local(threading.local):
    def __init__(self) -> None:
        self.last = _Last()


class _Decoder:
    """Reads the parameters of an event and creates the event's object."""

    def __init__(self, cls: type[JvmtiEvent]) -> None:
        declaration = cls.declaration
        self.cls = cls
        self.declaration = declaration
        shapes = [(item.name, shape_of(item.annotation)) for item in declaration.parameters]
        self.parts = [
            (name, codecs.decoder_of(shape))
            for name, shape in shapes
            if name not in declaration.answers
        ]
        self.answers = {name: shape for name, shape in shapes if name in declaration.answers}
        self.lasting = [name for name, _ in self.parts if name in _LASTING]
        self.event: Callable[[Env, bytes, Session, _Last], JvmtiEvent] = self._variable
        sizes = [shape for name, shape in shapes if name not in declaration.answers]
        if all(isinstance(shape, Reference | Number) for shape in sizes):
            self.event = self._fixed(sizes)

    def release(self, payload: bytes, session: Session) -> None:
        """Give back the handles of an event without a handler."""
        at = 0
        for _, get in self.parts:
            _, at = get(payload, at, session)

    def _variable(self, env: Env, payload: bytes, session: Session, last: _Last) -> JvmtiEvent:
        made = object.__new__(self.cls)
        values = made.__dict__
        values["env"] = env
        at = 0
        for name, get in self.parts:
            values[name], at = get(payload, at, session)
        for name in self.answers:
            values[name] = None
        last.decoder, last.lasting = None, list(map(values.get, self.lasting))
        return made

    def _fixed(self, shapes: list[Any]) -> Callable[[Env, bytes, Session, _Last], JvmtiEvent]:
        """The same for an event of handles and plain numbers, which are read in one step."""
        cls = self.cls
        new = object.__new__
        unpack = struct.Struct(
            "<" + "".join("Q" if isinstance(one, Reference) else one.code for one in shapes)
        ).unpack
        named = [
            (name, isinstance(shape, Reference))
            for (name, _), shape in zip(self.parts, shapes, strict=True)
        ]
        counted = [
            name
            for (name, is_handle), shape in zip(named, shapes, strict=True)
            if is_handle and not shape.python.LASTING
        ]
        repeats = counted in (["thread"], ["virtual_thread"])

        def event(env: Env, payload: bytes, session: Session, last: _Last) -> JvmtiEvent:
            made = new(cls)
            if (
                last.payload == payload
                and last.decoder is self
                and last.env is env
                and session.wrap_again(last.thread)
            ):
                made.__dict__.update(last.values)  # the class is frozen
                return made
            values = made.__dict__
            values["env"] = env
            wrap = session.wrap
            for (name, is_handle), value in zip(named, unpack(payload), strict=True):
                values[name] = (wrap(value) if value else None) if is_handle else value
            if repeats and values[counted[0]] is not None:
                last.decoder, last.env, last.payload = self, env, payload
                last.values, last.thread, last.lasting = values.copy(), values[counted[0]], []
            else:
                last.decoder, last.lasting = None, list(map(values.get, self.lasting))
            return made

        return event

    def checked(self, answer: Any) -> Any:
        """Check the answer of a handler, ``None`` for none.

        Raises:
            TypeError: it is of another type.
            ValueError: the event does not accept it.
        """
        if answer is None or not self.answers:
            return None
        [(name, shape)] = self.answers.items()
        if isinstance(shape, Bytes):
            if not isinstance(answer, bytes | bytearray | memoryview):
                raise TypeError(f"{name} must be bytes or None, not {type(answer).__name__}")
            data = bytes(answer)
            if data[:4] != CLASS_FILE:
                raise ValueError(f"{name} is not a class file: it does not begin with 0xCAFEBABE")
            return data
        if not isinstance(answer, int) or isinstance(answer, bool) or not 0 < answer < 1 << 64:
            raise TypeError(f"{name} must be an address (int) or None, not {answer!r}")
        return answer

    def encoded(self, answer: Any) -> bytes:
        if answer is None:
            return b"\0"
        if isinstance(answer, bytes):
            return b"\1" + codecs.U32.pack(len(answer)) + answer
        return b"\1" + codecs.U64.pack(answer)


class _Plan:
    """The functions called for an event of an environment."""

    __slots__ = ("decoder", "env", "functions")

    def __init__(
        self, decoder: _Decoder, env: Env, functions: tuple[tuple[Function, Thread | None], ...]
    ) -> None:
        self.decoder = decoder
        self.env = env
        self.functions = functions
        """Functions, and the only thread whose events each receives."""


class Handlers:
    """All handlers of a session.

    Attributes:
        limit: how many handlers may run side by side, not counting calls of this process.
        errors: what handlers raised, by place.
        stops: whether there are stop requests, which the agent reports like events.
    """

    def __init__(self, session: Session, enabling: Enabling) -> None:
        self.limit = 16
        self.errors: dict[tuple[Any, ...], HandlerError] = {}
        self.stops = False
        self._session = session
        self._enabling = enabling
        self._lock = enabling.lock
        self._handlers: dict[tuple[int, int], tuple[Handler, ...]] = {}
        self._callbacks: dict[tuple[int, int], Function] = {}
        self._late: dict[int, LateCallbacks] = {}
        self._decoders: dict[int, _Decoder] = {}
        self._plans: dict[tuple[int, int], _Plan] = {}
        self._local = _Local()
        self._pool = 0
        self._busy: set[int] = set()
        session.expects_events = lambda: self.any
        session.openings.register(range(OTHERS), self.handle)

    @property
    def any(self) -> bool:
        """Whether anything receives events."""
        return bool(self._handlers or self._callbacks or self.stops)

    # ---- registration ----------------------------------------------------------------------

    def on(
        self,
        env: Env,
        event: Event | str,
        function: Function,
        thread: Thread | None = None,
        timeout: float | Unset | None = UNSET,
        own: bool = False,
        max_pause: float | None = None,
    ) -> Handler:
        """Register a function for an event and enable the event; see `Env.on`."""
        declaration = _answerable(event, function)
        limit = declaration.limit if isinstance(timeout, Unset) else timeout
        if limit is not None and limit <= 0:
            raise ValueError(f"the timeout must be positive or None, not {limit!r}")
        made = Handler(self, env, declaration, function, thread, limit, own)
        key = (env._number, declaration.number)
        with self._lock:
            self._handlers[key] = (*self._handlers.get(key, ()), made)
            try:
                self.open_pool()
                self._send(env, declaration)
                made.emulated = self._enabling.is_scoped(env, declaration)
                self._enabling.enable(env, declaration, thread, max_pause=max_pause)
            except BaseException:
                self._forget(made)
                raise
        return made

    def remove(self, handler: Handler) -> None:
        """Remove a handler, and disable its event if it was the last."""
        # What this thread caches of its last event, such as a loader, is for the next one.
        self._local.last = _Last()
        declaration = EVENTS[int(handler.event)].declaration
        with self._lock:
            self._forget(handler)
            self._enabling.disable(handler.env, declaration, handler.thread)
            if self._session.closed is not None:
                return
            try:
                self._send(handler.env, declaration)
            except (SessionClosed, TargetLost):
                pass
            except Error as error:
                log.debug("no more handlers of %s: %s", declaration.name, error)

    def set_callbacks(self, env: Env, callbacks: Mapping[Event | str, Function] | None) -> None:
        """Set the functions of an environment, all at once; see `Env.set_event_callbacks`."""
        wanted: dict[int, Function] = {}
        late: dict[int, Function] = {}
        for event, function in (callbacks or {}).items():
            declaration = declaration_of(event)
            _check_callable(function, "callback")
            (late if declaration.vm_stopped else wanted)[declaration.number] = function
        before_late = self._late.pop(env._number, None)
        if before_late is not None:
            before_late.end()
        if late:
            self._late[env._number] = LateCallbacks(self._session, self, env, late)
        with self._lock:
            before = {number for place, number in self._callbacks if place == env._number}
            for number in before:
                del self._callbacks[env._number, number]
            for number, function in wanted.items():
                self._callbacks[env._number, number] = function
            if wanted:
                self.open_pool()
            for number in before | set(wanted):
                self._send(env, EVENTS[number].declaration)

    def _forget(self, handler: Handler) -> None:
        key = (handler.env._number, int(handler.event))
        rest = tuple(one for one in self._handlers.get(key, ()) if one is not handler)
        if rest:
            self._handlers[key] = rest
        else:
            self._handlers.pop(key, None)
        self._plan(handler.env, key)

    def _plan(self, env: Env, key: tuple[int, int]) -> None:
        """Look up the functions called for an event: callbacks first."""
        environment, number = key
        handlers = self._handlers.get(key, ())
        own = [(one.function, one.thread) for one in handlers if one.own]
        functions = [(one.function, one.thread) for one in handlers]
        if key in self._callbacks:
            # As in C: they receive everything.
            functions.insert(0, (self._callbacks[key], None))
            own.insert(0, (self._callbacks[key], None))
        for sent_as, called in ((number, functions), (number | OWN, own)):
            if not called:
                self._plans.pop((environment, sent_as), None)
                continue
            self._plans[environment, sent_as] = _Plan(self._decoder(number), env, tuple(called))

    def _decoder(self, number: int) -> _Decoder:
        decoder = self._decoders.get(number)
        if decoder is None:
            decoder = self._decoders[number] = _Decoder(EVENTS[number])
        return decoder

    def _send(self, env: Env, declaration: EventDeclaration) -> None:
        """Send the agent the current handlers and limits of an event."""
        key = (env._number, declaration.number)
        self._plan(env, key)
        handlers = self._handlers.get(key, ())
        limits = [handler.timeout for handler in handlers]
        if key in self._callbacks:
            limits.append(declaration.limit)
        # They run one after the other, so the thread waits for the sum of their limits.
        limit = -1.0 if None in limits else sum(one for one in limits if one is not None)
        AgentOperations(self._session, env._number).set_event_handling(
            declaration.constant,
            bool(limits),
            key in self._callbacks or any(handler.own for handler in handlers),
            -1 if limit < 0 else max(int(limit * 1000), 1),
        )

    # ---- events ----------------------------------------------------------------------------

    def handle(self, number: int, environment: int, payload: bytes) -> bytes:
        """Call what is registered for an event, and return the encoded answer."""
        return self._handle(number, environment, payload, self._local.last)

    def _handle(self, number: int, environment: int, payload: bytes, last: _Last) -> bytes:
        plan = self._plans.get((environment, number))
        if plan is None:  # cancelled while the event was on its way
            decoder = self._decoder(number & ~OWN)
            decoder.release(payload, self._session)
            return b"\0" if decoder.answers else b""
        decoder = plan.decoder
        event = decoder.event(plan.env, payload, self._session, last)
        if decoder.answers:
            answer = None
            for function, thread in plan.functions:
                if thread is None or _of_thread(event, thread):
                    answer = self._ask(decoder, function, event, answer)
            return decoder.encoded(answer)
        for function, thread in plan.functions:
            if thread is None or _of_thread(event, thread):
                try:
                    function(event)
                except KeyboardInterrupt:
                    raise  # for the thread whose call ran into the event
                except BaseException as error:  # SystemExit too: a handler must not end this thread
                    self.report(number, error)
        return b""

    def _ask(self, decoder: _Decoder, function: Function, event: JvmtiEvent, answer: Any) -> Any:
        """Call one function; the next one sees its answer."""
        if isinstance(answer, bytes):
            replaced = object.__new__(decoder.cls)
            replaced.__dict__.update(event.__dict__, class_data=answer)
            event = replaced
        try:
            given = function(event)
            return answer if given is None else decoder.checked(given)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self.report(decoder.declaration.number, error)
            return answer

    def report(self, number: int, error: BaseException) -> None:
        """Report an exception once per place, without disturbing the program."""
        if isinstance(error, JavaException) and error.thrown:
            return  # the program gets it
        if number < OTHERS:
            number &= ~OWN
        event = EVENTS[number].declaration.name if number in EVENTS else "what the VM asked"
        closed = isinstance(error, SessionClosed) and not self._session.detached
        if (closed or isinstance(error, TargetLost)) and self._session.gone():
            log.debug("%s: the VM ended under its handler", event)
            return
        trace = traceback.extract_tb(error.__traceback__)
        last = trace[-1]
        key = (number, type(error), last.filename, last.lineno)
        with self._lock:
            known = self.errors.get(key)
            if known is not None:
                known.count += 1
                return
            place = f"{last.filename}:{last.lineno}"
            self.errors[key] = HandlerError(event, error, place)
        if self._session.detached and isinstance(error, SessionClosed):
            return  # the handler was running when the session ended
        log.error(
            "a handler of %s failed; the event continues without it",
            event,
            exc_info=error,
        )

    # ---- the pool --------------------------------------------------------------------------

    def open_pool(self) -> None:
        """Start threads that receive events, as soon as the VM allows it."""
        if self._pool == 0 and self._session.live:
            self._start(self._session.open(events=True))

    def went_live(self) -> None:
        """The VM is live: other threads than the first may report now."""
        with self._lock:
            if self.any:
                self.open_pool()

    def _start(self, channel: Channel | None) -> None:
        self._pool += 1
        threading.Thread(
            target=self._serve, args=(channel,), name=f"jvmti events {self._pool}", daemon=True
        ).start()

    def _serve(self, channel: Channel | None) -> None:
        session = self._session
        busy = self._busy
        me = threading.get_ident()
        last = self._local.last
        try:
            while session.closed is None:
                if channel is None or channel.broken is not None:
                    try:
                        channel = session.open(events=True)
                    except OutOfMemory as error:
                        log.debug("events: %s", error)
                        time.sleep(_RETRY_AFTER)
                        continue
                try:
                    self._serve_channel(channel, me, last)
                except TargetLost:
                    if session.gone():
                        return
                    # The agent closed the channel; another takes its place.
        except (SessionClosed, TargetLost, CallTimeout) as error:
            log.debug("events: %s", error)
        finally:
            busy.discard(me)
            if channel is not None:
                channel.close()
            with self._lock:
                self._pool -= 1

    def _serve_channel(self, channel: Channel, me: int, last: _Last) -> None:
        session = self._session
        busy = self._busy
        conversation = session.converse(channel)
        last_answer = b""
        while True:
            busy.discard(me)
            number, environment, conversation.number, payload = channel.next_event(last_answer)
            conversation.ended = False
            busy.add(me)
            if len(busy) == self._pool:
                self._grow()
            answer = b""
            try:
                if number < OTHERS:
                    answer = self._handle(number, environment, payload, last)
                else:
                    answer = session.openings.handle(number, environment, payload)
            except BaseException as error:
                # One bad event must not end the thread that serves all others.
                self.report(number, error)
            last_answer = b""
            if not conversation.ended:
                last_answer = session.answer_frame(conversation.number, answer)

    def _grow(self) -> None:
        """All are busy: add another one, up to the limit."""
        with self._lock:
            if len(self._busy) == self._pool < self.limit:
                self._start(None)


def declaration_of(event: Event | str | type[JvmtiEvent]) -> EventDeclaration:
    """The declaration of an event, given as constant, name or class.

    Raises:
        ValueError: there is no such event.
    """
    if isinstance(event, type) and issubclass(event, JvmtiEvent):
        return event.declaration
    if isinstance(event, str):
        for cls in EVENTS.values():
            if event in (cls.__name__, cls.declaration.constant.name):
                return cls.declaration
        close = ", ".join(sorted(cls.__name__ for cls in EVENTS.values()))
        raise ValueError(f"there is no event {event!r}; the events are {close}")
    try:
        return EVENTS[int(event)].declaration
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"there is no event {event!r}") from None


def _answerable(event: Event | str, function: Function) -> EventDeclaration:
    """The declaration of an event that handlers can receive.

    Raises:
        ValueError: there is no such event, or handlers cannot answer it.
        TypeError: the function is not callable.
    """
    declaration = declaration_of(event)
    if declaration.vm_stopped:
        raise ValueError(
            f"the VM sends {declaration.name} while it is stopped and cannot wait for a "
            "handler; use env.stream()"
        )
    _check_callable(function, "handler")
    return declaration


def _check_callable(function: Function, what: str) -> None:
    if not callable(function):
        raise TypeError(f"a {what} must be callable, not {type(function).__name__}")


def _of_thread(event: JvmtiEvent, thread: Thread) -> bool:
    own = event.__dict__.get("thread", event.__dict__.get("virtual_thread"))
    return own is None or bool(own == thread)


__all__ = ["Handler", "HandlerError", "HandlerOverran", "Handlers"]
