"""The arguments of a request, checked as they are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from jvmti.interface.errors import Error
from jvmti.text.printable import printable

_NAMES = {bool: "true or false", int: "a whole number", str: "a text", dict: "an object",
          list: "a list"}  # fmt: skip
_LARGEST = 1 << 53
"""The largest whole number that JSON holds exactly."""


class RequestFailed(Error):
    """A request that cannot be carried out; its message is for the user."""


class Arguments:
    """The arguments of a request, or an object among them.

    Args:
        command: the request, for messages.
        values: the arguments as they came.
    """

    def __init__(self, command: str, values: Any) -> None:
        self.command = command
        if values is None:
            values = {}
        if not isinstance(values, dict):
            raise RequestFailed(f"the arguments of {command} are {_kind(values)}, not an object")
        self.values: Mapping[str, Any] = values

    def _get(self, name: str, kind: type[Any]) -> Any:
        value = self.values.get(name)
        if value is None:
            return None
        good = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
        if kind is int and isinstance(value, float) and value.is_integer():
            value, good = int(value), True
        if not good:
            raise RequestFailed(
                f"{self.command}: {name} is {_kind(value)}, but takes {_NAMES[kind]}"
            )
        if kind is int and not -_LARGEST <= value <= _LARGEST:
            raise RequestFailed(f"{self.command}: {name} is too large: {value}")
        return value

    def _needed(self, name: str, value: Any) -> Any:
        if value is None:
            raise RequestFailed(f"{self.command}: {name} is missing")
        return value

    def number(self, name: str, default: int | None = None) -> int:
        """A whole number.

        Raises:
            RequestFailed: it is something else, or missing without a default.
        """
        given = self.values.get(name)
        if type(given) is int and -_LARGEST <= given <= _LARGEST:
            return given
        found: int | None = self._get(name, int)
        return self._needed(name, default) if found is None else found

    def text(self, name: str, default: str | None = None) -> str:
        """A text; raises as `number` does."""
        found: str | None = self._get(name, str)
        return self._needed(name, default) if found is None else found

    def flag(self, name: str, default: bool = False) -> bool:
        """A truth value, false where it is missing."""
        found: bool | None = self._get(name, bool)
        return default if found is None else found

    def has(self, name: str) -> bool:
        """Whether there is an argument of that name."""
        return self.values.get(name) is not None

    def inner(self, name: str) -> Arguments:
        """An object among the arguments; without any, an empty one."""
        return Arguments(f"{self.command}: {name}", self._get(name, dict))

    def each(self, name: str) -> Iterator[Arguments]:
        """The objects of a list; without any, none."""
        for number, item in enumerate(self._get(name, list) or ()):
            yield Arguments(f"{self.command}: {name}[{number}]", item if item is not None else 0)

    def numbers(self, name: str) -> list[int]:
        """The whole numbers of a list; without any, none."""
        items = self._get(name, list) or []
        return [Arguments(self.command, {name: one}).number(name) for one in items]

    def texts(self, name: str) -> list[str]:
        """The texts of a list, or of a single one; without any, none."""
        value = self.values.get(name)
        items = [value] if isinstance(value, str) else self._get(name, list) or []
        for item in items:
            if not isinstance(item, str):
                raise RequestFailed(f"{self.command}: {name} has {_kind(item)}, not only texts")
        return list(items)

    def mapping(self, name: str) -> dict[str, str | None]:
        """An object whose values are texts or null; without any, an empty one."""
        found: dict[str, Any] = self._get(name, dict) or {}
        for key, value in found.items():
            if value is not None and not isinstance(value, str):
                raise RequestFailed(f"{self.command}: {name}.{key} is {_kind(value)}, not a text")
        return found


def _kind(value: Any) -> str:
    for kind, name in _NAMES.items():
        if isinstance(value, kind):
            shown = printable(repr(value), 40)
            return shown if kind in (bool, int, str) else name
    return "null" if value is None else printable(repr(value), 40)


__all__ = ["Arguments", "RequestFailed"]
