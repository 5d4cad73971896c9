"""Conditions of traces, evaluated by the probes.

A condition compares values with constants: ``n > 1000 and order.customer.name == "Ada"``. Python's
own parser reads it; `jvmti.layouts.probes.TEST` has the steps.

What there is at a place is said by words: those of `EVERYWHERE`, those of the kind of place, and
otherwise the names of variables.
"""

from __future__ import annotations

import ast
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeGuard

from jvmti.instrumentation.probes import BadProbe, Operand, Step
from jvmti.layouts.probes import PLAN, Outcomes, Test
from jvmti.layouts.probes import Operand as Kind
from jvmti.text.syntax import syntax_reason

_HOLDS: dict[type[ast.cmpop], Outcomes] = {
    ast.Eq: Outcomes.EQUAL,
    ast.Is: Outcomes.EQUAL,
    ast.NotEq: Outcomes.LESS | Outcomes.GREATER,
    ast.IsNot: Outcomes.LESS | Outcomes.GREATER,
    ast.Lt: Outcomes.LESS,
    ast.LtE: Outcomes.LESS | Outcomes.EQUAL,
    ast.Gt: Outcomes.GREATER,
    ast.GtE: Outcomes.GREATER | Outcomes.EQUAL,
}
_EQUALITY = (Outcomes.EQUAL, Outcomes.LESS | Outcomes.GREATER)
_LONGEST = 9e9
STARTED = "started"
"""The name of the time when a call began, in operands for its duration."""
EVERYWHERE: dict[str, Operand] = {
    "this": Operand(Kind.THIS, "X"),
    "thread": Operand(Kind.THREAD, "X"),
    "caller": Operand(Kind.STACK, "X", 1),
    "took": Operand(Kind.TOOK, "X", text=STARTED),
}
CALLS = {"value": Operand(Kind.VALUE, "X"), "exception": Operand(Kind.VALUE, "X")}
"""Names that are known when a call ends."""


class Condition(NamedTuple):
    """A condition, compiled for probes."""

    steps: Sequence[Step]
    """Its steps."""
    entry_steps: Sequence[Step]
    """The part that is known when a call begins, because nothing changes it: joined by ``and`` with
    the rest, it decides there."""
    end_steps: Sequence[Step]
    """The rest."""
    at_returns: bool
    """Whether it can hold when a call returns."""
    at_exceptions: bool
    """Whether it can hold when an exception ends a call."""


def compiled(text: str, words: Mapping[str, Operand] = CALLS) -> Condition:
    """Compile a condition from text.

    Names are those of parameters, ``arg0``, ``this``, ``value`` (what is returned), ``exception``,
    ``thread``, ``caller`` and ``took`` (seconds); fields of objects follow a dot, to any depth.
    ``x["com.acme.Base"].total`` is the field that this class declares, where a subclass has one of
    the same name. ``len(x)`` is the length of an array or a string, ``type(x)`` the class of an
    object. A thread compares with a text by its name. Both sides may not be values. ``in`` takes a
    pattern for a text, or a tuple of constants.

    Args:
        text: the condition.
        words: what else has a name at such a place.

    Raises:
        BadProbe: it is not a condition, or compares incomparable values; the message names the
            part.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError) as error:
        why = syntax_reason(text, error)
        raise BadProbe(f"the condition {text!r} is not an expression: {why}") from None
    compiler = _Compiler(text, words)
    parts = tree.values if _is_and(tree) else [tree]
    entry: list[list[Step]] = []
    end: list[list[Step]] = []
    for part in parts:
        steps = compiler.steps(part)
        (entry if all(map(_is_constant_in_a_call, steps)) else end).append(steps)
    texts = {one.id for one in ast.walk(tree) if isinstance(one, ast.Name)} & set(words)
    if {"exception", "value"} <= texts and words is CALLS:
        raise BadProbe(f"{text!r}: a call has a value or an exception, never both")
    # The agent is asked last, and not at all where the rest is false.
    entry.sort(key=_asks_agent)
    end.sort(key=_asks_agent)
    return Condition(
        compiler.joined([*entry, *end], Test.AND),
        compiler.joined(entry, Test.AND),
        compiler.joined(end, Test.AND),
        "exception" not in texts,
        "value" not in texts,
    )


def _is_and(tree: ast.expr) -> TypeGuard[ast.BoolOp]:
    return isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And)


def _is_constant_in_a_call(step: Step) -> bool:
    """Whether a comparison uses the caller or an argument itself, or only joins others."""
    kinds = (Kind.ARGUMENT, Kind.NAMED, Kind.STACK)
    return step.operand is None or (step.operand.kind in kinds and step.path is None)


def _asks_agent(steps: list[Step]) -> bool:
    return any(
        one.operand is not None
        and (one.path is not None or one.operand.kind is Kind.STACK or one.type == "P")
        for one in steps
    )


class _Compiler:
    def __init__(self, text: str, words: Mapping[str, Operand]) -> None:
        self._text = text
        self._words = words

    def refuse(self, part: ast.AST, why: str) -> BadProbe:
        named = ast.get_source_segment(self._text.strip(), part) or self._text
        return BadProbe(f"{named!r} in the condition {self._text!r}: {why}")

    def steps(self, tree: ast.expr) -> list[Step]:
        match tree:
            case ast.BoolOp(op, values):
                joined = Test.AND if isinstance(op, ast.And) else Test.OR
                return self.joined([self.steps(one) for one in values], joined)
            case ast.UnaryOp(ast.Not(), inner):
                return [*self.steps(inner), Step(Test.NOT)]
            case ast.Compare(left, operators, others):
                pairs = zip([left, *others], operators, others, strict=False)
                return self.joined([self.compared(tree, *pair) for pair in pairs], Test.AND)
            case ast.Name() | ast.Attribute():
                alone, path = value_of(tree, self._text, self.refuse, self._words)
                if alone.kind in (Kind.STACK, Kind.TOOK):
                    raise self.refuse(tree, "compare it with a constant")
                return [Step(Test.COMPARE, alone, _EQUALITY[1], "J", 0, None, path)]
        raise self.refuse(tree, "a condition compares values with constants")

    def joined(self, parts: list[list[Step]], by: Test) -> list[Step]:
        found: list[Step] = []
        for number, part in enumerate(parts):
            found += [*part, *[Step(by)] * (number > 0)]
        return found

    def compared(
        self, whole: ast.expr, left: ast.expr, operator: ast.cmpop, right: ast.expr
    ) -> list[Step]:
        if isinstance(operator, (ast.In, ast.NotIn)):
            steps = self.contained(whole, left, right)
            return [*steps, *[Step(Test.NOT)] * isinstance(operator, ast.NotIn)]
        holds = _HOLDS[type(operator)]
        if _is_constant(left):
            left, right = right, left
            turned = Outcomes(holds & Outcomes.EQUAL)
            turned |= Outcomes.GREATER if holds & Outcomes.LESS else Outcomes(0)
            turned |= Outcomes.LESS if holds & Outcomes.GREATER else Outcomes(0)
            holds = turned
        if not _is_constant(right) or _is_constant(left):
            raise self.refuse(whole, "one side is a value, the other a constant")
        return [self.comparison(whole, left, holds, right, ast.literal_eval(right))]

    def contained(self, whole: ast.expr, left: ast.expr, right: ast.expr) -> list[Step]:
        """Whether a text matches a pattern, or a value is among constants."""
        if isinstance(right, (ast.Tuple, ast.List, ast.Set)):
            if not right.elts or not all(map(_is_constant, right.elts)):
                raise self.refuse(right, "only constants, at least one")
            return self.joined(
                [
                    [self.comparison(whole, left, Outcomes.EQUAL, one, ast.literal_eval(one))]
                    for one in right.elts
                ],
                Test.OR,
            )
        if not isinstance(right, ast.Constant) or not isinstance(right.value, str):
            raise self.refuse(whole, "behind `in` is a pattern such as 'com.acme.*', or a tuple")
        step = self.comparison(whole, left, Outcomes.EQUAL, right, right.value)
        return [step._replace(type="P")]

    def comparison(
        self, whole: ast.expr, left: ast.expr, holds: Outcomes, right: ast.expr, constant: Any
    ) -> Step:
        operand, path = value_of(left, self._text, self.refuse, self._words)
        if operand.kind is Kind.THREAD and path is None and isinstance(constant, str):
            path = "name"
        type_, number, text = "J", 0, None
        if operand.kind is Kind.STACK and (path is not None or not isinstance(constant, str)):
            raise self.refuse(whole, "the caller is a text: 'com.acme.Order.add'")
        if operand.kind is Kind.TOOK:
            if path is not None or type(constant) not in (int, float):
                raise self.refuse(whole, "it is a number of seconds: took > 0.05")
            if not abs(constant) <= _LONGEST:
                raise self.refuse(right, "more seconds than a call can take")
            constant = round(constant * 1e9)
        match constant:
            case None:
                type_ = "L"
            case str():
                type_, text = "S", constant
            case bool() | int():
                number = int(constant)
                if not -(1 << 63) <= number < 1 << 63:
                    raise self.refuse(right, "it does not fit a long")
            case float():
                type_ = "D"
                (number,) = struct.unpack("<q", struct.pack("<d", constant))
            case _:
                raise self.refuse(right, "not a number, a text, True, False or None")
        # A text of one character may be compared with a ``char``, which has an order.
        is_variable = operand.kind in (Kind.ARGUMENT, Kind.NAMED) and path is None
        ordered = is_variable and text is not None and len(text) == 1
        if type_ in "LS" and holds not in _EQUALITY and not ordered:
            raise self.refuse(whole, "texts and None have no order; compare by == and !=")
        if text is not None and (len(text.encode()) > PLAN.LONGEST_TEXT or "\0" in text):
            raise self.refuse(right, "the text is too long, or has a zero character")
        return Step(Test.COMPARE, operand, holds, type_, number, text, path)


def parsed(text: str) -> ast.expr | None:
    """An expression for a value; ``None`` where it is none."""
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return None


def value_of(
    tree: ast.expr,
    whole: str,
    refuse: Callable[[ast.AST, str], BadProbe] | None = None,
    words: Mapping[str, Operand] = CALLS,
) -> tuple[Operand, str | None]:
    """The source of a value, and the path of fields from there.

    Args:
        tree: the expression.
        whole: the text that it is part of.
        refuse: makes the exception for a part.
        words: what has a name at such a place, beside `EVERYWHERE`.

    Raises:
        BadProbe: the expression is not a value.
    """

    def refused(part: ast.AST, why: str) -> BadProbe:
        if refuse is not None:
            return refuse(part, why)
        return BadProbe(f"{ast.unparse(part)!r} in the text {whole!r}: {why}")

    path: list[str] = []
    if isinstance(tree, ast.Call):
        match tree:
            case ast.Call(ast.Name("len"), [inner], []):
                path, tree = ["length"], inner
            case ast.Call(ast.Name("type"), [inner], []):
                path, tree = ["class"], inner
            case _:
                raise refused(tree, "methods cannot be called; there are len(x) and type(x)")
    while isinstance(tree, ast.Attribute):
        name = tree.attr
        tree = tree.value
        if isinstance(tree, ast.Subscript):
            name, tree = _field_of(tree, name, refused), tree.value
        path.insert(0, name)
    if not isinstance(tree, ast.Name):
        raise refused(tree, "neither a value nor a constant")
    name = tree.id
    if name in EVERYWHERE:
        operand = EVERYWHERE[name]
    elif name in words:
        operand = words[name]
    elif numbered := re.fullmatch(r"arg(\d{1,3})", name):
        operand = Operand(Kind.ARGUMENT, "X", min(int(numbered[1]), 255))
    elif "passed" in words and (numbered := re.fullmatch(r"passed(\d{1,3})", name)):
        operand = Operand(Kind.PASSED, "X", min(int(numbered[1]), 255))
    else:
        operand = Operand(Kind.NAMED, "X", text=name)
    return operand, ".".join(path) or None


def _field_of(tree: ast.Subscript, name: str, refused: Callable[[ast.AST, str], BadProbe]) -> str:
    """The name of a field in a path that says which class declares it."""
    owner = tree.slice
    if not isinstance(owner, ast.Constant) or not isinstance(owner.value, str):
        raise refused(tree, 'in brackets is the class that declares the field: x["com.acme.Base"]')
    return f"{name}@{owner.value.replace('.', '/')}"


def over_steps(seconds: float) -> list[Step]:
    """The condition that a call has taken so long."""
    number = round(seconds * 1e9)
    holds = Outcomes.EQUAL | Outcomes.GREATER
    return [Step(Test.COMPARE, EVERYWHERE["took"], holds, "J", number)]


def uses(steps: Sequence[Step], kind: Kind) -> bool:
    """Whether a condition asks for a kind of value."""
    return any(one.operand is not None and one.operand.kind is kind for one in steps)


def since(steps: Sequence[Step], name: str) -> list[Step]:
    """The steps, with another name for the time at which calls began."""
    return [
        one._replace(operand=one.operand._replace(text=name))
        if one.operand is not None and one.operand.kind is Kind.TOOK
        else one
        for one in steps
    ]


def _is_constant(tree: ast.expr) -> bool:
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        tree = tree.operand
    return isinstance(tree, ast.Constant)


__all__ = [
    "CALLS",
    "EVERYWHERE",
    "STARTED",
    "Condition",
    "compiled",
    "over_steps",
    "parsed",
    "since",
    "uses",
    "value_of",
]
