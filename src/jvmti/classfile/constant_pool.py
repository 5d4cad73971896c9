"""The constant pool of a class: the constants that its code and attributes refer to by number."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from jvmti.classfile.reading import MalformedClassFile, Reader
from jvmti.interface.frozen import frozen
from jvmti.text import modified_utf8 as text
from jvmti.text.printable import escaped


class MemberReference(NamedTuple):
    """A field or method that a class refers to."""

    class_name: str
    """The internal name of its class: ``java/util/Map``, ``[I``."""
    name: str
    """Its name."""
    descriptor: str
    """Its type: ``I``, ``(I)V``."""


class NameAndType(NamedTuple):
    """The name and the type of a field or method."""

    name: str
    descriptor: str


class MethodHandle(NamedTuple):
    """A direct method handle."""

    kind: str
    """Its kind: ``REF_invokeStatic`` …"""
    member: MemberReference
    """The field or method."""


class Bootstrapped(NamedTuple):
    """A call site (``InvokeDynamic``) or constant (``Dynamic``) that a bootstrap method makes."""

    bootstrap: int
    """The number of the bootstrap method, see `ClassFile.bootstrap_methods`."""
    name: str
    """The name passed to the bootstrap method."""
    descriptor: str
    """The type passed to it."""


@frozen
class Constant:
    """An entry of a constant pool.

    Attributes:
        index: its number.
        kind: its short name in the class file format: ``Utf8``, ``Methodref`` …
        value: its value, with references resolved: a `str` for ``Utf8``, ``String``,
            ``Class``, ``Module``, ``Package`` (internal names) and ``MethodType``, a number, a
            `MemberReference`, `NameAndType`, `MethodHandle` or `Bootstrapped`.
        refers_to: the numbers in its entry, in order.
    """

    index: int
    kind: str
    value: Any
    refers_to: tuple[int, ...] = ()

    @property
    def slots(self) -> int:
        """How many numbers it takes: long and double take two."""
        return 2 if self.kind in ("Long", "Double") else 1

    @escaped
    def __str__(self) -> str:
        return f"#{self.index} = {self.kind} {describe(self)}"


KINDS = {
    1: "Utf8",
    3: "Integer",
    4: "Float",
    5: "Long",
    6: "Double",
    7: "Class",
    8: "String",
    9: "Fieldref",
    10: "Methodref",
    11: "InterfaceMethodref",
    12: "NameAndType",
    15: "MethodHandle",
    16: "MethodType",
    17: "Dynamic",
    18: "InvokeDynamic",
    19: "Module",
    20: "Package",
}

REFERENCE_KINDS = (
    "REF_0",
    "REF_getField",
    "REF_getStatic",
    "REF_putField",
    "REF_putStatic",
    "REF_invokeVirtual",
    "REF_invokeStatic",
    "REF_invokeSpecial",
    "REF_newInvokeSpecial",
    "REF_invokeInterface",
)

_NAMED = {"Class", "String", "MethodType", "Module", "Package"}
_MEMBERS = {"Fieldref", "Methodref", "InterfaceMethodref"}


class ConstantPool(Mapping[int, Constant]):
    """The constants of a class by number; numbers begin at 1, and some are left out.

    Attributes:
        count: one more than the highest number.
    """

    def __init__(self, reader: Reader, count: int) -> None:
        self.count = count
        self._entries = dict(_entries(reader, count))
        self._made: dict[int, Constant] = {}

    def __getitem__(self, index: int) -> Constant:
        made = self._made.get(index)
        if made is None:
            made = self._made[index] = self._make(index)
        return made

    def __iter__(self) -> Iterator[int]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def of_kind(self, *kinds: str) -> list[Constant]:
        """The constants of some kinds: ``pool.of_kind("String")``.

        Raises:
            ValueError: there is no such kind of constants.
        """
        for kind in kinds:
            if kind not in KINDS.values():
                raise ValueError(f"no kind {kind!r}; there are {', '.join(KINDS.values())}")
        return [self[index] for index, entry in self._entries.items() if entry[0] in kinds]

    def text(self, index: int) -> str:
        """The text of a ``Utf8`` constant."""
        value: str = self._value(index, "Utf8")
        return value

    def text_or_none(self, index: int) -> str | None:
        """The same, where 0 stands for none."""
        return self.text(index) if index else None

    def class_name(self, index: int) -> str:
        """The internal name in a ``Class`` constant."""
        value: str = self._value(index, "Class")
        return value

    def class_name_or_none(self, index: int) -> str | None:
        """The same, where 0 stands for none."""
        return self.class_name(index) if index else None

    def _value(self, index: int, kind: str) -> Any:
        found = self[index]
        if found.kind != kind:
            raise MalformedClassFile(f"constant #{index} is {found.kind}, not {kind}")
        return found.value

    def _make(self, index: int) -> Constant:
        if index not in self._entries:
            raise KeyError(f"no constant #{index}; the numbers go from 1 to {self.count - 1}")
        kind, value = self._entries[index]
        if kind in ("Utf8", "Integer", "Float", "Long", "Double"):
            return Constant(index, kind, value)
        first, *rest = value
        try:
            return Constant(index, kind, self._resolve(kind, first, rest), value)
        except (KeyError, RecursionError):
            raise MalformedClassFile(
                f"constant #{index}, a {kind}, refers to a missing one: {value}"
            ) from None

    def _resolve(self, kind: str, first: int, rest: list[int]) -> Any:
        if kind in _NAMED:
            return self.text(first)
        if kind in _MEMBERS:
            return MemberReference(self.class_name(first), *self._value(rest[0], "NameAndType"))
        if kind == "NameAndType":
            return NameAndType(self.text(first), self.text(rest[0]))
        if kind == "MethodHandle":
            member = self[rest[0]]
            if member.kind not in _MEMBERS or not 1 <= first < len(REFERENCE_KINDS):
                raise MalformedClassFile(f"a method handle of kind {first} for a {member.kind}")
            return MethodHandle(REFERENCE_KINDS[first], member.value)
        return Bootstrapped(first, *self._value(rest[0], "NameAndType"))

    @escaped
    def __repr__(self) -> str:
        return f"<{len(self)} constants>"


def constants(data: bytes, count: int) -> ConstantPool:
    """Parse the constants of a constant pool.

    Args:
        data: the entries.
        count: one more than the highest number.
    """
    return ConstantPool(Reader(data), count)


def _entries(reader: Reader, count: int) -> Iterator[tuple[int, tuple[str, Any]]]:
    index = 1
    while index < count:
        tag = reader.u1()
        kind = KINDS.get(tag)
        value: Any
        match tag:
            case 1:
                value = text.decode(reader.take(reader.u2()))
            case 3:
                value = reader.s4()
            case 4:
                (value,) = struct.unpack(">f", reader.take(4))
            case 5:
                (value,) = struct.unpack(">q", reader.take(8))
            case 6:
                (value,) = struct.unpack(">d", reader.take(8))
            case 7 | 8 | 16 | 19 | 20:
                value = (reader.u2(),)
            case 9 | 10 | 11 | 12 | 17 | 18:
                value = (reader.u2(), reader.u2())
            case 15:
                value = (reader.u1(), reader.u2())
            case _:
                raise MalformedClassFile(f"constant #{index} has the unknown tag {tag}")
        assert kind is not None
        yield index, (kind, value)
        index += 2 if tag in (5, 6) else 1


# ---- how they are written ---------------------------------------------------------------------


def describe(constant: Constant, within: str | None = None) -> str:
    """The value of a constant, in the format of `javap`.

    Args:
        constant: the constant.
        within: the internal name of its class, left out for members of that class.
    """
    value = constant.value
    match constant.kind:
        case "Utf8" | "String":
            return java_literal(value)
        case "Class" | "Module" | "Package":
            return name_or_quoted(value)
        case "Long":
            return f"{value}l"
        case "Float":
            return f"{java_float(value)}f"
        case "Double":
            return f"{java_double(value)}d"
        case "Fieldref" | "Methodref" | "InterfaceMethodref":
            return _member(value, within)
        case "NameAndType":
            return f"{name_or_quoted(value.name)}:{value.descriptor}"
        case "MethodHandle":
            return f"{value.kind} {_member(value.member, None)}"
        case "Dynamic" | "InvokeDynamic":
            return f"#{value.bootstrap}:{name_or_quoted(value.name)}:{value.descriptor}"
    return str(value)


def _member(value: MemberReference, within: str | None) -> str:
    owner = "" if value.class_name == within else f"{name_or_quoted(value.class_name)}."
    return f"{owner}{name_or_quoted(value.name)}:{value.descriptor}"


_ESCAPES = {
    "\t": "\\t",
    "\n": "\\n",
    "\r": "\\r",
    "\b": "\\b",
    "\f": "\\f",
    '"': '\\"',
    "'": "\\'",
    "\\": "\\\\",
}


def java_literal(value: str) -> str:
    """A text with the escapes of a Java literal."""
    if value.isalnum():
        return value
    return "".join(
        _ESCAPES.get(one) or (one if _is_printable(one) else _code(one)) for one in value
    )


def _is_printable(character: str) -> bool:
    code = ord(character)
    return not (code < 0x20 or 0x7F <= code < 0xA0 or 0xD800 <= code < 0xE000)


def _code(character: str) -> str:
    return f"\\u{ord(character):04x}"


def name_or_quoted(name: str) -> str:
    """An internal name; in quotes if it is not an identifier: ``"<init>"``, ``"[I"``."""
    parts = name.replace("$", "_").split("/")
    if all(part.isidentifier() for part in parts):
        return name
    if not name:
        return '""'
    return '"' + java_literal(name).replace("\\'", "'") + '"'


def java_double(value: float) -> str:
    """A double as ``Double.toString`` writes it: ``1.0E10``, ``NaN``."""
    shortest = repr(value)
    # Two digits instead of one, if they are closer: 4.9E-324.
    return _java_number(
        f"{value:.1e}" if len(shortest.lstrip("-").split("e")[0]) == 1 else shortest
    )


def java_float(value: float) -> str:
    """A float as ``Float.toString`` writes it."""
    # The fewest digits that read back as the same float: nine are always enough.
    for digits in range(2, 10):
        shortest = f"{value:.{digits - 1}e}"
        try:
            if struct.pack(">f", float(shortest)) == struct.pack(">f", value):
                break
        except OverflowError:
            continue
    return _java_number(shortest)


def _java_number(text: str) -> str:
    if "n" in text:
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[text]
    sign, text = ("-", text[1:]) if text.startswith("-") else ("", text)
    mantissa, _, exponent = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0") or "0"
    if digits == "0":
        return f"{sign}0.0"
    if -3 < point <= 7:
        if point <= 0:
            return f"{sign}0.{'0' * -point}{digits}"
        digits = digits.ljust(point, "0")
        return f"{sign}{digits[:point]}.{digits[point:] or '0'}"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{point - 1}"


__all__ = [
    "Bootstrapped",
    "Constant",
    "ConstantPool",
    "MemberReference",
    "MethodHandle",
    "NameAndType",
    "constants",
    "describe",
]
