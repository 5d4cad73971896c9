"""Protocol buffers written as columns: the messages of all samples at once, with NumPy.

The packages for protocol buffers make an object for each message, which takes seconds for the
samples of a profile.  Here messages of one type are rows of a matrix of bytes, all of one length:
the numbers of a column are padded to the width of its largest, which the encoding allows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy
from numpy.typing import ArrayLike, NDArray

__all__ = ["fixed64_rows", "message_rows", "numbers", "one", "repeated", "varint", "varint_rows"]

Rows = NDArray[numpy.uint8]

_VARINT, _FIXED64, _BYTES = 0, 1, 2


def varint(value: int) -> bytes:
    """A number, seven bits a byte; a negative one has ten bytes."""
    value &= 0xFFFF_FFFF_FFFF_FFFF
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def _key(number: int, kind: int) -> bytes:
    return varint(number << 3 | kind)


def numbers(values: ArrayLike) -> Rows:
    """The numbers of a column, each a row of as many bytes as the largest needs."""
    left = numpy.ascontiguousarray(values, numpy.int64).view(numpy.uint64)
    width = max(1, -(-int(left.max(initial=0)).bit_length() // 7))
    rows = numpy.empty((len(left), width), numpy.uint8)
    for place in range(width):
        byte = (left >> numpy.uint64(7 * place)).astype(numpy.uint8)
        rows[:, place] = byte | 0x80 if place < width - 1 else byte & 0x7F
    return rows


def _headed(head: bytes, *parts: Rows) -> Rows:
    """The same bytes before the parts of each row."""
    first = numpy.frombuffer(head, numpy.uint8)
    return numpy.concatenate(
        [numpy.broadcast_to(first, (len(parts[0]), len(first))), *parts], axis=1
    )


def varint_rows(number: int, values: ArrayLike) -> Rows:
    """A field of a number in each message."""
    return _headed(_key(number, _VARINT), numbers(values))


def fixed64_rows(number: int, values: ArrayLike, *, packed: bool = False) -> Rows:
    """A field of a number of eight bytes in each message.

    Args:
        number: the number of the field.
        values: the numbers.
        packed: as the only one of a repeated field.
    """
    column = numpy.ascontiguousarray(values, "<i8").view(numpy.uint8).reshape(-1, 8)
    head = _key(number, _BYTES) + varint(8) if packed else _key(number, _FIXED64)
    return _headed(head, column)


def message_rows(number: int, *fields: Rows) -> Rows:
    """A field of a message in each message; or a packed field, of one number each."""
    length = sum(field.shape[1] for field in fields)
    return _headed(_key(number, _BYTES) + varint(length), *fields)


def repeated(number: int, contents: Iterable[bytes]) -> bytes:
    """A repeated field: messages, or bytes."""
    key = _key(number, _BYTES)
    return b"".join([key + varint(len(content)) + content for content in contents])


def one(*fields: tuple[int, int | str | bytes | Sequence[bytes]]) -> bytes:
    """A single message.

    Args:
        fields: the number of each field, and its number, text, or bytes; several of these for a
            repeated field.
    """
    found = bytearray()
    for number, value in fields:
        if isinstance(value, int):
            found += _key(number, _VARINT) + varint(value)
        elif isinstance(value, str):
            # Java's text may have unpaired surrogates, which UTF-8 has not.
            found += repeated(number, [value.encode("utf-8", "replace")])
        else:
            found += repeated(number, [value] if isinstance(value, bytes) else value)
    return bytes(found)
