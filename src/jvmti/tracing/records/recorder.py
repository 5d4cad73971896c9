"""Probes that record, and the reader of their records."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

import numpy

from jvmti.instrumentation.probes import BadProbe, Probe
from jvmti.interface.errors import Error, ProtocolError
from jvmti.interface.signatures import java_name
from jvmti.layouts.probes import Site as Where
from jvmti.refs import ClassLoader
from jvmti.text import modified_utf8 as text
from jvmti.tracing.call_probes import RecordShape
from jvmti.tracing.probe_set import ProbeSet
from jvmti.tracing.records.memory import HEAD
from jvmti.tracing.records.sites import Site, Slot
from jvmti.tracing.summaries import OTHERS, Grouping, Uses, added_up, key_name
from jvmti.tracing.traced_vm import TracedVM

TICK = 0.05
"""Seconds between two reads of the records."""

_HEAD = numpy.dtype(
    [
        ("sequence", "<i8"),
        ("claimed", "<i8"),
        ("time", "<i8"),
        ("started", "<i8"),
        ("thread", "<i8"),
        ("site", "<u4"),
        ("probes", "<u4"),
    ]
)


Record = TypeVar("Record")
Records = TypeVar("Records", bound="list[Any]")
Taken = TypeVar("Taken", bound=Sized)


def _named(noted: str) -> str:
    """A class as Java names it, or a frame as stack traces do: ``com.acme.Order.add:42``."""
    signature, _, frame = noted.partition("\1")
    if not frame:
        return java_name(signature)
    method, _, line = frame.partition("\1")
    return f"{java_name(signature)}.{method}" + (f":{line}" if line != "0" else "")


class Recorder(ProbeSet, ABC, Generic[Record, Records]):
    """A set of probes that record.

    Args:
        vm: the VM.
        probes: the probes.
        shape: of their records.
        limit: records a second; ``None`` for all that there is space for.
        by: count by this instead.
        over: seconds that what is recorded or counted must have taken.
        every: only each n-th is recorded.
        objects: of how many calls the objects are held.
        loader: only classes of this loader get probes.
    """

    _TIMED = True
    """Whether what is counted has durations."""

    def __init__(
        self,
        vm: TracedVM,
        probes: Sequence[Probe],
        shape: RecordShape,
        *,
        limit: int | None,
        by: Grouping | None = None,
        over: float = 0.0,
        every: int = 1,
        objects: int = 0,
        loader: ClassLoader | None = None,
    ) -> None:
        if by is not None and every != 1:
            raise BadProbe("a summary counts every one: leave out every=")
        self._by = by
        self._keys: list[str] = []
        self._keys_read = 0
        if limit is not None and limit < 1:
            raise BadProbe("limit= counts from 1; None records all that fit")
        self._limit = limit
        self._class_names = ["?"]
        self._classes_read = 0
        self._threads: dict[int, str] = {}
        self._left_out = 0
        self._since = time.monotonic()
        self._taken = 0
        super().__init__(vm, probes, shape, over=over, every=every, objects=objects, loader=loader)
        self._memory.allow(limit)

    @abstractmethod
    def _record(self, site: Site, row: memoryview, ended: int, started: int, thread: int) -> Record:
        """Decode a record."""

    @abstractmethod
    def _records(self, found: list[Record]) -> Records:
        """The list that `read` returns."""

    # ---- reading ---------------------------------------------------------------------------------

    @property
    def dropped(self) -> int:
        """Dropped records: more than the limit, or not read in time."""
        return self._memory.dropped + self._memory.lost + self._left_out

    def read(self, timeout: float | None = 0.0) -> Records:
        """The records since the last call, in order.

        Args:
            timeout: seconds to wait for one; ``None`` is no limit.

        Raises:
            ProtocolError: the target wrote invalid data.
        """
        return self._wait(lambda: self._records(self._take()), timeout)

    def _wait(self, take: Callable[[], Taken], timeout: float | None) -> Taken:
        """The records that a function takes, as soon as there is any."""
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            ended = self.ended
            with self._lock:
                found = take()
            if len(found) or ended:
                return found
            left = TICK if until is None else min(TICK, until - time.monotonic())
            if left <= 0:
                return found
            time.sleep(left)

    def __iter__(self) -> Iterator[Record]:
        """New records, until the probes are removed or the target ends."""
        while True:
            found = self.read(1.0)
            yield from found
            if not found and self.ended:
                return

    def _take(self) -> list[Record]:
        rows, heads = self._take_rows()
        found: list[Record] = []
        for row, head in zip(rows, heads.tolist(), strict=True):
            _, _, ended, started, thread, site, _ = head
            found.append(self._record(self._sites[site], memoryview(row), ended, started, thread))
        return found

    def _take_rows(self) -> tuple[Any, Any]:
        """The records since the last call in order, and their heads; all names are known."""
        now = time.monotonic()
        if now - self._since >= 1:
            self._since, self._taken = now, 0
        allowed = None if self._limit is None else max(self._limit - self._taken, 0)
        rows = self._memory.take()
        # Enough for this second: the program stops writing, too.
        self._memory.allow(None if allowed is None else max(allowed - len(rows), 0))
        heads = rows[:, :HEAD].copy().view(_HEAD)[:, 0]
        # A frame may still run probes of an earlier set in this one's place.
        ours = heads["probes"] == self._number
        rows, heads = rows[ours], heads[ours]
        order = numpy.argsort(heads["time"], kind="stable")[:allowed]
        self._left_out += len(rows) - len(order)
        self._taken += len(order)
        rows, heads = rows[order], heads[order]
        self._learn(heads)
        known = heads["site"] < len(self._sites)
        if not known.all():
            if not self.ended:
                raise ProtocolError("a record has the number of an unknown place")
            # Of a class that was loaded at the very end.
            self._left_out += int((~known).sum())
            rows, heads = rows[known], heads[known]
        return rows, heads

    def _learn(self, heads: Any) -> None:
        """Request the names of new numbers."""
        if not len(heads):
            return
        if int(heads["site"].max()) >= len(self._sites):
            self._read_sites()
        self._read_classes()
        self._learn_threads({*heads["thread"].tolist()})

    def _learn_threads(self, numbers: set[int]) -> None:
        """Request the names of threads; one that has ended keeps its number."""
        unknown = numbers - set(self._threads)
        if unknown and not self.ended:
            try:
                threads = self._vm.threads
                live = list(threads)
                ids = threads.ids(live)
                names = [one.name for one in live]
            except Error:
                if not self._vm._session.gone():
                    raise
            else:
                # Most virtual threads have no name of their own.
                named = (name or f"#{one}" for one, name in zip(ids, names, strict=True))
                self._threads.update(zip(ids, named, strict=True))
        for number in unknown:
            self._threads.setdefault(number, f"#{number}")

    def _read_classes(self) -> None:
        # A large list comes in parts, whose last name may be cut off.
        while data := self._ask("read_recorded_classes", self._classes_read):
            *names, rest = data.split(b"\0")
            if not names:
                raise ProtocolError("a recorded class has no end")
            self._classes_read += len(data) - len(rest)
            self._class_names += [_named(text.decode(one)) for one in names]

    def _read_rest(self) -> None:
        super()._read_rest()
        self._read_keys()
        self._read_classes()

    # ---- counting --------------------------------------------------------------------------------

    @property
    def counts(self) -> bool:
        """Whether it counts instead of recording."""
        return self._by is not None

    def summary(self) -> Uses:
        """The counts so far, the most expensive first.

        Only where something is counted (``by=``, or ``summary=True``): the target adds up, which
        costs less than recording, and nothing is left out.

        Raises:
            ValueError: it is recorded instead.
        """
        by = self._by
        if by is None:
            raise ValueError("this one records; open one with by='method' to count")
        with self._lock:
            self._read_sites()
            self._read_keys()
            if by.operand is None:
                failed = [self._plan[site.probe].site is Where.UNWIND for site in self._sites]
                names = [(by.name(site), site.called_descriptor) for site in self._sites]
            else:
                names = [(name, "") for name in (OTHERS, *self._keys) for _ in range(2)]
                failed = [bool(number % 2) for number in range(len(names))]
            tallies = self._memory.tallies if self._TIMED else self._memory.counts
            return added_up(tallies(len(names)), names, failed)

    def _read_keys(self) -> None:
        if self._by is None or self._by.operand is None:
            return
        data = self._ask("read_tally_keys", self._keys_read)
        self._read_classes()
        slot = Slot("L", 0)
        size = slot.size(self._shape.text_size)
        for at in range(0, len(data) // size * size, size):
            row = memoryview(data)[at : at + size]
            value = slot.read(row, self._class_names, self._shape.text_size)
            self._keys.append(key_name(value))
            self._keys_read += size

    def _values(self, site: Site, row: memoryview) -> list[Any]:
        return [
            None if slot is None else slot.read(row, self._class_names, self._shape.text_size)
            for slot in site.slots
        ]


__all__ = ["Record", "Recorder", "Records"]
