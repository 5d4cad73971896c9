"""Class files of objects that implement an interface by asking the debugger.

Each has the methods of one interface::

    public Object apply(Object one) {
        return ask(number, new Object[] {one});
    }

    static Object ask(int number, Object[] arguments) throws Throwable {
        Object[] answer = new Object[3];
        decide(number, arguments, answer);      // a breakpoint is here
        if (answer[2] == null) throw new IllegalStateException(GONE);
        if (answer[1] != null) throw (Throwable) answer[1];
        return answer[0];
    }
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence

from jvmti.model.values.conversion import BOXES, PRIMITIVE_NAMES
from jvmti.text import modified_utf8

SUFFIX = "$$LambdaOfDebugger"
"""Ends the names of these classes; steps pass over such."""
DECIDE, DECIDE_SIGNATURE = "decide", "(I[Ljava/lang/Object;[Ljava/lang/Object;)V"
RESULT, THROWN, DONE = range(3)
"""The positions in the answer."""

_GONE = "the debugger whose lambda this is has gone, or has forgotten it"
_VERSION = 52
_ASK_SIGNATURE = "(I[Ljava/lang/Object;)Ljava/lang/Object;"
_LOADS = {"J": 0x16, "F": 0x17, "D": 0x18, "L": 0x19, "[": 0x19}
_RETURNS = {"J": 0xAD, "F": 0xAE, "D": 0xAF, "L": 0xB0, "[": 0xB0}
_WIDE = "JD"
_DECIDE = b"\x1a\x57\x2b\x57\x2c\x57\xb1"
"""It loads its arguments and drops them: a probe knows the variables that the code uses."""
_TYPES = re.compile(r"\[*(?:L[^;]*;|[ZBCSIJFD])")


class _Pool:
    """The constants of a class file."""

    def __init__(self) -> None:
        self._known: dict[bytes, int] = {}

    def _add(self, entry: bytes) -> int:
        return self._known.setdefault(entry, len(self._known) + 1)

    def text(self, text: str) -> int:
        data = modified_utf8.encode(text)
        return self._add(struct.pack(">BH", 1, len(data)) + data)

    def cls(self, name: str) -> int:
        return self._add(struct.pack(">BH", 7, self.text(name)))

    def string(self, text: str) -> int:
        return self._add(struct.pack(">BH", 8, self.text(text)))

    def member(self, owner: str, name: str, signature: str) -> int:
        """A method, or a field."""
        named = self._add(struct.pack(">BHH", 12, self.text(name), self.text(signature)))
        tag = 10 if signature.startswith("(") else 9
        return self._add(struct.pack(">BHH", tag, self.cls(owner), named))

    def data(self) -> bytes:
        return struct.pack(">H", len(self._known) + 1) + b"".join(self._known)


def function_class(name: str, interface: str, methods: Sequence[tuple[str, str]]) -> bytes:
    """The class file of a class that implements an interface.

    Args:
        name: its name, with slashes.
        interface: that of the interface.
        methods: names and signatures of the methods that it implements.
    """
    pool = _Pool()
    head = struct.pack(
        ">HHHHH", 0x1031, pool.cls(name), pool.cls("java/lang/Object"), 1, pool.cls(interface)
    )
    number = struct.pack(">HHHHH", 1, 0x0012, pool.text("number"), pool.text("I"), 0)
    ask, frames = _ask(pool, name)
    made = [
        _method(pool, 0x0001, "<init>", "(I)V", _constructor(pool, name), 2, 2),
        _method(pool, 0x1008, "ask", _ASK_SIGNATURE, ask, 3, 3, frames),
        _method(pool, 0x1008, DECIDE, DECIDE_SIGNATURE, _DECIDE, 1, 3),
    ]
    for method, signature in methods:
        types = _TYPES.findall(signature[: signature.index(")")])
        size = 1 + sum(1 + (one in _WIDE) for one in types)
        code = _asking(pool, name, signature, types)
        made.append(_method(pool, 0x0001, method, signature, code, 7, size))
    body = head + number + struct.pack(">H", len(made)) + b"".join(made) + b"\0\0"
    return struct.pack(">IHH", 0xCAFEBABE, 0, _VERSION) + pool.data() + body


def _method(
    pool: _Pool,
    flags: int,
    name: str,
    signature: str,
    code: bytes,
    stack: int,
    size: int,
    attributes: bytes = b"\0\0",
) -> bytes:
    body = struct.pack(">HHI", stack, size, len(code)) + code + b"\0\0" + attributes
    attribute = struct.pack(">HI", pool.text("Code"), len(body)) + body
    return struct.pack(">HHHH", flags, pool.text(name), pool.text(signature), 1) + attribute


def _constructor(pool: _Pool, name: str) -> bytes:
    return struct.pack(
        ">BBHBBBHB",
        0x2A,  # aload_0
        0xB7,  # invokespecial
        pool.member("java/lang/Object", "<init>", "()V"),
        0x2A,
        0x1B,  # iload_1
        0xB5,  # putfield
        pool.member(name, "number", "I"),
        0xB1,
    )


def _ask(pool: _Pool, name: str) -> tuple[bytes, bytes]:
    """The body of ``ask``, and its map of the stack."""
    throwable = struct.pack(">H", pool.cls("java/lang/Throwable"))
    error = "java/lang/IllegalStateException"
    # iconst_3, anewarray, astore_2, then a call with all variables
    begin = b"\x06\xbd" + struct.pack(">H", pool.cls("java/lang/Object")) + b"\x4d\x1a\x2b\x2c\xb8"
    begin += struct.pack(">H", pool.member(name, DECIDE, DECIDE_SIGNATURE))
    gone = b"\xbb" + struct.pack(">H", pool.cls(error)) + b"\x59\x13"
    gone += struct.pack(">H", pool.string(_GONE)) + b"\xb7"
    gone += struct.pack(">H", pool.member(error, "<init>", "(Ljava/lang/String;)V")) + b"\xbf"
    # aload_2, iconst_2, aaload, ifnonnull behind what throws
    code = begin + b"\x2c\x05\x32\xc7" + struct.pack(">h", 3 + len(gone)) + gone
    first = len(code)
    thrown = b"\x2c\x04\x32\xc0" + throwable + b"\xbf"
    # aload_2, iconst_1, aaload, ifnull behind what throws
    code += b"\x2c\x04\x32\xc6" + struct.pack(">h", 3 + len(thrown)) + thrown
    second = len(code)
    objects = pool.cls("[Ljava/lang/Object;")
    # There is a variable more than at the beginning; then the same again.
    frames = struct.pack(">HBHBHB", 2, 252, first, 7, objects, second - first - 1)
    attribute = struct.pack(">HI", pool.text("StackMapTable"), len(frames)) + frames
    return code + b"\x2c\x03\x32\xb0", struct.pack(">H", 1) + attribute


def _asking(pool: _Pool, name: str, signature: str, types: Sequence[str]) -> bytes:
    """The body of a method of the interface."""
    code = b"\x2a\xb4" + struct.pack(">H", pool.member(name, "number", "I"))
    code += struct.pack(">BBBH", 0x10, len(types), 0xBD, pool.cls("java/lang/Object"))
    slot = 1
    for place, one in enumerate(types):
        load = _LOADS.get(one[0], 0x15)
        code += struct.pack(">BBBBB", 0x59, 0x10, place, load, slot)  # dup, bipush, load
        if len(one) == 1:
            box = BOXES[one].signature[1:-1]
            code += b"\xb8" + struct.pack(">H", pool.member(box, "valueOf", f"({one})L{box};"))
        code += b"\x53"  # aastore
        slot += 1 + (one in _WIDE)
    code += b"\xb8" + struct.pack(">H", pool.member(name, "ask", _ASK_SIGNATURE))
    result = signature[signature.index(")") + 1 :]
    if result == "V":
        return code + b"\x57\xb1"  # pop, return
    if len(result) == 1:
        box = BOXES[result].signature[1:-1]
        value = f"{PRIMITIVE_NAMES[result]}Value"
        code += b"\xc0" + struct.pack(">H", pool.cls(box))
        code += b"\xb6" + struct.pack(">H", pool.member(box, value, f"(){result}"))
    else:
        target = result[1:-1] if result.startswith("L") else result
        code += b"\xc0" + struct.pack(">H", pool.cls(target))
    return code + struct.pack(">B", _RETURNS.get(result[0], 0xAC))


__all__ = [
    "DECIDE",
    "DECIDE_SIGNATURE",
    "DONE",
    "RESULT",
    "SUFFIX",
    "THROWN",
    "function_class",
]
