"""One call without side effects of every function, on objects that the command made.

Functions that change something get an unstarted thread, objects and an environment of our own, or
the value that is already set.  `NOT_CALLED` names the functions that would still disturb the
program, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from jvmti.env.environment import Env
from jvmti.interface.capabilities import Capabilities
from jvmti.interface.constants import Event, EventMode, ReleaseMode, VerboseFlag
from jvmti.interface.errors import ErrorCode, JvmtiError
from jvmti.model.vm import VM

NOT_CALLED = {
    "fatal_error": "ends the JVM",
    "suspend_all_virtual_threads": "stops the program's virtual threads",
    "resume_all_virtual_threads": "resumes what other agents may have suspended",
    "add_module_uses": "cannot be undone",
    "add_module_provides": "cannot be undone",
}

GARBAGE_COLLECTION = "stops the program for a full collection; --gc calls it"

_BOXES = {
    "boolean": ("java/lang/Boolean", "Z", "booleanValue", True),
    "byte": ("java/lang/Byte", "B", "byteValue", 1),
    "char": ("java/lang/Character", "C", "charValue", 65),
    "short": ("java/lang/Short", "S", "shortValue", 1),
    "int": ("java/lang/Integer", "I", "intValue", 1),
    "long": ("java/lang/Long", "J", "longValue", 1),
    "float": ("java/lang/Float", "F", "floatValue", 1.0),
    "double": ("java/lang/Double", "D", "doubleValue", 1.0),
}

_STATIC_METHODS: dict[str, tuple[str, str, str, tuple[Any, ...]]] = {
    "object": ("java/lang/String", "valueOf", "(I)Ljava/lang/String;", (42,)),
    "boolean": ("java/lang/Character", "isDigit", "(C)Z", (48,)),
    "byte": ("java/lang/Byte", "parseByte", "(Ljava/lang/String;)B", ("text",)),
    "char": ("java/lang/Character", "toUpperCase", "(C)C", (97,)),
    "short": ("java/lang/Short", "reverseBytes", "(S)S", (1,)),
    "int": ("java/lang/Math", "abs", "(I)I", (-1,)),
    "long": ("java/lang/Math", "abs", "(J)J", (-1,)),
    "float": ("java/lang/Math", "abs", "(F)F", (-1.0,)),
    "double": ("java/lang/Math", "abs", "(D)D", (-1.0,)),
    "void": ("java/lang/Thread", "yield", "()V", ()),
}

_STATIC_FIELDS = {
    "object": ("java/lang/Boolean", "TRUE", "Ljava/lang/Boolean;"),
    "boolean": ("java/lang/String", "COMPACT_STRINGS", "Z"),
    **{
        kind: (_BOXES[kind][0], "MIN_VALUE", _BOXES[kind][1])
        for kind in ("byte", "char", "short", "int", "long", "float", "double")
    },
}

_KINDS = tuple(_BOXES)


class Materials:
    """The arguments of the calls, each made at its first use."""

    def __init__(self, vm: VM) -> None:
        self.vm = vm
        self.jni = vm.jni
        self.env: Env = vm.new_env()
        for one in self.env.get_potential_capabilities():
            try:
                self.env.add_capabilities(one)
            except JvmtiError:
                continue  # another agent was quicker, or two of them exclude each other

    def cls(self, name: str) -> Any:
        """A class of the platform, by its name in class files."""
        return self.jni.find_class(name)

    @cached_property
    def klass(self) -> Any:
        """A small class of the platform: java.util.Optional."""
        return self.cls("java/util/Optional")

    @cached_property
    def method(self) -> Any:
        """A method that is hardly ever called: Optional.hashCode."""
        return self.jni.get_method_id(self.klass, "hashCode", "()I")

    @cached_property
    def field(self) -> Any:
        """Optional.value."""
        return self.jni.get_field_id(self.klass, "value", "Ljava/lang/Object;")

    @cached_property
    def object(self) -> Any:
        """An object that only this command uses."""
        return self.jni.alloc_object(self.klass)

    @cached_property
    def string(self) -> Any:
        """A string of our own."""
        return self.jni.new_string("jvmti")

    @cached_property
    def unstarted(self) -> Any:
        """A thread that was never started."""
        thread = self.cls("java/lang/Thread")
        return self.jni.new_object(thread, self.jni.get_method_id(thread, "<init>", "()V"))

    @cached_property
    def throwable(self) -> Any:
        """An exception that has not been thrown."""
        cls = self.cls("java/lang/IllegalStateException")
        return self.jni.new_object(cls, self.jni.get_method_id(cls, "<init>", "()V"))

    @cached_property
    def group(self) -> Any:
        """The topmost thread group."""
        return self.env.get_top_thread_groups()[0]

    @cached_property
    def base(self) -> Any:
        """The module java.base."""
        return self.env.get_named_module(None, "java/lang")

    @cached_property
    def memory(self) -> Any:
        """A few bytes of the target's."""
        return self.env.allocate(16)

    @cached_property
    def monitor(self) -> Any:
        """A raw monitor of our own."""
        return self.env.create_raw_monitor("conformance")

    @cached_property
    def frame(self) -> tuple[Any, int]:
        """A thread of the VM that waits for ever, and the depth of a frame of Java code there."""
        for thread in self.vm.threads.snapshot(16):
            if thread.java_state in ("WAITING", "TIMED_WAITING"):
                for frame in thread.frames:
                    if not frame.is_native:
                        return thread.thread, frame.depth
        return None, 0

    def box(self, kind: str) -> Any:
        """A new box for a primitive value, not one that the program may share."""
        return self.jni.alloc_object(self.cls(_BOXES[kind][0]))

    def box_field(self, kind: str) -> Any:
        """The field in it."""
        name, signature, _, _ = _BOXES[kind]
        return self.jni.get_field_id(self.cls(name), "value", signature)

    def array(self, kind: str) -> Any:
        """A new array."""
        return getattr(self.jni, f"new_{kind}_array")(4)

    def objects(self) -> Any:
        """A new array of references."""
        return self.jni.new_object_array(2, self.cls("java/lang/Object"), self.object)

    def reflected(self, what: str) -> Any:
        """A java.lang.reflect.Method or Field."""
        if what == "method":
            return self.jni.to_reflected_method(self.klass, self.method, False)
        return self.jni.to_reflected_field(self.klass, self.field, False)

    def buffer(self) -> Any:
        """A direct buffer over our memory."""
        return self.jni.new_direct_byte_buffer(self.memory, 16)


Case = Callable[[Materials], Any]


def entered(materials: Materials, then: Callable[[Any], Any]) -> Any:
    """Do something while we own the raw monitor."""
    env, monitor = materials.env, materials.monitor
    env.raw_monitor_enter(monitor)
    try:
        return then(monitor)
    finally:
        env.raw_monitor_exit(monitor)


def _watch(kind: str, clear: bool) -> Case:
    def case(m: Materials) -> Any:
        made = getattr(m.env, f"set_field_{kind}_watch")(m.klass, m.field)
        undone = getattr(m.env, f"clear_field_{kind}_watch")(m.klass, m.field)
        return undone if clear else made

    return case


def _breakpoint(m: Materials) -> Any:
    m.env.set_breakpoint(m.method, 0)
    return m.env.clear_breakpoint(m.method, 0)


def _monitored(m: Materials) -> Any:
    m.jni.monitor_enter(m.object)
    return m.jni.monitor_exit(m.object)


def _local_frame(m: Materials) -> Any:
    m.jni.push_local_frame(8)
    return m.jni.pop_local_frame(None)


JVMTI: dict[str, Case] = {
    "set_event_notification_mode": lambda m: m.env.set_event_notification_mode(
        EventMode.DISABLE, Event.VM_DEATH, None
    ),
    "suspend_thread": lambda m: m.env.suspend_thread(m.unstarted),
    "resume_thread": lambda m: m.env.resume_thread(m.unstarted),
    "suspend_thread_list": lambda m: m.env.suspend_thread_list([m.unstarted]),
    "resume_thread_list": lambda m: m.env.resume_thread_list([m.unstarted]),
    "stop_thread": lambda m: m.env.stop_thread(m.unstarted, m.throwable),
    "interrupt_thread": lambda m: m.env.interrupt_thread(m.unstarted),
    "get_thread_group_info": lambda m: m.env.get_thread_group_info(m.group),
    "get_thread_group_children": lambda m: m.env.get_thread_group_children(m.group),
    "get_frame_location": lambda m: m.env.get_frame_location(*m.frame),
    "notify_frame_pop": lambda m: m.env.notify_frame_pop(None, 0),
    "create_raw_monitor": lambda m: m.monitor,
    "destroy_raw_monitor": lambda m: m.env.destroy_raw_monitor(
        m.env.create_raw_monitor("conformance")
    ),
    "raw_monitor_enter": lambda m: entered(m, lambda monitor: None),
    "raw_monitor_exit": lambda m: entered(m, lambda monitor: None),
    "raw_monitor_wait": lambda m: entered(m, lambda one: m.env.raw_monitor_wait(one, 1)),
    "raw_monitor_notify": lambda m: entered(m, m.env.raw_monitor_notify),
    "raw_monitor_notify_all": lambda m: entered(m, m.env.raw_monitor_notify_all),
    "set_breakpoint": _breakpoint,
    "clear_breakpoint": _breakpoint,
    "get_named_module": lambda m: m.env.get_named_module(None, "java/lang"),
    "set_field_access_watch": _watch("access", False),
    "clear_field_access_watch": _watch("access", True),
    "set_field_modification_watch": _watch("modification", False),
    "clear_field_modification_watch": _watch("modification", True),
    "allocate": lambda m: m.env.allocate(8),
    "deallocate": lambda m: m.env.deallocate(m.env.allocate(8)),
    "clear_all_frame_pops": lambda m: m.env.clear_all_frame_pops(None),
    "set_native_method_prefix": lambda m: m.env.set_native_method_prefix(None),
    "set_native_method_prefixes": lambda m: m.env.set_native_method_prefixes([]),
    "get_class_loader_classes": lambda m: m.env.get_class_loader_classes(None),
    "pop_frame": lambda m: m.env.pop_frame(m.unstarted),
    "force_early_return_object": lambda m: m.env.force_early_return_object(m.unstarted, None),
    "force_early_return_int": lambda m: m.env.force_early_return_int(m.unstarted, 0),
    "force_early_return_long": lambda m: m.env.force_early_return_long(m.unstarted, 0),
    "force_early_return_float": lambda m: m.env.force_early_return_float(m.unstarted, 0.0),
    "force_early_return_double": lambda m: m.env.force_early_return_double(m.unstarted, 0.0),
    "force_early_return_void": lambda m: m.env.force_early_return_void(m.unstarted),
    "set_local_object": lambda m: m.env.set_local_object(m.unstarted, 0, 0, None),
    "set_local_int": lambda m: m.env.set_local_int(m.unstarted, 0, 0, 0),
    "set_local_long": lambda m: m.env.set_local_long(m.unstarted, 0, 0, 0),
    "set_local_float": lambda m: m.env.set_local_float(m.unstarted, 0, 0, 0.0),
    "set_local_double": lambda m: m.env.set_local_double(m.unstarted, 0, 0, 0.0),
    "get_local_object": lambda m: m.env.get_local_object(*m.frame, 0),
    "get_local_int": lambda m: m.env.get_local_int(*m.frame, 0),
    "get_local_long": lambda m: m.env.get_local_long(*m.frame, 0),
    "get_local_float": lambda m: m.env.get_local_float(*m.frame, 0),
    "get_local_double": lambda m: m.env.get_local_double(*m.frame, 0),
    "get_local_instance": lambda m: m.env.get_local_instance(*m.frame),
    "redefine_classes": lambda m: m.env.redefine_classes([]),
    "retransform_classes": lambda m: m.env.retransform_classes([]),
    "add_module_reads": lambda m: m.env.add_module_reads(m.base, m.base),
    "add_module_exports": lambda m: m.env.add_module_exports(m.base, "java.lang", m.base),
    "add_module_opens": lambda m: m.env.add_module_opens(m.base, "java.lang", m.base),
    "is_modifiable_module": lambda m: m.env.is_modifiable_module(m.base),
    "get_all_stack_traces": lambda m: m.env.get_all_stack_traces(4),
    "get_thread_list_stack_traces": lambda m: m.env.get_thread_list_stack_traces([m.frame[0]], 4),
    "get_stack_trace": lambda m: m.env.get_stack_trace(m.frame[0], 0, 4),
    "get_frame_count": lambda m: m.env.get_frame_count(m.frame[0]),
    "set_tag": lambda m: m.env.set_tag(m.object, 7),
    "get_objects_with_tags": lambda m: m.env.get_objects_with_tags([7]),
    "generate_events": lambda m: m.env.generate_events(Event.DYNAMIC_CODE_GENERATED),
    "dispose_environment": lambda m: m.vm.new_env().dispose_environment(),
    "get_error_name": lambda m: m.env.get_error_name(ErrorCode.WRONG_PHASE),
    "get_system_property": lambda m: m.env.get_system_property("java.vm.name"),
    "set_system_property": lambda m: m.env.set_system_property("java.vm.name", None),
    "add_capabilities": lambda m: m.env.add_capabilities(Capabilities(0)),
    "relinquish_capabilities": lambda m: m.env.relinquish_capabilities(Capabilities(0)),
    "add_to_bootstrap_class_loader_search": lambda m: m.env.add_to_bootstrap_class_loader_search(
        "/nonexistent.jar"
    ),
    "add_to_system_class_loader_search": lambda m: m.env.add_to_system_class_loader_search(
        "/nonexistent.jar"
    ),
    "set_verbose_flag": lambda m: m.env.set_verbose_flag(VerboseFlag.OTHER, False),
    "set_thread_local_storage": lambda m: m.env.set_thread_local_storage(None, "x"),
    "set_environment_local_storage": lambda m: m.env.set_environment_local_storage("x"),
    "set_heap_sampling_interval": lambda m: m.env.set_heap_sampling_interval(512 * 1024),
    "force_garbage_collection": lambda m: m.env.force_garbage_collection(),
}

JNI: dict[str, Case] = {
    "define_class": lambda m: m.jni.define_class(None, None, b"no class"),
    "find_class": lambda m: m.jni.find_class("java/lang/Object"),
    "from_reflected_method": lambda m: m.jni.from_reflected_method(m.reflected("method")),
    "from_reflected_field": lambda m: m.jni.from_reflected_field(m.reflected("field")),
    "to_reflected_method": lambda m: m.reflected("method"),
    "to_reflected_field": lambda m: m.reflected("field"),
    "get_superclass": lambda m: m.jni.get_superclass(m.klass),
    "is_assignable_from": lambda m: m.jni.is_assignable_from(m.klass, m.klass),
    "throw": lambda m: m.jni.throw(m.throwable),
    "throw_new": lambda m: m.jni.throw_new(m.cls("java/lang/IllegalStateException"), "a test"),
    "push_local_frame": _local_frame,
    "pop_local_frame": _local_frame,
    "delete_global_ref": lambda m: m.jni.delete_global_ref(m.jni.new_global_ref(m.object)),  # type: ignore[arg-type]
    "delete_local_ref": lambda m: m.jni.delete_local_ref(m.jni.new_local_ref(m.object)),  # type: ignore[arg-type]
    "is_same_object": lambda m: m.jni.is_same_object(m.object, m.object),
    "ensure_local_capacity": lambda m: m.jni.ensure_local_capacity(16),
    "alloc_object": lambda m: m.object,
    "new_object": lambda m: m.unstarted,
    "is_instance_of": lambda m: m.jni.is_instance_of(m.object, m.klass),
    "get_method_id": lambda m: m.method,
    "get_field_id": lambda m: m.field,
    "get_object_field": lambda m: m.jni.get_object_field(m.object, m.field),
    "set_object_field": lambda m: m.jni.set_object_field(m.object, m.field, None),
    "get_static_method_id": lambda m: m.jni.get_static_method_id(
        m.klass, "empty", "()Ljava/util/Optional;"
    ),
    "get_static_field_id": lambda m: m.jni.get_static_field_id(
        m.klass, "EMPTY", "Ljava/util/Optional;"
    ),
    "new_string": lambda m: m.string,
    "new_string_utf": lambda m: m.jni.new_string_utf("jvmti"),
    "get_string_region": lambda m: m.jni.get_string_region(m.string, 1, 2),
    "get_string_utf_region": lambda m: m.jni.get_string_utf_region(m.string, 1, 2),
    "new_object_array": lambda m: m.objects(),
    "get_array_length": lambda m: m.jni.get_array_length(m.objects()),
    "get_object_array_element": lambda m: m.jni.get_object_array_element(m.objects(), 0),
    "set_object_array_element": lambda m: m.jni.set_object_array_element(m.objects(), 0, None),
    "register_natives": lambda m: m.jni.register_natives(m.klass, [], [], []),
    "unregister_natives": lambda m: m.jni.unregister_natives(m.klass),
    "monitor_enter": _monitored,
    "monitor_exit": _monitored,
    "get_primitive_array_critical": lambda m: m.jni.get_primitive_array_critical(m.array("int")),
    "release_primitive_array_critical": lambda m: m.jni.release_primitive_array_critical(
        m.array("byte"), bytes(4), ReleaseMode.ABORT
    ),
    "delete_weak_global_ref": lambda m: m.jni.delete_weak_global_ref(
        m.jni.new_weak_global_ref(m.object)
    ),
    "new_direct_byte_buffer": lambda m: m.buffer(),
    "get_direct_buffer_address": lambda m: m.jni.get_direct_buffer_address(m.buffer()),
    "get_direct_buffer_capacity": lambda m: m.jni.get_direct_buffer_capacity(m.buffer()),
    "is_virtual_thread": lambda m: m.jni.is_virtual_thread(m.unstarted),
    "call_object_method": lambda m: m.jni.call_object_method(
        m.object, m.jni.get_method_id(m.klass, "getClass", "()Ljava/lang/Class;")
    ),
    "call_nonvirtual_object_method": lambda m: m.jni.call_nonvirtual_object_method(
        m.object, m.klass, m.jni.get_method_id(m.klass, "getClass", "()Ljava/lang/Class;")
    ),
    "call_void_method": lambda m: _notify(m, "call_void_method"),
    "call_nonvirtual_void_method": lambda m: _notify(m, "call_nonvirtual_void_method"),
}


def _notify(m: Materials, function: str) -> Any:
    """Call Object.notify, for which no thread waits, with its monitor."""
    method = m.jni.get_method_id(m.klass, "notify", "()V")
    m.jni.monitor_enter(m.object)
    try:
        if "nonvirtual" in function:
            return m.jni.call_nonvirtual_void_method(m.object, m.klass, method)
        return m.jni.call_void_method(m.object, method)
    finally:
        m.jni.monitor_exit(m.object)


def _by_kind(kind: str) -> dict[str, Case]:
    """The JNI functions that exist once for each primitive type."""
    name, letter, getter, value = _BOXES[kind]

    def call(m: Materials) -> Any:
        method = m.jni.get_method_id(m.cls(name), getter, f"(){letter}")
        return getattr(m.jni, f"call_{kind}_method")(m.box(kind), method)

    def call_nonvirtual(m: Materials) -> Any:
        method = m.jni.get_method_id(m.cls(name), getter, f"(){letter}")
        function = getattr(m.jni, f"call_nonvirtual_{kind}_method")
        return function(m.box(kind), m.cls(name), method)

    def region(m: Materials) -> Any:
        return getattr(m.jni, f"get_{kind}_array_region")(m.array(kind), 1, 2)

    def elements(m: Materials) -> Any:
        return getattr(m.jni, f"get_{kind}_array_elements")(m.array(kind))

    def release(m: Materials) -> Any:
        array = m.array(kind)
        got = getattr(m.jni, f"get_{kind}_array_elements")(array)
        return getattr(m.jni, f"release_{kind}_array_elements")(array, got, ReleaseMode.COMMIT)

    return {
        f"call_{kind}_method": call,
        f"call_nonvirtual_{kind}_method": call_nonvirtual,
        f"get_{kind}_field": lambda m: getattr(m.jni, f"get_{kind}_field")(
            m.box(kind), m.box_field(kind)
        ),
        f"set_{kind}_field": lambda m: getattr(m.jni, f"set_{kind}_field")(
            m.box(kind), m.box_field(kind), value
        ),
        f"new_{kind}_array": lambda m: m.array(kind),
        f"get_{kind}_array_elements": elements,
        f"release_{kind}_array_elements": release,
        f"get_{kind}_array_region": region,
        f"set_{kind}_array_region": lambda m: getattr(m.jni, f"set_{kind}_array_region")(
            m.array(kind), 0, [value]
        ),
    }


def _static(kind: str) -> dict[str, Case]:
    """The JNI functions for static members with a result of one kind."""

    def call(m: Materials) -> Any:
        owner, name, signature, given = _STATIC_METHODS[kind]
        method = m.jni.get_static_method_id(m.cls(owner), name, signature)
        arguments = [m.jni.new_string("1") if one == "text" else one for one in given]
        return getattr(m.jni, f"call_static_{kind}_method")(m.cls(owner), method, arguments)

    found: dict[str, Case] = {f"call_static_{kind}_method": call}
    if kind in _STATIC_FIELDS:
        owner, name, signature = _STATIC_FIELDS[kind]

        def get(m: Materials) -> Any:
            field = m.jni.get_static_field_id(m.cls(owner), name, signature)
            return getattr(m.jni, f"get_static_{kind}_field")(m.cls(owner), field)

        def put(m: Materials) -> Any:
            # The value that it has already.
            field = m.jni.get_static_field_id(m.cls(owner), name, signature)
            value = getattr(m.jni, f"get_static_{kind}_field")(m.cls(owner), field)
            return getattr(m.jni, f"set_static_{kind}_field")(m.cls(owner), field, value)

        found |= {f"get_static_{kind}_field": get, f"set_static_{kind}_field": put}
    return found


for _kind in _KINDS:
    JNI |= _by_kind(_kind)
for _kind in _STATIC_METHODS:
    JNI |= _static(_kind)

BY_PARAMETER: dict[str, Callable[[Materials], Any]] = {
    "thread": lambda m: m.frame[0],
    "klass": lambda m: m.klass,
    "clazz": lambda m: m.klass,
    "cls": lambda m: m.klass,
    "method": lambda m: m.method,
    "field": lambda m: m.field,
    "object": lambda m: m.object,
    "obj": lambda m: m.object,
    "ref": lambda m: m.object,
    "string": lambda m: m.string,
}
"""The argument for a parameter of that name in functions without a case of their own."""

__all__ = ["BY_PARAMETER", "GARBAGE_COLLECTION", "JNI", "JVMTI", "NOT_CALLED", "Materials"]
