"""Static methods: find and call them.

The agent checks the class, the method and the arguments before every call.
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


class StaticMethodFunctions(Calling):
    """The functions of the chapter "Calling static methods"."""

    @jni_function(113, guard="loaded_class", c_name="GetStaticMethodID")
    def get_static_method_id(self, clazz: Class, name: Text, sig: Text) -> Method:
        """Find a static method of the class or its supertypes by name and signature.

        Initialises the class if necessary.

        Args:
            clazz: the class to search.
            name: the method's name.
            sig: the signature in the VM's form, such as ``(ILjava/lang/String;)V``.

        Returns:
            The method, which stays valid as long as its class is loaded.

        Raises:
            InvalidClass: ``clazz`` is stale or not a class.
            JavaException: ``NoSuchMethodError`` if there is none, the exception of the static
                initialiser, ``OutOfMemoryError``.

        Example:
            >>> method = jni.get_static_method_id(shop, "price", "(I)I")
            >>> jni.call_static_int_method(shop, method, [2])
            10

        JNI: GetStaticMethodID.
        """

    @jni_function(
        116, guard="static_method<'L'>", folds=(114, 115), c_name="CallStaticObjectMethodA"
    )
    def call_static_object_method(
        self, clazz: Class, method_id: Method, args: Arguments = ()
    ) -> Object | None:
        """Call a static method that returns a reference.

        Args:
            clazz: the class that declares the method, or a subclass.
            method_id: the method, as found in ``clazz``.
            args: one value for each parameter of the method.

        Returns:
            The object that the method returned; ``None`` is null.

        Raises:
            InvalidClass: ``clazz`` is stale or not a class.
            InvalidMethodID: ``method_id`` is not a static method of ``clazz``, or its result is not
                a reference.
            IllegalArgument: ``args`` do not match the method's signature.
            JavaException: the method threw an exception.

        Example:
            >>> name = jni.get_static_method_id(shop, "name", "()Ljava/lang/String;")
            >>> jni.get_string_chars(jni.call_static_object_method(shop, name))
            'Corner shop'

        JNI: CallStaticObjectMethodA.
        """

    @jni_function(
        119, guard="static_method<'Z'>", folds=(117, 118), c_name="CallStaticBooleanMethodA"
    )
    def call_static_boolean_method(
        self, clazz: Class, method_id: Method, args: Arguments = ()
    ) -> Boolean:
        """Call a static method that returns a ``boolean``.

        Args:
            clazz: the class that declares the method, or a subclass.
            method_id: the method, as found in ``clazz``.
            args: one value for each parameter of the method.

        Returns:
            The value that the method returned.

        Raises:
            InvalidClass: ``clazz`` is stale or not a class.
            InvalidMethodID: ``method_id`` is not a static method of ``clazz``, or its result is not
                a ``boolean``.
            IllegalArgument: ``args`` do not match the method's signature.
            JavaException: the method threw an exception.

        Example:
            >>> is_open = jni.get_static_method_id(shop, "isOpen", "()Z")
            >>> jni.call_static_boolean_method(shop, is_open)
            True

        JNI: CallStaticBooleanMethodA.
        """

    @jni_function(122, guard="static_method<'B'>", folds=(120, 121), c_name="CallStaticByteMethodA")
    def call_static_byte_method(
        self, clazz: Class, method_id: Method, args: Arguments = ()
    ) -> Byte:
        """Call a static method that returns a ``byte``.

        Args:
            clazz: the class that declares the method, or a subclass.
            method_id: the method, as found in ``clazz``.
            args: one value for each parameter of the method.

        Returns:
            The value that the method returned.

        Raises:
            InvalidClass: ``clazz`` is stale or not a class.
            InvalidMethodID: ``method_id`` is not a static method of ``clazz``, or its result is not
                a ``byte``.
            IllegalArgument: ``args`` do not match the method's signature.
            JavaException: the method threw an exception.

        Example:
            >>> floor = jni.get_static_method_id(shop, "floor", "()B")
            >>> jni.call_static_byte_method(shop, floor)
            1

        JNI: CallStaticByteMethodA.
        """

    @jni_function(125, guard="static_method<'C'>", folds=(123, 124), c_name="CallStaticCharMethodA")
    def call_static_char_method(
        self, clazz: Class, method_id: Method, args: Arguments = ()
    ) -> Char:
        """Call a static method that returns a ``char``.

        Args:
            clazz: the class that declares the method, or a subclass.
            method_id: the method, as found in ``clazz``.
            args: one value for each parameter of the method.

        Returns:
            The value that the method returned, a UTF-16 code unit.

        Raises:
            InvalidClass: ``clazz`` is stale or not a class.
            InvalidMethodID: ``method_id`` is not a static method of ``clazz``, or its result is not
                a ``char``.
            IllegalArgument: ``args`` do not match the method's signature.
            JavaException: the method threw an exception.

        Example:
            >>> letter = jni.get_static_method_id(shop, "letter", "()C")
            >>> jni.call_static_char_method(shop, letter)
            'C'

        JNI: CallStaticCharMethodA.
        """

    @jni_function(
        128, guard="static_method<'S'>", folds=(126, 127), c_name="CallStaticShortMethodA"
    )
    def call_static_short_method(
        self, clazz: Class, method_id: Method, args: Arguments = ()
    ) -> Short:
        """Call a static method that returns a ``short``.

        Args:
            clazz: the class that declares the method, or a subclass.
            method_id: the method, as found in ``clazz``.
            args: one value for each parameter of the method.

        Returns:
            The value that the method returned.

        Raises:
            InvalidClass: ``clazz`` is stale or not a class.
            InvalidMethodID: ``method_id`` is not a static method of ``clazz``, or its result is not
                a ``short``.
            IllegalArgument: ``args`` do not match the method's signature.
            JavaException: the method threw an exception.

        Example:
            >>> aisle = jni.get_static_method_id(shop, "aisle", "()S")
            >>> jni.call_static_short_method(shop, aisle)
            12

        JNI: CallStaticShortMethodA.
        """

    @jni_function(131, guard="static_method<'I'>", folds=(129, 130), c_name="CallStaticIntMethodA")
    def call_static_int_method(self, clazz: Class, method_id: Method, args: Arguments = ()) -> Int:
        """Call a static method that returns an ``int``.

        Args:
            clazz: the class that declares the method, or a subclass.
            method_id: the method, as found in ``clazz``.
            args: one value for each parameter of the method.

        Returns:
            The value that the method returned.

        Raises:
            InvalidClass: ``clazz`` is stale or not a class.
            InvalidMethodID: ``method_id`` is not a static method of ``clazz``, or its result is not
                an ``int``.
            IllegalArgument: ``args`` do not match the method's signature.
            JavaException: the method threw an exception.

        Example:
            >>> jni.call_static_int_method(shop, price, [3])
            15

        JNI: CallStaticIntMethodA.
        """

    @jni_function(134, guard="static_method<'J'>", folds=(132, 133), c_name="CallStaticLongMethodA")
    def call_static_long_method(
        self, clazz: Class, method_id: Method, args: Arguments = ()
    ) -> Long:
        """Call a static method that returns a ``long``.

        Args:
            clazz: the class that declares the method, or a subclass.
            method_id: the method, as found in ``clazz``.
            args: one value for each parameter of the method.

        Returns:
            The value that the method returned.

        Raises:
            InvalidClass: ``clazz`` is stale or not a class.
            InvalidMethodID: ``method_id`` is not a static method of ``clazz``, or its result is not
                a ``long``.
            IllegalArgument: ``args`` do not match the method's signature.
            JavaException: the method threw an exception.

        Example:
            >>> takings = jni.get_static_method_id(shop, "takings", "()J")
            >>> jni.call_static_long_method(shop, takings)
            3750

        JNI: CallStaticLongMethodA.
        """

    @jni_function(
        137, guard="static_method<'F'>", folds=(135, 136), c_name="CallStaticFloatMethodA"
    )
    def call_static_float_method(
        self, clazz: Class, method_id: Method, args: Arguments = ()
    ) -> Float:
        """Call a static method that returns a ``float``.

        Args:
            clazz: the class that declares the method, or a subclass.
            method_id: the method, as found in ``clazz``.
            args: one value for each parameter of the method.

        Returns:
            The value that the method returned.

        Raises:
            InvalidClass: ``clazz`` is stale or not a class.
            InvalidMethodID: ``method_id`` is not a static method of ``clazz``, or its result is not
                a ``float``.
            IllegalArgument: ``args`` do not match the method's signature.
            JavaException: the method threw an exception.

        Example:
            >>> rent = jni.get_static_method_id(shop, "rent", "()F")
            >>> jni.call_static_float_method(shop, rent)
            1.5

        JNI: CallStaticFloatMethodA.
        """

    @jni_function(
        140, guard="static_method<'D'>", folds=(138, 139), c_name="CallStaticDoubleMethodA"
    )
    def call_static_double_method(
        self, clazz: Class, method_id: Method, args: Arguments = ()
    ) -> Double:
        """Call a static method that returns a ``double``.

        Args:
            clazz: the class that declares the method, or a subclass.
            method_id: the method, as found in ``clazz``.
            args: one value for each parameter of the method.

        Returns:
            The value that the method returned.

        Raises:
            InvalidClass: ``clazz`` is stale or not a class.
            InvalidMethodID: ``method_id`` is not a static method of ``clazz``, or its result is not
                a ``double``.
            IllegalArgument: ``args`` do not match the method's signature.
            JavaException: the method threw an exception.

        Example:
            >>> tax = jni.get_static_method_id(shop, "tax", "()D")
            >>> jni.call_static_double_method(shop, tax)
            0.25

        JNI: CallStaticDoubleMethodA.
        """

    @jni_function(143, guard="static_method<'V'>", folds=(141, 142), c_name="CallStaticVoidMethodA")
    def call_static_void_method(
        self, clazz: Class, method_id: Method, args: Arguments = ()
    ) -> None:
        """Call a static method without a result.

        Args:
            clazz: the class that declares the method, or a subclass.
            method_id: the method, as found in ``clazz``.
            args: one value for each parameter of the method.

        Raises:
            InvalidClass: ``clazz`` is stale or not a class.
            InvalidMethodID: ``method_id`` is not a static method of ``clazz``, or its result is not
                ``void``.
            IllegalArgument: ``args`` do not match the method's signature.
            JavaException: the method threw an exception.

        Example:
            >>> ring = jni.get_static_method_id(shop, "ring", "()V")
            >>> jni.call_static_void_method(shop, ring)

        JNI: CallStaticVoidMethodA.
        """
