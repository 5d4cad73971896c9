"""The handlers of conversations that the agent begins."""

from __future__ import annotations

from collections.abc import Callable

Opened = Callable[[int, int, bytes], bytes]
"""Handles an opening: its number, the environment's and its payload; returns the answer."""


class Openings:
    """The openings of a session: the handlers of each number.

    An opening without a handler gets an empty answer, so that the VM's thread goes on.
    """

    def __init__(self) -> None:
        self._handlers: list[tuple[range, Opened]] = []

    def register(self, numbers: range, handler: Opened) -> None:
        """Register a handler of these numbers; the last one is asked first."""
        self._handlers.insert(0, (numbers, handler))

    def handle(self, number: int, environment: int, payload: bytes) -> bytes:
        """Handle one, and return its encoded answer."""
        for numbers, handler in self._handlers:
            if number in numbers:
                return handler(number, environment, payload)
        return b""


__all__ = ["Opened", "Openings"]
