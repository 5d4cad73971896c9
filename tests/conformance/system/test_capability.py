"""The chapter "Capability": what there is, taking it, giving it up."""

from __future__ import annotations

import pytest

import jvms
import jvmti
from conformance.evidence import Evidence
from jvmti.interface.capabilities import Capabilities

SOLO = Capabilities.of("can_suspend")
ONLOAD_ONLY = Capabilities.of("can_access_local_variables", "can_generate_breakpoint_events")


def test_capabilities_are_taken_and_given_up(bare_env: jvmti.Env, evidence: Evidence) -> None:
    evidence.proves(
        "add_capabilities",
        "get_capabilities",
        "get_potential_capabilities",
        "relinquish_capabilities",
    )
    one, other = Capabilities.can_tag_objects, Capabilities.can_get_bytecodes
    assert bare_env.get_capabilities() == Capabilities(0)
    assert bare_env.get_potential_capabilities() & (one | other) == one | other
    loaded = bare_env.get_loaded_classes()[0]
    with pytest.raises(jvmti.errors.MustPossessCapability):
        bare_env.get_tag(loaded)
    bare_env.add_capabilities(one)
    bare_env.add_capabilities(other)
    assert bare_env.get_capabilities() == one | other
    assert bare_env.get_tag(loaded) == 0
    bare_env.relinquish_capabilities(one | SOLO)
    assert bare_env.get_capabilities() == other
    with pytest.raises(jvmti.errors.MustPossessCapability):
        bare_env.get_tag(loaded)


def test_a_solo_capability_is_had_by_one_environment_at_a_time(
    env: jvmti.Env, bare_env: jvmti.Env, evidence: Evidence
) -> None:
    evidence.provokes("add_capabilities", "NOT_AVAILABLE")
    assert env.get_capabilities() & SOLO
    assert not bare_env.get_potential_capabilities() & SOLO
    with pytest.raises(jvmti.errors.NotAvailable, match="can_suspend"):
        bare_env.add_capabilities(SOLO | Capabilities.can_tag_objects)
    assert bare_env.get_capabilities() == Capabilities(0), "all or nothing"
    env.relinquish_capabilities(SOLO)
    try:
        assert bare_env.get_potential_capabilities() & SOLO
        bare_env.add_capabilities(SOLO)
        with pytest.raises(jvmti.errors.NotAvailable):
            env.add_capabilities(SOLO)
        bare_env.relinquish_capabilities(SOLO)
    finally:
        env.add_capabilities(SOLO)


def test_the_onload_phase_offers_more_than_the_live_phase(held_vm: jvmti.VM, jvm: jvms.Jvm) -> None:
    potential = held_vm.env.get_potential_capabilities()
    assert potential & ONLOAD_ONLY == ONLOAD_ONLY
    assert bool(potential & Capabilities.can_support_virtual_threads) == (jvm.feature >= 21)
