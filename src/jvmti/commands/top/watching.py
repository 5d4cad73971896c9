"""Numbers and profiles of a JVM in its last interval, for `jvmti top`."""

from __future__ import annotations

import os
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any

from jvmti.interface.errors import Error, NotAvailable
from jvmti.model.usage import collections, heap_use, thread_ticks
from jvmti.target.processes.search import performance_data

if TYPE_CHECKING:
    from jvmti.model.vm import VM
    from jvmti.profile.profile import Profile

__all__ = ["KINDS", "Meter", "Picture"]

KINDS = ("cpu", "alloc", "lock")
_INTERVALS = {"cpu": 0.02, "alloc": 512 * 1024, "lock": 0.0001}
_RENEWED = 60.0
"""Seconds after which a profile is taken anew, so that it does not grow for hours."""
_TICKS = os.sysconf("SC_CLK_TCK")


class Picture:
    """A JVM in one interval.

    Attributes:
        seconds: the length of the interval.
        processors: how many processors it used on average, the VM's own threads included.
        threads: how many threads the process has.
        heap: bytes that are used, committed, and the most; ``None`` if unknown.
        collections: how many collections there were.
        collecting: seconds of them.
        profiles: a profile of the interval for each kind that is sampled.
        missing: for each kind that is not, why.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.processors = 0.0
        self.threads = 0
        self.heap: dict[str, int] | None = None
        self.collections = 0
        self.collecting = 0.0
        self.profiles: dict[str, Profile] = {}
        self.missing: dict[str, str] = {}

    @property
    def allocated(self) -> float | None:
        """Bytes allocated a second; ``None`` if unknown."""
        if "alloc" not in self.profiles:
            return None
        return self.profiles["alloc"].weight / (self.seconds or 1)


class Meter:
    """A JVM under meter.

    Args:
        vm: the VM.
    """

    def __init__(self, vm: VM) -> None:
        self.vm = vm
        self._running: dict[str, tuple[Any, float]] = {}
        self._missing: dict[str, str] = {}
        self._before = self._counters()

    def __enter__(self) -> Meter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for name in list(self._running):
            self.leave(name)

    def sample(self, kind: str) -> None:
        """Sample a kind from now on; where that is not possible, `Picture.missing` says why.

        Args:
            kind: one of `KINDS`.
        """
        if kind in self._running or kind in self._missing:
            return
        try:
            profile = self.vm.profile(kind, interval=_INTERVALS[kind])
        except NotAvailable as refused:
            self._missing[kind] = str(refused)
        else:
            self._running[kind] = (profile, time.monotonic())

    def leave(self, kind: str) -> None:
        """Sample a kind no longer.

        Args:
            kind: one of `KINDS`.
        """
        if kind in self._running:
            self._running.pop(kind)[0].stop()

    def _counters(self) -> tuple[float, dict[int, tuple[str, int]], list[dict[str, Any]], int]:
        found = collections(performance_data(self.vm.process))
        ticks = thread_ticks(self.vm.process.pid)
        return time.monotonic(), ticks, found, time.time_ns()

    def picture(self) -> Picture:
        """The JVM since the last call.

        Raises:
            TargetLost: it has ended.
        """
        before, self._before = self._before, self._counters()
        began, ticks, collected, epoch = before
        now, ticks_now, collected_now, epoch_now = self._before
        made = Picture()
        made.seconds = now - began
        used = sum(
            count - ticks.get(thread, ("", 0))[1] for thread, (_, count) in ticks_now.items()
        )
        made.processors = max(used, 0) / _TICKS / (made.seconds or 1)
        made.threads = len(ticks_now)
        made.collections = _sum(collected_now, "count") - _sum(collected, "count")
        made.collecting = _sum(collected_now, "seconds") - _sum(collected, "seconds")
        made.heap = heap_use(self.vm)
        made.missing = dict(self._missing)
        for kind, (profile, opened) in list(self._running.items()):
            profile.update()
            times = profile.samples.time
            made.profiles[kind] = profile.where((times > epoch) & (times <= epoch_now))
            if now - opened > _RENEWED:
                self.leave(kind)
                self.sample(kind)
        if self.vm._session.has_ended():
            raise self._lost()
        return made

    def _lost(self) -> Error:
        from jvmti.interface.errors import TargetLost

        return TargetLost(f"{self.vm.process.describe()} has ended")


def _sum(collectors: list[dict[str, Any]], name: str) -> Any:
    return sum(one[name] for one in collectors)
