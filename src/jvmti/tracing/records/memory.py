"""The memory that probes write to: records in lanes, and tallies.

`jvmti.layouts.probe_memory` describes it. This does not trust what the target writes: a record
counts only with the number that belongs to its place.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import time
from typing import Any, TypeAlias

from jvmti.deferred import numpy
from jvmti.layouts.probe_memory import COUNTERS, LANES, MEMORY, TALLIES
from jvmti.layouts.probes import RECORDED

Array: TypeAlias = "numpy.ndarray[Any, Any]"

_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
_PATIENCE = 0.2
"""Seconds from the beginning of a record to its end; later it counts as lost: its thread was
stopped in the middle, or failed there."""


class ProbeMemory:
    """Memory for a set of probes, which the agent maps, too.

    Args:
        record_size: bytes of a record.

    Attributes:
        descriptor: of the memory, until it is closed.
        lost: the number of unfinished records.
    """

    def __init__(self, record_size: int) -> None:
        self.descriptor = os.memfd_create("jvmti", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(self.descriptor, MEMORY.SIZE)
            fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, _SEALS)
            mapped = mmap.mmap(self.descriptor, MEMORY.SIZE)
        except BaseException:
            self.close_descriptor()
            raise
        everything = numpy.frombuffer(mapped, numpy.uint8)
        half = LANES.TAILS
        counters = everything[: 2 * half].view("<i8").reshape(2, LANES.COUNT, LANES.LINE // 8)
        self._heads, self._dropped, self._tails = (
            counters[0, :, 0],
            counters[0, :, LANES.DROPPED // 8],
            counters[1, :, 0],
        )
        self._capacity = LANES.SIZE // record_size
        records = everything[LANES.RECORDS : LANES.RECORDS + LANES.COUNT * LANES.SIZE]
        self._records = records.reshape(LANES.COUNT, self._capacity, record_size)
        self._sequences = records.view("<i8").reshape(LANES.COUNT, self._capacity, record_size // 8)
        self._reached, self._failed = (
            counters[0, 0, LANES.REACHED // 8 : LANES.REACHED // 8 + 1],
            counters[0, 0, LANES.FAILED // 8 : LANES.FAILED // 8 + 1],
        )
        self._changes = counters[1, 0]
        tallies = everything[TALLIES.START : COUNTERS.START].view("<i8")
        self._tallies = tallies.reshape(TALLIES.STRIPES, TALLIES.COUNT, TALLIES.SIZE // 8)
        self._stripes_used = counters[0, : TALLIES.STRIPES, TALLIES.OWNER // 8]
        counts = everything[COUNTERS.START :].view("<i8")
        self._counts = counts.reshape(-1, COUNTERS.LINES, COUNTERS.LINE // 8)
        self._read = numpy.zeros(LANES.COUNT, numpy.int64)
        self._waited: dict[int, tuple[float, int]] = {}  # of a lane: when it had how many records
        self.lost = 0

    def allow(self, records: int | None) -> None:
        """Limit each lane to this many records before the next read; ``None`` is no limit."""
        # The lane sees a smaller number of read records.
        fewer = 0 if records is None else max(self._capacity - records, 0)
        self._tails[:] = self._read - fewer

    @property
    def dropped(self) -> int:
        """Records dropped for lack of space, or over the quota."""
        return int(self._dropped.sum())

    def choose(self, every: int, most: int) -> None:
        """Say what is recorded or changed: each n-th; and how many changes are made at most."""
        self._changes[LANES.MOST // 8] = most
        self._changes[LANES.EVERY // 8] = every

    @property
    def changes_reached(self) -> int:
        """Calls that reached a probe with a change."""
        return int(self._reached[0])

    @property
    def changes_failed(self) -> int:
        """Changes that failed."""
        return int(self._failed[0])

    def close_descriptor(self) -> None:
        """Close the descriptor, once both sides have mapped the memory."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
        self.descriptor = -1

    def take(self) -> Array:
        """Copies of the complete records, in rows of bytes; those of a thread in order."""
        parts = []
        heads = self._heads.copy()
        lanes = numpy.flatnonzero(heads != self._read)
        for lane in lanes.tolist():
            first, last = int(self._read[lane]), int(heads[lane])
            if not 0 <= last - first <= self._capacity:
                # The target wrote impossible numbers: start again from its position.
                self._read[lane] = last
                continue
            numbers = numpy.arange(first, last)
            places = numbers % self._capacity
            whole = self._sequences[lane, places, 0] == numbers + 1
            until = last
            if not whole.all():
                lost_until = self._lost_until(lane, last)
                unfinished = numbers[~whole]
                pending = unfinished[unfinished >= lost_until]
                self.lost += len(unfinished) - len(pending)
                until = int(pending[0]) if len(pending) else last
            parts.append(self._records[lane, places[(numbers < until) & whole]])
            self._read[lane] = until
        if not parts:
            return numpy.empty((0, self._records.shape[2]), numpy.uint8)
        return numpy.concatenate(parts)

    def _lost_until(self, lane: int, head: int) -> int:
        """The number up to which incomplete records of a lane are lost."""
        now = time.monotonic()
        since, seen = self._waited.setdefault(lane, (now, head))
        if now - since < _PATIENCE:
            return 0
        self._waited[lane] = (now, head)
        return seen

    def tallies(self, sites: int) -> Array:
        """For each used stripe and site its buckets, the sum and the longest, in nanoseconds."""
        # To read what nobody has written to would take memory for it.
        used = numpy.flatnonzero(self._stripes_used)
        copied: Array = self._tallies[used, :sites]
        return copied

    def counts(self, sites: int) -> Array:
        """The same of what is counted without durations, as if it were all of one stripe."""
        blocks = -(-sites // self._counts.shape[2])
        counted = numpy.zeros((1, sites, self._tallies.shape[2]), numpy.int64)
        counted[0, :, 0] = self._counts[:blocks].sum(axis=1).reshape(-1)[:sites]
        return counted


def bucket_starts() -> Array:
    """The durations at which the buckets of a tally begin, in nanoseconds."""
    number = numpy.arange(TALLIES.BUCKETS)
    octave, part = number // TALLIES.PER_OCTAVE, number % TALLIES.PER_OCTAVE
    starts: Array = numpy.ldexp(1 + part / TALLIES.PER_OCTAVE, octave)
    return starts


HEAD = RECORDED.size

__all__ = ["HEAD", "ProbeMemory", "bucket_starts"]
