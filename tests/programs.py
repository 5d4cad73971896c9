"""Starts Java programs for tests and watches over them.

Every program is asked to leave at the end of its test (its standard input is closed),
then killed by its own process id. A JVM that crashed fails the test, and the beginning
of its crash report is shown.
"""

from __future__ import annotations

import contextlib
import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import agent_builds
import compiler
import places
from prepared import OWN_GROUP as OWN_GROUP

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from jvms import Jvm

CRASHES = {
    signal.SIGABRT,
    signal.SIGBUS,
    signal.SIGFPE,
    signal.SIGILL,
    signal.SIGSEGV,
    signal.SIGSYS,
    signal.SIGTRAP,
}


def _remove_socket(pid: int) -> None:
    """Remove what a JVM that was killed has left to the next one of its number.

    Another user's JVM cannot remove it.
    """
    with contextlib.suppress(OSError):
        Path(f"/tmp/.java_pid{pid}").unlink()


class JavaProgram:
    """A running Java program, spoken to line by line."""

    def __init__(
        self,
        command: Sequence[str],
        directory: Path,
        env: Mapping[str, str],
        *,
        ends_with_input: bool = True,
    ) -> None:
        self.command = list(command)
        self._ends_with_input = ends_with_input
        self.directory = directory
        #: Every line of standard output so far.
        self.lines: list[str] = []
        self._arrived: queue.Queue[str | None] = queue.Queue()
        self._ended = False
        directory.mkdir(parents=True, exist_ok=True)
        self._stderr = directory / "stderr"
        with self._stderr.open("wb") as stderr:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                cwd=directory,
                env=dict(env),
            )
        self.pid = self.process.pid
        _remove_socket(self.pid)
        self._reader = threading.Thread(
            target=self._read, name=f"stdout of {self.pid}", daemon=True
        )
        self._reader.start()

    def __repr__(self) -> str:
        return f"<JavaProgram {self.pid}: {' '.join(self.command)}>"

    @property
    def stderr(self) -> str:
        """What the program wrote to standard error so far."""
        return self._stderr.read_text(errors="replace")

    def running(self) -> bool:
        """Tell whether the process is still there."""
        return self.process.poll() is None

    def send(self, line: str) -> None:
        """Write a line to the program's standard input."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(f"{line}\n".encode())
            self.process.stdin.flush()
        except OSError:
            pytest.fail(self._explain(f"cannot send {line!r}"), pytrace=False)

    def read_line(self, timeout: float = 20) -> str:
        """Return the next line of standard output."""
        line = self._next(time.monotonic() + timeout)
        if line is None:
            pytest.fail(self._explain(f"printed no line for {timeout} s"), pytrace=False)
        return line

    def expect(self, wanted: str | re.Pattern[str], timeout: float = 20) -> str:
        """Skip lines until one equals the text, or matches the whole pattern."""
        deadline = time.monotonic() + timeout
        skipped = []
        while (line := self._next(deadline)) is not None:
            if wanted.fullmatch(line) if isinstance(wanted, re.Pattern) else line == wanted:
                return line
            skipped.append(line)
        seen = "\n".join(skipped) or "nothing"
        pytest.fail(self._explain(f"did not print {wanted!r}, but: {seen}"), pytrace=False)

    def ask(self, line: str, timeout: float = 20) -> str:
        """Send a line and return the line that answers it."""
        self.send(line)
        return self.read_line(timeout)

    def crash(self) -> str | None:
        """Return the beginning of the crash report if the JVM crashed, else None."""
        reports = sorted(self.directory.glob("hs_err*.log"))
        reports += agent_builds.reports(self.directory)
        status = self.process.poll()
        if not reports and (status is None or -status not in CRASHES):
            return None
        head = "".join(report.read_text(errors="replace")[:6000] for report in reports)
        return f"{self!r} crashed (status {status})\n{head}"

    def stop(self, timeout: float = 10) -> int:
        """Let the program leave, or kill it after some time; return its status."""
        if self.running():
            self._close_input()
            if not self._ends_with_input:
                self.process.terminate()
            try:
                self.process.wait(timeout)
            except subprocess.TimeoutExpired:
                self.process.kill()
        return self._reap()

    def kill(self) -> int:
        """Kill the program at once."""
        self.process.kill()
        return self._reap()

    def _reap(self) -> int:
        status = self.process.wait()
        _remove_socket(self.pid)
        self._close_input()
        self._reader.join(timeout=5)
        assert self.process.stdout is not None
        if not self._reader.is_alive():
            # Otherwise a child of the program still holds the other end.
            self.process.stdout.close()
        return status

    def _close_input(self) -> None:
        assert self.process.stdin is not None
        # What was still buffered may have no reader any more.
        with contextlib.suppress(OSError):
            self.process.stdin.close()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            text = line.decode(errors="replace").rstrip("\n")
            self.lines.append(text)
            self._arrived.put(text)
        self._arrived.put(None)

    def _next(self, deadline: float) -> str | None:
        if self._ended:
            return None
        try:
            line = self._arrived.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            return None
        self._ended = line is None
        return line

    def _explain(self, what: str) -> str:
        if self._ended:
            self.process.wait()
        return "\n".join(
            filter(None, [f"{self!r} {what}", self.crash(), f"standard error:\n{self.stderr}"])
        )


class JavaPrograms:
    """Starts programs on one JVM; calling it starts one, closing it ends all."""

    def __init__(self, jvm: Jvm, directory: Path) -> None:
        self.jvm = jvm
        self.directory = directory
        self.started: list[JavaProgram] = []

    def __call__(
        self,
        name: str,
        *args: str,
        jvm_args: Sequence[str] = (),
        debug: bool = True,
        compiled_by: str | None = None,
        env: Mapping[str, str] | None = None,
        wrapper: Sequence[str] = (),
    ) -> JavaProgram:
        """Compile and start the program `tests/java/NAME.java`.

        Args:
            name: The main class.
            args: The program's arguments.
            jvm_args: Options for the JVM.
            debug: Whether it is compiled with debug information.
            compiled_by: "javac" or "ecj" where the test depends on it.
            env: Variables to add to the environment.
            wrapper: A command to run the launcher with, such as `unshare …`. The process
                is then the wrapper's, unless that replaces itself.
        """
        release = compiler.source(name).release
        if self.jvm.feature < release:
            pytest.skip(f"{name} needs Java {release}")
        classes = compiler.classes(name, debug=debug, compiler=compiled_by)
        arguments = [*jvm_args, "-cp", str(classes), name, *args]
        reads = "System.in" in compiler.source(name).path.read_text()
        return self.start(arguments, env=env, wrapper=wrapper, ends_with_input=reads)

    def start(
        self,
        arguments: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        wrapper: Sequence[str] = (),
        ends_with_input: bool = True,
    ) -> JavaProgram:
        """Start `java ARGUMENTS`, whatever they are.

        Args:
            arguments: Those of the launcher.
            env: Variables to add to the environment.
            wrapper: A command to run the launcher with.
            ends_with_input: Whether the program leaves when its standard input ends: another is
                terminated.
        """
        if "setpriv" in wrapper:
            places.skip_below_closed_folders()
        elif "--user" in wrapper:  # root's rights are over its own files only
            places.skip_below_closed_folders(os.geteuid())
        directory = self.directory / f"java-{len(self.started)}"
        command = [*wrapper, self.jvm.java, *self.jvm.args]
        command += [f"-XX:ErrorFile={directory}/hs_err_%p.log", "-XX:-CreateCoredumpOnCrash"]
        inherited = agent_builds.environment_of_java(directory)
        environment = {name: value for name, value in inherited.items() if name not in VARIABLES}
        program = JavaProgram(
            [*command, *arguments],
            directory,
            {**environment, **(env or {})},
            ends_with_input=ends_with_input,
        )
        self.started.append(program)
        return program

    def close(self) -> None:
        """End every program; a crash of any of them is a failure."""
        for program in self.started:
            program.stop()
        crashes = [crash for program in self.started if (crash := program.crash())]
        if crashes:
            pytest.fail("\n\n".join(crashes), pytrace=False)


@contextlib.contextmanager
def of_script(jvm: Jvm, name: str) -> Iterator[JavaPrograms]:
    """The programs of a script on one JVM; where it fails, it says where their files are.

    Args:
        jvm: The JVM.
        name: The name of the script, for the folder of the files, which stays.
    """
    directory = Path(tempfile.mkdtemp(prefix=f"{name}-{jvm.name}-"))
    started = JavaPrograms(jvm, directory)
    try:
        yield started
    except BaseException:
        print(f"see {directory}", file=sys.stderr)
        for program in started.started:
            print((program.crash() or "")[:3000], file=sys.stderr)
        raise
    finally:
        started.close()


# A JVM reads options from these. What the machine's owner set is not part of a test.
VARIABLES = {"JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "CLASSPATH"}
