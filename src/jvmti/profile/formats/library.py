"""The recording library, ``libjvmti_recording.so``, through ctypes: for recordings and pprof.

The functions are those of ``native/recording/jvmti_recording.h``.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from jvmti.profile.errors import ProfileError
from jvmti.target.own_libraries import load_library

__all__ = [
    "Traces",
    "dense",
    "distinct",
    "distinct_stacks",
    "event_places",
    "message_fields",
    "packed_numbers",
    "rows_at",
    "rows_from",
    "traces",
]

Bytes = NDArray[numpy.uint8]
Column = NDArray[numpy.int64]
Numbers = NDArray[numpy.int32]

_OK, _OUT_OF_MEMORY, _DAMAGED = range(3)


@functools.cache
def _load() -> ctypes.CDLL:
    size, place, text = ctypes.c_uint64, ctypes.c_void_p, ctypes.c_char_p
    functions: dict[str, list[Any]] = {
        "count": [place, size, size, place, size, place],
        "places": [place, size, size, place, size, place, place],
        "rows": [place, size, place, size, text, size, place, place],
        "measure_traces": [place, size, size, size, text, size, place, place],
        "traces": [place, size, size, size, text, size, size, place, place, place, place],
        "dense": [place, size, place, place, place],
        "distinct": [place, size, size, place, place, place],
        "distinct_stacks": [place, size, place, size, place, place, place],
        "fields": [place, size, place, place, size, size, place, place],
        "numbers": [place, size, place, place, size, size, place, place],
    }
    return load_library("recording", functions, failure=ProfileError)


def _call(name: str, *arguments: Any) -> None:
    status = getattr(_load(), f"jvmti_recording_{name}")(*arguments)
    if status == _OK:
        return
    if status == _OUT_OF_MEMORY:
        raise MemoryError("there is not enough memory for the recording")
    if status == _DAMAGED:
        raise ValueError("a value is longer than its chunk, or has no form")
    raise ValueError("the library was asked for what cannot be")


def _address(array: NDArray[Any]) -> int:
    return int(array.ctypes.data)


def event_places(data: Bytes, begin: int, types: Sequence[int]) -> list[Column]:
    """The places of the contents of events, in their order, for each of these types.

    Args:
        data: the chunk.
        begin: the place of the first event.
        types: the numbers of at most 254 types.

    Raises:
        ValueError: an event has no size, or is longer than the chunk.
    """
    wanted = numpy.array(types, numpy.int64)
    counts = numpy.zeros(len(wanted), numpy.uint64)
    chunk = (_address(data), len(data), begin, _address(wanted), len(wanted), _address(counts))
    _call("count", *chunk)
    places = numpy.empty(int(counts.sum()), numpy.int64)
    _call("places", *chunk, _address(places))
    return numpy.split(places, numpy.cumsum(counts)[:-1].astype(numpy.int64))


def rows_at(data: Bytes, places: Column, form: str) -> NDArray[numpy.int64]:
    """Fields of the rows at some places, a column for each that is not skipped.

    Args:
        data: the chunk.
        places: the place of each row.
        form: a letter for each field, as the header of the library lists them.

    Raises:
        ValueError: a field ends after the data.
    """
    columns = numpy.empty((len(form) - form.count("s"), len(places)), numpy.int64)
    _call(
        "rows",
        *(_address(data), len(data), _address(places), len(places)),
        *(form.encode(), len(form), _address(columns), None),
    )
    return columns


def rows_from(data: Bytes, at: int, count: int, form: str) -> tuple[NDArray[numpy.int64], int]:
    """Fields of rows that follow each other, a column for each, and the place behind the last.

    Args:
        data: the chunk.
        at: the place of the first row.
        count: how many there are.
        form: a letter for each field, as the header of the library lists them.

    Raises:
        ValueError: there are fewer.
    """
    _bounded(data, at, count)
    columns = numpy.empty((len(form), count), numpy.int64)
    behind = ctypes.c_uint64(at)
    _call(
        "rows",
        *(_address(data), len(data), None, count),
        *(form.encode(), len(form), _address(columns), ctypes.byref(behind)),
    )
    return columns, behind.value


class Traces(NamedTuple):
    """Stack traces as columns; the frames of all follow each other."""

    id: Column
    truncated: NDArray[numpy.bool_]
    depth: Column
    frames: NDArray[numpy.int64]
    """A column for each field of a frame."""


def traces(data: Bytes, at: int, count: int, form: str) -> tuple[Traces, int]:
    """Stack traces that follow each other, and the place behind the last.

    Args:
        data: the chunk.
        at: the place of the first.
        count: how many there are.
        form: a letter for each field of a frame, as the header of the library lists them.

    Raises:
        ValueError: there are fewer.
    """
    _bounded(data, at, count)
    chunk = (_address(data), len(data), at, count, form.encode(), len(form))
    frames, behind = ctypes.c_uint64(), ctypes.c_uint64()
    _call("measure_traces", *chunk, ctypes.byref(frames), ctypes.byref(behind))
    found = Traces(
        numpy.empty(count, numpy.int64),
        numpy.empty(count, numpy.bool_),
        numpy.empty(count, numpy.int64),
        numpy.empty((len(form), frames.value), numpy.int64),
    )
    _call("traces", *chunk, frames.value, *map(_address, found))
    return found, behind.value


def _bounded(data: Bytes, at: int, count: int) -> None:
    if not at <= len(data) or count > len(data) - at:
        raise ValueError("there are said to be more values than bytes")


def dense(values: Column) -> tuple[Column, Numbers]:
    """The distinct values in the order of their first, and the number of each row's among them."""
    values = numpy.ascontiguousarray(values, numpy.int64)
    numbers = numpy.empty(len(values), numpy.int32)
    different = numpy.empty(len(values), numpy.int64)
    count = ctypes.c_uint64()
    _call(
        "dense",
        *(_address(values), len(values)),
        *(_address(numbers), _address(different), ctypes.byref(count)),
    )
    return different[: count.value].copy(), numbers


def distinct(columns: Sequence[Column]) -> tuple[Numbers, Numbers]:
    """The number of each row among the distinct ones, and the first row of each of these."""
    rows = numpy.ascontiguousarray(columns, numpy.int64)
    count = rows.shape[1]
    numbers, first = numpy.empty(count, numpy.int32), numpy.empty(count, numpy.int32)
    different = ctypes.c_uint64()
    _call(
        "distinct",
        *(_address(rows), count, len(rows)),
        *(_address(numbers), _address(first), ctypes.byref(different)),
    )
    return numbers, first[: different.value]


def distinct_stacks(offsets: Column, frames: Numbers) -> tuple[Numbers, Numbers]:
    """The number of each stack among the distinct ones, and the first row of each of these.

    Args:
        offsets: where the frames of each stack begin, and where the last one ends.
        frames: the frames.
    """
    count = len(offsets) - 1
    numbers, first = numpy.empty(count, numpy.int32), numpy.empty(count, numpy.int32)
    different = ctypes.c_uint64()
    _call(
        "distinct_stacks",
        *(_address(offsets), count, _address(frames), len(frames)),
        *(_address(numbers), _address(first), ctypes.byref(different)),
    )
    return numbers, first[: different.value]


def message_fields(data: Bytes, begins: Column, ends: Column) -> NDArray[numpy.int64]:
    """Fields of messages of Protocol Buffers, in their order, as four columns.

    They are the row of the message, the number of the field, its value or the place of its content,
    and the place behind that; -1 for a number.  Fields of four and of eight bytes are left out.

    Args:
        data: what has the messages.
        begins: the place of each message.
        ends: the place behind each.

    Raises:
        ValueError: a field is longer than its message, or has no form.
    """
    return _as_many("fields", 4, data, begins, ends)


def packed_numbers(data: Bytes, begins: Column, ends: Column) -> NDArray[numpy.int64]:
    """Numbers that follow each other, as two columns: the row of their range, and the number.

    Args:
        data: what has the ranges.
        begins: the place of each range.
        ends: the place behind each.

    Raises:
        ValueError: a number is longer than its range, or than 64 bits.
    """
    return _as_many("numbers", 2, data, begins, ends)


def _as_many(
    name: str, width: int, data: Bytes, begins: Column, ends: Column
) -> NDArray[numpy.int64]:
    """The columns that a function finds, which is asked again if there was not enough room."""
    begins, ends = numpy.ascontiguousarray(begins), numpy.ascontiguousarray(ends)
    found, room = ctypes.c_uint64(), 8 * len(begins) + 1024
    while True:
        columns = numpy.empty((width, room), numpy.int64)
        _call(
            name,
            *(_address(data), len(data), _address(begins), _address(ends), len(begins)),
            *(room, _address(columns), ctypes.byref(found)),
        )
        if found.value <= room:
            return columns[:, : found.value]
        room = found.value
