"""Every capability comes from the VM, from an engine, or from nobody; and what depends on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import jvmti
from jvmti.emulation.declared import Emulated
from jvmti.interface.capabilities import ALL, Capabilities
from jvmti.interface.constants import VMPhase
from jvmti.model.capability_broker import Source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from programs import JavaProgram


EARLY = "can_generate_early_vmstart"


@pytest.fixture
def vm(witness: JavaProgram) -> Iterator[jvmti.VM]:
    with jvmti.attach(witness.pid, timeout=30) as vm:
        yield vm


class Stand:
    """An engine that stands in for early VMStart and for what the VM has itself."""

    name = "stand-in"
    emulates = Capabilities.of("can_generate_early_vmstart", "can_get_bytecodes")
    emulated = (
        Emulated(Capabilities.can_generate_early_vmstart, ("get_bytecodes", "get_phase")),
        Emulated(Capabilities.can_get_bytecodes, ("get_bytecodes",)),
    )

    def __init__(self) -> None:
        self.phases = 0
        self.gone: list[Capabilities] = []

    def get_phase(self, env: jvmti.Env) -> Any:
        self.phases += 1
        return "emulated" if self.phases == 1 else NotImplemented

    def get_bytecodes(self, env: jvmti.Env, method: Any) -> bytes:
        return b"emulated"

    def released(self, env: jvmti.Env, capabilities: Capabilities) -> None:
        self.gone.append(capabilities)


def test_each_capability_has_its_source_and_what_depends_on_it(vm: jvmti.VM) -> None:
    supports = vm.capabilities.supports()
    assert [one.capability for one in supports] == list(ALL)
    known = {str(one.capability): one for one in supports}
    assert known["can_get_bytecodes"].source is Source.NATIVE
    assert known["can_get_bytecodes"].functions == ("get_bytecodes",)
    assert known["can_generate_exception_events"].events == ("Exception", "ExceptionCatch")
    missing = {one.capability: (one.why, one.how) for one in vm.capabilities.status().unavailable}
    for one in supports:
        if one.capability in missing:
            assert one.source is Source.UNAVAILABLE
            assert (one.why, one.how) == missing[one.capability]
        elif one.capability in vm.capabilities.status().emulated:
            assert (one.source, one.how) == (Source.EMULATED, "")
            assert one.why
        else:
            assert (one.source, one.why, one.how) == (Source.NATIVE, "", "")


def test_an_engine_stands_in_for_what_the_vm_does_not_give(vm: jvmti.VM) -> None:
    vm.emulation.register(Stand())
    known = {str(one.capability): one for one in vm.capabilities.supports()}
    assert known["can_get_bytecodes"].source is Source.NATIVE
    early = known["can_generate_early_vmstart"]
    assert (early.source, early.why, early.how) == (Source.EMULATED, "stand-in", "")
    status = vm.capabilities.status()
    assert "can_generate_early_vmstart" in status.emulated.names()
    assert "can_generate_early_vmstart" not in status.available.names()
    assert "can_generate_early_vmstart" not in {one.capability.name for one in status.unavailable}


def test_an_environment_gets_emulated_capabilities_only_if_asked_for(witness: JavaProgram) -> None:
    with jvmti.attach(witness.pid, timeout=30) as vm:
        vm.emulation.register(Stand())
        with pytest.raises(jvmti.errors.NotAvailable, match=r"emulate=True"):
            vm.env.add_capabilities({EARLY})
        assert EARLY not in vm.env.get_potential_capabilities()
        assert EARLY in vm.env_with(EARLY).get_capabilities()  # the model's own may have it
        with pytest.raises(jvmti.errors.NotAvailable):
            vm.env_with(EARLY, emulated=False)


def test_calls_go_to_the_engine_while_the_environment_holds_the_capability(
    witness: JavaProgram,
) -> None:
    stand = Stand()
    with jvmti.attach(witness.pid, timeout=30, emulate=True) as vm:
        vm.emulation.register(stand)
        env, other = vm.new_env(), vm.new_env()
        assert EARLY in env.get_potential_capabilities()
        env.add_capabilities({EARLY, "can_get_bytecodes"})
        assert env.get_capabilities() == Capabilities.of(EARLY, "can_get_bytecodes")
        assert env.get_phase() == "emulated"
        assert env.get_phase() == other.get_phase() == VMPhase.LIVE  # passed on
        run = vm.find_class("Witness").methods[0]
        assert vm.emulation.engine(Capabilities.can_get_bytecodes) is stand
        with env.batch() as batch:
            here, there = batch.get_bytecodes(run), batch.get_phase()
        assert (here.result(), there.result()) == (b"emulated", VMPhase.LIVE)
        assert list(env.map.get_bytecodes([run, run]).value) == [b"emulated"] * 2
        env.relinquish_capabilities({EARLY})
        assert stand.gone == [Capabilities.can_generate_early_vmstart]
        assert env.get_capabilities() == Capabilities.can_get_bytecodes
        assert env.get_bytecodes(run) != b"emulated"
        env.add_capabilities({EARLY})
        env.dispose_environment()
        assert len(stand.gone) == 2
