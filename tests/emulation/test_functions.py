"""The tests of conformance of breakpoints, watches, early returns and events, attached to late.

What differs does so in the way that the engine declares, and docs/emulation.md says.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import jvms
import jvmti
import programs
from conformance import frames
from conformance.evidence import Evidence
from conformance.interception.test_breakpoint import (
    method,
    test_a_breakpoint_is_there_once,
    test_breakpoints_go_where_instructions_begin_and_nowhere_else,
    test_native_and_abstract_methods_take_no_breakpoints,
)
from conformance.interception.test_event_management import (
    test_an_event_is_switched_for_one_thread_where_that_makes_sense,
    test_an_event_is_switched_with_its_capability,
)
from conformance.interception.test_watched_field import (
    test_a_field_is_watched_in_its_own_class_only,
    test_a_program_runs_on_under_a_watch,
    test_a_watch_is_there_from_setting_to_clearing,
    test_the_two_watches_of_a_field_are_apart,
    watched,
)
from conformance.threads.test_force_early_return import (
    able,
    test_a_native_method_cannot_return_early,
    test_an_unmounted_virtual_thread_cannot_return_early,
    test_the_service_thread_has_no_frame_to_return_from,
)
from conformance.threads.test_stack_frame import (
    test_a_frame_pop_of_a_native_method_cannot_be_asked_for,
    test_a_stack_trace_is_the_one_that_java_reports,
    test_a_thread_that_has_not_started_has_no_frames,
    test_all_stacks_are_those_of_the_single_threads,
    test_depths_and_counts_outside_a_stack_are_refused,
    test_parts_of_a_stack_count_from_either_end,
    test_the_current_thread_is_a_service_thread_without_frames,
    test_the_stack_of_a_virtual_thread,
)

# Probes are the same on every JVM.
pytestmark = [pytest.mark.oldest_and_newest, pytest.mark.file_in_turn]


@pytest.fixture(scope="module")
def stage(jvm: jvms.Jvm, shared_java_program: programs.JavaPrograms) -> Iterator[frames.Stage]:
    """The program Frames, attached to late."""
    yield from frames.stage(jvm, shared_java_program, emulate=True)


@frames.on_both_kinds
def test_a_frame_that_no_probe_stopped_cannot_be_left(
    stage: frames.Stage, jvm: jvms.Jvm, evidence: Evidence, virtual: bool
) -> None:
    for function in ("force_early_return_object", "pop_frame", "notify_frame_pop"):
        evidence.provokes(function, "THREAD_NOT_SUSPENDED", "OPAQUE_FRAME")
    evidence.provokes("notify_frame_pop", "NO_MORE_FRAMES", "ILLEGAL_ARGUMENT")
    env, actor = stage.env, stage.act("String", virtual)
    with pytest.raises(jvmti.errors.ThreadNotSuspended):
        env.force_early_return_object(actor.thread, None)
    with pytest.raises(jvmti.errors.ThreadNotSuspended):
        env.pop_frame(actor.thread)
    with pytest.raises(jvmti.errors.ThreadNotSuspended):
        env.notify_frame_pop(actor.thread, 0)
    with actor.suspended():
        with pytest.raises(jvmti.errors.OpaqueFrame, match="attached late"):
            env.force_early_return_object(actor.thread, None)
        with pytest.raises(jvmti.errors.OpaqueFrame, match="attached late"):
            env.pop_frame(actor.thread)
        with pytest.raises(jvmti.errors.OpaqueFrame, match="before its class got probes"):
            env.notify_frame_pop(actor.thread, 0)
        with pytest.raises(jvmti.errors.NoMoreFrames):
            env.notify_frame_pop(actor.thread, 1000)
        with pytest.raises(jvmti.errors.IllegalArgument):
            env.notify_frame_pop(actor.thread, -1)
        if jvm.feature >= 25:
            env.clear_all_frame_pops(actor.thread)
    assert actor.result() == "returned its own"


__all__ = [
    "able",
    "method",
    "test_a_breakpoint_is_there_once",
    "test_a_field_is_watched_in_its_own_class_only",
    "test_a_frame_pop_of_a_native_method_cannot_be_asked_for",
    "test_a_native_method_cannot_return_early",
    "test_a_program_runs_on_under_a_watch",
    "test_a_stack_trace_is_the_one_that_java_reports",
    "test_a_thread_that_has_not_started_has_no_frames",
    "test_a_watch_is_there_from_setting_to_clearing",
    "test_all_stacks_are_those_of_the_single_threads",
    "test_an_event_is_switched_for_one_thread_where_that_makes_sense",
    "test_an_event_is_switched_with_its_capability",
    "test_an_unmounted_virtual_thread_cannot_return_early",
    "test_breakpoints_go_where_instructions_begin_and_nowhere_else",
    "test_depths_and_counts_outside_a_stack_are_refused",
    "test_native_and_abstract_methods_take_no_breakpoints",
    "test_parts_of_a_stack_count_from_either_end",
    "test_the_current_thread_is_a_service_thread_without_frames",
    "test_the_service_thread_has_no_frame_to_return_from",
    "test_the_stack_of_a_virtual_thread",
    "test_the_two_watches_of_a_field_are_apart",
    "watched",
]
