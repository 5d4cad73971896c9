"""Raw monitors: locks of the target VM that do not belong to an object.

A monitor is owned by the JVM thread that serves the calling Python thread, or in a handler by the
event's thread.
"""

from __future__ import annotations

from jvmti.interface.calling import Calling
from jvmti.interface.declaration import ANY, ONLOAD, function
from jvmti.interface.types import Long, Text
from jvmti.refs import RawMonitor


class RawMonitorFunctions(Calling):
    """The functions of the chapter "Raw Monitor"."""

    __slots__ = ()

    @function(31, phase=ONLOAD, callback_safe=True)
    def create_raw_monitor(self, name: Text) -> RawMonitor:
        """Create a raw monitor.

        Args:
            name: its name in the VM's output.

        Returns:
            The monitor, destroyed with the session at the latest.

        Raises:
            NullPointer: `name` is ``None``.

        Example:
            >>> monitor = env.create_raw_monitor("orders")
            >>> env.raw_monitor_enter(monitor)
            >>> env.raw_monitor_exit(monitor)
            >>> env.destroy_raw_monitor(monitor)

        JVM TI: CreateRawMonitor.
        """

    @function(32, phase=ONLOAD, callback_safe=True, errors=("NOT_MONITOR_OWNER",), overridden=True)
    def destroy_raw_monitor(self, monitor: RawMonitor) -> None:
        """Destroy a raw monitor; if the current thread is in it, it leaves first.

        Args:
            monitor: the monitor.

        Raises:
            InvalidMonitor: it is not a raw monitor, or was destroyed.
            NotMonitorOwner: another thread is in it.

        Example:
            >>> monitor = env.create_raw_monitor("orders")
            >>> env.destroy_raw_monitor(monitor)
            >>> env.raw_monitor_enter(monitor)
            Traceback (most recent call last):
            jvmti.errors.InvalidMonitor: ...

        JVM TI: DestroyRawMonitor.
        """

    @function(33, phase=ANY, callback_safe=True, overridden=True)
    def raw_monitor_enter(self, monitor: RawMonitor) -> None:
        """Enter a raw monitor, waiting until no other thread is in it.

        A thread may enter more than once and must leave as often.

        Args:
            monitor: the monitor.

        Raises:
            InvalidMonitor: it is not a raw monitor, or was destroyed.

        Example:
            >>> monitor = env.create_raw_monitor("orders")
            >>> env.raw_monitor_enter(monitor)
            >>> env.raw_monitor_enter(monitor)  # it may be entered twice …
            >>> env.raw_monitor_exit(monitor)  # … and is left as often
            >>> env.raw_monitor_exit(monitor)
            >>> env.destroy_raw_monitor(monitor)

        JVM TI: RawMonitorEnter.
        """

    @function(34, phase=ANY, callback_safe=True, errors=("NOT_MONITOR_OWNER",), overridden=True)
    def raw_monitor_exit(self, monitor: RawMonitor) -> None:
        """Leave a raw monitor.

        Args:
            monitor: the monitor.

        Raises:
            InvalidMonitor: it is not a raw monitor, or was destroyed.
            NotMonitorOwner: the current thread is not in it.

        Example:
            >>> monitor = env.create_raw_monitor("orders")
            >>> env.raw_monitor_exit(monitor)
            Traceback (most recent call last):
            jvmti.errors.NotMonitorOwner: ...
            >>> env.destroy_raw_monitor(monitor)

        JVM TI: RawMonitorExit.
        """

    @function(
        35,
        phase=ANY,
        callback_safe=True,
        errors=("NOT_MONITOR_OWNER", "INTERRUPT"),
        overridden=True,
    )
    def raw_monitor_wait(self, monitor: RawMonitor, millis: Long) -> None:
        """Wait in a raw monitor until notified, releasing it meanwhile.

        Args:
            monitor: the monitor, entered.
            millis: the longest time in milliseconds; 0 is without limit.

        Raises:
            InvalidMonitor: it is not a raw monitor, or was destroyed.
            NotMonitorOwner: the current thread is not in it.
            Interrupt: the thread was interrupted; wait again.

        Example:
            >>> monitor = env.create_raw_monitor("orders")
            >>> env.raw_monitor_enter(monitor)
            >>> env.raw_monitor_wait(monitor, 10)  # no notify: 10 ms
            >>> env.raw_monitor_exit(monitor)
            >>> env.destroy_raw_monitor(monitor)

        JVM TI: RawMonitorWait.
        """

    @function(36, phase=ANY, callback_safe=True, errors=("NOT_MONITOR_OWNER",), overridden=True)
    def raw_monitor_notify(self, monitor: RawMonitor) -> None:
        """Wake one thread that waits in a raw monitor.

        Args:
            monitor: the monitor, entered.

        Raises:
            InvalidMonitor: it is not a raw monitor, or was destroyed.
            NotMonitorOwner: the current thread is not in it.

        Example:
            >>> monitor = env.create_raw_monitor("orders")
            >>> env.raw_monitor_enter(monitor)
            >>> env.raw_monitor_notify(monitor)  # one that waits would wake
            >>> env.raw_monitor_exit(monitor)
            >>> env.destroy_raw_monitor(monitor)

        JVM TI: RawMonitorNotify.
        """

    @function(37, phase=ANY, callback_safe=True, errors=("NOT_MONITOR_OWNER",), overridden=True)
    def raw_monitor_notify_all(self, monitor: RawMonitor) -> None:
        """Wake all threads that wait in a raw monitor.

        Args:
            monitor: the monitor, entered.

        Raises:
            InvalidMonitor: it is not a raw monitor, or was destroyed.
            NotMonitorOwner: the current thread is not in it.

        Example:
            >>> monitor = env.create_raw_monitor("orders")
            >>> env.raw_monitor_enter(monitor)
            >>> env.raw_monitor_notify_all(monitor)  # all that wait would wake
            >>> env.raw_monitor_exit(monitor)
            >>> env.destroy_raw_monitor(monitor)

        JVM TI: RawMonitorNotifyAll.
        """
