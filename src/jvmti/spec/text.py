"""Text from a target made harmless: names, messages and source may hold whatever they like."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

_SHORT = {0x09: "\\t", 0x0A: "\\n", 0x0D: "\\r"}


def printable(text: str | None, most: int | None = None) -> str:
    """Text from a target as a terminal can show it without obeying it.

    Control characters, escape sequences, marks that turn the direction of writing, lone surrogates
    and everything else that Unicode does not count as printable become backslash escapes.

    Args:
        text: the text; ``None`` gives the empty string.
        most: how many characters to show; what is cut off is replaced by an ellipsis.
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
    """The same for text that is in lines; line ends and tabs stay."""
    if text.isprintable():
        return text
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in text.split("\n"))


class Lines(str):
    """Text in lines, which a prompt shows as such."""

    __slots__ = ()

    def __repr__(self) -> str:
        return printable_lines(str(self))


Show = Callable[[Any], str]


def harmless(show: Show) -> Show:
    """Make a ``__repr__`` or ``__str__`` give a line that is harmless, whatever it is made of."""

    @wraps(show)
    def shown(self: Any) -> str:
        return printable(show(self))

    return shown


def harmless_lines(show: Show) -> Show:
    """The same for what gives several lines."""

    @wraps(show)
    def shown(self: Any) -> str:
        return printable_lines(show(self))

    return shown


class HarmlessError(Exception):
    """An exception whose message quotes names or texts of a target."""

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        if "__str__" in vars(cls):
            cls.__str__ = harmless_lines(cls.__str__)  # type: ignore[method-assign]

    @harmless_lines
    def __str__(self) -> str:
        return super().__str__()


__all__ = ["HarmlessError", "Lines", "harmless", "harmless_lines", "printable", "printable_lines"]
