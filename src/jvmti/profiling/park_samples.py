"""Samples of threads that park for a lock of ``java.util.concurrent``, by probes in these locks."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass
from typing import Any

import numpy

from jvmti.interface.errors import Error
from jvmti.profile.tables import Kind, Samples, State, Threads
from jvmti.profiling.lock_owners import LockOwners
from jvmti.profiling.named_stacks import NamedStacks
from jvmti.profiling.profiled_vm import ProfiledVM
from jvmti.profiling.sources import Tables
from jvmti.tracing.call_probes import MOST_FRAMES
from jvmti.tracing.records.sites import RecordedObject

_LOCKS = "java.util.concurrent.locks."
_PARKS = [
    f"call {_LOCKS}LockSupport.park* in {_LOCKS}{name}.*"
    for name in ("AbstractQueuedSynchronizer", "AbstractQueuedLongSynchronizer", "StampedLock")
]
"""Where a lock parks the thread that it is for.

Probes in ``LockSupport`` would see all that park for something else, such as for work of their
pool, and in a server these are nearly all. A ``Condition`` parks in another class.
"""
_MOST = 60
"""Records a second; each stands for some of those that there was no space for."""


@dataclass
class _Batch:
    """Calls that were read at once.

    Attributes:
        first: its first row.
        calls: how many were recorded; those for no lock have no rows.
        dropped: how many were not.
    """

    first: int
    calls: int
    dropped: int


class ParkSource:
    """Calls of ``LockSupport.park`` by locks of ``java.util.concurrent``, recorded by probes.

    Args:
        vm: the VM.
        interval: the shortest wait, in seconds.
        depth: frames of a stack at most.

    Raises:
        NotAvailable: the VM lets no probes into its classes.

    JVM TI: RetransformClasses.
    """

    engine = "probes"
    reason = ""

    def __init__(self, vm: ProfiledVM, interval: float, depth: int) -> None:
        self._trace = vm.trace(
            *_PARKS,
            unloaded=True,
            over=interval,
            limit=_MOST,
            stack=min(depth, MOST_FRAMES),
            text=8,
        )
        # In front of a call the probes of the later set come last: those of the trace note that a
        # wait begins before these ask who has the lock.
        try:
            self._owners = LockOwners(vm, _PARKS)
        except BaseException:
            self._trace.close()
            raise
        self._stacks = NamedStacks()
        self._vm = vm
        self._threads: dict[tuple[int, str], int] = {}
        self._groups: dict[int, str] = {}
        self._rows: list[tuple[int, int, int, int, int]] = []
        self._batches: list[_Batch] = []

    def __len__(self) -> int:
        return len(self._rows)

    def read(self) -> None:
        """Take the records over that there are."""
        calls = self._trace.read()
        dropped = int(self._trace.dropped) - sum(batch.dropped for batch in self._batches)
        if calls or not self._batches:
            self._batches.append(_Batch(len(self._rows), len(calls), dropped))
        else:
            self._batches[-1].dropped += dropped
        # Afterwards: who had a lock was recorded before the wait for it ended.
        self._owners.update()
        for call in calls:
            blocker = call.arguments[0] if call.arguments else None
            if not isinstance(blocker, RecordedObject):
                continue
            stack = self._stacks.add(blocker.class_name, call.stack)
            thread = self._number((call.thread_id, call.thread))
            found = self._owners.owner(call.thread_id, call.time - call.duration, call.time)
            owner = -1 if found is None else self._number(found)
            self._rows.append((call.time, thread, stack, call.duration, owner))
        self._learn_groups()

    def _learn_groups(self) -> None:
        """Request the groups of new threads; of one that has ended it is unknown."""
        new = {number for number, _ in self._threads} - set(self._groups)
        if not new:
            return
        self._groups.update(dict.fromkeys(new, ""))
        try:
            live = list(self._vm.threads)
            for number, thread in zip(self._vm.threads.ids(live), live, strict=True):
                if number in new and (group := thread.group) is not None:
                    self._groups[number] = group.name or ""
        except Error:
            # The same end of the VM that the next read reports.
            if not self._vm._session.gone():
                raise

    def _number(self, thread: tuple[int, str]) -> int:
        return self._threads.setdefault(thread, len(self._threads))

    def stop(self) -> None:
        """Record no more; the rest can still be read."""
        self.read()
        self._trace.close()
        self._owners.close()

    def close(self) -> None:
        """Nothing is left."""

    def rename_threads(self, names: dict[int, str]) -> None:
        """Each sample has the name that its thread had at that time."""

    def tables(self) -> Tables:
        """The samples that were read: the class of the lock is the innermost frame."""
        columns = numpy.array(self._rows, numpy.int64).reshape(-1, 5).T
        for batch, after in itertools.zip_longest(self._batches, self._batches[1:]):
            rows = slice(batch.first, None if after is None else after.first)
            stands_for = 1 + batch.dropped / max(batch.calls, 1)
            columns[3, rows] = numpy.rint(columns[3, rows] * stands_for)
        # Records have the monotonic clock.
        since = time.time_ns() - time.monotonic_ns()
        threads = list(self._threads)
        return (
            Samples(
                columns[0] + since,
                columns[1].astype(numpy.int32),
                columns[2].astype(numpy.int32),
                columns[3],
                Kind.LOCK,
                State.PARKED,
                owner=columns[4].astype(numpy.int32),
            ),
            *self._stacks.tables(),
            Threads(
                numpy.array([one[0] for one in threads], numpy.int64),
                [one[1] for one in threads],
                [self._groups.get(one[0], "") for one in threads],
                numpy.zeros(len(threads), numpy.bool_),
            ),
        )

    def limits(self) -> dict[str, Any]:
        """The fields that say what the samples lack."""
        weights = numpy.array([(row[3], row[3] * (row[4] >= 0)) for row in self._rows], float)
        whole, known = weights.reshape(-1, 2).sum(axis=0)
        notes = []
        if known < 0.995 * whole:
            notes.append(
                f"The owner of the lock is known for {known / whole:.0%} of the waiting time; a "
                "lock that several readers have has none, nor one whose next owner has not yet run."
            )
        if self._trace.dropped:
            notes.append("The weight of dropped samples is given to those of the same second.")
        return {"lost": int(self._trace.dropped), "notes": tuple(notes)}


__all__ = ["ParkSource"]
