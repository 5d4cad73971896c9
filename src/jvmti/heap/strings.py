"""Text of ``java.lang.String`` objects, in the forms of all releases.

Since Java 9 a string has a ``byte[]`` and a coder, 0 for Latin-1 and 1 for UTF-16; before, and
with ``-XX:-CompactStrings`` its coder is always 1.  Older ones have a ``char[]``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy
from numpy.typing import NDArray

from jvmti.heap.classes import OBJECT
from jvmti.heap.library import NONE, Indices, Sizes

if TYPE_CHECKING:
    from jvmti.heap.snapshot import Snapshot

__all__ = [
    "encoded_strings",
    "read_strings",
    "string_arrays",
    "strings_containing",
    "strings_equal",
]

STRING = "java.lang.String"


def string_arrays(snapshot: Snapshot, objects: Indices) -> tuple[Indices, NDArray[numpy.uint8]]:
    """The array of each string, NONE for other objects, and its coder."""
    from jvmti.heap.objects import Objects

    arrays = numpy.full(len(objects), NONE, numpy.uint32)
    coders = numpy.zeros(len(objects), numpy.uint8)
    if STRING not in snapshot.classes:
        return arrays, coders
    [string, *_] = snapshot.classes[STRING]
    present = objects != NONE
    present[present] = snapshot._dump.class_of[objects[present]] == string.index
    # In a damaged dump they may be numbers.
    value, coder = string.field("value"), string.field("coder")
    if value is not None and value[0].type_code == OBJECT and present.any():
        strings = Objects(snapshot, objects[present])
        arrays[present] = strings["value"].indices
        if coder is not None and coder[0].type_code != OBJECT:
            coders[present] = numpy.asarray(strings["coder"]) != 0
    return arrays, coders


def encoded_strings(
    snapshot: Snapshot, objects: Indices, most: int = 0
) -> tuple[NDArray[numpy.bool_], Sizes, NDArray[numpy.uint8]]:
    """Which are strings, where the text of each ends, and all the text in UTF-8."""
    arrays, coders = string_arrays(snapshot, objects)
    ends, data = snapshot._dump.read_text(arrays, coders, most)
    return arrays != NONE, ends, data


def read_strings(snapshot: Snapshot, objects: Indices, most: int = 0) -> list[str | None]:
    """The text of each string; ``None`` for other objects."""
    valid, ends, data = encoded_strings(snapshot, objects, most)
    text = data.tobytes()
    found: list[str | None] = []
    begin = 0
    for is_string, end in zip(valid.tolist(), ends.tolist(), strict=True):
        found.append(text[begin:end].decode("utf-8", "surrogatepass") if is_string else None)
        begin = end
    return found


def strings_equal(snapshot: Snapshot, objects: Indices, text: str) -> NDArray[numpy.bool_]:
    """Which are strings with a text."""
    wanted = numpy.frombuffer(text.encode("utf-8", "surrogatepass"), numpy.uint8)
    # One byte more distinguishes longer texts from equal ones.
    valid, ends, data = encoded_strings(snapshot, objects, len(wanted) + 4)
    begins = numpy.append(numpy.zeros(1, ends.dtype), ends)[: len(ends)]
    found = valid & (ends - begins == len(wanted))
    if len(wanted) and found.any():
        windows = numpy.lib.stride_tricks.sliding_window_view(data, len(wanted))
        found[found] = (windows[begins[found]] == wanted).all(axis=1)
    return numpy.asarray(found)


def strings_containing(snapshot: Snapshot, objects: Indices, text: str) -> NDArray[numpy.bool_]:
    """Which are strings that contain a text."""
    if not text:
        raise ValueError("the text to look for is empty")
    wanted = text.encode("utf-8", "surrogatepass")
    _, ends, data = encoded_strings(snapshot, objects)
    # Only look ahead, because a match across two strings may hide another.
    pattern = re.compile(b"(?=" + re.escape(wanted) + b")", re.DOTALL)
    at = numpy.array([one.start() for one in pattern.finditer(data.data)], numpy.uint64)
    owner = numpy.searchsorted(ends, at, "right")
    found = numpy.zeros(len(objects), numpy.bool_)
    found[owner[at + len(wanted) <= ends[owner]]] = True
    return found
