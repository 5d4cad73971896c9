"""The base of all groups of declared functions: the one way to call a declared function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jvmti.interface.declaration import Declaration


class Calling:
    """Base of the interfaces: `_call` carries a declared function to the agent."""

    __slots__ = ()

    def _call(self, declaration: Declaration, arguments: tuple[Any, ...]) -> Any:
        raise NotImplementedError  # Env and JNI say through which session and environment
