"""Instance methods: find them, and call them with or without dynamic dispatch.

The agent checks the receiver, the method and the arguments before every call.
"""

from __future__ import annotations

from jvmti.interface.calling import Calling
from jvmti.interface.declaration import jni_function
from jvmti.interface.types import (
    Arguments,
    Boolean,
    Byte,
    Char,
    Double,
    Float,
    Int,
    Long,
    Short,
    Text,
)
from jvmti.refs import Class, Method, Object


class InstanceMethodFunctions(Calling):
    """The functions of the chapter "Calling instance methods"."""

    @jni_function(33, guard="loaded_class", c_name="GetMethodID")
    def get_method_id(self, clazz: Class, name: Text, sig: Text) -> Method:
        """Find a non-static method of the class or its supertypes by name and signature.

        Initialises the class if necessary.

        Args:
            clazz: the class to search.
            name: the method's name; ``<init>`` for a constructor.
            sig: the signature in the VM's form, such as ``(ILjava/lang/String;)V``.

        Returns:
            The method, which stays valid as long as its class is loaded.

        Raises:
            InvalidClass: ``clazz`` is stale or not a class.
            JavaException: ``NoSuchMethodError`` if there is none, the exception of the static
                initialiser, ``OutOfMemoryError``.

        Example:
            >>> method = jni.get_method_id(order_class, "cents", "()J")
            >>> jni.call_long_method(order, method)
            1250
            >>> jni.get_method_id(order_class, "cents", "()I")  # the type is part of the name
            Traceback (most recent call last):
            jvmti.JavaException: java.lang.NoSuchMethodError: ...

        JNI: GetMethodID.
        """

    @jni_function(36, guard="instance_method<'L'>", folds=(34, 35), c_name="CallObjectMethodA")
    def call_object_method(
        self, obj: Object, method_id: Method, args: Arguments = ()
    ) -> Object | None:
        """Call an instance method that returns a reference.

        Args:
            obj: the receiver.
            method_id: a method of the receiver's class or its supertypes.
            args: one value for each parameter of the method.

        Returns:
            The object that the method returned; ``None`` is null.

        Raises:
            InvalidObject: ``obj`` is stale.
            InvalidMethodID: ``method_id`` is not an instance method of the receiver's class, or its
                result is not a reference.
            IllegalArgument: ``args`` do not match the method's signature.
            JavaException: the method threw an exception.

        Example:
            >>> to_string = jni.get_method_id(order_class, "toString", "()Ljava/lang/String;")
            >>> jni.get_string_chars(jni.call_object_method(order, to_string))
            'order 7'

        JNI: CallObjectMethodA.
        """

    @jni_function(39, guard="instance_method<'Z'>", folds=(37, 38), c_name="CallBooleanMethodA")
    def call_boolean_method(self, obj: Object, method_id: Method, args: Arguments = ()) -> Boolean:
        """Call an instance method that returns a ``boolean``.

        Args:
            obj: the receiver.
            method_id: a method of the receiver's class or its supertypes.
            args: one value for each parameter of the method.

        Returns:
            The value that the method returned.

        Raises:
            InvalidObject: ``obj`` is stale.
            InvalidMethodID: ``method_id`` is not an instance method of the receiver's class, or its
                result is not a ``boolean``.
            IllegalArgument: ``args`` do not match the method's signature.
            JavaException: the method threw an exception.

        Example:
            >>> is_paid = jni.get_method_id(order_class, "isPaid", "()Z")
            >>> jni.call_boolean_method(order, is_paid)
            True

        JNI: CallBooleanMethodA.
        """

    @jni_function(42, guard="instance_method<'B'>", folds=(40, 41), c_name="CallByteMethodA")
    def call_byte_method(self, obj: Object, method_id: Method, args: Arguments = ()) -> Byte:
        """Call an instance method that returns a ``byte``.

        Args:
            obj: the receiver.
            method_id: a method of the receiver's class or its supertypes.
            args: one value for each parameter of the method.

        Returns:
            The value that the method returned.

        Raises:
            InvalidObject: ``obj`` is stale.
            InvalidMethodID: ``method_id`` is not an instance method of the receiver's class, or its
                result is not a ``byte``.
            IllegalArgument: ``args`` do not match the method's signature.
            JavaException: the method threw an exception.

        Example:
            >>> shelf = jni.get_method_id(order_class, "shelf", "()B")
            >>> jni.call_byte_method(order, shelf)
            2

        JNI: CallByteMethodA.
        """

    @jni_function(45, guard="instance_method<'C'>", folds=(43, 44), c_name="CallCharMethodA")
    def call_char_method(self, obj: Object, method_id: Method, args: Arguments = ()) -> Char:
        """Call an instance method that returns a ``char``.

        Args:
            obj: the receiver.
            method_id: a method of the receiver's class or its supertypes.
            args: one value for each parameter of the method.

        Returns:
            The value that the method returned, a UTF-16 code unit.

        Raises:
            InvalidObject: ``obj`` is stale.
            InvalidMethodID: ``method_id`` is not an instance method of the receiver's class, or its
                result is not a ``char``.
            IllegalArgument: ``args`` do not match the method's signature.
            JavaException: the method threw an exception.

        Example:
            >>> size = jni.get_method_id(order_class, "size", "()C")
            >>> jni.call_char_method(order, size)
            'L'

        JNI: CallCharMethodA.
        """

    @jni_function(48, guard="instance_method<'S'>", folds=(46, 47), c_name="CallShortMethodA")
    def call_short_method(self, obj: Object, method_id: Method, args: Arguments = ()) -> Short:
        """Call an instance method that returns a ``short``.

        Args:
            obj: the receiver.
            method_id: a method of the receiver's class or its supertypes.
            args: one value for each parameter of the method.

        Returns:
            The value that the method returned.

        Raises:
            InvalidObject: ``obj`` is stale.
            InvalidMethodID: ``method_id`` is not an instance method of the receiver's class, or its
                result is not a ``short``.
            IllegalArgument: ``args`` do not match the method's signature.
            JavaException: the method threw an exception.

        Example:
            >>> row = jni.get_method_id(order_class, "row", "()S")
            >>> jni.call_short_method(order, row)
            40

        JNI: CallShortMethodA.
        """

    @jni_function(51, guard="instance_method<'I'>", folds=(49, 50), c_name="CallIntMethodA")
    def call_int_method(self, obj: Object, method_id: Method, args: Arguments = ()) -> Int:
        """Call an instance method that returns an ``int``.

        Args:
            obj: the receiver.
            method_id: a method of the receiver's class or its supertypes.
            args: one value for each parameter of the method.

        Returns:
            The value that the method returned.

        Raises:
            InvalidObject: ``obj`` is stale.
            InvalidMethodID: ``method_id`` is not an instance method of the receiver's class, or its
                result is not an ``int``.
            IllegalArgument: ``args`` do not match the method's signature.
            JavaException: the method threw an exception.

        Example:
            >>> number = jni.get_method_id(order_class, "number", "()I")
            >>> jni.call_int_method(order, number)
            7

        JNI: CallIntMethodA.
        """

    @jni_function(54, guard="instance_method<'J'>", folds=(52, 53), c_name="CallLongMethodA")
    def call_long_method(self, obj: Object, method_id: Method, args: Arguments = ()) -> Long:
        """Call an instance method that returns a ``long``.

        Args:
            obj: the receiver.
            method_id: a method of the receiver's class or its supertypes.
            args: one value for each parameter of the method.

        Returns:
            The value that the method returned.

        Raises:
            InvalidObject: ``obj`` is stale.
            InvalidMethodID: ``method_id`` is not an instance method of the receiver's class, or its
                result is not a ``long``.
            IllegalArgument: ``args`` do not match the method's signature.
            JavaException: the method threw an exception.

        Example:
            >>> cents = jni.get_method_id(order_class, "cents", "()J")
            >>> jni.call_long_method(order, cents)
            1250

        JNI: CallLongMethodA.
        """

    @jni_function(57, guard="instance_method<'F'>", folds=(55, 56), c_name="CallFloatMethodA")
    def call_float_method(self, obj: Object, method_id: Method, args: Arguments = ()) -> Float:
        """Call an instance method that returns a ``float``.

        Args:
            obj: the receiver.
            method_id: a method of the receiver's class or its supertypes.
            args: one value for each parameter of the method.

        Returns:
            The value that the method returned.

        Raises:
            InvalidObject: ``obj`` is stale.
            InvalidMethodID: ``method_id`` is not an instance method of the receiver's class, or its
                result is not a ``float``.
            IllegalArgument: ``args`` do not match the method's signature.
            JavaException: the method threw an exception.

        Example:
            >>> weight = jni.get_method_id(order_class, "weight", "()F")
            >>> jni.call_float_method(order, weight)
            0.5

        JNI: CallFloatMethodA.
        """

    @jni_function(60, guard="instance_method<'D'>", folds=(58, 59), c_name="CallDoubleMethodA")
    def call_double_method(self, obj: Object, method_id: Method, args: Arguments = ()) -> Double:
        """Call an instance method that returns a ``double``.

        Args:
            obj: the receiver.
            method_id: a method of the receiver's class or its supertypes.
            args: one value for each parameter of the method.

        Returns:
            The value that the method returned.

        Raises:
            InvalidObject: ``obj`` is stale.
            InvalidMethodID: ``method_id`` is not an instance method of the receiver's class, or its
                result is not a ``double``.
            IllegalArgument: ``args`` do not match the method's signature.
            JavaException: the method threw an exception.

        Example:
            >>> rate = jni.get_method_id(order_class, "rate", "()D")
            >>> jni.call_double_method(order, rate)
            0.75

        JNI: CallDoubleMethodA.
        """

    @jni_function(63, guard="instance_method<'V'>", folds=(61, 62), c_name="CallVoidMethodA")
    def call_void_method(self, obj: Object, method_id: Method, args: Arguments = ()) -> None:
        """Call an instance method without a result.

        Args:
            obj: the receiver.
            method_id: a method of the receiver's class or its supertypes.
            args: one value for each parameter of the method.

        Raises:
            InvalidObject: ``obj`` is stale.
            InvalidMethodID: ``method_id`` is not an instance method of the receiver's class, or its
                result is not ``void``.
            IllegalArgument: ``args`` do not match the method's signature.
            JavaException: the method threw an exception.

        Example:
            >>> pay = jni.get_method_id(order_class, "pay", "()V")
            >>> jni.call_void_method(order, pay)

        JNI: CallVoidMethodA.
        """

    @jni_function(
        66, guard="nonvirtual_method<'L'>", folds=(64, 65), c_name="CallNonvirtualObjectMethodA"
    )
    def call_nonvirtual_object_method(
        self, obj: Object, clazz: Class, method_id: Method, args: Arguments = ()
    ) -> Object | None:
        """Call one class's version of an instance method that returns a reference.

        Overriding methods of the object's own class are ignored.

        Args:
            obj: the receiver.
            clazz: the class whose version to call: the object's own, or a superclass.
            method_id: the method, as found in ``clazz``.
            args: one value for each parameter of the method.

        Returns:
            The object that the method returned; ``None`` is null.

        Raises:
            InvalidObject: ``obj`` is stale, or not of class ``clazz``.
            InvalidClass: ``clazz`` is stale or not a class.
            InvalidMethodID: ``method_id`` is not an instance method of ``clazz``, or its result is
                not a reference.
            IllegalArgument: ``args`` do not match the method's signature.
            JavaException: the method threw an exception.

        Example:
            >>> object_class = jni.find_class("java/lang/Object")
            >>> to_string = jni.get_method_id(object_class, "toString", "()Ljava/lang/String;")
            >>> text = jni.call_nonvirtual_object_method(order, object_class, to_string)
            >>> jni.get_string_chars(text)  # what Object does, not what Order does
            'Shop$Order@...'

        JNI: CallNonvirtualObjectMethodA.
        """

    @jni_function(
        69, guard="nonvirtual_method<'Z'>", folds=(67, 68), c_name="CallNonvirtualBooleanMethodA"
    )
    def call_nonvirtual_boolean_method(
        self, obj: Object, clazz: Class, method_id: Method, args: Arguments = ()
    ) -> Boolean:
        """Call one class's version of an instance method that returns a ``boolean``.

        Overriding methods of the object's own class are ignored.

        Args:
            obj: the receiver.
            clazz: the class whose version to call: the object's own, or a superclass.
            method_id: the method, as found in ``clazz``.
            args: one value for each parameter of the method.

        Returns:
            The value that the method returned.

        Raises:
            InvalidObject: ``obj`` is stale, or not of class ``clazz``.
            InvalidClass: ``clazz`` is stale or not a class.
            InvalidMethodID: ``method_id`` is not an instance method of ``clazz``, or its result is
                not a ``boolean``.
            IllegalArgument: ``args`` do not match the method's signature.
            JavaException: the method threw an exception.

        Example:
            >>> is_paid = jni.get_method_id(order_class, "isPaid", "()Z")
            >>> jni.call_nonvirtual_boolean_method(order, order_class, is_paid)
            True

        JNI: CallNonvirtualBooleanMethodA.
        """

    @jni_function(
        72, guard="nonvirtual_method<'B'>", folds=(70, 71), c_name="CallNonvirtualByteMethodA"
    )
    def call_nonvirtual_byte_method(
        self, obj: Object, clazz: Class, method_id: Method, args: Arguments = ()
    ) -> Byte:
        """Call one class's version of an instance method that returns a ``byte``.

        Overriding methods of the object's own class are ignored.

        Args:
            obj: the receiver.
            clazz: the class whose version to call: the object's own, or a superclass.
            method_id: the method, as found in ``clazz``.
            args: one value for each parameter of the method.

        Returns:
            The value that the method returned.

        Raises:
            InvalidObject: ``obj`` is stale, or not of class ``clazz``.
            InvalidClass: ``clazz`` is stale or not a class.
            InvalidMethodID: ``method_id`` is not an instance method of ``clazz``, or its result is
                not a ``byte``.
            IllegalArgument: ``args`` do not match the method's signature.
            JavaException: the method threw an exception.

        Example:
            >>> shelf = jni.get_method_id(order_class, "shelf", "()B")
            >>> jni.call_nonvirtual_byte_method(order, order_class, shelf)
            2

        JNI: CallNonvirtualByteMethodA.
        """

    @jni_function(
        75, guard="nonvirtual_method<'C'>", folds=(73, 74), c_name="CallNonvirtualCharMethodA"
    )
    def call_nonvirtual_char_method(
        self, obj: Object, clazz: Class, method_id: Method, args: Arguments = ()
    ) -> Char:
        """Call one class's version of an instance method that returns a ``char``.

        Overriding methods of the object's own class are ignored.

        Args:
            obj: the receiver.
            clazz: the class whose version to call: the object's own, or a superclass.
            method_id: the method, as found in ``clazz``.
            args: one value for each parameter of the method.

        Returns:
            The value that the method returned, a UTF-16 code unit.

        Raises:
            InvalidObject: ``obj`` is stale, or not of class ``clazz``.
            InvalidClass: ``clazz`` is stale or not a class.
            InvalidMethodID: ``method_id`` is not an instance method of ``clazz``, or its result is
                not a ``char``.
            IllegalArgument: ``args`` do not match the method's signature.
            JavaException: the method threw an exception.

        Example:
            >>> size = jni.get_method_id(order_class, "size", "()C")
            >>> jni.call_nonvirtual_char_method(order, order_class, size)
            'L'

        JNI: CallNonvirtualCharMethodA.
        """

    @jni_function(
        78, guard="nonvirtual_method<'S'>", folds=(76, 77), c_name="CallNonvirtualShortMethodA"
    )
    def call_nonvirtual_short_method(
        self, obj: Object, clazz: Class, method_id: Method, args: Arguments = ()
    ) -> Short:
        """Call one class's version of an instance method that returns a ``short``.

        Overriding methods of the object's own class are ignored.

        Args:
            obj: the receiver.
            clazz: the class whose version to call: the object's own, or a superclass.
            method_id: the method, as found in ``clazz``.
            args: one value for each parameter of the method.

        Returns:
            The value that the method returned.

        Raises:
            InvalidObject: ``obj`` is stale, or not of class ``clazz``.
            InvalidClass: ``clazz`` is stale or not a class.
            InvalidMethodID: ``method_id`` is not an instance method of ``clazz``, or its result is
                not a ``short``.
            IllegalArgument: ``args`` do not match the method's signature.
            JavaException: the method threw an exception.

        Example:
            >>> row = jni.get_method_id(order_class, "row", "()S")
            >>> jni.call_nonvirtual_short_method(order, order_class, row)
            40

        JNI: CallNonvirtualShortMethodA.
        """

    @jni_function(
        81, guard="nonvirtual_method<'I'>", folds=(79, 80), c_name="CallNonvirtualIntMethodA"
    )
    def call_nonvirtual_int_method(
        self, obj: Object, clazz: Class, method_id: Method, args: Arguments = ()
    ) -> Int:
        """Call one class's version of an instance method that returns an ``int``.

        Overriding methods of the object's own class are ignored.

        Args:
            obj: the receiver.
            clazz: the class whose version to call: the object's own, or a superclass.
            method_id: the method, as found in ``clazz``.
            args: one value for each parameter of the method.

        Returns:
            The value that the method returned.

        Raises:
            InvalidObject: ``obj`` is stale, or not of class ``clazz``.
            InvalidClass: ``clazz`` is stale or not a class.
            InvalidMethodID: ``method_id`` is not an instance method of ``clazz``, or its result is
                not an ``int``.
            IllegalArgument: ``args`` do not match the method's signature.
            JavaException: the method threw an exception.

        Example:
            >>> number = jni.get_method_id(order_class, "number", "()I")
            >>> jni.call_nonvirtual_int_method(order, order_class, number)
            7

        JNI: CallNonvirtualIntMethodA.
        """

    @jni_function(
        84, guard="nonvirtual_method<'J'>", folds=(82, 83), c_name="CallNonvirtualLongMethodA"
    )
    def call_nonvirtual_long_method(
        self, obj: Object, clazz: Class, method_id: Method, args: Arguments = ()
    ) -> Long:
        """Call one class's version of an instance method that returns a ``long``.

        Overriding methods of the object's own class are ignored.

        Args:
            obj: the receiver.
            clazz: the class whose version to call: the object's own, or a superclass.
            method_id: the method, as found in ``clazz``.
            args: one value for each parameter of the method.

        Returns:
            The value that the method returned.

        Raises:
            InvalidObject: ``obj`` is stale, or not of class ``clazz``.
            InvalidClass: ``clazz`` is stale or not a class.
            InvalidMethodID: ``method_id`` is not an instance method of ``clazz``, or its result is
                not a ``long``.
            IllegalArgument: ``args`` do not match the method's signature.
            JavaException: the method threw an exception.

        Example:
            >>> cents = jni.get_method_id(order_class, "cents", "()J")
            >>> jni.call_nonvirtual_long_method(order, order_class, cents)
            1250

        JNI: CallNonvirtualLongMethodA.
        """

    @jni_function(
        87, guard="nonvirtual_method<'F'>", folds=(85, 86), c_name="CallNonvirtualFloatMethodA"
    )
    def call_nonvirtual_float_method(
        self, obj: Object, clazz: Class, method_id: Method, args: Arguments = ()
    ) -> Float:
        """Call one class's version of an instance method that returns a ``float``.

        Overriding methods of the object's own class are ignored.

        Args:
            obj: the receiver.
            clazz: the class whose version to call: the object's own, or a superclass.
            method_id: the method, as found in ``clazz``.
            args: one value for each parameter of the method.

        Returns:
            The value that the method returned.

        Raises:
            InvalidObject: ``obj`` is stale, or not of class ``clazz``.
            InvalidClass: ``clazz`` is stale or not a class.
            InvalidMethodID: ``method_id`` is not an instance method of ``clazz``, or its result is
                not a ``float``.
            IllegalArgument: ``args`` do not match the method's signature.
            JavaException: the method threw an exception.

        Example:
            >>> weight = jni.get_method_id(order_class, "weight", "()F")
            >>> jni.call_nonvirtual_float_method(order, order_class, weight)
            0.5

        JNI: CallNonvirtualFloatMethodA.
        """

    @jni_function(
        90, guard="nonvirtual_method<'D'>", folds=(88, 89), c_name="CallNonvirtualDoubleMethodA"
    )
    def call_nonvirtual_double_method(
        self, obj: Object, clazz: Class, method_id: Method, args: Arguments = ()
    ) -> Double:
        """Call one class's version of an instance method that returns a ``double``.

        Overriding methods of the object's own class are ignored.

        Args:
            obj: the receiver.
            clazz: the class whose version to call: the object's own, or a superclass.
            method_id: the method, as found in ``clazz``.
            args: one value for each parameter of the method.

        Returns:
            The value that the method returned.

        Raises:
            InvalidObject: ``obj`` is stale, or not of class ``clazz``.
            InvalidClass: ``clazz`` is stale or not a class.
            InvalidMethodID: ``method_id`` is not an instance method of ``clazz``, or its result is
                not a ``double``.
            IllegalArgument: ``args`` do not match the method's signature.
            JavaException: the method threw an exception.

        Example:
            >>> rate = jni.get_method_id(order_class, "rate", "()D")
            >>> jni.call_nonvirtual_double_method(order, order_class, rate)
            0.75

        JNI: CallNonvirtualDoubleMethodA.
        """

    @jni_function(
        93, guard="nonvirtual_method<'V'>", folds=(91, 92), c_name="CallNonvirtualVoidMethodA"
    )
    def call_nonvirtual_void_method(
        self, obj: Object, clazz: Class, method_id: Method, args: Arguments = ()
    ) -> None:
        """Call one class's version of an instance method without a result.

        Overriding methods of the object's own class are ignored.

        Args:
            obj: the receiver.
            clazz: the class whose version to call: the object's own, or a superclass.
            method_id: the method, as found in ``clazz``.
            args: one value for each parameter of the method.

        Raises:
            InvalidObject: ``obj`` is stale, or not of class ``clazz``.
            InvalidClass: ``clazz`` is stale or not a class.
            InvalidMethodID: ``method_id`` is not an instance method of ``clazz``, or its result is
                not ``void``.
            IllegalArgument: ``args`` do not match the method's signature.
            JavaException: the method threw an exception.

        Example:
            >>> pay = jni.get_method_id(order_class, "pay", "()V")
            >>> jni.call_nonvirtual_void_method(order, order_class, pay)

        JNI: CallNonvirtualVoidMethodA.
        """
