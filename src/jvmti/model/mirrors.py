"""Classes as the objects that they are: instances of ``java.lang.Class``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jvmti.model import calls
from jvmti.model.layouts import layout_of
from jvmti.model.reading import read_fields
from jvmti.spec.text import harmless

if TYPE_CHECKING:
    from jvmti.model.classes import Class


class Mirror:
    """The object of ``java.lang.Class`` that stands for a class: `Class.mirror`.

    What a class of the model calls and reads are the statics of the class; what this calls and
    reads are the methods and fields of ``java.lang.Class``.  As an argument the class itself is
    what Java code takes for a ``Class``.

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

        As ``obj.call``: ``cls.mirror.call("getSimpleName")``.

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
        """All fields of the object that the VM shows: names and values.

        JVM TI: GetClassFields.  JNI: Get<Type>Field.
        """
        layout = layout_of(self.cls)
        return dict(zip(layout.names, layout.all.read(self.of), strict=True))

    def to_string(self, *, timeout: float | None = calls.TIME_LIMIT) -> str:
        """What ``Class.toString`` gives: ``interface java.util.Map``."""
        text: str = self.call("toString", signature="()", timeout=timeout)
        return text

    def __eq__(self, other: object) -> bool:
        return self.of == other.of if isinstance(other, Mirror) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.of)

    @harmless
    def __repr__(self) -> str:
        return f"<java.lang.Class {self.of.name}>"


__all__ = ["Mirror"]
