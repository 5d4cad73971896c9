"""A small agent to load, and what tests leave behind."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from places import NOBODY

if TYPE_CHECKING:
    from collections.abc import Iterator


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
