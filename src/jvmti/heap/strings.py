"""Text of ``java.lang.String`` objects, in the forms of all releases.

Since Java 9 a string has a ``byte[]`` and a coder, 0 for Latin-1 and 1 for UTF-16; before, and
with ``-XX:-CompactStrings`` its coder is always 1.  Older ones have a ``char[]``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy
from numpy.typing import NDArray

from jvmti.heap.classes import OBJECT
from jvmti.heap.library import NONE, Indices, Sizes

if TYPE_CHECKING:
    from jvmti.heap.snapshot import Snapshot

__all__ = ["encoded_strings", "read_strings", "string_arrays"]

STRING = "java.lang.String"


def string_arrays(snapshot: Snapshot, objects: Indices) -> tuple[Indices, NDArray[numpy.uint8]]:
    """The array behind each string, NONE for what is none, and its coder."""
    from jvmti.heap.objects import Objects

    arrays = numpy.full(len(objects), NONE, numpy.uint32)
    coders = numpy.zeros(len(objects), numpy.uint8)
    if STRING not in snapshot.classes:
        return arrays, coders
    [string, *_] = snapshot.classes[STRING]
    present = objects != NONE
    present[present] = snapshot._dump.class_of[objects[present]] == string.index
    # A damaged dump may have it that they are numbers.
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
    """The text of each string; ``None`` for what is none."""
    valid, ends, data = encoded_strings(snapshot, objects, most)
    text = data.tobytes()
    found: list[str | None] = []
    begin = 0
    for is_string, end in zip(valid.tolist(), ends.tolist(), strict=True):
        found.append(text[begin:end].decode("utf-8", "surrogatepass") if is_string else None)
        begin = end
    return found
