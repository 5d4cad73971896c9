"""Monitors of Java objects: enter and exit them."""

from __future__ import annotations

from jvmti.interface.calling import Calling
from jvmti.interface.declaration import jni_function
from jvmti.interface.types import Int
from jvmti.refs import Object


class MonitorFunctions(Calling):
    """The functions of the chapter "Monitor operations"."""

    @jni_function(217, overridden=True)
    def monitor_enter(self, obj: Object) -> Int:
        """Enter the monitor of an object, waiting until it is free.

        The Java thread of the calling Python thread owns it until as many calls of `monitor_exit`,
        and at the latest until the channel ends.

        Args:
            obj: the object.

        Returns:
            0, or a negative number if the VM refused.

        Raises:
            InvalidObject: ``obj`` is stale.

        Example:
            >>> jni.monitor_enter(order)
            0
            >>> env.get_owned_monitor_info() == [order]  # of this Python thread's service thread
            True
            >>> jni.monitor_exit(order)
            0

        JNI: MonitorEnter.
        """

    @jni_function(218, overridden=True, while_pending=True)
    def monitor_exit(self, obj: Object) -> Int:
        """Exit the monitor of an object once.

        Args:
            obj: an object whose monitor this thread entered with `monitor_enter`.

        Returns:
            0, or a negative number if the VM refused.

        Raises:
            InvalidObject: ``obj`` is stale.
            JavaException: ``IllegalMonitorStateException`` if this thread does not own it.

        Example:
            >>> jni.monitor_exit(order)  # which this thread has not entered
            Traceback (most recent call last):
            jvmti.JavaException: java.lang.IllegalMonitorStateException
            >>> jni.exception_clear()

        JNI: MonitorExit.
        """
