"""`jvmti top` with a running JVM."""

from __future__ import annotations

import json
import os
import pty
import select
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from command_line import done, here
from jvmti.commands.top.views import head
from jvmti.commands.top.watching import Picture
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
    for word in ("processors", "threads", "allocates", "heap", "collections"):
        assert word in shown.stdout
    methods, threads = shown.stdout.split("\nmethods\n")[1].split("\nthreads\n")
    assert methods.splitlines()[1].endswith("Waiting.working")
    row = threads.splitlines()[1].split()
    assert row[-2:] == ["worker", "Waiting.working"]
    assert float(row[0].rstrip("%")) > 2  # of a machine that others use, too


def test_it_is_json(busy: JavaProgram) -> None:
    found = json.loads(done("top", busy.pid, "--once", "--json", "--interval", 1))
    assert found["processors"] > 0.02
    assert found["heap"]["used"] <= found["heap"]["committed"] <= found["heap"]["maximum"]
    top = found["views"]["methods"][0]
    assert top["name"] == "Waiting.working"
    assert 0.02 < top["own"] <= 1.3 * found["seconds"]
    assert set(found["views"]) == {"methods", "threads", "allocation", "locks"}
    assert found["missing"] == {}
    for words in (["--once", "--view", "locks"], ["--json", "--duration", 1]):
        assert "prints everything once" in here("top", busy.pid, *words).stderr


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


def test_one_collection_is_one() -> None:
    picture = Picture()
    picture.collections = 1
    assert "1 collection, " in str(head(picture))


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
