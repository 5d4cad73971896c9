"""Services that upper layers provide to lower ones through a session, each under a typed key.

A layer that needs something from above declares a `Service`, whose type is a protocol; it does not
import the provider.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from jvmti.interface.errors import SessionClosed

T = TypeVar("T")


class Service(Generic[T]):
    """A key: the name and type of a service."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<Service {self.name}>"


class Services:
    """The services of one session."""

    def __init__(self) -> None:
        self._provided: dict[Service[Any], Any] = {}

    def provide(self, key: Service[T], provided: T) -> None:
        """Provide a service from now on."""
        self._provided[key] = provided

    def find(self, key: Service[T]) -> T | None:
        """The service under a key; ``None`` if there is none."""
        return self._provided.get(key)

    def __getitem__(self, key: Service[T]) -> T:
        try:
            found: T = self._provided[key]
        except KeyError:
            raise SessionClosed(f"the session has no {key.name} yet") from None
        return found


__all__ = ["Service", "Services"]
