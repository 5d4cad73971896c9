"""`jvmti profile` with a running JVM."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import jvmti
from command_line import begun, done, here, imports
from jvms import QUICK
from prepared import Prepared

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jvms import Jvm
    from programs import JavaProgram, JavaPrograms


pytestmark = pytest.mark.file_in_turn


@pytest.fixture(scope="module")
def serving(shared_java_program: JavaPrograms) -> JavaProgram:
    program = shared_java_program("Serving", jvm_args=["-Xmx128m"])
    program.expect("ready")
    return program


@contextlib.contextmanager
def hanging(serving: JavaProgram) -> Iterator[None]:
    """Two of its threads work until the end of the block."""
    assert serving.ask("hang") == "hanging"
    try:
        yield
    finally:
        assert serving.ask("on").startswith("spent")


def test_the_methods_that_use_most_are_printed(serving: JavaProgram) -> None:
    with hanging(serving):
        shown = here("profile", serving.pid, "--duration", 0.5, "--interval", "5ms")
    assert shown.returncode == 0, shown.stderr
    assert "cpu samples of" in shown.stdout
    head, *rows = shown.stdout.splitlines()[1:]
    assert head.split() == ["SELF", "%", "TOTAL", "%", "METHOD"]
    assert any(row.endswith("Serving.burn") for row in rows)


@contextlib.contextmanager
def working(serving: JavaProgram, command: str) -> Iterator[None]:
    """It carries out a command again and again until the end of the block."""
    if command == "hang":
        with hanging(serving):
            yield
        return
    over = threading.Event()

    def ask() -> None:
        while not over.is_set():
            serving.ask(command, 60)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        yield
    finally:
        over.set()
        asking.join()


def test_requests_are_printed(serving: JavaProgram) -> None:
    words = ("--by", "Serving.handle(request).path")
    with working(serving, "serve 6"):
        found = json.loads(done("profile", serving.pid, "--duration", 1, *words, "--json"))
    names = [one["name"] for one in found["kinds"]["cpu"]["top"]]
    assert {"/order", "/search", "/broken"} <= set(names)
    assert names.index("/order") < names.index("/broken")
    # Samples that belong to no request are shown all the same: they do not come again.
    with working(serving, "serve 1"):
        shown = here("profile", serving.pid, "--duration", 0.5, "--by", "Serving.main(arg0)")
    assert shown.returncode == 0, shown.stderr
    assert "jvmti: no sample was taken in a call of Serving.main(arg0)" in shown.stderr
    assert re.search(r" 100\.0% +\(none\)", shown.stdout), shown.stdout


@pytest.mark.parametrize(
    ("words", "command", "names"),
    [
        (["--wall", "--by", "state"], "hang", {"parked"}),
        (["--lock", "--by", "owner"], "lock 30", {"server 0", "server 1"}),
        (["--lock", "--by", "group"], "lock 30", {"main"}),
        (["--by", "pool"], "hang", {"server *"}),
    ],
)
def test_samples_are_printed_by_whose_they_are(
    serving: JavaProgram, words: list[str], command: str, names: set[str]
) -> None:
    with working(serving, command):
        shown = here("profile", serving.pid, "--duration", 1, *words)
    assert shown.returncode == 0, shown.stderr
    _, head, *rows = shown.stdout.splitlines()
    assert head.split() == ["TIME", "%", words[-1].upper()]
    found = {row.split("%", 1)[1].strip() for row in rows}
    if "owner" in words:  # from 23 on nothing tells who keeps a monitor's first waiter waiting
        assert found, shown.stdout
        assert found <= names | {"(unknown)"}, shown.stdout
    else:
        assert names <= found, shown.stdout


def test_a_file_is_written_and_opened_again(serving: JavaProgram, tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    with hanging(serving):
        here("profile", serving.pid, "--duration", 0.5, "-o", file)
    assert jvmti.profile.open(file).share("Serving.burn") > 0.5
    page = tmp_path / "flame.html"
    assert here("profile", file, "-o", page).returncode == 0
    assert "Serving.burn" in page.read_text()


def test_a_program_is_profiled_from_its_start(jvm: Jvm, java_classes: Callable[..., Path]) -> None:
    program = [jvm.java, *jvm.args, "-cp", java_classes("Starting"), "Starting"]
    found = json.loads(done("profile", "--json", "--top", 10_000, "--", *program))
    used = {one["name"]: one["total"] / 1e9 for one in found["kinds"]["cpu"]["top"]}
    # Half a second of a processor before its main method begins, and its end right after.
    assert 0.45 < used["Starting.<clinit>"] < 0.6


def threads_of(program: JavaProgram) -> set[str]:
    """The names that the kernel has for its threads, those of the agent among them."""
    names = set()
    for task in Path(f"/proc/{program.pid}/task").iterdir():
        with contextlib.suppress(OSError):  # it has ended
            names.add((task / "comm").read_text().strip())
    return names


def test_flight_recorder_takes_the_samples_if_asked_to(serving: JavaProgram) -> None:
    with hanging(serving):
        shown = here("profile", serving.pid, "--duration", 3, "--source", "jfr", "--json")
    if "has no Flight Recorder" in shown.stderr:
        pytest.skip("this JVM has no Flight Recorder")
    assert shown.returncode == 0, shown.stderr
    found = json.loads(shown.stdout)
    assert found["limits"][0]["engine"].startswith("JFR")
    refused = here("profile", serving.pid, "--duration", 1, "--source", "jfr", "--engine", "perf")
    assert refused.returncode == 2
    assert "--engine is for --source agent" in refused.stderr


def test_several_kinds_have_intervals_of_their_own(serving: JavaProgram, tmp_path: Path) -> None:
    file = tmp_path / "all.parquet"
    words = ("--cpu", "--alloc", "--live", "--interval", "cpu=2ms,alloc=64k,live=64k", "-o", file)
    with working(serving, "allocate 20"):
        done("profile", serving.pid, "--duration", 0.5, *words)
    limits = {one.kind.name: one.interval for one in jvmti.profile.open(file).limits}
    # Perhaps nothing of what it allocated is alive.
    assert {**limits, "LIVE": 65536} == {"CPU": 0.002, "ALLOC": 65536, "LIVE": 65536}


def test_a_kind_without_samples_is_named(serving: JavaProgram) -> None:
    with hanging(serving):
        shown = done("profile", serving.pid, "--duration", 0.2, "--cpu", "--lock")
    assert shown.splitlines()[-1] == "no lock samples"


def test_a_loop_writes_a_file_for_each_time(serving: JavaProgram, tmp_path: Path) -> None:
    with hanging(serving):
        words = ("--loop", 1, "--duration", 2, "-o", tmp_path / "p-%t.pb.gz")
        shown = here("profile", serving.pid, *words)
    assert shown.returncode == 0, shown.stderr
    files = sorted(tmp_path.iterdir())
    assert len(files) == 2
    first, second = map(jvmti.profile.open, files)
    assert first.share("Serving.burn") > 0.5
    assert 0 <= second.began - first.ended < 500_000_000
    # Two in a second are two files.
    words = ("--loop", 0.2, "--duration", 0.8, "-o", tmp_path / "often-%t.collapsed")
    shown = here("profile", serving.pid, *words)
    assert shown.returncode == 0, shown.stderr
    assert len(list(tmp_path.glob("often-*"))) == len(shown.stderr.splitlines()) >= 3


def test_a_loop_has_the_chosen_threads_and_ends_well_at_once(
    serving: JavaProgram, tmp_path: Path
) -> None:
    words = ["-m", "jvmti", "profile", str(serving.pid), "--wall", "--loop", "60"]
    words += ["--thread", "Reference*", "-o", str(tmp_path / "p-%t.parquet")]
    with Prepared(words, imports(), stderr=subprocess.PIPE, text=True) as running:
        while "jvmti profiler" not in threads_of(serving):
            time.sleep(0.1)
        time.sleep(0.5)
        running.send_signal(signal.SIGINT)
        _, shown = running.communicate(timeout=30)
    assert running.returncode == 0, shown
    (file,) = tmp_path.iterdir()
    profile = jvmti.profile.open(file)
    assert set(profile.by("thread")) == {"Reference Handler"}


def test_a_profile_ends_with_the_program(java_program: JavaPrograms, tmp_path: Path) -> None:
    program = java_program("Serving", jvm_args=["-Xmx64m", *QUICK])
    program.expect("ready")
    words = ["-m", "jvmti", "profile", str(program.pid), "--loop", "60", "--wall"]
    words += ["-o", str(tmp_path / "p-%t.parquet")]
    with Prepared(words, imports(), stderr=subprocess.PIPE, text=True) as running:
        while "jvmti profiler" not in threads_of(program):
            time.sleep(0.1)
        time.sleep(1)
        program.stop()
        _, shown = running.communicate(timeout=30)
    assert running.returncode == 0, shown
    (file,) = tmp_path.glob("p-*")
    assert len(jvmti.profile.open(file)) > 0


def test_many_short_loops_keep_no_memory(java_program: JavaPrograms, tmp_path: Path) -> None:
    flags = ["-Xms32m", "-Xmx32m", "-XX:+AlwaysPreTouch", *QUICK]
    program = java_program("Serving", jvm_args=flags)
    program.expect("ready")

    def used(pid: int) -> int:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096

    def mapped(pid: int) -> int:
        return len(Path(f"/proc/{pid}/maps").read_text().splitlines())

    sizes: list[tuple[int, int, int]] = []
    with hanging(program):
        words = ["-m", "jvmti", "profile", str(program.pid), "--loop", "20ms"]
        words += ["-o", str(tmp_path / "p-%t.collapsed")]
        with Prepared(words, imports(), stderr=subprocess.PIPE, text=True) as running:
            assert running.stderr is not None
            for line in running.stderr:
                assert "cpu sample" in line
                sizes.append((used(running.pid), used(program.pid), mapped(running.pid)))
                if len(sizes) == 30:
                    break
            running.send_signal(signal.SIGINT)
            running.communicate(timeout=30)
    # Also where Ctrl-C comes while a file is written.
    assert running.returncode == 0
    # What the first loops need stays, such as imports. What loops keep, each keeps; code that gets
    # compiled now or then comes once. Python's allocator takes up to 64 KB more a loop until some
    # hundred, though its objects get no more.
    for side, most in zip(zip(*sizes, strict=True), (160_000, 80_000, 0.5), strict=True):
        grown = [after - before for before, after in itertools.pairwise(side[12:])]
        assert statistics.median(grown) < most, side


def test_ctrl_c_shows_what_there_is(serving: JavaProgram) -> None:
    with hanging(serving):
        words = ["-m", "jvmti", "profile", str(serving.pid), "--duration", "60", "--json"]
        with Prepared(words, imports(), stdout=subprocess.PIPE, text=True) as running:
            while "jvmti profiler" not in threads_of(serving):
                time.sleep(0.1)
            time.sleep(0.5)
            running.send_signal(signal.SIGINT)
            out, _ = running.communicate(timeout=30)
    assert running.returncode == 0
    assert json.loads(out)["kinds"]["cpu"]["samples"] > 0


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--by", "request"], "--by request needs --request"),
        (["--by", "A.b(c)", "--request", "A.b(c)"], "are the same: give one of them"),
        (["--by", "thraed"], "did you mean 'thread'"),
        (["--by", "owner"], "--by owner is for --lock: cpu samples have no owner"),
        (["--alloc", "--by", "state"], "--by state is for --wall and --lock: alloc samples"),
        (["--by", "line", "-o", "x.html"], "--by line is for the table: with a file"),
        (["--by", "thread", "-o", "x.parquet"], "Parquet keeps all columns"),
        (["--request", "Serving.hang(nobody).path"], "has no such value"),
        (["--request", "Servant.hang"], "no loaded class matches 'Servant'"),
        (["--interval", "soon"], "--interval"),
        (["--interval", "wall=1ms"], "--interval: 'wall' is none of cpu"),
        (["-e", "alloc"], "here it is one of --cpu, --wall, --alloc"),
        (["--rate=100"], "here it is --interval, the time from one sample to the next"),
        (["-d10"], "here it is --duration"),
        (["--engine", "steam"], "there are perf, timer, deltas"),
        (["--wall", "--engine", "perf"], "--engine perf takes no samples of wall"),
        (["--alloc", "--live", "--interval", "live=64k"], "give both the same --interval"),
        (["--alloc", "--interval", "4g"], "is not from 1 byte to 2 GB"),
        (["-o", "x.pdf"], "x.pdf"),
        (["-o", "x.html", "-o", "y.html"], "one file at a time"),
        # Before a profile is taken, not after it.
        (["--lock", "--live", "-o", "x.collapsed"], "choose one: --lock or --live"),
        (["--loop", "1"], "--loop needs a name with the time in it"),
        (["--loop", "1", "-o", "p-%t.html", "--from", "1"], "--from and --to are for one profile"),
        (["--tree", "-o", "x.html"], "either --tree or a file"),
        (["--callers", "Serving.burn", "-o", "x.html"], "either --callers or a file"),
    ],
)
def test_mistakes_are_sentences(serving: JavaProgram, words: list[str], why: str) -> None:
    shown = here("profile", serving.pid, "--duration", 1, *words)
    assert shown.returncode != 0
    assert why in shown.stderr
    assert "Traceback" not in shown.stderr


def test_a_program_that_ends_by_itself_gives_its_exit_code(
    jvm: Jvm, java_classes: Callable[..., Path], tmp_path: Path
) -> None:
    java = f"{jvm.java} {' '.join(jvm.args)} -cp {java_classes('Endings')} Endings"
    shown = here("profile", "--", *java.split(), "exit")
    assert shown.returncode == 3, shown.stderr
    # A script goes on to its end, too, and it is said which of its JVMs it was.
    script = tmp_path / "start.sh"
    script.write_text(f"#!/bin/sh\n{java} exit\ntouch {tmp_path}/later\nexit 9\n")
    script.chmod(0o755)
    shown = here("profile", "--", script)
    assert shown.returncode == 9, shown.stderr
    assert "Endings, the first JVM that the program has started; others have no" in shown.stderr
    assert (tmp_path / "later").exists()


def test_the_jvm_of_a_script_ends_with_the_profile(
    jvm: Jvm, java_classes: Callable[..., Path], tmp_path: Path
) -> None:
    java = f"{jvm.java} {' '.join(jvm.args)} -cp {java_classes('Waiting')} Waiting"
    script = tmp_path / "start.sh"
    script.write_text(f"#!/bin/sh\n{java} < /dev/zero\nexit 9\n")
    script.chmod(0o755)
    shown = here("profile", "--duration", 0.5, "--", script)
    assert shown.returncode == 0, shown.stderr
    pid = re.search(r"profiling (\d+) Waiting", shown.stderr)
    assert pid is not None
    until = time.monotonic() + 30
    while Path(f"/proc/{pid[1]}").exists():
        assert time.monotonic() < until, "the JVM is left behind"
        time.sleep(0.1)


def test_a_file_that_cannot_be_written_is_shown_instead(
    serving: JavaProgram, tmp_path: Path
) -> None:
    folder = tmp_path / "profiles"
    folder.mkdir()
    words = ("profile", serving.pid, "--duration", 60, "-o", folder / "a.collapsed")
    with hanging(serving), begun(*words) as running:
        while "jvmti profiler" not in threads_of(serving):
            time.sleep(0.1)
        time.sleep(0.5)
        folder.rmdir()
        running.send_signal(signal.SIGINT)
        out, shown = running.communicate(timeout=30)
    assert running.returncode == 1
    why = "cannot be written: No such file or directory; this is in it:"
    assert f"jvmti: {folder}/a.collapsed {why}" in shown
    assert "Serving.burn" in out


def test_a_loop_goes_on_when_a_file_cannot_be_written(serving: JavaProgram, tmp_path: Path) -> None:
    folder = tmp_path / "profiles"
    folder.mkdir()
    words = ("profile", serving.pid, "--loop", 0.5, "-o", folder / "p-%t.collapsed")
    with hanging(serving), begun(*words) as running:
        assert running.stderr is not None
        assert "cpu sample" in running.stderr.readline()
        shutil.rmtree(folder)
        line = running.stderr.readline()
        while "cpu sample" in line:
            line = running.stderr.readline()
        assert re.search(r"p-\S+\.collapsed cannot be written: No such file or directory", line)
        folder.mkdir()
        while "cpu sample" not in line:
            line = running.stderr.readline()
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=30)
    assert running.returncode == 1
    assert list(folder.iterdir())


def test_a_jvm_that_does_not_answer_is_left_at_the_second_ctrl_c(
    java_program: JavaPrograms,
) -> None:
    program = java_program("Serving", jvm_args=["-Xmx64m", *QUICK])
    program.expect("ready")
    with hanging(program), begun("profile", program.pid, "--cpu", "--alloc") as running:
        while "jvmti profiler" not in threads_of(program):
            time.sleep(0.1)
        time.sleep(1.5)
        os.kill(program.pid, signal.SIGSTOP)
        try:
            running.send_signal(signal.SIGINT)
            assert running.stderr is not None
            assert "the JVM has not answered yet; Ctrl-C does" in running.stderr.readline()
            began = time.monotonic()
            running.send_signal(signal.SIGINT)
            out, _ = running.communicate(timeout=60)
            # The farewell alone took ten seconds.
            assert time.monotonic() - began < 9
        finally:
            os.kill(program.pid, signal.SIGCONT)
    assert running.returncode == 0
    assert "Serving.burn" in out
