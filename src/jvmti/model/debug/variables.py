"""Slots of a frame: local variables of methods, and their values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jvmti import refs
from jvmti.interface.frozen import frozen
from jvmti.interface.signatures import java_name, parameters_of, signature_of
from jvmti.text.printable import escaped

if TYPE_CHECKING:
    from jvmti.model.classes.java_class import Method
    from jvmti.model.vm import VM

_STATIC = 0x0008


@frozen
class Variable:
    """A local variable of a method, or a slot of known type."""

    #: Its name; ``None`` if the class was compiled without names.
    name: str | None
    #: The signature of its type.
    signature: str
    #: The slot; a ``long`` and a ``double`` take the next one, too.
    slot: int

    @property
    def type(self) -> str:
        """Its type, as Java writes it."""
        return java_name(self.signature)

    @property
    def is_primitive(self) -> bool:
        """Whether its type is primitive."""
        return len(self.signature) == 1

    @escaped
    def __str__(self) -> str:
        return f"{self.type} {self.name or f'[slot {self.slot}]'}"


def parameters(method: Method) -> list[Variable]:
    """The slots of a method's parameters, from its signature, with ``this``."""
    found = []
    slot = 0
    if not method.modifiers & _STATIC:
        found.append(Variable("this", method.declaring_class.signature, 0))
        slot = 1
    for name in parameters_of(method.signature):
        signature = signature_of(name)
        found.append(Variable(None, signature, slot))
        slot += 2 if signature in "JD" else 1
    return found


def object_or_text(vm: VM, value: Any) -> Any:
    """An object as it is, a ``java.lang.String`` as its text, ``None`` for null."""
    return vm.jni.get_string_chars(value) if isinstance(value, refs.String) else value


__all__ = ["Variable", "object_or_text", "parameters"]
