"""The requests that let threads run: ``continue`` and the steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jvmti.adapter.arguments import Arguments
from jvmti.adapter.requests import answers
from jvmti.adapter.stopped_threads import HaltedThread
from jvmti.debug.stepping import Steps

if TYPE_CHECKING:
    from jvmti.adapter.debug_session import DebugSession
    from jvmti.debug.stops import Stop


class RunRequests:
    """Answers requests that let stopped threads run.

    Args:
        session: what requests share.
    """

    def __init__(self, session: DebugSession) -> None:
        self._session = session

    @answers("continue")
    def continue_(self, given: Arguments) -> dict[str, Any]:
        """Let a thread run."""
        session = self._session
        halted = session.halted.get(given.number("threadId"))
        session.run(halted, lambda: session.halted.end_step(halted.id))
        session.conversation.afterwards(lambda: session.halted.resume(halted))
        return {"allThreadsContinued": False}

    @answers("next")
    def next(self, given: Arguments) -> None:
        """Run to the next line, or instruction, of this method or its caller."""
        self._step(given, "over")

    @answers("stepIn")
    def step_in(self, given: Arguments) -> None:
        """Run to the next line, or instruction, wherever that is."""
        self._step(given, "into")

    @answers("stepOut")
    def step_out(self, given: Arguments) -> None:
        """Run to the caller of this method."""
        self._step(given, "out")

    def _step(self, given: Arguments, how: str) -> None:
        session = self._session
        halted = session.halted.get(given.number("threadId"))
        by = "instruction" if given.text("granularity", "line") == "instruction" else "line"
        session.run(halted, lambda: self._begin(halted, how, by))
        session.conversation.afterwards(lambda: session.halted.resume(halted))

    def _begin(self, halted: HaltedThread, how: str, by: str) -> None:
        session = self._session
        session.halted.end_step(halted.id)
        steps = Steps(
            session.vm,
            halted.thread,
            how,
            by,
            self._stepped,
            single=True,
            at=halted.stop,
            needs=session,
        )
        session.halted.stepping(halted.id, steps)

    def _stepped(self, stop: Stop) -> None:
        description = "at the end of the method" if stop.is_at_end else None
        self._session.halt(stop, "step", description=description)


__all__ = ["RunRequests"]
