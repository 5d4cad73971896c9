"""Conditions in Java, imported with the grammar of expressions once a breakpoint has one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from jvmti.expressions import JavaCondition
from jvmti.expressions.evaluation import PYTHON

if TYPE_CHECKING:
    from jvmti.model.debug.stops import Stop


class RuleCondition(JavaCondition):
    """A condition in Java, whose failures the user gets to know.

    Args:
        text: the condition.
        holds: evaluates all of it, where a thread has stopped.
    """

    def __init__(self, text: str, holds: Callable[[Stop], bool]) -> None:
        super().__init__(text)
        self._holds = holds

    def __call__(self, stop: Stop) -> bool:
        """See `JavaCondition`."""
        return self._holds(stop)


def condition_of(text: str, holds: Callable[[Stop], bool]) -> RuleCondition | None:
    """A condition; ``None`` if it is in Python, which no agent decides.

    Args:
        text: the condition.
        holds: evaluates it where a thread has stopped.
    """
    return None if text.startswith(PYTHON) else RuleCondition(text, holds)


__all__ = ["RuleCondition", "condition_of"]
