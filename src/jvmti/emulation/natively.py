"""The VM's own functions of an environment, bypassing emulation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jvmti.env.interface import Functions

if TYPE_CHECKING:
    from jvmti.env.environment import Env
    from jvmti.interface.declaration import Declaration


class Native(Functions):
    """The functions of an environment, each called in the VM."""

    __slots__ = ("_env",)

    def __init__(self, env: Env) -> None:
        self._env = env

    def _call(self, declaration: Declaration, arguments: tuple[Any, ...]) -> Any:
        return self._env.call_natively(declaration, arguments)


__all__ = ["Native"]
