"""As for the model, nothing that a test looked at is held when it is over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from debug import stopping
from model.conftest import nothing_is_left, pytest_collection_modifyitems

if TYPE_CHECKING:
    from collections.abc import Iterator

    import jvmti
    from jvms import Jvm
    from programs import JavaProgram, JavaPrograms


@pytest.fixture(scope="module", params=["natively", "late"])
def way(request: pytest.FixtureRequest) -> str:
    """Whether the VM grants breakpoints, or the agent was attached late and probes stop threads."""
    return str(request.param)


@pytest.fixture(scope="module")
def program(jvm: Jvm, way: str, shared_java_program: JavaPrograms) -> JavaProgram:
    """The program `Stopping`."""
    return stopping.start(shared_java_program, jvm, late=way == "late")


@pytest.fixture(scope="module")
def vm(program: JavaProgram) -> Iterator[jvmti.VM]:
    """A session with it."""
    with stopping.attached(program) as attached:
        kept = stopping.cls(attached).fields  # they keep their class
        yield attached
    assert kept


@pytest.fixture
def nothing_stops_any_more(vm: jvmti.VM, nothing_is_left: None) -> Iterator[None]:
    """After a test there is no stop, in Python or in the agent, and no handler has failed."""
    yield
    assert len(vm.breakpoints) == 0
    assert vm.handler_errors == []


__all__ = ["nothing_is_left", "pytest_collection_modifyitems"]
