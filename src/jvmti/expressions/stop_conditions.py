"""Java conditions of breakpoints: the part that the agent decides, and the rest.

The agent compares local variables with constants (`jvmti.debug.conditions`). Of a condition whose
parts are joined by ``&&``, it decides those that it can: where one is false, the thread does not
stop and Python is not asked.  Otherwise the whole condition is evaluated in the frame.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from jvmti.expressions import literals
from jvmti.expressions.errors import ExpressionError
from jvmti.expressions.evaluation import TIME_LIMIT, evaluated
from jvmti.expressions.operators import ORDER_SYMBOLS, single
from jvmti.expressions.parsing import ParsedExpression, children, field, parsed
from jvmti.interface.errors import Error

if TYPE_CHECKING:
    from tree_sitter import Node

    from jvmti.debug.stops import Stop

log = logging.getLogger("jvmti")

_RELATIONS = ORDER_SYMBOLS | {"==", "!="}
_JOINS = {"&&": "and", "||": "or"}


class _Undecided(Exception):
    """The agent cannot decide this part."""


class JavaCondition:
    """A condition in Java, for ``when=`` of breakpoints, watchpoints and catchpoints.

    Called with a stop it says whether the thread is to stop there. Where the condition cannot be
    evaluated the thread stops, and the `jvmti` logger and `problem` say why.

    Attributes:
        text: the condition.
        in_agent: the part that the agent decides, in its language, or ``None``. A name there that
            is not a variable at the breakpoint makes Python decide after all.
        remaining: the part that must be asked for at each stop, or ``None``.
        variables: the names in `in_agent`.
        not_for_float: those compared with a number that no ``float`` holds, for which Java and the
            agent differ.
        problem: the last error, or ``None``.
    """

    def __init__(self, text: str, *, timeout: float | None = TIME_LIMIT) -> None:
        self.text = text
        self.problem: str | None = None
        self._timeout = timeout
        expression = parsed(text)
        translator = _Translator(expression)
        decided, remaining = [], []
        for part in _conjuncts(expression, expression.root):
            try:
                decided.append(translator.truth(part))
            except _Undecided:
                remaining.append(expression.source(part))
        self.in_agent = " and ".join(decided) or None
        self.remaining = " && ".join(remaining) or None
        self.variables = frozenset(translator.variables)
        self.not_for_float = frozenset(translator.inexact)

    def __call__(self, stop: Stop) -> bool:
        """Whether it holds in the topmost frame; evaluated on the thread that waits."""
        try:
            found = evaluated(stop.frame, self.text, timeout=self._timeout)
            if isinstance(found.value, bool):
                return found.value
            value = getattr(found.value, "value", None)
            if isinstance(value, bool):
                return value
            raise ExpressionError(f"a condition is a boolean, not {found.type}", self.text)
        except Error as error:
            self.problem = str(error)
            log.warning("the thread stops, as its condition fails: %s", self.problem)
            return True

    def __repr__(self) -> str:
        return f"<JavaCondition {self.text!r}>"


def condition(text: str, *, timeout: float | None = TIME_LIMIT) -> JavaCondition:
    """A condition in Java for ``when=``: ``n > 1000 && name.equals("Host") && order.isOpen()``.

    The agent decides comparisons of local variables with constants, ``equals`` with a text, and
    what ``&&``, ``||`` and ``!`` make of them; only where they hold, the rest is evaluated in the
    frame. A variable that is null equals no text there, and throws nothing.

    Args:
        text: the condition.
        timeout: seconds for the part that is evaluated in the frame.

    Raises:
        ExpressionError: it is not an expression of Java.
        ImportError: ``tree-sitter`` is not installed; ``pip install 'jvmti[debug]'`` does.
    """
    return JavaCondition(text, timeout=timeout)


def _inside(node: Node) -> Node:
    while node.type == "parenthesized_expression":
        node = children(node)[0]
    return node


def _conjuncts(expression: ParsedExpression, node: Node) -> list[Node]:
    inner = _inside(node)
    if inner.type == "binary_expression" and expression.source(field(inner, "operator")) == "&&":
        sides = field(inner, "left"), field(inner, "right")
        return [one for side in sides for one in _conjuncts(expression, side)]
    return [node]


class _Translator:
    """Translates parts of a condition to the language of the agent."""

    def __init__(self, expression: ParsedExpression) -> None:
        self._source = expression.source
        self.variables: set[str] = set()
        self.inexact: set[str] = set()

    def truth(self, node: Node) -> str:
        """A part that is true or false."""
        before = set(self.variables), set(self.inexact)
        try:
            return self._truth(_inside(node))
        except _Undecided:
            self.variables, self.inexact = before
            raise

    def _truth(self, node: Node) -> str:
        if node.type == "binary_expression":
            symbol = self._source(field(node, "operator"))
            left, right = _inside(field(node, "left")), _inside(field(node, "right"))
            if symbol in _JOINS:
                return f"({self._truth(left)} {_JOINS[symbol]} {self._truth(right)})"
            if symbol in _RELATIONS:
                return self._comparison(left, symbol, right)
        elif node.type == "unary_expression" and self._source(field(node, "operator")) == "!":
            return f"(not {self._truth(_inside(field(node, 'operand')))})"
        elif node.type == "identifier":
            return self._variable(node)
        elif node.type == "method_invocation" and self._source(field(node, "name")) == "equals":
            return self._equals(node)
        raise _Undecided

    def _variable(self, node: Node) -> str:
        if node.type != "identifier":
            raise _Undecided
        name = self._source(node)
        self.variables.add(name)
        return name

    def _comparison(self, left: Node, symbol: str, right: Node) -> str:
        if left.type == "identifier":
            return f"{self._variable(left)} {symbol} {self._constant(right, left)}"
        return f"{self._constant(left, right)} {symbol} {self._variable(right)}"

    def _equals(self, node: Node) -> str:
        owner = node.child_by_field_name("object")
        arguments = children(field(node, "arguments"))
        if owner is None or len(arguments) != 1:
            raise _Undecided
        one, other = _inside(owner), _inside(arguments[0])
        if other.type == "identifier":
            one, other = other, one
        return f"{self._variable(one)} == {self._text(other)!r}"

    def _text(self, node: Node) -> str:
        source = self._source(node)
        if node.type != "string_literal" or source.startswith('"""'):
            raise _Undecided
        try:
            return literals.unescaped(source[1:-1])
        except ValueError:
            raise _Undecided from None

    def _constant(self, node: Node, variable: Node) -> str:
        """A constant; texts are not among them, as ``==`` compares objects."""
        sign = ""
        if node.type == "unary_expression" and self._source(field(node, "operator")) == "-":
            sign, node = "-", _inside(field(node, "operand"))
        source = self._source(node)
        try:
            if node.type.endswith("integer_literal"):
                return f"{sign}{literals.whole_number(source, bool(sign))[1]}"
            if node.type.endswith("floating_point_literal"):
                letter, number = literals.fraction(source)
                if letter == "D" and single(number) != number:
                    self.inexact.add(self._source(variable))
                return f"{sign}{number!r}"
            if not sign and node.type == "character_literal":
                return str(literals.character(source[1:-1]))
        except ValueError:
            raise _Undecided from None
        words = {"true": "True", "false": "False", "null_literal": "None"}
        if sign or node.type not in words:
            raise _Undecided
        return words[node.type]


__all__ = ["JavaCondition", "condition"]
