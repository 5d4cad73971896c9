"""Tables that are refreshed until somebody has seen enough."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from jvmti.report.tables import console, plain, table

_MARGIN = 6
"""Lines of the terminal that the head and the frame of a table take."""

_LEAST = 5


class Picture(NamedTuple):
    """What is shown of one moment: a line above, and rows with a style for each."""

    head: str
    rows: list[list[object]]
    styles: list[str | None]


def watch(columns: Sequence[str], interval: float, look: Callable[[int | None], Picture]) -> None:
    """Refresh a table until interrupted, which is how it is meant to end.

    Args:
        columns: its headings.
        interval: seconds in between.
        look: gives what is shown, for the number of rows that there is room for; ``None`` is any.
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
            room = max(live.console.height - _MARGIN, _LEAST) if live else None
            head, rows, styles = look(room)
            if live:
                shown = table(columns, rows[:room], styles=styles[:room])
                live.update(Group(Text(head, style="bold"), shown), refresh=True)
            else:
                print(head)
                print(plain(columns, rows), flush=True)
                print(flush=True)
    except KeyboardInterrupt:
        pass
    finally:
        if live:
            live.stop()


__all__ = ["Picture", "watch"]
