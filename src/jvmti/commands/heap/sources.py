"""The source of snapshots: a dump file, or a JVM to dump."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from jvmti.commands.failure import NOT_FOUND, CommandFailed
from jvmti.commands.options.targets import add_delay, add_json, add_max_pause, add_target, opened
from jvmti.heap.html.report import STEP
from jvmti.heap.library import Progress
from jvmti.heap.snapshot import Snapshot, open_snapshot
from jvmti.model.vm import VM
from jvmti.report.tables import console, print_json
from jvmti.target.errors import TargetNotFound
from jvmti.text.printable import printable
from jvmti.text.quantities import duration, quantity

_ENDINGS = (".hprof", ".bin", ".gz", ".parquet", ".dump", ".dmp", ".phd")
"""Endings of file names that no name of a JVM has."""
_STEPS = {1: "records", 2: "references", 3: "dominators", STEP: "report"}


def add_source(parser: argparse.ArgumentParser, *further: str, json: bool = True) -> None:
    """Add the target or file, and the options for reading it.

    Args:
        parser: the verb's.
        further: what follows it in the usage line.
        json: whether the verb prints data.
    """
    add_target(parser)
    names = "".join(f" {one}" for one in further)
    parser.usage = (
        f"{parser.prog} [options] (TARGET | FILE){names}\n"
        f"       {parser.prog} [options]{names} -- java …"
    )
    if json:
        add_json(parser)
    parser.add_argument("--unreachable", action="store_true", help="include unreachable objects")
    add_max_pause(parser)
    add_delay(parser)


def is_file(given: argparse.Namespace) -> bool:
    """Whether the source is a dump and not a JVM.

    Raises:
        CommandFailed: it looks like a file name, but there is no such file.
    """
    target: str | None = given.target
    if given.launched is not None or target is None:
        return False
    if os.path.exists(target):
        return True
    if os.sep in target or target.lower().endswith(_ENDINGS):
        raise CommandFailed(f"{printable(target)}: no such file", NOT_FOUND)
    return False


@contextmanager
def inspected(given: argparse.Namespace) -> Iterator[VM]:
    """A session with the JVM to inspect; a started program has run for a while.

    Raises:
        CommandFailed: there is no such JVM and no such file.
    """
    try:
        with opened(given) as vm:
            if given.launched:
                time.sleep(given.delay)
            yield vm
    except TargetNotFound as error:
        if (given.target or "").isdigit():
            raise
        message = "\n".join(map(printable, str(error).split("\n")))
        raise CommandFailed(f"there is no such file, and {message}", NOT_FOUND) from None


def taken(vm: VM, given: argparse.Namespace, report: Progress | None = None) -> Snapshot:
    """A snapshot of a JVM, with a warning first if that stops the program for long."""
    return vm.heap.snapshot(
        unreachable="keep" if given.unreachable else "drop",
        max_pause=given.max_pause,
        report=report,
    )


@contextmanager
def snapshot_of(given: argparse.Namespace) -> Iterator[Snapshot]:
    """The snapshot of a file or a JVM; reports damage on standard error."""
    unreachable = "keep" if getattr(given, "unreachable", False) else "drop"
    with _progress() as report:
        if is_file(given):
            snapshot = open_snapshot(given.target, unreachable=unreachable, report=report)
        else:
            with inspected(given) as vm:
                snapshot = taken(vm, given, report)
        if snapshot.fault is not None:
            print(f"the dump is damaged {printable(str(snapshot.fault))}", file=sys.stderr)
        yield snapshot


def print_head(snapshot: Snapshot) -> None:
    """Print the snapshot's size."""
    stopped = f"; the program was stopped for at most {duration(snapshot.pause)}"
    console().print(
        f"{quantity(len(snapshot), 'object')} of "
        f"{quantity(len(snapshot.classes), 'class')}, {quantity(snapshot.size, 'byte')}"
        + (stopped if snapshot.pause else "")
    )


def write(given: argparse.Namespace, to: str, into: Callable[[Snapshot], None]) -> None:
    """Write a snapshot to a new file or directory, and report that.

    Args:
        to: its name.
        into: writes it.
    """
    if os.path.lexists(to) and not given.force:
        raise CommandFailed(f"{printable(to)} exists; --force overwrites it")
    with snapshot_of(given) as snapshot:
        try:
            into(snapshot)
        except OSError as error:
            raise CommandFailed(f"{printable(to)}: {error.strerror}") from None
        size = os.path.getsize(to)
        if given.json:
            print_json({"path": to, "bytes": size, "pause": snapshot.pause})
            return
        print_head(snapshot)
        console().print(printable(f"written to {to}"))


@contextmanager
def _progress() -> Iterator[Callable[[int, int, int], None]]:
    """Shows the progress of long steps on standard error, if it is a terminal."""
    terminal = Console(stderr=True)
    if not terminal.is_terminal:
        yield lambda step, done, all_: None
        return
    bar = Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=terminal,
        transient=True,
    )
    tasks: dict[int, TaskID] = {}

    def report(step: int, done: int, all_: int) -> None:
        if step not in tasks:
            tasks[step] = bar.add_task(_STEPS.get(step, "reading"), total=all_)
        bar.update(tasks[step], completed=done, total=all_)

    with bar:
        yield report


__all__ = ["add_source", "is_file", "inspected", "print_head", "snapshot_of", "taken", "write"]
