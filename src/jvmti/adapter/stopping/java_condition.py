"""Conditions in Java or Python, imported with the grammar of expressions once one is needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from jvmti.expressions import PYTHON, JavaCondition, PythonCondition

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


class PythonRuleCondition(PythonCondition):
    """The same in Python."""

    def __init__(self, text: str, holds: Callable[[Stop], bool]) -> None:
        super().__init__(text)
        self._holds = holds

    def __call__(self, stop: Stop) -> bool:
        """See `PythonCondition`."""
        return self._holds(stop)


def condition_of(text: str, holds: Callable[[Stop], bool]) -> RuleCondition | PythonRuleCondition:
    """A condition, whose part that the agent decides is left to it.

    Args:
        text: the condition.
        holds: evaluates it where a thread has stopped.

    Raises:
        ExpressionError: it is not an expression of its language.
        ImportError: ``tree-sitter`` is not installed.
    """
    in_python = text.startswith(PYTHON)
    return (PythonRuleCondition if in_python else RuleCondition)(text, holds)


__all__ = ["PythonRuleCondition", "RuleCondition", "condition_of"]
