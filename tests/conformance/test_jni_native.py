"""JNI's chapters of monitors, native methods and direct buffers."""

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


# ---- monitors --------------------------------------------------------------------------------


def test_a_java_thread_waits_for_a_monitor_that_python_holds(
    vm: jvmti.VM, recorder: Recorder, evidence: Evidence
) -> None:
    evidence.proves("jni.monitor_enter", "jni.monitor_exit")
    jni, witness = vm.jni, recorder.witness
    lock = recorder.element("lock", "Ljava/lang/Object;")
    assert jni.monitor_enter(lock) == 0
    assert jni.monitor_enter(lock) == 0
    assert recorder.told("lockLater") == "blocked"
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
    assert recorder.told("lockLater") == "blocked"
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
    assert recorder.told("lockLater") == "blocked"
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


# ---- native methods --------------------------------------------------------------------------


def test_native_methods_are_bound_to_functions_of_the_target(
    vm: jvmti.VM, recorder: Recorder, evidence: Evidence
) -> None:
    evidence.proves("jni.register_natives", "jni.unregister_natives")
    jni = vm.jni
    assert recorder.told("callIdentity") == "unbound"
    names, signatures = ["identity", "bitsOf"], ["()I", "(F)I"]
    # One of the VM itself, and one of a library that it loaded for itself only.
    symbols = ["JVM_IHashCode", "Java_java_lang_Float_floatToRawIntBits"]
    assert jni.register_natives(recorder.base, names, signatures, symbols) == 0
    assert recorder.told("callIdentity") == "true"
    assert recorder.told("callBits") == "3fc00000"
    assert jni.unregister_natives(recorder.base) == 0
    assert recorder.told("callIdentity") == "unbound"
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
    assert recorder.told("callIdentity") == "unbound"
    weak: Any = vm.jni.new_weak_global_ref(recorder.object)
    with pytest.raises(errors.InvalidClass):
        register(weak, ["identity"], ["()I"], ["JVM_IHashCode"])
    with pytest.raises(errors.InvalidClass):
        vm.jni.unregister_natives(weak)
    for wrong in ("identity", [None], [1], None):
        with pytest.raises(TypeError):
            register(recorder.base, wrong, ["()I"], ["JVM_IHashCode"])  # type: ignore[arg-type]


# ---- direct buffers --------------------------------------------------------------------------


def test_a_buffer_shows_java_the_memory_that_python_allocated(
    vm: jvmti.VM, recorder: Recorder, evidence: Evidence
) -> None:
    evidence.proves(
        "jni.new_direct_byte_buffer",
        "jni.get_direct_buffer_address",
        "jni.get_direct_buffer_capacity",
    )
    jni = vm.jni
    memory = vm.env.allocate(16)
    memory.write(0, bytes(range(16)))
    buffer = jni.new_direct_byte_buffer(memory, 4)
    field = jni.get_static_field_id(recorder.base, "buffer", "Ljava/nio/ByteBuffer;")
    jni.set_static_object_field(recorder.base, field, buffer)
    assert recorder.told("bufferContent") == "0,1,2,3"
    assert jni.get_direct_buffer_capacity(buffer) == 4
    whole = jni.new_direct_byte_buffer(memory, 16)
    assert jni.get_direct_buffer_address(buffer) == jni.get_direct_buffer_address(whole) != 0
    vm.write_direct_buffer(buffer, 1, b"\xff\x7f")
    assert recorder.told("bufferContent") == "0,-1,127,3"
    assert memory.read(0, 5) == b"\x00\xff\x7f\x03\x04"
    assert vm.read_direct_buffer(buffer, 1, 3) == b"\xff\x7f\x03"
    assert jni.get_direct_buffer_capacity(jni.new_direct_byte_buffer(memory, 0)) == 0
    assert recorder.told("forgetBuffer") == "forgotten"


def test_a_buffer_of_java_is_read_and_written(vm: jvmti.VM, recorder: Recorder) -> None:
    jni = vm.jni
    assert recorder.told("fillBuffer") == "filled"
    field = jni.get_static_field_id(recorder.base, "buffer", "Ljava/nio/ByteBuffer;")
    buffer: Any = jni.get_static_object_field(recorder.base, field)
    assert vm.read_direct_buffer(buffer, 0, 8) == bytes(range(8, 0, -1))
    vm.write_direct_buffer(buffer, 6, b"\x63\x64")
    assert recorder.told("bufferContent") == "8,7,6,5,4,3,99,100"
    for offset, length in ((-1, 1), (0, 9), (9, 0), (8, 1), (0, -1), (2**62, 2**62)):
        with pytest.raises(errors.IllegalArgument, match="there are 8 bytes"):
            vm.read_direct_buffer(buffer, offset, length)
    with pytest.raises(errors.IllegalArgument, match="there are 8 bytes"):
        vm.write_direct_buffer(buffer, 7, b"xx")
    assert recorder.told("readOnlyBuffer") == "read-only"
    read_only: Any = jni.get_static_object_field(recorder.base, field)
    assert vm.read_direct_buffer(read_only, 6, 2) == b"\x63\x64"
    with pytest.raises(errors.AccessDenied, match="read-only"):
        vm.write_direct_buffer(read_only, 0, b"x")
    assert recorder.told("forgetBuffer") == "forgotten"


def test_memory_lives_as_long_as_a_buffer_over_it(vm: jvmti.VM, recorder: Recorder) -> None:
    jni = vm.jni
    memory = vm.env.allocate(4)
    memory.write(0, b"\x01\x02\x03\x04")
    buffer = jni.new_direct_byte_buffer(memory, 4)
    field = jni.get_static_field_id(recorder.base, "buffer", "Ljava/nio/ByteBuffer;")
    jni.set_static_object_field(recorder.base, field, buffer)
    vm.env.deallocate(memory)
    with pytest.raises(errors.IllegalArgument):
        memory.read(0, 1)
    # Memory that was freed would be handed out again, and change.
    others = [vm.env.allocate(4) for _ in range(200)]
    for other in others:
        other.write(0, b"\xee\xee\xee\xee")
    assert recorder.told("bufferContent") == "1,2,3,4"
    assert vm.read_direct_buffer(buffer, 0, 4) == b"\x01\x02\x03\x04"
    for other in others:
        vm.env.deallocate(other)
    assert recorder.told("forgetBuffer") == "forgotten"
    buffer.release()
    vm.env.force_garbage_collection()
    vm.env.deallocate(vm.env.allocate(1))


def test_memory_is_read_and_written_within_its_bounds(vm: jvmti.VM) -> None:
    memory = vm.env.allocate(8)
    memory.write(0, b"")
    memory.write(6, b"ab")
    assert memory.read(6, 2) == b"ab"
    assert memory.read(8, 0) == b""
    for offset, length in ((-1, 1), (0, 9), (9, 0), (8, 1), (0, -1), (2**62, 2**62)):
        with pytest.raises(errors.IllegalArgument, match="there are 8 bytes"):
            memory.read(offset, length)
    with pytest.raises(errors.IllegalArgument, match="there are 8 bytes"):
        memory.write(7, b"ab")
    with pytest.raises(TypeError, match="must be bytes"):
        memory.write(0, "text")  # type: ignore[arg-type]
    vm.env.deallocate(memory)
    for use in (lambda: memory.read(0, 1), lambda: memory.write(0, b"x")):
        with pytest.raises(errors.IllegalArgument, match="not a live Memory"):
            use()


def test_what_is_no_direct_buffer_has_no_memory(
    vm: jvmti.VM, recorder: Recorder, evidence: Evidence
) -> None:
    evidence.provokes("jni.new_direct_byte_buffer", "ILLEGAL_ARGUMENT")
    evidence.provokes("jni.get_direct_buffer_address", "INVALID_OBJECT")
    evidence.provokes("jni.get_direct_buffer_capacity", "INVALID_OBJECT")
    jni = vm.jni
    memory = vm.env.allocate(8)
    for capacity in (-1, 9, 2**31, 2**62):
        with pytest.raises(errors.IllegalArgument, match="8 bytes"):
            jni.new_direct_byte_buffer(memory, capacity)
    vm.env.deallocate(memory)
    with pytest.raises(errors.IllegalArgument):
        jni.new_direct_byte_buffer(memory, 1)
    byte_buffer = jni.find_class("java/nio/ByteBuffer")
    allocate = jni.get_static_method_id(byte_buffer, "allocate", "(I)Ljava/nio/ByteBuffer;")
    on_the_heap: Any = jni.call_static_object_method(byte_buffer, allocate, [8])
    for no_buffer in (on_the_heap, recorder.object, recorder.base):
        assert jni.get_direct_buffer_address(no_buffer) == 0
        assert jni.get_direct_buffer_capacity(no_buffer) == -1
        with pytest.raises(errors.InvalidObject, match="not a direct ByteBuffer"):
            vm.read_direct_buffer(no_buffer, 0, 1)
        with pytest.raises(errors.InvalidObject, match="not a direct ByteBuffer"):
            vm.write_direct_buffer(no_buffer, 0, b"x")
    jni.delete_local_ref(on_the_heap)
    for read in (jni.get_direct_buffer_address, jni.get_direct_buffer_capacity):
        with pytest.raises(errors.InvalidObject):
            read(on_the_heap)
