"""Class files of text: in each line an instruction, a label, or what stands for several."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

from jvmti.classfile.opcodes import OPCODES

_NEEDS_REFERENCE = {
    *("getstatic", "putstatic", "getfield", "invokestatic", "invokevirtual", "invokespecial")
}
_NEEDS_CLASS = {"anewarray", "checkcast", "instanceof"}

UNSAFE = "jdk/internal/misc/Unsafe"
_GET_UNSAFE = f"getstatic THIS.unsafe L{UNSAFE};"
_MACROS: dict[str, str] = {
    # An address in a local, and what is so far behind it.
    "address": "lload {0}\nldc2_w {1}\nladd",
    "read": f"{_GET_UNSAFE}\naddress {{0}} {{1}}\ninvokevirtual {UNSAFE}.getLong (J)J",
    # What it was before; other threads count there, too.
    "count": f"{_GET_UNSAFE}\naconst_null\naddress {{0}} {{1}}\nlconst_1\n"
    f"invokevirtual {UNSAFE}.getAndAddLong (Ljava/lang/Object;JJ)J",
}

_LOADS = {"V": "", "I": "i", "J": "l", "F": "f", "D": "d"}

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

    def member(self, owner_and_name: str, descriptor: str, *, of_interface: bool = False) -> int:
        owner, _, name = owner_and_name.rpartition(".")
        both = self._add(struct.pack(">BHH", 12, self.text(name), self.text(descriptor)))
        tag = 11 if of_interface else 10 if descriptor.startswith("(") else 9
        return self._add(struct.pack(">BHH", tag, self.klass(owner), both))

    def table(self) -> bytes:
        return struct.pack(">H", self._next) + b"".join(self._found)


def _expanded(text: str) -> Iterator[str]:
    for line in filter(None, map(str.strip, text.splitlines())):
        name, *rest = line.split()
        if name == "address" and len(rest) == 1:
            yield from _expanded(f"lload {rest[0]}")
        elif name in _MACROS:
            yield from _expanded(_MACROS[name].format(*rest, *[""] * (2 - len(rest))))
        elif name[1:] in ("load", "store") and int(rest[0]) < 4:
            yield f"{name}_{rest[0]}"
        else:
            yield line


def assemble(text: str, constants: Constants) -> tuple[bytes, bytes]:
    """Code of text and its table of handlers: in each line an instruction, or a label and a colon.

    ``address LOCAL OFFSET`` pushes an address, ``read`` the number there, and ``count`` adds one to
    it; a number of a local that has an instruction of its own becomes that.

    What is thrown between the labels ``try`` and ``failed`` is caught at the latter.
    """
    code = bytearray()
    labels: dict[str, int] = {}
    jumps: list[tuple[int, int, str]] = []
    for line in _expanded(text):
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
            case "n" if name == "invokeinterface":
                code += struct.pack(">H", constants.member(rest[0], rest[1], of_interface=True))
                code += bytes((int(rest[2]), 0))
            case other:
                raise ValueError(f"{line}: {other} cannot be assembled")
    for start, at, label in jumps:
        struct.pack_into(">h", code, at, labels[label] - start)
    if "try" not in labels:
        return bytes(code), b"\0\0"
    caught = struct.pack(">HHHHH", 1, labels["try"], labels["failed"], labels["failed"], 0)
    return bytes(code), caught


def where_it_holds(name: str, descriptor: str) -> dict[str, tuple[int, int, str]]:
    """The method of that name that has a condition in front: it calls the other, or gives zero."""
    arguments, _, result = descriptor[1:].partition(")")
    types = re.findall(r"\[*(?:L[^;]*;|.)", arguments)
    loads = []
    local = 1
    for one in types:
        loads.append(f"{_LOADS.get(one, 'a')}load {local}")
        local += 1 + (one in "JD")
    kind = _LOADS.get(result, "a")
    zero = {"": "", "a": "aconst_null"}.get(kind, f"{kind}const_0")
    pushed = "\n".join(loads)
    text = f"""
        iload_0
        ifeq off
        {pushed}
        invokestatic THIS.{name} {descriptor}
        {kind}return
        off:
        {zero}
        {kind}return
        """
    return {f"{name} (I{descriptor[1:]}": (max(local - 1, 2), local, text)}


def class_file(constants: Constants, body: bytes) -> bytes:
    return struct.pack(">IHH", 0xCAFEBABE, 0, 49) + constants.table() + body


__all__ = ["UNSAFE", "Constants", "assemble", "class_file", "where_it_holds"]
