"""Services that an environment uses from the layers above."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from jvmti.wire.services import Service

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jvmti.env.environment import Env
    from jvmti.interface.constants import Event
    from jvmti.interface.declaration import Declaration
    from jvmti.refs import Thread


class CapabilityPool(Protocol):
    """Keeps what the model holds for itself out of the way of the program's environments."""

    def call(self, env: Env, declaration: Declaration, arguments: tuple[Any, ...], /) -> Any:
        """Call a function that asks for capabilities."""

    def make_way(self, env: Env, /) -> None:
        """Give back what only one environment can hold."""


class EventHandlers(Protocol):
    """Hands events to functions."""

    def on(
        self,
        env: Env,
        event: Event | str,
        function: Callable[[Any], Any],
        thread: Thread | None = None,
        timeout: Any = ...,
        own: bool = False,
        max_pause: float | None = None,
    ) -> Any:
        """Register a function; see `Env.on`."""

    def set_callbacks(
        self, env: Env, callbacks: Mapping[Event | str, Callable[[Any], Any]] | None
    ) -> None:
        """Set the functions of an environment; see `Env.set_event_callbacks`."""

    def open_pool(self) -> None:
        """See that there is a channel for what the agent begins."""


class EventStreams(Protocol):
    """Records events."""

    def open(self, *arguments: Any, **options: Any) -> Any:
        """Begin to record; see `Env.stream`."""


class CallbackCalls(Protocol):
    """Makes the calls that call back."""

    def call(
        self, env: Env, declaration: Declaration, arguments: tuple[Any, ...], timeout: float | None
    ) -> Any:
        """Make one."""


CAPABILITY_POOL: Service[CapabilityPool] = Service("capability pool")
HANDLERS: Service[EventHandlers] = Service("handlers of events")
STREAMS: Service[EventStreams] = Service("streams of events")
CALLBACKS: Service[CallbackCalls] = Service("calls that call back")

__all__ = [
    "CALLBACKS",
    "HANDLERS",
    "CAPABILITY_POOL",
    "STREAMS",
    "CallbackCalls",
    "EventHandlers",
    "EventStreams",
    "CapabilityPool",
]
