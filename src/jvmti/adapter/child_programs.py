"""JVMs that a launched program starts: the editor gets a session for each of them.

Such a JVM is held as soon as it is live, and runs on when the editor has attached to it.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from jvmti.deferred import subprocess
from jvmti.interface.errors import Error
from jvmti.model.vm import VM
from jvmti.target.errors import LaunchFailed
from jvmti.text.printable import printable

if TYPE_CHECKING:
    from jvmti.adapter.debug_session import DebugSession
    from jvmti.target.connection import Connection
    from jvmti.target.launch import Launch

log = logging.getLogger("jvmti")

_EVERY = 2.0
"""Seconds between two glances whether the session is over."""
_WITHIN = 30.0
"""Seconds that the editor has to begin a session."""
_SETTLING = 1.5
"""Seconds that it has to set breakpoints, once it has begun."""
_INHERITED = (
    "sourcePaths",
    "stepFilters",
    "suspendAllThreads",
    "evaluateTimeout",
    "hotCodeReplace",
    "javac",
    "virtualThreads",
    "poolThreads",
    "token",
)
"""Arguments that the sessions of child JVMs have from their parent's."""


class ChildPrograms:
    """Accepts further JVMs of a launched program.

    Args:
        session: what requests share.
        started: the program.
    """

    def __init__(self, session: DebugSession, started: Launch) -> None:
        self._session = session
        self._started = started

    def begin(self) -> None:
        """Begin to accept them."""
        threading.Thread(target=self._run, name="jvmti children", daemon=True).start()

    def _run(self) -> None:
        over = self._session.conversation.is_over
        with self._started as started:
            while not over.is_set():
                try:
                    connection = started.accept(_EVERY)
                except LaunchFailed as error:
                    log.debug("%s", error)
                    if started.popen.poll() is not None:
                        return
                    continue
                threading.Thread(
                    target=self._offer, args=(connection,), name="jvmti child", daemon=True
                ).start()

    def _offer(self, connection: Connection) -> None:
        """Let the editor attach to a JVM, and let it run."""
        try:
            with VM(connection) as vm:
                if not self._session.client.flag("supportsStartDebuggingRequest"):
                    vm.proceed()
                    self._session.conversation.output(
                        f"the program has started another JVM, {vm.process.pid}, but this editor "
                        "cannot begin a session for it by itself\n"
                    )
                    return
                may_run = threading.Event()
                # Its main thread waits in the event, before it runs a line of the program.
                with vm.env.on("VMInit", lambda event: may_run.wait(_WITHIN + _SETTLING)):
                    try:
                        vm.proceed()
                        if self._ask(vm):
                            self._session.conversation.is_over.wait(_SETTLING)
                    finally:
                        may_run.set()
        except (Error, subprocess.SubprocessError) as error:
            log.debug("a JVM of the program is not debugged: %s", error)

    def _ask(self, vm: VM) -> bool:
        given = self._session.configuration.values
        name = printable(vm.process.main, 80) or str(vm.process.pid)
        configuration = {key: given[key] for key in _INHERITED if key in given}
        configuration |= {"type": given.get("type", "jvmti"), "name": name, "pid": vm.process.pid}
        return self._session.conversation.request(
            "startDebugging", _WITHIN, request="attach", configuration=configuration
        )


__all__ = ["ChildPrograms"]
