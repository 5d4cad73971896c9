"""Exceptions: throw, inspect and clear them.

A Java exception that a call leaves pending is raised in Python as `JavaException` when the call
returns.  The agent clears it in the target's thread and remembers it as the pending exception of
the channel (the connection of one Python thread to its Java thread).  It stays pending there, for
the functions of this module, until `ExceptionFunctions.exception_clear` or the next JNI call of
that channel which JNI does not allow while an exception is pending: releasing references, arrays,
monitors and local frames keeps it, and so does comparing two references.

An exception that a handler throws itself, by `ExceptionFunctions.throw` or
`ExceptionFunctions.throw_new`, is thrown in the program when the handler returns. The handler may
let the `JavaException` propagate, or catch it; only `ExceptionFunctions.exception_clear` cancels
it. The VM passes exceptions to the program from handlers of Breakpoint, SingleStep, MethodEntry,
FieldAccess, FieldModification and ExceptionCatch, and from replacements of JNI functions; in
handlers of other events `throw` and `throw_new` raise UNSUPPORTED_OPERATION. (HotSpot loses the
exception there, crashes, or releases a monitor twice.) An exception that the function of
`run_agent_thread` throws at its end is uncaught: the thread's uncaught exception handler receives
it.
"""

from __future__ import annotations

from jvmti.interface.calling import Calling
from jvmti.interface.declaration import jni_function
from jvmti.interface.types import Boolean, Int, Text
from jvmti.refs import Class, Throwable


class ExceptionFunctions(Calling):
    """The functions of the chapter "Exceptions"."""

    @jni_function(13, overridden=True)
    def throw(self, obj: Throwable) -> Int:
        """Throw an exception object.

        Args:
            obj: the exception.

        Returns:
            A negative number if the VM could not throw it; success raises `JavaException`.

        Raises:
            InvalidObject: ``obj`` is stale or not a ``java.lang.Throwable``.
            UnsupportedOperation: in a handler of an event from which the VM passes no exception to
                the program.
            JavaException: ``obj`` itself, like any exception thrown during a call.

        Example:
            >>> failure = jni.alloc_object(jni.find_class("java/lang/IllegalStateException"))
            >>> jni.throw(failure)
            Traceback (most recent call last):
            jvmti.JavaException: java.lang.IllegalStateException
            >>> jni.exception_clear()

        JNI: Throw.
        """

    @jni_function(14, guard="throw_new", overridden=True)
    def throw_new(self, clazz: Class, message: Text) -> Int:
        """Make an exception of a class with a message, and throw it.

        Args:
            clazz: a subclass of ``java.lang.Throwable`` with a constructor that takes a ``String``.
            message: the argument of that constructor.

        Returns:
            A negative number if the VM could not throw it; success raises `JavaException`.

        Raises:
            InvalidClass: ``clazz`` is stale or not a subclass of ``java.lang.Throwable``.
            UnsupportedOperation: in a handler of an event from which the VM passes no exception to
                the program.
            JavaException: the new exception, or one thrown while making it
                (``NoSuchMethodError`` if there is no such constructor).

        Example:
            >>> jni.throw_new(jni.find_class("java/lang/IllegalStateException"), "sold out")
            Traceback (most recent call last):
            jvmti.JavaException: java.lang.IllegalStateException: sold out
            >>> jni.exception_clear()

        JNI: ThrowNew.
        """

    @jni_function(15, overridden=True, runs_java=False, while_pending=True, early=True)
    def exception_occurred(self) -> Throwable | None:
        """Return the pending exception of this thread's channel.

        Returns:
            The exception that the last JNI call threw; ``None`` if there is none, or if it has been
            cleared.

        Example:
            >>> try:
            ...     jni.find_class("no/such/Thing")
            ... except jvmti.JavaException as error:
            ...     print(error)
            java.lang.NoClassDefFoundError: no/such/Thing
            >>> jni.exception_occurred().cls.name
            'java.lang.NoClassDefFoundError'
            >>> jni.exception_clear()

        JNI: ExceptionOccurred.
        """

    @jni_function(16, overridden=True, while_pending=True)
    def exception_describe(self) -> None:
        """Print the pending exception and clear it.

        Its stack trace goes to the target's standard error.  Without a pending exception, nothing
        happens.

        Example:
            >>> try:
            ...     jni.find_class("no/such/Thing")
            ... except jvmti.JavaException as error:
            ...     print(error)
            java.lang.NoClassDefFoundError: no/such/Thing
            >>> jni.exception_describe()  # to the program's standard error

        JNI: ExceptionDescribe.
        """

    @jni_function(17, overridden=True, runs_java=False, while_pending=True, early=True)
    def exception_clear(self) -> None:
        """Clear the pending exception of this thread's channel.

        Without a pending exception, nothing happens.

        Example:
            >>> try:
            ...     jni.find_class("no/such/Thing")
            ... except jvmti.JavaException as error:
            ...     print(error)
            java.lang.NoClassDefFoundError: no/such/Thing
            >>> jni.exception_clear()
            >>> jni.exception_check()
            False

        JNI: ExceptionClear.
        """

    @jni_function(18, runs_java=False)
    def fatal_error(self, msg: Text) -> None:
        """Kill the target JVM, at once and without hope of recovery.

        The JVM writes the message and a stack trace to its standard output and aborts (with a core
        file, if enabled).  No shutdown hook runs.

        Args:
            msg: what to write.

        Raises:
            TargetLost: always, as the call cannot return.

        Example:
            >>> with jvmti.launch(java) as doomed:
            ...     doomed.jni.fatal_error("the till is on fire")
            Traceback (most recent call last):
            jvmti.errors.TargetLost: ...

        JNI: FatalError.
        """

    @jni_function(
        228, since="1.2", overridden=True, runs_java=False, while_pending=True, early=True
    )
    def exception_check(self) -> Boolean:
        """Return whether this thread's channel has a pending exception.

        Returns:
            Whether `exception_occurred` would return one; this asks without taking a reference to
            it.

        Example:
            >>> try:
            ...     jni.find_class("no/such/Thing")
            ... except jvmti.JavaException as error:
            ...     print(error)
            java.lang.NoClassDefFoundError: no/such/Thing
            >>> jni.exception_check()
            True
            >>> jni.exception_clear()

        JNI: ExceptionCheck.
        """
