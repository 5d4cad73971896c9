"""The meaning of annotations, as codec and generator share it."""

from __future__ import annotations

import dataclasses
import enum
import functools
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from jvmti.interface.capabilities import Capabilities
from jvmti.interface.declaration import Declaration, Table
from jvmti.interface.frozen import frozen
from jvmti.interface.types import (
    UTF16,
    ArrayBeforeCount,
    Blob,
    CallerBuffer,
    CapabilityBits,
    CountField,
    CountIs,
    DeclaredBy,
    Elements,
    InliningRecords,
    JValue,
    Marker,
    MethodArguments,
    ModifiedUTF8,
    Native,
    Primitive,
    ResultPerItem,
    SameCount,
    Stored,
    TypeCharacter,
)


@frozen
class Number:
    """A number of fixed width, possibly an enumeration or a set of flags in Python."""

    c: str
    code: str
    python: type | None = None


@frozen
class Reference:
    """A handle of class ``python``.

    If it is ``answered``, its own result reports that it names nothing; otherwise that is an error
    of the whole call.
    """

    python: Any
    nullable: bool = False
    answered: bool = False


@frozen
class Text:
    """Text in modified UTF-8."""

    nullable: bool = False


@frozen
class Unicode:
    """Text as UTF-16 units."""


@frozen
class Bytes:
    """A counted block of bytes."""

    buffer_first: bool = False


@frozen
class ElementBlock:
    """Elements of a primitive array."""

    c: str
    length: str | None = None


@frozen
class Arguments:
    """Arguments of a Java method."""


@frozen
class Token:
    """Any Python object, by token."""


@frozen
class CapabilitySet:
    """``jvmtiCapabilities``."""

    python: Any


@frozen
class Pointer:
    """An address, for information."""

    const: bool = True


@frozen
class Value:
    """A value of any Java type; ``given_by`` names the parameter that says which."""

    given_by: str


@frozen
class Letter:
    """The character of a Java type."""


@frozen
class Inlining:
    """Records of ``jvmticmlr.h``, read by the agent."""

    item: Any


@frozen
class Callback:
    """A Python function that the agent calls; the frame carries how (`CallbackMode`)."""

    nullable: bool = False


@frozen
class List:
    """A list; ``layout`` says how the C parameter list passes it."""

    item: Any
    layout: Marker | None = None
    declared_by: str | None = None


@frozen
class Structure:
    """A C structure presented as a frozen dataclass."""

    python: Any
    c: str
    fields: tuple[tuple[str, Any], ...]


Shape = (
    Number
    | Reference
    | Text
    | Unicode
    | Bytes
    | ElementBlock
    | Arguments
    | Token
    | CapabilitySet
    | Pointer
    | Value
    | Letter
    | Inlining
    | Callback
    | List
    | Structure
)

ELEMENT_CODES = {
    "jboolean": "?",
    "jbyte": "b",
    "jchar": "H",
    "jshort": "h",
    "jint": "i",
    "jlong": "q",
    "jfloat": "f",
    "jdouble": "d",
}

_LAYOUTS = (ArrayBeforeCount, CountIs, CallerBuffer, ResultPerItem, SameCount, CountField)


def shape_of(annotation: Any) -> Shape:
    """The shape that an annotation of a declaration stands for.

    Raises:
        TypeError: the annotation is not one that a declaration may use.
    """
    markers: list[Marker] = []
    nullable = False
    while True:
        origin = typing.get_origin(annotation)
        if origin is typing.Annotated:
            markers += [item for item in annotation.__metadata__ if isinstance(item, Marker)]
            annotation = annotation.__origin__
        elif origin in (typing.Union, types.UnionType):
            options = [item for item in typing.get_args(annotation) if item is not type(None)]
            if len(options) == 2 and str in options and _constant(options[0]):
                options.remove(str)  # its name; the number travels
            if len(options) != 1:
                break  # a marker says what they are together
            nullable = nullable or type(None) in typing.get_args(annotation)
            annotation = options[0]
        else:
            break
    for marker in markers:
        if isinstance(marker, Primitive):
            return Number(marker.c, marker.code)
        if isinstance(marker, ModifiedUTF8):
            return Text(nullable)
        if isinstance(marker, UTF16):
            return Unicode()
        if isinstance(marker, Blob):
            return Bytes(marker.buffer_first)
        if isinstance(marker, Elements):
            return ElementBlock(marker.c, marker.length)
        if isinstance(marker, MethodArguments):
            return Arguments()
        if isinstance(marker, Stored):
            return Token()
        if isinstance(marker, Native):
            return Pointer(marker.const)
        if isinstance(marker, JValue):
            return Value(marker.given_by)
        if isinstance(marker, TypeCharacter):
            return Letter()
        if isinstance(marker, InliningRecords):
            return Inlining(shape_of(typing.get_args(annotation)[0]))
        if isinstance(marker, CapabilityBits):
            return CapabilitySet(Capabilities)
    if annotation is type(None):
        return Callback(nullable=True)  # where later versions may have one
    if typing.get_origin(annotation) is Mapping:
        return List(Number("jint", "i"))  # functions of a table by name; their slots travel
    if typing.get_origin(annotation) is Callable:
        return Callback(nullable)
    arguments = typing.get_args(annotation)
    if arguments and isinstance(typing.get_origin(annotation), type):
        layout = next((m for m in markers if isinstance(m, _LAYOUTS)), None)
        declared_by = next((m.parameter for m in markers if isinstance(m, DeclaredBy)), None)
        return List(shape_of(arguments[0]), layout, declared_by)
    if isinstance(annotation, type):
        if hasattr(annotation, "C_TYPE"):
            return Reference(annotation, nullable)
        if getattr(annotation, "__c_type__", "") == "jvmtiCapabilities":
            return CapabilitySet(annotation)
        if issubclass(annotation, enum.Enum):
            return Number(getattr(annotation, "__c_type__"), "i", annotation)  # noqa: B009
        if hasattr(annotation, "__c_struct__"):
            structure: Any = annotation
            return Structure(
                annotation,
                annotation.__c_struct__,
                tuple(
                    (field.name, shape_of(hint)) for field, hint in _fields_with_hints(structure)
                ),
            )
    raise TypeError(f"{annotation!r} is not a type that a declaration may use")


def _constant(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, enum.Enum)


@functools.cache
def _fields_with_hints(structure: Any) -> list[tuple[dataclasses.Field[Any], Any]]:
    hints = typing.get_type_hints(structure, include_extras=True)
    return [(field, hints[field.name]) for field in dataclasses.fields(structure)]


def inputs_of(declaration: Declaration) -> list[tuple[str, Shape]]:
    """The parameters of a function by name, in the specification's order."""
    answered = {
        shape.layout.parameter
        for _, shape in results_of(declaration)
        if isinstance(shape, List) and isinstance(shape.layout, ResultPerItem)
    }
    inputs = []
    for parameter in declaration.parameters:
        shape = shape_of(parameter.annotation)
        if parameter.name in answered:
            assert isinstance(shape, List), parameter.name
            assert isinstance(shape.item, Reference), parameter.name
            shape = replace(shape, item=replace(shape.item, answered=True))
        inputs.append((parameter.name, shape))
    return inputs


def results_of(declaration: Declaration) -> tuple[tuple[str, Shape], ...]:
    """The results of a function: none, one without a name, or the fields of its named tuple."""
    result = declaration.result
    if result is type(None):
        return ()
    if is_named_tuple(result):
        hints = typing.get_type_hints(result, include_extras=True)
        return tuple((name, shape_of(hints[name])) for name in result._fields)
    return (("", shape_of(result)),)


def is_named_tuple(annotation: Any) -> bool:
    """Whether a return annotation stands for several results."""
    return isinstance(annotation, type) and issubclass(annotation, tuple)


def leaves_of(shape: Shape) -> int:
    """The number of columns of a result in a map request."""
    if isinstance(shape, Text | Unicode | Bytes | ElementBlock):
        return 2
    if isinstance(shape, List):
        if isinstance(shape.item, Number) and shape.item.c == "unsigned char":
            return 2
        return 1 + leaves_of(shape.item)
    if isinstance(shape, Structure):
        return sum(leaves_of(field) for _, field in shape.fields)
    return 1


__all__ = [
    "Declaration",
    "Shape",
    "Table",
    "inputs_of",
    "leaves_of",
    "results_of",
    "shape_of",
]
