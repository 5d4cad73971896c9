"""The tests of events of running code, on a JVM that was attached to late: probes report them."""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterator

import pytest

import jvms
import jvmti
import programs
from emulation.late import differing, taking_turns
from events import test_exceptions, test_execution, test_fields, test_frames
from events.conftest import NO_INFLATION, NO_SIGNAL, SOLO, WARM, kind
from events.seen import Code
from events.test_exceptions import (
    test_an_exception_comes_before_the_frames_are_left_and_its_catch_after,
    test_an_exception_that_nobody_catches_has_no_place_where_it_is_caught,
    test_exceptions_that_a_handler_s_own_calls_throw_are_not_reported_again,
    test_the_handler_reads_the_exception_on_its_own_thread,
)
from events.test_execution import (
    test_a_breakpoint_stops_either_kind_of_thread,
    test_a_breakpoint_tells_thread_method_and_location,
    test_a_frame_is_popped_on_a_virtual_thread,
    test_a_frame_that_was_asked_for_is_popped,
    test_a_method_exit_brings_what_is_returned_whatever_its_type,
    test_an_event_for_one_thread_comes_from_no_other,
    test_an_exception_leaves_methods_without_a_value,
    test_callbacks_are_set_all_at_once,
    test_each_of_two_environments_receives_what_it_enabled,
    test_handlers_of_one_event_are_called_in_the_order_of_their_registration,
    test_methods_are_entered_and_left_in_java_s_own_order,
    test_the_handler_of_a_breakpoint_finds_the_thread_there,
)
from events.test_fields import (
    test_a_static_field_has_no_object,
    test_a_watch_of_another_environment_stays_when_one_is_cleared,
    test_a_write_brings_the_new_value_whatever_its_type,
    watched,
)
from events.test_frames import (
    test_a_frame_pop_is_reported_before_the_breakpoint_behind_it,
    test_a_handler_leaves_one_frame_at_a_time,
    test_a_popped_frame_is_entered_again,
    test_a_virtual_thread_is_made_to_return_early,
    test_local_variables_of_all_types_are_read_and_written_in_a_breakpoint,
    test_methods_of_every_type_are_made_to_return_early_from_a_handler,
)

test_a_native_method = differing(
    test_execution.test_a_native_method_is_entered_and_left_too,
    *("MethodEntry", "MethodExit"),
    raises=AssertionError,
)
test_where_an_exception_is_caught = differing(
    test_exceptions.test_an_exception_is_thrown_and_caught_where_java_says,
    "Exception",
    raises=AssertionError,
)
test_single_step = differing(
    test_execution.test_single_step_is_switched_on_at_a_breakpoint,
    "SingleStep",
    raises=IndexError,  # none came, as the call runs already
)
test_a_field_of_jni = differing(
    test_fields.test_a_field_touched_through_jni_is_reported,
    *("FieldAccess", "FieldModification"),
    raises=AssertionError,
)
test_the_lock_of_a_popped_frame = differing(
    test_frames.test_popping_a_frame_lets_go_of_its_lock, "pop_frame", raises=AssertionError
)

# Each JVM has to show what test_shown.py counts.  The rest takes turns: probes are the same on
# every JVM, and each test starts a JVM to put them into its classes.
_ARMING_ALL = (  # other tests show the same events, and to arm them takes seconds
    "test_an_exception_comes_before_the_frames_are_left_and_its_catch_after",
    "test_an_exception_leaves_methods_without_a_value",
    "test_callbacks_are_set_all_at_once",
    "test_each_of_two_environments_receives_what_it_enabled",
    "test_single_step",
    "test_where_an_exception_is_caught",
)
for _name, _test in list(globals().items()):
    if _name.startswith("test_") and isinstance(_test, types.FunctionType):
        if _name in _ARMING_ALL or "evidence" not in inspect.signature(_test).parameters:
            globals()[_name] = taking_turns(_test)


@pytest.fixture
def program(java_program: programs.JavaPrograms) -> programs.JavaProgram:
    """The program Events, ready for commands; no agent is there when it starts.

    Each test has its own: a JVM takes longer and longer to change a class some ten times.
    """
    options = [NO_SIGNAL, NO_INFLATION, *jvms.QUICK, "-Xmx128m"]
    started = java_program("Events", jvm_args=options)
    started.expect("ready", timeout=60)
    for command in WARM:
        started.ask(command)
    return started


@pytest.fixture
def vm(program: programs.JavaProgram) -> Iterator[jvmti.VM]:
    """A session for one test that emulates what the VM does not give."""
    with jvmti.attach(program.pid, capabilities="all", timeout=30, emulate=True) as attached:
        attached.timeout = 60
        yield attached
        assert attached.handler_errors == []
    assert program.ask("echo alive") == "alive"


@pytest.fixture
def another(vm: jvmti.VM) -> jvmti.Env:
    """A second environment."""
    made = vm.new_env()
    made.add_capabilities(made.get_potential_capabilities() & ~SOLO)
    return made


@pytest.fixture
def code(vm: jvmti.VM) -> Code:
    """The methods of the main class."""
    return Code(vm, "Events")


__all__ = [
    "test_methods_of_every_type_are_made_to_return_early_from_a_handler",
    "test_methods_are_entered_and_left_in_java_s_own_order",
    "test_a_method_exit_brings_what_is_returned_whatever_its_type",
    "kind",
    "test_a_breakpoint_stops_either_kind_of_thread",
    "test_a_breakpoint_tells_thread_method_and_location",
    "test_a_frame_is_popped_on_a_virtual_thread",
    "test_a_frame_pop_is_reported_before_the_breakpoint_behind_it",
    "test_a_frame_that_was_asked_for_is_popped",
    "test_a_handler_leaves_one_frame_at_a_time",
    "test_a_popped_frame_is_entered_again",
    "test_a_static_field_has_no_object",
    "test_a_virtual_thread_is_made_to_return_early",
    "test_a_watch_of_another_environment_stays_when_one_is_cleared",
    "test_a_write_brings_the_new_value_whatever_its_type",
    "test_an_event_for_one_thread_comes_from_no_other",
    "test_an_exception_comes_before_the_frames_are_left_and_its_catch_after",
    "test_an_exception_leaves_methods_without_a_value",
    "test_an_exception_that_nobody_catches_has_no_place_where_it_is_caught",
    "test_callbacks_are_set_all_at_once",
    "test_each_of_two_environments_receives_what_it_enabled",
    "test_exceptions_that_a_handler_s_own_calls_throw_are_not_reported_again",
    "test_handlers_of_one_event_are_called_in_the_order_of_their_registration",
    "test_local_variables_of_all_types_are_read_and_written_in_a_breakpoint",
    "test_the_handler_of_a_breakpoint_finds_the_thread_there",
    "test_the_handler_reads_the_exception_on_its_own_thread",
    "watched",
]
