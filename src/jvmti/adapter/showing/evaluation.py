"""Expressions: in hovers, watch lists and the console, in conditions and logpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jvmti import expressions
from jvmti.adapter.protocol.arguments import Arguments, RequestFailed
from jvmti.adapter.protocol.requests import answers
from jvmti.adapter.showing.stacks import FrameReference
from jvmti.adapter.showing.value_parts import Part
from jvmti.adapter.stopped_threads import HaltedThread
from jvmti.model.values.conversion import PRIMITIVE_NAMES
from jvmti.text.printable import printable

if TYPE_CHECKING:
    from jvmti.adapter.debug_session import DebugSession
    from jvmti.adapter.showing.variables import VariableRequests
    from jvmti.expressions import Evaluated
    from jvmti.model.debug.stops import Stop
    from jvmti.model.threads.frames import Frame

_KINDS = {
    "variable": "variable",
    "field": "field",
    "method": "method",
    "class": "class",
    "package": "module",
    "keyword": "keyword",
}
"""The protocol's words for what a name stands for."""
_WITHIN = 5000
"""Milliseconds that an expression may take, unless the configuration says otherwise."""


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
        return self.typed(reference, text).value

    def at(self, stop: Stop, frame: Frame, text: str) -> Any:
        """The value of an expression in the topmost frame of a stop.

        Raises:
            Error: it cannot be evaluated, or what it calls throws.
        """
        return expressions.evaluated(frame, text, timeout=self.patience, names=stop.names).value

    def holds(self, stop: Stop, text: str) -> bool:
        """Whether a condition holds at a stop; errors as for `at`, and if it is no boolean."""
        return expressions.holds(stop, text, self.patience)

    def typed(self, reference: FrameReference, text: str, *, pure: bool = False) -> Evaluated:
        """The value of an expression in a frame with its static type.

        Args:
            reference: the frame.
            text: the expression.
            pure: refuse what runs code of the program.
        """
        stop = reference.halted.stop
        names = None if stop is None else stop.names
        return expressions.evaluated(
            reference.frame(), text, timeout=self.patience, pure=pure, names=names
        )

    def assigned(self, reference: FrameReference, target: str, text: str) -> Evaluated:
        """Assign the value of an expression to a variable, field or element; see `value`."""
        return expressions.assign(reference.frame(), target, text, timeout=self.patience)

    @property
    def patience(self) -> float:
        """Seconds that an expression may take."""
        return self._session.configuration.number("evaluateTimeout", _WITHIN) / 1000


PRIMITIVES = {name: letter for letter, name in PRIMITIVE_NAMES.items()}
"""The signatures of the primitive types, by their names."""


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
        in_python = text.startswith(expressions.PYTHON)
        if in_python and not given.has("frameId") and not self._session.halted.all():
            return self._without_frame(text)
        halted, reference = self._frame(given)
        as_hex = given.inner("format").flag("hex")
        # Pointing at a text must not run anything.
        is_hover = given.text("context", "") == "hover"

        def read() -> dict[str, Any]:
            found = self._evaluation.typed(reference, text, pure=is_hover)
            shown = self._shown(halted, reference, text, found, as_hex)
            shown["result"] = shown.pop("value")
            return shown

        return self._session.run(halted, read)

    def _without_frame(self, text: str) -> dict[str, Any]:
        """The value of a Python expression about the VM, while no thread has stopped."""
        value = expressions.PythonExpression(text).value_without_frame(self._session.vm)
        return {
            "result": printable(repr(value)),
            "type": type(value).__name__,
            "variablesReference": 0,
        }

    def _shown(
        self,
        halted: HaltedThread,
        reference: FrameReference,
        text: str,
        found: Evaluated,
        as_hex: bool,
    ) -> dict[str, Any]:
        signature = PRIMITIVES.get(found.type)
        part = Part(text, found.value, signature, path=text)
        shown = self._variables.value(halted, part, reference, as_hex)
        if found.type == "void":
            shown["value"] = "(no value)"
        if found.value is None:
            shown["type"] = found.type
        return shown

    @answers("completions")
    def completions(self, given: Arguments) -> dict[str, Any]:
        """The names that may stand where the cursor is."""
        text = given.text("text")
        column = given.number("column") - self._session.first_column
        if not given.has("frameId") and not self._session.halted.all():
            return {"targets": []}
        halted, reference = self._frame(given)

        def read() -> list[dict[str, Any]]:
            names = None if halted.stop is None else halted.stop.names
            return [
                {
                    "label": one.label,
                    "text": one.text,
                    "detail": one.type,
                    "type": _KINDS.get(one.kind, "text"),
                    "start": one.start + self._session.first_column,
                    "length": max(min(column, len(text)) - one.start, 0),
                }
                for one in expressions.completions(reference.frame(), text, column, names)
            ]

        return {"targets": self._session.run(halted, read)}

    @answers("setExpression")
    def set_expression(self, given: Arguments) -> dict[str, Any]:
        """Assign to the variable, field or element that an expression names."""
        target, text = given.text("expression"), given.text("value")
        halted, reference = self._frame(given)
        as_hex = given.inner("format").flag("hex")

        def write() -> dict[str, Any]:
            found = self._evaluation.assigned(reference, target, text)
            return self._shown(halted, reference, target, found, as_hex)

        return self._session.run(halted, write)


__all__ = ["EvaluateRequests", "Evaluation"]
