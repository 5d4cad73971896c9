"""The part of a VM that emulating engines use: the model stands above them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from jvmti.emulation.registry import Emulation
    from jvmti.env.environment import Env, Mapped
    from jvmti.jni.calls import JNI
    from jvmti.operations.agent import AgentOperations

__all__ = ["EmulatedVM"]


class EmulatedVM(Protocol):
    """A running VM, such as `jvmti.VM`."""

    _agent: AgentOperations
    jni: JNI
    emulation: Emulation

    @property
    def classes(self) -> Callable[[str], Any]:
        """The loaded classes of a pattern."""

    @property
    def heap(self) -> Any:
        """The objects of the VM."""

    @property
    def held(self) -> bool:
        """Whether it waits in the OnLoad phase."""

    @property
    def lookup_env(self) -> Env:
        """An environment that looks things up."""

    @property
    def map(self) -> Mapped:
        """JNI functions for many objects at once."""

    def bootstrap_class(self, name: str) -> Any:
        """The class of this name of the bootstrap loader."""
