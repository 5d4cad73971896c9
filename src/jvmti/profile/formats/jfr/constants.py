"""The constants of a chunk: methods, classes, threads, texts and stack traces."""

from __future__ import annotations

from functools import cached_property

import numpy
from numpy.typing import NDArray

from jvmti.profile.formats.jfr.types import Field, Type, form_of, read_text, skip_value
from jvmti.profile.formats.jfr.varints import read_one
from jvmti.profile.formats.library import Traces, rows_from, traces

__all__ = ["Constants"]

Column = NDArray[numpy.int64]
_STACK = "jdk.types.StackTrace"
_TEXT = "java.lang.String"


class Constants:
    """Reads the constants of one chunk.

    Attributes:
        traces: the stack traces.
    """

    def __init__(self, data: memoryview, types: dict[int, Type]) -> None:
        self._data = data
        self._bytes = numpy.frombuffer(data, numpy.uint8)
        self._types = types
        self._by_name = {one.name: one for one in types.values()}
        self._parts: dict[str, list[NDArray[numpy.int64]]] = {}
        self._pools: dict[str, _Pool] = {}
        self.traces: list[Traces] = []

    def values(self, type_name: str, numbers: Column, *path: str) -> Column:
        """A field of some constants that is a number; 0 where there is none.

        Args:
            type_name: the name of their type.
            numbers: their numbers.
            path: names of fields, each of the constant before.
        """
        return self._field(type_name, numbers, path)[1]

    def texts(self, type_name: str, numbers: Column, *path: str) -> list[str]:
        """A field of some constants as text; empty where there is none.

        Args:
            type_name: the name of their type.
            numbers: their numbers.
            path: names of fields, each of the constant before.
        """
        of, values = self._field(type_name, numbers, path)
        return [""] * len(values) if of is None else self.text_field(of, values)

    def text_field(self, of: Field, values: Column) -> list[str]:
        """Values of a field as text; a structure of one text stands for it."""
        kind = self._types.get(of.type)
        different, which = numpy.unique(values, return_inverse=True)
        if kind is None:
            found = [""] * len(different)
        elif not of.constant:
            found = [self._text(at) for at in different.tolist()]
        elif kind.name == _TEXT:
            found = [self._text(at) for at in self._pool(_TEXT).column(0, different).tolist()]
        elif len(kind.fields) == 1:
            inner = self._pool(kind.name).column(0, different)
            found = self.text_field(kind.fields[0], inner)
        else:
            found = [""] * len(different)
        return [found[row] for row in which.tolist()]

    def _field(
        self, type_name: str, numbers: Column, path: tuple[str, ...]
    ) -> tuple[Field | None, Column]:
        """The field at the end of a path, and its value for each constant."""
        of = self._by_name.get(type_name)
        inner, values = None, numbers
        for name in path:
            if of is None:
                return None, numpy.zeros(len(numbers), numpy.int64)
            place = next((at for at, one in enumerate(of.fields) if one.name == name), None)
            if place is None:
                return None, numpy.zeros(len(numbers), numpy.int64)
            inner = of.fields[place]
            values = self._pool(of.name).column(place, values)
            of = self._types.get(inner.type)
        return inner, values

    def _text(self, at: int) -> str:
        """The text at a place; no text is at the first place of a chunk."""
        if not at:
            return ""
        text, _ = read_text(self._data, at)
        if isinstance(text, int):
            (at,) = self._pool(_TEXT).column(0, numpy.array([text])).tolist()
            text, _ = read_text(self._data, at) if at else ("", 0)
        return text if isinstance(text, str) else ""

    def _pool(self, type_name: str) -> _Pool:
        found = self._pools.get(type_name)
        if found is None:
            found = self._pools[type_name] = _Pool(self._parts.get(type_name, []))
        return found

    def read(self, at: int) -> None:
        """Read the constants at a place, and those that it says came before.

        Args:
            at: the place of a checkpoint in the chunk.

        Raises:
            ValueError: there is no checkpoint, or it is damaged.
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
                at = self._read_pool(self._types[number], count, at, end)
            if not delta:
                return
            delta -= (delta >> 63) << 64
            if delta >= 0:
                raise ValueError("a checkpoint is said to follow itself")
            at = begin + delta
            if at < 0:
                raise ValueError("a checkpoint is said to be before the file")

    def _read_pool(self, of: Type, count: int, at: int, end: int) -> int:
        within = self._bytes[:end]
        if of.name == _STACK:
            form = self._form_of_frames(of)
            if form:
                found, at = traces(within, at, count, form)
                self.traces.append(found)
                return at
        form = form_of(of, self._types)
        if form is not None:
            rows, at = rows_from(within, at, count, "n" + form)
            self._parts.setdefault(of.name, []).append(rows)
            return at
        # Of no use for samples.
        for _ in range(count):
            _, at = read_one(self._data, at)
            at = skip_value(self._data, of, self._types, at)
        return at

    def _form_of_frames(self, of: Type) -> str | None:
        """The form of frames, if stack traces are as in every JDK."""
        if [one.name for one in of.fields] != ["truncated", "frames"]:
            return None
        frame = self._types.get(of.fields[1].type)
        return None if frame is None or of.fields[1].constant else form_of(frame, self._types)

    @cached_property
    def frame_fields(self) -> list[str]:
        """The names of the fields of frames, in the order of their columns."""
        of = self._by_name.get(_STACK)
        if of is None or len(of.fields) < 2:
            return []
        return [one.name for one in self._types[of.fields[1].type].fields]


class _Pool:
    """The constants of a type: the rows of their numbers, and a column for each field."""

    def __init__(self, parts: list[NDArray[numpy.int64]]) -> None:
        rows = numpy.concatenate(parts, axis=1) if parts else numpy.zeros((1, 0), numpy.int64)
        self._order = numpy.argsort(rows[0], kind="stable")
        self._numbers = rows[0][self._order]
        self._columns = rows[1:]

    def column(self, field: int, numbers: Column) -> Column:
        """The values of a field of these constants; 0 for those that are not there."""
        if not len(self._numbers):
            return numpy.zeros(len(numbers), numpy.int64)
        place = numpy.minimum(numpy.searchsorted(self._numbers, numbers), len(self._numbers) - 1)
        there = self._numbers[place] == numbers
        return numpy.where(there, self._columns[field][self._order[place]], 0)
