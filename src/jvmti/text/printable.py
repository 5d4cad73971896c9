"""Escapes untrusted text of a target: names, messages and source may contain anything."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

_SHORT = {0x09: "\\t", 0x0A: "\\n", 0x0D: "\\r"}


def printable(text: str | None, most: int | None = None) -> str:
    """Text from a target, safe to print on a terminal.

    Control characters, escape sequences, bidirectional marks, lone surrogates and all other
    unprintable characters become backslash escapes.

    Args:
        text: the text; ``None`` gives the empty string.
        most: the maximum length; a longer text ends in an ellipsis.
    """
    if not text:
        return ""
    if not text.isprintable():
        text = "".join(char if char.isprintable() else _escape(ord(char)) for char in text)
    if most is not None and len(text) > most:
        return text[: max(most - 1, 0)] + "…"
    return text


def _escape(code: int) -> str:
    if code in _SHORT:
        return _SHORT[code]
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def printable_lines(text: str) -> str:
    """The same for text of several lines; line ends and tabs stay."""
    if text.isprintable():
        return text
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in text.split("\n"))


class Lines(str):
    """Text of several lines, which a prompt shows as lines."""

    __slots__ = ()

    def __repr__(self) -> str:
        return printable_lines(str(self))


Show = Callable[[Any], str]


def escaped(show: Show) -> Show:
    """Decorate a ``__repr__`` or ``__str__``: escape its result, a single line."""

    @wraps(show)
    def escaping(self: Any) -> str:
        return printable(show(self))

    return escaping


def escaped_lines(show: Show) -> Show:
    """The same for results of several lines."""

    @wraps(show)
    def escaping(self: Any) -> str:
        return printable_lines(show(self))

    return escaping


class PrintableError(Exception):
    """An exception whose message quotes names or texts of a target."""

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        if "__str__" in vars(cls):
            cls.__str__ = escaped_lines(cls.__str__)  # type: ignore[method-assign]

    @escaped_lines
    def __str__(self) -> str:
        return super().__str__()


__all__ = ["PrintableError", "Lines", "escaped", "escaped_lines", "printable", "printable_lines"]
