"""Lines of source for a terminal: numbered, marked and coloured."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from jvmti.text.printable import printable

if TYPE_CHECKING:
    from jvmti.sources.source import Source

_MARK, _NUMBER, _PLAIN = "\x1b[1;33m", "\x1b[2m", "\x1b[0m"


def has_colours() -> bool:
    """Whether standard output shows colours and the user wants them."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def numbered(source: Source, *, coloured: bool | None = None) -> str:
    """The lines of a source with their numbers, and an arrow before the marked one.

    Args:
        source: the lines; control characters in them become visible.
        coloured: with colours; by default where the terminal has them.
    """
    coloured = has_colours() if coloured is None else coloured
    safe = [printable(line.expandtabs()) for line in source.lines]
    shown = safe
    if coloured:
        shown = _highlighter(_language(source))("\n".join(safe)).split("\n")
        # A lexer that drops lines would move the arrow.
        shown = shown if len(shown) == len(safe) else safe
    width = len(str(source.first + len(shown)))
    lines = []
    for number, text in enumerate(shown, source.first):
        arrow = "→" if number == source.marked else " "
        head = f"{arrow} {number:{width}d}"
        if coloured:
            head = f"{_MARK if number == source.marked else _NUMBER}{head}{_PLAIN}"
        lines.append(f"{head}  {text}".rstrip())
    return "\n".join(lines)


def _language(source: Source) -> str:
    ending = source.path.rpartition(".")[2]
    return {"kt": "kotlin", "kts": "kotlin", "scala": "scala", "groovy": "groovy"}.get(
        ending, "jsp" if ending in ("jsp", "jspx", "tag") else "java"
    )


@lru_cache
def _highlighter(language: str) -> Callable[[str], str]:
    """A function that colours text without changing its lines."""
    from pygments import highlight
    from pygments.formatters import TerminalFormatter
    from pygments.lexers import get_lexer_by_name

    lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    formatter = TerminalFormatter()
    return lambda text: highlight(text, lexer, formatter)


__all__ = ["has_colours", "numbered"]
