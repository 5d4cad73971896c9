"""The constants of a chunk: methods, classes, threads, texts and stack traces."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from jvmti.profile.formats.jfr.types import NUMBERS, Type, read_text
from jvmti.profile.formats.jfr.varints import read_all, read_one

__all__ = ["Constants", "Traces"]

Read = Callable[[int], tuple[Any, int]]
_STACK = "jdk.types.StackTrace"


class Traces(NamedTuple):
    """Stack traces as columns; the frames of all follow each other."""

    id: NDArray[numpy.int64]
    truncated: NDArray[numpy.bool_]
    depth: NDArray[numpy.int64]
    frames: dict[str, NDArray[numpy.int64]]
    """A column for each field of a frame."""


class Constants:
    """Reads the constants of one chunk.

    Attributes:
        values: by the name of their type and their number; a structure is a list in the order of
            the fields of its type.
        traces: the stack traces.
    """

    def __init__(self, data: memoryview, types: dict[int, Type]) -> None:
        self._data = data
        self._types = types
        self._readers: dict[int, Read] = {}
        self.values: dict[str, dict[int, Any]] = {}
        self.traces: list[Traces] = []
        self.by_name = {one.name: one for one in types.values()}

    def get(self, type_name: str, number: int, *path: str) -> Any:
        """A constant, or a field of it; ``None`` if there is none.

        Args:
            type_name: the name of its type.
            number: its number.
            path: names of fields, each of the constant before.
        """
        value = self.values.get(type_name, {}).get(number)
        of = self.by_name.get(type_name)
        for name in path:
            if value is None or of is None:
                return None
            place = next((at for at, one in enumerate(of.fields) if one.name == name), None)
            if place is None:
                return None
            inner = of.fields[place]
            value = value[place]
            of = self._types.get(inner.type)
            if inner.constant and of is not None:
                value = self.values.get(of.name, {}).get(value)
        # Structures of one text stand for it: symbols, and names of states.
        while isinstance(value, list) and len(value) == 1:
            value = value[0]
        if isinstance(value, int) and of is not None and of.name == "java.lang.String":
            value = self.values.get(of.name, {}).get(value)
        return value

    def read(self, at: int) -> None:
        """Read the constants at a place, and those that it says came before.

        Args:
            at: the place of a checkpoint in the file.

        Raises:
            ValueError: there is no checkpoint.
            IndexError: it ends after the data.
        """
        data = self._data
        while True:
            begin = at
            size, at = read_one(data, at)
            end = begin + size
            kind, at = read_one(data, at)
            if kind != 1 or end > len(data):
                raise ValueError("the constants are not where the chunk says")
            _, at = read_one(data, at)
            _, at = read_one(data, at)
            delta, at = read_one(data, at)
            at += 1
            pools, at = read_one(data, at)
            for _ in range(pools):
                number, at = read_one(data, at)
                count, at = read_one(data, at)
                at = self._pool(self._types[number], count, at, end)
            if not delta:
                return
            delta -= (delta >> 63) << 64
            if delta >= 0:
                raise ValueError("a checkpoint is said to follow itself")
            at = begin + delta
            if at < 0:
                raise ValueError("a checkpoint is said to be before the file")

    def _pool(self, of: Type, count: int, at: int, end: int) -> int:
        if of.name == _STACK and self._is_plain(of):
            return self._traces(of, count, at, end)
        values = self.values.setdefault(of.name, {})
        data, read = self._data, self._reader(of.id)
        for _ in range(count):
            number, at = read_one(data, at)
            values[number], at = read(at)
        return at

    # Values

    def _reader(self, number: int) -> Read:
        """A function that reads a value of a type."""
        found = self._readers.get(number)
        if found is None:
            # A type may have itself inside, as a class loader has a class.
            self._readers[number] = lambda at: self._readers[number](at)
            found = self._readers[number] = self._make(self._types[number])
        return found

    def _make(self, of: Type) -> Read:
        data = self._data
        if of.name == "java.lang.String":
            return lambda at: read_text(data, at)
        if of.name in ("boolean", "byte"):
            return lambda at: (data[at], at + 1)
        if of.name in NUMBERS:
            return lambda at: read_one(data, at)
        if of.name in ("float", "double"):
            form = struct.Struct(">f" if of.name == "float" else ">d")
            return lambda at: (form.unpack_from(data, at)[0], at + form.size)
        readers = []
        for one in of.fields:
            read = (lambda at: read_one(data, at)) if one.constant else self._reader(one.type)
            readers.append(self._array(read) if one.array else read)
        if not readers:
            raise ValueError(f"the type {of.name} has no form")

        def structure(at: int) -> tuple[list[Any], int]:
            found = []
            for read in readers:
                value, at = read(at)
                found.append(value)
            return found, at

        return structure

    def _array(self, read: Read) -> Read:
        data = self._data

        def values(at: int) -> tuple[list[Any], int]:
            count, at = read_one(data, at)
            found = []
            for _ in range(count):
                value, at = read(at)
                found.append(value)
            return found, at

        return values

    # Stack traces

    def _is_plain(self, of: Type) -> bool:
        """Whether a stack trace is a truth value and frames, and all in them are numbers."""
        if [one.name for one in of.fields] != ["truncated", "frames"]:
            return False
        frame = self._types.get(of.fields[1].type)
        return frame is not None and all(
            not one.array and (one.constant or self._types[one.type].name in NUMBERS)
            for one in frame.fields
        )

    def _traces(self, of: Type, count: int, at: int, end: int) -> int:
        """Read stack traces, which are most of a recording, as columns."""
        values, ends = read_all(numpy.frombuffer(self._data[at:end], numpy.uint8))
        frame = self._types[of.fields[1].type]
        width = len(frame.fields)
        plain = values.tolist()
        first = []
        place = 0
        for _ in range(count):
            first.append(place)
            place += 3 + width * plain[place + 2]
        if place > len(plain):
            raise IndexError("stack traces end after the data")
        heads = numpy.array(first, numpy.int64)
        depth = values[heads + 2]
        before = numpy.cumsum(depth) - depth
        begins = numpy.repeat(heads + 3 - before * width, depth)
        begins += numpy.arange(int(depth.sum())) * width
        self.traces.append(
            Traces(
                values[heads],
                values[heads + 1] != 0,
                depth,
                {one.name: values[begins + number] for number, one in enumerate(frame.fields)},
            )
        )
        return at + int(ends[place - 1]) if place else at
