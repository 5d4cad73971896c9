"""Messages of Protocol Buffers read as columns: the fields of all messages of a type at once."""

from __future__ import annotations

import numpy
from numpy.typing import NDArray

from jvmti.profile.formats.library import message_fields, packed_numbers

__all__ = ["Messages"]

Column = NDArray[numpy.int64]


class Messages:
    """Messages of one type."""

    def __init__(self, data: NDArray[numpy.uint8], begins: Column, ends: Column) -> None:
        """Read their fields.

        Args:
            data: what has the messages.
            begins: the place of each message.
            ends: the place behind each.

        Raises:
            ValueError: one is damaged.
        """
        self._data = data
        self._count = len(begins)
        self._message, self._number, self._value, self._end = message_fields(data, begins, ends)

    def __len__(self) -> int:
        return self._count

    def last(self, number: int) -> Column:
        """A field that is a number, of each message; 0 where there is none."""
        rows = numpy.flatnonzero((self._number == number) & (self._end < 0))
        found = numpy.zeros(self._count, numpy.int64)
        found[self._message[rows]] = self._value[rows]
        return found

    def numbers(self, number: int) -> tuple[Column, Column]:
        """A field of several numbers, packed or not: the row of the message, and the number."""
        rows = numpy.flatnonzero(self._number == number)
        packed = self._end[rows] >= 0
        if not packed.any():
            return self._message[rows], self._value[rows]
        ranges = rows[packed]
        which, values = packed_numbers(self._data, self._value[ranges], self._end[ranges])
        which = ranges[which]
        if not packed.all():
            single = rows[~packed]
            which = numpy.concatenate([which, single])
            order = numpy.argsort(which, kind="stable")
            which, values = (which[order], numpy.concatenate([values, self._value[single]])[order])
        return self._message[which], values

    def contents(self, number: int) -> tuple[Column, Column, Column]:
        """A field of several texts or messages: the row of its message, its place and its end."""
        rows = numpy.flatnonzero((self._number == number) & (self._end >= 0))
        return self._message[rows], self._value[rows], self._end[rows]

    def messages(self, number: int) -> tuple[Column, Messages]:
        """A field of several messages: the row of the message that each is in, and these."""
        owner, begins, ends = self.contents(number)
        return owner, Messages(self._data, begins, ends)

    def texts(self, number: int) -> list[str]:
        """A field of several texts, of all messages."""
        _, begins, ends = self.contents(number)
        return [
            bytes(self._data[begin:end]).decode("utf-8", "replace")
            for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)
        ]
