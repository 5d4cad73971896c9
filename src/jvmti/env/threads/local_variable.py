"""Local variables: reading and writing them by frame and slot.

Slots and their types follow from ``get_local_variable_table``.
"""

from __future__ import annotations

from jvmti.interface.calling import Calling
from jvmti.interface.declaration import LIVE, function
from jvmti.interface.types import Double, Float, Int, Long
from jvmti.refs import Object, Thread


class LocalVariableFunctions(Calling):
    """The functions of the chapter "Local Variable"."""

    __slots__ = ()

    @function(
        21,
        phase=LIVE,
        capabilities=("can_access_local_variables",),
        errors=("INVALID_SLOT", "TYPE_MISMATCH", "OPAQUE_FRAME"),
        guard="get_local_of<'L'>",
    )
    def get_local_object(self, thread: Thread | None, depth: Int, slot: Int) -> Object | None:
        """Return the value of a local variable that holds an object.

        Args:
            thread: the thread; ``None`` is the current one.
            depth: 0 is the current frame, 1 its caller, and so on.
            slot: the slot of the variable.

        Returns:
            The object; ``None`` is Java's null.

        Raises:
            InvalidThread: `thread` is not a thread.
            ThreadNotAlive: the thread has not started or has ended.
            InvalidSlot: the method has no such slot.
            TypeMismatch: the variable is not an object or an array.
            OpaqueFrame: the frame's variables cannot be seen, as in a native method.
            NoMoreFrames: the stack has no frame at `depth`.
            IllegalArgument: `depth` is negative.
            MustPossessCapability: ``can_access_local_variables`` has not been added.

        Example:
            >>> env.suspend_thread(customer)
            >>> env.get_local_object(customer, 0, 7) == order
            True
            >>> env.resume_thread(customer)

        JVM TI: GetLocalObject.
        """

    @function(
        155,
        phase=LIVE,
        since="1.2",
        capabilities=("can_access_local_variables",),
        errors=("INVALID_SLOT",),
        guard="get_local_instance",
    )
    def get_local_instance(self, thread: Thread | None, depth: Int) -> Object | None:
        """Return ``this`` of a frame, also of a native method.

        Args:
            thread: the thread; ``None`` is the current one.
            depth: 0 is the current frame, 1 its caller, and so on.

        Returns:
            The receiver; ``None`` if compiled code has not kept it.

        Raises:
            InvalidThread: `thread` is not a thread.
            ThreadNotAlive: the thread has not started or has ended.
            InvalidSlot: the method is static.
            NoMoreFrames: the stack has no frame at `depth`.
            IllegalArgument: `depth` is negative.
            MustPossessCapability: ``can_access_local_variables`` has not been added.

        Example:
            >>> env.suspend_thread(customer)
            >>> env.get_local_instance(customer, 0).cls == shop
            True
            >>> env.resume_thread(customer)

        JVM TI: GetLocalInstance.
        """

    @function(
        22,
        phase=LIVE,
        capabilities=("can_access_local_variables",),
        errors=("INVALID_SLOT", "TYPE_MISMATCH", "OPAQUE_FRAME"),
        guard="get_local_of<'I'>",
    )
    def get_local_int(self, thread: Thread | None, depth: Int, slot: Int) -> Int:
        """Return the value of a local variable that holds an int, short, char, byte or boolean.

        Args:
            thread: the thread; ``None`` is the current one.
            depth: 0 is the current frame, 1 its caller, and so on.
            slot: the slot of the variable.

        Returns:
            The value as a number.

        Raises:
            InvalidThread: `thread` is not a thread.
            ThreadNotAlive: the thread has not started or has ended.
            InvalidSlot: the method has no such slot.
            TypeMismatch: the variable is not an int, short, char, byte or boolean.
            OpaqueFrame: the frame's variables cannot be seen, as in a native method.
            NoMoreFrames: the stack has no frame at `depth`.
            IllegalArgument: `depth` is negative.
            MustPossessCapability: ``can_access_local_variables`` has not been added.

        Example:
            >>> env.suspend_thread(customer)
            >>> env.get_local_int(customer, 0, 1)
            4
            >>> env.resume_thread(customer)

        JVM TI: GetLocalInt.
        """

    @function(
        23,
        phase=LIVE,
        capabilities=("can_access_local_variables",),
        errors=("INVALID_SLOT", "TYPE_MISMATCH", "OPAQUE_FRAME"),
        guard="get_local_of<'J'>",
    )
    def get_local_long(self, thread: Thread | None, depth: Int, slot: Int) -> Long:
        """Return the value of a local variable that holds a long.

        Args:
            thread: the thread; ``None`` is the current one.
            depth: 0 is the current frame, 1 its caller, and so on.
            slot: the slot of the variable.

        Returns:
            The value.

        Raises:
            InvalidThread: `thread` is not a thread.
            ThreadNotAlive: the thread has not started or has ended.
            InvalidSlot: the method has no such slot.
            TypeMismatch: the variable is not a long.
            OpaqueFrame: the frame's variables cannot be seen, as in a native method.
            NoMoreFrames: the stack has no frame at `depth`.
            IllegalArgument: `depth` is negative.
            MustPossessCapability: ``can_access_local_variables`` has not been added.

        Example:
            >>> env.suspend_thread(customer)
            >>> env.get_local_long(customer, 0, 2)
            2000
            >>> env.resume_thread(customer)

        JVM TI: GetLocalLong.
        """

    @function(
        24,
        phase=LIVE,
        capabilities=("can_access_local_variables",),
        errors=("INVALID_SLOT", "TYPE_MISMATCH", "OPAQUE_FRAME"),
        guard="get_local_of<'F'>",
    )
    def get_local_float(self, thread: Thread | None, depth: Int, slot: Int) -> Float:
        """Return the value of a local variable that holds a float.

        Args:
            thread: the thread; ``None`` is the current one.
            depth: 0 is the current frame, 1 its caller, and so on.
            slot: the slot of the variable.

        Returns:
            The value.

        Raises:
            InvalidThread: `thread` is not a thread.
            ThreadNotAlive: the thread has not started or has ended.
            InvalidSlot: the method has no such slot.
            TypeMismatch: the variable is not a float.
            OpaqueFrame: the frame's variables cannot be seen, as in a native method.
            NoMoreFrames: the stack has no frame at `depth`.
            IllegalArgument: `depth` is negative.
            MustPossessCapability: ``can_access_local_variables`` has not been added.

        Example:
            >>> env.suspend_thread(customer)
            >>> env.get_local_float(customer, 0, 4)
            0.5
            >>> env.resume_thread(customer)

        JVM TI: GetLocalFloat.
        """

    @function(
        25,
        phase=LIVE,
        capabilities=("can_access_local_variables",),
        errors=("INVALID_SLOT", "TYPE_MISMATCH", "OPAQUE_FRAME"),
        guard="get_local_of<'D'>",
    )
    def get_local_double(self, thread: Thread | None, depth: Int, slot: Int) -> Double:
        """Return the value of a local variable that holds a double.

        Args:
            thread: the thread; ``None`` is the current one.
            depth: 0 is the current frame, 1 its caller, and so on.
            slot: the slot of the variable.

        Returns:
            The value.

        Raises:
            InvalidThread: `thread` is not a thread.
            ThreadNotAlive: the thread has not started or has ended.
            InvalidSlot: the method has no such slot.
            TypeMismatch: the variable is not a double.
            OpaqueFrame: the frame's variables cannot be seen, as in a native method.
            NoMoreFrames: the stack has no frame at `depth`.
            IllegalArgument: `depth` is negative.
            MustPossessCapability: ``can_access_local_variables`` has not been added.

        Example:
            >>> env.suspend_thread(customer)
            >>> env.get_local_double(customer, 0, 5)
            0.125
            >>> env.resume_thread(customer)

        JVM TI: GetLocalDouble.
        """

    @function(
        26,
        phase=LIVE,
        capabilities=("can_access_local_variables",),
        errors=("INVALID_SLOT", "TYPE_MISMATCH", "OPAQUE_FRAME"),
        guard="set_local_object",
        runs_java=True,
    )
    def set_local_object(
        self, thread: Thread | None, depth: Int, slot: Int, value: Object | None
    ) -> None:
        """Change a local variable that holds an object.

        Args:
            thread: the thread; ``None`` is the current one.
            depth: 0 is the current frame, 1 its caller, and so on.
            slot: the slot of the variable.
            value: the object; ``None`` is Java's null.

        Raises:
            InvalidObject: `value` is not an object.
            InvalidThread: `thread` is not a thread.
            ThreadNotAlive: the thread has not started or has ended.
            InvalidSlot: the method has no such slot.
            InvalidObject: `value` is not an object.
            TypeMismatch: the variable is not an object or an array, or none to which `value` can be
                assigned.
            OpaqueFrame: the frame's variables cannot be changed: it is native, or of a virtual
                thread that is not suspended at an event.
            NoMoreFrames: the stack has no frame at `depth`.
            IllegalArgument: `depth` is negative.
            MustPossessCapability: ``can_access_local_variables`` has not been added.

        Example:
            >>> env.suspend_thread(customer)
            >>> env.set_local_object(customer, 0, 7, None)
            >>> env.get_local_object(customer, 0, 7)
            >>> env.set_local_object(customer, 0, 7, order)
            >>> env.resume_thread(customer)

        JVM TI: SetLocalObject.
        """

    @function(
        27,
        phase=LIVE,
        capabilities=("can_access_local_variables",),
        errors=("INVALID_SLOT", "TYPE_MISMATCH", "OPAQUE_FRAME"),
        guard="set_local_int",
    )
    def set_local_int(self, thread: Thread | None, depth: Int, slot: Int, value: Int) -> None:
        """Change a local variable that holds an int, short, char, byte or boolean.

        Args:
            thread: the thread; ``None`` is the current one.
            depth: 0 is the current frame, 1 its caller, and so on.
            slot: the slot of the variable.
            value: the number; the agent checks the range of the narrow types.

        Raises:
            InvalidThread: `thread` is not a thread.
            ThreadNotAlive: the thread has not started or has ended.
            InvalidSlot: the method has no such slot.
            TypeMismatch: the variable is not an int, short, char, byte or boolean, or its type does
                not hold the number.
            OpaqueFrame: the frame's variables cannot be changed: it is native, or of a virtual
                thread that is not suspended at an event.
            NoMoreFrames: the stack has no frame at `depth`.
            IllegalArgument: `depth` is negative.
            MustPossessCapability: ``can_access_local_variables`` has not been added.

        Example:
            >>> def more(event):
            ...     env.set_local_int(None, 0, 0, 100)  # the parameter `count`
            >>> env.set_breakpoint(price, 0)
            >>> with env.on("Breakpoint", more):
            ...     jni.call_static_int_method(shop, price, [3])
            500
            >>> env.clear_breakpoint(price, 0)

        JVM TI: SetLocalInt.
        """

    @function(
        28,
        phase=LIVE,
        capabilities=("can_access_local_variables",),
        errors=("INVALID_SLOT", "TYPE_MISMATCH", "OPAQUE_FRAME"),
        guard="set_local_of<'J'>",
    )
    def set_local_long(self, thread: Thread | None, depth: Int, slot: Int, value: Long) -> None:
        """Change a local variable that holds a long.

        Args:
            thread: the thread; ``None`` is the current one.
            depth: 0 is the current frame, 1 its caller, and so on.
            slot: the slot of the variable.
            value: the number.

        Raises:
            InvalidThread: `thread` is not a thread.
            ThreadNotAlive: the thread has not started or has ended.
            InvalidSlot: the method has no such slot.
            TypeMismatch: the variable is not a long.
            OpaqueFrame: the frame's variables cannot be changed: it is native, or of a virtual
                thread that is not suspended at an event.
            NoMoreFrames: the stack has no frame at `depth`.
            IllegalArgument: `depth` is negative.
            MustPossessCapability: ``can_access_local_variables`` has not been added.

        Example:
            >>> env.suspend_thread(customer)
            >>> env.set_local_long(customer, 0, 2, 1 << 40)
            >>> env.get_local_long(customer, 0, 2)
            1099511627776
            >>> env.set_local_long(customer, 0, 2, 2000)
            >>> env.resume_thread(customer)

        JVM TI: SetLocalLong.
        """

    @function(
        29,
        phase=LIVE,
        capabilities=("can_access_local_variables",),
        errors=("INVALID_SLOT", "TYPE_MISMATCH", "OPAQUE_FRAME"),
        guard="set_local_of<'F'>",
    )
    def set_local_float(self, thread: Thread | None, depth: Int, slot: Int, value: Float) -> None:
        """Change a local variable that holds a float.

        Args:
            thread: the thread; ``None`` is the current one.
            depth: 0 is the current frame, 1 its caller, and so on.
            slot: the slot of the variable.
            value: the number, rounded to single precision.

        Raises:
            InvalidThread: `thread` is not a thread.
            ThreadNotAlive: the thread has not started or has ended.
            InvalidSlot: the method has no such slot.
            TypeMismatch: the variable is not a float.
            OpaqueFrame: the frame's variables cannot be changed: it is native, or of a virtual
                thread that is not suspended at an event.
            NoMoreFrames: the stack has no frame at `depth`.
            IllegalArgument: `depth` is negative.
            MustPossessCapability: ``can_access_local_variables`` has not been added.

        Example:
            >>> env.suspend_thread(customer)
            >>> env.set_local_float(customer, 0, 4, 1.5)
            >>> env.get_local_float(customer, 0, 4)
            1.5
            >>> env.set_local_float(customer, 0, 4, 0.5)
            >>> env.resume_thread(customer)

        JVM TI: SetLocalFloat.
        """

    @function(
        30,
        phase=LIVE,
        capabilities=("can_access_local_variables",),
        errors=("INVALID_SLOT", "TYPE_MISMATCH", "OPAQUE_FRAME"),
        guard="set_local_of<'D'>",
    )
    def set_local_double(self, thread: Thread | None, depth: Int, slot: Int, value: Double) -> None:
        """Change a local variable that holds a double.

        Args:
            thread: the thread; ``None`` is the current one.
            depth: 0 is the current frame, 1 its caller, and so on.
            slot: the slot of the variable.
            value: the number.

        Raises:
            InvalidThread: `thread` is not a thread.
            ThreadNotAlive: the thread has not started or has ended.
            InvalidSlot: the method has no such slot.
            TypeMismatch: the variable is not a double.
            OpaqueFrame: the frame's variables cannot be changed: it is native, or of a virtual
                thread that is not suspended at an event.
            NoMoreFrames: the stack has no frame at `depth`.
            IllegalArgument: `depth` is negative.
            MustPossessCapability: ``can_access_local_variables`` has not been added.

        Example:
            >>> env.suspend_thread(customer)
            >>> env.set_local_double(customer, 0, 5, 1.5)
            >>> env.get_local_double(customer, 0, 5)
            1.5
            >>> env.set_local_double(customer, 0, 5, 0.125)
            >>> env.resume_thread(customer)

        JVM TI: SetLocalDouble.
        """
