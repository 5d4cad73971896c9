"""The agent in forms that only tests use: with sanitizers, and with memory that runs out.

`JVMTI_TEST_SANITIZED=address,undefined pytest tests/robustness` (or `thread`; `make sanitize`) runs
tests on an agent with sanitizers: every JVM preloads their runtime, and what they report fails the
test, as a crash does.  The scripts of the long runs take the variable too.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jvms
from jvmti.target import launch

SANITIZED = os.environ.get("JVMTI_TEST_SANITIZED", "")
REPORT = "sanitizer"
"""How the files begin that sanitizers write into a program's directory."""

_SUPPRESSED = Path(__file__).parent / "native" / "thread_sanitizer.supp"
_RUNTIMES = {"address": "libasan.so", "thread": "libtsan.so", "undefined": "libubsan.so"}
# HotSpot uses these signals itself, and asks for as much memory as the controller says.
_COMMON = (
    "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_abort=0:"
    "allow_user_segv_handler=1:use_sigaltstack=0:halt_on_error=1:allocator_may_return_null=1"
)


def build(name: str, *options: str) -> Path:
    """Build the agent with these options of CMake; what is there already is only completed."""
    place = jvms.ROOT / "build" / name
    quickly = ["-DJVMTI_PRECOMPILE=ON", "-DJVMTI_TOGETHER=ON"]
    _build(place, place / ".lock", "jvmti_agent", [*quickly, *options])
    return place / "agent" / "libjvmti.so"


def static() -> Path:
    """The agent as a static library, of the objects that `make install` has compiled."""
    place = jvms.ROOT / "build" / "dev"
    _build(place, jvms.ROOT / "build" / ".lock", "jvmti_agent_static")
    return place / "agent" / "libjvmti.a"


def _build(place: Path, lock: Path, target: str, options: Sequence[str] = ()) -> None:
    programs = Path(sys.executable).parent
    cmake = programs / "cmake"
    configure = [cmake, "-G", "Ninja", "-S", jvms.ROOT / "native", "-B", place]
    configure += [f"-DCMAKE_MAKE_PROGRAM={programs / 'ninja'}"]
    configure += [f"-DPython_EXECUTABLE={sys.executable}", *options]
    commands = [configure, [cmake, "--build", place, "--target", target]]
    place.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # several workers of a run may want it
        if not options and (place / "build.ninja").exists():
            del commands[0]  # another environment may have configured it
        for command in commands:
            done = subprocess.run(
                command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
            )
            assert done.returncode == 0, done.stdout


@cache
def runtime(sanitizers: str) -> Path | None:
    """The library that a JVM must preload; ``None`` where the compiler has none."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    name = _RUNTIMES[sanitizers.split(",")[0]]
    done = subprocess.run(
        [compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=False
    )
    path = Path(done.stdout.strip())
    return path if path.is_absolute() and path.exists() else None


def sanitized(sanitizers: str) -> Path:
    """The agent with these sanitizers."""
    return build(
        f"sanitized-{sanitizers.replace(',', '-')}",
        f"-DJVMTI_SANITIZE={sanitizers}",
        "-DCMAKE_BUILD_TYPE=None",
        "-DCMAKE_CXX_FLAGS=-O0",
    )


def environment(sanitizers: str, directory: Path) -> dict[str, str]:
    """What a JVM needs to load such an agent, and to write reports into a directory."""
    where = f"{_COMMON}:log_path={directory / REPORT}"
    return {
        "LD_PRELOAD": str(runtime(sanitizers)),
        "ASAN_OPTIONS": f"{where}:detect_leaks=0:detect_odr_violation=0",
        "UBSAN_OPTIONS": f"{where}:print_stacktrace=1",
        # A JVM with a race goes on, so that one run tells of several. Of HotSpot, which is not
        # instrumented, only the memory that it clears and copies would be seen, but no lock.
        "TSAN_OPTIONS": f"{where}:halt_on_error=0:ignore_noninstrumented_modules=1"
        f":report_signal_unsafe=0:suppressions={_SUPPRESSED}",
    }


def choose() -> None:
    """Build the agent that the environment asks for, and let everything from here on load it."""
    if SANITIZED:
        os.environ["JVMTI_AGENT_LIBRARY"] = str(sanitized(SANITIZED))


def preload_in_launched(directory: Path) -> None:
    """Let the JVMs that this process launches preload the runtime and report into a directory."""
    start = launch.Launch.__init__

    def with_runtime(self: launch.Launch, argv: Sequence[str], **further: Any) -> None:
        inherited = further.pop("env", None)
        own = {**(os.environ if inherited is None else inherited)}
        start(self, argv, env=own | environment(SANITIZED, directory), **further)

    launch.Launch.__init__ = with_runtime  # type: ignore[method-assign]


def environment_of_java(directory: Path) -> dict[str, str]:
    """The environment of a JVM that writes its reports into a directory."""
    chosen = environment(SANITIZED, directory) if SANITIZED else {}
    return {**os.environ, **chosen}


def _is_finding(report: Path) -> bool:
    """Whether a sanitizer reports more than memory that is refused, as `malloc` refuses it, too."""
    lines = report.read_text(errors="replace").splitlines()
    return any(line and "Sanitizer failed to allocate 0x" not in line for line in lines)


def reports(directory: Path) -> list[Path]:
    """What sanitizers have reported on a program."""
    found = [one for one in sorted(directory.glob(f"{REPORT}.*")) if _is_finding(one)]
    # That of undefined behaviour writes there when it is not the only one.
    output = directory / "stderr"
    if output.exists() and b": runtime error: " in output.read_bytes():
        found.append(output)
    return found
