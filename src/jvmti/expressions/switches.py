"""``switch`` as an expression: its cases are tried from above, as Java does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from jvmti.expressions.parsing import children, field
from jvmti.expressions.values.conversions import narrowed, to_type
from jvmti.expressions.values.typed import STRING, UNKNOWN, Value

if TYPE_CHECKING:
    from tree_sitter import Node

    from jvmti.expressions.evaluator import Evaluator


def switched(evaluator: Evaluator, node: Node) -> Value:
    """The value of a switch expression.

    Raises:
        ExpressionError: it has statements, or no case matches.
        JavaException: it is about null, and has no case for that.
    """
    chosen = evaluator.operand(children(field(node, "condition"))[0])
    arms = list(_arms(evaluator, node))
    if evaluator.running.is_dry:
        values = [evaluator.operand(result) for _, result in arms if result is not None]
        return Value(_common(evaluator, values), UNKNOWN, is_open=any(v.is_open for v in values))
    for label, result in arms:
        if not _matches(evaluator, label, chosen):
            continue
        if result is None:
            raise evaluator.error(label, "this case throws, which is not evaluated")
        taken = evaluator.operand(result)
        # The names that a pattern binds have types only in its own case.
        before = dict(evaluator.scope.bindings)
        others = [taken]
        for other_label, other in arms:
            if other is not None and other is not result:
                _bind(evaluator, other_label)
                others.append(evaluator.type_of(other))
        evaluator.scope.bindings.clear()
        evaluator.scope.bindings.update(before)
        if any(one.is_open for one in others):
            return taken
        return to_type(evaluator.running, taken, _common(evaluator, others))
    if chosen.data is None:
        evaluator.running.throw("NullPointerException")
    raise evaluator.error(node, "no case matches")


def _arms(evaluator: Evaluator, node: Node) -> Iterator[tuple[Node, Node | None]]:
    """The label of each case with its result; ``None`` where it throws."""
    for rule in children(field(node, "body")):
        if rule.type != "switch_rule":
            raise evaluator.error(rule, "cases are evaluated that have an arrow: case 1 -> …")
        label, body = children(rule)
        if body.type == "throw_statement":
            yield label, None
            continue
        inner = children(body)
        if body.type == "block":
            if len(inner) != 1 or inner[0].type != "yield_statement":
                raise evaluator.error(body, "of a case with statements only `yield` is evaluated")
            inner = children(inner[0])
        yield label, inner[0]


def _common(evaluator: Evaluator, values: list[Value]) -> str:
    found = values[0]
    for one in values[1:]:
        found = Value(evaluator.of_both(found, one), UNKNOWN)
    return found.type


def _matches(evaluator: Evaluator, label: Node, chosen: Value) -> bool:
    """Whether a case is the one; binds the names of its pattern."""
    items = [one for one in children(label) if one.type != "guard"]
    names = [evaluator.source(one) for one in items]
    if (not items or "default" in names) and chosen.data is not None:
        return True
    if not any(_is(evaluator, one, chosen) for one in items if evaluator.source(one) != "default"):
        return "default" in names and "null" in names and chosen.data is None
    guard = next((one for one in children(label) if one.type == "guard"), None)
    if guard is None:
        return True
    inner = children(guard)[0]
    return evaluator.truth_of(evaluator.operand(inner), inner)


def _is(evaluator: Evaluator, item: Node, chosen: Value) -> bool:
    running = evaluator.running
    if item.type == "null_literal":
        return chosen.data is None
    if chosen.data is None:
        return False
    if item.type == "pattern":
        return _fits(evaluator, item, chosen)
    chosen = narrowed(running, chosen)
    cls = None if chosen.is_primitive else running.class_of(chosen)
    owner = None if cls is None else cls if cls.is_enum else cls.superclass
    if item.type == "identifier" and owner is not None and owner.is_enum:
        place = evaluator.scope.field_of(owner, evaluator.source(item), None)
        if place is None:
            raise evaluator.error(item, f"{owner.name} has no constant {evaluator.source(item)}")
        one, other = running.handle(place.read()), running.handle(chosen)
        return bool(running.jni.is_same_object(one, other))
    wanted = evaluator.operand(item)
    if wanted.type == STRING:
        return chosen.type == STRING and running.text_of(wanted) == running.text_of(chosen)
    if wanted.primitive is None or chosen.primitive is None:
        raise evaluator.error(item, f"{wanted.type_name} is no case of {chosen.type_name}")
    return bool(running.unboxed(wanted).data == running.unboxed(chosen).data)


def _fits(evaluator: Evaluator, item: Node, chosen: Value) -> bool:
    signature, name = _pattern(evaluator, item)
    cls = evaluator.types.of(signature, chosen)
    running = evaluator.running
    if cls is None or not running.jni.is_instance_of(running.handle(chosen), cls):
        return False
    evaluator.scope.bindings[name] = Value(signature, chosen.data)
    return True


def _bind(evaluator: Evaluator, label: Node) -> None:
    """Give the name of a pattern its type."""
    for item in children(label):
        if item.type == "pattern":
            signature, name = _pattern(evaluator, item)
            evaluator.scope.bindings[name] = Value(signature, UNKNOWN)


def _pattern(evaluator: Evaluator, item: Node) -> tuple[str, str]:
    """The type and the name of a pattern."""
    (pattern,) = children(item)
    if pattern.type != "type_pattern":
        raise evaluator.error(item, "a pattern with parts is not evaluated")
    type_node, name = children(pattern)[-2:]
    return evaluator.type_signature(type_node), evaluator.source(name)


__all__ = ["switched"]
