"""Waits for monitors: pairs the events that begin and end a wait, and keeps those that last."""

from __future__ import annotations

from typing import Any

import numpy

from jvmti.env.events import EVENTS
from jvmti.events.streams.records import Records

_NUMBERS = {cls.declaration.name: number for number, cls in EVENTS.items()}
_ENDS = [number for number, cls in EVENTS.items() if cls.declaration.waits and cls.declaration.ends]
_BEGINNINGS = [_NUMBERS[str(EVENTS[number].declaration.ends)] for number in _ENDS]

ENDED_BY = {
    str(EVENTS[number].declaration.ends): EVENTS[number].declaration.name for number in _ENDS
}
"""The event that ends a wait, by the one that begins it."""


class Waits:
    """Follows the records of a stream that was opened with ``waits``, in the order of their times.

    Attributes:
        waiting: for each waiting thread, by its number in the stream, the beginning of its wait.
    """

    def __init__(self) -> None:
        self.waiting: dict[int, Records] = {}

    def ended(self, records: Records) -> Records:
        """The same records without the beginnings, which are kept while the waits last."""
        events = records.raw("u1", 0)
        begins = numpy.isin(events, _BEGINNINGS)
        mine = numpy.flatnonzero(begins | numpy.isin(events, _ENDS))
        if not len(mine):
            return records
        threads = records.raw("u4", 4)[mine]
        numbers, last = numpy.unique(threads[::-1], return_index=True)
        for number, back in zip(numbers.tolist(), last.tolist(), strict=True):
            at = int(mine[len(mine) - 1 - back])
            if begins[at]:
                self.waiting[number] = records.where(numpy.array([at]))
            else:
                self.waiting.pop(number, None)
        return records.where(~begins)

    def rows(self, now: int) -> list[dict[str, Any]]:
        """The waits that still last, as rows of events, the longest first.

        Args:
            now: the time on the clock of the records, in nanoseconds.
        """
        found = []
        for records in self.waiting.values():
            for row in records.rows():
                row["duration"] = max(now - row["time"], 0)
                row["unfinished"] = True
                found.append(row)
        return sorted(found, key=lambda row: -row["duration"])


__all__ = ["ENDED_BY", "Waits"]
