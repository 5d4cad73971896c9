"""Classes as objects: instances of ``java.lang.Class``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jvmti.model.objects.layouts import layout_of
from jvmti.model.objects.reading import read_fields, values_of
from jvmti.model.values import calls
from jvmti.text.printable import escaped

if TYPE_CHECKING:
    from jvmti.model.classes.java_class import Class


class ClassObject:
    """The ``java.lang.Class`` object of a class: `Class.class_object`.

    A `Class` reads and calls the static members of the class; this object reads and calls the
    members of ``java.lang.Class``.  Where Java code takes a ``Class`` argument, pass the `Class`.

    Attributes:
        of: the class.
    """

    __slots__ = ("of",)

    def __init__(self, of: Class) -> None:
        self.of = of

    @property
    def cls(self) -> Class:
        """``java.lang.Class``."""
        return self.of.cls

    def call(
        self,
        name: str,
        *arguments: Any,
        signature: str | None = None,
        timeout: float | None = calls.TIME_LIMIT,
    ) -> Any:
        """Call a method of ``java.lang.Class`` on the class, and wait for its result.

        As ``obj.call``: ``cls.class_object.call("getSimpleName")``.

        Raises:
            LookupError, TypeError, JavaException, CallTimeout: as for ``obj.call``.

        JNI: Call<Type>MethodA.
        """
        return calls.call(self.of, self.cls, name, arguments, signature, timeout)

    def __getitem__(self, name: str) -> Any:
        """The value of a field of ``java.lang.Class``, private ones too.

        Raises:
            KeyError: this release has no such field; the message suggests similar names.

        JNI: Get<Type>Field.
        """
        place = layout_of(self.cls).find(name)
        return read_fields(self.of._vm, self.of, [place.field])[0]

    __iter__: Any = None

    def fields(self) -> dict[str, Any]:
        """Names and values of all fields that the VM reveals.

        JVM TI: GetClassFields.  JNI: Get<Type>Field.
        """
        layout = layout_of(self.cls)
        return dict(zip(layout.names, values_of(layout.all.of(self.of)), strict=True))

    def to_string(self, *, timeout: float | None = calls.TIME_LIMIT) -> str:
        """The result of ``Class.toString``: ``interface java.util.Map``."""
        text: str = self.call("toString", signature="()", timeout=timeout)
        return text

    def __eq__(self, other: object) -> bool:
        return self.of == other.of if isinstance(other, ClassObject) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.of)

    @escaped
    def __repr__(self) -> str:
        return f"<java.lang.Class {self.of.name}>"


__all__ = ["ClassObject"]
