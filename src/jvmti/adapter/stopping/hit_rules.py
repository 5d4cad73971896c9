"""When a breakpoint stops a thread: its condition, its hit condition, and its text to log."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from jvmti.adapter.protocol.arguments import Arguments, RequestFailed
from jvmti.adapter.protocol.conversation import explained
from jvmti.adapter.showing.shown_values import text_of
from jvmti.adapter.stopping.recorded_logpoints import RecordedText, recorded_text
from jvmti.expressions import JavaCondition
from jvmti.expressions.evaluation import PYTHON
from jvmti.interface.errors import Error, StopOver

if TYPE_CHECKING:
    from jvmti.adapter.debug_session import DebugSession
    from jvmti.adapter.showing.evaluation import Evaluation
    from jvmti.debug.stops import Stop
    from jvmti.model.classes.java_class import Method
    from jvmti.model.vm import VM

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


class RecordedRule(NamedTuple):
    """A rule as the agent records it."""

    text: RecordedText
    """The text."""
    when: str | None
    """The condition in the agent's words; ``None`` for none."""
    every: int
    """Only each n-th hit is recorded."""


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
    def is_logpoint(self) -> bool:
        """Whether it logs a text instead of stopping threads."""
        return bool(self._rule.message)

    @property
    def when(self) -> Callable[[Stop], object] | None:
        """The condition, which the agent decides as far as it can; ``None`` if there is none.

        Raises:
            ExpressionError: it is not an expression of Java.
            ImportError: ``tree-sitter`` is not installed.
        """
        text = self._rule.condition
        if not text:
            return None
        return self._holds if text.startswith(PYTHON) else RuleCondition(text, self._holds)

    def recorded_at(self, vm: VM, places: Sequence[tuple[Method, int]]) -> RecordedRule | None:
        """The rule as the agent can record it, without a stop; ``None`` if it cannot.

        Args:
            vm: the VM.
            places: methods and bytecode indices in loaded classes.
        """
        every = 1 if self.hits.counted is None else self.hits.counted
        if not self._rule.message or not places or self.hits.once or not isinstance(every, int):
            return None
        when = None
        if self._rule.condition:
            condition = self.when
            if not isinstance(condition, JavaCondition):
                return None
            when, rest = condition.decided_at(vm, places)
            if when is None or rest is not None:
                return None
        text = recorded_text(self._parts(), vm, places)
        return None if text is None else RecordedRule(text, when, every)

    def _parts(self) -> list[tuple[str, str | None]]:
        """The text to log: literal text, and the expression in braces behind it."""
        *pairs, last = _BRACES.split(self._rule.message)
        found: list[tuple[str, str | None]] = list(zip(pairs[::2], pairs[1::2], strict=True))
        return [*found, (last, None)]

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

        def value(expression: str) -> str:
            try:
                value: Any = self._evaluation.in_frame(frame, expression)
            except (Error, LookupError, ValueError, TypeError, ArithmeticError) as error:
                return f"<{explained(error)}>"
            return value if isinstance(value, str) else text_of(value)

        return "".join(
            literal + ("" if expression is None else value(expression))
            for literal, expression in self._parts()
        )


__all__ = ["Hits", "RecordedRule", "Rule", "RuleCondition", "RuleFunctions"]
