"""``jvmti heap query``."""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import sys
from collections.abc import Iterator
from typing import Any

import numpy

from jvmti.commands.failure import FAILED, USAGE, CommandFailed
from jvmti.commands.heap.sources import add_source, print_head, snapshot_of
from jvmti.commands.outputs import add_output, output
from jvmti.heap.query import Expression, QueryError, expressions
from jvmti.heap.snapshot import Snapshot
from jvmti.heap.tables import Table, plain, shown, table
from jvmti.report.batch_files import BatchFile
from jvmti.report.tables import console, print_json, print_table
from jvmti.report.text import printable

_TOP = 20
_LONGEST = 200
"""Characters of a text that are shown."""
_BATCH = 1 << 16
"""Rows that are made into text at a time."""
_AMOUNTS = ("bytes", "retained", "length", "count")
"""Columns of numbers that are long, and mean amounts."""


class Command:
    """Answer questions to a heap: Python expressions over columns of objects.

      jvmti heap query MyServer 'objects("com.acme.Order")' --where 'total > 1000'
      jvmti heap query MyServer 'objects("com.acme.Order")["customer"]["name"]'
      jvmti heap query dump.hprof 'objects("java.lang.String").largest(10)'
      jvmti heap query dump.hprof 'objects("com.acme.Order").group_by("customer")'
      jvmti heap query dump.hprof 'histogram(by="package", retained=True)' --json
      jvmti heap query dump.hprof 'objects("com.acme.Order")' -o orders.parquet \\
          --columns 'object, total, name := customer["name"]'

    The expression has the names of a snapshot (objects, classes, static, histogram, threads,
    loaders, roots, dominators, paths_to_roots, retained_size …), the module jvmti.heap as `heap`,
    NumPy as `np`, and all of Python: it is run as your own code.
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
            help=f"the first N rows; {_TOP} on a screen, otherwise all",
        )
        parser.add_argument("--csv", action="store_true", help="print CSV")
        add_output(parser, "the rows")

    def run(self, given: argparse.Namespace) -> None:
        """Print the answer, or write it."""
        if given.launched is not None and given.target is not None:
            given.expression.insert(0, given.target)
            given.target = None
        if len(given.expression) != 1:
            given.parser.error("one expression is needed, quoted: 'objects(\"com.acme.Order\")'")
        if given.top is not None and given.top < 0:
            given.parser.error("--top is a number of rows")
        if given.csv and (given.json or given.output):
            given.parser.error("one of --csv, --json and a file")
        path = output(given)
        # All of them are read before a program is stopped for them.
        question = _read("", Expression, given.expression[0])
        where = _read("--where: ", Expression, given.where)
        columns = _read("--columns: ", expressions, given.columns)
        with snapshot_of(given) as snapshot:
            answer = _answer(snapshot, question, where, columns)
            if path is not None:
                _write(path, answer.rows(slice(given.top)), given.force)
                console().print(printable(f"{_rows(answer, given.top):,} rows written to {path}"))
            elif given.json:
                rows = [row for part in _parts(answer, given.top) for row in _records(part)]
                print_json({"count": answer.count, "pause": snapshot.pause, "rows": rows})
            elif given.csv:
                _print_csv(answer, given.top)
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
            made = {one.name: _fitting(one.evaluate(snapshot, found), found) for one in columns}
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


def _fitting(value: Any, found: Table) -> Any:
    """A value as a column of a table: one for each row, or the same for all."""
    if isinstance(value, list | tuple):
        value = table(list(value))["value"]
    if not hasattr(value, "__len__") or isinstance(value, str):
        value = table([value] * found.count)["value"]
    if len(value) != found.count:
        raise ValueError(f"{len(value):,} values for {found.count:,} rows")
    return value


def _rows(answer: Table, top: int | None) -> int:
    return answer.count if top is None else min(top, answer.count)


def _parts(answer: Table, top: int | None) -> Iterator[Table]:
    """The rows in parts, so that their text is never there all at once."""
    rows = _rows(answer, top)
    for begin in range(0, rows, _BATCH):
        yield answer.rows(slice(begin, min(begin + _BATCH, rows)))


def _records(part: Table) -> list[dict[str, Any]]:
    columns = [[_finite(item) for item in plain(part[name])] for name in part]
    return [dict(zip(part, row, strict=True)) for row in zip(*columns, strict=True)]


def _finite(item: Any) -> Any:
    """JSON has no infinity, and nothing that is no number."""
    return None if isinstance(item, float) and not math.isfinite(item) else item


def _print_csv(answer: Table, top: int | None) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(answer)
    harmless = sys.stdout.isatty()
    for part in _parts(answer, top):
        columns = [plain(part[name]) for name in part]
        for row in zip(*columns, strict=True):
            writer.writerow(
                printable(item) if harmless and isinstance(item, str) else item for item in row
            )


def _write(path: str, rows: Table, force: bool) -> None:
    """Write a file that only its owner can read; nothing is left of one that does not fit."""

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags | (0 if force else os.O_EXCL), 0o600)

    try:
        if path.endswith(".jsonl"):
            with open(path, "w", encoding="ascii", opener=opener) as lines:
                for part in _parts(rows, None):
                    lines.writelines(json.dumps(row) + "\n" for row in _records(part))
            return
        from jvmti.heap.arrow import record_batch

        batch = record_batch(rows)
        file = BatchFile(path, opener)
        try:
            file.write(batch)
            file.close()
        except BaseException:
            os.unlink(path)
            raise
    except OSError as error:
        raise CommandFailed(f"{printable(path)}: {error.strerror}") from None


def _print(answer: Table, top: int) -> None:
    rows = answer.rows(slice(top))
    heads, columns = [], []
    for name in rows:
        cells = shown(rows[name])
        numbers = [item for item in cells if item is not None]
        right = bool(numbers) and all(isinstance(item, int | float) for item in numbers)
        heads.append((">" if right else "") + name.upper())
        columns.append([_text(item, name) for item in cells])
    print_table(heads, list(zip(*columns, strict=True)))
    if rows.count < answer.count:
        more = answer.count - rows.count
        console().print(f"… and {more:,} more; --top shows more of them")


def _text(item: Any, name: str) -> Any:
    if isinstance(item, int) and not isinstance(item, bool) and name in _AMOUNTS:
        return f"{item:,}"
    return item[:_LONGEST] if isinstance(item, str) else item
