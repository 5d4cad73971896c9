"""The part of a VM that profiles use."""

from __future__ import annotations

from typing import Any, Protocol

from jvmti.tracing.traced_vm import TracedVM

__all__ = ["ProfiledVM"]


class ProfiledVM(TracedVM, Protocol):
    """A running VM, such as `jvmti.VM`."""

    process: Any

    def new_env(self) -> Any:
        """A new environment."""

    @property
    def trace(self) -> Any:
        """Records calls of methods."""

    @property
    def diagnostic_command(self) -> Any:
        """Runs a diagnostic command."""

    @property
    def flags(self) -> Any:
        """The flags of the VM."""

    @property
    def version(self) -> Any:
        """The version of its interface."""
