"""The requests at both ends of a session: ``launch``, ``attach``, ``disconnect`` and so on."""

from __future__ import annotations

import logging
import os
import signal
import threading
from typing import IO, TYPE_CHECKING, Any

import jvmti
from jvmti.adapter.child_programs import ChildPrograms
from jvmti.adapter.late_capabilities import changed_capabilities
from jvmti.adapter.program_guard import ProgramGuard
from jvmti.adapter.protocol.arguments import Arguments, RequestFailed
from jvmti.adapter.protocol.requests import answers
from jvmti.adapter.showing.thread_events import ThreadEvents
from jvmti.deferred import hmac, shutil, subprocess
from jvmti.interface.errors import Error
from jvmti.model.vm import VM
from jvmti.target.options import AgentOptions
from jvmti.text.printable import printable, printable_lines

if TYPE_CHECKING:
    from jvmti.adapter.code.saved_sources import SavedSources
    from jvmti.adapter.debug_session import DebugSession

log = logging.getLogger("jvmti")

_THREADS = 512
"""Threads that can be stopped side by side; each has a Python thread."""
_STARTING = 30.0
"""Seconds that a program has until its JVM has started."""
_PATIENCE = 5.0
"""Seconds that a program has to end by itself."""
_SHOWN = 1.0
"""Seconds until all output of a program that has ended is shown; a child may keep it open."""
_LAST_WORDS = 2.0
"""Seconds that a client has for more requests after it has disconnected."""


class LaunchRequests:
    """Answers the requests that begin and end a session.

    Args:
        session: what requests share.
        saved: notices that sources are saved.
        token: what a configuration must have; ``None`` where clients need none.
    """

    def __init__(
        self, session: DebugSession, saved: SavedSources, token: str | None = None
    ) -> None:
        self._saved = saved
        self._token = token
        self._session = session
        self._is_launched = False
        self._ending = threading.Lock()
        self._has_ended = False
        self._reports_threads = False
        self._ends_with_session = False
        self._guard: ProgramGuard | None = None
        self._changed: dict[str, Any] = {}
        """Capabilities that differ from those of the first response."""

    # ---- the beginning ---------------------------------------------------------------------

    @answers("attach")
    def attach(self, given: Arguments) -> None:
        """Attach to a running JVM."""
        self._check(given)
        target: int | str
        if given.has("pid") or given.has("processId"):
            name = "pid" if given.has("pid") else "processId"
            value = given.values[name]
            text = value if isinstance(value, str) else str(given.number(name))
            if not text.strip().isdigit():
                raise RequestFailed(f"attach: {name} is {text[:40]!r}, not the number of a process")
            target = int(text)
        else:
            # Editors send the label of a configuration as its name.
            target = given.text("mainClass", "") or given.text("name", "")
            if not target:
                raise RequestFailed("attach: pid is missing, or mainClass, a part of its name")
        timeout = given.number("timeout", 10_000) / 1000
        self._begin(jvmti.attach(target, timeout=timeout))

    @answers("launch")
    def launch(self, given: Arguments) -> None:
        """Start a program, which waits until the client has set its breakpoints."""
        self._check(given)
        command = command_of(given)
        environment = dict(os.environ)
        for name, value in given.mapping("env").items():
            if value is None:
                environment.pop(name, None)
            else:
                environment[name] = value
        directory = given.text("cwd", "") or None
        try:
            vm = self._start(command, given.text("main", "") or None, environment, directory)
        except OSError as error:
            if error.filename is None:
                raise
            at = f" in {directory!r}" if error.filename == directory else ""
            text = f"{command[0]!r} cannot be started{at}: {error.strerror}"
            raise RequestFailed(text) from None
        self._is_launched = True
        assert vm.popen is not None
        self._ends_with_session = given.flag("endsWithSession", True)
        if self._ends_with_session:
            self._guard = ProgramGuard(vm.popen.pid)
        self._begin(vm)

    def _start(
        self,
        command: list[str],
        main: str | None,
        environment: dict[str, str],
        directory: str | None,
    ) -> VM:
        from jvmti.target.launch import Launch, end_program  # not to attach

        follows = self._session.configuration.flag("follow")
        started = Launch(
            command,
            options=AgentOptions(reserve=()),
            env=environment,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            inherited=follows,
        )
        copying = self._copy_output(started.popen)
        try:
            vm = VM(started.accept(_STARTING, main=main), timeout=_STARTING)
        except BaseException:
            started.close()
            started.popen.stdout = started.popen.stderr = None  # those who read them close them
            end_program(started.popen)
            for one in copying:
                one.join(_SHOWN)  # what it has written says why, and comes before the response
            raise
        if follows:
            ChildPrograms(self._session, started).begin()
        else:
            started.close()
        return vm

    def _check(self, given: Arguments) -> None:
        if self._session.has_vm:
            raise RequestFailed("this session has a program already; start another session")
        if self._token is not None and not hmac.compare_digest(
            given.text("token", "").encode(), self._token.encode()
        ):
            raise RequestFailed(
                f"{given.command}: the token is missing or wrong; jvmti debug has printed it, and "
                "it belongs into the configuration, as token"
            )
        self._session.configuration = given

    def _begin(self, vm: VM) -> None:
        session = self._session
        vm.handler_limit = _THREADS
        for place in session.configuration.texts("sourcePaths"):
            vm.source_path.append(place)
        session.vm = vm
        session.halted.whole.is_wanted = session.configuration.flag("suspendAllThreads")
        self._changed = changed_capabilities(vm)
        threading.Thread(target=self._await_end, name="jvmti end", daemon=True).start()
        session.conversation.afterwards(self._begun)

    def _begun(self) -> None:
        session = self._session
        process = session.vm.process
        session.conversation.event(
            "process",
            name=printable(process.main) or str(process.pid),
            systemProcessId=process.pid,
            isLocalProcess=True,
            startMethod="launch" if self._is_launched else "attach",
        )
        if self._changed:
            session.conversation.event("capabilities", capabilities=self._changed)
        session.conversation.event("initialized")

    @answers("cancel")
    def cancel(self, given: Arguments) -> None:
        """The request that was meant has been cancelled as this one arrived."""

    @answers("configurationDone")
    def configuration_done(self, given: Arguments) -> None:
        """The breakpoints are set: a launched program may run."""
        vm = self._session.vm
        if vm.held:
            vm.proceed()
        if not self._reports_threads:
            self._reports_threads = True
            ThreadEvents(self._session).begin()
            self._saved.begin()

    def _copy_output(self, popen: subprocess.Popen[bytes]) -> list[threading.Thread]:
        """Begin to pass on what the program writes."""
        copying = []
        for stream, category in ((popen.stdout, "stdout"), (popen.stderr, "stderr")):
            assert stream is not None
            one = threading.Thread(
                target=self._copy, args=(stream, category), name=f"jvmti {category}", daemon=True
            )
            one.start()
            copying.append(one)
        return copying

    def _copy(self, stream: IO[bytes], category: str) -> None:
        """Pass on what the program writes."""
        descriptor = stream.fileno()
        with stream:
            while data := os.read(descriptor, 1 << 16):
                text = printable_lines(data.decode("utf-8", "replace"))
                self._session.conversation.output(text, category)

    # ---- the end ---------------------------------------------------------------------------

    def _await_end(self) -> None:
        """Notice that the program has ended by itself."""
        vm = self._session.vm
        vm.wait()
        status = None
        if vm.popen is not None:
            try:
                status = vm.popen.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                log.debug("the JVM has ended, its launcher has not")
        self._end(status)

    def _end(self, status: int | None = None) -> None:
        with self._ending:
            if self._has_ended:
                return
            self._has_ended = True
        self._session.halted.close()
        self._session.logpoints.flush()
        if self._guard is not None:
            self._guard.dismiss()
        if status is not None:
            self._session.conversation.event("exited", exitCode=status)
        self._session.conversation.event("terminated")

    @answers("disconnect")
    def disconnect(self, given: Arguments) -> None:
        """Leave the program as it was, or end it if that is wanted."""
        ends = given.flag("terminateDebuggee", self._ends_with_session)
        self.leave(ends)
        conversation = self._session.conversation
        conversation.afterwards(lambda: conversation.end_within(_LAST_WORDS))

    @answers("terminate")
    def terminate(self, given: Arguments) -> None:
        """End the program, or the session alone if the program is to stay."""
        vm = self._session.vm
        if not self._session.configuration.flag("endsWithSession", True):
            self.leave(ends=False)
            return
        self._session.halted.close()
        _end_process(vm, signal.SIGKILL if vm.held else signal.SIGTERM)

    def leave(self, ends: bool | None = None) -> None:
        """Leave the program; the threads that are stopped run on.

        Args:
            ends: end it, too; by default if it was launched, and its configuration does not say
                that it stays.
        """
        session = self._session
        if not session.has_vm:
            return
        vm = session.vm
        ends = self._ends_with_session if ends is None else ends
        if ends and not vm.closed:
            # First, so that it does not run on for a moment.
            _end_process(vm, signal.SIGKILL if vm.held else signal.SIGTERM)
        session.halted.close()
        try:
            if not vm.closed:
                vm.detach()
        except Error as error:
            log.debug("the session ends: %s", error)
        if ends and vm.popen is not None:
            try:
                vm.popen.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                vm.popen.kill()
        self._end()


def _end_process(vm: VM, number: int) -> None:
    try:
        os.kill(vm.process.pid, number)
    except ProcessLookupError:
        return
    except PermissionError as error:
        raise RequestFailed(f"the program cannot be ended: {error.strerror}") from None


def command_of(given: Arguments) -> list[str]:
    """The command that a configuration means.

    Raises:
        RequestFailed: it means none.
    """
    words = given.texts("command")
    if words:
        return words
    java = given.text("javaExec", "") or shutil.which("java") or ""
    if not java:
        raise RequestFailed("launch: there is no java on PATH; javaExec names one")
    words = [java, *given.texts("vmArgs")]
    paths = given.texts("classPaths")
    if paths:
        words += ["-cp", os.pathsep.join(paths)]
    modules = given.texts("modulePaths")
    if modules:
        words += ["--module-path", os.pathsep.join(modules)]
    if given.has("jar"):
        words += ["-jar", given.text("jar")]
    elif given.has("mainClass"):
        name = given.text("mainClass")
        words += ["-m", name] if "/" in name and not name.endswith(".java") else [name]
    else:
        raise RequestFailed("launch: mainClass is missing, or jar, or command")
    return words + given.texts("args")


__all__ = ["LaunchRequests", "command_of"]
