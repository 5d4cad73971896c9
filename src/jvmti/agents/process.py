"""The process that a JVM's agent starts for a script, with a socket to it as descriptor 3.

It ends with the JVM, after a moment for running calls to finish.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
from types import FrameType
from typing import NoReturn

from jvmti.agents.script import Script, ScriptFailed, log_to_stderr, print_error
from jvmti.interface.errors import TargetLost
from jvmti.model.vm import VM
from jvmti.target.connection import Connection
from jvmti.target.errors import NoSuchProcess
from jvmti.target.hotspot import peer_credentials
from jvmti.target.processes.search import inspect

_GRACE = 2.0
"""Seconds that this process may continue after its session has ended."""


_FAILED = -1
"""The result of ``Agent_OnLoad`` for a script that has failed: ``JNI_ERR``."""


class _Terminated(BaseException):
    """This process received SIGTERM."""


def main() -> NoReturn:
    """Serve one script; the agent library sets ``sys.argv``."""
    _, _root, descriptor, path, unload, options = sys.argv
    _close_others(int(descriptor))
    signal.signal(signal.SIGTERM, _terminate)
    log_to_stderr()
    sys.argv = [path]
    os.set_inheritable(int(descriptor), False)
    connected = socket.socket(fileno=int(descriptor))
    script = Script(path, options)
    sys.exit(_serve(connected, script, float(unload)))


def _serve(connected: socket.socket, script: Script, unload: float) -> int:
    try:
        process = inspect(peer_credentials(connected)[0])
    except NoSuchProcess:
        return 1  # the JVM has ended while this process began: Ctrl-C ends both
    vm = VM(Connection(connected, process, loaded_at_startup=True))
    threading.Thread(target=_end_with, args=(vm, script, unload), daemon=True).start()
    try:
        try:
            script.start(vm, unload)
        except TargetLost:
            if vm.held:
                raise
            # The VM's start has failed: another agent refused it, or an option is wrong.
        else:
            vm.wait()
    except _Terminated:
        if vm.held:
            vm.refuse()
            return 1
    except BaseException as error:
        print_error(error)
        if vm.held:
            with contextlib.suppress(TargetLost):
                vm.refuse(error.result if isinstance(error, ScriptFailed) else _FAILED)
        vm.detach()
        return 1
    script.unload()
    if not script.wait_unloaded(_GRACE):
        name = os.path.basename(script.path)
        print(f"jvmti: agent_onunload of {name} did not finish", file=sys.stderr)
    vm.detach()
    return 0


def _end_with(vm: VM, script: Script, unload: float) -> None:
    """End this process some time after its session, even while the script runs."""
    vm.wait()
    begins = script.started and not script.unloading
    threading.Event().wait(unload + _GRACE if begins else _GRACE)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(1)


def _terminate(number: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise _Terminated


def _close_others(kept_open: int) -> None:
    """Close what the JVM opened while it was starting us."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > kept_open:
            with contextlib.suppress(OSError):
                os.close(int(name))


__all__ = ["main"]
