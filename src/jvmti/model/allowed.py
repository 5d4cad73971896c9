"""What a JVM allows: capabilities that are held, that can be had, and why not the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from jvmti.spec.capabilities import ALL, ONLOAD_ONLY, SOLO, Capabilities

if TYPE_CHECKING:
    from jvmti.model.vm import VM

_AT_START = "HotSpot grants it while the VM starts only"
_START_IT = (
    "start the program with the agent: `jvmti shell -- java …`, `jvmti.launch` in Python, or the "
    "options that `jvmti agent-options --reserve` prints"
)


class Missing(NamedTuple):
    """A capability that cannot be had."""

    capability: Capabilities
    """The one."""
    why: str
    """Why not."""
    how: str
    """What to do about it; empty if there is nothing."""


class Allowed(NamedTuple):
    """What ``vm.env`` may do."""

    held: Capabilities
    """What it holds."""
    available: Capabilities
    """What it does not hold, and can be given."""
    missing: list[Missing]
    """What it cannot be given now."""


def allowed(vm: VM) -> Allowed:
    """What ``vm.env`` may do on this JVM, at this moment.

    JVM TI: GetCapabilities, GetPotentialCapabilities.
    """
    held, potential = vm.env.get_capabilities(), vm.env.get_potential_capabilities()
    missing = [Missing(one, *reason(vm, one, potential)) for one in ALL & ~potential & ~held]
    return Allowed(held, potential & ~held, missing)


def reason(vm: VM, one: Capabilities, available: Capabilities) -> tuple[str, str]:
    """Why a capability cannot be had, and what to do about it."""
    if one & Capabilities.can_support_virtual_threads:
        if vm.version.major < 21:
            return "virtual threads came with Java 21", "use a newer Java"
        return "this VM has no virtual threads of its own", "use a VM that has them"
    # Where other ones of the OnLoad phase can be had, they were reserved or it is that phase.
    reserved = bool(available & ONLOAD_ONLY & ~SOLO)
    if one & SOLO and (reserved or not one & ONLOAD_ONLY):
        return (
            "another agent holds it, and only one can",
            "`jvmti doctor --attach` names the agents; have it given up, or end that tool",
        )
    if one & ONLOAD_ONLY:
        return _AT_START, _START_IT
    return "this VM does not offer it", ""


__all__ = ["Allowed", "Missing", "allowed", "reason"]
