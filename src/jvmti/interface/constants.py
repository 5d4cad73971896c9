"""The constants of JVM TI and JNI, as enumerations.

Bit sets are `enum.IntFlag`, everything else is `enum.IntEnum`; a member has the specification's
name without the prefix that its group shares.  Every class also declares, for the codec and the
generator of the agent, the C type of its values in signatures.
"""

from __future__ import annotations

import enum
import functools
import operator
from typing import TYPE_CHECKING, ClassVar, TypeVar

from jvmti.text.names import suggestion

if TYPE_CHECKING:
    from collections.abc import Callable


class Constant(enum.IntEnum):
    """Base of the enumerations of which exactly one value holds."""

    __c_type__: ClassVar[str]
    """The C type of a value; ``jint`` if the C API has no type of its own."""
    __group__: ClassVar[str | None]
    """The name of the group in the specification, if it has one."""
    __prefix__: ClassVar[str]
    """The specification's prefix of every member's name."""


class Flags(enum.IntFlag):
    """Base of the bit sets."""

    __c_type__: ClassVar[str]
    """The C type of a value; ``jint`` for all bit sets of JVM TI."""
    __group__: ClassVar[str | None]
    """The name of the group in the specification, if it has one."""
    __prefix__: ClassVar[str]
    """The specification's prefix of every member's name."""

    def __str__(self) -> str:
        """Names joined by ``|``, where Python's own text would be the number."""
        if self.name is not None and "|" not in self.name:
            return self.name
        names = [name for name, bit in type(self).__members__.items() if bit and bit & self == bit]
        return "|".join(names) or str(int(self))

    def __format__(self, specification: str) -> str:
        return format(int(self), specification) if specification else str(self)


def constant_named(cls: type[Constant] | type[Flags], name: str) -> int:
    """The value of a constant, by name.

    Case and underscores do not matter, and the specification's prefix is optional: ``Breakpoint``,
    ``BREAKPOINT`` and ``JVMTI_EVENT_BREAKPOINT`` are one.  Bits of a set are joined by ``|``.

    Raises:
        ValueError: there is none of that name; the message suggests similar ones.
    """
    if issubclass(cls, Flags) and "|" in name:
        return cls(
            functools.reduce(operator.or_, (constant_named(cls, one) for one in name.split("|")))
        )
    wanted = _plain(name)
    for key, member in cls.__members__.items():
        if wanted in (_plain(key), _plain(cls.__prefix__ + key)):
            return member
    raise ValueError(f"there is no {cls.__name__} {name!r}{suggestion(name, cls.__members__)}")


def _plain(name: str) -> str:
    return name.strip().replace("_", "").lower()


E = TypeVar("E", bound="type[Constant] | type[Flags]")


def constants(*, c: str, prefix: str, group: str | None = None) -> Callable[[E], E]:
    """Declare the origin and C type of a class's constants.

    Args:
        c: the C type of a value in a function's signature.
        prefix: the specification's prefix of every member's name.
        group: the specification's name for the group; none for what only the C header groups.
    """

    def mark(cls: E) -> E:
        cls.__c_type__ = c
        cls.__group__ = group
        cls.__prefix__ = prefix
        return cls

    return mark


# Threads


@constants(c="jint", group="jvmtiThreadState", prefix="JVMTI_THREAD_STATE_")
class ThreadState(Flags):
    """The state of a thread. No bit at all means that it was never started.

    The bits form a tree: ``ALIVE`` or ``TERMINATED``; below ``ALIVE`` one of ``RUNNABLE``,
    ``BLOCKED_ON_MONITOR_ENTER`` and ``WAITING``; below ``WAITING`` how long and why.
    `JavaLangThreadState.of` reduces it to ``java.lang.Thread.State``.
    """

    #: Started and not yet ended.
    ALIVE = 0x0001
    #: Ran to its end.
    TERMINATED = 0x0002
    #: Could run, on a processor or not.
    RUNNABLE = 0x0004
    #: Queues for a Java monitor, at ``synchronized`` or on the way back from ``Object.wait``.
    BLOCKED_ON_MONITOR_ENTER = 0x0400
    #: Waits for another thread or for time to pass.
    WAITING = 0x0080
    #: Waits without a time limit.
    WAITING_INDEFINITELY = 0x0010
    #: Waits for a limited time.
    WAITING_WITH_TIMEOUT = 0x0020
    #: Inside ``Thread.sleep``.
    SLEEPING = 0x0040
    #: Inside ``Object.wait``.
    IN_OBJECT_WAIT = 0x0100
    #: Inside ``LockSupport.park`` or one of its relatives.
    PARKED = 0x0200
    #: Suspended by JVM TI, or by the deprecated ``Thread.suspend``.
    SUSPENDED = 0x100000
    #: Its interrupt flag is set.
    INTERRUPTED = 0x200000
    #: Executes native code.
    IN_NATIVE = 0x400000
    #: Meaning left to the VM.
    VENDOR_1 = 0x10000000
    #: Meaning left to the VM.
    VENDOR_2 = 0x20000000
    #: Meaning left to the VM.
    VENDOR_3 = 0x40000000


@constants(c="jint", group="jvmtiJavaLangThreadState", prefix="JVMTI_JAVA_LANG_THREAD_STATE_")
class JavaLangThreadState(Flags):
    """The states of ``java.lang.Thread.State`` in terms of `ThreadState`'s bits."""

    #: The bits that decide; ``state & MASK`` equals one of the members below.
    MASK = 0x04B7
    #: Not started.
    NEW = 0
    #: Ended.
    TERMINATED = 0x0002
    #: Running, or ready to.
    RUNNABLE = 0x0005
    #: Queues for a monitor.
    BLOCKED = 0x0401
    #: Waits without a time limit.
    WAITING = 0x0091
    #: Waits with a time limit, or sleeps.
    TIMED_WAITING = 0x00A1

    @classmethod
    def of(cls, state: int) -> JavaLangThreadState:
        """Reduce a thread's bits to its ``java.lang.Thread.State``."""
        return cls(int(state) & 0x04B7)


@constants(c="jint", group="jvmtiThreadPriority", prefix="JVMTI_THREAD_")
class ThreadPriority(Constant):
    """Priorities for ``run_agent_thread``; any number between the outer two will do."""

    #: The lowest.
    MIN_PRIORITY = 1
    #: The default.
    NORM_PRIORITY = 5
    #: The highest.
    MAX_PRIORITY = 10


# Heap


@constants(c="jint", group="jvmtiHeapFilter", prefix="JVMTI_HEAP_FILTER_")
class HeapFilter(Flags):
    """Which objects a heap walk does not report.  The walk still passes through them."""

    #: Leave out tagged objects.
    TAGGED = 0x4
    #: Leave out untagged objects.
    UNTAGGED = 0x8
    #: Leave out objects whose class is tagged.
    CLASS_TAGGED = 0x10
    #: Leave out objects whose class is not tagged.
    CLASS_UNTAGGED = 0x20


@constants(c="jint", group="jvmtiHeapVisitControl", prefix="JVMTI_VISIT_")
class HeapVisitControl(Flags):
    """The answer of a heap callback: how the walk continues. No bit: do not descend from here."""

    #: Continue with the objects that the visited one refers to; no effect in a walk through the
    #: heap.
    OBJECTS = 0x100
    #: End the walk now.
    ABORT = 0x8000


@constants(
    c="jvmtiHeapReferenceKind", group="jvmtiHeapReferenceKind", prefix="JVMTI_HEAP_REFERENCE_"
)
class HeapReferenceKind(Constant):
    """How one object, or a root, refers to another; from 21 on, roots."""

    #: An object to its class.
    CLASS = 1
    #: An instance field.
    FIELD = 2
    #: An element of an array.
    ARRAY_ELEMENT = 3
    #: A class to its loader.
    CLASS_LOADER = 4
    #: A class to the array of its signers.
    SIGNERS = 5
    #: A class to its protection domain.
    PROTECTION_DOMAIN = 6
    #: A class to an interface it implements.
    INTERFACE = 7
    #: A static field.
    STATIC_FIELD = 8
    #: An entry of a class's constant pool.
    CONSTANT_POOL = 9
    #: A class to its superclass.
    SUPERCLASS = 10
    #: Root: a JNI global reference.
    JNI_GLOBAL = 21
    #: Root: a class of the platform.
    SYSTEM_CLASS = 22
    #: Root: a monitor in use.
    MONITOR = 23
    #: Root: a local variable in a Java frame.
    STACK_LOCAL = 24
    #: Root: a JNI local reference.
    JNI_LOCAL = 25
    #: Root: a live thread.
    THREAD = 26
    #: Root: any other.
    OTHER = 27


@constants(c="jvmtiPrimitiveType", group="jvmtiPrimitiveType", prefix="JVMTI_PRIMITIVE_TYPE_")
class PrimitiveType(Constant):
    """Java's primitive types; a value is the character of the type in signatures."""

    #: ``Z``
    BOOLEAN = 90
    #: ``B``
    BYTE = 66
    #: ``C``
    CHAR = 67
    #: ``S``
    SHORT = 83
    #: ``I``
    INT = 73
    #: ``J``
    LONG = 74
    #: ``F``
    FLOAT = 70
    #: ``D``
    DOUBLE = 68


@constants(c="jvmtiHeapObjectFilter", group="jvmtiHeapObjectFilter", prefix="JVMTI_HEAP_OBJECT_")
class HeapObjectFilter(Constant):
    """Which objects the heap walks of version 1.0 report."""

    #: Only tagged objects.
    TAGGED = 1
    #: Only untagged objects.
    UNTAGGED = 2
    #: All objects.
    EITHER = 3


@constants(c="jvmtiHeapRootKind", group="jvmtiHeapRootKind", prefix="JVMTI_HEAP_ROOT_")
class HeapRootKind(Constant):
    """The roots that keep an object alive (walks of version 1.0)."""

    #: A JNI global reference.
    JNI_GLOBAL = 1
    #: A class of the platform.
    SYSTEM_CLASS = 2
    #: A monitor in use.
    MONITOR = 3
    #: A local variable in a Java frame.
    STACK_LOCAL = 4
    #: A JNI local reference.
    JNI_LOCAL = 5
    #: A live thread.
    THREAD = 6
    #: Anything else.
    OTHER = 7


@constants(
    c="jvmtiObjectReferenceKind", group="jvmtiObjectReferenceKind", prefix="JVMTI_REFERENCE_"
)
class ObjectReferenceKind(Constant):
    """How one object refers to another (walks of version 1.0)."""

    #: An object to its class.
    CLASS = 1
    #: An instance field.
    FIELD = 2
    #: An element of an array.
    ARRAY_ELEMENT = 3
    #: A class to its loader.
    CLASS_LOADER = 4
    #: A class to the array of its signers.
    SIGNERS = 5
    #: A class to its protection domain.
    PROTECTION_DOMAIN = 6
    #: A class to an interface it implements.
    INTERFACE = 7
    #: A static field.
    STATIC_FIELD = 8
    #: An entry of a class's constant pool.
    CONSTANT_POOL = 9


@constants(c="jvmtiIterationControl", group="jvmtiIterationControl", prefix="JVMTI_ITERATION_")
class IterationControl(Constant):
    """The answer of a callback of a heap walk of version 1.0."""

    #: Continue; a walk that follows references also visits the objects that this one refers to.
    CONTINUE = 1
    #: Continue, but not with the objects that this one refers to.
    IGNORE = 2
    #: End the walk now.
    ABORT = 0


# Classes


@constants(c="jint", group="jvmtiClassStatus", prefix="JVMTI_CLASS_STATUS_")
class ClassStatus(Flags):
    """The state of a class. Arrays and primitive types have only their own bit."""

    #: Its bytecodes were verified.
    VERIFIED = 1
    #: Its fields and methods are available.
    PREPARED = 2
    #: Its static initialiser has run.
    INITIALIZED = 4
    #: Its initialisation failed: it cannot be used.
    ERROR = 8
    #: It is an array class.
    ARRAY = 16
    #: It is the class of a primitive type, such as ``int.class``.
    PRIMITIVE = 32


# Events


@constants(c="jvmtiEventMode", group="jvmtiEventMode", prefix="JVMTI_")
class EventMode(Constant):
    """Whether to send an event."""

    #: Send it.
    ENABLE = 1
    #: Do not send it.
    DISABLE = 0


@constants(c="jvmtiEvent", prefix="JVMTI_EVENT_")
class Event(Constant):
    """The events by number; `jvmti.env.events` declares their parameters."""

    #: The VM is ready: every function may be called from now on.
    VM_INIT = 50
    #: The VM is about to end.
    VM_DEATH = 51
    #: A platform thread starts to run.
    THREAD_START = 52
    #: A platform thread is about to end.
    THREAD_END = 53
    #: A class file was read and can still be replaced.
    CLASS_FILE_LOAD_HOOK = 54
    #: A class exists, but its members are not available yet.
    CLASS_LOAD = 55
    #: A class's fields and methods are available.
    CLASS_PREPARE = 56
    #: JNI can be used.
    VM_START = 57
    #: An exception was thrown.
    EXCEPTION = 58
    #: An exception was caught.
    EXCEPTION_CATCH = 59
    #: A thread is about to execute one more location.
    SINGLE_STEP = 60
    #: A frame for which it was requested is being left.
    FRAME_POP = 61
    #: A thread has reached a breakpoint.
    BREAKPOINT = 62
    #: A watched field is about to be read.
    FIELD_ACCESS = 63
    #: A watched field is about to be written.
    FIELD_MODIFICATION = 64
    #: A method is entered.
    METHOD_ENTRY = 65
    #: A method is left.
    METHOD_EXIT = 66
    #: A native method is bound to its implementation.
    NATIVE_METHOD_BIND = 67
    #: Compiled code of a method was installed.
    COMPILED_METHOD_LOAD = 68
    #: Compiled code of a method was removed.
    COMPILED_METHOD_UNLOAD = 69
    #: The VM generated machine code of its own.
    DYNAMIC_CODE_GENERATED = 70
    #: The VM was asked for a dump, for instance by SIGQUIT.
    DATA_DUMP_REQUEST = 71
    #: A thread is about to wait in ``Object.wait``.
    MONITOR_WAIT = 73
    #: A thread has finished waiting in ``Object.wait``.
    MONITOR_WAITED = 74
    #: A thread has to queue for a monitor that another thread owns.
    MONITOR_CONTENDED_ENTER = 75
    #: A thread has acquired the monitor that it queued for.
    MONITOR_CONTENDED_ENTERED = 76
    #: Heap or threads have run out.
    RESOURCE_EXHAUSTED = 80
    #: A collection that stops the VM begins.
    GARBAGE_COLLECTION_START = 81
    #: A collection that stops the VM has ended.
    GARBAGE_COLLECTION_FINISH = 82
    #: A tagged object was collected.
    OBJECT_FREE = 83
    #: The VM itself allocated an object, without a bytecode.
    VM_OBJECT_ALLOC = 84
    #: An allocation was sampled.
    SAMPLED_OBJECT_ALLOC = 86
    #: A virtual thread starts to run.
    VIRTUAL_THREAD_START = 87
    #: A virtual thread is about to end.
    VIRTUAL_THREAD_END = 88


# Extensions


@constants(c="jvmtiParamTypes", group="jvmtiParamTypes", prefix="JVMTI_TYPE_")
class ParamTypes(Constant):
    """The base type of a parameter of an extension function or event."""

    #: ``jbyte``
    JBYTE = 101
    #: ``jchar``
    JCHAR = 102
    #: ``jshort``
    JSHORT = 103
    #: ``jint``
    JINT = 104
    #: ``jlong``
    JLONG = 105
    #: ``jfloat``
    JFLOAT = 106
    #: ``jdouble``
    JDOUBLE = 107
    #: ``jboolean``
    JBOOLEAN = 108
    #: ``jobject``
    JOBJECT = 109
    #: ``jthread``
    JTHREAD = 110
    #: ``jclass``
    JCLASS = 111
    #: ``jvalue``, the union of all Java types
    JVALUE = 112
    #: ``jfieldID``
    JFIELDID = 113
    #: ``jmethodID``
    JMETHODID = 114
    #: ``char``; with a pointer kind, a string in modified UTF-8
    CCHAR = 115
    #: ``void``; only with a pointer kind
    CVOID = 116
    #: ``JNIEnv``; only with a pointer kind
    JNIENV = 117


@constants(c="jvmtiParamKind", group="jvmtiParamKind", prefix="JVMTI_KIND_")
class ParamKind(Constant):
    """How a parameter of an extension function or event is passed."""

    #: A value that goes in.
    IN = 91
    #: A pointer to one value that goes in.
    IN_PTR = 92
    #: A pointer to several values that go in.
    IN_BUF = 93
    #: An array that the VM allocates and the caller frees.
    ALLOC_BUF = 94
    #: An array whose items are allocated too; the caller frees all of them.
    ALLOC_ALLOC_BUF = 95
    #: A pointer to one value that comes out.
    OUT = 96
    #: A pointer to memory for several values that come out.
    OUT_BUF = 97


# General


@constants(c="jvmtiTimerKind", group="jvmtiTimerKind", prefix="JVMTI_TIMER_")
class TimerKind(Constant):
    """The time that a timer counts."""

    #: Processor time spent outside the kernel.
    USER_CPU = 30
    #: Processor time, the kernel's included.
    TOTAL_CPU = 31
    #: Time on the clock.
    ELAPSED = 32


@constants(c="jvmtiPhase", group="jvmtiPhase", prefix="JVMTI_PHASE_")
class VMPhase(Constant):
    """The phases of the VM's life, in this order (the numbers are not ordered)."""

    #: The agent is being loaded; nothing else exists.
    ONLOAD = 1
    #: Between the agent's loading and the first use of JNI.
    PRIMORDIAL = 2
    #: JNI works, not all of JVM TI does.
    START = 6
    #: Everything works.
    LIVE = 4
    #: After VMDeath.
    DEAD = 8


@constants(c="jint", group="jvmtiVersionInterfaceTypes", prefix="JVMTI_VERSION_INTERFACE_")
class VersionInterfaceType(Flags):
    """The interface of a version number: its `VersionMask.INTERFACE_TYPE` bits."""

    #: A version of JNI.
    JNI = 0x00000000
    #: A version of JVM TI.
    JVMTI = 0x30000000


@constants(c="jint", group="jvmtiVersionMasks", prefix="JVMTI_VERSION_MASK_")
class VersionMask(Flags):
    """The parts of a version number."""

    #: Which interface.
    INTERFACE_TYPE = 0x70000000
    #: The major version: 1 up to Java 8, then the feature release of Java.
    MAJOR = 0x0FFF0000
    #: The minor version.
    MINOR = 0x0000FF00
    #: The micro version.
    MICRO = 0x000000FF


# The specification counts these among the bit sets, but they are distances.
@constants(c="jint", group="jvmtiVersionShifts", prefix="JVMTI_VERSION_SHIFT_")
class VersionShift(Constant):
    """How many bits to shift a masked part of a version number to the right."""

    #: The major version.
    MAJOR = 16
    #: The minor version.
    MINOR = 8
    #: The micro version.
    MICRO = 0


@constants(c="jvmtiVerboseFlag", group="jvmtiVerboseFlag", prefix="JVMTI_VERBOSE_")
class VerboseFlag(Constant):
    """Messages that the VM can print on its own output."""

    #: Everything else.
    OTHER = 0
    #: Garbage collections.
    GC = 1
    #: Loaded classes.
    CLASS = 2
    #: Use of JNI.
    JNI = 4


@constants(c="jvmtiJlocationFormat", group="jvmtiJlocationFormat", prefix="JVMTI_JLOCATION_")
class JlocationFormat(Constant):
    """The unit of locations."""

    #: Bytes of bytecode from the beginning of the method.
    JVMBCI = 1
    #: Addresses of machine code.
    MACHINEPC = 2
    #: Something else.
    OTHER = 0


@constants(c="jint", group="jvmtiResourceExhaustionFlags", prefix="JVMTI_RESOURCE_EXHAUSTED_")
class ResourceExhaustionFlags(Flags):
    """The exhausted resource."""

    #: An ``OutOfMemoryError`` will be thrown after the event.
    OOM_ERROR = 0x0001
    #: The Java heap.
    JAVA_HEAP = 0x0002
    #: A thread could not be created.
    THREADS = 0x0004


# JNI


@constants(c="jint", prefix="JNI_VERSION_")
class JNIVersion(Constant):
    """Versions of JNI that have a name; a VM may report a newer one as a plain number."""

    #: Java 1.1.
    V1_1 = 0x00010001
    #: Java 1.2: the basis of everything here.
    V1_2 = 0x00010002
    #: Java 1.4: direct buffers.
    V1_4 = 0x00010004
    #: Java 6: the kind of a reference.
    V1_6 = 0x00010006
    #: Java 8: statically linked libraries.
    V1_8 = 0x00010008
    #: Java 9: modules.
    V9 = 0x00090000
    #: Java 10.
    V10 = 0x000A0000
    #: Java 19.
    V19 = 0x00130000
    #: Java 20.
    V20 = 0x00140000
    #: Java 21: virtual threads.
    V21 = 0x00150000
    #: Java 24: lengths of strings beyond 2 GiB.
    V24 = 0x00180000


@constants(c="jobjectRefType", prefix="JNI")
class RefType(Constant):
    """The kinds of references to an object (names without ``JNI`` and ``RefType``)."""

    #: Not a reference that is valid now.
    INVALID = 0
    #: Valid on one thread until its native method returns.
    LOCAL = 1
    #: Valid everywhere until it is deleted; keeps the object alive.
    GLOBAL = 2
    #: Like a global one, but the object may be collected.
    WEAK_GLOBAL = 3


@constants(c="jint", prefix="JNI_")
class ReleaseMode(Constant):
    """The fate of a copy of an array's elements when it is released."""

    #: Write them back and free the copy: the plain 0 of the C API, which has no name there.
    COPY_BACK = 0
    #: Write them back and keep the copy.
    COMMIT = 1
    #: Free the copy and discard changes.
    ABORT = 2


__all__ = [
    "ClassStatus",
    "Constant",
    "Event",
    "EventMode",
    "Flags",
    "HeapFilter",
    "HeapObjectFilter",
    "HeapReferenceKind",
    "HeapRootKind",
    "HeapVisitControl",
    "IterationControl",
    "JNIVersion",
    "JavaLangThreadState",
    "JlocationFormat",
    "ObjectReferenceKind",
    "ParamKind",
    "ParamTypes",
    "PrimitiveType",
    "RefType",
    "ReleaseMode",
    "ResourceExhaustionFlags",
    "ThreadPriority",
    "ThreadState",
    "TimerKind",
    "VMPhase",
    "VerboseFlag",
    "VersionInterfaceType",
    "VersionMask",
    "VersionShift",
    "constants",
]
