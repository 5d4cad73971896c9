"""What an emulating engine says of itself: capabilities, functions, events, and the differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

if TYPE_CHECKING:
    from jvmti.env.environment import Env
    from jvmti.interface.capabilities import Capabilities
    from jvmti.model.vm import VM

StandIn = Callable[..., Any]
"""What is called instead of a function of the VM: it takes the environment and the arguments.

It returns what the function would, or ``NotImplemented`` to leave the call to the next engine.
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
    """In what functions and events differ from the VM's own, in a sentence each.

    What is not named behaves as the specification says.
    """
    lacks: Mapping[str, str] = _NOTHING
    """Functions and events that depend on the capability and that the engine cannot do, and why."""
    since: int = 11
    """The first Java release where the engine can."""


class Engine(Protocol):
    """Stands in for capabilities that the VM does not grant."""

    name: ClassVar[str]
    """The engine's name in reasons: by what means it emulates."""
    emulated: ClassVar[tuple[Emulated, ...]]
    """What it stands in for."""

    def __init__(self, vm: VM) -> None: ...

    @property
    def emulates(self) -> Capabilities:
        """The capabilities that it can stand in for on this VM, at this moment."""

    def released(self, env: Env, capabilities: Capabilities) -> None:
        """Undo what an environment has with capabilities that it gives up, or because it ends."""


__all__ = ["Emulated", "Engine", "StandIn"]
