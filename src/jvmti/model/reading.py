"""Many values of Java objects in one message: fields, elements, linked objects.

The agent reads them (``native/agent/values.cpp``) without running any Java code.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy

from jvmti.env.operations import OPERATIONS, Values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jvmti.model.vm import VM

SAME_UP_TO = 1000
"""Objects up to which the same Java object is the same Python object in what is read at once."""

CHUNK = 50_000
"""Elements of an array that are asked for in one message."""


class Cut(str):
    """Text of which only the beginning was read."""

    __slots__ = ()


def values_of(read: Values) -> list[Any]:
    """What the model shows for values that were read."""
    letters = read.letters
    texts = iter(_texts(read))
    objects = iter(read.objects)
    numbers = read.numbers
    if letters.count(b"t") == len(letters):
        return list(texts)
    found: list[Any] = []
    at = 0
    for letter in letters:
        if letter == 116:  # t
            found.append(next(texts))
        elif letter == 108:  # l
            found.append(next(objects))
        elif letter == 110:  # n
            found.append(None)
        elif letter == 117:  # u
            found.append(Cut(next(texts)))
        elif letter in b"DF":
            found.append(_DOUBLE.unpack_from(numbers, at)[0])
            at += 8
        else:
            number = _LONG.unpack_from(numbers, at)[0]
            at += 8
            if letter == 90:  # Z
                number = bool(number)
            elif letter == 67:  # C
                number = chr(number)
            found.append(number)
    return found


_DOUBLE = struct.Struct("<d")
_LONG = struct.Struct("<q")


def _texts(read: Values) -> list[str]:
    if not read.lengths:
        return []
    lengths = numpy.frombuffer(read.lengths, "<i4")
    units = len(read.text) // 2
    whole = read.text.decode("utf-16-le", "surrogatepass")
    ends = numpy.cumsum(lengths).tolist()
    starts = [0, *ends[:-1]]
    if len(whole) == units:
        return [whole[start:end] for start, end in zip(starts, ends, strict=True)]
    data = read.text  # some characters take two units
    return [
        data[start * 2 : end * 2].decode("utf-16-le", "surrogatepass")
        for start, end in zip(starts, ends, strict=True)
    ]


def _read(vm: VM, name: str, arguments: tuple[Any, ...], timeout: float | None) -> list[Any]:
    return values_of(vm._session.call(OPERATIONS[name], 1, arguments, timeout))


def read_fields(
    vm: VM,
    item: Any,
    fields: Sequence[Any],
    *,
    unbox: bool = False,
    text: int = -1,
    timeout: float | None = None,
) -> list[Any]:
    """The values of fields of an object, static ones of its classes among them.

    Args:
        vm: where the object is.
        item: the object.
        fields: which.
        unbox: show boxed values as what is in the box.
        text: UTF-16 units of each text at most; -1 for all.
        timeout: seconds; ``None`` is the session's limit.
    """
    return _read(vm, "read_fields", (item, fields, unbox, text, True), timeout)


def read_elements(
    vm: VM,
    array: Any,
    start: int,
    count: int,
    *,
    unbox: bool = False,
    text: int = -1,
    timeout: float | None = None,
) -> list[Any]:
    """Elements of an array of references, in messages of `CHUNK` elements.

    Args:
        vm: where the array is.
        array: the array.
        start: the first.
        count: how many; there are less where the array ends.
        unbox: show boxed values as what is in the box.
        text: UTF-16 units of each text at most; -1 for all.
        timeout: seconds; ``None`` is the session's limit.
    """
    same = count <= SAME_UP_TO
    found: list[Any] = []
    while count > 0:
        part = min(count, CHUNK)
        values = _read(vm, "read_elements", (array, start, part, unbox, text, same), timeout)
        found += values
        if len(values) < part:
            break
        start += part
        count -= part
    return found


def read_linked(
    vm: VM,
    start: Any,
    link: Any,
    fields: Sequence[Any],
    most: int,
    *,
    same: bool = True,
    unbox: bool = False,
    text: int = -1,
    timeout: float | None = None,
) -> list[Any]:
    """The values of fields of objects that are linked with each other, those of each together.

    Args:
        vm: where they are.
        start: the first object, or an array of such.
        link: the field that refers to the next.
        fields: which fields of each.
        most: objects at most.
        same: what is held already is the same Python object; that costs a tag for each object.
        unbox: show boxed values as what is in the box.
        text: UTF-16 units of each text at most; -1 for all.
        timeout: seconds; ``None`` is the session's limit.
    """
    return _read(vm, "read_linked", (start, link, fields, most, unbox, text, same), timeout)


__all__ = ["Cut", "read_elements", "read_fields", "read_linked", "values_of"]
