"""Events as Arrow record batches; needs pyarrow, the extra ``arrow``."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy

from jvmti.events.streams.names import NameColumn

try:
    import pyarrow
except ImportError as error:
    raise ImportError("Arrow batches need pyarrow: pip install 'jvmti[arrow]'") from error

if TYPE_CHECKING:
    from jvmti.events.streams.records import Layout, Records

_UNKNOWN_LINE = -1
_NULL = -1


class _Dictionary:
    """Names as a dictionary for Parquet: each once, without nulls.

    Several methods or threads share a name, so several codes lead to one entry.
    """

    def __init__(self) -> None:
        self._entries: dict[str, int] = {}
        self._places = numpy.empty(0, numpy.int32)  # of the names so far, by code
        self._made: Any = None

    def add(self, names: list[Any]) -> None:
        """Add the names announced since the last call."""
        if len(names) == len(self._places):
            return
        entries = self._entries
        more = [
            _NULL if name is None else entries.setdefault(name, len(entries))
            for name in names[len(self._places) :]
        ]
        self._places = numpy.append(self._places, numpy.array(more, numpy.int32))

    def encode(self, codes: numpy.ndarray[Any, Any]) -> Any:
        """A column of codes as a dictionary array, with nulls among the indices."""
        indices = self._places[codes]
        if self._made is None or len(self._made) != len(self._entries):
            self._made = pyarrow.array(list(self._entries), pyarrow.string())
        return pyarrow.DictionaryArray.from_arrays(
            pyarrow.array(indices, mask=indices == _NULL), self._made
        )


class _Stacks:
    """Stacks by number, as lists of frames whose text is in a dictionary.

    A dictionary of lists would be smaller, but Parquet has no such thing.
    """

    def __init__(self) -> None:
        self._frames = _Dictionary()
        self._texts: list[str] = []  # the frames of all stacks, one stack after the other
        self._ends = numpy.zeros(1, numpy.int64)  # where each ends among them

    def encode(self, column: NameColumn) -> Any:
        """A column of stacks as a list array."""
        if len(column.names) > len(self._ends):
            more = column.names[len(self._ends) :]
            self._texts.extend(frame for stack in more for frame in stack)
            lengths = numpy.array([len(stack) for stack in more], numpy.int64)
            self._ends = numpy.append(self._ends, self._ends[-1] + numpy.cumsum(lengths))
            self._frames.add(self._texts)
        ends = self._ends[column.codes]
        starts = self._ends[numpy.maximum(column.codes.astype(numpy.int64) - 1, 0)]
        lengths = ends - starts
        offsets = numpy.zeros(len(column) + 1, numpy.int32)
        numpy.cumsum(lengths, out=offsets[1:])
        inside = numpy.arange(int(offsets[-1])) - numpy.repeat(offsets[:-1], lengths)
        frames = self._frames.encode(numpy.repeat(starts, lengths) + inside)
        missing = pyarrow.array(column.codes == 0)
        return pyarrow.ListArray.from_arrays(
            pyarrow.array(offsets, pyarrow.int32()), frames, mask=missing
        )


class _Dictionaries:
    """The dictionaries of a stream, which grow with its names."""

    def __init__(self) -> None:
        self._of: dict[int, _Dictionary] = {}
        self._stacks = _Stacks()
        self._lock = threading.Lock()

    def encode(self, name: str, column: NameColumn) -> Any:
        with self._lock:
            if name == "stack":
                return self._stacks.encode(column)
            # The list of names lives as long as this does.
            dictionary = self._of.setdefault(id(column.names), _Dictionary())
            dictionary.add(column.names)
            return dictionary.encode(column.codes)


def record_batch(layout: Layout, records: Records) -> Any:
    """The records as a batch, with nulls for fields that an event lacks."""
    dictionaries = records.names.__dict__.setdefault("arrow", _Dictionaries())
    arrays = []
    for name in layout.columns:
        column = records[name]
        missing = records.missing(name)
        if isinstance(column, NameColumn):
            arrays.append(dictionaries.encode(name, column))
            continue
        if name.endswith("line"):
            unknown = column == _UNKNOWN_LINE
            missing = unknown if missing is None else missing | unknown
        elif name.endswith("_float"):
            unknown = numpy.isnan(column)
            missing = unknown if missing is None else missing | unknown
        elif name == "duration":
            unknown = column < 0
            missing = unknown if missing is None else missing | unknown
        arrays.append(pyarrow.array(column, mask=missing))
    return pyarrow.RecordBatch.from_arrays(arrays, names=list(layout.columns))


__all__ = ["record_batch"]
