"""How `jvmti top` shows a JVM: once as text or JSON, or on a terminal that takes keys."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jvmti.commands.top.terminal import opened_terminal
from jvmti.commands.top.views import VIEWS, as_json, head, part_of, rows
from jvmti.report.tables import plain, table
from jvmti.text.printable import printable
from jvmti.text.quantities import quantity

if TYPE_CHECKING:
    from jvmti.commands.top.watching import Meter, Picture

__all__ = ["Screen", "print_on"]

_KEYS = {"m": "methods", "t": "threads", "a": "allocation", "l": "locks"}
_PAGE = 10
_MOVES = {"\x1b[A": -1, "\x1bOA": -1, "k": -1, "\x1b[5~": -_PAGE}
_MOVES |= {"\x1b[B": 1, "\x1bOB": 1, "j": 1, "\x1b[6~": _PAGE}
_HELP = (
    *("m methods", "t threads", "a allocation", "l locks"),
    *("↑↓ choose", "⏎ stacks", "s sort", "/ filter", "space stop", "q quit"),
)
_TABLE = 4
"""Lines of a table beside its rows."""
_HIGH = 14
"""Lines of a terminal that has room for what is above and below the table."""
_LOW = 8
"""Lines of one that has room for neither."""


def print_on(meter: Meter, given: argparse.Namespace) -> None:
    """Print pictures, one after the other: as text, or as JSON with a line for each.

    Args:
        meter: the JVM.
        given: the options.
    """
    for kind in dict.fromkeys(view.kind for view in VIEWS.values()):
        meter.sample(kind)
    until = None if given.duration is None else time.monotonic() + given.duration
    meter.picture()
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            time.sleep(given.interval)
            picture = meter.picture()
            if given.json:
                print(json.dumps(as_json(picture, given.top)))
            else:
                _print(meter, picture, given.top)
            sys.stdout.flush()
            if given.once or (until is not None and time.monotonic() >= until):
                return


def _print(meter: Meter, picture: Picture, most: int) -> None:
    print(meter.vm.process.describe())
    print("\n".join(head(picture)))
    for name, view in VIEWS.items():
        print(f"\n{name}")
        if view.kind in picture.missing:
            print(f"  not sampled: {printable(picture.missing[view.kind])}")
            continue
        print(plain(view.columns, [one.cells for one in rows(picture, name, most)]))


class Screen:
    """The picture on a terminal, until q or Ctrl-C.

    Args:
        meter: the JVM.
        given: the options.
    """

    def __init__(self, meter: Meter, given: argparse.Namespace) -> None:
        self._meter = meter
        self._interval: float = given.interval
        self._until = None if given.duration is None else time.monotonic() + given.duration
        self._view: str = given.view or "methods"
        self._picture: Picture | None = None
        self._row = 0
        self._opened: str | None = None
        self._total = False
        self._filter = ""
        self._typing = False
        self._paused = False
        self._left = False

    def run(self) -> None:
        """Show it."""
        from rich.console import Console
        from rich.live import Live

        console = Console(highlight=False)
        self._sample()
        self._meter.picture()
        live = Live(console=console, auto_refresh=False, screen=True)
        with contextlib.suppress(KeyboardInterrupt), opened_terminal(live) as terminal:
            due = time.monotonic() + min(self._interval, 1.0)
            while not (self._left or terminal.closed):
                live.update(self._drawn(console.height, console.width), refresh=True)
                for key in terminal.typed(due - time.monotonic()):
                    self._press(key)
                if self._until is not None and time.monotonic() >= self._until:
                    return
                if time.monotonic() >= due:
                    due = time.monotonic() + self._interval
                    picture = self._meter.picture()
                    if not self._paused:
                        self._picture = picture

    def _sample(self) -> None:
        for kind in ("cpu", "alloc"):
            self._meter.sample(kind)
        if self._view == "locks":
            self._meter.sample("lock")
        else:
            self._meter.leave("lock")

    def _press(self, key: str) -> None:
        if self._typing:
            if key in ("\r", "\n", "\x1b"):
                self._typing = False
            elif key in ("\x7f", "\b"):
                self._filter = self._filter[:-1]
            elif key.isprintable():
                self._filter += key
            self._row = 0
        elif key in _KEYS:
            self._view, self._row, self._opened = _KEYS[key], 0, None
            self._sample()
        elif key in _MOVES:
            self._row = max(self._row + _MOVES[key], 0)
        elif key in ("\r", "\n"):
            self._opened = None if self._opened else self._chosen()
        elif key == "\x1b":
            self._opened, self._filter = None, ""
        elif key == "s":
            self._total = not self._total
        elif key == "/":
            self._typing, self._filter = True, ""
        elif key == " ":
            self._paused = not self._paused
        elif key == "q":
            self._left = True

    def _rows(self) -> list[Any]:
        if self._picture is None:
            return []
        found = rows(self._picture, self._view, None, total=self._total)
        return [one for one in found if self._filter.lower() in one.name.lower()]

    def _chosen(self) -> str | None:
        found = self._rows()
        return found[min(self._row, len(found) - 1)].name if found else None

    def _drawn(self, height: int, width: int) -> Any:
        from rich.console import Group
        from rich.text import Text

        above = [self._meter.vm.process.describe()]
        above += ["", ""] if self._picture is None else head(self._picture)
        state = [self._view]
        if self._view != "threads":
            state.append("by what they call" if self._total else "by their own")
        if self._filter or self._typing:
            state.append(f"with {self._filter!r}" + ("_" if self._typing else ""))
        if self._paused:
            state.append("stopped")
        above.append(", ".join(state))
        below = _lines(_HELP, width)
        if height < _HIGH:
            above = above[-1:]
        if height < _LOW:
            below = []
        fit = max(height - len(above) - len(below) - _TABLE, 1)
        return Group(
            Text("\n".join(map(printable, above)), style="bold", no_wrap=True),
            self._body(fit, width),
            Text("\n".join(below), style="dim", no_wrap=True, overflow="ellipsis"),
        )

    def _body(self, fit: int, width: int) -> Any:
        from rich.text import Text

        if self._picture is None:
            return Text("sampling …")
        kind = VIEWS[self._view].kind
        if kind in self._picture.missing:
            return Text(f"not sampled: {printable(self._picture.missing[kind])}")
        if self._opened is not None:
            part = part_of(self._picture, self._view, self._opened)
            tree = None if part is None else part.tree()
            lines = [f"{self._opened}: no samples now"]
            if tree:
                what = f"{tree.amount(len(tree))} in {quantity(tree.samples, 'sample')}"
                lines = [f"{self._opened}: {what}", *tree.lines()]
            shown = "\n".join(printable(line) for line in lines[:fit])
            return Text(shown, no_wrap=True, overflow="ellipsis")
        found = self._rows()
        self._row = max(min(self._row, len(found) - 1), 0)
        begin = max(self._row - fit + 1, 0)
        shown_rows = found[begin : begin + fit]
        styles = ["reverse" if begin + at == self._row else None for at in range(len(shown_rows))]
        return table(
            VIEWS[self._view].columns, [one.cells for one in shown_rows], styles=styles, width=width
        )


def _lines(words: Sequence[str], width: int) -> list[str]:
    """The words in lines of this width."""
    lines = [words[0]]
    for word in words[1:]:
        if len(lines[-1]) + 2 + len(word) <= width:
            lines[-1] += f"  {word}"
        else:
            lines.append(word)
    return lines
