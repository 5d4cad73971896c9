"""Additions to where class loaders look for classes."""

from __future__ import annotations

from jvmti.interface.calling import Calling
from jvmti.interface.declaration import ONLOAD, function
from jvmti.interface.types import Text


class ClassLoaderSearchFunctions(Calling):
    """The functions of the chapter "Class Loader Search"."""

    __slots__ = ()

    @function(149, phase=ONLOAD, errors=("ILLEGAL_ARGUMENT",), runs_java=True)
    def add_to_bootstrap_class_loader_search(self, segment: Text) -> None:
        """Let the bootstrap class loader look in one more place, after all others.

        It cannot be undone.  A reference that failed to resolve before will fail again.

        Args:
            segment: a path in the target's file system: in the live phase a JAR file, in the OnLoad
                phase also a directory.

        Raises:
            NullPointer: `segment` is ``None``.
            IllegalArgument: there is no such JAR file, in the live phase.

        Example:
            >>> env.add_to_bootstrap_class_loader_search(jar)
            >>> env.get_class_loader(jni.find_class("Till"))  # the bootstrap loader's

        JVM TI: AddToBootstrapClassLoaderSearch.
        """

    @function(
        151,
        phase=ONLOAD,
        since="1.1",
        errors=("ILLEGAL_ARGUMENT", "CLASS_LOADER_UNSUPPORTED"),
        runs_java=True,
    )
    def add_to_system_class_loader_search(self, segment: Text) -> None:
        """Let the system class loader look in one more place, after all others.

        It cannot be undone.  A reference that failed to resolve before will fail again.

        Args:
            segment: a path in the target's file system: in the live phase a JAR file, in the OnLoad
                phase also a directory.

        Raises:
            NullPointer: `segment` is ``None``.
            IllegalArgument: there is no such JAR file, in the live phase.
            ClassLoaderUnsupported: the system class loader is a custom one that takes no additions.

        Example:
            >>> env.add_to_system_class_loader_search(jar)

        JVM TI: AddToSystemClassLoaderSearch.
        """
