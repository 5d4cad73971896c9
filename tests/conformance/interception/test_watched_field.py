"""The chapter "Watched Field".

Without an event nothing outside shows a watch, so the witness is the VM's own book: a watch that is
there is a duplicate, one that is not cannot be cleared; and the program goes on with right values.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import jvms
import jvmti
import programs
from conformance import frames
from conformance.evidence import Evidence
from conformance.finding import field_named, loaded_class
from jvmti.refs import Class, Field

WATCHES = ("access", "modification")


@pytest.fixture(scope="module")
def stage(jvm: jvms.Jvm, shared_java_program: programs.JavaPrograms) -> Iterator[frames.Stage]:
    yield from frames.stage(jvm, shared_java_program)


@pytest.fixture
def watched(stage: frames.Stage) -> Class:
    assert stage.program.ask("read") == "3"
    return loaded_class(stage.env, "Frames$Watched")


def put(env: jvmti.Env, watch: str, cls: Class, field: Field) -> None:
    getattr(env, f"set_field_{watch}_watch")(cls, field)


def clear(env: jvmti.Env, watch: str, cls: Class, field: Field) -> None:
    getattr(env, f"clear_field_{watch}_watch")(cls, field)


@pytest.mark.parametrize("watch", WATCHES)
@pytest.mark.parametrize("name", ["counter", "number", "text"])
def test_a_watch_is_there_from_setting_to_clearing(
    stage: frames.Stage, watched: Class, evidence: Evidence, watch: str, name: str
) -> None:
    evidence.proves(f"set_field_{watch}_watch", f"clear_field_{watch}_watch")
    evidence.provokes(f"set_field_{watch}_watch", "DUPLICATE")
    evidence.provokes(f"clear_field_{watch}_watch", "NOT_FOUND")
    field = field_named(stage.env, watched, name)
    with pytest.raises(jvmti.errors.NotFound):
        clear(stage.env, watch, watched, field)
    put(stage.env, watch, watched, field)
    with pytest.raises(jvmti.errors.Duplicate):
        put(stage.env, watch, watched, field)
    assert stage.program.ask("write 41") == "ok"
    assert stage.program.ask("counter") == "41"
    assert stage.program.ask("read") == "3"
    clear(stage.env, watch, watched, field)
    with pytest.raises(jvmti.errors.NotFound):
        clear(stage.env, watch, watched, field)


def test_the_two_watches_of_a_field_are_apart(
    stage: frames.Stage, watched: Class, evidence: Evidence
) -> None:
    evidence.proves("set_field_access_watch", "set_field_modification_watch")
    field = field_named(stage.env, watched, "counter")
    stage.env.set_field_access_watch(watched, field)
    stage.env.set_field_modification_watch(watched, field)
    stage.env.clear_field_access_watch(watched, field)
    with pytest.raises(jvmti.errors.Duplicate):
        stage.env.set_field_modification_watch(watched, field)
    stage.env.clear_field_modification_watch(watched, field)


@pytest.mark.parametrize("watch", WATCHES)
def test_a_field_is_watched_in_its_own_class_only(
    stage: frames.Stage, watched: Class, evidence: Evidence, watch: str
) -> None:
    evidence.provokes(f"set_field_{watch}_watch", "INVALID_FIELDID")
    evidence.provokes(f"clear_field_{watch}_watch", "INVALID_FIELDID")
    other = loaded_class(stage.env, "Frames")
    for name in ("counter", "number"):  # static, and not
        field = field_named(stage.env, watched, name)
        with pytest.raises(jvmti.errors.InvalidFieldID):
            put(stage.env, watch, other, field)
        with pytest.raises(jvmti.errors.InvalidFieldID):
            clear(stage.env, watch, other, field)


@pytest.mark.parametrize("watch", WATCHES)
def test_a_program_runs_on_under_a_watch(
    stage: frames.Stage, watched: Class, evidence: Evidence, watch: str
) -> None:
    evidence.proves(f"set_field_{watch}_watch")
    actor = stage.act("watched")
    fields = [field_named(stage.env, watched, name) for name in ("counter", "number")]
    for field in fields:
        put(stage.env, watch, watched, field)
    before = int(stage.program.ask("counter"))
    after = before
    while after == before:
        after = int(stage.program.ask("counter"))
    for field in fields:
        clear(stage.env, watch, watched, field)
    assert actor.result() == "returned watched"


@pytest.mark.parametrize("watch", WATCHES)
def test_watches_go_with_the_session_that_set_them(
    stage: frames.Stage, watched: Class, evidence: Evidence, watch: str
) -> None:
    evidence.proves(f"set_field_{watch}_watch")
    held = stage.env.get_capabilities()
    stage.env.relinquish_capabilities(held)
    try:
        with jvmti.attach(stage.program.pid, capabilities="all") as other:
            cls = loaded_class(other.env, "Frames$Watched")
            put(other.env, watch, cls, field_named(other.env, cls, "counter"))
    finally:
        stage.env.add_capabilities(held)
    field = field_named(stage.env, watched, "counter")
    with pytest.raises(jvmti.errors.NotFound):
        clear(stage.env, watch, watched, field)
