"""Expressions: in hovers, watch lists and the console, in conditions and logpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jvmti.adapter.arguments import Arguments, RequestFailed
from jvmti.adapter.requests import answers
from jvmti.adapter.stacks import FrameReference
from jvmti.adapter.stopped_threads import HaltedThread
from jvmti.adapter.value_parts import Part

if TYPE_CHECKING:
    from jvmti.adapter.debug_session import DebugSession
    from jvmti.adapter.variables import VariableRequests
    from jvmti.model.threads.frames import Frame

_WITHIN = 10.0
"""Seconds that an expression may take, unless the configuration says otherwise."""


class Evaluation:
    """Evaluates expressions in frames.

    Args:
        session: what requests share.
    """

    def __init__(self, session: DebugSession) -> None:
        self._session = session

    def top(self, halted: HaltedThread) -> FrameReference:
        """The topmost frame of a stopped thread."""
        return FrameReference(halted, 0)

    def value(self, reference: FrameReference, text: str) -> Any:
        """The value of an expression in a frame; to be called by way of `HaltedThread.run`."""
        return self.in_frame(reference.frame(), text)

    def in_frame(self, frame: Frame, text: str) -> Any:
        """The value of an expression in a frame.

        Raises:
            RequestFailed: it cannot be evaluated.
        """
        return simple_value(frame, text)


def simple_value(frame: Frame, text: str) -> Any:
    """The value of a constant, a variable, or fields of one."""
    text = text.strip()
    known = {"true": True, "false": False, "null": None}
    if text in known:
        return known[text]
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    name, *fields = text.split(".")
    value = frame.locals[name] if name in frame.locals else frame.this[name]
    for field in fields:
        if value is None or not hasattr(value, "cls"):
            raise RequestFailed(f"{text}: there is no field {field!r} in it")
        value = value[field]
    return value


class EvaluateRequests:
    """Answers requests with expressions.

    Args:
        session: what requests share.
        evaluation: evaluates them.
        variables: shows their values.
    """

    def __init__(
        self, session: DebugSession, evaluation: Evaluation, variables: VariableRequests
    ) -> None:
        self._session = session
        self._evaluation = evaluation
        self._variables = variables

    def _frame(self, given: Arguments) -> tuple[HaltedThread, FrameReference]:
        if not given.has("frameId"):
            halted = self._session.halted.all()
            if not halted:
                raise RequestFailed(
                    "expressions are evaluated in a frame: pause a thread, or stop one"
                )
            return halted[0], self._evaluation.top(halted[0])
        found = self._session.references.get(given.number("frameId"), FrameReference, "frame")
        return found[0], found[1]

    @answers("evaluate")
    def evaluate(self, given: Arguments) -> dict[str, Any]:
        """The value of an expression."""
        text = given.text("expression")
        halted, reference = self._frame(given)
        as_hex = given.inner("format").flag("hex")

        def read() -> dict[str, Any]:
            value = self._evaluation.value(reference, text)
            part = Part(text, value, path=text)
            shown = self._variables.value(halted, part, reference, as_hex)
            shown["result"] = shown.pop("value")
            return shown

        return self._session.run(halted, read)


__all__ = ["EvaluateRequests", "Evaluation"]
