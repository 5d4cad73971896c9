"""The request ``readMemory``: the elements of primitive arrays as bytes."""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Any

from jvmti.adapter.protocol.arguments import Arguments, RequestFailed
from jvmti.adapter.protocol.requests import answers
from jvmti.adapter.showing.value_parts import ArrayParts

if TYPE_CHECKING:
    from jvmti.adapter.debug_session import DebugSession
    from jvmti.adapter.showing.variables import VariableRequests

_SIZES = {"Z": 1, "B": 1, "C": 2, "S": 2, "I": 4, "J": 8, "F": 4, "D": 8}
_REFERENCE = re.compile(r"array:([0-9]{1,15})\Z")
_MOST = 1 << 24
"""Bytes in a response at most."""


class ArrayMemory:
    """Answers requests for the memory of arrays.

    Args:
        session: what requests share.
        variables: has given their parts the numbers that stand for them.
    """

    def __init__(self, session: DebugSession, variables: VariableRequests) -> None:
        self._session = session
        self._variables = variables

    @answers("readMemory")
    def read_memory(self, given: Arguments) -> dict[str, Any]:
        """Bytes of an array's elements, in the byte order of x86."""
        reference = given.text("memoryReference")
        found = _REFERENCE.match(reference)
        if found is None:
            raise RequestFailed(
                f"{reference[:40]!r} is no memory to read: only primitive arrays have some"
            )
        halted, parts = self._variables.parts(int(found[1]))
        if not isinstance(parts, ArrayParts):
            raise RequestFailed(f"{reference[:40]!r} is no array")
        start = given.number("offset", 0)
        count = given.number("count")
        if count < 0:
            raise RequestFailed(f"readMemory: count is negative: {count}")

        def read() -> dict[str, Any]:
            array = parts.array
            size = _SIZES[array.cls.signature[1]]
            whole = len(array) * size
            first, last = max(start, 0), min(start + min(count, _MOST), whole)
            body: dict[str, Any] = {"address": str(first)}
            data = b""
            if first < last:
                elements = array[first // size : -(-last // size)]
                skip = first - first // size * size
                data = elements.tobytes()[skip : skip + last - first]
            if len(data) < count:
                body["unreadableBytes"] = count - len(data)
            if data:
                body["data"] = base64.b64encode(data).decode()
            return body

        return self._session.run(halted, read)


__all__ = ["ArrayMemory"]
