"""Methods: name, declaring class, code, tables, and the prefixes of native ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from jvmti.env.structures import LineNumberEntry, LocalVariableEntry
from jvmti.interface.calling import Calling
from jvmti.interface.declaration import ANY, LIVE, START, function
from jvmti.interface.types import Boolean, Bytes, Int, Location, Text
from jvmti.refs import Class, Method


class MethodName(NamedTuple):
    """The name of a method, its type signature, and its generic signature where it has one."""

    name: Text
    signature: Text
    generic: Text | None


class MethodLocation(NamedTuple):
    """The first and the last location of a method; both are -1 where they are not known."""

    start_location: Location
    end_location: Location


class MethodFunctions(Calling):
    """The functions of the chapter "Method"."""

    __slots__ = ()

    @function(64, phase=START)
    def get_method_name(self, method: Method) -> MethodName:
        """Return the name and the signatures of a method.

        Args:
            method: the method.

        Returns:
            The name, the type as ``(ILjava/lang/String;)V``, and the generic signature or ``None``.

        Raises:
            InvalidMethodID: `method` is not a method.

        Example:
            >>> env.get_method_name(price)
            MethodName(name='price', signature='(I)I', generic=None)

        JVM TI: GetMethodName.
        """

    @function(65, phase=START)
    def get_method_declaring_class(self, method: Method) -> Class:
        """Return the class that declares a method.

        Args:
            method: the method.

        Returns:
            The class or interface.

        Raises:
            InvalidMethodID: `method` is not a method.

        Example:
            >>> env.get_method_declaring_class(price) == shop
            True

        JVM TI: GetMethodDeclaringClass.
        """

    @function(66, phase=START)
    def get_method_modifiers(self, method: Method) -> Int:
        """Return the access flags of a method.

        Args:
            method: the method.

        Returns:
            The bits of the class file format.

        Raises:
            InvalidMethodID: `method` is not a method.

        Example:
            >>> env.get_method_modifiers(price)  # ACC_STATIC
            8

        JVM TI: GetMethodModifiers.
        """

    @function(68, phase=START)
    def get_max_locals(self, method: Method) -> Int:
        """Return the number of slots that a method has for local variables.

        Args:
            method: the method.

        Returns:
            The slots, those of the parameters included; long and double take two.

        Raises:
            InvalidMethodID: `method` is not a method.
            NativeMethod: the method is native.

        Example:
            >>> env.get_max_locals(price)  # `count` and `each`
            2

        JVM TI: GetMaxLocals.
        """

    @function(69, phase=START)
    def get_arguments_size(self, method: Method) -> Int:
        """Return the number of slots that a method's arguments take.

        Args:
            method: the method.

        Returns:
            The slots, that of ``this`` included; long and double take two.

        Raises:
            InvalidMethodID: `method` is not a method.
            NativeMethod: the method is native.

        Example:
            >>> env.get_arguments_size(price)
            1

        JVM TI: GetArgumentsSize.
        """

    @function(
        70, phase=START, capabilities=("can_get_line_numbers",), errors=("ABSENT_INFORMATION",)
    )
    def get_line_number_table(self, method: Method) -> list[LineNumberEntry]:
        """Return where each source line of a method begins in its bytecodes.

        Args:
            method: the method.

        Returns:
            Locations with line numbers, not necessarily in order; a line may occur more than once.

        Raises:
            InvalidMethodID: `method` is not a method.
            NativeMethod: the method is native.
            AbsentInformation: the class was compiled without line numbers.
            MustPossessCapability: ``can_get_line_numbers`` has not been added.

        Example:
            >>> first, second = env.get_line_number_table(price)
            >>> first.start_location, second.start_location, second.line_number - first.line_number
            (0, 2, 1)

        JVM TI: GetLineNumberTable.
        """

    @function(71, phase=START, errors=("ABSENT_INFORMATION",))
    def get_method_location(self, method: Method) -> MethodLocation:
        """Return the first and the last location of a method.

        Args:
            method: the method.

        Returns:
            With bytecode indices 0 and the last index; -1 if unknown.

        Raises:
            InvalidMethodID: `method` is not a method.
            NativeMethod: the method is native.
            AbsentInformation: the class has no sizes of methods.

        Example:
            >>> env.get_method_location(price)
            MethodLocation(start_location=0, end_location=5)

        JVM TI: GetMethodLocation.
        """

    @function(
        72, phase=LIVE, capabilities=("can_access_local_variables",), errors=("ABSENT_INFORMATION",)
    )
    def get_local_variable_table(self, method: Method) -> list[LocalVariableEntry]:
        """Return a method's local variables: names, types, slots and where they are valid.

        Args:
            method: the method.

        Returns:
            One entry for each variable; several variables may use a slot in turn.

        Raises:
            InvalidMethodID: `method` is not a method.
            NativeMethod: the method is native.
            AbsentInformation: the class was compiled without its local variables.
            MustPossessCapability: ``can_access_local_variables`` has not been added.

        Example:
            >>> [(one.name, one.signature, one.slot) for one in env.get_local_variable_table(price)]
            [('count', 'I', 0), ('each', 'I', 1)]

        JVM TI: GetLocalVariableTable.
        """

    @function(75, phase=START, capabilities=("can_get_bytecodes",))
    def get_bytecodes(self, method: Method) -> Bytes:
        """Return the bytecodes of a method.

        Indices in them refer to the result of `get_constant_pool`. Breakpoints do not show.

        Args:
            method: the method.

        Returns:
            The code, from location 0.

        Raises:
            InvalidMethodID: `method` is not a method.
            NativeMethod: the method is native.
            MustPossessCapability: ``can_get_bytecodes`` has not been added.

        Example:
            >>> env.get_bytecodes(price).hex(" ")  # iconst_5 istore_1 iload_0 iload_1 imul ireturn
            '08 3c 1a 1b 68 ac'

        JVM TI: GetBytecodes.
        """

    @function(76, phase=START)
    def is_method_native(self, method: Method) -> Boolean:
        """Return whether a method is native.

        Args:
            method: the method.

        Returns:
            True for native methods.

        Raises:
            InvalidMethodID: `method` is not a method.

        Example:
            >>> env.is_method_native(jni.get_static_method_id(shop, "bell", "(I)I"))
            True

        JVM TI: IsMethodNative.
        """

    @function(77, phase=START, capabilities=("can_get_synthetic_attribute",))
    def is_method_synthetic(self, method: Method) -> Boolean:
        """Return whether the compiler made up a method that is not in the source.

        Args:
            method: the method.

        Returns:
            True for synthetic methods.

        Raises:
            InvalidMethodID: `method` is not a method.
            MustPossessCapability: ``can_get_synthetic_attribute`` has not been added.

        Example:
            >>> env.is_method_synthetic(price)
            False

        JVM TI: IsMethodSynthetic.
        """

    @function(91, phase=START)
    def is_method_obsolete(self, method: Method) -> Boolean:
        """Return whether redefinition has replaced a method with different code.

        Args:
            method: the method, as from a frame that was running at the time.

        Returns:
            True for an old version.

        Raises:
            InvalidMethodID: `method` is not a method.

        Example:
            >>> env.is_method_obsolete(price)  # true of a frame's whose class was redefined
            False

        JVM TI: IsMethodObsolete.
        """

    @function(73, phase=ANY, since="1.1", capabilities=("can_set_native_method_prefix",))
    def set_native_method_prefix(self, prefix: Text | None = None) -> None:
        """Set the prefix with which the VM retries to link native methods that it did not find.

        It allows a transformed class to wrap a native method: the wrapper has the name, the native
        method the name with the prefix.  It must stay set as long as such methods exist.

        Args:
            prefix: the prefix; ``None`` removes it.

        Raises:
            MustPossessCapability: ``can_set_native_method_prefix`` has not been added.

        Example:
            >>> env.set_native_method_prefix("wrapped_")  # wrapped_bell is linked as bell is
            >>> env.set_native_method_prefix(None)

        JVM TI: SetNativeMethodPrefix.
        """

    @function(74, phase=ANY, since="1.1", capabilities=("can_set_native_method_prefix",))
    def set_native_method_prefixes(self, prefixes: Sequence[Text]) -> None:
        """Set several prefixes, one for each layer of wrappers, in place of those set before.

        Args:
            prefixes: the prefixes in the order in which the layers were applied; none removes all.

        Raises:
            NullPointer: a prefix is ``None``.
            MustPossessCapability: ``can_set_native_method_prefix`` has not been added.

        Example:
            >>> env.set_native_method_prefixes(["outer_", "inner_"])
            >>> env.set_native_method_prefixes([])

        JVM TI: SetNativeMethodPrefixes.
        """
