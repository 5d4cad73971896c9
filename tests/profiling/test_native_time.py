"""Time in native code: of a library that is loaded late, of none, and on a thread without Java."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import jvmti
from jvmti.profile.tables import FrameKind
from profiling.shares import of_thread

if TYPE_CHECKING:
    from jvmti.profile.profile import Profile
    from programs import JavaPrograms

SOURCE = Path(__file__).parents[1] / "native" / "native_time.c"
LIBRARY = "libnative_time.so"
OUTSIDE = "(native code)"


@pytest.fixture(scope="session")
def library(jdk_headers: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The native methods, compiled."""
    made = tmp_path_factory.mktemp("native") / LIBRARY
    include = [f"-I{directory}" for directory in jdk_headers]
    command = ["cc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-pthread", *include]
    subprocess.run([*command, "-o", made, SOURCE], check=True)
    return made


def innermost(profile: Profile) -> dict[str, float]:
    """The shares of the innermost frames."""
    return {one.name: one.own_share for one in profile.top(None)}


def test_native_code_is_no_java(java_program: JavaPrograms, library: Path) -> None:
    program = java_program("NativeTime", jvm_args=["-Xmx64m"])
    program.expect("ready")
    with jvmti.attach(program.pid, timeout=30) as vm:
        with vm.profile("cpu", "wall", interval={"cpu": 0.002, "wall": 0.01}) as profile:
            for command in (f"load {library}", "library 900", "made 300", "bring 300"):
                assert program.ask(command, timeout=60) == "done"
        if profile.limits[0].engine == "deltas":
            pytest.skip(profile.limits[0].reason)
    used = of_thread(profile["cpu"], "main").with_frame("NativeTime.use")
    shares = innermost(used)
    # The library has its name a fifth of a second after it was loaded.
    assert 0.4 < shares[LIBRARY] < 0.78, shares
    assert shares[LIBRARY] + shares[OUTSIDE] > 0.95, shares
    for kind in ("cpu", "wall"):
        brought = of_thread(profile[kind], "brought")
        assert innermost(brought)[OUTSIDE] > 0.9, (kind, innermost(brought))
    kinds = {frame.name: frame.kind for frame in profile.frames}
    assert kinds[LIBRARY] is kinds[OUTSIDE] is FrameKind.NATIVE
