"""The fields of a class's objects, including those of superclasses."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

from jvmti.interface.errors import ErrorCode
from jvmti.interface.signatures import java_name
from jvmti.model.classes.ancestry import Ancestry
from jvmti.model.objects.reading import ReadyCall, fields_of
from jvmti.text.names import suggestion
from jvmti.text.printable import escaped

if TYPE_CHECKING:
    from jvmti.model.classes.java_class import Class
    from jvmti.model.vm import VM

STATIC = 0x0008
FINAL = 0x0010

_NOT_PREPARED = int(ErrorCode.CLASS_NOT_PREPARED)


class Place(NamedTuple):
    """A field where it is declared."""

    field: Any
    name: str
    signature: str
    modifiers: int
    owner: str
    """The Java name of the class that declares it."""

    @property
    def is_static(self) -> bool:
        """Whether it is the class's."""
        return bool(self.modifiers & STATIC)

    @property
    def is_final(self) -> bool:
        """Whether it is final."""
        return bool(self.modifiers & FINAL)

    @escaped
    def __str__(self) -> str:
        return f"{self.owner}.{self.name} ({java_name(self.signature)})"


class Layout:
    """The fields of a class and of everything above it, the nearest first.

    Attributes:
        places: all of them.
        keys: the instance fields by the name that they are shown with: that of the field, or
            ``Owner.field`` where one nearer has the name already; those of superclasses first.
        static: the static fields.
        all: reads the instance fields at once.
        shown: reads them to be shown, once that has been asked for.
    """

    def __init__(self, vm: VM, class_name: str, places: list[Place]) -> None:
        self.class_name = class_name
        self.places = places
        self._found: dict[str, Place] = {}
        for place in places:
            self._found.setdefault(place.name, place)
            self._found.setdefault(f"{place.owner}.{place.name}", place)
        for place in places:
            self._found.setdefault(f"{_simple(place.owner)}.{place.name}", place)
        seen: set[str] = set()
        keyed: dict[str, list[tuple[str, Place]]] = {}
        for place in places:
            if not place.is_static:
                key = f"{place.owner}.{place.name}" if place.name in seen else place.name
                seen.add(place.name)
                keyed.setdefault(place.owner, []).append((key, place))
        self.keys = {key: place for own in reversed(keyed.values()) for key, place in own}
        self.names = list(self.keys)
        self.fields = [place.field for place in self.keys.values()]
        self.static = [place for place in places if place.is_static]
        self.all = fields_of(vm, self.fields)
        self.shown: ReadyCall | None = None

    def find(self, name: str, *, static: bool = False) -> Place:
        """A field by its name, or by ``Owner.field``.

        Raises:
            KeyError: there is no such field; the message suggests similar names.
            TypeError: the name is not a string.
        """
        if not isinstance(name, str):
            raise TypeError(f"a field has a name, a str; got {type(name).__name__} {name!r}")
        place = self._found.get(name)
        if place is not None and (place.is_static or not static):
            return place
        if place is not None:
            raise KeyError(
                f"{place.owner}.{name} is not static: each object has a value of its own"
            )
        there = [one.name for one in self.places if one.is_static or not static]
        raise KeyError(
            f"{self.class_name} has no {'static ' if static else ''}field {name!r}"
            f"{suggestion(name, there)}"
        )


def _simple(name: str) -> str:
    return name.rpartition(".")[2].rpartition("$")[2]


def layout_of(cls: Class) -> Layout:
    """The layout of a class, looked up once while the class is held.

    JVM TI: GetClassFields, GetFieldName, GetFieldModifiers.
    """
    known: Layout | None = getattr(cls, "_layout", None)
    if known is not None:
        return known
    above = Ancestry(cls)
    order: list[int] = []
    for place in above.chain():
        order.append(place)
        _add_interfaces(above, place, order)
    classes = [above.classes[place] for place in order]
    places = _declared(cls._vm, classes, [java_name(above.signatures[place]) for place in order])
    cls._layout = made = Layout(cls._vm, cls.name, places)
    return made


def _add_interfaces(above: Ancestry, place: int, order: list[int]) -> None:
    """Add the interfaces of a class, which may have constants, and those above them."""
    for interface in above.interfaces(place):
        if interface not in order:
            order.append(interface)
            _add_interfaces(above, interface, order)


def _declared(vm: VM, classes: list[Any], owners: list[str]) -> list[Place]:
    """The fields of classes, those of each together."""
    env = vm.env
    found = env.map.get_class_fields(classes)
    if not set(found.status_list()) <= {0, _NOT_PREPARED}:  # such a one has no objects yet
        found.check()
    fields = list(found.value.items)
    if not fields:
        return []
    rows = [
        row for row, end in enumerate(itertools.pairwise(found.value.ends)) for _ in range(*end)
    ]
    of = [classes[row] for row in rows]
    names = env.map.get_field_name(of, fields).check()
    modifiers = env.map.get_field_modifiers(of, fields).check().listed()
    return [
        Place(field, name, signature, flags, owners[row])
        for field, name, signature, flags, row in zip(
            fields, names.name, names.signature, modifiers, rows, strict=True
        )
    ]


__all__ = ["Layout", "Place", "layout_of"]
