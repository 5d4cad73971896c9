"""JNI: static methods."""

from __future__ import annotations

import pytest

import jvmti
import programs
from conformance.evidence import Evidence
from conformance.recorder import (
    ARRIVED,
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
def test_a_static_method_gets_every_argument_and_its_result_comes_back(
    name: str, recorder: Recorder, evidence: Evidence
) -> None:
    evidence.proves("jni.get_static_method_id", f"jni.call_static_{name}_method")
    call = getattr(recorder.jni, f"call_static_{name}_method")
    method = recorder.static_method(f"static{name.capitalize()}Of", TYPES[name])
    assert call(recorder.base, method, recorder.arguments) == VALUES[name]
    assert recorder.received == f"static{name.capitalize()}Of{ARRIVED}"


def test_static_and_instance_methods_are_not_mixed_up(recorder: Recorder) -> None:
    jni = recorder.jni
    instance = recorder.method("intOf", "I")
    static = recorder.static_method("staticIntOf", "I")
    with pytest.raises(errors.InvalidMethodID, match="is static"):
        jni.call_int_method(recorder.object, static, recorder.arguments)
    with pytest.raises(errors.InvalidMethodID, match="is static"):
        jni.call_nonvirtual_int_method(recorder.object, recorder.base, static, recorder.arguments)
    with pytest.raises(errors.InvalidMethodID, match="not static"):
        jni.call_static_int_method(recorder.base, instance, recorder.arguments)
