"""JNI: monitors."""

from __future__ import annotations

import threading
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


def test_a_java_thread_waits_for_a_monitor_that_python_holds(
    vm: jvmti.VM, recorder: Recorder, evidence: Evidence
) -> None:
    evidence.proves("jni.monitor_enter", "jni.monitor_exit")
    jni, witness = vm.jni, recorder.witness
    lock = recorder.element("lock", "Ljava/lang/Object;")
    assert jni.monitor_enter(lock) == 0
    assert jni.monitor_enter(lock) == 0
    assert recorder.answer("lockLater") == "blocked"
    contended = witness.ask("contended wanting")
    assert contended == f"Witness$Monitor@{vm.env.get_object_hash_code(lock)}"
    assert jni.monitor_exit(lock) == 0
    assert witness.ask("state wanting") == "BLOCKED"
    assert jni.monitor_exit(lock) == 0
    wait_until(lambda: recorder.received == "locked[]")


def test_a_monitor_can_be_left_through_another_reference(vm: jvmti.VM, recorder: Recorder) -> None:
    jni = vm.jni
    lock = recorder.element("lock", "Ljava/lang/Object;")
    weak: Any = jni.new_weak_global_ref(lock)
    other: Any = jni.new_global_ref(lock)
    jni.monitor_enter(weak)
    assert recorder.answer("lockLater") == "blocked"
    jni.monitor_exit(other)
    wait_until(lambda: recorder.received == "locked[]")


def test_a_monitor_is_left_when_the_python_thread_ends(vm: jvmti.VM, recorder: Recorder) -> None:
    entered, leave = threading.Event(), threading.Event()

    def hold() -> None:
        # The wrapper is given up at once, the monitor is not.
        vm.jni.monitor_enter(recorder.element("lock", "Ljava/lang/Object;"))
        vm.jni.get_version()
        entered.set()
        leave.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    assert entered.wait(30)
    assert recorder.answer("lockLater") == "blocked"
    assert vm.jni.get_version()
    assert recorder.witness.ask("state wanting") == "BLOCKED"
    leave.set()
    holder.join()
    wait_until(lambda: recorder.received == "locked[]")


def test_a_monitor_of_another_is_not_left(
    vm: jvmti.VM, recorder: Recorder, evidence: Evidence
) -> None:
    evidence.provokes("jni.monitor_exit", "JAVA_EXCEPTION", "INVALID_OBJECT")
    evidence.provokes("jni.monitor_enter", "INVALID_OBJECT")
    lock = recorder.element("lock", "Ljava/lang/Object;")
    with pytest.raises(jvmti.JavaException, match="IllegalMonitorStateException"):
        vm.jni.monitor_exit(lock)
    vm.jni.delete_local_ref(lock)
    for call in (vm.jni.monitor_enter, vm.jni.monitor_exit):
        with pytest.raises(errors.InvalidObject):
            call(lock)


def wait_until(condition: Any, seconds: float = 20) -> None:
    """Wait for what another thread is about to do."""
    pause = threading.Event()
    for _ in range(int(seconds / 0.005)):
        if condition():
            return
        pause.wait(0.005)
    pytest.fail("it did not happen")
