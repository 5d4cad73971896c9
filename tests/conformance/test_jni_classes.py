"""JNI's chapters of versions, classes, reflection, modules and virtual threads."""

from __future__ import annotations

from typing import Any

import pytest

import compiler
import jvms
import jvmti
import programs
from conformance.evidence import Evidence
from conformance.recorder import PARAMETERS, Recorder, java_thread

errors = jvmti.errors


@pytest.fixture(scope="module")
def recorder(vm: jvmti.VM, witness: programs.JavaProgram) -> Recorder:
    """A Java object with methods and fields of every type."""
    return Recorder(vm, witness)


def test_the_version_is_that_of_the_jvm(vm: jvmti.VM, jvm: jvms.Jvm, evidence: Evidence) -> None:
    evidence.proves("jni.get_version")
    known = {11: 10, 17: 10, 21: 21, 25: 24}
    assert vm.jni.get_version() == known.get(jvm.feature, 24) << 16


def test_classes_are_found_by_name(
    vm: jvmti.VM, witness: programs.JavaProgram, evidence: Evidence
) -> None:
    evidence.proves("jni.find_class")
    for name in ("Witness$Derived", "java/util/Map$Entry", "[I", "[[Ljava/lang/String;"):
        found = vm.jni.find_class(name)
        assert vm.jni.find_class(name) is found
        expected = witness.ask(f"signature {name.replace('/', '.')}")
        assert vm.env.get_class_signature(found).signature == expected


@pytest.mark.parametrize(
    "name",
    [
        *("", "[", "[L;", "[Lx", "L", ";", "/", "I", "[V"),
        *("no.dots", "No", "x" * 70_000, "\0", "\ud800"),
    ],
    ids=lambda name: name[:8].encode("unicode-escape").decode() or "empty",
)
def test_a_name_of_no_class_throws(name: str, vm: jvmti.VM, evidence: Evidence) -> None:
    evidence.provokes("jni.find_class", "JAVA_EXCEPTION")
    with pytest.raises(jvmti.JavaException) as raised:
        vm.jni.find_class(name)
    assert raised.value.class_name in (
        "java.lang.NoClassDefFoundError",
        "java.lang.ClassNotFoundException",
    )


def test_superclasses_are_those_that_reflection_tells(
    vm: jvmti.VM, witness: programs.JavaProgram, evidence: Evidence
) -> None:
    evidence.proves("jni.get_superclass", "jni.is_assignable_from")
    jni = vm.jni
    for name in ("Witness$Derived", "java/util/ArrayList", "[I", "java/util/List"):
        cls = jni.find_class(name)
        told = witness.ask(f"super {name.replace('/', '.')}")
        base = jni.get_superclass(cls)
        if base is None:
            assert told == "null"
            continue
        signature = vm.env.get_class_signature(base).signature
        assert told == f"class {signature[1:-1].replace('/', '.')}"
        assert jni.is_assignable_from(cls, base)
        assert not jni.is_assignable_from(base, cls)
    assert jni.get_superclass(jni.find_class("java/lang/Object")) is None
    assert jni.is_assignable_from(
        jni.find_class("java/util/ArrayList"), jni.find_class("java/util/List")
    )


def test_what_is_no_class_has_no_superclass(vm: jvmti.VM, evidence: Evidence) -> None:
    jni = vm.jni
    evidence.provokes("jni.get_superclass", "INVALID_CLASS")
    evidence.provokes("jni.is_assignable_from", "INVALID_CLASS")
    weak: Any = jni.new_weak_global_ref(jni.new_string("no class"))
    string = jni.find_class("java/lang/String")
    with pytest.raises(errors.InvalidClass):
        jni.get_superclass(weak)
    with pytest.raises(errors.InvalidClass):
        jni.is_assignable_from(string, weak)
    with pytest.raises(errors.InvalidClass, match="sub must be a Class, not String"):
        jni.get_superclass(jni.new_string("no class"))  # type: ignore[arg-type]


def test_a_weak_reference_to_a_class_stands_for_it(vm: jvmti.VM) -> None:
    jni = vm.jni
    weak: Any = jni.new_weak_global_ref(jni.find_class("java/lang/Integer"))
    assert jni.get_superclass(weak) is jni.find_class("java/lang/Number")


def test_a_class_is_defined_in_the_loader_that_was_asked_for(
    vm: jvmti.VM, witness: programs.JavaProgram, evidence: Evidence
) -> None:
    evidence.proves("jni.define_class")
    evidence.provokes("jni.define_class", "JAVA_EXCEPTION")
    jni, env = vm.jni, vm.env
    data = (compiler.classes("Idle") / "Idle.class").read_bytes()
    loader = env.get_class_loader(jni.find_class("Witness"))
    assert witness.ask("load Idle").startswith("error")
    defined = jni.define_class("Idle", loader, data)
    assert env.get_class_signature(defined).signature == "LIdle;"
    assert env.get_class_loader(defined) is loader
    assert witness.ask("load Idle") == "Idle"
    assert "AppClassLoader" in witness.ask("loader Idle")
    assert jni.find_class("Idle") is defined
    bootstrap = jni.define_class(None, None, data)
    assert env.get_class_loader(bootstrap) is None
    assert bootstrap != defined
    with pytest.raises(jvmti.JavaException, match="LinkageError"):
        jni.define_class("Idle", loader, data)
    with pytest.raises(jvmti.JavaException, match="NoClassDefFoundError"):
        jni.define_class("Other", loader, data)
    for wrong in (b"", b"\xca\xfe\xba\xbe", data[:100], data[:-1], b"x" * 1000):
        with pytest.raises(jvmti.JavaException, match="ClassFormatError"):
            jni.define_class(None, loader, wrong)


def test_only_class_loaders_define_classes(vm: jvmti.VM, evidence: Evidence) -> None:
    evidence.provokes("jni.define_class", "ILLEGAL_ARGUMENT")
    jni = vm.jni
    weak: Any = jni.new_weak_global_ref(jni.new_string("no loader"))
    with pytest.raises(errors.IllegalArgument, match="not a live ClassLoader"):
        jni.define_class("X", weak, b"")
    with pytest.raises(errors.IllegalArgument, match="loader must be a ClassLoader"):
        jni.define_class("X", jni.new_string("no loader"), b"")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="buf must be bytes"):
        jni.define_class("X", None, "text")  # type: ignore[arg-type]


# ---- reflection ------------------------------------------------------------------------------


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
        told: Any = jni.call_object_method(reflected, to_string)
        assert jni.get_string_chars(told).startswith(printed)
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
        told: Any = jni.call_object_method(reflected, to_string)
        assert jni.get_string_chars(told) == printed
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


# ---- modules and virtual threads -------------------------------------------------------------


def test_a_class_is_in_the_module_that_java_names(
    vm: jvmti.VM, witness: programs.JavaProgram, evidence: Evidence
) -> None:
    evidence.proves("jni.get_module")
    jni = vm.jni
    get_name = jni.get_method_id(
        jni.find_class("java/lang/Module"), "getName", "()Ljava/lang/String;"
    )
    for name in ("java/lang/String", "Witness", "[I", "java/lang/management/ThreadInfo"):
        module: Any = jni.get_module(jni.find_class(name))
        named: Any = jni.call_object_method(module, get_name)
        told = witness.ask(f"module {name.replace('/', '.')}")
        assert (jni.get_string_chars(named) if named is not None else "null") == told


def test_what_is_no_class_is_in_no_module(vm: jvmti.VM, evidence: Evidence) -> None:
    evidence.provokes("jni.get_module", "INVALID_CLASS")
    weak: Any = vm.jni.new_weak_global_ref(vm.jni.new_string("no class"))
    with pytest.raises(errors.InvalidClass):
        vm.jni.get_module(weak)


def test_virtual_threads_are_told_from_others(
    vm: jvmti.VM, jvm: jvms.Jvm, evidence: Evidence
) -> None:
    platform = java_thread(vm, "parked")
    if jvm.feature < 21:
        evidence.provokes("jni.is_virtual_thread", "NOT_IN_THIS_VERSION")
        with pytest.raises(errors.NotInThisVersion, match="version 21"):
            vm.jni.is_virtual_thread(platform)
        return
    evidence.proves("jni.is_virtual_thread")
    evidence.provokes("jni.is_virtual_thread", "INVALID_OBJECT")
    assert vm.jni.is_virtual_thread(java_thread(vm, "virtual"))
    assert not vm.jni.is_virtual_thread(platform)
    assert not vm.jni.is_virtual_thread(vm.jni.new_string("no thread at all"))
    gone = vm.jni.new_string("gone")
    vm.jni.delete_local_ref(gone)
    with pytest.raises(errors.InvalidObject):
        vm.jni.is_virtual_thread(gone)
