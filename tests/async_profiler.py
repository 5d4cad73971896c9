"""async-profiler in a JVM, beside which profiles of ours are looked at; from Maven Central."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import jars
import jvmti

if TYPE_CHECKING:
    from jvmti.profile.profile import Profile

ROOT = Path(__file__).parents[1]
_JARS = {"4.5": jars.ASYNC_PROFILER, "3.0": jars.OLDER_ASYNC_PROFILER}


def jar(version: str = "4.5") -> Path:
    """The artifact, fetched once.

    Raises:
        subprocess.CalledProcessError: it cannot be fetched.
    """
    (found,) = jars.fetched(_JARS[version])
    return found


def library(folder: Path, version: str = "4.5") -> Path:
    """The native library, unpacked into a folder."""
    file = folder / f"libasyncProfiler-{version}.so"
    if not file.exists():
        with zipfile.ZipFile(jar(version)) as archive:
            file.write_bytes(archive.read(f"libs/libasyncProfiler-{version}-linux-x64.so"))
    return file


class AsyncProfiler:
    """async-profiler in a JVM that we are attached to."""

    def __init__(self, vm: jvmti.VM, folder: Path) -> None:
        self._vm = vm
        self._library = library(folder)
        self._file = folder / f"async-{vm.process.pid}.collapsed"
        self._kind = "cpu"

    def start(self, options: str) -> None:
        """Start it: ``event=cpu,interval=1ms``."""
        self._ask(f"start,{options}")
        event = options.partition("event=")[2].partition(",")[0]
        self._kind = event if event in ("wall", "alloc", "lock") else "cpu"

    def stop(self) -> Profile:
        """Stop it, and open what it has sampled."""
        self._ask(f"stop,collapsed,total,ann,file={self._file}")
        return jvmti.profile.open(self._file, self._kind)

    def _ask(self, options: str) -> None:
        answer = self._vm.diagnostic_command(f'JVMTI.agent_load {self._library} "{options}"')
        if "return code: 0" not in answer:
            raise RuntimeError(f"async-profiler: {answer}")
