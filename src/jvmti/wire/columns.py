"""Columns: one function over many arguments in one message, NumPy in and out.

A map request sends a column for each argument that varies and the others once; the reply has a
status for each row and the result's leaves as columns.  Numbers arrive as NumPy arrays, handles as
`HandleColumn`, text as `TextColumn`, lists as `ListColumn`, structures as dictionaries of columns.

Columns keep numbers as they came until somebody asks for an array: most programs that attach need
a few rows, and NumPy takes longer to import than all that they do.
"""

from __future__ import annotations

import fcntl
import mmap
import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, TypeAlias

from jvmti.deferred import is_array, numpy
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

Numbers: TypeAlias = "numpy.ndarray[Any, Any] | memoryview[Any]"
"""Numbers as they came, or as somebody asked for them."""

FEW_ROWS = 1000
"""Rows up to which plain Python takes less time than NumPy takes to import."""

_SHARE_ABOVE = 256 * 1024
"""Requests larger than this many bytes travel in shared memory."""

_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


def packed(handles: Iterable[int]) -> memoryview[int]:
    """Handles as a column for a map request, as numbers; who gives them keeps their objects."""
    return memoryview(array("Q", handles))


def as_numbers(data: memoryview[Any], code: str) -> memoryview[Any]:
    """Bytes from the agent as numbers of a type of `struct`, without copying them."""
    kind: Any = code
    return data.cast(kind) if len(data) else memoryview(bytes(8)).cast(kind)[:0]


def array_of(numbers: Any) -> numpy.ndarray[Any, Any]:
    """Numbers as an array of NumPy."""
    if is_array(numbers):
        return numbers
    found: numpy.ndarray[Any, Any] = numpy.frombuffer(numbers, f"<{numbers.format}")
    return found


def ends_of(lengths: list[int]) -> list[int]:
    """Where pieces of these lengths begin, and the last one ends; missing ones have none."""
    return [0, *accumulate(length if length > 0 else 0 for length in lengths)]


class Fields(dict[str, Any]):
    """Columns by name, whose numbers become arrays when they are asked for."""

    def __getitem__(self, name: str) -> Any:
        found = super().__getitem__(name)
        if isinstance(found, memoryview):
            found = self[name] = array_of(found)
        return found

    def listed(self, name: str) -> list[Any]:
        """A column of numbers as a list."""
        found: list[Any] = super().__getitem__(name).tolist()
        return found

    def get(self, name: str, default: Any = None) -> Any:
        """The column of a name, or something else where there is none."""
        return self[name] if name in self else default

    def values(self) -> Any:
        """All columns."""
        return {name: self[name] for name in self}.values()

    def items(self) -> Any:
        """All columns with their names."""
        return {name: self[name] for name in self}.items()

    def take(self, others: Fields) -> None:
        """Add the columns of others, as they came."""
        dict.update(self, dict.items(others))


class HandleColumn(Sequence[Any]):
    """Thousands of handles with one owner, made into objects one by one on demand."""

    def __init__(self, session: Session, handles: Numbers) -> None:
        self.session = session
        self._owner = session.ownership.own(self, handles)

    @property
    def array(self) -> numpy.ndarray[Any, Any]:
        """The handles as ``uint64``; 0 is null."""
        found = self._owner.handles = array_of(self._owner.handles)
        return found

    @array.setter
    def array(self, handles: numpy.ndarray[Any, Any]) -> None:
        self._owner.handles = handles

    def __len__(self) -> int:
        return len(self._owner.handles)

    def numbers(self) -> list[int]:
        """The handles as numbers; 0 is null."""
        found: list[int] = self._owner.handles.tolist()
        return found

    def distinct(self) -> tuple[list[int], Any]:
        """The handles without repetitions, and for each row the index of its own.

        The indices are an array of NumPy where there are more than `FEW_ROWS`, else a list.
        """
        if len(self) > FEW_ROWS:
            found, rows = numpy.unique(self.array, return_inverse=True)
            return found.tolist(), rows.reshape(-1)
        numbers = self.numbers()
        handles = list(dict.fromkeys(numbers))
        index = {handle: row for row, handle in enumerate(handles)}
        return handles, [index[number] for number in numbers]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        handle = int(self._owner.handles[index])
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
        owner = self._owner
        handles, owner.handles = owner.handles, owner.handles[:0]
        if block := block_of(handles):
            self.session.ownership.give_up(block)

    def tobytes(self) -> bytes:
        """The handles as the agent reads them."""
        found: bytes = self._owner.handles.tobytes()
        return found

    def __repr__(self) -> str:
        return f"<{quantity(len(self), 'handle')}>"


class TextColumn(Sequence[Any]):
    """Strings as offsets into one block of modified UTF-8; ``None`` for a missing one.

    Attributes:
        data: all of them, one after the other.
    """

    def __init__(self, lengths: Numbers, data: bytes) -> None:
        self._lengths = lengths
        self.data = data

    @property
    def lengths(self) -> numpy.ndarray[Any, Any]:
        """Bytes of each, -1 for none, as ``int32``."""
        found = self._lengths = array_of(self._lengths)
        return found

    @cached_property
    def offsets(self) -> numpy.ndarray[Any, Any]:
        """Where each begins in ``data``, and the last one ends."""
        return numpy.array(self._ends, numpy.int64)

    @cached_property
    def _ends(self) -> list[int]:
        return ends_of(self._lengths.tolist())

    def __len__(self) -> int:
        return len(self._lengths)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if self._lengths[index] < 0:
            return None
        return text.decode(self._piece(index))

    def _piece(self, index: int) -> bytes:
        index = range(len(self))[index]
        return self.data[self._ends[index] : self._ends[index + 1]]

    def __iter__(self) -> Iterator[Any]:
        at = 0
        data = self.data
        plain = data.isascii()
        whole = data.decode("ascii") if plain else ""
        for length in self._lengths.tolist():
            if length < 0:
                yield None
                continue
            yield whole[at : at + length] if plain else text.decode(data[at : at + length])
            at += length

    def __repr__(self) -> str:
        return f"<{quantity(len(self), 'string')}>"


class ListColumn(Sequence[Any]):
    """Lists as offsets into columns of their items."""

    def __init__(self, counts: Numbers, items: Any) -> None:
        self._counts = counts
        self._items = items

    @property
    def counts(self) -> numpy.ndarray[Any, Any]:
        """Items of each list, as ``int32``."""
        found = self._counts = array_of(self._counts)
        return found

    @property
    def items(self) -> Any:
        """The items of all lists, one after the other: a column or a dictionary of columns."""
        if isinstance(self._items, memoryview):
            self._items = array_of(self._items)
        return self._items

    @cached_property
    def offsets(self) -> numpy.ndarray[Any, Any]:
        """Where each begins in ``items``, and the last one ends."""
        return numpy.array(self.ends, numpy.int64)

    @cached_property
    def ends(self) -> list[int]:
        """The same as a list."""
        return ends_of(self._counts.tolist())

    def __len__(self) -> int:
        return len(self._counts)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        index = range(len(self))[index]
        part = slice(self.ends[index], self.ends[index + 1])
        if isinstance(self.items, dict):
            return {name: column[part] for name, column in self.items.items()}
        return self.items[part]

    def __repr__(self) -> str:
        return f"<{quantity(len(self), 'list')}>"


class Columns:
    """The outcome of a map request.

    Attributes:
        columns: the results by name; a function with one result has it under ``"value"``.

    The columns are attributes as well: ``columns.signature``.
    """

    def __init__(self, status: Numbers, columns: dict[str, Any]) -> None:
        self._status = status
        self.columns = columns

    @property
    def status(self) -> numpy.ndarray[Any, Any]:
        """For each row 0 or the error code, as ``uint16``; 1000 for a Java exception."""
        found = self._status = array_of(self._status)
        return found

    def status_list(self) -> list[int]:
        """The same as a list."""
        found: list[int] = self._status.tolist()
        return found

    def listed(self, name: str = "value") -> list[Any]:
        """A column of numbers as a list."""
        columns = self.columns
        return columns.listed(name) if isinstance(columns, Fields) else list(columns[name])

    def __len__(self) -> int:
        return len(self._status)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["columns"][name]
        except KeyError:
            raise AttributeError(
                f"no column {name!r}; there are {', '.join(self.__dict__.get('columns', ()))}"
            ) from None

    def check(self) -> Columns:
        """Raise the error of the first row that has one; otherwise return the columns."""
        statuses = self.status_list()
        if any(statuses):
            row, status = next((row, one) for row, one in enumerate(statuses) if one)
            where = f"in row {row} of {len(self)}"
            if status == Status.JAVA_EXCEPTION:
                # Columns carry no throwables; only a single call knows which it was.
                raise JavaException(None, "java.lang.Throwable", f"thrown {where}")
            if status == Status.NOT_IN_THIS_VERSION:
                raise NotInThisVersion(f"this VM is too old to have the function ({where})")
            raise error_for(status, None, where)
        return self

    def __repr__(self) -> str:
        failed = sum(map(bool, self.status_list()))
        return (
            f"<{quantity(len(self), 'row')} of {', '.join(self.columns) or 'nothing'}, "
            f"{failed} failed>"
        )


class _Leaves:
    """The leaf columns of a reply, taken in order."""

    def __init__(self, session: Session, leaves: list[memoryview]) -> None:
        self.session = session
        self.leaves = iter(leaves)

    def _numbers(self, code: str) -> memoryview[Any]:
        return as_numbers(next(self.leaves), code)

    def column(self, shape: shapes.Shape) -> Any:
        match shape:
            case shapes.Number(_, code, _):
                return self._numbers(code)
            case shapes.Reference():
                return HandleColumn(self.session, self._numbers("Q"))
            case shapes.Text() | shapes.Unicode() | shapes.Bytes() | shapes.ElementBlock():
                lengths = self._numbers("i")
                data = bytes(next(self.leaves))
                if isinstance(shape, shapes.Text):
                    return TextColumn(lengths, data)
                if isinstance(shape, shapes.Unicode):
                    return UnicodeColumn(lengths, data)
                return BlockColumn(lengths, data, shape)
            case shapes.Token() | shapes.CapabilitySet() | shapes.Pointer():
                return self._numbers("Q")
            case shapes.List(item, _, _):
                counts = self._numbers("i")
                return ListColumn(counts, self.column(item))
            case shapes.Structure(_, _, fields):
                return Fields((name, self.column(field)) for name, field in fields)
        raise TypeError(shape)


class UnicodeColumn(TextColumn):
    """Strings as offsets into one block of UTF-16."""

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return self._piece(index).decode("utf-16-le", "surrogatepass")

    def __iter__(self) -> Iterator[Any]:
        for begin, end in pairwise(self._ends):
            yield self.data[begin:end].decode("utf-16-le", "surrogatepass")


class BlockColumn(TextColumn):
    """Blocks of bytes or elements as offsets into one block."""

    def __init__(self, lengths: Numbers, data: bytes, shape: shapes.Shape) -> None:
        super().__init__(lengths, data)
        self._code: str | None = None
        if isinstance(shape, shapes.ElementBlock):
            self._code = shapes.ELEMENT_CODES[shape.c]

    def listed(self, index: int) -> list[Any]:
        """The elements of one block as a list."""
        return as_numbers(memoryview(self._piece(index)), self._code or "B").tolist()

    @property
    def dtype(self) -> numpy.dtype[Any] | None:
        """The type of the elements; ``None`` for bytes."""
        return None if self._code is None else numpy.dtype(self._code)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        piece = self._piece(index)
        return piece if self._code is None else numpy.frombuffer(piece, self._code)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))


def _as_column(value: Any, shape: shapes.Shape) -> bool:
    """Whether an argument varies by row."""
    if isinstance(shape, shapes.List | shapes.Arguments | shapes.ElementBlock | shapes.Bytes):
        return False
    return (
        isinstance(value, list | tuple | HandleColumn | TextColumn)
        or is_array(value)
        or _is_packed(value)
    )


def _is_packed(value: Any) -> bool:
    return isinstance(value, memoryview) and value.format == "Q"


def map_call(
    session: Session,
    declaration: Declaration,
    environment: int,
    arguments: tuple[Any, ...],
    timeout: float | None = None,
) -> Columns:
    """Call a function once for each row of its column arguments.

    Lists, tuples, NumPy arrays, `packed` handles and columns of earlier results are columns and
    must be of one length; everything else is the same for all rows.  Without any column there is
    one row.
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
            if is_array(value) and value.ndim != 1:
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
    return Columns(memoryview(array("H", statuses)), found)


def _encode_column(
    session: Session, put: Any, shape: shapes.Shape, value: Any, where: str
) -> bytes:
    if isinstance(value, HandleColumn) and isinstance(shape, shapes.Reference):
        if value.session is not session:
            raise ForeignHandle(
                f"{where} belongs to another session; handles are valid in their own session only"
            )
        return value.tobytes()
    if isinstance(shape, shapes.Reference) and _is_packed(value):
        return bytes(value)
    if isinstance(shape, shapes.Number) and is_array(value):
        return narrowed(value, numpy.dtype(shape.code), where).tobytes()
    if isinstance(shape, shapes.Reference) and is_array(value):
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
    status = as_numbers(pieces[0], "H")
    if len(status) != rows:
        raise ProtocolError("the agent's reply has fewer rows than it announces")
    leaves = _Leaves(session, pieces[1:])
    columns = Fields()
    for name, shape in results:
        column = leaves.column(shape)
        if name == "" and isinstance(column, Fields):
            columns.take(column)
        else:
            columns[name or "value"] = column
    return Columns(status, columns)


__all__ = ["Columns", "HandleColumn", "ListColumn", "TextColumn", "map_call", "map_here", "packed"]
