"""The types that a chunk of a recording declares for its events and constants."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from jvmti.profile.formats.jfr.varints import read_one

__all__ = [
    "Field",
    "Type",
    "field_form",
    "form_of",
    "read_text",
    "read_types",
    "skip_value",
    "types_place",
]

_FORMS = {
    "boolean": "b",
    "byte": "b",
    "char": "n",
    "short": "n",
    "int": "n",
    "long": "n",
    "float": "f",
    "double": "d",
    "java.lang.String": "t",
}
"""The form of each type that is no structure, as the library's header lists them."""
_BYTES = {"b": 1, "f": 4, "d": 8}


@dataclass
class Field:
    """A field of a type."""

    name: str
    type: int
    constant: bool
    """Whether the value is the number of a constant."""
    array: bool


@dataclass
class Type:
    """A type: of events, of constants, or of values."""

    id: int
    name: str
    fields: list[Field] = field(default_factory=list)


def read_text(data: memoryview, at: int) -> tuple[str | int | None, int]:
    """A text and the place after it; a number if it is that of a constant.

    Raises:
        ValueError: it is none.
    """
    encoding = data[at]
    at += 1
    if encoding == 0:
        return None, at
    if encoding == 1:
        return "", at
    if encoding == 2:
        return read_one(data, at)
    length, at = read_one(data, at)
    if encoding in (3, 5):
        if length > len(data) - at:
            raise ValueError("a text is longer than the file")
        end = at + length
        return str(data[at:end], "utf-8" if encoding == 3 else "latin-1", "replace"), end
    if encoding == 4:
        # Almost all are of ASCII, one byte a character.
        if length <= len(data) - at and (text := bytes(data[at : at + length])).isascii():
            return text.decode("ascii"), at + length
        found = []
        for _ in range(length):
            unit, at = read_one(data, at)
            found.append(unit & 0xFFFF)
        units = b"".join(unit.to_bytes(2, "little") for unit in found)
        return units.decode("utf-16-le", "surrogatepass"), at
    raise ValueError(f"a text has the unknown encoding {encoding}")


def types_place(data: memoryview, at: int) -> int:
    """The place of the declarations of types in the event that has them.

    Args:
        data: the file.
        at: the place of the event.

    Raises:
        ValueError: it is no such event.
        IndexError: it ends after the data.
    """
    _, at = read_one(data, at)
    kind, at = read_one(data, at)
    if kind != 0:
        raise ValueError("the types are not where the chunk says")
    for _ in range(3):  # its time, duration and number
        _, at = read_one(data, at)
    return at


def read_types(data: memoryview, at: int) -> dict[int, Type]:
    """The types of a chunk, by their numbers.

    Args:
        data: the file.
        at: the place of their declarations, as `types_place` has it.

    Raises:
        ValueError: a text has no known form, or the types are nested too deep.
        IndexError: they end after the data.
    """
    count, at = read_one(data, at)
    texts = []
    for _ in range(min(count, len(data))):
        text, at = read_text(data, at)
        texts.append(text)
    found: dict[int, Type] = {}

    def element(at: int, owner: Type | None, depth: int) -> int:
        if depth > 16:
            raise ValueError("the types are nested too deep")
        name, at = read_one(data, at)
        attributes: dict[Any, Any] = {}
        number, at = read_one(data, at)
        for _ in range(number):
            key, at = read_one(data, at)
            value, at = read_one(data, at)
            attributes[texts[key]] = texts[value]
        within = owner
        if texts[name] == "class":
            within = Type(int(attributes["id"]), str(attributes["name"]))
            found[within.id] = within
        elif texts[name] == "field" and owner is not None:
            owner.fields.append(
                Field(
                    str(attributes["name"]),
                    int(attributes["class"]),
                    attributes.get("constantPool") == "true",
                    attributes.get("dimension", "0") != "0",
                )
            )
        number, at = read_one(data, at)
        for _ in range(number):
            at = element(at, within, depth + 1)
        return at

    element(at, None, 0)
    return found


def field_form(one: Field, types: dict[int, Type]) -> str | None:
    """The form of a field; ``None`` of an array or a structure."""
    if one.array:
        return None
    return "n" if one.constant else _FORMS.get(types[one.type].name)


def form_of(of: Type, types: dict[int, Type]) -> str | None:
    """The forms of a type's fields, or its own; ``None`` if it has arrays or structures inside."""
    if of.name in _FORMS:
        return _FORMS[of.name]
    forms = [field_form(one, types) for one in of.fields]
    return None if None in forms or not forms else "".join(map(str, forms))


def skip_value(
    data: memoryview, of: Type, types: dict[int, Type], at: int, *, depth: int = 0
) -> int:
    """The place behind a value of any type.

    Raises:
        ValueError: the type has no form, or is nested too deep.
        IndexError: it ends after the data.
    """
    form = _FORMS.get(of.name)
    if form == "n":
        return read_one(data, at)[1]
    if form == "t":
        return read_text(data, at)[1]
    if form is not None:
        return at + _BYTES[form]
    if not of.fields or depth > 16:
        raise ValueError(f"the type {of.name} has no form")
    for one in of.fields:
        count = 1
        if one.array:
            count, at = read_one(data, at)
        for _ in range(count):
            if at >= len(data):
                raise IndexError("a value ends after the data")
            if one.constant:
                _, at = read_one(data, at)
            else:
                at = skip_value(data, types[one.type], types, at, depth=depth + 1)
    return at
