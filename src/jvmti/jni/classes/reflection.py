"""Reflection: between methods and fields and their objects in ``java.lang.reflect``."""

from __future__ import annotations

from jvmti.interface.calling import Calling
from jvmti.interface.declaration import jni_function
from jvmti.interface.types import Boolean
from jvmti.refs import Class, Field, Method, Object


class ReflectionFunctions(Calling):
    """The functions of the chapter "Reflection support"."""

    @jni_function(7, since="1.2", overridden=True)
    def from_reflected_method(self, method: Object) -> Method:
        """Return the method behind a reflection object.

        Args:
            method: a ``java.lang.reflect.Method`` or ``Constructor``.

        Returns:
            The method.

        Raises:
            InvalidObject: ``method`` is stale or something else.

        Example:
            >>> jni.from_reflected_method(jni.to_reflected_method(shop, price, True)) == price
            True

        JNI: FromReflectedMethod.
        """

    @jni_function(8, since="1.2", overridden=True)
    def from_reflected_field(self, field: Object) -> Field:
        """Return the field behind a reflection object.

        Args:
            field: a ``java.lang.reflect.Field``.

        Returns:
            The field.

        Raises:
            InvalidObject: ``field`` is stale or something else.

        Example:
            >>> reflected = jni.to_reflected_field(order_class, number, False)
            >>> jni.from_reflected_field(reflected) == number
            True

        JNI: FromReflectedField.
        """

    @jni_function(9, since="1.2", guard="to_reflected_method")
    def to_reflected_method(self, cls: Class, method_id: Method, is_static: Boolean) -> Object:
        """Make a reflection object for a method or constructor.

        Args:
            cls: the class that declares it.
            method_id: the method or constructor.
            is_static: whether it is static.

        Returns:
            A ``java.lang.reflect.Method``, or ``Constructor`` for a constructor.

        Raises:
            InvalidClass: ``cls`` is stale or not a class.
            InvalidMethodID: ``method_id`` is not of ``cls``.
            IllegalArgument: ``is_static`` is wrong.
            JavaException: ``OutOfMemoryError``.

        Example:
            >>> jni.to_reflected_method(shop, price, True).cls.name
            'java.lang.reflect.Method'

        JNI: ToReflectedMethod.
        """

    @jni_function(12, since="1.2", guard="to_reflected_field")
    def to_reflected_field(self, cls: Class, field_id: Field, is_static: Boolean) -> Object:
        """Make a reflection object for a field.

        Args:
            cls: the class that declares it.
            field_id: the field.
            is_static: whether it is static.

        Returns:
            A ``java.lang.reflect.Field``.

        Raises:
            InvalidClass: ``cls`` is stale or not a class.
            InvalidFieldID: ``field_id`` is not of ``cls``.
            IllegalArgument: ``is_static`` is wrong.
            JavaException: ``OutOfMemoryError``.

        Example:
            >>> jni.to_reflected_field(order_class, number, False).cls.name
            'java.lang.reflect.Field'

        JNI: ToReflectedField.
        """
