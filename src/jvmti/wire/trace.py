"""The frames of every channel as lines of text, for people who work on the protocol.

``JVMTI_TRACE=frames`` writes one line to standard error for each frame that this side sends or
receives, once it is complete::

    123456.789012 controller 9 > CALL get_thread_state seq 4 conv 0 env 1: 8 bytes
    123456.789067 controller 9 < RETURN status 0 seq 4 conv 0 env 1: 4 bytes, after 55 us

The time is that of ``CLOCK_MONOTONIC`` in seconds. A JVM with the same variable, and ``JVMTI_LOG``
for its agent, writes the same for its side, so that both sort into one list. Without the variable,
tracing costs nothing.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Iterable
from typing import Any

from jvmti.layouts.conversations import OPENING
from jvmti.wire.protocol import HEADER, Kind

FRAMES = os.environ.get("JVMTI_TRACE") == "frames"
"""Whether frames are traced."""

_names: dict[int, str] = {}
_openings: dict[int, str] = {OPENING.STOP: "stop", OPENING.EXTENSION_EVENT: "extension event"}
_KINDS = {int(kind): kind.name for kind in Kind}


def name_functions(names: Iterable[tuple[int, str]]) -> None:
    """Name the functions, by their numbers in frames."""
    _names.update(names)


def name_openings(names: Iterable[tuple[int, str]]) -> None:
    """Name events and JNI functions, by their numbers in frames."""
    for number, name in names:
        _openings[number] = name
        _openings[number | OPENING.OWN_WORK] = f"{name} (own work)"


class _Direction:
    """Assembles the bytes of one direction into frames."""

    def __init__(self, sign: str, channel: int, sent: dict[int, int]) -> None:
        self._sign = sign
        self._channel = channel
        self._sent = sent
        self._head = bytearray()
        self._left = 0

    def take(self, data: memoryview) -> None:
        """The next bytes that passed."""
        while data:
            if self._left:
                taken = min(self._left, len(data))
                self._left -= taken
                data = data[taken:]
                continue
            missing = HEADER.size - len(self._head)
            self._head += data[:missing]
            data = data[missing:]
            if len(self._head) == HEADER.size:
                fields = HEADER.struct.unpack(self._head)
                self._head.clear()
                self._left = fields[0]
                self._write(*fields)

    def _write(
        self, size: int, kind: int, _: int, number: int, sequence: int, env: int, conv: int
    ) -> None:
        now = time.monotonic_ns()
        words = [f"{now / 1e9:.6f}", "controller", str(self._channel), self._sign]
        words.append(_KINDS.get(kind, f"kind {kind}"))
        after = ""
        if kind == Kind.RETURN:
            words.append(f"status {number}")
            begun = self._sent.pop(sequence, None)
            after = "" if begun is None else f", after {(now - begun) // 1000} us"
        elif kind in (Kind.CALL, Kind.MAP):
            words.append(_names.get(number, f"{number:#x}"))
        elif kind == Kind.EVENT:
            words.append(_openings.get(number, f"{number:#x}"))
        if self._sign == ">":
            self._sent[sequence] = now
        line = f"{' '.join(words)} seq {sequence} conv {conv} env {env}: {size} bytes{after}\n"
        sys.stderr.write(line)


class TracedSocket(socket.socket):
    """A socket that reports the frames that pass."""

    def __init__(self, connected: socket.socket) -> None:
        super().__init__(
            connected.family, connected.type, connected.proto, fileno=connected.detach()
        )
        sent: dict[int, int] = {}
        self._out = _Direction(">", self.fileno(), sent)
        self._in = _Direction("<", self.fileno(), sent)

    def send(self, data: Any, *flags: Any) -> int:
        """Send like the socket, and trace what it accepted."""
        sent = super().send(data, *flags)
        self._out.take(memoryview(data)[:sent])
        return sent

    def sendall(self, data: Any, *flags: Any) -> None:
        """Send like the socket, and trace it."""
        super().sendall(data, *flags)
        self._out.take(memoryview(data))

    def sendmsg(self, buffers: Any, *rest: Any) -> int:
        """Send like the socket, and trace what it accepted."""
        data = b"".join(buffers)
        sent = super().sendmsg([data], *rest)
        self._out.take(memoryview(data)[:sent])
        return sent

    def recv_into(self, buffer: Any, *rest: Any) -> int:
        """Receive like the socket, and trace what came."""
        received = super().recv_into(buffer, *rest)
        self._in.take(memoryview(buffer)[:received])
        return received


__all__ = ["FRAMES", "TracedSocket", "name_functions", "name_openings"]
