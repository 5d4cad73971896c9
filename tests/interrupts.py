"""Ctrl-C for the test itself, at a moment that cannot be known better than that."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

lost_ones = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""For tests that are interrupted often: Python cannot raise what comes while it forgets an object,
and says so in a warning."""


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
