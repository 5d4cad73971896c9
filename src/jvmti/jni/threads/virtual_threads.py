"""Virtual threads: distinguish them from platform threads."""

from __future__ import annotations

from jvmti.interface.calling import Calling
from jvmti.interface.declaration import jni_function
from jvmti.interface.types import Boolean
from jvmti.refs import Object


class VirtualThreadFunctions(Calling):
    """The functions of the chapter "Virtual threads"."""

    @jni_function(234, since="21", runs_java=False, early=True)
    def is_virtual_thread(self, obj: Object) -> Boolean:
        """Return whether an object is a virtual thread.

        Args:
            obj: any object.

        Returns:
            Whether it is a virtual thread; false for objects that are not threads.

        Raises:
            InvalidObject: ``obj`` is stale.
            NotInThisVersion: the target is older than Java 21.

        Example:
            >>> jni.is_virtual_thread(customer)
            False

        JNI: IsVirtualThread.
        """
