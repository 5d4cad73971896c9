from __future__ import annotations

import json
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from jvmti.target.diagnose import Check, diagnose
from jvmti.target.hotspot import load_agent
from jvmti.target.processes.search import find

if TYPE_CHECKING:
    from jvms import Jvm
    from jvmti.target.diagnose import Diagnosis
    from programs import JavaPrograms


def checks(diagnosis: Diagnosis) -> dict[str, Check]:
    json.dumps(diagnosis.as_json())
    return {check.name: check for check in diagnosis.checks}


@pytest.fixture(autouse=True)
def some_library(agent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JVMTI_AGENT_LIBRARY", agent)


def test_a_healthy_jvm_has_no_obstacle(
    java_program: JavaPrograms, jvm: Jvm, sole_jar: Path
) -> None:
    program = java_program.start(["-jar", str(sole_jar)])
    program.expect("ready")
    diagnosis = diagnose(sole_jar.name)
    found = checks(diagnosis)
    assert diagnosis.ok, found
    assert found["answers"].ok
    assert found["agent library"].ok
    assert found["other agents"].ok
    assert ("three lines" in found["dynamic loading"].detail) == (jvm.feature >= 21)
    assert "agent" not in Path(f"/proc/{program.pid}/maps").read_text()
    assert program.stderr == ""


def test_no_such_process_and_not_a_jvm() -> None:
    for target in (2**22 + 1, os.getpid(), "no such program", "1"):
        diagnosis = diagnose(target)
        assert not diagnosis.ok
        assert diagnosis.process is None
        assert checks(diagnosis)["process"].ok is False


def test_attaching_disabled(java_program: JavaPrograms) -> None:
    program = java_program("Idle", jvm_args=["-XX:+DisableAttachMechanism"])
    program.expect("ready")
    found = checks(diagnose(program.pid))
    assert found["attach mechanism"].ok is False
    assert "DisableAttachMechanism" in found["attach mechanism"].detail
    assert found["attach mechanism"].advice
    assert "Full thread dump" not in "\n".join(program.lines)


def test_dynamic_loading_refused_or_allowed(java_program: JavaPrograms) -> None:
    program = java_program("Idle", jvm_args=["-XX:-EnableDynamicAgentLoading"])
    program.expect("ready")
    diagnosis = diagnose(program.pid)
    assert checks(diagnosis)["dynamic loading"].ok is False
    assert checks(diagnosis)["answers"].ok
    assert not diagnosis.ok
    program = java_program("Idle", jvm_args=["-XX:+EnableDynamicAgentLoading"])
    program.expect("ready")
    assert checks(diagnose(program.pid))["dynamic loading"].detail == "allowed"


def test_a_stopped_jvm(java_program: JavaPrograms) -> None:
    program = java_program("Idle")
    program.expect("ready")
    os.kill(program.pid, signal.SIGSTOP)
    time.sleep(0.05)
    try:
        found = checks(diagnose(program.pid))
    finally:
        os.kill(program.pid, signal.SIGCONT)
    assert found["running"].ok is False
    assert f"kill -CONT {program.pid}" in found["running"].advice
    assert found["answers"].ok is False


def test_a_jvm_whose_attach_listener_is_busy(java_program: JavaPrograms, agent: str) -> None:
    program = java_program("Idle")
    program.expect("ready")
    with ThreadPoolExecutor() as pool:
        busy = pool.submit(load_agent, find(program.pid), agent, "log=sleep")
        time.sleep(0.3)
        answers = checks(diagnose(program.pid, timeout=0.5))["answers"]
        assert answers.ok is False
        assert "did not answer in time" in answers.detail
        busy.result()
    assert checks(diagnose(program.pid))["answers"].ok


def test_a_removed_socket(java_program: JavaPrograms) -> None:
    program = java_program("Idle")
    program.expect("ready")
    assert checks(diagnose(program.pid))["attach socket"].detail.startswith("not open yet")
    path = Path(f"/tmp/.java_pid{program.pid}")
    assert checks(diagnose(program.pid))["attach socket"].detail == f"{path} is there"
    path.unlink()
    found = checks(diagnose(program.pid))
    assert "was removed" in found["attach socket"].detail
    assert found["answers"].ok


def test_a_planted_socket(java_program: JavaPrograms) -> None:
    program = java_program("Idle")
    program.expect("ready")
    path = Path(f"/tmp/.java_pid{program.pid}")
    path.touch()
    try:
        found = checks(diagnose(program.pid))
    finally:
        path.unlink()
    assert found["attach socket"].ok is False
    assert found["answers"].ok is False


@pytest.mark.since(17)  # the oldest comes without a debugger's agent
def test_another_agent_that_may_hold_what_only_one_can(java_program: JavaPrograms) -> None:
    program = java_program(
        "Idle", jvm_args=["-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=0"]
    )
    program.expect("ready")
    other = checks(diagnose(program.pid))["other agents"]
    assert other.ok is None
    assert "jdwp" in other.detail
    assert "only one can have" in other.detail


def test_a_jvm_that_is_only_starting(java_program: JavaPrograms) -> None:
    program = java_program("Idle")
    diagnosis = diagnose(program.pid)
    assert checks(diagnosis)["answers"].ok, diagnosis.checks
    assert program.running()


def test_a_missing_library(java_program: JavaPrograms, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JVMTI_AGENT_LIBRARY", "/nonexistent.so")
    program = java_program("Idle")
    program.expect("ready")
    assert checks(diagnose(program.pid))["agent library"].ok is False
