"""Which threads wait for which locks over some time, for how long, where, and their owners.

The VM reports the beginning and the end of every wait for a monitor, so these are counted and
measured exactly.  The VM does not report the owners of monitors, nor anything about locks of
``java.util.concurrent``: these come from samples of all threads, so such waits are counted and
measured only as exactly as the samples allow.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jvmti.interface.constants import ThreadState
from jvmti.model.threads.locks import Lock, LockFinder, LockSnapshot

if TYPE_CHECKING:
    from jvmti.events.streams.recording import Stream
    from jvmti.events.streams.records import Records
    from jvmti.model.threads.frames import Frame
    from jvmti.model.threads.java_thread import ThreadSnapshot
    from jvmti.model.vm import VM

INTERVAL = 0.1
"""Seconds between two samples of all threads."""
_SHARE = 10
"""Sampling may take a tenth of the time; the VM stops for a part of that."""
_FRAMES = 40
_LOCKING = (
    "java.lang.Object.",
    "java.util.concurrent.locks.",
    "jdk.internal.",
    "sun.misc.",
    "java.lang.VirtualThread.",
)
_JDK = ("java.", "jdk.", "sun.", "javax.")


@dataclass
class Waiter:
    """A thread that waits now."""

    #: Its name.
    thread: str
    #: Where it waits: ``com.acme.Cart.add:17``.
    place: str
    #: For how long, in seconds; ``None`` if unknown.
    seconds: float | None
    #: Whether it had begun before the first sample, so that it is longer than that.
    at_least: bool = False


@dataclass
class LockUse:
    """The use of one lock during the observation."""

    #: ``monitor`` or ``synchronizer``.
    kind: str
    #: The class of the object.
    class_name: str
    #: Its identity hash code in hexadecimal digits, as Java prints it; its address where only the
    #: VM's own dump reports it.
    key: str
    #: How often threads waited for it, those that still wait included.
    waits: int = 0
    #: For how long in all, in seconds.
    total: float = 0.0
    #: For how long at most.
    longest: float = 0.0
    #: Whether the VM reported every wait; otherwise they were sampled.
    exact: bool = True
    #: How often and for how long, by place.
    places: dict[str, list[float]] = field(default_factory=dict)
    #: In how many samples each thread held it, and where it was then.
    owners: Counter[tuple[str, str]] = field(default_factory=Counter)
    #: Those that wait at the end.
    waiting: list[Waiter] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The class and the object's hash code or address."""
        return f"{self.class_name}@{self.key}"

    def add(self, place: str, seconds: float) -> None:
        """Count a wait."""
        self.waits += 1
        self.total += seconds
        self.longest = max(self.longest, seconds)
        at = self.places.setdefault(place, [0, 0.0])
        at[0] += 1
        at[1] += seconds


@dataclass
class _Seen:
    """A wait that only samples have seen."""

    lock: LockUse
    place: str
    since: float
    last: float
    before: bool


class LockWatch:
    """Watches the locks of a VM for some time.

    Args:
        vm: the VM.
        timeout: seconds that a sample may take.

    Attributes:
        samples: how many samples of all threads were taken.
        seconds: for how long it was watched.
        source: the source of the owners of monitors: ``jvmti``, ``dump``, or empty.
        reason: why they are unknown, if they are.
        deadlocks: the names of threads that wait for each other for ever.
    """

    def __init__(self, vm: VM, timeout: float = 10.0) -> None:
        self._vm = vm
        self._timeout = timeout
        self._finder = LockFinder(vm)
        from jvmti.events.streams.waits import Waits

        self._waits = Waits()
        self._uses: dict[tuple[str, str, str], LockUse] = {}
        self._seen: dict[tuple[int, str], _Seen] = {}
        self._last: dict[str, LockUse] = {}  # by name of a thread, what it has waited for
        self.samples = 0
        self.seconds = 0.0
        self.source = ""
        self.reason = ""
        self.deadlocks: list[list[str]] = []

    def watch(
        self,
        seconds: float,
        interval: float = INTERVAL,
        is_over: Callable[[], bool] = lambda: False,
    ) -> list[LockUse]:
        """Watch for some time: the locks that threads waited for, the longest waits first.

        Args:
            seconds: for how long.
            interval: seconds between two samples.
            is_over: whether it shall end earlier.
        """
        env = self._vm.env_with("can_generate_monitor_events")
        began = time.monotonic()
        with env.stream("MonitorContendedEntered", waits=True) as stream:
            self._watch(stream, began + seconds, interval, is_over)
        self._take(stream.read(0))
        now = time.monotonic()
        self.seconds = now - began
        for row in self._waits.rows(time.monotonic_ns()):
            use = self._use("monitor", row["object"], f"{row['object_hash'] & 0xFFFFFFFF:x}")
            took = row["duration"] / 1e9
            use.add(row["place"] or "?", took)
            use.waiting.append(Waiter(row["thread"], row["place"] or "?", took))
        for seen in self._seen.values():
            took = now - seen.since
            seen.lock.add(seen.place, took)
            # What it is called was kept with it.
        for (_, name), seen in self._seen.items():
            seen.lock.waiting.append(Waiter(name, seen.place, now - seen.since, seen.before))
        return self._found()

    def snapshot(self) -> list[LockUse]:
        """Take one sample: the locks that threads wait for at this moment."""
        self._sample(None, first=True)
        for (_, name), seen in self._seen.items():
            seen.lock.waits += 1
            seen.lock.places.setdefault(seen.place, [0, 0.0])[0] += 1
            seen.lock.waiting.append(Waiter(name, seen.place, None))
        return self._found()

    def _found(self) -> list[LockUse]:
        used = [use for use in self._uses.values() if use.waits]
        return sorted(used, key=lambda use: (-use.total, -use.waits))

    def _watch(
        self, stream: Stream, until: float, interval: float, is_over: Callable[[], bool]
    ) -> None:
        first = True
        while True:
            at, cost = time.monotonic(), time.thread_time()
            self._sample(stream, first=first)
            first = False
            # The program comes first: each sample stops it for a moment, and the more threads there
            # are, the longer it takes, here as well.
            cost = (time.thread_time() - cost) * _SHARE
            due = min(at + max(interval, cost), until)
            while True:
                left = due - time.monotonic()
                if self._vm._session.wait(max(min(left, INTERVAL), 0.01)) or is_over():
                    return
                if left <= INTERVAL:
                    break
            if due >= until:
                return

    def _take(self, records: Records) -> None:
        if not len(records):
            return
        for row in self._waits.ended(records.sorted_by_time()).rows():
            use = self._use("monitor", row["object"], f"{row['object_hash'] & 0xFFFFFFFF:x}")
            self._last[row["thread"]] = use
            if row["duration"] >= 0:
                use.add(row["place"] or "?", row["duration"] / 1e9)
                continue
            # It had begun before the stream, so only a sample may have its beginning.
            for key in [key for key in self._seen if key[1] == row["thread"]]:
                seen = self._seen.pop(key)
                use.add(seen.place, max(row["time"] / 1e9 - seen.since, 0.0))
                use.owners.update(seen.lock.owners)
                seen.lock.owners.clear()

    def _use(self, kind: str, class_name: str | None, key: str) -> LockUse:
        return self._uses.setdefault(
            (kind, class_name or "?", key), LockUse(kind, class_name or "?", key)
        )

    def _sample(self, stream: Stream | None, first: bool) -> None:
        threads = self._vm.threads.snapshot(_FRAMES)
        locked = self._finder.sample(threads, self._timeout, only_waiting=True)
        now = time.monotonic()
        if stream is not None:
            self._take(stream.read(0))  # the stream has reported all waits that the sample shows
        self.samples += 1
        self.source, self.reason = locked.source or self.source, locked.reason
        known = {thread.id: thread for thread in threads}
        reported = {records["thread"][0]: records for records in self._waits.waiting.values()}
        names = self._reported_monitors(locked, known, reported)
        seen: dict[tuple[int, str], _Seen] = {}
        held: set[tuple[str, int]] = set()
        for number, locks in locked.threads.items():
            wanted, thread = locks.waits_for, known[number]
            blocked = bool(thread.state & ThreadState.BLOCKED_ON_MONITOR_ENTER)
            if wanted is None or not (blocked or locks.owner is not None):
                continue  # it waits to be notified, or for what no thread holds
            key = (number, thread.name)
            before = self._seen.get(key)
            use = names.get(wanted)
            if use is None and before is not None and before.lock.class_name == wanted.class_name:
                use = before.lock  # its address may be another one after a collection
            if use is None:
                use = self._use(wanted.kind, wanted.class_name, wanted.key)
            if locks.owner in known and (use.name, locks.owner) not in held:
                owner = known[locks.owner]
                held.add((use.name, locks.owner))
                use.owners[owner.name, _place(owner.frames, _JDK)] += 1
            monitor = wanted.kind == "monitor"
            if not (blocked if monitor else _locking(thread.frames)):
                continue  # its stack is of a moment before, when it did not wait for this
            known_before = before is not None and before.lock.kind == "monitor"
            if monitor and (thread.name in reported or not (first or known_before)):
                continue  # the VM reports this one
            use.exact = use.exact and monitor
            if before is not None and before.lock is not use and _same_kind(before.lock, use):
                # The same wait, or its end would have been reported: by now the lock has a name.
                use.owners.update(before.lock.owners)
                before.lock.owners.clear()
                before.lock = use
            if before is not None and before.lock is use:
                seen[key] = _Seen(use, before.place, before.since, now, before.before)
                del self._seen[key]
            else:
                seen[key] = _Seen(use, _place(thread.frames, _LOCKING), now, now, first)
        for gone in self._seen.values():
            # It has ended between the two samples.
            gone.lock.add(gone.place, (gone.last + now) / 2 - gone.since)
        self._seen = seen
        circles = self._finder.deadlocks(threads, locked)
        self.deadlocks = [[known[one].name for one in circle] for circle in circles]

    def _reported_monitors(
        self, locked: LockSnapshot, known: dict[int, ThreadSnapshot], reported: dict[Any, Records]
    ) -> dict[Lock, LockUse]:
        """Identify the monitors of which the VM's dump reports only addresses."""
        found: dict[Lock, LockUse] = {}
        for number, locks in locked.threads.items():
            name, wanted = known[number].name, locks.waits_for
            if wanted is None or wanted.kind != "monitor":
                continue
            if name in reported:
                row = reported[name]
                key = f"{int(row['object_hash'][0]) & 0xFFFFFFFF:x}"
                use = self._use("monitor", row["object"][0], key)
            elif name in self._last and wanted not in found:
                use = self._last[name]
            else:
                continue
            if use.class_name == wanted.class_name:
                found[wanted] = use
        return found


def _same_kind(one: LockUse, other: LockUse) -> bool:
    """Whether two can be one monitor that had no name at first."""
    return one.kind == other.kind == "monitor" and one.class_name == other.class_name


def _locking(frames: Iterable[Frame]) -> bool:
    """Whether a stack is inside a lock of ``java.util.concurrent``."""
    names = (frame.method.class_name for frame in frames)
    return any(name.startswith("java.util.concurrent.locks.Abstract") for name in names)


def _place(frames: Iterable[Frame], aside: tuple[str, ...]) -> str:
    """The first other frame of a stack."""
    top = None
    for frame in frames:
        text = f"{frame.method.class_name}.{frame.method.name}"
        text += f":{frame.line}" if frame.line and frame.line > 0 else ""
        top = top or text
        if not text.startswith(aside):
            return text
    return top or "?"


__all__ = ["INTERVAL", "LockUse", "LockWatch", "Waiter"]
