"""`jvmti top` with a running JVM."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import jvmti
import terminals
from command_line import begun, done, here
from jvmti.commands.top.process_use import ProcessUse
from jvmti.commands.top.views import head
from jvmti.commands.top.watching import Meter, Picture
from prepared import Prepared

if TYPE_CHECKING:
    from collections.abc import Iterator

    from programs import JavaProgram, JavaPrograms


pytestmark = pytest.mark.file_in_turn


@pytest.fixture(scope="module")
def busy(shared_java_program: JavaPrograms) -> JavaProgram:
    program = shared_java_program("Waiting", jvm_args=["-Xmx128m"])
    program.expect("ready")
    program.ask("busy")
    return program


def test_one_picture_is_printed(busy: JavaProgram) -> None:
    shown = here("top", busy.pid, "--once", "--interval", 1)
    assert shown.returncode == 0, shown.stderr
    for word in ("processors", "threads", "resident", "allocates", "heap", "collection pauses"):
        assert word in shown.stdout
    methods, threads = shown.stdout.split("\nmethods\n")[1].split("\nthreads\n")
    assert methods.splitlines()[1].endswith("Waiting.working")
    row = threads.splitlines()[1].split()
    assert row[-2:] == ["worker", "Waiting.working"]
    assert float(row[0].rstrip("%")) > 2  # of a machine that others use, too


def test_it_is_json(busy: JavaProgram) -> None:
    (line,) = done("top", busy.pid, "--once", "--json", "--interval", 1).splitlines()
    found = json.loads(line)
    assert found["processors"] > 0.02
    heap = found["heap_bytes"]
    assert heap["used"] <= heap["committed"] <= heap["maximum"]
    top = found["views"]["methods"][0]
    assert top["name"] == "Waiting.working"
    assert 0.02 < top["own_seconds"] <= 1.3 * found["length_seconds"]
    assert set(found["views"]) == {"methods", "threads", "allocation", "locks"}
    assert found["missing"] == {}
    for words in (["--once", "--view", "locks"], ["--json", "--view", "locks"]):
        assert "prints all of them" in here("top", busy.pid, *words).stderr
    assert "leave out --duration" in here("top", busy.pid, "--once", "--duration", 1).stderr


def test_json_goes_on_with_a_line_for_each_interval(busy: JavaProgram) -> None:
    with begun("top", busy.pid, "--json", "--interval", 0.2) as running:
        assert running.stdout is not None
        pictures = [json.loads(running.stdout.readline()) for _ in range(3)]
        # As `head` does.
        running.stdout.close()
        assert running.wait(30) == 0
        assert running.stderr is not None
        assert running.stderr.read() == ""
    times = [one["ended_epoch_seconds"] for one in pictures]
    assert times == sorted(set(times))


def test_the_threads_of_the_agent_are_counted_apart(busy: JavaProgram) -> None:
    with jvmti.attach(busy.pid) as vm, Meter(vm) as meter:
        meter.sample("cpu")
        names = [one.read_text() for one in Path(f"/proc/{busy.pid}/task").glob("*/comm")]
        assert sum(name.startswith("jvmti ") for name in names) >= 3
        picture = meter.picture()
        assert picture.threads == sum(not name.startswith("jvmti ") for name in names)
        # Some work for the agent.
        for _ in range(300):
            vm.threads.names(list(vm.threads))
        assert 0 < meter.picture().agent < 1.2


_SHORT = """
import threading, time
def work():
    until = time.thread_time() + 0.02
    while time.thread_time() < until:
        pass
for _ in range(20):
    one = threading.Thread(target=work)
    one.start()
    one.join()
print(time.process_time(), flush=True)
input()
"""


def test_the_memory_of_the_process_is_what_the_kernel_says(busy: JavaProgram) -> None:
    found = json.loads(here("top", busy.pid, "--once", "--json", "--interval", 0.2).stdout)
    status = Path(f"/proc/{busy.pid}/status").read_text()
    resident = int(status.partition("VmRSS:")[2].split()[0]) * 1024
    assert found["resident_bytes"] == pytest.approx(resident, rel=0.1)


def test_the_time_of_threads_that_have_ended_counts() -> None:
    command = [sys.executable, "-c", _SHORT]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        used = float(program.stdout.readline())
        assert used > 0.4
        assert ProcessUse(program.pid).read().seconds == pytest.approx(used, abs=0.05)


def test_less_than_a_sample_of_allocation_is_not_nothing(tmp_path: Path) -> None:
    (tmp_path / "one.collapsed").write_text("A.b 1\n")
    picture = Picture()
    picture.seconds = 2.0
    picture.profiles["alloc"] = jvmti.profile.open(tmp_path / "one.collapsed").where(slice(0))
    assert "allocates below 256 KB/s" in head(picture)[0]


def test_a_pipe_gets_a_picture_after_each_interval(busy: JavaProgram) -> None:
    shown = here("top", busy.pid, "--interval", 0.5, "--duration", 3)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.count("\nmethods\n") >= 2


class Terminal:
    """The command on a terminal of its own."""

    def __init__(self, *words: object) -> None:
        self.master, slave = pty.openpty()
        self.process = Prepared(
            ["-m", "jvmti", "top", *map(str, words)],
            ["jvmti.commands.top", "jvmti.target.attach"],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=os.environ | {"TERM": "xterm", "COLUMNS": "120", "LINES": "30"},
        )
        os.close(slave)
        self.text = ""

    def press(self, keys: str) -> None:
        """Press keys; what was shown before them is forgotten."""
        self.text = ""
        os.write(self.master, keys.encode())

    def shows(self, *wanted: str) -> None:
        """Wait until it shows some texts."""
        until = time.monotonic() + 30
        while not all(one in self.text for one in wanted):
            assert time.monotonic() < until, (wanted, self.text[-2000:])
            if select.select([self.master], [], [], 0.2)[0]:
                self.text += os.read(self.master, 65536).decode(errors="replace")


@pytest.fixture
def terminal(busy: JavaProgram) -> Iterator[Terminal]:
    one = Terminal(busy.pid, "--interval", 0.5)
    yield one
    one.process.kill()
    one.process.wait()
    os.close(one.master)


def test_keys_choose_sort_filter_and_open(terminal: Terminal, busy: JavaProgram) -> None:
    terminal.shows("Waiting.working", "q quit", "methods, by their own")
    terminal.press("t")
    terminal.shows("MOSTLY IN", "worker")
    # Keys that a terminal sends as several characters are no text: page up, F1, an arrow.
    terminal.press("/wor\x1b[5~\x1bOP\x1bOAker\r")
    terminal.shows("with 'worker'")
    terminal.press("\r")
    terminal.shows("worker: ", " ms in ", "Thread.run", "Waiting.working")
    terminal.press("\x1b")
    terminal.shows("MOSTLY IN")
    terminal.press("ms")
    terminal.shows("methods, by what they call", "Waiting.lambda$start")
    terminal.press("l")
    terminal.shows("locks")
    terminal.press(" ")
    terminal.shows("stopped")
    terminal.press("q")
    assert terminal.process.wait(20) == 0
    assert "perf_event" not in str(
        [os.readlink(one) for one in Path(f"/proc/{busy.pid}/fd").iterdir()]
    )


def test_it_fits_any_terminal_at_once(busy: JavaProgram) -> None:
    words = ["-m", "jvmti", "top", str(busy.pid), "--interval", "100"]
    with terminals.Terminal(words, {}) as terminal:
        terminal.wait_for("threads, resident(?s:.*)Waiting.working(?s:.*)q quit")
        terminal.resize(5, 60)
        terminal.wait_for(r"\Amethods, by their own(?s:.*)Waiting.working")
        terminal.resize(20, 60)
        terminal.wait_for("threads(?s:.*)Waiting.working(?s:.*)q quit")
        terminal.type("q")
        assert terminal.end() == 0


def test_it_can_be_stopped_and_goes_on(busy: JavaProgram) -> None:
    enter, leave = b"\x1b[?1049h", b"\x1b[?1049l"
    command = f"{sys.executable} -m jvmti top {busy.pid} --interval 100"
    with terminals.Terminal(["--norc", "-i"], {"PS1": "$ "}, program="bash") as shell:
        shell.wait_for(r"\$")
        shell.type(command + "\r")
        shell.wait_for("methods, by their own(?s:.*)Waiting.working")
        shell.type("\x1a")
        shell.wait_for("Stopped")
        assert shell.raw.count(enter) == shell.raw.count(leave) == 1
        # The shell would set it right for itself, not for what it starts.
        shell.type("stty -a | tr ' ' '\\n' | grep -E '^-?(icanon|echo)$' | paste -sd,\r")
        shell.wait_for("^icanon,echo")
        shell.type("fg\r")
        shell.wait_for("methods, by their own(?s:.*)Waiting.working(?s:.*)q quit")
        assert shell.raw.count(enter) == 2
        shell.type("t")
        shell.wait_for("MOSTLY IN")
        shell.type("q")
        shell.wait_for(r"\$ *\Z")
        assert shell.raw.count(leave) == 2


def test_one_collection_is_one() -> None:
    picture = Picture()
    assert "heap unknown; collection pauses unknown" in head(picture)
    picture.pauses, picture.paused = 1, 0.0
    assert "1 collection pause, " in str(head(picture))


@pytest.mark.parametrize(
    "options",
    [
        ["-XX:+UseShenandoahGC"],
        ["-XX:+UseZGC"],
        ["-XX:+UseG1GC"],
        ["-XX:+UseSerialGC", "-XX:-UsePerfData"],
    ],
)
def test_pauses_are_those_that_the_beans_count(
    java_program: JavaPrograms, options: list[str]
) -> None:
    options = ["-XX:+UnlockExperimentalVMOptions", *options]
    program = java_program("Witness", jvm_args=["-Xmx64m", *options])
    program.expect("ready")
    with jvmti.attach(program.pid) as vm, Meter(vm) as meter:
        counts = [int(program.ask("pauses"))]
        meter.picture()
        counts.append(int(program.ask("pauses")))
        program.ask("gc")
        counts.append(int(program.ask("pauses")))
        picture = meter.picture()
        counts.append(int(program.ask("pauses")))
        assert picture.pauses is not None
        # A collector begins by itself, too.
        assert 0 < counts[2] - counts[1] <= picture.pauses <= counts[3] - counts[0]
        assert picture.paused is not None
        assert picture.paused <= picture.seconds


def test_it_ends_with_its_program(java_program: JavaPrograms) -> None:
    program = java_program("Waiting", jvm_args=["-Xmx64m"])
    program.expect("ready")
    one = Terminal(program.pid, "--interval", 0.3)
    one.shows("methods, by their own")
    program.stop()
    os.set_blocking(one.master, False)
    until = time.monotonic() + 20
    while one.process.poll() is None and time.monotonic() < until:
        try:
            os.read(one.master, 65536)
        except OSError:
            time.sleep(0.05)
    assert one.process.poll() is not None
    os.close(one.master)
