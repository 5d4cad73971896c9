"""Fields that no object there can have: an error in conditions, and in what stops threads.

In texts of logpoints, whose patterns may mean many classes, they show a question mark instead.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from jvmti.instrumentation.probes import BadProbe, Operand, Probe
from jvmti.interface.errors import ClassNotPrepared
from jvmti.interface.signatures import PRIMITIVES, java_name
from jvmti.layouts.probes import Operand as Kind
from jvmti.layouts.probes import Site
from jvmti.text.names import suggestion

log = logging.getLogger("jvmti")

_FEW = 50
"""The most classes that are looked at; a wider pattern means fields that some of them have."""
_FEW_FILES = 5
"""The most class files that are read for the names of variables."""
_NO_FIELDS = {"length", "class"}
"""Steps of a path that name none."""
_IN_METHODS = {Site.ENTRY, Site.RETURN, Site.UNWIND, Site.LINE, Site.INDEX}
"""The kinds of places whose arguments are those of the method itself."""
_OF_VARIABLES = {Kind.ARGUMENT, Kind.NAMED, Kind.LOCAL}


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


def check_fields(
    probes: Iterable[Probe], classes: Sequence[Any], *, only_conditions: bool = False
) -> None:
    """Check that there are such fields, in the classes, their superclasses, or loaded subclasses.

    Of a variable whose class others extend, the missing field is one of a class to come: that is
    logged, where the class itself has no objects or a loaded subclass has the field.

    Args:
        probes: all for the same classes; others are not checked.
        classes: the loaded classes that get the probes.
        only_conditions: leaves out the values that probes pass on.

    Raises:
        BadProbe: there is none, or it has a primitive type and a field of it is named.
    """
    probes = list(probes)
    if not 0 < len(classes) <= _FEW or len({probe.classes for probe in probes}) > 1:
        return
    checked: set[tuple[Kind, int, str | None, str]] = set()
    for probe in probes:
        for operand, path in _paths(probe, only_conditions):
            key = operand.kind, operand.number, operand.text, path
            name = path.partition(".")[0]
            if key in checked or name in _NO_FIELDS or "@" in name:
                continue
            checked.add(key)
            try:
                if operand.kind is Kind.THIS:
                    _check_own(classes, path)
                elif operand.kind in _OF_VARIABLES and probe.site in _IN_METHODS:
                    owner = _type(probe, operand, classes)
                    if owner is not None:
                        _check_variable(owner, operand, path)
            except ClassNotPrepared:
                continue  # not prepared, so its fields are not known yet


def _check_own(classes: Sequence[Any], path: str) -> None:
    there = [one for cls in classes for one in _fields(cls).of_any]
    if len(classes) == 1:
        lacks = f"{classes[0].name} has no field"
    else:
        lacks = f"none of {len(classes)} classes has a field"
    _check_path("this", path, there, lacks)


def _check_variable(owner: Any, operand: Operand, path: str) -> None:
    variable = f"arg{operand.number}" if operand.kind is Kind.ARGUMENT else operand.text
    name = path.partition(".")[0]
    fields = _fields(owner)
    lacks = f"{owner.name} has no field"
    in_some = any(field.name == name for field in fields.of_some)
    if in_some or not owner.is_abstract or any(field.name == name for field in fields.of_all):
        hint = "" if owner.is_final else f'; for a subclass write {variable}["its.Name"].{name}'
        _check_path(f"{variable}", path, fields.of_any, lacks, hint)
    if not any(field.name == name for field in fields.of_all):
        log.warning(
            "'%s.%s': %s %r, and of its loaded subclasses %s: for all others it is unknown",
            *(variable, path, lacks, name, "only some do" if in_some else "none does"),
        )


def _check_path(start: str, path: str, there: list[Any], lacks: str, hint: str = "") -> None:
    name, *further = path.split(".")
    found = [field for field in there if field.name == name]
    if not found:
        near = suggestion(name, {field.name for field in there})
        raise BadProbe(f"'{start}.{name}': {lacks} {name!r}{near}{hint}")
    if all(field.is_static for field in found):
        raise BadProbe(f"'{start}.{name}': {name} is static, and objects have no such field")
    if further and all(field.signature[0] not in "L[" for field in found):
        raise BadProbe(f"'{start}.{path}': {name} is no object, so it has no {further[0]!r}")


def _paths(probe: Probe, only_conditions: bool) -> Iterator[tuple[Operand, str]]:
    for operand in () if only_conditions else probe.operands:
        if operand.path:
            yield operand, operand.path
    for step in probe.condition:
        if step.operand is not None and step.path:
            yield step.operand, step.path


def _type(probe: Probe, operand: Operand, classes: Sequence[Any]) -> Any | None:
    """The class that a variable is declared to be of; ``None`` where that is not known."""
    if operand.kind is not Kind.ARGUMENT and len(classes) > _FEW_FILES:
        return None
    names = {
        name
        for cls in classes
        for method in cls.methods
        if fnmatchcase(method.name, probe.methods or "*")
        and fnmatchcase(method.signature, probe.descriptors or "*")
        for name in _type_names(method, operand)
    } - set(PRIMITIVES)  # these get no probe
    if len(names) != 1 or names == {"java.lang.Object"}:
        return None
    (name,) = names
    found = [] if name.endswith("[]") else classes[0]._vm.classes(name)
    return found[0] if len(found) == 1 else None


def _type_names(method: Any, operand: Operand) -> list[str]:
    if operand.kind is Kind.ARGUMENT:
        names: list[str] = method.parameter_types[operand.number : operand.number + 1]
        return names
    if method.is_native or method.is_abstract:
        return []
    variables = method.local_variables
    return [java_name(one.descriptor) for one in variables if one.name == operand.text]


def _fields(cls: Any) -> _Fields:
    of_all: list[Any] = []
    above = cls
    while above is not None:
        of_all += above.fields
        above = above.superclass
    below = [] if cls.is_final else cls.subclasses()
    return _Fields(of_all, [field for one in below for field in one.fields])


__all__ = ["check_fields"]
