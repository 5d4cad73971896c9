"""JNI's chapter of exceptions: Java exceptions in Python, and pending ones."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import jvmti
import programs
from conformance.evidence import Evidence
from conformance.recorder import Recorder
from jvmti.refs import Class

errors = jvmti.errors


@pytest.fixture
def illegal_state(vm: jvmti.VM) -> Class:
    """``java.lang.IllegalStateException``."""
    return vm.jni.find_class("java/lang/IllegalStateException")


def test_a_thrown_object_is_raised_and_stays_pending(
    vm: jvmti.VM, illegal_state: Class, evidence: Evidence
) -> None:
    evidence.proves(
        "jni.throw",
        "jni.exception_occurred",
        "jni.exception_check",
        "jni.exception_clear",
    )
    jni = vm.jni
    constructor = jni.get_method_id(illegal_state, "<init>", "(Ljava/lang/String;)V")
    made: Any = jni.new_object(illegal_state, constructor, [jni.new_string("тест 😀")])
    assert not jni.exception_check()
    with pytest.raises(jvmti.JavaException) as raised:
        jni.throw(made)
    assert raised.value.throwable is made
    assert raised.value.class_name == "java.lang.IllegalStateException"
    assert raised.value.message == "тест 😀"
    assert jni.exception_check()
    assert jni.exception_occurred() is made
    assert jni.exception_occurred() is made
    jni.exception_clear()
    assert not jni.exception_check()
    assert jni.exception_occurred() is None
    jni.exception_clear()


def test_throw_new_makes_the_exception(
    vm: jvmti.VM, illegal_state: Class, evidence: Evidence
) -> None:
    evidence.proves("jni.throw_new")
    jni = vm.jni
    with pytest.raises(jvmti.JavaException, match="IllegalStateException.*made here") as raised:
        jni.throw_new(illegal_state, "made here")
    throwable: Any = raised.value.throwable
    message = jni.get_method_id(illegal_state, "getMessage", "()Ljava/lang/String;")
    reported: Any = jni.call_object_method(throwable, message)
    assert jni.get_string_chars(reported) == "made here"


def test_what_java_code_throws_is_raised(
    vm: jvmti.VM, witness: programs.JavaProgram, evidence: Evidence
) -> None:
    evidence.provokes("jni.call_static_void_method", "JAVA_EXCEPTION")
    jni = vm.jni
    recorder = Recorder(vm, witness)
    thrower = jni.get_static_method_id(recorder.base, "thrower", "(Ljava/lang/String;)V")
    with pytest.raises(jvmti.JavaException) as raised:
        jni.call_static_void_method(recorder.base, thrower, [jni.new_string("no disk")])
    assert raised.value.class_name == "java.io.IOException"
    assert raised.value.message == "no disk"
    field = jni.get_static_field_id(recorder.base, "thrown", "Ljava/lang/Throwable;")
    jni.set_static_object_field(recorder.base, field, raised.value.throwable)
    assert recorder.answer("thrownByJni") == "java.io.IOException: no disk"
    with pytest.raises(jvmti.JavaException) as silent:
        jni.call_static_void_method(recorder.base, thrower, [None])
    assert silent.value.message is None
    jni.set_static_object_field(recorder.base, field, None)


def test_the_next_call_ends_what_is_pending(vm: jvmti.VM, illegal_state: Class) -> None:
    jni = vm.jni
    spare = jni.new_string("spare")
    with pytest.raises(jvmti.JavaException):
        jni.throw_new(illegal_state, "short")
    # What JNI allows meanwhile leaves it, and so do calls of JVM TI.
    jni.delete_local_ref(spare)
    assert jni.push_local_frame(1) == 0
    assert jni.pop_local_frame() is None
    vm.env.get_phase()
    assert jni.exception_check()
    jni.get_version()
    assert not jni.exception_check()


def test_a_pending_exception_belongs_to_its_thread(vm: jvmti.VM, illegal_state: Class) -> None:
    with pytest.raises(jvmti.JavaException):
        vm.jni.throw_new(illegal_state, "mine")
    elsewhere: list[bool] = []
    other = threading.Thread(target=lambda: elsewhere.append(vm.jni.exception_check()))
    other.start()
    other.join()
    assert elsewhere == [False]
    assert vm.jni.exception_check()
    vm.jni.exception_clear()


def test_describing_an_exception_prints_it_in_the_target(
    vm: jvmti.VM, illegal_state: Class, witness: programs.JavaProgram, evidence: Evidence
) -> None:
    evidence.proves("jni.exception_describe")
    before = len(witness.stderr)
    vm.jni.exception_describe()
    assert witness.stderr[before:] == ""
    with pytest.raises(jvmti.JavaException):
        vm.jni.throw_new(illegal_state, "printed there")
    vm.jni.exception_describe()
    assert "IllegalStateException: printed there" in witness.stderr[before:]
    assert not vm.jni.exception_check()


def test_an_exception_in_a_batch_is_that_calls_own(vm: jvmti.VM, illegal_state: Class) -> None:
    with vm.jni.batch() as batch:
        first = batch.new_string("first")
        thrown = batch.throw_new(illegal_state, "in the middle")
        last = batch.get_version()
    assert vm.jni.get_string_chars(first.result()) == "first"
    with pytest.raises(jvmti.JavaException, match="in the middle") as raised:
        thrown.result()
    assert raised.value.throwable is not None
    assert last.result() == vm.jni.get_version()


def test_only_throwables_are_thrown(vm: jvmti.VM, evidence: Evidence) -> None:
    evidence.provokes("jni.throw", "INVALID_OBJECT")
    evidence.provokes("jni.throw_new", "INVALID_CLASS", "JAVA_EXCEPTION")
    jni = vm.jni
    text = jni.new_string("not thrown")
    with pytest.raises(errors.InvalidObject, match="obj must be a Throwable, not"):
        jni.throw(text)  # type: ignore[arg-type]
    weak: Any = jni.new_weak_global_ref(text)
    with pytest.raises(errors.InvalidObject, match="not a live Throwable"):
        jni.throw(weak)
    for name in ("java/lang/String", "[I", "java/lang/Runnable"):
        with pytest.raises(errors.InvalidClass, match="not a subclass of Throwable"):
            jni.throw_new(jni.find_class(name), "no")
    with pytest.raises(jvmti.JavaException, match="NoSuchMethodError"):
        jni.throw_new(jni.find_class("java/util/EmptyStackException"), "takes no message")


def test_a_fatal_error_ends_the_jvm_with_its_message(
    java_program: programs.JavaPrograms, evidence: Evidence
) -> None:
    evidence.proves("jni.fatal_error")
    program = java_program("Idle")
    program.expect("ready")
    vm = jvmti.attach(program.pid, timeout=60)
    with pytest.raises(errors.TargetLost):
        vm.jni.fatal_error("ended by a test")
    with pytest.raises(jvmti.Error):
        vm.jni.get_version()
    vm.detach()
    program.expect("FATAL ERROR in native method: ended by a test")
    assert program.process.wait(30) == 1  # the tests' JVMs make no core file
