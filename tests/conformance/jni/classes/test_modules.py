"""JNI: the modules of classes."""

from __future__ import annotations

from typing import Any

import pytest

import jvmti
import programs
from conformance.evidence import Evidence

errors = jvmti.errors


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
        reported = witness.ask(f"module {name.replace('/', '.')}")
        assert (jni.get_string_chars(named) if named is not None else "null") == reported


def test_what_is_no_class_is_in_no_module(vm: jvmti.VM, evidence: Evidence) -> None:
    evidence.provokes("jni.get_module", "INVALID_CLASS")
    weak: Any = vm.jni.new_weak_global_ref(vm.jni.new_string("no class"))
    with pytest.raises(errors.InvalidClass):
        vm.jni.get_module(weak)
