"""Addresses for instructions of methods and for arrays, which Java has none for.

Clients calculate with addresses of instructions, so each method has a range of its own: the place
of a bytecode is the beginning of the range and the bytecode's index.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from jvmti.adapter.protocol.arguments import RequestFailed

if TYPE_CHECKING:
    from jvmti.model.classes.java_class import Method

_RANGE = 1 << 20
"""Addresses of each method; one has at most 65,535 bytes of code."""


class CodeAddresses:
    """The addresses of the methods that a session has shown."""

    def __init__(self) -> None:
        self._methods: list[Method] = []
        self._numbers: dict[Method, int] = {}
        self._lock = threading.Lock()

    def start(self, method: Method) -> int:
        """The address where a method begins."""
        with self._lock:
            number = self._numbers.get(method)
            if number is None:
                self._methods.append(method)
                number = self._numbers[method] = len(self._methods)
            return number * _RANGE

    def of(self, method: Method, location: int) -> str:
        """The address of an instruction, as the protocol has it."""
        return hex(self.start(method) + location)

    def find(self, address: str, offset: int = 0) -> tuple[Method, int]:
        """The method and the index in its bytecode of an address.

        Args:
            address: the address.
            offset: bytes to add.

        Raises:
            RequestFailed: it is in no method that was shown.
        """
        try:
            number, location = divmod(int(address, 16), _RANGE)
        except ValueError:
            raise RequestFailed(f"{address[:40]!r} is not an address") from None
        if not 0 < number <= len(self._methods):
            raise RequestFailed(
                f"there is no code at {address[:40]}; addresses are those of frames and of "
                "disassembled instructions of this session"
            )
        return self._methods[number - 1], location + offset


__all__ = ["CodeAddresses"]
