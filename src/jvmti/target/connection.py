"""The result of attaching and launching: a connected socket and its process."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from jvmti.interface.frozen import frozen
from jvmti.target.processes.search import Process

if TYPE_CHECKING:
    import subprocess

__all__ = ["Connection"]


@frozen
class Connection:
    """A checked connection to the agent in a JVM. Nothing has been sent or read on it yet.

    Attributes:
        socket: the connected Unix stream socket, blocking; the owner of this object closes it.
        process: the JVM.
        popen: the started program, None if the JVM was already running. It may be a script that
            started the JVM.
        loaded_at_startup: whether the agent was loaded when the JVM started, rather than now.
        checked: when the JVM had the resources for a first channel, by `time.monotonic`; 0 if
            nothing was checked.
    """

    socket: socket.socket
    process: Process
    popen: subprocess.Popen[bytes] | None = None
    loaded_at_startup: bool = False
    checked: float = 0.0

    def close(self) -> None:
        """Close the socket; the agent then leaves the JVM as it found it."""
        self.socket.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
