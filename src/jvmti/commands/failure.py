"""How a command fails: one exception, which carries the exit code."""

from __future__ import annotations

from jvmti.interruption import INTERRUPTED

FAILED = 1
USAGE = 2
NOT_FOUND = 3
UNREACHABLE = 4


class CommandFailed(Exception):
    """A command fails; the message is for the user.

    Attributes:
        code: the exit code.
    """

    def __init__(self, message: str, code: int = FAILED) -> None:
        super().__init__(message)
        self.code = code


__all__ = [
    "FAILED",
    "INTERRUPTED",
    "NOT_FOUND",
    "UNREACHABLE",
    "USAGE",
    "CommandFailed",
]
