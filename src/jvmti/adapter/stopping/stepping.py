"""The requests that let threads run: ``continue`` and the steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from jvmti.adapter.protocol.arguments import Arguments, RequestFailed
from jvmti.adapter.protocol.requests import answers
from jvmti.adapter.showing.stacks import FrameReference
from jvmti.adapter.stopped_threads import HaltedThread
from jvmti.debug.step_probes import called_from, calls_on_line
from jvmti.debug.stepping import Steps
from jvmti.debug.stops import StopRequest
from jvmti.interface.signatures import parameters_of
from jvmti.text.printable import printable

if TYPE_CHECKING:
    from jvmti.adapter.debug_session import DebugSession
    from jvmti.debug.stops import Stop

_MOST_METHODS = 64
"""Methods that a call may run, to step into one of them."""


class CalledMethod(NamedTuple):
    """A call on a line, which a step may go into."""

    name: str
    """The name of the method."""
    descriptor: str
    """Its descriptor."""


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
        """Run to the next line, or instruction, wherever that is, or into a chosen call."""
        if given.has("targetId"):
            self._step_into_target(given)
        else:
            self._step(given, "into")

    @answers("stepOut")
    def step_out(self, given: Arguments) -> None:
        """Run to the caller of this method."""
        self._step(given, "out")

    def _step(self, given: Arguments, how: str) -> None:
        session = self._session
        halted = session.halted.get(given.number("threadId"))
        by = "instruction" if given.text("granularity", "line") == "instruction" else "line"
        session.run(halted, lambda: self.begin(halted, how, by))
        session.conversation.afterwards(lambda: session.halted.resume(halted))

    def begin(self, halted: HaltedThread, how: str, by: str, *more: StopRequest) -> None:
        """Let a thread make a step when it resumes; to be called by way of `HaltedThread.run`.

        Args:
            halted: the thread.
            how: ``"over"``, ``"into"`` or ``"out"``.
            by: ``"line"`` or ``"instruction"``.
            more: requests that end with the step.
        """
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
        session.halted.stepping(halted.id, [steps, *more])

    def _stepped(self, stop: Stop) -> None:
        description = "at the end of the method" if stop.is_at_end else None
        self._session.halt(stop, "step", description=description)

    # ---- into a chosen call ----------------------------------------------------------------

    @answers("stepInTargets")
    def step_in_targets(self, given: Arguments) -> dict[str, Any]:
        """The calls on the current line of a frame."""
        session = self._session
        halted, reference = session.references.get(given.number("frameId"), FrameReference, "frame")

        def read() -> list[dict[str, Any]]:
            frame = reference.frame()
            found: dict[CalledMethod, str] = {}
            for _, member in calls_on_line(frame.method, frame.line):
                types = (one.rpartition(".")[2] for one in parameters_of(member.descriptor))
                owner = member.class_name.replace("/", ".").rpartition(".")[2]
                label = f"{owner}.{member.name}({', '.join(types)})"
                found.setdefault(CalledMethod(member.name, member.descriptor), label)
            return [
                {"id": session.references.add(halted, one), "label": printable(label)}
                for one, label in found.items()
            ]

        return {"targets": session.run(halted, read)}

    def _step_into_target(self, given: Arguments) -> None:
        session = self._session
        halted, target = session.references.get(
            given.number("targetId"), CalledMethod, "call to step into"
        )

        def begin() -> None:
            frame = halted.frames(1)[0]
            methods = [
                one
                for one in called_from(session.vm, frame)
                if (one.name, one.signature) == (target.name, target.descriptor)
            ]
            if not 0 < len(methods) <= _MOST_METHODS:
                raise RequestFailed(
                    f"{target.name} has no code that can be stopped in"
                    if not methods
                    else f"{len(methods)} methods may be called as {target.name}; set a breakpoint"
                )
            entries: list[StopRequest] = []
            try:
                for one in methods:
                    entries.append(one.breakpoint(thread=halted.thread, do=self._stepped))
                self.begin(halted, "over", "line", *entries)
            except BaseException:
                for entry in entries:
                    entry.cancel()
                raise

        session.run(halted, begin)
        session.conversation.afterwards(lambda: session.halted.resume(halted))


__all__ = ["CalledMethod", "RunRequests"]
