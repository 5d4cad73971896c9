"""The capabilities: optional features that an environment must request before use.

`Capabilities` is one bit set, so that ``|``, ``&`` and ``-`` of sets come as ``|``, ``&`` and
``& ~``.  Every capability has a cost; the comments give HotSpot's.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from typing import Annotated, ClassVar

from jvmti import display
from jvmti.interface.types import CapabilityBits
from jvmti.text.names import suggestion


class Capabilities(display.HtmlRepr, enum.IntFlag):
    """Capabilities of JVM TI, named as in the specification.

    "OnLoad" marks those that HotSpot grants in the OnLoad phase only, to launched or preloaded
    agents (or later, if the JVM was started with them reserved).  "Solo" marks those that one
    environment of the whole VM can hold at a time.
    """

    __c_type__: ClassVar[str] = "jvmtiCapabilities"

    #: Tag objects and walk the heap.  Each tag costs the VM 60 to 75 bytes, and many tags make
    #: collections and heap walks slower.
    can_tag_objects = 1 << 0
    #: Watch fields for writes.  OnLoad, solo.  A watched field is written in the interpreter.
    can_generate_field_modification_events = 1 << 1
    #: Watch fields for reads.  OnLoad, solo.  A watched field is read in the interpreter.
    can_generate_field_access_events = 1 << 2
    #: Read the bytecodes of methods.
    can_get_bytecodes = 1 << 3
    #: Find the methods and fields that the compiler generated.
    can_get_synthetic_attribute = 1 << 4
    #: List the monitors that a thread owns.  OnLoad: compiled code keeps track of more.
    can_get_owned_monitor_info = 1 << 5
    #: Find the monitor that a thread queues for. OnLoad.
    can_get_current_contended_monitor = 1 << 6
    #: Find the owner of an object's monitor and the threads that wait for it.
    can_get_monitor_info = 1 << 7
    #: Pop a frame off a thread's stack, to repeat the call. OnLoad.
    can_pop_frame = 1 << 8
    #: Replace the bytecodes of loaded classes.  Compiled code that depends on them is discarded.
    can_redefine_classes = 1 << 9
    #: Interrupt threads, or throw an exception in them.
    can_signal_thread = 1 << 10
    #: Find the source file of a class.
    can_get_source_file_name = 1 << 11
    #: Map bytecode locations to source lines.
    can_get_line_numbers = 1 << 12
    #: Read the source debug extension of a class (JSR 45).  OnLoad.
    can_get_source_debug_extension = 1 << 13
    #: Read and write local variables.  OnLoad: compiled code keeps locals alive for longer, and
    #: objects that it would have kept off the heap may be allocated.
    can_access_local_variables = 1 << 14
    #: List methods in the order of the class file.  OnLoad: the VM stores an extra index.
    can_maintain_original_method_order = 1 << 15
    #: An event for every bytecode.  OnLoad.  While on, the thread runs in the interpreter.
    can_generate_single_step_events = 1 << 16
    #: Events for thrown and caught exceptions.  OnLoad: exceptions that compiled code would have
    #: turned into jumps are thrown in earnest, which is thousands of times slower.
    can_generate_exception_events = 1 << 17
    #: An event when a given frame is left.  OnLoad.
    can_generate_frame_pop_events = 1 << 18
    #: Breakpoints.  OnLoad, solo.  A method with a breakpoint runs in the interpreter.
    can_generate_breakpoint_events = 1 << 19
    #: Suspend and resume threads.  Solo.
    can_suspend = 1 << 20
    #: Redefine every modifiable class, not only some; needs ``can_redefine_classes`` too.
    can_redefine_any_class = 1 << 21
    #: Read the processor time of the current thread.
    can_get_current_thread_cpu_time = 1 << 22
    #: Read the processor time of any thread.
    can_get_thread_cpu_time = 1 << 23
    #: An event for every method entered.  OnLoad.  While on, threads run in the interpreter.
    can_generate_method_entry_events = 1 << 24
    #: An event for every method left.  OnLoad.  While on, threads run in the interpreter.
    can_generate_method_exit_events = 1 << 25
    #: The class file hook for every class, before it is loaded.  Each class waits for the handler.
    can_generate_all_class_hook_events = 1 << 26
    #: Events for compiled code that is installed and removed.
    can_generate_compiled_method_load_events = 1 << 27
    #: Events for contended monitors and for ``Object.wait``.
    can_generate_monitor_events = 1 << 28
    #: Events for objects that the VM itself allocates.
    can_generate_vm_object_alloc_events = 1 << 29
    #: Events for native methods that are bound to their implementation.
    can_generate_native_method_bind_events = 1 << 30
    #: Events around collections that stop the VM; they are sent while it is stopped.
    can_generate_garbage_collection_events = 1 << 31
    #: An event for every tagged object that is collected.
    can_generate_object_free_events = 1 << 32
    #: Make a method return at once, with a value of our choice.  OnLoad.
    can_force_early_return = 1 << 33
    #: List owned monitors together with the frame that took each.  OnLoad.
    can_get_owned_monitor_stack_depth_info = 1 << 34
    #: Read the constant pool of a class.
    can_get_constant_pool = 1 << 35
    #: Let native methods be found under a prefixed name, so that they can be wrapped.
    can_set_native_method_prefix = 1 << 36
    #: Send loaded classes through the class file hook again.  Take it before the hook is enabled
    #: for the first time.  Compiled code that depends on the classes is discarded.
    can_retransform_classes = 1 << 37
    #: Retransform every modifiable class; needs ``can_retransform_classes`` too.
    can_retransform_any_class = 1 << 38
    #: Events when the heap is exhausted.
    can_generate_resource_exhaustion_heap_events = 1 << 39
    #: Events when no further thread can be created.
    can_generate_resource_exhaustion_threads_events = 1 << 40
    #: VMStart as early as possible, when hardly any class can be loaded.  OnLoad.
    can_generate_early_vmstart = 1 << 41
    #: The class file hook from the very first class on; it needs
    #: ``can_generate_all_class_hook_events`` too.  OnLoad.
    can_generate_early_class_hook_events = 1 << 42
    #: Events for a sample of all allocations.  Solo.  About 2 microseconds a sample; how many there
    #: are is chosen by the sampling interval.
    can_generate_sampled_object_alloc_events = 1 << 43
    #: Events and functions for virtual threads, from Java 21 on.
    can_support_virtual_threads = 1 << 44

    def __str__(self) -> str:
        """Their names, joined by ``|`` as in other bit sets; ``0`` is none."""
        return "|".join(name for name, member in _MEMBERS if int(member) & int(self)) or "0"

    def __format__(self, specification: str) -> str:
        return format(int(self), specification) if specification else str(self)

    @classmethod
    def of(cls, *wanted: str | Iterable[str] | Capabilities) -> Capabilities:
        """Combine names, iterables of names and bit sets into one bit set.

        Raises:
            ValueError: a name is not that of a capability; the message suggests the most similar
                one.
            TypeError: an argument is none of these.
        """
        found = cls(0)
        for item in wanted:
            if isinstance(item, Capabilities):
                found |= item
            elif isinstance(item, str):
                found |= cls._named(item)
            elif isinstance(item, Iterable):
                for name in item:
                    found |= cls.of(name)
            else:
                raise TypeError(
                    f"a capability must be a name or Capabilities, not {type(item).__name__}"
                )
        return found

    @classmethod
    def _named(cls, name: str) -> Capabilities:
        member = cls.__members__.get(name)
        if member is None:
            raise ValueError(
                f"there is no capability {name!r}{suggestion(name, cls.__members__, 1)}"
            )
        return member

    def names(self) -> frozenset[str]:
        """Return the names of the capabilities in this set."""
        return frozenset(name for name, member in _MEMBERS if int(member) & int(self))

    def __iter__(self) -> Iterator[Capabilities]:
        """Iterate over the capabilities in this set, in the order of their bits."""
        return iter([member for _, member in _MEMBERS if int(member) & int(self)])

    def __len__(self) -> int:
        return sum(1 for _, member in _MEMBERS if int(member) & int(self))

    def __contains__(self, item: object) -> bool:
        """Whether this set contains a capability, by name or as a bit set."""
        if isinstance(item, str):
            item = type(self)._named(item)
        return isinstance(item, int) and int(self) & int(item) == int(item)


_MEMBERS = tuple(Capabilities.__members__.items())

ALL = Capabilities.of(*Capabilities.__members__)
"""Every capability of the specification; no VM grants all of them at all times."""

ONLOAD_ONLY = Capabilities.of(
    "can_generate_field_modification_events",
    "can_generate_field_access_events",
    "can_get_owned_monitor_info",
    "can_get_current_contended_monitor",
    "can_pop_frame",
    "can_get_source_debug_extension",
    "can_access_local_variables",
    "can_maintain_original_method_order",
    "can_generate_single_step_events",
    "can_generate_exception_events",
    "can_generate_frame_pop_events",
    "can_generate_breakpoint_events",
    "can_generate_method_entry_events",
    "can_generate_method_exit_events",
    "can_force_early_return",
    "can_get_owned_monitor_stack_depth_info",
    "can_generate_early_vmstart",
    "can_generate_early_class_hook_events",
)
"""Capabilities that HotSpot grants in the OnLoad phase only, unless reserved then."""

SOLO = Capabilities.of(
    "can_generate_field_modification_events",
    "can_generate_field_access_events",
    "can_generate_breakpoint_events",
    "can_suspend",
    "can_generate_sampled_object_alloc_events",
)
"""Capabilities that only one environment of a HotSpot VM can hold at a time."""


FREE = Capabilities.of(
    "can_get_line_numbers",
    "can_get_source_file_name",
    "can_get_bytecodes",
    "can_get_constant_pool",
    "can_get_thread_cpu_time",
    "can_get_monitor_info",
)
"""Capabilities that cost nothing until they are used; the model's own environments take these."""


def why_not_given(detail: str) -> str:
    """The message for capabilities that the VM refused.

    Args:
        detail: their names, as the agent lists them, and the environments that hold them, if known.
    """
    if "held by" in detail:
        return detail
    if detail.partition(", ")[0] in ONLOAD_ONLY.names():
        return (
            f"{detail}: most VMs grant this only during startup. Start the program with "
            "jvmti.launch(…, capabilities=…), or with "
            'JAVA_TOOL_OPTIONS="$(jvmti agent-options --reserve)" to be attached to later'
        )
    return f"{detail}: this VM does not grant it now, or another agent has it; see `jvmti info`"


WantedCapabilities = Annotated[Capabilities | str | Iterable[str], CapabilityBits()]
"""Capabilities as flags, as one name, or as several names."""

__all__ = [
    "ALL",
    "FREE",
    "ONLOAD_ONLY",
    "SOLO",
    "Capabilities",
    "WantedCapabilities",
    "why_not_given",
]
