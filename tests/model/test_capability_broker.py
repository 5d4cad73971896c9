"""Every capability comes from the VM, from an engine, or from nobody; and what depends on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import jvmti
from jvmti.interface.capabilities import ALL, Capabilities
from jvmti.model.capability_broker import Source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from programs import JavaProgram


@pytest.fixture
def vm(witness: JavaProgram) -> Iterator[jvmti.VM]:
    with jvmti.attach(witness.pid, timeout=30) as vm:
        yield vm


class Stand:
    """An engine that stands in for early VMStart and for what the VM has itself."""

    name = "stand-in"
    emulates = Capabilities.of("can_generate_early_vmstart", "can_get_bytecodes")


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
        else:
            assert (one.source, one.why, one.how) == (Source.NATIVE, "", "")


def test_an_engine_stands_in_for_what_the_vm_does_not_give(vm: jvmti.VM) -> None:
    vm.capabilities.register(Stand())
    known = {str(one.capability): one for one in vm.capabilities.supports()}
    assert known["can_get_bytecodes"].source is Source.NATIVE
    early = known["can_generate_early_vmstart"]
    assert (early.source, early.why, early.how) == (Source.EMULATED, "stand-in", "")
    status = vm.capabilities.status()
    assert "can_generate_early_vmstart" in status.available.names()
    assert "can_generate_early_vmstart" not in {one.capability.name for one in status.unavailable}
