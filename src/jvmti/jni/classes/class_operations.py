"""Classes: define and find them, and walk and compare their hierarchy."""

from __future__ import annotations

from typing import Annotated

from jvmti.interface.calling import Calling
from jvmti.interface.declaration import jni_function
from jvmti.interface.types import Blob, Boolean, Text
from jvmti.refs import Class, ClassLoader


class ClassFunctions(Calling):
    """The functions of the chapter "Class operations"."""

    @jni_function(5)
    def define_class(
        self,
        name: Text | None,
        loader: ClassLoader | None,
        buf: Annotated[bytes, Blob(buffer_first=True)],
    ) -> Class:
        """Make a class or interface from the bytes of its class file.

        Args:
            name: its name with slashes (``com/acme/Order``), compared with the one in the class
                file; ``None`` leaves out the comparison.
            loader: the loader that defines it; ``None`` is the bootstrap loader.
            buf: the class file.

        Returns:
            The class, loaded but not yet initialised.

        Raises:
            IllegalArgument: ``loader`` is stale or not a class loader.
            JavaException: ``ClassFormatError`` for a bad class file, ``ClassCircularityError`` for
                a class that is its own superclass, ``SecurityException`` for a package of ``java``,
                ``LinkageError`` for a name that the loader has defined already,
                ``OutOfMemoryError``.

        Example:
            >>> import zipfile
            >>> class_file = zipfile.ZipFile(jar).read("Purse.class")
            >>> jni.define_class("Purse", env.get_class_loader(shop), class_file).name
            'Purse'

        JNI: DefineClass.
        """

    @jni_function(6, guard="find_class", early=True)
    def find_class(self, name: Text) -> Class:
        """Find a class by name; load and initialise it if necessary.

        Uses the loader of the calling Java code; on a service thread, which has none, the system
        class loader.

        Args:
            name: the name with slashes (``java/util/List``) or an array's signature
                (``[Ljava/lang/String;``, ``[I``).

        Returns:
            The class.

        Raises:
            JavaException: ``NoClassDefFoundError`` if there is no such class,
                ``ClassFormatError`` or ``ClassCircularityError`` for a bad class file,
                ``OutOfMemoryError``, or the exception of the static initialiser.
            WrongPhase: in the early start phase, when the VM cannot throw yet, for all but
                ``Object``, ``String`` and ``Class``.

        Example:
            >>> jni.find_class("java/util/ArrayList").name
            'java.util.ArrayList'
            >>> jni.find_class("[I").name
            'int[]'

        JNI: FindClass.
        """

    @jni_function(10, runs_java=False, early=True)
    def get_superclass(self, sub: Class) -> Class | None:
        """Return the superclass of a class.

        Args:
            sub: any class.

        Returns:
            The superclass; ``None`` for ``java.lang.Object``, interfaces and primitive types.

        Raises:
            InvalidClass: ``sub`` is stale or not a class.

        Example:
            >>> jni.get_superclass(order_class).name
            'java.lang.Object'

        JNI: GetSuperclass.
        """

    @jni_function(11, runs_java=False, early=True)
    def is_assignable_from(self, sub: Class, sup: Class) -> Boolean:
        """Return whether objects of one class can be cast to another.

        Args:
            sub: the class to convert from.
            sup: the class to convert to.

        Returns:
            Whether they are the same, ``sub`` is a subclass of ``sup``, or ``sub`` implements the
            interface ``sup``.

        Raises:
            InvalidClass: one of them is stale or not a class.

        Example:
            >>> number = jni.find_class("java/lang/Number")
            >>> jni.is_assignable_from(jni.find_class("java/lang/Integer"), number)
            True

        JNI: IsAssignableFrom.
        """
