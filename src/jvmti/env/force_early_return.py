"""Forcing the current method of a thread to return, with a value of its result type.

The return happens when the thread goes on to run Java code; the method executes nothing more, its
``finally`` blocks included, and the monitors it entered are released.
"""

from __future__ import annotations

from jvmti.refs import Object, Thread
from jvmti.spec.calling import Calling
from jvmti.spec.declaration import LIVE, function
from jvmti.spec.types import Double, Float, Int, Long


class ForceEarlyReturnFunctions(Calling):
    """The functions of the chapter "Force Early Return"."""

    __slots__ = ()

    @function(
        81,
        phase=LIVE,
        since="1.1",
        capabilities=("can_force_early_return",),
        errors=("OPAQUE_FRAME", "TYPE_MISMATCH", "THREAD_NOT_SUSPENDED", "NO_MORE_FRAMES"),
        guard="force_early_return_object",
    )
    def force_early_return_object(self, thread: Thread | None, value: Object | None) -> None:
        """Make a thread's current method return an object.

        Args:
            thread: the thread, suspended or current; ``None`` is the current one.
            value: the object, of the method's result type; ``None`` is Java's null.

        Raises:
            InvalidThread: `thread` is not a thread.
            ThreadNotAlive: the thread has not started or has ended.
            ThreadNotSuspended: the thread is neither suspended nor the current one.
            OpaqueFrame: the method is native, or the VM cannot return early from this frame, as
                with a virtual thread that is not suspended at an event.
            NoMoreFrames: the thread has no frame.
            TypeMismatch: the method returns no object, or none to which `value` can be assigned.
            InvalidObject: `value` is not an object.
            MustPossessCapability: ``can_force_early_return`` has not been added.

        JVM TI: ForceEarlyReturnObject.
        """

    @function(
        82,
        phase=LIVE,
        since="1.1",
        capabilities=("can_force_early_return",),
        errors=("OPAQUE_FRAME", "TYPE_MISMATCH", "THREAD_NOT_SUSPENDED", "NO_MORE_FRAMES"),
        guard="force_early_return_int",
    )
    def force_early_return_int(self, thread: Thread | None, value: Int) -> None:
        """Make a thread's current method return an int, short, char, byte or boolean.

        Args:
            thread: the thread, suspended or current; ``None`` is the current one.
            value: the number.

        Raises:
            InvalidThread: `thread` is not a thread.
            ThreadNotAlive: the thread has not started or has ended.
            ThreadNotSuspended: the thread is neither suspended nor the current one.
            OpaqueFrame: the method is native, or the VM cannot return early from this frame, as
                with a virtual thread that is not suspended at an event.
            NoMoreFrames: the thread has no frame.
            TypeMismatch: the method's result is of none of these types, or of one that `value`
                does not fit.
            MustPossessCapability: ``can_force_early_return`` has not been added.

        JVM TI: ForceEarlyReturnInt.
        """

    @function(
        83,
        phase=LIVE,
        since="1.1",
        capabilities=("can_force_early_return",),
        errors=("OPAQUE_FRAME", "TYPE_MISMATCH", "THREAD_NOT_SUSPENDED", "NO_MORE_FRAMES"),
    )
    def force_early_return_long(self, thread: Thread | None, value: Long) -> None:
        """Make a thread's current method return a long.

        Args:
            thread: the thread, suspended or current; ``None`` is the current one.
            value: the number.

        Raises:
            InvalidThread: `thread` is not a thread.
            ThreadNotAlive: the thread has not started or has ended.
            ThreadNotSuspended: the thread is neither suspended nor the current one.
            OpaqueFrame: the method is native, or the VM cannot return early from this frame, as
                with a virtual thread that is not suspended at an event.
            NoMoreFrames: the thread has no frame.
            TypeMismatch: the method's result is not a long.
            MustPossessCapability: ``can_force_early_return`` has not been added.

        JVM TI: ForceEarlyReturnLong.
        """

    @function(
        84,
        phase=LIVE,
        since="1.1",
        capabilities=("can_force_early_return",),
        errors=("OPAQUE_FRAME", "TYPE_MISMATCH", "THREAD_NOT_SUSPENDED", "NO_MORE_FRAMES"),
    )
    def force_early_return_float(self, thread: Thread | None, value: Float) -> None:
        """Make a thread's current method return a float.

        Args:
            thread: the thread, suspended or current; ``None`` is the current one.
            value: the number, rounded to single precision.

        Raises:
            InvalidThread: `thread` is not a thread.
            ThreadNotAlive: the thread has not started or has ended.
            ThreadNotSuspended: the thread is neither suspended nor the current one.
            OpaqueFrame: the method is native, or the VM cannot return early from this frame, as
                with a virtual thread that is not suspended at an event.
            NoMoreFrames: the thread has no frame.
            TypeMismatch: the method's result is not a float.
            MustPossessCapability: ``can_force_early_return`` has not been added.

        JVM TI: ForceEarlyReturnFloat.
        """

    @function(
        85,
        phase=LIVE,
        since="1.1",
        capabilities=("can_force_early_return",),
        errors=("OPAQUE_FRAME", "TYPE_MISMATCH", "THREAD_NOT_SUSPENDED", "NO_MORE_FRAMES"),
    )
    def force_early_return_double(self, thread: Thread | None, value: Double) -> None:
        """Make a thread's current method return a double.

        Args:
            thread: the thread, suspended or current; ``None`` is the current one.
            value: the number.

        Raises:
            InvalidThread: `thread` is not a thread.
            ThreadNotAlive: the thread has not started or has ended.
            ThreadNotSuspended: the thread is neither suspended nor the current one.
            OpaqueFrame: the method is native, or the VM cannot return early from this frame, as
                with a virtual thread that is not suspended at an event.
            NoMoreFrames: the thread has no frame.
            TypeMismatch: the method's result is not a double.
            MustPossessCapability: ``can_force_early_return`` has not been added.

        JVM TI: ForceEarlyReturnDouble.
        """

    @function(
        86,
        phase=LIVE,
        since="1.1",
        capabilities=("can_force_early_return",),
        errors=("OPAQUE_FRAME", "TYPE_MISMATCH", "THREAD_NOT_SUSPENDED", "NO_MORE_FRAMES"),
    )
    def force_early_return_void(self, thread: Thread | None = None) -> None:
        """Make a thread's current method return without a value.

        Args:
            thread: the thread, suspended or current; ``None`` is the current one.

        Raises:
            InvalidThread: `thread` is not a thread.
            ThreadNotAlive: the thread has not started or has ended.
            ThreadNotSuspended: the thread is neither suspended nor the current one.
            OpaqueFrame: the method is native, or the VM cannot return early from this frame, as
                with a virtual thread that is not suspended at an event.
            NoMoreFrames: the thread has no frame.
            TypeMismatch: the method has a result.
            MustPossessCapability: ``can_force_early_return`` has not been added.

        JVM TI: ForceEarlyReturnVoid.
        """
