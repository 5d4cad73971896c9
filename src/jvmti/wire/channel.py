"""A channel: one Python thread facing one thread of the JVM.

Requests carry a sequence number and so do replies.  When a call is interrupted or times out, its
reply comes later; the channel recognises it by its number, discards it and stays usable.

While a request waits, the JVM thread that serves it may cause an event: the agent then begins a
nested conversation, and `Channel.answer` carries it on and answers it.
"""

from __future__ import annotations

import math
import operator
import os
import select
import socket
import time
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

from jvmti.interface.errors import CallTimeout, ProtocolError, TargetLost
from jvmti.wire import protocol, trace
from jvmti.wire.protocol import Kind

Walk = Callable[["Channel", "Frame", "float | None"], "tuple[int, Frame]"]
"""Answers the callbacks of a heap walk from the first one on, and returns the next other frame."""

HEADER = protocol.HEADER.struct
_INBOX = 64 * 1024
_HEADER_SIZE = HEADER.size
_LONGEST = protocol.LIMITS.REQUEST
_MOST = protocol.LIMITS.REPLY
_EVENT = int(Kind.EVENT)
_CALLBACK = int(Kind.CALLBACK)
_OPENINGS = (_EVENT, _CALLBACK)
_ATOMIC = 2048
"""Bytes that the kernel accepts in one piece, however full the socket's buffer is."""
_SPIN = 30_000
"""Nanoseconds to poll for a frame before sleeping."""
_RAREST = 63
"""Waits without polling between two with, while polling does not pay."""


class Request(NamedTuple):
    """A frame that asks the agent for something, and the time limit of its reply."""

    kind: int
    """Of the frame; see `jvmti.wire.protocol.Kind`."""
    function: int = 0
    """The number of the function that is called."""
    environment: int = 0
    """The number of the environment that calls it."""
    payload: bytes = b""
    """Its arguments."""
    name: str = ""
    """The name of the call in errors."""
    timeout: float | None = None
    """Seconds to wait for the reply; ``None`` is the session's limit, or for ever without one."""
    flags: int = 0
    """Of the frame."""
    descriptor: int | None = None
    """A descriptor to send with the frame; it stays open here."""
    walk: Walk | None = None
    """Answers the callbacks of a heap walk."""


class Frame:
    """One frame from the agent."""

    __slots__ = ("conversation", "environment", "flags", "kind", "payload", "status")

    def __init__(
        self,
        kind: int,
        flags: int,
        status: int,
        environment: int,
        conversation: int,
        payload: bytes,
    ) -> None:
        self.kind = kind
        self.flags = flags
        self.status = status
        """Of a reply; the number of the event or callback in a frame that begins a conversation."""
        self.environment = environment
        self.conversation = conversation
        self.payload = payload


class _End(weakref.ref[Any]):
    """Closes a socket when its owner is collected, without Python code, which would lose Ctrl-C.

    It sends no farewell, because it may be a forked child that drops its copy here.
    """

    __slots__ = ("close",)
    close: Callable[[], None]


_close = operator.methodcaller("close")
_ends: dict[int, _End] = {}
"""Keeps the weak references to open channels alive, so that their callbacks run."""


def _closing(connected: socket.socket, with_: object) -> _End:
    end = _End(with_, _close)
    end.close = super(socket.socket, connected).close
    return end


class Channel:
    """A socket to one service thread of the agent."""

    def __init__(self, connected: socket.socket) -> None:
        if trace.FRAMES:
            connected = trace.TracedSocket(connected)
        self.socket = connected
        self.late: dict[int, str] = {}
        """Calls whose replies are still to come: what they were, by sequence number."""
        self._late_in: dict[int, int] = {}
        """The conversations that these belong to."""
        self.messages = 0
        self.bytes = 0
        self.broken: str | None = None
        self.answer: Callable[[Channel, Frame], None] | None = None
        """Carries on a conversation that the agent began, and answers it."""
        self.thread_end: _End | None = None
        """Closes it when the thread that it belongs to ends."""
        self._closer = _closing(connected, self)
        for key, end in list(_ends.items()):
            if end() is None:
                _ends.pop(key, None)
        _ends[id(self._closer)] = self._closer
        self._waited: set[int] = set()
        """Requests that wait for their replies; all but one enclose a conversation."""
        self._arrived: dict[int, Frame] = {}
        """Replies that came during a conversation within their request."""
        self._sequence = 0
        self._inbox = bytearray(_INBOX)
        self._view = memoryview(self._inbox)
        self._start = 0
        self._end = 0
        poll = select.poll()
        poll.register(connected, select.POLLIN)
        self._poll = poll.poll
        self._pause = self._skip = 0 if len(os.sched_getaffinity(0)) > 1 else math.inf
        """Waits without polling: from the last with to the next, and those still to come."""
        connected.settimeout(None)

    def close(self) -> None:
        """Close the socket; the agent's service thread ends.

        A thread that waits for a reply here is woken: closing alone would leave it waiting.
        """
        self.broken = self.broken or "the channel is closed"
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # closed already, or the other side is gone
        self.socket.close()
        _ends.pop(id(self._closer), None)

    def request(self, request: Request, before: bytes = b"", conversation: int = 0) -> Frame:
        """Send one frame and wait for its reply.

        Args:
            request: the frame.
            before: frames without a reply, sent ahead in the same piece.
            conversation: which one the request belongs to; 0 is the channel's own.

        Raises:
            CallTimeout: no reply in time; a late reply is discarded.
            TargetLost: the other side is gone.
            ValueError: its arguments are too long.
        """
        if self.broken is not None:
            raise TargetLost(self.broken)
        kind, function, environment, payload, name, timeout, flags, descriptor, walk = request
        if len(payload) > _LONGEST:
            raise ValueError(
                f"{name}(): {len(payload)} bytes of arguments; a request takes at most {_LONGEST}"
            )
        sequence = self._sequence = (self._sequence + 1) & 0xFFFFFFFF
        frame = (
            before
            + HEADER.pack(len(payload), kind, flags, function, sequence, environment, conversation)
            + payload
        )
        deadline = None if timeout is None else time.monotonic() + timeout
        self._waited.add(sequence)
        try:
            self._send(frame, descriptor, deadline)
            self.messages += 1
            self.bytes += len(frame)
            while True:
                got, reply = self._receive(deadline)
                if walk is not None and reply.kind == _CALLBACK:
                    got, reply = walk(self, reply, deadline)
                if got == sequence and reply.kind not in _OPENINGS:
                    return reply
                self._another(got, reply)
                if sequence in self._arrived:
                    return self._arrived.pop(sequence)
        except CallTimeout:
            self.late[sequence] = name
            self._late_in[sequence] = conversation
            if walk is None:
                raise CallTimeout(f"{name}()", timeout) from None
            self._abandon(sequence)
            raise CallTimeout(f"{name}()", timeout, outcome="has been ended") from None
        except (KeyboardInterrupt, SystemExit):
            if self._arrived.pop(sequence, None) is None:
                self.late[sequence] = name
                self._late_in[sequence] = conversation
                if walk is not None:
                    self._abandon(sequence)
            raise
        finally:
            self._waited.discard(sequence)

    def begin(self, request: Request, before: bytes, conversation: int) -> int:
        """Send one frame, for whose reply another thread waits by `finish`.

        Until then nobody uses the channel.

        Args:
            request, before, conversation: as for `request`; it has no time limit.

        Returns:
            What `finish` takes.

        Raises:
            TargetLost: the other side is gone.
        """
        if self.broken is not None:
            raise TargetLost(self.broken)
        kind, function, environment, payload, _, _, flags, _, _ = request
        sequence = self._sequence = (self._sequence + 1) & 0xFFFFFFFF
        head = HEADER.pack(len(payload), kind, flags, function, sequence, environment, conversation)
        frame = before + head + payload
        self._waited.add(sequence)
        try:
            self._send(frame, None, None)
        except BaseException:
            self._waited.discard(sequence)
            raise
        self.messages += 1
        self.bytes += len(frame)
        return sequence

    def finish(self, sequence: int) -> Frame:
        """Wait for the reply of a frame that `begin` has sent.

        Raises:
            TargetLost: the other side is gone.
        """
        try:
            while True:
                got, reply = self._receive(None)
                if got == sequence and reply.kind not in _OPENINGS:
                    return reply
                self._another(got, reply)
                if sequence in self._arrived:
                    return self._arrived.pop(sequence)
        finally:
            self._waited.discard(sequence)

    def _abandon(self, sequence: int) -> None:
        """Tell the agent that this side no longer answers the callbacks of a walk."""
        if self.broken is None:
            self._send(HEADER.pack(0, Kind.ABANDON, 0, 0, sequence, 0, 0), None, None)

    def _another(self, got: int, frame: Frame) -> None:
        """Handle a frame that is not the expected reply."""
        if frame.kind == _CALLBACK:
            return  # of an abandoned walk
        if frame.kind == _EVENT and self.answer is not None:
            self.answer(self, frame)
        elif got in self._waited:
            self._arrived[got] = frame
        else:
            self.late.pop(got, None)
            self._late_in.pop(got, None)

    def wait_for(self, kind: Kind, timeout: float | None) -> Frame:
        """Wait for a frame of a kind that the agent sends on its own.

        Raises:
            CallTimeout: none came in time.
            TargetLost: the other side is gone.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            got, frame = self._receive(deadline)
            if frame.kind == kind:
                return frame
            self._another(got, frame)

    def next_event(self, answer: bytes = b"") -> tuple[int, int, int, bytes]:
        """Wait for a conversation that the agent begins: its number, environment, own number and
        payload.

        Only for threads that receive no signals.

        Args:
            answer: the frame that ends the conversation before it.

        Raises:
            TargetLost: the agent has closed the channel, or is gone.
        """
        if answer:
            self.send_answer(answer)
        if self._start == self._end and len(self._inbox) <= 16 * _INBOX:
            # The usual case, kept short: a thread of the JVM waits.
            try:
                self._spin()
                received = self.socket.recv_into(self._inbox)
            except (OSError, ValueError) as error:
                raise self._lost(error) from None
            if received == 0:
                raise self._lost(None)
            if received >= _HEADER_SIZE:
                size, kind, _, number, _, environment, conversation = HEADER.unpack_from(
                    self._inbox
                )
                if kind == _EVENT and received == size + _HEADER_SIZE:
                    return (
                        number,
                        environment,
                        conversation,
                        self._view[_HEADER_SIZE:received].tobytes(),
                    )
            self._start, self._end = 0, received
        frame = self.wait_for(Kind.EVENT, None)
        return frame.status, frame.environment, frame.conversation, frame.payload

    def send_answer(self, frame: bytes) -> None:
        """Send the frame that ends a conversation, of `Session.answer_frame`; usually short."""
        self.messages += 1
        self.bytes += len(frame)
        if len(frame) > _ATOMIC:
            self._send(frame, None, None)
            return
        try:
            self.socket.send(frame)
        except OSError as error:
            raise self._lost(error) from None

    def late_in(self, conversation: int) -> list[str]:
        """The late calls of a conversation; until they return, it has no thread to serve it.

        A conversation within such a call, about an event that it ran into, is another.
        """
        late = self._late_in
        return [name for at, name in self.late.items() if late.get(at) == conversation]

    def settle(self, grace: float) -> bool:
        """Wait a moment for late replies; false when one is still missing."""
        deadline = time.monotonic() + grace
        while self.late:
            try:
                got, frame = self._receive(deadline)
            except CallTimeout:
                return False
            self._another(got, frame)
        return True

    def _send(self, frame: bytes, descriptor: int | None, deadline: float | None) -> None:
        try:
            if descriptor is None:
                if deadline is None or len(frame) <= _ATOMIC:
                    self.socket.sendall(frame)
                else:
                    self._send_until(frame, deadline)
            else:
                sent = socket.send_fds(self.socket, [frame], [descriptor])
                self.socket.sendall(frame[sent:])
        except CallTimeout:
            self.close()  # in the middle of a frame
            raise
        except OSError as error:
            raise self._lost(error) from None
        except BaseException:
            # Part of a long frame may have been sent, so nothing can follow it. A short one
            # is sent whole or not at all, so the next can follow.
            if len(frame) > _ATOMIC:
                self.close()
            raise

    def _send_until(self, frame: bytes, deadline: float) -> None:
        """Send a frame to a target that may never read it."""
        rest = memoryview(frame)
        poll = select.poll()
        poll.register(self.socket, select.POLLOUT)
        while rest:
            if not poll.poll(max(deadline - time.monotonic(), 0) * 1000):
                raise CallTimeout("the target did not read the request in time")
            try:
                rest = rest[self.socket.send(rest, socket.MSG_DONTWAIT) :]
            except BlockingIOError:
                continue

    def next_block(self, answer: bytes, deadline: float | None) -> bytes | tuple[int, Frame]:
        """Answer a block of callbacks and wait for the next; another frame ends the walk.

        A callback's own call may have received that frame already: then the agent has ended the
        walk.

        Raises:
            CallTimeout: nothing came in time.
            TargetLost: the other side is gone.
        """
        if self._arrived:
            return self._arrived.popitem()
        self.send_answer(answer)
        if deadline is None and self._start == self._end:
            # Runs as often as a walk has objects.
            self._fill_empty()
            received = self._end
            if received > _HEADER_SIZE and self._inbox[4] == _CALLBACK:
                if received == HEADER.unpack_from(self._inbox)[0] + _HEADER_SIZE:
                    self._end = 0
                    return self._view[_HEADER_SIZE:received].tobytes()
        if deadline is not None and time.monotonic() >= deadline:
            # Blocks that always come in time must not make a walk last for ever.
            raise CallTimeout("the next block comes too late")
        sequence, frame = self._receive(deadline)
        return frame.payload if frame.kind == _CALLBACK else (sequence, frame)

    def _receive(self, deadline: float | None) -> tuple[int, Frame]:
        if self._end == self._start and deadline is None:
            # Usually the last frame is used up, and the next comes whole.
            self._fill_empty()
        if self._end - self._start < _HEADER_SIZE:
            self._fill(_HEADER_SIZE, deadline)
        size, kind, flags, status, sequence, environment, conversation = HEADER.unpack_from(
            self._inbox, self._start
        )
        if size > _MOST:
            self.close()
            raise ProtocolError(f"the agent announces a frame of {size} bytes")
        whole = _HEADER_SIZE + size
        if self._end - self._start < whole:
            self._fill(whole, deadline)
        start = self._start + _HEADER_SIZE
        payload = b""
        if size:
            # A copy, because the inbox is reused while the reply may still be in use.
            payload = self._view[start : start + size].tobytes()
        frame = Frame(kind, flags, status, environment, conversation, payload)
        # From here to the waiting caller nothing is called, so that no Ctrl-C can come between.
        self._start = start + size
        return sequence, frame

    def _spin(self) -> None:
        """Poll for the other side's next frame a moment before sleeping.

        Sleeping and waking takes longer than most answers. A frame that is already there proves
        nothing; a long poll was useless, because another thread had the processor meanwhile.
        """
        if self._skip:
            self._skip -= 1
            return
        look, now = self._poll, time.monotonic_ns
        self._skip = _RAREST  # for requests of a signal handler meanwhile
        if not look(0):
            end = now() + _SPIN
            while not look(0) and now() < end:
                pass
            pause = self._pause
            self._pause = pause // 2 if now() < end else min(2 * pause + 1, _RAREST)
        self._skip = self._pause

    def _fill_empty(self) -> None:
        self._start = self._end = 0
        inbox = self._inbox
        if len(inbox) > 16 * _INBOX:
            self._resize(_INBOX)
            inbox = self._inbox
        inbox[4] = 0  # as in `_fill`
        try:
            self._spin()
            received = self.socket.recv_into(inbox)
        except (KeyboardInterrupt, SystemExit):
            if inbox[4]:
                self.close()
            raise
        except (OSError, ValueError) as error:
            raise self._lost(error) from None
        if received == 0:
            raise self._lost(None)
        self._end = received

    def _fill(self, need: int, deadline: float | None) -> None:
        if self._start == self._end:
            self._start = self._end = 0
            if len(self._inbox) > 16 * _INBOX:
                self._resize(_INBOX)
        if self._start + need > len(self._inbox):
            rest = bytes(self._view[self._start : self._end])
            if need > len(self._inbox):
                self._resize(max(need, 2 * len(self._inbox)))
            self._view[: len(rest)] = rest
            self._start, self._end = 0, len(rest)
        while self._end - self._start < need:
            if self._end == 0:
                # A frame's fifth byte is never 0, so it shows whether something has come.
                self._inbox[4] = 0
            try:
                if deadline is not None:
                    left = deadline - time.monotonic()
                    poll = select.poll()
                    poll.register(self.socket, select.POLLIN)
                    if not poll.poll(max(left, 0) * 1000):
                        raise CallTimeout("no reply in time")
                space = self._view[self._end :] if self._end else self._view
                received = self.socket.recv_into(space)
            except CallTimeout:
                raise
            except (KeyboardInterrupt, SystemExit):
                # If this was raised after bytes arrived and before their number was noted, it is
                # lost: the channel cannot go on, and the thread's next call opens another.
                if self._end > 0 or self._inbox[4]:
                    self.close()
                raise
            except (OSError, ValueError) as error:
                raise self._lost(error) from None
            if received == 0:
                raise self._lost(None)
            self._end += received

    def _resize(self, size: int) -> None:
        self._inbox = bytearray(size)
        self._view = memoryview(self._inbox)

    def _lost(self, error: Exception | None) -> TargetLost:
        reason = "the JVM has ended, or its agent has closed the connection"
        if error is not None:
            reason += f" ({error})"
        self.broken = reason
        self.socket.close()
        return TargetLost(reason)


class ThreadChannel:
    """Closes a thread's channel when the thread's locals are collected."""

    __slots__ = ("__weakref__", "channel")

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        channel.thread_end = _closing(channel.socket, self)

    def leave(self) -> None:
        """Keep the channel open: the session has taken it over, with a call running on it."""
        self.channel.thread_end = None


__all__ = ["Channel", "Frame", "ThreadChannel", "Walk"]
