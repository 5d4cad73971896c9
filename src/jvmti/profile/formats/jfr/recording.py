"""Recordings of the JDK's Flight Recorder: chunks, and their events as columns.

A file is a row of chunks, each with events, the types of these, and the constants that they refer
to.  What is done, is done for all events of a type at once.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterator
from functools import cached_property

import numpy
from numpy.typing import NDArray

from jvmti.profile.formats.jfr.constants import Constants
from jvmti.profile.formats.jfr.event_chain import event_places
from jvmti.profile.formats.jfr.types import NUMBERS, Type, read_types, types_place
from jvmti.profile.formats.jfr.varints import read_at, read_one

__all__ = ["Chunk", "chunks"]

_HEADER = struct.Struct(">4sHHqqqqqqqI")
_COMPRESSED = 1


class Chunk:
    """A part of a recording that can be read by itself.

    Attributes:
        types: its types by their numbers.
        began: when it began, in nanoseconds since the epoch.
        ended: when it ended.
    """

    def __init__(self, data: memoryview, known: dict[bytes, dict[int, Type]]) -> None:
        (
            magic,
            major,
            minor,
            self.size,
            checkpoint,
            metadata,
            self.began,
            duration,
            self._first_tick,
            self._ticks_a_second,
            features,
        ) = _HEADER.unpack_from(data)
        if magic != b"FLR\0":
            raise ValueError("a chunk does not begin with FLR")
        if major != 2:
            raise ValueError(f"the format {major}.{minor} is not read, only 2")
        if not _HEADER.size <= self.size <= len(data):
            raise ValueError("it is cut off: a chunk is longer than the file")
        if not features & _COMPRESSED:
            raise ValueError("numbers are not compressed, which no JDK writes")
        if not 0 < checkpoint < self.size or not 0 < metadata < self.size:
            raise ValueError("a chunk is not complete: the recording was not ended")
        if self._ticks_a_second <= 0:
            raise ValueError("the clock of a chunk does not run")
        self._data = data[: self.size]
        self.ended = self.began + duration
        # A second more, because the clocks differ.
        self._last_tick = (
            self._first_tick + (duration // 1000 * self._ticks_a_second) // 1_000_000
        ) + self._ticks_a_second
        self._checkpoint = checkpoint
        # Those of most chunks are equal, and reading them takes long.
        at = types_place(self._data, metadata)
        size, _ = read_one(self._data, metadata)
        text = bytes(self._data[at : metadata + size])
        if text not in known:
            known[text] = read_types(self._data, at)
        self.types = known[text]

    @cached_property
    def constants(self) -> Constants:
        """Its constants."""
        found = Constants(self._data, self.types)
        found.read(self._checkpoint)
        return found

    @cached_property
    def _events(self) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64]]:
        """The type of each event, and the place of its content."""
        timed = [
            of.id for of in self.types.values() if of.fields and of.fields[0].name == "startTime"
        ]
        types = numpy.array(timed, numpy.int64)
        places = event_places(self._data, _HEADER.size, self.size, types, self._last_tick)
        data = numpy.frombuffer(self._data, numpy.uint8)
        # Past the size, whose last byte is below 128, is the type.
        behind = places + 1
        rows = numpy.flatnonzero(data[places] >= 0x80)
        while len(rows):
            more = data[behind[rows]] >= 0x80
            behind[rows] += 1
            rows = rows[more]
        return read_at(data, behind)

    def events(self, name: str) -> dict[str, NDArray[numpy.int64]] | None:
        """The events of a type as columns, for its fields that are numbers; ``None`` if none.

        A field that refers to a constant has the constant's number.  Fields after the first one
        that is neither are left out.

        Args:
            name: the type, such as ``jdk.ExecutionSample``.
        """
        of = next((one for one in self.types.values() if one.name == name), None)
        if of is None:
            return None
        kinds, places = self._events
        at = places[kinds == of.id]
        if not len(at):
            return None
        data = numpy.frombuffer(self._data, numpy.uint8)
        found: dict[str, NDArray[numpy.int64]] = {}
        for one in of.fields:
            kind = self.types[one.type].name
            if one.array or not (one.constant or kind in NUMBERS):
                break
            if kind in ("boolean", "byte") and not one.constant:
                found[one.name] = data[at].astype(numpy.int64)
                at = at + 1
            else:
                found[one.name], at = read_at(data, at)
        return found

    def texts(self, name: str) -> Iterator[dict[str, object]]:
        """The events of a type as a dictionary each: for few events, of any fields."""
        of = next((one for one in self.types.values() if one.name == name), None)
        if of is None:
            return
        kinds, places = self._events
        read = self.constants._reader(of.id)
        for at in places[kinds == of.id].tolist():
            values, _ = read(at)
            yield dict(zip((one.name for one in of.fields), values, strict=True))

    def nanoseconds(self, ticks: NDArray[numpy.int64]) -> NDArray[numpy.int64]:
        """Moments of the chunk's clock as nanoseconds since the epoch."""
        found: NDArray[numpy.int64] = self.began + self.durations(ticks - self._first_tick)
        return found

    def durations(self, ticks: NDArray[numpy.int64]) -> NDArray[numpy.int64]:
        """Numbers of ticks in nanoseconds."""
        if self._ticks_a_second == 1_000_000_000:
            return ticks
        whole, rest = numpy.divmod(ticks, self._ticks_a_second)
        found: NDArray[numpy.int64] = whole * 1_000_000_000
        found += rest * 1_000_000_000 // self._ticks_a_second
        return found


def chunks(path: str | os.PathLike[str]) -> Iterator[Chunk]:
    """The chunks of a file, one after the other.

    Raises:
        ValueError: it is no recording, or damaged.
        IndexError: a chunk ends within a value.
    """
    with open(path, "rb") as file:
        data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    at = 0
    known: dict[bytes, dict[int, Type]] = {}
    while at < len(data):
        if len(data) - at < _HEADER.size:
            raise ValueError("it is cut off: a chunk has no header")
        chunk = Chunk(data[at:], known)
        yield chunk
        at += chunk.size
