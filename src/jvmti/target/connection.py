"""What attaching and launching lead to: a connected socket, and whose it is."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from jvmti.interface.frozen import frozen
from jvmti.target.processes import Process

if TYPE_CHECKING:
    import subprocess

__all__ = ["Connection"]


@frozen
class Connection:
    """A checked connection to the agent in a JVM. Nothing has been sent or read on it yet.

    Attributes:
        socket: the connected Unix stream socket, blocking; the owner of this object closes it.
        process: the JVM.
        popen: the program that was started, None when the JVM was already running. It need not
            be the JVM itself: a script may have started that.
        loaded_at_startup: whether the agent was loaded when the JVM started, rather than now.
    """

    socket: socket.socket
    process: Process
    popen: subprocess.Popen[bytes] | None = None
    loaded_at_startup: bool = False

    def close(self) -> None:
        """Close the socket; the agent then leaves the JVM as it found it."""
        self.socket.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
