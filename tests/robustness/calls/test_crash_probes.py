"""Calls that crash or hang a JVM when an agent passes them on: none gets through.

Each probe is one that HotSpot trusts its caller with.  After every one the JVM lives, answers, and
its program goes on.
"""

from __future__ import annotations

import random
import struct
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import jvms
import jvmti
import programs
from conformance import frames
from conformance.finding import field_named, loaded_class, method_named, thread_named
from jvmti.env.interface import FUNCTIONS
from jvmti.env.structures import ClassDefinition
from jvmti.interface.errors import ErrorCode
from jvmti.jni.interface import FUNCTIONS as JNI_FUNCTIONS
from jvmti.refs import handles
from jvmti.wire import protocol
from jvmti.wire.channel import Frame, Request
from jvmti.wire.protocol import Kind, Status

REFUSED = (jvmti.JvmtiError, jvmti.errors.JavaException)
OBJECTS = [cls for cls in handles.CLASSES.values() if issubclass(cls, handles.Object)]

# What a careless caller may have in a variable.  As pointers: null page, unmapped, not canonical,
# tagged as HotSpot tags local and weak references, and misaligned.
GARBAGE = [
    1,
    2,
    3,
    8,
    0x10001,
    0xDEADBEEF,
    0x7FFF_FFFF_FFFF,
    0x7F00_0000_0001,
    0x7F00_0000_0002,
    0x7F00_0000_1000,
    0x8000_0000_0000_0000,
    0xFFFF_FFFF_FFFF_FFFF,
    0xFFFF_FFFF_FFFF_FFF0,
]


@pytest.fixture(scope="module")
def stage(jvm: jvms.Jvm, shared_java_program: programs.JavaPrograms) -> Iterator[frames.Stage]:
    # A small heap, so that arrays of chance lengths are refused rather than made.
    yield from frames.stage(jvm, shared_java_program, jvm_args=["-Xmx64m"])


@pytest.fixture
def vm(stage: frames.Stage) -> Iterator[jvmti.VM]:
    """The probed session; afterwards the JVM must live and answer."""
    yield stage.vm
    assert stage.program.crash() is None
    assert stage.program.ask("echo alive") == "alive"
    assert stage.program.ask("gc") == "ok"
    assert stage.env.with_timeout(10).get_version_number() >> 16
    assert stage.vm.jni.get_version() > 0


@pytest.fixture
def env(vm: jvmti.VM) -> jvmti.Env:
    return vm.env


def forge(vm: jvmti.VM, cls: type[Any], number: int) -> Any:
    """A handle that the agent never issued."""
    # A wrapper that owns nothing: its end must not release what the number happens to name.
    return cls(vm._session, number)


def raw(
    vm: jvmti.VM, function: int, payload: bytes, *, environment: int = 1, kind: Kind = Kind.CALL
) -> Frame:
    """Send a hand-made frame on this thread's channel."""
    channel = vm._session.channel(10)
    return channel.request(Request(kind, function, environment, payload, "probe", 30))


def near(cls: type[handles.Handle], real: int) -> list[int]:
    """Numbers beside one that was issued: other kinds, generations, indices."""
    index, generation = real & 0xFFFFFFFF, real >> 32 & 0xFFFFFF
    kind = real >> 56
    return [
        kind << 56 | (generation + 1 & 0xFFFFFF) << 32 | index,
        kind << 56 | (generation - 1 & 0xFFFFFF) << 32 | index,
        kind << 56 | generation << 32 | 0xFFFFFFFF,
        kind << 56 | generation << 32 | index + 1_000_000,
        kind << 56,
        cls.KIND << 56 | index | 0x80000000,
        99 << 56 | index,
    ]


def refused(call: Callable[..., Any], *arguments: Any) -> None:
    with pytest.raises(REFUSED):
        call(*arguments)


# Frames -------------------------------------------------------------------------------------


@frames.on_both_kinds
def test_a_thread_is_requested_once_to_leave_its_frame(stage: frames.Stage, virtual: bool) -> None:
    """The second time would be about the caller, which returns something else than an int."""
    env = stage.env
    if "can_pop_frame" not in env.get_capabilities():
        pytest.skip("this VM cannot leave frames")
    actor = stage.act("argument", virtual)
    for times in range(1, 20):
        actor.called(times)
        with actor.suspended():
            env.pop_frame(actor.thread)
            for again in ("pop_frame", "force_early_return_int", "force_early_return_long"):
                arguments = [] if again == "pop_frame" else [78]
                with pytest.raises(jvmti.errors.Internal, match="has not run since"):
                    getattr(env, again)(actor.thread, *arguments)
    actor.called(20)
    with actor.suspended():
        env.force_early_return_int(actor.thread, 78)
        with pytest.raises(jvmti.errors.Internal, match="has not run since"):
            env.pop_frame(actor.thread)
    assert actor.outcome() == "returned 78"


def test_a_frame_is_left_when_its_thread_is_resumed(stage: frames.Stage) -> None:
    """A thread that is suspended again at once might not have run meanwhile."""
    env = stage.env
    if "can_pop_frame" not in env.get_capabilities():
        pytest.skip("this VM cannot leave frames")
    for _ in range(20):
        actor = stage.act("argument")
        actor.called(1)
        with actor.suspended():
            env.pop_frame(actor.thread)
        with env.batch() as batch:
            batch.suspend_thread(actor.thread)
            left = batch.force_early_return_int(actor.thread, 78)
            batch.resume_thread(actor.thread)
        try:
            left.result()
        except jvmti.errors.TypeMismatch:  # the caller is just about to make the call again
            assert actor.result().startswith("returned ")
        else:
            assert actor.outcome() == "returned 78"


def test_two_controllers_do_not_both_leave_a_frame(stage: frames.Stage) -> None:
    if "can_pop_frame" not in stage.env.get_capabilities():
        pytest.skip("this VM cannot leave frames")
    actor = stage.act("argument")
    with jvmti.attach(stage.program.pid, capabilities="all") as other, actor.suspended():
        theirs = thread_named(other.env, actor.name)
        other.env.pop_frame(theirs)
        with pytest.raises(jvmti.errors.Internal, match="has not run since"):
            stage.env.force_early_return_int(actor.thread, 78)
    assert actor.called(2)[0] == 2
    assert actor.result().startswith("returned ")


# Handles ------------------------------------------------------------------------------------


def test_garbage_threads(env: jvmti.Env, vm: jvmti.VM) -> None:
    real = env.get_all_threads()[0]
    for number in [*GARBAGE, *near(handles.Thread, real._handle)]:
        thread = forge(vm, handles.Thread, number)
        refused(env.get_thread_state, thread)
        refused(env.get_thread_info, thread)
        refused(env.get_stack_trace, thread, 0, 10)
        refused(env.get_frame_count, thread)
        refused(env.suspend_thread, thread)
        refused(env.resume_thread, thread)
        assert env.suspend_thread_list([thread]) == [ErrorCode.INVALID_THREAD]
        assert env.resume_thread_list([thread, thread]) == [ErrorCode.INVALID_THREAD] * 2
        refused(env.interrupt_thread, thread)
        refused(env.stop_thread, thread, real)
        refused(env.pop_frame, thread)
        refused(env.get_local_object, thread, 0, 0)
        refused(env.get_owned_monitor_info, thread)
        refused(env.set_thread_local_storage, thread, "x")
        refused(env.get_thread_list_stack_traces, [thread], 5)


def test_garbage_classes_and_objects(env: jvmti.Env, vm: jvmti.VM) -> None:
    real = env.get_loaded_classes()[0]
    for number in [*GARBAGE, *near(handles.Class, real._handle)]:
        cls = forge(vm, handles.Class, number)
        refused(env.get_class_signature, cls)
        refused(env.get_class_methods, cls)
        refused(env.get_class_fields, cls)
        refused(env.get_class_status, cls)
        refused(env.retransform_classes, [cls])
        refused(vm.jni.alloc_object, cls)
        refused(vm.jni.get_superclass, cls)
        refused(vm.jni.get_method_id, cls, "toString", "()Ljava/lang/String;")
        thing = forge(vm, handles.Object, number)
        refused(env.get_object_size, thing)
        refused(env.get_object_hash_code, thing)
        refused(env.get_object_monitor_usage, thing)
        refused(env.get_tag, thing)
        refused(env.set_tag, thing, 5)
        refused(vm.jni.get_object_class, thing)
        refused(vm.jni.monitor_enter, thing)
        refused(vm.jni.new_global_ref, thing)


def test_garbage_methods_and_fields(env: jvmti.Env, vm: jvmti.VM) -> None:
    cls = loaded_class(env, "Frames")
    method = method_named(env, cls, "distinct")
    field = field_named(env, cls, "latest")
    for number in [*GARBAGE, *near(handles.Method, method._handle)[2:]]:
        forged = forge(vm, handles.Method, number)
        refused(env.get_method_name, forged)
        refused(env.get_method_declaring_class, forged)
        refused(env.get_bytecodes, forged)
        refused(env.get_line_number_table, forged)
        refused(env.is_method_native, forged)
        refused(env.set_breakpoint, forged, 0)
        refused(env.clear_breakpoint, forged, 0)
        refused(vm.jni.call_static_int_method, cls, forged, [1])
        refused(vm.jni.to_reflected_method, cls, forged, True)
    for number in [*GARBAGE, *near(handles.Field, field._handle)[2:]]:
        forged = forge(vm, handles.Field, number)
        refused(env.get_field_name, cls, forged)
        refused(env.get_field_modifiers, cls, forged)
        refused(env.is_field_synthetic, cls, forged)
        refused(env.set_field_access_watch, cls, forged)
        refused(vm.jni.get_static_object_field, cls, forged)
        refused(vm.jni.set_static_object_field, cls, forged, None)
        refused(vm.jni.to_reflected_field, cls, forged, True)


def test_handles_of_another_kind(env: jvmti.Env, vm: jvmti.VM) -> None:
    thread = env.get_all_threads()[0]
    cls = loaded_class(env, "Frames")
    method = method_named(env, cls, "distinct")
    numbers = [thread._handle, cls._handle, method._handle]
    numbers.append(field_named(env, cls, "latest")._handle)
    numbers.append(env.create_raw_monitor("probe")._handle)
    numbers.append(env.allocate(16)._handle)
    numbers.append(vm.jni.new_string_utf("text")._handle)
    for number in numbers:
        if number != thread._handle:
            refused(env.get_thread_state, forge(vm, handles.Thread, number))
        if number != cls._handle:
            refused(env.get_class_signature, forge(vm, handles.Class, number))
        if number != method._handle:
            refused(env.get_method_name, forge(vm, handles.Method, number))
        refused(env.get_thread_group_info, forge(vm, handles.ThreadGroup, number))
        refused(vm.jni.get_array_length, forge(vm, handles.IntArray, number))
        refused(vm.jni.throw, forge(vm, handles.Throwable, number))
        module = forge(vm, handles.Module, number)
        refused(env.add_module_reads, module, module)


def test_a_kind_relabelled_in_the_number_is_noticed(env: jvmti.Env, vm: jvmti.VM) -> None:
    text = vm.jni.new_string_utf("not a thread")
    for cls in OBJECTS:
        number = text._handle & ~(0xFF << 56) | cls.KIND << 56
        if cls is handles.String:
            continue
        refused(env.get_object_size, forge(vm, cls, number))
    relabelled = text._handle & ~(0xFF << 56) | handles.Thread.KIND << 56
    refused(env.get_thread_state, forge(vm, handles.Thread, relabelled))


def test_stale_handles_do_not_name_who_took_their_place(env: jvmti.Env, vm: jvmti.VM) -> None:
    cls = vm.jni.find_class("java/lang/Object")
    made = vm.jni.get_method_id(cls, "<init>", "()V")
    stale = []
    for _ in range(50):
        thing = vm.jni.new_object(cls, made, [])
        stale.append(thing._handle)
        thing.release()
        env.get_version_number()  # carries the release
    kept = [vm.jni.new_object(cls, made, []) for _ in range(50)]
    for number in stale:
        refused(env.get_object_size, forge(vm, handles.Object, number))
    assert all(env.get_object_size(one) > 0 for one in kept)


def test_handles_of_another_session(env: jvmti.Env, vm: jvmti.VM, stage: frames.Stage) -> None:
    with jvmti.attach(stage.program.pid) as other:
        thread = thread_named(other.env, "main")
        with pytest.raises(jvmti.errors.ForeignHandle):
            env.get_thread_state(thread)
        cls = loaded_class(other.env, "Frames")
        number = cls._handle | 0xFFFF  # far beyond what this session has
        refused(env.get_class_signature, forge(vm, handles.Class, number))
        # The session has a table of its own, so the same number is at most a handle of its own.
        for issued in (thread._handle, cls._handle):
            reply = raw(vm, FUNCTIONS["get_object_size"].number, struct.pack("<Q", issued))
            assert reply.status in (0, ErrorCode.INVALID_OBJECT)


def test_a_field_of_another_class(env: jvmti.Env, vm: jvmti.VM, stage: frames.Stage) -> None:
    stage.program.ask("read")
    watched, main = loaded_class(env, "Frames$Watched"), loaded_class(env, "Frames")
    static = field_named(env, watched, "counter")
    own = field_named(env, watched, "number")
    thread = env.get_all_threads()[0]
    for field in (static, own):
        refused(env.get_field_name, main, field)
        refused(env.get_field_modifiers, main, field)
        refused(env.get_field_declaring_class, main, field)
        refused(env.set_field_modification_watch, main, field)
        refused(vm.jni.get_static_int_field, main, field)
        refused(vm.jni.set_static_int_field, main, field, 1)
        refused(vm.jni.get_int_field, thread, field)
        refused(vm.jni.set_int_field, thread, field, 1)
    refused(vm.jni.get_static_int_field, watched, own)
    refused(vm.jni.get_static_long_field, watched, static)
    refused(vm.jni.get_static_object_field, watched, static)
    refused(vm.jni.set_static_object_field, watched, static, thread)
    assert vm.jni.get_static_int_field(watched, static) == int(stage.program.ask("counter"))


def test_weak_references_to_the_dead(env: jvmti.Env, vm: jvmti.VM, stage: frames.Stage) -> None:
    cls = vm.jni.find_class("java/lang/Object")
    made = vm.jni.new_object(cls, vm.jni.get_method_id(cls, "<init>", "()V"), [])
    weak = vm.jni.new_weak_global_ref(made)
    assert env.get_object_size(weak) > 0
    made.release()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        stage.program.ask("gc")
        try:
            env.get_object_size(weak)
        except jvmti.errors.InvalidObject:
            break
    refused(env.get_object_size, weak)
    refused(env.set_tag, weak, 5)
    refused(vm.jni.get_object_class, weak)
    refused(vm.jni.monitor_enter, weak)
    refused(env.get_thread_state, forge(vm, handles.Thread, weak._handle))
    number = weak._handle
    weak.release()
    env.get_phase()  # carries the release
    refused(env.get_object_size, forge(vm, handles.WeakReference, number))


def test_methods_and_fields_of_unloaded_classes(
    env: jvmti.Env, vm: jvmti.VM, stage: frames.Stage
) -> None:
    members: list[tuple[Any, Any]] = []
    for number in range(5):
        assert stage.program.ask(f"load passing-{number}") == "Frames$Passing"
    found = [
        cls
        for cls in env.get_loaded_classes()
        if env.get_class_signature(cls).signature == "LFrames$Passing;"
    ]
    for cls in found:
        method, field = method_named(env, cls, "twice"), field_named(env, cls, "total")
        assert vm.jni.call_static_int_method(cls, method, [21]) == 42
        env.get_bytecodes(method)
        env.set_breakpoint(method, 0)
        env.clear_breakpoint(method, 0)  # as long as it is set, HotSpot keeps the class
        env.set_field_access_watch(cls, field)
        members.append((method, field))
    for cls in found:
        cls.release()
    del cls, found
    env.get_phase()  # carries the releases
    for number in range(5):
        assert stage.program.ask(f"unload passing-{number}", timeout=60) == "unloaded"
    assert stage.program.ask("churn 50", timeout=60) == "ok"
    main = loaded_class(env, "Frames")
    for method, field in members:
        refused(env.get_method_name, method)
        refused(env.get_method_declaring_class, method)
        refused(env.get_bytecodes, method)
        refused(env.set_breakpoint, method, 0)
        refused(env.clear_breakpoint, method, 0)
        refused(env.get_local_variable_table, method)
        refused(vm.jni.call_static_int_method, main, method, [1])
        refused(vm.jni.get_static_int_field, main, field)
        refused(env.get_field_name, main, field)
        refused(env.clear_field_access_watch, main, field)


# Monitors and memory ------------------------------------------------------------------------


def test_garbage_raw_monitors(env: jvmti.Env, vm: jvmti.VM) -> None:
    real = env.create_raw_monitor("real")
    destroyed = env.create_raw_monitor("destroyed")
    env.destroy_raw_monitor(destroyed)
    env.create_raw_monitor("in its place")
    numbers = [*GARBAGE, *near(handles.RawMonitor, real._handle), destroyed._handle]
    for number in numbers:
        monitor = forge(vm, handles.RawMonitor, number)
        for name in ("enter", "exit", "notify", "notify_all"):
            refused(getattr(env, f"raw_monitor_{name}"), monitor)
        refused(env.raw_monitor_wait, monitor, 1)
        refused(env.destroy_raw_monitor, monitor)
    env.destroy_raw_monitor(real)


def test_memory_is_freed_once_and_only_where_it_begins(env: jvmti.Env, vm: jvmti.VM) -> None:
    memory = env.allocate(64)
    env.deallocate(memory)
    refused(env.deallocate, memory)
    second = env.allocate(64)  # where the first was
    refused(env.deallocate, memory)
    for number in [*GARBAGE, *near(handles.Memory, memory._handle)]:
        if number != second._handle:
            refused(env.deallocate, forge(vm, handles.Memory, number))
    env.deallocate(None)
    for size in (-1, -(2**63), 2**63 - 1, 2**60):
        refused(env.allocate, size)
    env.deallocate(env.allocate(0))


def test_a_monitor_that_was_not_entered_is_not_left(env: jvmti.Env, vm: jvmti.VM) -> None:
    cls = vm.jni.find_class("java/lang/Object")
    thing = vm.jni.new_object(cls, vm.jni.get_method_id(cls, "<init>", "()V"), [])
    with pytest.raises(jvmti.JavaException) as raised:
        vm.jni.monitor_exit(thing)
    assert raised.value.class_name == "java.lang.IllegalMonitorStateException"
    vm.jni.monitor_enter(thing)
    thing_number = thing._handle
    thing.release()  # the book of the agent still knows it
    refused(env.get_object_size, forge(vm, handles.Object, thing_number))


def test_local_frames_that_were_not_pushed_are_not_popped(vm: jvmti.VM) -> None:
    refused(vm.jni.pop_local_frame, None)
    vm.jni.push_local_frame(10)
    vm.jni.pop_local_frame(None)
    refused(vm.jni.pop_local_frame, None)
    for capacity in (2**31 - 1, 0, -1, -(2**31)):
        try:
            vm.jni.push_local_frame(capacity)
        except REFUSED:
            continue
        vm.jni.pop_local_frame(None)


def test_direct_buffers(env: jvmti.Env, vm: jvmti.VM) -> None:
    memory = env.allocate(16)
    for capacity in (17, 2**31, 2**63 - 1, -1, -(2**63)):
        refused(vm.jni.new_direct_byte_buffer, memory, capacity)
    for number in GARBAGE:
        refused(vm.jni.new_direct_byte_buffer, forge(vm, handles.Memory, number), 8)
    thing = vm.jni.new_string_utf("no buffer")
    for call in (vm.jni.get_direct_buffer_address, vm.jni.get_direct_buffer_capacity):
        try:
            assert not call(thing) or call(thing) == -1
        except REFUSED:
            pass
    buffer = vm.jni.new_direct_byte_buffer(memory, 16)
    assert vm.jni.get_direct_buffer_capacity(buffer) == 16


# Threads ------------------------------------------------------------------------------------


def test_the_service_threads_cannot_be_suspended(env: jvmti.Env, vm: jvmti.VM) -> None:
    limited = env.with_timeout(20)
    refused(limited.suspend_thread, None)
    refused(limited.suspend_thread, env.get_current_thread())
    for thread in vm.service_threads():
        refused(limited.suspend_thread, thread)
        assert limited.suspend_thread_list([thread]) == [ErrorCode.INVALID_THREAD]
        weak = vm.jni.new_weak_global_ref(thread)
        refused(limited.suspend_thread, weak)
        refused(limited.stop_thread, thread, thread)


def test_counts_and_depths_of_any_size(env: jvmti.Env, stage: frames.Stage) -> None:
    actor = stage.act("int")
    with actor.suspended() as thread:
        whole = env.get_stack_trace(thread, 0, 2**31 - 1)
        assert len(whole) == env.get_frame_count(thread)
        assert env.get_all_stack_traces(2**31 - 1)
        assert env.get_thread_list_stack_traces([thread] * 50, 2**31 - 1)
        for count in (-1, -(2**31)):
            refused(env.get_stack_trace, thread, 0, count)
            refused(env.get_all_stack_traces, count)
            refused(env.get_thread_list_stack_traces, [thread], count)
        for depth in (-1, 2**31 - 1, -(2**31), 100_000):
            refused(env.get_frame_location, thread, depth)
            refused(env.get_local_int, thread, depth, 0)
            refused(env.get_local_instance, thread, depth)
            refused(env.notify_frame_pop, thread, depth)
        for slot in (-1, 65535, 65536, 2**31 - 1, -(2**31)):
            refused(env.get_local_object, thread, 0, slot)
            refused(env.set_local_object, thread, 0, slot, None)
    assert actor.result() == "returned 1"


def test_threads_that_have_not_started(env: jvmti.Env, vm: jvmti.VM) -> None:
    cls = vm.jni.find_class("java/lang/Thread")
    unstarted = vm.jni.new_object(cls, vm.jni.get_method_id(cls, "<init>", "()V"), [])
    refused(vm.jni.alloc_object, cls)  # without its constructor none of its fields would be set
    names = ["suspend_thread", "resume_thread", "get_frame_count", "interrupt_thread"]
    names += ["get_owned_monitor_info", "get_current_contended_monitor"]
    for name in (*names, "get_thread_local_storage"):
        refused(getattr(env, name), unstarted)
    refused(env.get_stack_trace, unstarted, 0, 5)


# Breakpoints --------------------------------------------------------------------------------


def test_breakpoints_inside_instructions_are_never_set(env: jvmti.Env, stage: frames.Stage) -> None:
    main = loaded_class(env, "Frames")
    method = method_named(env, main, "distinct")
    expected = stage.program.ask("distinct 3")
    length = len(env.get_bytecodes(method))
    placed = []
    for location in [*range(-3, length + 3), 2**31 - 1, 2**31, 2**63 - 1, -(2**63)]:
        try:
            env.set_breakpoint(method, location)
            placed.append(location)
        except jvmti.errors.InvalidLocation:
            pass
    assert 0 < len(placed) < length
    assert stage.program.ask("distinct 3") == expected
    for location in placed:
        env.clear_breakpoint(method, location)


def test_every_method_of_a_class_takes_breakpoints_at_its_instructions_only(
    env: jvmti.Env, stage: frames.Stage
) -> None:
    act = stage.act("watched")
    placed = []
    for name in ("Frames$Act", "Frames", "Frames$Watched"):
        for method in env.get_class_methods(loaded_class(env, name)):
            try:
                length = len(env.get_bytecodes(method))
            except jvmti.JvmtiError:
                continue
            for location in range(length):
                try:
                    env.set_breakpoint(method, location)
                    placed.append((method, location))
                except jvmti.errors.InvalidLocation:
                    pass
    assert act.result() == "returned watched"
    assert stage.program.ask("distinct 3") == stage.program.ask("distinct 3")
    for method, location in placed:
        env.clear_breakpoint(method, location)


# Frames on the wire -------------------------------------------------------------------------


def test_unknown_and_reserved_functions(vm: jvmti.VM) -> None:
    known = {d.number for d in (*FUNCTIONS.values(), *JNI_FUNCTIONS.values())}
    reserved = [slot for slot in range(160) if slot not in known]
    assert {0, 1, 105} <= set(reserved)
    numbers = [*reserved, *(0x1000 | slot for slot in range(4)), 0x1FFF, 0x2FFF, 0x3000, 0xFFFF]
    for number in numbers:
        for payload in (b"", bytes(64), b"\xff" * 64):
            reply = raw(vm, number, payload)
            assert reply.status == Status.UNKNOWN_FUNCTION, number


def test_functions_that_this_vm_does_not_have(vm: jvmti.VM, jvm: jvms.Jvm) -> None:
    newer = [
        d
        for d in (*FUNCTIONS.values(), *JNI_FUNCTIONS.values())
        if d.since.isdigit() and int(d.since) > jvm.feature
    ]
    for declaration in newer:
        assert raw(vm, declaration.number, bytes(64)).status == Status.NOT_IN_THIS_VERSION


def test_unknown_environments(vm: jvmti.VM) -> None:
    number = FUNCTIONS["get_phase"].number
    for environment in (0, 1000, 2**31, 2**32 - 1):
        reply = raw(vm, number, b"", environment=environment)
        assert reply.status == ErrorCode.INVALID_ENVIRONMENT


# Ending the VM is what it is for.
ENDS_THE_VM = {"fatal_error"}


@pytest.mark.parametrize("seed", range(3))
def test_payloads_of_any_content_and_length(vm: jvmti.VM, stage: frames.Stage, seed: int) -> None:
    """To every function, in a session of its own that has no capabilities."""
    chance = random.Random(seed)
    declarations = [
        d
        for d in (*FUNCTIONS.values(), *JNI_FUNCTIONS.values())
        if d.name not in ENDS_THE_VM and not d.callback
    ]
    with jvmti.attach(stage.program.pid) as other:
        spare = [other.new_env() for _ in range(3)]
        environment = spare[0]._number
        for declaration in declarations:
            if declaration.name == "dispose_environment":
                continue
            payloads = [b"", b"\x00", b"\xff" * 200, struct.pack("<i", -1) * 50]
            payloads += [chance.randbytes(chance.randrange(1, 120)) for _ in range(3)]
            payloads.append(struct.pack("<I", 0xFFFFFFFF) + b"x" * 100)
            for payload in payloads:
                if is_a_wait(declaration.name):
                    continue
                reply = raw(other, declaration.number, payload, environment=environment)
                assert reply.kind in (Kind.RETURN, Kind.MALFORMED)
        assert other.env.get_phase()


def is_a_wait(name: str) -> bool:
    """Whether good arguments, come by by chance, may take a heap walk or a minute."""
    return name in {"raw_monitor_wait", "iterate_over_heap", "force_garbage_collection"}


def test_lists_that_are_longer_than_their_frame(vm: jvmti.VM) -> None:
    for name in ("suspend_thread_list", "resume_thread_list", "retransform_classes"):
        for count in (1, 1000, 2**31, 2**32 - 1):
            reply = raw(vm, FUNCTIONS[name].number, struct.pack("<I", count))
            assert reply.status == Status.MALFORMED_REQUEST
    number = FUNCTIONS["get_thread_list_stack_traces"].number
    for count in (3, 2**29, 2**32 - 1):
        reply = raw(vm, number, struct.pack("<IQi", count, 0, 5))
        assert reply.status != 0


@pytest.mark.parametrize(
    "text",
    [
        b"\xff\xfe",
        b"a\x00b",
        b"\xc3",
        b"\xe4\xb8",
        b"\xf0\x9f\x98\x80",
        b"\x80",
        b"\xc3\x28",
    ],
)
def test_text_that_is_not_modified_utf8(vm: jvmti.VM, text: bytes) -> None:
    payload = struct.pack("<i", len(text)) + text + b"\0"
    for declaration in (JNI_FUNCTIONS["find_class"], JNI_FUNCTIONS["new_string_utf"]):
        assert raw(vm, declaration.number, payload).status == Status.MALFORMED_REQUEST
    reply = raw(vm, FUNCTIONS["get_system_property"].number, payload)
    assert reply.status == Status.MALFORMED_REQUEST
    unended = struct.pack("<i", len(text)) + text + b"x"
    assert raw(vm, JNI_FUNCTIONS["find_class"].number, unended).status != 0
    for length in (-2, 2**31 - 1, 1000):
        payload = struct.pack("<i", length) + b"abc\0"
        assert raw(vm, JNI_FUNCTIONS["find_class"].number, payload).status != 0


def test_batches_and_maps_that_say_wrong_lengths(vm: jvmti.VM) -> None:
    for payload in (
        b"",
        struct.pack("<I", 0xFFFFFFFF),
        struct.pack("<IHII", 1, 17, 1, 0xFFFFFFFF),
        struct.pack("<IHII", 5, 17, 1, 8) + bytes(8),
    ):
        raw(vm, 0, payload, kind=Kind.BATCH)
    number = FUNCTIONS["get_thread_state"].number
    for payload in (
        b"",
        struct.pack("<IB", 10, 1) + struct.pack("<BI", 1, 0xFFFFFFFF),
        struct.pack("<IB", 0xFFFFFFFF, 1) + struct.pack("<BI", 1, 8) + bytes(8),
        struct.pack("<IB", 100, 1) + struct.pack("<BI", 1, 8) + bytes(8),
        struct.pack("<IB", 1, 200) + bytes(100),
    ):
        reply = raw(vm, number, payload, kind=Kind.MAP)
        assert reply.kind == Kind.MALFORMED
    raw(vm, number, struct.pack("<Q", 1 << 40), kind=Kind.HELLO)
    for kind in (0, 20, 99, 255):
        reply = raw(vm, number, bytes(8), kind=kind)  # type: ignore[arg-type]
        assert reply.kind == Kind.MALFORMED


def test_a_frame_too_large_ends_its_channel_only(vm: jvmti.VM) -> None:
    def too_large() -> None:
        channel = vm._session.channel(10)
        channel.socket.sendall(
            protocol.HEADER.struct.pack(0xFFFFFFFF, Kind.CALL, 0, 17, 1, 1, 0) + bytes(100)
        )
        with pytest.raises(jvmti.errors.TargetLost):
            channel.request(Request(Kind.CALL, 17, 1, bytes(8), timeout=10))

    with ThreadPoolExecutor(1) as pool:
        pool.submit(too_large).result(30)


# JNI ----------------------------------------------------------------------------------------


def test_receivers_members_and_arguments_that_do_not_fit(vm: jvmti.VM) -> None:
    jni = vm.jni
    string, thread = jni.find_class("java/lang/String"), jni.find_class("java/lang/Thread")
    text = jni.new_string_utf("text")
    length = jni.get_method_id(string, "length", "()I")
    concat = jni.get_method_id(string, "concat", "(Ljava/lang/String;)Ljava/lang/String;")
    value_of = jni.get_static_method_id(string, "valueOf", "(I)Ljava/lang/String;")
    current = vm.env.get_all_threads()[0]
    refused(jni.call_int_method, current, length, [])  # of another class
    refused(jni.call_object_method, text, length, [])  # of another type
    refused(jni.call_void_method, text, length, [])
    refused(jni.call_static_int_method, string, length, [])  # not static
    refused(jni.call_object_method, text, value_of, [1])  # static
    refused(jni.call_static_object_method, thread, value_of, [1])
    refused(jni.call_nonvirtual_int_method, text, thread, length, [])
    refused(jni.call_int_method, text, length, [1])  # too many
    refused(jni.call_object_method, text, concat, [])  # too few
    refused(jni.call_object_method, text, concat, [current])  # of the wrong class
    refused(jni.call_object_method, text, concat, [1])
    refused(jni.call_static_object_method, string, value_of, [2**31])
    refused(jni.call_static_object_method, string, value_of, [1.5])
    refused(jni.call_static_object_method, string, value_of, [text])
    made = jni.get_method_id(thread, "<init>", "()V")
    refused(jni.new_object, string, made, [])  # a constructor of another class
    refused(jni.new_object, string, length, [])  # no constructor
    refused(jni.call_void_method, current, made, [])
    for name in ("java/lang/Class", "[I", "[Ljava/lang/String;", "java/lang/Runnable"):
        refused(jni.alloc_object, jni.find_class(name))
    refused(jni.throw_new, string, "not throwable")
    refused(jni.new_object_array, 3, string, current)
    refused(jni.new_object_array, -1, string, None)


def test_arrays_of_other_kinds_and_ranges_outside_them(vm: jvmti.VM) -> None:
    jni = vm.jni
    ints = jni.new_int_array(4)
    strings = jni.new_object_array(2, jni.find_class("java/lang/String"), None)
    for cls in (handles.LongArray, handles.DoubleArray, handles.ObjectArray, handles.ByteArray):
        forged = forge(vm, cls, ints._handle)
        refused(jni.get_array_length, forge(vm, cls, ints._handle ^ 1 << 56))
        if cls is handles.LongArray:
            refused(jni.get_long_array_region, forged, 0, 1)
            refused(jni.set_long_array_region, forged, 0, [1])
            refused(jni.get_long_array_elements, forged)
        if cls is handles.ObjectArray:
            refused(jni.get_object_array_element, forged, 0)
            refused(jni.set_object_array_element, forged, 0, None)
    for start, length in ((-1, 2), (0, 5), (4, 1), (2**31 - 1, 1), (1, 2**31 - 1), (0, -1)):
        refused(jni.get_int_array_region, ints, start, length)
    for start in (-1, 3, 2**31 - 1, -(2**31)):
        refused(jni.set_int_array_region, ints, start, [1, 2])
    for index in (-1, 2, 2**31 - 1, -(2**31)):
        refused(jni.get_object_array_element, strings, index)
        refused(jni.set_object_array_element, strings, index, None)
    refused(jni.set_object_array_element, strings, 0, ints)
    for size in (-1, -(2**31)):
        refused(jni.new_int_array, size)
    text = jni.new_string_utf("text")
    for start, length in ((-1, 2), (0, 5), (2**31 - 1, 1), (1, 2**31 - 1), (0, -1)):
        refused(jni.get_string_region, text, start, length)
        refused(jni.get_string_utf_region, text, start, length)
    refused(jni.get_string_length, forge(vm, handles.String, ints._handle))


def test_reflected_members_that_are_none(vm: jvmti.VM) -> None:
    text = vm.jni.new_string_utf("no member")
    refused(vm.jni.from_reflected_method, text)
    refused(vm.jni.from_reflected_field, text)


def test_class_files_that_are_none(env: jvmti.Env, vm: jvmti.VM) -> None:
    cls = loaded_class(env, "Frames")
    for data in (b"", b"\xca\xfe\xba\xbe", bytes(100), b"\xff" * 1000):
        refused(vm.jni.define_class, None, None, data)
        refused(env.redefine_classes, [ClassDefinition(cls, data)])
    refused(vm.jni.find_class, "no/such/Class")
    refused(vm.jni.find_class, "")
    try:
        vm.jni.find_class("[" * 300 + "I")
    except REFUSED:
        pass  # as the Java language has it; HotSpot makes such a class


def test_handlers_of_a_disposed_environment(vm: jvmti.VM) -> None:
    gone = vm.new_env()
    gone.dispose_environment()
    refused(gone.on, "ThreadStart", lambda event: None)


# Races --------------------------------------------------------------------------------------


def test_an_environment_disposed_while_others_use_it(vm: jvmti.VM, env: jvmti.Env) -> None:
    for _ in range(30):
        shared = vm.new_env()
        start = threading.Barrier(3)

        def use(shared: jvmti.Env = shared, start: threading.Barrier = start) -> None:
            start.wait(10)
            for _ in range(200):
                try:
                    shared.get_all_stack_traces(10)
                except jvmti.errors.InvalidEnvironment:
                    return

        with ThreadPoolExecutor(2) as pool:
            users = [pool.submit(use) for _ in range(2)]
            start.wait(10)
            time.sleep(0.002)
            shared.dispose_environment()
            for user in users:
                user.result(30)
        refused(shared.get_phase)


def test_calls_that_race_the_release_of_their_handles(env: jvmti.Env, vm: jvmti.VM) -> None:
    cls = vm.jni.find_class("java/lang/Object")
    made = vm.jni.get_method_id(cls, "<init>", "()V")
    numbers: list[int] = [0]
    stop = threading.Event()

    def use() -> int:
        answered = 0
        while not stop.is_set():
            try:
                env.get_object_size(forge(vm, handles.WeakReference, numbers[-1]))
                answered += 1
            except REFUSED:
                pass
        return answered

    with ThreadPoolExecutor(2) as pool:
        users = [pool.submit(use) for _ in range(2)]
        for _ in range(1500):
            thing = vm.jni.new_object(cls, made, [])
            numbers.append(thing._handle)
            env.get_object_size(thing)
            thing.release()
        stop.set()
        for user in users:
            user.result(30)


def test_raw_monitors_destroyed_while_others_want_them(env: jvmti.Env, vm: jvmti.VM) -> None:
    for _ in range(30):
        monitor = env.create_raw_monitor("contended")

        def use(monitor: Any = monitor) -> None:
            for _ in range(50):
                try:
                    env.raw_monitor_enter(monitor)
                    env.raw_monitor_wait(monitor, 1)
                    env.raw_monitor_exit(monitor)
                except (jvmti.errors.InvalidMonitor, jvmti.errors.NotMonitorOwner):
                    return

        with ThreadPoolExecutor(2) as pool:
            users = [pool.submit(use) for _ in range(2)]
            deadline = time.monotonic() + 20
            while time.monotonic() < deadline:
                try:
                    env.destroy_raw_monitor(monitor)
                    break
                except jvmti.errors.NotMonitorOwner:
                    time.sleep(0.001)
            for user in users:
                user.result(30)


def test_a_class_redefined_with_other_instructions_under_breakpoints(
    env: jvmti.Env, stage: frames.Stage, java_classes: Callable[..., Path]
) -> None:
    """The boundaries of the old code must not be taken for those of the new."""
    main = loaded_class(env, "Frames")
    method = method_named(env, main, "distinct")
    before = bytes(env.get_bytecodes(method))
    env.set_breakpoint(method, 1)
    original = (java_classes("Frames") / "Frames.class").read_bytes()
    # iload_0, sipush 12345 -> nop, iload_0, iconst_3 would shift; same length, other boundaries:
    # sipush x y becomes nop, bipush y.
    assert original.count(before) == 1
    assert before[:2] == b"\x1a\x11"
    changed = original.replace(before, before[:1] + b"\x00\x10" + before[3:])
    env.redefine_classes([ClassDefinition(main, changed)])
    try:
        assert bytes(env.get_bytecodes(method)) != before
        with pytest.raises(jvmti.errors.InvalidLocation):
            env.set_breakpoint(method, 3)  # the operand of bipush
        env.set_breakpoint(method, 2)  # now an instruction of its own
        assert stage.program.ask("distinct 3")
        env.clear_breakpoint(method, 2)
        with pytest.raises(jvmti.errors.NotFound):
            env.clear_breakpoint(method, 1)  # went with the old code
    finally:
        env.redefine_classes([ClassDefinition(main, original)])
