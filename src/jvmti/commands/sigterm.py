"""The end of verbs that run until Ctrl-C."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

__all__ = ["EndAsked", "end_at_sigterm", "end_asked"]

_AGAIN = 0.05
"""Seconds until an interrupt that got lost comes again."""


def end_at_sigterm() -> None:
    """Let SIGTERM end a verb like Ctrl-C, so that the session undoes its changes.

    And let neither get lost: Python raises KeyboardInterrupt in whatever runs, and drops it where
    that is a finalizer or a callback of a weak reference, of which its own library has some.
    """
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGALRM, _interrupt)
    if not isinstance(sys.unraisablehook, _Dropped):
        sys.unraisablehook = _Dropped(sys.unraisablehook)


class EndAsked:
    """Whether Ctrl-C or SIGTERM has asked a verb to end."""

    def __init__(self) -> None:
        self.yet = False


@contextlib.contextmanager
def end_asked() -> Iterator[EndAsked]:
    """Note the first Ctrl-C or SIGTERM in the block, for verbs that must finish what they write.

    The next one raises KeyboardInterrupt, as ever.
    """
    asked = EndAsked()

    def note(signal_number: int, frame: FrameType | None) -> None:
        if asked.yet:
            raise KeyboardInterrupt
        asked.yet = True

    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(one, note) for one in signals]
    try:
        yield asked
    finally:
        for one, handler in zip(signals, before, strict=True):
            signal.signal(one, handler)


class _Dropped:
    """Receives the exceptions that Python drops.

    Args:
        others: receives all but interrupts.
    """

    def __init__(self, others: Callable[[Any], object]) -> None:
        self._others = others

    def __call__(self, what: Any) -> None:
        if issubclass(what.exc_type, KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, _AGAIN)
        else:
            self._others(what)


def _interrupt(signal_number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
