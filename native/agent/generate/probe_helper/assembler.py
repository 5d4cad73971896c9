"""Class files of text: in each line an instruction, or a label."""

from __future__ import annotations

import struct

from jvmti.classfile.opcodes import OPCODES

_NEEDS_REFERENCE = {
    *("getstatic", "putstatic", "getfield", "invokestatic", "invokevirtual", "invokespecial")
}
_NEEDS_CLASS = {"anewarray", "checkcast"}

_NUMBER_OF = {name: number for number, (name, _) in enumerate(OPCODES)}
_TAKES = dict(OPCODES)


class Constants:
    def __init__(self, this: str) -> None:
        self._this = this
        self._found: dict[bytes, int] = {}
        self._next = 1

    def _add(self, data: bytes, slots: int = 1) -> int:
        if data not in self._found:
            self._found[data] = self._next
            self._next += slots
        return self._found[data]

    def text(self, value: str) -> int:
        return self._add(struct.pack(">BH", 1, len(value)) + value.encode())

    def klass(self, name: str) -> int:
        return self._add(struct.pack(">BH", 7, self.text(self._this if name == "THIS" else name)))

    def string(self, value: str) -> int:
        return self._add(struct.pack(">BH", 8, self.text(value)))

    def long(self, value: int) -> int:
        return self._add(struct.pack(">Bq", 5, value), 2)

    def member(self, owner_and_name: str, descriptor: str) -> int:
        owner, _, name = owner_and_name.rpartition(".")
        both = self._add(struct.pack(">BHH", 12, self.text(name), self.text(descriptor)))
        tag = 10 if descriptor.startswith("(") else 9
        return self._add(struct.pack(">BHH", tag, self.klass(owner), both))

    def table(self) -> bytes:
        return struct.pack(">H", self._next) + b"".join(self._found)


def assemble(text: str, constants: Constants) -> tuple[bytes, bytes]:
    """Code of text and its table of handlers: in each line an instruction, or a label and a colon.

    What is thrown between the labels ``try`` and ``failed`` is caught at the latter.
    """
    code = bytearray()
    labels: dict[str, int] = {}
    jumps: list[tuple[int, int, str]] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.endswith(":"):
            labels[line[:-1]] = len(code)
            continue
        name, *rest = line.split()
        at = len(code)
        code.append(_NUMBER_OF[name])
        match _TAKES[name]:
            case "":
                pass
            case "b" | "l":
                code.append(int(rest[0]))
            case "s":
                code += struct.pack(">h", int(rest[0]))
            case "j":
                jumps.append((at, len(code), rest[0]))
                code += b"\0\0"
            case "C" if name == "ldc2_w":
                code += struct.pack(">H", constants.long(int(rest[0])))
            case "C" if name == "ldc_w":
                made = constants.klass if rest[0] == "class" else constants.string
                code += struct.pack(">H", made(rest[1]))
            case "C" if name in _NEEDS_CLASS:
                code += struct.pack(">H", constants.klass(rest[0]))
            case "C" if name in _NEEDS_REFERENCE:
                code += struct.pack(">H", constants.member(rest[0], rest[1]))
            case other:
                raise ValueError(f"{line}: {other} cannot be assembled")
    for start, at, label in jumps:
        struct.pack_into(">h", code, at, labels[label] - start)
    if "try" not in labels:
        return bytes(code), b"\0\0"
    caught = struct.pack(">HHHHH", 1, labels["try"], labels["failed"], labels["failed"], 0)
    return bytes(code), caught


def class_file(constants: Constants, body: bytes) -> bytes:
    return struct.pack(">IHH", 0xCAFEBABE, 0, 49) + constants.table() + body


__all__ = ["Constants", "assemble", "class_file"]
