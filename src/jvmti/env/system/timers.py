"""Timers: processor time of threads, elapsed time, and the properties of these clocks."""

from __future__ import annotations

from jvmti.env.structures import TimerInfo
from jvmti.interface.calling import Calling
from jvmti.interface.declaration import ANY, LIVE, START, function
from jvmti.interface.types import Int, Long
from jvmti.refs import Thread


class TimersFunctions(Calling):
    """The functions of the chapter "Timers"."""

    __slots__ = ()

    @function(
        134, phase=START, callback_safe=True, capabilities=("can_get_current_thread_cpu_time",)
    )
    def get_current_thread_cpu_timer_info(self) -> TimerInfo:
        """Describe the timer behind `get_current_thread_cpu_time`.

        Returns:
            Its kind, its highest value and whether it may skip.

        Raises:
            MustPossessCapability: ``can_get_current_thread_cpu_time`` has not been added.

        Example:
            >>> env.get_current_thread_cpu_timer_info().kind.name
            'TOTAL_CPU'

        JVM TI: GetCurrentThreadCpuTimerInfo.
        """

    @function(
        135, phase=START, callback_safe=True, capabilities=("can_get_current_thread_cpu_time",)
    )
    def get_current_thread_cpu_time(self) -> Long:
        """Return the processor time that the current thread has used.

        Outside handlers that is the service thread of the calling Python thread.

        Returns:
            Nanoseconds, an unsigned 64-bit number in a signed one.

        Raises:
            UnsupportedOperation: the current thread is virtual.
            MustPossessCapability: ``can_get_current_thread_cpu_time`` has not been added.

        Example:
            >>> env.get_current_thread_cpu_time() > 0  # nanoseconds, of the service thread
            True

        JVM TI: GetCurrentThreadCpuTime.
        """

    @function(136, phase=LIVE, capabilities=("can_get_thread_cpu_time",))
    def get_thread_cpu_timer_info(self) -> TimerInfo:
        """Describe the timer behind `get_thread_cpu_time`.

        Returns:
            Its kind, its highest value and whether it may skip.

        Raises:
            MustPossessCapability: ``can_get_thread_cpu_time`` has not been added.

        Example:
            >>> env.get_thread_cpu_timer_info().may_skip_backward
            False

        JVM TI: GetThreadCpuTimerInfo.
        """

    @function(137, phase=LIVE, capabilities=("can_get_thread_cpu_time",))
    def get_thread_cpu_time(self, thread: Thread | None = None) -> Long:
        """Return the processor time that a thread has used.

        Args:
            thread: the thread; ``None`` is the current one.

        Returns:
            Nanoseconds, an unsigned 64-bit number in a signed one; counting may begin only with the
            capability.

        Raises:
            InvalidThread: `thread` is not a thread.
            ThreadNotAlive: the thread has not started or has ended.
            UnsupportedOperation: the thread is virtual.
            MustPossessCapability: ``can_get_thread_cpu_time`` has not been added.

        Example:
            >>> env.get_thread_cpu_time(customer) >= 0  # nanoseconds
            True

        JVM TI: GetThreadCpuTime.
        """

    @function(138, phase=ANY, callback_safe=True)
    def get_timer_info(self) -> TimerInfo:
        """Describe the timer behind `get_time`.

        Returns:
            Its kind, its highest value and whether it may skip.

        Example:
            >>> env.get_timer_info().kind.name
            'ELAPSED'

        JVM TI: GetTimerInfo.
        """

    @function(139, phase=ANY, callback_safe=True)
    def get_time(self) -> Long:
        """Return the VM's clock of elapsed time.

        Returns:
            Nanoseconds since an arbitrary moment, an unsigned 64-bit number in a signed one; of use
            for differences only.

        Example:
            >>> before = env.get_time()
            >>> env.get_time() >= before  # nanoseconds
            True

        JVM TI: GetTime.
        """

    @function(144, phase=ANY)
    def get_available_processors(self) -> Int:
        """Return the number of processors that the VM may use.

        Returns:
            At least one; it may change while the VM runs.

        Example:
            >>> env.get_available_processors() >= 1
            True

        JVM TI: GetAvailableProcessors.
        """
