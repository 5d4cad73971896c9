"""A client of the adapter: it speaks the protocol, and holds every message to the schema."""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jsonschema

from prepared import Prepared

COMMAND = [sys.executable, "-m", "jvmti", "debug"]
IMPORTS = ("jvmti.adapter.server", "jvmti.adapter.subjects")
SOON = 30.0
"""Seconds for what happens at once on an idle machine."""
SOURCE = Path(__file__).parent.parent / "java" / "Debugged.java"


def line(word: str, source: Path = SOURCE) -> int:
    """The line of a program that has the word as its comment."""
    for number, text in enumerate(source.read_text().splitlines(), 1):
        if re.search(rf"// {word}\b", text):
            return number
    raise LookupError(word)


@functools.cache
def schema() -> dict[str, Any]:
    """The protocol's own schema, as a debugger of another language has it."""
    found = importlib.util.find_spec("debugpy")
    assert found is not None
    assert found.origin is not None
    place = Path(found.origin).parent / "_vendored/pydevd/_pydevd_bundle/_debug_adapter"
    read: dict[str, Any] = json.loads((place / "debugProtocol.json").read_text())
    return read


@functools.cache
def _definitions() -> dict[tuple[str, str], str]:
    """The definitions of messages, by kind and name."""
    found = {}
    for name, definition in schema()["definitions"].items():
        for part in definition.get("allOf", ()):
            for kind in ("command", "event"):
                names = part.get("properties", {}).get(kind, {}).get("enum", ())
                for one in names:
                    if kind == "event":
                        found["event", one] = name
                    else:
                        found["request", one] = name
                        found["response", one] = name.removesuffix("Request") + "Response"
    return found


@functools.cache
def _validator(definition: str) -> jsonschema.Draft4Validator:
    return jsonschema.Draft4Validator(
        {"$ref": f"#/definitions/{definition}", "definitions": schema()["definitions"]}
    )


_OPEN = {"LaunchRequestArguments", "AttachRequestArguments"}
"""What has names of the adapter's own beside those of the protocol."""


def _names(shape: dict[str, Any]) -> dict[str, Any]:
    """The names that a part of the schema knows, each with its own part; none where all may be."""
    if "$ref" in shape:
        name = shape["$ref"].rpartition("/")[2]
        return {} if name in _OPEN else _names(schema()["definitions"][name])
    found = dict(shape.get("properties", {}))
    for part in shape.get("allOf", ()):
        for name, inner in _names(part).items():
            # What is more special comes later, and may be less: an enumeration alone.
            found[name] = inner if _names(inner) or name not in found else found[name]
    return found


def _check_names(value: Any, shape: dict[str, Any], where: str) -> None:
    """The schema lets pass any further names, and so a known one that is misspelt."""
    if isinstance(value, dict):
        known = _names(shape)
        if not known:
            return
        unknown = set(value) - set(known)
        assert not unknown, f"{where} has {sorted(unknown)}, which the protocol does not know"
        for name, inner in value.items():
            _check_names(inner, known[name], f"{where}.{name}")
    elif isinstance(value, list):
        for inner in value:
            _check_names(inner, shape.get("items", {}), where)


def validate(message: dict[str, Any]) -> None:
    """Hold a message of either side to the schema; requests of the adapter's own have none."""
    kind = message["type"]
    if kind == "response" and not message["success"]:
        name: str | None = "ErrorResponse"
        assert message["message"]
    else:
        name = _definitions().get((kind, message["event" if kind == "event" else "command"]))
    if name is not None:
        _validator(name).validate(message)
        _check_names(message, {"$ref": f"#/definitions/{name}"}, name)


class Failed(Exception):
    """The adapter's answer that a request failed."""


class Client:
    """A session with `jvmti debug`.

    Args:
        streams: what it reads and writes; by default those of a process of its own.
        validates: hold messages to the schema, and their numbers to their order.
        patience: seconds to wait for a response.

    Attributes:
        name: what it calls itself.
        events: all events so far.
        asked: what the adapter asks of the client, for `answer`.
        process: the adapter, where it was started.
        seen: how many of the events were returned, or passed over.
    """

    def __init__(
        self,
        streams: tuple[Any, Any] | None = None,
        *,
        validates: bool = True,
        patience: float = SOON,
    ) -> None:
        self.name = "test"
        self._patience = patience
        self.process: subprocess.Popen[bytes] | None = None
        self._validates = validates
        self._errors = tempfile.TemporaryFile()
        if streams is None:
            self.process = Prepared(
                COMMAND[1:],
                IMPORTS,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
            )
            streams = self.process.stdout, self.process.stdin
        self._reader, self._writer = streams
        self.events: list[dict[str, Any]] = []
        self.asked: queue.Queue[dict[str, Any]] = queue.Queue()
        self._seq = 0
        self._writing = threading.Lock()
        self._last = 0
        self._posted: list[int] = []
        self._responses: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._arrived = threading.Condition()
        self.seen = 0
        self._wrong: list[str] = []
        self.ended = False
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    # ---- messages --------------------------------------------------------------------------

    def _read(self) -> None:
        try:
            while header := self._reader.readline():
                length = int(header.split(b":")[1])
                self._reader.readline()
                self._take(json.loads(self._reader.read(length)))
        except (ValueError, OSError) as error:
            self._wrong.append(repr(error))
        with self._arrived:
            self.ended = True
            self._arrived.notify_all()
        self._responses.put(None)

    def _take(self, message: dict[str, Any]) -> None:
        try:
            if self._validates:
                validate(message)
                assert message["seq"] == self._last + 1, "numbers in order"
        except (jsonschema.ValidationError, AssertionError) as error:
            self._wrong.append(f"{message}: {error}")
        self._last = message["seq"]
        if message["type"] == "response":
            self._responses.put(message)
            return
        if message["type"] == "request":
            self.asked.put(message)
            return
        with self._arrived:
            self.events.append(message)
            self._arrived.notify_all()

    def answer(self, message: dict[str, Any], does: bool) -> None:
        """Answer a request of the adapter: whether the client has done it."""
        about = {"request_seq": message["seq"], "command": message["command"]}
        response = {"type": "response", **about, "success": does}
        if not does:
            response |= {"message": "not now", "body": {}}
        self._send(response)

    def _send(self, message: dict[str, Any], *, is_valid: bool = True) -> int:
        with self._writing:
            self._seq += 1
            message = {"seq": self._seq, **message}
            if is_valid and self._validates:
                validate(message)
            self.write(json.dumps(message).encode())
            return self._seq

    def post(self, command: Any, arguments: Any = None, *, is_valid: bool = False) -> int:
        """Send a request, valid or not, and do not wait for its response."""
        message: dict[str, Any] = {"type": "request", "command": command}
        if arguments is not None:
            message["arguments"] = arguments
        number = self._send(message, is_valid=is_valid)
        self._posted.append(number)
        return number

    def write(self, body: bytes) -> None:
        """Send a message, whatever it is."""
        try:
            self._writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
            self._writer.flush()
        except BrokenPipeError as error:
            raise AssertionError(f"the adapter has ended: {self.errors()}") from error

    def response(self, timeout: float | None = None) -> dict[str, Any]:
        """The next response, which must be that to the earliest request without one."""
        found = self._responses.get(timeout=self._patience if timeout is None else timeout)
        assert not self._wrong, self._wrong
        assert found is not None, f"the adapter has ended: {self.errors()}"
        assert found["request_seq"] == self._posted.pop(0), "one response for each, in order"
        return found

    def last_responses(self) -> list[dict[str, Any]]:
        """The responses up to the end of the adapter, in order; some requests may have none."""
        found = []
        while (one := self._responses.get(timeout=self._patience)) is not None:
            assert one["request_seq"] in self._posted, "one response for each, in order"
            del self._posted[: self._posted.index(one["request_seq"]) + 1]
            found.append(one)
        return found

    def ask(self, command: str, /, **arguments: Any) -> Any:
        """Send a request, and return the body of its response.

        Raises:
            Failed: the adapter says so.
        """
        self.post(command, arguments, is_valid=True)
        found = self.response()
        if not found["success"]:
            raise Failed(found["message"])
        return found.get("body", {})

    def event(
        self, name: str, timeout: float = SOON, *, where: Callable[[Any], bool] = lambda body: True
    ) -> Any:
        """The next event of that name, after those that were returned before."""
        until = time.monotonic() + timeout
        with self._arrived:
            while True:
                for at in range(self.seen, len(self.events)):
                    one = self.events[at]
                    if one["event"] == name and where(one.get("body", {})):
                        self.seen = at + 1
                        assert not self._wrong, self._wrong
                        return one.get("body", {})
                left = until - time.monotonic()
                if left <= 0 or self.ended:
                    raise AssertionError(
                        f"no event {name}; {self.events[self.seen :]} {self.errors()}"
                    )
                self._arrived.wait(left)

    def has_event(self, name: str) -> bool:
        """Whether an event of that name has come at all."""
        return any(one["event"] == name for one in self.events)

    def output(self, category: str) -> str:
        """What the user has seen so far."""
        return "".join(
            one["body"]["output"]
            for one in self.events
            if one["event"] == "output" and one["body"].get("category") == category
        )

    def errors(self) -> str:
        """What the adapter has written besides messages, once it has ended."""
        if self._errors.closed:
            return ""
        self._errors.seek(0)
        return self._errors.read().decode()[-3000:]

    def exchanges(self) -> int:
        """How often the adapter has asked stopped threads, where ``JVMTI_TRACE=frames`` is set.

        What else it asks goes on channels of its other threads, whenever the machine lets them.
        """
        # Not by a seek: the adapter writes at the same position.
        trace = os.pread(self._errors.fileno(), 1 << 24, 0).decode()
        return len(re.findall(r" > (?:CALL|MAP) \S+ seq \d+ conv [1-9]", trace))

    # ---- a session -------------------------------------------------------------------------

    def initialize(self, *supports: str) -> Any:
        """Begin, as an editor does; what it supports has names as `ProgressReporting`."""
        return self.ask(
            "initialize",
            adapterID="jvmti",
            clientID=self.name,
            linesStartAt1=True,
            columnsStartAt1=True,
            pathFormat="path",
            **{f"supports{name}": True for name in supports},
        )

    def breakpoints(self, *lines: int | dict[str, Any], path: Path = SOURCE) -> list[Any]:
        """Set the breakpoints of a source."""
        wanted = [one if isinstance(one, dict) else {"line": one} for one in lines]
        body = self.ask("setBreakpoints", source={"path": str(path)}, breakpoints=wanted)
        found: list[Any] = body["breakpoints"]
        return found

    def launch(
        self,
        *lines: int | dict[str, Any],
        command: Sequence[str],
        supports: Sequence[str] = (),
        **more: Any,
    ) -> None:
        """Start a program with breakpoints, and let it run."""
        self.initialize(*supports)
        self.ask("launch", command=list(command), **more)
        self.event("initialized")
        if lines:
            self.breakpoints(*lines)
        self.ask("configurationDone")

    def attach(
        self, pid: int, *lines: int | dict[str, Any], supports: Sequence[str] = (), **more: Any
    ) -> None:
        """Attach to a program, with breakpoints."""
        self.initialize(*supports)
        self.ask("attach", pid=pid, **more)
        self.event("initialized")
        if lines:
            self.breakpoints(*lines)
        self.ask("configurationDone")

    def stopped(self, reason: str | None = None, timeout: float = SOON) -> int:
        """Wait until a thread stops; return its number."""
        body = self.event("stopped", timeout)
        assert reason is None or body["reason"] == reason, body
        number: int = body["threadId"]
        return number

    def frames(self, thread: int, **more: Any) -> list[Any]:
        """The frames of a thread."""
        found: list[Any] = self.ask("stackTrace", threadId=thread, **more)["stackFrames"]
        return found

    def top(self, thread: int) -> Any:
        """The topmost frame of a thread."""
        return self.frames(thread, startFrame=0, levels=1)[0]

    def scope(self, frame: int, name: str = "Locals") -> int:
        """The number of a group of variables of a frame."""
        scopes = self.ask("scopes", frameId=frame)["scopes"]
        return next(int(one["variablesReference"]) for one in scopes if one["name"] == name)

    def variables(self, number: int, **more: Any) -> dict[str, Any]:
        """Variables by their names."""
        found = self.ask("variables", variablesReference=number, **more)["variables"]
        return {one["name"]: one for one in found}

    def locals(self, thread: int) -> dict[str, Any]:
        """The local variables of a thread's topmost frame."""
        return self.variables(self.scope(self.top(thread)["id"]))

    def evaluate(self, thread: int, text: str, **more: Any) -> Any:
        """The result of an expression in a thread's topmost frame."""
        return self.ask("evaluate", expression=text, frameId=self.top(thread)["id"], **more)

    def go(self, command: str, thread: int, **more: Any) -> int:
        """Step a thread, or let it run, until it stops; return its number."""
        self.ask(command, threadId=thread, **more)
        return self.stopped(timeout=self._patience)

    def disconnect(self, **arguments: Any) -> None:
        """End the session."""
        self.ask("disconnect", **arguments)
        self.close()

    def close(self) -> None:
        """Let the adapter end, and check that it does."""
        try:
            self._writer.close()
        except BrokenPipeError:
            pass
        if self.process is not None:
            status = self.process.wait(SOON)
            assert status in (0, -signal.SIGKILL), self.errors()
        self._thread.join(SOON)
        self._reader.close()
        self._errors.close()
        assert not self._wrong, self._wrong


__all__ = ["SOON", "SOURCE", "Client", "Failed", "line", "validate"]
