"""A JVM with everything on it.

`witness`   the program Witness, started with all capabilities reserved
`vm`        a session on it whose ``env`` has every available capability
`env`       ``vm.env``
`bare_env`  a fresh environment without capabilities, disposed of after the test
`held_vm`   a VM held in the OnLoad phase
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import jvms
import jvmti
import programs
from jvmti.target.agent_library import library_for_executable

#: The JVM can be attached to from the start.  Otherwise, when it is slow to see the first SIGQUIT
#: of an attach, it answers a second one with a thread dump among the program's own answers.
NO_SIGNAL = ["-XX:+StartAttachListener"]


@pytest.fixture(scope="module")
def witness(jvm: jvms.Jvm, shared_java_program: programs.JavaPrograms) -> programs.JavaProgram:
    """The program Witness, ready for commands, with the agent's reservation."""
    return reserved(jvm, shared_java_program)


def reserved(jvm: jvms.Jvm, start: programs.JavaPrograms) -> programs.JavaProgram:
    """Start Witness with all capabilities reserved."""
    library = library_for_executable(jvm.java)
    program = start("Witness", jvm_args=[f"-agentpath:{library}=reserve", *NO_SIGNAL])
    program.expect("ready", timeout=60)
    return program


@pytest.fixture(scope="module")
def vm(witness: programs.JavaProgram) -> Iterator[jvmti.VM]:
    """A session with every available capability."""
    yield from session(witness)


def session(witness: programs.JavaProgram) -> Iterator[jvmti.VM]:
    """Attach; the program must survive what the tests do."""
    with jvmti.attach(witness.pid, capabilities="all", timeout=30) as attached:
        attached.timeout = 60
        yield attached
        assert witness.running(), "the JVM did not survive"


@pytest.fixture
def env(vm: jvmti.VM) -> jvmti.Env:
    """The session's first environment, with all capabilities."""
    return vm.env


@pytest.fixture
def bare_env(vm: jvmti.VM) -> Iterator[jvmti.Env]:
    """An environment without any capability."""
    made = vm.new_env()
    yield made
    try:
        made.dispose_environment()
    except jvmti.errors.InvalidEnvironment:
        pass  # the test has disposed of it


@pytest.fixture(scope="module")
def held_vm(jvm: jvms.Jvm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[jvmti.VM]:
    """A VM that waits in the OnLoad phase; it never gets further."""
    vm = jvmti.launch([jvm.java, *jvm.args, "-version"], hold=True, stdout=-3, stderr=-3)
    try:
        yield vm
    finally:
        vm.detach()
        assert vm.popen is not None
        assert vm.popen.wait(60) == 0
