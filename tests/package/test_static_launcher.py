"""A launcher of one's own with the agent linked in: there is no library to load."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import compiler
import jvmti
from jvmti.interface.constants import VMPhase
from jvmti.target.connection import Connection
from jvmti.target.hotspot import AttachPoint
from jvmti.target.listener import Listener, accept
from jvmti.target.processes.search import find
from programs import VARIABLES, JavaProgram

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jvms import Jvm

SOURCE = Path(__file__).parents[1] / "native" / "launcher.c"
#: The VM asks the launcher itself for the agent's entry points, so they are exported.
ENTRY_POINTS = ("Agent_OnLoad_jvmti", "Agent_OnAttach_jvmti", "Agent_OnUnload_jvmti")


@pytest.fixture(scope="session")
def launcher(
    static_agent: Path, jdk_headers: list[Path], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A program of a few lines that starts a JVM in itself, the agent linked into it."""
    program = tmp_path_factory.mktemp("launcher") / "launcher"
    done = subprocess.run(
        [
            *("cc", "-O1", "-Wall", "-Werror", "-o", program, SOURCE),
            *(f"-I{directory}" for directory in jdk_headers),
            *("-Wl,--whole-archive", static_agent, "-Wl,--no-whole-archive"),
            *("-Wl,--export-dynamic", "-ldl", "-lpthread"),
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    symbols = subprocess.run(
        ["nm", "--dynamic", "--defined-only", program], capture_output=True, text=True, check=True
    ).stdout
    assert all(f" T {name}\n" in symbols for name in ENTRY_POINTS)
    return program


@pytest.fixture
def start(jvm: Jvm, launcher: Path, tmp_path: Path) -> Iterator[Callable[..., JavaProgram]]:
    """Start Witness in the launcher with further VM options."""
    if jvm.args:
        libjvm = next(jvm.home.glob("lib/zero/libjvm.so"))
    else:
        libjvm = jvm.home / "lib" / "server" / "libjvm.so"
    started: list[JavaProgram] = []

    def one(*options: str) -> JavaProgram:
        classes = compiler.classes("Witness")
        command = [str(launcher), str(libjvm), "Witness", f"-Djava.class.path={classes}"]
        command += [f"-XX:ErrorFile={tmp_path}/hs_err_%p.log", *options]
        env = {name: value for name, value in os.environ.items() if name not in VARIABLES}
        program = JavaProgram(command, tmp_path / f"launcher-{len(started)}", env)
        started.append(program)
        program.expect("ready")
        return program

    yield one
    for program in started:
        program.stop()
        assert program.crash() is None


def loaded(program: JavaProgram) -> bool:
    return "libjvmti.so" in Path(f"/proc/{program.pid}/maps").read_text()


def threads(vm: jvmti.VM) -> set[str]:
    return {vm.env.get_thread_info(thread).name for thread in vm.env.get_all_threads()}


def test_an_agent_that_is_linked_in_listens_from_the_start(
    start: Callable[..., JavaProgram], tmp_path: Path
) -> None:
    for options in ("listen,reserve", f"listen={tmp_path}/agent.sock,reserve"):
        program = start(f"-agentlib:jvmti={options}")
        with jvmti.attach(program.pid, capabilities="all") as vm:
            assert vm.loaded_at_startup
            assert vm.phase == VMPhase.LIVE
            assert jvmti.Capabilities.can_access_local_variables in vm.env.get_capabilities()
            assert "sleeping" in threads(vm)
            (witness,) = [
                cls
                for cls in vm.env.get_loaded_classes()
                if vm.env.get_class_signature(cls).signature == "LWitness;"
            ]
            assert vm.env.get_source_file_name(witness) == "Witness.java"
        assert not loaded(program)
        assert program.ask("pid") == str(program.pid)


def test_an_agent_that_is_linked_in_is_started_by_the_attach_command(
    start: Callable[..., JavaProgram],
) -> None:
    program = start()
    process = find(program.pid)
    with process.open() as handle, Listener() as listener:
        point = AttachPoint(
            handle,
            process.namespace_pid,
            process.uid,
            deadline=deadline(),
            started=process.started,
        )
        for _ in range(2):
            # Not a path but a name, for the VM to look for in the launcher first.
            _, text = point.command("load", "jvmti", "false", f"connect={listener.path}")
            assert text.strip().endswith("0"), text
            connected = accept(listener.socket, lambda pid, uid: pid == program.pid, deadline())
            assert connected is not None
            with jvmti.VM(Connection(connected, process)) as vm:
                assert vm.phase == VMPhase.LIVE
                assert "sleeping" in threads(vm)
    assert not loaded(program)
    assert program.ask("pid") == str(program.pid)


def deadline() -> float:
    return time.monotonic() + 20
