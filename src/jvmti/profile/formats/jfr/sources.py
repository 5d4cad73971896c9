"""Samples from events: which event is a sample of what, with which thread and weight."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from jvmti.profile.formats.jfr.recording import Chunk
from jvmti.profile.formats.jfr.settings import Settings
from jvmti.profile.tables import Kind, State

__all__ = ["ALLOCATION", "CPU_TIME", "SOURCES", "Sampled", "Source", "is_replaced", "sampled"]

Column = NDArray[numpy.int64]


class Source(NamedTuple):
    """How an event becomes a sample."""

    event: str
    kind: Kind
    thread: str = "eventThread"
    weight: str = ""
    """The field; empty for the period of sampling."""
    type: str = ""
    """The field with the class that was allocated, or of the lock."""
    state: State = State.UNKNOWN
    owner: str = ""

    @property
    def fields(self) -> set[str]:
        """The fields that a sample is made of."""
        names = {self.thread, self.weight, self.type, self.owner}
        return {"startTime", "stackTrace", "state", "biased", *names}

    @property
    def needed(self) -> set[str]:
        """Those of them without which there is no sample."""
        return {"startTime", "stackTrace", self.thread, self.weight} - {""}


CPU_TIME = "jdk.CPUTimeSample"
EXECUTION = "jdk.ExecutionSample"
WALL = "profiler.WallClockSample"
LIVE = "profiler.LiveObject"
ALLOCATION = "jdk.ObjectAllocationSample"
_BUFFER = "jdk.ObjectAllocationInNewTLAB"
_BESIDE = "jdk.ObjectAllocationOutsideTLAB"

SOURCES = (
    Source(CPU_TIME, Kind.CPU, weight="samplingPeriod", state=State.RUNNING),
    Source(EXECUTION, Kind.CPU, thread="sampledThread", state=State.RUNNING),
    Source("jdk.NativeMethodSample", Kind.WALL, thread="sampledThread", state=State.NATIVE),
    Source(WALL, Kind.WALL, thread="sampledThread", weight="samples"),
    Source(_BUFFER, Kind.ALLOC, weight="tlabSize", type="objectClass"),
    Source(_BESIDE, Kind.ALLOC, weight="allocationSize", type="objectClass"),
    Source(ALLOCATION, Kind.ALLOC, weight="weight", type="objectClass"),
    Source(LIVE, Kind.LIVE, weight="allocationSize", type="objectClass"),
    Source(
        "jdk.JavaMonitorEnter",
        Kind.LOCK,
        weight="duration",
        type="monitorClass",
        state=State.BLOCKED,
        owner="previousOwner",
    ),
    Source("jdk.ThreadPark", Kind.LOCK, weight="duration", type="parkedClass", state=State.PARKED),
)
"""Those whose names begin with ``profiler`` are async-profiler's; it writes some of the others,
too."""
_STATES = {"STATE_RUNNABLE": State.RUNNABLE, "STATE_SLEEPING": State.SLEEPING}


class Sampled(NamedTuple):
    """The events of a type as columns of samples."""

    source: Source
    time: Column
    thread: Column
    trace: Column
    """The number of the stack trace."""
    weight: Column
    kind: NDArray[Any]
    state: NDArray[Any]
    type: Column
    """The number of the class that was allocated, or of the lock; 0 for none."""
    owner: Column | None
    """The number of the thread that had the lock, 0 for none; ``None`` if no event has one."""
    biased: int = 0
    """How many were taken at a safepoint after their time."""


def is_replaced(chunk: Chunk, event: str) -> bool:
    """Whether a chunk has other events of Flight Recorder that say the same, and say it better.

    Each new buffer of a thread, with objects beside the buffers, is all that was allocated; those
    objects alone are not.
    """
    if event == EXECUTION:
        return chunk.count(CPU_TIME) > 0
    if event == ALLOCATION:
        return chunk.count(_BUFFER) > 0
    if event == _BESIDE:
        return chunk.count(ALLOCATION) > 0 and not chunk.count(_BUFFER)
    return False


def sampled(chunk: Chunk, settings: Settings, source: Source, events: dict[str, Column]) -> Sampled:
    """The samples of some events.

    Args:
        chunk: the chunk that they are of.
        settings: its settings.
        source: what they are.
        events: their fields.
    """
    rows = len(events["startTime"])
    none = numpy.zeros(rows, numpy.int64)
    kind: NDArray[Any] = numpy.full(rows, source.kind, numpy.uint8)
    state: NDArray[Any] = numpy.full(rows, source.state, numpy.uint8)
    weight = events[source.weight] if source.weight else none
    if source.event == WALL or (settings.profiler and source.event == EXECUTION):
        kind, state, weight = _ticks(chunk, settings, source, events)
    elif source.event == EXECUTION or not source.weight:
        weight = settings.periods(source.event, chunk.nanoseconds(events["startTime"]))
    elif source.weight in ("duration", "samplingPeriod"):
        weight = chunk.durations(weight)
    elif source.event == LIVE:
        # As of those that were allocated: an object stands for all bytes since the one before.
        weight = numpy.maximum(weight, settings.alloc_interval)
    return Sampled(
        source,
        chunk.nanoseconds(events["startTime"]),
        events[source.thread],
        events["stackTrace"],
        numpy.maximum(weight, 0),
        kind,
        state,
        events.get(source.type, none),
        events.get(source.owner),
        int(numpy.count_nonzero(events.get("biased", none))),
    )


def _ticks(
    chunk: Chunk, settings: Settings, source: Source, events: dict[str, Column]
) -> tuple[Column, Column, Column]:
    """Kinds, states and weights of samples that async-profiler took at its intervals.

    Its samples of processor time have a state of their own.  Versions before 3 write the state of a
    running thread, but have no two kinds of time in one recording.  From version 4 on one event
    stands for several samples of wall-clock time with an equal stack.
    """
    number, which = numpy.unique(events.get("state", events["startTime"] * 0), return_inverse=True)
    names = chunk.constants.texts("jdk.types.ThreadState", number, "name")
    if source.event == WALL or settings.event == "wall":
        is_wall = [True for _ in names]
    else:
        is_wall = [settings.has_wall and name in _STATES for name in names]
    states = [
        _STATES.get(name, State.UNKNOWN) if wall else State.RUNNING
        for name, wall in zip(names, is_wall, strict=True)
    ]
    wall = numpy.array(is_wall, numpy.bool_)[which]
    other = Kind.COUNT if settings.counts_events else Kind.CPU
    interval = numpy.where(wall, settings.wall_interval, settings.interval)
    if source.weight:
        most = numpy.iinfo(numpy.int64).max // max(settings.wall_interval, 1)
        interval *= numpy.clip(events[source.weight], 0, most)
    return numpy.where(wall, Kind.WALL, other), numpy.array(states)[which], interval
