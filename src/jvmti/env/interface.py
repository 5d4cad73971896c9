"""The whole function table of JVM TI: the chapters in one class, and its declarations by name."""

from __future__ import annotations

from jvmti.env.classes.class_ import ClassFunctions
from jvmti.env.classes.class_loader_search import ClassLoaderSearchFunctions
from jvmti.env.classes.field import FieldFunctions
from jvmti.env.classes.method import MethodFunctions
from jvmti.env.classes.module import ModuleFunctions
from jvmti.env.interception.breakpoint import BreakpointFunctions
from jvmti.env.interception.event_management import EventManagementFunctions
from jvmti.env.interception.extension_mechanism import ExtensionMechanismFunctions
from jvmti.env.interception.jni_function_interception import JNIFunctionInterceptionFunctions
from jvmti.env.interception.watched_field import WatchedFieldFunctions
from jvmti.env.objects.heap import HeapFunctions
from jvmti.env.objects.heap_1_0 import Heap10Functions
from jvmti.env.objects.heap_monitoring import HeapMonitoringFunctions
from jvmti.env.objects.object import ObjectFunctions
from jvmti.env.system.capability import CapabilityFunctions
from jvmti.env.system.general import GeneralFunctions
from jvmti.env.system.memory import MemoryFunctions
from jvmti.env.system.system_properties import SystemPropertiesFunctions
from jvmti.env.system.timers import TimersFunctions
from jvmti.env.threads.force_early_return import ForceEarlyReturnFunctions
from jvmti.env.threads.local_variable import LocalVariableFunctions
from jvmti.env.threads.raw_monitor import RawMonitorFunctions
from jvmti.env.threads.stack_frame import StackFrameFunctions
from jvmti.env.threads.thread import ThreadFunctions
from jvmti.env.threads.thread_group import ThreadGroupFunctions
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
