"""Passes of the agent over the heap: their memory, progress and end.

The VM is stopped during a pass, and the agent sends no messages.  It polls a word of shared memory
that the controller sets to end the pass, and writes its progress to another.
"""

from __future__ import annotations

import fcntl
import logging
import mmap
import os
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import numpy

from jvmti.heap.errors import NotEnoughMemory
from jvmti.interface.errors import CallTimeout
from jvmti.layouts.heap_passes import CONTROL
from jvmti.liveheap.available_memory import free_memory
from jvmti.operations.agent import AgentOperations
from jvmti.text.printable import escaped
from jvmti.wire.session import Session

log = logging.getLogger("jvmti")

Result = TypeVar("Result")

Progress = Callable[[int], object]
"""Called now and then with the number of objects, or references, that a pass has visited."""

_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
_GRACE = 30.0
"""Grace time of a pass after its time limit, in seconds; stopping the VM takes part of it."""
_INTERVAL = 0.1
_SPARE = 0.8
"""The share of free memory that a pass may take."""


class PassOverran(CallTimeout):
    """A pass over the heap overran its time limit; it has ended and left nothing behind."""

    @escaped
    def __str__(self) -> str:
        return f"the pass over the heap overran its time limit of {self.timeout or 0:g} s"


class PassMemory:
    """Memory for the agent to write to in a pass: allocated here, and sealed.

    Its pages are allocated up front, so that they count as this process's and the VM does not wait
    for them.

    Attributes:
        bytes: all of it.
        descriptor: for the agent.
    """

    def __init__(self, size: int = CONTROL.SIZE) -> None:
        free = free_memory()
        if free is not None and size > free * _SPARE:
            raise NotEnoughMemory(
                f"it would take {size >> 20} MB of memory here, and {free >> 20} MB are free; "
                "choose fewer classes, or leave out strings, fields or arrays"
            )
        self.descriptor = os.memfd_create("jvmti", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(self.descriptor, size)
            os.posix_fallocate(self.descriptor, 0, size)
            fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, _SEALS)
            mapped = mmap.mmap(self.descriptor, size)
        except OSError as error:
            os.close(self.descriptor)
            raise NotEnoughMemory(f"no memory for a pass over the heap: {error.strerror}") from None
        # Views keep the mapping alive; the last one unmaps it.
        self.bytes = numpy.frombuffer(mapped, numpy.uint8)
        self._words = self.bytes[: CONTROL.SIZE].view("<u8")

    def cancel(self) -> None:
        """End the pass that is writing."""
        self._words[CONTROL.CANCELLED] = 1

    @property
    def visited(self) -> int:
        """The count of visited items."""
        return int(self._words[CONTROL.VISITED])

    def close(self) -> None:
        """Close the descriptor; views keep the contents."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
        self.descriptor = -1


def run(
    session: Session,
    operation: Callable[..., Result],
    arguments: tuple[Any, ...],
    *,
    memory: PassMemory | None = None,
    timeout: float | None = None,
    progress: Progress | None = None,
) -> Result:
    """Make a pass; returns the result of the agent's operation.

    Ctrl-C ends the pass and leaves nothing of it in the VM.

    Args:
        session: the session.
        operation: one of `Operations`, whose last argument is its time limit.
        arguments: its arguments, without the limit.
        memory: the memory that it writes to; the caller closes it.
        timeout: seconds after which the pass ends.
        progress: called with the count, and at the end, from another thread.

    The result says whether the pass was complete.
    """
    limit = -1 if timeout is None else max(int(timeout * 1000), 0)
    own = PassMemory() if memory is None else memory
    done = threading.Event()
    watcher = None
    if progress is not None:
        watcher = threading.Thread(target=_watch, args=(own, progress, done), daemon=True)
        watcher.start()
    try:
        patience = None if timeout is None else timeout + _GRACE
        agent = AgentOperations(session, timeout=patience, descriptor=own.descriptor)
        return operation(agent, *arguments, limit)
    except BaseException:
        own.cancel()
        raise
    finally:
        done.set()
        if watcher is not None:
            watcher.join()
        if memory is None:
            own.close()


def _watch(memory: PassMemory, progress: Progress, done: threading.Event) -> None:
    over = False
    while not over:
        over = done.wait(_INTERVAL)
        try:
            progress(memory.visited)
        except Exception:
            log.exception("the progress function failed; it is not called again")
            return


__all__ = ["PassMemory", "PassOverran", "Progress", "run"]
