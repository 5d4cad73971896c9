"""The verifier takes classes with every kind of probe in them."""

from __future__ import annotations

import pytest

import jvms
from instrumentation import verification
from jvmti.instrumentation.probes import Probe

# What is put into class files is the same on each JVM; scripts/verify_jars.py asks all verifiers.
pytestmark = pytest.mark.oldest_and_newest


def test_the_verifier_takes_classes_of_the_jdk_with_every_kind_of_probe(jvm: jvms.Jvm) -> None:
    found = verification.run(jvm, [], verification.EVERYTHING, step=700, most=700)
    assert found.classes > 500
    assert found.inserted > 10_000
    assert found.failed == {}


def test_the_verifier_takes_classes_of_the_jdk_that_record_calls(jvm: jvms.Jvm) -> None:
    found = verification.run(jvm, [], verification.RECORDING, step=700, most=700)
    assert found.classes > 500
    assert found.inserted > 10_000
    assert found.failed == {}


def test_the_verifier_takes_classes_of_the_jdk_that_stop_threads(jvm: jvms.Jvm) -> None:
    found = verification.run(jvm, [], verification.STOPPING, step=700, most=700)
    assert found.classes > 500
    assert found.inserted > 10_000
    more = verification.run(jvm, [], verification.PLACED, step=1400, most=1400)
    assert more.inserted > 10_000
    assert more.failed == {}
    # The agent puts no such probe into Object, whose constructor the probe's own objects call.
    assert set(found.failed) <= {"java.lang.Object"}


def test_the_verifier_refuses_what_is_wrong(jvm: jvms.Jvm) -> None:
    probe: str | Probe = f"entry *.* -> {verification.HELPER}.entry(Object this)"
    loads_an_int = (b"\x2a\xb8", b"\x1a\xb8")  # iload_0 for aload_0 before a static call
    found = verification.run(jvm, [], [probe], step=200, most=200, damage=loads_an_int)
    assert "FailsVerification" in "".join(found.failed.values())
