"""JNI: instance fields, and what both kinds of fields refuse."""

from __future__ import annotations

from typing import Any

import pytest

import jvmti
import programs
from conformance.evidence import Evidence
from conformance.jni.fields import CHANGED, STATIC
from conformance.recorder import TYPES, Recorder, existing, java_object, unescaped
from jvmti.refs import Class, Object

errors = jvmti.errors

INSTANCE = {
    "boolean": ("aBoolean", True),
    "byte": ("aByte", 127),
    "char": ("aChar", "\u4e2d"),
    "short": ("aShort", 32767),
    "int": ("anInt", 2**31 - 1),
    "long": ("aLong", 2**63 - 1),
    "float": ("aFloat", 3.4028234663852886e38),
    "double": ("aDouble", 1.7976931348623157e308),
}


@pytest.mark.parametrize("name", TYPES)
def test_an_instance_field_is_read_and_written(
    name: str,
    vm: jvmti.VM,
    everything: Object,
    cls: Class,
    witness: programs.JavaProgram,
    evidence: Evidence,
) -> None:
    evidence.proves("jni.get_field_id", f"jni.get_{name}_field", f"jni.set_{name}_field")
    field_name, value = INSTANCE[name]
    field = vm.jni.get_field_id(cls, field_name, TYPES[name])
    get = getattr(vm.jni, f"get_{name}_field")
    set_ = getattr(vm.jni, f"set_{name}_field")
    assert get(everything, field) == value
    assert type(get(everything, field)) is type(value)
    changed, printed = CHANGED[name]
    try:
        assert set_(everything, field, changed) is None
        assert unescaped(witness.ask(f"get everything {field_name}")) == printed
        assert get(everything, field) == changed
    finally:
        set_(everything, field, value)


def test_fields_of_objects_are_read_and_written(
    vm: jvmti.VM,
    everything: Object,
    cls: Class,
    witness: programs.JavaProgram,
    evidence: Evidence,
) -> None:
    evidence.proves(
        "jni.get_object_field",
        "jni.set_object_field",
        "jni.get_static_object_field",
        "jni.set_static_object_field",
    )
    jni = vm.jni
    field = jni.get_field_id(cls, "aString", "Ljava/lang/String;")
    static = jni.get_static_field_id(cls, "staticString", "Ljava/lang/String;")
    nothing = jni.get_field_id(cls, "nothing", "Ljava/lang/Object;")
    before: Any = jni.get_object_field(everything, field)
    static_before: Any = jni.get_static_object_field(cls, static)
    assert jni.get_string_chars(before) == "instance"
    assert jni.get_string_chars(static_before) == "static é 😀 \0 end"
    assert jni.get_object_field(everything, nothing) is None
    try:
        jni.set_object_field(everything, field, jni.new_string("from Python"))
        assert unescaped(witness.ask("get everything aString")) == "from Python"
        jni.set_object_field(everything, field, None)
        assert witness.ask("get everything aString") == "null"
        jni.set_static_object_field(cls, static, jni.new_string("Жук"))
        assert unescaped(witness.ask("get Everything staticString")) == "Жук"
        jni.set_object_field(everything, nothing, everything)
        assert jni.get_object_field(everything, nothing) is everything
    finally:
        jni.set_object_field(everything, field, before)
        jni.set_static_object_field(cls, static, static_before)
        jni.set_object_field(everything, nothing, None)


def test_a_field_that_a_subclass_hides_is_another_field(
    vm: jvmti.VM, witness: programs.JavaProgram
) -> None:
    jni = vm.jni
    derived_object = java_object(vm, "derived")
    base, derived = jni.find_class("Witness$Base"), jni.find_class("Witness$Derived")
    hidden = jni.get_field_id(base, "depth", "I")
    hiding = jni.get_field_id(derived, "depth", "I")
    assert hidden != hiding
    assert jni.get_int_field(derived_object, hidden) == 1
    assert jni.get_int_field(derived_object, hiding) == 2
    jni.set_int_field(derived_object, hidden, 40)
    assert witness.ask("call derived depth") == "42"
    jni.set_int_field(derived_object, hidden, 1)


def test_a_field_is_found_by_name_and_signature_together(
    vm: jvmti.VM, cls: Class, evidence: Evidence
) -> None:
    evidence.provokes("jni.get_field_id", "JAVA_EXCEPTION")
    evidence.provokes("jni.get_static_field_id", "JAVA_EXCEPTION")
    for name, signature in (("anInt", "J"), ("noSuch", "I"), ("staticInt", "I"), ("", "")):
        with pytest.raises(jvmti.JavaException, match="NoSuchFieldError"):
            vm.jni.get_field_id(cls, name, signature)
    with pytest.raises(jvmti.JavaException, match="NoSuchFieldError"):
        vm.jni.get_static_field_id(cls, "anInt", "I")


@pytest.mark.parametrize("kind", ["", "static_"])
@pytest.mark.parametrize("name", [*TYPES, "object"])
def test_a_function_for_another_type_is_refused(
    kind: str,
    name: str,
    vm: jvmti.VM,
    everything: Object,
    cls: Class,
    witness: programs.JavaProgram,
    evidence: Evidence,
) -> None:
    evidence.provokes(f"jni.get_{kind}{name}_field", "INVALID_FIELDID")
    evidence.provokes(f"jni.set_{kind}{name}_field", "INVALID_FIELDID")
    other = "int" if name != "int" else "long"
    if kind:
        field = vm.jni.get_static_field_id(cls, STATIC[other][0], TYPES[other])
    else:
        field = vm.jni.get_field_id(cls, INSTANCE[other][0], TYPES[other])
    target = cls if kind else everything
    value = None if name == "object" else CHANGED[name][0]
    with pytest.raises(errors.InvalidFieldID, match=f"of type {TYPES[other]}"):
        getattr(vm.jni, f"get_{kind}{name}_field")(target, field)
    with pytest.raises(errors.InvalidFieldID, match=f"of type {TYPES[other]}"):
        getattr(vm.jni, f"set_{kind}{name}_field")(target, field, value)
    assert int(witness.ask(f"get everything {INSTANCE[other][0]}")) == INSTANCE[other][1]


def test_a_field_of_another_class_is_refused(vm: jvmti.VM, everything: Object, cls: Class) -> None:
    jni = vm.jni
    stranger = jni.new_string("no field here")
    strange_class = jni.find_class("java/lang/String")
    with pytest.raises(errors.InvalidFieldID, match="not one of the object"):
        jni.get_int_field(stranger, jni.get_field_id(cls, "anInt", "I"))
    with pytest.raises(errors.InvalidFieldID, match="not one of the object"):
        jni.set_int_field(stranger, jni.get_field_id(cls, "anInt", "I"), 1)
    with pytest.raises(errors.InvalidFieldID, match="not one of the class"):
        jni.get_static_int_field(strange_class, jni.get_static_field_id(cls, "staticInt", "I"))
    # A class's own object is no instance of it.
    with pytest.raises(errors.InvalidFieldID, match="not one of the object"):
        jni.get_int_field(cls, jni.get_field_id(cls, "anInt", "I"))


def test_an_object_of_another_class_is_not_stored(
    vm: jvmti.VM,
    everything: Object,
    cls: Class,
    witness: programs.JavaProgram,
    evidence: Evidence,
) -> None:
    evidence.provokes("jni.set_object_field", "TYPE_MISMATCH")
    evidence.provokes("jni.set_static_object_field", "TYPE_MISMATCH")
    jni = vm.jni
    field = jni.get_field_id(cls, "aString", "Ljava/lang/String;")
    ints = jni.get_field_id(cls, "ints", "[I")
    static = jni.get_static_field_id(cls, "staticString", "Ljava/lang/String;")
    for wrong in (everything, cls, jni.new_int_array(1)):
        with pytest.raises(errors.TypeMismatch):
            jni.set_object_field(everything, field, wrong)
        with pytest.raises(errors.TypeMismatch):
            jni.set_static_object_field(cls, static, wrong)
    with pytest.raises(errors.TypeMismatch):
        jni.set_object_field(everything, ints, jni.new_long_array(1))
    assert witness.ask("get everything aString") == "instance"
    assert unescaped(witness.ask("get everything ints")) == "[1, -2, 3]"


OUT_OF_RANGE = {
    "byte": (128, -129),
    "char": (-1, 0x10000),
    "short": (32768, -32769),
    "int": (2**31, -(2**31) - 1),
    "long": (2**63, -(2**63) - 1),
    "float": (1e39,),
    "double": (10**400,),
}


@pytest.mark.parametrize("name", OUT_OF_RANGE)
def test_a_number_that_does_not_fit_the_field_is_refused(
    name: str, vm: jvmti.VM, everything: Object, cls: Class
) -> None:
    field = vm.jni.get_field_id(cls, INSTANCE[name][0], TYPES[name])
    set_ = getattr(vm.jni, f"set_{name}_field")
    for number in OUT_OF_RANGE[name]:
        with pytest.raises(OverflowError, match=f"does not fit j{name}"):
            set_(everything, field, number)
    for wrong in ("10", None, b"1", [1], everything):
        with pytest.raises(TypeError, match="value must be"):
            set_(everything, field, wrong)
    if name not in ("float", "double"):
        with pytest.raises(TypeError, match="must be an? .*, not float"):
            set_(everything, field, 1.0)


def test_a_field_id_outlives_the_objects_it_was_found_with(
    vm: jvmti.VM, recorder_object: Recorder
) -> None:
    field = recorder_object.field("text", "Ljava/lang/String;")
    vm.jni.set_object_field(recorder_object.object, field, vm.jni.new_string("kept"))
    text: Any = existing(vm.jni.get_object_field(recorder_object.object, field))
    assert vm.jni.get_string_chars(text) == "kept"


@pytest.fixture
def recorder_object(vm: jvmti.VM, witness: programs.JavaProgram) -> Recorder:
    """A fresh Java object with object fields."""
    return Recorder(vm, witness)
