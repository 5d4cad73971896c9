"""JNI: reflection objects of methods and fields."""

from __future__ import annotations

from typing import Any

import pytest

import jvmti
import programs
from conformance.evidence import Evidence
from conformance.recorder import PARAMETERS, Recorder

errors = jvmti.errors


@pytest.fixture(scope="module")
def recorder(vm: jvmti.VM, witness: programs.JavaProgram) -> Recorder:
    """A Java object with methods and fields of every type."""
    return Recorder(vm, witness)


def test_methods_become_reflection_objects_and_methods_again(
    vm: jvmti.VM, recorder: Recorder, evidence: Evidence
) -> None:
    evidence.proves("jni.to_reflected_method", "jni.from_reflected_method")
    jni = vm.jni
    constructor = jni.get_method_id(recorder.base, "<init>", "()V")
    cases = [
        (recorder.method("intOf", "I"), False, "Method", "int Witness$Recorder.intOf"),
        (
            recorder.static_method("staticIntOf", "I"),
            True,
            "Method",
            "static int Witness$Recorder.staticIntOf",
        ),
        (constructor, False, "Constructor", "Witness$Recorder()"),
    ]
    to_string = jni.get_method_id(
        jni.find_class("java/lang/Object"), "toString", "()Ljava/lang/String;"
    )
    for method, is_static, kind, printed in cases:
        reflected = jni.to_reflected_method(recorder.base, method, is_static)
        assert jni.is_instance_of(reflected, jni.find_class(f"java/lang/reflect/{kind}"))
        reported: Any = jni.call_object_method(reflected, to_string)
        assert jni.get_string_chars(reported).startswith(printed)
        assert jni.from_reflected_method(reflected) == method


def test_fields_become_reflection_objects_and_fields_again(
    vm: jvmti.VM, recorder: Recorder, evidence: Evidence
) -> None:
    evidence.proves("jni.to_reflected_field", "jni.from_reflected_field")
    jni = vm.jni
    static = jni.get_static_field_id(recorder.base, "received", "Ljava/lang/String;")
    to_string = jni.get_method_id(
        jni.find_class("java/lang/Object"), "toString", "()Ljava/lang/String;"
    )
    for field, is_static, printed in (
        (recorder.field("ints", "[I"), False, "int[] Witness$Recorder.ints"),
        (static, True, "static java.lang.String Witness$Recorder.received"),
    ):
        reflected = jni.to_reflected_field(recorder.base, field, is_static)
        reported: Any = jni.call_object_method(reflected, to_string)
        assert jni.get_string_chars(reported) == printed
        assert jni.from_reflected_field(reflected) == field


def test_reflection_refuses_what_does_not_belong_together(
    vm: jvmti.VM, recorder: Recorder, evidence: Evidence
) -> None:
    evidence.provokes("jni.to_reflected_method", "INVALID_METHODID", "ILLEGAL_ARGUMENT")
    evidence.provokes("jni.to_reflected_field", "INVALID_FIELDID", "ILLEGAL_ARGUMENT")
    evidence.provokes("jni.from_reflected_method", "INVALID_OBJECT")
    evidence.provokes("jni.from_reflected_field", "INVALID_OBJECT")
    jni = vm.jni
    string = jni.find_class("java/lang/String")
    method, field = recorder.method("intOf", "I"), recorder.field("ints", "[I")
    with pytest.raises(errors.InvalidMethodID):
        jni.to_reflected_method(string, method, False)
    with pytest.raises(errors.IllegalArgument):
        jni.to_reflected_method(recorder.base, method, True)
    with pytest.raises(errors.InvalidFieldID):
        jni.to_reflected_field(string, field, False)
    with pytest.raises(errors.IllegalArgument):
        jni.to_reflected_field(recorder.base, field, True)
    reflected_field = jni.to_reflected_field(recorder.base, field, False)
    reflected_method = jni.to_reflected_method(recorder.base, method, False)
    for wrong in (recorder.object, reflected_field, string):
        with pytest.raises(errors.InvalidObject, match="Method or Constructor"):
            jni.from_reflected_method(wrong)
    for wrong in (recorder.object, reflected_method, string):
        with pytest.raises(errors.InvalidObject, match="Field"):
            jni.from_reflected_field(wrong)


def test_a_reflected_member_of_another_class_is_itself(vm: jvmti.VM, recorder: Recorder) -> None:
    jni = vm.jni
    overriding = jni.find_class("Witness$Overriding")
    inherited = recorder.method("intOf", "I")
    overridden = jni.get_method_id(overriding, "intOf", PARAMETERS + "I")
    assert inherited != overridden
    reflected = jni.to_reflected_method(overriding, overridden, False)
    assert jni.from_reflected_method(reflected) == overridden
