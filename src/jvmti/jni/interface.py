"""The whole of JNI: all declared functions, and the few that have no method."""

from __future__ import annotations

from typing import NamedTuple

from jvmti.interface.declaration import declarations
from jvmti.jni.classes.class_operations import ClassFunctions
from jvmti.jni.classes.modules import ModuleFunctions
from jvmti.jni.classes.native_methods import NativeMethodFunctions
from jvmti.jni.classes.reflection import ReflectionFunctions
from jvmti.jni.classes.static_fields import StaticFieldFunctions
from jvmti.jni.classes.static_methods import StaticMethodFunctions
from jvmti.jni.objects.arrays import ArrayFunctions
from jvmti.jni.objects.instance_fields import InstanceFieldFunctions
from jvmti.jni.objects.instance_methods import InstanceMethodFunctions
from jvmti.jni.objects.monitors import MonitorFunctions
from jvmti.jni.objects.nio import BufferFunctions
from jvmti.jni.objects.object_operations import ObjectFunctions
from jvmti.jni.objects.strings import StringFunctions
from jvmti.jni.threads.exceptions import ExceptionFunctions
from jvmti.jni.threads.references import ReferenceFunctions
from jvmti.jni.threads.virtual_threads import VirtualThreadFunctions
from jvmti.jni.version import VersionFunctions


class Functions(
    VersionFunctions,
    ClassFunctions,
    ExceptionFunctions,
    ReferenceFunctions,
    ObjectFunctions,
    InstanceFieldFunctions,
    InstanceMethodFunctions,
    StaticFieldFunctions,
    StaticMethodFunctions,
    StringFunctions,
    ArrayFunctions,
    NativeMethodFunctions,
    MonitorFunctions,
    BufferFunctions,
    ReflectionFunctions,
    ModuleFunctions,
    VirtualThreadFunctions,
):
    """All functions of JNI; subclasses define how a call reaches the agent."""


FUNCTIONS = declarations(Functions)
"""The declaration of every function, by its Python name and in the order of the function table."""


class Excluded(NamedTuple):
    """A JNI function without a method here; the program's calls can be counted."""

    slot: int
    """Its place in the function table."""
    reason: str
    """Why it has none."""


_NOTHING_LEFT = "Its counterpart returns a copy, so nothing is left to release."

EXCLUDED = {
    "GetJavaVM": Excluded(
        219,
        "It returns the pointer from which native code reaches the VM's other interfaces, "
        "which a session is already.",
    ),
    "ReleaseStringChars": Excluded(166, _NOTHING_LEFT),
    "ReleaseStringUTFChars": Excluded(170, _NOTHING_LEFT),
    "ReleaseStringCritical": Excluded(
        225, "Its counterpart ends the critical region before it returns a copy of the string."
    ),
}
"""The functions of JNI that have no method here, by their names in C."""
