"""Conversions of values: to the type of a parameter or variable, and by casts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jvmti import refs
from jvmti.expressions.values.operators import converted
from jvmti.expressions.values.typed import LAMBDA, NULL, STRING, UNKNOWN, Value
from jvmti.interface.signatures import BOXED
from jvmti.model.values.conversion import BOXES

if TYPE_CHECKING:
    from jvmti.expressions.running import Running
    from jvmti.expressions.values.types import Types


def to_type(running: Running, value: Value, target: str) -> Value:
    """A value that a type accepts, as a value of that type."""
    if value.type == LAMBDA:
        made: Value = value.data.made(target)
        return made
    if not value.is_known:
        return Value(target, UNKNOWN)
    if len(target) == 1:
        plain = running.unboxed(value)
        return Value(target, converted(plain.data, plain.type, target))
    if not value.is_primitive:
        return value._replace(type=target, is_open=False)
    letter = BOXED.get(target, value.type)
    data = converted(value.data, value.type, letter)
    return Value(target, running.boxed(data, letter))


def as_argument(running: Running, value: Value, target: str) -> Any:
    """A value as JNI takes it for a parameter or variable of a type that accepts it."""
    found = to_type(running, value, target)
    return found.data if found.is_primitive else running.handle(found)


def narrowed(running: Running, value: Value) -> Value:
    """A reference with the type that its object has at run time."""
    if value.is_primitive or not value.is_known or value.data is None or value.type == LAMBDA:
        return value
    cls = running.class_of(value)
    assert cls is not None
    return Value(cls.signature, value.data, value.is_open)


def cast(running: Running, types: Types, value: Value, target: str) -> Value | None:
    """A value after a cast; ``None`` where the language has no such cast.

    Raises:
        JavaException: the object is of another class, or null is to become a number.
    """
    if value.type == "V" or target == "V":
        return None
    if value.type == LAMBDA:
        return to_type(running, value, target) if value.data.accepts(target) else None
    if len(target) == 1:
        return _cast_to_primitive(running, value, target)
    if value.is_primitive:
        if target not in BOXES[value.type].supertypes:
            return None
        return to_type(running, value, target)
    if not value.is_known or value.data is None:
        return Value(target, value.data)
    cls = types.of(target, value)
    if cls is None:
        return None
    handle = running.handle(value)
    if not running.jni.is_instance_of(handle, cls):
        own = running.class_of(value)
        assert own is not None
        running.throw("ClassCastException", f"class {own.name} cannot be cast to class {cls.name}")
    return Value(target, value.data)


def _cast_to_primitive(running: Running, value: Value, target: str) -> Value | None:
    if value.type == NULL:
        return None
    letter = value.primitive
    if letter is None:
        # An Object, say, that holds a box: as if it were cast to that first.
        if not value.is_known:
            return Value(target, UNKNOWN)
        if value.data is None:
            running.throw("NullPointerException")
        value = narrowed(running, value)
        letter = value.primitive
        if letter is None or letter != target:
            box = BOXES[target].signature[1:-1].replace("/", ".")
            running.throw(
                "ClassCastException",
                f"class {value.type_name} cannot be cast to class {box}",
            )
    if (letter == "Z") != (target == "Z"):
        return None
    plain = running.unboxed(value)
    if not plain.is_known:
        return Value(target, UNKNOWN)
    data = converted(plain.data, plain.type, target)
    return Value(target, data, is_constant=value.is_constant)


def is_text(value: Value) -> bool:
    """Whether a value makes ``+`` a concatenation."""
    return value.type == STRING or (value.is_known and isinstance(value.data, refs.String))


__all__ = ["as_argument", "cast", "is_text", "narrowed", "to_type"]
