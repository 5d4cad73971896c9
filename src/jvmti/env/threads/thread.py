"""Threads: enumerate, suspend and resume, stop, interrupt, inspect, and local storage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

from jvmti.env.structures import MonitorStackDepthInfo, ThreadInfo
from jvmti.interface.calling import Calling
from jvmti.interface.constants import ThreadState
from jvmti.interface.declaration import LIVE, START, CallbackOf, function
from jvmti.interface.errors import ErrorCode
from jvmti.interface.types import Int, ResultPerItem, StoredObject
from jvmti.refs import Object, Thread


class ThreadFunctions(Calling):
    """The functions of the chapter "Thread"."""

    __slots__ = ()

    @function(17, phase=LIVE)
    def get_thread_state(self, thread: Thread | None = None) -> ThreadState:
        """Return the state of a thread as bit flags.

        Args:
            thread: the thread, started or not; ``None`` is the current thread, which is the service
                thread of the calling Python thread, or in a handler the event's thread.

        Returns:
            The flags; ``java.lang.Thread.State`` follows from them through `JavaLangThreadState`.

        Raises:
            InvalidThread: `thread` is not a thread.

        Example:
            >>> env.get_thread_state(customer)
            <ThreadState.ALIVE|...BLOCKED_ON_MONITOR_ENTER...: ...>

        JVM TI: GetThreadState.
        """

    @function(18, phase=START, since="1.1")
    def get_current_thread(self) -> Thread | None:
        """Return the thread that serves the calling Python thread, or in a handler the event's.

        Returns:
            The thread; ``None`` only early in the start phase, under the capability
            ``can_generate_early_vmstart``, before ``java.lang.Thread`` is ready.

        Example:
            >>> env.get_current_thread() in vm.service_threads()
            True

        JVM TI: GetCurrentThread.
        """

    @function(4, phase=LIVE)
    def get_all_threads(self) -> list[Thread]:
        """Return all live platform threads, agent threads among them.

        Virtual threads are not listed; the service threads of this package are.

        Returns:
            One handle for each thread.

        Example:
            >>> customer in env.get_all_threads()
            True

        JVM TI: GetAllThreads.
        """

    @function(
        5,
        phase=LIVE,
        capabilities=("can_suspend",),
        errors=("THREAD_SUSPENDED",),
        guard="suspend_thread",
        overridden=True,
    )
    def suspend_thread(self, thread: Thread | None = None) -> None:
        """Suspend a thread until `resume_thread`.

        The agent refuses to suspend a thread that serves this package, since that could not be
        resumed. When a controller leaves, the agent resumes the threads that it suspended.

        The current thread of a handler is suspended when the handler returns: until then it runs
        the handler's calls. Another thread resumes it, at any time after this call.

        Args:
            thread: the thread; ``None`` is the current one.

        Raises:
            InvalidThread: `thread` is not a thread, or serves this package, as the current one of
                every Python thread outside of handlers does.
            ThreadNotAlive: the thread has not started or has ended.
            ThreadSuspended: it is suspended already.
            MustPossessCapability: ``can_suspend`` has not been added.

        Example:
            >>> env.suspend_thread(customer)
            >>> "SUSPENDED" in env.get_thread_state(customer).name
            True
            >>> env.resume_thread(customer)

        JVM TI: SuspendThread.
        """

    @function(
        6,
        phase=LIVE,
        capabilities=("can_suspend",),
        errors=("THREAD_NOT_SUSPENDED", "INVALID_TYPESTATE"),
        overridden=True,
    )
    def resume_thread(self, thread: Thread) -> None:
        """Resume a suspended thread.

        Args:
            thread: the suspended thread.

        Raises:
            InvalidThread: `thread` is not a thread.
            ThreadNotAlive: the thread has not started or has ended.
            ThreadNotSuspended: it is not suspended.
            InvalidTypestate: its state was changed meanwhile and is inconsistent.
            MustPossessCapability: ``can_suspend`` has not been added.

        Example:
            >>> env.suspend_thread(customer)
            >>> env.resume_thread(customer)
            >>> env.resume_thread(customer)
            Traceback (most recent call last):
            jvmti.errors.ThreadNotSuspended: ...

        JVM TI: ResumeThread.
        """

    @function(
        92,
        phase=LIVE,
        capabilities=("can_suspend",),
        overridden=True,
    )
    def suspend_thread_list(
        self, request_list: Sequence[Thread]
    ) -> Annotated[list[ErrorCode], ResultPerItem("request_list")]:
        """Suspend several threads; one failure does not affect the others.

        Args:
            request_list: the threads; those already suspended stay as they are.

        Returns:
            One code for each thread in order: ``ErrorCode.NONE``, or the code of the error that
            `suspend_thread` would have raised, ``ErrorCode.INVALID_THREAD`` for a released handle.

        Raises:
            InvalidThread: an item of `request_list` is a handle of another kind; what is a thread
                and cannot be used here has that as its own result.
            MustPossessCapability: ``can_suspend`` has not been added.

        Example:
            >>> [code.name for code in env.suspend_thread_list([customer, keeper])]
            ['NONE', 'NONE']
            >>> [code.name for code in env.resume_thread_list([customer, keeper])]
            ['NONE', 'NONE']

        JVM TI: SuspendThreadList.
        """

    @function(93, phase=LIVE, capabilities=("can_suspend",), overridden=True)
    def resume_thread_list(
        self, request_list: Sequence[Thread]
    ) -> Annotated[list[ErrorCode], ResultPerItem("request_list")]:
        """Resume several suspended threads.

        Args:
            request_list: the threads.

        Returns:
            One code for each thread in order: ``ErrorCode.NONE``, or the code of the error that
            `resume_thread` would have raised, ``ErrorCode.INVALID_THREAD`` for a released handle.

        Raises:
            InvalidThread: an item of `request_list` is a handle of another kind; what is a thread
                and cannot be used here has that as its own result.
            MustPossessCapability: ``can_suspend`` has not been added.

        Example:
            >>> [code.name for code in env.resume_thread_list([customer])]
            ['THREAD_NOT_SUSPENDED']

        JVM TI: ResumeThreadList.
        """

    @function(
        118,
        phase=LIVE,
        since="21",
        capabilities=("can_suspend", "can_support_virtual_threads"),
        errors=("INVALID_THREAD", "ILLEGAL_ARGUMENT"),
        overridden=True,
    )
    def suspend_all_virtual_threads(self, except_list: Sequence[Thread] = ()) -> None:
        """Suspend every virtual thread, present and future, apart from some.

        Those suspended before stay so.  A later `resume_thread` releases one of them.

        Args:
            except_list: virtual threads to leave as they are.

        Raises:
            InvalidThread: an item of `except_list` is not a virtual thread.
            MustPossessCapability: ``can_suspend`` or ``can_support_virtual_threads`` has not been
                added.

        Example:
            >>> env.suspend_all_virtual_threads()
            >>> env.resume_all_virtual_threads()

        JVM TI: SuspendAllVirtualThreads.
        """

    @function(
        119,
        phase=LIVE,
        since="21",
        capabilities=("can_suspend", "can_support_virtual_threads"),
        errors=("INVALID_THREAD", "ILLEGAL_ARGUMENT"),
        record="resume_all_virtual_threads",
    )
    def resume_all_virtual_threads(self, except_list: Sequence[Thread] = ()) -> None:
        """Resume every suspended virtual thread apart from some.

        Args:
            except_list: virtual threads to leave as they are.

        Raises:
            InvalidThread: an item of `except_list` is not a virtual thread.
            MustPossessCapability: ``can_suspend`` or ``can_support_virtual_threads`` has not been
                added.

        Example:
            >>> env.suspend_all_virtual_threads()
            >>> env.resume_all_virtual_threads()

        JVM TI: ResumeAllVirtualThreads.
        """

    @function(
        7, phase=LIVE, capabilities=("can_signal_thread",), guard="stop_thread", runs_java=True
    )
    def stop_thread(self, thread: Thread, exception: Object) -> None:
        """Throw an exception in another thread, wherever that thread is.

        A virtual thread must be suspended at an event, or be the current thread.

        Args:
            thread: the thread to throw in.
            exception: the throwable.

        Raises:
            InvalidThread: `thread` is not a thread.
            ThreadNotAlive: the thread has not started or has ended.
            InvalidObject: `exception` is not a throwable.
            ThreadNotSuspended: the virtual thread is neither suspended nor current.
            OpaqueFrame: the virtual thread is suspended where it cannot throw.
            MustPossessCapability: ``can_signal_thread`` has not been added.

        Example:
            >>> spare = jni.new_object(jni.find_class("java/lang/Thread"), thread_init)
            >>> exception = jni.alloc_object(jni.find_class("java/lang/ThreadDeath"))
            >>> env.stop_thread(spare, exception)  # one that has not been started
            Traceback (most recent call last):
            jvmti.errors.ThreadNotAlive: ...

        JVM TI: StopThread.
        """

    @function(
        8, phase=LIVE, capabilities=("can_signal_thread",), guard="interrupt_thread", runs_java=True
    )
    def interrupt_thread(self, thread: Thread) -> None:
        """Interrupt a thread, as ``java.lang.Thread.interrupt`` does.

        Args:
            thread: the thread.

        Raises:
            InvalidThread: `thread` is not a thread.
            ThreadNotAlive: the thread has not started or has ended.
            MustPossessCapability: ``can_signal_thread`` has not been added.

        Example:
            >>> env.interrupt_thread(customer)  # waits for a monitor: is interrupted, and waits on
            >>> "INTERRUPTED" in env.get_thread_state(customer).name
            True

        JVM TI: InterruptThread.
        """

    @function(9, phase=LIVE)
    def get_thread_info(self, thread: Thread | None = None) -> ThreadInfo:
        """Return a thread's name, priority, group and context class loader.

        Args:
            thread: the thread, started or not; ``None`` is the current one.

        Returns:
            The details; the group is ``None`` if the thread has ended.

        Raises:
            InvalidThread: `thread` is not a thread.

        Example:
            >>> info = env.get_thread_info(customer)
            >>> info.name, info.priority, info.is_daemon
            ('customer', 5, True)

        JVM TI: GetThreadInfo.
        """

    @function(10, phase=LIVE, capabilities=("can_get_owned_monitor_info",))
    def get_owned_monitor_info(self, thread: Thread | None = None) -> list[Object]:
        """Return the objects whose monitors a thread owns.

        Args:
            thread: the thread; ``None`` is the current one.

        Returns:
            The objects, in no particular order.

        Raises:
            InvalidThread: `thread` is not a thread.
            ThreadNotAlive: the thread has not started or has ended.
            MustPossessCapability: ``can_get_owned_monitor_info`` has not been added.

        Example:
            >>> env.get_owned_monitor_info(keeper) == [door]
            True

        JVM TI: GetOwnedMonitorInfo.
        """

    @function(
        153, phase=LIVE, since="1.1", capabilities=("can_get_owned_monitor_stack_depth_info",)
    )
    def get_owned_monitor_stack_depth_info(
        self, thread: Thread | None = None
    ) -> list[MonitorStackDepthInfo]:
        """Return the monitors a thread owns, each with the frame that locked it.

        Args:
            thread: the thread; ``None`` is the current one.

        Returns:
            Objects with stack depths: 0 is the current frame, -1 is unknown, as for monitors
            entered through JNI.

        Raises:
            InvalidThread: `thread` is not a thread.
            ThreadNotAlive: the thread has not started or has ended.
            MustPossessCapability: ``can_get_owned_monitor_stack_depth_info`` has not been added.

        Example:
            >>> [held] = env.get_owned_monitor_stack_depth_info(keeper)
            >>> held.monitor == door, held.stack_depth > 0
            (True, True)

        JVM TI: GetOwnedMonitorStackDepthInfo.
        """

    @function(11, phase=LIVE, capabilities=("can_get_current_contended_monitor",))
    def get_current_contended_monitor(self, thread: Thread | None = None) -> Object | None:
        """Return the object whose monitor a thread is waiting for.

        Args:
            thread: the thread; ``None`` is the current one.

        Returns:
            The object that the thread waits to enter, or to regain after ``Object.wait``; ``None``
            if there is none.

        Raises:
            InvalidThread: `thread` is not a thread.
            ThreadNotAlive: the thread has not started or has ended.
            MustPossessCapability: ``can_get_current_contended_monitor`` has not been added.

        Example:
            >>> env.get_current_contended_monitor(customer) == door
            True

        JVM TI: GetCurrentContendedMonitor.
        """

    @function(
        12,
        phase=LIVE,
        errors=("INVALID_PRIORITY",),
        callback=CallbackOf.AGENT_THREAD,
        overridden=True,
        runs_java=True,
    )
    def run_agent_thread(
        self, thread: Thread, proc: Callable[..., Any], arg: StoredObject, priority: Int
    ) -> None:
        """Start a new ``java.lang.Thread`` as a daemon thread that runs a Python function.

        The function runs on a Python thread of its own, and its calls run on the new Java thread.
        The Java thread ends with the session, or when the function returns or raises, which is
        logged.  No thread group lists it and Java code does not see it; `get_all_threads` does.

        Args:
            thread: a thread object that has not been started.
            proc: the function, called with `arg` when the thread runs.
            arg: anything; ``None`` passes nothing.
            priority: 1 to 10, as in `ThreadPriority`.

        Raises:
            InvalidPriority: `priority` is outside 1 to 10.
            InvalidThread: it is not a thread, or has been started before.
            UnsupportedOperation: it is a virtual thread.

        Example:
            >>> helper = jni.new_object(jni.find_class("java/lang/Thread"), thread_init)
            >>> done = threading.Event()
            >>> def work(orders):
            ...     orders.append(env.get_current_thread() == helper)  # runs on the new Java thread
            ...     done.set()
            >>> orders = []
            >>> env.run_agent_thread(helper, work, orders, 5)
            >>> done.wait(30), orders
            (True, [True])

        JVM TI: RunAgentThread.
        """

    @function(103, phase=START)
    def set_thread_local_storage(self, thread: Thread | None, data: StoredObject = None) -> None:
        """Attach a Python object to a thread, within this environment.

        The object stays with the controller; the VM keeps a token for it.

        Args:
            thread: the thread; ``None`` is the current one.
            data: any object; ``None`` clears the storage.

        Raises:
            InvalidThread: `thread` is not a thread.
            ThreadNotAlive: the thread has not started or has ended.

        Example:
            >>> env.set_thread_local_storage(customer, {"waits since": 12})
            >>> env.get_thread_local_storage(customer)
            {'waits since': 12}
            >>> env.set_thread_local_storage(customer, None)

        JVM TI: SetThreadLocalStorage.
        """

    @function(102, phase=START)
    def get_thread_local_storage(self, thread: Thread | None = None) -> StoredObject:
        """Return the object that `set_thread_local_storage` attached to a thread.

        Args:
            thread: the thread; ``None`` is the current one.

        Returns:
            The same object, or ``None`` if none was set.

        Raises:
            InvalidThread: `thread` is not a thread.
            ThreadNotAlive: the thread has not started or has ended.

        Example:
            >>> env.get_thread_local_storage(customer)  # nothing has been stored

        JVM TI: GetThreadLocalStorage.
        """
