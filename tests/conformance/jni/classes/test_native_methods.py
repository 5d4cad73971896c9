"""JNI: registering native methods."""

from __future__ import annotations

from typing import Any

import pytest

import jvmti
import programs
from conformance.evidence import Evidence
from conformance.recorder import Recorder

errors = jvmti.errors


@pytest.fixture
def recorder(vm: jvmti.VM, witness: programs.JavaProgram) -> Recorder:
    """A fresh Java object."""
    return Recorder(vm, witness)


def test_native_methods_are_bound_to_functions_of_the_target(
    vm: jvmti.VM, recorder: Recorder, evidence: Evidence
) -> None:
    evidence.proves("jni.register_natives", "jni.unregister_natives")
    jni = vm.jni
    assert recorder.answer("callIdentity") == "unbound"
    names, signatures = ["identity", "bitsOf"], ["()I", "(F)I"]
    # One of the VM itself, and one of a library that it loaded for itself only.
    symbols = ["JVM_IHashCode", "Java_java_lang_Float_floatToRawIntBits"]
    assert jni.register_natives(recorder.base, names, signatures, symbols) == 0
    assert recorder.answer("callIdentity") == "true"
    assert recorder.answer("callBits") == "3fc00000"
    assert jni.unregister_natives(recorder.base) == 0
    assert recorder.answer("callIdentity") == "unbound"
    assert jni.register_natives(recorder.base, [], [], []) == 0


def test_what_is_no_native_method_or_no_function_is_not_bound(
    vm: jvmti.VM, recorder: Recorder, evidence: Evidence
) -> None:
    evidence.provokes(
        "jni.register_natives",
        "NOT_FOUND",
        "ILLEGAL_ARGUMENT",
        "JAVA_EXCEPTION",
        "INVALID_CLASS",
    )
    evidence.provokes("jni.unregister_natives", "INVALID_CLASS")
    register = vm.jni.register_natives
    with pytest.raises(errors.NotFound, match="no symbol no_such_function"):
        register(recorder.base, ["identity"], ["()I"], ["no_such_function"])
    with pytest.raises(errors.IllegalArgument, match="not of one length"):
        register(recorder.base, ["identity"], ["()I"], [])
    for name, signature in (("identity", "()J"), ("voidOf", "()V"), ("noSuch", "()V")):
        with pytest.raises(jvmti.JavaException, match="NoSuchMethodError"):
            register(recorder.base, [name], [signature], ["JVM_IHashCode"])
    assert recorder.answer("callIdentity") == "unbound"
    weak: Any = vm.jni.new_weak_global_ref(recorder.object)
    with pytest.raises(errors.InvalidClass):
        register(weak, ["identity"], ["()I"], ["JVM_IHashCode"])
    with pytest.raises(errors.InvalidClass):
        vm.jni.unregister_natives(weak)
    for wrong in ("identity", [None], [1], None):
        with pytest.raises(TypeError):
            register(recorder.base, wrong, ["()I"], ["JVM_IHashCode"])  # type: ignore[arg-type]
