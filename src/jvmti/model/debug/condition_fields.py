"""Fields that conditions of breakpoints read, found when a breakpoint gets its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jvmti.interface.errors import Error
from jvmti.interface.signatures import a_type, java_name

if TYPE_CHECKING:
    from jvmti.model.classes.java_class import Class, Field, Method
    from jvmti.model.vm import VM


class ConditionFields:
    """Finds fields of the objects that are in variables of a method.

    Args:
        vm: the VM.
        method: the method.
    """

    def __init__(self, vm: VM, method: Method) -> None:
        self._vm = vm
        self._method = method

    def find(self, signature: str, name: str, declared_by: str | None) -> Field:
        """A field of instances of a class, or of one above it.

        Args:
            signature: of the class.
            name: the field.
            declared_by: the name of the class that declares it; ``None`` for the nearest.

        Raises:
            LookupError: the class is not loaded, several are, or it has no such field.
        """
        at: Class | None = self._class(signature)
        try:
            while at is not None:
                if declared_by is None or at.name == declared_by:
                    for one in at.fields:
                        if one.name == name and not one.is_static:
                            return one
                at = at.superclass
        except Error as error:
            raise LookupError(str(error)) from None
        raise LookupError(f"{java_name(signature)} has no field {name!r} of its instances")

    def _class(self, signature: str) -> Class:
        name = java_name(signature)
        if not signature.startswith("L"):
            raise LookupError(f"{a_type(signature)} has no fields")
        home = self._method.declaring_class
        if signature == home.signature:
            return home
        found: list[Class] = list(self._vm.classes.named(name))
        if len(found) != 1:
            raise LookupError(
                f"{name} is not loaded" if not found else f"{len(found)} classes are {name}"
            )
        return found[0]


__all__ = ["ConditionFields"]
