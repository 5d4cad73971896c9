"""The socket on which an agent calls back, in a private directory of its own."""

from __future__ import annotations

import os
import select
import socket
import stat
import time
from collections.abc import Callable

from jvmti.target.errors import NotPermitted, SuspiciousFile
from jvmti.target.hotspot import peer_credentials
from jvmti.target.processes.procfs import ProcessHandle

__all__ = ["Listener", "accept", "private_directory", "remove_directory"]

_NAME = "socket"


def private_directory(parent: str = "/tmp") -> str:
    """Make a new directory that only the caller can enter, and return its path.

    Raises:
        SuspiciousFile: others can replace files in the parent.
        NotPermitted: the parent cannot be written.
    """
    about = os.stat(parent)
    if about.st_mode & stat.S_IWOTH and not about.st_mode & stat.S_ISVTX:
        raise SuspiciousFile(
            f"{parent} can be written by everybody and has no sticky bit, so nothing in it is "
            f"private; 'chmod +t {parent}' fixes that"
        )
    while True:
        path = os.path.join(parent, f".jvmti-{os.urandom(8).hex()}")
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            continue
        except OSError as error:
            raise NotPermitted(
                f"cannot create {path}: {error.strerror}. The JVM needs a writable {parent} to be "
                "attached to; without one, start it with the agent"
            ) from None
        return path


class Listener:
    """A listening Unix socket, mode 0600, in a directory of its own, mode 0700.

    Use it in a ``with`` statement, or call :meth:`close`.
    """

    def __init__(self, directory: str | None = None) -> None:
        self.directory = directory or private_directory()
        self.path = os.path.join(self.directory, _NAME)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            # The mode of the descriptor becomes that of the file, with no moment in between.
            os.fchmod(self.socket.fileno(), 0o600)
            self.socket.bind(self.path)
            self.socket.listen(16)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Listener:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening and remove the directory; pending connections are refused."""
        self.socket.close()
        remove_directory(self.directory)


def accept(
    listening: socket.socket,
    accepts: Callable[[int, int], bool],
    deadline: float,
    process: ProcessHandle | None = None,
) -> socket.socket | None:
    """The first connection whose peer ``accepts(pid, uid)``; all others are closed.

    Returns None if the deadline (``time.monotonic()`` seconds) passes, or ``process`` ends first.
    """
    listening.setblocking(False)
    waiting = select.poll()
    waiting.register(listening, select.POLLIN)
    ended = process.pidfd if process is not None else None
    if ended is not None:
        waiting.register(ended, select.POLLIN)
    over = False
    while True:
        try:
            connection, _ = listening.accept()
        except (BlockingIOError, ConnectionAbortedError):
            pass
        else:
            pid, uid, _ = peer_credentials(connection)
            if accepts(pid, uid):
                connection.setblocking(True)
                return connection
            connection.close()
            continue
        remaining = deadline - time.monotonic()
        if over or remaining <= 0:
            return None
        if process is not None and ended is None:
            # Without a pidfd only the clock ends the wait.
            remaining = min(remaining, 0.1)
        ready = waiting.poll(int(remaining * 1000) + 1)
        # Accept those that connected before the end.
        over = any(descriptor == ended for descriptor, _ in ready) or (
            process is not None and ended is None and not process.alive()
        )


def remove_directory(path: str) -> None:
    """Remove a private directory and the socket in it, if they are still there."""
    try:
        os.unlink(os.path.join(path, _NAME))
    except OSError:
        pass
    try:
        os.rmdir(path)
    except OSError:
        pass
