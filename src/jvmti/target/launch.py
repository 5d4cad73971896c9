"""Starting a program with the agent in it from the first moment.

The agent connects while its JVM is in the OnLoad phase, where all capabilities are still available,
and holds the JVM there until the controller releases it. Only one JVM can connect: the private
socket of the options is removed once that one has connected, so other JVMs that inherit the
environment start as usual.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import IO, Any

from jvmti.deferred import shutil, subprocess
from jvmti.target.agent_library import is_elf, library_for_executable, own_library
from jvmti.target.connection import Connection
from jvmti.target.errors import (
    AgentLibraryMissing,
    AttachError,
    JvmDied,
    LaunchFailed,
    OptionsError,
    TargetNotFound,
)
from jvmti.target.hotspot import peer_credentials
from jvmti.target.listener import Listener, accept
from jvmti.target.options import AgentOptions
from jvmti.target.processes.procfs import ProcessHandle
from jvmti.target.processes.search import Process, inspect
from jvmti.target.tool_options import agent_argument, append_tool_options, quote_tool_option

__all__ = ["Launch", "end_program", "java_tool_options", "launch", "prepared"]

_Stream = int | IO[Any] | None
_DEEPEST = 1000  # the most ancestors to check


def launch(
    argv: Sequence[str | os.PathLike[str]],
    *,
    main: str | None = None,
    options: AgentOptions | None = None,
    library: str | os.PathLike[str] | None = None,
    timeout: float = 30.0,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    stdin: _Stream = None,
    stdout: _Stream = None,
    stderr: _Stream = None,
    start_new_session: bool = False,
) -> Connection:
    """Start a program and connect to the agent in its JVM, which is held until released.

    If ``argv[0]`` is a ``java`` launcher, the agent becomes its first argument; any other program
    gets it through ``JAVA_TOOL_OPTIONS``, and the first JVM that connects is the target.

    Args:
        argv: the command.
        main: part of the main class or jar name of the target, for programs that start several
            JVMs; the others start as usual.
        options: further options for the agent.
        library: the agent library; by default the packaged one for the program.
        timeout: seconds for the JVM to connect.
        env, cwd, stdin, stdout, stderr, start_new_session: as for :class:`subprocess.Popen`.

    Raises:
        LaunchFailed: the program ended, or none of its JVMs connected in time; then it is killed.
        AgentLibraryMissing, OptionsError: what the message says.
        OSError: the program cannot be started.
    """
    started = Launch(
        argv,
        options=options,
        library=library,
        env=env,
        cwd=cwd,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        start_new_session=start_new_session,
    )
    try:
        return started.accept(timeout, main=main)
    except BaseException:
        started.close()
        end_program(started.popen)
        raise
    finally:
        started.close()


class Launch:
    """A program started with the agent, of which several JVMs may connect.

    :func:`launch` is this with one :meth:`accept`. Until :meth:`close`, every further JVM that the
    program starts connects too and is held for the time of the option ``timeout``, so keep
    accepting them.

    Args:
        inherited: whether JVMs that a ``java`` starts connect, too, as those of other programs do.

    Attributes:
        popen: the program.
        token: the token in the agents' greetings.
    """

    def __init__(
        self,
        argv: Sequence[str | os.PathLike[str]],
        *,
        options: AgentOptions | None = None,
        library: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        stdin: _Stream = None,
        stdout: _Stream = None,
        stderr: _Stream = None,
        start_new_session: bool = False,
        inherited: bool = False,
    ) -> None:
        words = [os.fspath(word) for word in argv]
        if not words:
            raise ValueError("there is no command to start")
        environment = dict(os.environ if env is None else env)
        options = options or AgentOptions()
        if options.connect is not None or options.script is not None:
            raise OptionsError("launch connects itself; leave out script= and connect=")
        program = _program(words[0], environment, cwd)
        self.token = options.token or os.urandom(16).hex()
        chosen = _library(library, program)
        self._listener = Listener()
        try:
            agent_options = replace(options, connect=self._listener.path, token=self.token)
            arguments = [agent_argument(chosen, str(agent_options))]
            add_agents(words, environment, program, arguments, inherited=inherited)
            self.popen: subprocess.Popen[bytes] = subprocess.Popen(
                words,
                env=environment,
                cwd=cwd,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                start_new_session=start_new_session,
            )
        except BaseException:
            self._listener.close()
            raise

    def __enter__(self) -> Launch:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop accepting JVMs. Releases pending ones at once; the program keeps running."""
        self._listener.close()

    def accept(self, timeout: float = 30.0, *, main: str | None = None) -> Connection:
        """The next JVM of the program that connects, held in its OnLoad phase.

        Args:
            timeout: seconds to wait for it.
            main: part of its main class or jar name; others are released.

        Raises:
            LaunchFailed: none came, or the program ended.
        """
        deadline = time.monotonic() + timeout
        skipped: list[str] = []

        def belongs(pid: int, uid: int) -> bool:
            if uid != os.geteuid() or not self._is_ours(pid):
                return False
            if main is None:
                return True
            try:
                process = inspect(pid)
            except AttachError:
                return False
            if main in process.main:
                return True
            skipped.append(process.describe())
            return False

        connected = self._next(belongs, deadline)
        if connected is None:
            raise self.failure(timeout, main, skipped)
        pid = peer_credentials(connected)[0]
        try:
            process: Process = inspect(pid)
        except (TargetNotFound, JvmDied):
            connected.close()
            raise LaunchFailed(
                f"the JVM {pid} ended just after it had connected", self.popen.poll()
            ) from None
        return Connection(connected, process, self.popen, loaded_at_startup=True)

    def _next(self, belongs: Callable[[int, int], bool], deadline: float) -> socket.socket | None:
        with contextlib.suppress(TargetNotFound), ProcessHandle(self.popen.pid) as handle:
            connected = accept(self._listener.socket, belongs, deadline, handle)
            if connected is not None:
                return connected
        # The program has ended, but so does a script that starts its JVM in the background: #
        # continue while any process has the token.
        while time.monotonic() < deadline:
            left = self.anything_left()
            until = min(deadline, time.monotonic() + (0.1 if left else 0.0))
            connected = accept(self._listener.socket, belongs, until)
            if connected is not None or not left:
                return connected
        return None

    def anything_left(self) -> bool:
        """Whether any process still has this launch's environment."""
        mark = f"token={self.token}".encode()
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    with open(f"/proc/{name}/environ", "rb") as file:
                        if mark in file.read():
                            return True
                except OSError:
                    continue
        return False

    def _is_ours(self, pid: int) -> bool:
        """Whether a process is the started one, a descendant, or knows the token."""
        current = pid
        for _ in range(_DEEPEST):
            if current == self.popen.pid:
                return True
            if current <= 1:
                break
            try:
                with ProcessHandle(current) as handle:
                    current = handle.status().parent
            except AttachError:
                break
        # A child whose parent has ended has another parent, but still the environment or the #
        # command line of this launch.
        try:
            with ProcessHandle(pid) as handle:
                environment = handle.environment() or {}
                words = handle.arguments()
        except AttachError:
            return False
        mark = f"token={self.token}"
        return mark in environment.get("JAVA_TOOL_OPTIONS", "") or any(mark in w for w in words)

    def failure(
        self, timeout: float, main: str | None = None, skipped: Sequence[str] = ()
    ) -> LaunchFailed:
        """The error that no JVM has connected within this time in seconds."""
        seen = f" Released JVMs: {'; '.join(skipped)}." if skipped else ""
        wanted = f"no JVM with {main!r} in its name" if main else "no JVM"
        returncode = self.popen.poll()
        if returncode is None:
            try:
                returncode = self.popen.wait(0.05)
            except subprocess.TimeoutExpired:
                return LaunchFailed(
                    f"{wanted} connected within {timeout:g} s of starting "
                    f"{self.popen.args!r}.{seen} Does it start a JVM at all, as the same user "
                    "and in the same container, and does that keep JAVA_TOOL_OPTIONS?"
                )
        how = f"exit status {returncode}" if returncode >= 0 else f"signal {-returncode}"
        return LaunchFailed(
            f"{self.popen.args!r} ended ({how}) before {wanted.replace('no', 'a', 1)} of it had "
            f"connected.{seen} Its own output says why",
            returncode,
        )


def java_tool_options(
    options: AgentOptions | None = None,
    library: str | os.PathLike[str] | None = None,
    *,
    script: str | os.PathLike[str] | None = None,
) -> str:
    """A value of ``JAVA_TOOL_OPTIONS`` with which every JVM loads the agent.

    The text is quoted by the variable's own rules. If the variable is already set, append it after
    a blank: tools share the variable.

    Args:
        options: the agent's options; by default it listens on the usual socket, unless it runs a
            script.
        library: the agent library; by default the packaged one for this system.
        script: a Python file that is an agent, the same as in the options.

    Raises:
        AgentLibraryMissing: there is no library.
        OptionsError: the path of the library cannot be written in a VM argument.
    """
    chosen = own_library() if library is None else os.path.abspath(os.fspath(library))
    if options is None:
        options = AgentOptions(listen="" if script is None else None)
    if script is not None:
        options = replace(options, script=os.path.abspath(os.fspath(script)))
    if options.script is not None and options.python is None:
        options = replace(options, python=sys.executable)
    return quote_tool_option(agent_argument(chosen, str(options)))


def prepared(
    argv: Sequence[str | os.PathLike[str]],
    options: Sequence[AgentOptions],
    *,
    inherited: bool = False,
    library: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
) -> tuple[list[str], dict[str, str]]:
    """A command and its environment, so that its JVM loads the agent once for each of the options.

    Args:
        argv: the command.
        options: the agent's options, for each JVM.
        inherited: whether JVMs that the program starts get them, too.
        library: the agent library; by default the packaged one for the program.
        env: the initial environment; by default this process's own.

    Raises:
        AgentLibraryMissing, OptionsError: what the message says.
    """
    words = [os.fspath(word) for word in argv]
    environment = dict(os.environ if env is None else env)
    program = _program(words[0], environment, None)
    chosen = _library(library, program)
    arguments = [agent_argument(chosen, str(one)) for one in options]
    add_agents(words, environment, program, arguments, inherited=inherited)
    return words, environment


def add_agents(
    words: list[str],
    environment: dict[str, str],
    program: str,
    arguments: Sequence[str],
    *,
    inherited: bool = False,
) -> None:
    """Add VM arguments to the command line of ``java``, or else to the environment."""
    if is_java_launcher(program) and not inherited:
        words[1:1] = arguments
        return
    for argument in arguments:
        environment["JAVA_TOOL_OPTIONS"] = append_tool_options(
            environment.get("JAVA_TOOL_OPTIONS"), quote_tool_option(argument)
        )


def is_java_launcher(program: str) -> bool:
    """Whether a program is the JDK's own ``java``, not a script."""
    real = os.path.realpath(program)
    return os.path.basename(real) == "java" and is_elf(real)


def _program(word: str, environment: Mapping[str, str], cwd: str | os.PathLike[str] | None) -> str:
    """The file that ``word`` starts: relative paths count from the new working directory."""
    if os.sep in word:
        return os.path.join(os.fspath(cwd) if cwd is not None else "", word)
    return shutil.which(word, path=environment.get("PATH", os.defpath)) or word


def _library(library: str | os.PathLike[str] | None, program: str) -> str:
    if library is None:
        return library_for_executable(program)
    path = os.path.abspath(os.fspath(library))
    if not os.path.isfile(path):
        raise AgentLibraryMissing(f"the agent library {path} is not a file")
    return path


def end_program(popen: subprocess.Popen[bytes], patience: float = 0.0) -> None:
    """Kill a program, after a moment to exit by itself."""
    if patience > 0:
        with contextlib.suppress(subprocess.TimeoutExpired):
            popen.wait(patience)
    if popen.poll() is None:
        popen.terminate()
        try:
            popen.wait(2.0)
        except subprocess.TimeoutExpired:
            popen.kill()
            popen.wait()
    for pipe in (popen.stdin, popen.stdout, popen.stderr):
        if pipe is not None:
            with contextlib.suppress(OSError):  # unwritten data has no reader any more
                pipe.close()
