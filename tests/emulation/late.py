"""Runs tests of conformance in sessions that emulate, and knows which functions may differ.

A module imports the tests that it runs again; they find this folder's fixtures.  A test that fails
because a function differs is named with that function, and the page must say so:

    test_x = differing(test_x, "get_local_int")
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import pytest

import jvmti
from jvmti.env.events import EVENTS
from jvmti.env.interface import FUNCTIONS
from jvmti.model.engines import ENGINES

#: By JVM, the functions and events that tests of conformance have shown in emulated mode.
SHOWN: dict[str, set[str]] = {}

DECLARED = [emulated for engine in ENGINES for emulated in engine.emulated]


LEFT_OUT = {
    "test_a_breakpoint_replaces_the_instruction_until_it_is_cleared": "looks for the VM's own",
    "test_breakpoints_go_with_the_session_that_set_them": "the same",
    "test_watches_go_with_the_session_that_set_them": "gives its capability to another session",
    "test_the_caller_gets_the_forced_value": "of frames that no probe stopped: test_functions.py",
    "test_the_caller_gets_the_forced_object": "the same",
    "test_a_number_that_the_result_type_does_not_have_is_refused": "the same",
    "test_finally_does_not_run_and_monitors_are_released": "the same",
    "test_a_popped_method_is_called_again_with_its_changed_arguments": "the same",
    "test_popping_releases_the_monitor_of_the_method": "the same",
    "test_frame_pops_are_asked_for_by_depth": "the same",
    "test_frame_pops_are_withdrawn": "the same",
    "test_variables_of_a_virtual_thread_in_compiled_code_change_only_at_an_event": "the same",
    "test_a_class_is_what_reflection_and_javap_say": "the order has test_constants.py",
}
"""Tests of conformance of what is emulated that do not run here, and why."""


def gated(capability: str) -> set[str]:
    """The functions and events that depend on a capability."""
    functions = {name for name, one in FUNCTIONS.items() if capability in one.capabilities}
    events = (one.declaration for one in EVENTS.values())
    return functions | {one.name for one in events if capability in one.capabilities}


def emulated() -> set[str]:
    """The functions and events that engines stand in for."""
    return {name for one in DECLARED for name in (*one.functions, *one.events)} - lacking()


def lacking() -> set[str]:
    """Those of which engines say that they cannot do them."""
    return {name for one in DECLARED for name in one.lacks}


def differences() -> set[str]:
    """The functions and events of which the page says that they differ."""
    return lacking() | {name for one in DECLARED for name in one.differs}


def said_of(function: str) -> str:
    """What the page says of a function, or an event."""
    return "; ".join(one.differs[function] for one in DECLARED if function in one.differs)


def differing(
    test: Callable[..., Any],
    *functions: str,
    raises: type[BaseException] = jvmti.errors.OpaqueFrame,
) -> Callable[..., Any]:
    """The same test, which must fail with an error because these functions differ.

    It fails to be defined if nothing says so of one of them.
    """
    undeclared = set(functions) - differences()
    assert not undeclared, f"docs/emulation.md does not say that {undeclared} differ"
    reason = f"emulated, {', '.join(functions)} differ: see docs/emulation.md"
    return marked(test, pytest.mark.xfail(strict=True, raises=raises, reason=reason))


def taking_turns(test: Callable[..., Any]) -> Callable[..., Any]:
    """The same test, but on the oldest or the newest JVM, whose turn it is."""
    return marked(test, pytest.mark.oldest_and_newest)


def marked(test: Callable[..., Any], mark: pytest.MarkDecorator) -> Callable[..., Any]:
    """A copy of a test with one more mark, which the test itself does not get."""
    assert isinstance(test, types.FunctionType)
    copy = types.FunctionType(
        test.__code__, test.__globals__, test.__name__, test.__defaults__, test.__closure__
    )
    copy.__dict__.update(test.__dict__)
    copy.__annotations__ = test.__annotations__
    copy.__doc__ = test.__doc__
    marks: Any = copy
    marks.pytestmark = [*getattr(test, "pytestmark", []), mark.mark]
    return copy
