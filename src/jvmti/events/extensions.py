"""Extension functions and events of the VM, beyond JVM TI."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jvmti.env.services import HANDLERS
from jvmti.events.values import value_at
from jvmti.interface.errors import SessionClosed
from jvmti.layouts.conversations import OPENING, CallbackMode
from jvmti.operations.agent import AgentOperations
from jvmti.wire.codecs import I32, codec_of

if TYPE_CHECKING:
    from jvmti.env.environment import Env
    from jvmti.interface.declaration import Declaration
    from jvmti.wire.session import Session

log = logging.getLogger("jvmti")

EVENT = OPENING.EXTENSION_EVENT
"""The number in frames of extension events."""


class Extensions:
    """The extension events of a session, and calls of extension functions.

    Attributes:
        errors: what callbacks raised; the events went on.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.callbacks: dict[tuple[int, int], Callable[..., Any]] = {}
        self.errors: list[Exception] = []
        session.openings.register(range(EVENT, EVENT + 1), self.opened)

    def set(
        self, env: Env, declaration: Declaration, arguments: tuple[Any, ...], timeout: float | None
    ) -> None:
        """Set the callback of an extension event."""
        index, callback = arguments
        if callback is not None and not callable(callback):
            raise TypeError(
                f"{declaration.name}() argument callback must be callable or None, not "
                f"{type(callback).__name__}"
            )
        mode = CallbackMode.NEVER if callback is None else CallbackMode.AT_ONCE
        session = self.session
        payload = codec_of(declaration).encode(session, (index, mode))
        key = (env._number, index)
        before = self.callbacks.get(key)
        if callback is not None:
            session.services[HANDLERS].open_pool()
            self.callbacks[key] = callback
        try:
            session.call_encoded(declaration, env._number, payload, timeout)
        except BaseException:
            self.callbacks.pop(key, None)
            if before is not None:
                self.callbacks[key] = before
            raise
        if callback is None:
            self.callbacks.pop(key, None)

    def opened(self, number: int, environment: int, data: bytes) -> bytes:
        """Call the callback of an event."""
        callback = self.callbacks.get((environment, I32.unpack_from(data)[0]))
        if callback is None:
            return b""
        try:
            values = []
            at = 4
            while at < len(data):
                value, at = value_at(data, at, self.session)
                values.append(value)
            callback(*values)
        except Exception as error:
            if not (self.session.detached and isinstance(error, SessionClosed)):
                if len(self.errors) < 100:
                    self.errors.append(error)
                log.exception("the callback of an extension event failed")
        return b""

    def call(self, function: Any, arguments: tuple[Any, ...]) -> Any:
        """Call an extension function: its result, a tuple of several, or ``None``."""
        data = AgentOperations(self.session).call_extension_function(function, arguments)
        values = []
        at = 0
        while at < len(data):
            value, at = value_at(data, at, self.session)
            values.append(value)
        if len(values) == 1:
            return values[0]
        return tuple(values) if values else None


__all__ = ["Extensions"]
