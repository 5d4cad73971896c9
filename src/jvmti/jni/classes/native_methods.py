"""Native methods: bind them to functions of libraries in the target, and unbind them."""

from __future__ import annotations

from collections.abc import Sequence

from jvmti.interface.calling import Calling
from jvmti.interface.declaration import jni_function
from jvmti.interface.types import Int, Text
from jvmti.refs import Class


class NativeMethodFunctions(Calling):
    """The functions of the chapter "Registering native methods"."""

    @jni_function(215, overridden=True)
    def register_natives(
        self,
        clazz: Class,
        names: Sequence[Text],
        signatures: Sequence[Text],
        symbols: Sequence[Text],
    ) -> Int:
        """Bind native methods of a class to functions that are loaded in the target.

        The three lists are parallel: one item of each makes one binding.  The agent looks each
        symbol up in the target's libraries; the caller makes sure that its function has the right
        parameters.

        Args:
            clazz: the class.
            names: the names of its native methods.
            signatures: their signatures in the VM's form, such as ``(I)V``.
            symbols: the names of exported functions.

        Returns:
            0, or a negative number if the VM refused.

        Raises:
            InvalidClass: ``clazz`` is stale or not a class.
            IllegalArgument: the lists differ in length.
            NotFound: a symbol is in none of the target's libraries; nothing has been bound.
            JavaException: ``NoSuchMethodError`` if there is no such method, or it is not native.

        Example:
            >>> jni.register_natives(shop, ["bell"], ["(I)I"], ["abs"])  # that of the C library
            0
            >>> jni.unregister_natives(shop)
            0

        JNI: RegisterNatives.
        """

    @jni_function(216)
    def unregister_natives(self, clazz: Class) -> Int:
        """Unbind all native methods of a class, as before anything was linked or registered.

        The next call of one looks for its function anew.  For classes that registered their methods
        themselves (many of the JDK do), that search finds nothing.

        Args:
            clazz: the class.

        Returns:
            0, or a negative number if the VM refused.

        Raises:
            InvalidClass: ``clazz`` is stale or not a class.

        Example:
            >>> jni.unregister_natives(shop)
            0

        JNI: UnregisterNatives.
        """
