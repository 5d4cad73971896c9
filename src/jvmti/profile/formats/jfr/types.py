"""The types that a chunk of a recording declares for its events and constants."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from jvmti.profile.formats.jfr.varints import read_one

__all__ = ["Field", "Type", "read_text", "read_types", "types_place"]

NUMBERS = frozenset({"boolean", "byte", "char", "short", "int", "long"})
"""Types that are written as one number, or one byte, which has the same form below 128."""


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
