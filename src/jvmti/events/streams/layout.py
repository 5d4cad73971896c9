"""The records of events in a stream: a fixed layout for each, derived from its declaration.

The agent's generator writes the code that fills the records, `jvmti.events.streams.records` reads
them; both ask here. The parts common to all events are in `jvmti.layouts.streams`.  The fields
stand in the order of their widths, the widest first, so that there are no gaps; a method and a
field, which the agent finds together, stand side by side.

A record has only numbers: the stream numbers threads, classes, methods, fields, stacks and texts
from 1 as they first occur, and announces each before the first record with its number. 0 is none.
"""

from __future__ import annotations

import enum
from functools import cache

from jvmti.env.events import EventDeclaration
from jvmti.interface import shapes
from jvmti.interface.frozen import frozen
from jvmti.refs import Class, Field, Method, Thread


class Holds(enum.Enum):
    """The kind of a field of a record."""

    NUMBER = "number"
    BOOLEAN = "boolean"
    CLASS = "class"
    OBJECT = "object"
    """The class of an object."""
    METHOD = "method"
    LOCATION = "location"
    FIELD = "field"
    TEXT = "text"
    LENGTH = "length"
    """The number of bytes or items."""
    VALUE = "value"
    """A Java value in eight bytes; another field has its type."""
    HASH = "hash"
    """The identity hash code of an object."""
    LETTER = "letter"
    """The first character of a type's signature, 0 for none."""


@frozen
class RecordField:
    """One field of an event's record."""

    name: str
    """The event's parameter, or that of a value with ``_type`` behind it."""
    holds: Holds
    c: str
    """Its C type."""
    code: str
    """The same in the ``struct`` module and NumPy."""
    given_by: str = ""
    """For a value: the field with its type. For such a field: the method that returns it."""


_WIDTH = {"q": 8, "Q": 8, "i": 4, "I": 4, "b": 1, "B": 1, "?": 1}
_NUMBERED = {Class: Holds.CLASS, Method: Holds.METHOD, Field: Holds.FIELD}


@cache
def record_fields(declaration: EventDeclaration) -> tuple[RecordField, ...]:
    """The fields of an event's record in their order in memory.

    The thread is in the head; the class of a field is announced with it; an object whose class is
    a parameter too needs no second one; the frames that ``CompiledMethodLoad`` finds inlined are
    left out.
    """
    found: list[RecordField] = []
    items = [
        (item.name, shapes.shape_of(item.annotation))
        for item in declaration.parameters
        if item.name not in declaration.answers
    ]
    kinds = {shape.python for _, shape in items if isinstance(shape, shapes.Reference)}
    names = {name for name, _ in items}
    for name, shape in items:
        match shape:
            case shapes.Reference(python, _) if python is Thread:
                continue
            case shapes.Reference(python, _):
                holds = _NUMBERED.get(python, Holds.OBJECT)
                if holds is Holds.CLASS and Field in kinds:
                    continue
                if holds is Holds.OBJECT and f"{name}_klass" in names:
                    continue
                found.append(RecordField(name, holds, "uint32_t", "I"))
                if holds is Holds.OBJECT and declaration.waits:
                    found.append(RecordField(f"{name}_hash", Holds.HASH, "int32_t", "i", name))
            case shapes.Number("jlocation", _, _):
                found.append(RecordField(name, Holds.LOCATION, "int32_t", "i"))
            case shapes.Number("jboolean", _, _):
                found.append(RecordField(name, Holds.BOOLEAN, "uint8_t", "?"))
            case shapes.Number(_, code, _):
                wide = _WIDTH[code] == 8
                c = "int64_t" if wide else "int32_t"
                found.append(RecordField(name, Holds.NUMBER, c, "q" if wide else "i"))
            case shapes.Text():
                found.append(RecordField(name, Holds.TEXT, "uint32_t", "I"))
            case shapes.Bytes() | shapes.List():
                found.append(RecordField(name, Holds.LENGTH, "int32_t", "i"))
            case shapes.Pointer():
                found.append(RecordField(name, Holds.NUMBER, "uint64_t", "Q"))
            case shapes.Letter():
                found.append(RecordField(name, Holds.LETTER, "uint8_t", "B"))
            case shapes.Value(given_by):
                if given_by == "method":
                    found.append(
                        RecordField(f"{name}_type", Holds.LETTER, "uint8_t", "B", given_by)
                    )
                    given_by = f"{name}_type"
                found.append(RecordField(name, Holds.VALUE, "int64_t", "q", given_by))
            case shapes.Inlining():
                continue
            case _:
                raise TypeError(shape)
    return tuple(
        sorted(
            found,
            key=lambda field: (
                -_WIDTH[field.code],
                field.holds is not Holds.METHOD,
                field.holds is not Holds.FIELD,
            ),
        )
    )


def record_size(declaration: EventDeclaration) -> int:
    """Bytes of an event's fields, a multiple of eight."""
    size = sum(_WIDTH[field.code] for field in record_fields(declaration))
    return (size + 7) // 8 * 8


__all__ = [
    "Holds",
    "RecordField",
    "record_fields",
    "record_size",
]
