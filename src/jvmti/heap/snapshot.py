"""A snapshot: a heap as a graph of objects that answers questions."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy
from numpy.typing import NDArray

from jvmti import display
from jvmti.heap import files
from jvmti.heap.classes import OBJECT, TYPES, Class, Classes
from jvmti.heap.dominators import DominatorTree
from jvmti.heap.errors import HeapError, NotADump
from jvmti.heap.histogram import Histogram, counted
from jvmti.heap.library import (
    CLASS_EDGE,
    FINAL,
    NONE,
    PHANTOM,
    SOFT,
    WEAK,
    Dump,
    Indices,
    Progress,
    Sizes,
    Ways,
)
from jvmti.heap.objects import Object, Objects
from jvmti.heap.paths import PathTree
from jvmti.heap.roots import Roots, Thread, threads
from jvmti.text.printable import escaped
from jvmti.text.quantities import quantity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jvmti.heap.analyses.leaks import Leaks

__all__ = ["Fault", "Loader", "Snapshot", "open_snapshot"]

_NOT_STRONG = WEAK | SOFT | PHANTOM | FINAL
_OBJECT_ARRAY = 0x22
"""The head of the record of an array of objects."""


class Fault(NamedTuple):
    """Where a file is damaged.

    Attributes:
        offset: of the first such place, in bytes from the beginning of the uncompressed file.
        message: the damage there.
        places: the number of damaged places.
        skipped: bytes that were skipped.
    """

    offset: int
    message: str
    places: int
    skipped: int

    @escaped
    def __str__(self) -> str:
        more = f" (and in {self.places - 1:,} more places)" if self.places > 1 else ""
        return f"at byte {self.offset:,}: {self.message}{more}"


class Loader(NamedTuple):
    """A class loader.

    Attributes:
        name: its name in listings: ``bootstrap``, ``com.acme.PluginLoader @1b2c3d``.
        object: the loader; ``None`` is the bootstrap loader.
        classes: those that it defined.
        is_held_by_vm: whether it is one that the VM never unloads.
    """

    name: str
    object: Object | None
    classes: list[Class]
    is_held_by_vm: bool

    @escaped
    def __repr__(self) -> str:
        return f"<Loader {self.name}, {quantity(len(self.classes), 'class')}>"


class Snapshot:
    """A heap, from a dump file; ``len(snapshot)`` is its number of objects.

    A dump made without a collection first has unreachable objects. All answers leave them out
    unless the snapshot was opened with ``unreachable="keep"``.

    Attributes:
        classes: the classes; ``snapshot.classes["java.util.*"]`` are some of them.
        roots: the roots of the heap.
        fault: where the file is damaged; ``None`` for a sound file.
        unreachable: ``"drop"`` or ``"keep"``.
        pause: the longest time that it stopped the VM, in seconds; 0 for a file.
    """

    def __init__(
        self,
        dump: Dump,
        *,
        unreachable: str = "drop",
        fault: Fault | None = None,
        report: Progress | None = None,
    ) -> None:
        if unreachable not in ("drop", "keep"):
            raise ValueError(f"unreachable is 'drop' or 'keep', not {unreachable!r}")
        self._dump = dump
        self._report = report
        self.unreachable = unreachable
        self.pause = 0.0
        self.fault = fault if fault is not None else _fault(dump)
        self.classes = Classes(self)
        self.roots = Roots(self)
        self._trees: dict[int, DominatorTree] = {}
        self._ways: dict[int, Ways] = {}
        self._reached: NDArray[numpy.bool_] | None = None
        self._threads: list[Thread] | None = None

    # The whole

    @property
    def time(self) -> float:
        """When the dump was made, in seconds since 1970."""
        return int(self._dump.summary.milliseconds) / 1000

    @property
    def size(self) -> int:
        """Bytes of all objects together."""
        return int(self._dump.histogram(self._selected)[1].sum())

    @property
    def reachable(self) -> NDArray[numpy.bool_]:
        """Which objects of the dump are reachable, by their numbers."""
        if self._reached is None:
            tree = self._trees.get(0)
            self._reached = (
                self._dump.reach(0, None, self._report) if tree is None else tree.idom != NONE
            )
        return self._reached

    @property
    def unreachable_count(self) -> int:
        """The number of unreachable objects in the dump."""
        return int(numpy.count_nonzero(~self.reachable))

    @property
    def _selected(self) -> NDArray[numpy.bool_] | None:
        return self.reachable if self.unreachable == "drop" else None

    def __len__(self) -> int:
        selected = self._selected
        return len(self._dump.class_of) if selected is None else int(numpy.count_nonzero(selected))

    def histogram(self, *, retained: bool = False, by: str = "class") -> Histogram:
        """Objects and bytes of each class, package or class loader that has any, most bytes first.

        Args:
            retained: whether to compute retained sizes, too. What the static fields of a class hold
                counts for its package and its loader, but not for the class.
            by: ``"class"``, ``"package"`` or ``"loader"``.
        """
        return counted(self, retained=retained, by=by)

    def static(self, name: str) -> Any:
        """The value of a static field: ``snapshot.static("com.acme.Server.sessions")``.

        It is a number, an object, or None for null. Inherited fields are found, too.

        Raises:
            NoSuchClass: no class has such a name.
            NoSuchField: it has no such static field.
            ValueError: the name has no class.
            HeapError: several loaders have a class of that name; see `classes` for each of them.
        """
        class_name, dot, field = name.rpartition(".")
        if not dot:
            raise ValueError(f"{name!r} is not a class and field, such as com.acme.Server.sessions")
        found = [cls for cls in self.classes[class_name] if cls.is_dumped]
        if len(found) != 1:
            raise HeapError(
                f"{len(found)} classes are called {class_name}; "
                f"take one of snapshot.classes[{class_name!r}]"
            )
        return found[0][field]

    # Objects

    def objects(self, pattern: str | Class = "*", *, subclasses: bool = False) -> Objects:
        """The objects of some classes, in the order of the dump.

        Args:
            pattern: a class, its Java name, or a shell pattern: ``"com.acme.*"``.
            subclasses: whether to include objects of subclasses.

        Raises:
            NoSuchClass: no class has such a name; the message suggests similar names.
        """
        return self._objects_of(self.classes.indices(pattern, subclasses=subclasses))

    def object(self, index: int) -> Object:
        """An object by its number. Raises IndexError."""
        if not 0 <= index < len(self._dump.class_of):
            raise IndexError(f"the snapshot has {len(self._dump.class_of):,} objects")
        return Object(self, index)

    def at(self, address: int) -> Object | None:
        """The object at an address of the VM that was dumped."""
        return self._object(int(self._dump.find(numpy.array([address], numpy.uint64))[0]))

    def column(self, objects: Iterable[Object | int]) -> Objects:
        """A column of some objects, or of objects with some numbers."""
        numbers = [one.index if isinstance(one, Object) else int(one) for one in objects]
        column = numpy.array(numbers, numpy.uint32)
        if ((column >= len(self._dump.class_of)) & (column != NONE)).any():
            raise IndexError(f"the snapshot has {len(self._dump.class_of):,} objects")
        return Objects(self, column)

    def set_sizes(self, sizes: Mapping[str, int]) -> None:
        """Set the real sizes of objects, in bytes by class name, if known.

        Results that depend on sizes are computed again on the next use.
        """
        known = {
            index: size
            for name, size in sizes.items()
            if name in self.classes
            for index in self.classes.indices(name)
            if not self.classes.by_index(index).is_array
        }
        self._dump.set_sizes(
            numpy.fromiter(known.keys(), numpy.uint32, len(known)),
            numpy.fromiter(known.values(), numpy.uint32, len(known)),
        )
        self._trees.clear()

    # The graph

    def references(self, obj: Object) -> Objects:
        """The objects that an object refers to, in the order of the dump, without nulls."""
        rows = self._dump.rows
        first, last = int(rows[obj.index]), int(rows[obj.index + 1])
        return Objects(self, self._dump.targets[first:last])

    def referrers(self, objects: Object | Objects) -> Objects:
        """The referrers of an object, or of any of some, in the order of the dump."""
        sources, _ = self._dump.referrers(self._mask(objects))
        # They come in order, one for each reference.
        first = numpy.append(True, sources[1:] != sources[:-1])[: len(sources)]
        found = sources[first]
        if self._selected is not None:
            found = found[self._selected[found]]
        return Objects(self, found)

    def reference_name(self, source: Object, target: Object) -> str:
        """The reference from an object to another: ``"next"``, ``"[7]"``, ``"static CACHE"``."""
        names = list(self._reference_names(source, target.index))
        return ", ".join(names) if names else "?"

    @property
    def retained(self) -> Sizes:
        """Bytes that each object retains, by its number."""
        return self.dominators().retained[:-1]

    def dominators(self, *, weak: bool = True) -> DominatorTree:
        """The dominator tree; computed once.

        Args:
            weak: whether weak, soft, phantom and final references hold their referents.
        """
        without = 0 if weak else _NOT_STRONG
        tree = self._trees.get(without)
        if tree is None:
            tree = self._trees[without] = DominatorTree(self, without, self._report)
        return tree

    def retained_size(self, objects: Object | Objects, *, weak: bool = True) -> int:
        """Bytes that would be freed with some objects together; exact."""
        without = 0 if weak else _NOT_STRONG
        avoided = self._mask(objects)
        total = self.dominators(weak=weak).total
        left = self._dump.reach(without, avoided, self._report)
        return total - int(self._dump.histogram(left)[1].sum())

    def paths_to_roots(
        self, objects: Object | Objects, *, weak: bool = False, limit: int = 100
    ) -> PathTree:
        """Shortest paths from the roots to some objects, merged to a tree.

        The walk from the roots ends when it has reached these objects; the next request resumes it
        there.

        Args:
            weak: whether paths may pass weak, soft, phantom and final references.
            limit: the most children of a node to show.
        """
        without = 0 if weak else _NOT_STRONG
        ways = self._ways.get(without)
        if ways is None:
            ways = self._ways[without] = Ways(self._dump, without)
        column = self._column_of(objects)
        return PathTree(self, column, ways, limit)

    def leaks(self, *, threshold: float = 0.05, limit: int = 20) -> Leaks:
        """Leak suspects: what accumulates and its owners, and class loaders out of use.

        ::

            >>> snapshot.leaks()
            10,631 com.acme.Cart (36 MB, 71%) in static com.acme.CartStore.abandoned
              …

        Args:
            threshold: the least part of the heap that a suspect holds.
            limit: the most suspects.

        Returns:
            Lists of both; printed, it is the output of ``jvmti heap leaks``.
        """
        from jvmti.heap.analyses.leaks import find_leaks

        return find_leaks(self, threshold=threshold, limit=limit)

    # The VM

    @property
    def threads(self) -> list[Thread]:
        """The threads, with their stacks."""
        if self._threads is None:
            self._threads = threads(self)
        return self._threads

    @property
    def loaders(self) -> list[Loader]:
        """The class loaders that defined a class of the dump, most classes first."""
        by_loader: dict[int, list[Class]] = {}
        for index, loader in enumerate(self._dump.classes["loader"].tolist()):
            if self.classes.by_index(index).is_dumped:
                by_loader.setdefault(loader, []).append(self.classes.by_index(index))
        found = [
            Loader(classes[0].loader_name, self._object(index), classes, classes[0].is_held_by_vm)
            for index, classes in by_loader.items()
        ]
        return sorted(found, key=lambda loader: len(loader.classes), reverse=True)

    # Other forms

    def to_arrow(self) -> dict[str, Any]:
        """The snapshot as Arrow tables by name. Needs pyarrow, the extra ``arrow``."""
        from jvmti.heap.tables.arrow import tables

        return tables(self)

    def live(
        self,
        objects: Object | Objects,
        *,
        content: bool = False,
        timeout: float | None = 60.0,
        progress: Callable[[int], Any] | None = None,
    ) -> Any:
        """The live objects of the VM for objects of a snapshot from ``vm.heap.snapshot``.

        Raises:
            ValueError: this snapshot is of a file.
        """
        raise ValueError("the snapshot is of a file; only those of a running VM have objects")

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the dump to a file, readable by its owner only.

        Unreachable objects are left out unless the snapshot was taken with ``unreachable="keep"``;
        so are objects that only this package held in the VM.  A damaged dump is written as it is.
        `jvmti.heap.redact` writes it without contents.

        Raises:
            FileExistsError: it exists; ``force=True`` overwrites it.
            OSError: the disk is full; the partial file is removed.
        """
        with files.created(path, force=force) as descriptor:
            self._write(descriptor)

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str = "Heap",
        force: bool = False,
    ) -> None:
        """Write a report to an HTML file that needs nothing else, readable by its owner only.

        It shows what fills the heap and what holds it, with a section for each analysis of
        `jvmti.heap`. It contains texts of the heap.

        Args:
            path: the new file.
            title: its heading.
            force: whether to write over an existing file.

        Raises:
            FileExistsError: the file exists.
            OSError: the disk is full; the partial file is removed.
        """
        from jvmti.heap.html.report import write

        write(self, path, title=title, force=force)

    def to_parquet(self, directory: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the tables of `to_arrow`, and the dump itself, into a directory.

        `jvmti.heap.open` opens the directory; other programs read the tables. It has all objects of
        the dump, with their numbers in this snapshot; unreachable ones are not ``reachable``.

        Raises:
            FileExistsError: it exists; ``force=True`` overwrites it.
        """
        from jvmti.heap.tables.arrow import write_parquet

        if self.fault is not None or not len(self._dump.left_out):
            write_parquet(self, directory, force=force)
            return
        # Only roots are left out: an object has the same number in the tables, in the dump beside #
        # them and in this snapshot, even if it is unreachable.
        with tempfile.TemporaryFile(prefix="jvmti-heap-") as file:
            self._dump.copy(file.fileno(), None)
            mapped = files.map_descriptor(file.fileno(), "the dump")
        write_parquet(Snapshot(Dump(mapped.data), unreachable="keep"), directory, force=force)

    @escaped
    def __repr__(self) -> str:
        count = len(self._dump.class_of)
        damaged = ", damaged" if self.fault is not None else ""
        return (
            f"<Snapshot of {quantity(count, 'object')}, "
            f"{quantity(len(self.classes), 'class')}{damaged}>"
        )

    _repr_html_ = display.html

    # For the modules beside this one

    @property
    def _is_partial(self) -> bool:
        """Whether the dump has objects that are not written."""
        if self.fault is not None:
            return False
        garbage = self.unreachable == "drop" and self.unreachable_count > 0
        return garbage or len(self._dump.left_out) > 0

    def _write(self, descriptor: int, source: NDArray[numpy.uint8] | None = None) -> None:
        """Write the objects of this snapshot to an empty file.

        Args:
            descriptor: of the file.
            source: a copy of the dump with other contents.

        Raises:
            OSError: the disk is full.
        """
        data = self._dump.file if source is None else source
        if not self._is_partial:
            files.write_all(descriptor, data.data)
            return
        self._dump.copy(descriptor, self._objects_to_write(), source)

    def _objects_to_write(self) -> NDArray[numpy.bool_] | None:
        """The objects to write: the kept ones and the classes that they need."""
        if self._selected is None:
            return None
        selected = self._selected.copy()
        classes = self._dump.classes
        needed = numpy.zeros(len(classes), numpy.bool_)
        needed[numpy.unique(self._dump.class_of[selected])] = True
        is_object = classes["object"] != NONE
        needed[is_object] |= selected[classes["object"][is_object]]
        above = classes["super"]
        while True:
            more = above[needed]
            more = more[more != NONE]
            if needed[more].all():
                break
            needed[more] = True
        # Classes without objects are there for their subclasses; arrays have no fields.
        needed |= classes["element"] != 0
        selected[classes["object"][needed & is_object]] = True
        return selected

    def _object(self, index: int) -> Object | None:
        return None if index == NONE else Object(self, index)

    def _objects_of(self, classes: Sequence[int]) -> Objects:
        chosen = numpy.zeros(len(self.classes), numpy.bool_)
        chosen[list(classes)] = True
        if len(classes) == 1:
            mask = self._dump.class_of == classes[0]
        else:
            mask = chosen[self._dump.class_of]
        if self._selected is not None:
            mask &= self._selected
        return Objects(self, numpy.flatnonzero(mask).astype(numpy.uint32))

    def _classes_among(self, objects: Indices) -> list[int]:
        counts = numpy.bincount(self._dump.class_of[objects], minlength=len(self.classes))
        return [int(at) for at in numpy.flatnonzero(counts)]

    def _column_of(self, objects: Object | Objects) -> Objects:
        column = objects._column if isinstance(objects, Object) else objects
        if not isinstance(column, Objects):
            raise TypeError(
                f"expected objects of the snapshot, not {type(column).__name__}; "
                "snapshot.column([3, 5]) makes a column of their numbers"
            )
        if column._snapshot is not self:
            raise ValueError("these are objects of another snapshot")
        return column

    def _mask(self, objects: Object | Objects) -> NDArray[numpy.bool_]:
        column = self._column_of(objects)
        mask = numpy.zeros(len(self._dump.class_of), numpy.bool_)
        mask[column.indices[column.indices != NONE]] = True
        return mask

    def _references(self, objects: Indices) -> tuple[NDArray[numpy.int64], Indices]:
        present = numpy.flatnonzero(objects != NONE)
        rows = self._dump.rows
        first = rows[objects[present]].astype(numpy.int64)
        counts = rows[objects[present].astype(numpy.int64) + 1].astype(numpy.int64) - first
        sources = numpy.repeat(present, counts)
        starts = numpy.cumsum(counts) - counts
        at = numpy.arange(len(sources)) + numpy.repeat(first - starts, counts)
        return sources, self._dump.targets[at]

    @property
    def _array_head(self) -> int:
        """Bytes of a primitive array's record before its elements."""
        return 1 + int(self._dump.summary.identifier_size) + 9

    def _elements(
        self,
        kind: numpy.dtype[Any],
        arrays: Indices,
        lengths: NDArray[numpy.int64],
        starts: NDArray[numpy.int64] | int = 0,
    ) -> NDArray[Any]:
        """Elements of primitive arrays as in the file, one after the other.

        Args:
            kind: their type in the file.
            arrays: the arrays.
            lengths: how many of each.
            starts: the first of each.
        """
        begins = self._dump.positions[arrays].astype(numpy.int64) + self._array_head
        begins += starts * kind.itemsize
        ends = begins + lengths * kind.itemsize
        file = self._dump.file
        pieces = [
            file[begin:end] for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)
        ]
        return numpy.concatenate([numpy.zeros(0, numpy.uint8), *pieces]).view(kind)

    def _places_in(self, array: Object, target: int) -> NDArray[numpy.intp]:
        """The indices of a target in an array of objects; none in other arrays."""
        dump = self._dump
        at = int(dump.positions[array.index])
        if dump.file[at] != _OBJECT_ARRAY:
            return numpy.zeros(0, numpy.intp)
        # Compares the file's addresses: looking up the objects of a million elements takes longer #
        # than walking to them.
        identifier = numpy.dtype(f"u{int(dump.summary.identifier_size)}")
        begin = at + 1 + 2 * identifier.itemsize + 8
        end = begin + int(dump.extent[array.index]) * identifier.itemsize
        address = dump.addresses(numpy.array([target], numpy.uint32)).astype(identifier)
        elements = dump.file[begin:end].view(identifier)
        return numpy.flatnonzero(elements == address.byteswap()[0])

    def _value(self, kind: int, bits: int) -> Any:
        if kind == OBJECT:
            if not bits:
                return None
            return self._object(int(self._dump.find(numpy.array([bits], numpy.uint64))[0]))
        dtype = TYPES[kind][1]
        value = numpy.array([bits], numpy.uint64).astype(f"u{dtype.itemsize}").view(dtype)[0]
        return value.item()

    def _reference_names(self, source: Object, target: int) -> Iterable[str]:
        cls = source.as_class
        if cls is not None:
            for what, other in (("superclass", cls.superclass), ("loader", cls.loader)):
                obj = other.object if isinstance(other, Class) else other
                if obj is not None and obj.index == target:
                    yield f"<{what}>"
            for field in cls.fields:
                if field.static and field.type_code == OBJECT and field.value_bits:
                    value = self._value(OBJECT, field.value_bits)
                    if value is not None and value.index == target:
                        yield f"static {field.name}"
            return
        own = source.cls
        if own.object is not None and own.object.index == target:
            flags = int(self._dump.classes["flags"][own.index])
            if flags & CLASS_EDGE:
                yield "<class>"
        if own.is_array:
            for at in self._places_in(source, target)[:3].tolist():
                yield f"[{at}]"
            return
        for field, value in source.field_values():
            if isinstance(value, Object) and value.index == target:
                yield field.name


def open_snapshot(
    path: str | os.PathLike[str],
    *,
    unreachable: str = "drop",
    threads: int = 0,
    report: Progress | None = None,
) -> Snapshot:
    """Open a heap dump: an HPROF file, also compressed by gzip, or a directory of `to_parquet`.

    Args:
        path: the file, or the directory.
        unreachable: ``"drop"`` leaves unreachable objects out of all answers, ``"keep"`` includes
            them; ``snapshot.reachable`` distinguishes them.
        threads: the number of reading threads; 0 is one for each processor.
        report: called now and then with the step, the amount done, and the total.

    Returns:
        The snapshot. From a damaged file it has the readable part; ``snapshot.fault`` says where it
        is damaged.

    Raises:
        OSError: the file cannot be opened.
        NotADump: it is something else.
        MemoryError: there is not enough memory.
    """
    if os.path.isdir(path):
        from jvmti.heap.tables.arrow import map_parquet

        mapped = map_parquet(path)
    else:
        mapped = files.map_file(path)
    try:
        dump = Dump(mapped.data, threads, report)
    except NotADump as error:
        raise NotADump(f"{os.fspath(path)}: {error}") from None
    fault = _fault(dump)
    if mapped.fault is not None:
        fault = Fault(len(mapped.data), mapped.fault, 1 + (fault.places if fault else 0),
                      fault.skipped if fault else 0)  # fmt: skip
    return Snapshot(dump, unreachable=unreachable, fault=fault, report=report)


def _fault(dump: Dump) -> Fault | None:
    summary = dump.summary
    if not summary.faults:
        return None
    message = summary.fault.decode("utf-8", "replace")
    return Fault(int(summary.fault_position), message, int(summary.faults), int(summary.skipped))
