"""The structures of JVM TI, as frozen dataclasses.

A field's annotation names its C type, as in results; C members that only count the items of another
are not fields: its `CountField` names them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, TypeVar

from jvmti.interface.constants import (
    HeapReferenceKind,
    ParamKind,
    ParamTypes,
    ThreadState,
    TimerKind,
)
from jvmti.interface.errors import ErrorCode
from jvmti.interface.frozen import frozen
from jvmti.interface.types import (
    Address,
    Boolean,
    Bytes,
    CountField,
    Int,
    Location,
    Long,
    Marker,
    Text,
)
from jvmti.refs import (
    Class,
    ClassLoader,
    ExtensionFunction,
    Method,
    Object,
    Thread,
    ThreadGroup,
)


class Structure:
    """Base of the structures."""

    __slots__ = ()

    __c_struct__: ClassVar[str]
    """The name of the structure in C."""
    __union__: ClassVar[bool]
    """Whether it is a union: at most one field is not ``None``."""


S = TypeVar("S", bound=type[Structure])


def structure(c: str, *, union: bool = False) -> Callable[[S], S]:
    """Declare the C structure of a dataclass."""

    def mark(cls: S) -> S:
        cls.__c_struct__ = c
        cls.__union__ = union
        return cls

    return mark


@frozen
class FunctionPointer(Marker):
    """A Python callable that the agent calls through a C function of type ``c``."""

    c: str


# Threads


@structure("jvmtiThreadInfo")
@frozen
class ThreadInfo(Structure):
    """The result of ``get_thread_info``."""

    #: The thread's name.
    name: Text
    #: Its priority, 1 to 10.
    priority: Int
    #: Whether the VM may end while it still runs.
    is_daemon: Boolean
    #: Its group; ``None`` if the thread has ended.
    thread_group: ThreadGroup | None
    #: Its context class loader; ``None`` for the bootstrap loader, or if there is none.
    context_class_loader: ClassLoader | None


@structure("jvmtiMonitorStackDepthInfo")
@frozen
class MonitorStackDepthInfo(Structure):
    """A monitor that a thread owns, and the frame that took it."""

    #: The object whose monitor it is.
    monitor: Object
    #: The depth of the frame, 0 for the top one; -1 if unknown.
    stack_depth: Int


@structure("jvmtiThreadGroupInfo")
@frozen
class ThreadGroupInfo(Structure):
    """The result of ``get_thread_group_info``."""

    #: The group around it; ``None`` for a top one.
    parent: ThreadGroup | None
    #: Its name; ``None`` if it has none.
    name: Text | None
    #: The highest priority that its threads may have.
    max_priority: Int
    #: Whether it was marked as a daemon group.
    is_daemon: Boolean


# Stacks


@structure("jvmtiFrameInfo")
@frozen
class FrameInfo(Structure):
    """One frame of a stack."""

    #: The method that runs in it.
    method: Method
    #: Where in the method: a bytecode index on HotSpot; -1 in a native method.
    location: Location


@structure("jvmtiStackInfo")
@frozen
class StackInfo(Structure):
    """The stack of one of several threads, all taken at the same moment."""

    #: The thread.
    thread: Thread
    #: Its state.
    state: ThreadState
    #: Its frames, the top one first, at most as many as requested.
    frame_buffer: Annotated[list[FrameInfo], CountField("frame_count", owned=False)]


# Heap


@structure("jvmtiHeapReferenceInfoField")
@frozen
class HeapReferenceInfoField(Structure):
    """Details of a reference from an instance or static field."""

    #: Which field, in the specification's numbering over superclasses and interfaces.
    index: Int


@structure("jvmtiHeapReferenceInfoArray")
@frozen
class HeapReferenceInfoArray(Structure):
    """Details of a reference from an element of an array."""

    #: Which element.
    index: Int


@structure("jvmtiHeapReferenceInfoConstantPool")
@frozen
class HeapReferenceInfoConstantPool(Structure):
    """Details of a reference from a class's constant pool."""

    #: Which entry.
    index: Int


@structure("jvmtiHeapReferenceInfoStackLocal")
@frozen
class HeapReferenceInfoStackLocal(Structure):
    """Details of a reference from a local variable."""

    #: The tag of the thread, 0 without one.
    thread_tag: Long
    #: The number that Java gives the thread.
    thread_id: Long
    #: The depth of the frame, 0 for the top one.
    depth: Int
    #: The method that runs in the frame.
    method: Method
    #: Where in the method.
    location: Location
    #: The slot of the variable.
    slot: Int


@structure("jvmtiHeapReferenceInfoJniLocal")
@frozen
class HeapReferenceInfoJniLocal(Structure):
    """Details of a JNI local reference."""

    #: The tag of the thread, 0 without one.
    thread_tag: Long
    #: The number that Java gives the thread.
    thread_id: Long
    #: The depth of the frame, 0 for the top one.
    depth: Int
    #: The native method; ``None`` if the thread has no Java frame.
    method: Method | None


@structure("jvmtiHeapReferenceInfoReserved")
@frozen
class HeapReferenceInfoReserved(Structure):
    """Fields that the specification reserves for later versions."""

    #: Reserved, like the others.
    reserved1: Long
    reserved2: Long
    reserved3: Long
    reserved4: Long
    reserved5: Long
    reserved6: Long
    reserved7: Long
    reserved8: Long


@structure("jvmtiHeapReferenceInfo", union=True)
@frozen
class HeapReferenceInfo(Structure):
    """Details of a reference: only the field for its kind (`MEMBER_OF`) is set."""

    #: For ``FIELD`` and ``STATIC_FIELD``.
    field: HeapReferenceInfoField | None = None
    #: For ``ARRAY_ELEMENT``.
    array: HeapReferenceInfoArray | None = None
    #: For ``CONSTANT_POOL``.
    constant_pool: HeapReferenceInfoConstantPool | None = None
    #: For ``STACK_LOCAL``.
    stack_local: HeapReferenceInfoStackLocal | None = None
    #: For ``JNI_LOCAL``.
    jni_local: HeapReferenceInfoJniLocal | None = None
    #: Not in use.
    other: HeapReferenceInfoReserved | None = None


MEMBER_OF: dict[HeapReferenceKind, str] = {
    HeapReferenceKind.FIELD: "field",
    HeapReferenceKind.STATIC_FIELD: "field",
    HeapReferenceKind.ARRAY_ELEMENT: "array",
    HeapReferenceKind.CONSTANT_POOL: "constant_pool",
    HeapReferenceKind.STACK_LOCAL: "stack_local",
    HeapReferenceKind.JNI_LOCAL: "jni_local",
}
"""Which field of `HeapReferenceInfo` a kind of reference fills in; the other kinds have none."""


@structure("jvmtiHeapCallbacks")
@frozen
class HeapCallbacks(Structure):
    """The callbacks of a heap walk; all are optional.

    `jvmti.env.callbacks` describes their arguments and answers.  The VM is stopped
    while they run.
    """

    #: For each object (`HeapIterationCallback`); only ``iterate_through_heap`` calls it.
    heap_iteration_callback: Annotated[
        Callable[..., Any] | None, FunctionPointer("jvmtiHeapIterationCallback")
    ] = None
    #: For each reference (`HeapReferenceCallback`); only ``follow_references`` calls it.
    heap_reference_callback: Annotated[
        Callable[..., Any] | None, FunctionPointer("jvmtiHeapReferenceCallback")
    ] = None
    #: For each primitive field (`PrimitiveFieldCallback`).
    primitive_field_callback: Annotated[
        Callable[..., Any] | None, FunctionPointer("jvmtiPrimitiveFieldCallback")
    ] = None
    #: For each array of primitive values (`ArrayPrimitiveValueCallback`).
    array_primitive_value_callback: Annotated[
        Callable[..., Any] | None, FunctionPointer("jvmtiArrayPrimitiveValueCallback")
    ] = None
    #: For each string (`StringPrimitiveValueCallback`).
    string_primitive_value_callback: Annotated[
        Callable[..., Any] | None, FunctionPointer("jvmtiStringPrimitiveValueCallback")
    ] = None
    #: Reserved for later versions, like the others.
    reserved5: Annotated[None, FunctionPointer("jvmtiReservedCallback")] = None
    reserved6: Annotated[None, FunctionPointer("jvmtiReservedCallback")] = None
    reserved7: Annotated[None, FunctionPointer("jvmtiReservedCallback")] = None
    reserved8: Annotated[None, FunctionPointer("jvmtiReservedCallback")] = None
    reserved9: Annotated[None, FunctionPointer("jvmtiReservedCallback")] = None
    reserved10: Annotated[None, FunctionPointer("jvmtiReservedCallback")] = None
    reserved11: Annotated[None, FunctionPointer("jvmtiReservedCallback")] = None
    reserved12: Annotated[None, FunctionPointer("jvmtiReservedCallback")] = None
    reserved13: Annotated[None, FunctionPointer("jvmtiReservedCallback")] = None
    reserved14: Annotated[None, FunctionPointer("jvmtiReservedCallback")] = None
    reserved15: Annotated[None, FunctionPointer("jvmtiReservedCallback")] = None


# Classes, methods and monitors


@structure("jvmtiClassDefinition")
@frozen
class ClassDefinition(Structure):
    """A class and its new class file, for ``redefine_classes``."""

    #: The class to redefine.
    klass: Class
    #: The whole class file.
    class_bytes: Annotated[Bytes, CountField("class_byte_count", owned=False)]


@structure("jvmtiMonitorUsage")
@frozen
class MonitorUsage(Structure):
    """The threads that use an object's monitor."""

    #: The thread that owns it; ``None`` if none does, or (from 21 on) a virtual thread does.
    owner: Thread | None
    #: How often the owner has entered it.
    entry_count: Int
    #: The threads that queue for it, those back from ``Object.wait`` included.
    waiters: Annotated[list[Thread], CountField("waiter_count")]
    #: The threads that wait to be notified.
    notify_waiters: Annotated[list[Thread], CountField("notify_waiter_count")]


@structure("jvmtiLineNumberEntry")
@frozen
class LineNumberEntry(Structure):
    """Where the code of a source line begins."""

    #: The first location of the line.
    start_location: Location
    #: The number of the line.
    line_number: Int


@structure("jvmtiLocalVariableEntry")
@frozen
class LocalVariableEntry(Structure):
    """A local variable of a method and its range."""

    #: The first location at which it has a value.
    start_location: Location
    #: For how many locations from there on.
    length: Int
    #: Its name.
    name: Text
    #: Its type, as in signatures: ``Ljava/lang/String;``.
    signature: Text
    #: Its generic type; ``None`` if that says no more.
    generic_signature: Text | None
    #: The slot it is kept in.
    slot: Int


# Extensions


@structure("jvmtiParamInfo")
@frozen
class ParamInfo(Structure):
    """A parameter of an extension function or event."""

    #: Its name.
    name: Text
    #: How it is passed.
    kind: ParamKind
    #: Its type, before pointers that the kind adds.
    base_type: ParamTypes
    #: Whether it may be null.
    null_ok: Boolean


@structure("jvmtiExtensionFunctionInfo")
@frozen
class ExtensionFunctionInfo(Structure):
    """An extension function."""

    #: The function.
    func: ExtensionFunction
    #: Its name, written like that of a Java package: ``com.sun.hotspot.functions.IsClassUnloaded``.
    id: Text
    #: One sentence about it.
    short_description: Text
    #: Its parameters after the environment.
    params: Annotated[list[ParamInfo], CountField("param_count")]
    #: Its errors beside the universal ones.
    errors: Annotated[list[ErrorCode], CountField("error_count")]


@structure("jvmtiExtensionEventInfo")
@frozen
class ExtensionEventInfo(Structure):
    """An extension event."""

    #: Its number, for ``set_extension_event_callback``.
    extension_event_index: Int
    #: Its name, written like that of a Java package.
    id: Text
    #: One sentence about it.
    short_description: Text
    #: The parameters of its handler after the environment.
    params: Annotated[list[ParamInfo], CountField("param_count")]


# Timers and compiled code


@structure("jvmtiTimerInfo")
@frozen
class TimerInfo(Structure):
    """The properties of a timer."""

    #: The highest value before it starts again, in nanoseconds; -1 stands for 2**64 - 1.
    max_value: Long
    #: Whether it may jump ahead, for instance when the clock is set.
    may_skip_forward: Boolean
    #: Whether it may jump back.
    may_skip_backward: Boolean
    #: What it counts.
    kind: TimerKind
    #: Reserved for later versions, like the other one.
    reserved1: Long
    reserved2: Long


@structure("jvmtiAddrLocationMap")
@frozen
class AddrLocationMap(Structure):
    """The address from which compiled code belongs to a location."""

    #: The first address; the entry holds up to that of the next one.
    start_address: Address
    #: The location.
    location: Location


@structure("PCStackInfo")
@frozen
class PCStackInfo(Structure):
    """Which methods are inlined at an address of compiled code; of ``jvmticmlr.h``."""

    #: The address.
    pc: Address
    #: The methods, the innermost first; the last is the one that was compiled.
    methods: list[Method]
    #: Where in each of them, as a bytecode index; negative if unknown.
    bcis: list[Int]


STRUCTURES: dict[str, type[Structure]] = {
    cls.__c_struct__: cls
    for cls in (
        ThreadInfo,
        MonitorStackDepthInfo,
        ThreadGroupInfo,
        FrameInfo,
        StackInfo,
        HeapReferenceInfoField,
        HeapReferenceInfoArray,
        HeapReferenceInfoConstantPool,
        HeapReferenceInfoStackLocal,
        HeapReferenceInfoJniLocal,
        HeapReferenceInfoReserved,
        HeapReferenceInfo,
        HeapCallbacks,
        ClassDefinition,
        MonitorUsage,
        LineNumberEntry,
        LocalVariableEntry,
        ParamInfo,
        ExtensionFunctionInfo,
        ExtensionEventInfo,
        TimerInfo,
        AddrLocationMap,
    )
}
"""Every structure by its name in C."""

__all__ = [
    "MEMBER_OF",
    "STRUCTURES",
    "AddrLocationMap",
    "ClassDefinition",
    "ExtensionEventInfo",
    "ExtensionFunctionInfo",
    "FrameInfo",
    "FunctionPointer",
    "HeapCallbacks",
    "HeapReferenceInfo",
    "HeapReferenceInfoArray",
    "HeapReferenceInfoConstantPool",
    "HeapReferenceInfoField",
    "HeapReferenceInfoJniLocal",
    "HeapReferenceInfoReserved",
    "HeapReferenceInfoStackLocal",
    "LineNumberEntry",
    "LocalVariableEntry",
    "MonitorStackDepthInfo",
    "MonitorUsage",
    "ParamInfo",
    "StackInfo",
    "Structure",
    "ThreadGroupInfo",
    "ThreadInfo",
    "PCStackInfo",
    "TimerInfo",
    "structure",
]
