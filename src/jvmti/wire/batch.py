"""Batches: several calls in one message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jvmti.interface.declaration import Declaration
from jvmti.interface.errors import Error, ErrorCode, ProtocolError, error_for
from jvmti.wire.channel import Frame, Request
from jvmti.wire.codecs import U32, codec_of
from jvmti.wire.protocol import BATCH_RESULT, BATCHED, Kind
from jvmti.wire.session import Session

_ENTRY, _RESULT = BATCHED.struct, BATCH_RESULT.struct


class Deferred:
    """The outcome of one call of a batch, available once the batch has been sent."""

    __slots__ = ("_error", "_value", "done", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.done = False
        self._value: Any = None
        self._error: Error | None = None

    def result(self) -> Any:
        """The result of the call.

        Raises:
            Error: what the call would have raised by itself; a RuntimeError before the batch has
                been sent.
        """
        if not self.done:
            raise RuntimeError(f"{self.name}() has not been sent; leave the batch first")
        if self._error is not None:
            raise self._error
        return self._value


class Batch:
    """Collects calls and sends them as one message when the ``with`` block ends."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._parts: list[bytes] = []
        self._calls: list[tuple[Declaration, Deferred]] = []
        self._here: list[tuple[Deferred, Callable[[], Any]]] = []
        """Calls that something on this side stands in for."""
        self._arguments: list[Any] = []
        """Kept until the batch is sent: otherwise handles released earlier would be stale in it."""

    def add(
        self, declaration: Declaration, environment: int, arguments: tuple[Any, ...]
    ) -> Deferred:
        """Add one call; wrong arguments raise here."""
        payload = codec_of(declaration).encode(self.session, arguments)
        self._parts.append(_ENTRY.pack(declaration.number, environment, len(payload)) + payload)
        deferred = Deferred(declaration.name)
        self._calls.append((declaration, deferred))
        self._arguments.append(arguments)
        return deferred

    def add_here(self, declaration: Declaration, call: Callable[[], Any]) -> Deferred:
        """Add a call that something on this side stands in for; it is made after the message."""
        deferred = Deferred(declaration.name)
        self._here.append((deferred, call))
        return deferred

    def send(self) -> None:
        """Send the collected calls and settle every `Deferred`."""
        self._send()
        here, self._here = self._here, []
        for deferred, call in here:
            try:
                deferred._value = call()
            except Error as error:
                deferred._error = error
            deferred.done = True

    def _send(self) -> None:
        if not self._calls:
            return
        payload = U32.pack(len(self._calls)) + b"".join(self._parts)
        calls, self._calls, self._parts = self._calls, [], []
        reply = self.session.request(Request(Kind.BATCH, payload=payload, name="batch"))
        self._arguments.clear()
        if reply.status == ErrorCode.OUT_OF_MEMORY:
            raise error_for(reply.status, "batch", "the target has no memory for the replies")
        if reply.status:
            raise ProtocolError("the replies of the batch are too large for one message")
        view = memoryview(reply.payload)
        at = 0
        for declaration, deferred in calls:
            status, flags, size = _RESULT.unpack_from(view, at)
            at += _RESULT.size
            piece = view[at : at + size]
            at += size
            deferred.done = True
            if status:
                deferred._error = self.session.error(
                    declaration, Frame(Kind.RETURN, flags, status, 0, 0, bytes(piece))
                )
            else:
                deferred._value = codec_of(declaration).decode(piece, self.session)


__all__ = ["Batch", "Deferred"]
