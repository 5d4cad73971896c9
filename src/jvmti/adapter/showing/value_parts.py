"""Parts of things: a frame has variables, an object fields, a collection what it holds.

Each kind says how many parts it has and reads a page of them, so that a list of a million elements
costs what is shown of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from jvmti import refs
from jvmti.adapter.protocol.arguments import RequestFailed
from jvmti.adapter.showing.shown_values import text_of
from jvmti.interface.errors import Error, NotAvailable
from jvmti.model.classes.java_class import Class
from jvmti.model.objects.arrays import length_of, listed_numbers
from jvmti.model.objects.java_object import write_field
from jvmti.model.objects.layouts import layout_of
from jvmti.model.objects.reading import Contents, read_elements
from jvmti.model.values.containers import Reader, contents_of
from jvmti.model.values.conversion import supertypes
from jvmti.model.values.shown import shown_fields, shown_object
from jvmti.model.values.views import known_size

if TYPE_CHECKING:
    from jvmti.model.debug.stops import Stop
    from jvmti.model.threads.frames import Frame
    from jvmti.model.vm import VM

_MAP = "Ljava/util/Map;"
_COLLECTION = "Ljava/util/Collection;"
_LIST = "Ljava/util/List;"
_ARRAY_LIST = "Ljava/util/ArrayList;"
_SIZES = {"Z": 1, "B": 1, "C": 2, "S": 2, "I": 4, "J": 8, "F": 4, "D": 8}
NUMBERS_UNREADABLE = "not readable here: the VM keeps numbers from late agents"
"""Stands in place of the numbers of threads that no event has stopped."""

_WITHIN = 5.0
"""Seconds for a message that reads a page."""


class Part(NamedTuple):
    """A named value within another."""

    name: str
    """Its name, or its number."""
    value: Any
    """As the model has it."""
    signature: str | None = None
    """Of its declared type, where that is known."""
    path: str | None = None
    """An expression for it, where there is one."""
    contents: Contents | None = None
    """How it begins, where it is an array or a list and that is known."""
    parts: Parts | None = None
    """Its own parts, where they are not those of the value."""
    failure: str | None = None
    """Why there is no value."""
    why: str | None = None
    """The same at more length, where that is for the user to read once."""
    is_static: bool = False
    """Whether it is a static field."""
    is_final: bool = False
    """Whether it cannot be changed."""


class Parts:
    """The parts of something; base of those below.

    Attributes:
        named: how many have names, as far as that is known before they are read.
        indexed: how many have numbers.
        path: an expression for what they belong to, where there is one.
    """

    named = 0
    indexed = 0
    is_quick = True
    """Whether they are read without code of the program, and without a walk through the heap."""
    path: str | None = None

    def read_named(self) -> list[Part]:
        """The parts with names."""
        return []

    def read_indexed(self, start: int, count: int) -> list[Part]:
        """Some of the parts with numbers."""
        return []

    def write(self, name: str, value: Any) -> None:
        """Give a part another value.

        Raises:
            RequestFailed: there is none of that name, or it cannot be changed.
        """
        raise RequestFailed(f"{name} cannot be changed here")

    def field(self, name: str) -> tuple[str, str] | None:
        """The class and the name of the field that a part is; ``None`` if it is none."""
        return None

    def _below(self, name: str) -> str | None:
        return None if self.path is None else f"{self.path}{name}"


class FrameParts(Parts):
    """The local variables of a frame.

    Args:
        frame: gives the frame; the model knows whether it is still there.
        is_quick: see `Parts.is_quick`.
    """

    def __init__(self, frame: Callable[[], Frame], is_quick: bool = False) -> None:
        self._frame = frame
        self.is_quick = is_quick

    def read_named(self) -> list[Part]:
        """See `Parts.read_named`."""
        locals_ = self._frame().locals
        found = []
        for one, shown in locals_.shown():
            name = f"slot{one.slot}" if one.name is None else one.name
            if shown is None:
                failure, why = _unreadable(locals_, one)
                found.append(
                    Part(name, None, one.signature, failure=failure, why=why, is_final=True)
                )
            else:
                value, contents = shown
                is_final = name == "this" or not locals_.can_write(one)
                found.append(
                    Part(name, value, one.signature, one.name, contents, is_final=is_final)
                )
        found.sort(key=lambda part: part.name != "this")
        return found

    def write(self, name: str, value: Any) -> None:
        """See `Parts.write`."""
        if name == "this":
            raise RequestFailed(
                "no JVM lets a method run on for another object: this cannot be set"
            )
        slot = name.removeprefix("slot")
        locals_ = self._frame().locals
        key: Any = int(slot) if slot != name and slot.isdigit() and name not in locals_ else name
        locals_[key] = value


def _unreadable(locals_: Any, variable: Any) -> tuple[str, str | None]:
    """Why a variable has no value here, for where it is shown; and at more length."""
    try:
        locals_[variable.slot if variable.name is None else variable.name]
    except NotAvailable as error:
        missing = locals_.missing(variable)
        return (NUMBERS_UNREADABLE, str(error)) if missing is None else (missing, None)
    except (Error, LookupError) as error:
        return str(error), None
    return "it has no value at this place", None


class FieldParts(Parts):
    """The fields of an object, those of superclasses first."""

    def __init__(self, vm: VM, item: Any, path: str | None = None) -> None:
        self._vm = vm
        self._item = item
        self.path = path
        layout = layout_of(item.cls)
        self._keys = layout.keys
        self._has_static = bool(layout.static)
        self.named = len(self._keys) + self._has_static

    def read_named(self) -> list[Part]:
        """See `Parts.read_named`."""
        places = self._keys
        values = shown_object(self._vm, self._item)
        found = [
            Part(key, value, one.signature, self._below(f".{key}"), contents, is_final=one.is_final)
            for (key, one), (value, contents) in zip(places.items(), values, strict=True)
        ]
        if self._has_static:
            found.append(_static(self._vm, self._item.cls))
        return found

    def write(self, name: str, value: Any) -> None:
        """See `Parts.write`."""
        self._item[name] = value

    def field(self, name: str) -> tuple[str, str] | None:
        """See `Parts.field`."""
        place = self._keys.get(name)
        return None if place is None else (place.owner, place.name)


def _static(vm: VM, cls: Any) -> Part:
    return Part("static", None, parts=StaticParts(vm, cls), is_static=True, is_final=True)


class StaticParts(Parts):
    """The static fields of a class and of those above it."""

    def __init__(self, vm: VM, cls: Any) -> None:
        self._vm = vm
        self._cls = cls
        self._places = layout_of(cls).static
        self.named = len(self._places)

    def read_named(self) -> list[Part]:
        """See `Parts.read_named`."""
        places = self._places
        fields = [one.field for one in places]
        values = shown_fields(self._vm, self._cls, fields) if fields else []
        return [
            Part(
                one.name if one.owner == self._cls.name else f"{one.owner}.{one.name}",
                value,
                one.signature,
                f"{one.owner.replace('$', '.')}.{one.name}",
                contents,
                is_static=True,
                is_final=one.is_final,
            )
            for one, (value, contents) in zip(places, values, strict=True)
        ]

    def write(self, name: str, value: Any) -> None:
        """See `Parts.write`."""
        place = layout_of(self._cls).find(name, static=True)
        write_field(self._cls, self._cls, place, value)

    def field(self, name: str) -> tuple[str, str] | None:
        """See `Parts.field`."""
        place = layout_of(self._cls).find(name, static=True)
        return place.owner, place.name


class ArrayParts(Parts):
    """The elements of an array.

    Attributes:
        array: the array.
        element_size: bytes of an element of a primitive array; 0 of others.
    """

    def __init__(self, vm: VM, array: Any, length: int, path: str | None = None) -> None:
        self._vm = vm
        self.array = array
        self.path = path
        self.indexed = length
        signature = array.cls.signature[1:]
        self._signature = signature if len(signature) == 1 else None
        self.element_size = _SIZES.get(signature, 0)

    def read_indexed(self, start: int, count: int) -> list[Part]:
        """See `Parts.read_indexed`."""
        values: list[Any]
        if isinstance(self.array, refs.ObjectArray):
            values = read_elements(self._vm, self.array, start, count, timeout=_WITHIN)
        else:
            values = listed_numbers(self.array, start, count)
        return [
            Part(str(number), value, self._signature, self._below(f"[{number}]"))
            for number, value in enumerate(values, start)
        ]

    def write(self, name: str, value: Any) -> None:
        """See `Parts.write`."""
        self.array[_index(name)] = value


class CollectionParts(Parts):
    """The elements or entries of a collection, and its fields on demand."""

    is_quick = False

    def __init__(self, vm: VM, item: Any, size: int, path: str | None = None) -> None:
        self._vm = vm
        self._item = item
        self.path = path
        self.indexed = size
        self.named = 1
        kinds = supertypes(item.cls)
        self._is_map = _MAP in kinds
        self._is_list = _LIST in kinds

    def read_named(self) -> list[Part]:
        """See `Parts.read_named`."""
        fields = FieldParts(self._vm, self._item, self.path)
        return [Part("fields", None, parts=fields, is_final=True)]

    def read_indexed(self, start: int, count: int) -> list[Part]:
        """See `Parts.read_indexed`."""
        items = self._items(start, count)
        if self._is_map:
            return [
                Part(
                    _key(key),
                    value,
                    parts=EntryParts(key, value) if _is_object(key) else None,
                    is_final=True,
                )
                for key, value in items
            ]
        return [
            Part(
                str(number),
                value,
                path=self._below(f".get({number})") if self._is_list else None,
                is_final=not self._is_list,
            )
            for number, value in enumerate(items, start)
        ]

    def _items(self, start: int, count: int) -> list[Any]:
        vm, item = self._vm, self._item
        if item.cls.signature == _ARRAY_LIST:
            array = item["elementData"]
            left = max(self.indexed - start, 0)
            return read_elements(vm, array, start, min(count, left), timeout=_WITHIN)
        found = contents_of(Reader(vm, start + count, timeout=_WITHIN, unbox=False), item)
        if found is not None:
            return found.items[start : start + count]
        return list(item)[start : start + count]

    def write(self, name: str, value: Any) -> None:
        """See `Parts.write`."""
        if not self._is_list:
            raise RequestFailed("only elements of lists and arrays can be changed; evaluate a call")
        self._item.call("set", _index(name), value, signature="int, java.lang.Object")


def _is_object(value: Any) -> bool:
    return isinstance(value, refs.Object)


def _key(key: Any) -> str:
    return text_of(key)


class EntryParts(Parts):
    """The key and the value of an entry of a map."""

    named = 2

    def __init__(self, key: Any, value: Any) -> None:
        self._key = key
        self._value = value

    def read_named(self) -> list[Part]:
        """See `Parts.read_named`."""
        return [Part("key", self._key, is_final=True), Part("value", self._value, is_final=True)]


class StopParts(Parts):
    """The values that a stop has besides its frame: the exception, or the field and its value."""

    def __init__(self, stop: Stop) -> None:
        self._stop = stop
        self.named = len(self._known())

    def _known(self) -> list[Part]:
        return [
            Part(name, value, signature, is_final=True)
            for name, (value, signature) in self._stop.names.items()
        ]

    def read_named(self) -> list[Part]:
        """See `Parts.read_named`."""
        return self._known()


class AsksProgram(Exception):
    """Only code of the program knows."""


def parts_of(
    vm: VM,
    value: Any,
    path: str | None = None,
    contents: Contents | None = None,
    *,
    asks_program: bool = True,
) -> Parts:
    """The parts of an object: its elements, entries or fields.

    Args:
        vm: where it is.
        value: the object.
        path: an expression for it, where there is one.
        contents: those of an array or a list, where they are known.
        asks_program: may run code of the program, for the size of a collection.

    Raises:
        AsksProgram: there is no other way to know its size.
    """
    if isinstance(value, Class):
        return StaticParts(vm, value)
    size = None if contents is None else contents.size
    if isinstance(value, refs.Array):
        return ArrayParts(vm, value, length_of(value) if size is None else size, path)
    if size is not None:
        return CollectionParts(vm, value, size, path)
    kinds = supertypes(value.cls)
    if _MAP in kinds or _COLLECTION in kinds:
        if not asks_program:
            size = known_size(value)
            if size is None:
                raise AsksProgram
            return CollectionParts(vm, value, size, path)
        try:
            return CollectionParts(vm, value, len(value), path)
        except (Error, TypeError, LookupError):
            pass  # its size() throws: its fields may say why
    return FieldParts(vm, value, path)


def _index(name: str) -> int:
    if not name.isdigit():
        raise RequestFailed(f"{name!r} is not the number of an element")
    return int(name)


__all__ = [
    "AsksProgram",
    "ArrayParts",
    "CollectionParts",
    "FieldParts",
    "FrameParts",
    "Part",
    "Parts",
    "StaticParts",
    "StopParts",
    "parts_of",
]
