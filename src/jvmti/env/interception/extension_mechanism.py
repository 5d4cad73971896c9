"""Functions and events of a VM beyond the specification."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jvmti.env.structures import ExtensionEventInfo, ExtensionFunctionInfo
from jvmti.interface.calling import Calling
from jvmti.interface.declaration import ONLOAD, CallbackOf, function
from jvmti.interface.types import Int


class ExtensionMechanismFunctions(Calling):
    """The functions of the chapter "Extension Mechanism"."""

    __slots__ = ()

    @function(124, phase=ONLOAD)
    def get_extension_functions(self) -> list[ExtensionFunctionInfo]:
        """Return the functions that this VM has beyond JVM TI.

        Returns:
            For each the function, which takes the input parameters and returns the outputs, its
            identifier, its parameters and its errors.

        Example:
            >>> function = env.get_extension_functions()[0]
            >>> function.id, function.func()
            ('com.sun.hotspot.functions.IsClassUnloadingEnabled', True)

        JVM TI: GetExtensionFunctions.
        """

    @function(125, phase=ONLOAD)
    def get_extension_events(self) -> list[ExtensionEventInfo]:
        """Return the events that this VM has beyond JVM TI.

        Returns:
            For each its index, its identifier and its parameters.

        Example:
            >>> [event.id for event in env.get_extension_events()][0]
            'com.sun.hotspot.events.ClassUnload'

        JVM TI: GetExtensionEvents.
        """

    @function(
        126,
        phase=ONLOAD,
        errors=("ILLEGAL_ARGUMENT",),
        callback=CallbackOf.EXTENSION_EVENT,
        overridden=True,
    )
    def set_extension_event_callback(
        self, extension_event_index: Int, callback: Callable[..., Any] | None = None
    ) -> None:
        """Set the callback of an extension event, which also switches the event on or off.

        Args:
            extension_event_index: the index from `get_extension_events`.
            callback: the function, called with the event's parameters except the JNI environment
                while the event's thread waits, for at most 10 seconds; ``None`` disables the event.

        Raises:
            IllegalArgument: there is no such extension event.

        Example:
            >>> [unload] = [e for e in env.get_extension_events() if e.id.endswith("ClassUnload")]
            >>> env.set_extension_event_callback(unload.extension_event_index, print)
            >>> env.set_extension_event_callback(unload.extension_event_index, None)

        JVM TI: SetExtensionEventCallback.
        """
