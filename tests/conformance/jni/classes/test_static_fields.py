"""JNI: static fields."""

from __future__ import annotations

import math
from typing import Any

import pytest

import jvmti
import programs
from conformance.evidence import Evidence
from conformance.recorder import TYPES, java_object, unescaped
from jvmti.refs import Class, Object

errors = jvmti.errors

STATIC = {
    "boolean": ("staticBoolean", True),
    "byte": ("staticByte", -128),
    "char": ("staticChar", "€"),
    "short": ("staticShort", -32768),
    "int": ("staticInt", -(2**31)),
    "long": ("staticLong", -(2**63)),
    "float": ("staticFloat", math.ldexp(1, -149)),
    "double": ("staticDouble", math.ldexp(1, -1074)),
}

CHANGED: dict[str, tuple[Any, str]] = {
    "boolean": (False, "false"),
    "byte": (-1, "-1"),
    "char": ("Ж", "Ж"),
    "short": (-300, "-300"),
    "int": (70_000, "70000"),
    "long": (-(2**40), "-1099511627776"),
    "float": (0.15625, "0.15625"),
    "double": (-1e300, "-1.0E300"),
}


@pytest.fixture(scope="module")
def everything(vm: jvmti.VM) -> Object:
    """An object with a field of every type."""
    found: Object = java_object(vm, "everything")
    return found


@pytest.fixture(scope="module")
def cls(vm: jvmti.VM) -> Class:
    """Its class, which has a static field of every type too."""
    return vm.jni.find_class("Witness$Everything")


@pytest.mark.parametrize("name", TYPES)
def test_a_static_field_is_read_and_written(
    name: str, vm: jvmti.VM, cls: Class, witness: programs.JavaProgram, evidence: Evidence
) -> None:
    evidence.proves(
        "jni.get_static_field_id", f"jni.get_static_{name}_field", f"jni.set_static_{name}_field"
    )
    field_name, value = STATIC[name]
    field = vm.jni.get_static_field_id(cls, field_name, TYPES[name])
    get = getattr(vm.jni, f"get_static_{name}_field")
    set_ = getattr(vm.jni, f"set_static_{name}_field")
    assert get(cls, field) == value
    changed, printed = CHANGED[name]
    try:
        set_(cls, field, changed)
        assert unescaped(witness.ask(f"get Everything {field_name}")) == printed
        assert get(cls, field) == changed
    finally:
        set_(cls, field, value)


def test_an_inherited_static_field_is_found_through_the_subclass(
    vm: jvmti.VM, witness: programs.JavaProgram
) -> None:
    jni = vm.jni
    base, derived = jni.find_class("Witness$Base"), jni.find_class("Witness$Derived")
    field = jni.get_static_field_id(derived, "initialized", "I")
    assert jni.get_static_int_field(derived, field) == 1
    jni.set_static_int_field(derived, field, 5)
    assert witness.ask("get Base initialized") == "5"
    assert jni.get_static_int_field(base, jni.get_static_field_id(base, "initialized", "I")) == 5
    jni.set_static_int_field(derived, field, 1)


def test_looking_for_a_static_field_initialises_the_class(
    vm: jvmti.VM, witness: programs.JavaProgram
) -> None:
    assert witness.ask("untouched") in ("null", "initialised")
    untouched = vm.jni.find_class("Witness$Untouched")
    vm.jni.get_static_method_id(untouched, "touch", "()V")
    assert witness.ask("untouched") == "initialised"


def test_static_and_instance_fields_are_not_mixed_up(
    vm: jvmti.VM, everything: Object, cls: Class
) -> None:
    jni = vm.jni
    instance = jni.get_field_id(cls, "anInt", "I")
    static = jni.get_static_field_id(cls, "staticInt", "I")
    with pytest.raises(errors.InvalidFieldID, match="is static"):
        jni.get_int_field(everything, static)
    with pytest.raises(errors.InvalidFieldID, match="not static"):
        jni.get_static_int_field(cls, instance)
    with pytest.raises(errors.InvalidFieldID):
        jni.set_int_field(everything, static, 1)
    with pytest.raises(errors.InvalidFieldID):
        jni.set_static_int_field(cls, instance, 1)
