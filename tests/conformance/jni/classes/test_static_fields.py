"""JNI: static fields."""

from __future__ import annotations

import pytest

import jvmti
import programs
from conformance.evidence import Evidence
from conformance.jni.fields import CHANGED, STATIC
from conformance.recorder import TYPES, unescaped
from jvmti.refs import Class, Object

errors = jvmti.errors


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
