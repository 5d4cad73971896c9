"""Progress: a client gets to know of requests that take long, while they are answered."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jvmti.adapter.protocol.conversation import Conversation

_AFTER = 0.75
"""Seconds after which a request is one that takes long."""
_TITLES = {
    "attach": "Attaching to the JVM",
    "launch": "Starting the program",
    "configurationDone": "Starting the program",
    "setBreakpoints": "Setting breakpoints",
    "setFunctionBreakpoints": "Setting breakpoints",
    "setInstructionBreakpoints": "Setting breakpoints",
    "setExceptionBreakpoints": "Preparing classes for exceptions",
    "setDataBreakpoints": "Preparing classes that use the field",
    "redefineClasses": "Compiling and replacing classes",
    "next": "Preparing the step",
    "stepIn": "Preparing the step",
    "stepOut": "Preparing the step",
    "evaluate": "Evaluating",
    "setVariable": "Evaluating",
    "setExpression": "Evaluating",
    "variables": "Reading variables",
    "stackTrace": "Reading the stack",
    "threads": "Listing threads",
    "disconnect": "Leaving the program",
}
_CANCELLABLE = frozenset(("evaluate", "setVariable", "setExpression", "variables", "stackTrace"))
"""Requests whose work runs on a stopped thread: nobody has to wait for it."""


class Progress:
    """Tells a client of the request that is being answered, if that takes long.

    Args:
        conversation: with the client.
    """

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._changed = threading.Condition()
        self._is_on = False
        self._sleeps = False
        """Whether the thread waits for a request, and not for the time when one takes long."""
        self._work: tuple[int, str, float] | None = None
        self._shown: str | None = None

    def turn_on(self) -> None:
        """The client shows progress."""
        with self._changed:
            if not self._is_on:
                self._is_on = True
                threading.Thread(target=self._run, name="jvmti progress", daemon=True).start()

    def begin(self, number: int, command: object) -> None:
        """A request is about to be answered."""
        if self._is_on and isinstance(command, str) and command in _TITLES:
            with self._changed:
                self._work = number, command, time.monotonic() + _AFTER
                if self._sleeps:  # to wake it for each request would take longer than most of them
                    self._sleeps = False
                    self._changed.notify()

    def end(self) -> None:
        """The request has its outcome."""
        if not self._is_on:
            return
        with self._changed:
            self._work = None
            shown, self._shown = self._shown, None
            if shown is not None:
                self._conversation.event("progressEnd", progressId=shown)

    def _run(self) -> None:
        with self._changed:
            while not self._conversation.is_over.is_set():
                work = self._work
                if work is None or self._shown is not None:
                    self._sleeps = True
                    self._changed.wait()
                    continue
                number, command, until = work
                left = until - time.monotonic()
                if left > 0:
                    self._changed.wait(left)
                    continue
                self._shown = name_of(number)
                self._conversation.event(
                    "progressStart",
                    progressId=self._shown,
                    title=_TITLES[command],
                    requestId=number,
                    cancellable=command in _CANCELLABLE,
                )


def name_of(number: int | None) -> str:
    """The name of the progress of a request."""
    return f"request {number}"


__all__ = ["Progress", "name_of"]
