"""Samples from the events of a recording."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy
from numpy.typing import NDArray

from jvmti.interface.signatures import java_name
from jvmti.profile.formats.jfr.constants import Constants
from jvmti.profile.formats.jfr.library import dense, distinct
from jvmti.profile.formats.jfr.recording import Chunk
from jvmti.profile.limits import Limits
from jvmti.profile.merging import Merged
from jvmti.profile.tables import FrameKind, Frames, Kind, Samples, Stacks, State, Threads

__all__ = ["WANTED", "RecordedSamples"]

Column = NDArray[numpy.int64]
Numbers = NDArray[numpy.int32]


class _Source(NamedTuple):
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
        return {"startTime", "stackTrace", self.thread, self.weight, self.type, self.owner}


_SOURCES = (
    _Source("jdk.CPUTimeSample", Kind.CPU, weight="samplingPeriod", state=State.RUNNING),
    _Source("jdk.ExecutionSample", Kind.CPU, thread="sampledThread", state=State.RUNNING),
    _Source("jdk.NativeMethodSample", Kind.WALL, thread="sampledThread", state=State.NATIVE),
    _Source("jdk.ObjectAllocationInNewTLAB", Kind.ALLOC, weight="tlabSize", type="objectClass"),
    _Source(
        "jdk.ObjectAllocationOutsideTLAB", Kind.ALLOC, weight="allocationSize", type="objectClass"
    ),
    _Source("jdk.ObjectAllocationSample", Kind.ALLOC, weight="weight", type="objectClass"),
    _Source(
        "jdk.JavaMonitorEnter",
        Kind.LOCK,
        weight="duration",
        type="monitorClass",
        state=State.BLOCKED,
        owner="previousOwner",
    ),
    _Source("jdk.ThreadPark", Kind.LOCK, weight="duration", type="parkedClass", state=State.PARKED),
)
_INSTEAD = {
    "jdk.ExecutionSample": ("jdk.CPUTimeSample",),
    "jdk.ObjectAllocationSample": (
        "jdk.ObjectAllocationInNewTLAB",
        "jdk.ObjectAllocationOutsideTLAB",
    ),
}
"""Events that others replace, since both say the same."""
_FRAMES = {
    "Interpreted": FrameKind.INTERPRETED,
    "JIT compiled": FrameKind.COMPILED,
    "Inlined": FrameKind.INLINED,
    "Native": FrameKind.NATIVE,
    "C++": FrameKind.VM,
}
_SETTING = "jdk.ActiveSetting"
WANTED = frozenset({_SETTING, "jdk.DataLoss", *(source.event for source in _SOURCES)})
"""The types of events that samples come from, or that say what they lack."""
_UNITS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_PERIOD = 20_000_000
"""JFR's default, in nanoseconds."""
_NOTES = {
    "jdk.ExecutionSample": "JFR samples only a few of the running threads at a time, and skips "
    "threads whose stack it cannot walk.",
    "jdk.NativeMethodSample": "The samples of wall-clock time are only of threads in native code.",
    "jdk.ThreadPark": "Threads that are parked for work are among those that wait for locks: JFR "
    "does not tell them apart.",
}


@dataclass
class RecordedSamples:
    """Collects the samples of chunks.

    Attributes:
        merged: the tables.
        counts: the number of events of each type.
    """

    merged: Merged = field(default_factory=Merged)
    counts: dict[str, int] = field(default_factory=dict)
    _lost: int = 0
    _failed: dict[Kind, int] = field(default_factory=dict)
    _truncated: dict[Kind, int] = field(default_factory=dict)
    _periods: dict[str, int] = field(default_factory=dict)
    _began: int = 0
    _ended: int = 0

    def add(self, chunk: Chunk, present: set[str]) -> None:
        """Add the samples of a chunk.

        Args:
            chunk: the chunk.
            present: the types of events that the recording has.
        """
        self._began = min(self._began or chunk.began, chunk.began)
        self._ended = max(self._ended, chunk.ended)
        self._settings(chunk)
        lost = chunk.events("jdk.DataLoss", {"total"})
        if lost is not None and "total" in lost:
            self._lost = max(self._lost, int(lost["total"].max()))
        found = []
        for source in _SOURCES:
            if any(other in present for other in _INSTEAD.get(source.event, ())):
                continue
            events = chunk.events(source.event, source.fields)
            if events is not None and {"stackTrace", source.thread} <= {*events}:
                found.append(self._sampled(chunk, source, events))
        if found:
            self._take(chunk, found)

    def _settings(self, chunk: Chunk) -> None:
        wanted = {"id", "name", "value"}
        settings = chunk.events(_SETTING, wanted)
        if settings is None or not wanted <= {*settings}:
            return
        names = chunk.texts(_SETTING, "name", settings["name"])
        rows = [row for row, name in enumerate(names) if name == "period"]
        values = chunk.texts(_SETTING, "value", settings["value"][rows])
        for number, value in zip(settings["id"][rows].tolist(), values, strict=True):
            of = chunk.types.get(number)
            found = re.fullmatch(r"(\d+) (ns|us|ms|s)", value)
            if of is not None and found:
                self._periods[of.name] = int(found[1]) * _UNITS[found[2]]

    def _sampled(self, chunk: Chunk, source: _Source, events: dict[str, Column]) -> _Sampled:
        rows = len(events["startTime"])
        self.counts[source.event] = self.counts.get(source.event, 0) + rows
        if source.weight:
            weight = events[source.weight]
            if source.weight == "duration":
                weight = chunk.durations(weight)
        else:
            weight = numpy.full(rows, self._periods.get(source.event, _PERIOD))
        none = numpy.zeros(rows, numpy.int64)
        owner = events.get(source.owner)
        return _Sampled(
            source,
            chunk.nanoseconds(events["startTime"]),
            events[source.thread],
            events["stackTrace"],
            numpy.maximum(weight, 0),
            events.get(source.type, none),
            owner,
        )

    def _take(self, chunk: Chunk, found: list[_Sampled]) -> None:
        def joined(name: str) -> Column:
            return numpy.concatenate([getattr(one, name) for one in found])

        lengths = [len(one.time) for one in found]
        kind = numpy.repeat(numpy.array([one.source.kind for one in found], numpy.uint8), lengths)
        state = numpy.repeat(numpy.array([one.source.state for one in found], numpy.uint8), lengths)
        stacks = _ChunkStacks(chunk.constants)
        stack, table, truncated = stacks.stacks(joined("trace"), joined("type"))
        threads, thread, owner = _threads(
            chunk.constants, joined("thread"), [(len(one.time), one.owner) for one in found]
        )
        failed = table.depths == 0
        begin = 0
        for one in found:
            number = numpy.bincount(stack[begin : begin + len(one.time)], minlength=len(table))
            begin += len(one.time)
            for counted, which in ((self._truncated, truncated), (self._failed, failed)):
                of = one.source.kind
                counted[of] = counted.get(of, 0) + int(number[which].sum())
        self.merged.add(
            Samples(
                joined("time"),
                thread,
                stack,
                joined("weight"),
                kind,
                state,
                owner=owner,
            ),
            table,
            stacks.frames,
            threads,
            [],
            [],
        )

    def limits(self) -> list[Limits]:
        """The limits of each kind of samples."""
        found = []
        for kind in Kind:
            events = [
                one.event for one in _SOURCES if one.kind == kind and one.event in self.counts
            ]
            if not events:
                continue
            period = self._periods.get(events[0]) if kind in (Kind.CPU, Kind.WALL) else None
            found.append(
                Limits(
                    kind,
                    engine=f"JFR ({', '.join(one.removeprefix('jdk.') for one in events)})",
                    began=self._began,
                    ended=self._ended,
                    interval=period / 1e9 if period else None,
                    failed=self._failed.get(kind),
                    truncated=self._truncated.get(kind),
                    lost=self._lost,
                    virtual_threads=True,
                    notes=tuple(_NOTES[one] for one in events if one in _NOTES),
                )
            )
        return found


class _Sampled(NamedTuple):
    """The events of a type as columns of samples."""

    source: _Source
    time: Column
    thread: Column
    trace: Column
    """The number of the stack trace."""
    weight: Column
    type: Column
    """The number of the class that was allocated, or of the lock; 0 for none."""
    owner: Column | None
    """The number of the thread that had the lock, 0 for none; ``None`` if no event has one."""


class _ChunkStacks:
    """The stack traces of a chunk as tables."""

    def __init__(self, constants: Constants) -> None:
        self._constants = constants
        traces = constants.traces
        ids = numpy.concatenate([one.id for one in traces]) if traces else numpy.empty(0, int)
        self._order = numpy.argsort(ids, kind="stable")
        self._ids = ids[self._order]
        self._depth = numpy.concatenate([one.depth for one in traces]) if traces else ids
        self._begin = numpy.cumsum(self._depth) - self._depth
        self._truncated = (
            numpy.concatenate([one.truncated for one in traces]) if traces else ids.astype(bool)
        )
        method, line, kind = (self._column(name) for name in ("method", "lineNumber", "type"))
        self._frame, first = distinct([method, line, kind])
        self._method, self._line, self._kind = method[first], line[first], kind[first]
        self._types: Column = numpy.empty(0, numpy.int64)

    def _column(self, name: str) -> Column:
        """A field of all frames."""
        constants = self._constants
        traces, fields = constants.traces, constants.frame_fields
        if not traces or name not in fields:
            return numpy.zeros(int(self._depth.sum()), numpy.int64)
        place = fields.index(name)
        return numpy.concatenate([one.frames[place] for one in traces])

    @property
    def frames(self) -> Frames:
        """The distinct frames, then a frame for each class of `stacks`."""
        constants = self._constants
        methods, which = numpy.unique(self._method, return_inverse=True)

        def texts(*path: str) -> list[str]:
            return constants.texts("jdk.types.Method", methods, *path)

        class_names = [_class_name(name) for name in texts("type", "name")]
        # A method without a name is none of the chunk's.
        names = [name or "(unknown method)" for name in texts("name")]
        descriptors = texts("descriptor")
        rows = which.tolist()
        numbers, which = numpy.unique(self._kind, return_inverse=True)
        kinds = [
            _FRAMES.get(text, FrameKind.UNKNOWN)
            for text in constants.texts("jdk.types.FrameType", numbers, "description")
        ]
        types = [
            _class_name(name) for name in constants.texts("java.lang.Class", self._types, "name")
        ]
        after = [""] * len(types)
        line = self._line.astype(numpy.int32)
        return Frames(
            [class_names[row] for row in rows] + after,
            [names[row] for row in rows] + types,
            [descriptors[row] for row in rows] + after,
            numpy.append(numpy.where(line <= 0, -1, line), numpy.full(len(types), -1)),
            numpy.append(
                numpy.array(kinds, numpy.uint8)[which],
                numpy.full(len(types), FrameKind.TYPE, numpy.uint8),
            ),
        )

    def _rows(self, ids: Column) -> Column:
        """The row of each stack trace; -1 for none."""
        if not len(self._ids):
            return numpy.full(len(ids), -1, numpy.int64)
        place = numpy.minimum(numpy.searchsorted(self._ids, ids), len(self._ids) - 1)
        return numpy.where(self._ids[place] == ids, self._order[place], -1)

    def stacks(self, ids: Column, types: Column) -> tuple[Numbers, Stacks, NDArray[numpy.bool_]]:
        """The stack of each event, a table of these, and which of them are truncated.

        Args:
            ids: the stack trace of each event.
            types: the class of each, which becomes the innermost frame; 0 for none.
        """
        classes, kind = dense(types)
        names = self._constants.texts("java.lang.Class", classes, "name")
        has = numpy.array([bool(name) for name in names], numpy.bool_)
        self._types = classes[has]
        found, which = dense(ids)
        row, of_class = self._rows(found), numpy.where(has, numpy.cumsum(has) - 1, -1)
        different = len(classes)
        pairs, stack = dense(which.astype(numpy.int64) * different + kind)
        rows, kinds = row[pairs // different], of_class[pairs % different]
        truncated = numpy.append(self._truncated, False)[rows]
        depth = numpy.where(rows >= 0, self._depth[rows], 0) if len(self._depth) else rows * 0
        has_type = (kinds >= 0).astype(numpy.int64)
        offsets = numpy.concatenate([[0], numpy.cumsum(depth + has_type)])
        frames = numpy.empty(int(offsets[-1]), numpy.int32)
        frames[offsets[:-1][kinds >= 0]] = kinds[kinds >= 0] + len(self._method)
        inner = numpy.arange(int(depth.sum())) - numpy.repeat(numpy.cumsum(depth) - depth, depth)
        if len(inner):
            target = numpy.repeat(offsets[:-1] + has_type, depth) + inner
            frames[target] = self._frame[numpy.repeat(self._begin[rows], depth) + inner]
        return stack, Stacks(offsets, frames), truncated


def _class_name(name: str) -> str:
    return java_name(name) if name.startswith("[") else name.replace("/", ".")


def _threads(
    constants: Constants, ids: Column, owners: list[tuple[int, Column | None]]
) -> tuple[Threads, Numbers, Numbers]:
    """The threads of these numbers, and the row of each; then those of owners, -1 for none.

    Args:
        constants: the constants.
        ids: the number of each event's thread.
        owners: for each type of events how many there are, and the numbers of their owners.
    """
    found, rows = dense(ids)
    some = [one for _, one in owners if one is not None]
    others = numpy.setdiff1d(numpy.concatenate([*some, [0]]).astype(numpy.int64), found)
    # 0 is the number of none.
    found = numpy.concatenate([found, others[others != 0]])
    order = numpy.argsort(found)
    owner = numpy.full(len(rows), -1, numpy.int32)
    begin = 0
    for count, one in owners:
        if one is not None:
            place = order[numpy.minimum(numpy.searchsorted(found[order], one), len(found) - 1)]
            owner[begin : begin + count] = numpy.where(one == 0, -1, place)
        begin += count

    def texts(*path: str) -> list[str]:
        return constants.texts("java.lang.Thread", found, *path)

    return (
        Threads(
            constants.values("java.lang.Thread", found, "javaThreadId"),
            [
                in_java or in_system or "?"
                for in_java, in_system in zip(texts("javaName"), texts("osName"), strict=True)
            ],
            texts("group", "name"),
            constants.values("java.lang.Thread", found, "virtual") != 0,
        ),
        rows,
        owner,
    )
