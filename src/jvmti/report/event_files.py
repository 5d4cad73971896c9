"""Files that events are written to: Parquet, Arrow, and lines of JSON."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Protocol

from jvmti.report.events import Clock, json_of

if TYPE_CHECKING:
    from jvmti.events.records import Records

SUFFIXES = (".parquet", ".arrow", ".jsonl")


class EventFile(Protocol):
    """Where events go."""

    def write(self, records: Records) -> None:
        """Write some more."""

    def close(self) -> None:
        """Write what belongs to the end; the file can be read then."""


class _Lines:
    def __init__(self, path: str, clock: Clock) -> None:
        self._file = open(path, "w", encoding="ascii")
        self._clock = clock

    def write(self, records: Records) -> None:
        self._file.writelines(json_of(row, self._clock) + "\n" for row in records.rows())

    def close(self) -> None:
        self._file.close()


class _Arrow:
    """Parquet or Arrow's own format; the writer is made when the columns are known."""

    def __init__(self, path: str) -> None:
        import pyarrow  # noqa: F401 - say at once when it is missing

        self._path = path
        self._file = open(path, "wb")
        self._writer: Any = None

    def write(self, records: Records) -> None:
        import pyarrow
        from pyarrow import ipc, parquet

        batch = records.to_arrow()
        if self._writer is None:
            if self._path.endswith(".parquet"):
                self._writer = parquet.ParquetWriter(self._file, batch.schema)
            else:
                # Each batch brings the names that came since the one before.
                options = ipc.IpcWriteOptions(emit_dictionary_deltas=True)
                self._writer = ipc.new_file(self._file, batch.schema, options=options)
        if self._path.endswith(".parquet"):
            self._writer.write_table(pyarrow.Table.from_batches([batch]))
        else:
            self._writer.write_batch(batch)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._file.close()


def open_file(path: str, clock: Clock) -> EventFile:
    """The file for a path, by its suffix.

    Raises:
        ImportError: it needs pyarrow, which is not installed.
    """
    if os.path.splitext(path)[1] == ".jsonl":
        return _Lines(path, clock)
    return _Arrow(path)


__all__ = ["SUFFIXES", "EventFile", "open_file"]
