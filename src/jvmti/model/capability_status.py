"""Capabilities of a JVM: held, available, and unavailable with the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from jvmti.interface.capabilities import ALL, ONLOAD_ONLY, SOLO, Capabilities

if TYPE_CHECKING:
    from jvmti.model.vm import VM

_AT_START = "HotSpot grants it only while the VM starts"
_START_IT = (
    "start the program with the agent: `jvmti shell -- java …`, `jvmti.launch` in Python, or the "
    "options that `jvmti agent-options --reserve` prints"
)


class Unavailable(NamedTuple):
    """A capability that is not available."""

    capability: Capabilities
    """The capability."""
    why: str
    """The reason."""
    how: str
    """The remedy; empty if there is none."""


class CapabilityStatus(NamedTuple):
    """The capabilities of ``vm.env``."""

    held: Capabilities
    """Those that it holds."""
    available: Capabilities
    """Those that it could add."""
    unavailable: list[Unavailable]
    """Those that it cannot add now."""


def capability_status(vm: VM) -> CapabilityStatus:
    """The capabilities of ``vm.env`` on this JVM, now.

    JVM TI: GetCapabilities, GetPotentialCapabilities.
    """
    held, potential = vm.env.get_capabilities(), vm.env.get_potential_capabilities()
    unavailable = [
        Unavailable(one, *reason(vm, one, potential)) for one in ALL & ~potential & ~held
    ]
    return CapabilityStatus(held, potential & ~held, unavailable)


def reason(vm: VM, one: Capabilities, available: Capabilities) -> tuple[str, str]:
    """Why a capability is not available, and what to do."""
    if one & Capabilities.can_support_virtual_threads:
        if vm.version.major < 21:
            return "virtual threads came with Java 21", "use a newer Java"
        return "this VM has no virtual threads of its own", "use a VM that has them"
    # If others of the OnLoad phase are available, they were reserved or this is that phase.
    reserved = bool(available & ONLOAD_ONLY & ~SOLO)
    if one & SOLO and (reserved or not one & ONLOAD_ONLY):
        return (
            "another agent holds it, and only one can at a time",
            "`jvmti doctor --attach` names the agents; end that tool, or have it relinquished",
        )
    if one & ONLOAD_ONLY:
        return _AT_START, _START_IT
    return "this VM does not offer it", ""


__all__ = ["CapabilityStatus", "Unavailable", "capability_status", "reason"]
