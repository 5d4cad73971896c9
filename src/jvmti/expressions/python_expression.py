"""Expressions in Python over the model, which begin with ``=py``."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jvmti.expressions.errors import ExpressionError
from jvmti.interface.errors import Error
from jvmti.text.syntax import syntax_reason

if TYPE_CHECKING:
    from jvmti.model.threads.frames import Frame
    from jvmti.model.vm import VM

PYTHON = "=py "
"""Begins an expression in Python over the model."""

_OF_FRAME = frozenset(("frame", "locals", "stop", "this", "thread", "vm"))


class PythonExpression:
    """An expression with the names ``frame``, ``this``, ``locals``, ``thread``, ``vm``, and those
    of the frame's variables.

    Args:
        text: the expression, with or without its beginning.

    Attributes:
        names: those that it uses.

    Raises:
        ExpressionError: Python cannot parse it.
    """

    def __init__(self, text: str) -> None:
        self.text = text.removeprefix(PYTHON).strip()
        try:
            tree = ast.parse(self.text, mode="eval")
            self._code = compile(tree, "<expression>", "eval")
        except (SyntaxError, ValueError) as error:
            reason = f"this is not a Python expression: {syntax_reason(self.text, error)}"
            raise ExpressionError(reason, self.text) from None
        self.names = frozenset(one.id for one in ast.walk(tree) if isinstance(one, ast.Name))

    def value(self, frame: Frame, more: Mapping[str, Any]) -> Any:
        """Its value in a frame.

        Args:
            frame: the frame.
            more: further names; those of the frame come first.

        Raises:
            ExpressionError: its code raises something.
            Error: one of ours.
        """
        names = {**more, "frame": frame, "thread": frame.thread, "vm": frame._vm}
        if "this" in self.names:
            names["this"] = frame.this
        variables = self.names - _OF_FRAME - vars(builtins).keys()
        if variables or "locals" in self.names:
            names["locals"] = found = frame.locals
            names |= {name: found[name] for name in variables if name in found}
        return self._evaluated(names)

    def value_without_frame(self, vm: VM) -> Any:
        """Its value where it uses nothing of a frame: with the name ``vm`` alone.

        Raises:
            ExpressionError, Error: as for `value`.
        """
        return self._evaluated({"vm": vm})

    def _evaluated(self, names: dict[str, Any]) -> Any:
        try:
            return eval(self._code, names)
        except Error:
            raise
        except Exception as error:  # of the user's code
            reason = f"{type(error).__name__}: {error}"
            raise ExpressionError(reason, self.text) from error


__all__ = ["PYTHON", "PythonExpression"]
