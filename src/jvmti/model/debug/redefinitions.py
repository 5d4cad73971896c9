"""Sets breakpoints again after the VM has cleared them by redefining a class.

The VM reports a redefinition before it happens, while the redefining thread waits.  A count that
the VM keeps in each ``java.lang.Class`` shows when it has happened.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING

from jvmti.interface.errors import Error

if TYPE_CHECKING:
    from jvmti.model.classes.java_class import Class
    from jvmti.model.debug.breakpoints import Breakpoint
    from jvmti.model.vm import VM

log = logging.getLogger("jvmti")

_LIMIT = 10.0
"""After this many seconds without a result, assume that the VM refused the redefinition."""


class _Begun:
    """A redefinition that has begun."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.until = time.monotonic() + _LIMIT
        self.breakpoints: list[Breakpoint] = []


class Redefinitions:
    """Redefinitions that have begun of classes with breakpoints."""

    def __init__(self, vm: VM) -> None:
        self._vm = vm
        self._lock = threading.Lock()
        self._placing = threading.Lock()
        self._begun: dict[Class, _Begun] = {}
        self._waiting = False

    def begun(self, cls: Class, breakpoint: Breakpoint) -> None:
        """A thread starts to redefine a class."""
        count = self._count(cls)
        with self._lock:
            one = self._begun.setdefault(cls, _Begun(count))
            # If an earlier one has just happened, this one clears what is placed after it.
            one.count = count
            if breakpoint not in one.breakpoints:
                one.breakpoints.append(breakpoint)
            if self._waiting:
                return
            self._waiting = True
        threading.Thread(target=self._wait, name="jvmti-redefinitions", daemon=True).start()

    def settle(self, cls: Class) -> None:
        """This thread has finished a redefinition: set its breakpoints again at once."""
        with self._placing:
            one = self._over(cls)
            if one is not None and self._count(cls) != one.count:
                self._place_again(cls, one)

    def _wait(self) -> None:
        pause = 0.002
        try:
            while self._poll():
                time.sleep(pause)
                pause = min(2 * pause, 0.1)
        except Error as error:
            with self._lock:
                self._begun.clear()
                self._waiting = False
            log.debug("breakpoints of redefined classes are not placed again: %s", error)

    def _poll(self) -> bool:
        """Handle redefinitions that are over; false if none is left."""
        with self._lock:
            begun = list(self._begun.items())
            self._waiting = bool(begun)
        for cls, one in begun:
            if self._count(cls) == one.count and time.monotonic() < one.until:
                continue
            with self._placing:
                if self._over(cls) is not None:
                    self._place_again(cls, one)
        return bool(begun)

    def _over(self, cls: Class) -> _Begun | None:
        with self._lock:
            return self._begun.pop(cls, None)

    def _place_again(self, cls: Class, one: _Begun) -> None:
        for breakpoint in one.breakpoints:
            try:
                breakpoint._place_again(cls)
            except (Error, KeyError) as error:
                if breakpoint.is_active:  # otherwise it was cancelled meanwhile
                    log.warning("%r cannot be placed again: %s", breakpoint, error)

    def _count(self, cls: Class) -> int:
        jni = self._vm.jni
        meta = self._vm.bootstrap_class("java/lang/Class")
        field = jni.get_field_id(meta, "classRedefinedCount", "I")
        return jni.get_int_field(cls, field)


__all__ = ["Redefinitions"]
