"""`jvmti events`, next to programs that know what they have done."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import compiler
from jvmti.report.events import Clock, json_of, line_of

if TYPE_CHECKING:
    from jvms import Jvm
    from programs import JavaPrograms

pytestmark = pytest.mark.oldest_and_newest

COMMAND = [sys.executable, "-m", "jvmti", "events"]
FORBIDDEN = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
CALLS = {"call": 300, "later": 150, "fail": 7}


def java(jvm: Jvm, *work: str) -> list[str]:
    classes = str(compiler.classes("Workload"))
    return [jvm.java, *jvm.args, "-XX:-CreateCoredumpOnCrash", "-cp", classes, "Workload", *work]


def events(*words: str, code: int = 0, **further: Any) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*COMMAND, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        **further,
    )
    assert done.returncode == code, done.stderr
    return done


def test_every_call_of_a_method_is_a_line_with_thread_method_and_source(jvm: Jvm) -> None:
    words = ["MethodEntry", "--filter", "class=Workload*Counted"]
    done = events(*words, "--wait", "--", *java(jvm, "calls"))
    for name, count in CALLS.items():
        pattern = (
            rf"\d\d:\d\d:\d\d\.\d{{6}} \[main\] MethodEntry Workload\$Counted\.{name}"
            r"\(Workload\.java\).*"
        )
        assert sum(bool(re.fullmatch(pattern, one)) for one in done.stdout.splitlines()) == count
    assert re.search(r"^458 events in .*, 0 dropped$", done.stderr, re.M)
    # What the program prints does not get between the lines.
    assert "call 300" in done.stderr
    assert "call 300" not in done.stdout


def test_exceptions_are_shown_with_the_line_and_the_stack(jvm: Jvm) -> None:
    words = ["Exception", "--filter", "exception=*IllegalState*", "--stack", "2"]
    lines = events(*words, "--", *java(jvm, "calls")).stdout.splitlines()
    source = Path(__file__).parent / "java" / "Workload.java"
    text = source.read_text().splitlines()
    thrown = next(number for number, line in enumerate(text, 1) if "on purpose" in line)
    called = next(number for number, line in enumerate(text, 1) if "counted.fail(i)" in line)
    # Each is thrown once more at the end of its `finally`.
    assert len(lines) == 2 * 3 * CALLS["fail"]
    for at in range(0, len(lines), 6):
        assert f"Workload$Counted.fail(Workload.java:{thrown})" in lines[at]
        assert "exception=java.lang.IllegalStateException" in lines[at]
        assert lines[at + 1] == f"    at Workload$Counted.fail:{thrown}"
        assert lines[at + 2] == f"    at Workload.calls:{called}"


def test_a_summary_counts_by_event_class_method_and_thread(jvm: Jvm) -> None:
    words = ["MethodEntry", "MethodExit", "--filter", "class=Workload*Counted", "--wait"]
    made = json.loads(events(*words, "--summary", "--json", "--", *java(jvm, "calls")).stdout)
    assert made["events"] == 2 * 458
    assert made["dropped"] == 0
    assert {row["event"]: row["count"] for row in made["by_event"]} == {
        "MethodEntry": 458,
        "MethodExit": 458,
    }
    entries = {row["method"]: row["count"] for row in made["by_method"]}
    assert entries["Workload$Counted.call"] == 300
    [row] = [one for one in made["by_thread"] if one["event"] == "MethodExit"]
    assert (row["thread"], row["count"]) == ("main", 458)
    text = events(*words, "--summary", "--", *java(jvm, "calls")).stdout
    assert re.search(r"^ *300 +[\d.]+ +MethodEntry +Workload\$Counted\.call$", text, re.M)
    assert "by class" in text


def test_a_summary_adds_up_what_threads_waited_for(jvm: Jvm) -> None:
    words = ["MonitorWait", "--filter", "thread=worker", "--wait", "--summary", "--json"]
    made = json.loads(events(*words, "--", *java(jvm, "contention")).stdout)
    [row] = made["by_object"]
    assert (row["object"], row["count"]) == ("Workload$Shared", 4)


def test_json_has_a_line_for_each_event(jvm: Jvm) -> None:
    before = time.time()
    words = ["Monitor*", "--filter", "class=Workload*", "--filter", "thread=work*", "--json"]
    done = events(*words, "--", *java(jvm, "contention"))
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    kinds = [row["event"] for row in rows]
    # The program has blocked once, and waited four times without being notified.
    assert kinds.count("MonitorContendedEntered") == 1
    assert kinds.count("MonitorWaited") == 4
    assert {row["thread"] for row in rows} == {"worker"}
    assert all(row["timed_out"] for row in rows if row["event"] == "MonitorWaited")
    assert all(before < row["time"] < time.time() for row in rows)
    assert [row["time"] for row in rows] == sorted(row["time"] for row in rows)


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".jsonl"])
def test_a_file_has_the_same_events(jvm: Jvm, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"events{suffix}"
    words = ["MethodEntry", "Exception", "--filter", "class=Workload*Counted", "--wait"]
    done = events(*words, "--stack", "2", "-o", str(path), "--", *java(jvm, "calls"))
    assert done.stdout == ""
    if suffix == ".jsonl":
        rows = [json.loads(line) for line in path.read_text().splitlines()]
    elif suffix == ".parquet":
        rows = pytest.importorskip("pyarrow.parquet").read_table(path).to_pylist()
    else:
        rows = pytest.importorskip("pyarrow.ipc").open_file(path).read_all().to_pylist()
    calls = [row["method"] for row in rows if row["event"] == "MethodEntry"]
    assert {name: calls.count(name) for name in CALLS} == CALLS
    thrown = [row for row in rows if row["event"] == "Exception"]
    assert [row["exception"] for row in thrown] == ["java.lang.IllegalStateException"] * 14
    assert thrown[0]["stack"][0].startswith("Workload$Counted.fail:")
    again = events(*words, "-o", str(path), "--", *java(jvm, "calls"), code=2)
    assert "--force" in again.stderr


def test_collections_are_shown_without_being_asked_for(jvm: Jvm) -> None:
    lines = events("--", *java(jvm, "collections")).stdout.splitlines()
    starts = [line for line in lines if line.endswith(" GarbageCollectionStart")]
    assert len(starts) >= 3
    assert any(" ClassPrepare klass=Workload" in line for line in lines)


def test_watching_a_running_jvm_ends_with_control_c(java_program: JavaPrograms) -> None:
    program = java_program("Idle")
    program.expect("ready")
    words = [*COMMAND, str(program.pid), "ThreadStart", "ThreadEnd"]
    started = subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Who runs the tests in the background has had the signal ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    while "libjvmti" not in Path(f"/proc/{program.pid}/maps").read_text():
        assert started.poll() is None
        time.sleep(0.1)
    time.sleep(3)
    started.send_signal(signal.SIGINT)
    _, errors = started.communicate(timeout=30)
    assert started.returncode == 0, errors
    assert re.search(r"\d+ events in .*, 0 dropped", errors)
    assert program.stop() == 0


def test_watching_ends_after_a_time_or_a_number_of_events(
    jvm: Jvm, java_program: JavaPrograms
) -> None:
    program = java_program("Idle")
    program.expect("ready")
    began = time.monotonic()
    events(str(program.pid), "ThreadStart", "--for", "1")
    assert 1 <= time.monotonic() - began < 30
    words = ["ClassPrepare", "--count", "5", "--", *java(jvm, "hot")]
    assert len(events(*words).stdout.splitlines()) == 5


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["MethodEnter"], "there is no event 'MethodEnter'"),
        (["MethodEntry", "--filter", "name=x"], "KIND=PATTERN"),
        (["ThreadStart", "--filter", "method=x"], "no method to filter by"),
        (["GarbageCollectionStart", "--stack", "3"], "has no stack"),
        (["MethodEntry", "-o", "events.csv"], "must end in one of"),
    ],
)
def test_what_does_not_go_together_is_said_before_anything_starts(
    words: list[str], told: str
) -> None:
    done = events(*words, "--", "/nonexistent/java", code=2)
    assert told in done.stderr


def test_an_event_that_a_running_jvm_cannot_give_is_named(java_program: JavaPrograms) -> None:
    program = java_program("Idle")
    program.expect("ready")
    done = events(str(program.pid), "MethodEntry", code=1)
    assert "can_generate_method_entry_events" in done.stderr
    assert "jvmti options --reserve" in done.stderr
    # What was not asked for by name is left out, and that is said.
    done = events(str(program.pid), "--for", "0.1")
    assert re.search(r"without Exception: .*jvmti options --reserve", done.stderr)


def test_a_misspelt_event_is_told_the_near_ones() -> None:
    done = events("1", "Exeption", code=2)
    assert "there is no event 'Exeption'; did you mean Exception" in done.stderr


def test_a_summary_adds_up_stacks(jvm: Jvm) -> None:
    words = ["Exception", "--filter", "exception=*IllegalState*", "--wait", "--stack", "2"]
    text = events(*words, "--summary", "--", *java(jvm, "calls")).stdout
    found = re.findall(
        r"^(\d+) × Exception\n    at Workload\$Counted.fail:\d+\n    at Workload.calls:", text, re.M
    )
    # Each is thrown once more at the end of its `finally`.
    assert {int(one) for one in found} == {CALLS["fail"]}


def test_names_from_the_target_do_no_harm() -> None:
    evil = "x\x1b]0;owned\x07\n\u202e"
    row = {
        "event": "Exception",
        "time": 5,
        "thread": evil,
        "method": evil,
        "method_class": evil,
        "method_file": evil,
        "line": 3,
        "exception": evil,
        "catch_method": evil,
        "catch_method_class": evil,
        "value": evil,
        "stack": [evil],
    }
    clock = Clock(0, 0.0)
    assert not FORBIDDEN.search(line_of(row, clock))
    assert len(line_of(row, clock).splitlines()) == 2
    assert not FORBIDDEN.search(json_of(row, clock))
    assert json.loads(json_of(row, clock))["thread"] == evil
