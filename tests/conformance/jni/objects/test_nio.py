"""JNI: direct buffers."""

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
    assert recorder.answer("bufferContent") == "0,1,2,3"
    assert jni.get_direct_buffer_capacity(buffer) == 4
    whole = jni.new_direct_byte_buffer(memory, 16)
    assert jni.get_direct_buffer_address(buffer) == jni.get_direct_buffer_address(whole) != 0
    vm.write_direct_buffer(buffer, 1, b"\xff\x7f")
    assert recorder.answer("bufferContent") == "0,-1,127,3"
    assert memory.read(0, 5) == b"\x00\xff\x7f\x03\x04"
    assert vm.read_direct_buffer(buffer, 1, 3) == b"\xff\x7f\x03"
    assert jni.get_direct_buffer_capacity(jni.new_direct_byte_buffer(memory, 0)) == 0
    assert recorder.answer("forgetBuffer") == "forgotten"


def test_a_buffer_of_java_is_read_and_written(vm: jvmti.VM, recorder: Recorder) -> None:
    jni = vm.jni
    assert recorder.answer("fillBuffer") == "filled"
    field = jni.get_static_field_id(recorder.base, "buffer", "Ljava/nio/ByteBuffer;")
    buffer: Any = jni.get_static_object_field(recorder.base, field)
    assert vm.read_direct_buffer(buffer, 0, 8) == bytes(range(8, 0, -1))
    vm.write_direct_buffer(buffer, 6, b"\x63\x64")
    assert recorder.answer("bufferContent") == "8,7,6,5,4,3,99,100"
    for offset, length in ((-1, 1), (0, 9), (9, 0), (8, 1), (0, -1), (2**62, 2**62)):
        with pytest.raises(errors.IllegalArgument, match="there are 8 bytes"):
            vm.read_direct_buffer(buffer, offset, length)
    with pytest.raises(errors.IllegalArgument, match="there are 8 bytes"):
        vm.write_direct_buffer(buffer, 7, b"xx")
    assert recorder.answer("readOnlyBuffer") == "read-only"
    read_only: Any = jni.get_static_object_field(recorder.base, field)
    assert vm.read_direct_buffer(read_only, 6, 2) == b"\x63\x64"
    with pytest.raises(errors.AccessDenied, match="read-only"):
        vm.write_direct_buffer(read_only, 0, b"x")
    assert recorder.answer("forgetBuffer") == "forgotten"


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
    assert recorder.answer("bufferContent") == "1,2,3,4"
    assert vm.read_direct_buffer(buffer, 0, 4) == b"\x01\x02\x03\x04"
    for other in others:
        vm.env.deallocate(other)
    assert recorder.answer("forgetBuffer") == "forgotten"
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
