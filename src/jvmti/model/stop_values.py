"""Values at a stop: local variables, the field that is watched, what a method is made to return."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, MutableMapping
from typing import TYPE_CHECKING, Any

from jvmti import refs
from jvmti.spec.errors import AbsentInformation
from jvmti.spec.signatures import java_name

if TYPE_CHECKING:
    from jvmti.env.environment import Env
    from jvmti.env.structures import LocalVariableEntry
    from jvmti.model.classes import Field, Method
    from jvmti.model.stops import Stop
    from jvmti.model.vm import VM

_INTEGERS = {"B": 8, "S": 16, "I": 32, "J": 64}
_NAMES = {
    "Z": "boolean",
    "B": "byte",
    "C": "char",
    "S": "short",
    "I": "int",
    "J": "long",
    "F": "float",
    "D": "double",
    "L": "object",
}


class Locals(MutableMapping[str, Any]):
    """The local variables of the frame of a stop, by name, in the order of their slots.

    JVM TI: GetLocalVariableTable, GetLocalInt, SetLocalInt and their relatives.
    """

    def __init__(self, stop: Stop) -> None:
        self._stop = stop
        with stop._speaking():
            self._env = stop._vm.stops.environment("can_access_local_variables")
            self._table = _table(self._env, stop.method, stop.location)

    def __getitem__(self, name: str) -> Any:
        variable = self._variable(name)
        stop, slot = self._stop, variable.slot
        with stop._speaking():
            env, thread = self._env, stop.thread
            match variable.signature[0]:
                case "J":
                    return env.get_local_long(thread, 0, slot)
                case "F":
                    return env.get_local_float(thread, 0, slot)
                case "D":
                    return env.get_local_double(thread, 0, slot)
                case "L" | "[":
                    return to_python(stop._vm, env.get_local_object(thread, 0, slot))
                case letter:
                    number = env.get_local_int(thread, 0, slot)
                    return (
                        bool(number) if letter == "Z" else chr(number) if letter == "C" else number
                    )

    def __setitem__(self, name: str, value: Any) -> None:
        variable = self._variable(name)
        stop, slot = self._stop, variable.slot
        with stop._speaking():
            env, thread = self._env, stop.thread
            given = to_java(stop._vm, value, variable.signature)
            match variable.signature[0]:
                case "J":
                    env.set_local_long(thread, 0, slot, given)
                case "F":
                    env.set_local_float(thread, 0, slot, given)
                case "D":
                    env.set_local_double(thread, 0, slot, given)
                case "L" | "[":
                    env.set_local_object(thread, 0, slot, given)
                case _:
                    env.set_local_int(thread, 0, slot, given)

    def __delitem__(self, name: str) -> None:
        raise TypeError("a local variable cannot be taken away")

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)

    def _variable(self, name: str) -> LocalVariableEntry:
        if name in self._table:
            return self._table[name]
        near = difflib.get_close_matches(name, self._table, n=3) or list(self._table)
        there = f"; there are {', '.join(near)}" if near else (
            "; the class was compiled without their names (javac -g)"
        )  # fmt: skip
        raise KeyError(f"there is no local variable {name!r} here{there}")

    def __repr__(self) -> str:
        return f"<Locals {', '.join(self._table)}>"


def _table(env: Env, method: Method, location: int) -> dict[str, LocalVariableEntry]:
    try:
        entries = env.get_local_variable_table(method)
    except AbsentInformation:
        return {}
    there = [one for one in entries
             if one.start_location <= location < one.start_location + one.length]  # fmt: skip
    return {one.name: one for one in sorted(there, key=lambda one: one.slot)}


def to_python(vm: VM, value: Any) -> Any:
    """What the model shows of a reference: a text of a string, anything else as it is."""
    if isinstance(value, refs.String):
        return vm.jni.get_string_chars(value)
    return value


def to_java(vm: VM, value: Any, signature: str) -> Any:
    """A Python value as one of a Java type.

    Raises:
        TypeError: it is none; the message says what was expected.
    """
    letter = signature[0]
    if letter in _INTEGERS and isinstance(value, int) and not isinstance(value, bool):
        if -(1 << _INTEGERS[letter] - 1) <= value < 1 << _INTEGERS[letter] - 1:
            return value
    elif letter == "Z" and isinstance(value, bool):
        return int(value)
    elif letter == "C" and isinstance(value, str) and len(value) == 1 and ord(value) < 0x10000:
        return ord(value)
    elif letter in "FD" and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    elif letter in "L[":
        if value is None or isinstance(value, refs.Object):
            return value
        if isinstance(value, str):
            return vm.jni.new_string(value)
    raise TypeError(f"a {java_name(signature)} was expected, not {value!r}")


def read_field(vm: VM, obj: Any, field: Field) -> Any:
    """The value of a field; ``None`` is the object of a static one.

    JNI: GetIntField, GetStaticIntField and their relatives.
    """
    letter = "L" if field.signature[0] in "L[" else field.signature[0]
    static = "" if obj is not None else "static_"
    get = getattr(vm.jni, f"get_{static}{_NAMES[letter]}_field")
    value = get(field.declaring_class if obj is None else obj, field)
    if letter == "C" and isinstance(value, int):
        return chr(value)
    return to_python(vm, value)


def return_value(vm: VM, env: Env, method: Method, value: Any) -> None:
    """Let the topmost frame of the current thread return a value."""
    signature = method.signature[method.signature.rindex(")") + 1 :]
    if signature == "V":
        if value is not None:
            raise TypeError(f"{method.name} returns void, not {value!r}")
        env.force_early_return_void(None)
        return
    given = to_java(vm, value, signature)
    match signature[0]:
        case "J":
            env.force_early_return_long(None, given)
        case "F":
            env.force_early_return_float(None, given)
        case "D":
            env.force_early_return_double(None, given)
        case "L" | "[":
            env.force_early_return_object(None, given)
        case _:
            env.force_early_return_int(None, given)


__all__ = ["Locals", "read_field", "return_value", "to_java", "to_python"]
