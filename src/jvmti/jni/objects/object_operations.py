"""Objects: make them, and ask for their class."""

from __future__ import annotations

from jvmti.interface.calling import Calling
from jvmti.interface.declaration import jni_function
from jvmti.interface.types import Arguments, Boolean
from jvmti.refs import Class, Method, Object


class ObjectFunctions(Calling):
    """The functions of the chapter "Object operations"."""

    @jni_function(27, guard="alloc_object")
    def alloc_object(self, clazz: Class) -> Object:
        """Make an object without running a constructor; its fields are zero.

        Args:
            clazz: a class that can be instantiated, and not an array class.

        Returns:
            The object.

        Raises:
            InvalidClass: ``clazz`` is stale, not a class, or the class of arrays or primitives.
            JavaException: ``InstantiationException`` for an interface or abstract class,
                ``OutOfMemoryError``, or the exception of the static initialiser.

        Example:
            >>> bare = jni.alloc_object(order_class)  # no constructor has run
            >>> jni.get_int_field(bare, number)
            0

        JNI: AllocObject.
        """

    @jni_function(30, guard="constructor", folds=(28, 29), c_name="NewObjectA")
    def new_object(self, clazz: Class, method_id: Method, args: Arguments = ()) -> Object:
        """Make an object and run a constructor on it.

        Args:
            clazz: a class that can be instantiated, and not an array class.
            method_id: a constructor of this very class: `get_method_id` of ``<init>`` with a ``V``
                result.
            args: the constructor's arguments.

        Returns:
            The object.

        Raises:
            InvalidClass: ``clazz`` is stale, not a class, or the class of arrays or primitives.
            InvalidMethodID: ``method_id`` is not a constructor of ``clazz``.
            IllegalArgument: ``args`` do not match the constructor's signature.
            JavaException: ``InstantiationException`` for an abstract class, ``OutOfMemoryError``,
                or the exception of the constructor.

        Example:
            >>> init = jni.get_method_id(order_class, "<init>", "()V")
            >>> other = jni.new_object(order_class, init)
            >>> jni.get_int_field(other, number)
            7

        JNI: NewObjectA.
        """

    @jni_function(31, runs_java=False, early=True)
    def get_object_class(self, obj: Object) -> Class:
        """Return the class of an object.

        Args:
            obj: any object.

        Returns:
            Its class.

        Raises:
            InvalidObject: ``obj`` is stale.

        Example:
            >>> jni.get_object_class(order) == order_class
            True

        JNI: GetObjectClass.
        """

    @jni_function(32, runs_java=False, early=True)
    def is_instance_of(self, obj: Object | None, clazz: Class) -> Boolean:
        """Return whether an object can be cast to a class.

        Args:
            obj: the object; ``None`` is null, which can be cast to every class.
            clazz: the class.

        Returns:
            Whether the cast would succeed.

        Raises:
            InvalidObject: ``obj`` is stale.
            InvalidClass: ``clazz`` is stale or not a class.

        Example:
            >>> jni.is_instance_of(order, shop)
            False

        JNI: IsInstanceOf.
        """
