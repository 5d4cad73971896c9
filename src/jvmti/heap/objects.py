"""Objects of a snapshot, one by one and as columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, overload

import numpy
from numpy.typing import NDArray

from jvmti import display
from jvmti.heap.classes import OBJECT, TYPES, Class, Field
from jvmti.heap.errors import HeapError, NoSuchField
from jvmti.heap.groups import Groups, group
from jvmti.heap.histogram import Histogram, counted
from jvmti.heap.library import EXTENT_CLASS, NONE, Indices, Sizes
from jvmti.heap.strings import read_strings, strings_containing, strings_equal
from jvmti.text.names import similar_names
from jvmti.text.printable import escaped
from jvmti.text.quantities import quantity

if TYPE_CHECKING:
    from jvmti.heap.snapshot import Snapshot

__all__ = ["Object", "Objects"]

Key: TypeAlias = "str | Sequence[Any] | NDArray[Any] | Objects | Callable[[Objects], Any]"
"""A value for each object: the name of a field, the values, or a function that returns them."""

_LOADER = "java.lang.ClassLoader"


class Objects(display.Tabular, Sequence["Object | None"]):
    """A column of objects, some of which may be null.

    ``column["customer"]["name"]`` follows fields by name, even if only some of the objects have
    them: a reference returns another column of the same length, a primitive field a NumPy array,
    masked if the object is null or has no such field.  A field that a subclass hides is
    ``column["com.acme.Base.number"]``.

    ``column[3]`` is an object; a slice, a mask or an array of numbers returns a column; masked
    items are not chosen: ``orders[orders["total"] > 100]``.

    ``column == other`` is a mask as well: for a text, the equal strings; for an object, its rows;
    for a column of the same length, row by row; for ``None``, the nulls.
    """

    def __init__(self, snapshot: Snapshot, indices: Indices) -> None:
        self._snapshot = snapshot
        self.indices = indices
        """The number of each object in the snapshot; `jvmti.heap.NONE` for null."""

    def __len__(self) -> int:
        return len(self.indices)

    def __iter__(self) -> Iterator[Object | None]:
        for index in self.indices.tolist():
            yield self._snapshot._object(index)

    @overload
    def __getitem__(self, key: int) -> Object | None: ...
    @overload
    def __getitem__(self, key: slice) -> Objects: ...
    @overload
    def __getitem__(self, key: str) -> Any: ...
    @overload
    def __getitem__(self, key: NDArray[Any] | list[Any]) -> Objects: ...
    def __getitem__(self, key: int | slice | str | NDArray[Any] | list[Any]) -> Any:
        if isinstance(key, str):
            return self.field(key)
        if isinstance(key, numpy.ma.MaskedArray) and key.dtype == bool:
            key = key.filled(False)
        if isinstance(key, list):
            key = numpy.array(key) if key else numpy.zeros(0, numpy.intp)
        if isinstance(key, (slice, numpy.ndarray)):
            return Objects(self._snapshot, self.indices[key])
        return self._snapshot._object(int(self.indices[key]))

    def __eq__(self, other: object) -> NDArray[numpy.bool_]:  # type: ignore[override]
        if other is None:
            return self.nulls
        if isinstance(other, str):
            return strings_equal(self._snapshot, self.indices, other)
        if not isinstance(other, (Object, Objects)) or other._snapshot is not self._snapshot:
            return NotImplemented
        if isinstance(other, Object):
            return numpy.asarray(self.indices == other.index)
        if len(other) != len(self):
            raise ValueError(f"columns of {len(self):,} and of {len(other):,} objects; use isin()")
        return numpy.asarray(self.indices == other.indices)

    def __ne__(self, other: object) -> NDArray[numpy.bool_]:  # type: ignore[override]
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else ~equal

    __hash__ = None  # type: ignore[assignment]

    def isin(self, others: Objects | Collection[str]) -> NDArray[numpy.bool_]:
        """Which are among some objects, or are strings with one of some texts; never null."""
        if isinstance(others, Objects):
            mask = numpy.append(self._snapshot._mask(others), False)
            return numpy.asarray(mask[numpy.minimum(self.indices, len(mask) - 1)])
        found = numpy.zeros(len(self), numpy.bool_)
        for text in [others] if isinstance(others, str) else others:
            found |= self == text
        return found

    def where(self, condition: NDArray[Any] | Callable[[Objects], Any]) -> Objects:
        """Those that match a mask, or the mask that a function of the column returns.

        ``objects("com.acme.Order").where(lambda them: them["total"] > 100)``
        """
        return self[_mask(condition(self) if callable(condition) else condition)]

    @property
    def nulls(self) -> NDArray[numpy.bool_]:
        """Which are null."""
        return numpy.asarray(self.indices == NONE)

    def present(self) -> Objects:
        """Those that are not null."""
        return self[~self.nulls]

    def unique(self) -> Objects:
        """Each object once, in the order of the snapshot, without nulls."""
        every = len(self._snapshot._dump.class_of)
        if len(self) < every // 64:
            found = numpy.sort(self.indices)
            found = found[numpy.append(True, found[1:] != found[:-1])] if len(found) else found
            return Objects(self._snapshot, found[found != NONE])
        # Of many a mask is faster than sorting, and much faster than hashing.
        mask = self._snapshot._mask(self)
        return Objects(self._snapshot, numpy.flatnonzero(mask).astype(numpy.uint32))

    @property
    def class_indices(self) -> Indices:
        """The number of each object's class, NONE for null."""
        return self._gather(self._snapshot._dump.class_of, NONE)

    @property
    def class_names(self) -> list[str | None]:
        """The name of each object's class."""
        names = self._snapshot.classes.names
        return [None if at == NONE else names[at] for at in self.class_indices.tolist()]

    @property
    def sizes(self) -> Sizes:
        """Bytes that each takes in the VM by itself; 0 for null."""
        nulls = self.nulls
        if not nulls.any():
            return self._snapshot._dump.sizes(numpy.ascontiguousarray(self.indices))
        sizes = numpy.zeros(len(self), numpy.uint64)
        sizes[~nulls] = self._snapshot._dump.sizes(self.indices[~nulls])
        return sizes

    @property
    def retained(self) -> Sizes:
        """Bytes that would be freed with each: its own, and those that only it leads to."""
        return self._gather(self._snapshot.retained, 0)

    @property
    def lengths(self) -> NDArray[numpy.int64]:
        """The length of each array; -1 for other objects."""
        dump = self._snapshot._dump
        arrays = numpy.append(dump.classes["element"] != 0, False)
        lengths = self._gather(dump.extent, 0).astype(numpy.int64)
        classes = self.class_indices.astype(numpy.int64)
        classes[classes == NONE] = len(arrays) - 1
        return numpy.where(arrays[classes], lengths, -1)

    @property
    def addresses(self) -> Sizes:
        """The address of each in the VM; 0 for null."""
        found = numpy.zeros(len(self), numpy.uint64)
        present = ~self.nulls
        found[present] = self._snapshot._dump.addresses(self.indices[present])
        return found

    @property
    def total_size(self) -> int:
        """Bytes of all of them together, each counted once."""
        return int(self.unique().sizes.sum())

    def retained_size(self, *, weak: bool = True) -> int:
        """Bytes that would be freed with all of them; exact, one walk over the graph.

        Args:
            weak: whether weak, soft, phantom and final references hold their referents.
        """
        return self._snapshot.retained_size(self, weak=weak)

    def field(self, name: str) -> Any:
        """The values of a field; see the class.

        Raises:
            NoSuchField: no object here has it.
            HeapError: it has one type in some classes, another in others.
        """
        snapshot = self._snapshot
        dump = snapshot._dump
        indices = numpy.ascontiguousarray(self.indices)
        present = indices != NONE
        objects = indices if present.all() else indices[present]
        offsets = numpy.full(len(dump.classes), -1, numpy.int64)
        kinds: dict[int, Class] = {}
        classes = [snapshot.classes.by_index(at) for at in snapshot._classes_among(objects)]
        for cls in classes:
            found = cls.field(name)
            if found is not None:
                offsets[cls.index] = found[1]
                kinds.setdefault(found[0].type_code, cls)
        if not kinds and len(objects):
            known = sorted({field.name for cls in classes for field in cls.all_fields})
            of = ", ".join(cls.name for cls in classes[:3]) + (", …" if len(classes) > 3 else "")
            raise NoSuchField(name, similar_names(name, known), of)
        if len(kinds) > 1:
            one, other = list(kinds.items())[:2]
            raise HeapError(
                f"the field {name!r} is of type {_type(one[0])} in {one[1].name} and of type "
                f"{_type(other[0])} in {other[1].name}; take objects of one class"
            )
        kind = next(iter(kinds), OBJECT)
        if kind == OBJECT:
            values = numpy.full(len(indices), NONE, numpy.uint32)
            values[present] = dump.read_fields(objects, offsets, None)
            return Objects(snapshot, values)
        read = dump.read_fields(objects, offsets, TYPES[kind][1])
        has = offsets[dump.class_of[objects]] >= 0
        if has.all() and len(objects) == len(indices):
            return read
        spread: NDArray[Any] = numpy.zeros(len(indices), read.dtype)
        spread[present] = read
        missing = numpy.ones(len(indices), numpy.bool_)
        missing[present] = ~has
        return numpy.ma.MaskedArray(spread, missing)

    def strings(self, *, most: int = 0) -> list[str | None]:
        """The text of each ``java.lang.String``; ``None`` for null and for anything else.

        Args:
            most: bytes of UTF-8 after which text is cut; 0 for never.
        """
        return read_strings(self._snapshot, self.indices, most)

    def containing(self, text: str) -> NDArray[numpy.bool_]:
        """Which are strings that contain a text.

        Raises:
            ValueError: the text is empty.
        """
        return strings_containing(self._snapshot, self.indices, text)

    def elements(self) -> tuple[NDArray[numpy.int64], Any]:
        """The elements of arrays: for each the row of its array, and the element.

        Elements of object arrays come as a column, without nulls, and so do the references of
        other objects.  Those of primitive arrays come as one NumPy array, a copy.

        Raises:
            HeapError: there are arrays of several types, of which one is primitive.
        """
        kinds = self._element_types()
        if kinds <= {OBJECT}:
            rows, targets = self._snapshot._references(self.indices)
            return rows, Objects(self._snapshot, targets)
        if len(kinds) > 1:
            names = ", ".join(sorted(map(_type, kinds)))
            raise HeapError(f"the arrays are of several types: {names}; take those of one class")
        [kind] = kinds
        lengths = self.lengths
        arrays = numpy.flatnonzero(lengths >= 0)
        own = TYPES[kind][1]
        values = self._snapshot._elements(
            own.newbyteorder(">"), self.indices[arrays], lengths[arrays]
        )
        return numpy.repeat(arrays, lengths[arrays]), values.astype(own, copy=False)

    @property
    def references(self) -> Objects:
        """The objects that they refer to, each once, in the order of the snapshot."""
        return Objects(self._snapshot, self._snapshot._references(self.indices)[1]).unique()

    @property
    def referrers(self) -> Objects:
        """Their referrers, each once, in the order of the snapshot."""
        return self._snapshot.referrers(self)

    def histogram(self) -> Histogram:
        """Objects and bytes of each class, each object counted once."""
        return counted(self._snapshot, chosen=self._snapshot._mask(self))

    def group_by(self, key: Key) -> Groups:
        """Those with the same value together, the largest groups first.

        Args:
            key: the name of a field, a value for each object, or a function of the column that
                returns them.  Strings with the same text count as the same.
        """
        return group(self, self._values(key))

    def of_class(self, pattern: str | Class, *, subclasses: bool = True) -> Objects:
        """Those of some classes."""
        chosen = numpy.zeros(len(self._snapshot.classes) + 1, numpy.bool_)
        chosen[self._snapshot.classes.indices(pattern, subclasses=subclasses)] = True
        classes = self.class_indices.astype(numpy.int64)
        classes[classes == NONE] = len(chosen) - 1
        return self[chosen[classes]]

    def largest(self, count: int = 10, *, by: Key | None = None) -> Objects:
        """Those that retain most, the largest first.

        Args:
            count: how many.
            by: sort by this instead: the name of a primitive field, a number for each object
                (``arrays.lengths``), or a function of the column that returns it. Masked values
                come last.
        """
        values = self.retained if by is None else self._values(by)
        if isinstance(values, Objects):
            raise HeapError("objects have no order; use a primitive field, or their sizes")
        masked = numpy.ma.getmaskarray(values)
        # Stable, and backwards, so that the first of equal ones is the first.
        order = numpy.argsort(numpy.ma.getdata(values)[::-1], kind="stable")[::-1]
        order = len(self) - 1 - order
        return self[numpy.concatenate([order[~masked[order]], order[masked[order]]])[:count]]

    def to_arrow(self) -> Any:
        """A table: number, class, address, size, length. Needs pyarrow, the extra ``arrow``."""
        from jvmti.heap.tables.arrow import objects_table

        return objects_table(self)

    def _values(self, key: Any) -> Any:
        """A value for each object; see `Key`."""
        if isinstance(key, str):
            return self.field(key)
        values = key(self) if callable(key) else key
        if len(values) != len(self):
            raise ValueError(f"{len(values):,} values for {len(self):,} objects")
        return values

    def _element_types(self) -> set[int]:
        """The types of the elements of the arrays among them."""
        element = self._snapshot._dump.classes["element"]
        classes = self._snapshot._classes_among(self.indices[~self.nulls])
        return {int(element[index]) for index in classes} - {0}

    def _gather(self, column: NDArray[Any], null: int) -> NDArray[Any]:
        nulls = self.nulls
        if not nulls.any():
            return numpy.asarray(column[self.indices])
        found = numpy.full(len(self), null, column.dtype)
        found[~nulls] = column[self.indices[~nulls]]
        return found

    @escaped
    def __repr__(self) -> str:
        classes = self._snapshot._classes_among(self.indices[self.indices != NONE])
        names = [self._snapshot.classes.names[index] for index in classes[:3]]
        more = ", …" if len(classes) > 3 else ""
        return f"<{quantity(len(self), 'object')} of {', '.join(names) or 'no class'}{more}>"

    _repr_html_ = display.html


class Object:
    """One object of a snapshot; ``obj["field"]`` is the value of a field."""

    __slots__ = ("_snapshot", "index")

    _repr_html_ = display.html

    def __init__(self, snapshot: Snapshot, index: int) -> None:
        self._snapshot = snapshot
        self.index = index
        """Its number in the snapshot."""

    @property
    def _column(self) -> Objects:
        return Objects(self._snapshot, numpy.array([self.index], numpy.uint32))

    @property
    def cls(self) -> Class:
        """Its class."""
        return self._snapshot.classes.by_index(int(self._snapshot._dump.class_of[self.index]))

    @property
    def as_class(self) -> Class | None:
        """The class that it stands for, if it is a ``java.lang.Class``."""
        extent = int(self._snapshot._dump.extent[self.index])
        if not extent & EXTENT_CLASS:
            return None
        return self._snapshot.classes.by_index(extent & ~EXTENT_CLASS)

    @property
    def address(self) -> int:
        """Its address in the VM."""
        return int(self._column.addresses[0])

    @property
    def size(self) -> int:
        """Bytes that it takes in the VM by itself."""
        return int(self._column.sizes[0])

    @property
    def retained(self) -> int:
        """Bytes that would be freed with it."""
        return int(self._snapshot.retained[self.index])

    @property
    def length(self) -> int | None:
        """The length of an array, ``None`` for anything else."""
        length = int(self._column.lengths[0])
        return None if length < 0 else length

    @property
    def is_loader(self) -> bool:
        """Whether it is a class loader."""
        return any(cls.name == _LOADER for cls in (self.cls, *self.cls.superclasses))

    @property
    def text(self) -> str | None:
        """The text of a ``java.lang.String``, ``None`` for anything else."""
        return self._column.strings()[0]

    @property
    def array(self) -> NDArray[Any] | Objects:
        """The elements of an array: a NumPy array for a primitive one, else a column with nulls.

        Primitive elements are a view of the file, without a copy.

        Raises:
            HeapError: it is not an array.
        """
        snapshot = self._snapshot
        dump = snapshot._dump
        element = int(self.cls._record["element"])
        length = self.length
        if length is None:
            raise HeapError(f"{self!r} is not an array")
        if element == OBJECT:
            return Objects(snapshot, dump.read_elements(self.index, length))
        kind = TYPES[element][1].newbyteorder(">")
        begin = int(dump.positions[self.index]) + snapshot._array_head
        return dump.file[begin : begin + length * kind.itemsize].view(kind)

    @property
    def references(self) -> Objects:
        """The objects that it refers to, without nulls."""
        return self._snapshot.references(self)

    @property
    def referrers(self) -> Objects:
        """Its referrers."""
        return self._snapshot.referrers(self)

    @property
    def dominator(self) -> Object | None:
        """The nearest object that all paths to it pass; ``None`` for the root above all."""
        return self._snapshot.dominators().dominator(self)

    def fields(self) -> dict[str, Any]:
        """All its fields with their values; for a name that occurs twice, the subclass's."""
        values: dict[str, Any] = {}
        for field, value in self.field_values():
            values.setdefault(field.name, value)
        return values

    def field_values(self) -> Iterator[tuple[Field, Any]]:
        """Its fields with their values, in the order of the file: superclasses' last."""
        snapshot = self._snapshot
        if self.cls.is_array or self.as_class is not None:
            return
        dump = snapshot._dump
        width = int(dump.summary.identifier_size)
        at = int(dump.positions[self.index]) + 1 + 2 * width + 8
        length = int.from_bytes(dump.file[at - 4 : at].tobytes(), "big")
        data = dump.file[at : at + length].tobytes()
        at = 0
        for field in self.cls.all_fields:
            end = at + (width if field.type_code == OBJECT else TYPES[field.type_code][1].itemsize)
            if end > len(data):
                return
            bits = int.from_bytes(data[at:end], "big")
            yield field, snapshot._value(field.type_code, bits)
            at = end

    def __getitem__(self, name: str) -> Any:
        value = self._column.field(name)[0]
        if isinstance(value, numpy.generic):
            return value.item()
        return value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Object):
            return NotImplemented
        return other.index == self.index and other._snapshot is self._snapshot

    def __hash__(self) -> int:
        return hash((id(self._snapshot), self.index))

    @escaped
    def __repr__(self) -> str:
        as_class = self.as_class
        if as_class is not None:
            return f"<Object {self.index}: class {as_class.label}>"
        name = self.cls.name
        if name == "java.lang.String":
            [text] = self._column.strings(most=60)
            return f"<Object {self.index}: String {text!r}>"
        length = self.length
        if length is not None:
            name = re.sub(r"\[\]", f"[{length}]", name, count=1)
        elif self.is_loader:
            name = self._snapshot.classes._loader_name(self)
        else:
            name = self.cls.label
        return f"<Object {self.index}: {name}>"


def _mask(values: Any) -> NDArray[numpy.bool_]:
    """A condition as a mask; masked items are false."""
    mask = numpy.ma.filled(values, False) if numpy.ma.isMA(values) else numpy.asarray(values)
    if mask.dtype != bool:
        raise ValueError("a condition must be true or false for each object")
    return numpy.asarray(mask)


def _type(code: int) -> str:
    return "object" if code == OBJECT else TYPES[code][0]
