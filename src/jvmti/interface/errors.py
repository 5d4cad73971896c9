"""Errors of a session: the base of all exceptions, and an exception for each error code.

`jvmti.errors` lists the whole tree.
"""

# The exceptions are named after the constants of JVM TI, which do not end in "Error".

from __future__ import annotations

from typing import Any, ClassVar

from jvmti.interface.constants import Constant, constants
from jvmti.text.printable import PrintableError


@constants(c="jvmtiError", prefix="JVMTI_ERROR_")
class ErrorCode(Constant):
    """The error codes, for functions that return one for each item; `ERRORS` has the exceptions."""

    NONE = 0
    INVALID_THREAD = 10
    INVALID_THREAD_GROUP = 11
    INVALID_PRIORITY = 12
    THREAD_NOT_SUSPENDED = 13
    THREAD_SUSPENDED = 14
    THREAD_NOT_ALIVE = 15
    INVALID_OBJECT = 20
    INVALID_CLASS = 21
    CLASS_NOT_PREPARED = 22
    INVALID_METHODID = 23
    INVALID_LOCATION = 24
    INVALID_FIELDID = 25
    INVALID_MODULE = 26
    NO_MORE_FRAMES = 31
    OPAQUE_FRAME = 32
    TYPE_MISMATCH = 34
    INVALID_SLOT = 35
    DUPLICATE = 40
    NOT_FOUND = 41
    INVALID_MONITOR = 50
    NOT_MONITOR_OWNER = 51
    INTERRUPT = 52
    INVALID_CLASS_FORMAT = 60
    CIRCULAR_CLASS_DEFINITION = 61
    FAILS_VERIFICATION = 62
    UNSUPPORTED_REDEFINITION_METHOD_ADDED = 63
    UNSUPPORTED_REDEFINITION_SCHEMA_CHANGED = 64
    INVALID_TYPESTATE = 65
    UNSUPPORTED_REDEFINITION_HIERARCHY_CHANGED = 66
    UNSUPPORTED_REDEFINITION_METHOD_DELETED = 67
    UNSUPPORTED_VERSION = 68
    NAMES_DONT_MATCH = 69
    UNSUPPORTED_REDEFINITION_CLASS_MODIFIERS_CHANGED = 70
    UNSUPPORTED_REDEFINITION_METHOD_MODIFIERS_CHANGED = 71
    UNSUPPORTED_REDEFINITION_CLASS_ATTRIBUTE_CHANGED = 72
    UNSUPPORTED_OPERATION = 73
    UNMODIFIABLE_CLASS = 79
    UNMODIFIABLE_MODULE = 80
    NOT_AVAILABLE = 98
    MUST_POSSESS_CAPABILITY = 99
    NULL_POINTER = 100
    ABSENT_INFORMATION = 101
    INVALID_EVENT_TYPE = 102
    ILLEGAL_ARGUMENT = 103
    NATIVE_METHOD = 104
    CLASS_LOADER_UNSUPPORTED = 106
    OUT_OF_MEMORY = 110
    ACCESS_DENIED = 111
    WRONG_PHASE = 112
    INTERNAL = 113
    UNATTACHED_THREAD = 115
    INVALID_ENVIRONMENT = 116


class Error(PrintableError):
    """Base of all exceptions of this package."""


ERRORS: dict[int, type[JvmtiError]] = {}
"""The exception class of every error code."""


class JvmtiError(Error):
    """A JVM TI function returned an error code.

    Attributes:
        code: the error code; `ErrorCode` has those that the specification knows.
        function: the PEP 8 name of the function that returned it, if known.
        detail: what it means here, and what to do about it.
    """

    CODE: ClassVar[int] = -1
    """The code that this class stands for; -1 for the base class."""
    CONSTANT: ClassVar[str] = ""
    """The name of the code in the specification."""
    DETAIL: ClassVar[str] = "an error code that the specification does not know"
    """The general meaning of the code, and what to do about it."""

    def __init_subclass__(cls, **keywords: object) -> None:
        super().__init_subclass__(**keywords)
        if "CODE" in cls.__dict__:
            ERRORS[cls.CODE] = cls

    def __init__(
        self, code: int | None = None, function: str | None = None, detail: str | None = None
    ) -> None:
        self.code = self.CODE if code is None else int(code)
        self.function = function
        self.detail = self.DETAIL if detail is None else detail
        super().__init__(self.code, function, self.detail)

    @property
    def name(self) -> str:
        """The specification's name of the code, without ``JVMTI_ERROR_``."""
        return self.CONSTANT[len("JVMTI_ERROR_") :] or "unknown error"

    def __str__(self) -> str:
        where = f"{self.function}: " if self.function else ""
        return f"{where}{self.name} ({self.code}): {self.detail}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"


def error_for(code: int, function: str | None = None, detail: str | None = None) -> JvmtiError:
    """Make the exception for an error code.

    Args:
        code: what the function returned; an unknown code makes a plain `JvmtiError`.
        function: the PEP 8 name of the function.
        detail: what went wrong here; without it, what the code means in general.
    """
    return ERRORS.get(code, JvmtiError)(code, function, detail)


class InvalidThread(JvmtiError):
    """Not a thread that JVM TI accepts here.

    The handle is stale or of another kind, or a virtual thread was given where only platform
    threads will do.
    """

    CODE = 10
    CONSTANT = "JVMTI_ERROR_INVALID_THREAD"
    DETAIL = (
        "this is not a thread that JVM TI accepts here: the handle is stale or of another kind, "
        "or a virtual thread was given where only platform threads will do"
    )


class InvalidThreadGroup(JvmtiError):
    """Not a thread group, or its handle is stale."""

    CODE = 11
    CONSTANT = "JVMTI_ERROR_INVALID_THREAD_GROUP"
    DETAIL = "this is not a thread group, or its handle is stale"


class InvalidPriority(JvmtiError):
    """A thread's priority lies between 1 and 10 (see ThreadPriority)."""

    CODE = 12
    CONSTANT = "JVMTI_ERROR_INVALID_PRIORITY"
    DETAIL = "a thread's priority lies between 1 and 10 (see ThreadPriority)"


class ThreadNotSuspended(JvmtiError):
    """The thread has to be suspended first, unless it is the current one.

    Call suspend_thread before and resume_thread afterwards.
    """

    CODE = 13
    CONSTANT = "JVMTI_ERROR_THREAD_NOT_SUSPENDED"
    DETAIL = (
        "the thread has to be suspended first, unless it is the current one; call suspend_thread "
        "before and resume_thread afterwards"
    )


class ThreadSuspended(JvmtiError):
    """The thread is suspended already; nothing was changed."""

    CODE = 14
    CONSTANT = "JVMTI_ERROR_THREAD_SUSPENDED"
    DETAIL = "the thread is suspended already; nothing was changed"


class ThreadNotAlive(JvmtiError):
    """The thread has not been started yet, or has ended."""

    CODE = 15
    CONSTANT = "JVMTI_ERROR_THREAD_NOT_ALIVE"
    DETAIL = "the thread has not been started yet, or has ended"


class InvalidObject(JvmtiError):
    """Not an object that lives in the VM.

    It was collected (weak reference), released, or the handle is of another kind.
    """

    CODE = 20
    CONSTANT = "JVMTI_ERROR_INVALID_OBJECT"
    DETAIL = (
        "this is not an object that lives in the VM: it was collected (weak reference), released, "
        "or the handle is of another kind"
    )


class InvalidClass(JvmtiError):
    """Not a class, or it was unloaded."""

    CODE = 21
    CONSTANT = "JVMTI_ERROR_INVALID_CLASS"
    DETAIL = "this is not a class, or it was unloaded"


class ClassNotPrepared(JvmtiError):
    """The class is loaded but not yet prepared.

    Wait for its ClassPrepare event, or see get_class_status.
    """

    CODE = 22
    CONSTANT = "JVMTI_ERROR_CLASS_NOT_PREPARED"
    DETAIL = (
        "the class is loaded but not yet prepared; wait for its ClassPrepare event, or see "
        "get_class_status"
    )


class InvalidMethodID(JvmtiError):
    """Not a method of the VM: its class was unloaded, or the handle is of another kind."""

    CODE = 23
    CONSTANT = "JVMTI_ERROR_INVALID_METHODID"
    DETAIL = (
        "this is not a method of the VM: its class was unloaded, or the handle is of another kind"
    )


class InvalidLocation(JvmtiError):
    """There is no instruction at this location of the method.

    ``get_line_number_table`` and ``get_method_location`` return valid ones.
    """

    CODE = 24
    CONSTANT = "JVMTI_ERROR_INVALID_LOCATION"
    DETAIL = (
        "there is no instruction at this location of the method; get_line_number_table and "
        "get_method_location return valid ones"
    )


class InvalidFieldID(JvmtiError):
    """Not a field of the given class, or the class was unloaded."""

    CODE = 25
    CONSTANT = "JVMTI_ERROR_INVALID_FIELDID"
    DETAIL = "this is not a field of the given class, or the class was unloaded"


class InvalidModule(JvmtiError):
    """Not a module, or its handle is stale."""

    CODE = 26
    CONSTANT = "JVMTI_ERROR_INVALID_MODULE"
    DETAIL = "this is not a module, or its handle is stale"


class NoMoreFrames(JvmtiError):
    """The stack is not that deep; see get_frame_count."""

    CODE = 31
    CONSTANT = "JVMTI_ERROR_NO_MORE_FRAMES"
    DETAIL = "the stack is not that deep; see get_frame_count"


class OpaqueFrame(JvmtiError):
    """The VM cannot do this with that frame.

    It is native, or belongs to a virtual thread in a state that does not allow it.
    """

    CODE = 32
    CONSTANT = "JVMTI_ERROR_OPAQUE_FRAME"
    DETAIL = (
        "the VM cannot do this with that frame: it is native, or belongs to a virtual thread in a "
        "state that does not allow it"
    )


class TypeMismatch(JvmtiError):
    """The value's type is not that of the variable or return value.

    Use the function for the declared type.
    """

    CODE = 34
    CONSTANT = "JVMTI_ERROR_TYPE_MISMATCH"
    DETAIL = (
        "the value's type is not that of the variable or return value; use the function for the "
        "declared type"
    )


class InvalidSlot(JvmtiError):
    """The method has no local variable in this slot.

    ``get_local_variable_table`` lists its variables.
    """

    CODE = 35
    CONSTANT = "JVMTI_ERROR_INVALID_SLOT"
    DETAIL = (
        "the method has no local variable in this slot; get_local_variable_table "
        "lists its variables"
    )


class Duplicate(JvmtiError):
    """It is set already; nothing was changed."""

    CODE = 40
    CONSTANT = "JVMTI_ERROR_DUPLICATE"
    DETAIL = "it is set already; nothing was changed"


class NotFound(JvmtiError):
    """It is not set, or there is no such thing."""

    CODE = 41
    CONSTANT = "JVMTI_ERROR_NOT_FOUND"
    DETAIL = "it is not set, or there is no such thing"


class InvalidMonitor(JvmtiError):
    """Not a raw monitor, or it was destroyed."""

    CODE = 50
    CONSTANT = "JVMTI_ERROR_INVALID_MONITOR"
    DETAIL = "this is not a raw monitor, or it was destroyed"


class NotMonitorOwner(JvmtiError):
    """The calling thread does not own the monitor; enter it first, on the same thread."""

    CODE = 51
    CONSTANT = "JVMTI_ERROR_NOT_MONITOR_OWNER"
    DETAIL = "the calling thread does not own the monitor; enter it first, on the same thread"


class Interrupt(JvmtiError):
    """The wait was interrupted before it was over."""

    CODE = 52
    CONSTANT = "JVMTI_ERROR_INTERRUPT"
    DETAIL = "the wait was interrupted before it was over"


class InvalidClassFormat(JvmtiError):
    """The bytes are not a well-formed class file (Java: ClassFormatError)."""

    CODE = 60
    CONSTANT = "JVMTI_ERROR_INVALID_CLASS_FORMAT"
    DETAIL = "the bytes are not a well-formed class file (Java: ClassFormatError)"


class CircularClassDefinition(JvmtiError):
    """With the new definition a class would inherit from itself (Java: ClassCircularityError)."""

    CODE = 61
    CONSTANT = "JVMTI_ERROR_CIRCULAR_CLASS_DEFINITION"
    DETAIL = (
        "with the new definition a class would inherit from itself (Java: ClassCircularityError)"
    )


class FailsVerification(JvmtiError):
    """The verifier rejects the new bytecodes (Java: VerifyError).

    If you generated the code, check its stack maps first.
    """

    CODE = 62
    CONSTANT = "JVMTI_ERROR_FAILS_VERIFICATION"
    DETAIL = (
        "the verifier rejects the new bytecodes (Java: VerifyError); if you generated the code, "
        "check its stack maps first"
    )


class UnsupportedRedefinitionMethodAdded(JvmtiError):
    """The new version of the class adds a method; redefinition may only change bodies."""

    CODE = 63
    CONSTANT = "JVMTI_ERROR_UNSUPPORTED_REDEFINITION_METHOD_ADDED"
    DETAIL = "the new version of the class adds a method; redefinition may only change bodies"


class UnsupportedRedefinitionSchemaChanged(JvmtiError):
    """The new version of the class adds, removes or changes fields.

    Redefinition may only change bodies.
    """

    CODE = 64
    CONSTANT = "JVMTI_ERROR_UNSUPPORTED_REDEFINITION_SCHEMA_CHANGED"
    DETAIL = (
        "the new version of the class adds, removes or changes fields; redefinition may only "
        "change bodies"
    )


class InvalidTypestate(JvmtiError):
    """The state of the thread was changed behind the VM's back and is no longer consistent."""

    CODE = 65
    CONSTANT = "JVMTI_ERROR_INVALID_TYPESTATE"
    DETAIL = "the state of the thread was changed behind the VM's back and is no longer consistent"


class UnsupportedRedefinitionHierarchyChanged(JvmtiError):
    """The new version of the class has another superclass or other interfaces.

    Redefinition may only change bodies.
    """

    CODE = 66
    CONSTANT = "JVMTI_ERROR_UNSUPPORTED_REDEFINITION_HIERARCHY_CHANGED"
    DETAIL = (
        "the new version of the class has another superclass or other interfaces; redefinition "
        "may only change bodies"
    )


class UnsupportedRedefinitionMethodDeleted(JvmtiError):
    """The new version of the class lacks a method of the old one.

    Redefinition may only change bodies.
    """

    CODE = 67
    CONSTANT = "JVMTI_ERROR_UNSUPPORTED_REDEFINITION_METHOD_DELETED"
    DETAIL = (
        "the new version of the class lacks a method of the old one; redefinition may only change "
        "bodies"
    )


class UnsupportedVersion(JvmtiError):
    """The VM does not have this version of the interface, or does not read such class files.

    Ask for an older interface, or compile for the target's Java version.
    """

    CODE = 68
    CONSTANT = "JVMTI_ERROR_UNSUPPORTED_VERSION"
    DETAIL = (
        "the VM does not have this version of the interface, or does not read class files of this "
        "version; ask for an older one, or compile for the target's Java version"
    )


class NamesDontMatch(JvmtiError):
    """The new class file defines a class of another name."""

    CODE = 69
    CONSTANT = "JVMTI_ERROR_NAMES_DONT_MATCH"
    DETAIL = "the new class file defines a class of another name"


class UnsupportedRedefinitionClassModifiersChanged(JvmtiError):
    """The new version of the class has other class modifiers.

    Redefinition may only change bodies.
    """

    CODE = 70
    CONSTANT = "JVMTI_ERROR_UNSUPPORTED_REDEFINITION_CLASS_MODIFIERS_CHANGED"
    DETAIL = (
        "the new version of the class has other class modifiers; redefinition may only change "
        "bodies"
    )


class UnsupportedRedefinitionMethodModifiersChanged(JvmtiError):
    """A method has other modifiers in the new version of the class.

    Redefinition may only change bodies.
    """

    CODE = 71
    CONSTANT = "JVMTI_ERROR_UNSUPPORTED_REDEFINITION_METHOD_MODIFIERS_CHANGED"
    DETAIL = (
        "a method has other modifiers in the new version of the class; redefinition may only "
        "change bodies"
    )


class UnsupportedRedefinitionClassAttributeChanged(JvmtiError):
    """The new version of the class differs in an attribute that cannot change.

    Such as its nest, record or permitted subclasses.
    """

    CODE = 72
    CONSTANT = "JVMTI_ERROR_UNSUPPORTED_REDEFINITION_CLASS_ATTRIBUTE_CHANGED"
    DETAIL = (
        "the new version of the class differs in an attribute that cannot change, such as its "
        "nest, record or permitted subclasses"
    )


class UnsupportedOperation(JvmtiError):
    """The VM does not support this here, most often because the thread is virtual."""

    CODE = 73
    CONSTANT = "JVMTI_ERROR_UNSUPPORTED_OPERATION"
    DETAIL = "this VM does not support it here, most often because the thread is virtual"


class UnmodifiableClass(JvmtiError):
    """The class can never be modified (a primitive, array or hidden class).

    Check with ``is_modifiable_class`` first.
    """

    CODE = 79
    CONSTANT = "JVMTI_ERROR_UNMODIFIABLE_CLASS"
    DETAIL = (
        "the class can never be modified (a primitive, array or hidden class); "
        "check with is_modifiable_class first"
    )


class UnmodifiableModule(JvmtiError):
    """The module cannot be modified; check with is_modifiable_module first."""

    CODE = 80
    CONSTANT = "JVMTI_ERROR_UNMODIFIABLE_MODULE"
    DETAIL = "the module cannot be modified; check with is_modifiable_module first"


class NotAvailable(JvmtiError):
    """The VM cannot give it now.

    A capability of the OnLoad phase asked for too late, one that another environment holds, or
    an unknown system property; get_potential_capabilities lists what is still available.
    """

    CODE = 98
    CONSTANT = "JVMTI_ERROR_NOT_AVAILABLE"
    DETAIL = (
        "this VM cannot give it now: a capability of the OnLoad phase asked for too late, one "
        "that another environment holds, or an unknown system property; "
        "get_potential_capabilities lists what is still available"
    )


class MustPossessCapability(JvmtiError):
    """The environment lacks a capability that this needs.

    Ask for it with add_capabilities (some are available only in the OnLoad phase).
    """

    CODE = 99
    CONSTANT = "JVMTI_ERROR_MUST_POSSESS_CAPABILITY"
    DETAIL = (
        "the environment lacks a capability that this needs; ask for it with add_capabilities "
        "(some are available only in the OnLoad phase)"
    )


class NullPointer(JvmtiError):
    """A required argument is ``None``."""

    CODE = 100
    CONSTANT = "JVMTI_ERROR_NULL_POINTER"
    DETAIL = "a required argument is None"


class AbsentInformation(JvmtiError):
    """The class file lacks this information; compile with debugging information (javac -g)."""

    CODE = 101
    CONSTANT = "JVMTI_ERROR_ABSENT_INFORMATION"
    DETAIL = "the class file lacks this information; compile with debugging information (javac -g)"


class InvalidEventType(JvmtiError):
    """There is no event of this number."""

    CODE = 102
    CONSTANT = "JVMTI_ERROR_INVALID_EVENT_TYPE"
    DETAIL = "there is no event of this number"


class IllegalArgument(JvmtiError):
    """The function does not accept the value of an argument."""

    CODE = 103
    CONSTANT = "JVMTI_ERROR_ILLEGAL_ARGUMENT"
    DETAIL = "the function does not accept the value of an argument"


class NativeMethod(JvmtiError):
    """The method is native and has no bytecodes, lines or local variables."""

    CODE = 104
    CONSTANT = "JVMTI_ERROR_NATIVE_METHOD"
    DETAIL = "the method is native and has no bytecodes, lines or local variables"


class ClassLoaderUnsupported(JvmtiError):
    """The class loader does not support it.

    The system class loader must have appendToClassPathForInstrumentation.
    """

    CODE = 106
    CONSTANT = "JVMTI_ERROR_CLASS_LOADER_UNSUPPORTED"
    DETAIL = (
        "the class loader does not support it: the system class loader must have "
        "appendToClassPathForInstrumentation"
    )


class OutOfMemory(JvmtiError):
    """The VM could not allocate the native memory for it."""

    CODE = 110
    CONSTANT = "JVMTI_ERROR_OUT_OF_MEMORY"
    DETAIL = "the VM could not allocate the native memory for it"


class AccessDenied(JvmtiError):
    """This VM has disabled the function."""

    CODE = 111
    CONSTANT = "JVMTI_ERROR_ACCESS_DENIED"
    DETAIL = "this VM has disabled the function"


class WrongPhase(JvmtiError):
    """This function cannot be called in the VM's current phase (too early, or the VM is exiting).

    See get_phase.
    """

    CODE = 112
    CONSTANT = "JVMTI_ERROR_WRONG_PHASE"
    DETAIL = (
        "this function cannot be called in the VM's current phase (too early, or exiting); see "
        "get_phase"
    )


class Internal(JvmtiError):
    """Something unexpected went wrong inside the VM."""

    CODE = 113
    CONSTANT = "JVMTI_ERROR_INTERNAL"
    DETAIL = "something unexpected went wrong inside the VM"


class UnattachedThread(JvmtiError):
    """The calling native thread is not attached to the VM."""

    CODE = 115
    CONSTANT = "JVMTI_ERROR_UNATTACHED_THREAD"
    DETAIL = "the calling native thread is not attached to the VM"


class InvalidEnvironment(JvmtiError):
    """The environment has been disposed."""

    CODE = 116
    CONSTANT = "JVMTI_ERROR_INVALID_ENVIRONMENT"
    DETAIL = "the environment has been disposed"


class JavaException(Error):
    """The Java code that was called threw an exception.

    Attributes:
        throwable: a handle of the exception, or ``None`` if the agent could not keep it.
        class_name: its class, as Java writes it: ``java.lang.IllegalStateException``.
        message: what ``getMessage`` returned.
        thrown: whether `throw` or `throw_new` threw it: a handler may let it propagate to the
            program.
    """

    throwable: Any
    thrown: bool = False

    def __init__(
        self, throwable: Any = None, class_name: str = "", message: str | None = None
    ) -> None:
        self.throwable = throwable
        self.class_name = class_name
        self.message = message
        super().__init__(throwable, class_name, message)

    def __str__(self) -> str:
        name = self.class_name or "a Java exception"
        return name if self.message is None else f"{name}: {self.message}"

    def __reduce__(self) -> tuple[Any, ...]:
        # A handle means nothing in another process.
        return type(self), (None, self.class_name, self.message)


class SessionClosed(Error, RuntimeError):
    """The session was closed, or detached from the JVM, before the call was made."""

    def __init__(
        self, message: str = "the session with this JVM is closed; attach again for a new one"
    ) -> None:
        super().__init__(message)


class PauseTooLong(Error, RuntimeError):
    """The request would stop the program for longer than ``max_pause``; nothing was done.

    Attributes:
        expected: the estimated pause in seconds.
        limit: the limit in seconds.
    """

    def __init__(self, what: str, expected: float, limit: float) -> None:
        self.expected = expected
        self.limit = limit
        super().__init__(
            f"{what} would stop the program for about {expected:.2g} s; the limit is {limit:g} s"
        )


class TargetLost(Error, ConnectionError):
    """The JVM died, or the connection to its agent broke, in the middle of a call."""

    def __init__(
        self, message: str = "the JVM has ended, or the connection to its agent is broken"
    ) -> None:
        super().__init__(message)


class HandlerOverran(Error, TimeoutError):
    """A handler called something after its time limit: the event's thread has resumed without it.

    The handler's answer is ignored. The limit is the ``timeout`` of its registration, or the
    event's own.

    Attributes:
        function: the PEP 8 name of the function that was called, if known.
    """

    def __init__(self, function: str | None = None) -> None:
        super().__init__(function)
        self.function = function

    def __str__(self) -> str:
        called = f"{self.function}(): " if self.function else ""
        return (
            f"{called}the handler has overrun its time limit, and the thread that the event came "
            "from has resumed; give the handler a longer timeout, or do the work elsewhere"
        )


class StopOver(Error, RuntimeError):
    """A stop was used after its thread had resumed: its frame may be gone.

    The thread waits until you ask for the next stop or leave the block, and serves only the Python
    thread that received the stop.
    """


class InHeapCallback(Error, RuntimeError):
    """A callback of a heap walk called a function that must wait until the walk is over.

    The VM is stopped during the walk. The reference lists the functions that heap callbacks may
    call: raw monitors, memory, environment storage and timers. If the callback does not catch this
    error, it ends the walk like any other.

    Attributes:
        function: the PEP 8 name of the function that was called; ``None`` for a lookup of the
            model.
    """

    def __init__(self, function: str | None, detail: str | None = None) -> None:
        super().__init__(function, detail)
        self.function = function
        self.detail = detail

    def __str__(self) -> str:
        if self.function is None:
            return (
                "names, lines and values cannot be looked up from a callback of a heap walk, while "
                "the VM is stopped; keep the method or the object, and look it up after the walk"
            )
        detail = f" ({self.detail})" if self.detail else ""
        return (
            f"{self.function}() cannot be called from a callback of a heap walk, while the VM is "
            f"stopped{detail}; tag the objects, and do it after the walk"
        )


class LeavingFrame(Error, RuntimeError):
    """The function may run Java code, but its thread still has to leave a popped frame.

    After `pop_frame` or an early return in a handler, the thread leaves the frame when the handler
    returns. If it ran other Java code before that, the VM would pop the frame of that code, and
    crash. Functions that run no Java code, load no class and throw no exception still work.

    Attributes:
        function: the PEP 8 name of the function that was called.
    """

    def __init__(self, function: str) -> None:
        super().__init__(function)
        self.function = function

    def __str__(self) -> str:
        return (
            f"{self.function}() may run Java code, which this thread cannot: it has to leave its "
            "frame when the handler returns; call it before pop_frame, or on another Python "
            "thread"
        )


HAS_NOT_BEGUN = "has not begun"
"""The outcome of a call that was not sent, because its thread still runs another."""


class CallTimeout(Error, TimeoutError):
    """A call overran its time limit.

    It usually still runs in the VM and takes effect there, but its reply is discarded.

    Attributes:
        function: the PEP 8 name of the function, if known.
        timeout: the time limit in seconds, if known.
        detail: what it waits for, if known.
        outcome: the state of the call.
        is_early: whether it ended before the limit, for another reason, which `detail` has.
    """

    def __init__(
        self,
        function: str | None = None,
        timeout: float | None = None,
        detail: str | None = None,
        outcome: str = "still runs in the VM",
        is_early: bool = False,
    ) -> None:
        super().__init__(function, timeout, detail, outcome, is_early)
        self.function = function
        self.timeout = timeout
        self.detail = detail
        self.outcome = outcome
        self.is_early = is_early

    @property
    def has_begun(self) -> bool:
        """Whether the VM has got the call at all."""
        return self.outcome != HAS_NOT_BEGUN

    def __str__(self) -> str:
        if self.is_early:
            limit = "" if self.timeout is None else f" before its limit of {self.timeout:g} s"
            return f"{self.function or 'the call'} {self.outcome}{limit}: {self.detail}"
        after = "in time" if self.timeout is None else f"within {self.timeout:g} s"
        why = f": {self.detail}" if self.detail else ""
        called = self.function or "the call"
        return f"{called} did not return {after} and {self.outcome}{why}"


class ForeignHandle(Error, ValueError):
    """A handle was given to a session that did not issue it."""

    def __init__(
        self, message: str = "this handle belongs to another session; handles cannot be exchanged"
    ) -> None:
        super().__init__(message)


class ProtocolError(Error, RuntimeError):
    """The agent sent something invalid: its version differs, or there is a bug."""

    def __init__(self, message: str = "the agent sent what this version cannot read") -> None:
        super().__init__(message)


class NotInThisVersion(Error, NotImplementedError):
    """The function is not in this VM's function table.

    Attributes:
        since: the version that introduced it.
        function: its PEP 8 name, if known.
    """

    def __init__(self, since: str, function: str | None = None) -> None:
        self.since = since
        self.function = function
        super().__init__(since, function)

    def __str__(self) -> str:
        return f"{self.function or 'the function'} needs a VM of version {self.since} or later"


__all__ = [
    "ERRORS",
    "AbsentInformation",
    "AccessDenied",
    "CallTimeout",
    "CircularClassDefinition",
    "ClassLoaderUnsupported",
    "ClassNotPrepared",
    "Duplicate",
    "Error",
    "ErrorCode",
    "FailsVerification",
    "ForeignHandle",
    "HandlerOverran",
    "IllegalArgument",
    "InHeapCallback",
    "Internal",
    "Interrupt",
    "InvalidClass",
    "InvalidClassFormat",
    "InvalidEnvironment",
    "InvalidEventType",
    "InvalidFieldID",
    "InvalidLocation",
    "InvalidMethodID",
    "InvalidModule",
    "InvalidMonitor",
    "InvalidObject",
    "InvalidPriority",
    "InvalidSlot",
    "InvalidThread",
    "InvalidThreadGroup",
    "InvalidTypestate",
    "JavaException",
    "JvmtiError",
    "LeavingFrame",
    "MustPossessCapability",
    "NamesDontMatch",
    "NativeMethod",
    "NoMoreFrames",
    "NotAvailable",
    "NotFound",
    "NotInThisVersion",
    "NotMonitorOwner",
    "NullPointer",
    "OpaqueFrame",
    "OutOfMemory",
    "PauseTooLong",
    "ProtocolError",
    "SessionClosed",
    "StopOver",
    "TargetLost",
    "ThreadNotAlive",
    "ThreadNotSuspended",
    "ThreadSuspended",
    "TypeMismatch",
    "UnattachedThread",
    "UnmodifiableClass",
    "UnmodifiableModule",
    "UnsupportedOperation",
    "UnsupportedRedefinitionClassAttributeChanged",
    "UnsupportedRedefinitionClassModifiersChanged",
    "UnsupportedRedefinitionHierarchyChanged",
    "UnsupportedRedefinitionMethodAdded",
    "UnsupportedRedefinitionMethodDeleted",
    "UnsupportedRedefinitionMethodModifiersChanged",
    "UnsupportedRedefinitionSchemaChanged",
    "UnsupportedVersion",
    "WrongPhase",
    "error_for",
]
