"""JNI: virtual threads."""

from __future__ import annotations

import pytest

import jvms
import jvmti
from conformance.evidence import Evidence
from conformance.recorder import java_thread

errors = jvmti.errors


def test_virtual_threads_are_distinguished_from_others(
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
