"""Records of events as columns: NumPy arrays and names, and Arrow record batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from jvmti import display
from jvmti.deferred import numpy
from jvmti.env.events import EVENTS, EventDeclaration
from jvmti.events.streams.layout import (
    Holds,
    RecordField,
    record_fields,
    record_size,
)
from jvmti.events.streams.names import NameColumn, Names
from jvmti.interface.errors import ProtocolError
from jvmti.interface.frozen import frozen
from jvmti.interface.shapes import Reference, shape_of
from jvmti.layouts.streams import RECORD_HEAD, Words
from jvmti.refs import Thread
from jvmti.text.printable import escaped
from jvmti.text.quantities import quantity

Array: TypeAlias = "numpy.ndarray[Any, Any]"

_EVENT_NAMES: list[Any] = [
    EVENTS[number].__name__ if number in EVENTS else None for number in range(256)
]
_EVENT, _THREAD = RECORD_HEAD.offsets["event"], RECORD_HEAD.offsets["thread"]
_LETTERS: list[Any] = [None, *map(chr, range(1, 256))]
_INTEGERS, _FRACTIONS, _OBJECTS = "ZBCSIJ", "FD", "L["


@frozen
class _Place:
    """The position of a field in the record of one event."""

    at: int
    field: RecordField


class Layout:
    """The records of one stream: its columns, and where they come from.

    Attributes:
        size: bytes of a record.
        columns: the names of the columns, in order.
    """

    def __init__(
        self,
        declarations: list[EventDeclaration],
        words: Words,
        begun: Sequence[EventDeclaration] = (),
        *,
        stacks: bool = True,
        places: bool = False,
    ) -> None:
        self.declarations = declarations
        self.words = words
        self.head = RECORD_HEAD.size + 8 * int(words).bit_count()
        # The agent reserves space for the begin events as well, though it does not announce them.
        self.size = self.head + max(record_size(one) for one in [*declarations, *begun])
        self.with_thread = frozenset(one.number for one in declarations if has_thread(one))
        self.places: dict[str, dict[int, _Place]] = {}
        for declaration in declarations:
            at = self.head
            for field in record_fields(declaration):
                place = _Place(at, field)
                self.places.setdefault(field.name, {})[declaration.number] = place
                at += numpy.dtype(field.code).itemsize
        self._stacks = stacks
        self._places = places
        self._measured = frozenset(
            one.number
            for one in declarations
            if one.ends in {each.name for each in [*declarations, *begun]}
        )
        self.makers: dict[str, Callable[[Records], Any]] = {}
        self.present: dict[str, frozenset[int]] = {}
        self._plan()
        self.columns = tuple(self.makers)

    def _plan(self) -> None:
        everywhere = frozenset(one.number for one in self.declarations)
        self._add("event", everywhere, lambda r: NameColumn(r.raw("u1", _EVENT), _EVENT_NAMES))
        places = {
            word: RECORD_HEAD.size + 8 * i
            for i, word in enumerate(word for word in Words if word & self.words)
        }
        if Words.TIME in places:
            self._add("time", everywhere, lambda r: r.raw("i8", places[Words.TIME]))
        if Words.DURATION in places:
            self._add("duration", self._measured, lambda r: r.raw("i8", places[Words.DURATION]))
        if Words.STACK in places and self._places:
            self._add(
                "place",
                frozenset(one.number for one in self.declarations if one.waits),
                lambda r: r.named("u4", places[Words.STACK], r.names.places),
            )
        if Words.STACK in places and self._stacks:
            self._add(
                "stack", everywhere, lambda r: r.named("u4", places[Words.STACK], r.names.stacks)
            )
        if self.with_thread:
            self._add("thread", self.with_thread, lambda r: r.named("u4", _THREAD, r.names.threads))
        for declaration in self.declarations:
            order = {item.name: i for i, item in enumerate(declaration.parameters)}
            fields = record_fields(declaration)
            for field in sorted(fields, key=lambda field: order.get(field.name, len(order))):
                if field.name not in self.makers:
                    self._add_field(field)

    def _add(self, name: str, present: frozenset[int], make: Callable[..., Any]) -> None:
        self.makers[name] = make
        self.present[name] = present

    def _add_field(self, field: RecordField) -> None:
        name = field.name
        present = frozenset(self.places[name])

        def add(column: str, make: Callable[[Records], Any]) -> None:
            self._add(column, present, make)

        match field.holds:
            case Holds.CLASS | Holds.OBJECT:
                add(name, lambda r: r.coded(name, r.names.classes))
            case Holds.METHOD:
                add(name, lambda r: r.coded(name, r.names.methods))
                add(f"{name}_class", lambda r: r.coded(name, r.names.method_classes))
                add(f"{name}_signature", lambda r: r.coded(name, r.names.method_signatures))
                add(f"{name}_file", lambda r: r.coded(name, r.names.method_files))
            case Holds.FIELD:
                add(name, lambda r: r.coded(name, r.names.fields))
                add(f"{name}_class", lambda r: r.coded(name, r.names.field_classes))
                add(f"{name}_signature", lambda r: r.coded(name, r.names.field_signatures))
            case Holds.TEXT:
                add(name, lambda r: r.coded(name, r.names.texts))
            case Holds.LETTER:
                add(name, lambda r: NameColumn(r.numbers(name), _LETTERS))
            case Holds.LOCATION:
                method = name.replace("location", "method")
                add(name, lambda r: r.numbers(name))
                add(
                    name.replace("location", "line"),
                    lambda r: r.names.lines.of(r.codes(method, r.names.methods), r.numbers(name)),
                )
            case Holds.LENGTH:
                add(f"{name}_length", lambda r: r.numbers(name))
            case Holds.VALUE:
                add(name, lambda r: r.java_values(field, _INTEGERS))
                add(f"{name}_float", lambda r: r.fractions(field))
                add(f"{name}_class", lambda r: r.classes_of_values(field))
            case _:
                add(name, lambda r: r.numbers(name))


def _as_is(whole: int, fraction: float, letter: str | None) -> Any:
    """A value of a field or method, with a column for each kind of number."""
    match letter:
        case "D" | "F":
            return fraction
        case "Z":
            return bool(whole)
        case "C":
            return chr(whole)
        case "B" | "S" | "I" | "J":
            return whole
    return None  # an object, or nothing: its class has a column


class Records(display.Tabular, Mapping[str, Any]):
    """Events of a stream as columns by name, each created on first use.

    Numbers are NumPy arrays; names of threads, classes and methods are `NameColumn`.  For events
    that lack a column, it has zeros or ``None``. The records of one thread are in the order of its
    events; those of several threads follow one another, and `sorted_by_time` merges them.
    """

    def __init__(self, layout: Layout, names: Names, data: Array) -> None:
        self.names = names
        self._layout = layout
        self._data = data  # 64-bit words, a row for each record
        self._columns: dict[str, Any] = {}

    def __len__(self) -> int:
        """The number of events."""
        return len(self._data)

    def __iter__(self) -> Iterator[str]:
        return iter(self._layout.columns)

    def __contains__(self, name: object) -> bool:
        return name in self._layout.makers

    def __getitem__(self, name: str) -> Any:
        """A column."""
        column = self._columns.get(name)
        if column is None:
            column = self._columns[name] = self._layout.makers[name](self)
        return column

    def __bool__(self) -> bool:
        return len(self._data) > 0

    def sorted_by_time(self) -> Records:
        """The same records, sorted by time.

        Raises:
            KeyError: the stream records no times.
        """
        order = numpy.argsort(self["time"], kind="stable")
        return Records(self._layout, self.names, self._data[order])

    def where(self, chosen: Array) -> Records:
        """The records that a mask selects."""
        return Records(self._layout, self.names, self._data[chosen])

    def rows(self) -> Iterator[dict[str, Any]]:
        """The events one by one: convenient, and slow for many.

        The new value of a field, or the result of a method, is one value of its own type.
        """
        events = self.raw("u1", _EVENT).tolist()
        columns = {
            name: (
                column[:] if isinstance(column, NameColumn) else column.tolist(),
                self._layout.present[name],
            )
            for name, column in self.items()
        }
        for i, event in enumerate(events):
            row = {
                name: values[i] for name, (values, present) in columns.items() if event in present
            }
            for name in [name for name in row if f"{name}_float" in row]:
                fraction = row.pop(f"{name}_float")
                letter = row.get(f"{name}_type") or row.get("signature_type")
                row[name] = _as_is(row[name], fraction, letter)
            yield row

    def to_arrow(self) -> Any:
        """The records as an Arrow record batch; names are dictionary-encoded.

        Raises:
            ImportError: pyarrow is not installed; ``pip install jvmti[arrow]`` does.
        """
        from jvmti.events.streams.arrow import record_batch

        return record_batch(self._layout, self)

    _repr_html_ = display.html

    # ---- what columns are made of ------------------------------------------------------------

    def raw(self, code: str, at: int) -> Array:
        """A field with the same position in every record."""
        width = numpy.dtype(code).itemsize
        column = self._data.view(f"<u{width}")[:, at // width]
        return numpy.ascontiguousarray(column).view(f"<{code}")

    def numbers(self, name: str) -> Array:
        """A field of the records; 0 in those of events that have none."""
        key = f" {name}"
        found = self._columns.get(key)
        if found is None:
            found = self._columns[key] = self._numbers(name)
        return found

    def _numbers(self, name: str) -> Array:
        places = self._layout.places[name]
        first = next(iter(places.values()))
        places_at = {place.at for place in places.values()}
        if len(places_at) == 1 and len(places) == len(self._layout.declarations):
            return self.raw(first.field.code, first.at)
        events = self.raw("u1", _EVENT)
        found = numpy.zeros(len(self), numpy.dtype(first.field.code))
        for at in places_at:
            mine = numpy.isin(events, [event for event, place in places.items() if place.at == at])
            found[mine] = self.raw(first.field.code, at)[mine]
        return found

    def checked(self, codes: Array, names: list[Any]) -> Array:
        """Numbers that must have been announced.

        Raises:
            ProtocolError: one has not.
        """
        if len(codes) and int(codes.max()) >= len(names):
            raise ProtocolError("a record in a stream has a number that was not announced")
        return codes

    def codes(self, name: str, names: list[Any]) -> Array:
        """A field with numbers of names."""
        return self.checked(self.numbers(name), names)

    def coded(self, name: str, names: list[Any]) -> NameColumn:
        """The same as names."""
        return NameColumn(self.codes(name, names), names)

    def named(self, code: str, at: int, names: list[Any]) -> NameColumn:
        """The same for a field with one position in every record."""
        return NameColumn(self.checked(self.raw(code, at), names), names)

    def java_values(self, field: RecordField, letters: str) -> Array:
        """Java values of some types; 0 for those of others."""
        values = self.numbers(field.name)
        mine = self._is_of(field, letters)
        return values if mine.all() else numpy.where(mine, values, 0)

    def _is_of(self, field: RecordField, letters: str) -> Array:
        """Which rows have a Java value of one of these types."""
        chosen = numpy.zeros(256, bool)
        chosen[list(letters.encode())] = True
        of: Array = chosen[self.numbers(field.given_by)]
        return of

    def classes_of_values(self, field: RecordField) -> NameColumn:
        """The classes of Java values that are objects, if the stream looked them up."""
        codes = self.java_values(field, _OBJECTS).astype(numpy.uint32)
        return NameColumn(self.checked(codes, self.names.classes), self.names.classes)

    def fractions(self, field: RecordField) -> Array:
        """Java values of type ``float`` and ``double``; not a number for those of others."""
        mine = self._is_of(field, _FRACTIONS)
        return numpy.where(mine, self.numbers(field.name).view(numpy.float64), numpy.nan)

    def missing(self, name: str) -> Array | None:
        """Which rows are of events that do not have a column; None for none."""
        present = self._layout.present[name]
        if len(present) == len(self._layout.declarations):
            return None
        return ~numpy.isin(self.raw("u1", _EVENT), list(present))

    @escaped
    def __repr__(self) -> str:
        return f"<{quantity(len(self), 'event')}: {', '.join(self._layout.columns)}>"


def has_thread(declaration: EventDeclaration) -> bool:
    """Whether an event has a thread."""
    shapes = (shape_of(item.annotation) for item in declaration.parameters)
    return any(isinstance(shape, Reference) and shape.python is Thread for shape in shapes)


__all__ = ["Layout", "Records"]
