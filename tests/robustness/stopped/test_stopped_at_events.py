"""A controller that is stopped in a handler, at every event that a handler can answer.

The thread of the event, whichever it is, goes on when the handler's time limit has passed, and the
session is as good as before when its controller goes on.
"""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import compiler
import jvmti
from jvmti.env.events import EVENTS
from jvmti.target.agent_library import library_for_executable
from robustness import departing, steady
from robustness.controllers import SOON, Controller
from robustness.stopped import standing
from robustness.stopped.stopped_controller import INTERCEPTED, LIVED, MET, SERVED, STEADY_EVENTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    import programs
    from jvms import Jvm

SCRIPT = Path(__file__).with_name("stopped_controller.py")

pytestmark = pytest.mark.timeout(600)

ACTS = departing.ACTS | {
    "SampledObjectAlloc": "sampled",
    "VMObjectAlloc": "cloned",
    "ClassLoad": "loadOwn",
    "ClassPrepare": "loadForName",
    "ClassFileLoadHook": "loadOne",
    "VirtualThreadStart": "virtual",
    "VirtualThreadEnd": "virtual",
}
"""Methods of Departing in which the events are sent."""

OFTEN = {"SampledObjectAlloc", "ClassFileLoadHook"}
"""These come some times in one act, and each waits until its limit has passed."""

LIFE = ("VMStart", "VMInit", "VMDeath")
NO_PROGRAM_WAITS = {
    "DataDumpRequest": "sent by the VM's thread for signals; a test of its own",
    "CompiledMethodLoad": "sent by a thread of the VM, when code is there already",
    "CompiledMethodUnload": "the same",
    "DynamicCodeGenerated": "sent while the VM starts, or to who asks for it",
    **dict.fromkeys(STEADY_EVENTS, "of Steady, which is full of them: test_stopped_controllers"),
}


def test_every_event_that_a_handler_can_answer_occurs() -> None:
    answered = {
        event.declaration.name for event in EVENTS.values() if not event.declaration.vm_stopped
    }
    assert answered == {*ACTS, *LIFE, *NO_PROGRAM_WAITS}


@pytest.fixture(scope="module")
def program(jvm: Jvm, shared_java_program: programs.JavaPrograms) -> programs.JavaProgram:
    """The program Departing with all capabilities reserved."""
    arguments = [f"-agentpath:{library_for_executable(jvm.java)}=reserve", steady.NO_SIGNAL]
    arguments += ["-Xlog:disable", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx128m"]
    started = shared_java_program("Departing", jvm_args=arguments)
    started.expect("ready", timeout=60)
    started.ask("waiting", timeout=60)
    return started


class Served:
    """One controller for all tests; after one that failed there is another."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.controller: Controller | None = None
        self.way = standing.Signal()
        self.sound = False

    def begin(self, what: str, *arguments: object) -> Controller:
        """Have it do something."""
        if self.controller is None or not self.sound:
            self.end()
            self.controller = Controller(SCRIPT, self.pid, SERVED, "default")
        self.sound = False
        self.controller.write(what, *arguments)
        return self.controller

    def stop_in(self, name: str) -> None:
        """Stop it when the program is waiting for it."""
        assert self.controller is not None
        self.controller.says(f"busy {name}")
        self.way.stop(self.controller.process.pid)

    def leave(self, name: str) -> None:
        """Let it go on, and see that its session is good."""
        assert self.controller is not None
        self.way.let_go(self.controller.process.pid)
        self.controller.write()
        self.controller.says(f"usable {name}")
        self.sound = True

    def end(self) -> None:
        """End it: by itself, unless a test has failed."""
        if self.controller is None:
            return
        self.way.let_go(self.controller.process.pid)
        assert self.controller.process.stdin is not None
        if self.sound:
            self.controller.process.stdin.close()
            assert self.controller.process.wait(SOON) == 0
        self.controller.kill()


@pytest.fixture(scope="module")
def served(program: programs.JavaProgram) -> Iterator[Served]:
    made = Served(program.pid)
    yield made
    made.end()


@pytest.fixture(scope="module")
def potential(program: programs.JavaProgram) -> jvmti.Capabilities:
    with jvmti.attach(program.pid, timeout=60) as vm:
        return vm.env.get_potential_capabilities()


@pytest.mark.parametrize("event", ACTS)
def test_the_program_goes_on_when_the_limit_has_passed(
    event: str,
    jvm: Jvm,
    program: programs.JavaProgram,
    served: Served,
    potential: jvmti.Capabilities,
) -> None:
    if event.startswith("Virtual") and jvm.feature < 21:
        pytest.skip("no virtual threads")
    (declared,) = (one.declaration for one in EVENTS.values() if one.__name__ == event)
    if jvmti.Capabilities.of(*declared.capabilities) & ~potential:
        pytest.skip("this VM does not send it")
    limit = 0.1 if event in OFTEN else 0.25
    served.begin(MET, event, ACTS[event], limit).says(f"ready {event}")
    program.send(ACTS[event])
    served.stop_in(event)
    assert re.fullmatch(r"\d+", program.read_line(SOON))
    assert program.ask("echo", SOON) == "6"
    served.leave(event)


def test_a_thread_dump_is_given_when_the_limit_has_passed(
    program: programs.JavaProgram, served: Served
) -> None:
    served.begin(MET, "DataDumpRequest", "-", 0.5).says("ready DataDumpRequest")
    os.kill(program.pid, signal.SIGQUIT)
    served.stop_in("DataDumpRequest")
    os.kill(program.pid, signal.SIGQUIT)
    for _ in range(2):
        program.expect(re.compile("Full thread dump .*"), SOON)
    served.leave("DataDumpRequest")
    program.send("echo")
    program.expect("6", SOON)


@pytest.mark.oldest_and_newest
def test_an_intercepted_function_goes_on_when_the_limit_has_passed(
    program: programs.JavaProgram, served: Served
) -> None:
    """Its limit is that of all such functions, 10 s."""
    served.begin(INTERCEPTED).says(f"ready {INTERCEPTED}")
    program.send("echo")
    served.stop_in(INTERCEPTED)
    program.expect("6", SOON)  # the end of a thread dump may come before it
    served.leave(INTERCEPTED)
    assert program.ask("echo", SOON) == "6"


@pytest.mark.not_sanitized(reason="a JVM of another process does not preload the runtime")
@pytest.mark.parametrize("event", LIFE)
def test_a_vm_starts_and_ends_when_the_limit_has_passed(
    event: str, jvm: Jvm, tmp_path: Path, served: Served
) -> None:
    output = tmp_path / "output"
    command = [jvm.java, *jvm.args, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx64m"]
    command += [f"-XX:ErrorFile={tmp_path}/hs_err_%p.log"]
    command += ["-cp", str(compiler.classes("Departing")), "Departing"]
    controller = served.begin(LIVED, event, 0.5, output, *command)
    pid = controller.says(f"launched {event}").split()[-1]
    served.stop_in(event)
    # A zombie: its parent, which would ask for its status, stands still.
    standing.wait_for(Path(f"/proc/{pid}/stat"), r"\) Z [^)]*$")
    assert output.read_text().splitlines() == ["ready"]
    assert not list(tmp_path.glob("hs_err*"))
    served.leave(event)
