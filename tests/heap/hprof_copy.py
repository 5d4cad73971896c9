"""Copies a part of a real dump, in any of the forms that the format allows.

A reader of its own, for it is not to copy what the package reads. It expects a sound file
as HotSpot writes it.
"""

from __future__ import annotations

import fnmatch
import re
import struct
from typing import NamedTuple

from heap.hprof import FORMATS, OBJECT, Writer

#: Bytes of a root behind its tag and its identifier of 8 bytes.
ROOTS = {0xFF: 0, 0x01: 8, 0x02: 8, 0x03: 8, 0x04: 4, 0x05: 0, 0x06: 4, 0x07: 0, 0x08: 8}


class _Class(NamedTuple):
    super: int
    loader: int
    constants: list[tuple[int, int, int | float]]
    statics: list[tuple[str, int, int | float]]
    fields: list[tuple[str, int]]


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, format_: str) -> tuple[int, ...]:
        values = struct.unpack_from(">" + format_, self.data, self.at)
        self.at += struct.calcsize(">" + format_)
        return values

    def one(self, format_: str) -> int:
        return self.take(format_)[0]

    def value(self, kind: int) -> int:
        return self.one("Q" if kind == OBJECT else FORMATS[kind])


def copy_of(
    data: bytes,
    *,
    most: int,
    id_size: int = 8,
    version: int = 2,
    segment: int | None = 1 << 16,
    patterns: tuple[str, ...] = ("*",),
) -> bytes:
    """The classes whose names one of the patterns matches, and at most some objects of each.

    References lead out of the copy where the objects were left out. With identifiers of 4 bytes
    these are the lower halves.
    """
    strings: dict[int, str] = {}
    names: dict[int, str] = {}
    frames: dict[int, tuple[int, ...]] = {}
    traces: list[tuple[int, int, list[int]]] = []
    classes: dict[int, _Class] = {}
    parts: list[tuple[int, ...]] = []  # tag, then what it has
    reader = _Reader(data)
    reader.at = data.index(b"\0") + 1
    assert reader.one("I") == 8
    reader.take("Q")
    while reader.at < len(data):
        tag, _, length = reader.take("BII")
        end = reader.at + length
        if tag == 0x01:
            name = reader.one("Q")
            strings[name] = data[reader.at : end].decode("utf-8", "replace")
        elif tag == 0x02:
            _, identifier, _, name = reader.take("IQIQ")
            names[identifier] = strings[name]
        elif tag == 0x04:
            identifier, *frame = reader.take("QQQQIi")
            frames[identifier] = tuple(frame)
        elif tag == 0x05:
            serial, thread, count = reader.take("III")
            traces.append((serial, thread, list(reader.take(f"{count}Q"))))
        elif tag in (0x0C, 0x1C):
            while reader.at < end:
                _part(reader, strings, classes, parts)
        reader.at = end

    mask = (1 << 8 * id_size) - 1
    writer = Writer(id_size, version, segment)
    wanted = re.compile("|".join(map(fnmatch.translate, patterns)))
    kept = {at for at, name in names.items() if wanted.match(name) and at in classes}
    for identifier in list(kept):
        while identifier := classes[identifier].super:
            kept.add(identifier)

    def narrow(kind: int, value: int | float) -> int | float:
        return int(value) & mask if kind == OBJECT else value

    for identifier in sorted(kept, key=lambda one: _depth(classes, one)):
        one = classes[identifier]
        writer.class_(
            identifier & mask,
            names[identifier],
            one.fields,
            super_=one.super & mask,
            loader=one.loader & mask,
            statics=[(name, kind, narrow(kind, value)) for name, kind, value in one.statics],
            constants=[(at, kind, narrow(kind, value)) for at, kind, value in one.constants],
        )
    counts: dict[int, int] = {}
    for tag, identifier, *more in parts:
        if tag in ROOTS:
            writer.root(tag, identifier & mask, *more)
            continue
        of = more[0]
        counts[of] = counts.get(of, 0) + 1
        if counts[of] > most or (tag != 0x23 and of not in kept):
            continue
        if tag == 0x21:
            reader.at, values, above = more[1], [], of
            while above:
                for _, kind in classes[above].fields:
                    values.append(narrow(kind, reader.value(kind)))
                above = classes[above].super
            writer.instance(identifier & mask, of & mask, *values)
        elif tag == 0x22:
            elements = [element & mask for element in more[1:]]
            writer.object_array(identifier & mask, of & mask, elements)
        else:
            writer.primitive_array(identifier & mask, of, list(more[1:]))
    for serial, thread, identifiers in traces[:6]:
        stack = []
        for identifier in identifiers[:4]:
            method, signature, source, of, line = frames[identifier]
            stack.append((strings[method], strings[signature], strings.get(source, ""), of, line))
        writer.stack(serial, thread, stack)
    return writer.finish()


def _depth(classes: dict[int, _Class], identifier: int) -> int:
    depth = 0
    while identifier := classes[identifier].super:
        depth += 1
    return depth


def _part(
    reader: _Reader,
    strings: dict[int, str],
    classes: dict[int, _Class],
    parts: list[tuple[int, ...]],
) -> None:
    tag, identifier = reader.take("BQ")
    if tag in ROOTS:
        more = reader.take({0: "", 4: "I", 8: "II"}[ROOTS[tag]])
        parts.append((tag, identifier, *(() if tag == 0x01 else more)))
    elif tag == 0x20:
        _, super_, loader = reader.take("IQQ")
        reader.take("QQQQI")
        constants, statics = [], []
        for _ in range(reader.one("H")):
            index, kind = reader.take("HB")
            constants.append((index, kind, reader.value(kind)))
        for _ in range(reader.one("H")):
            name, kind = reader.take("QB")
            statics.append((strings[name], kind, reader.value(kind)))
        fields = [reader.take("QB") for _ in range(reader.one("H"))]
        layout = [(strings[name], kind) for name, kind in fields]
        classes[identifier] = _Class(super_, loader, constants, statics, layout)
    elif tag == 0x21:
        _, of, length = reader.take("IQI")
        parts.append((tag, identifier, of, reader.at))
        reader.at += length
    elif tag == 0x22:
        _, length, of = reader.take("IIQ")
        parts.append((tag, identifier, of, *reader.take(f"{length}Q")))
    elif tag == 0x23:
        _, length, kind = reader.take("IIB")
        parts.append((tag, identifier, kind, *reader.take(f"{length}{FORMATS[kind]}")))
    else:
        raise AssertionError(f"{tag:#x} at {reader.at}")
