from __future__ import annotations

import os
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from stand_in import greeting

from jvmti.target.agent_library import library_for_executable, library_for_process
from jvmti.target.attach import attach
from jvmti.target.errors import (
    AgentLibraryMissing,
    AgentLoadFailed,
    AttachDisabled,
    DynamicLoadingRefused,
    JvmDied,
    OptionsError,
)
from jvmti.target.options import AgentOptions
from jvmti.target.processes.search import find

if TYPE_CHECKING:
    from programs import JavaPrograms


def test_the_agent_connects_back_time_and_again(
    java_program: JavaPrograms, agent: str, leftovers: None
) -> None:
    program = java_program("Idle")
    program.expect("ready")
    for count in range(1, 6):
        with attach(program.pid, library=agent) as connection:
            assert greeting(connection) == f"onattach {count}"
            assert connection.process.main == "Idle"
            assert connection.popen is None
            assert not connection.loaded_at_startup
            assert connection.socket.getblocking()


def test_a_target_can_be_named(java_program: JavaPrograms, agent: str, sole_jar: Path) -> None:
    program = java_program.start(["-jar", str(sole_jar)])
    program.expect("ready")
    with attach(sole_jar.name, library=agent) as connection:
        assert connection.process.pid == program.pid


def test_attaching_costs_little_time(java_program: JavaPrograms, agent: str) -> None:
    program = java_program("Idle")
    program.expect("ready")
    times = []
    for _ in range(50):
        began = time.perf_counter()
        attach(program.pid, library=agent).close()
        times.append(time.perf_counter() - began)
    assert min(times) < 0.010, times


def test_an_agent_that_listens_already_is_found(
    java_program: JavaPrograms, agent: str, tmp_path: Path
) -> None:
    for options in ("listen", f"listen={tmp_path}/own.sock"):
        program = java_program("Idle", jvm_args=[f"-agentpath:{agent}={options}"])
        program.expect("ready")
        with attach(program.pid) as connection:
            assert greeting(connection) == "listening"
            assert connection.loaded_at_startup
        Path(f"/tmp/.jvmti-{os.geteuid()}/{program.pid}.sock").unlink(missing_ok=True)


def test_a_planted_listening_socket_is_passed_by(java_program: JavaPrograms, agent: str) -> None:
    program = java_program("Idle")
    program.expect("ready")
    path = Path(f"/tmp/.jvmti-{os.geteuid()}/{program.pid}.sock")
    path.parent.mkdir(mode=0o700, exist_ok=True)
    try:
        with socket.socket(socket.AF_UNIX) as planted:
            planted.bind(str(path))
            planted.listen()
            with attach(program.pid, library=agent) as connection:
                assert greeting(connection) == "onattach 1"
                assert not connection.loaded_at_startup
    finally:
        path.unlink()


def test_refusals_are_distinguished(
    java_program: JavaPrograms, agent: str, leftovers: None
) -> None:
    program = java_program("Idle", jvm_args=["-XX:-EnableDynamicAgentLoading"])
    program.expect("ready")
    with pytest.raises(DynamicLoadingRefused):
        attach(program.pid, library=agent)
    program = java_program("Idle", jvm_args=["-XX:+DisableAttachMechanism"])
    program.expect("ready")
    with pytest.raises(AttachDisabled):
        attach(program.pid, library=agent)
    program = java_program("Idle")
    program.expect("ready")
    with pytest.raises(AgentLibraryMissing, match="not a file"):
        attach(program.pid, library="/nonexistent.so")
    with pytest.raises(AgentLoadFailed, match="code 7"):
        attach(program.pid, library=agent, options=AgentOptions(log="refuse"))
    with pytest.raises(OptionsError):
        attach(program.pid, library=agent, options=AgentOptions(connect="/tmp/x"))
    program.kill()
    with pytest.raises((JvmDied, Exception), match="no process|ended"):
        attach(program.pid, library=agent)


def test_the_library_is_chosen_for_the_target(
    java_program: JavaPrograms, agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jvmti.target import agent_library

    program = java_program("Idle")
    program.expect("ready")
    process = find(program.pid)
    monkeypatch.setenv("JVMTI_AGENT_LIBRARY", agent)
    assert library_for_process(process) == agent
    monkeypatch.setenv("JVMTI_AGENT_LIBRARY", "/nonexistent.so")
    with pytest.raises(AgentLibraryMissing, match="JVMTI_AGENT_LIBRARY"):
        library_for_process(process)
    monkeypatch.delenv("JVMTI_AGENT_LIBRARY")
    monkeypatch.setattr(agent_library, "_NATIVE", str(tmp_path))
    with pytest.raises(AgentLibraryMissing, match="none at all"):
        library_for_process(process)
    machine = os.uname().machine
    for platform in (f"glibc-{machine}", "musl-other"):
        (tmp_path / platform).mkdir()
        (tmp_path / platform / "libjvmti.so").touch()
    expected = str(tmp_path / f"glibc-{machine}" / "libjvmti.so")
    assert library_for_process(process) == expected
    assert library_for_executable("/bin/sh") == expected
    assert library_for_executable(__file__) == expected
    (tmp_path / f"glibc-{machine}" / "libjvmti.so").unlink()
    with pytest.raises(AgentLibraryMissing, match="has musl-other"):
        library_for_process(process)
