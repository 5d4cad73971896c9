"""The chapter "Heap", without the walks: tags and collections."""

from __future__ import annotations

import pytest

import jvmti
import programs
from conformance.evidence import Evidence
from conformance.finding import kept


def test_a_tag_stays_with_its_object_in_its_environment(
    vm: jvmti.VM, env: jvmti.Env, bare_env: jvmti.Env, evidence: Evidence
) -> None:
    evidence.proves("get_tag", "set_tag")
    bare_env.add_capabilities(jvmti.Capabilities.can_tag_objects)
    derived = kept(vm, "derived")
    assert env.get_tag(derived) == 0
    for tag in (7, -1, 2**63 - 1, -(2**63)):
        env.set_tag(derived, tag)
        assert env.get_tag(kept(vm, "derived")) == tag
    assert bare_env.get_tag(derived) == 0
    env.set_tag(derived, 0)
    assert env.get_tag(derived) == 0


def test_tagged_objects_are_found_by_their_tags(
    vm: jvmti.VM, env: jvmti.Env, witness: programs.JavaProgram, evidence: Evidence
) -> None:
    evidence.proves("get_objects_with_tags")
    names = {"derived": 11, "array": 12, "lambda": 12}
    for name, tag in names.items():
        env.set_tag(kept(vm, name), tag)
    try:
        found = env.get_objects_with_tags([11, 12, 13])
        hashes = {
            (env.get_object_hash_code(one), tag)
            for one, tag in zip(found.objects, found.tags, strict=True)
        }
        assert hashes == {(int(witness.ask(f"hash {name}")), tag) for name, tag in names.items()}
        assert len(env.get_objects_with_tags([11]).objects) == 1
        assert env.get_objects_with_tags([13]).objects == []
        assert env.get_objects_with_tags([]).objects == []
    finally:
        for name in names:
            env.set_tag(kept(vm, name), 0)


def test_a_tag_does_not_keep_its_object_alive(
    vm: jvmti.VM, env: jvmti.Env, witness: programs.JavaProgram
) -> None:
    witness.ask("keep doomed Derived")
    doomed = kept(vm, "doomed")
    env.set_tag(doomed, 99)
    doomed.release()
    env.get_phase()  # carries the release
    assert witness.ask("forget doomed") == "collected"
    assert env.get_objects_with_tags([99]).objects == []


def test_no_tag_cannot_be_looked_for(env: jvmti.Env, evidence: Evidence) -> None:
    evidence.provokes("get_objects_with_tags", "ILLEGAL_ARGUMENT")
    with pytest.raises(jvmti.errors.IllegalArgument):
        env.get_objects_with_tags([1, 0])


def test_a_forced_collection_shows_in_the_collectors_own_count(
    env: jvmti.Env, witness: programs.JavaProgram, evidence: Evidence
) -> None:
    evidence.proves("force_garbage_collection")
    before = int(witness.ask("collections"))
    env.force_garbage_collection()
    assert int(witness.ask("collections")) > before
