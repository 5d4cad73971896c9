"""Files of records: columns in Parquet or Arrow's own format, or JSON, an object a line."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import TracebackType
from typing import IO, Any

from jvmti.report.batch_files import SUFFIXES, BatchFile
from jvmti.report.trace_events import TraceEventsFile

__all__ = ["RECORD_SUFFIXES", "RecordFile"]

RECORD_SUFFIXES = (*SUFFIXES, ".json")
"""File name suffixes of the formats that records are written in; the last is for Perfetto."""


def _spelt_out(table: Any) -> Any:
    """A table with each text in its row: a file of Arrow has one dictionary for all batches."""
    from pyarrow import types

    for position, field in enumerate(table.schema):
        if types.is_dictionary(field.type):
            column = table.column(position).cast(field.type.value_type)
            table = table.set_column(position, field.name, column)
    return table


class RecordFile:
    """A file that receives records as they come; use it in a ``with`` block.

    Args:
        path: its name; ``None`` for no file at all.

    Attributes:
        is_open: whether there is one.

    Raises:
        OSError: it cannot be written.
    """

    def __init__(self, path: str | None) -> None:
        self._columns: BatchFile | None = None
        self._lines: IO[str] | None = None
        self._events: TraceEventsFile | None = None
        self.is_open = path is not None
        self._is_arrow = path is not None and path.endswith(".arrow")
        if path is not None and path.endswith(".jsonl"):
            self._lines = open(path, "w", encoding="utf-8")
        elif path is not None and path.endswith(".json"):
            self._events = TraceEventsFile(path)
        elif path is not None:
            self._columns = BatchFile(path)

    @property
    def takes_tables(self) -> bool:
        """Whether its format has columns, so that it needs no object for each record."""
        return self._columns is not None

    def write(self, records: Any, as_json: Callable[[Any], object]) -> None:
        """Write some records.

        Args:
            records: a list that has `to_arrow`; or only that, if the file takes tables.
            as_json: converts one of them to an object for JSON.
        """
        if self._columns is not None:
            table = records.to_arrow()
            for batch in (_spelt_out(table) if self._is_arrow else table).to_batches():
                self._columns.write(batch)
        if self._events is not None:
            self._events.write(records, as_json)
        if self._lines is not None:
            for one in records:
                print(json.dumps(as_json(one)), file=self._lines)

    def __enter__(self) -> RecordFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._columns is not None:
            self._columns.close()
        if self._lines is not None:
            self._lines.close()
        if self._events is not None:
            self._events.close()
