"""The requests that leave a frame early: ``restartFrame``, and ``returnEarly`` of our own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jvmti.adapter.protocol.arguments import Arguments, RequestFailed
from jvmti.adapter.protocol.requests import answers
from jvmti.adapter.showing.stacks import FrameReference
from jvmti.adapter.stopped_threads import HaltedThread
from jvmti.interface.errors import Error
from jvmti.interface.signatures import matcher
from jvmti.model.debug.stepping import How, Steps, about_to_leave

if TYPE_CHECKING:
    from jvmti.adapter.debug_session import DebugSession
    from jvmti.adapter.showing.evaluation import Evaluation
    from jvmti.adapter.stopping.stepping import RunRequests
    from jvmti.model.classes.java_class import Method
    from jvmti.model.debug.stops import Stop
    from jvmti.model.threads.frames import Frame
    from jvmti.model.threads.java_thread import Thread


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

    def _named(self, given: Arguments) -> tuple[HaltedThread, FrameReference]:
        found = self._session.references.get(given.number("frameId"), FrameReference, "frame")
        return found

    @answers("restartFrame")
    def restart_frame(self, given: Arguments) -> None:
        """Discard a frame and those above it; its caller makes the call again.

        The arguments are those that the call had, or what the method has made of them since.
        """
        halted, reference = self._named(given)
        depth = reference.depth

        def restart() -> None:
            self._session.halted.end_step(halted.id)
            if self._session.is_late:
                if depth:
                    raise RequestFailed(
                        "only the topmost frame can be restarted in a JVM that was attached to "
                        "late; step out of those above first"
                    )
                self._restart_by_probes(halted, reference.frame())
                return
            frames = halted.frames(depth + 2)
            if len(frames) < depth + 2:
                raise RequestFailed("no method has called this one, so none calls it again")
            for one in frames:
                if one.method.is_native:
                    raise RequestFailed(
                        f"{one.method.name} is native: no JVM discards its frame, nor makes its "
                        "calls again; restart a frame above it"
                    )
            self._pop(halted.id, halted.thread, frames)

        self._session.run(halted, restart)
        self._running.let_run(halted, given)

    def _pop(self, number: int, thread: Thread, frames: Sequence[Frame]) -> None:
        """Pop the first of these frames; the next one when its caller is about to call again.

        The last of them stays. A thread pops one frame each time that it resumes.
        """
        frame, caller, *rest = frames
        if rest:
            again = caller.method.breakpoint(
                location=caller.location,
                thread=thread,
                do=lambda stop: self._pop_next(number, stop, len(frames) - 1),
            )
        else:
            again = frame.method.breakpoint(thread=thread, do=self._restarted)
        try:
            frame.pop()
        except BaseException:
            again.cancel()
            raise
        self._session.halted.stepping(number, [again])

    def _pop_next(self, number: int, stop: Stop, count: int) -> None:
        self._session.halted.end_step(number)
        try:
            self._pop(number, stop.thread, stop.thread.get_frames(count))
        except Error as error:
            self._session.conversation.output(f"no more frames are discarded: {error}\n")
            self._restarted(stop)

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
        halted, reference = self._named(given)
        if reference.depth:
            raise RequestFailed("only the topmost frame can return; step out of those above first")
        text = given.text("value", "")

        def leave() -> Method | None:
            value = self._evaluation.value(reference, text) if text.strip() else None
            reference.frame().return_(value)
            caller = self._unprobed_caller(halted.thread)
            if caller is None:
                self._running.begin(halted, "over", "line")
            return caller

        caller = self._session.run(halted, leave)
        if caller is None:
            self._running.let_run(halted, given)
        else:
            self._session.conversation.afterwards(lambda: self._about_to_leave(halted, caller))
        return {}

    def _unprobed_caller(self, thread: Thread) -> Method | None:
        """The caller of a thread's topmost method, if it cannot stop there; its next calls can."""
        session = self._session
        if not session.is_late:
            return None
        skipped = self._running.skipped_classes
        skips = None if skipped is None else matcher(skipped)
        probes = session.vm.breakpoints.step_probes
        return probes.prepare(session, thread, How.OUT, skips).lacking

    def _about_to_leave(self, halted: HaltedThread, caller: Method) -> None:
        """The thread stays where it is, as at the end of a method that steps cannot leave."""
        self._session.conversation.event(
            "stopped",
            reason="step",
            description=about_to_leave(caller),
            threadId=halted.id,
            allThreadsStopped=self._session.halted.whole.is_stopped,
        )


__all__ = ["LeavingRequests"]
