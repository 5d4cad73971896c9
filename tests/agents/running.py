"""Running commands of ours with a script that notes what befalls it, and its notes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import command_line
import compiler
from prepared import Prepared

if TYPE_CHECKING:
    from jvms import Jvm

RECORDING = Path(__file__).parent / "recording.py"


class Notes:
    """The notes of a run of `recording.py`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def options(self, **todo: object) -> str:
        """The script's options."""
        return json.dumps({"notes": str(self.path), **todo})

    def all(self) -> list[dict[str, Any]]:
        """All notes in order."""
        if not self.path.exists():
            return []
        return [json.loads(line) for line in self.path.read_text().splitlines()]

    def steps(self, process: int | None = None) -> list[str]:
        """What they are about."""
        return [one["step"] for one in self.all() if process in (None, one["process"])]

    def of(self, step: str) -> dict[str, Any]:
        """The only note of a step."""
        [found] = [one for one in self.all() if one["step"] == step]
        return found

    def processes(self) -> set[int]:
        """The processes that wrote them."""
        return {one["process"] for one in self.all()}


class Runner:
    """Runs the package's command line with a Java of the test's."""

    def __init__(self, jvm: Jvm, directory: Path) -> None:
        self.jvm = jvm
        self.directory = directory
        self._started: list[subprocess.Popen[str]] = []

    def java(self, name: str, *arguments: str) -> list[str]:
        """The command for a program of tests/java."""
        classes = str(compiler.classes(name))
        crash = f"-XX:ErrorFile={self.directory}/hs_err_%p.log"
        return [self.jvm.java, *self.jvm.args, crash, "-cp", classes, name, *arguments]

    def start(
        self, *words: str, env: dict[str, str] | None = None, **further: Any
    ) -> subprocess.Popen[str]:
        """Start a command; its output is piped."""
        piped: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        arguments: dict[str, Any] = {"text": True, "cwd": self.directory}
        arguments |= {"env": {**os.environ, **(env or {})}}
        arguments |= {**piped, **further}
        if list(words[:3]) == self.jvmti() and not further.keys() - piped.keys():
            started: subprocess.Popen[str] = Prepared(
                words[1:], command_line.imports(), **arguments
            )
        else:
            started = subprocess.Popen(list(words), **arguments)
        self._started.append(started)
        return started

    def end(self) -> None:
        """Leave nothing of a test that has failed to the tests after it."""
        for started in self._started:
            started.kill()
            started.__exit__(None, None, None)

    def jvmti(self, *words: str) -> list[str]:
        """The words of a command of ours."""
        return [sys.executable, "-m", "jvmti", *words]

    def __call__(
        self, *words: str, timeout: float = 60, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end; the programs here end with their input."""
        started = self.start(*words, env=env)
        out, errors = started.communicate(timeout=timeout)
        assert not list(self.directory.glob("hs_err*"))
        return subprocess.CompletedProcess(words, started.returncode, out, errors)


def gone(process: int, timeout: float = 10) -> bool:
    """Whether a process ends in time."""
    until = time.monotonic() + timeout
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False
