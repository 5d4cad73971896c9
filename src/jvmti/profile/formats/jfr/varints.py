"""Numbers that are written seven bits a byte, one at a time; columns of them are the library's."""

from __future__ import annotations

__all__ = ["read_one"]


def read_one(data: memoryview, at: int) -> tuple[int, int]:
    """The number at a place, and the place after it."""
    byte = data[at]
    if byte < 0x80:
        return byte, at + 1
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
