"""Pythons that have imported what they need before they start: `Prepared` is a `Popen` of one.

To start a Python that debugs takes 0.6 s of processor time, nearly all of it for imports.  Here one
server for each process of the tests imports that once, and forks for whoever asks: a process of its
own, with its own arguments, environment, directory and files, a child of the process that asked,
and alone with all that it changes.  What is about the start itself (what is imported, when, and how
long that takes) needs a real one.
"""

from __future__ import annotations

import ctypes
import fcntl
import functools
import gc
import json
import os
import pkgutil
import platform
import runpy
import signal
import socket
import subprocess
import sys
import termios
import threading
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

OWN_GROUP: dict[str, Any] = (
    {"process_group": 0} if sys.version_info >= (3, 11) else {"start_new_session": True}
)
"""How to start what is ended with all its children.  Not by a session of its own: the kernel gives
each session as much of the processors as all others together have in theirs (sched_autogroup), and
what runs beside the tests, a compiler or mypy, starves."""
_CLONE_PARENT = 0x8000
_CLONE = {"x86_64": 56, "aarch64": 220}.get(platform.machine())
"""The system call; where it is not known, processes start as usual."""
_LONGEST = 1 << 20
_READ_AT_IMPORT = "JVMTI_TRACE"
"""A variable that the package reads when it is imported."""


class Prepared(subprocess.Popen[Any]):
    """A Python with these arguments, as `-m MODULE …` or `SCRIPT …`, whose imports are there.

    Args:
        words: what follows the name of the interpreter.
        imports: the modules that it will need, with all that they import.
        own_group: whether it has a process group of its own.
        own_terminal: whether its standard input, a terminal, is the one that its keys come from, in
            a session of its own.
        more: as for `subprocess.Popen`: the three streams, `text`, `cwd` and `env`.
    """

    def __init__(
        self,
        words: Sequence[str],
        imports: Sequence[str],
        *,
        own_group: bool = False,
        own_terminal: bool = False,
        **more: Any,
    ) -> None:
        self._imports = list(imports)
        self._own_group, self._own_terminal = own_group, own_terminal
        if not _serves(more.get("env")):
            if own_group:
                more |= OWN_GROUP
            if own_terminal:
                more["preexec_fn"] = take_terminal
        super().__init__([sys.executable, *words], **more)

    def _execute_child(self, args: Any, *others: Any) -> None:
        cwd, env, files = others[4], others[5], others[9:15]
        environment = dict(os.environ if env is None else env)
        if not _serves(environment):
            super()._execute_child(args, *others)  # type: ignore[misc]
            return
        given = [files[end] for end in _THEIRS]
        theirs = [ours if file < 0 else file for ours, file in enumerate(given)]
        directory = os.fspath(cwd or os.getcwd())
        places = [directory, self._own_group, self._own_terminal]
        request = [self._imports, args[1:], environment, *places]
        try:
            self.pid = _server().start(request, theirs)
        finally:
            self._close_pipe_fds(*files)  # type: ignore[attr-defined]
        self._child_created = True


def take_terminal() -> None:
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _serves(env: Mapping[str, str] | None) -> bool:
    return _CLONE is not None and _READ_AT_IMPORT not in (os.environ if env is None else env)


def run(
    words: Sequence[str],
    imports: Sequence[str],
    *,
    input: str | None = None,
    timeout: float = 60,
    **more: Any,
) -> subprocess.CompletedProcess[str]:
    """Run one to its end, with this text to read, or nothing; what it wrote is text."""
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    source = subprocess.DEVNULL if input is None else subprocess.PIPE
    with Prepared(words, imports, stdin=source, **piped, **more) as started:
        try:
            out, errors = started.communicate(input, timeout)
        except BaseException:
            started.kill()
            raise
    return subprocess.CompletedProcess(started.args, started.returncode, out, errors)


@functools.cache
def modules_of(package: str) -> tuple[str, ...]:
    """The names of all modules of a package, to be imported."""
    found = import_module(package)
    return tuple(one.name for one in pkgutil.walk_packages(found.__path__, f"{package}."))


_ATTACH = ("jvmti.target.attach", "jvmti.model.vm", "jvmti.env.structures", "jvmti.jni.interface")
"""Each attach imports these, with all that they import."""


def attaching(*words: object, env: Mapping[str, str] | None = None) -> Any:
    """A `Prepared` that attaches, for controllers that are killed, stopped or waited for.

    Args:
        words: what follows the name of the interpreter.
        env: what is added to the environment.

    Returns:
        The process, with pipes of text for its standard input and output.
    """
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    return Prepared([*map(str, words)], _ATTACH, env={**os.environ, **(env or {})}, **streams)


_THEIRS = (0, 3, 5)
"""Which ends of the pipes that `Popen` makes are the child's."""


class _Server:
    """The process that forks; it ends with this one, whose end of the connection closes."""

    def __init__(self) -> None:
        self._one_at_a_time = threading.Lock()
        self._connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _LONGEST)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                # A thread of a library would keep its locks in the child.
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            )

    def start(self, request: list[Any], files: list[int]) -> int:
        """Fork; return the number of the new process."""
        with self._one_at_a_time:
            socket.send_fds(self._connection, [json.dumps(request).encode()], files)
            answer = self._connection.recv(100)
        assert answer, f"the server of prepared Pythons has ended: {self._process.poll()}"
        return int(answer)

    def end(self) -> None:
        """Let the server end; those that it has forked go on."""
        self._connection.close()
        self._process.wait()


@functools.cache
def _server() -> _Server:
    return _Server()


def end() -> None:
    """End the server, if there is one: at the end of the tests."""
    if _server.cache_info().currsize:
        _server().end()
        _server.cache_clear()


# ---- the other side ----------------------------------------------------------------------------


def _fork() -> int:
    """Fork a sibling: the process that asked can wait for it as for any child of its own."""
    python = ctypes.pythonapi
    python.PyOS_BeforeFork()
    pid = ctypes.PyDLL(None).syscall(_CLONE, _CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        python.PyOS_AfterFork_Child()
    else:
        python.PyOS_AfterFork_Parent()
    return int(pid)


def _next_start(connection: socket.socket) -> list[str]:
    """Serve until the test ends; in each process that is forked, return its arguments."""
    while True:
        data, files, _, _ = socket.recv_fds(connection, _LONGEST, len(_THEIRS))
        if not data:
            sys.exit()
        imports, words, environment, directory, own_group, own_terminal = json.loads(data)
        for name in imports:
            import_module(name)
        gc.collect()
        gc.freeze()  # a collection in the child would copy all that the server has
        if pid := _fork():
            for file in files:
                os.close(file)
            connection.send(str(pid).encode())
            continue
        connection.close()
        for at, file in enumerate(files):
            os.dup2(file, at)
        for file in files:
            if file > 2:
                os.close(file)
        if own_group:
            os.setpgid(0, 0)
        if own_terminal:
            take_terminal()
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(directory)
        for at, name in enumerate(("stdin", "stdout", "stderr")):
            old = getattr(sys, name)
            made = open(at, "r" if at == 0 else "w", encoding="utf-8", errors=old.errors)
            made.reconfigure(line_buffering=at == 2 or made.isatty())
            setattr(sys, name, made)
            setattr(sys, f"__{name}__", made)
        return list(words)


def _main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the tests, and they the server
    way, *rest = _next_start(socket.socket(fileno=int(sys.argv[1])))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.path[0] = ""
    if way == "-m":
        sys.argv = [way, *rest[1:]]
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif way == "-c":
        sys.argv = [way, *rest[1:]]
        exec(compile(rest[0], "<string>", "exec"), {"__name__": "__main__"})
    else:
        sys.argv = [way, *rest]
        sys.path[0] = os.path.dirname(way)
        runpy.run_path(way, run_name="__main__")


if __name__ == "__main__":
    _main()
