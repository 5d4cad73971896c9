"""The heap library, ``libjvmti_heap.so``, through ctypes.

The functions are those of ``native/heap/jvmti_heap.h``.  Columns that they return are the library's
own memory, as NumPy arrays without a copy; such an array keeps its `Dump` open.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from jvmti.heap.errors import Cancelled, HeapError, NotADump, TooManyObjects
from jvmti.target.own_libraries import load_library

__all__ = [
    "CLASS",
    "EXTENT_CLASS",
    "FIELD",
    "FRAME",
    "NONE",
    "ROOT",
    "STRING",
    "TRACE",
    "Dump",
    "Ways",
]

NONE = 0xFFFFFFFF
"""No object, no class: in every column of indices."""
EXTENT_CLASS = 0x80000000
"""Highest bit of an extent: the object is a class, whose index is the rest."""

Indices = NDArray[numpy.uint32]
Sizes = NDArray[numpy.uint64]
Progress = Callable[[int, int, int], None]
"""Called with the step (1 records, 2 references, 3 dominators), the amount done, and the total."""

STRING = numpy.dtype([("id", "u8"), ("position", "u8"), ("length", "u4"), ("unused", "u4")])
CLASS = numpy.dtype(
    [
        ("id", "u8"),
        ("layout_bytes", "u8"),
        ("own_bytes", "u8"),
        ("class_object_size", "u8"),
        ("name", "u4"),
        ("super", "u4"),
        ("object", "u4"),
        ("loader", "u4"),
        ("first_field", "u4"),
        ("statics", "u4"),
        ("fields", "u4"),
        ("serial", "u4"),
        ("element", "u4"),
        ("size", "u4"),
        ("stride", "u4"),
        ("flags", "u4"),
        ("first_reference", "u4"),
        ("references", "u4"),
        ("next", "u4"),
        ("unused", "u4"),
        ("next_offset", "u8"),
    ]
)
FIELD = numpy.dtype(
    [
        ("value", "u8"),
        ("offset", "u8"),
        ("name", "u4"),
        ("class_index", "u4"),
        ("type", "u4"),
        ("is_static", "u4"),
    ]
)
ROOT = numpy.dtype([("object", "u4"), ("kind", "u4"), ("thread", "u4"), ("frame", "u4")])
FRAME = numpy.dtype(
    [
        ("id", "u8"),
        ("method", "u4"),
        ("signature", "u4"),
        ("source", "u4"),
        ("class_serial", "u4"),
        ("line", "i4"),
        ("unused", "u4"),
    ]
)
TRACE = numpy.dtype(
    [("first", "u8"), ("serial", "u4"), ("thread", "u4"), ("frames", "u4"), ("unused", "u4")]
)

# Flags of a class.
HELD = 1
DUMPED = 2
WEAK = 4
SOFT = 8
PHANTOM = 16
FINAL = 32
REFERENCE = 64
CLASS_EDGE = 128

_COLUMNS: dict[str, tuple[int, tuple[numpy.dtype[Any], ...]]] = {
    "positions": (0, (numpy.dtype("u8"),)),
    "class_of": (1, (numpy.dtype("u4"),)),
    "extent": (2, (numpy.dtype("u4"),)),
    "rows": (3, (numpy.dtype("u4"), numpy.dtype("u8"))),
    "targets": (4, (numpy.dtype("u4"),)),
    "classes": (5, (CLASS,)),
    "fields": (6, (FIELD,)),
    "strings": (7, (STRING,)),
    "roots": (8, (ROOT,)),
    "frames": (9, (FRAME,)),
    "traces": (10, (TRACE,)),
    "frame_ids": (11, (numpy.dtype("u8"),)),
    "left_out": (13, (numpy.dtype("u8"),)),
}

_OK, _OUT_OF_MEMORY, _NOT_A_DUMP, _BAD_ARGUMENT, _CANCELLED, _TOO_MANY = range(6)


_CHOSEN = 2


class MergedWays(NamedTuple):
    """The paths to some objects, as a tree: a row for each object on one of them.

    Attributes:
        objects: the objects, nearest to a root first; children of one parent are adjacent.
        parents: for each the row of the object before it, `NONE` for a root.
        chosen: which are the target objects.
    """

    objects: Indices
    parents: Indices
    chosen: NDArray[numpy.bool_]


class References(NamedTuple):
    """JNI global references of the controller that requested the dump, by address.

    Attributes:
        all: all of them.
        threads: those that refer to threads.
    """

    all: Sizes
    threads: Sizes


class _References(ctypes.Structure):
    """``jvmti_heap_references``."""

    _fields_ = (
        ("all", ctypes.c_void_p),
        ("count", ctypes.c_uint64),
        ("threads", ctypes.c_void_p),
        ("thread_count", ctypes.c_uint64),
    )


class _Search(ctypes.Structure):
    """``jvmti_heap_search``."""

    _fields_ = (("reached", ctypes.c_uint64), ("followed", ctypes.c_uint64))


class Summary(ctypes.Structure):
    """``jvmti_heap_summary``."""

    _fields_ = (
        ("milliseconds", ctypes.c_uint64),
        ("objects", ctypes.c_uint64),
        ("references", ctypes.c_uint64),
        ("dangling", ctypes.c_uint64),
        ("misshapen", ctypes.c_uint64),
        ("duplicates", ctypes.c_uint64),
        ("fault_position", ctypes.c_uint64),
        ("faults", ctypes.c_uint64),
        ("skipped", ctypes.c_uint64),
        ("identifier_size", ctypes.c_uint32),
        ("version", ctypes.c_uint32),
        ("reference_size", ctypes.c_uint32),
        ("header_size", ctypes.c_uint32),
        ("alignment", ctypes.c_uint32),
        ("in_order", ctypes.c_uint32),
        ("fault", ctypes.c_char * 160),
    )


class _Progress(ctypes.Structure):
    _fields_ = (
        ("done", ctypes.c_uint64),
        ("total", ctypes.c_uint64),
        ("step", ctypes.c_int32),
        ("cancel", ctypes.c_int32),
    )


@functools.cache
def _load() -> ctypes.CDLL:
    number, size, place = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p
    functions: dict[str, list[Any]] = {
        "open": [place, size, number, place, place, place],
        "summarize": [place, place, size],
        "column": [place, number, place, place, place],
        "set_sizes": [place, place, place, size],
        "sizes": [place, place, size, place],
        "addresses": [place, place, size, place],
        "find": [place, place, size, place],
        "histogram": [place, place, place, place, size],
        "read_fields": [place, place, size, place, size, number, place],
        "read_elements": [place, number, place, size],
        "read_text": [place, place, place, size, size, place, place, size],
        "hash_arrays": [place, place, size, place],
        "reach": [place, number, place, place, place, size],
        "dominators": [place, number, place, place, size, place, size],
        "children": [place, place, size, place, size, place, size],
        "retained_by_group": [
            *[place, place, size, number, place, size, place, size],
            *[place, size, place, size],
        ],
        "shortest": [
            *[place, number, place, size, place, size, place, place],
            *[place, size, place, place, place, size],
        ],
        "mark_ways": [place, size, place],
        "gather_ways": [place, size, place, place, place, size],
        "sum_ways": [place, size, place],
        "referrers": [place, place, size, place, place, size, place],
        "copy": [place, place, size, place, place, size, place],
        "blank_arrays": [place, place, size, place, size],
        "blank_fields": [place, place, size, number, place, size],
    }
    return load_library("heap", functions, closing=["close"], failure=HeapError)


def _check(status: int, what: str) -> None:
    if status == _OK:
        return
    if status == _OUT_OF_MEMORY:
        raise MemoryError(f"there is not enough memory for {what}")
    if status == _NOT_A_DUMP:
        raise NotADump("the file is not a heap dump: it does not begin with JAVA PROFILE 1.0.1/2")
    if status == _CANCELLED:
        raise Cancelled(f"{what} was cancelled")
    if status == _TOO_MANY:
        raise TooManyObjects("the dump has more than 4,294,967,294 objects")
    raise ValueError(f"{what}: an index or a length is out of range")


def _watched(call: Callable[[int], int], report: Progress | None) -> int:
    """Make a long call that Ctrl-C can end and that reports its progress.

    Python runs signal handlers in the main thread, after the current C call; so there, another
    thread makes the call.
    """
    progress = _Progress()
    place = ctypes.addressof(progress)
    if threading.current_thread() is not threading.main_thread():
        return call(place)
    status = []
    worker = threading.Thread(
        target=lambda: status.append(call(place)), name="jvmti heap", daemon=True
    )
    worker.start()
    try:
        worker.join(0.25)
        while worker.is_alive():
            if report is not None:
                report(progress.step, progress.done, progress.total)
            worker.join(0.1)
    except BaseException:
        progress.cancel = 1
        worker.join()
        raise
    return status[0]


def pointer(array: NDArray[Any] | None) -> int | None:
    """The address of an array's items, for a call of C."""
    return None if array is None else int(array.ctypes.data)


class _Handle:
    """The library's side of an open dump; arrays over its memory keep it alive."""

    def __init__(self, library: ctypes.CDLL, place: int | None, file: NDArray[Any]) -> None:
        self.library = library
        self.place = place
        self.file = file

        end = _End(self, library.jvmti_heap_close)
        end._as_parameter_ = ctypes.c_void_p(place)
        _open.difference_update([one for one in list(_open) if one() is None])
        _open.add(end)


class _End(weakref.ref[_Handle]):
    """Closes the library's side when ours is collected; the argument of the library's calls.

    Freeing a large dump takes a while, and a Python finalizer would lose a Ctrl-C meanwhile; here
    no Python code runs.
    """

    __slots__ = ("_as_parameter_",)
    _as_parameter_: ctypes.c_void_p


_open: set[_End] = set()
"""Keeps the weak references alive, whose callbacks close dumps."""


class Dump:
    """An open dump: the columns of the library, and its functions on NumPy arrays.

    Args:
        file: the bytes of the dump; kept while the dump is open.
        threads: the number of reading threads; 0 is one for each processor.
        report: called now and then during reading.
        left_out: references that are not roots of the program.

    Raises:
        NotADump: it is something else.
        MemoryError: there is not enough memory.
    """

    def __init__(
        self,
        file: NDArray[numpy.uint8],
        threads: int = 0,
        report: Progress | None = None,
        left_out: References | None = None,
    ) -> None:
        self._library = _load()
        self.file = file
        made = ctypes.c_void_p()
        references = None
        if left_out is not None:
            references = _References(
                *(pointer(left_out.all), len(left_out.all)),
                *(pointer(left_out.threads), len(left_out.threads)),
            )
        threads = threads or len(os.sched_getaffinity(0))
        _check(
            _watched(
                lambda progress: int(
                    self._library.jvmti_heap_open(
                        *(pointer(file), len(file), threads, progress),
                        None if references is None else ctypes.byref(references),
                        ctypes.byref(made),
                    )
                ),
                report,
            ),
            "reading the dump",
        )
        self._owner = _Handle(self._library, made.value, file)
        self._handle = made.value
        self.summary = Summary()
        self._call("summarize", ctypes.byref(self.summary), ctypes.sizeof(Summary))
        self.positions = self._column("positions")
        self.class_of: Indices = self._column("class_of")
        self.extent: Indices = self._column("extent")
        self.rows = self._column("rows")
        self.targets: Indices = self._column("targets")
        self.classes = self._column("classes")
        self.fields = self._column("fields")
        self.strings = self._column("strings")
        self.roots = self._column("roots")
        self.frames = self._column("frames")
        self.traces = self._column("traces")
        self.frame_ids = self._column("frame_ids")
        self.left_out = self._column("left_out")

    def _call(self, name: str, *arguments: Any) -> None:
        function = getattr(self._library, f"jvmti_heap_{name}")
        _check(function(self._handle, *arguments), name.replace("_", " "))

    def _column(self, name: str) -> NDArray[Any]:
        which, kinds = _COLUMNS[name]
        data, count, size = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_uint64()
        self._call("column", which, ctypes.byref(data), ctypes.byref(count), ctypes.byref(size))
        kind = next(kind for kind in kinds if kind.itemsize == size.value)
        if not count.value:
            return numpy.empty(0, kind)
        assert data.value is not None
        view: Any = (ctypes.c_uint8 * (count.value * size.value)).from_address(data.value)
        # The array keeps the view, and the view keeps the object that frees the memory.
        view.owner = self._owner
        array: NDArray[Any] = numpy.frombuffer(view, kind)
        array.flags.writeable = False
        return array

    def text(self, string: int) -> str | None:
        """A string of the file, such as the name of a class."""
        if string == NONE:
            return None
        found = self.strings[string]
        begin = int(found["position"])
        return modified_utf8(self.file[begin : begin + int(found["length"])].tobytes())

    def set_sizes(self, classes: Indices, sizes: NDArray[numpy.uint32]) -> None:
        """Set the real sizes of objects of some classes, in bytes."""
        self._call("set_sizes", pointer(classes), pointer(sizes), len(classes))
        self._call("summarize", ctypes.byref(self.summary), ctypes.sizeof(Summary))

    def sizes(self, objects: Indices | None = None) -> Sizes:
        """Bytes that objects take in the VM; without an argument, those of all objects."""
        count = len(self.class_of) if objects is None else len(objects)
        sizes = numpy.empty(count, numpy.uint64)
        self._call("sizes", pointer(objects), count, pointer(sizes))
        return sizes

    def addresses(self, objects: Indices | None = None) -> Sizes:
        """The addresses of objects in the VM."""
        count = len(self.class_of) if objects is None else len(objects)
        addresses = numpy.empty(count, numpy.uint64)
        self._call("addresses", pointer(objects), count, pointer(addresses))
        return addresses

    def find(self, addresses: Sizes) -> Indices:
        """The objects at addresses; NONE if there is none."""
        objects = numpy.empty(len(addresses), numpy.uint32)
        self._call("find", pointer(addresses), len(addresses), pointer(objects))
        return objects

    def histogram(self, chosen: NDArray[numpy.bool_] | None = None) -> tuple[Sizes, Sizes]:
        """Objects and bytes of each class, of chosen objects or all."""
        counts = numpy.empty(len(self.classes), numpy.uint64)
        sizes = numpy.empty(len(self.classes), numpy.uint64)
        self._call("histogram", pointer(chosen), pointer(counts), pointer(sizes), len(counts))
        return counts, sizes

    def read_fields(
        self, objects: Indices, offsets: NDArray[numpy.int64], kind: numpy.dtype[Any] | None
    ) -> NDArray[Any]:
        """The values of a field; ``kind`` is None for references, which come as indices."""
        values: NDArray[Any] = numpy.empty(len(objects), kind or numpy.uint32)
        width = 0 if kind is None else kind.itemsize
        self._call(
            "read_fields",
            *(pointer(objects), len(objects), pointer(offsets), len(offsets)),
            *(width, pointer(values)),
        )
        return values

    def read_elements(self, array: int, length: int) -> Indices:
        """The elements of an array of objects, nulls being NONE."""
        elements = numpy.empty(length, numpy.uint32)
        self._call("read_elements", array, pointer(elements), length)
        return elements

    def read_text(
        self, arrays: Indices, coders: NDArray[numpy.uint8], most: int = 0
    ) -> tuple[Sizes, NDArray[numpy.uint8]]:
        """The text in arrays of bytes or characters: the end of each, and all of it in UTF-8."""
        ends = numpy.empty(len(arrays), numpy.uint64)
        fixed = (pointer(arrays), pointer(coders), len(arrays), most, pointer(ends))
        self._call("read_text", *fixed, None, 0)
        data = numpy.empty(int(ends[-1]) if len(ends) else 0, numpy.uint8)
        if len(data):
            self._call("read_text", *fixed, pointer(data), len(data))
        return ends, data

    def hash_arrays(self, arrays: Indices) -> Sizes:
        """A hash of the contents of primitive arrays; 0 for anything else."""
        hashes = numpy.empty(len(arrays), numpy.uint64)
        self._call("hash_arrays", pointer(arrays), len(arrays), pointer(hashes))
        return hashes

    def reach(
        self,
        without: int = 0,
        avoided: NDArray[numpy.bool_] | None = None,
        report: Progress | None = None,
    ) -> NDArray[numpy.bool_]:
        """Which objects are reachable from the roots, without passing the avoided ones."""
        reached = numpy.empty(len(self.class_of), numpy.bool_)
        function = self._library.jvmti_heap_reach
        fixed = (pointer(reached), len(reached))
        _check(
            _watched(
                lambda place: int(function(self._handle, without, pointer(avoided), place, *fixed)),
                report,
            ),
            "finding reachable objects",
        )
        return reached

    def dominators(self, without: int, report: Progress | None = None) -> tuple[Indices, Sizes]:
        """The dominator of each object and what each retains, in bytes; the last is the root."""
        idom = numpy.empty(len(self.class_of), numpy.uint32)
        retained = numpy.empty(len(self.class_of) + 1, numpy.uint64)
        function = self._library.jvmti_heap_dominators
        fixed = (pointer(idom), len(idom), pointer(retained), len(retained))
        _check(
            _watched(lambda place: int(function(self._handle, without, place, *fixed)), report),
            "the dominator tree",
        )
        return idom, retained

    def children(self, idom: Indices) -> tuple[Sizes, Indices]:
        """The dominator tree downwards: the range of each object's children, and the children."""
        rows = numpy.empty(len(idom) + 2, numpy.uint64)
        children = numpy.empty(int(numpy.count_nonzero(idom != NONE)), numpy.uint32)
        fixed = (pointer(rows), len(rows), pointer(children), len(children))
        self._call("children", pointer(idom), len(idom), *fixed)
        return rows, children

    def retained_by_group(
        self,
        groups: Indices,
        count: int,
        as_itself: bool,
        rows: Sizes,
        children: Indices,
        retained: Sizes,
    ) -> Sizes:
        """The bytes that groups of classes retain in the dominator tree, none counted twice."""
        totals = numpy.empty(count, numpy.uint64)
        self._call(
            "retained_by_group",
            *(pointer(groups), len(groups), int(as_itself), pointer(rows), len(rows)),
            *(pointer(children), len(children), pointer(retained), len(retained)),
            *(pointer(totals), count),
        )
        return totals

    def sum_ways(self, parents: Indices, sums: Sizes) -> None:
        """Add to the number of each node of merged ways those of all nodes below it."""
        _check(
            self._library.jvmti_heap_sum_ways(pointer(parents), len(parents), pointer(sums)),
            "the targets of paths",
        )

    def referrers(self, chosen: NDArray[numpy.bool_]) -> tuple[Indices, Indices]:
        """Sources and targets of the references to chosen objects."""
        found = ctypes.c_uint64()
        capacity = 1 << 16
        while True:
            sources = numpy.empty(capacity, numpy.uint32)
            targets = numpy.empty(capacity, numpy.uint32)
            fixed = (pointer(sources), pointer(targets), capacity, ctypes.byref(found))
            self._call("referrers", pointer(chosen), len(chosen), *fixed)
            if found.value <= capacity:
                return sources[: found.value], targets[: found.value]
            capacity = found.value

    def copy(
        self,
        descriptor: int,
        selected: NDArray[numpy.bool_] | None,
        source: NDArray[numpy.uint8] | None = None,
    ) -> None:
        """Write the dump to an empty file, without left-out references, and optionally with some
        objects only.

        Args:
            descriptor: of the file.
            kept: the objects to write; ``None`` is all.
            source: a copy of the file with other contents.

        Raises:
            OSError: the disk is full.
        """
        size = ctypes.c_uint64()
        fixed = (pointer(selected), 0 if selected is None else len(selected), pointer(source))
        self._call("copy", *fixed, None, 0, ctypes.byref(size))
        os.posix_fallocate(descriptor, 0, size.value)
        with mmap.mmap(descriptor, size.value) as mapped:
            view = numpy.frombuffer(mapped, numpy.uint8)
            self._call("copy", *fixed, pointer(view), len(view), ctypes.byref(size))
            del view

    def blank_arrays(self, blanked: NDArray[numpy.bool_], copy: NDArray[numpy.uint8]) -> None:
        """Write zeros over the contents of primitive arrays in a copy of the file."""
        self._call("blank_arrays", pointer(blanked), len(blanked), pointer(copy), len(copy))

    def blank_fields(
        self, offsets: NDArray[numpy.int64], width: int, copy: NDArray[numpy.uint8]
    ) -> None:
        """Write zeros over a field of all objects that have it, in a copy of the file."""
        self._call("blank_fields", pointer(offsets), len(offsets), width, pointer(copy), len(copy))


class Ways:
    """Shortest paths to objects from the roots, or from some objects.

    One breadth-first walk, which stops when it has reached all requested objects, and resumes there
    for further ones.

    Args:
        dump: whose objects they are.
        without: flags of the kinds of reference objects whose referent not to follow.
        roots: the objects where paths begin; ``None`` for the roots of the dump.
    """

    def __init__(self, dump: Dump, without: int, roots: Indices | None = None) -> None:
        self._dump = dump
        self._without = without
        self._roots = roots
        self._search = _Search()
        count = len(dump.class_of)
        self._seen = numpy.zeros(count // 8 + 1, numpy.uint8)
        # Memory that the walk does not touch costs nothing.
        self._order, self._above = (numpy.empty(count, numpy.uint32) for _ in range(2))
        self._lock = threading.Lock()

    def merged(self, objects: Indices, report: Progress | None = None) -> MergedWays:
        """The paths to some objects as a tree, without unreachable objects."""
        library = self._dump._library
        marks = numpy.zeros(len(self._order), numpy.uint8)
        with self._lock:
            self._walk(objects, marks, report)
            reached = self._search.reached
        above = (pointer(self._above), reached)
        _check(library.jvmti_heap_mark_ways(*above, pointer(marks)), "the paths to objects")
        count = int(numpy.count_nonzero(marks[:reached]))
        places, parents = (numpy.empty(count, numpy.uint32) for _ in range(2))
        _check(
            library.jvmti_heap_gather_ways(
                *above, pointer(marks), pointer(places), pointer(parents), count
            ),
            "the paths to objects",
        )
        return MergedWays(self._order[places], parents, (marks[places] & _CHOSEN) != 0)

    def _walk(self, objects: Indices, marks: NDArray[numpy.uint8], report: Progress | None) -> None:
        """Go on until there are paths to some objects, and mark their positions."""
        function = self._dump._library.jvmti_heap_shortest
        roots = (pointer(self._roots), 0 if self._roots is None else len(self._roots))
        begin = (self._dump._handle, self._without, *roots, pointer(objects), len(objects))
        columns = (pointer(self._order), pointer(self._above), pointer(marks), len(marks))
        seen = (ctypes.byref(self._search), pointer(self._seen), len(self._seen))
        _check(
            _watched(lambda place: int(function(*begin, place, *seen, *columns)), report),
            "the shortest paths from the roots",
        )


def modified_utf8(data: bytes) -> str:
    """Decode the modified UTF-8 of class files; invalid bytes become U+FFFD."""
    data = data.replace(b"\xc0\x80", b"\0")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        # Characters beyond 16 bits are two surrogates there, of three bytes each.
        try:
            text = data.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return data.decode("utf-8", "replace")
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
