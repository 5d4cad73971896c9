"""Ctrl-C while a command is being imported, which takes half a second and has nothing to undo.

Modules are in no state then that an exception may leave: half of NumPy raises ImportError later.
"""

import os
import signal
from types import FrameType

INTERRUPTED = 130


def exit_when_interrupted() -> None:
    """Let Ctrl-C end this process at once, without a traceback, until `interruptible`."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def interruptible() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(number: int, frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)


__all__ = ["INTERRUPTED", "exit_when_interrupted", "interruptible"]
