"""Places of values: variables, fields and elements, to read and to write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from jvmti.expressions.running import Running, found_value
from jvmti.expressions.values.conversions import narrowed, to_type
from jvmti.expressions.values.typed import UNKNOWN, Text, Value, is_variable
from jvmti.interface.errors import NotAvailable
from jvmti.model.values.conversion import DTYPES, PRIMITIVE_NAMES

if TYPE_CHECKING:
    from jvmti.model.classes.java_class import Class
    from jvmti.model.debug.variables import Variable
    from jvmti.model.objects.layouts import Place as Declared


class NotAssigned(Exception):
    """A final field, or a variable that cannot be written."""


class LocalPlace(NamedTuple):
    """A local variable of the frame."""

    running: Running
    variable: Variable

    @property
    def type(self) -> str:
        """The signature of its type."""
        return self.variable.signature

    @property
    def is_open(self) -> bool:
        """Whether its type is a type variable."""
        return False

    def read(self) -> Value:
        """Its value."""
        if self.running.is_dry:
            return Value(self.type, UNKNOWN)
        data = self.running.locals.raw(self.variable)
        return found_value(self.type, data)

    def write(self, value: Value) -> None:
        """Assign a value of its type.

        Raises:
            NotAssigned: the frame cannot be changed here, or not to hold this.
        """
        key = self.variable.name if self.variable.name is not None else self.variable.slot
        data = value.data
        if isinstance(data, Text):
            data = self.running.handle(value)
        elif self.type == "C":
            data = chr(data)
        try:
            self.running.locals[key] = data
        except (TypeError, NotAvailable) as error:
            raise NotAssigned(f"{self.variable} does not take it: {error}") from None


class ObjectField(NamedTuple):
    """A field of an object, or a static one."""

    running: Running
    field: Declared
    owner: Class
    """The class that it was found in."""
    object: Value | None
    """The object; ``None`` for a static field."""

    @property
    def type(self) -> str:
        """The signature of its type."""
        return self.field.signature

    def _on(self) -> Any:
        if self.object is None or self.field.is_static:
            return self.owner
        if self.object.data is None:
            self.running.throw(
                "NullPointerException",
                f'Cannot read field "{self.field.name}" because the object is null',
            )
        return self.running.handle(self.object)

    def _kind(self) -> str:
        kind = PRIMITIVE_NAMES.get(self.type, "object")
        return f"static_{kind}" if self.field.is_static else kind

    @property
    def is_open(self) -> bool:
        """Whether its type is a type variable."""
        return len(self.type) > 1 and is_variable(self.field.field.generic_signature)

    def read(self) -> Value:
        """Its value."""
        if self.running.is_dry:
            return Value(self.type, UNKNOWN, is_open=self.is_open)
        if self.field.is_static:
            initialise(self.running, self.owner)
        read = getattr(self.running.jni, f"get_{self._kind()}_field")
        value = found_value(self.type, read(self._on(), self.field.field))
        return narrowed(self.running, value._replace(is_open=True)) if self.is_open else value

    def write(self, value: Value) -> None:
        """Assign a value of its type.

        Raises:
            NotAssigned: the field is final.
        """
        if self.field.is_final:
            raise NotAssigned(
                f"{self.field.owner}.{self.field.name} is final: code of the program may have its "
                "value built in"
            )
        if self.field.is_static:
            initialise(self.running, self.owner)
        write = getattr(self.running.jni, f"set_{self._kind()}_field")
        data = value.data if value.is_primitive else self.running.handle(value)
        write(self._on(), self.field.field, data)


class ElementPlace(NamedTuple):
    """An element of an array."""

    running: Running
    array: Value
    at: int

    @property
    def type(self) -> str:
        """The signature of its type."""
        return self.array.type[1:]

    @property
    def is_open(self) -> bool:
        """Whether its type is a type variable."""
        return False

    def _check(self) -> Any:
        running = self.running
        if self.array.data is None:
            running.throw("NullPointerException", "Cannot access the array because it is null")
        length = running.jni.get_array_length(self.array.data)
        if not 0 <= self.at < length:
            running.throw(
                "ArrayIndexOutOfBoundsException",
                f"Index {self.at} out of bounds for length {length}",
            )
        return self.array.data

    def read(self) -> Value:
        """Its value."""
        kind = self.type
        if self.running.is_dry or not self.array.is_known:
            return Value(kind, UNKNOWN, is_open=self.array.is_open)
        array = self._check()
        jni = self.running.jni
        if len(kind) > 1:
            return Value(kind, jni.get_object_array_element(array, self.at))
        region = getattr(jni, f"get_{PRIMITIVE_NAMES[kind]}_array_region")
        return found_value(kind, region(array, self.at, 1)[0].item())

    def write(self, value: Value) -> None:
        """Assign a value of its type."""
        import numpy

        array = self._check()
        jni, kind = self.running.jni, self.type
        if len(kind) > 1:
            jni.set_object_array_element(array, self.at, self.running.handle(value))
            return
        write = getattr(jni, f"set_{PRIMITIVE_NAMES[kind]}_array_region")
        write(array, self.at, numpy.array([value.data], DTYPES[kind]))


Place = LocalPlace | ObjectField | ElementPlace


def initialise(running: Running, cls: Class) -> None:
    """Initialise a class, as the first use of a static field does."""
    from jvmti.interface.constants import ClassStatus

    if not cls.status & ClassStatus.INITIALIZED:
        running.prepare_to_call()
        # Finding any method does it: every class has Object's.
        running.jni.get_method_id(cls, "hashCode", "()I")


def assigned(running: Running, place: Place, value: Value) -> Value:
    """Assign a value that the type of a place accepts; the value that it has then."""
    found = to_type(running, value, place.type)
    if running.is_dry:
        return found
    running.prepare_to_call()
    place.write(found)
    return narrowed(running, found) if place.is_open else found


__all__ = [
    "ElementPlace",
    "ObjectField",
    "NotAssigned",
    "LocalPlace",
    "Place",
    "assigned",
    "initialise",
]
