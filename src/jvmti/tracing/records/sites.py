"""The places of probes, and the layout of their records."""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Sequence
from typing import Any

from jvmti.interface.errors import ProtocolError
from jvmti.interface.frozen import frozen
from jvmti.layouts.probe_memory import PROBE_SITE
from jvmti.layouts.probes import RECORDED, RECORDED_OBJECT, RecordedKind
from jvmti.text import modified_utf8 as text

_DOUBLE = struct.Struct("<d")
_BOXED: dict[str, Callable[[int], Any]] = {"C": chr, "Z": bool}


@frozen
class RecordedObject:
    """An object in a record: not a handle, because the object may be gone.

    ``ABSENT``, shown as ``?``, stands for a missing value.

    Attributes:
        class_name: the name of its class.
        kind: its kind.
        text: the text of a string, the message of a throwable, the name of an enum's constant or of
            a class.
        is_cut: whether the text was longer.
        number: the length of an array or string, otherwise the identity hash.
    """

    class_name: str
    kind: RecordedKind
    text: str | None = None
    is_cut: bool = False
    number: int = 0

    def __str__(self) -> str:
        more = "…" if self.is_cut else ""
        short = self.class_name.rpartition(".")[2]
        match self.kind:
            case RecordedKind.STRING:
                return f'"{self.text}{more}"'
            case RecordedKind.ARRAY:
                element, _, dimensions = short.partition("[]")
                return f"{element}[{self.number}]{dimensions}"
            case RecordedKind.THROWABLE:
                return self.class_name + (f": {self.text}{more}" if self.text else "")
            case RecordedKind.CLASS:
                return f"{self.text}{more}.class"
            case RecordedKind.ABSENT:
                return "?"
        if self.text is not None:
            return f"{short}.{self.text}"
        return f"{short}@{self.number:x}"


class Slot:
    """A value in a record.

    Attributes:
        letter: its type, as in a descriptor; ``L`` for objects.
        at: its offset.
    """

    def __init__(self, letter: str, at: int) -> None:
        self.letter = letter
        self.at = at

    def size(self, text_size: int) -> int:
        """Its bytes."""
        return RECORDED_OBJECT.size + text_size if self.letter == "L" else 8

    def read(self, row: memoryview, classes: list[str], text_size: int) -> Any:
        """The value in a record.

        It is a number, a truth value, a string, `None`, of a stack a tuple of strings, or a
        `RecordedObject`.
        """
        if self.letter != "L":
            data = bytes(row[self.at : self.at + 8])
            if self.letter in "FD":
                return float(_DOUBLE.unpack(data)[0])
            number = int.from_bytes(data, "little", signed=True)
            if self.letter == "Z":
                return bool(number & 1)
            if self.letter == "C":
                return chr(number & 0xFFFF)
            return number
        kind, letter, length, number_of, number = RECORDED_OBJECT.struct.unpack_from(row, self.at)
        if kind == RecordedKind.NULL:
            return None
        try:
            found = RecordedKind(kind)
        except ValueError:
            raise ProtocolError("a record has an object of an unknown kind") from None
        begin = self.at + RECORDED_OBJECT.size
        data = bytes(row[begin : begin + min(length, text_size)])
        if found is RecordedKind.STACK:
            frames = [number for (number,) in struct.iter_unpack("<I", data[: len(data) // 4 * 4])]
            return tuple(classes[one] if 0 < one < len(classes) else "?" for one in frames)
        if found is RecordedKind.HELD:
            return number
        if found is RecordedKind.ABSENT:
            return RecordedObject("", found)
        if found is RecordedKind.BOXED:
            if chr(letter) in "FD":
                return float(_DOUBLE.unpack(struct.pack("<q", number))[0])
            return _BOXED.get(chr(letter), int)(number)
        name = classes[number_of] if 0 < number_of < len(classes) else "?"
        about = text.decode(data) if length else None
        if found is RecordedKind.STRING:
            about = about or ""
            if not letter:
                return about
        if found is RecordedKind.CLASS:
            about = classes[number] if 0 < number < len(classes) else "?"
        return RecordedObject(name, found, about, bool(letter), number)


class Site:
    """A place of a probe.

    Attributes:
        probe: the position of the probe in its plan.
        line: the line, 0 if unknown.
        index: the bytecode index, before the class got probes.
        class_name: the class.
        method: the method's name.
        descriptor: its descriptor.
        shape: the types of the values in the records from here; see `layouts.probes.INSERTED`.
        member: the class and the name of the field or method that it is about, if any.
        member_descriptor: its descriptor.
        slots: where these are.
        omitted: how many of them found no space in the record.
    """

    def __init__(self, probe: int, line: int, names: list[str], index: int = 0) -> None:
        self.probe = probe
        self.line = line
        self.index = index
        self.class_name = names[0].replace("/", ".")
        self.method, self.descriptor, more = names[1:]
        self.shape, *about = more.split("\1")
        owner, _, name = about[0].rpartition(".") if about else ("", "", "")
        self.member = f"{owner.replace('/', '.')}.{name}" if owner else name
        self.member_descriptor = about[1] if len(about) > 1 else ""
        self.slots: Sequence[Slot | None] = ()
        self.omitted = 0

    def lay_out(self, text_size: int) -> None:
        """Compute the offsets of the values: a slot for each, ``None`` for a missing one."""
        self.slots = _slots(self.shape, text_size)
        self.omitted = self.shape.count("-")

    @property
    def name(self) -> str:
        """The class and the method, with a dot between them."""
        return f"{self.class_name}.{self.method}"

    @property
    def called(self) -> str:
        """The method that is traced there: the one that is called, or that has the place."""
        return self.member or self.name

    @property
    def called_descriptor(self) -> str:
        """Its descriptor."""
        return self.member_descriptor or self.descriptor


@functools.lru_cache
def _slots(shape: str, text_size: int) -> tuple[Slot | None, ...]:
    # Thousands of places have the same few shapes.
    found: list[Slot | None] = []
    at = RECORDED.size
    for letter in shape.replace(";", ""):
        if letter in "V-":
            found.append(None)
        else:
            slot = Slot(letter, at)
            found.append(slot)
            at += slot.size(text_size)
    return tuple(found)


def read_sites(data: bytes) -> tuple[list[Site], int]:
    """The sites in a part of the agent's list, and the size of those that are whole.

    Raises:
        ProtocolError: they are invalid.
    """
    found = []
    at = 0
    while len(data) - at >= PROBE_SITE.size:
        probe, index, line, size = PROBE_SITE.struct.unpack_from(data, at)
        end = at + PROBE_SITE.size + size
        if end > len(data):
            break
        names = data[at + PROBE_SITE.size : end].split(b"\0")
        if len(names) != 5:
            raise ProtocolError("a place of a probe is invalid")
        found.append(Site(probe, line, [text.decode(name) for name in names[:4]], index))
        at = end
    return found, at


__all__ = ["RecordedObject", "Site", "Slot", "read_sites"]
