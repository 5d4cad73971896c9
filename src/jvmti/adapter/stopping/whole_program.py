"""Stops the whole program with each thread that stops, where the configuration wants that."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jvmti.model.threads.java_thread import Thread
    from jvmti.model.threads.suspension import Suspension
    from jvmti.model.vm import VM


class WholeProgram:
    """All threads of the program besides those that have stopped by themselves.

    Attributes:
        is_wanted: whether they are suspended while one is stopped.
    """

    def __init__(self) -> None:
        self.is_wanted = False
        self._suspension: Suspension | None = None
        self._free: set[int] = set()
        """The threads that have stopped by themselves, which must be able to answer."""
        self._changed = threading.Condition()
        self._closed = False

    @property
    def is_stopped(self) -> bool:
        """Whether all threads are suspended now."""
        return self._suspension is not None

    def holds(self, number: int) -> bool:
        """Whether a thread is suspended with the others; one that ran on alone is not."""
        return self.is_stopped and number not in self._free

    def stop_with(self, vm: VM, thread: Thread, number: int) -> bool:
        """Suspend all threads but one, which has stopped by itself.

        A thread that comes to a stop while all are suspended is one of these: it waits until they
        run on.

        Args:
            vm: the JVM.
            thread: the thread.
            number: its number.

        Returns:
            Whether all are suspended.
        """
        if not self.is_wanted:
            return False
        with self._changed:
            while self._suspension is not None and number not in self._free and not self._closed:
                self._changed.wait()
            if not self._closed and self._suspension is None:
                self._suspend(vm, [thread])
                self._free = {number}
            return self._suspension is not None

    def stop(self, vm: VM) -> bool:
        """Suspend all threads, if that is wanted; returns whether they are suspended."""
        with self._changed:
            if self.is_wanted and not self._closed and self._suspension is None:
                self._suspend(vm, [])
            return self._suspension is not None

    def _suspend(self, vm: VM, leave: list[Thread]) -> None:
        suspension = vm.threads.suspended(leave=leave)
        try:
            suspension.suspend()
        except BaseException:
            suspension.resume()
            raise
        self._suspension = suspension

    def resume(self) -> None:
        """Let all threads run that are suspended with another."""
        with self._changed:
            suspension, self._suspension = self._suspension, None
            self._free.clear()
            try:
                if suspension is not None:
                    suspension.resume()
            finally:
                self._changed.notify_all()

    def close(self) -> None:
        """Let all threads run, and suspend none from now on."""
        with self._changed:
            self._closed = True
        self.resume()


__all__ = ["WholeProgram"]
