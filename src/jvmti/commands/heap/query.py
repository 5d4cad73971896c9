"""``jvmti heap query``."""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy

from jvmti.commands.failure import FAILED, USAGE, CommandFailed
from jvmti.commands.heap.sources import add_source, print_head, snapshot_of
from jvmti.commands.options.outputs import add_output, output
from jvmti.commands.options.targets import no_target_but_the_program
from jvmti.heap.snapshot import Snapshot
from jvmti.heap.tables.columns import Table, column, display_values, plain, table
from jvmti.heap.tables.query import Expression, QueryError, expressions
from jvmti.report.batch_files import BatchFile
from jvmti.report.tables import WIDEST, console, print_json, print_table
from jvmti.text.printable import printable
from jvmti.text.quantities import quantity

_TOP = 20
_LONGEST = 200
"""Characters shown of a text."""
_BATCH = 1 << 16
"""Rows formatted at a time."""
_AMOUNTS = ("bytes", "retained", "length", "count")
"""Columns of long numbers that are amounts."""


class Command:
    """Query a heap with Python expressions over columns of objects.

      jvmti heap query MyServer 'objects("com.acme.Order")' --where 'total > 1000'
      jvmti heap query MyServer 'objects("com.acme.Order")["customer"]["name"]'
      jvmti heap query dump.hprof 'objects("java.lang.String").largest(10)'
      jvmti heap query dump.hprof 'objects("com.acme.Order").group_by("customer")'
      jvmti heap query dump.hprof 'histogram(by="package", retained=True)' --json
      jvmti heap query dump.hprof 'objects("com.acme.Order")' -o orders.parquet \\
          --columns 'object, total, name := customer["name"]'

    The expression can use the names of a snapshot (objects, classes, static, histogram, threads,
    loaders, roots, dominators, paths_to_roots, retained_size …), the module jvmti.heap as `heap`,
    NumPy as `np`, and all of Python: it runs with your permissions.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        add_source(parser, "EXPRESSION")
        parser.add_argument("expression", nargs="*", metavar="EXPRESSION", help="the question")
        parser.add_argument(
            "--where",
            metavar="EXPRESSION",
            help="only the rows for which it is true: columns are NumPy arrays, `them` the objects",
        )
        parser.add_argument(
            "--columns",
            metavar="EXPRESSION, …",
            help="these columns: 'number, name := customer[\"name\"], total / 100'",
        )
        parser.add_argument(
            "--top",
            type=int,
            metavar="N",
            help=f"the first N rows (default: {_TOP} on a screen, otherwise all)",
        )
        parser.add_argument("--csv", action="store_true", help="print CSV")
        add_output(parser, "the rows")

    def run(self, given: argparse.Namespace) -> None:
        """Print or write the result."""
        no_target_but_the_program(given, given.expression)
        if len(given.expression) != 1:
            given.parser.error("one expression is needed, quoted: 'objects(\"com.acme.Order\")'")
        if given.top is not None and given.top < 0:
            given.parser.error("--top is a number of rows")
        if given.csv and (given.json or given.output):
            given.parser.error("one of --csv, --json and a file")
        path = output(given)
        # Parse them all before stopping a program for them.
        question = _read("", Expression, given.expression[0])
        where = _read("--where: ", Expression, given.where)
        columns = _read("--columns: ", expressions, given.columns)
        with snapshot_of(given) as snapshot:
            answer = _answer(snapshot, question, where, columns)
            rows = answer.rows(slice(given.top))
            if path is not None:
                _write(path, rows.settled(), given.force)
                console().print(printable(f"{quantity(rows.count, 'row')} written to {path}"))
            elif given.json:
                print_json(
                    {
                        "count": answer.count,
                        "pause": snapshot.pause,
                        "rows": [row for part in _parts(rows.settled()) for row in _records(part)],
                    }
                )
            elif given.csv:
                _print_csv(rows.settled())
            else:
                print_head(snapshot)
                _print(answer, _TOP if given.top is None else given.top)


def _read(option: str, read: Any, text: str | None) -> Any:
    try:
        return None if text is None else read(text)
    except QueryError as error:
        raise CommandFailed(printable(f"{option}{error}"), USAGE) from None


def _answer(
    snapshot: Snapshot,
    question: Expression,
    where: Expression | None,
    columns: list[Expression] | None,
) -> Table:
    option = ""
    try:
        found = table(question.evaluate(snapshot))
        if where is not None:
            option = "--where: "
            found = found.rows(_mask(where.evaluate(snapshot, found), found.count))
        if columns is not None:
            option = "--columns: "
            made = {one.name: _expanded(one.evaluate(snapshot, found), found) for one in columns}
            found = Table(made)
    except QueryError as error:
        code = FAILED if error.answered else USAGE
        raise CommandFailed(printable(f"{option}{error}"), code) from None
    except ValueError as error:
        raise CommandFailed(printable(f"{option}{error}"), USAGE) from None
    return found


def _mask(value: Any, count: int) -> Any:
    mask = numpy.ma.filled(value, False) if numpy.ma.isMA(value) else numpy.asarray(value)
    if mask.dtype != bool or mask.shape not in ((count,), ()):
        raise ValueError("the expression must be true or false for each row")
    return numpy.broadcast_to(mask, (count,))


def _expanded(value: Any, found: Table) -> Any:
    """A value as a column of a table: one per row, or the same for all."""
    if not hasattr(value, "__len__") or isinstance(value, str):
        value = [value] * found.count
    made = column(value)
    if len(made) != found.count:
        raise ValueError(f"{quantity(len(made), 'value')} for {quantity(found.count, 'row')}")
    return made


def _parts(rows: Table) -> Iterator[Table]:
    """The rows in parts, so that their text is never in memory all at once."""
    for begin in range(0, rows.count, _BATCH):
        yield rows.rows(slice(begin, begin + _BATCH))


def _records(part: Table) -> list[dict[str, Any]]:
    columns = [[_finite(item) for item in plain(part[name])] for name in part]
    return [dict(zip(part, row, strict=True)) for row in zip(*columns, strict=True)]


def _finite(item: Any) -> Any:
    """JSON has neither infinity nor NaN."""
    return None if isinstance(item, float) and not math.isfinite(item) else item


def _print_csv(rows: Table) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(rows)
    escape = sys.stdout.isatty()
    for part in _parts(rows):
        columns = [plain(part[name]) for name in part]
        for row in zip(*columns, strict=True):
            writer.writerow(
                printable(item) if escape and isinstance(item, str) else item for item in row
            )


def _write(path: str, rows: Table, force: bool) -> None:
    """Write a file that only its owner can read; remove it if the disk is full."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | (os.O_TRUNC if force else os.O_EXCL)
    try:
        descriptor = os.open(path, flags, 0o600)
        try:
            if path.endswith(".jsonl"):
                with open(descriptor, "w", encoding="ascii") as lines:
                    for part in _parts(rows):
                        lines.writelines(json.dumps(row) + "\n" for row in _records(part))
            else:
                from jvmti.heap.tables.arrow import record_batch

                with closing(BatchFile(path, lambda name, flags: descriptor)) as file:
                    file.write(record_batch(rows))
        except BaseException:
            os.unlink(path)
            raise
    except OSError as error:
        raise CommandFailed(f"{printable(path)}: {error.strerror}") from None


def _print(answer: Table, top: int) -> None:
    rows = answer.rows(slice(top))
    heads, cells = [], []
    for name in rows:
        items = display_values(rows[name])
        numbers = [item for item in items if item is not None]
        right = bool(numbers) and all(isinstance(item, int | float) for item in numbers)
        heads.append((">" if right else "") + name.upper())
        cells.append([_text(item, name) for item in items])
    visible = _visible_columns(heads, cells)
    print_table(heads[:visible], list(zip(*cells[:visible], strict=True)))
    if visible < len(heads):
        names = ", ".join(list(rows)[visible:])
        console().print(f"… and more columns: {printable(names)}; --columns chooses")
    if rows.count < answer.count:
        more = answer.count - rows.count
        console().print(f"… and {more:,} more; --top shows more of them")


def _visible_columns(heads: list[str], cells: list[list[Any]]) -> int:
    """How many columns fit the terminal; all fit a pipe."""
    out = console()
    if not out.is_terminal:
        return len(heads)
    left = out.width
    for at, (head, items) in enumerate(zip(heads, cells, strict=True)):
        left -= 3 + min(max(len(str(item)) for item in [head, *items]), WIDEST)
        if left < 0:
            return max(at, 1)
    return len(heads)


def _text(item: Any, name: str) -> Any:
    if isinstance(item, int) and not isinstance(item, bool) and name in _AMOUNTS:
        return f"{item:,}"
    return item[:_LONGEST] if isinstance(item, str) else item
