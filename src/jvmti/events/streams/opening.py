"""Streams as a session offers them: most open none, and need not import what reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jvmti.events.enabling import Enabling
    from jvmti.wire.session import Session


class OfferedStreams:
    """Opens streams; see `jvmti.env.services.EventStreams`."""

    def __init__(self, session: Session, enabling: Enabling) -> None:
        self._session = session
        self._enabling = enabling

    def open(self, *arguments: Any, **options: Any) -> Any:
        """Begin to record; see `Env.stream`."""
        from jvmti.events.streams.recording import Streams

        return Streams(self._session, self._enabling).open(*arguments, **options)


__all__ = ["OfferedStreams"]
