"""The Java programs that other tests rely on do what those tests take for granted."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

import compiler
from programs import JavaPrograms

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from jvms import Jvm


def test_an_idle_program_runs_until_its_input_ends(java_program: JavaPrograms) -> None:
    program = java_program("Idle")
    program.expect("ready")
    assert program.running()
    assert program.stop() == 0
    program.expect("done")


def test_the_jvm_is_the_one_that_was_asked_for(jvm: Jvm, java_program: JavaPrograms) -> None:
    program = java_program("Witness")
    program.expect("ready")
    assert program.ask("version") == str(jvm.feature)
    assert program.ask("pid") == str(program.pid)
    assert ("Zero" in program.ask("property java.vm.name")) == (jvm.name == "zero")


def test_the_witness_knows_its_threads(jvm: Jvm, java_program: JavaPrograms) -> None:
    witness = java_program("Witness")
    witness.expect("ready")
    states = {
        "sleeping": "TIMED_WAITING",
        "waiting": "WAITING",
        "blocked": "BLOCKED",
        "queued": "WAITING",
        "parked": "WAITING",
        "main": "RUNNABLE",
    }
    if jvm.feature >= 21:
        states["virtual"] = "WAITING"
    assert {name: witness.ask(f"state {name}") for name in states} == states
    assert witness.ask("owner blocked") == "holder"
    held = witness.ask("monitors holder").split(":")[0]
    assert held == witness.ask("contended blocked")
    assert witness.ask("stack deep").count("Witness.descend:") == 20


def test_a_busy_thread_takes_a_processor_only_on_request(java_program: JavaPrograms) -> None:
    witness = java_program("Witness")
    witness.expect("ready")
    assert witness.ask("spin on") == "ok"
    before = int(witness.ask("cpu busy"))
    while int(witness.ask("cpu busy")) < before + 20_000_000:
        pass
    assert witness.ask("state busy") == "RUNNABLE"
    assert witness.ask("spin off") == "ok"


def test_every_command_of_the_witness_is_in_its_help(java_program: JavaPrograms) -> None:
    witness = java_program("Witness")
    witness.expect("ready")
    handled = set(re.findall(r'case "([a-z-]+)":', compiler.source("Witness").path.read_text()))
    assert set(witness.ask("help").split()) == handled
    assert witness.ask("nonsense").startswith("error ")


@pytest.mark.parametrize("compiled_by", ["javac", "ecj"])
def test_both_compilers_write_debug_information_when_asked(
    compiled_by: str, jdk: Path, java_classes: Callable[..., Path]
) -> None:
    for debug in (True, False):
        classes = java_classes("Idle", debug=debug, compiler=compiled_by)
        data = (classes / "Idle.class").read_bytes()
        assert (b"LocalVariableTable" in data) == debug
        assert (b"SourceFile" in data) == debug
        assert int.from_bytes(data[6:8], "big") == 55  # Java 11


@pytest.mark.since(21)
def test_a_program_for_a_newer_release_runs_where_it_can(
    jvm: Jvm, java_program: JavaPrograms
) -> None:
    program = java_program("Records")
    program.expect("Point[x=1, y=2]")
    assert jvm.feature >= 21


@pytest.mark.filterwarnings("error")
def test_a_crash_fails_the_test_and_shows_the_report(jvm: Jvm, tmp_path: Path) -> None:
    programs = JavaPrograms(jvm, tmp_path)
    program = programs("Idle")
    program.expect("ready")
    program.process.send_signal(11)
    program.process.wait()
    with pytest.raises(pytest.fail.Exception, match="SIGSEGV"):
        programs.close()
    with pytest.raises(pytest.fail.Exception, match="SIGSEGV"):
        program.expect("something else", timeout=2)


def test_a_program_that_was_killed_did_not_crash(jvm: Jvm, tmp_path: Path) -> None:
    programs = JavaPrograms(jvm, tmp_path)
    program = programs("Idle")
    program.expect("ready")
    assert program.kill() == -9
    programs.close()
