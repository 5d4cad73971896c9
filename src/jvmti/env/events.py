"""The events, each declared as a class whose attributes are the event's parameters.

The attributes have the specification's names and order, without the environment and without the
lengths of buffers.  The class's `declaration` has the other parameters of the C callback, and the
event's properties.  The class of a method is not an attribute, as it is not a parameter of the C
callback: ask the method.
"""

from __future__ import annotations

import enum
import typing
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar

from jvmti.env.structures import AddrLocationMap, PCStackInfo
from jvmti.interface.constants import Event, ResourceExhaustionFlags
from jvmti.interface.declaration import ANY, LIVE, START, Parameter, Phase
from jvmti.interface.frozen import frozen
from jvmti.interface.types import (
    Address,
    Boolean,
    Bytes,
    CountField,
    InliningRecords,
    Int,
    JValue,
    Location,
    Long,
    Native,
    Text,
    TypeCharacter,
)
from jvmti.layouts.conversations import OwnWork
from jvmti.refs import Class, ClassLoader, Field, Method, Object, Thread

if TYPE_CHECKING:
    from collections.abc import Callable


class Frames(enum.Enum):
    """The fate of a frame that a handler pops, or forces to return.

    The VM leaves the frame when the thread next returns to the frame's code. For most events that
    is when the handler returns. It sends others in the middle of its own work, which may run other
    Java code first (a class loader, a class initialiser, the constructor of an exception): the VM
    would leave that code's frame instead, and crash.
    """

    LEAVABLE = "`pop_frame` and an early return leave the frame"
    """It is left: by `pop_frame` and by an early return."""
    RETURNABLE = "an early return leaves the frame, and `pop_frame` raises OPAQUE_FRAME"
    """An early return leaves it. `pop_frame` would remove the subject of the event."""
    FIXED = "`pop_frame` and an early return raise OPAQUE_FRAME"
    """It cannot be left."""


@dataclass(eq=False)
class EventDeclaration:
    """The declaration of one event."""

    number: int
    event: type[JvmtiEvent]
    phase: Phase
    since: str = "1.0"
    capabilities: tuple[str, ...] = ()
    related_capabilities: tuple[str, ...] = ()
    thread_filtered: bool = False
    jni_env: bool = True
    answers: tuple[str, ...] = ()
    vm_stopped: bool = False
    own_work: OwnWork = OwnWork.REPORTED
    reported_with: str | None = None
    limit: float | None = 10.0
    ends: str | None = None
    frequent: bool = False
    stops: OwnWork | None = None
    program_threads: bool = False
    waits: bool = False
    frames: Frames = Frames.FIXED
    carries_exceptions: bool = False
    expects_no_exception: bool = False
    thrown: str | None = None
    left_by_exception: str | None = None

    @property
    def name(self) -> str:
        """The specification's name, which is the class's."""
        return self.event.__name__

    @property
    def constant(self) -> Event:
        """The number as a constant."""
        return Event(self.number)

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters of the event, annotations resolved; the handler's answers come last."""
        hints = typing.get_type_hints(self.event, include_extras=True)
        return tuple(Parameter(field.name, hints[field.name]) for field in fields(self.event))


@frozen(eq=False)
class JvmtiEvent:
    """Base of the events."""

    declaration: ClassVar[EventDeclaration]
    late: ClassVar[bool] = False
    """Whether it is reported afterwards, like events that the VM sends while it is stopped."""


EVENTS: dict[int, type[JvmtiEvent]] = {}
"""The events by number."""

V = TypeVar("V", bound=type[JvmtiEvent])


def event(
    number: int,
    *,
    phase: Phase,
    since: str = "1.0",
    capabilities: tuple[str, ...] = (),
    related_capabilities: tuple[str, ...] = (),
    thread_filtered: bool = False,
    jni_env: bool = True,
    answers: tuple[str, ...] = (),
    vm_stopped: bool = False,
    own_work: OwnWork = OwnWork.REPORTED,
    reported_with: str | None = None,
    limit: float | None = 10.0,
    ends: str | None = None,
    frequent: bool = False,
    stops: OwnWork | None = None,
    program_threads: bool = False,
    waits: bool = False,
    frames: Frames = Frames.FIXED,
    carries_exceptions: bool = False,
    expects_no_exception: bool = False,
    thrown: str | None = None,
    left_by_exception: str | None = None,
) -> Callable[[V], V]:
    """Declare one event.

    Args:
        number: its number in the specification.
        phase: the earliest phase in which it is sent.
        since: the version that introduced it.
        capabilities: those needed to enable it.
        related_capabilities: those that make the VM send more of it.
        thread_filtered: whether it can be enabled for single threads.
        jni_env: whether its C callback receives a JNI environment.
        answers: the attributes that the handler fills in instead of the VM.
        vm_stopped: whether the VM sends it while it is stopped, so that a handler could call
        nothing: such an event is for streams only.
        own_work: whether to report it if the controller's own work causes it.
        reported_with: an attribute; an event that has it is reported whatever ``own_work`` says.
        limit: the default time limit of a handler in seconds; ``None`` is no limit.
        ends: the event that begins what this one ends.
        frequent: whether it is so frequent that a stream names the classes of its objects only on
            request.
        stops: for an event of stop requests, whether the controller's own work makes stops; None
            for other events. See ``stops.h``.
        program_threads: whether to leave out threads of the agent, because it is about a thread.
        waits: whether it begins or ends waiting for a monitor: a stream names the very object then.
        frames: how a handler can leave a frame.
        carries_exceptions: whether an exception that a handler throws reaches the program.
        expects_no_exception: whether the VM crashes if an exception is pending when the callback
            returns.
        thrown: the attribute with its exception.
        left_by_exception: the attribute that says whether an exception ends its frame, instead of a
            return.
    """

    def declare(cls: V) -> V:
        cls.declaration = EventDeclaration(
            number=number,
            event=cls,
            phase=phase,
            since=since,
            capabilities=capabilities,
            related_capabilities=related_capabilities,
            thread_filtered=thread_filtered,
            jni_env=jni_env,
            answers=answers,
            vm_stopped=vm_stopped,
            own_work=own_work,
            reported_with=reported_with,
            limit=limit,
            ends=ends,
            frequent=frequent,
            stops=stops,
            program_threads=program_threads,
            waits=waits,
            frames=frames,
            carries_exceptions=carries_exceptions,
            expects_no_exception=expects_no_exception,
            thrown=thrown,
            left_by_exception=left_by_exception,
        )
        EVENTS[number] = cls
        return cls

    return declare


# The life of the VM


@event(50, phase=LIVE)
@frozen(eq=False)
class VMInit(JvmtiEvent):
    """The VM is ready: every function is available from now on.

    Example:
        >>> began = threading.Event()
        >>> with jvmti.launch(java, hold=True) as held:
        ...     with held.env.on("VMInit", lambda event: began.set()):
        ...         held.proceed()
        ...         began.wait(60)
        True
    """

    #: The thread that will run ``main``; its own ThreadStart follows.
    thread: Thread


@event(51, phase=LIVE)
@frozen(eq=False)
class VMDeath(JvmtiEvent):
    """The VM is about to exit, after the shutdown hooks; the last event of all.

    Calls still work while the handler runs, and the VM's exit waits for it.

    Example:
        >>> with jvmti.launch(java, hold=True) as held:
        ...     handler = held.env.on("VMDeath", lambda event: print("it ends"))
        ...     held.proceed()
        ...     held.wait(60)  # until its input ends, and the program with it
        it ends
        True
    """


@event(57, phase=START)
@frozen(eq=False)
class VMStart(JvmtiEvent):
    """JNI can be used from now on; only some functions of JVM TI can.

    With ``can_generate_early_vmstart`` it comes when only a few classes can be loaded.

    Example:
        >>> with jvmti.launch(java, hold=True) as held:
        ...     with held.env.on("VMStart", lambda event: print(held.phase.name)):
        ...         held.proceed()
        START
    """


@event(71, phase=LIVE, jni_env=False)
@frozen(eq=False)
class DataDumpRequest(JvmtiEvent):
    """A dump was requested: by SIGQUIT, or with ``jcmd PID JVMTI.data_dump``.

    Example:
        >>> import os, signal
        >>> asked = threading.Event()
        >>> with env.on("DataDumpRequest", lambda event: asked.set()):
        ...     os.kill(vm.process.pid, signal.SIGQUIT)
        ...     asked.wait(60)
        True
    """


@event(
    80,
    phase=LIVE,
    since="1.1",
    related_capabilities=(
        "can_generate_resource_exhaustion_heap_events",
        "can_generate_resource_exhaustion_threads_events",
    ),
)
@frozen(eq=False)
class ResourceExhausted(JvmtiEvent):
    """The heap is full or a thread could not be created; two capabilities guarantee the event.

    Example:
        >>> def exhausted(event):
        ...     print(event.description)
        >>> with env.on("ResourceExhausted", exhausted, own=True):
        ...     jni.new_long_array(0x7FFFFFFF)
        Traceback (most recent call last):
        jvmti.JavaException: java.lang.OutOfMemoryError: ...
        >>> jni.exception_clear()
    """

    #: The exhausted resource, and whether an ``OutOfMemoryError`` follows.
    flags: ResourceExhaustionFlags
    #: Reserved for later versions.
    reserved: Address
    #: The VM's description.
    description: Text


# Threads


@event(52, phase=START, own_work=OwnWork.NEVER, program_threads=True)
@frozen(eq=False)
class ThreadStart(JvmtiEvent):
    """A platform thread has begun to run and has not yet executed its first method.

    Example:
        >>> started = threading.Event()
        >>> helper = jni.new_object(jni.find_class("java/lang/Thread"), thread_init)
        >>> start = jni.get_method_id(jni.find_class("java/lang/Thread"), "start", "()V")
        >>> with env.on("ThreadStart", lambda event: started.set()):
        ...     jni.call_void_method(helper, start)
        ...     started.wait(60)
        True
    """

    #: The new thread, which is the current one.
    thread: Thread


@event(53, phase=START, thread_filtered=True, own_work=OwnWork.NEVER, program_threads=True)
@frozen(eq=False)
class ThreadEnd(JvmtiEvent):
    """A platform thread has left its last method and is about to end.

    Example:
        >>> ended = threading.Event()
        >>> helper = jni.new_object(jni.find_class("java/lang/Thread"), thread_init)
        >>> start = jni.get_method_id(jni.find_class("java/lang/Thread"), "start", "()V")
        >>> with env.on("ThreadEnd", lambda event: ended.set()):
        ...     jni.call_void_method(helper, start)
        ...     ended.wait(60)
        True
    """

    #: The thread, which is still the current one.
    thread: Thread


@event(
    87,
    phase=LIVE,
    since="21",
    capabilities=("can_support_virtual_threads",),
    thread_filtered=True,
    own_work=OwnWork.NEVER,
)
@frozen(eq=False)
class VirtualThreadStart(JvmtiEvent):
    """A virtual thread has begun to run and has not yet executed its first method.

    Example:
        >>> started = threading.Event()
        >>> thread_class = jni.find_class("java/lang/Thread")
        >>> task = jni.new_object(thread_class, thread_init)  # a Runnable that does nothing
        >>> with env.on("VirtualThreadStart", lambda event: started.set()):
        ...     thread = jni.call_static_object_method(thread_class, start_virtual, [task])
        ...     started.wait(60)
        True
    """

    #: The new thread, which is the current one.
    virtual_thread: Thread


@event(
    88,
    phase=LIVE,
    since="21",
    capabilities=("can_support_virtual_threads",),
    thread_filtered=True,
    own_work=OwnWork.NEVER,
)
@frozen(eq=False)
class VirtualThreadEnd(JvmtiEvent):
    """A virtual thread has left its last method and is about to end.

    Example:
        >>> ended = threading.Event()
        >>> thread_class = jni.find_class("java/lang/Thread")
        >>> task = jni.new_object(thread_class, thread_init)  # a Runnable that does nothing
        >>> with env.on("VirtualThreadEnd", lambda event: ended.set()):
        ...     thread = jni.call_static_object_method(thread_class, start_virtual, [task])
        ...     ended.wait(60)
        True
    """

    #: The thread, which is still the current one.
    virtual_thread: Thread


# Classes


@event(
    54,
    phase=ANY,
    related_capabilities=(
        "can_generate_all_class_hook_events",
        "can_generate_early_class_hook_events",
    ),
    answers=("new_class_data",),
    own_work=OwnWork.NEVER,
    reported_with="class_being_redefined",
    stops=OwnWork.REPORTED,
)
@frozen(eq=False)
class ClassFileLoadHook(JvmtiEvent):
    """The VM has read a class file: to load the class, or to change it.

    The handler may answer with another class file, which replaces the first; the next environment's
    handler receives that one. Environments that can retransform come after those that cannot. With
    the early capability the first event comes in the primordial phase, in which almost no function
    is available.

    Example:
        >>> def loaded(event):
        ...     print(event.name, event.class_data[:4].hex())  # it may return another
        >>> with env.on("ClassFileLoadHook", loaded):
        ...     env.retransform_classes([shop])
        Shop cafebabe
    """

    #: The class that is redefined or retransformed; ``None`` when a class is loaded.
    class_being_redefined: Class | None
    #: The loader that loads it; ``None`` for the bootstrap loader.
    loader: ClassLoader | None
    #: The name with slashes, ``java/util/List``; ``None`` for a class defined without a name.
    name: Text | None
    #: The ``java.security.ProtectionDomain``, if the class has one.
    protection_domain: Object | None
    #: The class file, with the changes of earlier handlers.
    class_data: Annotated[Bytes, CountField("class_data_len", owned=False)]
    #: The handler's answer: a replacement of the class file; ``None`` changes nothing.
    new_class_data: Annotated[Bytes, CountField("new_class_data_len", owned=False)] | None = None


@event(55, phase=START, thread_filtered=True, own_work=OwnWork.NEVER)
@frozen(eq=False)
class ClassLoad(JvmtiEvent):
    """A class exists; its fields and methods are not available yet.

    Not sent for array classes and the classes of primitive types.

    Example:
        >>> names = []
        >>> with env.on("ClassLoad", lambda event: names.append(event.klass.name), own=True):
        ...     phaser = jni.find_class("java/util/concurrent/Phaser")
        >>> "java.util.concurrent.Phaser" in names
        True
    """

    #: The thread that loads it; ``None`` before the VM has made its first thread object.
    thread: Thread | None
    #: The class.
    klass: Class


@event(56, phase=START, thread_filtered=True, own_work=OwnWork.NEVER, stops=OwnWork.REPORTED)
@frozen(eq=False)
class ClassPrepare(JvmtiEvent):
    """A class is prepared: fields, methods and interfaces are available, no code of it has run.

    Not sent for array classes and the classes of primitive types.

    Example:
        >>> names = []
        >>> with env.on("ClassPrepare", lambda event: names.append(event.klass.name), own=True):
        ...     exchanger = jni.find_class("java/util/concurrent/Exchanger")
        >>> "java.util.concurrent.Exchanger" in names
        True
    """

    #: The thread that prepares it; ``None`` before the VM has made its first thread object.
    thread: Thread | None
    #: The class.
    klass: Class


# Execution


@event(
    60,
    phase=LIVE,
    capabilities=("can_generate_single_step_events",),
    thread_filtered=True,
    own_work=OwnWork.NEVER,
    limit=None,
    frequent=True,
    stops=OwnWork.IN_CALLS,
    frames=Frames.LEAVABLE,
    carries_exceptions=True,
)
@frozen(eq=False)
class SingleStep(JvmtiEvent):
    """A thread is about to execute one more bytecode; there are none in native methods.

    Example:
        >>> locations = []
        >>> mine = env.get_current_thread()
        >>> def stepped(event):
        ...     locations.append(event.location)
        >>> with env.on("SingleStep", stepped, mine, own=True):
        ...     jni.call_static_int_method(shop, price, [3])
        15
        >>> locations  # of each instruction
        [0, 1, 2, 3, 4, 5]
    """

    #: The thread.
    thread: Thread
    #: The method it is in.
    method: Method
    #: The bytecode it is about to execute.
    location: Location


@event(
    62,
    phase=LIVE,
    capabilities=("can_generate_breakpoint_events",),
    thread_filtered=True,
    own_work=OwnWork.IN_CALLS,
    limit=None,
    stops=OwnWork.REPORTED,
    frames=Frames.LEAVABLE,
    carries_exceptions=True,
)
@frozen(eq=False)
class Breakpoint(JvmtiEvent):
    """A thread has reached a location with a breakpoint and not yet executed it.

    Example:
        >>> env.set_breakpoint(price, 0)
        >>> with env.on("Breakpoint", lambda event: print(env.get_local_int(None, 0, 0), "pieces")):
        ...     jni.call_static_int_method(shop, price, [3])
        3 pieces
        15
        >>> env.clear_breakpoint(price, 0)
    """

    #: The thread.
    thread: Thread
    #: The method with the breakpoint.
    method: Method
    #: The breakpoint's location.
    location: Location


@event(
    61,
    phase=LIVE,
    capabilities=("can_generate_frame_pop_events",),
    thread_filtered=True,
    limit=None,
    stops=OwnWork.IN_CALLS,
    frames=Frames.RETURNABLE,
    left_by_exception="was_popped_by_exception",
)
@frozen(eq=False)
class FramePop(JvmtiEvent):
    """A frame for which ``notify_frame_pop`` was called is being left; it is still on the stack.

    Example:
        >>> env.set_breakpoint(price, 0)
        >>> with (
        ...     env.on("FramePop", lambda event: print(event.method.name, "returns")),
        ...     env.on("Breakpoint", lambda event: env.notify_frame_pop(None, 0)),
        ... ):
        ...     jni.call_static_int_method(shop, price, [3])
        price returns
        15
        >>> env.clear_breakpoint(price, 0)
    """

    #: The thread.
    thread: Thread
    #: The method that is left.
    method: Method
    #: Whether an exception ends it instead of a return.
    was_popped_by_exception: Boolean


@event(
    65,
    phase=LIVE,
    capabilities=("can_generate_method_entry_events",),
    thread_filtered=True,
    own_work=OwnWork.NEVER,
    limit=None,
    frequent=True,
    stops=OwnWork.IN_CALLS,
    frames=Frames.LEAVABLE,
    carries_exceptions=True,
)
@frozen(eq=False)
class MethodEntry(JvmtiEvent):
    """A method, native or not, has been entered; its arguments are its first local variables.

    Example:
        >>> mine = env.get_current_thread()
        >>> with env.on("MethodEntry", lambda event: print(event.method.name), mine, own=True):
        ...     jni.call_static_int_method(shop, twice, [3])
        twice
        price
        30
    """

    #: The thread.
    thread: Thread
    #: The method.
    method: Method


@event(
    66,
    phase=LIVE,
    capabilities=("can_generate_method_exit_events",),
    thread_filtered=True,
    own_work=OwnWork.NEVER,
    limit=None,
    ends="MethodEntry",
    frequent=True,
    frames=Frames.LEAVABLE,
    left_by_exception="was_popped_by_exception",
)
@frozen(eq=False)
class MethodExit(JvmtiEvent):
    """A method, native or not, is being left; its frame is still on the stack.

    Example:
        >>> mine = env.get_current_thread()
        >>> with env.on("MethodExit", lambda event: print(event.return_value), mine, own=True):
        ...     jni.call_static_int_method(shop, price, [3])
        15
        15
    """

    #: The thread.
    thread: Thread
    #: The method.
    method: Method
    #: Whether an exception ends it; then there is no value.
    was_popped_by_exception: Boolean
    #: What it returns, of its declared type; ``None`` for ``void``.
    return_value: Annotated[Any, JValue("method")]


@event(
    58,
    phase=LIVE,
    capabilities=("can_generate_exception_events",),
    thread_filtered=True,
    own_work=OwnWork.NEVER,
    limit=None,
    stops=OwnWork.NEVER,
    frames=Frames.LEAVABLE,
    expects_no_exception=True,
    thrown="exception",
)
@frozen(eq=False)
class Exception(JvmtiEvent):
    """Java code has thrown an exception, or a native method has returned with one.

    The place of the catch is the VM's forecast: native methods on the way may change it.

    Example:
        >>> def thrown(event):
        ...     print(event.exception.cls.name)
        >>> parsed = jni.get_static_method_id(shop, "parsed", "(Ljava/lang/String;)I")
        >>> with env.on("Exception", thrown, own=True):
        ...     jni.call_static_int_method(shop, parsed, [jni.new_string("many")])
        java.lang.NumberFormatException
        0
    """

    #: The thread.
    thread: Thread
    #: The method that has thrown it.
    method: Method
    #: Where in the method.
    location: Location
    #: The exception.
    exception: Object
    #: The method that will catch it; ``None`` if none is in sight.
    catch_method: Method | None
    #: Where the handler begins; 0 if none is in sight.
    catch_location: Location


@event(
    59,
    phase=LIVE,
    capabilities=("can_generate_exception_events",),
    thread_filtered=True,
    own_work=OwnWork.NEVER,
    limit=None,
    frames=Frames.LEAVABLE,
    carries_exceptions=True,
    thrown="exception",
)
@frozen(eq=False)
class ExceptionCatch(JvmtiEvent):
    """A thrown exception has been caught; native code that clears one counts too.

    Example:
        >>> def caught(event):
        ...     print(event.exception.cls.name, "in", event.method.name)
        >>> parsed = jni.get_static_method_id(shop, "parsed", "(Ljava/lang/String;)I")
        >>> with env.on("ExceptionCatch", caught, own=True):
        ...     jni.call_static_int_method(shop, parsed, [jni.new_string("many")])
        java.lang.NumberFormatException in parsed
        0
    """

    #: The thread.
    thread: Thread
    #: The method that catches it.
    method: Method
    #: Where its handler begins.
    location: Location
    #: The exception.
    exception: Object


@event(
    63,
    phase=LIVE,
    capabilities=("can_generate_field_access_events",),
    thread_filtered=True,
    own_work=OwnWork.IN_CALLS,
    limit=None,
    frequent=True,
    stops=OwnWork.IN_CALLS,
    frames=Frames.LEAVABLE,
    carries_exceptions=True,
)
@frozen(eq=False)
class FieldAccess(JvmtiEvent):
    """A thread is about to read a field that is watched for reads.

    Example:
        >>> env.set_field_access_watch(order_class, number)
        >>> with env.on("FieldAccess", lambda event: print("read in", event.method.name)):
        ...     jni.call_int_method(order, jni.get_method_id(order_class, "number", "()I"))
        read in number
        7
        >>> env.clear_field_access_watch(order_class, number)
    """

    #: The thread.
    thread: Thread
    #: The method that reads it.
    method: Method
    #: Where in the method.
    location: Location
    #: The class that was named in the access.
    field_klass: Class
    #: The object whose field it is; ``None`` for a static field.
    object: Object | None
    #: The field.
    field: Field


@event(
    64,
    phase=LIVE,
    capabilities=("can_generate_field_modification_events",),
    thread_filtered=True,
    own_work=OwnWork.IN_CALLS,
    limit=None,
    frequent=True,
    stops=OwnWork.IN_CALLS,
    frames=Frames.LEAVABLE,
    carries_exceptions=True,
)
@frozen(eq=False)
class FieldModification(JvmtiEvent):
    """A thread is about to write a field that is watched for writes; it still has its old value.

    Example:
        >>> paid = jni.get_field_id(order_class, "paid", "Z")
        >>> env.set_field_modification_watch(order_class, paid)
        >>> with env.on("FieldModification", lambda event: print("becomes", event.new_value)):
        ...     jni.call_void_method(order, jni.get_method_id(order_class, "pay", "()V"))
        becomes True
        >>> env.clear_field_modification_watch(order_class, paid)
    """

    #: The thread.
    thread: Thread
    #: The method that writes it.
    method: Method
    #: Where in the method.
    location: Location
    #: The class that was named in the access.
    field_klass: Class
    #: The object whose field it is; ``None`` for a static field.
    object: Object | None
    #: The field.
    field: Field
    #: The first character of the field's type in signatures: ``I``, ``Z``, …, ``L``.
    signature_type: Annotated[str, TypeCharacter()]
    #: The new value.
    new_value: Annotated[Any, JValue("signature_type")]


# Native and compiled code


@event(
    67,
    phase=ANY,
    capabilities=("can_generate_native_method_bind_events",),
    answers=("new_address",),
    own_work=OwnWork.NEVER,
)
@frozen(eq=False)
class NativeMethodBind(JvmtiEvent):
    """A native method is being bound to its implementation, at its first call or by registration.

    The handler may answer with the address of another implementation in the target.

    Example:
        >>> with env.on("NativeMethodBind", lambda event: print(event.method.name), own=True):
        ...     jni.register_natives(shop, ["bell"], ["(I)I"], ["abs"])
        bell
        0
        >>> jni.unregister_natives(shop)
        0
    """

    #: The thread that binds it; ``None`` in the primordial phase.
    thread: Thread | None
    #: The native method.
    method: Method
    #: Where its implementation is.
    address: Annotated[int, Native(const=False)]
    #: The handler's answer: the address to bind instead; ``None`` changes nothing.
    new_address: Address | None = None


@event(
    68,
    phase=START,
    capabilities=("can_generate_compiled_method_load_events",),
    jni_env=False,
)
@frozen(eq=False)
class CompiledMethodLoad(JvmtiEvent):
    """Compiled code of a method was installed; there may be several at a time.

    ``generate_events`` sends it again for what was installed before.

    Example:
        >>> from jvmti.interface.constants import Event
        >>> sizes = []
        >>> with env.on("CompiledMethodLoad", lambda event: sizes.append(event.code_size)):
        ...     env.generate_events(Event.COMPILED_METHOD_LOAD)  # of what is compiled already
        >>> all(size > 0 for size in sizes)
        True
    """

    #: The method.
    method: Method
    #: The size of the code in bytes.
    code_size: Int
    #: Where the code begins.
    code_addr: Address
    #: The locations of addresses; empty if the VM does not provide them.
    map: Annotated[list[AddrLocationMap], CountField("map_length", owned=False)]
    #: The methods inlined at addresses; empty if the VM does not provide them.
    compile_info: Annotated[list[PCStackInfo], InliningRecords()]


@event(
    69,
    phase=START,
    capabilities=("can_generate_compiled_method_load_events",),
    jni_env=False,
)
@frozen(eq=False)
class CompiledMethodUnload(JvmtiEvent):
    """Compiled code was removed, perhaps some time ago and by another thread.

    Example:
        >>> with env.on("CompiledMethodUnload", lambda event: print(event.method.name)):
        ...     pass  # the VM tells when it throws compiled code away
    """

    #: The method; its class may be gone, so that it serves for comparison only.
    method: Method
    #: Where the code began.
    code_addr: Address


@event(70, phase=ANY, jni_env=False)
@frozen(eq=False)
class DynamicCodeGenerated(JvmtiEvent):
    """The VM has generated machine code of its own, such as its interpreter.

    ``generate_events`` sends it again for what was generated before.

    Example:
        >>> from jvmti.interface.constants import Event
        >>> names = []
        >>> with env.on("DynamicCodeGenerated", lambda event: names.append(event.name)):
        ...     env.generate_events(Event.DYNAMIC_CODE_GENERATED)
        >>> len(names) > 10
        True
    """

    #: The VM's name for it; not unique.
    name: Text
    #: Where it begins.
    address: Address
    #: Its length in bytes.
    length: Int


# Monitors


@event(
    73,
    phase=LIVE,
    capabilities=("can_generate_monitor_events",),
    thread_filtered=True,
    own_work=OwnWork.NEVER,
    waits=True,
)
@frozen(eq=False)
class MonitorWait(JvmtiEvent):
    """A thread has called ``Object.wait`` and is about to wait.

    Example:
        >>> wait = jni.get_method_id(jni.find_class("java/lang/Object"), "wait", "(J)V")
        >>> jni.monitor_enter(order)
        0
        >>> with env.on("MonitorWait", lambda event: print(event.timeout, "ms"), own=True):
        ...     jni.call_void_method(order, wait, [10])
        10 ms
        >>> jni.monitor_exit(order)
        0
    """

    #: The thread.
    thread: Thread
    #: The object.
    object: Object
    #: The time limit in milliseconds; 0 for none.
    timeout: Long


@event(
    74,
    phase=LIVE,
    capabilities=("can_generate_monitor_events",),
    thread_filtered=True,
    own_work=OwnWork.NEVER,
    waits=True,
    ends="MonitorWait",
)
@frozen(eq=False)
class MonitorWaited(JvmtiEvent):
    """A thread has finished waiting in ``Object.wait``.

    Example:
        >>> wait = jni.get_method_id(jni.find_class("java/lang/Object"), "wait", "(J)V")
        >>> jni.monitor_enter(order)
        0
        >>> with env.on("MonitorWaited", lambda event: print(event.timed_out), own=True):
        ...     jni.call_void_method(order, wait, [10])
        True
        >>> jni.monitor_exit(order)
        0
    """

    #: The thread.
    thread: Thread
    #: The object.
    object: Object
    #: Whether the time limit ended it.
    timed_out: Boolean


@event(
    75,
    phase=LIVE,
    capabilities=("can_generate_monitor_events",),
    thread_filtered=True,
    own_work=OwnWork.NEVER,
    waits=True,
)
@frozen(eq=False)
class MonitorContendedEnter(JvmtiEvent):
    """A thread wants a monitor that another thread owns, and is about to queue for it.

    Example:
        >>> waits = threading.Event()
        >>> def other():
        ...     jni.monitor_enter(order)  # on a service thread of its own
        ...     jni.monitor_exit(order)
        >>> thread = threading.Thread(target=other)
        >>> jni.monitor_enter(order)
        0
        >>> with env.on("MonitorContendedEnter", lambda event: waits.set(), own=True):
        ...     thread.start()
        ...     waits.wait(60)
        True
        >>> jni.monitor_exit(order)
        0
        >>> thread.join()
    """

    #: The thread.
    thread: Thread
    #: The object whose monitor it is.
    object: Object


@event(
    76,
    phase=LIVE,
    capabilities=("can_generate_monitor_events",),
    thread_filtered=True,
    own_work=OwnWork.NEVER,
    waits=True,
    ends="MonitorContendedEnter",
)
@frozen(eq=False)
class MonitorContendedEntered(JvmtiEvent):
    """A thread has acquired the monitor that it queued for.

    Example:
        >>> waits, entered = threading.Event(), threading.Event()
        >>> def other():
        ...     jni.monitor_enter(order)  # on a service thread of its own
        ...     jni.monitor_exit(order)
        >>> thread = threading.Thread(target=other)
        >>> jni.monitor_enter(order)
        0
        >>> with (
        ...     env.on("MonitorContendedEnter", lambda event: waits.set(), own=True),
        ...     env.on("MonitorContendedEntered", lambda event: entered.set(), own=True),
        ... ):
        ...     thread.start()
        ...     waits.wait(60), jni.monitor_exit(order), entered.wait(60)
        (True, 0, True)
        >>> thread.join()
    """

    #: The thread.
    thread: Thread
    #: The object whose monitor it is.
    object: Object


# The heap


@event(
    81,
    phase=LIVE,
    capabilities=("can_generate_garbage_collection_events",),
    jni_env=False,
    vm_stopped=True,
)
@frozen(eq=False)
class GarbageCollectionStart(JvmtiEvent):
    """A pause of the collector begins; collecting beside the running program is not reported.

    Example:
        >>> with env.stream("GarbageCollectionStart") as stream:
        ...     env.force_garbage_collection()
        ...     len(stream.read(timeout=60)) >= 1
        True
    """


@event(
    82,
    phase=LIVE,
    capabilities=("can_generate_garbage_collection_events",),
    jni_env=False,
    vm_stopped=True,
)
@frozen(eq=False)
class GarbageCollectionFinish(JvmtiEvent):
    """A pause of the collector has ended; the VM is still stopped.

    Example:
        >>> with env.stream("GarbageCollectionFinish") as stream:
        ...     env.force_garbage_collection()
        ...     len(stream.read(timeout=60)) >= 1
        True
    """


@event(
    83,
    phase=LIVE,
    capabilities=("can_generate_object_free_events",),
    jni_env=False,
    vm_stopped=True,
)
@frozen(eq=False)
class ObjectFree(JvmtiEvent):
    """A tagged object was collected.

    Example:
        >>> with env.stream("ObjectFree") as stream:
        ...     env.set_tag(jni.new_string("garbage"), 99)
        ...     env.force_garbage_collection()
        ...     99 in stream.read(timeout=60)["tag"]
        True
    """

    #: The tag that it had.
    tag: Long


@event(
    84, phase=LIVE, capabilities=("can_generate_vm_object_alloc_events",), own_work=OwnWork.NEVER
)
@frozen(eq=False)
class VMObjectAlloc(JvmtiEvent):
    """The VM has allocated an object that Java code can see and no bytecode or JNI call made.

    Example:
        >>> names = []
        >>> base = jni.find_class("java/lang/Object")
        >>> clone = jni.get_method_id(base, "clone", "()Ljava/lang/Object;")
        >>> def allocated(event):
        ...     names.append(event.object_klass.name)
        >>> with env.on("VMObjectAlloc", allocated, own=True):
        ...     copy = jni.call_object_method(prices, clone)  # native code of the VM copies it
        >>> names
        ['int[]']
    """

    #: The thread that allocates.
    thread: Thread
    #: The object.
    object: Object
    #: Its class.
    object_klass: Class
    #: Its size in bytes.
    size: Long


@event(
    86,
    phase=LIVE,
    since="11",
    capabilities=("can_generate_sampled_object_alloc_events",),
    thread_filtered=True,
    own_work=OwnWork.NEVER,
)
@frozen(eq=False)
class SampledObjectAlloc(JvmtiEvent):
    """An allocation was sampled, on average one for each sampling interval's worth of bytes.

    Example:
        >>> names = []
        >>> env.set_heap_sampling_interval(0)  # every allocation
        >>> def sampled(event):
        ...     names.append(event.object_klass.name)
        >>> with env.on("SampledObjectAlloc", sampled, own=True):
        ...     arrays = [jni.new_int_array(100_000) for _ in range(40)]
        >>> "int[]" in names
        True
        >>> env.set_heap_sampling_interval(512 * 1024)
    """

    #: The thread that allocates.
    thread: Thread
    #: The object.
    object: Object
    #: Its class.
    object_klass: Class
    #: Its size in bytes.
    size: Long


EVENTS = dict(sorted(EVENTS.items()))

__all__ = [
    "EVENTS",
    "Breakpoint",
    "ClassFileLoadHook",
    "ClassLoad",
    "ClassPrepare",
    "CompiledMethodLoad",
    "CompiledMethodUnload",
    "DataDumpRequest",
    "DynamicCodeGenerated",
    "EventDeclaration",
    "Exception",
    "ExceptionCatch",
    "FieldAccess",
    "FieldModification",
    "FramePop",
    "GarbageCollectionFinish",
    "GarbageCollectionStart",
    "JvmtiEvent",
    "MethodEntry",
    "MethodExit",
    "MonitorContendedEnter",
    "MonitorContendedEntered",
    "MonitorWait",
    "MonitorWaited",
    "NativeMethodBind",
    "ObjectFree",
    "OwnWork",
    "ResourceExhausted",
    "SampledObjectAlloc",
    "SingleStep",
    "ThreadEnd",
    "ThreadStart",
    "VMDeath",
    "VMInit",
    "VMObjectAlloc",
    "VMStart",
    "VirtualThreadEnd",
    "VirtualThreadStart",
    "event",
]
