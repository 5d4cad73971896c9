"""Recordings of the JDK's Flight Recorder: chunks, and their events as columns.

A file is a row of chunks, each with events, the types of these, and the constants that they refer
to.  What is done, is done for all events of a type at once.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Collection
from functools import cached_property

import numpy
from numpy.typing import NDArray

from jvmti.profile.formats.jfr.constants import Constants
from jvmti.profile.formats.jfr.types import Field, Type, field_form, read_types, types_place
from jvmti.profile.formats.jfr.varints import read_one
from jvmti.profile.formats.library import event_places, rows_at

__all__ = ["Chunk", "chunks"]

_HEADER = struct.Struct(">4sHHqqqqqqqI")
_COMPRESSED = 1
_IN_PROGRESS = 1 << 24
"""The first byte of the features is not 0 before the chunk has its end."""


class Chunk:
    """A part of a recording that can be read by itself.

    Attributes:
        types: its types by their numbers.
        began: when it began, in nanoseconds since the epoch.
        ended: when it ended.
        is_written: whether its JVM still writes it, or was killed meanwhile; then it has what was
            flushed, once a second.
    """

    def __init__(
        self, data: memoryview, wanted: Collection[str], known: dict[bytes, dict[int, Type]]
    ) -> None:
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
        self.is_written = features >= _IN_PROGRESS
        self.ended = self.began + duration
        self._wanted = wanted
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
    def _places(self) -> dict[str, NDArray[numpy.int64]]:
        """The places of the contents of events, by the name of their type."""
        wanted = [of for of in self.types.values() if of.name in self._wanted]
        data = numpy.frombuffer(self._data, numpy.uint8)
        found = event_places(data, _HEADER.size, [of.id for of in wanted])
        return {of.name: places for of, places in zip(wanted, found, strict=True) if len(places)}

    def count(self, name: str) -> int:
        """How many events of a type there are."""
        return len(self._places.get(name, ()))

    def events(self, name: str, wanted: Collection[str]) -> dict[str, NDArray[numpy.int64]] | None:
        """The events of a type as columns; ``None`` if there are none.

        A field that refers to a constant has the constant's number, and a text its place.  Fields
        that the type does not have are left out, and those from the first array or structure on.

        Args:
            name: the type, such as ``jdk.ExecutionSample``.
            wanted: the fields.

        Raises:
            ValueError: an event ends after the chunk.
        """
        places = self._places.get(name)
        if places is None:
            return None
        fields = self._fields(name)
        while fields and fields[-1][0].name not in wanted:
            fields.pop()
        form = "".join(
            "s" if kind == "n" and one.name not in wanted else kind for one, kind in fields
        )
        columns = rows_at(numpy.frombuffer(self._data, numpy.uint8), places, form)
        named = [one.name for (one, _), kind in zip(fields, form, strict=True) if kind != "s"]
        return {name: column for name, column in zip(named, columns, strict=True) if name in wanted}

    def texts(self, name: str, field: str, values: NDArray[numpy.int64]) -> list[str]:
        """Values of a field of events as texts."""
        of = next(one for one, _ in self._fields(name) if one.name == field)
        return self.constants.text_field(of, values)

    def _fields(self, name: str) -> list[tuple[Field, str]]:
        """The fields of a type of events up to the first array or structure, and their forms."""
        of = next(one for one in self.types.values() if one.name == name)
        found = []
        for one in of.fields:
            form = field_form(one, self.types)
            if form is None:
                break
            found.append((one, form))
        return found

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


def chunks(path: str | os.PathLike[str], wanted: Collection[str]) -> tuple[list[Chunk], str]:
    """The complete chunks of a file, and what the rest of it is; empty if there is none.

    The last chunk of a recording is not complete while it is written, nor where its JVM was killed.

    Args:
        path: the file.
        wanted: the types of events that are asked for.

    Raises:
        ValueError: it is no recording, or its first chunk is damaged.
        IndexError: its first chunk ends within a value.
    """
    with open(path, "rb") as file:
        data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    found: list[Chunk] = []
    at = 0
    known: dict[bytes, dict[int, Type]] = {}
    while at < len(data):
        try:
            if len(data) - at < _HEADER.size:
                raise ValueError("it is cut off: a chunk has no header")
            chunk = Chunk(data[at:], wanted, known)
        except (ValueError, IndexError) as problem:
            if not found:
                raise
            return found, f"The last {len(data) - at:,} bytes of the file are not read: {problem}."
        found.append(chunk)
        at += chunk.size
    if any(one.is_written for one in found):
        return found, "The recording was not ended: what was not flushed yet is missing."
    return found, ""
