"""`jvmti profile` with several JVMs: all that a program starts, or several that run already."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import jvmti
from command_line import COMMAND, begun, here
from jvms import QUICK

if TYPE_CHECKING:
    from collections.abc import Callable

    from jvms import Jvm
    from programs import JavaPrograms

pytestmark = pytest.mark.file_in_turn


@pytest.fixture
def script(jvm: Jvm, java_classes: Callable[..., Path], tmp_path: Path) -> Callable[[str], Path]:
    """Makes an executable script, in whose lines ``java:NAME`` starts a program."""

    def written(text: str) -> Path:
        def start(found: re.Match[str]) -> str:
            name = found[1]
            return f"{jvm.java} {' '.join(jvm.args)} -cp {java_classes(name)} {name}"

        path = tmp_path / "start.sh"
        # What reads from the third descriptor waits.
        pipe = f"{tmp_path}/pipe"
        head = f"#!/bin/sh\n[ -p {pipe} ] || mkfifo {pipe}\nexec 3<>{pipe}\n"
        path.write_text(head + re.sub(r"java:(\w+)", start, text))
        path.chmod(0o755)
        return path

    return written


def seconds_by_process(found: Any) -> dict[str, float]:
    return {one["name"]: one["total"] / 1e9 for one in found["kinds"]["cpu"]["top"]}


def ended(pid: str) -> bool:
    try:
        return "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return True


def test_all_jvms_of_a_script_are_one_profile(script: Callable[[str], Path]) -> None:
    # One after another and two at once; each works for half a second before its main method.
    path = script("java:Starting\njava:Starting &\njava:Starting\nwait\nexit 9\n")
    shown = here("profile", "--follow", "--by", "process", "--json", "--", path)
    assert shown.returncode == 9, shown.stderr
    used = seconds_by_process(json.loads(shown.stdout))
    assert len(used) == 3, used
    for name, seconds in used.items():
        assert re.fullmatch(r"\d+ Starting", name)
        assert f"profiling {name}" in shown.stderr
        assert 0.45 < seconds < 1.5


def test_jvms_that_java_starts_are_followed(
    jvm: Jvm, java_classes: Callable[..., Path], tmp_path: Path
) -> None:
    parent, child = java_classes("Parent"), java_classes("Starting")
    java = [jvm.java, *jvm.args]
    file = tmp_path / "both.parquet"
    words = [*java, "-cp", parent, "Parent", *java, "-cp", child, "Starting"]
    command = [*COMMAND, "profile", "--follow", "--wall", "-o", str(file), "--", *map(str, words)]
    shown = subprocess.run(command, input="run\n", capture_output=True, text=True, check=False)
    assert shown.returncode == 0, shown.stderr
    processes = jvmti.profile.open(file).by("process")
    assert sorted(name.split()[1] for name in processes) == ["Parent", "Starting"]
    (child_samples,) = (part for name, part in processes.items() if name.endswith("Starting"))
    assert child_samples.share("Starting.<clinit>") > 0


def test_a_script_without_follow_is_told_of_it(script: Callable[[str], Path]) -> None:
    shown = here("profile", "--", script("java:Endings exit\njava:Endings exit\n"))
    assert shown.returncode == 3, shown.stderr
    assert "others have no samples; --follow" in shown.stderr


def test_ctrl_c_and_the_duration_end_all_jvms(script: Callable[[str], Path]) -> None:
    lines = "java:Waiting <&3 &\njava:Waiting <&3\njava:Waiting <&3\n"
    path = script(lines)
    words = ("profile", "--follow", "--wall", "--by", "process", "--json")
    with begun(*words, "--", path) as running:
        assert running.stderr is not None
        pids: list[str] = []
        while len(pids) < 2:
            line = running.stderr.readline()
            pids += re.findall(r"profiling (\d+) Waiting", line)
        time.sleep(1.5)
        running.send_signal(signal.SIGINT)
        out, errors = running.communicate(timeout=60)
    assert running.returncode == 0, errors
    processes = {one["name"] for one in json.loads(out)["kinds"]["wall"]["top"]}
    assert processes == {f"{pid} Waiting" for pid in pids}
    assert all(map(ended, pids))
    # The time counts from the program's start, whenever its JVMs begin.
    began = time.monotonic()
    shown = here(*words, "--duration", 4, "--", script("sleep 1.5\n" + lines))
    assert time.monotonic() - began < 20
    assert shown.returncode == 0, shown.stderr
    found = json.loads(shown.stdout)
    assert 0.5 < max(one["ended"] - one["began"] for one in found["limits"]) / 1e9 < 3
    assert all(map(ended, re.findall(r"profiling (\d+) Waiting", shown.stderr)))


def test_jvms_outlive_the_script_that_started_them(script: Callable[[str], Path]) -> None:
    path = script("java:Starting &\nexit 7\n")
    shown = here("profile", "--follow", "--by", "process", "--json", "--", path)
    assert shown.returncode == 7, shown.stderr
    (seconds,) = seconds_by_process(json.loads(shown.stdout)).values()
    assert seconds > 0.45
    assert "has ended, but what it started has not" in shown.stderr


def test_a_jvm_that_cannot_start_or_ends_at_once_costs_the_others_nothing(
    script: Callable[[str], Path],
) -> None:
    path = script("java:Nowhere\njava:Endings halt\njava:Starting\n".replace("Nowhere", "Endings"))
    text = path.read_text().replace("Endings\n", "Nowhere\n", 1)
    path.write_text(text)
    shown = here("profile", "--follow", "--by", "process", "--json", "--", path)
    assert shown.returncode == 0, shown.stderr
    used = seconds_by_process(json.loads(shown.stdout))
    assert max(used, key=used.__getitem__).endswith(" Starting")
    assert "Nowhere" in shown.stderr


def test_a_program_without_a_jvm_is_a_sentence() -> None:
    shown = here("profile", "--follow", "--", "sh", "-c", "exit 5")
    assert shown.returncode != 0
    assert "before a JVM of it had connected" in shown.stderr
    shown = here("profile", "--follow", "--duration", 1, "--", "sleep", "60")
    assert shown.returncode != 0
    assert "no JVM connected within 1 s" in shown.stderr


def test_several_targets_are_one_profile(java_program: JavaPrograms, tmp_path: Path) -> None:
    one, two = (java_program("Serving", jvm_args=["-Xmx64m", *QUICK]) for _ in range(2))
    for program in (one, two):
        program.expect("ready")
    assert one.ask("hang") == "hanging"
    shown = here("profile", one.pid, two.pid, "--duration", 1, "--by", "process", "--json")
    assert shown.returncode == 0, shown.stderr
    used = seconds_by_process(json.loads(shown.stdout))
    assert used[f"{one.pid} Serving"] > 10 * used.get(f"{two.pid} Serving", 0)
    # One that ends keeps its samples, and the other goes on.
    file = tmp_path / "both.parquet"
    words = ("profile", one.pid, two.pid, "--wall", "--duration", 60, "-o", file)
    with begun(*words) as running:
        time.sleep(4)
        one.stop()
        time.sleep(1)
        assert running.poll() is None
        two.stop()
        _, errors = running.communicate(timeout=60)
    assert running.returncode == 0, errors
    assert set(jvmti.profile.open(file).by("process")) == {f"{x.pid} Serving" for x in (one, two)}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["4711", "--follow"], "--follow is for a program that is started: -- java"),
        (["--follow", "--loop", "1", "-o", "x-%t.pb.gz", "--", "java"], "leave out --loop"),
        (["--follow", "--request", "A.b", "--", "java"], "leave out --request"),
        (["4711", "4712", "--loop", "1", "-o", "x-%t.pb.gz"], "leave out --loop"),
        (["{0}", "{0}"], "is named twice"),
        (["{0}", "x.parquet"], "one file at a time"),
        (["{0}", "NoSuchProgramAnywhere"], "NoSuchProgramAnywhere"),
        (["--follow", "--interval", "4g", "--alloc", "--", "{1}"], "is not from 1 byte to 2 GB"),
    ],
)
def test_mistakes_are_sentences(
    java_program: JavaPrograms, script: Callable[[str], Path], words: list[str], why: str
) -> None:
    pid = java_program("Idle", jvm_args=QUICK).pid if "{0}" in words else 0
    path = script("java:Waiting <&3\n") if "{1}" in words else ""
    shown = here("profile", *(word.format(pid, path) for word in words))
    assert shown.returncode != 0
    assert why in shown.stderr
    assert "Traceback" not in shown.stderr
