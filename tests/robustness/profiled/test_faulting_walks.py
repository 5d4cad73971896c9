"""Faults while a stack is walked in a signal handler: caught, counted, and nothing else happens."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import jvmti
from jvmti.profile.tables import FrameKind
from profiling.shares import known_shares, of_thread

if TYPE_CHECKING:
    from programs import JavaPrograms

SOURCE = Path(__file__).parents[2] / "native" / "faulting_walks.c"

pytestmark = [
    pytest.mark.skipif(platform.machine() != "x86_64", reason="it changes registers by name"),
    pytest.mark.not_sanitized(reason="a sanitizer has its own handler of faults"),
]


@pytest.fixture(scope="session")
def faulting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that makes every third walk of a JVM that preloads it go wrong."""
    library = tmp_path_factory.mktemp("faulting") / "libfaulting.so"
    command = ["cc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", library, SOURCE, "-ldl"]
    subprocess.run(command, check=True)
    return library


@pytest.mark.parametrize("how", ["segv", "bus", "stack"])
def test_a_fault_in_a_walk_is_caught_and_counted(
    java_program: JavaPrograms, faulting: Path, how: str
) -> None:
    if java_program.jvm.name == "zero":
        pytest.skip("the interpreter-only VM has no such walks")
    program = java_program(
        "Profiled",
        jvm_args=["-Xmx128m"],
        env={"LD_PRELOAD": str(faulting), "WALK_FAULTS": how},
    )
    program.expect("ready")
    with jvmti.attach(program.pid, timeout=30) as vm:
        for _ in range(2):
            with vm.profile("cpu", interval=0.0005) as profile:
                known = known_shares(program, 1)
            main = of_thread(profile, "main")
            if profile.limits[0].engine == "deltas":
                pytest.skip(profile.limits[0].reason)
            # The others have their stacks, and the time is all there, with that of its beginning.
            assert main.weight > 0.85 * sum(known.values())
            walked = main.with_frame("Profiled.main").weight / main.weight
            assert 0.4 < walked < 0.95
            (limits,) = profile.limits
            faults = [note for note in limits.notes if "walks met a fault" in note]
            assert faults, limits
            count = int(faults[0].split()[0].replace(",", ""))
            assert count > (0.05 if how == "stack" else 0.2) * len(main)
            assert limits.failed is not None
            assert count <= limits.failed
            # Of a walk that fails in a library, the library is known.
            alone = {
                profile.frames[stack[0]].kind
                for stack in map(profile.stacks.__getitem__, main.samples.stack.tolist())
                if len(stack) == 1
            }
            assert how == "stack" or FrameKind.VM in alone
        # The VM's own faults still reach the VM: it finds nulls by them.
        assert program.ask("nulls 200000") == "200000 nulls"
    assert program.ask("nulls 200000") == "200000 nulls"
    assert program.running()
    assert os.path.exists(f"/proc/{program.pid}")
