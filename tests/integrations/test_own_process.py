"""Python programs with a JVM inside, which look at it from a process beside them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import jvms
import prepared
from programs import VARIABLES

if TYPE_CHECKING:
    from jvms import Jvm

pytestmark = [pytest.mark.oldest_and_newest, pytest.mark.file_in_turn]

PROGRAM = Path(__file__).parent / "jpype_program.py"
IMPORTS = ["jpype", "jvmti.integrations.own", "documented", "jvms"]
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in VARIABLES}
ENVIRONMENT["PYTHONPATH"] = str(PROGRAM.parents[1])


def command(jvm: Jvm, ways: str, *options: str) -> list[str]:
    kind = "zero" if jvm.args else "server"
    library = f"{jvm.home}/lib/{kind}/libjvm.so"
    return [str(PROGRAM), ways, library, *jvms.QUICK, *options]


def run(jvm: Jvm, ways: str, *options: str) -> dict[str, Any]:
    """Start a JVM in a Python program, and return what that saw."""
    done = prepared.run(command(jvm, ways, *options), IMPORTS, env=ENVIRONMENT, timeout=110)
    assert done.returncode == 0, done.stdout + done.stderr
    answers: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answers


@pytest.fixture(scope="module")
def seen(jvm: Jvm) -> dict[str, Any]:
    """What one program saw, which tries one way after another."""
    return run(jvm, "look,handle_events,suspend,run_examples,shut_down")


@pytest.fixture(scope="module")
def jvm_17() -> Jvm:
    """For what is a matter of the Python side alone."""
    jvm = jvms.named("17")
    if jvm.missing:
        (pytest.fail if jvms.was_named() else pytest.skip)(jvm.missing)
    return jvm


@pytest.fixture(scope="module")
def failed(jvm_17: Jvm) -> dict[str, Any]:
    """What a program saw that did what it should not."""
    return run(jvm_17, "fail,interrupt")


def test_the_controller_sees_what_java_sees(seen: dict[str, Any]) -> None:
    look = seen["look"]
    assert look["threads"] == look["java threads"]
    assert "main" in look["threads"]
    assert look["version"] == look["java version"]
    assert look["pid"] == look["own"]
    assert look["arguments"] == [[1, "two"], {"three": [3]}]


def test_the_controller_goes_with_its_block(seen: dict[str, Any]) -> None:
    assert seen["look"]["open"]
    assert seen["look"]["closed"]
    kind, text = seen["look"]["after"]
    assert (kind, "closed" in text) == ("TargetLost", True)


def test_attaching_directly_is_refused(seen: dict[str, Any]) -> None:
    kind, text = seen["look"]["direct"]
    assert kind == "OwnProcess"
    assert "jvmti.attach_self()" in text


def test_without_a_jvm_there_is_nothing_to_attach_to(seen: dict[str, Any]) -> None:
    kind, text = seen["no jvm"]
    assert kind == "NotAJvm"
    assert "jpype.startJVM()" in text


def test_a_handler_answers_a_thread_that_has_pythons_lock(seen: dict[str, Any]) -> None:
    prepared = seen["handle_events"]["prepared"]
    assert {"java.util.concurrent.Exchanger", "java.util.concurrent.Phaser"} <= set(prepared)


def test_what_one_controller_keeps_another_does_not_have(seen: dict[str, Any]) -> None:
    kind, text = seen["handle_events"]["elsewhere"]
    assert (kind, "another controller" in text) == ("LookupError", True)


def test_nothing_stays_suspended_that_the_program_waits_for(seen: dict[str, Any]) -> None:
    suspend = seen["suspend"]
    assert suspend["within"]
    assert suspend["left"][0] == "RuntimeError"
    assert "left threads suspended ('main')" in suspend["left"][1]
    assert suspend["after"][0] == "TargetLost"
    assert suspend["killed"][0] == "TargetLost"
    assert "status -9" in suspend["killed"][1]
    assert suspend["java"]
    assert suspend["java again"]


def test_what_cannot_be_copied_is_said_to_be_so(failed: dict[str, Any]) -> None:
    fail = failed["fail"]
    assert fail["result"][0] == "TypeError"
    assert "return names, numbers" in fail["result"][1]
    assert fail["argument"][0] == "TypeError"
    assert "'_thread.lock'" in fail["argument"][1]
    assert fail["no function"] == ["TypeError", "expected a function, not str"]


def test_exceptions_come_back_with_their_place(failed: dict[str, Any]) -> None:
    fail = failed["fail"]
    assert fail["raised"][0] == "ZeroDivisionError"
    assert fail["java"] == ["JavaException", "java.lang.NoClassDefFoundError: no/Such"]
    assert fail["jvmti"][0] == "ValueError"
    assert "can_tag_objects" in fail["jvmti"][1]
    assert f'File "{PROGRAM}"' in fail["cause"]
    assert "IndexError" in fail["cause"]
    assert fail["still"] == "LIVE"
    assert fail["capability"][0] == "ValueError"


def test_ctrl_c_ends_the_controller_and_not_the_program(failed: dict[str, Any]) -> None:
    assert failed["interrupt"] == {
        "raised": ["KeyboardInterrupt", ""],
        "closed": True,
        "gone": True,
        "java": True,
    }


def test_the_end_of_the_jvm_is_reported(seen: dict[str, Any]) -> None:
    # By the connection that breaks, or the session that has noticed already.
    assert seen["shut_down"]["error"][0] in ("TargetLost", "SessionClosed")
    assert seen["shut_down"]["closed"]


def test_the_documented_examples_print_what_there_is(seen: dict[str, Any]) -> None:
    assert seen["run_examples"]["examples"] == 2
    first, count, counted = seen["run_examples"]["printed"].splitlines()
    assert re.fullmatch(r"\d+ RUNNABLE", first)
    assert int(count) > 5
    assert counted.startswith("[('java.")


def test_a_controller_ends_with_its_program(jvm_17: Jvm) -> None:
    words = command(jvm_17, "be_killed")
    piped = {"stdout": subprocess.PIPE, "text": True}
    with prepared.Prepared(words, IMPORTS, env=ENVIRONMENT, **piped) as program:
        assert program.stdout is not None
        controller = Path(f"/proc/{int(program.stdout.readline())}")
        assert controller.exists()
        program.kill()
    deadline = time.monotonic() + 60
    while controller.exists() and "\nState:\tZ" not in status_of(controller):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def status_of(process: Path) -> str:
    try:
        return (process / "status").read_text()
    except OSError:
        return ""


def test_a_program_that_takes_sigquit_learns_how_to_be_attached_to(jvm_17: Jvm) -> None:
    refused = run(jvm_17, "take_sigquit")["take_sigquit"]["refused"]
    assert "-XX:+StartAttachListener" in refused
    assert run(jvm_17, "take_sigquit", "-XX:+StartAttachListener")["take_sigquit"] == {
        "version": 17
    }


def test_a_compiler_in_the_own_process_is_seen_at_work(jvm_17: Jvm) -> None:
    jar = jvms.INSTALLED / "ecj" / "ecj.jar"
    if not jar.exists():
        pytest.skip("the Eclipse compiler is not installed; `make java` does")
    seen = run(jvm_17, "compile_java", f"-Djava.class.path={jar}")["compile_java"]
    assert seen["compiled"] == [True]
    compilers = {name for name in seen["at work"] if name.startswith("org.eclipse.jdt.")}
    assert len(compilers) > 10
    assert compilers <= set(seen["loaded"])
