"""``jvmti heap histogram``."""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict
from typing import Any

import numpy

from jvmti.commands.failure import USAGE, CommandFailed
from jvmti.commands.heap.sources import inspected, is_file, snapshot_of
from jvmti.commands.options.targets import (
    add_delay,
    add_json,
    add_max_pause,
    add_target,
    count,
    no_target_but_the_program,
    seconds,
)
from jvmti.heap.errors import NoSuchClass
from jvmti.heap.histogram import Histogram
from jvmti.model.vm import VM
from jvmti.report.live_table import TableState, refresh_table
from jvmti.report.tables import console, print_json, print_table
from jvmti.text.printable import printable
from jvmti.text.quantities import duration, quantity

_TOP = 30


class Command:
    """Count the objects of each class, and their bytes.

      jvmti heap histogram MyServer
      jvmti heap histogram MyServer 'com.acme.*' '*[]' --top 10
      jvmti heap histogram MyServer --diff 60
      jvmti heap histogram MyServer --json > before.json
      jvmti heap histogram MyServer --diff before.json
      jvmti heap histogram dump.hprof

    The count stops the program for about 13 ms per million objects. It includes unreachable objects
    that have not been collected yet; with --live the VM collects first, which stops the program for
    a full garbage collection. If several class loaders have a class of one name, another pass finds
    their loaders and the oldest one. The histogram of a heap dump leaves out unreachable objects.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        add_target(parser)
        parser.usage = (
            f"{parser.prog} [options] (TARGET | FILE) [PATTERN …]\n"
            f"       {parser.prog} [options] [PATTERN …] -- java …"
        )
        parser.add_argument(
            "patterns", nargs="*", metavar="PATTERN", help="only classes that match: 'java.*'"
        )
        add_json(parser)
        parser.add_argument(
            "--live",
            action="store_true",
            help="only reachable objects; forces a full garbage collection",
        )
        parser.add_argument(
            "--top", type=count, default=None, metavar="N", help=f"rows to show (default: {_TOP})"
        )
        parser.add_argument(
            "--sort", choices=("bytes", "count"), default="bytes", help="sort by (default: bytes)"
        )
        parser.add_argument(
            "--watch",
            nargs="?",
            type=seconds,
            const=2.0,
            metavar="SECONDS",
            help="refresh a table, with the growth since the beginning (default: every 2 seconds)",
        )
        parser.add_argument(
            "--diff",
            metavar="SECONDS|FILE",
            help="the changes in this time, or since FILE, which --json wrote",
        )
        add_max_pause(parser)
        add_delay(parser)

    def run(self, given: argparse.Namespace) -> None:
        """Print the histogram once, or again and again."""
        if given.watch and (given.json or given.diff):
            given.parser.error("--watch goes with neither --json nor --diff")
        no_target_but_the_program(given, given.patterns)
        before, wait = _older(given.diff)
        if is_file(given):
            self._of_file(given, before, wait)
            return
        with inspected(given) as vm:
            if given.watch:
                _watch(vm, given)
                return
            if wait is not None:
                before = _taken(vm, given)
                time.sleep(wait)
            found = _taken(vm, given)
            listed = found if before is None else found.diff(_chosen(before, given))
            most = given.top or (len(listed) if given.json else _TOP)
            rows = listed.top(most, given.sort)
            if given.json:
                about = {
                    "pid": vm.process.pid,
                    "main": vm.process.main,
                    "java_version": vm.process.java_version,
                    "time": time.time(),
                }
                print_json(about | _as_json(given, found, listed, rows))
            else:
                name = f"{vm.process.pid} {vm.process.main}"
                _print(name, found, listed, rows, before is not None)

    def _of_file(
        self, given: argparse.Namespace, before: Histogram | None, wait: float | None
    ) -> None:
        if given.watch or given.live or wait is not None:
            given.parser.error("--watch, --live and --diff SECONDS are for a running JVM")
        with snapshot_of(given) as snapshot:
            found = snapshot.histogram()
            try:
                found = found.matching(given.patterns) if given.patterns else found
            except NoSuchClass as error:
                raise CommandFailed(printable(str(error))) from None
            listed = found if before is None else found.diff(_chosen(before, given))
            rows = listed.top(given.top or (len(listed) if given.json else _TOP), given.sort)
            if given.json:
                about = {"file": given.target, "time": snapshot.time}
                print_json(about | _as_json(given, found, listed, rows))
            else:
                _print(given.target, found, listed, rows, before is not None)


def _older(text: str | None) -> tuple[Histogram | None, float | None]:
    """The argument of ``--diff``: an earlier histogram, or a time to wait."""
    if text is None:
        return None, None
    try:
        number = float(text)
    except ValueError:
        return _read(text), None
    if not 0 < number < 1e6:
        raise CommandFailed(f"--diff: {text!r} is not a positive number of seconds", USAGE)
    return None, number


def _read(path: str) -> Histogram:
    try:
        with open(path, encoding="utf-8") as file:
            classes = json.load(file)["classes"]
        rows = [
            (one["name"], one["loader"], one["module"], int(one["count"]), int(one["bytes"]))
            for one in classes
        ]
    except OSError as error:
        raise CommandFailed(f"--diff: {path!r} cannot be read: {error.strerror}", USAGE) from None
    except (ValueError, KeyError, TypeError):
        raise CommandFailed(
            f"--diff: {path!r} was not written by `jvmti heap histogram --json`", USAGE
        ) from None
    columns: list[list[Any]] = [list(column) for column in zip(*rows, strict=True)]
    names, loaders, modules, count, size = columns or [[], [], [], [], []]
    return Histogram(
        names, loaders, modules, numpy.array(count, numpy.int64), numpy.array(size, numpy.int64)
    )


def _taken(vm: VM, given: argparse.Namespace) -> Histogram:
    try:
        found = vm.heap.histogram(given.live, given.patterns or None, max_pause=given.max_pause)
    except NoSuchClass as error:
        raise CommandFailed(printable(str(error))) from None
    if given.watch:
        return found
    listed = found if given.patterns else found.top(given.top or _TOP, given.sort)
    return vm.heap.with_loaders(found, set(listed.names), max_pause=given.max_pause)


def _chosen(older: Histogram, given: argparse.Namespace) -> Histogram:
    try:
        return older.matching(given.patterns) if given.patterns else older
    except NoSuchClass:
        return older.taken(numpy.arange(0))  # there were none then


def _as_json(
    given: argparse.Namespace, found: Histogram, listed: Histogram, rows: Histogram
) -> dict[str, Any]:
    return {
        "live": given.live,
        "diff": listed is not found,
        "pause": found.pause,
        "total_count": listed.total_count,
        "total_bytes": listed.total_bytes,
        "classes": [asdict(row) for row in rows],
    }


def _print(name: str, found: Histogram, listed: Histogram, rows: Histogram, diff: bool) -> None:
    sign = "+" if diff else ""
    one = len(listed) == 1
    verb = "changes by" if diff else "has"
    what = f"class {verb}" if one else f"classes {'change by' if diff else 'have'}"
    stopped = f"; stopped for at most {duration(found.pause)}" if found.pause else ""
    console().print(
        f"{printable(name)}: {len(listed)} {what} {listed.total_count:{sign},} objects of "
        f"{listed.total_bytes:{sign},} bytes{stopped}"
    )
    cells: list[list[object]] = [
        [f"{row.count:{sign},}", f"{row.bytes:{sign},}", row.name, row.loader_and_age]
        for row in rows
    ]
    print_table([">OBJECTS", ">BYTES", "CLASS", "LOADER"], cells)
    if len(rows) < len(listed):
        console().print(f"… and {len(listed) - len(rows)} more; --top shows more of them")


_COLUMNS = [">OBJECTS", ">BYTES", ">OBJECTS GROWN", ">BYTES GROWN", "CLASS"]


def _watch(vm: VM, given: argparse.Namespace) -> None:
    first = _taken(vm, given)
    refresh_table(
        _COLUMNS,
        given.watch,
        lambda lines: _grown(vm, first, _taken(vm, given), given.top or lines or _TOP, given.sort),
    )


def _grown(vm: VM, first: Histogram, now: Histogram, most: int, by: str) -> TableState:
    changes = {row.key: row for row in now.diff(first)}
    cells: list[list[object]] = []
    styles: list[str | None] = []
    for row in now.top(most, by):
        change = changes.get(row.key)
        count, size = (change.count, change.bytes) if change else (0, 0)
        cells.append([f"{row.count:,}", f"{row.bytes:,}", f"{count:+,}", f"{size:+,}", row.name])
        styles.append("bold" if size > row.bytes / 10 else None)
    head = (
        f"{vm.process.pid} {printable(vm.process.main)}: {quantity(now.total_count, 'object')}, "
        f"{quantity(now.total_bytes, 'byte')} ({now.total_bytes - first.total_bytes:+,})   "
        f"{time.strftime('%H:%M:%S')}"
    )
    return TableState(head, cells, styles)
