"""The part of a VM that tracing uses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from jvmti.wire.session import Session

__all__ = ["TracedVM"]


class TracedVM(Protocol):
    """A running VM, such as `jvmti.VM`."""

    env: Any
    classes: Any
    threads: Any
    _session: Session
    _agent: Any

    @property
    def lookup_env(self) -> Any:
        """An environment that looks things up."""

    @property
    def jni(self) -> Any:
        """The functions of JNI."""
