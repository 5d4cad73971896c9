"""Sessions on JVMs that nobody prepared, with what the VM does not give emulated.

`witness`   the program Witness, attached to late
`vm`        a session on it, with ``emulate=True`` and every available capability
`env`       ``vm.env``
`evidence`  what a test of conformance shows; `late` keeps what was shown of emulated functions
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import jvms
import jvmti
import programs
from conformance.conftest import NO_SIGNAL, bare_env, env
from conformance.evidence import EVENT, REPORT, Evidence
from emulation import late

__all__ = ["bare_env", "env"]


@pytest.fixture(scope="module")
def witness(shared_java_program: programs.JavaPrograms) -> programs.JavaProgram:
    """The program Witness, ready for commands; no agent is there when it starts."""
    program = shared_java_program("Witness", jvm_args=NO_SIGNAL)
    program.expect("ready", timeout=60)
    return program


@pytest.fixture(scope="module")
def vm(witness: programs.JavaProgram) -> Iterator[jvmti.VM]:
    """A session that emulates what the VM does not give."""
    with jvmti.attach(witness.pid, capabilities="all", timeout=30, emulate=True) as attached:
        attached.timeout = 60
        yield attached
        assert witness.running(), "the JVM did not survive"


@pytest.fixture
def evidence(request: pytest.FixtureRequest, jvm: jvms.Jvm) -> Iterator[Evidence]:
    """What a test shows counts here, not in the table of the VM's own functions."""
    claims = Evidence(jvm.name)
    yield claims
    report = request.node.stash.get(REPORT, None)
    if report is not None and report.passed and not hasattr(report, "wasxfail"):
        late.SHOWN.setdefault(jvm.name, set()).update(
            name.removeprefix(EVENT) for name, _ in claims.claims
        )
