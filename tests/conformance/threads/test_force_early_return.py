"""The chapter "Force Early Return": a method returns what Python says, and its caller sees that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import jvms
import jvmti
import programs
from conformance import frames
from conformance.evidence import Evidence
from jvmti.interface.errors import ErrorCode

KINDS = [
    ("int", "int", -77, "-77"),
    ("boolean", "int", 1, "true"),
    ("byte", "int", -128, "-128"),
    ("char", "int", 0xFFFF, "65535"),
    ("short", "int", 32767, "32767"),
    ("static", "int", 2**31 - 1, "2147483647"),
    ("long", "long", -(2**63), "-9223372036854775808"),
    ("float", "float", 1.5, "1.5"),
    ("double", "double", -2.25, "-2.25"),
    ("void", "void", None, "nothing"),
]


@pytest.fixture(scope="module")
def stage(jvm: jvms.Jvm, shared_java_program: programs.JavaPrograms) -> Iterator[frames.Stage]:
    yield from frames.stage(jvm, shared_java_program)


@pytest.fixture
def able(stage: frames.Stage) -> frames.Stage:
    if "can_force_early_return" not in stage.env.get_capabilities():
        pytest.skip("this VM cannot force a return")
    return stage


def force(stage: frames.Stage, function: str, actor: frames.Actor, value: Any) -> None:
    call = getattr(stage.env, f"force_early_return_{function}")
    call(actor.thread) if function == "void" else call(actor.thread, value)


@pytest.mark.parametrize(("kind", "function", "value", "seen"), KINDS)
@frames.on_both_kinds
def test_the_caller_gets_the_forced_value(
    able: frames.Stage,
    evidence: Evidence,
    virtual: bool,
    kind: str,
    function: str,
    value: Any,
    seen: str,
) -> None:
    evidence.proves(f"force_early_return_{function}")
    evidence.provokes(
        f"force_early_return_{function}", "THREAD_NOT_SUSPENDED", "TYPE_MISMATCH", "INTERNAL"
    )
    actor = able.act(kind, virtual)
    with pytest.raises(jvmti.errors.ThreadNotSuspended):
        force(able, function, actor, value)
    with actor.suspended():
        other = "long" if function != "long" else "int"
        with pytest.raises(jvmti.errors.TypeMismatch):
            force(able, other, actor, 1)
        force(able, function, actor, value)
        with pytest.raises(jvmti.errors.Internal):  # one return is under way already
            force(able, function, actor, value)
    assert actor.outcome() == f"returned {seen}"


@frames.on_both_kinds
def test_the_caller_gets_the_forced_object(
    able: frames.Stage, evidence: Evidence, virtual: bool
) -> None:
    evidence.proves("force_early_return_object")
    evidence.provokes(
        "force_early_return_object", "THREAD_NOT_SUSPENDED", "TYPE_MISMATCH", "INTERNAL"
    )
    forced = able.vm.jni.new_string_utf("forced")
    actor = able.act("String", virtual)
    with pytest.raises(jvmti.errors.ThreadNotSuspended):
        able.env.force_early_return_object(actor.thread, forced)
    with actor.suspended():
        with pytest.raises(jvmti.errors.TypeMismatch):  # a thread is no String
            able.env.force_early_return_object(actor.thread, actor.thread)
        able.env.force_early_return_object(actor.thread, forced)
        with pytest.raises(jvmti.errors.Internal):
            able.env.force_early_return_object(actor.thread, forced)
    assert actor.outcome() == "returned forced"

    actor = able.act("String", virtual)
    with actor.suspended():
        able.env.force_early_return_object(actor.thread, None)
    assert actor.outcome() == "returned null"


def test_an_object_of_a_class_of_that_name_from_another_loader_is_refused(
    able: frames.Stage, evidence: Evidence
) -> None:
    """HotSpot compares the names alone, and the caller would take the object for what it is not."""
    evidence.provokes("force_early_return_object", "TYPE_MISMATCH")
    actor = able.act("declared")
    assert able.program.ask("load impostor") == "Frames$Passing"
    with actor.suspended():
        with pytest.raises(jvmti.errors.TypeMismatch):
            able.env.force_early_return_object(actor.thread, able.passing(impostor=True))
        able.env.force_early_return_object(actor.thread, able.passing(impostor=False))
    assert actor.outcome() == "returned its own"


@pytest.mark.parametrize(
    ("kind", "value"),
    [("boolean", 2), ("boolean", -1), ("byte", 128), ("char", -1), ("short", 32768)],
)
def test_a_number_that_the_result_type_does_not_have_is_refused(
    able: frames.Stage, evidence: Evidence, kind: str, value: int
) -> None:
    evidence.provokes("force_early_return_int", "TYPE_MISMATCH")
    actor = able.act(kind)
    with actor.suspended(), pytest.raises(jvmti.errors.TypeMismatch):
        able.env.force_early_return_int(actor.thread, value)
    assert actor.result() in ("returned false", "returned 1")


def test_finally_does_not_run_and_monitors_are_released(
    able: frames.Stage, evidence: Evidence
) -> None:
    evidence.proves("force_early_return_int")
    actor = able.act("finally")
    with actor.suspended():
        able.env.force_early_return_int(actor.thread, 5)
    assert actor.outcome() == "returned 5"
    assert actor.progress() == (1, 0)  # the finally block would have set 17

    actor = able.act("locked")
    assert able.program.ask(f"holds {actor.name}") == "true"
    with actor.suspended():
        able.env.force_early_return_int(actor.thread, 6)
    assert actor.outcome() == "returned 6"
    assert able.program.ask(f"holds {actor.name}") == "false"


@pytest.mark.parametrize("function", ["object", "int", "long", "float", "double", "void"])
def test_a_native_method_cannot_return_early(
    able: frames.Stage, evidence: Evidence, function: str
) -> None:
    name = f"force_early_return_{function}"
    evidence.provokes(name, "OPAQUE_FRAME")
    actor = able.act("native")
    with actor.suspended(), pytest.raises(jvmti.errors.OpaqueFrame):
        force(able, function, actor, None if function == "object" else 0)


@pytest.mark.parametrize("function", ["object", "int", "long", "float", "double", "void"])
def test_an_unmounted_virtual_thread_cannot_return_early(
    able: frames.Stage, jvm: jvms.Jvm, evidence: Evidence, function: str
) -> None:
    name = f"force_early_return_{function}"
    evidence.provokes(name, "OPAQUE_FRAME")
    actor = able.act("park", virtual=True)
    with actor.suspended(), pytest.raises(jvmti.errors.OpaqueFrame):
        force(able, function, actor, None if function == "object" else 0)


@pytest.mark.parametrize("function", ["object", "int", "long", "float", "double", "void"])
def test_the_service_thread_has_no_frame_to_return_from(
    able: frames.Stage, evidence: Evidence, function: str
) -> None:
    name = f"force_early_return_{function}"
    evidence.provokes(name, "NO_MORE_FRAMES")
    call = getattr(able.env, name)
    with pytest.raises(jvmti.errors.JvmtiError) as refused:
        call(None) if function == "void" else call(None, None if function == "object" else 0)
    assert refused.value.code == ErrorCode.NO_MORE_FRAMES
