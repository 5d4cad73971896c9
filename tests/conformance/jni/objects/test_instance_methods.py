"""JNI: instance methods, with arguments and receivers that do not fit."""

from __future__ import annotations

from typing import Any

import pytest

import jvmti
import programs
from conformance.evidence import Evidence
from conformance.recorder import (
    ARRIVED,
    OVERRIDDEN,
    PARAMETERS,
    PRIMITIVES,
    TYPES,
    VALUES,
    Recorder,
)

errors = jvmti.errors


@pytest.fixture(scope="module")
def recorder(vm: jvmti.VM, witness: programs.JavaProgram) -> Recorder:
    """A Java object that notes what it is called with."""
    return Recorder(vm, witness, "Overriding")


@pytest.mark.parametrize("name", TYPES)
def test_an_instance_method_gets_every_argument_and_its_result_comes_back(
    name: str, recorder: Recorder, evidence: Evidence
) -> None:
    evidence.proves("jni.get_method_id", f"jni.call_{name}_method")
    call = getattr(recorder.jni, f"call_{name}_method")
    method = recorder.method(f"{name}Of", TYPES[name])
    assert call(recorder.object, method, recorder.arguments) == OVERRIDDEN[name]
    assert recorder.received == f"overriding {name}Of{ARRIVED}"


@pytest.mark.parametrize("name", TYPES)
def test_a_nonvirtual_call_runs_the_overridden_method(
    name: str, recorder: Recorder, evidence: Evidence
) -> None:
    evidence.proves(f"jni.call_nonvirtual_{name}_method")
    call = getattr(recorder.jni, f"call_nonvirtual_{name}_method")
    method = recorder.method(f"{name}Of", TYPES[name])
    result = call(recorder.object, recorder.base, method, recorder.arguments)
    assert result == VALUES[name]
    assert type(result) is type(VALUES[name])
    assert recorder.received == f"{name}Of{ARRIVED}"


def test_methods_that_return_objects_give_the_very_object(
    recorder: Recorder, evidence: Evidence
) -> None:
    evidence.proves(
        "jni.call_object_method",
        "jni.call_nonvirtual_object_method",
        "jni.call_static_object_method",
    )
    jni = recorder.jni
    text = recorder.arguments[-1]
    virtual = recorder.method("objectOf", "Ljava/lang/Object;")
    assert jni.call_object_method(recorder.object, virtual, recorder.arguments) is None
    assert recorder.received == f"overriding objectOf{ARRIVED}"
    same = jni.call_nonvirtual_object_method(
        recorder.object, recorder.base, virtual, recorder.arguments
    )
    assert same is text
    static = recorder.static_method("staticObjectOf", "Ljava/lang/Object;")
    assert jni.call_static_object_method(recorder.base, static, recorder.arguments) is text
    assert recorder.received == f"staticObjectOf{ARRIVED}"


def test_void_methods_run(recorder: Recorder, evidence: Evidence) -> None:
    evidence.proves(
        "jni.call_void_method", "jni.call_nonvirtual_void_method", "jni.call_static_void_method"
    )
    jni = recorder.jni
    method = recorder.method("voidOf", "V")
    jni.call_void_method(recorder.object, method, recorder.arguments)
    assert recorder.received == f"overriding voidOf{ARRIVED}"
    jni.call_nonvirtual_void_method(recorder.object, recorder.base, method, recorder.arguments)
    assert recorder.received == f"voidOf{ARRIVED}"
    static = recorder.static_method("staticVoidOf", "V")
    jni.call_static_void_method(recorder.base, static, recorder.arguments)
    assert recorder.received == f"staticVoidOf{ARRIVED}"


def test_null_and_one_character_are_arguments_too(recorder: Recorder) -> None:
    method = recorder.static_method("staticVoidOf", "V")
    arguments = [False, 127, "x", 0, 0, 2**63 - 1, 0.0, float("nan"), None]
    recorder.jni.call_static_void_method(recorder.base, method, arguments)
    received = "staticVoidOf[false, 127, x, 0, 0, 9223372036854775807, 0.0, NaN, null]"
    assert recorder.received == received


def test_a_method_is_found_by_name_and_signature_together(
    recorder: Recorder, evidence: Evidence
) -> None:
    evidence.provokes("jni.get_method_id", "JAVA_EXCEPTION")
    evidence.provokes("jni.get_static_method_id", "JAVA_EXCEPTION")
    jni = recorder.jni
    for name, signature in (
        ("intOf", "()I"),
        ("noSuch", PARAMETERS + "I"),
        ("staticIntOf", PARAMETERS + "I"),
        ("<clinit>", "()V"),
        ("", ""),
        ("x" * 70_000, "()V"),
    ):
        with pytest.raises(jvmti.JavaException) as thrown:
            jni.get_method_id(recorder.base, name, signature)
        assert thrown.value.class_name == "java.lang.NoSuchMethodError"
    with pytest.raises(jvmti.JavaException, match="NoSuchMethodError"):
        jni.get_static_method_id(recorder.base, "intOf", PARAMETERS + "I")


def test_a_receiver_of_another_class_is_refused(recorder: Recorder, evidence: Evidence) -> None:
    evidence.provokes("jni.call_int_method", "INVALID_METHODID")
    evidence.provokes("jni.call_nonvirtual_int_method", "INVALID_METHODID", "INVALID_OBJECT")
    evidence.provokes("jni.call_static_int_method", "INVALID_METHODID")
    jni = recorder.jni
    method = recorder.method("intOf", "I")
    stranger = jni.new_string("no recorder")
    strange_class = jni.find_class("java/lang/String")
    with pytest.raises(errors.InvalidMethodID, match="not a method of the object"):
        jni.call_int_method(stranger, method, recorder.arguments)
    with pytest.raises(errors.InvalidMethodID, match="not a method of the"):
        jni.call_nonvirtual_int_method(recorder.object, strange_class, method, recorder.arguments)
    plain = jni.new_object(recorder.base, jni.get_method_id(recorder.base, "<init>", "()V"))
    with pytest.raises(errors.InvalidObject, match="not an instance"):
        jni.call_nonvirtual_int_method(plain, recorder.cls, method, recorder.arguments)
    static = recorder.static_method("staticIntOf", "I")
    with pytest.raises(errors.InvalidMethodID, match="not a method of the class"):
        jni.call_static_int_method(strange_class, static, recorder.arguments)
    recorder.witness.ask("keep recorder Overriding")


@pytest.mark.parametrize("kind", ["", "nonvirtual_", "static_"])
@pytest.mark.parametrize("name", [*TYPES, "object", "void"])
def test_a_function_for_another_result_type_is_refused(
    kind: str, name: str, recorder: Recorder, evidence: Evidence
) -> None:
    evidence.provokes(f"jni.call_{kind}{name}_method", "INVALID_METHODID")
    call = getattr(recorder.jni, f"call_{kind}{name}_method")
    other = "long" if name != "long" else "int"
    if kind == "static_":
        method = recorder.static_method(f"static{other.capitalize()}Of", TYPES[other])
        target: tuple[Any, ...] = (recorder.base,)
    else:
        method = recorder.method(f"{other}Of", TYPES[other])
        target = (recorder.object, recorder.base) if kind else (recorder.object,)
    before = recorder.received
    with pytest.raises(errors.InvalidMethodID, match="cannot be called as"):
        call(*target, method, recorder.arguments)
    assert recorder.received == before


@pytest.mark.parametrize("count", [0, 8, 10, 255])
def test_a_wrong_number_of_arguments_is_refused(
    count: int, recorder: Recorder, evidence: Evidence
) -> None:
    evidence.provokes("jni.call_void_method", "ILLEGAL_ARGUMENT")
    method = recorder.method("voidOf", "V")
    arguments = (recorder.arguments * 29)[:count]
    with pytest.raises(errors.IllegalArgument, match=f"takes 9 arguments, not {count}"):
        recorder.jni.call_void_method(recorder.object, method, arguments)


WRONG = [
    *((0, wrong) for wrong in (2, -1, 1.0, None)),
    *((1, wrong) for wrong in (128, -129, 0.5, None)),
    *((2, wrong) for wrong in (-1, 0x10000, 1.0)),
    *((3, wrong) for wrong in (32768, -32769)),
    *((4, wrong) for wrong in (2**31, -(2**31) - 1, 1.0, None)),
    *((5, wrong) for wrong in (1.0, None)),
    *((6, wrong) for wrong in (1, None)),
    *((7, wrong) for wrong in (1, None)),
    *((8, wrong) for wrong in (1, 1.0)),
]


@pytest.mark.parametrize(("position", "wrong"), WRONG)
def test_an_argument_that_does_not_fit_its_parameter_is_refused(
    position: int, wrong: Any, recorder: Recorder, evidence: Evidence
) -> None:
    evidence.provokes("jni.call_static_void_method", "ILLEGAL_ARGUMENT")
    method = recorder.static_method("staticVoidOf", "V")
    arguments = list(recorder.arguments)
    arguments[position] = wrong
    with pytest.raises(errors.IllegalArgument, match=f"argument {position + 1} does not fit"):
        recorder.jni.call_static_void_method(recorder.base, method, arguments)


def test_an_object_of_another_class_is_no_argument(recorder: Recorder, evidence: Evidence) -> None:
    evidence.provokes("jni.call_object_method", "ILLEGAL_ARGUMENT")
    jni = recorder.jni
    string = jni.find_class("java/lang/String")
    concat = jni.get_method_id(string, "concat", "(Ljava/lang/String;)Ljava/lang/String;")
    text = jni.new_string("a")
    joined: Any = jni.call_object_method(text, concat, [jni.new_string("b")])
    assert jni.get_string_chars(joined) == "ab"
    for wrong in (recorder.object, string, jni.new_int_array(1)):
        with pytest.raises(errors.IllegalArgument, match="argument 1 does not fit"):
            jni.call_object_method(text, concat, [wrong])


def test_what_java_cannot_take_is_no_argument(recorder: Recorder) -> None:
    method = recorder.static_method("staticVoidOf", "V")
    wrong: Any
    for wrong in ("text", b"x", [1], {}, recorder.vm, method):
        with pytest.raises((TypeError, errors.InvalidObject)):
            recorder.jni.call_static_void_method(recorder.base, method, [*PRIMITIVES, wrong])
    with pytest.raises(OverflowError, match="argument 6"):
        recorder.jni.call_static_void_method(
            recorder.base, method, [*PRIMITIVES[:5], 2**63, 0.0, 0.0, None]
        )
    with pytest.raises(TypeError, match="sequence"):
        recorder.jni.call_static_void_method(recorder.base, method, "arguments")


def test_the_ends_of_method_handle_calls_cannot_be_called(recorder: Recorder) -> None:
    jni = recorder.jni
    handles = jni.find_class("java/lang/invoke/MethodHandle")
    signature = "([Ljava/lang/Object;)Ljava/lang/Object;"
    arguments = [jni.new_object_array(2, jni.find_class("java/lang/Object"))]
    for name in ("linkToStatic", "linkToVirtual", "linkToSpecial", "linkToInterface"):
        method = jni.get_static_method_id(handles, name, signature)
        with pytest.raises(errors.InvalidMethodID):
            jni.call_static_object_method(handles, method, arguments)


def test_an_abstract_method_has_no_nonvirtual_call(recorder: Recorder) -> None:
    jni = recorder.jni
    base = jni.find_class("Witness$Base")
    derived = jni.find_class("Witness$Derived")
    name = jni.get_method_id(base, "name", "()Ljava/lang/String;")
    constructor = jni.get_method_id(derived, "<init>", "()V")
    made = jni.new_object(derived, constructor)
    called: Any = jni.call_object_method(made, name)
    assert jni.get_string_chars(called) == "derived"
    with pytest.raises(errors.InvalidMethodID, match="abstract"):
        jni.call_nonvirtual_object_method(made, base, name)


def test_other_arguments_than_classes_and_objects_are_refused_before_anything_is_sent(
    recorder: Recorder,
) -> None:
    method = recorder.method("intOf", "I")
    wrong: Any
    for wrong in (None, 1, "text", method):
        error = errors.InvalidObject if wrong is method else TypeError
        with pytest.raises(error, match="obj must be an Object"):
            recorder.jni.call_int_method(wrong, method, recorder.arguments)
    with pytest.raises(errors.InvalidClass, match="clazz must be a Class, not"):
        recorder.jni.get_method_id(recorder.object, "intOf", "()I")  # type: ignore[arg-type]
    with pytest.raises(errors.InvalidMethodID, match="method_id must be a Method, not"):
        recorder.jni.call_int_method(recorder.object, recorder.object)  # type: ignore[arg-type]
