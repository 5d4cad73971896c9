"""Forcing the current method of a thread to return, with a value of its result type.

The return happens when the thread resumes running Java code; the method executes nothing more, not
even ``finally`` blocks, and releases the monitors that it entered.
"""

from __future__ import annotations

from jvmti.interface.calling import Calling
from jvmti.interface.declaration import LIVE, function
from jvmti.interface.types import Double, Float, Int, Long
from jvmti.refs import Object, Thread


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
        overridden=True,
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
            Internal: the thread still has to leave a frame from an earlier call.
            NoMoreFrames: the thread has no frame.
            TypeMismatch: the method returns no object, or none to which `value` can be assigned.
            InvalidObject: `value` is not an object.
            MustPossessCapability: ``can_force_early_return`` has not been added.

        Example:
            >>> name = jni.get_static_method_id(shop, "name", "()Ljava/lang/String;")
            >>> other = jni.new_string("Closed")
            >>> env.set_breakpoint(name, 0)
            >>> with env.on("Breakpoint", lambda event: env.force_early_return_object(None, other)):
            ...     jni.call_static_object_method(shop, name) == other
            True
            >>> env.clear_breakpoint(name, 0)

        JVM TI: ForceEarlyReturnObject.
        """

    @function(
        82,
        phase=LIVE,
        since="1.1",
        capabilities=("can_force_early_return",),
        errors=("OPAQUE_FRAME", "TYPE_MISMATCH", "THREAD_NOT_SUSPENDED", "NO_MORE_FRAMES"),
        guard="force_early_return_int",
        overridden=True,
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
            Internal: the thread still has to leave a frame from an earlier call.
            NoMoreFrames: the thread has no frame.
            TypeMismatch: the method's result has none of these types, or `value` is out of its
                range.
            MustPossessCapability: ``can_force_early_return`` has not been added.

        Example:
            >>> env.set_breakpoint(price, 0)
            >>> with env.on("Breakpoint", lambda event: env.force_early_return_int(None, 42)):
            ...     jni.call_static_int_method(shop, price, [3])
            42
            >>> env.clear_breakpoint(price, 0)

        JVM TI: ForceEarlyReturnInt.
        """

    @function(
        83,
        phase=LIVE,
        since="1.1",
        capabilities=("can_force_early_return",),
        errors=("OPAQUE_FRAME", "TYPE_MISMATCH", "THREAD_NOT_SUSPENDED", "NO_MORE_FRAMES"),
        overridden=True,
        guard="force_early_return_as_is",
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
            Internal: the thread still has to leave a frame from an earlier call.
            NoMoreFrames: the thread has no frame.
            TypeMismatch: the method's result is not a long.
            MustPossessCapability: ``can_force_early_return`` has not been added.

        Example:
            >>> takings = jni.get_static_method_id(shop, "takings", "()J")
            >>> env.set_breakpoint(takings, 0)
            >>> with env.on("Breakpoint", lambda event: env.force_early_return_long(None, 1 << 40)):
            ...     jni.call_static_long_method(shop, takings)
            1099511627776
            >>> env.clear_breakpoint(takings, 0)

        JVM TI: ForceEarlyReturnLong.
        """

    @function(
        84,
        phase=LIVE,
        since="1.1",
        capabilities=("can_force_early_return",),
        errors=("OPAQUE_FRAME", "TYPE_MISMATCH", "THREAD_NOT_SUSPENDED", "NO_MORE_FRAMES"),
        overridden=True,
        guard="force_early_return_as_is",
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
            Internal: the thread still has to leave a frame from an earlier call.
            NoMoreFrames: the thread has no frame.
            TypeMismatch: the method's result is not a float.
            MustPossessCapability: ``can_force_early_return`` has not been added.

        Example:
            >>> rent = jni.get_static_method_id(shop, "rent", "()F")
            >>> env.set_breakpoint(rent, 0)
            >>> with env.on("Breakpoint", lambda event: env.force_early_return_float(None, 2.5)):
            ...     jni.call_static_float_method(shop, rent)
            2.5
            >>> env.clear_breakpoint(rent, 0)

        JVM TI: ForceEarlyReturnFloat.
        """

    @function(
        85,
        phase=LIVE,
        since="1.1",
        capabilities=("can_force_early_return",),
        errors=("OPAQUE_FRAME", "TYPE_MISMATCH", "THREAD_NOT_SUSPENDED", "NO_MORE_FRAMES"),
        overridden=True,
        guard="force_early_return_as_is",
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
            Internal: the thread still has to leave a frame from an earlier call.
            NoMoreFrames: the thread has no frame.
            TypeMismatch: the method's result is not a double.
            MustPossessCapability: ``can_force_early_return`` has not been added.

        Example:
            >>> tax = jni.get_static_method_id(shop, "tax", "()D")
            >>> env.set_breakpoint(tax, 0)
            >>> with env.on("Breakpoint", lambda event: env.force_early_return_double(None, 0.5)):
            ...     jni.call_static_double_method(shop, tax)
            0.5
            >>> env.clear_breakpoint(tax, 0)

        JVM TI: ForceEarlyReturnDouble.
        """

    @function(
        86,
        phase=LIVE,
        since="1.1",
        capabilities=("can_force_early_return",),
        errors=("OPAQUE_FRAME", "TYPE_MISMATCH", "THREAD_NOT_SUSPENDED", "NO_MORE_FRAMES"),
        overridden=True,
        guard="force_early_return_as_is",
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
            Internal: the thread still has to leave a frame from an earlier call.
            NoMoreFrames: the thread has no frame.
            TypeMismatch: the method has a result.
            MustPossessCapability: ``can_force_early_return`` has not been added.

        Example:
            >>> ring = jni.get_static_method_id(shop, "ring", "()V")
            >>> sold = jni.get_static_field_id(shop, "sold", "I")
            >>> before = jni.get_static_int_field(shop, sold)
            >>> env.set_breakpoint(ring, 0)
            >>> with env.on("Breakpoint", lambda event: env.force_early_return_void(None)):
            ...     jni.call_static_void_method(shop, ring)  # which would have counted one more
            >>> jni.get_static_int_field(shop, sold) == before
            True
            >>> env.clear_breakpoint(ring, 0)

        JVM TI: ForceEarlyReturnVoid.
        """
