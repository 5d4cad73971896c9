"""The owners of locks of ``java.util.concurrent``, as they are when a thread parks for one."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from jvmti.instrumentation.probes import Operand, Probe
from jvmti.layouts.probes import RECORDED_OBJECT, RecordedKind
from jvmti.layouts.probes import Operand as Kind
from jvmti.layouts.probes import Site as Where
from jvmti.tracing.call_probes import NO_BEGIN, RecordShape, place_of, recorded
from jvmti.tracing.records.recorder import Recorder
from jvmti.tracing.records.sites import Site
from jvmti.tracing.traced_vm import TracedVM

__all__ = ["LockOwners"]

_OWNER = "exclusiveOwnerThread"
"""The field of ``AbstractOwnableSynchronizer``; its ``tid`` is the number of the thread."""
_MOST = 2_000
"""Questions a second, of which each takes half a microsecond. Of other waits the owner is unknown.

Far fewer of these waits are sampled, and they are the first ones in each second, as these are.
"""
_OBJECT = numpy.dtype(
    [("kind", "u1"), ("letter", "u1"), ("text", "<u2"), ("klass", "<u4"), ("number", "<i8")]
)
assert _OBJECT.itemsize == RECORDED_OBJECT.size

Asked = tuple[list[int], list[int]]
"""When a thread parked, in ascending order, and the numbers of the threads that had the locks."""


class LockOwners(Recorder[Any, Any]):
    """Records who has the lock that a thread parks for.

    A lock for readers that several threads have, has no owner; nor has a semaphore.

    Args:
        vm: the VM.
        calls: patterns for the calls that park, whose first argument is the lock.

    Raises:
        NotAvailable: the VM lets no probes into its classes.

    JVM TI: RetransformClasses.
    """

    def __init__(self, vm: TracedVM, calls: Sequence[str]) -> None:
        shape = RecordShape.of(8, objects=1)
        lock = Operand(Kind.PASSED, "X", 0)
        head = (Operand(Kind.NUMBER, "I", 0), Operand(Kind.SITE, "I"), NO_BEGIN)
        asked = recorded((*head, lock._replace(path=f"{_OWNER}.tid")), shape)
        # Without a condition: to find out whether there is an owner takes longer than to record it.
        probes = [Probe(**place_of(call), **asked, site=Where.CALL) for call in calls]
        self._asked: dict[int, Asked] = {}
        super().__init__(vm, probes, shape, limit=_MOST)
        try:
            self._arm(None)
        except BaseException:
            self.close()
            raise

    def _record(self, site: Site, row: memoryview, ended: int, started: int, thread: int) -> Any:
        raise NotImplementedError("owners are read as columns")

    def _records(self, found: list[Any]) -> Any:
        return found

    def update(self) -> None:
        """Take what is recorded over; of earlier records each thread's last one stays."""
        with self._lock:
            rows, heads = self._take_rows()
            owners = self._owners(rows, heads)
            known = owners > 0
            threads, times, owners = (heads["thread"][known], heads["time"][known], owners[known])
            self._learn_threads({*numpy.unique(owners).tolist()})
        # A park that has not ended yet is the last one of its thread.
        for asked in self._asked.values():
            del asked[0][:-1], asked[1][:-1]
        for thread, time, owner in zip(
            threads.tolist(), times.tolist(), owners.tolist(), strict=True
        ):
            asked = self._asked.setdefault(thread, ([], []))
            asked[0].append(time)
            asked[1].append(owner)

    def _owners(self, rows: NDArray[Any], heads: NDArray[Any]) -> NDArray[numpy.int64]:
        """The number of the thread in each record; 0 if there is none."""
        found = numpy.zeros(len(rows), numpy.int64)
        for number in numpy.unique(heads["site"]).tolist():
            slot = self._sites[number].slots[0] if self._sites[number].slots else None
            if slot is None:
                continue
            at = numpy.flatnonzero(heads["site"] == number)
            cells = numpy.ascontiguousarray(rows[at, slot.at : slot.at + _OBJECT.itemsize])
            values = cells.view(_OBJECT)[:, 0]
            found[at] = numpy.where(values["kind"] == RecordedKind.BOXED, values["number"], 0)
        return found

    def owner(self, thread: int, began: int, ended: int) -> tuple[int, str] | None:
        """The number and the name of the thread that had the lock; ``None`` if unknown.

        Args:
            thread: the number of the thread that parked.
            began: when, in nanoseconds of ``CLOCK_MONOTONIC``.
            ended: when it went on.
        """
        times, owners = self._asked.get(thread, ((), ()))
        place = bisect.bisect_left(times, began)
        if place == len(times) or times[place] > ended:
            return None
        number = owners[place]
        return number, self._threads.get(number, f"#{number}")
