"""Where a capability comes from: the VM, an engine of this package, or nowhere, and why."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Protocol

from jvmti.env.events import EVENTS
from jvmti.env.interface import FUNCTIONS
from jvmti.interface.capabilities import ALL, Capabilities
from jvmti.interface.frozen import frozen
from jvmti.model.capability_status import reason

if TYPE_CHECKING:
    from jvmti.model.vm import VM


class Source(Enum):
    """Where a capability comes from."""

    NATIVE = "native"
    """The VM gives it."""
    EMULATED = "emulated"
    """The VM does not, and an engine does the same by other means."""
    UNAVAILABLE = "unavailable"
    """Nothing gives it now."""


class Engine(Protocol):
    """Does by other means what the VM does not give."""

    @property
    def name(self) -> str:
        """What the engine is called in reasons."""

    @property
    def emulates(self) -> Capabilities:
        """The capabilities that it can stand in for on this VM, at this moment."""


@frozen
class Support:
    """What there is of one capability, and what depends on it."""

    capability: Capabilities
    """The one."""
    source: Source
    """Where it comes from."""
    why: str
    """The engine where it is emulated, the reason where it is unavailable; else empty."""
    how: str
    """What to do about one that is unavailable; empty if there is nothing."""
    functions: tuple[str, ...]
    """The functions of `Env` that need it, by their PEP 8 names."""
    events: tuple[str, ...]
    """The events that need it."""


class CapabilityBroker:
    """Answers for every capability of a VM; engines register with it."""

    def __init__(self, vm: VM) -> None:
        self._vm = vm
        self._engines: list[Engine] = []

    def register(self, engine: Engine) -> None:
        """Take an engine into account from now on; the VM comes first, then who came first."""
        self._engines.append(engine)

    def supports(self) -> list[Support]:
        """What there is of each capability for ``vm.env`` at this moment, in their order.

        JVM TI: GetCapabilities, GetPotentialCapabilities.
        """
        potential = self._vm.env.get_potential_capabilities()
        native = potential | self._vm.env.get_capabilities()
        return [self._support(one, native, potential) for one in ALL]

    def _support(self, one: Capabilities, native: Capabilities, potential: Capabilities) -> Support:
        source, why, how = Source.NATIVE, "", ""
        if one not in native:
            engine = next((engine for engine in self._engines if one in engine.emulates), None)
            if engine is not None:
                source, why = Source.EMULATED, engine.name
            else:
                source = Source.UNAVAILABLE
                why, how = reason(self._vm, one, potential)
        name = one.name
        functions = [key for key, declared in FUNCTIONS.items() if name in declared.capabilities]
        events = [
            event.declaration.name
            for event in EVENTS.values()
            if name in event.declaration.capabilities
        ]
        return Support(one, source, why, how, tuple(functions), tuple(events))


__all__ = ["CapabilityBroker", "Engine", "Source", "Support"]
