"""The tables of a profile: samples, stacks, frames and threads, as columns.

A sample has a stack, which has frames; both are numbers of rows, so that a million samples are a
few NumPy arrays.  The constructors check that the numbers are those of rows, because the columns
come from a target or a file.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy
from numpy.typing import ArrayLike, NDArray

from jvmti import display
from jvmti.profile.errors import ProfileError
from jvmti.text.printable import escaped
from jvmti.text.quantities import duration, quantity, size

__all__ = [
    "Frame",
    "FrameKind",
    "Frames",
    "Kind",
    "Samples",
    "Stacks",
    "State",
    "Thread",
    "Threads",
]


class Kind(enum.IntEnum):
    """The kind of a sample."""

    CPU = 0
    """Processor time; the weight is nanoseconds."""
    WALL = 1
    """Wall-clock time, of threads that wait too; the weight is nanoseconds."""
    ALLOC = 2
    """Allocated memory; the weight is the bytes that the sample stands for."""
    LIVE = 3
    """Memory that was allocated during the profile and is still alive at its end, in bytes."""
    LOCK = 4
    """Waiting for a monitor, or parked; the weight is nanoseconds of waiting."""
    COUNT = 5
    """Something else, of which the weight is a number: cache misses, calls, or samples of a file
    that does not say of what.  Only files have it."""

    @property
    def unit(self) -> str:
        """The unit of its weights: ``ns``, ``bytes``, or ``count``."""
        return _UNITS.get(self, "ns")

    def amount(self, weight: float) -> str:
        """A weight as text: ``1.2 s``, ``640 KB``, ``2,500``."""
        match self.unit:
            case "ns":
                return duration(weight / 1e9)
            case "bytes":
                return size(int(weight))
        return f"{weight:,.0f}"


_UNITS = {Kind.ALLOC: "bytes", Kind.LIVE: "bytes", Kind.COUNT: "count"}


class State(enum.IntEnum):
    """The state of the thread of a sample."""

    UNKNOWN = 0
    RUNNING = 1
    """It used a processor."""
    RUNNABLE = 2
    """It could have run, or was in a system call: the VM does not tell these apart."""
    BLOCKED = 3
    """It waited to enter a monitor."""
    WAITING = 4
    """It was in ``Object.wait``."""
    PARKED = 5
    """It was in ``LockSupport.park``, as threads are that wait for a lock of
    ``java.util.concurrent``, or for work."""
    SLEEPING = 6
    """It was in ``Thread.sleep``; in recordings of async-profiler, any thread that waited."""
    NATIVE = 7
    """It was in native code, where it may have waited."""


class FrameKind(enum.IntEnum):
    """The kind of code of a frame."""

    UNKNOWN = 0
    INTERPRETED = 1
    COMPILED = 2
    INLINED = 3
    """A method compiled into its caller."""
    NATIVE = 4
    """A native method, or a function of a native library."""
    VM = 5
    """A function of the VM."""
    KERNEL = 6
    """A function of the kernel."""
    COLLECTOR = 7
    """The garbage collector at work."""
    COMPILER = 8
    """The just-in-time compiler at work."""
    TYPE = 9
    """No code: the class that was allocated, or of the lock; the innermost frame of its stack."""
    JAVA = 10
    """A method in Java, of which nothing says whether it was compiled."""


class Frame(NamedTuple):
    """A row of `Frames`."""

    class_name: str
    """The class as in Java's source code, ``java.util.HashMap$Node``; empty outside of Java."""
    method: str
    """The method; of native code the function."""
    descriptor: str
    """The method's descriptor; empty if unknown."""
    line: int
    """The line number; -1 if unknown."""
    kind: FrameKind
    """The kind of its code."""

    @property
    def name(self) -> str:
        """The class and the method, with a dot between them."""
        return f"{self.class_name}.{self.method}" if self.class_name else self.method

    @escaped
    def __str__(self) -> str:
        return self.name if self.line < 0 else f"{self.name}:{self.line}"


class Thread(NamedTuple):
    """A row of `Threads`."""

    id: int
    """Its ``Thread.threadId``; of a thread of the VM that Java does not know, 0."""
    name: str
    """Its name."""
    group: str
    """The name of its thread group; empty if unknown."""
    virtual: bool
    """Whether it is a virtual thread."""
    process: str
    """The process; empty if the profile is of only one."""


class _Table(display.Tabular):
    """A table that equals another with the same rows in the same order."""

    def to_arrow(self) -> Any:
        """The table as a ``pyarrow.Table``, a row for each of its own.

        Raises:
            ImportError: pyarrow is not installed.
        """
        from jvmti.profile.formats.arrow import table_of

        return table_of(self)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(
            _equal(getattr(self, name), getattr(other, name))
            for name in self.__dataclass_fields__  # type: ignore[attr-defined]
        )

    __hash__ = None  # type: ignore[assignment] # its columns can change


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, numpy.ndarray):
        return numpy.array_equal(one, other)
    return list(one) == list(other)


@dataclass(frozen=True, eq=False)
class Frames(_Table, Sequence[Frame]):
    """The distinct frames: method, line, and kind of code; a column for each."""

    class_name: Sequence[str]
    method: Sequence[str]
    descriptor: Sequence[str]
    line: NDArray[numpy.int32]
    kind: NDArray[numpy.uint8]

    def __init__(
        self,
        class_name: Sequence[str],
        method: Sequence[str],
        descriptor: Sequence[str] | None = None,
        line: ArrayLike = -1,
        kind: ArrayLike = FrameKind.UNKNOWN,
    ) -> None:
        rows = len(method)
        if descriptor is None:
            descriptor = [""] * rows
        if not len(class_name) == rows == len(descriptor):
            raise ProfileError("the columns of frames differ in length")
        _set(self, "class_name", class_name)
        _set(self, "method", method)
        _set(self, "descriptor", descriptor)
        _set(self, "line", _column("line", line, numpy.int32, rows))
        _set(self, "kind", _number("kind", kind, numpy.uint8, rows, len(FrameKind)))

    def __len__(self) -> int:
        return len(self.method)

    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, slice):
            return [self[one] for one in range(*row.indices(len(self)))]
        return Frame(
            self.class_name[row],
            self.method[row],
            self.descriptor[row],
            int(self.line[row]),
            FrameKind(self.kind[row]),
        )

    def names(self) -> list[str]:
        """``class.method`` of each row."""
        return [
            f"{cls}.{method}" if cls else method
            for cls, method in zip(self.class_name, self.method, strict=True)
        ]

    def __repr__(self) -> str:
        return f"<Frames: {len(self):,}>"


@dataclass(frozen=True, eq=False)
class Stacks(_Table, Sequence["NDArray[numpy.int32]"]):
    """The distinct stacks: row numbers of frames, the innermost frame first.

    Stack ``n`` is ``frames[offsets[n]:offsets[n + 1]]``; it may be empty.
    """

    offsets: NDArray[numpy.int64]
    frames: NDArray[numpy.int32]

    def __init__(self, offsets: ArrayLike, frames: ArrayLike) -> None:
        made = numpy.ascontiguousarray(offsets, numpy.int64)
        inside = numpy.ascontiguousarray(frames, numpy.int32)
        if made.ndim != 1 or not len(made) or made[0] != 0 or made[-1] != len(inside):
            raise ProfileError("the offsets of stacks do not span their frames")
        if (made[1:] < made[:-1]).any():
            raise ProfileError("the offsets of stacks do not ascend")
        _set(self, "offsets", made)
        _set(self, "frames", inside)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, slice):
            return [self[one] for one in range(*row.indices(len(self)))]
        if not -len(self) <= row < len(self):
            raise IndexError(f"there are {len(self):,} stacks, so none with number {row}")
        row %= len(self)
        return self.frames[self.offsets[row] : self.offsets[row + 1]]

    @property
    def depths(self) -> NDArray[numpy.int64]:
        """The number of frames of each stack."""
        return numpy.diff(self.offsets)

    def __repr__(self) -> str:
        return f"<Stacks: {len(self):,} with {quantity(len(self.frames), 'frame')}>"


@dataclass(frozen=True, eq=False)
class Threads(_Table, Sequence[Thread]):
    """The threads that have samples."""

    id: NDArray[numpy.int64]
    name: Sequence[str]
    group: Sequence[str]
    virtual: NDArray[numpy.bool_]
    process: Sequence[str]

    def __init__(
        self,
        id: ArrayLike,
        name: Sequence[str],
        group: Sequence[str] | None = None,
        virtual: ArrayLike = False,
        process: str | Sequence[str] = "",
    ) -> None:
        rows = len(name)
        group = [""] * rows if group is None else group
        process = [process] * rows if isinstance(process, str) else process
        if not len(group) == rows == len(process):
            raise ProfileError("the columns of threads differ in length")
        _set(self, "id", _column("id", id, numpy.int64, rows))
        _set(self, "name", name)
        _set(self, "group", group)
        _set(self, "virtual", _column("virtual", virtual, numpy.bool_, rows))
        _set(self, "process", process)

    def __len__(self) -> int:
        return len(self.name)

    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, slice):
            return [self[one] for one in range(*row.indices(len(self)))]
        return Thread(
            int(self.id[row]),
            self.name[row],
            self.group[row],
            bool(self.virtual[row]),
            self.process[row],
        )

    def __repr__(self) -> str:
        return f"<Threads: {len(self):,}>"


@dataclass(frozen=True, eq=False)
class Samples(_Table):
    """The samples: one row each, of NumPy arrays of the same length.

    Attributes:
        time: when, in nanoseconds since the epoch.
        thread: the row of the thread in `Threads`.
        stack: the row of the stack in `Stacks`.
        weight: nanoseconds, bytes, or the number that the sample stands for, as its kind says.
        kind: a number of `Kind`.
        state: a number of `State`.
        label: the row of the profile's ``labels``, such as the request that the thread worked for;
            -1 for none.
        owner: of samples of locks the row of the thread that had the lock; -1 if unknown.
    """

    time: NDArray[numpy.int64]
    thread: NDArray[numpy.int32]
    stack: NDArray[numpy.int32]
    weight: NDArray[numpy.int64]
    kind: NDArray[numpy.uint8]
    state: NDArray[numpy.uint8]
    label: NDArray[numpy.int32]
    owner: NDArray[numpy.int32]

    def __init__(
        self,
        time: ArrayLike,
        thread: ArrayLike,
        stack: ArrayLike,
        weight: ArrayLike,
        kind: ArrayLike = Kind.CPU,
        state: ArrayLike = State.UNKNOWN,
        label: ArrayLike = -1,
        owner: ArrayLike = -1,
    ) -> None:
        first = numpy.asarray(stack)
        rows = len(first)
        _set(self, "time", _column("time", time, numpy.int64, rows))
        _set(self, "thread", _column("thread", thread, numpy.int32, rows))
        _set(self, "stack", _column("stack", first, numpy.int32, rows))
        _set(self, "weight", _column("weight", weight, numpy.int64, rows))
        _set(self, "kind", _number("kind", kind, numpy.uint8, rows, len(Kind)))
        _set(self, "state", _number("state", state, numpy.uint8, rows, len(State)))
        _set(self, "label", _column("label", label, numpy.int32, rows))
        _set(self, "owner", _column("owner", owner, numpy.int32, rows))

    def __len__(self) -> int:
        return len(self.stack)

    def __iter__(self) -> Iterator[Any]:
        raise TypeError("samples are columns: use samples.time, samples.stack, samples.weight, …")

    def columns(self) -> dict[str, NDArray[Any]]:
        """The columns by name; changing an array changes the samples."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def take(self, rows: Any) -> Samples:
        """Some of the samples.

        Args:
            rows: a slice, an array of row numbers, or of a truth value for each row.
        """
        return Samples(**{name: column[rows] for name, column in self.columns().items()})

    def __repr__(self) -> str:
        return f"<Samples: {len(self):,}>"


def within(what: str, column: NDArray[Any], rows: int, least: int = 0) -> None:
    """Check that the numbers of a column are those of rows.

    Raises:
        ProfileError: they are not.
    """
    if len(column) and not (column.min() >= least and column.max() < rows):
        raise ProfileError(f"{what}: a number is not one of {rows:,} rows")


def _set(table: object, name: str, value: object) -> None:
    object.__setattr__(table, name, value)


def _column(name: str, values: ArrayLike, dtype: Any, rows: int) -> NDArray[Any]:
    """A column of this type; a single value stands for all rows."""
    array = numpy.asarray(values)
    if array.ndim == 0:
        array = numpy.broadcast_to(array, rows)
    if array.shape != (rows,):
        raise ProfileError(f"{name}: {array.shape} values for {rows:,} rows")
    try:
        # Some processors would make a number of what is none.
        with numpy.errstate(invalid="raise"):
            return numpy.ascontiguousarray(array, dtype)
    except FloatingPointError:
        raise ProfileError(f"{name}: a value is no {numpy.dtype(dtype).name}") from None


def _number(name: str, values: ArrayLike, dtype: Any, rows: int, known: int) -> NDArray[Any]:
    """A column of numbers of an enumeration."""
    made = _column(name, values, dtype, rows)
    if rows and made.max() >= known:
        raise ProfileError(f"{name}: {int(made.max())} is none of the {known} numbers")
    return made
