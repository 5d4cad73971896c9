"""Values to show, with how the arrays and lists among them begin, in one message.

The agent reads them (``native/agent/operations/value_writer.cpp``) without running any Java code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jvmti.model.objects.layouts import layout_of
from jvmti.model.objects.reading import ReadyCall, Shown, shown_of
from jvmti.model.values.containers import list_fields
from jvmti.operations.agent import AgentOperations
from jvmti.operations.functions import Operations

if TYPE_CHECKING:
    from jvmti.model.vm import VM

ITEMS = 6
"""Elements in a short text."""
TEXT = 60
"""Characters of each text in a short text."""


def shown_object(vm: VM, item: Any) -> list[Shown]:
    """The values of the instance fields of an object, in the order of its layout.

    Args:
        vm: where the object is.
        item: the object.
    """
    layout = layout_of(item.cls)
    ready = layout.shown
    if ready is None:
        further = layout.fields, list_fields(vm), ITEMS, TEXT
        ready = layout.shown = ReadyCall(vm, Operations.show_fields, *further)
    return shown_of(ready.of(item))


def shown_fields(vm: VM, item: Any, fields: Sequence[Any]) -> list[Shown]:
    """The values of some fields of an object, static ones of its classes among them.

    Args:
        vm: where the object is.
        item: the object.
        fields: which.
    """
    agent = AgentOperations(vm._session)
    return shown_of(agent.show_fields(item, [*fields], list_fields(vm), ITEMS, TEXT))


def shown_variables(vm: VM, values: Any) -> list[Shown]:
    """The values in the array of a probe, numbers out of their boxes.

    Args:
        vm: where the array is.
        values: the array.
    """
    agent = AgentOperations(vm._session)
    return shown_of(agent.show_variables(None, values, list_fields(vm), ITEMS, TEXT))


def shown_variables_at_event(vm: VM, thread: Any) -> list[Shown]:
    """The same for the array of a thread at an event that the probe has reported.

    What is asked for is the same at each stop of the thread, so that a step can take it along.

    Args:
        vm: where the thread is.
        thread: the thread.
    """
    ready = vm._shows_variables
    if ready is None:
        further = None, list_fields(vm), ITEMS, TEXT
        ready = vm._shows_variables = ReadyCall(vm, Operations.show_variables, *further)
    return shown_of(ready.of(thread))


__all__ = [
    "ITEMS",
    "TEXT",
    "shown_fields",
    "shown_object",
    "shown_variables",
    "shown_variables_at_event",
]
