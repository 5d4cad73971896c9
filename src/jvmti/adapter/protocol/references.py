"""Numbers that stand for frames and for values with parts, as long as their thread is stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any

from jvmti.adapter.protocol.arguments import RequestFailed


class References:
    """Gives numbers to things; each number is used once in a session.

    A number belongs to an owner, the stop of a thread. When the thread runs again, its numbers
    stand for nothing any more.
    """

    def __init__(self) -> None:
        self._next = 1
        self._things: dict[int, tuple[Hashable, Any]] = {}
        self._by_owner: dict[Hashable, list[int]] = {}
        self._ranges: dict[Hashable, list[tuple[range, Callable[[int], Any]]]] = {}
        self._lock = threading.Lock()

    def add(self, owner: Hashable, thing: Any) -> int:
        """A new number for a thing."""
        with self._lock:
            number = self._next
            self._next = number + 1
            self._things[number] = owner, thing
            self._by_owner.setdefault(owner, []).append(number)
            return number

    def add_range(self, owner: Hashable, count: int, make: Callable[[int], Any]) -> range:
        """New numbers for things of which few are asked for: each is made by its place then."""
        with self._lock:
            numbers = range(self._next, self._next + count)
            self._next += count
            self._ranges.setdefault(owner, []).append((numbers, make))
            return numbers

    def _made(self, number: int) -> tuple[Hashable, Any] | None:
        """The thing of a number in a range, made now."""
        for owner, ranges in self._ranges.items():
            for numbers, make in ranges:
                if number in numbers:
                    made = owner, make(number - numbers.start)
                    self._things[number] = made
                    self._by_owner.setdefault(owner, []).append(number)
                    return made
        return None

    def get(self, number: int, kind: type[Any], what: str) -> tuple[Any, Any]:
        """The owner and the thing of a number.

        Args:
            number: the number.
            kind: the class of the thing.
            what: what such a thing is called, for the message.

        Raises:
            RequestFailed: there is none: its thread has resumed, or there never was one.
        """
        with self._lock:
            found = self._things.get(number) or self._made(number)
        if found is None:
            raise RequestFailed(
                f"there is no {what} {number}: its thread has resumed since, or it was never given"
            )
        if not isinstance(found[1], kind):
            raise RequestFailed(f"{number} is not the number of a {what}")
        return found

    def forget(self, owner: Hashable) -> list[Any]:
        """Drop all numbers of an owner; return what they stood for."""
        with self._lock:
            self._ranges.pop(owner, None)
            numbers = self._by_owner.pop(owner, ())
            return [self._things.pop(number)[1] for number in numbers]


__all__ = ["References"]
