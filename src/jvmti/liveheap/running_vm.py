"""The part of a VM that passes over the heap use: its session and the functions of both
interfaces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from jvmti.env.environment import Env, Mapped
    from jvmti.jni.calls import JNI
    from jvmti.target.processes.search import Process
    from jvmti.wire.session import Session

__all__ = ["RunningVM"]


class RunningVM(Protocol):
    """A running VM, such as `jvmti.VM`."""

    process: Process
    env: Env
    jni: JNI
    _session: Session

    @property
    def map(self) -> Mapped:
        """The JNI functions over columns."""
