"""Events of watched fields: read and written, by bytecode and by JNI."""

from __future__ import annotations

from typing import Any

import pytest

import jvmti
import programs
from conformance.evidence import Evidence
from events.seen import Code, Seen

#: What the program writes to each field of `Watched`, and the type's letter.
WRITTEN = {
    "aBoolean": ("Z", True),
    "aByte": ("B", -8),
    "aChar": ("C", "C"),
    "aShort": ("S", -16),
    "anInt": ("I", -32),
    "aLong": ("J", -64),
    "aFloat": ("F", 1.5),
    "aDouble": ("D", -2.25),
    "aString": ("L", "after"),
}


@pytest.fixture
def watched(vm: jvmti.VM) -> Code:
    """The class with the watched fields."""
    return Code(vm, "Events$Watched")


def test_a_write_brings_the_new_value_whatever_its_type(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code, watched: Code, evidence: Evidence
) -> None:
    evidence.shows("FieldModification")
    evidence.proves("set_field_modification_watch", "clear_field_modification_watch")
    env = vm.env
    before: list[int] = []

    def note(event: Any) -> None:
        if event.method == watched["write"]:
            seen.append(event)
            if event.field.name == "anInt":
                before.append(vm.jni.get_int_field(event.object, event.field))

    seen: list[Any] = []
    fields = [watched.field(name) for name in WRITTEN]
    for field in fields:
        env.set_field_modification_watch(watched.cls, field)
    with env.on("FieldModification", note):
        assert program.ask("write") == "after"
        for field in fields:
            env.clear_field_modification_watch(watched.cls, field)
        assert program.ask("write") == "after"
    assert [event.field for event in seen] == fields
    object = code.static("watched", "LEvents$Watched;")
    for event, (letter, value) in zip(seen, WRITTEN.values(), strict=True):
        assert event.signature_type == letter
        assert (str(event.new_value) if letter == "L" else event.new_value) == value
        assert event.thread == vm.threads["main"]
        assert event.field_klass == watched.cls
        assert vm.jni.is_instance_of(event.object, watched.cls)
    assert object != seen[0].object  # the second round has made another
    locations = [event.location for event in seen]
    assert sorted(locations) == locations
    # It is reported before the write.
    assert before == [5]


def test_a_static_field_has_no_object(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code, watched: Code, evidence: Evidence
) -> None:
    evidence.shows("FieldAccess")
    evidence.proves("set_field_access_watch", "clear_field_access_watch")
    env = vm.env
    counter, number = watched.field("counter"), watched.field("anInt")
    reads, writes = Seen(), Seen()
    assert program.ask("write") == "after"
    with env.on("FieldAccess", reads), env.on("FieldModification", writes):
        env.set_field_access_watch(watched.cls, counter)
        env.set_field_access_watch(watched.cls, number)
        env.set_field_modification_watch(watched.cls, counter)
        assert program.ask("read") == "7 -32"
        assert program.ask("write") == "after"
        env.clear_field_access_watch(watched.cls, counter)
        env.clear_field_access_watch(watched.cls, number)
        env.clear_field_modification_watch(watched.cls, counter)
        assert program.ask("read") == "7 -32"
    assert [(event.field, event.object is None) for event in reads] == [
        (counter, True),
        (number, False),
    ]
    assert {event.method for event in reads} == {code["read"]}
    assert {event.field_klass for event in reads} == {watched.cls}
    assert {event.thread for event in reads} == {vm.threads["main"]}
    event = writes.only
    assert (event.field, event.object, event.new_value) == (counter, None, 7)
    assert (event.method, event.signature_type) == (code["write"], "I")


def test_a_field_touched_through_jni_is_reported(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code, watched: Code
) -> None:
    """The VM tells of JNI's accesses where there is a Java method to name: in a handler."""
    env, jni = vm.env, vm.jni
    number = watched.field("anInt")
    seen: list[Any] = []

    def touch(event: Any) -> None:
        object = code.static("watched", "LEvents$Watched;")
        jni.set_int_field(object, number, 99)
        assert jni.get_int_field(object, number) == 99

    env.set_breakpoint(code["straight"], 0)
    env.set_field_access_watch(watched.cls, number)
    env.set_field_modification_watch(watched.cls, number)
    with env.on("Breakpoint", touch):
        with env.on("FieldAccess", seen.append), env.on("FieldModification", seen.append):
            assert program.ask("calculate 1") == "4"
            assert seen == []  # a handler's own work is not reported unless asked for
        with (
            env.on("FieldAccess", seen.append, own=True),
            env.on("FieldModification", seen.append, own=True),
        ):
            assert program.ask("calculate 1") == "4"
    env.clear_field_access_watch(watched.cls, number)
    env.clear_field_modification_watch(watched.cls, number)
    assert program.ask("read").split()[1] == "99"
    assert [(type(event).__name__, event.method) for event in seen] == [
        ("FieldModification", code["straight"]),
        ("FieldAccess", code["straight"]),
    ]
    assert seen[0].new_value == 99


def test_a_watch_of_another_environment_stays_when_one_is_cleared(
    program: programs.JavaProgram, vm: jvmti.VM, watched: Code
) -> None:
    """The VM keeps one count for each field; each environment gets what it enabled."""
    env = vm.env
    number = watched.field("anInt")
    first, second = Seen(), Seen()
    with env.on("FieldAccess", first):
        env.set_field_access_watch(watched.cls, number)
        with pytest.raises(jvmti.errors.Duplicate):
            env.set_field_access_watch(watched.cls, number)
        with env.on("FieldAccess", second):
            program.ask("read")
        env.clear_field_access_watch(watched.cls, number)
        program.ask("read")
    assert (len(first), len(second)) == (1, 1)
