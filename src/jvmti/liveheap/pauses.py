"""Estimates pauses of the program in advance, so that they can be limited."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from jvmti.interface.errors import PauseTooLong

if TYPE_CHECKING:
    from jvmti.liveheap.running_vm import RunningVM

log = logging.getLogger("jvmti")

_WARN = 1.0
"""Without a limit, log a warning before pauses that are longer than this, in seconds."""
_OBJECT = 40
"""Average size of an object in bytes, until the objects have been counted."""
_NANOSECONDS = {"count": 15.0, "scan": 50.0, "follow": 200.0, "dump": 120.0}
"""Cost of each object in a pass, until one has been measured: rather too high."""


class Pauses:
    """The durations of passes over this VM's heap: past ones, and estimates."""

    def __init__(self, vm: RunningVM) -> None:
        self._vm = vm
        self._rates = dict(_NANOSECONDS)

    def objects(self) -> int:
        """The approximate number of objects in the heap, without stopping anything."""
        return self.bytes_in_use() // _OBJECT

    def bytes_in_use(self) -> int:
        """The bytes of the heap in use, including unreachable objects, without stopping anything.

        It asks ``java.lang.Runtime`` for the bytes in use, so a few lines of Java run.
        """
        jni: Any = self._vm.jni
        cls = jni.find_class("java/lang/Runtime")
        found = jni.get_static_method_id(cls, "getRuntime", "()Ljava/lang/Runtime;")
        runtime = jni.call_static_object_method(cls, found)
        numbers: list[int] = [
            jni.call_long_method(runtime, jni.get_method_id(cls, name, "()J"))
            for name in ("totalMemory", "freeMemory")
        ]
        return max(numbers[0] - numbers[1], 0)

    def expected(self, kind: str, objects: int | None = None) -> float:
        """The estimated seconds of a pass of a kind."""
        count = self.objects() if objects is None else objects
        return count * self._rates[kind] / 1e9

    def check(
        self,
        kind: str,
        what: str,
        max_pause: float | None,
        *,
        objects: int | None = None,
        passes: int = 1,
    ) -> None:
        """Refuse a long pause, or log a warning.

        Raises:
            PauseTooLong: it would be longer than ``max_pause``.
            ValueError: ``max_pause`` is negative.
        """
        if max_pause is not None and max_pause < 0:
            raise ValueError(f"max_pause is a number of seconds, not {max_pause!r}")
        expected = self.expected(kind, objects) * passes
        if max_pause is not None and expected > max_pause:
            raise PauseTooLong(what, expected, max_pause)
        if max_pause is None and expected > _WARN:
            log.warning(
                "%s will stop the program for about %.2g s; max_pause or --max-pause sets a limit",
                what,
                expected,
            )

    def learn(self, kind: str, objects: int, seconds: float) -> None:
        """Record the duration of a pass."""
        if objects > 100_000:
            # An outlier does not count in full.
            self._rates[kind] = (self._rates[kind] + seconds * 1e9 / objects) / 2


__all__ = ["PauseTooLong", "Pauses"]
