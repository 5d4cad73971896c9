"""The part of a VM that profiles use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from jvmti.wire.session import Session

__all__ = ["ProfiledVM"]


class ProfiledVM(Protocol):
    """A running VM, such as `jvmti.VM`."""

    process: Any
    _session: Session
    _agent: Any

    @property
    def flags(self) -> Any:
        """The flags of the VM."""

    @property
    def version(self) -> Any:
        """The version of its interface."""
