"""One receiver for the stops of several requests, as a debugger at a prompt is one.

The threads wait, however many, until the receiver lets each go. It takes a stop when it has time
for it: its calls then run on the stopped Java thread, as in a loop over one request.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from jvmti.model.debug.stops import CHECK_EVERY, Stop, StopRequest

if TYPE_CHECKING:
    from jvmti.model.vm import VM


class StopQueue:
    """Receives the stops of requests, for the Python thread that makes it.

    Attributes:
        missed: how often a call of the receiver's own hit a request; such a hit cannot stop.
    """

    def __init__(self, vm: VM, arrived: Callable[[Stop], object] | None = None) -> None:
        """
        Args:
            vm: the JVM.
            arrived: called with each stop before it can be taken, on a thread of its own whose
                calls run on the stopped thread.
        """
        self._vm = vm
        self._report = arrived
        self._receiver = threading.get_ident()
        self._changed = threading.Condition()
        self._arrived: deque[Stop] = deque()
        self._taken: list[Stop] = []
        self._requests: list[StopRequest] = []
        self._closed = False
        self.missed = 0

    def add(self, request: StopRequest) -> None:
        """Receive the stops of a request from now on.

        Raises:
            RuntimeError: its stops go to a function or a loop already.
        """
        request._receive_in(self)
        self._requests.append(request)

    def remove(self, request: StopRequest) -> None:
        """End a request; threads that have stopped at it stay stopped."""
        request._current = None
        request.cancel()
        if request in self._requests:
            self._requests.remove(request)

    @property
    def stops(self) -> list[Stop]:
        """The threads that wait now: first those that have been taken."""
        with self._changed:
            self._taken = [stop for stop in self._taken if stop.is_waiting]
            return self._taken + [stop for stop in self._arrived if stop.is_waiting]

    def is_taken(self, stop: Stop) -> bool:
        """Whether a stop is the receiver's to use."""
        with self._changed:
            return stop in self._taken

    def take(self, stop: Stop | None = None, timeout: float | None = 0.0) -> Stop | None:
        """Take a stop, whose thread then serves the receiver's calls.

        Args:
            stop: one of `stops`; without it, the first that has arrived.
            timeout: seconds to wait for one; ``None`` waits without limit.

        Returns:
            The stop; ``None`` if the time is over, or the JVM has ended.
        """
        until = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            if stop is not None and stop in self._taken:
                return stop
            while (found := self._next(stop)) is None:
                left = CHECK_EVERY if until is None else min(until - time.monotonic(), CHECK_EVERY)
                if left <= 0 or self._closed or self._vm._session.has_ended():
                    return None
                self._changed.wait(left)
            self._taken.append(found)
        found._within = found.request
        found._borrow()
        return found

    def _next(self, wanted: Stop | None) -> Stop | None:
        self._arrived = deque(stop for stop in self._arrived if stop.is_waiting)
        if wanted is None:
            return self._arrived.popleft() if self._arrived else None
        if wanted not in self._arrived:
            return None
        self._arrived.remove(wanted)
        return wanted

    @contextmanager
    def on_thread(self, stop: Stop) -> Iterator[None]:
        """The receiver's calls run on the thread of a stop that it has taken, inside the block.

        Raises:
            StopOver: the thread has resumed.
        """
        with stop._conversing():
            yield

    def release(self, stop: Stop) -> None:
        """Let a thread run on; further calls do nothing."""
        with self._changed:
            for stops in (self._taken, self._arrived):
                if stop in stops:
                    stops.remove(stop)
        stop._release()

    def step(
        self,
        stop: Stop,
        how: str,
        by: str = "line",
        timeout: float | None = None,
        *,
        skips: str | None = None,
    ) -> Stop | None:
        """Let a thread make one step, as `Stop.step`; the new stop is taken.

        Raises:
            ValueError, NotAvailable, StopOver, Duplicate: as for `Stop.step`.
        """
        try:
            found = stop.step(how, by, timeout, skips=skips)
        finally:
            with self._changed:
                if not stop.is_waiting and stop in self._taken:
                    self._taken.remove(stop)
        if found is not None:
            with self._changed:
                self._taken.append(found)
        return found

    def close(self) -> None:
        """End all requests and let all threads go."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for request in list(self._requests):
            self.remove(request)
        for stop in self.stops:
            self.release(stop)

    # ---- for threads that stop -------------------------------------------------------------

    def _offer(self, stop: Stop) -> bool:
        """Leave a stop to the receiver; false if it cannot have it."""
        if threading.get_ident() == self._receiver:
            # The receiver waits for the call that hit it.
            self.missed += 1
            stop.request.missed += 1
            return False
        with self._changed:
            here = [*self._taken, *self._arrived]
            # Two requests at one place stop the thread once.
            if self._closed or any(one._borrowed.lock is stop._borrowed.lock for one in here):
                return False
        if self._report is not None:
            self._report(stop)
        with self._changed:
            closed = self._closed  # meanwhile, perhaps
            if not closed:
                self._arrived.append(stop)
                self._changed.notify_all()
        return not closed


__all__ = ["StopQueue"]
