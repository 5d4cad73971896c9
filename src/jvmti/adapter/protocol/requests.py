"""Methods that answer requests: found by the names that a decorator gives them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from jvmti.adapter.protocol.arguments import Arguments
from jvmti.adapter.protocol.framing import Encoded

Answer = Callable[[Arguments], "dict[str, Any] | Encoded | None"]
"""Takes the arguments of a request, and returns the body of its response."""

_Method = TypeVar("_Method", bound=Callable[..., Any])


def answers(*commands: str) -> Callable[[_Method], _Method]:
    """Decorate the method that answers requests of these names."""

    def decorate(method: _Method) -> _Method:
        method.__dict__["answers"] = commands
        return method

    return decorate


def answers_of(subjects: Iterable[object]) -> dict[str, Answer]:
    """The methods of some objects that answer requests, by the requests' names."""
    found: dict[str, Answer] = {}
    for subject in subjects:
        for name in dir(type(subject)):
            for command in getattr(getattr(type(subject), name), "answers", ()):
                assert command not in found
                found[command] = getattr(subject, name)
    return found


__all__ = ["Answer", "answers", "answers_of"]
