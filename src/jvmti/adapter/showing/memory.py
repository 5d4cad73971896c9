"""The requests ``readMemory`` and ``writeMemory``: elements of primitive arrays as bytes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from jvmti.adapter.protocol.arguments import Arguments, RequestFailed
from jvmti.adapter.protocol.requests import answers
from jvmti.adapter.showing.value_parts import ArrayParts
from jvmti.deferred import base64, numpy

if TYPE_CHECKING:
    from jvmti.adapter.debug_session import DebugSession
    from jvmti.adapter.showing.variables import VariableRequests
    from jvmti.adapter.stopped_threads import HaltedThread

_REFERENCE = re.compile(r"array:([0-9]{1,15})\Z")
_MOST = 1 << 24
"""Bytes in a response at most."""


class ArrayMemory:
    """Answers requests for the memory of arrays.

    Their bytes are in the byte order of x86.

    Args:
        session: what requests share.
        variables: has given their parts the numbers that stand for them.
    """

    def __init__(self, session: DebugSession, variables: VariableRequests) -> None:
        self._session = session
        self._variables = variables

    def _array(self, given: Arguments) -> tuple[HaltedThread, ArrayParts, int]:
        """The array that a request is about, with its thread and its number."""
        reference = given.text("memoryReference")
        found = _REFERENCE.match(reference)
        if found is None:
            raise RequestFailed(f"{reference[:40]!r} is no memory: only primitive arrays have some")
        number = int(found[1])
        halted, parts = self._variables.parts(number)
        if not isinstance(parts, ArrayParts) or not parts.element_size:
            raise RequestFailed(f"{reference[:40]!r} is no array with memory")
        return halted, parts, number

    @answers("readMemory")
    def read_memory(self, given: Arguments) -> dict[str, Any]:
        """Bytes of an array's elements."""
        halted, parts, _ = self._array(given)
        start = given.number("offset", 0)
        count = given.number("count")
        if count < 0:
            raise RequestFailed(f"readMemory: count is negative: {count}")

        def read() -> dict[str, Any]:
            array, size = parts.array, parts.element_size
            first, last = max(start, 0), min(start + min(count, _MOST), parts.indexed * size)
            body: dict[str, Any] = {"address": str(first)}
            data = b""
            if first < last:
                elements = array[first // size : -(-last // size)]
                skip = first % size
                data = elements.tobytes()[skip : skip + last - first]
            if len(data) < count:
                body["unreadableBytes"] = count - len(data)
            if data:
                body["data"] = base64.b64encode(data).decode()
            return body

        return self._session.run(halted, read)

    @answers("writeMemory")
    def write_memory(self, given: Arguments) -> dict[str, Any]:
        """Give an array's elements other bytes, all of them or, if that is wanted, the first."""
        halted, parts, number = self._array(given)
        start = given.number("offset", 0)
        data = _decoded(given.text("data"))
        whole = parts.indexed * parts.element_size
        count = min(len(data), max(whole - start, 0)) if start >= 0 else 0
        if count < len(data) and not given.flag("allowPartial"):
            raise RequestFailed(
                f"writeMemory: the array has {whole} bytes, and none at {start + count}"
            )
        if count:
            self._session.run(halted, lambda: _write(parts, start, data[:count]))
            self._variables.report_memory(number, start, count)
        return {"offset": start, "bytesWritten": count}


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as error:
        raise RequestFailed(f"writeMemory: data is not in base64: {error}") from None


def _write(parts: ArrayParts, start: int, data: bytes) -> None:
    array, size = parts.array, parts.element_size
    if array.LETTER == "Z" and max(data) > 1:
        raise RequestFailed("writeMemory: the bytes of a boolean[] are 0 and 1")
    chosen = slice(start // size, -(-(start + len(data)) // size))
    before = array[chosen]
    made = bytearray(before.tobytes())
    made[start % size : start % size + len(data)] = data
    array[chosen] = numpy.frombuffer(made, before.dtype)


__all__ = ["ArrayMemory"]
