"""A table that is refreshed until Ctrl-C."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from jvmti.report.tables import console, plain, table

_MARGIN = 6
"""Lines of the terminal for the head and the frame of the table."""

_LEAST = 5


class TableState(NamedTuple):
    """The contents at one moment: a line above the table, and rows with a style for each."""

    head: str
    rows: list[list[object]]
    styles: list[str | None]


def refresh_table(
    columns: Sequence[str], interval: float, sample: Callable[[int | None], TableState]
) -> None:
    """Refresh a table until Ctrl-C, the normal way to end it.

    Args:
        columns: its headings.
        interval: seconds between two samples.
        sample: returns the contents for the rows that fit the terminal; ``None`` means any number.
    """
    from rich.console import Console, Group
    from rich.live import Live
    from rich.text import Text

    live = None
    if console().is_terminal:
        live = Live(console=Console(highlight=False), auto_refresh=False)
    try:
        if live:
            live.start()
        while True:
            time.sleep(interval)
            rows_that_fit = max(live.console.height - _MARGIN, _LEAST) if live else None
            head, rows, styles = sample(rows_that_fit)
            if live:
                view = table(columns, rows[:rows_that_fit], styles=styles[:rows_that_fit])
                live.update(Group(Text(head, style="bold"), view), refresh=True)
            else:
                print(head)
                print(plain(columns, rows), flush=True)
                print(flush=True)
    except KeyboardInterrupt:
        pass
    finally:
        if live:
            live.stop()


__all__ = ["TableState", "refresh_table"]
