"""A session: this process's stay on one JVM, over one connection to its agent.

It opens a channel for each Python thread that calls, keeps the books of handles, and turns the
statuses of replies into exceptions.
"""

from __future__ import annotations

import logging
import math
import os
import select
import socket
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from jvmti.interface.capabilities import why_not_given
from jvmti.interface.declaration import Declaration
from jvmti.interface.errors import (
    HAS_NOT_BEGUN,
    CallTimeout,
    Error,
    ErrorCode,
    HandlerOverran,
    InHeapCallback,
    JavaException,
    LeavingFrame,
    NotInThisVersion,
    ProtocolError,
    SessionClosed,
    StopOver,
    TargetLost,
    error_for,
)
from jvmti.interface.frozen import frozen
from jvmti.interruption import apart
from jvmti.target.errors import AttachError
from jvmti.target.hotspot import peer_credentials
from jvmti.target.processes.limits import FRESH, shortage
from jvmti.target.processes.procfs import ProcessHandle
from jvmti.wire import protocol
from jvmti.wire.channel import HEADER, Channel, Frame, Request, ThreadChannel
from jvmti.wire.codecs import U64, codec_of
from jvmti.wire.openings import Openings
from jvmti.wire.ownership import RELEASE, Ownership
from jvmti.wire.protocol import Flag, Kind, Status
from jvmti.wire.services import Services

log = logging.getLogger("jvmti")

GREETING = protocol.GREETING.struct
_SALUTE = protocol.SALUTE.struct
_GRACE = 0.1
"""How long a call waits for the late reply of the one before it on the same channel, in seconds."""

_PATIENCE = 2.0
"""The same for a call in a handler, which may follow one with a limit by design."""

_MOST_RELEASED = protocol.LIMITS.REQUEST // RELEASE.size * RELEASE.size
"""Bytes of releases that fit into one frame."""

# Every call uses these, and looking up a member of an enumeration, and its number, is slower.
_CALL, _RELEASE, _MALFORMED = int(Kind.CALL), int(Kind.RELEASE), int(Kind.MALFORMED)
_HANDLER_OVERRAN = int(Status.HANDLER_OVERRAN)
_ANSWER = int(Kind.ANSWER)
_EMPTY_ANSWER = HEADER.pack(0, _ANSWER, 0, 0, 0, 0, 0)[:-4]
_new = tuple.__new__

_GONE_WITHIN = 0.25
"""How long after one channel the first connection may end where both do, in seconds."""

_sessions: set[weakref.ref[Session]] = set()
"""The sessions that a forked child has copies of. Not a `WeakSet`, whose callbacks are Python code
and would lose Ctrl-C; see `jvmti.wire.ownership`."""


_HOW_TO_AGREE = "restart the target, or use the version of jvmti that loaded the agent"


def _never() -> bool:
    return False


class Conversation:
    """The conversation of a handler: its calls go this way, to the thread that caused the event."""

    __slots__ = ("channel", "ended", "number", "stopped")

    def __init__(self, channel: Channel, number: int, stopped: bool = False) -> None:
        self.ended = False
        """A call has ended it; it needs no answer."""
        self.channel = channel
        self.number = number
        self.stopped = stopped
        """The VM is stopped, so nothing can be released."""


class BorrowedConversation(Conversation):
    """A conversation that another Python thread carries on while its own waits.

    Calls in it, and taking it back, hold the lock, so that no two threads use its channel at
    once.
    """

    __slots__ = ("foreseen", "lender", "lock", "outer", "over")

    def __init__(self, lender: Conversation, lock: threading.RLock) -> None:
        super().__init__(lender.channel, lender.number)
        self.lender = lender
        self.lock = lock
        """One lock for all borrowers of the conversation."""
        self.outer: Conversation | None = None
        """The borrower's conversation before."""
        self.over = False
        """The owner has taken it back."""
        self.foreseen: Callable[[Request], Frame | None] | None = None
        """Gives the replies of requests that have come already."""


class _Local(threading.local):
    """The state of a session in each Python thread."""

    own: ThreadChannel | None = None
    conversation: Conversation | None = None


@frozen
class Greeting:
    """The agent's greeting when it connects."""

    version: int
    """The VM's JVM TI version number."""
    digest: bytes
    """The digest of the interface that the agent was built from."""
    pid: int
    """The JVM's process id, as it sees itself."""
    held: bool
    """The VM waits in the OnLoad phase."""
    token: str


class Session:
    """One controller's stay on one JVM.

    Args:
        connected: the socket to the agent.
        classes: the class of handle for each kind; see `jvmti.refs`.
        timeout: seconds for the greeting.
        digest: the interface that the agent must have been built from; None takes any.
        checked: when the target had the resources for a first channel, by `time.monotonic`.
    """

    def __init__(
        self,
        connected: socket.socket,
        classes: dict[int, Any],
        *,
        timeout: float = 10.0,
        digest: bytes | None = None,
        checked: float = -math.inf,
    ) -> None:
        self.classes = classes
        self.control = Channel(connected)
        self.control_lock = threading.Lock()
        self.timeout: float | None = None
        """The time limit of calls that do not set their own, in seconds."""
        self.closed: str | None = None
        self.detached = False
        """This side closed the session."""
        self.identify: Callable[[Any], Any] | None = None
        self.same: Callable[[Any, Any], bool] | None = None
        self.describe_exception: Callable[[Any], tuple[str, str | None]] | None = None
        self.services = Services()
        """The services that upper layers provide to lower ones."""
        self.overrides: dict[tuple[int, str], Callable[[Any, tuple[Any, ...]], Any]] = {}
        """Replacements of functions of environments, by the environment's number and their name.

        It takes the environment and the arguments.
        """
        self.openings = Openings()
        """The handlers of conversations that the agent begins."""
        self.expects_events: Callable[[], bool] = _never
        """Whether events call functions, possibly in the middle of any call."""
        self.live = False
        """The VM is live: there are service threads."""
        self.running: list[Channel] = []
        """Abandoned channels: a call on them did not return."""
        self._attended: set[Channel] = set()
        """The abandoned channels that a thread waits for."""
        self.ownership = Ownership(self, classes)
        self.wrap = self.ownership.wrap
        self.wrap_all = self.ownership.wrap_all
        self.wrap_again = self.ownership.wrap_again
        self._lock = threading.Lock()
        self._local = _Local()
        self._opened: list[weakref.ref[Channel]] = []
        self._stored: dict[int, Any] = {}
        self._next_token = 1
        self._process = os.getpid()
        self._checked = checked
        # Asked now: another thread may close the connection while one opens a channel.
        self._target = peer_credentials(self.control.socket)[0]
        self.greeting = self._greet(timeout)
        self.held = self.greeting.held
        self.live = not self.held
        self.control.answer = self.answer
        if digest is not None and self.greeting.digest != digest:
            self.control.close()
            raise ProtocolError(
                "the agent in the target announces the interface version of this package "
                f"({protocol.VERSION}), but its declarations differ: one of the two is a build "
                f"between releases; {_HOW_TO_AGREE}"
            )
        _sessions.difference_update([one for one in list(_sessions) if one() is None])
        _sessions.add(weakref.ref(self))

    # ---- the first connection --------------------------------------------------------------

    def _greet(self, timeout: float) -> Greeting:
        try:
            _, reply = self.control._receive(time.monotonic() + timeout)
        except CallTimeout:
            self.control.close()
            raise TargetLost(f"the agent did not greet within {timeout:g} s") from None
        payload = reply.payload
        # The beginning of the greeting of any version.
        salute = payload[: _SALUTE.size].ljust(_SALUTE.size, b"\0")
        magic, version = _SALUTE.unpack(salute)
        if reply.kind != Kind.GREETING or magic != protocol.MAGIC:
            self.control.close()
            raise ProtocolError("what answered is not an agent of this package")
        if version != protocol.VERSION:
            self.control.close()
            age = "an older" if version < protocol.VERSION else "a newer"
            raise ProtocolError(
                f"the agent in the target is from {age} version of jvmti than this package "
                f"(interface {version}, and {protocol.VERSION} here); {_HOW_TO_AGREE}"
            )
        if len(payload) < GREETING.size:
            self.control.close()
            raise ProtocolError("the agent's greeting is too short")
        _, _, digest, vm, pid, held, length = GREETING.unpack_from(payload)
        token = bytes(payload[GREETING.size : GREETING.size + length]).decode()
        return Greeting(vm, digest, pid, bool(held), token)

    def hello(self, name: str, timeout: float = 10.0) -> None:
        """Introduce ourselves: a name for others to read, and a descriptor of our process."""
        descriptor: int | None
        try:
            descriptor = os.pidfd_open(os.getpid())
        except (OSError, AttributeError):
            descriptor = None  # an older kernel; the end of the connection shows it as well
        try:
            self.control.request(
                Request(
                    Kind.HELLO,
                    payload=name.encode()[:250],
                    name="hello",
                    timeout=timeout,
                    descriptor=descriptor,
                )
            )
        finally:
            if descriptor is not None:
                os.close(descriptor)

    # ---- channels --------------------------------------------------------------------------

    def channel(self, timeout: float | None = None) -> Channel:
        """The calling thread's channel, opened at its first call."""
        own = self._local.own
        if own is not None:
            channel = own.channel
            if channel.broken is None:
                if not channel.late or channel.settle(_GRACE):
                    return channel
                # A call of this thread is still running in the VM: leave it its channel.
                own.leave()
                self.running.append(channel)
                log.warning("still running in the VM: %s", ", ".join(channel.late.values()))
        self.check_open()
        channel = self.open(timeout)
        self._local.own = ThreadChannel(channel)
        return channel

    def open(self, timeout: float | None = None, *, events: bool = False) -> Channel:
        """A new channel: to a service thread of its own, or an idle one for ``events``."""

        def ask(descriptor: int) -> None:
            # A new one takes a descriptor of the target, and a thread.
            checked, self._checked = self._checked, -math.inf
            if events or time.monotonic() - checked > FRESH:
                self._check_resources(2, 0 if events else 2)
            with self.control_locked(timeout):
                reply = self.control.request(
                    Request(
                        Kind.OPEN,
                        name="opening a channel",
                        timeout=10.0 if timeout is None else timeout,
                        flags=Flag.EVENTS if events else 0,
                        descriptor=descriptor,
                    )
                )
            if reply.status == ErrorCode.OUT_OF_MEMORY:
                self._check_resources(2, 2)
                raise error_for(
                    reply.status,
                    None,
                    "the target has no memory, descriptor or thread left for a channel; channels "
                    "that are open go on",
                )
            if reply.status:
                raise error_for(
                    reply.status, None, "only the first thread can call before the VM is live"
                )

        try:
            # An interruption in the middle of the first connection would end the session.
            return apart(lambda: self._open(ask))
        except TargetLost as lost:
            if self.closed is None:
                self.closed = str(lost)
            elif self.detached:
                raise SessionClosed(self.closed) from None
            raise

    def _check_resources(self, descriptors: int, threads: int) -> None:
        """Raise OutOfMemory if the target lacks the resources for another channel."""
        try:
            with ProcessHandle(self._target) as handle:
                why = shortage(handle, descriptors, threads)
        except AttachError:
            return  # not visible from here, or ended: the request will show
        if why is not None:
            raise error_for(
                ErrorCode.OUT_OF_MEMORY,
                None,
                f"no channel for this thread: the target has {why}. Open channels still work",
            )

    def open_with(
        self, declaration: Declaration, environment: int, payload: bytes, timeout: float | None
    ) -> Channel:
        """A new channel; a call takes its other end to the agent."""

        def ask(descriptor: int) -> None:
            self.call_encoded(declaration, environment, payload, timeout, descriptor)

        return self._open(ask)

    def _open(self, ask: Callable[[int], None]) -> Channel:
        """A channel whose other end ``ask`` passes to the agent."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            ask(theirs.fileno())
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        channel = Channel(ours)
        channel.answer = self.answer
        with self._lock:
            self._opened = [one for one in self._opened if one() is not None]
            self._opened.append(weakref.ref(channel))
        return channel

    @property
    def channels(self) -> list[Channel]:
        """The open channels beside the first, without the abandoned ones."""
        return [channel for channel in (one() for one in self._opened) if channel is not None]

    def adopt(self, channel: Channel | None) -> None:
        """Route the calling thread's calls over a channel; ``None`` restores its own."""
        self._local.own = None if channel is None else ThreadChannel(channel)

    def await_live(self, timeout: float | None) -> None:
        """Wait until a held VM is live, and handle its events meanwhile.

        Raises:
            CallTimeout: it is not live in time.
            TargetLost: it ended before it was live.
        """
        with self.control_locked(timeout):
            try:
                self.control.wait_for(Kind.LIVE, timeout)
            except CallTimeout:
                raise CallTimeout("proceed()", timeout, outcome="the VM is not live yet") from None
            except TargetLost as lost:
                self.closed = str(lost)
                raise
        self.live = True

    def answer(self, channel: Channel, frame: Frame) -> None:
        """Carry on the conversation that a frame begins: handle it on this thread and answer."""
        local = self._local
        outer = local.conversation
        local.conversation = Conversation(channel, frame.conversation)
        payload = b""
        try:
            payload = self.openings.handle(frame.status, frame.environment, frame.payload)
        finally:
            local.conversation = outer
            try:
                channel.send_answer(self.answer_frame(frame.conversation, payload))
            except TargetLost as lost:
                log.debug("no answer: %s", lost)

    def converse(self, channel: Channel) -> Conversation:
        """Route the calling thread's calls through conversations of a channel from now on, the one
        whose number the returned object has.
        """
        self._local.conversation = conversation = Conversation(channel, 0)
        return conversation

    @property
    def conversation(self) -> Conversation | None:
        """The conversation of the calling thread's calls; ``None`` for a channel of its own."""
        return self._local.conversation

    def borrow(self, borrowed: BorrowedConversation) -> None:
        """Route the calling thread's calls through another thread's conversation from now on."""
        borrowed.outer = self._local.conversation
        self._local.conversation = borrowed

    def give_back(self, borrowed: BorrowedConversation) -> None:
        """Restore the route of the calling thread's calls; repeating it does nothing."""
        borrowed.over = True
        inner: BorrowedConversation | None = None
        conversation = self._local.conversation
        while isinstance(conversation, BorrowedConversation):
            if conversation is borrowed:
                if inner is None:
                    self._local.conversation = borrowed.outer
                else:
                    inner.outer = borrowed.outer
                return
            inner, conversation = conversation, conversation.outer

    def enter(self, conversation: Conversation | None) -> Conversation | None:
        """Route the calling thread's calls through a conversation; return that before."""
        local = self._local
        outer, local.conversation = local.conversation, conversation
        return outer

    @contextmanager
    def within(self, conversation: Conversation | None) -> Iterator[None]:
        """The calling thread's calls belong to this conversation inside the block."""
        outer = self.enter(conversation)
        try:
            yield
        finally:
            self.enter(outer)

    def answer_frame(self, conversation: int, payload: bytes) -> bytes:
        """The frame that ends a conversation, after the releases that are due."""
        before = self._releases() if self.ownership.owes() else b""
        if payload or before:
            return before + HEADER.pack(len(payload), _ANSWER, 0, 0, 0, 0, conversation) + payload
        return _EMPTY_ANSWER + conversation.to_bytes(4, "little")

    @contextmanager
    def control_locked(self, timeout: float | None) -> Iterator[None]:
        """The control connection for this thread alone.

        Raises:
            CallTimeout: another thread keeps it; before the VM is live, only one of its threads
                serves requests, and Python threads queue for it.
        """
        if not self.control_lock.acquire(timeout=30.0 if timeout is None else timeout):
            raise CallTimeout(
                timeout=timeout,
                detail="another thread is using the only thread that the VM has before it is live",
                outcome="has not begun",
            )
        try:
            yield
        finally:
            self.control_lock.release()

    # ---- calls -----------------------------------------------------------------------------

    def check_open(self) -> None:
        """Raise SessionClosed when the session is over."""
        if self.closed is not None:
            raise SessionClosed(self.closed)
        if os.getpid() != self._process:
            raise SessionClosed("this process is a fork of the one that attached; attach anew")

    def call(
        self,
        declaration: Declaration,
        environment: int,
        arguments: tuple[Any, ...],
        timeout: float | None = None,
        descriptor: int | None = None,
        flags: int = 0,
    ) -> Any:
        """Call a declared function and return its result.

        Args:
            declaration: the function.
            environment: the number of the environment that calls it.
            arguments: its arguments.
            timeout: seconds; ``None`` is the session's limit.
            descriptor: sent along; it stays open here.
            flags: of the frame; see `jvmti.wire.protocol.Flag`.

        Raises:
            Error: any of its kinds; see `jvmti.interface.errors`.
        """
        codec = declaration.codec or codec_of(declaration)
        payload = codec.encode(self, arguments)
        # Inlines the constructor and `call_encoded`, because every call comes this way.
        fields = (
            _CALL,
            declaration.number,
            environment,
            payload,
            declaration.name,
            timeout,
            flags,
            descriptor,
            None,
        )
        reply = self.request(_new(Request, fields))
        if reply.status:
            raise self.error(declaration, reply)
        return codec.decode(reply.payload, self)

    def call_encoded(
        self,
        declaration: Declaration,
        environment: int,
        payload: bytes,
        timeout: float | None,
        descriptor: int | None = None,
    ) -> Any:
        """The same with encoded arguments."""
        number, name = declaration.number, declaration.name
        reply = self.request(
            Request(_CALL, number, environment, payload, name, timeout, descriptor=descriptor)
        )
        if reply.status:
            raise self.error(declaration, reply)
        codec = declaration.codec or codec_of(declaration)
        return codec.decode(reply.payload, self)

    def begin_last(
        self, declaration: Declaration, environment: int, payload: bytes
    ) -> Callable[[], None]:
        """Send the call that ends the conversation of the calling thread, which it has borrowed.

        Args:
            declaration: the function, without a result.
            environment: the number of the environment that calls it.
            payload: the encoded arguments.

        Returns:
            What waits for the end of the call, and raises what `call` does; to be called by the
            thread that has lent the conversation. If it raises, the conversation goes on.

        Raises:
            Error: the call could not be sent.
        """
        conversation, name = self._local.conversation, declaration.name
        assert isinstance(conversation, BorrowedConversation)
        channel = conversation.channel
        request = Request(
            _CALL, declaration.number, environment, payload, name, flags=int(Flag.ENDS)
        )
        with conversation.lock:
            if conversation.over:
                raise StopOver(f"{name}(): the thread has resumed from this stop")
            if channel.late:
                self.check_answers(conversation, f"{name}()", _GRACE)
            before = self._releases() if self.ownership.owes() else b""
            sequence = channel.begin(request, before, conversation.number)

        def finish() -> None:
            reply = channel.finish(sequence)
            if reply.status == _HANDLER_OVERRAN or reply.kind == _MALFORMED:
                raise _refusal(reply, name)
            if reply.status:
                raise self.error(declaration, reply)
            conversation.over = conversation.lender.ended = True

        return finish

    def request(self, request: Request) -> Frame:
        """Send a frame on the calling thread's channel and wait for the reply."""
        if self.timeout is not None and request.timeout is None:
            request = request._replace(timeout=self.timeout)
        local = self._local
        conversation = local.conversation
        if conversation is None and not self.held:
            if self.closed is not None or self._process != os.getpid():
                self.check_open()
            # The usual case of `channel`, without the call.
            own = local.own
            if own is None or (channel := own.channel).broken is not None or channel.late:
                channel = self.channel(request.timeout)
            return self._request(channel, None, request)
        if type(conversation) is BorrowedConversation:
            with conversation.lock:
                if conversation.over:
                    self.give_back(conversation)
                    raise StopOver(f"{request.name}(): the thread has resumed from this stop")
                if conversation.foreseen is not None:
                    found = conversation.foreseen(request)
                    if found is not None:
                        return found
                if conversation.channel.late:
                    self.check_answers(conversation, f"{request.name}()", _GRACE)
                return self._request(conversation.channel, conversation, request)
        if conversation is not None:
            if conversation.channel.late:
                self.check_answers(conversation, f"{request.name}()", _PATIENCE)
            return self._request(conversation.channel, conversation, request)
        with self.control_locked(request.timeout):
            return self._request(self.control, None, request)

    def check_answers(self, conversation: Conversation, name: str, grace: float) -> None:
        """Refuse a request to a stopped thread that still runs a call which overran its limit.

        Raises:
            CallTimeout: it does; the request would wait for the end of that call.
        """
        channel = conversation.channel
        late = channel.late_in(conversation.number)
        if late and not channel.settle(grace) and (late := channel.late_in(conversation.number)):
            busy = ", ".join(f"{one}()" for one in late)
            why = f"the stopped thread still runs {busy}, and answers when that has returned"
            raise CallTimeout(name, None, why, outcome=HAS_NOT_BEGUN)

    def _request(
        self, channel: Channel, conversation: Conversation | None, request: Request
    ) -> Frame:
        before = b""
        if self.ownership.owes() and (conversation is None or not conversation.stopped):
            before = self._releases()
        try:
            number = 0 if conversation is None else conversation.number
            reply = channel.request(request, before, number)
        except (CallTimeout, KeyboardInterrupt):
            if conversation is None and self.expects_events():
                self.attend()
            raise
        except TargetLost as lost:
            if self.detached and self.closed is not None:
                raise SessionClosed(f"{request.name}(): {self.closed}") from None
            if self.closed is None and self.gone():
                self.closed = str(lost)
            if self.closed is None and conversation is not None:
                # The agent closes the channel when its thread resumes without an answer.
                raise HandlerOverran(request.name) from None
            raise
        if reply.status == _HANDLER_OVERRAN or reply.kind == _MALFORMED:
            raise _refusal(reply, request.name)
        return reply

    def gone(self) -> bool:
        """Whether the agent has left, rather than just one channel."""
        # A process that dies closes its descriptors one after the other.
        return self._ended(_GONE_WITHIN)

    def has_ended(self) -> bool:
        """Whether the agent has left by now; unlike `gone` it does not wait to be certain."""
        return self.closed is not None or self._ended(0)

    def _ended(self, timeout: float | None) -> bool:
        """Whether the first connection has ended, or does within a time in seconds."""
        try:
            poll = select.poll()
            # Data on it belongs to callers.
            poll.register(self.control.socket, select.POLLRDHUP)
            return bool(poll.poll(None if timeout is None else max(timeout, 0) * 1000))
        except (OSError, ValueError):
            return True  # it is closed already

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the connection has ended; false when the time passes first."""
        ended = self._ended(timeout)
        if ended and self.closed is None:
            self.closed = "the JVM has ended, or its agent has closed the connection"
        return ended

    def still_running(self) -> tuple[str, ...]:
        """The names of abandoned calls that still run; forgets those that have returned."""
        for channel in list(self.running):
            if channel in self._attended:
                continue
            try:
                returned = channel.settle(0)
            except Error:
                returned = True
            if returned:
                self._returned(channel)
        return tuple(name for channel in list(self.running) for name in channel.late.values())

    def _returned(self, channel: Channel) -> None:
        with self._lock:
            if channel in self.running:
                self.running.remove(channel)
            self._attended.discard(channel)
        channel.close()

    def is_attended(self, channel: Channel) -> bool:
        """Whether a thread waits for an abandoned call on it, to close it then."""
        return channel in self._attended

    def attend(self) -> None:
        """Leave this thread's channel, with its abandoned call, to a thread of its own.

        The call may cause events, which need a handler thread.
        """
        own = self._local.own
        if own is None or not own.channel.late or own.channel.broken is not None:
            return
        channel = own.channel
        own.leave()
        self._local.own = None
        self._attended.add(channel)
        self.running.append(channel)

        def wait() -> None:
            try:
                while not channel.settle(60):
                    pass
            except Error as error:
                log.debug("an abandoned call: %s", error)
            self._returned(channel)

        threading.Thread(target=wait, name="jvmti abandoned call", daemon=True).start()

    def error(self, declaration: Declaration, reply: Frame) -> Error:
        """The exception for a reply whose status is not zero."""
        status = reply.status
        name = declaration.name
        payload = bytes(reply.payload)
        if status == Status.JAVA_EXCEPTION:
            throwable = self.wrap(U64.unpack_from(payload)[0]) if len(payload) >= 8 else None
            exception = self.java_exception(throwable)
            exception.thrown = name in ("throw", "throw_new")
            return exception
        detail = payload.decode(errors="replace") if reply.flags & Flag.DETAIL else None
        if status == Status.NOT_IN_THIS_VERSION:
            return NotInThisVersion(declaration.since, name)
        if status == Status.IN_HEAP_CALLBACK:
            return InHeapCallback(name, detail)
        if status == Status.LEAVING_FRAME:
            return LeavingFrame(name)
        if status >= Status.JAVA_EXCEPTION:
            what = Status(status).name.lower().replace("_", " ")
            return ProtocolError(f"{name}(): {what}{': ' + detail if detail else ''}")
        error = error_for(status, name)
        if detail and name == "add_capabilities" and type(error).__name__ == "NotAvailable":
            return error_for(status, name, why_not_given(detail))
        if detail and type(error).__name__ == "NotAvailable":
            return error_for(status, name, detail)  # what the code may mean is not the case
        if detail:
            return error_for(status, name, f"{error.detail} [{detail}]")
        if type(error).__name__ == "MustPossessCapability" and declaration.capabilities:
            names = ", ".join(f'"{capability}"' for capability in declaration.capabilities)
            return error_for(status, name, f"needs env.add_capabilities({{{names}}})")
        return error

    def java_exception(self, throwable: Any) -> JavaException:
        """A Java exception as a Python one, with its description if available."""
        class_name, message = "java.lang.Throwable", None
        if throwable is not None and self.describe_exception is not None:
            try:
                class_name, message = self.describe_exception(throwable)
            except Error as error:
                log.debug("the exception cannot be described: %s", error)
        return JavaException(throwable, class_name, message)

    # ---- handles ---------------------------------------------------------------------------

    def _releases(self) -> bytes:
        """The frames that report releases to the agent."""
        payload = self.ownership.settle()
        if 0 < len(payload) <= _MOST_RELEASED:
            return HEADER.pack(len(payload), _RELEASE, 0, 0, 0, 0, 0) + payload
        return b"".join(
            HEADER.pack(len(piece), _RELEASE, 0, 0, 0, 0, 0) + piece
            for piece in (
                payload[i : i + _MOST_RELEASED] for i in range(0, len(payload), _MOST_RELEASED)
            )
        )

    def identity(self, item: Any) -> Any:
        """The wrapper whose handle is the object's identity while it lives."""
        if self.identify is None:
            raise SessionClosed("the session cannot compare identities yet")
        return self.identify(item)

    def same_object(self, one: Any, other: Any) -> bool:
        """Whether two handles name the same object."""
        if self.same is None or self.closed is not None:
            return False
        return self.same(one, other)

    def store(self, value: Any) -> int:
        """A token for any Python object; ``None`` is 0."""
        if value is None:
            return 0
        with self._lock:
            token = self._next_token
            self._next_token += 1
            self._stored[token] = value
        return token

    def stored(self, token: int) -> Any:
        """The object behind a token; the agent's memory may hold tokens of other sessions."""
        return self._stored.get(token)

    # ---- the end ---------------------------------------------------------------------------

    def detach(self, timeout: float = 10.0) -> None:
        """Leave: the agent undoes what this session did, and answers when all is done."""
        if self.closed is not None:
            self._close_sockets()
            return
        self.closed = "the session has been detached; attach again to go on"
        self.detached = True
        for channel in self.channels:
            channel.close()
        try:
            with self.control_locked(timeout):
                self.control.request(Request(Kind.GOODBYE, name="detach", timeout=timeout))
        except (TargetLost, CallTimeout) as error:
            log.debug("no farewell: %s", error)
        finally:
            self._close_sockets()

    def leave(self, why: str) -> None:
        """Close the session without a farewell: the agent has ended it."""
        self.closed = why
        self.detached = True
        self._close_sockets()

    def _close_sockets(self) -> None:
        for channel in [*self.channels, *self.running]:
            channel.close()
        self.control.close()
        self.ownership.forget()

    def _forked(self) -> None:
        """In a forked child: close our copies, so that the agent sees the parent's end."""
        self.closed = "this process is a fork of the one that attached; attach anew"
        for channel in [*self.channels, *self.running, self.control]:
            channel.broken = self.closed
            channel.socket.close()
        self.ownership.forget()


def _refusal(reply: Frame, name: str) -> Error:
    if reply.status == _HANDLER_OVERRAN:
        return HandlerOverran(name)
    return ProtocolError(f"{name}(): {bytes(reply.payload).decode(errors='replace')}")


def _after_fork() -> None:
    for one in _sessions:
        session = one()
        if session is not None:
            session._forked()


os.register_at_fork(after_in_child=_after_fork)
