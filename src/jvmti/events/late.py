"""Callbacks of events that the VM sends while it is stopped: called afterwards.

A stopped VM cannot wait. So the agent records these events in a stream, and a thread of this
process reads it and calls the callbacks, in the order of the events.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from jvmti.env.events import EVENTS, JvmtiEvent
from jvmti.env.services import STREAMS

if TYPE_CHECKING:
    from jvmti.env.environment import Env
    from jvmti.events.handlers import Handlers
    from jvmti.wire.session import Session

log = logging.getLogger("jvmti")

_RING_SIZE = 8 << 20
"""Bytes for the records of one thread: some hundred thousand objects freed at once."""

_PATIENCE = 10.0
"""Seconds to wait for pending events when the callbacks are removed."""


class LateCallbacks:
    """The callbacks of one environment for such events, and the thread that calls them."""

    def __init__(
        self,
        session: Session,
        handlers: Handlers,
        env: Env,
        functions: Mapping[int, Callable[[Any], Any]],
    ) -> None:
        self._handlers = handlers
        self._env = env
        self._functions = dict(functions)
        self._stream = session.services[STREAMS].open(
            env,
            [EVENTS[number].declaration.constant for number in functions],
            thread=None,
            classes=None,
            methods=None,
            exceptions=None,
            subclasses=True,
            min_duration=None,
            waits=False,
            stack=0,
            timestamps=True,
            objects=False,
            policy="drop",
            size=_RING_SIZE,
            own=True,
            enable=False,
        )
        self._thread = threading.Thread(target=self._call, name="jvmti late events", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stop, once the callbacks of all past events have been called."""
        self._stream.close()
        if threading.current_thread() is not self._thread:
            self._thread.join(_PATIENCE)

    def _call(self) -> None:
        stream = self._stream
        lost = 0
        while records := stream.read():
            for row in records.sorted_by_time().rows():
                self._call_one(EVENTS[_NUMBERS[row["event"]]], row)
            if stream.dropped > lost:
                log.error("%d events came faster than their callbacks", stream.dropped - lost)
                lost = stream.dropped

    def _call_one(self, cls: type[JvmtiEvent], row: dict[str, Any]) -> None:
        number = cls.declaration.number
        event = object.__new__(cls)
        names = [parameter.name for parameter in cls.declaration.parameters]
        event.__dict__.update({name: row[name] for name in names}, env=self._env, late=True)
        try:
            self._functions[number](event)
        except BaseException as error:  # SystemExit too: a handler must not end this thread
            self._handlers.report(number, error)


_NUMBERS = {cls.__name__: number for number, cls in EVENTS.items()}

__all__ = ["LateCallbacks"]
