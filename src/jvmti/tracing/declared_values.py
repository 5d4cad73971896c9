"""Fields that no object there can have, and comparisons that no value there can meet: errors."""

from __future__ import annotations

import logging
import struct
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from jvmti.instrumentation.probes import BadProbe, Operand, Probe, Step
from jvmti.interface.comparable import MAY_BE_BOXES, TEXTS, incomparable
from jvmti.interface.errors import ClassNotPrepared
from jvmti.interface.signatures import (
    BOXED,
    RANGES,
    STRING,
    a_type,
    java_name,
    result_of,
    signature_of,
)
from jvmti.layouts.probes import Operand as Kind
from jvmti.layouts.probes import Outcomes, Site, Test
from jvmti.text.names import suggestion

log = logging.getLogger("jvmti")

_FEW = 50
"""The most classes that are looked at; a wider pattern means fields that some of them have."""
_FEW_FILES = 5
"""The most class files that are read for the names of variables."""
_IN_METHODS = {Site.ENTRY, Site.RETURN, Site.UNWIND, Site.LINE, Site.INDEX}
"""The kinds of places whose arguments are those of the method itself."""
_OF_EXCEPTIONS = {Site.UNWIND, Site.THROW, Site.CATCH}
_OF_VARIABLES = {Kind.ARGUMENT, Kind.NAMED, Kind.LOCAL}
_ORDER = Outcomes.LESS | Outcomes.GREATER


class _Fields(NamedTuple):
    """The fields of what a value may be."""

    of_all: list[Any]
    """Those that each object has."""
    of_some: list[Any]
    """Those that loaded subclasses add."""

    @property
    def of_any(self) -> list[Any]:
        """All of them."""
        return [*self.of_all, *self.of_some]


def check_values(probes: Iterable[Probe], classes: Sequence[Any]) -> None:
    """Check that there are such fields, and values that compare so, in one of the methods at least.

    Fields are those of the classes, their superclasses, or loaded subclasses. Of a variable whose
    class others extend, the missing field is one of a class to come: that is logged, where the
    class itself has no objects or a loaded subclass has the field.

    Args:
        probes: all for the same classes; others are not checked.
        classes: the loaded classes that get the probes.

    Raises:
        BadProbe: there is none, or it has a primitive type and a field of it is named, or values
            of its type never compare so.
    """
    probes = list(probes)
    if not 0 < len(classes) <= _FEW or len({probe.classes for probe in probes}) > 1:
        return
    checked: set[tuple[object, ...]] = set()
    for probe in probes:
        for operand, path, step in _used(probe):
            key = operand._replace(type="X"), path, step
            if key in checked:
                continue
            checked.add(key)
            try:
                types = _types(probe, operand, classes)
                if types is not None:
                    _Value(_name(operand, probe), types, classes, operand).check(path, step)
            except ClassNotPrepared:
                continue  # not prepared, so its fields are not known yet


def _used(probe: Probe) -> Iterator[tuple[Operand, str | None, Step | None]]:
    for operand in probe.operands:
        if operand.path:
            yield operand, operand.path, None
    for step in probe.condition:
        if step.operand is not None:
            yield step.operand, step.path, step


def _name(operand: Operand, probe: Probe) -> str:
    match operand.kind:
        case Kind.ARGUMENT:
            return f"arg{operand.number}"
        case Kind.VALUE:
            return "exception" if probe.site in _OF_EXCEPTIONS else "value"
    return operand.text or operand.kind.name.lower()


def _types(probe: Probe, operand: Operand, classes: Sequence[Any]) -> set[str] | None:
    """The signatures of the types that a value is declared to have; ``None`` if not known."""
    if operand.kind is Kind.THIS:
        return {one.signature for one in classes}
    if operand.kind is Kind.THREAD:
        return {"Ljava/lang/Thread;"}
    if operand.kind is Kind.VALUE and probe.site in _OF_EXCEPTIONS:
        return None if operand.path else {"Ljava/lang/Throwable;"}
    if operand.kind is Kind.VALUE:
        if probe.site is not Site.RETURN:
            return None
    elif operand.kind not in _OF_VARIABLES or probe.site not in _IN_METHODS:
        return None
    elif operand.kind is not Kind.ARGUMENT and len(classes) > _FEW_FILES:
        return None
    return {
        name
        for cls in classes
        for method in cls.methods
        if fnmatchcase(method.name, probe.methods or "*")
        and fnmatchcase(method.signature, probe.descriptors or "*")
        for name in _types_in(method, operand)
    } or None


def _types_in(method: Any, operand: Operand) -> list[str]:
    if operand.kind is Kind.VALUE:
        found = signature_of(result_of(method.signature))
        return [] if found == "V" else [found]
    if operand.kind is Kind.ARGUMENT:
        named = method.parameter_types[operand.number : operand.number + 1]
        return [signature_of(one) for one in named]
    if method.is_native or method.is_abstract:
        return []
    return [one.descriptor for one in method.local_variables if one.name == operand.text]


class _Value(NamedTuple):
    """A value at the beginning of a path, or on it."""

    name: str
    """Its expression."""
    types: set[str]
    """The signatures of the types that it may be declared with."""
    classes: Sequence[Any]
    """The classes with the probes."""
    operand: Operand
    """Where the path begins."""

    def check(self, path: str | None, step: Step | None) -> None:
        """Follow a path, and check that what is there compares so."""
        value: _Value | None = self
        for name in path.split(".") if path else ():
            value = None if value is None or "@" in name else value._next(name)
        if value is None or step is None or step.operation is not Test.COMPARE:
            return
        if not any(_is_comparable(one, step) for one in value.types):
            one = min(value.types)
            wanted = None
            constant = _constant(step)
            letter = BOXED.get(one, one)
            if letter in RANGES and letter != "Z" and type(constant) is int:
                wanted = f"what {a_type(one)} can be"
            raise BadProbe(incomparable(value.name, one, constant, wanted))

    def _next(self, name: str) -> _Value | None:
        """The value of a field; ``None`` where its type is not known."""
        if name == "class":
            return self._replace(name=f"type({self.name})", types={STRING})
        if name == "length" and any(one in TEXTS or one[0] == "[" for one in self.types):
            return self._replace(name=f"len({self.name})", types={"I"})
        if name == "name" and self.types == {"Ljava/lang/Thread;"}:
            return self._replace(name=f"{self.name}.name", types={STRING})  # no subclass is asked
        objects = {one for one in self.types if one[0] in "L["}
        if not objects:
            kind = a_type(min(self.types))
            raise BadProbe(f"'{self.name}.{name}': {self.name} is {kind}, no object, so it has "
                           f"no {name!r}")  # fmt: skip
        is_own = self.operand.kind is Kind.THIS and self.name == "this"
        if is_own:
            there = [one for cls in self.classes for one in _fields(cls).of_any]
            if len(self.classes) == 1:
                lacks = f"{self.classes[0].name} has no field"
            else:
                lacks = f"none of {len(self.classes)} classes has a field"
            found = self._found(name, there, lacks)
        else:
            if len(objects) != 1 or objects == {"Ljava/lang/Object;"}:
                return None
            (signature,) = objects
            loaded = () if signature[0] == "[" else self._named(java_name(signature))
            if len(loaded) != 1:
                return None
            found = self._declared(name, loaded[0])
        types = {field.signature for field in found}
        return self._replace(name=f"{self.name}.{name}", types=types) if types else None

    def _named(self, name: str) -> Sequence[Any]:
        loaded: Sequence[Any] = self.classes[0]._vm.classes(name)
        return loaded

    def _declared(self, name: str, owner: Any) -> list[Any]:
        """The fields of a name of a class and those below it."""
        fields = _fields(owner)
        lacks = f"{owner.name} has no field"
        in_some = any(field.name == name for field in fields.of_some)
        in_all = any(field.name == name for field in fields.of_all)
        found: list[Any] = []
        if in_some or in_all or not owner.is_abstract:
            hint = (
                "" if owner.is_final else f'; for a subclass write {self.name}["its.Name"].{name}'
            )
            found = self._found(name, fields.of_any, lacks, hint)
        if not in_all:
            log.warning(
                "'%s.%s': %s %r, and of its loaded subclasses %s: for all others it is unknown",
                *(self.name, name, lacks, name, "only some do" if in_some else "none does"),
            )
        return found

    def _found(self, name: str, there: Sequence[Any], lacks: str, hint: str = "") -> list[Any]:
        found = [field for field in there if field.name == name]
        if not found and name == "length":
            kind = a_type(min(self.types))
            raise BadProbe(f"'len({self.name})': {self.name} is {kind}, which has no length")
        if not found:
            near = suggestion(name, {field.name for field in there})
            raise BadProbe(f"'{self.name}.{name}': {lacks} {name!r}{near}{hint}")
        if all(field.is_static for field in found):
            raise BadProbe(
                f"'{self.name}.{name}': {name} is static, and objects have no such field"
            )
        return [field for field in found if not field.is_static]


def _constant(step: Step) -> object:
    match step.type:
        case "L":
            return None
        case "S" | "P":
            return step.text
        case "D":
            return struct.unpack("<d", struct.pack("<q", step.constant))[0]
    return step.constant


def _is_comparable(signature: str, step: Step) -> bool:
    """Whether a comparison can hold for some value of a type."""
    if signature[0] in "L[" and step.holds == _ORDER:
        return True  # other objects are different
    letter = BOXED.get(signature, signature)
    match step.type:
        case "L":
            return signature[0] in "L["
        case "S" if letter == "C":
            return step.text is not None and len(step.text) == 1
        case "S" | "P":
            return signature in TEXTS and step.holds in (Outcomes.EQUAL, _ORDER)
    if letter in RANGES:
        least, most = RANGES[letter]
        value: Any = _constant(step)
        return step.holds != Outcomes.EQUAL or (value == value // 1 and least <= value <= most)
    return letter in "FD" or signature in MAY_BE_BOXES


def _fields(cls: Any) -> _Fields:
    of_all: list[Any] = []
    above = cls
    while above is not None:
        of_all += above.fields
        above = above.superclass
    below = [] if cls.is_final else cls.subclasses()
    return _Fields(of_all, [field for one in below for field in one.fields])


__all__ = ["check_values"]
