"""The chapter "Stack Frame": traces as Java itself sees them, and frames that are popped."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import jvms
import jvmti
import programs
from conformance import frames
from conformance.evidence import Evidence
from conformance.finding import thread_named
from jvmti.env.structures import FrameInfo
from jvmti.interface.constants import ThreadState
from jvmti.refs import Thread

DEEPEST = 2**31 - 1


@pytest.fixture(scope="module")
def stage(jvm: jvms.Jvm, shared_java_program: programs.JavaPrograms) -> Iterator[frames.Stage]:
    yield from frames.stage(jvm, shared_java_program)


def line_of(env: jvmti.Env, frame: FrameInfo) -> int:
    """The source line of a frame, -1 where the class file does not tell."""
    try:
        table = env.get_line_number_table(frame.method)
    except jvmti.errors.AbsentInformation:  # a runtime image may come without
        return -1
    entries = [entry for entry in table if entry.start_location <= frame.location]
    return max(entries, key=lambda entry: entry.start_location).line_number


def written(env: jvmti.Env, trace: list[FrameInfo]) -> list[str]:
    """A stack as the Witness writes it: class, method and line."""
    lines = []
    for frame in trace:
        cls = env.get_class_signature(env.get_method_declaring_class(frame.method)).signature
        name = env.get_method_name(frame.method).name
        line = -2  # a native method
        if frame.location >= 0:
            line = line_of(env, frame)
        lines.append(f"{cls[1:-1].replace('/', '.')}.{name}:{line}")
    return without_glue(lines)


def reported(witness: programs.JavaProgram, name: str) -> list[str]:
    """The stack of a thread as the Witness has it from Java."""
    return without_glue(witness.ask(f"stack {name}").split())


def without_glue(lines: list[str]) -> list[str]:
    """The same without the frames that newer releases hide from Java: lambdas' and runWith."""
    hidden = ("$$Lambda", "java.lang.Thread.runWith:")
    return [line for line in lines if not any(glue in line for glue in hidden)]


@pytest.mark.parametrize("name", ["deep", "sleeping", "waiting", "blocked", "parked"])
def test_a_stack_trace_is_the_one_that_java_reports(
    env: jvmti.Env, witness: programs.JavaProgram, evidence: Evidence, name: str
) -> None:
    evidence.proves("get_stack_trace", "get_frame_count", "get_frame_location")
    thread = thread_named(env, name)
    trace = env.get_stack_trace(thread, 0, DEEPEST)
    assert written(env, trace) == reported(witness, name)
    assert env.get_frame_count(thread) == len(trace)
    for depth, frame in enumerate(trace):
        assert env.get_frame_location(thread, depth) == (frame.method, frame.location)


def test_parts_of_a_stack_count_from_either_end(env: jvmti.Env, evidence: Evidence) -> None:
    evidence.proves("get_stack_trace")
    deep = thread_named(env, "deep")
    whole = env.get_stack_trace(deep, 0, 100)
    assert len(whole) > 20
    assert env.get_stack_trace(deep, 3, 4) == whole[3:7]
    assert env.get_stack_trace(deep, -2, 10) == whole[-2:]
    assert env.get_stack_trace(deep, 0, 0) == []


def test_all_stacks_are_those_of_the_single_threads(
    env: jvmti.Env, witness: programs.JavaProgram, evidence: Evidence
) -> None:
    evidence.proves("get_all_stack_traces", "get_thread_list_stack_traces")
    by_name = {
        env.get_thread_info(stack.thread).name: stack for stack in env.get_all_stack_traces(100)
    }
    assert set(witness.ask("threads").split()) <= {name.replace(" ", "\\u0020") for name in by_name}
    for name in ("deep", "sleeping", "parked"):
        assert written(env, by_name[name].frame_buffer) == reported(witness, name)
    assert all(len(stack.frame_buffer) <= 2 for stack in env.get_all_stack_traces(2))

    wanted = [thread_named(env, name) for name in ("sleeping", "deep")]
    stacks = env.get_thread_list_stack_traces(wanted, 100)
    assert [stack.thread for stack in stacks] == wanted
    for name, stack in zip(("sleeping", "deep"), stacks, strict=True):
        assert written(env, stack.frame_buffer) == reported(witness, name)
        assert stack.state == env.get_thread_state(stack.thread)
    assert env.get_thread_list_stack_traces([], 5) == []


def test_a_thread_that_has_not_started_has_no_frames(vm: jvmti.VM, evidence: Evidence) -> None:
    evidence.proves("get_thread_list_stack_traces")
    cls = vm.jni.find_class("java/lang/Thread")
    made = vm.jni.new_object(cls, vm.jni.get_method_id(cls, "<init>", "()V"), [])
    assert isinstance(made, Thread)
    # Beside another: HotSpot asks a single thread in a quicker way, and some versions then refuse.
    sleeping = thread_named(vm.env, "sleeping")
    stack, other = vm.env.get_thread_list_stack_traces([made, sleeping], 10)
    assert (stack.thread, stack.frame_buffer) == (made, [])
    assert not stack.state & ThreadState.ALIVE
    assert other.state & ThreadState.ALIVE


def test_the_current_thread_is_a_service_thread_without_frames(
    env: jvmti.Env, evidence: Evidence
) -> None:
    evidence.proves("get_frame_count", "get_stack_trace")
    evidence.provokes("get_frame_location", "NO_MORE_FRAMES")
    assert env.get_frame_count() == 0
    assert env.get_stack_trace(None, 0, 10) == []
    with pytest.raises(jvmti.errors.NoMoreFrames):
        env.get_frame_location(None, 0)


def test_depths_and_counts_outside_a_stack_are_refused(env: jvmti.Env, evidence: Evidence) -> None:
    evidence.provokes("get_stack_trace", "ILLEGAL_ARGUMENT")
    evidence.provokes("get_all_stack_traces", "ILLEGAL_ARGUMENT")
    evidence.provokes("get_thread_list_stack_traces", "ILLEGAL_ARGUMENT")
    evidence.provokes("get_frame_location", "NO_MORE_FRAMES", "ILLEGAL_ARGUMENT")
    deep = thread_named(env, "deep")
    depth = env.get_frame_count(deep)
    for start, count in ((depth + 1, 1), (-depth - 1, 1), (0, -1), (0, -(2**31)), (DEEPEST, 1)):
        with pytest.raises(jvmti.errors.IllegalArgument):
            env.get_stack_trace(deep, start, count)
    with pytest.raises(jvmti.errors.IllegalArgument):
        env.get_all_stack_traces(-1)
    with pytest.raises(jvmti.errors.IllegalArgument):
        env.get_thread_list_stack_traces([deep], -1)
    with pytest.raises(jvmti.errors.NoMoreFrames):
        env.get_frame_location(deep, depth)
    with pytest.raises(jvmti.errors.IllegalArgument):
        env.get_frame_location(deep, -1)


def test_the_stack_of_a_virtual_thread(stage: frames.Stage, evidence: Evidence) -> None:
    evidence.proves("get_stack_trace", "get_frame_count", "get_frame_location")
    actor = stage.act("park", virtual=True)
    trace = stage.env.get_stack_trace(actor.thread, 0, 50)
    lines = written(stage.env, trace)
    assert "Frames$Act.perform" in [line.partition(":")[0] for line in lines]
    assert stage.env.get_frame_count(actor.thread) == len(trace)
    assert stage.env.get_frame_location(actor.thread, 1).method == trace[1].method
    (stack,) = stage.env.get_thread_list_stack_traces([actor.thread], 50)
    assert written(stage.env, stack.frame_buffer) == lines


# Popping ------------------------------------------------------------------------------------


@pytest.fixture
def popping(stage: frames.Stage) -> frames.Stage:
    if "can_pop_frame" not in stage.env.get_capabilities():
        pytest.skip("this VM cannot pop frames")
    return stage


@frames.on_both_kinds
def test_a_popped_method_is_called_again_with_its_changed_arguments(
    popping: frames.Stage, evidence: Evidence, virtual: bool
) -> None:
    evidence.proves("pop_frame")
    evidence.provokes("pop_frame", "THREAD_NOT_SUSPENDED", "INTERNAL")
    actor = popping.act("argument", virtual)
    actor.called(1)
    with pytest.raises(jvmti.errors.ThreadNotSuspended):
        popping.env.pop_frame(actor.thread)
    with actor.suspended():
        popping.env.pop_frame(actor.thread)
        with pytest.raises(jvmti.errors.Internal):  # one before the thread goes on
            popping.env.pop_frame(actor.thread)
    assert actor.called(2) == (2, 205)  # 5 + 100, and that + 100 again
    assert actor.result() == "returned 205"


def test_popping_releases_the_monitor_of_the_method(
    popping: frames.Stage, evidence: Evidence
) -> None:
    evidence.proves("pop_frame")
    actor = popping.act("locked")
    with actor.suspended():
        popping.env.pop_frame(actor.thread)
    assert actor.called(2)[0] == 2
    assert actor.result() == "returned 1"
    assert popping.program.ask(f"holds {actor.name}") == "false"


def test_native_methods_cannot_be_popped(popping: frames.Stage, evidence: Evidence) -> None:
    evidence.provokes("pop_frame", "OPAQUE_FRAME")
    actor = popping.act("native")
    with actor.suspended(), pytest.raises(jvmti.errors.OpaqueFrame):
        popping.env.pop_frame(actor.thread)


def test_an_unmounted_virtual_thread_cannot_be_popped(
    popping: frames.Stage, jvm: jvms.Jvm, evidence: Evidence
) -> None:
    evidence.provokes("pop_frame", "OPAQUE_FRAME")
    actor = popping.act("park", virtual=True)
    with actor.suspended(), pytest.raises(jvmti.errors.OpaqueFrame):
        popping.env.pop_frame(actor.thread)


def test_the_last_frame_cannot_be_popped(popping: frames.Stage, evidence: Evidence) -> None:
    evidence.provokes("pop_frame", "NO_MORE_FRAMES")
    actor = popping.act("alone")
    with actor.suspended():
        assert popping.env.get_frame_count(actor.thread) == 1
        with pytest.raises(jvmti.errors.NoMoreFrames):
            popping.env.pop_frame(actor.thread)
    assert actor.result() == "returned alone"


# Frame pops ---------------------------------------------------------------------------------


@frames.on_both_kinds
def test_frame_pops_are_asked_for_by_depth(
    stage: frames.Stage, evidence: Evidence, virtual: bool
) -> None:
    evidence.proves("notify_frame_pop")
    evidence.provokes(
        "notify_frame_pop", "THREAD_NOT_SUSPENDED", "NO_MORE_FRAMES", "ILLEGAL_ARGUMENT"
    )
    actor = stage.act("int", virtual)
    with pytest.raises(jvmti.errors.ThreadNotSuspended):
        stage.env.notify_frame_pop(actor.thread, 0)
    with actor.suspended():
        stage.env.notify_frame_pop(actor.thread, 0)
        stage.env.notify_frame_pop(actor.thread, 1)
        with pytest.raises(jvmti.errors.NoMoreFrames):
            stage.env.notify_frame_pop(actor.thread, 1000)
        with pytest.raises(jvmti.errors.IllegalArgument):
            stage.env.notify_frame_pop(actor.thread, -1)
    assert actor.result() == "returned 1"


def test_a_frame_pop_of_a_native_method_cannot_be_asked_for(
    stage: frames.Stage, evidence: Evidence
) -> None:
    evidence.provokes("notify_frame_pop", "OPAQUE_FRAME")
    actor = stage.act("native")
    with actor.suspended(), pytest.raises(jvmti.errors.OpaqueFrame):
        stage.env.notify_frame_pop(actor.thread, 0)


@frames.on_both_kinds
def test_frame_pops_are_withdrawn(
    stage: frames.Stage, jvm: jvms.Jvm, evidence: Evidence, virtual: bool
) -> None:
    if jvm.feature < 25:
        with pytest.raises(jvmti.errors.NotInThisVersion):
            stage.env.clear_all_frame_pops()
        return
    evidence.proves("clear_all_frame_pops")
    evidence.provokes("clear_all_frame_pops", "THREAD_NOT_SUSPENDED")
    actor = stage.act("int", virtual)
    with pytest.raises(jvmti.errors.ThreadNotSuspended):
        stage.env.clear_all_frame_pops(actor.thread)
    with actor.suspended():
        stage.env.notify_frame_pop(actor.thread, 0)
        stage.env.clear_all_frame_pops(actor.thread)
        stage.env.notify_frame_pop(actor.thread, 0)
        stage.env.clear_all_frame_pops(actor.thread)
    assert actor.result() == "returned 1"
