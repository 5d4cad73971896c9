"""Evaluate an expression in a frame, and assign to what one names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jvmti.expressions.evaluator import Evaluator
from jvmti.expressions.parsing import checked_text, parsed
from jvmti.expressions.python_expression import PYTHON, PythonExpression
from jvmti.expressions.values.typed import Value
from jvmti.interface.frozen import frozen

if TYPE_CHECKING:
    from jvmti.model.threads.frames import Frame

TIME_LIMIT = 5.0
"""The default time limit of an expression in seconds."""


@frozen
class Evaluated:
    """The value of an expression, with its type.

    Attributes:
        value: as the model has it: a Python number, ``bool``, ``str`` or ``None``, or an object.
        type: the static type, as Java writes it: ``int``, ``java.lang.String``; that of an object
            itself where the declaration says only a type variable; ``void`` for a method without a
            result; of Python expressions the Python type.
    """

    value: Any
    type: str


def evaluate(frame: Frame, text: str, *, timeout: float | None = TIME_LIMIT) -> Any:
    """The value of a Java expression in a frame: ``order.total() > 3``.

    Methods and constructors run on the thread that the caller's requests go to: in the body of a
    loop over stops, or in a handler, the stopped thread itself; otherwise a thread of the agent's,
    see docs/calling.md. Text that begins with ``=py`` is a Python expression over the model, with
    the names ``frame``, ``this``, ``locals``, ``thread``, ``vm`` and those of the variables.

    Args:
        frame: the frame.
        text: the expression.
        timeout: seconds for all of it; ``None`` waits for ever.

    Returns:
        A Python value for numbers, characters, text and null, else an object of the model.

    Raises:
        ExpressionError: it is not an expression of Java, or something in it is unknown or of the
            wrong type.
        JavaException: a method threw, or Java itself: a division by zero, null where an object is
            needed, a wrong index or cast.
        CallTimeout: the time is over: the method still runs, and the thread with it.
        LeavingFrame: the thread has to leave its frame first, so it can run nothing.
        FrameGone: the thread has moved on.
        NotAvailable: this JVM does not let the agent read a variable.
        ImportError: ``tree-sitter`` is not installed; ``pip install 'jvmti[debug]'`` does.

    JVM TI: GetLocalInt and its siblings.  JNI: Call<Type>MethodA, Get<Type>Field and others.
    """
    return evaluated(frame, text, timeout=timeout).value


def evaluated(
    frame: Frame,
    text: str,
    *,
    timeout: float | None = TIME_LIMIT,
    pure: bool = False,
    names: Mapping[str, tuple[Any, str]] | None = None,
) -> Evaluated:
    """The value of an expression with its static type; see `evaluate`.

    Args:
        frame: the frame.
        text: the expression.
        timeout: seconds for all of it; ``None`` waits for ever.
        pure: refuse what runs code of the program or changes it: calls, ``new``, assignments.
        names: further values and their signatures, as `Stop.names` has them. The frame's own
            variables and fields come first.

    Raises:
        ExpressionError, JavaException, CallTimeout and others: as for `evaluate`.
    """
    if checked_text(text).startswith(PYTHON):
        return _in_python(frame, text, names or {})
    evaluator = Evaluator(frame, parsed(text), timeout, pure=pure)
    evaluator.bind({name: value for name, value in (names or {}).items() if name in text})
    return _result(evaluator, evaluator.evaluate())


def assign(
    frame: Frame, target: str, value: str, *, timeout: float | None = TIME_LIMIT
) -> Evaluated:
    """Assign to a variable, field or element; both sides are Java expressions.

    Args:
        frame: the frame.
        target: names the variable, field or element: ``order.lines[2]``.
        value: the new value.
        timeout: seconds for all of it; ``None`` waits for ever.

    Returns:
        The value that it has then, converted to its type.

    Raises:
        ExpressionError: the target is nothing to assign to, or is final, or does not take the
            value.
        JavaException, CallTimeout and others: as for `evaluate`.
    """
    left = Evaluator(frame, parsed(target), timeout)
    right = Evaluator(frame, parsed(value), timeout)
    left.running.prepare_to_call()
    root = left.expression.root
    place = left.place(root)
    return _result(left, left.assigned(root, place, right.evaluate()))


def _result(evaluator: Evaluator, value: Value) -> Evaluated:
    return Evaluated(evaluator.running.result(value), value.type_name)


def _in_python(frame: Frame, text: str, more: Mapping[str, tuple[Any, str]]) -> Evaluated:
    found = PythonExpression(text).value(frame, {name: value for name, (value, _) in more.items()})
    return Evaluated(found, type(found).__name__)


__all__ = ["Evaluated", "assign", "evaluate", "evaluated"]
