"""The capabilities that the protocol's client gets to know once its JVM was attached to late."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jvmti.adapter.initialization import exception_filter
from jvmti.interface.constants import Event

if TYPE_CHECKING:
    from jvmti.model.vm import VM

_THROWN = exception_filter(
    "thrown", "All exceptions", "is made, before it is known whether the program catches it"
)


def changed_capabilities(vm: VM) -> dict[str, Any]:
    """The capabilities that differ from those of the first response; none where the VM grants all.

    Args:
        vm: the program's JVM.
    """
    found: dict[str, Any] = {}
    if vm.breakpoints.is_emulated(Event.SINGLE_STEP):
        found["supportsSteppingGranularity"] = False
    if vm.breakpoints.is_emulated(Event.EXCEPTION):
        found["exceptionBreakpointFilters"] = [_THROWN]
    return found


__all__ = ["changed_capabilities"]
