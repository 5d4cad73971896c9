"""Reads the big-endian numbers of a class file, and detects truncated ones."""

from __future__ import annotations

import struct

from jvmti.interface.errors import Error

_U2 = struct.Struct(">H")
_U4 = struct.Struct(">I")


class MalformedClassFile(Error, ValueError):
    """Not a class file, or a truncated or inconsistent one."""


class Reader:
    """A position in bytes that advances as they are read.

    Attributes:
        data: the bytes.
        at: the offset of the next one.
        end: the offset of their end.
    """

    def __init__(self, data: bytes, at: int = 0, end: int | None = None) -> None:
        self.data = data
        self.at = at
        self.end = len(data) if end is None else end

    def _advance(self, size: int) -> int:
        at = self.at
        if at + size > self.end:
            raise MalformedClassFile(
                f"the class file is truncated: {size} bytes expected at {at}, it ends at {self.end}"
            )
        self.at = at + size
        return at

    def u1(self) -> int:
        """An unsigned byte."""
        return self.data[self._advance(1)]

    def u2(self) -> int:
        """An unsigned number of two bytes."""
        value: int = _U2.unpack_from(self.data, self._advance(2))[0]
        return value

    def u4(self) -> int:
        """An unsigned number of four bytes."""
        value: int = _U4.unpack_from(self.data, self._advance(4))[0]
        return value

    def s1(self) -> int:
        """A signed byte."""
        return (self.u1() ^ 0x80) - 0x80

    def s2(self) -> int:
        """A signed number of two bytes."""
        return (self.u2() ^ 0x8000) - 0x8000

    def s4(self) -> int:
        """A signed number of four bytes."""
        return (self.u4() ^ 0x80000000) - 0x80000000

    def take(self, size: int) -> bytes:
        """Some bytes."""
        at = self._advance(size)
        return self.data[at : at + size]

    def part(self, size: int) -> Reader:
        """A reader of the next bytes only, which this one skips."""
        at = self._advance(size)
        return Reader(self.data, at, at + size)


__all__ = ["MalformedClassFile", "Reader"]
