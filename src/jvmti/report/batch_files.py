"""Files of Arrow record batches: Parquet, and Arrow's own format."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["SUFFIXES", "BatchFile"]

SUFFIXES = (".parquet", ".arrow", ".jsonl")
"""File name suffixes of the formats that commands write."""


class BatchFile:
    """A file of batches; the writer is created when the columns are known.

    Args:
        path: ends in ``.parquet``, or else Arrow's own format is written.
        opener: as for `open`, to set the file's permissions.

    Raises:
        ImportError: pyarrow is not installed.
        OSError: the file cannot be opened.
    """

    def __init__(self, path: str, opener: Callable[[str, int], int] | None = None) -> None:
        import pyarrow  # noqa: F401 - say at once when it is missing

        self._parquet = path.endswith(".parquet")
        self._file = open(path, "wb", opener=opener)
        self._writer: Any = None

    def write(self, batch: Any) -> None:
        """Write a batch."""
        import pyarrow
        from pyarrow import ipc, parquet

        if self._writer is None:
            if self._parquet:
                self._writer = parquet.ParquetWriter(self._file, batch.schema)
            else:
                # Each batch has the names that are new since the previous one.
                options = ipc.IpcWriteOptions(emit_dictionary_deltas=True)
                self._writer = ipc.new_file(self._file, batch.schema, options=options)
        if self._parquet:
            self._writer.write_table(pyarrow.Table.from_batches([batch]))
        else:
            self._writer.write_batch(batch)

    def close(self) -> None:
        """Write the end of the file; then it can be read."""
        if self._writer is not None:
            self._writer.close()
        self._file.close()
