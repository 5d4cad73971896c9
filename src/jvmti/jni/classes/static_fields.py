"""Static fields: find, read and write them.

The agent checks that the field belongs to the class and has the function's type.
"""

from __future__ import annotations

from jvmti.interface.calling import Calling
from jvmti.interface.declaration import jni_function
from jvmti.interface.types import Boolean, Byte, Char, Double, Float, Int, Long, Short, Text
from jvmti.refs import Class, Field, Object


class StaticFieldFunctions(Calling):
    """The functions of the chapter "Accessing static fields"."""

    @jni_function(144, guard="loaded_class", c_name="GetStaticFieldID")
    def get_static_field_id(self, clazz: Class, name: Text, sig: Text) -> Field:
        """Find a static field of the class or its supertypes by name and signature.

        Initialises the class if necessary.

        Args:
            clazz: the class to search.
            name: the field's name.
            sig: the signature in the VM's form, such as ``I``, ``Ljava/lang/String;``.

        Returns:
            The field, which stays valid as long as its class is loaded.

        Raises:
            InvalidClass: ``clazz`` is stale or not a class.
            JavaException: ``NoSuchFieldError`` if there is none, the exception of the static
                initialiser, ``OutOfMemoryError``.

        Example:
            >>> field = jni.get_static_field_id(shop, "tax", "D")
            >>> jni.get_static_double_field(shop, field)
            0.25

        JNI: GetStaticFieldID.
        """

    @jni_function(145, guard="static_field<'L'>", runs_java=False, early=True)
    def get_static_object_field(self, clazz: Class, field_id: Field) -> Object | None:
        """Return the value of a static field that holds a reference.

        Args:
            clazz: the class that declares the field, or a subclass.
            field_id: the field.

        Returns:
            The object in the field; ``None`` is null.

        Raises:
            InvalidClass: ``clazz`` is stale or not a class.
            InvalidFieldID: ``field_id`` is not a static field of ``clazz``, or of another type.

        Example:
            >>> name = jni.get_static_field_id(shop, "name", "Ljava/lang/String;")
            >>> jni.get_string_chars(jni.get_static_object_field(shop, name))
            'Corner shop'

        JNI: GetStaticObjectField.
        """

    @jni_function(146, guard="static_field<'Z'>", runs_java=False, early=True)
    def get_static_boolean_field(self, clazz: Class, field_id: Field) -> Boolean:
        """Return the value of a static field of type ``boolean``.

        Args:
            clazz: the class that declares the field, or a subclass.
            field_id: the field.

        Returns:
            Its value.

        Raises:
            InvalidClass: ``clazz`` is stale or not a class.
            InvalidFieldID: ``field_id`` is not a static field of ``clazz``, or of another type.

        Example:
            >>> open = jni.get_static_field_id(shop, "open", "Z")
            >>> jni.get_static_boolean_field(shop, open)
            True

        JNI: GetStaticBooleanField.
        """

    @jni_function(147, guard="static_field<'B'>", runs_java=False, early=True)
    def get_static_byte_field(self, clazz: Class, field_id: Field) -> Byte:
        """Return the value of a static field of type ``byte``.

        Args:
            clazz: the class that declares the field, or a subclass.
            field_id: the field.

        Returns:
            Its value.

        Raises:
            InvalidClass: ``clazz`` is stale or not a class.
            InvalidFieldID: ``field_id`` is not a static field of ``clazz``, or of another type.

        Example:
            >>> floor = jni.get_static_field_id(shop, "floor", "B")
            >>> jni.get_static_byte_field(shop, floor)
            1

        JNI: GetStaticByteField.
        """

    @jni_function(148, guard="static_field<'C'>", runs_java=False, early=True)
    def get_static_char_field(self, clazz: Class, field_id: Field) -> Char:
        """Return the value of a static field of type ``char``.

        Args:
            clazz: the class that declares the field, or a subclass.
            field_id: the field.

        Returns:
            Its value, a UTF-16 code unit.

        Raises:
            InvalidClass: ``clazz`` is stale or not a class.
            InvalidFieldID: ``field_id`` is not a static field of ``clazz``, or of another type.

        Example:
            >>> letter = jni.get_static_field_id(shop, "letter", "C")
            >>> jni.get_static_char_field(shop, letter)
            'C'

        JNI: GetStaticCharField.
        """

    @jni_function(149, guard="static_field<'S'>", runs_java=False, early=True)
    def get_static_short_field(self, clazz: Class, field_id: Field) -> Short:
        """Return the value of a static field of type ``short``.

        Args:
            clazz: the class that declares the field, or a subclass.
            field_id: the field.

        Returns:
            Its value.

        Raises:
            InvalidClass: ``clazz`` is stale or not a class.
            InvalidFieldID: ``field_id`` is not a static field of ``clazz``, or of another type.

        Example:
            >>> aisle = jni.get_static_field_id(shop, "aisle", "S")
            >>> jni.get_static_short_field(shop, aisle)
            12

        JNI: GetStaticShortField.
        """

    @jni_function(150, guard="static_field<'I'>", runs_java=False, early=True)
    def get_static_int_field(self, clazz: Class, field_id: Field) -> Int:
        """Return the value of a static field of type ``int``.

        Args:
            clazz: the class that declares the field, or a subclass.
            field_id: the field.

        Returns:
            Its value.

        Raises:
            InvalidClass: ``clazz`` is stale or not a class.
            InvalidFieldID: ``field_id`` is not a static field of ``clazz``, or of another type.

        Example:
            >>> sold = jni.get_static_field_id(shop, "sold", "I")
            >>> jni.get_static_int_field(shop, sold) >= 3
            True

        JNI: GetStaticIntField.
        """

    @jni_function(151, guard="static_field<'J'>", runs_java=False, early=True)
    def get_static_long_field(self, clazz: Class, field_id: Field) -> Long:
        """Return the value of a static field of type ``long``.

        Args:
            clazz: the class that declares the field, or a subclass.
            field_id: the field.

        Returns:
            Its value.

        Raises:
            InvalidClass: ``clazz`` is stale or not a class.
            InvalidFieldID: ``field_id`` is not a static field of ``clazz``, or of another type.

        Example:
            >>> takings = jni.get_static_field_id(shop, "takings", "J")
            >>> jni.get_static_long_field(shop, takings)
            3750

        JNI: GetStaticLongField.
        """

    @jni_function(152, guard="static_field<'F'>", runs_java=False, early=True)
    def get_static_float_field(self, clazz: Class, field_id: Field) -> Float:
        """Return the value of a static field of type ``float``.

        Args:
            clazz: the class that declares the field, or a subclass.
            field_id: the field.

        Returns:
            Its value.

        Raises:
            InvalidClass: ``clazz`` is stale or not a class.
            InvalidFieldID: ``field_id`` is not a static field of ``clazz``, or of another type.

        Example:
            >>> rent = jni.get_static_field_id(shop, "rent", "F")
            >>> jni.get_static_float_field(shop, rent)
            1.5

        JNI: GetStaticFloatField.
        """

    @jni_function(153, guard="static_field<'D'>", runs_java=False, early=True)
    def get_static_double_field(self, clazz: Class, field_id: Field) -> Double:
        """Return the value of a static field of type ``double``.

        Args:
            clazz: the class that declares the field, or a subclass.
            field_id: the field.

        Returns:
            Its value.

        Raises:
            InvalidClass: ``clazz`` is stale or not a class.
            InvalidFieldID: ``field_id`` is not a static field of ``clazz``, or of another type.

        Example:
            >>> tax = jni.get_static_field_id(shop, "tax", "D")
            >>> jni.get_static_double_field(shop, tax)
            0.25

        JNI: GetStaticDoubleField.
        """

    @jni_function(154, guard="set_static_object_field")
    def set_static_object_field(self, clazz: Class, field_id: Field, value: Object | None) -> None:
        """Change the value of a static field that holds a reference.

        Args:
            clazz: the class that declares the field, or a subclass.
            field_id: the field.
            value: the new value; ``None`` is null.

        Raises:
            InvalidClass: ``clazz`` is stale or not a class.
            InvalidFieldID: ``field_id`` is not a static field of ``clazz``, or of another type.
            InvalidObject: ``value`` is stale.
            TypeMismatch: ``value`` is not of the field's class.

        Example:
            >>> name = jni.get_static_field_id(shop, "name", "Ljava/lang/String;")
            >>> before = jni.get_static_object_field(shop, name)
            >>> jni.set_static_object_field(shop, name, jni.new_string("Closed"))
            >>> jni.get_string_chars(jni.get_static_object_field(shop, name))
            'Closed'
            >>> jni.set_static_object_field(shop, name, before)

        JNI: SetStaticObjectField.
        """

    @jni_function(155, guard="set_static_field<'Z'>", runs_java=False)
    def set_static_boolean_field(self, clazz: Class, field_id: Field, value: Boolean) -> None:
        """Change the value of a static field of type ``boolean``.

        Args:
            clazz: the class that declares the field, or a subclass.
            field_id: the field.
            value: the new value.

        Raises:
            InvalidClass: ``clazz`` is stale or not a class.
            InvalidFieldID: ``field_id`` is not a static field of ``clazz``, or of another type.

        Example:
            >>> open = jni.get_static_field_id(shop, "open", "Z")
            >>> jni.set_static_boolean_field(shop, open, False)
            >>> jni.get_static_boolean_field(shop, open)
            False
            >>> jni.set_static_boolean_field(shop, open, True)

        JNI: SetStaticBooleanField.
        """

    @jni_function(156, guard="set_static_field<'B'>", runs_java=False)
    def set_static_byte_field(self, clazz: Class, field_id: Field, value: Byte) -> None:
        """Change the value of a static field of type ``byte``.

        Args:
            clazz: the class that declares the field, or a subclass.
            field_id: the field.
            value: the new value.

        Raises:
            InvalidClass: ``clazz`` is stale or not a class.
            InvalidFieldID: ``field_id`` is not a static field of ``clazz``, or of another type.

        Example:
            >>> floor = jni.get_static_field_id(shop, "floor", "B")
            >>> jni.set_static_byte_field(shop, floor, 2)
            >>> jni.get_static_byte_field(shop, floor)
            2
            >>> jni.set_static_byte_field(shop, floor, 1)

        JNI: SetStaticByteField.
        """

    @jni_function(157, guard="set_static_field<'C'>", runs_java=False)
    def set_static_char_field(self, clazz: Class, field_id: Field, value: Char) -> None:
        """Change the value of a static field of type ``char``.

        Args:
            clazz: the class that declares the field, or a subclass.
            field_id: the field.
            value: the new value, a UTF-16 code unit.

        Raises:
            InvalidClass: ``clazz`` is stale or not a class.
            InvalidFieldID: ``field_id`` is not a static field of ``clazz``, or of another type.

        Example:
            >>> letter = jni.get_static_field_id(shop, "letter", "C")
            >>> jni.set_static_char_field(shop, letter, "D")
            >>> jni.get_static_char_field(shop, letter)
            'D'
            >>> jni.set_static_char_field(shop, letter, "C")

        JNI: SetStaticCharField.
        """

    @jni_function(158, guard="set_static_field<'S'>", runs_java=False)
    def set_static_short_field(self, clazz: Class, field_id: Field, value: Short) -> None:
        """Change the value of a static field of type ``short``.

        Args:
            clazz: the class that declares the field, or a subclass.
            field_id: the field.
            value: the new value.

        Raises:
            InvalidClass: ``clazz`` is stale or not a class.
            InvalidFieldID: ``field_id`` is not a static field of ``clazz``, or of another type.

        Example:
            >>> aisle = jni.get_static_field_id(shop, "aisle", "S")
            >>> jni.set_static_short_field(shop, aisle, 13)
            >>> jni.get_static_short_field(shop, aisle)
            13
            >>> jni.set_static_short_field(shop, aisle, 12)

        JNI: SetStaticShortField.
        """

    @jni_function(159, guard="set_static_field<'I'>", runs_java=False)
    def set_static_int_field(self, clazz: Class, field_id: Field, value: Int) -> None:
        """Change the value of a static field of type ``int``.

        Args:
            clazz: the class that declares the field, or a subclass.
            field_id: the field.
            value: the new value.

        Raises:
            InvalidClass: ``clazz`` is stale or not a class.
            InvalidFieldID: ``field_id`` is not a static field of ``clazz``, or of another type.

        Example:
            >>> sold = jni.get_static_field_id(shop, "sold", "I")
            >>> jni.set_static_int_field(shop, sold, 4)
            >>> jni.get_static_int_field(shop, sold)
            4
            >>> jni.set_static_int_field(shop, sold, 3)

        JNI: SetStaticIntField.
        """

    @jni_function(160, guard="set_static_field<'J'>", runs_java=False)
    def set_static_long_field(self, clazz: Class, field_id: Field, value: Long) -> None:
        """Change the value of a static field of type ``long``.

        Args:
            clazz: the class that declares the field, or a subclass.
            field_id: the field.
            value: the new value.

        Raises:
            InvalidClass: ``clazz`` is stale or not a class.
            InvalidFieldID: ``field_id`` is not a static field of ``clazz``, or of another type.

        Example:
            >>> takings = jni.get_static_field_id(shop, "takings", "J")
            >>> jni.set_static_long_field(shop, takings, 1099511627776)
            >>> jni.get_static_long_field(shop, takings)
            1099511627776
            >>> jni.set_static_long_field(shop, takings, 3750)

        JNI: SetStaticLongField.
        """

    @jni_function(161, guard="set_static_field<'F'>", runs_java=False)
    def set_static_float_field(self, clazz: Class, field_id: Field, value: Float) -> None:
        """Change the value of a static field of type ``float``.

        Args:
            clazz: the class that declares the field, or a subclass.
            field_id: the field.
            value: the new value.

        Raises:
            InvalidClass: ``clazz`` is stale or not a class.
            InvalidFieldID: ``field_id`` is not a static field of ``clazz``, or of another type.

        Example:
            >>> rent = jni.get_static_field_id(shop, "rent", "F")
            >>> jni.set_static_float_field(shop, rent, 2.5)
            >>> jni.get_static_float_field(shop, rent)
            2.5
            >>> jni.set_static_float_field(shop, rent, 1.5)

        JNI: SetStaticFloatField.
        """

    @jni_function(162, guard="set_static_field<'D'>", runs_java=False)
    def set_static_double_field(self, clazz: Class, field_id: Field, value: Double) -> None:
        """Change the value of a static field of type ``double``.

        Args:
            clazz: the class that declares the field, or a subclass.
            field_id: the field.
            value: the new value.

        Raises:
            InvalidClass: ``clazz`` is stale or not a class.
            InvalidFieldID: ``field_id`` is not a static field of ``clazz``, or of another type.

        Example:
            >>> tax = jni.get_static_field_id(shop, "tax", "D")
            >>> jni.set_static_double_field(shop, tax, 0.5)
            >>> jni.get_static_double_field(shop, tax)
            0.5
            >>> jni.set_static_double_field(shop, tax, 0.25)

        JNI: SetStaticDoubleField.
        """
