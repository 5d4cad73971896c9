"""Output files of events: Parquet, Arrow, and lines of JSON."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol

from jvmti.report.batch_files import BatchFile
from jvmti.report.events import Clock, json_of

if TYPE_CHECKING:
    from jvmti.events.streams.records import Records


class EventFile(Protocol):
    """An output file of events."""

    def write(self, records: Records) -> None:
        """Write some more."""

    def close(self) -> None:
        """Write the end of the file; then it can be read."""


class _Lines:
    def __init__(self, path: str, clock: Clock) -> None:
        self._file = open(path, "w", encoding="ascii")
        self._clock = clock

    def write(self, records: Records) -> None:
        self._file.writelines(json_of(row, self._clock) + "\n" for row in records.rows())

    def close(self) -> None:
        self._file.close()


class _Arrow:
    def __init__(self, path: str) -> None:
        self._file = BatchFile(path)

    def write(self, records: Records) -> None:
        self._file.write(records.to_arrow())

    def close(self) -> None:
        self._file.close()


def open_file(path: str, clock: Clock) -> EventFile:
    """The file for a path, by its suffix.

    Raises:
        ImportError: it needs pyarrow, which is not installed.
    """
    if os.path.splitext(path)[1] == ".jsonl":
        return _Lines(path, clock)
    return _Arrow(path)


__all__ = ["EventFile", "open_file"]
