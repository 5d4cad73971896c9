"""What the tests know of the stand-in agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jvmti.target.connection import Connection


def greeting(connection: Connection) -> str:
    """The line that the stand-in agent sends first."""
    connection.socket.settimeout(5)
    text = b""
    while not text.endswith(b"\n"):
        chunk = connection.socket.recv(1)
        assert chunk, f"the agent hung up after {text!r}"
        text += chunk
    return text.decode().strip()
