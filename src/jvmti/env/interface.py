"""The whole function table of JVM TI: the chapters in one class, and its declarations by name."""

from __future__ import annotations

from jvmti.env.breakpoint import BreakpointFunctions
from jvmti.env.capability import CapabilityFunctions
from jvmti.env.class_ import ClassFunctions
from jvmti.env.class_loader_search import ClassLoaderSearchFunctions
from jvmti.env.event_management import EventManagementFunctions
from jvmti.env.extension_mechanism import ExtensionMechanismFunctions
from jvmti.env.field import FieldFunctions
from jvmti.env.force_early_return import ForceEarlyReturnFunctions
from jvmti.env.general import GeneralFunctions
from jvmti.env.heap import HeapFunctions
from jvmti.env.heap_1_0 import Heap10Functions
from jvmti.env.heap_monitoring import HeapMonitoringFunctions
from jvmti.env.jni_function_interception import JNIFunctionInterceptionFunctions
from jvmti.env.local_variable import LocalVariableFunctions
from jvmti.env.memory import MemoryFunctions
from jvmti.env.method import MethodFunctions
from jvmti.env.module import ModuleFunctions
from jvmti.env.object import ObjectFunctions
from jvmti.env.raw_monitor import RawMonitorFunctions
from jvmti.env.stack_frame import StackFrameFunctions
from jvmti.env.system_properties import SystemPropertiesFunctions
from jvmti.env.thread import ThreadFunctions
from jvmti.env.thread_group import ThreadGroupFunctions
from jvmti.env.timers import TimersFunctions
from jvmti.env.watched_field import WatchedFieldFunctions
from jvmti.interface.declaration import declarations


class Functions(
    MemoryFunctions,
    ThreadFunctions,
    ThreadGroupFunctions,
    StackFrameFunctions,
    ForceEarlyReturnFunctions,
    HeapFunctions,
    Heap10Functions,
    LocalVariableFunctions,
    BreakpointFunctions,
    WatchedFieldFunctions,
    ModuleFunctions,
    ClassFunctions,
    ObjectFunctions,
    FieldFunctions,
    MethodFunctions,
    RawMonitorFunctions,
    JNIFunctionInterceptionFunctions,
    EventManagementFunctions,
    ExtensionMechanismFunctions,
    CapabilityFunctions,
    TimersFunctions,
    ClassLoaderSearchFunctions,
    SystemPropertiesFunctions,
    GeneralFunctions,
    HeapMonitoringFunctions,
):
    """All functions of JVM TI, without a state of their own."""

    __slots__ = ()


FUNCTIONS = declarations(Functions)
"""Every declaration by its PEP 8 name, in the order of the slots."""
