"""Fields: name, declaring class and attributes."""

from __future__ import annotations

from typing import NamedTuple

from jvmti.interface.calling import Calling
from jvmti.interface.declaration import START, function
from jvmti.interface.types import Boolean, Int, Text
from jvmti.refs import Class, Field


class FieldName(NamedTuple):
    """The name of a field, its type signature, and its generic signature where it has one."""

    name: Text
    signature: Text
    generic: Text | None


class FieldFunctions(Calling):
    """The functions of the chapter "Field"."""

    __slots__ = ()

    @function(60, phase=START, guard="field_of_class")
    def get_field_name(self, klass: Class, field: Field) -> FieldName:
        """Return the name and the signatures of a field.

        Args:
            klass: the class of the field.
            field: the field.

        Returns:
            The name, the type as ``I`` or ``Ljava/lang/String;``, and the generic signature or
            ``None``.

        Raises:
            InvalidClass: `klass` is not a class.
            InvalidFieldID: `field` is not a field of `klass`.

        Example:
            >>> env.get_field_name(order_class, number)
            FieldName(name='number', signature='I', generic=None)

        JVM TI: GetFieldName.
        """

    @function(61, phase=START, guard="field_of_class")
    def get_field_declaring_class(self, klass: Class, field: Field) -> Class:
        """Return the class that declares a field.

        Args:
            klass: the class of the field.
            field: the field.

        Returns:
            `klass`, a superclass of it or an interface.

        Raises:
            InvalidClass: `klass` is not a class.
            InvalidFieldID: `field` is not a field of `klass`.

        Example:
            >>> env.get_field_declaring_class(order_class, number) == order_class
            True

        JVM TI: GetFieldDeclaringClass.
        """

    @function(62, phase=START, guard="field_of_class", overridden=True)
    def get_field_modifiers(self, klass: Class, field: Field) -> Int:
        """Return the access flags of a field.

        Args:
            klass: the class of the field.
            field: the field.

        Returns:
            The bits of the class file format.

        Raises:
            InvalidClass: `klass` is not a class.
            InvalidFieldID: `field` is not a field of `klass`.

        Example:
            >>> env.get_field_modifiers(order_class, number)  # neither public nor static nor final
            0

        JVM TI: GetFieldModifiers.
        """

    @function(
        63, phase=START, capabilities=("can_get_synthetic_attribute",), guard="field_of_class"
    )
    def is_field_synthetic(self, klass: Class, field: Field) -> Boolean:
        """Return whether the compiler made up a field that is not in the source.

        Args:
            klass: the class of the field.
            field: the field.

        Returns:
            True for synthetic fields.

        Raises:
            InvalidClass: `klass` is not a class.
            InvalidFieldID: `field` is not a field of `klass`.
            MustPossessCapability: ``can_get_synthetic_attribute`` has not been added.

        Example:
            >>> env.is_field_synthetic(order_class, number)
            False

        JVM TI: IsFieldSynthetic.
        """
