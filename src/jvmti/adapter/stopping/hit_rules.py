"""When a breakpoint stops a thread: its condition, its hit condition, and its text to log."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from jvmti.adapter.protocol.arguments import Arguments, RequestFailed
from jvmti.adapter.protocol.conversation import explained
from jvmti.adapter.showing.shown_values import text_of
from jvmti.adapter.stopping.recorded_logpoints import RecordedText, recorded_text
from jvmti.interface.errors import Error, NotAvailable, StopOver

if TYPE_CHECKING:
    from jvmti.adapter.debug_session import DebugSession
    from jvmti.adapter.showing.evaluation import Evaluation
    from jvmti.expressions import JavaCondition, PythonCondition
    from jvmti.model.classes.java_class import Method
    from jvmti.model.debug.stops import Stop
    from jvmti.model.vm import VM

_HITS = re.compile(r"\s*(==?|>=?|%|every|after)?\s*([0-9]{1,18})\s*\Z")


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


def counted_hits(text: str) -> int | str | None:
    """The hits that a client's text means, as `jvmti.model.debug` takes them.

    Args:
        text: ``10``, ``>= 10``, ``> 10`` or ``% 10``; empty for all.

    Raises:
        RequestFailed: it means none.
    """
    if not text:
        return None
    found = _HITS.match(text)
    number = int(found[2]) if found else 0
    if found is None or (number < 1 and found[1] not in (">", ">=", "after")):
        raise RequestFailed(
            f"a hit condition is a number, as 10 for the tenth hit, >= 10, > 10 or % 10 for "
            f"every tenth; not {text!r}"
        )
    match found[1]:
        case "%" | "every":
            return number
        case ">" | "after":
            return f"after {number}" if number else None
        case ">=":
            return f"after {number - 1}" if number > 1 else None
    return f"only {number}"


class RecordedRule(NamedTuple):
    """A rule as the agent records it."""

    text: RecordedText
    """The text."""
    when: str | None
    """The condition in the agent's words; ``None`` for none."""
    every: int
    """Only each n-th hit is recorded."""


class RuleFunctions:
    """The functions that `jvmti.model.debug` calls for a breakpoint with a rule; this one is called
    with each stop that counts, to log the text or keep the thread.

    Args:
        session: what requests share.
        evaluation: evaluates conditions and texts to log.
        rule: the rule.
        reached: what to do with a thread that is to stop.
        unreadable: is called once with the reason, if the condition has a variable that such an
            agent cannot read where threads stop.

    Raises:
        ExpressionError: the text to log has what is no expression.
        ImportError: ``tree-sitter`` is not installed.
    """

    def __init__(
        self,
        session: DebugSession,
        evaluation: Evaluation,
        rule: Rule,
        reached: Callable[[Stop], object],
        unreadable: Callable[[str], object],
    ) -> None:
        self._session = session
        self._evaluation = evaluation
        self._rule = rule
        self._reached = reached
        self._unreadable = unreadable
        self._has_complained = False
        self.hits = counted_hits(rule.hits)
        self._parts: Sequence[tuple[str, str | None]] = ()
        """The text to log: literal text, and the expression in braces behind it."""
        if rule.message:
            from jvmti.expressions.parsing import text_parts  # most have no text

            self._parts = text_parts(rule.message)

    @property
    def is_logpoint(self) -> bool:
        """Whether it logs a text instead of stopping threads."""
        return bool(self._rule.message)

    @property
    def when(self) -> Callable[[Stop], object] | None:
        """The condition, which the agent decides as far as it can; ``None`` if there is none.

        Raises:
            ExpressionError: it is not an expression of its language, or writes to the program.
            ImportError: ``tree-sitter`` is not installed.
        """
        return self._condition() if self._rule.condition else None

    def _condition(self) -> JavaCondition | PythonCondition:
        from jvmti.expressions import PYTHON, JavaCondition, PythonCondition  # most have none

        text = self._rule.condition
        language = PythonCondition if text.startswith(PYTHON) else JavaCondition
        return language(text, decide=self._holds)

    def recorded_at(self, vm: VM, places: Sequence[tuple[Method, int]]) -> RecordedRule | None:
        """The rule as the agent can record it, without a stop; ``None`` if it cannot.

        Args:
            vm: the VM.
            places: methods and bytecode indices in loaded classes.
        """
        every = 1 if self.hits is None else self.hits
        if not self._rule.message or not places or not isinstance(every, int):
            return None
        when = None
        if self._rule.condition:
            when, rest = self._condition().decided_at(vm, places)
            if when is None or rest is not None:
                return None
        text = self._text_at(vm, places)
        return None if text is None else RecordedRule(text, when, every)

    def recording(self, method: Method, at: int) -> RecordedText | None:
        """The text as the agent records it at a breakpoint of the VM; ``None`` if it cannot, or
        there is none."""
        if not self._rule.message:
            return None
        vm = self._session.vm
        text = self._text_at(vm, [(method, at)])
        if text is not None:
            self._session.logpoints.follow(vm)
        return text

    def _text_at(self, vm: VM, places: Sequence[tuple[Method, int]]) -> RecordedText | None:
        method, at = places[0]
        starts = [one for one in method.lines if one.start_location <= at]
        last = max(starts, key=lambda one: one.start_location, default=None)
        line = self._session.to_client(None if last is None else last.line_number)
        return recorded_text(self._parts, line, vm, places)

    def _holds(self, stop: Stop) -> bool:
        try:
            return self._evaluation.holds(stop, self._rule.condition)
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
                if isinstance(error, NotAvailable):
                    self._unreadable(explained(error))
            return True

    def __call__(self, stop: Stop) -> None:
        """Log the text, or stop the thread."""
        if not self._rule.message:
            self._reached(stop)
            return
        text = self._text(stop)
        self._session.logpoints.flush()  # what was recorded before comes before it
        self._session.conversation.event(
            "output",
            category="stdout",
            output=f"{text}\n",
            line=self._session.to_client(stop.line),
        )

    def _text(self, stop: Stop) -> str:
        frame = stop.frame

        def value(expression: str) -> str:
            try:
                value: Any = self._evaluation.at(stop, frame, expression)
            except (Error, LookupError, ValueError, TypeError, ArithmeticError) as error:
                return f"<{explained(error)}>"
            return value if isinstance(value, str) else text_of(value)

        return "".join(
            literal + ("" if expression is None else value(expression))
            for literal, expression in self._parts
        )


__all__ = ["RecordedRule", "Rule", "RuleFunctions", "counted_hits"]
