"""The result of a query, as a table: named columns of one length."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy
from numpy.typing import NDArray

from jvmti import display
from jvmti.heap.classes import Class, Field
from jvmti.heap.groups import Groups
from jvmti.heap.histogram import Histogram
from jvmti.heap.library import NONE
from jvmti.heap.objects import Object, Objects
from jvmti.heap.paths import PathTree

__all__ = ["ObjectTable", "Table", "column", "is_text", "display_values", "plain", "table"]

_STRING, _CLASS = "java.lang.String", "java.lang.Class"
_OWN = ("them", "object", "class_name", "bytes", "retained", "length", "text")
"""The columns of a table of objects beside their fields."""
_ITEMS = 5
"""Items of a list to show in a cell."""


class Table(display.Tabular, Mapping[str, Any]):
    """Columns by name, of one length: arrays of NumPy, which may be masked, or objects.

    Attributes:
        count: how many rows there are.
    """

    def __init__(self, columns: Mapping[str, NDArray[Any] | Objects]) -> None:
        self._columns = dict(columns)
        self.count = len(next(iter(self._columns.values()), ()))

    def __getitem__(self, name: str) -> Any:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def settled(self) -> Table:
        """The same with numbers in place of objects that are not texts; see `plain`."""
        found = {}
        for name, one in self.items():
            numbers = isinstance(one, Objects) and not is_text(one)
            found[name] = numpy.ma.MaskedArray(one.indices, one.nulls) if numbers else one
        return Table(found)

    def rows(self, chosen: Any) -> Table:
        """Some of the rows: a slice, or a mask."""
        return Table({name: column[chosen] for name, column in self.items()})

    def to_arrow(self) -> Any:
        """The columns as an Arrow record batch; objects that are not texts as their numbers.

        Raises:
            ImportError: pyarrow is not installed; ``pip install 'jvmti[arrow]'`` does.
        """
        from jvmti.heap.tables.arrow import record_batch

        return record_batch(self)

    _repr_html_ = display.html


class ObjectTable(Table):
    """Objects with their properties, and with the fields that all of them have.

    The columns are ``object`` (the number), ``class_name``, ``bytes``, ``retained``, where there
    are arrays ``length``, where there are strings ``text``, then the fields.  A field with one of
    these names, or one that a subclass hides, has its class before its name. Columns are computed
    on first use; fields that only some objects have are available by name, and ``them`` is the
    column of the objects.
    """

    def __init__(self, objects: Objects, names: list[str] | None = None) -> None:
        self.objects = objects
        self.count = len(objects)
        indices = objects._snapshot._classes_among(objects.present().indices)
        self._classes = [objects._snapshot.classes.by_index(index) for index in indices]
        self._names = self._known() if names is None else names

    def __getitem__(self, name: str) -> Any:
        them = self.objects
        match name:
            case "them":
                return them
            case "object":
                return numpy.ma.MaskedArray(them.indices, them.nulls)
            case "class_name":
                names = numpy.array([*them._snapshot.classes.names, None], object)
                return names[numpy.minimum(them.class_indices, len(names) - 1)]
            case "bytes":
                return numpy.ma.MaskedArray(them.sizes, them.nulls)
            case "retained":
                return numpy.ma.MaskedArray(them.retained, them.nulls)
            case "length":
                return numpy.ma.masked_less(them.lengths, 0)
            case "text":
                return numpy.array([*_texts(them), None], object)[:-1]
        return them.field(name)

    def __contains__(self, name: object) -> bool:
        return name in _OWN or (
            isinstance(name, str) and any(cls.field(name) is not None for cls in self._classes)
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def rows(self, chosen: Any) -> ObjectTable:
        """Some of the rows: a slice of them has the same columns."""
        names = self._names if isinstance(chosen, slice) else None
        return ObjectTable(self.objects[chosen], names)

    def _known(self) -> list[str]:
        names = ["object", "class_name", "bytes", "retained"]
        if any(cls.is_array for cls in self._classes):
            names.append("length")
        if any(cls.name in (_STRING, _CLASS) for cls in self._classes):
            return [*names, "text"]  # and not the parts of a string
        of_each = [_field_types(cls) for cls in self._classes]
        shared = of_each[0].items() if of_each else ()
        return names + [
            name for name, kind in shared if all(one.get(name) == kind for one in of_each)
        ]


def table(value: Any) -> Table:
    """The value of an expression as a table.

    Columns of arrays and objects stay what they are.  A column without a name is ``value``; those
    of a tuple are ``value``, ``value_2``, …  Any other value is a table with a single cell.

    Raises:
        ValueError: it is an array of three dimensions or more.
    """
    match value:
        case Table():
            return value
        case Objects():
            return ObjectTable(value)
        case Object():
            return _of_object(value)
        case Class():
            return _of_class(value)
        case Histogram():
            found = _of_rows([dataclasses.asdict(row) for row in value])
            always = ("name", "count", "bytes")
            return Table(
                {name: one for name, one in found.items() if name in always or any(_known(one))}
            )
        case Groups():
            return Table({"key": column(value.keys), "count": value.count, "bytes": value.bytes})
        case PathTree():
            return Table({"path": column(value.lines())})
        case numpy.ndarray():
            return _of_array(value)
        case Mapping():
            if value and all(_is_column(one) for one in value.values()) and _alike(value.values()):
                return Table({str(name): column(one) for name, one in value.items()})
            return Table({"key": column(value.keys()), "value": column(value.values())})
        case tuple() if any(map(_is_column, value)) and _alike(value) and not _named(value):
            return Table({_name(at): column(one) for at, one in enumerate(value)})
        case str() | bytes():
            return Table({"value": column([value])})
    if hasattr(value, "column_names") and hasattr(value, "to_pydict"):  # of Arrow
        return Table({name: column(items) for name, items in value.to_pydict().items()})
    if _named(value):
        return _of_rows([_attributes(value)])
    if isinstance(value, Iterable):
        return _of_items(list(value))
    return Table({"value": column([value])})


def plain(column: NDArray[Any] | Objects) -> list[Any]:
    """A column in the types of JSON: numbers, text, true, false, and None.

    A column of strings is their texts, one of classes their names; other objects are their numbers.
    """
    if isinstance(column, Objects):
        if is_text(column):
            return _texts(column)
        return [None if null else number for number, null in
                zip(column.indices.tolist(), column.nulls.tolist(), strict=True)]  # fmt: skip
    return [_cell(item) for item in column.tolist()]


def is_text(objects: Objects) -> bool:
    """Whether they are strings and classes only."""
    names = objects._snapshot.classes.names
    found = {names[at] for at in objects._snapshot._classes_among(objects.present().indices)}
    return bool(found) and found <= {_STRING, _CLASS}


def display_values(column: NDArray[Any] | Objects) -> list[Any]:
    """A column as text and numbers for people: an object is its class and number."""
    if isinstance(column, Objects):
        return list(map(_cell, column))
    return [_cell(item) for item in column.tolist()]


def _cell(item: Any) -> Any:
    match item:
        case None | str() | bool() | int() | float():
            return item
        case Object():
            if item.as_class is not None:
                return f"class {item.as_class.name}"
            return item.text if item.cls.name == _STRING else f"{item.cls.name} #{item.index}"
        case Class() | Field():
            return item.name
        case numpy.generic():
            return _cell(item.item())
        case list() | tuple() | numpy.ndarray():
            text = ", ".join(str(_cell(one)) for one in item[:_ITEMS])
            return f"{text}, … {len(item):,} in all" if len(item) > _ITEMS else text
    return str(item)


def _texts(objects: Objects) -> list[str | None]:
    texts = objects.strings()
    if _CLASS in objects._snapshot.classes:
        classes = objects._snapshot.classes.indices(_CLASS)
        for at in numpy.flatnonzero(numpy.isin(objects.class_indices, classes)).tolist():
            one = objects[at]
            assert one is not None
            texts[at] = None if one.as_class is None else one.as_class.name
    return texts


def _field_types(cls: Class) -> dict[str, str]:
    """The fields of a class's objects: the name of each in a table, and its type."""
    found: dict[str, str] = {}
    for field in cls.all_fields:
        taken = field.name in found or field.name in _OWN
        name = f"{field.declaring_class.name}.{field.name}" if taken else field.name
        found[name] = field.type
    return found


def _of_object(obj: Object) -> Table:
    if obj.as_class is not None:
        return _of_class(obj.as_class)
    if obj.text is not None:
        return Table({"value": column([obj.text])})
    if obj.length is not None:
        elements = obj.array
        return Table({"index": numpy.arange(len(elements)), "value": elements})
    fields = list(obj.field_values())
    return _of_rows([
        {"field": field.name, "type": field.type, "value": value,
         "declared_by": field.declaring_class.name} for field, value in fields
    ], ["field", "type", "value", "declared_by"])  # fmt: skip


def _of_class(cls: Class) -> Table:
    return _of_rows([
        {"field": field.name, "type": field.type, "static": field.static,
         "value": one[field.name] if field.static else None, "declared_by": one.name}
        for one in (cls, *cls.superclasses) for field in one.fields
    ], ["field", "type", "static", "value", "declared_by"])  # fmt: skip


def _of_classes(classes: list[Class]) -> Table:
    snapshot = classes[0]._snapshot
    counts, sizes = snapshot._dump.histogram(snapshot._selected)
    index = [cls.index for cls in classes]
    return Table(
        {
            "class_name": column([cls.name for cls in classes]),
            "superclass": column([cls.superclass for cls in classes]),
            "loader": column([cls.loader for cls in classes]),
            "count": counts[index],
            "bytes": sizes[index],
            "instance_size": column([cls.instance_size for cls in classes]),
        }
    )


def _of_array(value: NDArray[Any]) -> Table:
    if value.ndim > 2:
        raise ValueError(f"an array of {value.ndim} dimensions is not a table")
    if value.ndim == 0:
        return Table({"value": value.reshape(1)})
    if value.dtype.names:
        return Table({name: value[name] for name in value.dtype.names})
    if value.ndim == 1:
        return Table({"value": value})
    return Table({_name(at): value[:, at] for at in range(value.shape[1])})


def _of_items(items: list[Any]) -> Table:
    if items and all(isinstance(one, Class) for one in items):
        return _of_classes(items)
    if items and all(isinstance(one, dict) for one in items):
        return _of_rows(items)
    if items and all(_named(one) for one in items) and len({type(one) for one in items}) == 1:
        return _of_rows([_attributes(one) for one in items])
    if items and all(isinstance(one, tuple) and len(one) == len(items[0]) for one in items):
        return Table({_name(at): column(part) for at, part in enumerate(zip(*items, strict=True))})
    found = column(items)
    return ObjectTable(found) if isinstance(found, Objects) else Table({"value": found})


def _of_rows(rows: list[dict[str, Any]], names: list[str] | None = None) -> Table:
    names = names or list(dict.fromkeys(name for row in rows for name in row))
    return Table({name: column([row.get(name) for row in rows]) for name in names})


def column(items: Any) -> NDArray[Any] | Objects:
    """Items as a column: objects, numbers if all have one type, else Python objects."""
    if isinstance(items, (Objects, numpy.ndarray)):
        return items
    items = list(items)
    kinds = {type(item) for item in items}
    if Object in kinds and kinds <= {Object, type(None)}:
        snapshot = next(item for item in items if item is not None)._snapshot
        return Objects(snapshot, numpy.array(
            [NONE if item is None else item.index for item in items], numpy.uint32))  # fmt: skip
    if kinds in ({bool}, {int}, {float}):
        numbers = numpy.array(items)
        if numbers.dtype.kind in "bif":  # not what is too large for it
            return numbers
    found = numpy.empty(len(items), object)
    for at, item in enumerate(items):
        found[at] = item
    return found


def _is_column(value: Any) -> bool:
    return isinstance(value, Objects | list) or (
        isinstance(value, numpy.ndarray) and value.ndim == 1
    )


def _alike(columns: Iterable[Any]) -> bool:
    return all(map(_is_column, columns)) and len({len(one) for one in columns}) == 1


def _named(value: Any) -> bool:
    """Whether it has attributes to show: a named tuple, or a data class."""
    if isinstance(value, tuple):
        return hasattr(value, "_fields")
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _attributes(value: Any) -> dict[str, Any]:
    if isinstance(value, tuple):
        return dict(value._asdict())  # type: ignore[attr-defined]
    return {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}


def _known(column: NDArray[Any] | Objects) -> list[bool]:
    return [item is not None for item in plain(column)]


def _name(at: int) -> str:
    return "value" if at == 0 else f"value_{at + 1}"
