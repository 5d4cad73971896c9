"""Writes small heap dumps by hand, in all the forms that the format allows."""

from __future__ import annotations

import struct
from typing import Any

OBJECT, BOOLEAN, CHAR, FLOAT, DOUBLE, BYTE, SHORT, INT, LONG = 2, 4, 5, 6, 7, 8, 9, 10, 11
FORMATS = {BOOLEAN: "B", CHAR: "H", FLOAT: "f", DOUBLE: "d", BYTE: "b", SHORT: "h", INT: "i",
           LONG: "q"}  # fmt: skip


class Writer:
    """A dump in the making; addresses are the caller's.

    Args:
        id_size: bytes of an identifier, 4 or 8.
        version: 1 or 2, for HPROF 1.0.1 and 1.0.2.
        segment: bytes after which a new segment begins; None for a single HEAP_DUMP.
    """

    def __init__(self, id_size: int = 8, version: int = 2, segment: int | None = 1 << 16) -> None:
        self.id_size = id_size
        self._id = ">Q" if id_size == 8 else ">I"
        self._segment = segment
        self.head = b"JAVA PROFILE 1.0.%d\0" % version + struct.pack(">IQ", id_size, 1234567890)
        self.records: list[bytes] = []
        self.parts: list[bytes] = []
        self._strings: dict[str, int] = {}
        self._serial = 0
        self.layouts: dict[int, list[tuple[str, int]]] = {}
        self.supers: dict[int, int] = {}

    def id(self, value: int) -> bytes:
        return struct.pack(self._id, value)

    def value(self, kind: int, value: Any) -> bytes:
        return self.id(value) if kind == OBJECT else struct.pack(">" + FORMATS[kind], value)

    def record(self, tag: int, body: bytes) -> None:
        self.records.append(struct.pack(">BII", tag, 0, len(body)) + body)

    def string(self, text: str) -> int:
        if text not in self._strings:
            self._strings[text] = 0x10 + len(self._strings)
            self.record(0x01, self.id(self._strings[text]) + text.encode())
        return self._strings[text]

    def class_(
        self,
        identifier: int,
        name: str,
        fields: list[tuple[str, int]] = [],  # noqa: B006
        *,
        super_: int = 0,
        loader: int = 0,
        statics: list[tuple[str, int, Any]] = [],  # noqa: B006
        constants: list[tuple[int, int, Any]] = [],  # noqa: B006
    ) -> int:
        self._serial += 1
        self.record(
            0x02,
            struct.pack(">I", self._serial)
            + self.id(identifier)
            + struct.pack(">I", 0)
            + self.id(self.string(name)),
        )
        body = b"\x20" + self.id(identifier) + struct.pack(">I", 0) + self.id(super_)
        body += self.id(loader) + self.id(0) * 4 + struct.pack(">I", 0)
        body += struct.pack(">H", len(constants))
        for index, kind, value in constants:
            body += struct.pack(">HB", index, kind) + self.value(kind, value)
        body += struct.pack(">H", len(statics))
        for text, kind, value in statics:
            body += self.id(self.string(text)) + struct.pack(">B", kind) + self.value(kind, value)
        body += struct.pack(">H", len(fields))
        for text, kind in fields:
            body += self.id(self.string(text)) + struct.pack(">B", kind)
        self.parts.append(body)
        self.layouts[identifier] = fields
        self.supers[identifier] = super_
        return identifier

    def instance(self, identifier: int, cls: int, *values: Any) -> int:
        """An object; the values are those of its class's fields, then of the superclass's."""
        kinds = []
        at = cls
        while at:
            kinds += [kind for _, kind in self.layouts[at]]
            at = self.supers[at]
        assert len(kinds) == len(values)
        data = b"".join(map(self.value, kinds, values))
        self.parts.append(
            b"\x21"
            + self.id(identifier)
            + struct.pack(">I", 0)
            + self.id(cls)
            + struct.pack(">I", len(data))
            + data
        )
        return identifier

    def object_array(self, identifier: int, cls: int, elements: list[int]) -> int:
        self.parts.append(
            b"\x22"
            + self.id(identifier)
            + struct.pack(">II", 0, len(elements))
            + self.id(cls)
            + b"".join(map(self.id, elements))
        )
        return identifier

    def primitive_array(self, identifier: int, kind: int, elements: list[Any]) -> int:
        data = b"".join(self.value(kind, value) for value in elements)
        self.parts.append(
            b"\x23" + self.id(identifier) + struct.pack(">IIB", 0, len(elements), kind) + data
        )
        return identifier

    def root(self, kind: int, identifier: int, *more: int) -> None:
        body = bytes([kind]) + self.id(identifier)
        if kind == 0x01:
            body += self.id(0)
        self.parts.append(body + b"".join(struct.pack(">I", number) for number in more))

    def stack(self, serial: int, thread: int, frames: list[tuple[str, str, str, int, int]]) -> None:
        identifiers = []
        for at, (method, signature, source, cls, line) in enumerate(frames):
            identifiers.append(serial * 1000 + at)
            texts = (self.string(method), self.string(signature), self.string(source))
            self.record(
                0x04,
                self.id(identifiers[-1])
                + b"".join(map(self.id, texts))
                + struct.pack(">Ii", cls, line),
            )
        self.record(
            0x05,
            struct.pack(">III", serial, thread, len(frames)) + b"".join(map(self.id, identifiers)),
        )

    def finish(self) -> bytes:
        """The whole file."""
        if self._segment is None:
            self.record(0x0C, b"".join(self.parts))
        else:
            block = b""
            for part in [*self.parts, b""]:
                block += part
                if block and (len(block) >= self._segment or not part):
                    self.record(0x1C, block)
                    block = b""
            self.record(0x2C, b"")
        return self.head + b"".join(self.records)


def small(id_size: int = 8, version: int = 2, segment: int | None = 1 << 16) -> bytes:
    """A little of everything: orders of customers with names, in an array, and a thread."""
    writer = Writer(id_size, version, segment)
    java_object = writer.class_(0x1000, "java/lang/Object")
    writer.class_(0x1100, "java/lang/Class", [("name", OBJECT)], super_=java_object)
    string = writer.class_(
        0x1200, "java/lang/String", [("value", OBJECT), ("coder", BYTE)], super_=java_object
    )
    person = writer.class_(
        0x1300, "com/acme/Person", [("age", INT), ("name", OBJECT)], super_=java_object
    )
    customer = writer.class_(
        0x1400,
        "com/acme/Customer",
        [("next", OBJECT), ("credit", DOUBLE)],
        super_=person,
        statics=[("FIRST", OBJECT, 0x4000), ("LIMIT", INT, -7), ("OPEN", BOOLEAN, 1)],
        constants=[(3, LONG, 5)],
    )
    customers = writer.class_(0x1500, "[Lcom/acme/Customer;", super_=java_object)
    writer.class_(0x1600, "[B", super_=java_object)
    reference = writer.class_(
        0x1700, "java/lang/ref/Reference", [("queue", OBJECT), ("referent", OBJECT)],
        super_=java_object,
    )  # fmt: skip
    weak = writer.class_(0x1800, "java/lang/ref/WeakReference", super_=reference)
    thread = writer.class_(0x1900, "java/lang/Thread", [("name", OBJECT)], super_=java_object)

    writer.primitive_array(0x3000, BYTE, list(b"Ada"))
    writer.instance(0x3010, string, 0x3000, 0)
    writer.primitive_array(0x3020, BYTE, [b - 256 if b > 127 else b
                                          for b in "Grüße 🌍".encode("utf-16-le")])  # fmt: skip
    writer.instance(0x3060, string, 0x3020, 1)
    writer.instance(0x4000, customer, 0x4040, 2.5, 36, 0x3010)
    writer.instance(0x4040, customer, 0x4000, -1.0, 41, 0x3060)
    writer.instance(0x4080, customer, 0, 0.0, 7, 0)
    writer.object_array(0x5000, customers, [0x4000, 0, 0x4080, 0x4000])
    writer.instance(0x6000, weak, 0x4040, 0x4080)
    writer.primitive_array(0x7000, LONG, [1, -2, 3])
    writer.instance(0x8000, thread, 0x3010)
    writer.instance(0x9000, person, 1, 0)  # garbage
    writer.root(0x05, 0x1400)
    writer.root(0x08, 0x8000, 1, 77)
    writer.root(0x03, 0x5000, 1, 0)
    writer.root(0x01, 0x6000)
    writer.root(0xFF, 0x7000)
    writer.stack(77, 1, [("run", "()V", "Person.java", 4, 12), ("main", "([I)V", "?", 99, -1)])
    return writer.finish()
