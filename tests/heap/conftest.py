"""What the tests of heaps share: a program whose heap is known, and dumps that real JVMs write.

`program`   it runs, and nobody changes what it holds
`vm`        a session on it
`changing`  one for each test, which may change what it holds
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

import jvmti
from jvmti.interface.signatures import java_name
from jvmti.target import hotspot
from jvmti.target.processes import search

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import programs


class Dumped(NamedTuple):
    """A dump, and the JVM's own histogram of that moment: objects and bytes by class name."""

    path: Path
    histogram: dict[str, tuple[int, int]]


def attach_command(pid: int, name: str, *arguments: str) -> str:
    """Send a command by HotSpot's own attach protocol, as jcmd and jmap do."""
    return hotspot.command(search.inspect(pid), name, *arguments, timeout=60)


def histogram_of(pid: int) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for line in attach_command(pid, "inspectheap", "-all").splitlines():
        columns = line.split()
        if len(columns) >= 4 and columns[0].endswith(":"):
            text = columns[3].replace(".", "/")
            name = java_name(text if text.startswith("[") else f"L{text};")
            count, size = found.get(name, (0, 0))
            found[name] = (count + int(columns[1]), size + int(columns[2]))
    return found


@pytest.fixture
def dump_of(java_program: programs.JavaPrograms, tmp_path: Path) -> Callable[..., Dumped]:
    """Start Dumped with some options of the JVM, and dump its heap."""

    def make(*jvm_args: str, command: tuple[str, ...] = ()) -> Dumped:
        program = java_program("Dumped", jvm_args=list(jvm_args))
        program.expect("ready")
        program.send("c")
        program.expect("collected")
        path = tmp_path / "heap.hprof"
        if command:
            output = attach_command(program.pid, "jcmd", " ".join([*command, str(path)]))
        else:
            output = attach_command(program.pid, "dumpheap", str(path), "-all")
        assert path.exists(), output
        return Dumped(path, histogram_of(program.pid))

    return make


@pytest.fixture(scope="module")
def shared_dump(
    shared_java_program: programs.JavaPrograms, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Dumped]:
    """One dump for all tests of a module."""
    program = shared_java_program("Dumped")
    program.expect("ready")
    program.send("c")
    program.expect("collected")
    path = tmp_path_factory.mktemp("dump") / "heap.hprof"
    attach_command(program.pid, "dumpheap", str(path), "-all")
    yield Dumped(path, histogram_of(program.pid))
    path.unlink()


@pytest.fixture(scope="module")
def leaking_program(shared_java_program: programs.JavaPrograms) -> programs.JavaProgram:
    started = shared_java_program("Leaking")
    started.expect("ready")
    return started


@pytest.fixture(scope="module")
def program(shared_java_program: programs.JavaPrograms) -> programs.JavaProgram:
    started = shared_java_program("Holdings", jvm_args=["-Xmx256m"])
    started.expect("ready")
    return started


@pytest.fixture
def vm(program: programs.JavaProgram) -> Iterator[jvmti.VM]:
    with jvmti.attach(program.pid) as attached:
        yield attached


@pytest.fixture
def changing(java_program: programs.JavaPrograms) -> programs.JavaProgram:
    started = java_program("Holdings", jvm_args=["-Xmx256m"])
    started.expect("ready")
    return started
