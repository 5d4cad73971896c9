"""What the upper layers provide to a session for the lower ones, each under a key with its type.

A layer that needs something from above says what by a `Service` of its own, whose type is a
protocol; what provides it is not imported there.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from jvmti.interface.errors import SessionClosed

T = TypeVar("T")


class Service(Generic[T]):
    """A key: names what is provided, and has its type."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<Service {self.name}>"


class Services:
    """What is provided to one session."""

    def __init__(self) -> None:
        self._provided: dict[Service[Any], Any] = {}

    def provide(self, key: Service[T], provided: T) -> None:
        """Provide something from now on."""
        self._provided[key] = provided

    def find(self, key: Service[T]) -> T | None:
        """What is provided under a key; ``None`` if nothing is."""
        return self._provided.get(key)

    def __getitem__(self, key: Service[T]) -> T:
        try:
            found: T = self._provided[key]
        except KeyError:
            raise SessionClosed(f"the session has no {key.name} yet") from None
        return found


__all__ = ["Service", "Services"]
