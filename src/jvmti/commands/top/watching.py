"""Numbers and profiles of a JVM in its last interval, for `jvmti top`."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Any

from jvmti.commands.top.process_use import ProcessUse, Use
from jvmti.interface.errors import NotAvailable, TargetLost
from jvmti.model.usage import Pauses, heap_use, java_runtime

if TYPE_CHECKING:
    from jvmti.model.vm import VM
    from jvmti.profile.profile import Profile

__all__ = ["INTERVALS", "KINDS", "Meter", "Picture"]

KINDS = ("cpu", "alloc", "lock")
INTERVALS = {"cpu": 0.02, "alloc": 512 * 1024, "lock": 0.0001}
"""From one sample to the next: seconds or bytes; of locks the shortest wait."""
_RENEWED = 60.0
"""Seconds after which a profile is taken anew, so that it does not grow for hours."""
_RENAMING = 0.01
"""The part of the time that it may take to look whether threads have other names."""


class Picture:
    """A JVM in one interval.

    Attributes:
        ended: its end, in seconds since 1970.
        seconds: the length of the interval.
        processors: how many processors it used on average, the VM's own threads included and the
            agent's left out.
        agent: how many the agent's threads used.
        threads: how many threads the process has without the agent's.
        resident: bytes of memory that the process has in use.
        heap: bytes that are used, committed, and the most; ``None`` if unknown.
        pauses: how many pauses for collections there were; ``None`` if unknown.
        paused: seconds of them; ``None`` if unknown.
        profiles: a profile of the interval for each kind that is sampled.
        missing: for each kind that is not, why.
    """

    def __init__(self) -> None:
        self.ended = 0.0
        self.seconds = 0.0
        self.processors = 0.0
        self.agent = 0.0
        self.threads = 0
        self.resident = 0
        self.heap: dict[str, int] | None = None
        self.pauses: int | None = None
        self.paused: float | None = None
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
        self._use = ProcessUse(vm.process.pid)
        self._runtime = java_runtime(vm)
        self._pauses = Pauses(vm)
        self._rename_at = 0.0
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
            profile = self.vm.profile(kind, interval=INTERVALS[kind])
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

    def _counters(self) -> tuple[float, Use, list[dict[str, Any]], int]:
        return time.monotonic(), self._use.read(), self._pauses.read(), time.time_ns()

    def picture(self) -> Picture:
        """The JVM since the last call.

        Raises:
            TargetLost: it has ended.
        """
        before, self._before = self._before, self._counters()
        began, used, collected, epoch = before
        now, used_now, collected_now, epoch_now = self._before
        made = Picture()
        made.ended = epoch_now / 1e9
        made.seconds = now - began
        length = made.seconds or 1
        own = used_now.own_since(used)
        made.processors = max(used_now.seconds - used.seconds - own, 0) / length
        made.agent = own / length
        made.threads = used_now.threads
        made.resident = used_now.resident
        if collected and collected_now:
            made.pauses = _sum(collected_now, "count") - _sum(collected, "count")
            made.paused = _sum(collected_now, "seconds") - _sum(collected, "seconds")
        made.heap = heap_use(self._runtime)
        made.missing = dict(self._missing)
        for kind, (profile, opened) in list(self._running.items()):
            if kind == "cpu":
                self._rename(profile)
            present = profile.now()
            times = present.samples.time
            made.profiles[kind] = present.where((times > epoch) & (times <= epoch_now))
            if now - opened > _RENEWED:
                self.leave(kind)
                self.sample(kind)
        if self.vm._session.has_ended():
            raise TargetLost(f"{self.vm.process.describe()} has ended")
        return made

    def _rename(self, profile: Any) -> None:
        """Give threads their present names, as often as that takes little time."""
        began = time.monotonic()
        if began >= self._rename_at:
            profile.update()
            ended = time.monotonic()
            self._rename_at = ended + (ended - began) / _RENAMING


def _sum(collectors: list[dict[str, Any]], name: str) -> Any:
    return sum(one[name] for one in collectors)
