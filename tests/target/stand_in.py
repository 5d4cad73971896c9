"""What the tests know of the stand-in agent and of processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jvmti.target.errors import AttachError
from jvmti.target.procfs import ProcessHandle

if TYPE_CHECKING:
    from jvmti.target.connection import Connection

#: A user and group that own nothing.
NOBODY = 65534


def descends(pid: int, ancestor: int) -> bool:
    """Tell whether one process was started by another, however far back."""
    while pid > 1:
        if pid == ancestor:
            return True
        try:
            with ProcessHandle(pid) as handle:
                pid = handle.status().parent
        except AttachError:
            return False
    return False


def greeting(connection: Connection) -> str:
    """The line that the stand-in agent sends first."""
    connection.socket.settimeout(5)
    text = b""
    while not text.endswith(b"\n"):
        chunk = connection.socket.recv(1)
        assert chunk, f"the agent hung up after {text!r}"
        text += chunk
    return text.decode().strip()
