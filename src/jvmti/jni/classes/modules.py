"""Modules: the module of a class."""

from __future__ import annotations

from jvmti.interface.calling import Calling
from jvmti.interface.declaration import jni_function
from jvmti.refs import Class, Module


class ModuleFunctions(Calling):
    """The functions of the chapter "Module operations"."""

    @jni_function(233, since="9", runs_java=False, early=True)
    def get_module(self, clazz: Class) -> Module | None:
        """Return the module of a class.

        Args:
            clazz: any class.

        Returns:
            The module: for a class outside named modules the unnamed one of its loader, for an
            array that of its elements, and ``java.base`` for primitive types.

        Raises:
            InvalidClass: ``clazz`` is stale or not a class.

        Example:
            >>> base = env.get_named_module(None, "java/lang")
            >>> jni.get_module(jni.find_class("java/lang/String")) == base
            True

        JNI: GetModule.
        """
