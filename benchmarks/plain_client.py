"""A client of the Debug Adapter Protocol that adds little of its own to what is measured.

The tests' client has a thread that reads, and hands each message over to the one that waits for it,
so that each cost two switches between threads. An editor reads and waits in one loop, as this does;
it parses every message, and keeps every event.
"""

from __future__ import annotations

import json
import os
import select
import time
from typing import Any, BinaryIO

from adapter.client import Failed

_AT_ONCE = 1 << 16


class PlainClient:
    """A session with an adapter, of one thread.

    Args:
        reader: the adapter's output.
        writer: its input, without a buffer.

    Attributes:
        events: those that have arrived, but for what ``event`` has returned.
    """

    def __init__(self, reader: BinaryIO, writer: BinaryIO) -> None:
        self._from, self._to = reader.fileno(), writer.fileno()
        self._streams = reader, writer
        self._arrived = b""
        self._sequence = 0
        self.events: list[dict[str, Any]] = []

    # ---- messages --------------------------------------------------------------------------

    def _more(self) -> None:
        data = os.read(self._from, _AT_ONCE)
        assert data, "the adapter has ended"
        self._arrived += data

    def _read(self) -> dict[str, Any]:
        while (head := self._arrived.find(b"\r\n\r\n")) < 0:
            self._more()
        name, _, length = self._arrived[:head].partition(b":")
        assert name == b"Content-Length"
        end = head + 4 + int(length)
        while len(self._arrived) < end:
            self._more()
        message: dict[str, Any] = json.loads(self._arrived[head + 4 : end])
        self._arrived = self._arrived[end:]
        return message

    def ask(self, command: str, /, **arguments: Any) -> Any:
        """Send a request, and return the body of its response.

        Raises:
            Failed: the adapter says so.
        """
        self._sequence += 1
        head = {"seq": self._sequence, "type": "request", "command": command}
        body = json.dumps({**head, "arguments": arguments}).encode()
        os.write(self._to, b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        while (message := self._read())["type"] != "response":
            self.events.append(message)
        assert message["request_seq"] == self._sequence, message
        if not message["success"]:
            raise Failed(message["message"])
        return message.get("body", {})

    def event(self, name: str) -> Any:
        """The body of the next event of that name; those before it are passed over."""
        while True:
            for at, one in enumerate(self.events):
                if one["event"] == name:
                    del self.events[: at + 1]
                    return one.get("body", {})
            self.events = [self._read()]

    def output(self, category: str, seconds: float) -> str:
        """What the adapter shows to the user for so long a time."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if b"\r\n\r\n" in self._arrived or select.select([self._from], [], [], left)[0]:
                self.events.append(self._read())
        shown = "".join(
            one["body"]["output"]
            for one in self.events
            if one["event"] == "output" and one["body"].get("category") == category
        )
        self.events.clear()
        return shown

    # ---- a session -------------------------------------------------------------------------

    def initialize(self) -> None:
        """Begin, as an editor does."""
        counts = {"linesStartAt1": True, "columnsStartAt1": True, "pathFormat": "path"}
        self.ask("initialize", adapterID="jvmti", clientID="benchmark", **counts)

    def stopped(self, reason: str) -> int:
        """Wait until a thread stops; return its number."""
        body = self.event("stopped")
        assert body["reason"] == reason, body
        number: int = body["threadId"]
        return number

    def step(self, thread: int) -> None:
        """Step a thread over a line, and wait until it has stopped there."""
        self.ask("next", threadId=thread)
        assert self.stopped("step") == thread

    def variables(self, number: int) -> dict[str, Any]:
        """Variables by their names."""
        found = self.ask("variables", variablesReference=number)["variables"]
        return {one["name"]: one for one in found}

    def disconnect(self) -> None:
        """End the session."""
        self.ask("disconnect")
        for one in self._streams:
            one.close()


__all__ = ["PlainClient"]
