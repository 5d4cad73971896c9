"""Samples from the events of a recording."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy
from numpy.typing import NDArray

from jvmti.profile.formats.jfr import allocations
from jvmti.profile.formats.jfr.recording import Chunk
from jvmti.profile.formats.jfr.settings import SETTING, Settings
from jvmti.profile.formats.jfr.sources import (
    ALLOCATION,
    CPU_TIME,
    SOURCES,
    Sampled,
    is_replaced,
    sampled,
)
from jvmti.profile.formats.jfr.stacks import ChunkStacks, threads_of
from jvmti.profile.limits import Limits
from jvmti.profile.merging import Merged
from jvmti.profile.tables import Kind, Samples
from jvmti.text.quantities import quantity

__all__ = ["WANTED", "ChunkSamples", "RecordedSamples"]

Column = NDArray[numpy.int64]

_UNREAD = {
    "profiler.Malloc": "native memory",
    "profiler.NativeLock": "locks of native code",
    "profiler.MethodTrace": "calls of traced methods",
}
"""Events of async-profiler with stacks that are no samples of any kind here."""
_LOST = "jdk.CPUTimeSamplesLost"
WANTED = frozenset(
    {SETTING, "jdk.DataLoss", _LOST, *allocations.EVENTS, *_UNREAD, *(one.event for one in SOURCES)}
)
"""The types of events that samples come from, or that say what they lack."""
_NOTES = {
    "jdk.ExecutionSample": "JFR samples only a few of the running threads at a time, and skips "
    "threads whose stack it cannot walk.",
    "jdk.NativeMethodSample": "The samples of wall-clock time are only of threads in native code.",
    "jdk.ThreadPark": "Threads that are parked for work are among those that wait for locks: JFR "
    "does not tell them apart.",
}
"""Sentences about what samples of Flight Recorder's events lack."""
_LIVE = (
    "An object that is alive stands for all bytes that were allocated since the one before it that "
    "was sampled; async-profiler's own views show only the size of the object."
)


@dataclass
class _Taken:
    """How the samples of a kind were taken."""

    events: dict[str, None] = field(default_factory=dict)
    """Flight Recorder's types of events."""
    profilers: dict[str, None] = field(default_factory=dict)
    """Other recorders."""
    intervals: set[float] = field(default_factory=set)
    notes: dict[str, None] = field(default_factory=dict)
    failed: int = 0
    truncated: int = 0
    biased: int = 0
    lost: int = 0

    def add(self, kind: Kind, one: Sampled, settings: Settings) -> None:
        """Take in what is known of some samples."""
        event = one.source.event
        if settings.profiler:
            timed = kind in (Kind.CPU, Kind.COUNT) and settings.engine
            self.profilers[f"{settings.profiler} ({timed})" if timed else settings.profiler] = None
            if kind == Kind.COUNT:
                self.notes[f"The samples are of {settings.event!r}."] = None
            if kind == Kind.LIVE:
                self.notes[_LIVE] = None
        else:
            self.events[event.removeprefix("jdk.")] = None
            if event in _NOTES:
                self.notes[_NOTES[event]] = None
        self.biased += one.biased
        interval = settings.interval_of(kind, event)
        if interval is not None:
            self.intervals.add(interval / 1e9 if kind.unit == "ns" else interval)

    @property
    def engine(self) -> str:
        """All that took samples."""
        own = [f"JFR ({', '.join(self.events)})"] if self.events else []
        return ", ".join([*own, *self.profilers])


class ChunkSamples:
    """The samples of a chunk, which need no other chunk.

    Attributes:
        chunk: the chunk.
        settings: its settings.
        found: the samples of each type of events; without any, there is nothing of what follows.
        stacks: the table of their stacks, with their ``frames``; ``stack`` has each sample's row.
        truncated: which stacks are.
        threads: the table of their threads; ``thread`` and ``owner`` have rows.
    """

    def __init__(self, chunk: Chunk) -> None:
        self.chunk = chunk
        self.settings = settings = Settings(chunk)
        self.found: list[Sampled] = []
        for source in SOURCES:
            if not settings.profiler and is_replaced(chunk, source.event):
                continue
            events = chunk.events(source.event, source.fields)
            # A later release may lack one.
            if events is not None and source.needed <= {*events}:
                self.found.append(sampled(chunk, settings, source, events))
        if not self.found:
            return
        stacks = ChunkStacks(chunk.constants, libraries=bool(settings.profiler))
        self.stack, self.stacks, self.truncated = stacks.stacks(
            self.joined("trace"), self.joined("type")
        )
        self.frames = stacks.frames
        self.threads, self.thread, self.owner = threads_of(
            chunk.constants,
            self.joined("thread"),
            [(len(one.time), one.owner) for one in self.found],
        )

    def joined(self, name: str) -> Column:
        """A column of the samples of all types of events."""
        return numpy.concatenate([getattr(one, name) for one in self.found])


@dataclass
class RecordedSamples:
    """Collects the samples of chunks.

    Attributes:
        rest: what the rest of the file is, beside these chunks.
        merged: the tables.
        unread: how many events there are with stacks that are of no kind, by their type.
    """

    rest: str = ""
    merged: Merged = field(default_factory=Merged)
    unread: dict[str, int] = field(default_factory=dict)
    _taken: dict[Kind, _Taken] = field(default_factory=dict)
    _first: allocations.FirstSamples = field(default_factory=allocations.FirstSamples)
    _lost: int = 0
    """Bytes that Flight Recorder has lost."""
    _began: int = 0
    _ended: int = 0

    def add(self, one: ChunkSamples) -> None:
        """Add the samples of a chunk."""
        chunk, settings = one.chunk, one.settings
        self._began = min(self._began or chunk.began, chunk.began)
        self._ended = max(self._ended, chunk.ended)
        lost = chunk.events("jdk.DataLoss", {"total"})
        if lost is not None and "total" in lost:
            self._lost = max(self._lost, int(lost["total"].max()))
        dropped = chunk.events(_LOST, {"lostSamples"})
        if dropped is not None and "lostSamples" in dropped:
            taken = self._taken.setdefault(Kind.CPU, _Taken())
            taken.events[CPU_TIME.removeprefix("jdk.")] = None
            taken.lost += int(dropped["lostSamples"].sum())
        for name in _UNREAD:
            if count := chunk.count(name):
                self.unread[name] = self.unread.get(name, 0) + count
        if not one.found:
            return
        weights = [
            self._first.weights(chunk, part) if part.source.event == ALLOCATION else part.weight
            for part in one.found
        ]
        kinds = one.joined("kind")
        failed = one.stacks.depths == 0
        for part in one.found:
            for number in numpy.flatnonzero(numpy.bincount(part.kind)).tolist():
                self._taken.setdefault(Kind(number), _Taken()).add(Kind(number), part, settings)
        for kind, taken in self._taken.items():
            counts = numpy.bincount(one.stack[kinds == kind], minlength=len(one.stacks))
            taken.truncated += int(counts[one.truncated].sum())
            taken.failed += int(counts[failed].sum())
        self.merged.add(
            Samples(
                *(one.joined("time"), one.thread, one.stack, numpy.concatenate(weights)),
                *(kinds, one.joined("state")),
                owner=one.owner,
            ),
            one.stacks,
            one.frames,
            one.threads,
            [],
            [],
        )

    def limits(self) -> list[Limits]:
        """The limits of each kind of samples."""
        found = []
        unread = [
            f"The recording has {count:,} events of {_UNREAD[name]}, which are not read."
            for name, count in self.unread.items()
        ]
        if self.rest:
            unread.append(self.rest)
        if self._lost:
            unread.append(f"Flight Recorder has lost {self._lost:,} bytes of events, of any kind.")
        for kind, taken in sorted(self._taken.items()):
            if taken.biased:
                what = f"{quantity(taken.biased, 'sample')} of JFR were taken at a safepoint"
                taken.notes[f"{what} after their time, so some methods get that of others."] = None
            found.append(
                Limits(
                    kind,
                    engine=taken.engine,
                    began=self._began,
                    ended=self._ended,
                    interval=next(iter(taken.intervals)) if len(taken.intervals) == 1 else None,
                    failed=taken.failed,
                    truncated=taken.truncated,
                    lost=taken.lost,
                    virtual_threads=not taken.profilers,
                    notes=(*taken.notes, *unread),
                )
            )
            unread = []
        return found
