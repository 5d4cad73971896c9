"""A small agent to load, and ways to see and reach JVMs in unusual places."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from stand_in import NOBODY, descends

from jvmti.target.processes import Process, processes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(scope="session")
def agent(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Path of the stand-in agent, readable by root alone."""
    library = tmp_path_factory.mktemp("agent") / "libjvmti.so"
    source = Path(__file__).with_name("agent.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-pthread", "-o", library, source], check=True)
    return str(library)


@pytest.fixture(scope="session")
def open_agent(agent: str) -> Iterator[str]:
    """Path of the stand-in agent where every user can read it."""
    directory = Path(f"/tmp/jvmti-test-{os.urandom(4).hex()}")
    directory.mkdir()
    directory.chmod(0o755)
    yield str(shutil.copy(agent, directory / "libjvmti.so"))
    shutil.rmtree(directory)


@pytest.fixture
def leftovers() -> Iterator[None]:
    """Fail if the test leaves files of ours in /tmp, or starts no JVM's trigger."""

    def ours() -> set[str]:
        return {
            name
            for name in os.listdir("/tmp")
            if name.startswith((".jvmti-", ".attach_pid"))
            and name not in (".jvmti-0", f".jvmti-{NOBODY}")
        }

    before = ours()
    yield
    # Other tests attach meanwhile; what they make does not stay.
    stayed = ours() - before
    deadline = time.monotonic() + 20
    while stayed and time.monotonic() < deadline:
        time.sleep(0.05)
        stayed &= ours()
    assert stayed == set()


@pytest.fixture
def jvm_below() -> Callable[[int], Process]:
    """Find the JVM that a wrapper started: `jvm_below(program.pid)`."""

    def below(ancestor: int) -> Process:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            for process in processes():
                if process.libjvm is not None and descends(process.pid, ancestor):
                    return process
            time.sleep(0.05)
        pytest.fail(f"no JVM below process {ancestor}")

    return below
