"""Calls that are made where a step ends, before anybody asks for them.

What is asked for at a stop is asked for again at the next stop of the thread: its stack, its
variables, the same objects' fields. So a step takes these calls along, the agent makes them on the
stopped thread, and what they return comes with the report of the stop.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import TYPE_CHECKING

from jvmti.interface.declaration import declared
from jvmti.interface.errors import ProtocolError
from jvmti.operations.functions import Operations
from jvmti.wire.channel import Frame, Request
from jvmti.wire.codecs import U32, codec_of
from jvmti.wire.protocol import BATCH_RESULT, BATCHED, Kind

if TYPE_CHECKING:
    from jvmti.wire.session import Session

Call = tuple[int, int, bytes]
"""The number of a function, that of an environment, and the encoded arguments."""

_FORESEEABLE = {
    declared(one).number: declared(one)
    for one in (Operations.locate_stack, Operations.show_fields, Operations.show_variables)
}
_MOST = 16
"""Calls that a step takes along."""
_SOON = 1.0
"""Seconds for which a reply is as good as a new one: other threads run meanwhile."""
_ENTRY, _RESULT = BATCHED.struct, BATCH_RESULT.struct


class ForeseenCalls:
    """The replies that came along with a stop, and the calls for the next.

    Args:
        session: the session.
        calls: those that the step has taken along.
        replies: what they returned, as a batch has it.

    Attributes:
        made: the calls at this stop that are foreseeable.
    """

    def __init__(
        self, session: Session, calls: Collection[Call] = (), replies: bytes = b""
    ) -> None:
        self._session = session
        self._replies: dict[Call, bytes] = {}
        self._until = time.monotonic() + _SOON
        self.made: dict[Call, None] = {}
        at = 0
        for call in calls:
            if at == len(replies):
                break  # the agent has left
            if len(replies) - at < _RESULT.size:
                raise ProtocolError("the replies that came with a stop end too early")
            status, _, size = _RESULT.unpack_from(replies, at)
            at += _RESULT.size
            if not status:
                self._replies[call] = replies[at : at + size]
            at += size

    def reply(self, request: Request) -> Frame | None:
        """The reply of a request that has come along already; ``None`` where it is to be sent."""
        if request.function not in _FORESEEABLE or request.kind != Kind.CALL or request.flags:
            return None
        call = request.function, request.environment, request.payload
        if len(self.made) < _MOST:
            self.made[call] = None
        if self._replies and time.monotonic() > self._until:
            self.forget()
        found = self._replies.pop(call, None)
        if found is None:
            return None
        return Frame(Kind.RETURN, 0, 0, request.environment, 0, found)

    def forget(self) -> None:
        """Use none of the replies any more: the thread has changed, or runs."""
        replies, self._replies = self._replies, {}
        for (function, _, _), payload in replies.items():
            # The agent holds what their handles name until they have been received and released.
            codec_of(_FORESEEABLE[function]).decode(payload, self._session)


def encoded(calls: Collection[Call]) -> bytes:
    """Calls as a batch has them."""
    if not calls:
        return b""
    parts = [
        _ENTRY.pack(number, environment, len(data)) + data for number, environment, data in calls
    ]
    return U32.pack(len(calls)) + b"".join(parts)


__all__ = ["Call", "ForeseenCalls", "encoded"]
