"""Values to show, with how the arrays and lists among them begin, in one message.

The agent reads them (``native/agent/operations/value_writer.cpp``) without running any Java code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jvmti.model.objects.reading import Shown, shown_of
from jvmti.model.values.containers import list_fields
from jvmti.operations.agent import AgentOperations

if TYPE_CHECKING:
    from jvmti.model.vm import VM

ITEMS = 6
"""Elements in a short text."""
TEXT = 60
"""Characters of each text in a short text."""


def shown_fields(vm: VM, item: Any, fields: Sequence[Any]) -> list[Shown]:
    """The values of fields of an object, static ones of its classes among them.

    Args:
        vm: where the object is.
        item: the object.
        fields: which.
    """
    agent = AgentOperations(vm._session)
    return shown_of(agent.show_fields(item, [*fields], list_fields(vm), ITEMS, TEXT))


def shown_variables(vm: VM, thread: Any, values: Any) -> list[Shown]:
    """The values in the array of a probe, numbers out of their boxes.

    Args:
        vm: where the array is.
        thread: at an event that the probe has reported; needed without an array.
        values: the array, where it is known.
    """
    agent = AgentOperations(vm._session)
    return shown_of(agent.show_variables(thread, values, list_fields(vm), ITEMS, TEXT))


__all__ = ["ITEMS", "TEXT", "shown_fields", "shown_variables"]
