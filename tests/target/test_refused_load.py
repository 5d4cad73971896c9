"""An agent whose start fails leaves nothing behind that the VM could run into later."""

from __future__ import annotations

from pathlib import Path

import pytest

import jvms
import programs
from jvmti.target import hotspot
from jvmti.target.agent_library import library_for_executable
from jvmti.target.errors import AttachError
from jvmti.target.processes.search import find


def test_a_program_ends_well_after_an_agent_that_could_not_connect(
    jvm: jvms.Jvm, java_program: programs.JavaPrograms, tmp_path: Path
) -> None:
    program = java_program("Idle")
    program.expect("ready")
    library = library_for_executable(jvm.java)
    for _ in range(3):
        with pytest.raises(AttachError):
            # Some VMs unload the library at once, while the VM's end is still to be reported to it.
            hotspot.load_agent(find(program.pid), library, f"connect={tmp_path}/nobody.sock")
    assert program.stop() == 0
    assert program.crash() is None
