"""JNI: the version."""

from __future__ import annotations

import jvms
import jvmti
from conformance.evidence import Evidence


def test_the_version_is_that_of_the_jvm(vm: jvmti.VM, jvm: jvms.Jvm, evidence: Evidence) -> None:
    evidence.proves("jni.get_version")
    known = {11: 10, 17: 10, 21: 21, 25: 24}
    assert vm.jni.get_version() == known.get(jvm.feature, 24) << 16
