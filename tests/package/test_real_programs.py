"""Programs that nobody here wrote, looked at while they work.

The big ones (a PySpark driver, a server from the Maven repository, a compiler in a large source
tree) take minutes and downloads: `scripts/real_programs.py` runs them and writes
docs/real_programs.md. Here are two that the JVMs of the tests bring along.
"""

from __future__ import annotations

import os
import threading
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import compiler
import jvms
import jvmti
from jvmti.commands.conformance import BROKEN, RETURNED, conformance
from package import mixed_session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jvms import Jvm
    from programs import JavaProgram, JavaPrograms

pytestmark = pytest.mark.timeout(300)


def look(program: JavaProgram) -> mixed_session.Seen:
    """Look at a working program twice, each time with a session of its own."""
    for _ in range(2):
        with jvmti.attach(program.pid, timeout=60) as vm:
            seen = mixed_session.look_at_everything(vm, most_methods=20_000, most_objects=2_000)
            rows = list(conformance(vm))
    assert program.running()
    assert seen.threads > 5
    assert seen.frames > 20
    assert seen.classes > 450
    assert seen.methods > 4000
    assert seen.constants > 50_000
    assert seen.objects > 100
    assert seen.values > 50
    assert [row for row in rows if row.outcome == BROKEN] == []
    assert sum(row.outcome == RETURNED for row in rows) > 250
    return seen


@pytest.fixture
def compiling(jvm: Jvm, java_program: JavaPrograms, tmp_path: Path) -> JavaProgram:
    """The Eclipse compiler, which compiles the tests' programs over and over."""
    jar = jvms.INSTALLED / "ecj" / "ecj.jar"
    if not jar.exists():
        pytest.skip("the Eclipse compiler is not installed; `make java` does")
    if jvm.feature < 17:
        pytest.skip("the Eclipse compiler needs Java 17")
    sources = sorted(map(str, compiler.SOURCES.glob("*.java")))
    # Nothing is written, and it goes on for longer than any test.
    options = ["-11", "-proc:none", "-nowarn", "-d", "none", "-repeat", "100000"]
    return java_program.start(["-jar", str(jar), *options, *sources])


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_compiler_at_work_shows_all_that_it_does(compiling: JavaProgram) -> None:
    while processor_seconds(compiling.pid) < 5:
        assert compiling.running(), compiling.stderr
        time.sleep(0.1)
    assert look(compiling).lines > 10_000
    compiling.kill()


@contextmanager
def load(address: str) -> Iterator[list[int]]:
    """Ask a server for a page again and again; the list holds the number of answers."""
    answers = [0]
    leaving = threading.Event()

    def ask() -> None:
        while not leaving.is_set():
            with urllib.request.urlopen(address, timeout=20) as answer:
                answer.read()
            answers[0] += 1

    clients = [threading.Thread(target=ask, daemon=True) for _ in range(2)]
    for client in clients:
        client.start()
    try:
        yield answers
    finally:
        leaving.set()
        for client in clients:
            client.join(30)


def more(answers: list[int], wanted: int, seconds: float = 60) -> bool:
    """Whether there are so many more answers before long."""
    enough = answers[0] + wanted
    deadline = time.monotonic() + seconds
    while answers[0] < enough and time.monotonic() < deadline:
        time.sleep(0.05)
    return answers[0] >= enough


def test_a_server_under_load_goes_on_answering(java_program: JavaPrograms, jvm: Jvm) -> None:
    if jvm.feature < 18:
        pytest.skip("the JDK has had a server since 18")
    program = java_program.start(
        ["-m", "jdk.httpserver", "-b", "127.0.0.1", "-p", "0"], ends_with_input=False
    )
    while not (line := program.read_line(60)).startswith("URL"):
        pass
    with load(line.split()[-1]) as answers:
        assert more(answers, 50), f"{answers[0]} answers before anybody looked"
        before = answers[0]
        look(program)
        meanwhile = answers[0] - before
        assert meanwhile > 0, "no answer while somebody looked"
        assert more(answers, 50), f"{answers[0] - before - meanwhile} answers afterwards"
    program.kill()
