"""When a breakpoint stops a thread: its condition, its hit condition, and its text to log."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from jvmti.adapter.protocol.arguments import Arguments, RequestFailed
from jvmti.adapter.protocol.conversation import explained
from jvmti.adapter.showing.shown_values import text_of
from jvmti.expressions import condition
from jvmti.expressions.evaluation import PYTHON
from jvmti.interface.errors import Error, StopOver

if TYPE_CHECKING:
    from jvmti.adapter.debug_session import DebugSession
    from jvmti.adapter.showing.evaluation import Evaluation
    from jvmti.debug.stops import Stop

_HITS = re.compile(r"\s*(==?|>=?|%|every|after)?\s*([0-9]{1,18})\s*\Z")
_BRACES = re.compile(r"\{([^{}]*)\}")


class Rule(NamedTuple):
    """The wishes of a client for a breakpoint, besides its place."""

    condition: str
    """An expression; empty for none."""
    hits: str
    """Which hits count; empty for all."""
    message: str
    """The text to log instead of stopping; empty to stop."""

    @staticmethod
    def of(given: Arguments) -> Rule:
        """The rule in the arguments of a breakpoint."""
        texts = (given.text(name, "") for name in ("condition", "hitCondition", "logMessage"))
        return Rule(*(one.strip() for one in texts))


class Hits(NamedTuple):
    """Which hits of a breakpoint count."""

    counted: int | str | None
    """As `jvmti.debug` takes it."""
    once: bool
    """Whether only the first of them does."""

    @staticmethod
    def of(text: str) -> Hits:
        """The hits that a client's text means: ``10``, ``>= 10``, ``> 10`` or ``% 10``.

        Raises:
            RequestFailed: it means none.
        """
        if not text:
            return Hits(None, False)
        found = _HITS.match(text)
        number = int(found[2]) if found else 0
        if found is None or (number < 1 and found[1] not in (">", ">=", "after")):
            raise RequestFailed(
                f"a hit condition is a number, as 10 for the tenth hit, >= 10, > 10 or % 10 for "
                f"every tenth; not {text!r}"
            )
        match found[1]:
            case "%" | "every":
                return Hits(number, False)
            case ">" | "after":
                return Hits(f"after {number}" if number else None, False)
            case ">=":
                return Hits(f"after {number - 1}" if number > 1 else None, False)
        return Hits(f"after {number - 1}" if number > 1 else None, True)


class RuleFunctions:
    """The functions that `jvmti.debug` calls for a breakpoint with a rule.

    Args:
        session: what requests share.
        evaluation: evaluates conditions and texts to log.
        rule: the rule.
        reached: what to do with a thread that is to stop.
    """

    def __init__(
        self,
        session: DebugSession,
        evaluation: Evaluation,
        rule: Rule,
        reached: Callable[[Stop], object],
    ) -> None:
        self._session = session
        self._evaluation = evaluation
        self._rule = rule
        self._reached = reached
        self._has_complained = False
        self.hits = Hits.of(rule.hits)
        self._is_done = False

    @property
    def when(self) -> Callable[[Stop], object] | None:
        """The condition; ``None`` if there is none."""
        return self._holds if self._rule.condition else None

    @property
    def agent_condition(self) -> str | None:
        """The condition in the agent's language; ``None`` if it cannot decide all of it.

        Raises:
            ExpressionError: it is not an expression of Java.
            ImportError: ``tree-sitter`` is not installed.
        """
        text = self._rule.condition
        if not text or text.startswith(PYTHON):
            return None
        java = condition(text)
        return None if java.remaining is not None or java.not_for_float else java.in_agent

    def _holds(self, stop: Stop) -> bool:
        try:
            value = self._evaluation.in_frame(stop.frame, self._rule.condition)
        except StopOver:
            return False
        except (Error, LookupError, ValueError, TypeError, ArithmeticError) as error:
            if not self._has_complained:
                self._has_complained = True
                self._session.conversation.output(
                    f"the condition {self._rule.condition!r} cannot be evaluated, so threads "
                    f"stop: {explained(error)}\n",
                    "important",
                )
            return True
        return bool(value)

    def do(self, stop: Stop) -> None:
        """Log the text, or stop the thread."""
        if self.hits.once:
            if self._is_done:
                return
            self._is_done = True
        if self._rule.message:
            self._session.conversation.event(
                "output",
                category="stdout",
                output=self._text(stop) + "\n",
                line=self._session.to_client(stop.line),
            )
            return
        self._reached(stop)

    def _text(self, stop: Stop) -> str:
        frame = stop.frame

        def value(found: re.Match[str]) -> str:
            try:
                value: Any = self._evaluation.in_frame(frame, found[1])
            except (Error, LookupError, ValueError, TypeError, ArithmeticError) as error:
                return f"<{explained(error)}>"
            return value if isinstance(value, str) else text_of(value)

        return _BRACES.sub(value, self._rule.message)


__all__ = ["Hits", "Rule", "RuleFunctions"]
