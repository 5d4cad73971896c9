"""Messages on a stream: a header with their length in bytes, an empty line, and JSON."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from io import RawIOBase
from typing import Any, BinaryIO

from jvmti.interface.errors import Error

_LONGEST = 64 << 20
"""Bytes of a message at most."""
_LONGEST_LINE = 8 << 10
"""Bytes of a line of a header at most."""
_HEADER = b"content-length:"
_USUAL = re.compile(rb"Content-Length: ([0-9]{1,7})\r\n\r\n")
"""The header as most clients write it; the message comes with it, and nothing behind."""
_AT_ONCE = 1 << 16
"""Bytes to ask for at once."""
_object_at = json.JSONDecoder().raw_decode


class Encoded(str):
    """The body of a message as JSON already: what was sent before need not be encoded anew."""

    __slots__ = ()


class MalformedMessage(Error, ValueError):
    """Something that is not a message has arrived; the next one may be one."""


class StreamLost(Error):
    """The stream has no messages in it: the conversation cannot go on."""


class Framing:
    """Reads and writes messages; several threads may write.

    Args:
        reader: where messages come from, without a buffer of its own: Python does not end while a
            thread waits in one.
        writer: where messages go to.
    """

    def __init__(self, reader: RawIOBase | BinaryIO, writer: BinaryIO) -> None:
        self._reader = reader
        self._arrived = bytearray()
        self._writer = writer
        self._writing = threading.RLock()
        self._sequence = 0

    def read(self) -> Any:
        """The next message; ``None`` at the end of the stream.

        Raises:
            MalformedMessage: it is not JSON.
            StreamLost: it is longer than any message can be, or has no length.
        """
        if not self._arrived:
            data = self._reader.read(_AT_ONCE)
            if not data:
                return None
            usual = _USUAL.match(data)
            if usual is not None and len(data) - usual.end() == int(usual[1]):
                return _parsed(data[usual.end() :])
            self._arrived += data
        length = self._length()
        if length is None:
            return None
        while len(self._arrived) < length:
            if not self._read_more():
                return None
        body = bytes(self._arrived[:length])
        del self._arrived[:length]
        return _parsed(body)

    def _length(self) -> int | None:
        length: int | None = None
        while True:
            line = self._line()
            if line is None:
                return None
            if not line.strip():
                if length is not None:
                    return length
                continue
            if line.lower().startswith(_HEADER):
                number = line[len(_HEADER) :].strip()
                if not number.isdigit() or not int(number) <= _LONGEST:
                    raise StreamLost(f"a message says that it has {number[:40]!r} bytes")
                length = int(number)

    def _line(self) -> bytes | None:
        while (end := self._arrived.find(b"\n")) < 0:
            if len(self._arrived) > _LONGEST_LINE:
                raise StreamLost(f"a line of a header has more than {_LONGEST_LINE:,} bytes")
            if not self._read_more():
                return None
        line = bytes(self._arrived[:end])
        del self._arrived[: end + 1]
        return line

    def _read_more(self) -> bool:
        """Wait for more bytes; false at the end of the stream."""
        data = self._reader.read(_AT_ONCE)
        self._arrived += data or b""
        return bool(data)

    def held(self) -> AbstractContextManager[object]:
        """Messages of other threads come after those that the calling thread writes inside."""
        return self._writing

    def write(self, message: str, numbered: Callable[[int], object] | None = None) -> None:
        """Send a message, which gets the next number.

        Args:
            message: the message as JSON, without its number.
            numbered: called with the number before the message goes.

        Raises:
            OSError: nobody reads any more.
        """
        with self._writing:
            self._sequence += 1
            if numbered is not None:
                numbered(self._sequence)
            whole = f'{{"seq": {self._sequence}, {message[1:]}'.encode()
            self._writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(whole), whole))
            self._writer.flush()


def _parsed(body: bytes) -> Any:
    try:
        text = body.decode()
        if text[:1] == "{":  # the usual case, with nothing around the object
            message, end = _object_at(text)
            if end == len(text):
                return message
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MalformedMessage(f"a message is not JSON: {error}") from None


__all__ = ["Encoded", "Framing", "MalformedMessage", "StreamLost"]
