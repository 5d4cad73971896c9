"""Connects to an agent that already listens in its JVM."""

from __future__ import annotations

import os
import socket
import stat
import time
from collections.abc import Sequence

from jvmti.target.errors import AttachTimeout, OptionsError
from jvmti.target.hotspot import peer_credentials
from jvmti.target.options import AgentOptions

__all__ = ["connect", "socket_paths"]


def socket_paths(jvm_arguments: Sequence[str], uid: int, namespace_pid: int) -> list[str]:
    """The sockets on which an agent of this JVM may listen: from its options, or the usual one.

    ``uid`` is the JVM's user as the JVM sees it.
    """
    paths = []
    for argument in jvm_arguments:
        if argument.startswith(("-agentpath:", "-agentlib:")):
            library, _, text = argument.partition(":")[2].partition("=")
            if "jvmti" not in os.path.basename(library):
                continue
            try:
                options = AgentOptions.parse(text)
            except OptionsError:
                continue
            if options.listen:
                paths.append(options.listen)
    paths.append(f"/tmp/.jvmti-{uid}/{namespace_pid}.sock")
    return paths


def connect(paths: Sequence[str], pid: int, uid: int, deadline: float) -> socket.socket | None:
    """A connection to the first socket on which the JVM listens; None if there is none.

    Only a socket of the JVM's user counts, and only if the JVM itself is the peer.

    Raises:
        AttachTimeout: the agent listens but does not accept the connection.
    """
    for path in paths:
        try:
            about = os.lstat(path)
        except (OSError, ValueError):
            continue
        if not stat.S_ISSOCK(about.st_mode) or about.st_uid != uid:
            continue
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(max(deadline - time.monotonic(), 0.001))
        try:
            connection.connect(path)
        except (TimeoutError, BlockingIOError):
            connection.close()
            raise AttachTimeout(f"the agent in JVM {pid} does not answer on {path}") from None
        except OSError:
            connection.close()
            continue
        if peer_credentials(connection)[0] == pid:
            connection.settimeout(None)
            return connection
        connection.close()
    return None
