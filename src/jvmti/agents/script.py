"""A script: a Python file with the functions of an agent.

``agent_onload(vm, options)``
    The JVM is held in its OnLoad phase until this has returned.
``agent_onattach(vm, options)``
    The JVM is already running. If it is missing, ``agent_onload`` is called.

Both return ``None`` or 0; any other number means that the agent has failed: a held VM does not
start.

``agent_onunload(vm)``
    Once, at the JVM's death or when the script leaves it.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import traceback
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from jvmti.interface.errors import Error
from jvmti.target.options import AgentOptions
from jvmti.text.printable import printable

if TYPE_CHECKING:
    from jvmti.model.vm import VM

UNLOAD_TIMEOUT = 10.0
"""The default time that the exit of a JVM waits for ``agent_onunload``, in seconds."""

_BEFORE_LIVE = 24 * 3600.0
"""Seconds that the VM may take to be live: other agents may hold it, too."""

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep

_REFUSALS = (LookupError, ValueError, TypeError, AttributeError, NotImplementedError)
"""Built-in exceptions that this package raises besides its own."""

_OURS = (__package__, "jvmti.commands", "jvmti.shell")


class ScriptError(Error):
    """A file cannot be used as an agent; the message says why."""


class ScriptFailed(ScriptError):
    """A script's ``agent_onload`` or ``agent_onattach`` returned a number other than 0.

    Attributes:
        result: the number.
    """

    def __init__(self, message: str, result: int) -> None:
        super().__init__(message)
        self.result = result


class Script:
    """A Python file that is an agent.

    Attributes:
        path: the file.
        options: the text for its functions; empty if there is none.
        vm: its session; ``None`` before `start`.
        started: whether its ``agent_onload`` or ``agent_onattach`` has returned.
    """

    def __init__(self, path: str | os.PathLike[str], options: str = "") -> None:
        self.path = os.path.abspath(os.fspath(path))
        self.options = options
        self.vm: VM | None = None
        self.started = False
        self._module: ModuleType | None = None
        self._lock = threading.Lock()
        self._unloaded = False
        self._done = threading.Event()

    @classmethod
    def named(cls, text: str) -> Script:
        """The script for a command-line argument, ``agent.py`` or ``agent.py=options``.

        Raises:
            ScriptError: there is no such file.
        """
        path, options = text, ""
        if not os.path.isfile(path):
            path, _, options = text.partition("=")
        if not os.path.isfile(path):
            raise ScriptError(f"{path}: there is no such file")
        return cls(path, options)

    def start(self, vm: VM, unload_timeout: float = UNLOAD_TIMEOUT) -> None:
        """Run the file and its ``agent_onload`` or ``agent_onattach``, and let a held VM start.

        Raises their exceptions; then a held VM stays held.

        Args:
            vm: a session for the script alone.
            unload_timeout: seconds that the VM's death waits for ``agent_onunload``.

        Raises:
            ScriptError: the file cannot be read, or has no such function.
            ScriptFailed: the function returned a number other than 0.
        """
        self.vm = vm
        self._module = self._run()
        begin = self._function("agent_onload" if vm.held else "agent_onattach")
        if begin is None and not vm.held:
            begin = self._function("agent_onload")
        if begin is None:
            raise ScriptError(f"{self.path} has no agent_onload(vm, options)")
        self._check(begin.__name__, begin(vm, self.options), vm.held)
        self.started = True
        # A separate environment, after the script's: the script's handlers of VMDeath come first.
        vm.new_env().on("VMDeath", lambda event: self.unload(), timeout=unload_timeout)
        if vm.held:
            vm.proceed(_BEFORE_LIVE)

    def unload(self) -> None:
        """Call ``agent_onunload`` once; prints its exception."""
        with self._lock:
            if self._unloaded:
                return
            self._unloaded = True
        try:
            end = self._function("agent_onunload")
            if end is not None:
                end(self.vm)
        except Exception as error:
            print_error(error)
        finally:
            self._summarise()
            self._done.set()

    @property
    def unloading(self) -> bool:
        """Whether ``agent_onunload`` has been called, finished or not."""
        return self._unloaded

    def wait_unloaded(self, timeout: float) -> bool:
        """Wait for an `unload` in another thread; false after the timeout."""
        return self._done.wait(timeout)

    def _run(self) -> ModuleType:
        try:
            with open(self.path, "rb") as file:
                source = file.read()
        except OSError as error:
            raise ScriptError(f"{self.path} cannot be read: {error.strerror}") from None
        name = os.path.splitext(os.path.basename(self.path))[0]
        # A name that differs from all modules that the script may import.
        module = ModuleType(f"jvmti_agent_{name}")
        while module.__name__ in sys.modules:
            module.__name__ += "_"
        module.__file__ = self.path
        sys.modules[module.__name__] = module
        # Modules beside it can be imported, as for a script that Python runs.
        directory = os.path.dirname(self.path)
        if directory not in sys.path:
            sys.path.insert(0, directory)
        exec(compile(source, self.path, "exec"), module.__dict__)
        return module

    def _check(self, function: str, result: object, held: bool) -> None:
        """Check the result of ``agent_onload`` or ``agent_onattach``.

        Raises:
            ScriptFailed: the result is a number other than 0.
            ScriptError: it is not a valid result of an agent.
        """
        end = "the VM does not start" if held else "the agent leaves"
        message = f"{function} of {self.path} returned {result!r}"
        if result is None:
            return
        if not isinstance(result, int):
            raise ScriptError(f"{message}, which is neither None nor a number; {end}")
        if result != 0:
            code = int(result) if -1 << 31 <= result < 1 << 31 else -1
            raise ScriptFailed(f"{message}; {end}", code)

    def _function(self, name: str) -> Callable[..., Any] | None:
        found = getattr(self._module, name, None)
        return found if callable(found) else None

    def _summarise(self) -> None:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                pass  # the reader has gone
        errors = [] if self.vm is None else self.vm.handler_errors
        if errors:
            failures = sum(error.count for error in errors)
            name = os.path.basename(self.path)
            lines = [f"jvmti: handlers of {name} failed, {failures} times in all:"]
            lines += [f"  {error}" for error in errors]
            print("\n".join(map(printable, lines)), file=sys.stderr, flush=True)


def print_error(error: BaseException) -> None:
    """Print what a script raised, without the frames that are ours."""
    if isinstance(error, ScriptError):
        print(f"jvmti: {printable(str(error))}", file=sys.stderr, flush=True)
        return
    place = _place_of_mistake(error)
    if place:
        message = printable(" ".join(described(error).split()))
        print(f"jvmti: {printable(place)}: {message}", file=sys.stderr, flush=True)
        return
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_globals.get("__package__") in _OURS:
        trace = trace.tb_next
    text = "".join(traceback.format_exception(type(error), error, trace))
    print("\n".join(map(printable, text.rstrip("\n").split("\n"))), file=sys.stderr, flush=True)


def described(error: BaseException) -> str:
    """The message of an error, with its type if the message needs it."""
    if isinstance(error, Error):
        return str(error) or type(error).__name__
    text = error.args[0] if isinstance(error, KeyError) and error.args else error
    return f"{type(error).__name__}: {text}"


def _place_of_mistake(error: BaseException) -> str | None:
    """The place in a script of a refused request; ``None`` for a bug of the script or this
    package."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames or not isinstance(error, (Error, *_REFUSALS)):
        return None
    # Code without a file is generated by this package, or Python's own.
    theirs = [frame for frame in frames if not frame.filename.startswith((_PACKAGE, "<"))]
    # The script raised it itself.
    if not theirs or not frames[-1].filename.startswith(_PACKAGE):
        return None
    if not isinstance(error, Error) and not (frames[-1].line or "").startswith("raise"):
        return None  # it was not raised on purpose
    last = theirs[-1]
    within = "" if last.name == "<module>" else f", in {last.name}"
    return f"{os.path.basename(last.filename)}, line {last.lineno}{within}"


class EscapingFormatter(logging.Formatter):
    """Formats records for a terminal: text from a target cannot control it."""

    def format(self, record: logging.LogRecord) -> str:
        """The record, escaped line by line."""
        return "\n".join(map(printable, super().format(record).split("\n")))


def log_to_stderr() -> None:
    """Write the package's log, which reports failing handlers, to standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(EscapingFormatter("jvmti: %(message)s"))
    logging.getLogger("jvmti").addHandler(handler)
    logging.getLogger("jvmti").propagate = False


def agent_options(
    path: str | os.PathLike[str],
    options: str = "",
    *,
    python: str | None = None,
    follow: bool = False,
    unload: int | None = None,
    timeout: int | None = None,
    token: str | None = None,
) -> AgentOptions:
    """The agent's options for a script that the JVM starts.

    Args:
        path: the script.
        options: text for its functions.
        python: the interpreter; this one if not given.
        follow: run it also for JVMs that inherit the options.
        unload: seconds that the JVM's death waits for ``agent_onunload``.
        timeout: seconds that the JVM's start waits for ``agent_onload``.
        token: makes these options different from any others, hexadecimal.
    """
    return AgentOptions(
        script=os.path.abspath(os.fspath(path)),
        options=options or None,
        python=python or sys.executable,
        follow=follow,
        unload=unload,
        timeout=timeout,
        token=token,
    )


__all__ = [
    "UNLOAD_TIMEOUT",
    "Script",
    "ScriptError",
    "ScriptFailed",
    "agent_options",
    "log_to_stderr",
    "print_error",
]
