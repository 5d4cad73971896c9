"""The requests that leave a frame early: ``restartFrame``, and ``returnEarly`` of our own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jvmti.adapter.protocol.arguments import Arguments, RequestFailed
from jvmti.adapter.protocol.requests import answers
from jvmti.adapter.showing.stacks import FrameReference
from jvmti.adapter.stopped_threads import HaltedThread
from jvmti.debug.stepping import Steps
from jvmti.interface.constants import Event

if TYPE_CHECKING:
    from jvmti.adapter.debug_session import DebugSession
    from jvmti.adapter.showing.evaluation import Evaluation
    from jvmti.adapter.stopping.stepping import RunRequests
    from jvmti.debug.stops import Stop
    from jvmti.model.threads.frames import Frame


class LeavingRequests:
    """Answers requests that leave frames.

    Args:
        session: what requests share.
        evaluation: evaluates results.
        running: lets threads run.
    """

    def __init__(self, session: DebugSession, evaluation: Evaluation, running: RunRequests) -> None:
        self._session = session
        self._evaluation = evaluation
        self._running = running

    def _top(self, given: Arguments) -> tuple[HaltedThread, FrameReference]:
        found = self._session.references.get(given.number("frameId"), FrameReference, "frame")
        halted: HaltedThread = found[0]
        reference: FrameReference = found[1]
        if reference.depth != 0:
            raise RequestFailed("only the topmost frame can be left; step out of those above first")
        return halted, reference

    @answers("restartFrame")
    def restart_frame(self, given: Arguments) -> None:
        """Discard the topmost frame; its caller makes the call again, with the same arguments."""
        session = self._session
        halted, reference = self._top(given)

        def restart() -> None:
            session.halted.end_step(halted.id)
            frame = reference.frame()
            if session.vm.breakpoints.is_emulated(Event.SINGLE_STEP):
                self._restart_by_probes(halted, frame)
                return
            again = frame.method.breakpoint(thread=halted.thread, do=self._restarted)
            try:
                frame.pop()
            except BaseException:
                again.cancel()
                raise
            session.halted.stepping(halted.id, [again])

        session.run(halted, restart)
        self._running.let_run(halted, given)

    def _restart_by_probes(self, halted: HaltedThread, frame: Frame) -> None:
        """A breakpoint would be in new calls of the method; a step finds this one's first line."""
        session = self._session
        if not session.vm.breakpoints.step_probes.has_probes(frame):
            raise RequestFailed(
                f"this call of {frame.method.name} began before it got probes, so it would not "
                "stop again; set a breakpoint in it, and restart a later call"
            )
        frame.pop()
        step = Steps(
            session.vm,
            halted.thread,
            "into",
            "line",
            self._restarted,
            single=True,
            at=halted.stop,
            needs=session,
        )
        session.halted.stepping(halted.id, [step])

    def _restarted(self, stop: Stop) -> None:
        self._session.halt(stop, "restart")

    @answers("returnEarly")
    def return_early(self, given: Arguments) -> dict[str, Any]:
        """Let the topmost frame return the value of an expression, and stop in its caller."""
        halted, reference = self._top(given)
        text = given.text("value", "")

        def leave() -> None:
            value = self._evaluation.value(reference, text) if text.strip() else None
            reference.frame().return_(value)
            self._running.begin(halted, "over", "line")

        self._session.run(halted, leave)
        self._running.let_run(halted, given)
        return {}


__all__ = ["LeavingRequests"]
