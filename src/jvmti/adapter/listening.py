"""Adapters for clients that connect: to a Unix socket, or to a port of the loopback interface."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import socket
import sys
import threading

from jvmti.adapter.server import serve
from jvmti.target.hotspot import peer_credentials

log = logging.getLogger("jvmti")


def serve_socket(path: str, *, once: bool = False) -> None:
    """Serve clients that connect to a Unix socket, each with a session of its own.

    Only processes of this user and root may connect.

    Args:
        path: of the socket, which must not exist, unless nobody listens there any more.
        once: end with the first client.

    Raises:
        OSError: the socket cannot be made there.
    """
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        _remove_abandoned(path)
        before = os.umask(0o177)
        try:
            listener.bind(path)
        finally:
            os.umask(before)
        stack.callback(_unlink, path)
        listener.listen()
        _announce(f"waiting for editors at {path}")
        _serve_all(listener, None, once)


def serve_port(port: int, *, once: bool = False) -> None:
    """Serve clients that connect to a port of the loopback interface.

    Any process of the machine can connect there, so ``launch`` and ``attach`` need a token, which
    is printed.

    Args:
        port: the port; 0 for any that is free.
        once: end with the first client.

    Raises:
        OSError: the port is in use.
    """
    token = secrets.token_hex(16)
    with socket.create_server(("127.0.0.1", port)) as listener:
        chosen = listener.getsockname()[1]
        _announce(f"waiting for editors at port {chosen}, with the token {token}")
        _serve_all(listener, token, once)


def _announce(text: str) -> None:
    print(text)
    sys.stdout.flush()


def _serve_all(listener: socket.socket, token: str | None, once: bool) -> None:
    while True:
        connection, _ = listener.accept()
        if token is None and peer_credentials(connection)[1] not in (os.geteuid(), 0):
            log.warning("a process of another user wanted to debug; it was turned away")
            connection.close()
            continue
        if once:
            _serve_one(connection, token)
            return
        threading.Thread(
            target=_serve_one, args=(connection, token), name="jvmti editor", daemon=True
        ).start()


def _serve_one(connection: socket.socket, token: str | None) -> None:
    with (
        connection,
        connection.makefile("rb", buffering=0) as reader,
        connection.makefile("wb") as writer,
    ):
        try:
            serve(reader, writer, token=token)
        finally:
            # Closing alone would not end the connection: a thread waits for requests.
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


def _remove_abandoned(path: str) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asked:
        try:
            asked.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
        except OSError:
            pass  # there is none, or binding says what is wrong


def _unlink(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


__all__ = ["serve_port", "serve_socket"]
