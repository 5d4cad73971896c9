"""Fields of ``this`` that no class has: an error in conditions, and in what stops threads.

In texts of logpoints, whose patterns may mean many classes, they show a question mark instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from jvmti.instrumentation.probes import BadProbe, Probe
from jvmti.layouts.probes import Operand as Kind
from jvmti.text.names import suggestion

_FEW = 50
"""The most classes that are looked at; a wider pattern means fields that some of them have."""
_NO_FIELDS = {"length", "class"}
"""Steps of a path that name none."""


def check_fields(
    probes: Iterable[Probe], classes: Sequence[Any], *, only_conditions: bool = False
) -> None:
    """Check that there are such fields, in the classes, their superclasses, or loaded subclasses.

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
    for path in sorted(
        {path for probe in probes for path in _paths_of_this(probe, only_conditions)}
    ):
        name, *further = path.split(".")
        if name in _NO_FIELDS or "@" in name:
            continue
        found = [field for cls in classes for field in _fields(cls) if field.name == name]
        if not found:
            there = {field.name for cls in classes for field in _fields(cls)}
            owner = classes[0].name if len(classes) == 1 else f"none of {len(classes)} classes"
            has = "has no field" if len(classes) == 1 else "has a field"
            raise BadProbe(f"'this.{name}': {owner} {has} {name!r}{suggestion(name, there)}")
        if further and all(field.signature[0] not in "L[" for field in found):
            raise BadProbe(f"'this.{path}': {name} is no object, so it has no {further[0]!r}")


def _paths_of_this(probe: Probe, only_conditions: bool) -> Iterator[str]:
    for operand in () if only_conditions else probe.operands:
        if operand.kind is Kind.THIS and operand.path:
            yield operand.path
    for step in probe.condition:
        if step.operand is not None and step.operand.kind is Kind.THIS and step.path:
            yield step.path


def _fields(cls: Any) -> Iterator[Any]:
    above = cls
    while above is not None:
        yield from above.fields
        above = above.superclass
    for below in cls.subclasses():
        yield from below.fields


__all__ = ["check_fields"]
