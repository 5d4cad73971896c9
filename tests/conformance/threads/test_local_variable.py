"""The chapter "Local Variable": values that the program put there, and that it sees changed."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import jvms
import jvmti
import programs
from conformance import frames
from conformance.evidence import Evidence
from conformance.finding import thread_named

KINDS = ("object", "int", "long", "float", "double")
BEFORE = "true,-8,67,-16,-32,-64,1.5,-2.25,text,any,-31,-63,-1.25,null"
# Of Frames.Act.variables, where javap finds them too.
SLOTS = {"z": 1, "b": 2, "c": 3, "s": 4, "i": 5, "j": 6, "f": 8, "d": 9, "text": 11, "any": 12}
SLOTS |= {"later": 13, "wide": 14, "real": 16, "nothing": 18}
VALUES = [
    ("z", "int", 1, 0),
    ("b", "int", -8, 127),
    ("c", "int", 67, 0x4E2D),
    ("s", "int", -16, -32768),
    ("i", "int", -32, 2**31 - 1),
    ("j", "long", -64, -(2**63)),
    ("f", "float", 1.5, -0.25),
    ("d", "double", -2.25, 1e300),
    ("later", "int", -31, 4),
    ("wide", "long", -63, 5),
    ("real", "double", -1.25, 6.5),
]
# Which of the two comes first differs with the slot where a long or double is concerned.
WRONG = (jvmti.errors.TypeMismatch, jvmti.errors.InvalidSlot)
AFTER = "false,127,20013,-32768,2147483647,-9223372036854775808,-0.25,1.0E300,"


@pytest.fixture(scope="module", params=[True, False], ids=["tabled", "untabled"])
def stage(
    request: pytest.FixtureRequest, jvm: jvms.Jvm, shared_java_program: programs.JavaPrograms
) -> Iterator[frames.Stage]:
    """The program, compiled with a local variable table and without one."""
    yield from frames.stage(jvm, shared_java_program, debug=request.param)


def get(stage: frames.Stage, kind: str, *where: Any) -> Any:
    return getattr(stage.env, f"get_local_{kind}")(*where)


def put(stage: frames.Stage, kind: str, *where_and_value: Any) -> None:
    getattr(stage.env, f"set_local_{kind}")(*where_and_value)


def test_slots_are_those_that_javap_shows(java_classes: Callable[..., Path], jdk: Path) -> None:
    classes = java_classes("Frames")
    shown = subprocess.run(
        [jdk / "bin" / "javap", "-l", "-p", "-cp", classes, "Frames$Act"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    table = shown.partition("java.lang.String variables(")[2].partition("\n\n")[0]
    found = {name: int(slot) for slot, name in re.findall(r"\d+ +\d+ +(\d+) +(\w+)", table)}
    assert {name: found[name] for name in SLOTS} == SLOTS


@frames.on_both_kinds
def test_variables_are_read_as_the_program_set_them(
    stage: frames.Stage, evidence: Evidence, virtual: bool
) -> None:
    evidence.proves(*(f"get_local_{kind}" for kind in KINDS), "get_local_instance")
    actor = stage.act("variables", virtual)
    with actor.suspended():
        for name, kind, value, _ in VALUES:
            assert get(stage, kind, actor.thread, 0, SLOTS[name]) == value, name
        text = stage.env.get_local_object(actor.thread, 0, SLOTS["text"])
        assert stage.vm.jni.get_string_chars(text) == "text"  # type: ignore[arg-type]
        assert stage.env.get_local_object(actor.thread, 0, SLOTS["nothing"]) is None
        this = stage.env.get_local_object(actor.thread, 0, 0)
        assert this is not None
        assert stage.env.get_local_instance(actor.thread, 0) == this
        assert stage.env.get_local_instance(actor.thread, 1) == this  # of Act.perform
    assert actor.result() == f"returned {BEFORE}"


def test_changed_variables_are_what_the_program_goes_on_with(
    stage: frames.Stage, evidence: Evidence
) -> None:
    evidence.proves(*(f"set_local_{kind}" for kind in KINDS))
    actor = stage.act("variables")
    with actor.suspended():
        for name, kind, _, value in VALUES:
            put(stage, kind, actor.thread, 0, SLOTS[name], value)
            assert get(stage, kind, actor.thread, 0, SLOTS[name]) == value, name
        other = stage.vm.jni.new_string_utf("other")
        stage.env.set_local_object(actor.thread, 0, SLOTS["text"], other)
        stage.env.set_local_object(actor.thread, 0, SLOTS["any"], None)
        assert stage.program.ask("gc") == "ok"
        assert stage.env.get_local_object(actor.thread, 0, SLOTS["text"]) == other
    assert stage.program.ask("gc") == "ok"
    assert actor.result() == f"returned {AFTER}other,null,4,5,6.5,null"


LIMITS = {"z": (0, 1), "b": (-128, 127), "c": (0, 0xFFFF), "s": (-(1 << 15), (1 << 15) - 1)}


def test_a_narrow_variable_takes_no_number_that_its_type_has_not(
    stage: frames.Stage, evidence: Evidence
) -> None:
    evidence.provokes("set_local_int", "TYPE_MISMATCH")
    actor = stage.act("variables")
    with actor.suspended():
        for name, limits in LIMITS.items():
            slot = SLOTS[name]
            for number in limits:
                put(stage, "int", actor.thread, 0, slot, number)
                assert get(stage, "int", actor.thread, 0, slot) == number
            for number in (limits[0] - 1, limits[1] + 1, 300_000, -(1 << 31), (1 << 31) - 1):
                with pytest.raises(jvmti.errors.TypeMismatch, match=f"which has no {number}"):
                    put(stage, "int", actor.thread, 0, slot, number)
                assert get(stage, "int", actor.thread, 0, slot) == limits[1]
        put(stage, "int", actor.thread, 0, SLOTS["i"], 300_000)
    assert actor.result().startswith("returned true,127,65535,32767,300000,")


@frames.on_both_kinds
def test_wrong_types_are_refused_with_and_without_a_table(
    stage: frames.Stage, evidence: Evidence, virtual: bool
) -> None:
    for kind in KINDS:
        evidence.provokes(f"get_local_{kind}", "TYPE_MISMATCH")
        evidence.provokes(f"set_local_{kind}", "TYPE_MISMATCH")
    home = {"object": "text", "int": "i", "long": "j", "float": "f", "double": "d"}
    actor = stage.act("variables", virtual)
    with actor.suspended():
        for kind in KINDS:
            value = None if kind == "object" else 1
            sure = SLOTS["i" if kind != "int" else "j"]
            with pytest.raises(jvmti.errors.TypeMismatch):
                get(stage, kind, actor.thread, 0, sure)
            with pytest.raises(jvmti.errors.TypeMismatch):
                put(stage, kind, actor.thread, 0, sure, value)
            for name in (name for of, name in home.items() if of != kind):
                with pytest.raises(WRONG):
                    get(stage, kind, actor.thread, 0, SLOTS[name])
                with pytest.raises(WRONG):
                    put(stage, kind, actor.thread, 0, SLOTS[name], value)
        with pytest.raises(jvmti.errors.TypeMismatch):  # a thread is no StringBuilder
            stage.env.set_local_object(actor.thread, 0, SLOTS["any"], actor.thread)
    assert stage.program.ask("gc") == "ok"
    assert actor.result() == f"returned {BEFORE}"


def test_an_object_of_a_class_of_that_name_from_another_loader_is_refused(
    stage: frames.Stage, evidence: Evidence
) -> None:
    """HotSpot compares the names alone, and the program would take it for what it is not."""
    evidence.provokes("set_local_object", "TYPE_MISMATCH")
    actor = stage.act("declared")
    assert stage.program.ask("load impostor") == "Frames$Passing"
    with actor.suspended():
        other = stage.passing(impostor=False)
        with pytest.raises(jvmti.errors.TypeMismatch):
            stage.env.set_local_object(actor.thread, 0, 1, stage.passing(impostor=True))
        stage.env.set_local_object(actor.thread, 0, 1, other)
        assert stage.env.get_local_object(actor.thread, 0, 1) == other
    assert actor.result() == "returned its own"


def test_slots_where_no_variable_begins_are_refused(
    stage: frames.Stage, evidence: Evidence
) -> None:
    actor = stage.act("variables")
    with actor.suspended():
        for kind in KINDS:
            evidence.provokes(f"get_local_{kind}", "INVALID_SLOT")
            evidence.provokes(f"set_local_{kind}", "INVALID_SLOT")
            value = None if kind == "object" else 1
            for slot in (-1, 7, 10, 15, 1000, 65536, 2**31 - 1, -(2**31)):
                error = WRONG if slot in (7, 10, 15) else jvmti.errors.InvalidSlot
                with pytest.raises(error):
                    get(stage, kind, actor.thread, 0, slot)
                with pytest.raises(error):
                    put(stage, kind, actor.thread, 0, slot, value)
    assert actor.result() == f"returned {BEFORE}"


def test_native_frames_have_no_variables_but_this(stage: frames.Stage, evidence: Evidence) -> None:
    actor = stage.act("native")
    with actor.suspended():
        for kind in KINDS:
            evidence.provokes(f"get_local_{kind}", "OPAQUE_FRAME")
            evidence.provokes(f"set_local_{kind}", "OPAQUE_FRAME")
            with pytest.raises(jvmti.errors.OpaqueFrame):
                get(stage, kind, actor.thread, 0, 0)
            with pytest.raises(jvmti.errors.OpaqueFrame):
                put(stage, kind, actor.thread, 0, 0, None if kind == "object" else 1)


def test_this_of_a_native_method(
    env: jvmti.Env, witness: programs.JavaProgram, evidence: Evidence
) -> None:
    evidence.proves("get_local_instance")
    waiting = thread_named(env, "waiting")
    env.suspend_thread(waiting)
    try:
        assert env.get_frame_location(waiting, 0).location == -1  # Object.wait or wait0
        monitor = env.get_local_instance(waiting, 0)
        assert monitor is not None
        identity = f"Witness$Monitor@{env.get_object_hash_code(monitor)}"
    finally:
        env.resume_thread(waiting)
    assert witness.ask("contended waiting") == identity


def test_a_static_method_has_no_this(stage: frames.Stage, evidence: Evidence) -> None:
    evidence.provokes("get_local_instance", "INVALID_SLOT")
    actor = stage.act("static")
    with actor.suspended(), pytest.raises(jvmti.errors.InvalidSlot):
        stage.env.get_local_instance(actor.thread, 0)
    assert actor.result() == "returned 1"


def test_depths_outside_the_stack_are_refused(stage: frames.Stage, evidence: Evidence) -> None:
    evidence.provokes("get_local_instance", "NO_MORE_FRAMES", "ILLEGAL_ARGUMENT")
    actor = stage.act("variables")
    with actor.suspended():
        for kind in KINDS:
            evidence.provokes(f"get_local_{kind}", "NO_MORE_FRAMES", "ILLEGAL_ARGUMENT")
            evidence.provokes(f"set_local_{kind}", "NO_MORE_FRAMES", "ILLEGAL_ARGUMENT")
            value = None if kind == "object" else 1
            for depth, error in (
                (1000, jvmti.errors.NoMoreFrames),
                (2**31 - 1, jvmti.errors.NoMoreFrames),
                (-1, jvmti.errors.IllegalArgument),
                (-(2**31), jvmti.errors.IllegalArgument),
            ):
                with pytest.raises(error):
                    get(stage, kind, actor.thread, depth, 1)
                with pytest.raises(error):
                    put(stage, kind, actor.thread, depth, 1, value)
        with pytest.raises(jvmti.errors.NoMoreFrames):
            stage.env.get_local_instance(actor.thread, 1000)
        with pytest.raises(jvmti.errors.IllegalArgument):
            stage.env.get_local_instance(actor.thread, -1)
    assert actor.result() == f"returned {BEFORE}"


def wait_until_compiled(stage: frames.Stage, actor: frames.Actor) -> None:
    """A virtual thread's top frame can be written while it is interpreted, and then no more."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with actor.suspended():
            slot = SLOTS["i"]
            same = get(stage, "int", actor.thread, 0, slot)
            try:
                put(stage, "int", actor.thread, 0, slot, same)
            except jvmti.errors.OpaqueFrame:
                return
        time.sleep(0.02)
    pytest.fail("its method was not compiled")


def test_variables_of_a_virtual_thread_in_compiled_code_change_only_at_an_event(
    stage: frames.Stage, jvm: jvms.Jvm, evidence: Evidence
) -> None:
    actor = stage.act("variables", virtual=True)
    wait_until_compiled(stage, actor)
    with actor.suspended():
        for name, kind, _, value in VALUES:
            evidence.provokes(f"set_local_{kind}", "OPAQUE_FRAME")
            with pytest.raises(jvmti.errors.OpaqueFrame):
                put(stage, kind, actor.thread, 0, SLOTS[name], value)
    assert actor.result() == f"returned {BEFORE}"


def test_a_running_virtual_thread_must_be_suspended_first(
    stage: frames.Stage, evidence: Evidence
) -> None:
    actor = stage.act("variables", virtual=True)
    for name, kind, _, value in VALUES:
        evidence.provokes(f"get_local_{kind}", "THREAD_NOT_SUSPENDED")
        evidence.provokes(f"set_local_{kind}", "THREAD_NOT_SUSPENDED")
        with pytest.raises(jvmti.errors.ThreadNotSuspended):
            get(stage, kind, actor.thread, 0, SLOTS[name])
        with pytest.raises(jvmti.errors.ThreadNotSuspended):
            put(stage, kind, actor.thread, 0, SLOTS[name], value)
    assert actor.result() == f"returned {BEFORE}"
