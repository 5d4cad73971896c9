"""Stacks: traces of one, some or all threads, single frames, and popping them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

from jvmti.env.structures import FrameInfo, StackInfo
from jvmti.interface.calling import Calling
from jvmti.interface.declaration import LIVE, function
from jvmti.interface.types import ArrayBeforeCount, CallerBuffer, CountIs, Int, Location
from jvmti.refs import Method, Thread


class FrameLocation(NamedTuple):
    """Where a frame is executing; the location is -1 in a native method."""

    method: Method
    location: Location


class StackFrameFunctions(Calling):
    """The functions of the chapter "Stack Frame"."""

    __slots__ = ()

    @function(104, phase=LIVE, errors=("ILLEGAL_ARGUMENT",), guard="limit_frames")
    def get_stack_trace(
        self, thread: Thread | None, start_depth: Int, max_frame_count: Int
    ) -> Annotated[list[FrameInfo], CallerBuffer("max_frame_count")]:
        """Return part of a thread's stack, the most recent frame first.

        The thread need not be suspended; otherwise the trace may be out of date at once.

        Args:
            thread: the thread; ``None`` is the current one.
            start_depth: where to begin: 0 is the current frame, 1 its caller; a negative number
                counts from the oldest frame, which is -1.
            max_frame_count: how many frames at most.

        Returns:
            Methods and locations of up to `max_frame_count` frames.

        Raises:
            InvalidThread: `thread` is not a thread.
            ThreadNotAlive: the thread has not started or has ended.
            IllegalArgument: the stack has no frame at `start_depth`, or `max_frame_count` is
                negative.

        Example:
            >>> [top] = env.get_stack_trace(customer, 0, 1)
            >>> top.method.name
            'enter'
            >>> env.get_stack_trace(customer, -1, 1)[0].method.name  # the outermost frame
            'run'

        JVM TI: GetStackTrace.
        """

    @function(100, phase=LIVE, guard="limit_frames")
    def get_all_stack_traces(
        self, max_frame_count: Int
    ) -> Annotated[list[StackInfo], ArrayBeforeCount()]:
        """Return the stacks of all live platform threads, all taken at the same moment.

        The VM stops for it; the threads need not be suspended.

        Args:
            max_frame_count: how many frames of each thread at most, the most recent first.

        Returns:
            One record for each thread: the thread, its state and its frames.

        Raises:
            IllegalArgument: `max_frame_count` is negative.

        Example:
            >>> stacks = {stack.thread.name: stack for stack in env.get_all_stack_traces(1)}
            >>> stacks["customer"].frame_buffer[0].method.name
            'enter'

        JVM TI: GetAllStackTraces.
        """

    @function(101, phase=LIVE, errors=("INVALID_THREAD",), guard="limit_frames", overridden=True)
    def get_thread_list_stack_traces(
        self, thread_list: Sequence[Thread], max_frame_count: Int
    ) -> Annotated[list[StackInfo], CountIs("thread_list")]:
        """Return the stacks of the given threads, all taken at the same moment.

        Args:
            thread_list: the threads.
            max_frame_count: how many frames of each thread at most, the most recent first.

        Returns:
            One record for each thread in order; without frames if its state says that it has not
            started or has ended.

        Raises:
            InvalidThread: an item of `thread_list` is not a thread.
            IllegalArgument: `max_frame_count` is negative.

        Example:
            >>> [one, other] = env.get_thread_list_stack_traces([customer, keeper], 100)
            >>> one.frame_buffer[0].method.name
            'enter'

        JVM TI: GetThreadListStackTraces.
        """

    @function(16, phase=LIVE)
    def get_frame_count(self, thread: Thread | None = None) -> Int:
        """Return the number of frames on a thread's stack.

        Args:
            thread: the thread; ``None`` is the current one.

        Returns:
            The depth of the stack; soon out of date unless the thread is suspended or current.

        Raises:
            InvalidThread: `thread` is not a thread.
            ThreadNotAlive: the thread has not started or has ended.

        Example:
            >>> env.get_frame_count(customer) == len(env.get_stack_trace(customer, 0, 100))
            True

        JVM TI: GetFrameCount.
        """

    @function(
        80,
        phase=LIVE,
        capabilities=("can_pop_frame",),
        errors=("OPAQUE_FRAME", "THREAD_NOT_SUSPENDED", "NO_MORE_FRAMES"),
        guard="pop_frame",
        overridden=True,
    )
    def pop_frame(self, thread: Thread) -> None:
        """Discard a thread's current frame, so that on resuming it makes the call again.

        Arguments keep the values that the called method gave them.  Monitors that the method
        entered are released, its ``finally`` blocks do not run.  Only one frame can be popped
        before the thread is resumed.

        Args:
            thread: a suspended thread.

        Raises:
            InvalidThread: `thread` is not a thread.
            ThreadNotAlive: the thread has not started or has ended.
            ThreadNotSuspended: the thread is neither suspended nor the current one.
            OpaqueFrame: the called or the calling method is native, or the VM cannot pop this
                frame, as with a virtual thread that is not suspended at an event.
            Internal: the thread still has to leave a frame from an earlier call.
            NoMoreFrames: the stack has fewer than two frames.
            MustPossessCapability: ``can_pop_frame`` has not been added.

        Example:
            >>> calls = []
            >>> def again(event):
            ...     calls.append(event.method.name)
            ...     if len(calls) == 1:
            ...         env.pop_frame(event.thread)  # its caller will call it once more
            >>> twice = jni.get_static_method_id(shop, "twice", "(I)I")
            >>> env.set_breakpoint(price, 0)
            >>> with env.on("Breakpoint", again):
            ...     jni.call_static_int_method(shop, twice, [3])  # 2 * price(3)
            30
            >>> calls
            ['price', 'price']
            >>> env.clear_breakpoint(price, 0)

        JVM TI: PopFrame.
        """

    @function(19, phase=LIVE)
    def get_frame_location(self, thread: Thread | None, depth: Int) -> FrameLocation:
        """Return the method of a frame and its current instruction.

        Args:
            thread: the thread; ``None`` is the current one.
            depth: 0 is the current frame, 1 its caller, and so on.

        Returns:
            Method and location; the location is -1 in a native method.

        Raises:
            InvalidThread: `thread` is not a thread.
            ThreadNotAlive: the thread has not started or has ended.
            NoMoreFrames: the stack has no frame at `depth`.
            IllegalArgument: `depth` is negative.

        Example:
            >>> at = env.get_frame_location(customer, 0)
            >>> at.method.name
            'enter'

        JVM TI: GetFrameLocation.
        """

    @function(
        20,
        phase=LIVE,
        capabilities=("can_generate_frame_pop_events",),
        errors=("OPAQUE_FRAME", "THREAD_NOT_SUSPENDED"),
    )
    def notify_frame_pop(self, thread: Thread | None, depth: Int) -> None:
        """Request a ``FramePop`` event for the end of a frame.

        Args:
            thread: the thread, suspended or current; ``None`` is the current one.
            depth: 0 is the current frame, 1 its caller, and so on.

        Raises:
            InvalidThread: `thread` is not a thread.
            ThreadNotAlive: the thread has not started or has ended.
            ThreadNotSuspended: the thread is neither suspended nor the current one.
            OpaqueFrame: the frame belongs to a native method.
            Duplicate: the event was requested before, on VMs that check.
            NoMoreFrames: the stack has no frame at `depth`.
            IllegalArgument: `depth` is negative.
            MustPossessCapability: ``can_generate_frame_pop_events`` has not been added.

        Example:
            >>> def popped(event):
            ...     print(event.method.name, "returns")
            >>> env.set_breakpoint(price, 0)
            >>> with (
            ...     env.on("FramePop", popped),
            ...     env.on("Breakpoint", lambda event: env.notify_frame_pop(None, 0)),
            ... ):
            ...     jni.call_static_int_method(shop, price, [3])
            price returns
            15
            >>> env.clear_breakpoint(price, 0)

        JVM TI: NotifyFramePop.
        """

    @function(
        67,
        phase=LIVE,
        since="25",
        capabilities=("can_generate_frame_pop_events",),
        errors=("THREAD_NOT_SUSPENDED",),
    )
    def clear_all_frame_pops(self, thread: Thread | None = None) -> None:
        """Cancel every `notify_frame_pop` of a thread.

        Args:
            thread: the thread, suspended or current; ``None`` is the current one.

        Raises:
            InvalidThread: `thread` is not a thread.
            ThreadNotAlive: the thread has not started or has ended.
            ThreadNotSuspended: the thread is neither suspended nor the current one.
            MustPossessCapability: ``can_generate_frame_pop_events`` has not been added.

        Example:
            >>> env.suspend_thread(customer)
            >>> env.notify_frame_pop(customer, 0)
            >>> env.clear_all_frame_pops(customer)
            >>> env.resume_thread(customer)

        JVM TI: ClearAllFramePops.
        """
