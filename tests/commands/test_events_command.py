"""`jvmti events`, next to programs that know what they have done."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import compiler
from command_line import here
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


def events(*words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = here("events", *words)
    assert done.returncode == code, done.stderr
    return done


def test_every_call_of_a_method_is_a_line_with_thread_method_and_source(jvm: Jvm) -> None:
    words = ["MethodEntry", "--filter", "class=Workload*Counted"]
    done = events(*words, "--no-drop", "--", *java(jvm, "calls"))
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
    words = ["Exception", "--filter", "exception=*IllegalState*", "--stack-depth", "2"]
    lines = events(*words, "--", *java(jvm, "calls")).stdout.splitlines()
    source = Path(__file__).parents[1] / "java" / "Workload.java"
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
    words = ["MethodEntry", "MethodExit", "--filter", "class=Workload*Counted", "--no-drop"]
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
    words = ["MonitorWait", "--filter", "thread=worker", "--no-drop", "--summary", "--json"]
    made = json.loads(events(*words, "--", *java(jvm, "contention")).stdout)
    [row] = made["by_object"]
    assert re.fullmatch(r"Workload\$Shared@[0-9a-f]+", row["object"])
    assert row["count"] == 4


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
    words = ["MethodEntry", "Exception", "--filter", "class=Workload*Counted", "--no-drop"]
    done = events(*words, "--stack-depth", "2", "-o", str(path), "--", *java(jvm, "calls"))
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
    events(str(program.pid), "ThreadStart", "--duration", "1")
    assert 1 <= time.monotonic() - began < 30
    words = ["ClassPrepare", "--count", "5", "--", *java(jvm, "hot")]
    assert len(events(*words).stdout.splitlines()) == 5


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["MethodEnter"], "there is no event 'MethodEnter'"),
        (["MethodEntry", "--filter", "name=x"], "KIND=PATTERN"),
        (["ThreadStart", "--filter", "method=x"], "no method to filter by"),
        (["GarbageCollectionStart", "--stack-depth", "3"], "has no stack"),
        (["MethodEntry", "-o", "events.csv"], "must end in one of"),
    ],
)
def test_what_does_not_go_together_is_said_before_anything_starts(
    words: list[str], message: str
) -> None:
    done = events(*words, "--", "/nonexistent/java", code=2)
    assert message in done.stderr


def test_an_event_that_a_running_jvm_cannot_give_is_named(java_program: JavaPrograms) -> None:
    program = java_program("Idle")
    program.expect("ready")
    done = events(str(program.pid), "MethodEntry", "--native", code=1)
    assert "can_generate_method_entry_events" in done.stderr
    # In the words of this command, not of Python.
    assert "leave out --native to have probes report it" in done.stderr
    assert "`jvmti events MethodEntry -- java …`" in done.stderr
    assert "jvmti agent-options --reserve" in done.stderr
    assert "jvmti.launch" not in done.stderr
    # What was not asked for by name is left out, and that is said.
    done = events(str(program.pid), "--native", "--duration", "0.1")
    assert re.search(r"without Exception: .*jvmti agent-options --reserve", done.stderr)


def test_what_costs_a_lot_is_emulated_only_if_it_is_named(java_program: JavaPrograms) -> None:
    program = java_program("Idle")
    program.expect("ready")
    done = events(str(program.pid), "[EMT]*", "--duration", "0.1")
    [line] = [line for line in done.stderr.splitlines() if "emulated by probes" in line]
    assert line == "jvmti: emulated by probes: Exception; docs/emulation.md says how they differ"
    for name in ("MethodEntry", "MethodExit", "ExceptionCatch"):
        assert f"jvmti: without {name}: all classes would get probes" in done.stderr
    done = events(str(program.pid), "Method*", "--filter", "class=Idle", "--duration", "0.1")
    assert "emulated by probes: MethodEntry, MethodExit;" in done.stderr
    # The default has what costs little.
    done = events(str(program.pid), "--duration", "0.1")
    assert "emulated by probes: Exception;" in done.stderr
    assert "without" not in done.stderr


def test_events_that_are_emulated_come_from_a_running_jvm_too(java_program: JavaPrograms) -> None:
    program = java_program("Stopping", jvm_args=["-XX:+StartAttachListener"])
    program.expect("ready")
    classes = ["--filter", "class=Stopping"]
    started = subprocess.Popen(
        [*COMMAND, str(program.pid), "MethodEntry", *classes, "--count", "6"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + 60
    while started.poll() is None and time.monotonic() < until:
        program.ask("start t other 1")
        assert program.ask("join t") == "5"
    lines, errors = started.communicate(timeout=60)
    assert started.returncode == 0, errors
    assert "emulated by probes: MethodEntry" in errors
    called = re.findall(r"MethodEntry Stopping\.(\w+)\(", lines)
    assert len(called) == 6
    # In the order of the calls of one thread; it may have begun in the middle of them.
    work = ["perform", "another", "add"]
    begun = work.index(called[0])
    assert called == [work[(begun + number) % 3] for number in range(6)]
    # The probes are gone.
    assert program.ask("start t other 2") == "started"
    assert program.ask("join t") == "12"


def test_a_misspelt_event_suggests_similar_ones() -> None:
    done = events("1", "Exeption", code=2)
    assert "there is no event 'Exeption'; did you mean Exception" in done.stderr


def test_a_summary_adds_up_stacks(jvm: Jvm) -> None:
    words = ["Exception", "--filter", "exception=*IllegalState*", "--no-drop", "--stack-depth", "2"]
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


RETURNED = {
    "aDouble": "return_value=1.68",
    "aFloat": "return_value=-2.5",
    "aLong": f"return_value={1 << 40}",
    "anInt": "return_value=0",
    "aBoolean": "return_value=True",
    "aString": "return_value=java.lang.String",
    "nothing": "",
    "aVoid": "",
    "thrown": "was_popped_by_exception=True",
}


def test_a_method_s_end_has_the_value_that_it_gave_and_nothing_beside_it(jvm: Jvm) -> None:
    words = ["MethodExit", "--filter", "class=Returned", "--no-drop"]
    command = [jvm.java, *jvm.args, "-Xshare:auto", "-cp", str(compiler.classes("Returned"))]
    done = events(*words, "--", *command, "Returned")
    shown = dict(re.findall(r"Returned\.(\w+)\(Returned\.java\) ?(.*)$", done.stdout, re.M))
    assert {name: shown.get(name) for name in RETURNED} == RETURNED


# waits --------------------------------------------------------------------------------------


def contended(jvm: Jvm, rounds: int = 4) -> list[str]:
    """A program that waits so often, says for how long, and ends."""
    flags = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"]
    classes = str(compiler.classes("Contended"))
    return [jvm.java, *jvm.args, *flags, "-cp", classes, "Contended", str(rounds)]


def test_a_wait_is_one_event_with_object_place_and_how_long_it_took(
    jvm: Jvm, tmp_path: Path
) -> None:
    words = ["Monitor*", "--filter", "class=Contended*", "--no-drop"]
    done = events(*words, "--json", "--", *contended(jvm))
    (waited,) = map(int, re.findall(r"^waited (\d+)$", done.stderr, re.M))
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    mine = [row for row in rows if row["thread"] == "waiter"]
    assert [row["event"] for row in mine] == ["MonitorContendedEntered"] * 4
    assert all(row["duration"] >= 30_000_000 for row in mine)
    assert sum(row["duration"] for row in mine) <= waited
    assert len({(row["object"], row["object_hash"]) for row in mine}) == 1
    assert all(re.fullmatch(r"Contended\.enter:\d+", row["place"]) for row in mine)
    # What never ends is the longest wait of all.
    [stuck] = [row for row in rows if row["thread"] == "stuck"]
    assert (stuck["event"], stuck["unfinished"]) == ("MonitorContendedEnter", True)
    assert stuck["duration"] > sum(row["duration"] for row in mine)
    # The same in a file, and in words.
    path = tmp_path / "waits.parquet"
    events(*words, "-o", str(path), "--", *contended(jvm))
    table = pytest.importorskip("pyarrow.parquet").read_table(path).to_pylist()
    ended = [row for row in table if row["event"] == "MonitorContendedEntered"]
    assert len(ended) == 4
    assert all(row["duration"] >= 30_000_000 for row in ended)
    assert {row["place"].partition(":")[0] for row in ended} == {"Contended.enter"}
    assert [row["duration"] for row in table if row["thread"] == "stuck"] == [None]
    text = events(*words, "--", *contended(jvm)).stdout
    assert re.search(
        r"\[waiter\] MonitorContendedEntered object=Contended\$Cart@[0-9a-f]+ "
        r"at Contended\.enter:\d+ <0\.\d{6} s>",
        text,
    )
    assert re.search(r"\[stuck\] MonitorContendedEnter .*<still waiting after [\d.]+ s>", text)


def test_a_summary_adds_up_how_long_threads_waited_for_which_object_and_where(jvm: Jvm) -> None:
    words = ["Monitor*", "--filter", "class=Contended*", "--no-drop", "--summary"]
    done = events(*words, "--json", "--", *contended(jvm, 5))
    made = json.loads(done.stdout)
    (waited,) = map(int, re.findall(r"^waited (\d+)$", done.stderr, re.M))
    for kind, name in (("object", "Contended$Cart@"), ("place", "Contended.enter:")):
        [row] = [row for row in made[f"by_{kind}"] if row[kind].startswith(name)]
        assert row["count"] == 5
        assert 5 * 0.03 <= row["total_seconds"] <= waited / 1e9
        assert row["mean_seconds"] == pytest.approx(row["total_seconds"] / 5)
        assert row["mean_seconds"] <= row["max_seconds"] <= row["total_seconds"]
        assert row["event"] == "MonitorContendedEntered"
    [stuck] = [row for row in made["by_object"] if row["object"].startswith("Contended$Vault@")]
    assert (stuck["count"], stuck["unfinished"]) == (1, 1)
    # Rates are per second of looking, and what took longest comes first.
    for row in made["by_thread"]:
        assert row["per_second"] == pytest.approx(row["count"] / made["seconds"], abs=0.06)
    totals = [row["total_seconds"] for row in made["by_object"]]
    assert totals == sorted(totals, reverse=True)


@pytest.mark.parametrize(
    "words",
    [
        ["MethodExit"],
        ["MethodE*"],
        ["MethodEntry", "MethodExit"],
        ["MonitorContendedEntered"],
        ["MonitorContendedEnter", "MonitorContendedEntered"],
        ["Monitor*", "MethodExit"],
    ],
    ids=" ".join,
)
def test_a_least_duration_works_in_every_spelling(jvm: Jvm, words: list[str]) -> None:
    further = ["--filter", "class=Contended*", "--min-duration", "0.02", "--json"]
    done = events(*words, *further, "--", *contended(jvm, 2))
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert all(row["duration"] >= 20_000_000 for row in rows)
    ends = [row for row in rows if "unfinished" not in row]
    assert {row["event"] for row in ends} <= {"MethodExit", "MonitorContendedEntered"}
    if "MethodExit" in words or words == ["MethodE*"]:
        methods = [row["method"] for row in ends if row["event"] == "MethodExit"]
        assert {name: methods.count(name) for name in ("enter", "book", "hold")} == {
            "enter": 2,
            "book": 2,
            "hold": 2,
        }
    if words[0].startswith("Monitor"):
        entered = [row for row in ends if row["event"] == "MonitorContendedEntered"]
        assert len(entered) == 2


# filters ------------------------------------------------------------------------------------


def test_a_class_without_its_package_and_any_frame_of_the_stack_are_found(jvm: Jvm) -> None:
    words = ["Exception", "--no-drop", "--filter", "exception=IllegalStateException"]
    done = events(*words, "--filter", "frame=Workload.calls", "--", *java(jvm, "calls"))
    # Each is thrown once more at the end of its `finally`.
    assert done.stdout.count("exception=java.lang.IllegalStateException") == 2 * CALLS["fail"]
    assert "    at " not in done.stdout
    done = events(*words, "--filter", "frame=Nobody", "--", *java(jvm, "calls"))
    assert done.stdout == ""
    assert "14 events seen, 0 matched" in done.stderr


def test_a_filter_that_matches_nothing_reports_what_occurs(java_program: JavaPrograms) -> None:
    program = java_program("Contended", jvm_args=["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"])
    program.expect("ready")
    program.send("500")
    words = ["MonitorContendedEntered", "--filter", "class=com.acme.*", "--duration", "4"]
    done = events(str(program.pid), *words)
    assert re.search(r"^jvmti: [1-9]\d* seen in the last second, 0 matched in ", done.stderr, re.M)
    assert "class: Contended$Cart (" in done.stderr
    # A filter that this side applies has seen all of them.
    words = ["MonitorContendedEntered", "--filter", "thread=nobody", "--duration", "4"]
    done = events(str(program.pid), *words)
    assert re.search(r"^jvmti: [1-9]\d* seen, 0 matched in ", done.stderr, re.M)
