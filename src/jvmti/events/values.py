"""Values whose types are known only at run time: a letter precedes each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jvmti.events.jni_buffers import JniBuffer
from jvmti.layouts.conversations import BUFFER
from jvmti.text import modified_utf8 as text
from jvmti.wire.codecs import F64, I32, I64, U64

if TYPE_CHECKING:
    from jvmti.wire.session import Session


def value_at(data: bytes, at: int, session: Session) -> tuple[Any, int]:
    """Read a type letter and its value; returns the value and the next offset."""
    letter = chr(data[at])
    at += 1
    if letter == "A":
        count = I32.unpack_from(data, at)[0]
        at += 4
        items = []
        for _ in range(count):
            item, at = value_at(data, at, session)
            items.append(item)
        return items, at
    if letter == "T":
        length = I32.unpack_from(data, at)[0]
        at += 4
        if length < 0:
            return None, at
        return text.decode(data[at : at + length]), at + length
    if letter == "D":
        return F64.unpack_from(data, at)[0], at + 8
    if letter == "J":
        return I64.unpack_from(data, at)[0], at + 8
    if letter == "b":
        kind, writable, place, length, address = BUFFER.struct.unpack_from(data, at)
        at += BUFFER.size
        if not address:
            return None, at
        return JniBuffer(
            session, kind.decode("latin-1"), bool(writable), place, length, address
        ), at
    number = U64.unpack_from(data, at)[0]
    if letter == "C":
        return chr(number), at + 8
    if letter in "Lmf":
        return (session.wrap(number) if number else None), at + 8
    if letter == "Z":
        return bool(number), at + 8
    return number, at + 8


__all__ = ["value_at"]
