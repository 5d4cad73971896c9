"""Columns: one function over many arguments in one message, NumPy in and out.

A map request sends a column for each argument that varies and the others once; the reply has a
status for each row and the result's leaves as columns.  Numbers arrive as NumPy arrays, handles as
`HandleColumn`, text as `TextColumn`, lists as `ListColumn`, structures as dictionaries of columns.
"""

from __future__ import annotations

import fcntl
import mmap
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy

from jvmti.interface import shapes
from jvmti.interface.declaration import Declaration
from jvmti.interface.errors import (
    ForeignHandle,
    JavaException,
    JvmtiError,
    NotInThisVersion,
    ProtocolError,
    error_for,
)
from jvmti.text import modified_utf8 as text
from jvmti.text.quantities import quantity
from jvmti.wire.channel import Frame, Request
from jvmti.wire.codecs import U32, U64, codec_of, narrowed
from jvmti.wire.ownership import block_of
from jvmti.wire.protocol import MAP, MAP_PARAMETER, Flag, Kind, Status
from jvmti.wire.session import Session

_SHARE_ABOVE = 256 * 1024
"""Requests larger than this many bytes travel in shared memory."""

_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


class HandleColumn(Sequence[Any]):
    """Thousands of handles with one owner, made into objects one by one on demand."""

    def __init__(self, session: Session, array: numpy.ndarray[Any, Any]) -> None:
        self.session = session
        self._owner = session.ownership.own(self, array)

    @property
    def array(self) -> numpy.ndarray[Any, Any]:
        """The handles as ``uint64``; 0 is null."""
        return self._owner.array

    @array.setter
    def array(self, handles: numpy.ndarray[Any, Any]) -> None:
        self._owner.array = handles

    def __len__(self) -> int:
        return len(self._owner.array)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        handle = int(self.array[index])
        if handle == 0:
            return None
        cls = self.session.classes[handle >> 56]
        if not hasattr(cls, "release"):
            return self.session.wrap(handle)
        made = cls(self.session, handle)
        made._keeper = self
        return made

    def release(self) -> None:
        """Release all of them now."""
        array, self.array = self.array, self.array[:0]
        if block := block_of(array):
            self.session.ownership.give_up(block)

    def __repr__(self) -> str:
        return f"<{quantity(len(self), 'handle')}>"


class TextColumn(Sequence[Any]):
    """Strings as offsets into one block of modified UTF-8; ``None`` for a missing one.

    Attributes:
        lengths: bytes of each, -1 for none, as ``int32``.
        data: all of them, one after the other.
    """

    def __init__(self, lengths: numpy.ndarray[Any, Any], data: bytes) -> None:
        self.lengths = lengths
        self.data = data
        self.offsets = numpy.zeros(len(lengths) + 1, numpy.int64)
        numpy.cumsum(numpy.maximum(lengths, 0), out=self.offsets[1:])

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if self.lengths[index] < 0:
            return None
        index = range(len(self))[index]
        return text.decode(self.data[self.offsets[index] : self.offsets[index + 1]])

    def __iter__(self) -> Iterator[Any]:
        at = 0
        data = self.data
        plain = data.isascii()
        whole = data.decode("ascii") if plain else ""
        for length in self.lengths.tolist():
            if length < 0:
                yield None
                continue
            yield whole[at : at + length] if plain else text.decode(data[at : at + length])
            at += length

    def __repr__(self) -> str:
        return f"<{quantity(len(self), 'string')}>"


class ListColumn(Sequence[Any]):
    """Lists as offsets into columns of their items.

    Attributes:
        counts: items of each list, as ``int32``.
        items: the items of all lists, one after the other: a column or a dictionary of columns.
    """

    def __init__(self, counts: numpy.ndarray[Any, Any], items: Any) -> None:
        self.counts = counts
        self.items = items
        self.offsets = numpy.zeros(len(counts) + 1, numpy.int64)
        numpy.cumsum(numpy.maximum(counts, 0), out=self.offsets[1:])

    def __len__(self) -> int:
        return len(self.counts)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        index = range(len(self))[index]
        part = slice(int(self.offsets[index]), int(self.offsets[index + 1]))
        if isinstance(self.items, dict):
            return {name: column[part] for name, column in self.items.items()}
        return self.items[part]

    def __repr__(self) -> str:
        return f"<{quantity(len(self), 'list')}>"


class Columns:
    """The outcome of a map request.

    Attributes:
        status: for each row 0 or the error code, as ``uint16``; a row whose call threw a Java
            exception has 1000.
        columns: the results by name; a function with one result has it under ``"value"``.

    The columns are attributes as well: ``columns.signature``.
    """

    def __init__(self, status: numpy.ndarray[Any, Any], columns: dict[str, Any]) -> None:
        self.status = status
        self.columns = columns

    def __len__(self) -> int:
        return len(self.status)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["columns"][name]
        except KeyError:
            raise AttributeError(
                f"no column {name!r}; there are {', '.join(self.__dict__.get('columns', ()))}"
            ) from None

    def check(self) -> Columns:
        """Raise the error of the first row that has one; otherwise return the columns."""
        bad = numpy.flatnonzero(self.status)
        if bad.size:
            row = int(bad[0])
            status = int(self.status[row])
            where = f"in row {row} of {len(self)}"
            if status == Status.JAVA_EXCEPTION:
                # Columns carry no throwables; only a single call knows which it was.
                raise JavaException(None, "java.lang.Throwable", f"thrown {where}")
            if status == Status.NOT_IN_THIS_VERSION:
                raise NotInThisVersion(f"this VM is too old to have the function ({where})")
            raise error_for(status, None, where)
        return self

    def __repr__(self) -> str:
        failed = int(numpy.count_nonzero(self.status))
        return (
            f"<{quantity(len(self), 'row')} of {', '.join(self.columns) or 'nothing'}, "
            f"{failed} failed>"
        )


class _Leaves:
    """The leaf columns of a reply, taken in order."""

    def __init__(self, session: Session, leaves: list[memoryview]) -> None:
        self.session = session
        self.leaves = iter(leaves)

    def column(self, shape: shapes.Shape) -> Any:
        match shape:
            case shapes.Number(_, code, _):
                return numpy.frombuffer(next(self.leaves), numpy.dtype(code).newbyteorder("<"))
            case shapes.Reference():
                return HandleColumn(self.session, numpy.frombuffer(next(self.leaves), "<u8"))
            case shapes.Text() | shapes.Unicode() | shapes.Bytes() | shapes.ElementBlock():
                lengths = numpy.frombuffer(next(self.leaves), "<i4")
                data = bytes(next(self.leaves))
                if isinstance(shape, shapes.Text):
                    return TextColumn(lengths, data)
                if isinstance(shape, shapes.Unicode):
                    return UnicodeColumn(lengths, data)
                return BlockColumn(lengths, data, shape)
            case shapes.Token() | shapes.CapabilitySet() | shapes.Pointer():
                return numpy.frombuffer(next(self.leaves), "<u8")
            case shapes.List(item, _, _):
                counts = numpy.frombuffer(next(self.leaves), "<i4")
                return ListColumn(counts, self.column(item))
            case shapes.Structure(_, _, fields):
                return {name: self.column(field) for name, field in fields}
        raise TypeError(shape)


class UnicodeColumn(TextColumn):
    """Strings as offsets into one block of UTF-16."""

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        index = range(len(self))[index]
        piece = self.data[self.offsets[index] : self.offsets[index + 1]]
        return piece.decode("utf-16-le", "surrogatepass")

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))


class BlockColumn(TextColumn):
    """Blocks of bytes or elements as offsets into one block."""

    def __init__(self, lengths: numpy.ndarray[Any, Any], data: bytes, shape: shapes.Shape) -> None:
        super().__init__(lengths, data)
        self.dtype = (
            numpy.dtype(shapes.ELEMENT_CODES[shape.c])
            if isinstance(shape, shapes.ElementBlock)
            else None
        )

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        index = range(len(self))[index]
        piece = self.data[self.offsets[index] : self.offsets[index + 1]]
        return piece if self.dtype is None else numpy.frombuffer(piece, self.dtype)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))


def _as_column(value: Any, shape: shapes.Shape) -> bool:
    """Whether an argument varies by row."""
    if isinstance(shape, shapes.List | shapes.Arguments | shapes.ElementBlock | shapes.Bytes):
        return False
    return isinstance(value, list | tuple | numpy.ndarray | HandleColumn | TextColumn)


def map_call(
    session: Session,
    declaration: Declaration,
    environment: int,
    arguments: tuple[Any, ...],
    timeout: float | None = None,
) -> Columns:
    """Call a function once for each row of its column arguments.

    Lists, tuples, NumPy arrays and columns of earlier results are columns and must be of one
    length; everything else is the same for all rows.  Without any column there is one row.
    Returned objects are not identified: two handles may name the same object.

    Raises:
        ValueError: the columns are not of one length.
        Error: the request as a whole failed; the failures of rows are in ``status``.
    """
    codec = codec_of(declaration)
    rows: int | None = None
    parts = []
    for (name, shape), put, value in zip(codec.inputs, codec.encoders, arguments, strict=True):
        column = _as_column(value, shape)
        if column:
            if isinstance(value, numpy.ndarray) and value.ndim != 1:
                raise ValueError(
                    f"{declaration.name}() column {name} must have one dimension, not {value.ndim}"
                )
            if rows is not None and len(value) != rows:
                has = quantity(len(value), "row")
                raise ValueError(f"{declaration.name}() column {name} has {has}, others {rows}")
            rows = len(value)
            data = _encode_column(session, put, shape, value, f"{declaration.name}() column {name}")
        else:
            inner: list[bytes] = []
            put(value, inner, session)
            data = b"".join(inner)
        parts.append(MAP_PARAMETER.struct.pack(column, len(data)) + data)
    rows = 1 if rows is None else rows
    payload = MAP.struct.pack(rows, len(parts)) + b"".join(parts)
    if len(payload) > _SHARE_ABOVE:
        reply = _shared_request(session, declaration, environment, payload, rows, timeout)
    else:
        reply = session.request(
            Request(Kind.MAP, declaration.number, environment, payload, declaration.name, timeout)
        )
    if reply.status:
        raise session.error(declaration, reply)
    return _decode(session, codec.results, reply.payload)


def map_here(
    declaration: Declaration, stand_in: Callable[[tuple[Any, ...]], Any], arguments: tuple[Any, ...]
) -> Columns:
    """The same for a function that something on this side stands in for, row by row.

    Its columns are lists, with ``None`` where a row has failed.

    Raises:
        ValueError: the columns are not of one length.
    """
    shapes_of = [shape for _, shape in codec_of(declaration).inputs]
    columns = [
        one if _as_column(one, shape) else None
        for one, shape in zip(arguments, shapes_of, strict=True)
    ]
    counts = {len(one) for one in columns if one is not None}
    if len(counts) > 1:
        raise ValueError(f"{declaration.name}() has columns of {sorted(counts)} rows")
    statuses: list[int] = []
    results: list[Any] = []
    for row in range(counts.pop() if counts else 1):
        its = (
            one if column is None else column[row]
            for one, column in zip(arguments, columns, strict=True)
        )
        try:
            results.append(stand_in(tuple(its)))
            statuses.append(0)
        except JvmtiError as error:
            results.append(None)
            statuses.append(error.code)
    names = [name or "value" for name, _ in codec_of(declaration).results]
    if len(names) > 1:
        found = {
            name: [None if one is None else one[at] for one in results]
            for at, name in enumerate(names)
        }
    else:
        found = dict.fromkeys(names, results)
    return Columns(numpy.array(statuses, "<u2"), found)


def _encode_column(
    session: Session, put: Any, shape: shapes.Shape, value: Any, where: str
) -> bytes:
    if isinstance(value, HandleColumn) and isinstance(shape, shapes.Reference):
        if value.session is not session:
            raise ForeignHandle(
                f"{where} belongs to another session; handles are valid in their own session only"
            )
        return value.array.tobytes()
    if isinstance(shape, shapes.Number) and isinstance(value, numpy.ndarray):
        return narrowed(value, numpy.dtype(shape.code), where).tobytes()
    if isinstance(shape, shapes.Reference) and isinstance(value, numpy.ndarray):
        return narrowed(value, numpy.dtype("<u8"), where).tobytes()
    inner: list[bytes] = []
    for one in value:
        put(one, inner, session)
    return b"".join(inner)


def _shared_request(
    session: Session,
    declaration: Declaration,
    environment: int,
    payload: bytes,
    rows: int,
    timeout: float | None,
) -> Frame:
    """The same request through sealed shared memory, where the reply comes back if it fits."""
    size = max(len(payload), 64 * rows) + 4096
    descriptor = os.memfd_create("jvmti", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(descriptor, size)
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)
        with mmap.mmap(descriptor, size) as shared:
            shared[:8] = U64.pack(len(payload))
            shared[8 : 8 + len(payload)] = payload
            reply = session.request(
                Request(
                    Kind.MAP,
                    declaration.number,
                    environment,
                    name=declaration.name,
                    timeout=timeout,
                    flags=int(Flag.SHARED),
                    descriptor=descriptor,
                )
            )
            if reply.flags & Flag.SHARED:
                (length,) = U64.unpack_from(shared)
                if length > size - 8:
                    raise ProtocolError("the agent announces more than the shared memory holds")
                reply.payload = shared[8 : 8 + length]
            return reply
    finally:
        os.close(descriptor)


def _decode(
    session: Session, results: Sequence[tuple[str, shapes.Shape]], payload: bytes | memoryview
) -> Columns:
    view = memoryview(payload)
    rows, count = MAP.struct.unpack_from(view)
    at = MAP.size
    pieces = []
    for _ in range(count + 1):
        (length,) = U32.unpack_from(view, at)
        pieces.append(view[at + 4 : at + 4 + length])
        at += 4 + length
    status = numpy.frombuffer(pieces[0], "<u2")
    if len(status) != rows:
        raise ProtocolError("the agent's reply has fewer rows than it announces")
    leaves = _Leaves(session, pieces[1:])
    columns: dict[str, Any] = {}
    for name, shape in results:
        column = leaves.column(shape)
        if name == "" and isinstance(column, dict):
            columns.update(column)
        else:
            columns[name or "value"] = column
    return Columns(status, columns)


__all__ = ["Columns", "HandleColumn", "ListColumn", "TextColumn", "map_call", "map_here"]
