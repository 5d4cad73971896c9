"""The program Events under a session of its own.

`program`   it runs with all capabilities reserved
`vm`        a session on it whose ``env`` has every available capability
`env`       ``vm.env``
`code`      the methods of its main class
`another`   a second environment, with every capability but the solo ones
`launched`  starts a program that is held in the OnLoad phase
`kind`      a platform thread, and a virtual one where there are any
`streamed`  the program Streamed, which knows how many events it causes
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import compiler
import jvms
import jvmti
import programs
from events.seen import Code
from events.streams.streamed import Streamed
from jvmti.interface.capabilities import Capabilities
from jvmti.target.agent_library import library_for_executable

#: The JVM can be attached to from the start, without a SIGQUIT.
NO_SIGNAL = "-XX:+StartAttachListener"
#: Up to release 17 the sixteenth call of a command would write a class, with every step an event.
NO_INFLATION = "-Dsun.reflect.inflationThreshold=1000000"
WARM = ("calculate 1", "descend 1", "nested 1", "fail once", "copy 1", "returned anInt")
SOLO = Capabilities.of(
    "can_suspend",
    "can_generate_sampled_object_alloc_events",
    "can_generate_breakpoint_events",
    "can_generate_field_access_events",
    "can_generate_field_modification_events",
)


@pytest.fixture(scope="module")
def program(jvm: jvms.Jvm, shared_java_program: programs.JavaPrograms) -> programs.JavaProgram:
    """The program Events, ready for commands."""
    library = library_for_executable(jvm.java)
    started = shared_java_program(
        "Events",
        jvm_args=[f"-agentpath:{library}=reserve", NO_SIGNAL, NO_INFLATION, "-Xmx128m"],
    )
    started.expect("ready", timeout=60)
    for command in WARM:  # what Java does at first use is no part of a test
        started.ask(command)
    return started


@pytest.fixture
def vm(program: programs.JavaProgram) -> Iterator[jvmti.VM]:
    """A session for one test; none of its handlers may have failed without the test's knowing."""
    with jvmti.attach(program.pid, capabilities="all", timeout=30) as attached:
        attached.timeout = 60
        yield attached
        assert attached.handler_errors == []
    assert program.ask("echo alive") == "alive"


@pytest.fixture(params=["thread", pytest.param("virtual", marks=pytest.mark.since(21))])
def kind(request: pytest.FixtureRequest) -> str:
    """Which kind of thread the program runs a command on."""
    return str(request.param)


@pytest.fixture
def env(vm: jvmti.VM) -> jvmti.Env:
    """The session's first environment, with all capabilities."""
    return vm.env


@pytest.fixture
def another(vm: jvmti.VM) -> Iterator[jvmti.Env]:
    """A second environment."""
    made = vm.new_env()
    made.add_capabilities(made.get_potential_capabilities() & ~SOLO)
    yield made
    try:
        made.dispose_environment()
    except jvmti.errors.InvalidEnvironment:
        pass  # the test has disposed of it


@pytest.fixture
def code(vm: jvmti.VM) -> Code:
    """The methods of the main class."""
    return Code(vm, "Events")


class Launched:
    """A program that was started with the agent, and what it printed."""

    def __init__(self, vm: jvmti.VM, output: Path) -> None:
        self.vm = vm
        self.env = vm.env
        self._output = output

    def run(self) -> int:
        """Let it start and run to its end; its exit status."""
        try:
            self.vm.proceed()
        except jvmti.TargetLost:
            pass  # it was quick
        return self.ended()

    def ended(self, timeout: float = 60) -> int:
        """Its exit status, when it has ended."""
        assert self.vm.popen is not None
        return self.vm.popen.wait(timeout)

    @property
    def output(self) -> list[str]:
        """The lines that it printed."""
        return self._output.read_text().splitlines()


@pytest.fixture
def launched(jvm: jvms.Jvm, tmp_path: Path) -> Iterator[Callable[..., Launched]]:
    """Start a program held in OnLoad: `launched("Lives", "exit", capabilities=…)`."""
    started: list[Launched] = []

    def launch(name: str, *words: str, jvm_args: list[str] | None = None, **how: Any) -> Launched:
        output = tmp_path / f"output-{len(started)}"
        command = [jvm.java, *jvm.args, f"-XX:ErrorFile={tmp_path}/hs_err_%p.log"]
        command += ["-XX:+UseSerialGC", "-Xmx128m"]  # which starts and ends sooner
        command += [*(jvm_args or []), "-cp", str(compiler.classes(name)), name, *words]
        with output.open("wb") as stream:
            vm = jvmti.launch(command, hold=True, stdout=stream, stderr=-3, stdin=-3, **how)
        vm.timeout = 60
        started.append(Launched(vm, output))
        return started[-1]

    yield launch
    for one in started:
        one.vm.detach()
        assert one.vm.popen is not None
        if one.vm.popen.poll() is None:
            one.vm.popen.kill()
        one.vm.popen.wait()
    assert [path.read_text()[:3000] for path in tmp_path.glob("hs_err*")] == []


@pytest.fixture(scope="module")
def streamed(jvm: jvms.Jvm) -> Iterator[Streamed]:
    """A program that counts its events, for the tests of one module."""
    started = Streamed(jvm)
    yield started
    started.close()
