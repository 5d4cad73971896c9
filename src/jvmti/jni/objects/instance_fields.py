"""Instance fields: find, read and write them.

The agent checks that the field belongs to the object and has the function's type.
"""

from __future__ import annotations

from jvmti.interface.calling import Calling
from jvmti.interface.declaration import jni_function
from jvmti.interface.types import Boolean, Byte, Char, Double, Float, Int, Long, Short, Text
from jvmti.refs import Class, Field, Object


class InstanceFieldFunctions(Calling):
    """The functions of the chapter "Accessing fields of objects"."""

    @jni_function(94, guard="loaded_class", c_name="GetFieldID")
    def get_field_id(self, clazz: Class, name: Text, sig: Text) -> Field:
        """Find a non-static field of the class or its supertypes by name and signature.

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
            >>> field = jni.get_field_id(order_class, "cents", "J")
            >>> jni.get_long_field(order, field)
            1250

        JNI: GetFieldID.
        """

    @jni_function(95, guard="instance_field<'L'>", runs_java=False, early=True)
    def get_object_field(self, obj: Object, field_id: Field) -> Object | None:
        """Return the value of an instance field that holds a reference.

        Args:
            obj: the object to read.
            field_id: the field.

        Returns:
            The object in the field; ``None`` is null.

        Raises:
            InvalidObject: ``obj`` is stale.
            InvalidFieldID: ``field_id`` is not an instance field of ``obj``, or of another type.

        Example:
            >>> customer = jni.get_field_id(order_class, "customer", "Ljava/lang/String;")
            >>> jni.get_string_chars(jni.get_object_field(order, customer))
            'Ada'

        JNI: GetObjectField.
        """

    @jni_function(96, guard="instance_field<'Z'>", runs_java=False, early=True)
    def get_boolean_field(self, obj: Object, field_id: Field) -> Boolean:
        """Return the value of an instance field of type ``boolean``.

        Args:
            obj: the object to read.
            field_id: the field.

        Returns:
            Its value.

        Raises:
            InvalidObject: ``obj`` is stale.
            InvalidFieldID: ``field_id`` is not an instance field of ``obj``, or of another type.

        Example:
            >>> paid = jni.get_field_id(order_class, "paid", "Z")
            >>> jni.get_boolean_field(order, paid)
            True

        JNI: GetBooleanField.
        """

    @jni_function(97, guard="instance_field<'B'>", runs_java=False, early=True)
    def get_byte_field(self, obj: Object, field_id: Field) -> Byte:
        """Return the value of an instance field of type ``byte``.

        Args:
            obj: the object to read.
            field_id: the field.

        Returns:
            Its value.

        Raises:
            InvalidObject: ``obj`` is stale.
            InvalidFieldID: ``field_id`` is not an instance field of ``obj``, or of another type.

        Example:
            >>> shelf = jni.get_field_id(order_class, "shelf", "B")
            >>> jni.get_byte_field(order, shelf)
            2

        JNI: GetByteField.
        """

    @jni_function(98, guard="instance_field<'C'>", runs_java=False, early=True)
    def get_char_field(self, obj: Object, field_id: Field) -> Char:
        """Return the value of an instance field of type ``char``.

        Args:
            obj: the object to read.
            field_id: the field.

        Returns:
            Its value, a UTF-16 code unit.

        Raises:
            InvalidObject: ``obj`` is stale.
            InvalidFieldID: ``field_id`` is not an instance field of ``obj``, or of another type.

        Example:
            >>> size = jni.get_field_id(order_class, "size", "C")
            >>> jni.get_char_field(order, size)
            'L'

        JNI: GetCharField.
        """

    @jni_function(99, guard="instance_field<'S'>", runs_java=False, early=True)
    def get_short_field(self, obj: Object, field_id: Field) -> Short:
        """Return the value of an instance field of type ``short``.

        Args:
            obj: the object to read.
            field_id: the field.

        Returns:
            Its value.

        Raises:
            InvalidObject: ``obj`` is stale.
            InvalidFieldID: ``field_id`` is not an instance field of ``obj``, or of another type.

        Example:
            >>> row = jni.get_field_id(order_class, "row", "S")
            >>> jni.get_short_field(order, row)
            40

        JNI: GetShortField.
        """

    @jni_function(100, guard="instance_field<'I'>", runs_java=False, early=True)
    def get_int_field(self, obj: Object, field_id: Field) -> Int:
        """Return the value of an instance field of type ``int``.

        Args:
            obj: the object to read.
            field_id: the field.

        Returns:
            Its value.

        Raises:
            InvalidObject: ``obj`` is stale.
            InvalidFieldID: ``field_id`` is not an instance field of ``obj``, or of another type.

        Example:
            >>> number = jni.get_field_id(order_class, "number", "I")
            >>> jni.get_int_field(order, number)
            7

        JNI: GetIntField.
        """

    @jni_function(101, guard="instance_field<'J'>", runs_java=False, early=True)
    def get_long_field(self, obj: Object, field_id: Field) -> Long:
        """Return the value of an instance field of type ``long``.

        Args:
            obj: the object to read.
            field_id: the field.

        Returns:
            Its value.

        Raises:
            InvalidObject: ``obj`` is stale.
            InvalidFieldID: ``field_id`` is not an instance field of ``obj``, or of another type.

        Example:
            >>> cents = jni.get_field_id(order_class, "cents", "J")
            >>> jni.get_long_field(order, cents)
            1250

        JNI: GetLongField.
        """

    @jni_function(102, guard="instance_field<'F'>", runs_java=False, early=True)
    def get_float_field(self, obj: Object, field_id: Field) -> Float:
        """Return the value of an instance field of type ``float``.

        Args:
            obj: the object to read.
            field_id: the field.

        Returns:
            Its value.

        Raises:
            InvalidObject: ``obj`` is stale.
            InvalidFieldID: ``field_id`` is not an instance field of ``obj``, or of another type.

        Example:
            >>> weight = jni.get_field_id(order_class, "weight", "F")
            >>> jni.get_float_field(order, weight)
            0.5

        JNI: GetFloatField.
        """

    @jni_function(103, guard="instance_field<'D'>", runs_java=False, early=True)
    def get_double_field(self, obj: Object, field_id: Field) -> Double:
        """Return the value of an instance field of type ``double``.

        Args:
            obj: the object to read.
            field_id: the field.

        Returns:
            Its value.

        Raises:
            InvalidObject: ``obj`` is stale.
            InvalidFieldID: ``field_id`` is not an instance field of ``obj``, or of another type.

        Example:
            >>> rate = jni.get_field_id(order_class, "rate", "D")
            >>> jni.get_double_field(order, rate)
            0.75

        JNI: GetDoubleField.
        """

    @jni_function(104, guard="set_instance_object_field")
    def set_object_field(self, obj: Object, field_id: Field, value: Object | None) -> None:
        """Change the value of an instance field that holds a reference.

        Args:
            obj: the object to change.
            field_id: the field.
            value: the new value; ``None`` is null.

        Raises:
            InvalidObject: ``obj`` or ``value`` is stale.
            InvalidFieldID: ``field_id`` is not an instance field of ``obj``, or of another type.
            TypeMismatch: ``value`` is not of the field's class.

        Example:
            >>> customer = jni.get_field_id(order_class, "customer", "Ljava/lang/String;")
            >>> jni.set_object_field(order, customer, jni.new_string("Grace"))
            >>> jni.get_string_chars(jni.get_object_field(order, customer))
            'Grace'
            >>> jni.set_object_field(order, customer, jni.new_string("Ada"))

        JNI: SetObjectField.
        """

    @jni_function(105, guard="set_instance_field<'Z'>", runs_java=False)
    def set_boolean_field(self, obj: Object, field_id: Field, value: Boolean) -> None:
        """Change the value of an instance field of type ``boolean``.

        Args:
            obj: the object to change.
            field_id: the field.
            value: the new value.

        Raises:
            InvalidObject: ``obj`` is stale.
            InvalidFieldID: ``field_id`` is not an instance field of ``obj``, or of another type.

        Example:
            >>> paid = jni.get_field_id(order_class, "paid", "Z")
            >>> jni.set_boolean_field(order, paid, False)
            >>> jni.get_boolean_field(order, paid)
            False
            >>> jni.set_boolean_field(order, paid, True)

        JNI: SetBooleanField.
        """

    @jni_function(106, guard="set_instance_field<'B'>", runs_java=False)
    def set_byte_field(self, obj: Object, field_id: Field, value: Byte) -> None:
        """Change the value of an instance field of type ``byte``.

        Args:
            obj: the object to change.
            field_id: the field.
            value: the new value.

        Raises:
            InvalidObject: ``obj`` is stale.
            InvalidFieldID: ``field_id`` is not an instance field of ``obj``, or of another type.

        Example:
            >>> shelf = jni.get_field_id(order_class, "shelf", "B")
            >>> jni.set_byte_field(order, shelf, 9)
            >>> jni.get_byte_field(order, shelf)
            9
            >>> jni.set_byte_field(order, shelf, 2)

        JNI: SetByteField.
        """

    @jni_function(107, guard="set_instance_field<'C'>", runs_java=False)
    def set_char_field(self, obj: Object, field_id: Field, value: Char) -> None:
        """Change the value of an instance field of type ``char``.

        Args:
            obj: the object to change.
            field_id: the field.
            value: the new value, a UTF-16 code unit.

        Raises:
            InvalidObject: ``obj`` is stale.
            InvalidFieldID: ``field_id`` is not an instance field of ``obj``, or of another type.

        Example:
            >>> size = jni.get_field_id(order_class, "size", "C")
            >>> jni.set_char_field(order, size, "M")
            >>> jni.get_char_field(order, size)
            'M'
            >>> jni.set_char_field(order, size, "L")

        JNI: SetCharField.
        """

    @jni_function(108, guard="set_instance_field<'S'>", runs_java=False)
    def set_short_field(self, obj: Object, field_id: Field, value: Short) -> None:
        """Change the value of an instance field of type ``short``.

        Args:
            obj: the object to change.
            field_id: the field.
            value: the new value.

        Raises:
            InvalidObject: ``obj`` is stale.
            InvalidFieldID: ``field_id`` is not an instance field of ``obj``, or of another type.

        Example:
            >>> row = jni.get_field_id(order_class, "row", "S")
            >>> jni.set_short_field(order, row, 41)
            >>> jni.get_short_field(order, row)
            41
            >>> jni.set_short_field(order, row, 40)

        JNI: SetShortField.
        """

    @jni_function(109, guard="set_instance_field<'I'>", runs_java=False)
    def set_int_field(self, obj: Object, field_id: Field, value: Int) -> None:
        """Change the value of an instance field of type ``int``.

        Args:
            obj: the object to change.
            field_id: the field.
            value: the new value.

        Raises:
            InvalidObject: ``obj`` is stale.
            InvalidFieldID: ``field_id`` is not an instance field of ``obj``, or of another type.

        Example:
            >>> number = jni.get_field_id(order_class, "number", "I")
            >>> jni.set_int_field(order, number, 8)
            >>> jni.get_int_field(order, number)
            8
            >>> jni.set_int_field(order, number, 7)

        JNI: SetIntField.
        """

    @jni_function(110, guard="set_instance_field<'J'>", runs_java=False)
    def set_long_field(self, obj: Object, field_id: Field, value: Long) -> None:
        """Change the value of an instance field of type ``long``.

        Args:
            obj: the object to change.
            field_id: the field.
            value: the new value.

        Raises:
            InvalidObject: ``obj`` is stale.
            InvalidFieldID: ``field_id`` is not an instance field of ``obj``, or of another type.

        Example:
            >>> cents = jni.get_field_id(order_class, "cents", "J")
            >>> jni.set_long_field(order, cents, 1099511627776)
            >>> jni.get_long_field(order, cents)
            1099511627776
            >>> jni.set_long_field(order, cents, 1250)

        JNI: SetLongField.
        """

    @jni_function(111, guard="set_instance_field<'F'>", runs_java=False)
    def set_float_field(self, obj: Object, field_id: Field, value: Float) -> None:
        """Change the value of an instance field of type ``float``.

        Args:
            obj: the object to change.
            field_id: the field.
            value: the new value.

        Raises:
            InvalidObject: ``obj`` is stale.
            InvalidFieldID: ``field_id`` is not an instance field of ``obj``, or of another type.

        Example:
            >>> weight = jni.get_field_id(order_class, "weight", "F")
            >>> jni.set_float_field(order, weight, 2.5)
            >>> jni.get_float_field(order, weight)
            2.5
            >>> jni.set_float_field(order, weight, 0.5)

        JNI: SetFloatField.
        """

    @jni_function(112, guard="set_instance_field<'D'>", runs_java=False)
    def set_double_field(self, obj: Object, field_id: Field, value: Double) -> None:
        """Change the value of an instance field of type ``double``.

        Args:
            obj: the object to change.
            field_id: the field.
            value: the new value.

        Raises:
            InvalidObject: ``obj`` is stale.
            InvalidFieldID: ``field_id`` is not an instance field of ``obj``, or of another type.

        Example:
            >>> rate = jni.get_field_id(order_class, "rate", "D")
            >>> jni.set_double_field(order, rate, 0.5)
            >>> jni.get_double_field(order, rate)
            0.5
            >>> jni.set_double_field(order, rate, 0.75)

        JNI: SetDoubleField.
        """
