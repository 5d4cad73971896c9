"""The end of verbs that run until Ctrl-C."""

from __future__ import annotations

import signal
from types import FrameType

__all__ = ["end_at_sigterm"]


def end_at_sigterm() -> None:
    """Let SIGTERM end a verb like Ctrl-C, so that the session undoes its changes."""
    signal.signal(signal.SIGTERM, _interrupt)


def _interrupt(signal_number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
