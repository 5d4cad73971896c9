"""JNI's chapter of references: global, local and weak ones, and local frames."""

from __future__ import annotations

from typing import Any

import pytest

import jvmti
import programs
from conformance.evidence import Evidence
from conformance.recorder import java_object
from jvmti.interface.constants import RefType

errors = jvmti.errors


def test_references_to_one_object_are_equal_but_not_the_same(
    vm: jvmti.VM, witness: programs.JavaProgram, evidence: Evidence
) -> None:
    evidence.proves(
        "jni.new_global_ref",
        "jni.new_local_ref",
        "jni.is_same_object",
        "jni.get_object_ref_type",
    )
    jni = vm.jni
    array = java_object(vm, "array")
    made: Any = jni.new_global_ref(array)
    local: Any = jni.new_local_ref(array)
    weak = jni.new_weak_global_ref(array)
    for one in (made, local):
        assert one is not array
        assert one == array
        assert hash(one) == hash(array)
        assert vm.env.get_object_hash_code(one) == int(witness.ask("hash array"))
    for one in (array, made, local, weak):
        assert jni.is_same_object(one, array)
        assert not jni.is_same_object(one, jni.find_class("java/lang/String"))
        assert not jni.is_same_object(one, None)
    assert jni.is_same_object(None, None)
    assert jni.get_object_ref_type(made) is RefType.GLOBAL
    assert jni.get_object_ref_type(local) is RefType.LOCAL
    assert jni.get_object_ref_type(array) is RefType.LOCAL
    assert jni.get_object_ref_type(weak) is RefType.WEAK_GLOBAL


def test_deleting_a_reference_leaves_the_others(vm: jvmti.VM, evidence: Evidence) -> None:
    evidence.proves("jni.delete_global_ref", "jni.delete_local_ref")
    evidence.provokes("jni.delete_global_ref", "INVALID_OBJECT")
    evidence.provokes("jni.delete_local_ref", "INVALID_OBJECT")
    jni = vm.jni
    local = jni.new_string("referred to")
    made: Any = jni.new_global_ref(local)
    another: Any = jni.new_local_ref(made)
    jni.delete_local_ref(local)
    assert jni.get_object_ref_type(local) is RefType.INVALID
    with pytest.raises(errors.InvalidObject):
        jni.get_string_chars(local)
    with pytest.raises(errors.InvalidObject):
        jni.delete_local_ref(local)
    assert jni.get_string_chars(made) == "referred to"
    jni.delete_global_ref(made)
    assert jni.get_object_ref_type(made) is RefType.INVALID
    with pytest.raises(errors.InvalidObject):
        jni.delete_global_ref(made)
    assert jni.get_string_chars(another) == "referred to"


def test_a_weak_reference_does_not_keep_its_object(
    vm: jvmti.VM, witness: programs.JavaProgram, evidence: Evidence
) -> None:
    evidence.proves("jni.new_weak_global_ref", "jni.delete_weak_global_ref")
    jni = vm.jni
    witness.ask("keep short-lived Recorder")
    # The last recorder is in a static field too.
    held = java_object(vm, "short-lived")
    weak = jni.new_weak_global_ref(held)
    spare = jni.new_weak_global_ref(held)
    cls = jni.get_object_class(weak)
    assert cls is jni.find_class("Witness$Recorder")
    again: Any = jni.new_local_ref(weak)
    assert again == held
    jni.delete_weak_global_ref(spare)
    with pytest.raises(errors.InvalidObject):
        jni.get_object_class(spare)
    assert witness.ask("forget short-lived") == "alive"
    jni.set_static_object_field(
        cls, jni.get_static_field_id(cls, "instance", "LWitness$Recorder;"), None
    )
    assert witness.ask("keep other Overriding")
    held.release()
    again.release()
    vm.env.force_garbage_collection()
    vm.env.force_garbage_collection()
    assert jni.new_local_ref(weak) is None
    assert jni.new_global_ref(weak) is None
    assert jni.is_same_object(weak, None)
    assert jni.is_instance_of(weak, cls)
    with pytest.raises(errors.InvalidObject):
        jni.get_object_class(weak)
    assert jni.get_object_ref_type(weak) in (RefType.WEAK_GLOBAL, RefType.INVALID)


def test_references_to_null_are_null(vm: jvmti.VM) -> None:
    assert vm.jni.new_local_ref(None) is None
    assert vm.jni.new_global_ref(None) is None
    with pytest.raises(TypeError, match="not None"):
        vm.jni.new_weak_global_ref(None)  # type: ignore[arg-type]


def test_only_weak_references_are_deleted_as_such(vm: jvmti.VM) -> None:
    with pytest.raises(errors.InvalidObject, match="must be a WeakReference"):
        vm.jni.delete_weak_global_ref(vm.jni.new_string("strong"))  # type: ignore[arg-type]


def test_a_local_frame_gives_up_what_came_inside(vm: jvmti.VM, evidence: Evidence) -> None:
    evidence.proves("jni.push_local_frame", "jni.pop_local_frame", "jni.ensure_local_capacity")
    jni = vm.jni
    before = jni.new_string("before")
    known = jni.find_class("java/lang/String")
    held = vm.stats.agent
    assert held is not None
    assert jni.ensure_local_capacity(100) == 0
    assert jni.push_local_frame(16) == 0
    inside = jni.new_string("inside")
    outlives = jni.new_string("outlives")
    made: Any = jni.new_global_ref(inside)
    weak = jni.new_weak_global_ref(outlives)
    assert jni.find_class("java/lang/String") is known
    assert jni.pop_local_frame(outlives) is outlives
    with pytest.raises(errors.InvalidObject):
        jni.get_string_chars(inside)
    assert jni.get_string_chars(made) == "inside"
    assert jni.get_string_chars(outlives) == "outlives"
    assert jni.get_string_chars(before) == "before"
    assert jni.get_object_class(before) is known
    assert jni.is_same_object(weak, outlives)
    for one in (made, outlives, weak):
        one.release()
    after = vm.stats.agent
    assert after is not None
    assert after.objects == held.objects


def test_local_frames_nest(vm: jvmti.VM) -> None:
    jni = vm.jni
    jni.push_local_frame(1)
    outer = jni.new_string("outer")
    jni.push_local_frame(1)
    inner = jni.new_string("inner")
    # Sent again inside, and still the outer frame's.
    array = jni.new_object_array(1, jni.find_class("java/lang/String"), outer)
    assert jni.get_object_array_element(array, 0) is outer
    assert vm.env.get_object_size(inner) > 0
    assert jni.pop_local_frame() is None
    with pytest.raises(errors.InvalidObject):
        jni.get_string_chars(inner)
    assert jni.get_string_chars(outer) == "outer"
    jni.pop_local_frame(None)
    with pytest.raises(errors.InvalidObject):
        jni.get_string_chars(outer)


def test_frames_that_are_not_there_are_not_popped(vm: jvmti.VM, evidence: Evidence) -> None:
    evidence.provokes("jni.pop_local_frame", "ILLEGAL_ARGUMENT")
    evidence.provokes("jni.push_local_frame", "ILLEGAL_ARGUMENT")
    with pytest.raises(errors.IllegalArgument, match="no local frame"):
        vm.jni.pop_local_frame()
    with pytest.raises(errors.IllegalArgument, match="negative"):
        vm.jni.push_local_frame(-1)
