"""Progress of long work: a bar on a terminal's standard error, or a line of HTML in a notebook."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from jvmti.display import Report
from jvmti.heap.html.elements import element, to_html
from jvmti.text.printable import printable
from jvmti.text.quantities import duration

__all__ = ["progress"]

_INTERVAL = 0.2
"""Seconds between two updates in a notebook, each of which is a message to the browser."""


@contextmanager
def progress(what: str) -> Iterator[Report]:
    """Show the progress of an operation during the block.

    ::

        with jvmti.progress("scanning") as report:
            vm.heap.scan(progress=report)

    Shows nothing if standard error is not a terminal, outside a notebook. In a notebook a line with
    the duration remains.

    Args:
        what: the operation, in a few words.

    Returns:
        A function for ``progress=`` or ``report=``; other threads may call it.
    """
    if in_notebook():
        with _line(what) as report:
            yield report
        return
    terminal = Console(stderr=True)
    if not terminal.is_terminal:
        yield lambda *numbers: None
        return
    with _bar(what, terminal) as report:
        yield report


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    interactive = sys.modules.get("IPython")
    shell = interactive.get_ipython() if interactive is not None else None
    return getattr(shell, "kernel", None) is not None


@contextmanager
def _bar(what: str, console: Console) -> Iterator[Report]:
    columns = TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn()
    bar = Bar(*columns, console=console, transient=True)
    tasks: dict[int, TaskID] = {}

    def report(*numbers: int) -> None:
        step, done, all_ = _read(numbers)
        if step not in tasks:
            tasks[step] = bar.add_task(printable(what), total=all_)
        bar.update(tasks[step], completed=done, total=all_)

    with bar:
        yield report


@contextmanager
def _line(what: str) -> Iterator[Report]:
    from IPython import display as notebook  # it has no types

    ipython: Any = notebook

    begun = last = time.monotonic()
    lock = threading.Lock()

    def line(done: int, all_: int | None, last: str) -> Any:
        meter = {} if all_ is None else {"value": str(done), "max": str(all_)}
        return ipython.HTML(
            to_html(
                element("div", element("progress", **meter), f" {what}: {last}")
                if last.endswith("…")
                else element("div", element("small", f"{what}: {last}"))
            )
        )

    handle = ipython.display(line(0, None, "…"), display_id=True)

    def report(*numbers: int) -> None:
        nonlocal last
        with lock:
            now = time.monotonic()
            if now - last < _INTERVAL:
                return
            last = now
        _, done, all_ = _read(numbers)
        of = "" if all_ is None else f" of {all_:,}"
        handle.update(line(done, all_, f"{done:,}{of} …"))

    try:
        yield report
    finally:
        handle.update(line(1, 1, duration(time.monotonic() - begun)))


def _read(numbers: tuple[int, ...]) -> tuple[int, int, int | None]:
    """A step, the amount done, and the total if known."""
    match numbers:
        case (done,):
            return 0, done, None
        case (done, all_):
            return 0, done, all_
        case (step, done, all_):
            return step, done, all_
    raise TypeError(f"progress takes one to three numbers, not {len(numbers)}")
