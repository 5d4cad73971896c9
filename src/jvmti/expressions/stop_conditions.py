"""Conditions of breakpoints in Java or Python: the part that the agent decides, and the rest.

The agent compares local variables and fields of objects with constants
(`jvmti.model.debug.conditions`), and its probes compare lengths, too
(`jvmti.tracing.conditions`). Of a condition whose parts are joined by ``&&``, it decides those that
it can: where one is false, the thread does not stop and Python is not asked.  Otherwise the whole
condition is evaluated in the frame. One in Python the agent decides if it is in the language of its
own conditions, and all its names are variables of the frame.
"""

from __future__ import annotations

import keyword
import logging
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from jvmti.expressions.agent_values import AgentValue, CodePlace, NotReadable
from jvmti.expressions.errors import ExpressionError
from jvmti.expressions.evaluation import TIME_LIMIT, evaluated
from jvmti.expressions.parsing import ParsedExpression, children, field, parsed
from jvmti.expressions.python_expression import PYTHON, PythonExpression
from jvmti.expressions.values import literals
from jvmti.expressions.values.operators import ORDER_SYMBOLS, single
from jvmti.interface.errors import Error
from jvmti.interface.signatures import BOXED, STRING
from jvmti.model.debug import conditions

if TYPE_CHECKING:
    from tree_sitter import Node

    from jvmti.model.classes.java_class import Method
    from jvmti.model.debug.stops import Stop
    from jvmti.model.vm import VM

log = logging.getLogger("jvmti")

_EQUALITY = frozenset(("==", "!="))
_RELATIONS = ORDER_SYMBOLS | _EQUALITY
_JOINS = {"&&": "and", "||": "or"}
_WORDS = {"true": "True", "false": "False", "null_literal": "None"}
_TRUTHS = frozenset(("Z", "Ljava/lang/Boolean;"))
_NUMBERS = {*BOXED.values(), *BOXED} - _TRUTHS


class _Undecided(Exception):
    """The agent cannot decide this part."""


class DecidedPart(NamedTuple):
    """A condition, divided between agent and controller."""

    text: str | None
    """That part in the agent's language; ``None`` for none."""
    remaining: str | None
    """The part that must be asked for at each stop, in Java; ``None`` for none."""


class JavaCondition:
    """A condition in Java, for ``when=`` of breakpoints, watchpoints and catchpoints.

    Called with a stop it says whether the thread is to stop there. Where the condition cannot be
    evaluated the thread stops, and the `jvmti` logger and `problem` say why.

    Args:
        text: the condition.
        timeout: seconds for the part that is evaluated in the frame.
        decide: evaluates all of it instead, and says what fails.

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

    def __init__(
        self,
        text: str,
        *,
        timeout: float | None = TIME_LIMIT,
        decide: Callable[[Stop], bool] | None = None,
    ) -> None:
        self.text = text
        self.problem: str | None = None
        self._timeout = timeout
        self._decide = decide
        self._expression = parsed(text)
        _refuse_assignments(self._expression, self._expression.root)
        translator = _Translator(self._expression)
        self.in_agent, self.remaining = translator.split()
        self.variables = frozenset(translator.variables)
        self.not_for_float = frozenset(translator.inexact)

    def decided_at(self, vm: VM, places: Sequence[tuple[Method, int]]) -> DecidedPart:
        """The part that the agent decides at places in loaded classes.

        It may have fields of objects, whose types are known there.

        Args:
            vm: the VM.
            places: methods and bytecode indices.
        """
        found = {_Translator(self._expression, CodePlace(vm, *one)).split() for one in places}
        # A set of probes has one condition.
        return found.pop() if len(found) == 1 else DecidedPart(None, self.text)

    def __call__(self, stop: Stop) -> bool:
        """Whether it holds in the topmost frame; evaluated on the thread that waits."""
        if self._decide is not None:
            return self._decide(stop)
        try:
            return holds(stop, self.text, self._timeout)
        except Error as error:
            is_new, self.problem = self.problem != str(error), str(error)
            # A hot place says so a thousand times a second.
            log.log(
                logging.WARNING if is_new else logging.DEBUG,
                "the thread stops, as its condition fails: %s",
                self.problem,
            )
            return True

    def __repr__(self) -> str:
        return f"<JavaCondition {self.text!r}>"


class PythonCondition:
    """A condition in Python, for ``when=`` as `JavaCondition`.

    Args:
        text: the condition, which begins with ``=py``.
        names: further names that it may use; those of the frame come first.
        decide: as for `JavaCondition`.

    Attributes:
        text: the condition, which begins with ``=py``.
        in_agent: ``None``: only a place says which names are variables.
        problem: the last error, or ``None``.
    """

    in_agent: str | None = None

    def __init__(
        self,
        text: str,
        names: Mapping[str, Any] = MappingProxyType({}),
        *,
        decide: Callable[[Stop], bool] | None = None,
    ) -> None:
        self.text = text
        self.problem: str | None = None
        self._expression = PythonExpression(text)
        self._names = names
        self._decide = decide

    def decided_at(self, vm: VM, places: Sequence[tuple[Method, int]]) -> DecidedPart:
        """The part that the agent decides at places in loaded classes: all of it, or nothing."""
        wanted = self._expression.names - {"this"}
        try:
            conditions.parse(self._expression.text)
        except conditions.ConditionError:
            return DecidedPart(None, self.text)
        if all(wanted <= (CodePlace(vm, *one).variables or {}).keys() for one in places):
            return DecidedPart(self._expression.text, None)
        return DecidedPart(None, self.text)

    def __call__(self, stop: Stop) -> bool:
        """Whether it holds in the topmost frame; where it fails, the thread stops."""
        if self._decide is not None:
            return self._decide(stop)
        of_stop = {name: value for name, (value, _) in stop.names.items()}
        try:
            more = {**self._names, **of_stop, "stop": stop}
            return bool(self._expression.value(stop.frame, more))
        except Error as error:
            self.problem = str(error)
            return True

    def __repr__(self) -> str:
        return f"<PythonCondition {self.text!r}>"


def holds(stop: Stop, text: str, timeout: float | None = TIME_LIMIT) -> bool:
    """Whether a condition holds in the topmost frame of a stop.

    Args:
        stop: the stop.
        text: the condition, in Java or behind ``=py`` in Python.
        timeout: seconds for it.

    Raises:
        ExpressionError: it cannot be evaluated, or is no boolean of Java.
        JavaException, CallTimeout and others: as for `evaluate`.
    """
    found = evaluated(stop.frame, text, timeout=timeout, names=stop.names)
    if text.startswith(PYTHON):
        return bool(found.value)
    value = found.value if isinstance(found.value, bool) else getattr(found.value, "value", None)
    if isinstance(value, bool):
        return value
    raise ExpressionError(f"a condition is a boolean, not {found.type}", text)


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


def _refuse_assignments(expression: ParsedExpression, node: Node) -> None:
    """Refuse what would write to the program where it is meant to compare.

    Raises:
        ExpressionError: there is an assignment in place of a condition, or of a part of one.
    """
    inner = _inside(node)
    if inner.type in ("assignment_expression", "update_expression"):
        reason = "this writes to the program at each hit"
        if inner.type == "assignment_expression" and expression.source(inner).count("=") == 1:
            reason += "; `==` compares"
        raise expression.error(inner, reason)
    if inner.type in ("binary_expression", "unary_expression"):
        for part in children(inner):
            _refuse_assignments(expression, part)


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
    """Translates parts of a condition to the language of the agent.

    Args:
        expression: the condition.
        place: where it is evaluated; ``None`` if only the names of local variables are known.
    """

    def __init__(self, expression: ParsedExpression, place: CodePlace | None = None) -> None:
        self._expression = expression
        self._source = expression.source
        self._place = place
        self.variables: set[str] = set()
        self.inexact: set[str] = set()

    def split(self) -> DecidedPart:
        """The part that the agent decides, and the rest."""
        decided, remaining = [], []
        for part in _conjuncts(self._expression, self._expression.root):
            try:
                decided.append(self.truth(part))
            except _Undecided:
                remaining.append(self._source(part))
        return DecidedPart(" and ".join(decided) or None, " && ".join(remaining) or None)

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
        elif node.type in ("identifier", "field_access"):
            value = self._value(node)
            if value.signature and value.signature not in _TRUTHS:
                raise _Undecided
            return value.text
        elif node.type == "method_invocation" and self._source(field(node, "name")) == "equals":
            return self._equals(node)
        raise _Undecided

    def _value(self, node: Node) -> AgentValue:
        """A value that the agent reads; its signature is empty where no place says the type."""
        if self._place is not None:
            try:
                return self._place.value(self._expression, node)
            except NotReadable:
                raise _Undecided from None
        name = self._source(node)
        if node.type != "identifier" or keyword.iskeyword(name):
            raise _Undecided
        self.variables.add(name)
        return AgentValue(name, "")

    def _comparison(self, left: Node, symbol: str, right: Node) -> str:
        if _is_value(left):
            value = self._value(left)
            return f"{value.text} {symbol} {self._constant(right, left, value, symbol)}"
        value = self._value(right)
        return f"{self._constant(left, right, value, symbol)} {symbol} {value.text}"

    def _equals(self, node: Node) -> str:
        owner = node.child_by_field_name("object")
        arguments = children(field(node, "arguments"))
        if owner is None or len(arguments) != 1:
            raise _Undecided
        one, other = _inside(owner), _inside(arguments[0])
        if _is_value(other):
            one, other = other, one
        value = self._value(one)
        if value.signature not in ("", STRING):
            raise _Undecided
        return f"{value.text} == {self._text(other)!r}"

    def _text(self, node: Node) -> str:
        source = self._source(node)
        if node.type != "string_literal" or source.startswith('"""'):
            raise _Undecided
        try:
            return literals.unescaped(source[1:-1])
        except ValueError:
            raise _Undecided from None

    def _constant(self, node: Node, variable: Node, value: AgentValue, symbol: str) -> str:
        """A constant; texts are not among them, as ``==`` compares objects."""
        sign = ""
        if node.type == "unary_expression" and self._source(field(node, "operator")) == "-":
            sign, node = "-", _inside(field(node, "operand"))
        if value.signature and not _is_comparable(value.signature, node.type, symbol):
            raise _Undecided
        source = self._source(node)
        try:
            if node.type.endswith("integer_literal"):
                return f"{sign}{literals.whole_number(source, bool(sign))[1]}"
            if node.type.endswith("floating_point_literal"):
                letter, number = literals.fraction(source)
                if letter == "D" and single(number) != number:
                    if value.signature in ("F", "Ljava/lang/Float;"):
                        raise _Undecided
                    self.inexact.add(self._source(variable))
                return f"{sign}{number!r}"
            if not sign and node.type == "character_literal":
                return str(literals.character(source[1:-1]))
        except ValueError:
            raise _Undecided from None
        if sign or node.type not in _WORDS:
            raise _Undecided
        return _WORDS[node.type]


def _is_value(node: Node) -> bool:
    """Whether it may be what the agent reads, rather than a constant."""
    return node.type in ("identifier", "field_access", "method_invocation")


def _is_comparable(signature: str, literal: str, symbol: str) -> bool:
    """Whether Java and the agent compare a type with a kind of literal, and in the same way."""
    match literal:
        case "true" | "false":
            return signature in _TRUTHS and symbol in _EQUALITY
        case "null_literal":
            return len(signature) > 1 and symbol in _EQUALITY
    return signature in _NUMBERS


__all__ = ["JavaCondition", "PythonCondition", "condition", "holds"]
