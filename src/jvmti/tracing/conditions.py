"""Conditions of traces, evaluated by the probes.

A condition compares values with constants: ``n > 1000 and order.customer.name == "Ada"``. Python's
own parser reads it; `jvmti.layouts.probes.TEST` has the steps.
"""

from __future__ import annotations

import ast
import re
import struct
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeGuard

from jvmti.instrumentation.probes import BadProbe, Operand, Step
from jvmti.layouts.probes import PLAN, Outcomes, Test
from jvmti.layouts.probes import Operand as Kind

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


def compiled(text: str) -> Condition:
    """Compile a condition from text.

    Names are those of parameters, ``arg0``, ``this``, ``value`` (the result), ``exception`` and
    ``thread``; fields of objects follow a dot, to any depth. ``len(x)`` is the length of an array
    or a string. Both sides may not be values.

    Raises:
        BadProbe: it is not a condition, or compares incomparable values; the message names the
            part.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise BadProbe(f"the condition {text!r} is not an expression: {error}") from None
    compiler = _Compiler(text)
    parts = tree.values if _is_and(tree) else [tree]
    entry: list[list[Step]] = []
    end: list[list[Step]] = []
    for part in parts:
        steps = compiler.steps(part)
        (entry if all(map(_is_constant_in_a_call, steps)) else end).append(steps)
    texts = {one.id for one in ast.walk(tree) if isinstance(one, ast.Name)}
    if "exception" in texts and "value" in texts:
        raise BadProbe(f"{text!r}: a call has a value or an exception, never both")
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
    """Whether a comparison uses an argument itself, or a step only joins others."""
    kinds = (Kind.ARGUMENT, Kind.NAMED)
    return step.operand is None or (step.operand.kind in kinds and step.path is None)


class _Compiler:
    def __init__(self, text: str) -> None:
        self._text = text

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
                return self.joined([[self.compared(tree, *pair)] for pair in pairs], Test.AND)
            case ast.Name() | ast.Attribute():
                alone, path = value_of(tree, self._text, self.refuse)
                return [Step(Test.COMPARE, alone, _EQUALITY[1], "J", 0, None, path)]
        raise self.refuse(tree, "a condition compares values with constants")

    def joined(self, parts: list[list[Step]], by: Test) -> list[Step]:
        found: list[Step] = []
        for number, part in enumerate(parts):
            found += [*part, *[Step(by)] * (number > 0)]
        return found

    def compared(
        self, whole: ast.expr, left: ast.expr, operator: ast.cmpop, right: ast.expr
    ) -> Step:
        holds = _HOLDS.get(type(operator))
        if holds is None:
            raise self.refuse(whole, "a condition has no `in`; join comparisons with `or`")
        if _is_constant(left):
            left, right = right, left
            turned = Outcomes(holds & Outcomes.EQUAL)
            turned |= Outcomes.GREATER if holds & Outcomes.LESS else Outcomes(0)
            turned |= Outcomes.LESS if holds & Outcomes.GREATER else Outcomes(0)
            holds = turned
        if not _is_constant(right) or _is_constant(left):
            raise self.refuse(whole, "one side is a value, the other a constant")
        operand, path = value_of(left, self._text, self.refuse)
        constant = ast.literal_eval(right)
        type_, number, text = "J", 0, None
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
        if type_ in "LS" and holds not in _EQUALITY:
            raise self.refuse(whole, "texts and None have no order; compare by == and !=")
        if text is not None and (len(text.encode()) > PLAN.LONGEST_TEXT or "\0" in text):
            raise self.refuse(right, "the text is too long, or has a zero character")
        return Step(Test.COMPARE, operand, holds, type_, number, text, path)


def value_of(
    tree: ast.expr, whole: str, refuse: Callable[[ast.AST, str], BadProbe] | None = None
) -> tuple[Operand, str | None]:
    """The source of a value, and the path of fields from there.

    Args:
        tree: the expression.
        whole: the text that it is part of.
        refuse: makes the exception for a part.

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
            case _:
                raise refused(tree, "methods cannot be called; len(x) is the only function")
    while isinstance(tree, ast.Attribute):
        path.insert(0, tree.attr)
        tree = tree.value
    if not isinstance(tree, ast.Name):
        raise refused(tree, "neither a value nor a constant")
    name = tree.id
    if name == "this":
        operand = Operand(Kind.THIS, "X")
    elif name in ("value", "exception"):
        operand = Operand(Kind.VALUE, "X")
    elif name == "thread":
        operand = Operand(Kind.THREAD, "X")
    elif numbered := re.fullmatch(r"arg(\d{1,3})", name):
        operand = Operand(Kind.ARGUMENT, "X", min(int(numbered[1]), 255))
    else:
        operand = Operand(Kind.NAMED, "X", text=name)
    return operand, ".".join(path) or None


def _is_constant(tree: ast.expr) -> bool:
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        tree = tree.operand
    return isinstance(tree, ast.Constant)


__all__ = ["Condition", "compiled", "value_of"]
