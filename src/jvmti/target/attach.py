"""Attaching to a JVM that is already running."""

from __future__ import annotations

import os
import socket
import time
from dataclasses import replace

from jvmti.target import listening
from jvmti.target.agent_library import library_for_process
from jvmti.target.connection import Connection
from jvmti.target.errors import (
    AgentLibraryMissing,
    AttachTimeout,
    DynamicLoadingRefused,
    JvmDied,
    OptionsError,
    OwnProcess,
)
from jvmti.target.hotspot import AttachPoint, check_resources, last_flag, refuse_if_disabled
from jvmti.target.listener import Listener, accept
from jvmti.target.options import AgentOptions
from jvmti.target.processes.procfs import ProcessHandle
from jvmti.target.processes.search import Process, find, inspect

__all__ = ["attach"]


def attach(
    target: int | str | Process,
    *,
    timeout: float = 10.0,
    options: AgentOptions | None = None,
    library: str | os.PathLike[str] | None = None,
) -> Connection:
    """Connect to the agent in a running JVM; load it if none listens there yet.

    Args:
        target: pid, part of a main class or jar name, or a ``Process``.
        timeout: total seconds.
        options: further options for the agent, besides where to connect. They have no effect if
            an agent listens already.
        library: the agent library; by default the packaged one for the target.

    Raises:
        AttachError: any of its kinds.
        OptionsError: ``options`` names a socket to connect to.
    """
    deadline = time.monotonic() + timeout
    options = options or AgentOptions()
    if options.connect is not None:
        raise OptionsError("attach chooses connect= itself")
    process = find(target)
    if process.pid == os.getpid():
        # Handlers, and resuming threads, need Python's interpreter lock, which the waiting thread
        # may hold.
        raise OwnProcess(
            f"process {process.pid} is the caller's own, and a program that waits for its own JVM "
            "hangs forever: jvmti.attach_self() attaches from another process"
        )
    with process.open() as handle:
        if process.needs_helper():
            connected, loaded_at_startup = _attach_elsewhere(
                process, handle, deadline, options, library
            )
            checked = 0.0
        else:
            connected, loaded_at_startup, checked = _attach_here(
                process, handle, deadline, options, library
            )
        if process.libjvm is None or not process.main:
            # It was still starting; now more is known about it.
            try:
                process = inspect(process.pid)
            except BaseException:
                connected.close()
                raise
    return Connection(connected, process, loaded_at_startup=loaded_at_startup, checked=checked)


def _attach_here(
    process: Process,
    handle: ProcessHandle,
    deadline: float,
    options: AgentOptions,
    library: str | os.PathLike[str] | None,
) -> tuple[socket.socket, bool, float]:
    paths = listening.socket_paths(process.jvm_arguments, process.uid, process.namespace_pid)
    connected = listening.connect(paths, process.pid, process.uid, deadline)
    if connected is not None:
        return connected, True, 0.0
    _refuse(process)
    path = _library(library, process, handle)
    point = AttachPoint(
        handle, process.namespace_pid, process.uid, deadline=deadline, started=process.started
    )
    with Listener() as listener:
        point.load(path, str(replace(options, connect=listener.path)))
        connected = _accept(listener.socket, process, handle, deadline)
        return connected, False, point.checked


def _attach_elsewhere(
    process: Process,
    handle: ProcessHandle,
    deadline: float,
    options: AgentOptions,
    library: str | os.PathLike[str] | None,
) -> tuple[socket.socket, bool]:
    from jvmti.target.hotspot import peer_credentials
    from jvmti.target.namespaces import Helper

    with Helper(process, timeout=deadline - time.monotonic()) as helper:
        connected = helper.connect_listening()
        if connected is not None:
            # The helper has checked already, but is not trusted more than the target.
            if peer_credentials(connected)[0] == process.pid:
                return connected, True
            connected.close()
        _refuse(process)
        check_resources(process, handle, to_load=True)
        path = _library(library, process, handle)
        listening_socket, there = helper.listen()
        with listening_socket:
            helper.load_copy(path, str(replace(options, connect=there)))
            return _accept(listening_socket, process, handle, deadline), False


def _refuse(process: Process) -> None:
    refuse_if_disabled(process)
    if last_flag(process, "EnableDynamicAgentLoading") is False:
        raise DynamicLoadingRefused(process.pid)


def _library(
    library: str | os.PathLike[str] | None, process: Process, handle: ProcessHandle
) -> str:
    if library is None:
        return library_for_process(process, handle)
    path = os.path.abspath(os.fspath(library))
    if not os.path.isfile(path):
        raise AgentLibraryMissing(f"the agent library {path} is not a file")
    return path


def _accept(
    listening_socket: socket.socket, process: Process, handle: ProcessHandle, deadline: float
) -> socket.socket:
    def is_target(pid: int, uid: int) -> bool:
        return pid == process.pid and uid in (process.uid, os.geteuid())

    connected = accept(listening_socket, is_target, deadline, handle)
    if connected is not None:
        return connected
    if not handle.alive():
        raise JvmDied(f"JVM {process.pid} ended while the agent was starting in it")
    raise AttachTimeout(
        f"the agent was loaded into JVM {process.pid} and did not connect back in time; its own "
        "log, by the option log=PATH, says why"
    )
