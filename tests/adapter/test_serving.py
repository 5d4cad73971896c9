"""Editors that connect, several of them, one beside other tools, and what a killed one leaves."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

import jvmti
from adapter.client import COMMAND, SOON, Client, Failed, line

if TYPE_CHECKING:
    from pathlib import Path

    from programs import JavaProgram, JavaPrograms

pytestmark = pytest.mark.newest


@pytest.fixture
def program(java_program: JavaPrograms) -> JavaProgram:
    program = java_program("Debugged")
    program.expect("ready")
    return program


@contextmanager
def serving(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """An adapter that waits for editors, and what it has printed."""
    with subprocess.Popen(
        [*COMMAND, *arguments], stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline()
        finally:
            process.terminate()
            process.wait(SOON)


@contextmanager
def scripted(code: str, *streams: str) -> Iterator[subprocess.Popen[bytes]]:
    """An adapter that some code starts, with pipes; it has ended."""
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", *streams), subprocess.PIPE)
    with subprocess.Popen([sys.executable, "-c", code], **pipes) as process:
        try:
            yield process
        except BaseException:
            process.kill()  # a pipe that its client reads cannot be closed
            raise
        assert process.wait(SOON) == 0


def connected(address: str | tuple[str, int]) -> Client:
    """An editor that has connected."""
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as connection:
        connection.connect(address)
        return Client((connection.makefile("rb"), connection.makefile("wb")))


_FIRST_REQUEST = """
import json, os, sys
from jvmti.adapter.server import serve
there, here = os.pipe()
class Writer:
    def write(self, message):
        print("jvmti.model.vm" in sys.modules, "numpy" in sys.modules, message)
        os.close(here)
    def flush(self):
        pass
request = json.dumps({"seq": 1, "type": "request", "command": "initialize"}).encode()
os.write(here, b"Content-Length: %d\\r\\n\\r\\n%b" % (len(request), request))
with open(there, "rb", buffering=0) as reader:
    serve(reader, Writer())
"""


def test_the_first_request_is_answered_before_the_others_can_be() -> None:
    """What they need takes nine tenths of the time to import."""
    ended = subprocess.run(
        [sys.executable, "-c", _FIRST_REQUEST], capture_output=True, text=True, timeout=SOON
    )
    assert ended.stderr == ""
    answer = ended.stdout.splitlines()[0]
    assert answer.startswith("False False ")
    assert "supportsConfigurationDoneRequest" in answer


_LATER = """
argparse base64 ctypes datetime difflib jvmti.classfile.structure jvmti.events.heap_walks
jvmti.events.streams.recording jvmti.expressions.evaluation jvmti.model.diagnostics
jvmti.model.threads.locks jvmti.model.threads.sampling jvmti.target.launch
jvmti.tracing.summaries numpy
"""
"""What no editor asks for until its first stops."""
_WHO_IMPORTS_THEM = f"""
import sys, threading
class Finder:
    def find_spec(self, name, *more):
        if name in {_LATER.split()}:
            print(name, threading.current_thread().name, file=sys.stderr)
sys.meta_path.insert(0, Finder())
from jvmti.commands import main
sys.exit(main(["debug"]))
"""


def test_no_request_waits_for_imports_that_it_does_not_need(program: JavaProgram) -> None:
    """They take longer than all that is asked for until the first stop and after a step."""
    with scripted(_WHO_IMPORTS_THEM, "stderr") as process:
        assert process.stderr is not None
        client = Client((process.stdout, process.stdin))
        client.attach(program.pid, line("GROSS"))
        thread = client.stopped("breakpoint")
        for _ in range(2):
            here = client.locals(thread)
            client.variables(here["this"]["variablesReference"])
            assert client.go("next", thread) == thread
        client.disconnect()
        imported = set(process.stderr.read().decode().splitlines())
        assert all(one.endswith(" jvmti thread events") for one in imported)


_REFUSED_STEP = """
import sys
from jvmti.model.debug.stepping import Steps
prepare, made = Steps._prepare, []
def prepared(*given):
    environment, payload = prepare(*given)
    made.append(payload)
    # The number of a stop that does not exist.
    return environment, payload if len(made) != 2 else bytes([255] * 4) + payload[4:]
Steps._prepare = prepared
from jvmti.commands import main
sys.exit(main(["debug"]))
"""


def test_a_step_that_the_agent_refuses_leaves_its_thread_at_its_stop(program: JavaProgram) -> None:
    """The client knows by then that the thread runs, so it stops there once more."""
    with scripted(_REFUSED_STEP) as process:
        client = Client((process.stdout, process.stdin))
        # Two lines before the last: the caller may have begun before it got probes.
        client.attach(program.pid, line("NET"))
        thread = client.stopped("breakpoint")
        client.breakpoints()
        client.go("next", thread)
        before = client.top(thread)["line"]
        shown = len(client.output("important"))
        assert client.go("next", thread) == thread
        assert client.top(thread)["line"] == before
        assert "step_thread" in client.output("important")[shown:]
        assert client.locals(thread)
        client.go("next", thread)
        assert client.top(thread)["line"] == before + 1
        client.disconnect()


def test_editors_that_connect_to_a_socket_share_a_program(
    program: JavaProgram, tmp_path: Path
) -> None:
    """Each has its own breakpoints; one goes, and the other is not disturbed."""
    path = tmp_path / "debug.sock"
    with serving("--socket", str(path)) as (process, printed):
        assert printed == f"waiting for editors at {path}\n"
        assert path.stat().st_mode & 0o777 == 0o600
        first, second = connected(str(path)), connected(str(path))
        first.attach(program.pid, line("GROSS"))
        thread = first.stopped("breakpoint")
        first.go("next", thread)
        first.top(thread)
        second.attach(program.pid, line("LAMBDA"))
        # The stack that the step went by had no such probes: the agent refuses it, and gets a new.
        first.go("next", thread)
        assert not second.has_event("stopped")
        first.ask("continue", threadId=thread)
        assert second.top(second.stopped("breakpoint"))["line"] == line("LAMBDA")
        # Stopped for one; the other's breakpoint is reached when it has let the thread run.
        first.disconnect()
        second.ask("continue", threadId=thread)
        assert second.top(second.stopped("breakpoint"))["line"] == line("LAMBDA")
        # The code that it shows has the probes of neither.
        pointer = second.top(thread)["instructionPointerReference"]
        shown = second.ask(
            "disassemble", memoryReference=pointer, instructionOffset=-20, instructionCount=60
        )
        assert not [one for one in shown["instructions"] if "Probes" in one["instruction"]]
        second.disconnect()
        assert process.poll() is None
    seen = len(program.lines)
    while len(program.lines) < seen + 2:
        program.read_line()
    assert not path.exists()


def test_a_port_wants_the_token_that_was_printed(program: JavaProgram) -> None:
    """Without it nothing is attached to or started, and the session goes on."""
    with serving("--port", "0", "--once") as (process, printed):
        found = re.fullmatch(
            r"waiting for editors at port (\d+), with the token ([0-9a-f]{32})\n", printed
        )
        assert found is not None, printed
        client = connected(("127.0.0.1", int(found[1])))
        client.initialize()
        for wrong in ({}, {"token": ""}, {"token": found[2][:-1]}, {"token": "é" * 32}):
            with pytest.raises(Failed, match="the token is missing or wrong"):
                client.ask("attach", pid=program.pid, **wrong)
            with pytest.raises(Failed, match="the token is missing or wrong"):
                client.ask("launch", command=["true"], **wrong)
        with pytest.raises(Failed, match="no program yet"):
            client.ask("source", source={"path": "/etc/passwd"}, sourceReference=0)
        client.ask("attach", pid=program.pid, token=found[2])
        client.event("initialized")
        client.breakpoints(line("GROSS"))
        client.ask("configurationDone")
        client.stopped("breakpoint")
        client.disconnect()
        assert process.wait(SOON) == 0


def test_a_debugger_works_beside_a_profiler_and_a_trace(
    program: JavaProgram, client: Client
) -> None:
    """Each gets what it asks for, and nothing of the others."""
    with jvmti.attach(program.pid) as vm:
        with (
            vm.trace("Debugged.price") as trace,
            vm.profile("cpu", interval=0.001) as profile,
        ):
            client.attach(program.pid, line("GROSS"))
            for _ in range(3):
                thread = client.stopped("breakpoint")
                local = client.locals(thread)
                assert int(local["net"]["value"]) == 100 * int(local["count"]["value"])
                client.go("next", thread)
                assert client.top(thread)["line"] == line("RETURN")
                client.ask("continue", threadId=thread)
            client.disconnect()
            assert trace.read(SOON)
            seen = len(program.lines)
            while len(program.lines) < seen + 2:
                program.read_line()
        # What the program spends most of its time in, beside the debugger's stops and after them.
        assert len(profile.with_frame("Debugged.indirect"))
    seen = len(program.lines)
    while len(program.lines) < seen + 2:
        program.read_line()


@pytest.mark.parametrize("stays", [False, True])
def test_a_killed_adapter_ends_the_program_that_it_launched(
    client: Client, command: Sequence[str], stays: bool
) -> None:
    """Unless the configuration says that the program stays."""
    client.launch(line("GROSS"), command=command, endsWithSession=not stays)
    client.stopped("breakpoint")
    (pid,) = [one["body"]["systemProcessId"] for one in client.events if one["event"] == "process"]
    assert client.process is not None
    os.kill(client.process.pid, signal.SIGKILL)
    until = time.monotonic() + (2 if stays else SOON)
    while time.monotonic() < until and _runs(pid):
        time.sleep(0.1)
    assert _runs(pid) == stays
    if stays:
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("stays", [False, True])
def test_the_request_terminate_ends_the_program_that_the_adapter_launched(
    client: Client, command: Sequence[str], stays: bool
) -> None:
    """Unless the configuration says that the program stays: it ends the session then."""
    client.launch(line("GROSS"), command=command, endsWithSession=not stays)
    client.stopped("breakpoint")
    (pid,) = [one["body"]["systemProcessId"] for one in client.events if one["event"] == "process"]
    client.ask("terminate", restart=False)
    client.event("terminated")
    until = time.monotonic() + (1 if stays else SOON)
    while time.monotonic() < until and _runs(pid):
        time.sleep(0.1)
    assert _runs(pid) == stays
    if stays:
        os.kill(pid, signal.SIGKILL)


def _runs(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] != b"Z"
    except FileNotFoundError:
        return False
