"""What the collections of the JDK hold, read from their own fields without Java code running.

Only classes whose fields say it all are here, each by its exact name; a class of the program's that
extends one may keep its elements elsewhere.  What threads of the program change meanwhile may show
or not, as in an iterator that is weakly consistent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from jvmti.model.layouts import layout_of
from jvmti.model.reading import SAME_UP_TO, read_elements, read_fields, read_linked

if TYPE_CHECKING:
    from collections.abc import Callable

    from jvmti.model.vm import VM

_SPARE = 1000
"""Entries to read beyond the size: others may come meanwhile, and a broken chain must end."""


class Contents(NamedTuple):
    """What a collection holds, or the beginning of it."""

    size: int | None
    """How many elements or entries it says it has."""
    items: list[Any]
    """Elements, or entries as pairs."""


class Reader(NamedTuple):
    """How to read: how much at most, and how much of each text."""

    vm: VM
    most: int | None
    text: int
    timeout: float | None

    def fields(self, item: Any, path: str, *names: str) -> list[Any]:
        """Fields of an object that a class of the JDK declares."""
        places = [_field(self.vm, path, name) for name in names]
        return read_fields(self.vm, item, places, unbox=True, text=self.text, timeout=self.timeout)

    def limit(self, size: int) -> int:
        """How much to read of something of that size."""
        return size if self.most is None else min(size, self.most)

    def elements(self, array: Any, size: int, start: int = 0) -> list[Any]:
        """Elements of an array of references."""
        if array is None:
            return []
        return read_elements(
            self.vm,
            array,
            start,
            self.limit(size),
            unbox=True,
            text=self.text,
            timeout=self.timeout,
        )

    def linked(
        self, start: Any, path: str, link: str, fields: list[tuple[str, str]], size: int
    ) -> list[Any]:
        """Fields of linked objects, one after the other."""
        if start is None:
            return []
        return read_linked(
            self.vm,
            start,
            _field(self.vm, path, link),
            [_field(self.vm, owner, name) for owner, name in fields],
            size * 2 + _SPARE if self.most is None else self.most,
            same=self.limit(size) <= SAME_UP_TO,
            unbox=True,
            text=self.text,
            timeout=self.timeout,
        )


def _field(vm: VM, path: str, name: str) -> Any:
    return layout_of(vm.well_known(path)).find(name).field


def _pairs(values: list[Any]) -> list[tuple[Any, Any]]:
    return list(zip(values[::2], values[1::2], strict=True))


_NODE = "java/util/HashMap$Node"
_NODE_FIELDS = [(_NODE, "key"), (_NODE, "value")]


def _hash_map(read: Reader, item: Any) -> Contents:
    size, table = read.fields(item, "java/util/HashMap", "size", "table")
    return Contents(size, _pairs(read.linked(table, _NODE, "next", _NODE_FIELDS, size)))


def _linked_hash_map(read: Reader, item: Any) -> Contents:
    (head,) = read.fields(item, "java/util/LinkedHashMap", "head")
    (size,) = read.fields(item, "java/util/HashMap", "size")
    entry = "java/util/LinkedHashMap$Entry"
    return Contents(size, _pairs(read.linked(head, entry, "after", _NODE_FIELDS, size)))


def _hashtable(read: Reader, item: Any) -> Contents:
    size, table = read.fields(item, "java/util/Hashtable", "count", "table")
    entry = "java/util/Hashtable$Entry"
    both = [(entry, "key"), (entry, "value")]
    return Contents(size, _pairs(read.linked(table, entry, "next", both, size)))


def _concurrent_hash_map(read: Reader, item: Any) -> Contents | None:
    path = "java/util/concurrent/ConcurrentHashMap"
    base, cells, table = read.fields(item, path, "baseCount", "counterCells", "table")
    entry = path + "$Node"
    size = base if cells is None else 1 << 30
    both = [(entry, "key"), (entry, "val")]
    entries = _pairs(read.linked(table, entry, "next", both, size))
    if any(key is None for key, _ in entries):
        return None  # trees, or a table that grows at the moment
    whole = read.most is None or len(entries) < read.most
    return Contents(len(entries) if whole else base if cells is None else None, entries)


def _hash_set(read: Reader, item: Any) -> Contents | None:
    (inner,) = read.fields(item, "java/util/HashSet", "map")
    entries = contents_of(read, inner)
    return entries and Contents(entries.size, [key for key, _ in entries.items])


def _array_list(read: Reader, item: Any) -> Contents:
    size, array = read.fields(item, "java/util/ArrayList", "size", "elementData")
    return Contents(size, read.elements(array, size))


def _vector(read: Reader, item: Any) -> Contents:
    size, array = read.fields(item, "java/util/Vector", "elementCount", "elementData")
    return Contents(size, read.elements(array, size))


def _priority_queue(read: Reader, item: Any) -> Contents:
    size, array = read.fields(item, "java/util/PriorityQueue", "size", "queue")
    return Contents(size, read.elements(array, size))


def _linked_list(read: Reader, item: Any) -> Contents:
    size, first = read.fields(item, "java/util/LinkedList", "size", "first")
    node = "java/util/LinkedList$Node"
    return Contents(size, read.linked(first, node, "next", [(node, "item")], size))


def _array_deque(read: Reader, item: Any) -> Contents:
    array, head, tail = read.fields(item, "java/util/ArrayDeque", "elements", "head", "tail")
    room = len(array)
    size = (tail - head) % room
    found = read.elements(array, min(size, room - head), head)
    if len(found) < read.limit(size):
        found += read.elements(array, size - len(found))[: read.limit(size) - len(found)]
    return Contents(size, found)


def _whole_array(path: str, name: str) -> Callable[[Reader, Any], Contents]:
    def read_array(read: Reader, item: Any) -> Contents:
        (array,) = read.fields(item, path, name)
        return Contents(len(array), read.elements(array, len(array)))

    return read_array


_IMMUTABLE = "java/util/ImmutableCollections"


def _immutable_set(read: Reader, item: Any) -> Contents:
    size, array = read.fields(item, _IMMUTABLE + "$SetN", "size", "elements")
    found = [one for one in _all(read, array) if one is not None]
    return Contents(size, found[: read.limit(size)])


def _immutable_map(read: Reader, item: Any) -> Contents:
    size, table = read.fields(item, _IMMUTABLE + "$MapN", "size", "table")
    entries = [entry for entry in _pairs(_all(read, table)) if entry[0] is not None]
    return Contents(size, entries[: read.limit(size)])


def _all(read: Reader, array: Any) -> list[Any]:
    """All of an array with gaps, unless only a beginning is wanted of a large one."""
    count = len(array)
    return read._replace(most=None if read.most is None else 64).elements(array, count)


def _immutable_few(name: str) -> Callable[[Reader, Any], Contents]:
    def read_few(read: Reader, item: Any) -> Contents:
        first, second = read.fields(item, f"{_IMMUTABLE}${name}", "e0", "e1")
        try:
            nothing = read.vm.well_known(_IMMUTABLE)["EMPTY"]
        except KeyError:  # before it had null for this
            nothing = None
        there = second is not None and second != nothing
        return Contents(1 + there, [first, second] if there else [first])

    return read_few


def _immutable_entry(read: Reader, item: Any) -> Contents:
    key, value = read.fields(item, _IMMUTABLE + "$Map1", "k0", "v0")
    return Contents(1, [(key, value)])


def _around(path: str, name: str) -> Callable[[Reader, Any], Contents | None]:
    """A view of another collection."""

    def read_inner(read: Reader, item: Any) -> Contents | None:
        (inner,) = read.fields(item, path, name)
        return contents_of(read, inner)

    return read_inner


def _one(path: str, *names: str) -> Callable[[Reader, Any], Contents]:
    def read_one(read: Reader, item: Any) -> Contents:
        found = read.fields(item, path, *names)
        return Contents(1, [tuple(found)] if len(names) == 2 else found)

    return read_one


def _nothing(read: Reader, item: Any) -> Contents:
    return Contents(0, [])


_COLLECTIONS = "java/util/Collections"

_READERS: dict[str, Callable[[Reader, Any], Contents | None]] = {
    "java/util/HashMap": _hash_map,
    "java/util/LinkedHashMap": _linked_hash_map,
    "java/util/Hashtable": _hashtable,
    "java/util/concurrent/ConcurrentHashMap": _concurrent_hash_map,
    "java/util/HashSet": _hash_set,
    "java/util/LinkedHashSet": _hash_set,
    "java/util/ArrayList": _array_list,
    "java/util/Vector": _vector,
    "java/util/PriorityQueue": _priority_queue,
    "java/util/LinkedList": _linked_list,
    "java/util/ArrayDeque": _array_deque,
    "java/util/Arrays$ArrayList": _whole_array("java/util/Arrays$ArrayList", "a"),
    "java/util/concurrent/CopyOnWriteArrayList": _whole_array(
        "java/util/concurrent/CopyOnWriteArrayList", "array"
    ),
    _IMMUTABLE + "$ListN": _whole_array(_IMMUTABLE + "$ListN", "elements"),
    _IMMUTABLE + "$List12": _immutable_few("List12"),
    _IMMUTABLE + "$Set12": _immutable_few("Set12"),
    _IMMUTABLE + "$SetN": _immutable_set,
    _IMMUTABLE + "$Map1": _immutable_entry,
    _IMMUTABLE + "$MapN": _immutable_map,
    _COLLECTIONS + "$UnmodifiableMap": _around(_COLLECTIONS + "$UnmodifiableMap", "m"),
    _COLLECTIONS + "$SynchronizedMap": _around(_COLLECTIONS + "$SynchronizedMap", "m"),
    _COLLECTIONS + "$SingletonList": _one(_COLLECTIONS + "$SingletonList", "element"),
    _COLLECTIONS + "$SingletonSet": _one(_COLLECTIONS + "$SingletonSet", "element"),
    _COLLECTIONS + "$SingletonMap": _one(_COLLECTIONS + "$SingletonMap", "k", "v"),
    _COLLECTIONS + "$EmptyList": _nothing,
    _COLLECTIONS + "$EmptySet": _nothing,
    _COLLECTIONS + "$EmptyMap": _nothing,
} | {
    f"{_COLLECTIONS}${how}{what}": _around(f"{_COLLECTIONS}${how}Collection", "c")
    for how in ("Unmodifiable", "Synchronized")
    for what in ("Collection", "List", "RandomAccessList", "Set")
}


def contents_of(read: Reader, item: Any) -> Contents | None:
    """What a collection holds; ``None`` where that cannot be read from its fields.

    Args:
        read: how much.
        item: the collection.
    """
    if item is None:
        return None
    signature: str = item.cls.signature
    reader = _READERS.get(signature[1:-1])
    # A class of that name from another loader is another class.
    if reader is None or read.vm.well_known(signature[1:-1]) != item.cls:
        return None
    return reader(read, item)


__all__ = ["Contents", "Reader", "contents_of"]
