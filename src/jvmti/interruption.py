"""Ctrl-C where an exception would leave something half done.

While a command is being imported, it ends the process: that has nothing to undo, but half of NumPy
raises ImportError later.  `apart` does something that Ctrl-C does not reach.
"""

import os
import signal
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

INTERRUPTED = 130

T = TypeVar("T")


def exit_when_interrupted() -> None:
    """Let Ctrl-C end this process at once, without a traceback, until `interruptible`."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def interruptible() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def apart(function: Callable[[], T]) -> T:
    """Call a function where no signal interrupts it, and return its result.

    Ctrl-C interrupts the wait for it; the function goes on to its end.
    """
    import threading  # not for `jvmti --help`

    if threading.current_thread() is not threading.main_thread():
        return function()
    results: list[T] = []
    errors: list[BaseException] = []
    done = threading.Event()

    def run() -> None:
        try:
            results.append(function())
        except BaseException as error:
            errors.append(error)
        done.set()

    threading.Thread(target=run, name="jvmti apart", daemon=True).start()
    done.wait()
    if errors:
        raise errors[0]
    return results[0]


def _leave(number: int, frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)


__all__ = ["INTERRUPTED", "apart", "exit_when_interrupted", "interruptible"]
