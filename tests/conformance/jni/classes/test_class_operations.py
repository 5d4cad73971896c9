"""JNI: finding and defining classes, and superclasses."""

from __future__ import annotations

from typing import Any

import pytest

import compiler
import jvmti
import programs
from conformance.evidence import Evidence

errors = jvmti.errors


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
        reported = witness.ask(f"super {name.replace('/', '.')}")
        base = jni.get_superclass(cls)
        if base is None:
            assert reported == "null"
            continue
        signature = vm.env.get_class_signature(base).signature
        assert reported == f"class {signature[1:-1].replace('/', '.')}"
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
