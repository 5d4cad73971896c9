"""The names of functions, events and intercepted JNI functions in traces of frames."""

from __future__ import annotations

from jvmti.env.events import EVENTS
from jvmti.env.interface import FUNCTIONS
from jvmti.events.jni_interception import FIRST, SLOTS
from jvmti.jni.interface import FUNCTIONS as JNI_FUNCTIONS
from jvmti.operations.functions import OPERATIONS
from jvmti.wire import trace


def name_frames() -> None:
    """Register the names of all numbers with `jvmti.wire.trace`."""
    for functions in (FUNCTIONS, JNI_FUNCTIONS, OPERATIONS):
        trace.name_functions((one.number, one.c_name) for one in functions.values())
    declared = (event.declaration for event in EVENTS.values())
    trace.name_openings((one.number, one.name) for one in declared)
    trace.name_openings((FIRST + slot, name) for name, (slot, _) in SLOTS.items())


__all__ = ["name_frames"]
