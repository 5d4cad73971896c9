"""The parts of a profile that the agent sends, put together to tables."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from jvmti.interface.errors import ProtocolError
from jvmti.interface.signatures import java_name
from jvmti.layouts.profiles import CHUNK, FRAME, RECORD, THREAD
from jvmti.profile.tables import FrameKind, Frames, Kind, Samples, Stacks, State, Threads
from jvmti.text import modified_utf8

_RECORD = numpy.dtype(RECORD.columns)
_THREAD = numpy.dtype(THREAD.columns)
_FRAME = numpy.dtype(FRAME.columns)
_NUMBER = numpy.dtype("<u4")
_COUNTS = (
    *("failed", "faults", "truncated", "cut", "lost", "unfollowed", "unresolved"),
    *("carried", "apart", "looks", "span", "changes", "ended"),
)


class Parts:
    """The parts of a profile so far.

    Attributes:
        failed: samples whose stack could not be walked.
        faults: those of them where the walk met a fault.
        truncated: samples with a deeper stack.
        cut: samples whose stack ends before the thread's.
        lost: dropped samples.
        unfollowed: threads that could not be followed.
        unresolved: methods whose class was gone before their name was known.
        carried: samples of virtual threads that count as their carriers'.
        apart: whether those of others do not.
        looks: looks at threads, or sampled objects that were found dead.
        span: the nanoseconds that lay between looks at a thread, in all.
        changes: how often another profiler took the signal over.
        ended: when others had all signals, in nanoseconds since the epoch; 0 if they have not.
        alive: how many threads there were when they were renamed.
        unseen: how many of these have no sample.
    """

    def __init__(self) -> None:
        self.failed = self.faults = self.truncated = self.cut = self.lost = 0
        self.unfollowed = self.unresolved = self.carried = self.apart = 0
        self.looks = self.span = self.changes = self.ended = 0
        self.alive = self.unseen = 0
        self._renamed: set[int] = set()
        self._windows: list[tuple[int, int]] = []
        self._records: list[NDArray[Any]] = []
        self._depths: list[NDArray[Any]] = []
        self._stack_frames: list[NDArray[Any]] = []
        self._frames: list[NDArray[Any]] = []
        self._threads: list[NDArray[Any]] = []
        self._thread_texts: list[str] = []
        self._method_texts: list[str] = []

    def __len__(self) -> int:
        return sum(records for records, _ in self._windows)

    def add(self, data: bytes) -> bool:
        """Take a part over.

        Returns:
            Whether another one is waiting.

        Raises:
            ProtocolError: it is not laid out as it should be.
        """
        at = CHUNK.size
        if len(data) < at:
            raise ProtocolError("a part of a profile is too short")
        head = dict(zip(CHUNK.fields, CHUNK.struct.unpack_from(data), strict=True))
        tables = (
            (self._records, _RECORD, head["records"]),
            (self._threads, _THREAD, head["threads"]),
            (self._frames, _FRAME, head["frames"]),
            (self._depths, _NUMBER, head["stacks"]),
            (self._stack_frames, _NUMBER, head["stack_frames"]),
        )
        if at + sum(kind.itemsize * rows for _, kind, rows in tables) + head["text"] != len(data):
            raise ProtocolError("a part of a profile has another size than it says")
        for table, kind, rows in tables:
            if rows:
                table.append(numpy.frombuffer(data, kind, rows, at))
            at += kind.itemsize * rows
        texts = data[at:].split(b"\0")[:-1]
        of_threads = 2 * head["threads"]
        if len(texts) != of_threads + 3 * head["methods"]:
            raise ProtocolError("a part of a profile has another number of texts than it says")
        self._thread_texts += map(modified_utf8.decode, texts[:of_threads])
        self._method_texts += map(modified_utf8.decode, texts[of_threads:])
        self._windows.append((head["records"], head["lost"] - self.lost))
        for name in _COUNTS:
            setattr(self, name, head[name])
        return bool(head["rest"])

    def rename_threads(self, names: dict[int, str]) -> None:
        """Give threads these names, by their numbers; those of virtual threads stay."""
        threads = _joined(self._threads, _THREAD)
        for row in numpy.flatnonzero((threads["id"] > 0) & (threads["is_virtual"] == 0)).tolist():
            name = names.get(int(threads["id"][row]))
            if name is not None and name != self._thread_texts[2 * row]:
                self._thread_texts[2 * row] = name
                self._renamed.add(row)
        self.alive = len(names)
        self.unseen = len(names.keys() - set(threads["id"].tolist()))

    @property
    def renamed(self) -> int:
        """How many threads have another name than when their first sample was read."""
        return len(self._renamed)

    def stands_for(self) -> NDArray[numpy.float64]:
        """How many samples each stands for: itself, and its part of those that were dropped.

        Samples are dropped for want of space, whatever they are of; so those that were read at the
        same time stand for them, and no stack gains.
        """
        found = []
        dropped = 0
        for records, lost in self._windows:
            dropped += lost
            if records:
                found.append(numpy.full(records, 1 + dropped / records))
                dropped = 0
        return numpy.concatenate(found) if found else numpy.ones(0)

    def tables(self, kind: Kind) -> tuple[Samples, Stacks, Frames, Threads]:
        """The tables of all parts so far.

        Raises:
            ProfileError: a number in one of them is not that of a row.
        """
        records = _joined(self._records, _RECORD)
        # A state that is unknown here is none.
        state = records["state"]
        state = numpy.where(state < len(State), state, State.UNKNOWN)
        samples = Samples(
            records["time"],
            records["thread"].astype(numpy.int32),
            records["stack"].astype(numpy.int32),
            records["weight"],
            kind,
            state.astype(numpy.uint8),
            owner=records["owner"].astype(numpy.int32) - 1,
        )
        depths = _joined(self._depths, _NUMBER)
        offsets = numpy.zeros(len(depths) + 2, numpy.int64)
        numpy.cumsum(depths, out=offsets[2:])
        stacks = Stacks(offsets, _joined(self._stack_frames, _NUMBER).astype(numpy.int32))
        return samples, stacks, self._frame_table(), self._thread_table()

    def _frame_table(self) -> Frames:
        frames = _joined(self._frames, _FRAME)
        classes = [java_name(one) if one else "" for one in self._method_texts[::3]]
        methods, descriptors = self._method_texts[1::3], self._method_texts[2::3]
        # A class without a method stands for its objects.
        for number, method in enumerate(methods):
            if not method:
                methods[number], classes[number] = classes[number], ""
        numbers = frames["method"].tolist()
        if numbers and max(numbers) >= len(classes):
            raise ProtocolError("a frame of a profile has a method that was never named")
        kinds = frames["kind"]
        kinds = numpy.where(kinds < len(FrameKind), kinds, FrameKind.UNKNOWN).astype(numpy.uint8)
        in_java = numpy.array([bool(one) for one in classes], numpy.bool_)[frames["method"]]
        kinds[in_java & (kinds == FrameKind.UNKNOWN)] = FrameKind.JAVA
        return Frames(
            [classes[number] for number in numbers],
            [methods[number] for number in numbers],
            [descriptors[number] for number in numbers],
            frames["line"],
            kinds,
        )

    def _thread_table(self) -> Threads:
        threads = _joined(self._threads, _THREAD)
        return Threads(
            threads["id"],
            self._thread_texts[::2],
            self._thread_texts[1::2],
            threads["is_virtual"].astype(numpy.bool_),
        )


def _joined(arrays: list[NDArray[Any]], kind: numpy.dtype[Any]) -> NDArray[Any]:
    """One array of all, which replaces them."""
    if len(arrays) != 1:
        arrays[:] = [numpy.concatenate(arrays) if arrays else numpy.empty(0, kind)]
    return arrays[0]


__all__ = ["Parts"]
