from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from jvmti.target.errors import (
    AgentLoadFailed,
    AttachDisabled,
    AttachRefused,
    AttachTimeout,
    DynamicLoadingRefused,
    JvmDied,
    JvmStopped,
    OptionsTooLong,
    SuspiciousFile,
)
from jvmti.target.hotspot import command, load_agent, protocol_version
from jvmti.target.processes.search import Process, find

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jvms import Jvm
    from programs import JavaProgram, JavaPrograms

THREAD_DUMP = "Full thread dump"


def started(java_program: JavaPrograms, *jvm_args: str) -> tuple[JavaProgram, Process]:
    program = java_program("Idle", jvm_args=jvm_args)
    program.expect("ready")
    return program, find(program.pid)


def stop(program: JavaProgram) -> None:
    """Stop a program, and wait until it has stopped."""
    os.kill(program.pid, signal.SIGSTOP)
    while "(stopped)" not in Path(f"/proc/{program.pid}/status").read_text():
        time.sleep(0.001)


@pytest.fixture
def idle(java_program: JavaPrograms, leftovers: None) -> tuple[JavaProgram, Process]:
    return started(java_program)


def test_attach_commands_are_answered(idle: tuple[JavaProgram, Process]) -> None:
    program, process = idle
    properties = command(process, "properties")
    assert re.search(r"^java\.vm\.name=", properties, re.MULTILINE)
    assert re.match(r"\d+\.\d+ s", command(process, "jcmd", "VM.uptime"))
    assert "java.lang.String" in command(process, "inspectheap", "-live")
    assert THREAD_DUMP not in "\n".join(program.lines)


def test_an_unknown_command_is_refused_in_the_words_of_the_jvm(
    idle: tuple[JavaProgram, Process],
) -> None:
    with pytest.raises(AttachRefused, match="bogus not recognized"):
        command(idle[1], "bogus")


def test_the_protocol_version_is_negotiated(
    idle: tuple[JavaProgram, Process], jvm: Jvm, java_program: JavaPrograms
) -> None:
    assert protocol_version(idle[1]) == (2 if jvm.feature >= 24 else 1)
    if jvm.feature >= 24:
        _, compatible = started(java_program, "-Djdk.attach.compat=true")
        assert protocol_version(compatible) == 1
        with pytest.raises(OptionsTooLong):
            load_agent(compatible, "/nonexistent", "x" * 5000)


def test_long_arguments_need_version_2(idle: tuple[JavaProgram, Process], jvm: Jvm) -> None:
    with pytest.raises(
        AgentLoadFailed if jvm.feature >= 24 else OptionsTooLong, match="/nonexistent|1024 bytes"
    ):
        load_agent(idle[1], "/nonexistent.so", "x" * 5000)
    with pytest.raises(OptionsTooLong):
        load_agent(idle[1], "/nonexistent.so", "x" * 500_000)
    assert "java.home" in command(idle[1], "properties")


@pytest.mark.parametrize("length", [1022, 1023, 1024, 1025])
def test_lengths_around_the_limit_are_answered_or_refused_clearly(
    idle: tuple[JavaProgram, Process], length: int
) -> None:
    with pytest.raises((AgentLoadFailed, OptionsTooLong), match="No such file|1024 bytes"):
        load_agent(idle[1], "/nonexistent.so", "x" * length)


def test_a_missing_library_and_one_that_is_no_agent_say_so(
    idle: tuple[JavaProgram, Process],
) -> None:
    with pytest.raises(AgentLoadFailed, match=r"No such file") as missing:
        load_agent(idle[1], "/nonexistent/libagent.so")
    assert missing.value.code is None
    libm = next(Path("/usr/lib").rglob("libm.so.6"))
    with pytest.raises(AgentLoadFailed, match="Agent_OnAttach"):
        load_agent(idle[1], str(libm))


def test_an_agent_that_refuses_tells_its_code(
    idle: tuple[JavaProgram, Process], agent: str
) -> None:
    with pytest.raises(AgentLoadFailed, match="code 7") as refused:
        load_agent(idle[1], agent, "log=refuse")
    assert refused.value.code == 7
    load_agent(idle[1], agent)


def test_dynamic_loading_can_be_refused(java_program: JavaPrograms, agent: str) -> None:
    _, process = started(java_program, "-XX:-EnableDynamicAgentLoading")
    with pytest.raises(
        DynamicLoadingRefused, match="EnableDynamicAgentLoading.* `jvmti shell -- java"
    ):
        load_agent(process, agent)


def test_a_jvm_with_attaching_disabled_is_left_in_peace(java_program: JavaPrograms) -> None:
    program, process = started(java_program, "-XX:+DisableAttachMechanism")
    with pytest.raises(AttachDisabled, match="DisableAttachMechanism.* `jvmti shell -- java"):
        command(process, "properties")
    assert program.running()
    assert THREAD_DUMP not in "\n".join(program.lines)


def test_a_jvm_that_hides_that_attaching_is_disabled_survives_the_attempt(
    java_program: JavaPrograms, leftovers: None
) -> None:
    import dataclasses

    program, process = started(java_program, "-XX:+DisableAttachMechanism")
    hidden = dataclasses.replace(process, jvm_arguments=())
    with pytest.raises(AttachTimeout, match="DisableAttachMechanism"):
        command(hidden, "properties", timeout=0.5)
    assert program.running()


def test_reduced_signals_do_not_keep_us_out(java_program: JavaPrograms) -> None:
    program, process = started(java_program, "-Xrs")
    assert "java.home" in command(process, "properties")
    assert program.running()


def test_a_jvm_started_with_quit_ignored_can_be_attached_to(
    java_program: JavaPrograms,
) -> None:
    program = java_program("Idle", wrapper=["sh", "-c", "trap '' QUIT INT; exec \"$@\"", "sh"])
    program.expect("ready")
    assert "java.home" in command(find(program.pid), "properties")


def test_a_stopped_jvm_is_named_as_such_and_answers_when_continued(
    java_program: JavaPrograms, leftovers: None
) -> None:
    program, process = started(java_program)
    for _ in ("without its socket", "with its socket"):
        stop(program)
        try:
            began = time.monotonic()
            with pytest.raises(JvmStopped, match=f"kill -CONT {program.pid}"):
                command(process, "properties", timeout=1.5)
            assert time.monotonic() - began < 12
        finally:
            os.kill(program.pid, signal.SIGCONT)
        assert "java.home" in command(process, "properties")
    assert THREAD_DUMP not in "\n".join(program.lines)


def test_a_stopped_jvm_that_goes_on_in_time_is_attached_to(java_program: JavaPrograms) -> None:
    program, process = started(java_program)
    stop(program)
    waker = subprocess.Popen(["sh", "-c", f"sleep 0.3; kill -CONT {program.pid}"])
    assert "java.home" in command(process, "properties")
    waker.wait()


def test_a_jvm_that_died_is_named_as_such(java_program: JavaPrograms) -> None:
    program, process = started(java_program)
    program.kill()
    with pytest.raises(JvmDied):
        command(process, "properties")


def test_a_jvm_that_dies_while_it_is_asked_is_named_as_such(java_program: JavaPrograms) -> None:
    program, process = started(java_program)
    command(process, "properties")
    stop(program)
    killer = subprocess.Popen(["sh", "-c", f"sleep 0.3; kill -KILL {program.pid}"])
    with pytest.raises(JvmDied):
        command(process, "properties")
    killer.wait()


@pytest.fixture
def stale() -> Iterator[list[Path]]:
    made: list[Path] = []
    yield made
    for path in made:
        path.unlink(missing_ok=True)


def test_a_dead_socket_is_replaced(java_program: JavaPrograms, stale: list[Path]) -> None:
    _, process = started(java_program)
    path = Path(f"/tmp/.java_pid{process.pid}")
    stale.append(path)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    assert "java.home" in command(process, "properties")
    path.unlink()
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    assert "java.home" in command(process, "properties")


def test_a_removed_socket_is_made_anew(java_program: JavaPrograms) -> None:
    program, process = started(java_program)
    for _ in range(3):
        assert "java.home" in command(process, "properties")
        Path(f"/tmp/.java_pid{process.pid}").unlink()
    assert "java.home" in command(process, "properties")
    assert program.running()


def test_a_live_socket_of_another_process_is_not_spoken_to(
    java_program: JavaPrograms, stale: list[Path]
) -> None:
    _, process = started(java_program)
    path = Path(f"/tmp/.java_pid{process.pid}")
    stale.append(path)
    with socket.socket(socket.AF_UNIX) as planted:
        planted.bind(str(path))
        planted.listen()
        with pytest.raises(SuspiciousFile, match=f"belongs to process {os.getpid()}"):
            command(process, "properties", timeout=1)
    assert path.exists(), "the socket of a process that lives is not ours to remove"


@pytest.mark.parametrize("kind", ["file", "link", "directory"])
def test_what_is_no_socket_is_refused(
    java_program: JavaPrograms, stale: list[Path], tmp_path: Path, kind: str
) -> None:
    _, process = started(java_program)
    path = Path(f"/tmp/.java_pid{process.pid}")
    if kind == "directory":
        path.mkdir()
    elif kind == "link":
        stale.append(path)
        path.symlink_to(tmp_path / "elsewhere")
    else:
        stale.append(path)
        path.touch()
    with pytest.raises(SuspiciousFile, match="Remove it"):
        command(process, "properties", timeout=1)
    if kind == "directory":
        path.rmdir()


def test_a_planted_trigger_is_not_followed(
    java_program: JavaPrograms, stale: list[Path], tmp_path: Path
) -> None:
    _, process = started(java_program)
    path = Path(f"/tmp/.attach_pid{process.pid}")
    stale.append(path)
    path.symlink_to(tmp_path / "victim")
    with pytest.raises(SuspiciousFile, match="attach_pid"):
        command(process, "properties", timeout=1)
    assert not (tmp_path / "victim").exists()
    path.unlink()
    path.touch()
    assert "java.home" in command(process, "properties")
    assert path.exists(), "a trigger that another tool made is that tool's to remove"


def test_several_controllers_at_once_are_all_answered(java_program: JavaPrograms) -> None:
    from concurrent.futures import ThreadPoolExecutor

    program, process = started(java_program)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: command(process, "properties"), range(64)))
    assert all("java.home" in answer for answer in answers)
    assert program.running()


@pytest.mark.stress
def test_attaching_right_after_the_start_never_kills_the_jvm(
    java_program: JavaPrograms, agent: str, leftovers: None
) -> None:
    from jvmti.target.errors import NotAJvm

    for attempt in range(12):
        program = java_program("Idle")
        if attempt % 3 == 1:
            time.sleep(attempt * 0.004)
        try:
            process = find(program.pid)
        except NotAJvm:
            pytest.fail("a java launcher that has just started is a JVM")
        if attempt % 2:
            load_agent(process, agent)
        else:
            # Not "properties": Java code that runs this early can fail for want of classes.
            assert protocol_version(process) in (1, 2)
        program.expect("ready")
        assert program.running(), f"killed by status {program.process.returncode}"
        program.stop()
