"""``jvmti heap``: what it prints, and how it ends."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import programs
from command_line import here

pytestmark = pytest.mark.oldest_and_newest

COMMAND = [sys.executable, "-m", "jvmti", "heap"]


def run(*words: str | int) -> subprocess.CompletedProcess[str]:
    return here("heap", *words)


def printed(*words: str | int) -> str:
    ended = run(*words)
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""
    return ended.stdout


def test_the_histogram_shows_what_takes_most(program: programs.JavaProgram) -> None:
    text = printed("histogram", program.pid, "Holdings$*")
    assert "10,000" in text
    lines = [line for line in text.splitlines() if line.endswith(" app")]
    assert lines[0].split()[2] == "Holdings$Item"
    everything = printed("histogram", program.pid, "--top", 3, "--sort", "count")
    assert len(everything.splitlines()) == 6
    assert "more; --top" in everything


def test_the_histogram_as_json_can_be_compared_with_later(
    changing: programs.JavaProgram, tmp_path: Path
) -> None:
    before = tmp_path / "before.json"
    before.write_text(printed("histogram", changing.pid, "--json"))
    found = json.loads(before.read_text())
    by_name = {one["name"]: one for one in found["classes"]}
    assert by_name["Holdings$Order"]["count"] == 1000
    assert by_name["Holdings$Order"]["loader"] == "app"
    assert found["total_count"] == sum(one["count"] for one in found["classes"])
    changing.ask("add 50")
    later: Any = json.loads(
        printed("histogram", changing.pid, "Holdings$*", "--diff", before, "--json")
    )
    assert {one["name"]: one["count"] for one in later["classes"]} == {
        "Holdings$Order": 50,
        "Holdings$Item": 500,
    } | (
        {"Holdings$Item[]": 50}
        if "Holdings$Item[]" in {c["name"] for c in later["classes"]}
        else {}
    )
    assert "+50" in printed("histogram", changing.pid, "Holdings$Order", "--diff", before)


def test_watching_the_histogram_ends_with_control_c(program: programs.JavaProgram) -> None:
    with subprocess.Popen(
        [*COMMAND, "histogram", str(program.pid), "--watch", "0.2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as watching:
        assert watching.stdout is not None
        heads = 0
        until = time.monotonic() + 30
        while heads < 2 and time.monotonic() < until:
            heads += "OBJECTS GROWN" in watching.stdout.readline()
        watching.send_signal(signal.SIGINT)
        _, errors = watching.communicate(timeout=30)
    assert heads == 2
    assert (watching.returncode, errors) == (0, "")


def test_a_scan_shows_objects_with_their_contents(program: programs.JavaProgram) -> None:
    found = json.loads(
        printed("scan", program.pid, "Holdings$Order", "--where", "(number < 10) & paid", "--json")
    )
    assert found["count"] == 5
    numbers = sorted(one["fields"]["number"] for one in found["objects"])
    assert numbers == [0, 2, 4, 6, 8]
    text = printed("scan", program.pid, "java.lang.String", "--containing", "secret of the map")
    assert "secret of the map" in text
    text = printed("scan", program.pid, "int[]", "--where", "length == 5", "--top", 1000)
    assert "3 1 4 1 5" in text
    assert "numbers=" not in text


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("scan", "PID"), 2, "pattern for classes is missing"),
        (("scan", "PID", "com.nobody.*"), 1, "no class that is loaded matches"),
        (("scan", "PID", "Holdings$Order", "--where", "total +"), 2, "SyntaxError"),
        (("scan", "PID", "Holdings$Order", "--where", "nothing > 1"), 2, "the columns are half"),
        (("scan", "PID", "Holdings$Order", "--where", "total"), 2, "true or false"),
        (("scan", "PID", "Holdings$Order", "--max-pause", "1e-9"), 1, "the limit is"),
        ((), 2, "a verb is missing: histogram"),
        (("histogram",), 2, "target is missing"),
        (("histogram", "no such program"), 3, "no such program"),
        (
            ("histogram", "PID", "com.nobody.*"),
            1,
            "no class that has objects matches 'com.nobody.*'",
        ),
        # loaded, with no object of it: not unknown
        (("histogram", "PID", "java.lang.Math"), 1, "no class that has objects matches"),
        (("histogram", "PID", "--diff", "/nonexistent"), 2, "cannot be read"),
        (("histogram", "PID", "--diff", "-1"), 2, ""),
        (("histogram", "PID", "--diff", __file__), 2, "was not written by"),
        (("histogram", "PID", "--watch", "--json"), 2, "neither"),
        (("histogram", "PID", "--top", "0"), 2, "not a positive number"),
    ],
)
def test_wrong_use_says_what_is_wrong(
    program: programs.JavaProgram, words: tuple[str, ...], code: int, message: str
) -> None:
    ended = run(*(str(program.pid) if word == "PID" else word for word in words))
    assert ended.returncode == code, ended.stderr
    assert message in ended.stderr
    assert "Traceback" not in ended.stderr
