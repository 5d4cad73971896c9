"""Samples from the events of a recording."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy
from numpy.typing import NDArray

from jvmti.interface.signatures import java_name
from jvmti.profile.formats.jfr.constants import Constants
from jvmti.profile.formats.jfr.recording import Chunk
from jvmti.profile.limits import Limits
from jvmti.profile.merging import Merged
from jvmti.profile.tables import FrameKind, Frames, Kind, Samples, Stacks, State, Threads

__all__ = ["RecordedSamples"]

Column = NDArray[numpy.int64]


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
_UNITS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_TABLE = 1 << 20
_PERIOD = 20_000_000
"""JFR's default, in nanoseconds."""
_NOTES = {
    "jdk.ExecutionSample": "JFR samples only a few of the running threads at a time, and skips "
    "threads whose stack it cannot walk.",
    "jdk.NativeMethodSample": "The samples of passed time are only of threads in native code.",
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
        lost = chunk.events("jdk.DataLoss")
        if lost is not None and "total" in lost:
            self._lost = max(self._lost, int(lost["total"].max()))
        stacks = _ChunkStacks(chunk.constants)
        for source in _SOURCES:
            if any(other in present for other in _INSTEAD.get(source.event, ())):
                continue
            events = chunk.events(source.event)
            if events is not None and "stackTrace" in events and source.thread in events:
                self._take(chunk, source, events, stacks)

    def _settings(self, chunk: Chunk) -> None:
        for one in chunk.texts("jdk.ActiveSetting"):
            number = one.get("id")
            of = chunk.types.get(number) if isinstance(number, int) else None
            found = re.fullmatch(r"(\d+) (ns|us|ms|s)", str(one.get("value")))
            if of is not None and one.get("name") == "period" and found:
                self._periods[of.name] = int(found[1]) * _UNITS[found[2]]

    def _take(
        self, chunk: Chunk, source: _Source, events: dict[str, Column], stacks: _ChunkStacks
    ) -> None:
        rows = len(events["startTime"])
        self.counts[source.event] = self.counts.get(source.event, 0) + rows
        if source.weight:
            weight = events[source.weight]
            if source.weight == "duration":
                weight = chunk.durations(weight)
        else:
            weight = numpy.full(rows, self._periods.get(source.event, _PERIOD))
        stack, table = stacks.stacks(events["stackTrace"], events.get(source.type))
        threads, thread = _threads(chunk.constants, events[source.thread])
        owner: Column = numpy.full(rows, -1, numpy.int64)
        if source.owner in events:
            both = numpy.concatenate([events[source.thread], events[source.owner]])
            threads, numbers = _threads(chunk.constants, both)
            thread, owner = numbers[:rows], numbers[rows:]
            owner = numpy.where(events[source.owner] == 0, -1, owner)
        kind = source.kind
        self._truncated[kind] = self._truncated.get(kind, 0) + stacks.truncated(
            events["stackTrace"]
        )
        self._failed[kind] = self._failed.get(kind, 0) + int((table.depths[stack] == 0).sum())
        self.merged.add(
            Samples(
                chunk.nanoseconds(events["startTime"]),
                thread,
                stack,
                numpy.maximum(weight, 0),
                kind,
                source.state,
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


class _ChunkStacks:
    """The stack traces of a chunk as tables.

    Attributes:
        frames: the distinct frames, then a frame for each class.
    """

    def __init__(self, constants: Constants) -> None:
        traces = constants.traces
        ids = numpy.concatenate([one.id for one in traces]) if traces else numpy.empty(0, int)
        order = numpy.argsort(ids, kind="stable")
        self._ids = ids[order]
        self._order = order

        def column(name: str) -> Column:
            every = [one.frames[name] for one in traces if name in one.frames]
            return numpy.concatenate(every) if every else numpy.zeros(0, numpy.int64)

        self._depth = numpy.concatenate([one.depth for one in traces]) if traces else ids
        self._begin = numpy.cumsum(self._depth) - self._depth
        self._truncated = (
            numpy.concatenate([one.truncated for one in traces]) if traces else ids.astype(bool)
        )
        method, line, kind = column("method"), column("lineNumber"), column("type")
        if len(kind) != len(method):
            kind = numpy.zeros(len(method), numpy.int64)
        # Distinct frames, by numbers that are small for methods.
        methods, which = numpy.unique(method, return_inverse=True)
        key = (which.astype(numpy.int64) << 40) | ((line & 0xFFFFFFFF) << 8) | (kind & 0xFF)
        found, self._frame = numpy.unique(key, return_inverse=True)
        kinds = {
            number: _FRAMES.get(str(constants.get("jdk.types.FrameType", number)), 0)
            for number in numpy.unique(kind).tolist()
        }
        names = [_method(constants, number) for number in methods.tolist()]
        rows = (found >> 40).tolist()
        lines = ((found >> 8) & 0xFFFFFFFF).astype(numpy.uint32).view(numpy.int32)
        self._constants = constants
        self._class_names = [names[row][0] for row in rows]
        self._methods = [names[row][1] for row in rows]
        self._descriptors = [names[row][2] for row in rows]
        self._lines = numpy.where(lines <= 0, -1, lines).tolist()
        self._kinds = [kinds.get(one, 0) for one in (found & 0xFF).tolist()]
        self._types: dict[int, int] = {}

    @property
    def frames(self) -> Frames:
        """The frames so far."""
        return Frames(
            self._class_names,
            self._methods,
            self._descriptors,
            numpy.array(self._lines, numpy.int32),
            numpy.array(self._kinds, numpy.uint8),
        )

    def _rows(self, ids: Column) -> Column:
        """The row of each stack trace; -1 for none."""
        if not len(self._ids):
            return numpy.full(len(ids), -1, numpy.int64)
        place = numpy.minimum(numpy.searchsorted(self._ids, ids), len(self._ids) - 1)
        return numpy.where(self._ids[place] == ids, self._order[place], -1)

    def truncated(self, ids: Column) -> int:
        """How many of the events have a truncated stack."""
        rows = self._rows(ids)
        return int(self._truncated[rows[rows >= 0]].sum())

    def stacks(self, ids: Column, types: Column | None) -> tuple[Column, Stacks]:
        """The stack of each event, and a table of these.

        Args:
            ids: the stack trace of each event.
            types: the class of each, which becomes the innermost frame.
        """
        row = self._rows(ids)
        kind = numpy.full(len(ids), -1, numpy.int64)
        if types is not None:
            classes, which = _distinct(types)
            kind = numpy.array([self._type(one) for one in classes.tolist()], numpy.int64)[which]
        different = int(kind.max(initial=-1)) + 2
        pairs, stack = _distinct((row + 1) * different + kind + 1)
        rows, kinds = pairs // different - 1, pairs % different - 1
        depth = numpy.where(rows >= 0, self._depth[rows], 0) if len(self._depth) else rows * 0
        has_type = (kinds >= 0).astype(numpy.int64)
        offsets = numpy.concatenate([[0], numpy.cumsum(depth + has_type)])
        frames = numpy.empty(int(offsets[-1]), numpy.int64)
        frames[offsets[:-1][kinds >= 0]] = kinds[kinds >= 0]
        inner = numpy.arange(int(depth.sum())) - numpy.repeat(numpy.cumsum(depth) - depth, depth)
        if len(inner):
            target = numpy.repeat(offsets[:-1] + has_type, depth) + inner
            frames[target] = self._frame[numpy.repeat(self._begin[rows], depth) + inner]
        return stack, Stacks(offsets, frames)

    def _type(self, number: int) -> int:
        """The row of the frame for a class; -1 for none."""
        found = self._types.get(number)
        if found is None:
            name = _class_name(self._constants, number)
            if not name:
                return -1
            found = self._types[number] = len(self._methods)
            self._class_names.append("")
            self._methods.append(name)
            self._descriptors.append("")
            self._lines.append(-1)
            self._kinds.append(FrameKind.TYPE)
        return found


def _class_name(constants: Constants, number: int) -> str:
    name = str(constants.get("java.lang.Class", number, "name") or "")
    if name.startswith("["):
        return java_name(name)
    return name.replace("/", ".")


def _method(constants: Constants, number: int) -> tuple[str, str, str]:
    of = constants.values.get("jdk.types.Method", {}).get(number)
    if of is None:
        return "", "(unknown method)", ""
    fields = [one.name for one in constants.by_name["jdk.types.Method"].fields]
    return (
        _class_name(constants, of[fields.index("type")]),
        str(constants.get("jdk.types.Method", number, "name") or "?"),
        str(constants.get("jdk.types.Method", number, "descriptor") or ""),
    )


def _threads(constants: Constants, ids: Column) -> tuple[Threads, Column]:
    """The threads of these numbers, and the row of each."""
    found, rows = _distinct(ids)

    def get(number: int, name: str) -> object:
        return constants.get("java.lang.Thread", number, name)

    numbers = found.tolist()
    return (
        Threads(
            [int(str(get(one, "javaThreadId") or 0)) for one in numbers],
            [str(get(one, "javaName") or get(one, "osName") or "?") for one in numbers],
            [str(constants.get("java.lang.Thread", one, "group", "name") or "") for one in numbers],
            [bool(get(one, "virtual")) for one in numbers],
        ),
        rows,
    )


def _distinct(numbers: Column) -> tuple[Column, Column]:
    """The distinct numbers in ascending order, and the place of each among them.

    Most numbers of a recording are small, so that a table finds them without a sort.
    """
    if not len(numbers) or numbers.min() < 0 or numbers.max() > max(4 * len(numbers), _TABLE):
        found, rows = numpy.unique(numbers, return_inverse=True)
        return found, rows.astype(numpy.int64)
    there = numpy.zeros(int(numbers.max()) + 1, numpy.bool_)
    there[numbers] = True
    places = numpy.cumsum(there) - 1
    return numpy.flatnonzero(there), places[numbers]
