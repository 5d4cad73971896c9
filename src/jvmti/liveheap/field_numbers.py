"""Field numbers in heap walks: JVM TI numbers the fields of a class and all inherited ones.

The fields of all direct and inherited interfaces come first, then those of its superclasses from
``java.lang.Object`` down, then its own; those of each class in the order of ``get_class_fields``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jvmti.interface.errors import Error
from jvmti.interface.frozen import frozen
from jvmti.interface.signatures import java_name

if TYPE_CHECKING:
    from jvmti.liveheap.running_vm import RunningVM


@frozen
class NumberedField:
    """A field as a heap walk numbers it."""

    name: str
    signature: str
    declared_by: str
    """The name of the class that declares it."""


class FieldNumbers:
    """The numbers of fields, class by class."""

    def __init__(self, vm: RunningVM) -> None:
        self._vm = vm

    def of(self, cls: Any) -> list[NumberedField]:
        """The fields of a class by their numbers.

        Classes that are not linked yet have no known fields.
        """
        jni = self._vm.jni
        line = [cls]
        while (above := jni.get_superclass(line[-1])) is not None:
            line.append(above)
        interfaces: dict[Any, None] = {}
        waiting = list(reversed(line))
        while waiting:
            for one in self._interfaces(waiting.pop()):
                if one not in interfaces:
                    interfaces[one] = None
                    waiting.append(one)
        found: list[NumberedField] = []
        for one in [*interfaces, *reversed(line)]:
            found += self._declared(one)
        return found

    def _interfaces(self, cls: Any) -> list[Any]:
        try:
            return list(self._vm.env.get_implemented_interfaces(cls))
        except Error:
            return []

    def _declared(self, cls: Any) -> list[NumberedField]:
        env = self._vm.env
        owner = java_name(env.get_class_signature(cls).signature)
        try:
            fields = list(env.get_class_fields(cls))
        except Error:
            return []
        if not fields:
            return []
        names = env.map.get_field_name(cls, fields).check()
        return [
            NumberedField(name, signature, owner)
            for name, signature in zip(names.name, names.signature, strict=True)
        ]


__all__ = ["FieldNumbers", "NumberedField"]
