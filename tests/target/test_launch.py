from __future__ import annotations

import os
import shlex
import socket
import subprocess
import time
from typing import TYPE_CHECKING

import pytest
from stand_in import greeting

import compiler
from jvmti.target.errors import LaunchFailed
from jvmti.target.launch import Launch, java_tool_options, launch
from jvmti.target.options import AgentOptions
from jvmti.target.tool_options import split_tool_options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from jvms import Jvm
    from jvmti.target.connection import Connection

pytestmark = pytest.mark.usefixtures("leftovers")


@pytest.fixture
def command(jvm: Jvm) -> list[str]:
    return [jvm.java, *jvm.args, "-cp", str(compiler.classes("Idle")), "Idle"]


@pytest.fixture
def ends() -> Iterator[Callable[[Connection], Connection]]:
    """Hand a connection over to have its program ended with the test."""
    given: list[Connection] = []

    def hand_over(connection: Connection) -> Connection:
        given.append(connection)
        return connection

    yield hand_over
    for connection in given:
        connection.close()
        popen = connection.popen
        assert popen is not None
        popen.communicate(timeout=20)


PIPES = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}


def test_a_java_command_is_held_until_it_is_released(
    command: list[str], agent: str, ends: Callable[[Connection], Connection]
) -> None:
    connection = ends(launch(command, library=agent, **PIPES))
    assert greeting(connection) == "onload 1"
    assert connection.loaded_at_startup
    assert connection.popen is not None
    assert connection.process.pid == connection.popen.pid
    assert connection.process.main == "Idle"
    os.set_blocking(connection.popen.stdout.fileno(), False)  # type: ignore[union-attr]
    time.sleep(0.3)
    assert connection.popen.stdout is not None
    assert connection.popen.stdout.read() is None
    os.set_blocking(connection.popen.stdout.fileno(), True)
    connection.socket.send(b"x")
    assert connection.popen.stdout.readline() == b"ready\n"


def test_a_script_gets_the_agent_by_the_environment_and_its_other_jvms_start_as_usual(
    command: list[str], agent: str, ends: Callable[[Connection], Connection]
) -> None:
    java = shlex.join(command)
    connection = ends(
        launch(
            ["sh", "-c", f"{java} </dev/null; {java} </dev/null; {java} </dev/null"],
            library=agent,
            env={**os.environ, "JAVA_TOOL_OPTIONS": "-Dfrom='a b'"},
            stderr=subprocess.DEVNULL,
            **PIPES,
        )
    )
    assert greeting(connection) == "onload 1"
    assert connection.popen is not None
    assert connection.process.pid != connection.popen.pid
    assert "-Dfrom=a b" in connection.process.jvm_arguments
    connection.socket.send(b"x")
    output, _ = connection.popen.communicate(timeout=30)
    assert output.split() == [b"ready", b"done"] * 3


def test_the_jvm_that_is_meant_can_be_named(
    jvm: Jvm, agent: str, ends: Callable[[Connection], Connection]
) -> None:
    first = shlex.join([jvm.java, *jvm.args, "-cp", str(compiler.classes("Witness")), "Witness"])
    second = shlex.join([jvm.java, *jvm.args, "-cp", str(compiler.classes("Idle")), "Idle"])
    connection = ends(
        launch(
            ["sh", "-c", f"{first} </dev/null >/dev/null; exec {second}"],
            main="Idle",
            library=agent,
            stderr=subprocess.DEVNULL,
            **PIPES,
        )
    )
    assert connection.process.main == "Idle"


def test_a_script_that_starts_its_jvm_in_the_background_may_end_first(
    command: list[str], agent: str, ends: Callable[[Connection], Connection]
) -> None:
    script = f"(sleep 0.5; exec {shlex.join(command)}) </dev/null >/dev/null 2>&1 &"
    connection = ends(launch(["sh", "-c", script], library=agent, stdin=subprocess.DEVNULL))
    assert greeting(connection) == "onload 1"
    assert connection.popen is not None
    assert connection.popen.wait(5) == 0


def test_a_program_that_ends_first_is_reported_with_its_status(jvm: Jvm, agent: str) -> None:
    began = time.monotonic()
    with pytest.raises(LaunchFailed, match="exit status 3") as failed:
        launch(["sh", "-c", "exit 3"], library=agent)
    assert failed.value.returncode == 3
    with pytest.raises(LaunchFailed, match="signal 9") as failed:
        launch(["sh", "-c", "kill -9 $$"], library=agent)
    assert failed.value.returncode == -9
    with pytest.raises(LaunchFailed, match="exit status 1"):
        launch([jvm.java, *jvm.args, "-XX:+NoSuchFlag"], library=agent, stderr=subprocess.DEVNULL,
               stdout=subprocess.DEVNULL)  # fmt: skip
    with pytest.raises(FileNotFoundError):
        launch(["/nonexistent/java"], library=agent)
    assert time.monotonic() - began < 60


def test_a_program_that_starts_no_jvm_is_ended_after_the_time_limit(agent: str) -> None:
    with pytest.raises(LaunchFailed, match="no JVM connected within") as failed:
        launch(["sleep", "100"], library=agent, timeout=0.3)
    assert failed.value.returncode is None


def test_a_stranger_cannot_take_the_place_of_the_jvm(
    command: list[str], agent: str, ends: Callable[[Connection], Connection]
) -> None:
    with Launch(["sh", "-c", f"sleep 0.5; exec {shlex.join(command)}"], library=agent,
                stderr=subprocess.DEVNULL, **PIPES) as started:  # fmt: skip
        options = split_tool_options_of(started.popen.pid)
        with socket.socket(socket.AF_UNIX) as stranger:
            assert options.connect is not None
            stranger.connect(options.connect)
            connection = ends(started.accept(20))
            assert greeting(connection) == "onload 1"
            assert stranger.recv(1) == b""


def split_tool_options_of(pid: int) -> AgentOptions:
    from jvmti.target.processes.procfs import ProcessHandle

    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        with ProcessHandle(pid) as handle:
            value = (handle.environment() or {}).get("JAVA_TOOL_OPTIONS")
        if value:
            (option,) = split_tool_options(value)
            return AgentOptions.parse(option.partition("=")[2])
    pytest.fail("the program has no JAVA_TOOL_OPTIONS")


def test_all_jvms_of_a_program_can_be_followed(command: list[str], agent: str) -> None:
    java = shlex.join(command)
    with Launch(["sh", "-c", f"{java} & {java}; wait"], library=agent, stderr=subprocess.DEVNULL,
                **PIPES) as started:  # fmt: skip
        connections = [started.accept(20), started.accept(20)]
        assert len({connection.process.pid for connection in connections}) == 2
        for connection in connections:
            connection.close()
        started.popen.communicate(timeout=20)


def test_the_text_for_the_environment_reaches_the_agent_as_it_was_meant(
    command: list[str], agent: str, tmp_path: Path
) -> None:
    import shutil

    directory = tmp_path / 'it\'s a "place"'
    directory.mkdir()
    library = shutil.copy(agent, directory / "libjvmti.so")
    text = java_tool_options(AgentOptions(log="/tmp/a b"), library)
    assert split_tool_options(text) == [f"-agentpath:{library}=log=/tmp/a%20b"]
    done = subprocess.run(
        command,
        env={**os.environ, "JAVA_TOOL_OPTIONS": text},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=20,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [b"ready", b"done"]


def test_a_relative_program_counts_from_the_new_directory(
    jvm: Jvm, agent: str, ends: Callable[[Connection], Connection]
) -> None:
    connection = ends(
        launch(
            ["bin/java", *jvm.args, "-cp", str(compiler.classes("Idle")), "Idle"],
            cwd=jvm.home,
            library=agent,
            **PIPES,
        )
    )
    assert connection.popen is not None
    assert connection.process.pid == connection.popen.pid
    assert any(word.startswith("-agentpath:") for word in connection.process.jvm_arguments)
