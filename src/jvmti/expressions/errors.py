"""The error of expressions."""

from __future__ import annotations

from jvmti.interface.errors import Error
from jvmti.text.printable import printable


class ExpressionError(Error, ValueError):
    """An expression that cannot be evaluated in its frame; the message says which part and why.

    What the program's own code throws is a `JavaException` instead.

    Attributes:
        reason: what is wrong, in a sentence.
        text: the expression.
        column: where the part begins, in characters from 0.
    """

    def __init__(self, reason: str, text: str = "", column: int = 0) -> None:
        super().__init__(reason, text, column)
        self.reason = reason
        self.text = text
        self.column = column

    def __str__(self) -> str:
        if not self.text:
            return printable(self.reason)
        return printable(f"{self.reason} (column {self.column + 1} of {self.text!r})")


__all__ = ["ExpressionError"]
