"""The operations of one session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jvmti.operations.functions import Operations

if TYPE_CHECKING:
    from jvmti.interface.declaration import Declaration
    from jvmti.wire.session import Session


class AgentOperations(Operations):
    """The agent's own operations on one session.

    Args:
        session: the session.
        number: of the environment that calls them.
        timeout: seconds for each; ``None`` is the session's limit.
        descriptor: passed along with each; it stays open here.
    """

    __slots__ = ("_descriptor", "_number", "_session", "_timeout")

    def __init__(
        self,
        session: Session,
        number: int = 1,
        timeout: float | None = None,
        descriptor: int | None = None,
    ) -> None:
        self._session = session
        self._number = number
        self._timeout = timeout
        self._descriptor = descriptor

    def _call(self, declaration: Declaration, arguments: tuple[Any, ...]) -> Any:
        return self._session.call(
            declaration, self._number, arguments, self._timeout, self._descriptor
        )


__all__ = ["AgentOperations"]
