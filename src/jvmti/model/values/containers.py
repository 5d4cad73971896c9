"""The contents of the JDK's collections, read from their fields without running Java code.

Only classes whose fields have all elements are here, each by its exact name; a subclass in the
program may keep its elements elsewhere. Concurrent changes may or may not show, as in a weakly
consistent iterator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from jvmti.deferred import numpy
from jvmti.model.objects.layouts import layout_of
from jvmti.model.objects.reading import (
    SAME_UP_TO,
    Contents,
    read_elements,
    read_fields,
    read_linked,
    read_tree,
)

if TYPE_CHECKING:
    from jvmti.model.vm import VM

_SPARE = 1000
"""Entries to read beyond the size: more may come meanwhile, but reading must end."""
_ENDLESS = 10_000_000
"""Elements to read at most where no size is known."""
_TRIES = 3


class Reader(NamedTuple):
    """How to read: how much at most, and how much of each text."""

    vm: VM
    most: int | None = None
    """Elements at most; with 0 nothing but the size is wanted."""
    text: int = -1
    timeout: float | None = None
    unbox: bool = True

    def fields(self, item: Any, path: str, *names: str) -> list[Any]:
        """Fields of an object that a class of the JDK declares."""
        places = [_field(self.vm, path, name) for name in names]
        return read_fields(self.vm, item, places, **self._how)

    @property
    def _how(self) -> dict[str, Any]:
        return {"unbox": self.unbox, "text": self.text, "timeout": self.timeout}

    def limit(self, size: int) -> int:
        """How much to read of something of that size."""
        return size if self.most is None else min(size, self.most)

    def elements(self, array: Any, size: int, start: int = 0) -> list[Any]:
        """Elements of an array of references."""
        if array is None:
            return []
        return read_elements(self.vm, array, start, self.limit(size), **self._how)

    def linked(
        self,
        start: Any,
        link: tuple[str, str],
        fields: Sequence[tuple[str, str]],
        size: int | None,
        aside: Sequence[tuple[str, str]] = (),
    ) -> list[Any]:
        """Fields of linked objects, one after the other."""
        if start is None:
            return []
        return read_linked(
            self.vm,
            start,
            _field(self.vm, *link),
            [_field(self.vm, *one) for one in fields],
            self._steps(size),
            aside=[_field(self.vm, *one) for one in aside],
            same=self._same(size),
            **self._how,
        )

    def tree(
        self, root: Any, path: str, sides: tuple[str, str], names: tuple[str, ...], size: int
    ) -> list[Any]:
        """Fields of the objects of a binary tree, one after the other."""
        if root is None:
            return []
        left, right = (_field(self.vm, path, side) for side in sides)
        return read_tree(
            self.vm,
            root,
            left,
            right,
            [_field(self.vm, path, name) for name in names],
            self._steps(size),
            same=self._same(size),
            **self._how,
        )

    def _steps(self, size: int | None) -> int:
        if self.most is not None:
            return self.most
        return _ENDLESS if size is None else max(size, 0) * 2 + _SPARE

    def _same(self, size: int | None) -> bool:
        return self.limit(_ENDLESS if size is None else size) <= SAME_UP_TO

    def constant(self, path: str, name: str) -> Any:
        """A static field of a class of the JDK."""
        return self.vm.bootstrap_class(path)[name]


def _field(vm: VM, path: str, name: str) -> Any:
    return layout_of(vm.bootstrap_class(path)).find(name).field


_LIST_FIELDS = ("java/util/ArrayList", "size", "elementData")


def list_fields(vm: VM) -> list[Any]:
    """Where the commonest kind of list has its size and its elements, for the agent to read."""
    path, *names = _LIST_FIELDS
    layout = layout_of(vm.bootstrap_class(path))
    return [layout.find(name).field for name in names]


def _pairs(values: list[Any]) -> list[tuple[Any, Any]]:
    return list(zip(values[::2], values[1::2], strict=True))


Shape = Callable[[Reader, Any], Contents | None]

# ---- maps ------------------------------------------------------------------------------------

_NODE = "java/util/HashMap$Node"
_NODE_FIELDS = [(_NODE, "key"), (_NODE, "value")]


def _hash_map(read: Reader, item: Any) -> Contents:
    size, table = read.fields(item, "java/util/HashMap", "size", "table")
    return Contents(size, _pairs(read.linked(table, (_NODE, "next"), _NODE_FIELDS, size)))


def _linked_hash_map(read: Reader, item: Any) -> Contents:
    (head,) = read.fields(item, "java/util/LinkedHashMap", "head")
    (size,) = read.fields(item, "java/util/HashMap", "size")
    link = ("java/util/LinkedHashMap$Entry", "after")
    return Contents(size, _pairs(read.linked(head, link, _NODE_FIELDS, size)))


def _hashtable(read: Reader, item: Any) -> Contents:
    size, table = read.fields(item, "java/util/Hashtable", "count", "table")
    entry = "java/util/Hashtable$Entry"
    both = [(entry, "key"), (entry, "value")]
    return Contents(size, _pairs(read.linked(table, (entry, "next"), both, size)))


_CONCURRENT = "java/util/concurrent/ConcurrentHashMap"


def _concurrent_hash_map(read: Reader, item: Any) -> Contents:
    base, cells, table = read.fields(item, _CONCURRENT, "baseCount", "counterCells", "table")
    size = max(base + _counted(read, cells), 0)
    entry = _CONCURRENT + "$Node"
    found = read.linked(
        table,
        (entry, "next"),
        [(entry, "key"), (entry, "val")],
        size,
        # What a table has in place of a chain: a tree, or where its entries have moved to.
        aside=[(_CONCURRENT + "$TreeBin", "first"), (_CONCURRENT + "$ForwardingNode", "nextTable")],
    )
    # A place where a value is just being computed has neither.
    entries = [entry for entry in _pairs(found) if entry[0] is not None]
    whole = read.most is None or len(found) < 2 * read.most
    return Contents(len(entries) if whole else size, entries)


def _counted(read: Reader, cells: Any) -> int:
    """The separate counts of contending threads."""
    if cells is None:
        return 0
    path = _CONCURRENT + "$CounterCell"
    each = read._replace(most=None).elements(cells, len(cells))
    return sum(read.fields(one, path, "value")[0] for one in each if one is not None)


def _tree_map(read: Reader, item: Any) -> Contents:
    size, root = read.fields(item, "java/util/TreeMap", "size", "root")
    path = "java/util/TreeMap$Entry"
    return Contents(size, _pairs(read.tree(root, path, ("left", "right"), ("key", "value"), size)))


_SKIP_LIST = "java/util/concurrent/ConcurrentSkipListMap"


def _skip_list_map(read: Reader, item: Any) -> Contents | None:
    (head,) = read.fields(item, _SKIP_LIST, "head")
    if head is None:
        return Contents(0, [])
    (first,) = read.fields(head, _SKIP_LIST + "$Index", "node")
    node = _SKIP_LIST + "$Node"
    names = layout_of(read.vm.bootstrap_class(node)).names
    both = [(node, "key"), (node, "val" if "val" in names else "value")]
    wanted = read if read.most is None else read._replace(most=2 * read.most + 1)
    found = read.linked if read.most is None else wanted.linked
    entries = _pairs(found(first, (node, "next"), both, None))
    # The first node, markers, and what is being removed have no key or no value.
    entries = [one for one in entries if one[0] is not None and one[1] is not None]
    if read.most is not None:
        return Contents(None, entries[: read.most])
    return Contents(len(entries), entries)


def _in_turns(read: Reader, array: Any, empty: Any) -> list[tuple[Any, Any]]:
    """Entries of an array that has keys and values in turns, and gaps."""
    entries = _pairs(_all(read, array, even=True))
    return [(None if key == empty else key, value) for key, value in entries if key is not None]


def _identity_map(read: Reader, item: Any) -> Contents:
    path = "java/util/IdentityHashMap"
    size, table = read.fields(item, path, "size", "table")
    entries = _in_turns(read, table, read.constant(path, "NULL_KEY"))
    return Contents(size, entries[: read.limit(size)])


def _weak_map(read: Reader, item: Any) -> Contents:
    """Entries stay in the table after their key is collected, until the next call of the map."""
    path = "java/util/WeakHashMap"
    size, table = read.fields(item, path, "size", "table")
    entry = path + "$Entry"
    both = [("java/lang/ref/Reference", "referent"), (entry, "value")]
    found = _pairs(read.linked(table, (entry, "next"), both, size))
    empty = read.constant(path, "NULL_KEY")
    entries = [(None if key == empty else key, value) for key, value in found if key is not None]
    whole = read.most is None or len(found) < read.most
    return Contents(len(entries) if whole else None, entries)


def _enum_map(read: Reader, item: Any) -> Contents:
    path = "java/util/EnumMap"
    size, keys, values = read.fields(item, path, "size", "keyUniverse", "vals")
    empty = read.constant(path, "NULL")
    entries = [
        (key, None if value == empty else value)
        for key, value in zip(_all(read, keys), _all(read, values), strict=False)
        if value is not None
    ]
    return Contents(size, entries[: read.limit(size)])


# ---- lists, queues and sets --------------------------------------------------------------------


def _keys(path: str, name: str) -> Shape:
    """A set backed by a map, or the view of a map's keys."""

    def read_keys(read: Reader, item: Any) -> Contents | None:
        found = _inner(read, item, path, name)
        return found and Contents(found.size, [key for key, _ in found.items])

    return read_keys


def _values(path: str, name: str) -> Shape:
    """The view of the values of a map."""

    def read_values(read: Reader, item: Any) -> Contents | None:
        found = _inner(read, item, path, name)
        return found and Contents(found.size, [value for _, value in found.items])

    return read_values


def _around(path: str, name: str) -> Shape:
    """A view of another collection."""
    return lambda read, item: _inner(read, item, path, name)


def _inner(read: Reader, item: Any, path: str, name: str) -> Contents | None:
    (inner,) = read.fields(item, path, name)
    return contents_of(read, inner)


def _sized(path: str, size: str, array: str, *, gaps: bool = True) -> Shape:
    """The beginning of an array."""

    def read_sized(read: Reader, item: Any) -> Contents:
        count, elements = read.fields(item, path, size, array)
        found = read.elements(elements, count)
        # A queue holds no null: an element is just being taken or put.
        return Contents(count, found if gaps else [one for one in found if one is not None])

    return read_sized


def _linked_list(read: Reader, item: Any) -> Contents:
    size, first = read.fields(item, "java/util/LinkedList", "size", "first")
    node = "java/util/LinkedList$Node"
    return Contents(size, read.linked(first, (node, "next"), [(node, "item")], size))


def _queue(path: str, first: str) -> Shape:
    """Linked nodes from which others take at the front; a node that was taken ends the chain."""
    node = path + "$Node"

    def read_queue(read: Reader, item: Any) -> Contents | None:
        for _ in range(_TRIES):
            (start,) = read.fields(item, path, first)
            found = read.linked(start, (node, "next"), [(node, "item")], None)
            whole = read.most is None or len(found) < read.most
            if not whole or read.fields(item, path, first) == [start]:
                found = [one for one in found if one is not None]
                return Contents(len(found) if whole else None, found)
        return None

    return read_queue


def _circle(read: Reader, array: Any, start: int, size: int) -> Contents:
    """A part of an array that wraps around to its beginning."""
    capacity = 0 if array is None else len(array)
    found = read.elements(array, min(size, max(capacity - start, 0)), start)
    if len(found) < read.limit(size):
        found += read.elements(array, size - len(found))[: read.limit(size) - len(found)]
    return Contents(size, [one for one in found if one is not None])


def _array_deque(read: Reader, item: Any) -> Contents:
    array, head, tail = read.fields(item, "java/util/ArrayDeque", "elements", "head", "tail")
    return _circle(read, array, head, (tail - head) % len(array))


def _array_queue(read: Reader, item: Any) -> Contents:
    path = "java/util/concurrent/ArrayBlockingQueue"
    array, start, size = read.fields(item, path, "items", "takeIndex", "count")
    return _circle(read, array, start, size)


def _whole_array(path: str, name: str) -> Shape:
    def read_array(read: Reader, item: Any) -> Contents:
        (array,) = read.fields(item, path, name)
        return Contents(len(array), read.elements(array, len(array)))

    return read_array


def _part(path: str, start: str, whole: str) -> Shape:
    """A part of a list, by the list and where it begins."""

    def read_part(read: Reader, item: Any) -> Contents | None:
        inner, at, size = read.fields(item, path, whole, start, "size")
        read_whole = read if read.most is None else read._replace(most=at + read.limit(size))
        found = contents_of(read_whole, inner)
        return found and Contents(size, found.items[at : at + read.limit(size)])

    return read_part


def _copies(read: Reader, item: Any) -> Contents:
    size, element = read.fields(item, _COLLECTIONS + "$CopiesList", "n", "element")
    return Contents(size, [element] * read.limit(size))


def _enum_set(read: Reader, item: Any) -> Contents:
    bits, universe = _members(read, item)
    constants = _all(read, universe)
    found = [one for at, one in enumerate(constants) if bits >> at & 1]
    return Contents(bits.bit_count(), found[: read.limit(len(found))])


def _members(read: Reader, item: Any) -> tuple[int, Any]:
    (universe,) = read.fields(item, "java/util/EnumSet", "universe")
    (bits,) = read.fields(item, item.cls.signature[1:-1], "elements")
    return _bits([bits] if isinstance(bits, int) else bits[:].tolist()), universe


def _bits(words: list[int]) -> int:
    """The bits of words of 64, the first the lowest."""
    return int.from_bytes(b"".join((one & _WORD).to_bytes(8, "little") for one in words), "little")


_WORD = (1 << 64) - 1


def _bit_set(read: Reader, item: Any) -> Contents:
    """A ``BitSet`` is not a collection, but holds numbers too."""
    words, count = read.fields(item, "java/util/BitSet", "words", "wordsInUse")
    used = numpy.asarray(words[:count]).astype("<i8")
    bits = numpy.unpackbits(used.view(numpy.uint8), bitorder="little")
    found = numpy.flatnonzero(bits)
    return Contents(len(found), found[: read.limit(len(found))].tolist())


_IMMUTABLE = "java/util/ImmutableCollections"


def _immutable_set(read: Reader, item: Any) -> Contents:
    size, array = read.fields(item, _IMMUTABLE + "$SetN", "size", "elements")
    found = [one for one in _all(read, array) if one is not None]
    return Contents(size, found[: read.limit(size)])


def _immutable_map(read: Reader, item: Any) -> Contents:
    size, table = read.fields(item, _IMMUTABLE + "$MapN", "size", "table")
    entries = [entry for entry in _pairs(_all(read, table, even=True)) if entry[0] is not None]
    return Contents(size, entries[: read.limit(size)])


def _all(read: Reader, array: Any, *, even: bool = False) -> list[Any]:
    """All of an array with gaps, unless only a beginning is wanted of a large one."""
    if array is None or read.most == 0:
        return []
    found = read._replace(most=None if read.most is None else 64).elements(array, len(array))
    return found[: len(found) & ~1] if even else found


def _immutable_few(name: str) -> Shape:
    def read_few(read: Reader, item: Any) -> Contents:
        first, second = read.fields(item, f"{_IMMUTABLE}${name}", "e0", "e1")
        try:
            nothing = read.constant(_IMMUTABLE, "EMPTY")
        except KeyError:  # before it had null for this
            nothing = None
        there = second is not None and second != nothing
        return Contents(1 + there, [first, second] if there else [first])

    return read_few


def _one(path: str, *names: str) -> Shape:
    def read_one(read: Reader, item: Any) -> Contents:
        found = read.fields(item, path, *names)
        return Contents(1, [tuple(found)] if len(names) == 2 else found)

    return read_one


def _nothing(read: Reader, item: Any) -> Contents:
    return Contents(0, [])


# ---- which class is read how -------------------------------------------------------------------

_UTIL = "java/util/"
_MANY = "java/util/concurrent/"
_COLLECTIONS = "java/util/Collections"

_SHAPES: dict[str, Shape] = {
    _UTIL + "HashMap": _hash_map,
    _UTIL + "LinkedHashMap": _linked_hash_map,
    _UTIL + "TreeMap": _tree_map,
    _UTIL + "Hashtable": _hashtable,
    _UTIL + "Properties": _around(_UTIL + "Properties", "map"),
    _UTIL + "IdentityHashMap": _identity_map,
    _UTIL + "WeakHashMap": _weak_map,
    _UTIL + "EnumMap": _enum_map,
    _CONCURRENT: _concurrent_hash_map,
    _SKIP_LIST: _skip_list_map,
    _UTIL + "HashSet": _keys(_UTIL + "HashSet", "map"),
    _UTIL + "LinkedHashSet": _keys(_UTIL + "HashSet", "map"),
    _UTIL + "TreeSet": _keys(_UTIL + "TreeSet", "m"),
    _MANY + "ConcurrentSkipListSet": _keys(_MANY + "ConcurrentSkipListSet", "m"),
    _MANY + "CopyOnWriteArraySet": _around(_MANY + "CopyOnWriteArraySet", "al"),
    _UTIL + "BitSet": _bit_set,
    _UTIL + "RegularEnumSet": _enum_set,
    _UTIL + "JumboEnumSet": _enum_set,
    _UTIL + "ArrayList": _sized(*_LIST_FIELDS),
    _UTIL + "ArrayList$SubList": _part(_UTIL + "ArrayList$SubList", "offset", "root"),
    _UTIL + "Vector": _sized(_UTIL + "Vector", "elementCount", "elementData"),
    _UTIL + "Stack": _sized(_UTIL + "Vector", "elementCount", "elementData"),
    _UTIL + "LinkedList": _linked_list,
    _UTIL + "Arrays$ArrayList": _whole_array(_UTIL + "Arrays$ArrayList", "a"),
    _MANY + "CopyOnWriteArrayList": _whole_array(_MANY + "CopyOnWriteArrayList", "array"),
    _UTIL + "ArrayDeque": _array_deque,
    _UTIL + "PriorityQueue": _sized(_UTIL + "PriorityQueue", "size", "queue", gaps=False),
    _MANY + "PriorityBlockingQueue": _sized(
        _MANY + "PriorityBlockingQueue", "size", "queue", gaps=False
    ),
    _MANY + "DelayQueue": _around(_MANY + "DelayQueue", "q"),
    _MANY + "ArrayBlockingQueue": _array_queue,
    _MANY + "LinkedBlockingQueue": _queue(_MANY + "LinkedBlockingQueue", "head"),
    _MANY + "LinkedBlockingDeque": _queue(_MANY + "LinkedBlockingDeque", "first"),
    _MANY + "ConcurrentLinkedQueue": _queue(_MANY + "ConcurrentLinkedQueue", "head"),
    _MANY + "SynchronousQueue": _nothing,
    _IMMUTABLE + "$ListN": _whole_array(_IMMUTABLE + "$ListN", "elements"),
    _IMMUTABLE + "$List12": _immutable_few("List12"),
    _IMMUTABLE + "$SubList": _part(_IMMUTABLE + "$SubList", "offset", "root"),
    _IMMUTABLE + "$Set12": _immutable_few("Set12"),
    _IMMUTABLE + "$SetN": _immutable_set,
    _IMMUTABLE + "$Map1": _one(_IMMUTABLE + "$Map1", "k0", "v0"),
    _IMMUTABLE + "$MapN": _immutable_map,
    _COLLECTIONS + "$SingletonList": _one(_COLLECTIONS + "$SingletonList", "element"),
    _COLLECTIONS + "$SingletonSet": _one(_COLLECTIONS + "$SingletonSet", "element"),
    _COLLECTIONS + "$SingletonMap": _one(_COLLECTIONS + "$SingletonMap", "k", "v"),
    _COLLECTIONS + "$CopiesList": _copies,
    _COLLECTIONS + "$SetFromMap": _keys(_COLLECTIONS + "$SetFromMap", "m"),
    _COLLECTIONS + "$AsLIFOQueue": _around(_COLLECTIONS + "$AsLIFOQueue", "q"),
    _UTIL + "HashMap$KeySet": _keys(_UTIL + "HashMap$KeySet", "this$0"),
    _UTIL + "HashMap$Values": _values(_UTIL + "HashMap$Values", "this$0"),
    _UTIL + "LinkedHashMap$LinkedKeySet": _keys(_UTIL + "LinkedHashMap$LinkedKeySet", "this$0"),
    _UTIL + "LinkedHashMap$LinkedValues": _values(_UTIL + "LinkedHashMap$LinkedValues", "this$0"),
    _UTIL + "TreeMap$KeySet": _keys(_UTIL + "TreeMap$KeySet", "m"),
    _UTIL + "TreeMap$Values": _values(_UTIL + "TreeMap$Values", "this$0"),
    _CONCURRENT + "$KeySetView": _keys(_CONCURRENT + "$CollectionView", "map"),
    _CONCURRENT + "$ValuesView": _values(_CONCURRENT + "$CollectionView", "map"),
}
_SHAPES |= {f"{_COLLECTIONS}$Empty{what}": _nothing for what in ("List", "Set", "Map")}
_SHAPES |= {
    f"{_COLLECTIONS}${how}{what}": _around(f"{_COLLECTIONS}${how}{base}", field)
    for how in ("Unmodifiable", "Synchronized", "Checked")
    for base, field, kinds in (
        (
            "Collection",
            "c",
            (
                "Collection List RandomAccessList Set SortedSet NavigableSet Queue"
                " SequencedCollection SequencedSet NavigableSet$EmptyNavigableSet"
            ),
        ),
        ("Map", "m", "Map SortedMap NavigableMap SequencedMap NavigableMap$EmptyNavigableMap"),
    )
    for what in kinds.split()
}


def contents_of(read: Reader, item: Any) -> Contents | None:
    """The contents of a collection; ``None`` if its fields do not have them.

    Args:
        read: how much.
        item: the collection.
    """
    if item is None:
        return None
    signature: str = item.cls.signature
    shape = _SHAPES.get(signature[1:-1])
    # A class of that name from another loader is another class.
    if shape is None or read.vm.bootstrap_class(signature[1:-1]) != item.cls:
        return None
    try:
        return shape(read, item)
    except KeyError:  # a JDK whose class has other fields
        return None


__all__ = ["Contents", "Reader", "contents_of"]
