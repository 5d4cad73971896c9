"""The declaration of an emulating engine: capabilities, functions, events, and the differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

if TYPE_CHECKING:
    from jvmti.env.environment import Env
    from jvmti.interface.capabilities import Capabilities

StandIn = Callable[..., Any]
"""A replacement of a VM function: it takes the environment and the arguments.

It returns the function's result, or ``NotImplemented`` to leave the call to the next engine.
"""


_NOTHING: Mapping[str, str] = MappingProxyType({})


class Emulated(NamedTuple):
    """How an engine stands in for one capability."""

    capability: Capabilities
    """The one."""
    functions: tuple[str, ...] = ()
    """The functions of `Env` that the engine has a method for, by their PEP 8 names."""
    events: tuple[str, ...] = ()
    """The events that it sends, by their names."""
    differs: Mapping[str, str] = _NOTHING
    """The differences from the VM's own functions and events, in a sentence each.

    Everything else behaves as specified.
    """
    lacks: Mapping[str, str] = _NOTHING
    """Functions and events that depend on the capability and that the engine cannot do, and why."""
    since: int = 11
    """The first Java release where the engine can."""


class Engine(Protocol):
    """Stands in for capabilities that the VM does not grant."""

    name: ClassVar[str]
    """The engine's name in reasons: its means of emulation."""
    emulated: ClassVar[tuple[Emulated, ...]]
    """The capabilities that it emulates."""

    def __init__(self, vm: Any) -> None: ...

    @property
    def emulates(self) -> Capabilities:
        """The capabilities that it can stand in for on this VM, at this moment."""

    def released(self, env: Env, capabilities: Capabilities) -> None:
        """Undo the use of capabilities that an environment relinquishes, also when it ends."""


__all__ = ["Emulated", "Engine", "StandIn"]
