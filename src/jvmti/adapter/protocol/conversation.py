"""The conversation with a client: requests in, one response for each in order, events out."""

from __future__ import annotations

import contextlib
import json
import logging
import queue
import threading
from collections import deque
from collections.abc import Callable, Mapping
from json.encoder import encode_basestring_ascii
from typing import Any

from jvmti.adapter.protocol.arguments import Arguments, RequestFailed
from jvmti.adapter.protocol.framing import Encoded, Framing, MalformedMessage, StreamLost
from jvmti.adapter.protocol.progress import Progress, name_of
from jvmti.adapter.protocol.requests import Answer
from jvmti.interface.errors import Error
from jvmti.text.names import suggestion
from jvmti.text.printable import printable

log = logging.getLogger("jvmti")

_CANCELLED = "cancelled"
"""The message of a response that the protocol reserves for this case."""
_AT_ONCE = frozenset(("continue", "next", "scopes", "stackTrace", "stepIn", "stepOut", "variables"))
"""Requests that are answered in a moment, unless they wait for the Python thread of a stop."""
_FAILED = 1
"""The number of our messages to the user; the text makes the difference."""


class RequestCancelled(Error):
    """The client does not wait for the request any more."""


class Conversation:
    """Answers requests one after the other, and sends events.

    Args:
        framing: the stream of messages.

    Attributes:
        is_over: set when the client has gone, or the session has ended.
        progress: tells the client of requests that take long.
    """

    def __init__(self, framing: Framing) -> None:
        self._framing = framing
        self._answers: Mapping[str, Answer] = {}
        self._reading = threading.Lock()
        self._reader: int | None = None
        """The thread that holds the lock."""
        self._lock = threading.Lock()
        self._waiting: deque[dict[str, Any]] = deque()
        """Requests that have arrived while another was answered."""
        self._is_answering = False
        self._current: int | None = None
        self._cancelled: set[int] = set()
        self._has_ended = False
        self._is_cancelled = False
        """Whether the client does not wait for the current request any more."""
        self._input_is_over = False
        self._asked: dict[int, queue.Queue[bool]] = {}
        self._afterwards: list[Callable[[], object]] = []
        self._meanwhile: list[Callable[[], object]] = []
        self._holds = False
        """Whether the messages of other threads wait for the current response."""
        self.is_over = threading.Event()
        self.progress = Progress(self)

    # ---- out -------------------------------------------------------------------------------

    def event(self, name: str, /, **body: Any) -> None:
        """Send an event; values that are ``None`` are left out."""
        # Most have few values, all of them plain: the general encoder takes three times as long.
        given = [f'"{key}": {_as_json(value)}' for key, value in body.items() if value is not None]
        self._send(f'{{"type": "event", "event": "{name}", "body": {{{", ".join(given)}}}}}')

    def output(self, text: str, category: str = "console") -> None:
        """Show text to the user."""
        self.event("output", category=category, output=text)

    def request(self, command: str, timeout: float, /, **arguments: Any) -> bool:
        """Ask something of the client, and wait for its response.

        Args:
            command: the request.
            timeout: seconds to wait.
            arguments: of the request.

        Returns:
            Whether it has done it; false if it refuses, or does not answer in time.
        """
        answered: queue.Queue[bool] = queue.Queue()
        asked: list[int] = []

        def numbered(number: int) -> None:
            asked.append(number)
            self._asked[number] = answered

        message = {"type": "request", "command": command, "arguments": arguments}
        self._send(json.dumps(message), numbered)
        try:
            return answered.get(timeout=timeout)
        except queue.Empty:
            return False
        finally:
            for number in asked:
                self._asked.pop(number, None)

    def held(self) -> contextlib.AbstractContextManager[object]:
        """Send the messages of other threads after those that the calling thread sends inside."""
        return self._framing.held()

    def _send(self, message: str, numbered: Callable[[int], object] | None = None) -> None:
        try:
            self._framing.write(message, numbered)
        except (OSError, ValueError) as error:
            log.debug("the client has gone: %s", error)
            self.end()

    def afterwards(self, action: Callable[[], object]) -> None:
        """Do something as soon as the current request has been answered.

        What lets a thread resume goes here: the client gets to know that the thread runs before it
        gets to know that it has stopped again.
        """
        self._afterwards.append(action)

    def hold_until_answered(self) -> None:
        """Send the messages of other threads after the response to the current request, and what is
        done after it.

        To be called by the thread that answers it.
        """
        if not self._holds:
            self.progress.end()  # whose thread sends a message under a lock
            self.held().__enter__()
            self._holds = True

    def meanwhile(self, action: Callable[[], object]) -> None:
        """Do something quick just before the current request is answered.

        The client gets to know of what comes of it after the response, all the same.
        """
        self._meanwhile.append(action)

    # ---- in --------------------------------------------------------------------------------

    def run(self, answers: Mapping[str, Answer]) -> None:
        """Answer requests until the client goes or the session ends."""
        self._answers = answers
        for _ in range(2):
            threading.Thread(target=self._serve, name="jvmti requests", daemon=True).start()
        self.is_over.wait()

    def end(self) -> None:
        """Answer nothing more."""
        self._has_ended = self._is_cancelled = True
        self.is_over.set()

    def end_within(self, seconds: float) -> None:
        """Answer until the client closes its stream, for this time at most.

        Helix disconnects once more after the event that says that the session has ended. Without an
        answer to that, it takes no keys for 20 seconds.

        Args:
            seconds: the time.
        """
        timer = threading.Timer(seconds, self.end)
        timer.daemon = True
        timer.start()

    def _serve(self) -> None:
        """Read requests and answer them: who reads one answers it, while another thread reads on.

        To hand each request to a thread that waits for it would take longer than most answers. So
        would be to wake the other thread for a request that is answered in a moment.
        """
        me = threading.get_ident()
        try:
            while True:
                if self._reader != me:
                    self._reading.acquire()
                    self._reader = me
                if not self._read():
                    return
                command = self._waiting[0].get("command")
                if not isinstance(command, str) or command not in _AT_ONCE:
                    self.read_meanwhile()
                self._answer_waiting()
        except Exception as error:
            log.error("the session ends", exc_info=error)
            self.end()
        finally:
            self.read_meanwhile()

    def read_meanwhile(self) -> None:
        """Let the other thread read while the calling one answers, which may take long."""
        if self._reader == threading.get_ident():
            self._reader = None
            self._reading.release()

    def _answer_waiting(self) -> None:
        while True:
            with self._lock:
                if not self._waiting or self._has_ended:
                    self._is_answering = False
                    is_last = self._input_is_over
                    break
                message = self._waiting.popleft()
                self._begin(message.get("seq"))
            self._answer(message)
        if is_last:
            self.end()

    def _begin(self, number: Any) -> None:
        """Note which request is answered from now on; the caller holds the lock."""
        self._current = number if isinstance(number, int) else None
        was_cancelled = self._current in self._cancelled
        self._is_cancelled = self._has_ended or self._input_is_over or was_cancelled
        if was_cancelled:
            self._cancelled.remove(number)

    @property
    def is_cancelled(self) -> bool:
        """Whether the client does not wait for the current request any more."""
        return self._is_cancelled

    def _read(self) -> bool:
        """Read until there is a request that no thread answers; false at the end of the stream."""
        try:
            while not self._has_ended:
                try:
                    message = self._framing.read()
                except MalformedMessage as error:
                    self.output(f"{error}\n", "important")
                    continue
                if message is None:
                    break
                if self._arrived(message):
                    return True
        except (OSError, ValueError, StreamLost) as error:
            log.debug("no more requests: %s", error)
            if isinstance(error, StreamLost):
                self.output(f"{error}; the session ends\n", "important")
        # Each request gets its response, but nobody waits for what it does.
        with self._lock:
            self._input_is_over = True
            self._is_cancelled = True
            is_answering = self._is_answering
        if not is_answering:
            self.end()
        return False

    def _arrived(self, message: Any) -> bool:
        """Note a message; return whether the calling thread is to answer it."""
        if not isinstance(message, dict):
            return False
        kind, command = message.get("type"), message.get("command")
        if kind == "response":
            number = message.get("request_seq")
            answered = self._asked.get(number) if isinstance(number, int) else None
            if answered is not None:
                answered.put(message.get("success") is True)
            return False
        if kind == "event":
            return False  # nobody waits for it
        if command == "cancel" and isinstance(message.get("arguments"), dict):
            self._cancel_request(message["arguments"].get("requestId"))
            if message["arguments"].get("progressId") == name_of(self._current):
                self._cancel_request(self._current)
        if command == "disconnect" or command == "terminate":
            self._cancel_request(self._current)
        with self._lock:
            self._waiting.append(message)
            is_mine = not self._is_answering
            self._is_answering = True
        return is_mine

    def _cancel_request(self, number: Any) -> None:
        if not isinstance(number, int):
            return
        with self._lock:
            if number == self._current:
                self._is_cancelled = True
            elif any(one.get("seq") == number for one in self._waiting):
                self._cancelled.add(number)

    def _answer(self, message: dict[str, Any]) -> None:
        number, command = message.get("seq"), message.get("command")
        if not isinstance(number, int) or isinstance(number, bool):
            self.output("a request without a number cannot be answered\n", "important")
            return
        self.progress.begin(number, command)
        try:
            try:
                succeeds, outcome = self._outcome(command, message)
            finally:
                self.progress.end()
                self._current = None
            name = encode_basestring_ascii(command if isinstance(command, str) else "")
            response = (
                f'{{"type": "response", "request_seq": {number}, "command": {name}, {outcome}}}'
            )
            before, after = self._meanwhile, self._afterwards
            if before or after:
                self._meanwhile, self._afterwards = [], []
            if succeeds and before:
                with self.held():
                    for action in before:
                        action()
                    self._send(response)
            else:
                self._send(response)
            if succeeds and after:
                for action in after:
                    self._do(action, command)
        finally:
            if self._holds:
                self._holds = False
                self.held().__exit__(None, None, None)

    def _do(self, action: Callable[[], object], command: Any) -> None:
        """Do something after a request that has its response already."""
        try:
            action()
        except Exception as error:  # which must not be lost
            if not isinstance(error, Error | LookupError):
                log.error("after %s", command, exc_info=error)
            self.output(f"{printable(str(error))}\n", "important")

    def _outcome(self, command: Any, message: dict[str, Any]) -> tuple[bool, str]:
        """Whether a request succeeds, and the rest of its response as JSON."""
        try:
            if self._is_cancelled:
                raise RequestCancelled(_CANCELLED)
            if not isinstance(command, str):
                raise RequestFailed("a request has no command")
            answer = self._answers.get(command)
            if answer is None:
                near = suggestion(command, list(self._answers))
                raise RequestFailed(f"there is no request {printable(command, 80)!r}{near}")
            body = answer(Arguments(command, message.get("arguments")))
        except RequestCancelled:
            return _refusal(_CANCELLED, {})
        except (Error, LookupError, ValueError, TypeError, ArithmeticError, OSError) as error:
            if not isinstance(error, Error):
                log.debug("%s failed", command, exc_info=error)
            return _failure(error)
        except Exception as error:  # a fault of ours must not end the session
            log.error("%s failed", command, exc_info=error)
            return _failure(error)
        if body is None:
            return True, '"success": true'
        text = body if isinstance(body, Encoded) else json.dumps(body)
        return True, f'"success": true, "body": {text}'


def _as_json(value: Any) -> str:
    kind = type(value)
    if kind is str:
        return encode_basestring_ascii(value)
    if kind is int:
        return str(value)
    if kind is bool:
        return "true" if value else "false"
    return json.dumps(value)


def _failure(error: BaseException) -> tuple[bool, str]:
    text = explained(error)
    shown = {"id": _FAILED, "format": text.replace("{", "(").replace("}", ")"), "showUser": False}
    return _refusal(text, {"error": shown})


def _refusal(message: str, body: dict[str, Any]) -> tuple[bool, str]:
    return False, json.dumps({"success": False, "message": message, "body": body})[1:-1]


def explained(error: BaseException) -> str:
    """An error as a sentence for the user."""
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    with contextlib.suppress(ValueError):
        text = printable(text)
    return text or type(error).__name__


__all__ = ["Conversation", "RequestCancelled", "explained"]
