"""JNI: making objects, and their classes."""

from __future__ import annotations

from typing import Any

import pytest

import jvmti
import programs
from conformance.evidence import Evidence
from conformance.recorder import (
    ARRIVED,
    PARAMETERS,
    Recorder,
    existing,
)

errors = jvmti.errors


@pytest.fixture(scope="module")
def recorder(vm: jvmti.VM, witness: programs.JavaProgram) -> Recorder:
    """A Java object that notes what it is called with."""
    return Recorder(vm, witness, "Overriding")


def test_a_new_object_ran_its_constructor(
    recorder: Recorder, witness: programs.JavaProgram, evidence: Evidence
) -> None:
    evidence.proves("jni.new_object")
    jni = recorder.jni
    constructor = jni.get_method_id(recorder.base, "<init>", PARAMETERS + "V")
    made = jni.new_object(recorder.base, constructor, recorder.arguments)
    assert recorder.received == f"Recorder{ARRIVED}"
    assert jni.get_object_class(made) is recorder.base
    field = jni.get_static_field_id(recorder.base, "instance", "LWitness$Recorder;")
    assert jni.get_static_object_field(recorder.base, field) is made
    jni.set_static_object_field(recorder.base, field, recorder.object)


def test_an_allocated_object_ran_no_constructor(recorder: Recorder, evidence: Evidence) -> None:
    evidence.proves("jni.alloc_object")
    jni = recorder.jni
    blank = jni.alloc_object(recorder.base)
    assert jni.get_object_field(blank, recorder.field("ints", "[I")) is None
    # Its constructor can be run later, as in C.
    constructor = jni.get_method_id(recorder.base, "<init>", "()V")
    jni.call_nonvirtual_void_method(blank, recorder.base, constructor)
    ints: Any = existing(jni.get_object_field(blank, recorder.field("ints", "[I")))
    assert jni.get_array_length(ints) == 3
    field = jni.get_static_field_id(recorder.base, "instance", "LWitness$Recorder;")
    assert jni.get_static_object_field(recorder.base, field) is blank
    jni.set_static_object_field(recorder.base, field, recorder.object)


def test_the_class_of_an_object_is_the_one_that_java_names(
    recorder: Recorder, vm: jvmti.VM, witness: programs.JavaProgram, evidence: Evidence
) -> None:
    evidence.proves("jni.get_object_class", "jni.is_instance_of")
    jni = recorder.jni
    cls = jni.get_object_class(recorder.object)
    assert vm.env.get_class_signature(cls).signature == witness.ask("signature recorder")
    assert jni.is_instance_of(recorder.object, recorder.base)
    assert jni.is_instance_of(recorder.object, recorder.cls)
    assert not jni.is_instance_of(recorder.object, jni.find_class("java/lang/String"))
    assert jni.is_instance_of(None, jni.find_class("java/lang/String"))


def test_constructors_and_classes_must_belong_together(
    recorder: Recorder, evidence: Evidence
) -> None:
    evidence.provokes("jni.new_object", "INVALID_METHODID", "INVALID_CLASS", "JAVA_EXCEPTION")
    evidence.provokes("jni.alloc_object", "INVALID_CLASS", "JAVA_EXCEPTION")
    jni = recorder.jni
    constructor = jni.get_method_id(recorder.base, "<init>", "()V")
    with pytest.raises(errors.InvalidMethodID, match="not a constructor of the class"):
        jni.new_object(recorder.cls, constructor)
    with pytest.raises(errors.InvalidMethodID, match="not a constructor"):
        jni.new_object(recorder.base, recorder.method("voidOf", "V"), recorder.arguments)
    for name in ("[I", "java/lang/Class"):
        cls = jni.find_class(name)
        with pytest.raises(errors.InvalidClass):
            jni.alloc_object(cls)
        with pytest.raises(errors.InvalidClass):
            jni.new_object(cls, constructor)
    for name in ("java/util/List", "java/lang/Number"):
        with pytest.raises(jvmti.JavaException, match="InstantiationException"):
            jni.alloc_object(jni.find_class(name))
    abstract = jni.find_class("java/lang/Number")
    with pytest.raises(jvmti.JavaException, match="InstantiationException"):
        jni.new_object(abstract, jni.get_method_id(abstract, "<init>", "()V"))
