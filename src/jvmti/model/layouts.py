"""What fields the objects of a class have, its superclasses' included."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any, NamedTuple

from jvmti.model.reading import FieldList
from jvmti.spec.errors import ClassNotPrepared
from jvmti.spec.signatures import java_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jvmti.model.classes import Class
    from jvmti.model.vm import VM

STATIC = 0x0008
FINAL = 0x0010


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

    def __str__(self) -> str:
        return f"{self.owner}.{self.name} ({java_name(self.signature)})"


class Layout:
    """The fields of a class and of everything above it, the nearest first.

    Attributes:
        places: all of them.
        keys: the instance fields by the name that they are shown with: that of the field, or
            ``Owner.field`` where one nearer has the name already; those of superclasses first.
        all: these, to be read at once.
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
        self.all = FieldList(vm, self.fields)

    def find(self, name: str, *, static: bool = False) -> Place:
        """A field by its name, or by ``Owner.field``.

        Raises:
            KeyError: there is none; near names are told.
        """
        place = self._found.get(name)
        if place is not None and (place.is_static or not static):
            return place
        if place is not None:
            raise KeyError(
                f"{place.owner}.{name} is no static field: it has a value in each object"
            )
        there = [one.name for one in self.places if one.is_static or not static]
        raise KeyError(
            f"{self.class_name} has no {'static ' if static else ''}field {name!r}"
            f"{near(name, there)}"
        )


def near(name: str, names: Iterable[str], *, most: int = 3) -> str:
    """What to add to an error about a name that is not there."""
    known = sorted(set(names))
    found = difflib.get_close_matches(name, known, most, 0.6)
    found += [one for one in known if one.lower() == name.lower() and one not in found]
    # A part of a name is no close match of it, but it may be what was meant.
    part = name.lower()
    longer = [one for one in known if part in one.lower() and one not in found] if part else []
    found += sorted(longer, key=len)[: most - len(found)]
    if found:
        return f"; did you mean {' or '.join(map(repr, found))}?"
    if known and len(known) <= 12:
        return f"; there are {', '.join(map(repr, known))}"
    return ""


def _simple(name: str) -> str:
    return name.rpartition(".")[2].rpartition("$")[2]


def layout_of(cls: Class) -> Layout:
    """The layout of a class, looked up once for as long as the class is held.

    JVM TI: GetClassFields, GetFieldName, GetFieldModifiers.
    """
    known: Layout | None = getattr(cls, "_layout", None)
    if known is not None:
        return known
    places: list[Place] = []
    met: set[str] = set()
    at: Any = cls
    while at is not None:
        places += _declared(at)
        places += _constants(at, met)
        at = at.superclass
    cls._layout = made = Layout(cls._vm, cls.name, places)
    return made


def _constants(cls: Any, met: set[str]) -> list[Place]:
    """The constants of the interfaces of a class, and of those above them."""
    found = []
    for interface in cls.interfaces:
        if interface.signature not in met:
            met.add(interface.signature)
            found += _declared(interface)
            found += _constants(interface, met)
    return found


def _declared(cls: Any) -> list[Place]:
    env = cls._vm.env
    try:
        fields = list(env.get_class_fields(cls))
    except ClassNotPrepared:
        return []  # it has no objects yet
    if not fields:
        return []
    names = env.map.get_field_name(cls, fields).check()
    modifiers = env.map.get_field_modifiers(cls, fields).check().value.tolist()
    owner = cls.name
    return [
        Place(field, name, signature, flags, owner)
        for field, name, signature, flags in zip(
            fields, names.name, names.signature, modifiers, strict=True
        )
    ]


__all__ = ["Layout", "Place", "layout_of", "near"]
