"""Tables: for people on a terminal, in plain aligned columns for a pipe, or as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, Any

from jvmti.text.printable import printable

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_RIGHT = ">"
WIDEST = 44
"""Characters that a column of a table on a terminal may take, unless it is the last."""


def console() -> Console:
    """The output: a terminal with its abilities, or plain text."""
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False, soft_wrap=True)


def table(
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    title: str | None = None,
    styles: Sequence[str | None] | None = None,
    width: int | None = None,
) -> RenderableType:
    """A table for a terminal.

    Args:
        columns: the headings; ``>`` at the start aligns the cells right.
        rows: the cells; text is escaped here.
        title: the line above it.
        styles: a style for each row.
        width: the width, if not the terminal's.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    made = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False)
    cells = [[_cell(cell) for cell in row] for row in rows]
    heads = [name.lstrip(_RIGHT) for name in columns]
    widths = [
        min(max([len(head), *(len(row[at]) for row in cells)]), WIDEST)
        for at, head in enumerate(heads)
    ]
    # By default, rich shrinks all columns alike. Only the last one may be cut off.
    left = (width or Console().width) - sum(widths[:-1]) - 3 * len(columns)
    widths[-1] = max(left, len(heads[-1]))
    for at, name in enumerate(columns):
        made.add_column(
            heads[at],
            justify="right" if name.startswith(_RIGHT) else "left",
            no_wrap=True,
            overflow="ellipsis",
            # A cut number is another number, so these stay whole on the narrowest terminal.
            min_width=widths[at] if name.startswith(_RIGHT) else None,
            max_width=widths[at],
        )
    for row, style in zip(cells, styles or [None] * len(cells), strict=True):
        made.add_row(*map(Text, row), style=style)
    return made


def plain(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """The same as aligned columns of plain text, nothing cut off."""
    heads = [name.lstrip(_RIGHT) for name in columns]
    right = [name.startswith(_RIGHT) for name in columns]
    cells = [heads, *([_cell(cell) for cell in row] for row in rows)]
    widths = [max(len(row[at]) for row in cells) for at in range(len(heads))]
    lines = []
    for row in cells:
        parts = [
            cell.rjust(size) if onto else cell.ljust(size)
            for cell, size, onto in zip(row, widths, right, strict=True)
        ]
        lines.append("  ".join(parts).rstrip())
    return "\n".join(lines)


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    title: str | None = None,
    styles: Sequence[str | None] | None = None,
) -> None:
    """Print a table in the form for standard output."""
    out = console()
    if out.is_terminal:
        out.print(table(columns, rows, title=title, styles=styles), soft_wrap=False)
        return
    if title:
        print(title)
    print(plain(columns, rows))


def print_json(data: Any, stream: IO[str] | None = None) -> None:
    """Print data as JSON; everything but ASCII is escaped, so names cannot do harm."""
    json.dump(data, stream or sys.stdout, indent=2, ensure_ascii=True)
    (stream or sys.stdout).write("\n")


def _cell(value: object) -> str:
    return "-" if value is None else printable(str(value))


__all__ = ["WIDEST", "console", "plain", "print_json", "print_table", "table"]
