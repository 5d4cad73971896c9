"""Many values of Java objects in one message: fields, elements, linked objects.

The agent reads them (``native/agent/operations/object_reader.cpp``) without running any Java code.
"""

from __future__ import annotations

import codecs
import functools
import itertools
import operator
import struct
from typing import TYPE_CHECKING, Any, NamedTuple

from jvmti.interface.declaration import declared
from jvmti.interface.errors import ProtocolError
from jvmti.layouts.values import COUNTS, Letter
from jvmti.operations.agent import AgentOperations
from jvmti.operations.functions import Operations, Values
from jvmti.wire.codecs import U64, codec_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from jvmti.model.vm import VM

SAME_UP_TO = 1000
"""Up to this many objects in one reply, the same Java object is the same Python object."""

CHUNK = 50_000
"""Elements of an array to request in one message."""


class TruncatedText(str):
    """Text of which only the beginning was read."""

    __slots__ = ()


class Contents(NamedTuple):
    """The contents of an array or a collection, or their beginning."""

    size: int | None
    """How many elements or entries it says it has; ``None`` where it does not say."""
    items: list[Any]
    """Elements, or entries as pairs."""


def values_of(read: Values) -> list[Any]:
    """The model's objects for values that were read."""
    return _values_of(read)[0]


Shown = tuple[Any, "Contents | None"]
"""A value and its contents, where they are known."""


def shown_of(read: Values) -> list[Shown]:
    """The same for values that were read with their contents."""
    values, letters = _values_of(read)
    return [
        (values[at], Contents(values[at + 1], values[at + 2 : end]) if end else None)
        for at, end in _places_shown(letters)
    ]


@functools.lru_cache(1024)
def _places_shown(letters: bytes) -> list[tuple[int, int]]:
    """For each value its place, and that of the end of its contents; 0 where it has none."""
    found = []
    at = 0
    while at < len(letters):
        end = 0
        if letters[at + 1 : at + 2] == _CONTENTS:
            end = letters.find(Letter.END, at)
            if end < 0:
                raise ProtocolError("the contents of a value have no end")
        found.append((at, end))
        at = (end or at) + 1
    return found


def _values_of(read: Values) -> tuple[list[Any], bytes]:
    data, objects = read
    count, numbers, texts = _COUNTS.unpack_from(data)
    lengths_at = _NUMBERS_AT + 8 * numbers
    letters_at = lengths_at + 4 * texts
    text_at = letters_at + count
    letters = data[letters_at:text_at]
    plan = _plan(letters) if count <= _PLANNED else _Plan(letters)
    found: list[Any] = []
    if texts:
        found = _texts(plan.lengths.unpack_from(data, lengths_at), data[text_at:])
        if texts == count and not plan.truncated_texts:
            return found, letters
    values = list(plan.pick([*plan.numbers.unpack_from(data, _NUMBERS_AT), *found, *objects, None]))
    for place in plan.characters:
        values[place] = chr(values[place])
    for place in plan.truncated_texts:
        values[place] = TruncatedText(values[place])
    return values, letters


_COUNTS = COUNTS.struct
_CONTENTS = bytes([Letter.CONTENTS])
_OTHERS = bytes(Letter).replace(_CONTENTS, b"")
_NUMBERS_AT = _COUNTS.size
_CODES = dict.fromkeys(["B", "C", "S", "I", "J", chr(Letter.CONTENTS)], "q")
_CODES |= {"Z": "?7x", "F": "d", "D": "d"}
_PLANNED = 256
"""Values up to which is remembered how they lie in a reply: objects of a class are alike."""


class _Plan:
    """Where the values with certain letters are: numbers first, then texts, objects and null."""

    __slots__ = ("characters", "truncated_texts", "lengths", "numbers", "pick")

    def __init__(self, letters: bytes) -> None:
        self.numbers = struct.Struct(
            "<" + "".join(map(_CODES.__getitem__, letters.translate(None, _OTHERS).decode()))
        )
        nulls = letters.count(Letter.NULL) + letters.count(Letter.END)
        objects = letters.count(Letter.OBJECT)
        texts = letters.count(Letter.TEXT) + letters.count(Letter.TEXT_CUT)
        count = len(letters)
        number = itertools.count()
        text = itertools.count(count - nulls - objects - texts)
        item = itertools.count(count - nulls - objects)
        sources: dict[int, Iterator[int]] = dict.fromkeys(b"ZBCSIJFD" + _CONTENTS, number)
        sources |= {int(Letter.TEXT): text, int(Letter.TEXT_CUT): text, int(Letter.OBJECT): item}
        sources |= dict.fromkeys((Letter.NULL, Letter.END), itertools.repeat(count - nulls))
        places = [next(sources[letter]) for letter in letters]
        self.pick: Callable[[list[Any]], Iterable[Any]]
        if len(places) > 1:
            self.pick = operator.itemgetter(*places)
        else:  # which would give no tuple
            self.pick = lambda pool: [pool[place] for place in places]
        self.lengths = struct.Struct(f"<{texts}i")
        self.characters = _places(letters, b"C")
        self.truncated_texts = _places(letters, bytes([Letter.TEXT_CUT]))


def _places(letters: bytes, wanted: bytes) -> list[int]:
    if wanted not in letters:
        return []
    return [place for place, letter in enumerate(letters) if letter == wanted[0]]


_plan = functools.lru_cache(1024)(_Plan)


def _texts(lengths: tuple[int, ...], text: bytes) -> list[str]:
    whole, _ = codecs.utf_16_le_decode(text, "surrogatepass", True)
    plain = len(whole) * 2 == len(text)
    found = []
    at = 0
    for length in lengths:
        end = at + length
        if plain:
            found.append(whole[at:end])
        else:  # some characters take two units
            found.append(text[at * 2 : end * 2].decode("utf-16-le", "surrogatepass"))
        at = end
    return found


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
        unbox: show the values in boxes, not the boxes.
        text: UTF-16 units of each text at most; -1 for all.
        timeout: seconds; ``None`` is the session's limit.
    """
    agent = AgentOperations(vm._session, timeout=timeout)
    return values_of(agent.read_fields(item, [*fields], unbox, text, True))


class ReadyCall:
    """An operation on many objects with the same further arguments, written for the agent once.

    Args:
        vm: where they are.
        operation: the operation.
        further: its arguments after the object.
        environment: the number of the environment that calls it.
    """

    __slots__ = ("_after", "_declaration", "_environment", "_put")

    def __init__(
        self, vm: VM, operation: Callable[..., Any], *further: Any, environment: int = 1
    ) -> None:
        parts: list[bytes] = []
        self._environment = environment
        self._declaration = declared(operation)
        self._put, *encoders = codec_of(self._declaration).encoders
        for put, value in zip(encoders, further, strict=True):
            put(value, parts, vm._session)
        self._after = b"".join(parts)

    def of(self, item: Any) -> Any:
        """The result for an object."""
        session = item._session
        if not item._handle:
            self._put(item, [], session)  # which tells that it has been released
        data = U64.pack(item._handle) + self._after
        return session.call_encoded(self._declaration, self._environment, data, None)


def fields_of(vm: VM, fields: Sequence[Any]) -> ReadyCall:
    """Reads fields of many objects, all of them as they are."""
    return ReadyCall(vm, Operations.read_fields, fields, False, -1, True)


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
        unbox: show the values in boxes, not the boxes.
        text: UTF-16 units of each text at most; -1 for all.
        timeout: seconds; ``None`` is the session's limit.
    """
    agent = AgentOperations(vm._session, timeout=timeout)
    same = count <= SAME_UP_TO
    found: list[Any] = []
    while count > 0:
        part = min(count, CHUNK)
        values = values_of(agent.read_elements(array, start, part, unbox, text, same))
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
    aside: Sequence[Any] = (),
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
        aside: fields of what stands for others in such a list; see the operation.
        same: an object that is held already stays the same Python object, at a tag for each.
        unbox: show the values in boxes, not the boxes.
        text: UTF-16 units of each text at most; -1 for all.
        timeout: seconds; ``None`` is the session's limit.
    """
    agent = AgentOperations(vm._session, timeout=timeout)
    most = min(most, _MOST)
    return values_of(agent.read_linked(start, link, [*aside], [*fields], most, unbox, text, same))


def read_tree(
    vm: VM,
    root: Any,
    left: Any,
    right: Any,
    fields: Sequence[Any],
    most: int,
    *,
    same: bool = True,
    unbox: bool = False,
    text: int = -1,
    timeout: float | None = None,
) -> list[Any]:
    """The values of fields of objects that are a binary tree, in its order.

    Args:
        vm: where they are.
        root: the uppermost object.
        left: the field that refers to what is before an object.
        right: the field that refers to what is behind it.
        fields: which fields of each.
        most: objects at most.
        same: an object that is held already stays the same Python object, at a tag for each.
        unbox: show the values in boxes, not the boxes.
        text: UTF-16 units of each text at most; -1 for all.
        timeout: seconds; ``None`` is the session's limit.
    """
    agent = AgentOperations(vm._session, timeout=timeout)
    most = min(most, _MOST)
    return values_of(agent.read_tree(root, left, right, [*fields], most, unbox, text, same))


_MOST = 2**31 - 1

__all__ = [
    "Contents",
    "ReadyCall",
    "Shown",
    "TruncatedText",
    "fields_of",
    "read_elements",
    "read_fields",
    "read_linked",
    "read_tree",
    "shown_of",
    "values_of",
]
