"""Typed, owned handles: what a ``jobject``, ``jmethodID`` or ``jrawMonitorID`` is in Python.

What lives here: the classes of handles and what they own. What does not: attributes of the objects,
which `jvmti.model` adds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jvmti.reexports import reexports

if TYPE_CHECKING:
    from jvmti.refs.handles import (
        Array,
        BooleanArray,
        ByteArray,
        CharArray,
        Class,
        ClassLoader,
        DoubleArray,
        ExtensionFunction,
        Field,
        FloatArray,
        Handle,
        IntArray,
        LongArray,
        Memory,
        Method,
        Module,
        Object,
        ObjectArray,
        RawMonitor,
        ShortArray,
        String,
        Thread,
        ThreadGroup,
        Throwable,
        WeakReference,
    )

__all__ = [
    "Array",
    "BooleanArray",
    "ByteArray",
    "CharArray",
    "Class",
    "ClassLoader",
    "DoubleArray",
    "ExtensionFunction",
    "Field",
    "FloatArray",
    "Handle",
    "IntArray",
    "LongArray",
    "Memory",
    "Method",
    "Module",
    "Object",
    "ObjectArray",
    "RawMonitor",
    "ShortArray",
    "String",
    "Thread",
    "ThreadGroup",
    "Throwable",
    "WeakReference",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = reexports(__name__, dict.fromkeys(__all__, "jvmti.refs.handles"))
