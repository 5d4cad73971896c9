"""Ctrl-C for the test itself: in a finalizer, at a line of this package, or after some seconds."""

from __future__ import annotations

import _thread
import gc
import operator
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import jvmti

_PACKAGE = str(Path(jvmti.__file__).parent)
_call = operator.methodcaller("__call__")

lost_ones = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""For tests that are interrupted often: Python's own library has finalizers and callbacks of weak
references, as for each thread that was started, and says in a warning what has come there."""


@contextmanager
def interrupted_after(delay: float) -> Iterator[None]:
    """Interrupt the main thread after some seconds, and again should Python lose that."""
    done = threading.Event()

    def interrupt() -> None:
        wait = delay
        while not done.wait(wait):
            os.kill(os.getpid(), signal.SIGINT)
            wait = 2.0

    sender = threading.Thread(target=interrupt)
    try:
        sender.start()  # the interrupt may come before this returns
        yield
    finally:
        done.set()
        sender.join()


def interrupt_in(function: Callable[[], object]) -> None:
    """Call a function that is written in C, with an interrupt that has come just before.

    Python raises it in the first line of Python that runs: that is in a finalizer, where the
    function drops something that has one, and nobody notices.  The same is true of what others have
    asked the collector to call, as Hypothesis has once it has run a test; so that waits.
    """
    kept = gc.callbacks[:]
    gc.callbacks.clear()
    try:
        deque(map(_call, (_thread.interrupt_main, function)), maxlen=0)
        time.sleep(0.001)  # another thread may have had the lock; nothing is raised after this
    finally:
        gc.callbacks[:] = kept


@contextmanager
def interrupted_at(moment: int, leave_out: Callable[[FrameType], bool]) -> Iterator[None]:
    """Interrupt the block where this package begins its line of that number, counted from 0.

    Args:
        moment: the number of the line.
        leave_out: says of which functions lines are not counted.
    """
    left = moment

    def begins(frame: FrameType, event: str, _: object) -> Any:
        mine = frame.f_code.co_filename.startswith(_PACKAGE) and not leave_out(frame)
        return line if mine else None

    def line(frame: FrameType, event: str, _: object) -> Any:
        nonlocal left
        if event == "line":
            if left == 0:
                raise KeyboardInterrupt
            left -= 1
        return line

    before = sys.gettrace()
    sys.settrace(begins)
    try:
        yield
    finally:
        sys.settrace(before)
