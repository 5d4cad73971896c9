"""Objects: size, hash code and monitor."""

from __future__ import annotations

from jvmti.env.structures import MonitorUsage
from jvmti.interface.calling import Calling
from jvmti.interface.declaration import LIVE, START, function
from jvmti.interface.types import Int, Long
from jvmti.refs import Object


class ObjectFunctions(Calling):
    """The functions of the chapter "Object"."""

    __slots__ = ()

    @function(154, phase=START)
    def get_object_size(self, object: Object) -> Long:
        """Return how much memory an object takes, by itself.

        Args:
            object: the object.

        Returns:
            Bytes, by the VM's own estimate; what it refers to does not count.

        Raises:
            InvalidObject: `object` is not an object of the target, or was released.

        Example:
            >>> env.get_object_size(order) >= 40
            True

        JVM TI: GetObjectSize.
        """

    @function(58, phase=START)
    def get_object_hash_code(self, object: Object) -> Int:
        """Return a hash code that stays with an object for its life.

        Tags are mostly the cheaper way to recognize objects.

        Args:
            object: the object.

        Returns:
            A signed 32-bit number; different objects may share one.

        Raises:
            InvalidObject: `object` is not an object of the target, or was released.

        Example:
            >>> env.get_object_hash_code(order) == env.get_object_hash_code(order)
            True

        JVM TI: GetObjectHashCode.
        """

    @function(59, phase=LIVE, capabilities=("can_get_monitor_info",))
    def get_object_monitor_usage(self, object: Object) -> MonitorUsage:
        """Return who owns an object's monitor and who waits for it.

        Args:
            object: the object.

        Returns:
            The owner with its entry count, the threads waiting to enter, and those waiting to be
            notified; the owner is ``None`` if there is none, or on newer VMs if it is a virtual
            thread.

        Raises:
            InvalidObject: `object` is not an object of the target, or was released.
            MustPossessCapability: ``can_get_monitor_info`` has not been added.

        Example:
            >>> usage = env.get_object_monitor_usage(door)
            >>> usage.owner.name, usage.entry_count, [thread.name for thread in usage.waiters]
            ('keeper', 1, ['customer'])

        JVM TI: GetObjectMonitorUsage.
        """
