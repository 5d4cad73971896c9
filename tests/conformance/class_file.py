"""Class files taken apart and put together again, so that a test can change a part of one.

It knows the outer structure: the constant pool, access flags, superclass, interfaces, and fields,
methods and attributes as names with bytes.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path

UTF8, CLASS = 1, 7
_SIZES = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4}
_SIZES |= {18: 4, 19: 2, 20: 2}
_WIDE = (5, 6)


@dataclass
class Attribute:
    """A named block of bytes."""

    name: str
    data: bytes


@dataclass
class Member:
    """A field or a method."""

    access: int
    name: str
    descriptor: str
    attributes: list[Attribute]

    @property
    def code(self) -> bytes:
        """The bytecodes of a method."""
        data = next(one.data for one in self.attributes if one.name == "Code")
        (length,) = struct.unpack_from(">I", data, 4)
        return data[8 : 8 + length]

    @code.setter
    def code(self, code: bytes) -> None:
        attribute = next(one for one in self.attributes if one.name == "Code")
        assert len(code) == len(self.code), "only code of the same length"
        attribute.data = attribute.data[:8] + code + attribute.data[8 + len(code) :]

    @property
    def limits(self) -> tuple[int, int]:
        """The sizes of a method's stack and of its local variables."""
        data = next(one.data for one in self.attributes if one.name == "Code")
        stack, slots = struct.unpack_from(">HH", data)
        return stack, slots


@dataclass
class ClassFile:
    """One class file."""

    minor: int
    major: int
    #: Tag and bytes of each entry from 1 on; ``None`` after a long or double.
    pool: list[tuple[int, bytes] | None]
    access: int
    this_class: int
    super_class: int
    interfaces: list[int]
    fields: list[Member]
    methods: list[Member]
    attributes: list[Attribute]
    #: The bytes of the constant pool as read.
    pool_bytes: bytes = field(default=b"", repr=False)

    @classmethod
    def parse(cls, source: bytes | Path) -> ClassFile:
        """Take a class file apart."""
        reader = _Reader(source.read_bytes() if isinstance(source, Path) else source)
        magic, minor, major, count = reader.take(">IHHH")
        assert magic == 0xCAFEBABE
        start = reader.at
        pool: list[tuple[int, bytes] | None] = []
        while len(pool) < count - 1:
            (tag,) = reader.take(">B")
            size = reader.take(">H")[0] if tag == UTF8 else _SIZES[tag]
            pool.append((tag, reader.raw(size)))
            if tag in _WIDE:
                pool.append(None)
        pool_bytes = reader.data[start : reader.at]
        access, this_class, super_class, interfaces = reader.take(">HHHH")
        made = cls(minor, major, pool, access, this_class, super_class, [], [], [], [], pool_bytes)
        made.interfaces = [reader.take(">H")[0] for _ in range(interfaces)]
        made.fields = made._members(reader)
        made.methods = made._members(reader)
        made.attributes = made._attributes(reader)
        return made

    def method(self, name: str) -> Member:
        """The first method of that name."""
        return next(method for method in self.methods if method.name == name)

    def text(self, index: int) -> str:
        """A constant pool entry that is text."""
        entry = self.pool[index - 1]
        assert entry is not None
        assert entry[0] == UTF8
        return entry[1].decode()

    def replace_text(self, before: str, after: str) -> None:
        """Change every text of the constant pool that is exactly this."""
        old, new = (UTF8, before.encode()), (UTF8, after.encode())
        assert old in self.pool
        self.pool = [new if entry == old else entry for entry in self.pool]

    def index(self, text: str) -> int:
        """The index of a text in the constant pool, added where it is missing."""
        entry = (UTF8, text.encode())
        if entry not in self.pool:
            self.pool.append(entry)
        return self.pool.index(entry) + 1

    def class_index(self, name: str) -> int:
        """The index of a class in the constant pool, added where it is missing."""
        entry = (CLASS, struct.pack(">H", self.index(name)))
        if entry not in self.pool:
            self.pool.append(entry)
        return self.pool.index(entry) + 1

    def to_bytes(self) -> bytes:
        """Put the class file together."""
        rest = struct.pack(">HHH", self.access, self.this_class, self.super_class)
        rest += struct.pack(f">H{len(self.interfaces)}H", len(self.interfaces), *self.interfaces)
        for members in (self.fields, self.methods):
            rest += struct.pack(">H", len(members)) + b"".join(map(self._put_member, members))
        rest += self._put_attributes(self.attributes)
        # Only now: putting the rest may have added to the constant pool.
        head = struct.pack(">IHHH", 0xCAFEBABE, self.minor, self.major, len(self.pool) + 1)
        for entry in filter(None, self.pool):
            tag, data = entry
            head += struct.pack(">BH", tag, len(data)) if tag == UTF8 else bytes([tag])
            head += data
        return head + rest

    def _members(self, reader: _Reader) -> list[Member]:
        members = []
        for _ in range(reader.take(">H")[0]):
            access, name, descriptor = reader.take(">HHH")
            attributes = self._attributes(reader)
            members.append(Member(access, self.text(name), self.text(descriptor), attributes))
        return members

    def _attributes(self, reader: _Reader) -> list[Attribute]:
        attributes = []
        for _ in range(reader.take(">H")[0]):
            name, size = reader.take(">HI")
            attributes.append(Attribute(self.text(name), reader.raw(size)))
        return attributes

    def _put_member(self, member: Member) -> bytes:
        names = self.index(member.name), self.index(member.descriptor)
        return struct.pack(">HHH", member.access, *names) + self._put_attributes(member.attributes)

    def _put_attributes(self, attributes: list[Attribute]) -> bytes:
        return struct.pack(">H", len(attributes)) + b"".join(
            struct.pack(">HI", self.index(one.name), len(one.data)) + one.data for one in attributes
        )


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, layout: str) -> tuple[int, ...]:
        values = struct.unpack_from(layout, self.data, self.at)
        self.at += struct.calcsize(layout)
        return values

    def raw(self, size: int) -> bytes:
        self.at += size
        return self.data[self.at - size : self.at]
