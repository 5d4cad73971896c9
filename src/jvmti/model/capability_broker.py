"""Capabilities of a JVM: held, available, emulated by an engine, or unavailable with the reason.

The model, the commands, the prompt and the errors all ask here.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from jvmti.emulation.natively import Native
from jvmti.env.events import EVENTS
from jvmti.env.interface import FUNCTIONS
from jvmti.interface.capabilities import ALL, ONLOAD_ONLY, SOLO, Capabilities
from jvmti.interface.frozen import frozen

if TYPE_CHECKING:
    from jvmti.model.vm import VM


_AT_START = "HotSpot grants it only while the VM starts"
_START_IT = (
    "start the program with the agent: `jvmti shell -- java …`, `jvmti.launch` in Python, or the "
    "options that `jvmti agent-options --reserve` prints"
)


class Source(Enum):
    """Where a capability comes from."""

    NATIVE = "native"
    """The VM gives it."""
    EMULATED = "emulated"
    """The VM does not grant it, but an engine does the same by other means."""
    UNAVAILABLE = "unavailable"
    """It is not available now."""


@frozen
class Support:
    """The state of one capability, and what depends on it."""

    capability: Capabilities
    """The one."""
    source: Source
    """Where it comes from."""
    why: str
    """The engine if it is emulated, the reason if it is unavailable; else empty."""
    how: str
    """The remedy for an unavailable one; empty if there is none."""
    functions: tuple[str, ...]
    """The functions of `Env` that need it, by their PEP 8 names."""
    events: tuple[str, ...]
    """The events that need it."""


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
    emulated: Capabilities
    """Those that the VM does not grant and an engine emulates.

    The model uses them; `add_capabilities` gives them in a session opened with ``emulate=True``.
    """
    unavailable: list[Unavailable]
    """Those that it cannot add now."""


class CapabilityBroker:
    """Answers for every capability of a VM."""

    def __init__(self, vm: VM) -> None:
        self._vm = vm

    def status(self) -> CapabilityStatus:
        """The capabilities of ``vm.env`` now.

        JVM TI: GetCapabilities, GetPotentialCapabilities.
        """
        env, emulation = self._vm.env, self._vm.emulation
        held, potential = env.get_capabilities(), env.get_potential_capabilities()
        available = potential & ~held
        emulated = emulation.emulates & ~self._native()
        unavailable = [
            Unavailable(one, *self.reason(one, potential))
            for one in ALL & ~held & ~available & ~emulated
        ]
        return CapabilityStatus(held, available, emulated, unavailable)

    def _native(self) -> Capabilities:
        """The capabilities that the VM itself has granted ``vm.env``, or would grant."""
        env = Native(self._vm.env)
        granted: Capabilities = env.get_capabilities() | self._vm._capability_pool.potential(
            self._vm.env
        )
        return granted

    def supports(self) -> list[Support]:
        """The state of each capability for ``vm.env`` now, in their order.

        JVM TI: GetCapabilities, GetPotentialCapabilities.
        """
        potential = native = self._native()
        return [self._support(one, native, potential) for one in ALL]

    def reason(self, one: Capabilities, potential: Capabilities) -> tuple[str, str]:
        """Why a capability is not available, and what to do; empty if there is nothing.

        Args:
            one: the capability.
            potential: what the VM grants now.
        """
        if one & Capabilities.can_support_virtual_threads:
            if self._vm.version.major < 21:
                return "virtual threads came with Java 21", "use a newer Java"
            return "this VM has no virtual threads of its own", "use a VM that has them"
        # If other OnLoad capabilities are available, they were reserved, or this is that phase.
        reserved = bool(potential & ONLOAD_ONLY & ~SOLO)
        if one & SOLO and (reserved or not one & ONLOAD_ONLY):
            return (
                "another agent holds it, and only one can at a time",
                "`jvmti doctor --attach` names the agents; end that tool, or free the capability",
            )
        if one & ONLOAD_ONLY:
            return _AT_START, _START_IT
        return "this VM does not offer it", ""

    def _support(self, one: Capabilities, native: Capabilities, potential: Capabilities) -> Support:
        source, why, how = Source.NATIVE, "", ""
        if one not in native:
            engine = self._vm.emulation.engine(one)
            if engine is not None:
                source, why = Source.EMULATED, engine.name
            else:
                source = Source.UNAVAILABLE
                why, how = self.reason(one, potential)
        name = one.name
        functions = [key for key, declared in FUNCTIONS.items() if name in declared.capabilities]
        events = [
            event.declaration.name
            for event in EVENTS.values()
            if name in event.declaration.capabilities
        ]
        return Support(one, source, why, how, tuple(functions), tuple(events))


__all__ = ["CapabilityBroker", "CapabilityStatus", "Source", "Support", "Unavailable"]
