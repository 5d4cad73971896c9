"""The classes of a snapshot, and finding them by name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy
from numpy.typing import NDArray

from jvmti.heap.errors import NoSuchField
from jvmti.heap.library import DUMPED, HELD, NONE
from jvmti.heap.names import matching
from jvmti.interface.signatures import java_name
from jvmti.text.names import BOOTSTRAP, loader_name, similar_names
from jvmti.text.printable import escaped
from jvmti.text.quantities import quantity

if TYPE_CHECKING:
    from jvmti.heap.objects import Object, Objects
    from jvmti.heap.snapshot import Snapshot

__all__ = ["TYPES", "Class", "Classes", "Field"]

_IDENTITY = re.compile(r" @([0-9a-f]{1,8})$")
"""The identity hash at the end of a loader's ``nameAndId``, since Java 9."""
OBJECT = 2
TYPES: dict[int, tuple[str, numpy.dtype[Any]]] = {
    4: ("boolean", numpy.dtype("?")),
    5: ("char", numpy.dtype("u2")),
    6: ("float", numpy.dtype("f4")),
    7: ("double", numpy.dtype("f8")),
    8: ("byte", numpy.dtype("i1")),
    9: ("short", numpy.dtype("i2")),
    10: ("int", numpy.dtype("i4")),
    11: ("long", numpy.dtype("i8")),
}
"""Java's name and NumPy's type for the types of the file; 2 is a reference."""


class Field:
    """A field that a class declares.

    Attributes:
        name: its name.
        type: ``"int"`` and so on, or ``"object"``: a dump does not record the class.
        static: whether it belongs to the class.
    """

    __slots__ = ("declaring_class", "name", "offset", "static", "type_code", "value_bits")

    def __init__(self, declaring_class: Class, name: str, record: Any) -> None:
        self.declaring_class = declaring_class
        self.name = name
        self.static = bool(record["is_static"])
        self.type_code = int(record["type"])
        self.offset = int(record["offset"])
        self.value_bits = int(record["value"])

    @property
    def type(self) -> str:
        """The Java name of its type, ``"object"`` for a reference."""
        return "object" if self.type_code == OBJECT else TYPES[self.type_code][0]

    @escaped
    def __repr__(self) -> str:
        static = "static " if self.static else ""
        return f"<Field {static}{self.type} {self.declaring_class.name}.{self.name}>"


class Class:
    """A class of a snapshot: ``cls["STATIC_FIELD"]`` is the value of a static field."""

    __slots__ = ("_fields", "_snapshot", "index", "name")

    def __init__(self, snapshot: Snapshot, index: int, name: str) -> None:
        self._snapshot = snapshot
        self._fields: list[Field] | None = None
        self.index = index
        self.name = name
        """As Java writes it: ``java.util.Map$Entry``, ``int[]``."""

    @property
    def _record(self) -> Any:
        return self._snapshot._dump.classes[self.index]

    @property
    def superclass(self) -> Class | None:
        """The class it extends."""
        above = int(self._record["super"])
        return None if above == NONE else self._snapshot.classes.by_index(above)

    @property
    def superclasses(self) -> Iterator[Class]:
        """The classes above it, nearest first."""
        above = self.superclass
        while above is not None:
            yield above
            above = above.superclass

    @property
    def loader(self) -> Object | None:
        """The class loader that defined it; ``None`` is the bootstrap loader."""
        return self._snapshot._object(int(self._record["loader"]))

    @property
    def loader_name(self) -> str:
        """Its class loader: ``bootstrap``, ``platform``, ``app``, or its class and identity hash.

        It is ``com.acme.PluginLoader @1b2c3d`` as in the running VM, preceded by its name if it has
        one. If a dump has no texts, its number replaces the hash.
        """
        return self._snapshot.classes._loader_name(self.loader)

    @property
    def label(self) -> str:
        """Its name, followed by its loader's if several loaders have a class of that name."""
        twins = self._snapshot.classes._by_name[self.name]
        if len(twins) < 2 or not self.is_dumped:
            return self.name
        return f"{self.name} of {self.loader_name}"

    @property
    def object(self) -> Object | None:
        """The ``java.lang.Class`` object; ``None`` if the dump has only the name."""
        return self._snapshot._object(int(self._record["object"]))

    @property
    def is_array(self) -> bool:
        """Whether it is an array class."""
        return bool(self._record["element"])

    @property
    def instance_size(self) -> int:
        """Bytes that an object takes in the VM; of an array without its elements."""
        return int(self._record["size"])

    @property
    def is_held_by_vm(self) -> bool:
        """Whether its loader is one of the VM's own, which are never unloaded."""
        return bool(self._record["flags"] & HELD)

    @property
    def is_dumped(self) -> bool:
        """Whether the dump has its fields."""
        return bool(self._record["flags"] & DUMPED)

    @property
    def fields(self) -> list[Field]:
        """The fields that it declares itself, static ones first."""
        if self._fields is None:
            record, dump = self._record, self._snapshot._dump
            first = int(record["first_field"])
            count = int(record["statics"]) + int(record["fields"])
            self._fields = [
                Field(self, dump.text(int(field["name"])) or "?", field)
                for field in dump.fields[first : first + count]
            ]
        return self._fields

    @property
    def objects(self) -> Objects:
        """Its objects, without those of subclasses."""
        return self._snapshot._objects_of([self.index])

    def field(self, name: str) -> tuple[Field, int] | None:
        """A field of its objects by name, its own or inherited, and its offset.

        The offset is in bytes from the beginning of an object's fields in the file. One that a
        subclass hides is ``"com.acme.Base.number"``.
        """
        declared_by, _, name = name.rpartition(".")
        for field, at in self.fields_at():
            if field.name == name and declared_by in ("", field.declaring_class.name):
                return field, at
        return None

    def fields_at(self) -> Iterator[tuple[Field, int]]:
        """The fields that its objects have, each with its offset; superclasses' last."""
        before = 0
        for cls in (self, *self.superclasses):
            for field in cls.fields:
                if not field.static:
                    yield field, before + field.offset
            before += int(cls._record["own_bytes"])

    @property
    def all_fields(self) -> list[Field]:
        """The fields that its objects have, in the order of the file: superclasses' last."""
        return [field for field, _ in self.fields_at()]

    def __getitem__(self, name: str) -> Any:
        for cls in (self, *self.superclasses):
            for field in cls.fields:
                if field.static and field.name == name:
                    return self._snapshot._value(field.type_code, field.value_bits)
        known = [field.name for cls in (self, *self.superclasses) for field in cls.fields
                 if field.static]  # fmt: skip
        raise NoSuchField(name, similar_names(name, known), f"class {self.name} itself")

    @escaped
    def __repr__(self) -> str:
        return f"<Class {self.name}>"


class Classes:
    """All classes of a snapshot; ``classes["java.util.Map*"]`` are those that match a pattern."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        dump = snapshot._dump
        self.names: list[str] = [
            _name(dump.text(int(name)), int(element), index)
            for index, (name, element) in enumerate(
                zip(dump.classes["name"].tolist(), dump.classes["element"].tolist(), strict=True)
            )
        ]
        """The Java name of each class, by its index."""
        self._made: dict[int, Class] = {}
        self._loader_names: dict[int, str] = {}
        self._by_name: dict[str, list[int]] = {}
        for index, name in enumerate(self.names):
            self._by_name.setdefault(name, []).append(index)

    def by_index(self, index: int) -> Class:
        """A class by its number in columns."""
        made = self._made.get(index)
        if made is None:
            made = self._made[index] = Class(self._snapshot, index, self.names[index])
        return made

    def indices(self, pattern: str | Class, *, subclasses: bool = False) -> list[int]:
        """The numbers of the classes that match a name or shell pattern.

        Args:
            pattern: ``"java.util.HashMap"``, ``"com.acme.*"``, ``"*[]"``.
            subclasses: whether to include their subclasses.

        Raises:
            NoSuchClass: there are none.
        """
        if isinstance(pattern, Class):
            found = [pattern.index]
        else:
            found = (
                self._by_name.get(pattern)
                or numpy.flatnonzero(matching(self.names, pattern, "of the heap")).tolist()
            )
        if subclasses:
            chosen = self.with_subclasses(found)
            found = numpy.flatnonzero(chosen).tolist()
        return list(found)

    def _loader_name(self, loader: Object | None) -> str:
        if loader is None:
            return BOOTSTRAP
        known = self._loader_names.get(loader.index)
        if known is None:
            fields = loader.fields()
            hashed = _IDENTITY.search(_text(fields.get("nameAndId")) or "")
            known = self._loader_names[loader.index] = loader_name(
                _text(fields.get("name")),
                loader.cls.name,
                int(hashed[1], 16) if hashed else f"#{loader.index}",
            )
        return known

    def twins(self) -> dict[str, list[Class]]:
        """The classes that share their name with others, by that name."""
        dumped = self._snapshot._dump.classes["flags"] & DUMPED != 0
        found: dict[str, list[Class]] = {}
        for name, indices in self._by_name.items():
            if len(indices) > 1:
                there = [self.by_index(index) for index in indices if dumped[index]]
                if len(there) > 1:
                    found[name] = there
        return found

    def with_subclasses(self, indices: Sequence[int]) -> NDArray[numpy.bool_]:
        """Which classes are among some, or subclasses of one of them."""
        above = self._snapshot._dump.classes["super"].astype(numpy.int64)
        above[above == NONE] = len(above)
        chosen = numpy.zeros(len(above) + 1, numpy.bool_)
        chosen[list(indices)] = True
        while True:
            # One level down in each round.
            more = chosen[:-1] | chosen[above]
            if numpy.array_equal(more, chosen[:-1]):
                return more
            chosen[:-1] = more

    @overload
    def __getitem__(self, key: int) -> Class: ...
    @overload
    def __getitem__(self, key: str) -> list[Class]: ...
    def __getitem__(self, key: int | str) -> Class | list[Class]:
        if isinstance(key, str):
            return [self.by_index(index) for index in self.indices(key)]
        return self.by_index(range(len(self))[key])

    def __contains__(self, value: object) -> bool:
        if isinstance(value, str):
            return value in self._by_name
        return isinstance(value, Class) and value._snapshot is self._snapshot

    def __iter__(self) -> Iterator[Class]:
        return map(self.by_index, range(len(self)))

    def __len__(self) -> int:
        return len(self.names)

    @escaped
    def __repr__(self) -> str:
        return f"<{quantity(len(self), 'class')}>"


def _text(value: Any) -> str | None:
    """The text of a string, ``None`` for anything else and if it was blanked."""
    text: str | None = getattr(value, "text", None)
    return text if text is not None and text.strip("\0") else None


def _name(text: str | None, element: int, index: int) -> str:
    if text is None:
        if element in TYPES:
            return TYPES[element][0] + "[]"
        return "java.lang.Object[]" if element == OBJECT else f"unknown#{index}"
    if text.endswith("[]"):
        return text.replace("/", ".")
    return java_name(text if text.startswith("[") else f"L{text};")
