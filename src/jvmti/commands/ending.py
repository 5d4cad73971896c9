"""How verbs end that go on until Ctrl-C."""

from __future__ import annotations

import signal
from types import FrameType

__all__ = ["end_at_sigterm"]


def end_at_sigterm() -> None:
    """Let SIGTERM end a verb as Ctrl-C does, so that the target is left in order."""
    signal.signal(signal.SIGTERM, _interrupt)


def _interrupt(signal_number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
