"""Columns of numbers that are written seven bits a byte."""

from __future__ import annotations

import numpy
from numpy.typing import NDArray

__all__ = ["read_all", "read_at", "read_one"]

Bytes = NDArray[numpy.uint8]
_LONGEST = 9
"""The ninth byte of a number has eight bits."""


def read_one(data: memoryview, at: int) -> tuple[int, int]:
    """The number at a place, and the place after it."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        if shift == 56:
            return value | byte << 56, at
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def read_at(
    data: Bytes, places: NDArray[numpy.int64]
) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64]]:
    """The number at each place, and the places after them.

    Raises:
        IndexError: a number ends after the data.
    """
    values = numpy.zeros(len(places), numpy.uint64)
    ends = places.copy()
    rows: NDArray[numpy.int64] | slice = slice(None)
    for number in range(_LONGEST):
        byte = data[ends[rows]]
        last = number == _LONGEST - 1
        part = byte if last else byte & 0x7F
        values[rows] |= part.astype(numpy.uint64) << numpy.uint64(7 * number)
        ends[rows] += 1
        more = byte >= 0x80
        if last or not more.any():
            break
        rows = numpy.flatnonzero(more) if isinstance(rows, slice) else rows[more]
    return values.view(numpy.int64), ends


def read_all(data: Bytes) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64]]:
    """All numbers of data that has nothing else, and the place after each."""
    ends = numpy.flatnonzero(data < 0x80) + 1
    begins = numpy.concatenate([[0], ends[:-1]]) if len(ends) else ends
    lengths = ends - begins
    values = (data[begins] & 0x7F).astype(numpy.int64)
    rows = numpy.flatnonzero(lengths > 1)
    place = 1
    while len(rows) and place < _LONGEST:
        values[rows] |= (data[begins[rows] + place] & 0x7F).astype(numpy.int64) << (7 * place)
        place += 1
        rows = rows[lengths[rows] > place]
    return values, ends
