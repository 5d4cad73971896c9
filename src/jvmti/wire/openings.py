"""Who handles the conversations that the agent begins."""

from __future__ import annotations

from collections.abc import Callable

Opened = Callable[[int, int, bytes], bytes]
"""Handles an opening: its number, the environment's and its payload; gives the answer."""


class Openings:
    """The openings of a session: their numbers, and what handles each.

    An opening that nothing handles is answered with nothing, so that the VM's thread goes on.
    """

    def __init__(self) -> None:
        self._handlers: list[tuple[range, Opened]] = []

    def register(self, numbers: range, handler: Opened) -> None:
        """Have these numbers handled; who comes last is asked first."""
        self._handlers.insert(0, (numbers, handler))

    def handle(self, number: int, environment: int, payload: bytes) -> bytes:
        """Handle one, and give its answer as it travels."""
        for numbers, handler in self._handlers:
            if number in numbers:
                return handler(number, environment, payload)
        return b""


__all__ = ["Opened", "Openings"]
