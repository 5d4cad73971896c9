"""The requests that let threads run: ``continue`` and the steps."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from jvmti.adapter.protocol.arguments import Arguments, RequestFailed
from jvmti.adapter.protocol.requests import answers
from jvmti.adapter.showing.stacks import FrameReference
from jvmti.adapter.stopped_threads import HaltedThread
from jvmti.interface.errors import Error
from jvmti.interface.signatures import parameters_of
from jvmti.model.classes.sources import is_of_java
from jvmti.model.classes.step_filters import JDK, StepFilters, is_lambda
from jvmti.model.debug.called_methods import called_from, calls_on_line
from jvmti.model.debug.stepping import Steps, end_in_words
from jvmti.model.debug.stops import StopRequest
from jvmti.text.printable import printable

if TYPE_CHECKING:
    from jvmti.adapter.debug_session import DebugSession
    from jvmti.model.classes.java_class import Method
    from jvmti.model.debug.stops import Stop
    from jvmti.model.threads.frames import Frame

_CALLS = "KotlinDebug"
"""The stratum that says of inlined lines where they are called."""
_MARK = "fake.kt"
"""The file of lines behind an inlined call in a line, which nobody wrote."""
_MOST_METHODS = 64
"""Methods that a call may run, to step into one of them."""


class CalledMethod(NamedTuple):
    """A call on a line, which a step may go into."""

    name: str
    """The name of the method."""
    descriptor: str
    """Its descriptor."""


class _Step:
    """A step of the client's, for which the VM may have to make several."""

    def __init__(
        self, thread: int, how: str, by: str, method: Method, filters: StepFilters | None
    ) -> None:
        self.thread = thread
        self.how = how
        self.by = by
        self.filters = filters
        self.is_leaving = False
        """Whether the thread runs out of a method that steps pass over."""
        self.has_entries = False
        self.passes_inlined = False
        """Whether it passes over what compilers have put into the method."""
        self._method = method

    @property
    def skips(self) -> str | None:
        """Patterns for the classes that the VM passes over by itself."""
        return None if self.filters is None else self.filters.classes

    def called_back(self) -> list[Method]:
        """Methods where a step may end that other code calls: the lambdas of its own class."""
        its = self._method.declaring_class.methods
        return [one for one in its if is_lambda(one.name)][:_MOST_METHODS]


class RunRequests:
    """Answers requests that let stopped threads run.

    Args:
        session: what requests share.
    """

    def __init__(self, session: DebugSession) -> None:
        self._session = session
        self._filters: tuple[Arguments, StepFilters] | None = None
        self._of_java: Method | None = None
        """The last method that was found to be of Java's own compiler."""

    @answers("continue")
    def continue_(self, given: Arguments) -> dict[str, Any]:
        """Let a thread run."""
        session = self._session
        halted = session.halted.get(given.number("threadId"))
        session.run_at_once(halted, lambda: session.halted.end_step(halted.id))
        return {"allThreadsContinued": self.let_run(halted, given)}

    def let_run(self, halted: HaltedThread, given: Arguments) -> bool:
        """Let a thread run as soon as the request has been answered.

        Args:
            halted: the thread.
            given: the arguments of the request.

        Returns:
            Whether all threads run on, which were suspended with it.
        """
        halted_threads = self._session.halted
        conversation = self._session.conversation
        runs_all = self._runs_all(given)

        def resume() -> None:
            if runs_all:
                # First: a thread that stops again at once suspends all of them again.
                halted_threads.whole.resume()
                for one in halted_threads.all():
                    if one is not halted:
                        halted_threads.resume(one)
            halted_threads.resume(halted)

        if runs_all or halted.stop is None:
            conversation.afterwards(resume)
        else:
            # To wake the thread takes as long as to write the response.
            conversation.meanwhile(resume)
        return runs_all

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
        me = threading.get_ident()
        can_resume = halted.stop is not None and halted.stop.is_alone and not self._runs_all(given)

        def begin() -> None:
            is_here = can_resume and threading.get_ident() == me
            self.begin(halted, how, by, resumes=is_here)

        session.run_at_once(halted, begin)
        if not halted.is_removed:
            self.let_run(halted, given)

    def _runs_all(self, given: Arguments) -> bool:
        """Whether a request lets all threads run on, which are suspended with its own."""
        return self._session.halted.whole.is_stopped and not given.flag("singleThread")

    def begin(
        self,
        halted: HaltedThread,
        how: str,
        by: str,
        *more: StopRequest,
        resumes: bool = False,
    ) -> None:
        """Let a thread make a step when it resumes; to be called by way of `HaltedThread.run`.

        Args:
            halted: the thread.
            how: ``"over"``, ``"into"`` or ``"out"``.
            by: ``"line"`` or ``"instruction"``.
            more: requests that end with the step.
            resumes: let the thread resume with the message that begins the step, where that is
                possible; the calling thread answers the request.
        """
        session = self._session
        stop = halted.stop
        method = halted.frames(1)[0].method if stop is None else stop.method
        filters = self._step_filters()
        # A step that begins in a class of the JDK stays in it.
        skips = by == "line" and not filters.skips(method)
        step = _Step(halted.id, how, by, method, filters if skips else None)
        is_over = how == "over" and by == "line"
        step.passes_inlined = is_over and self._inlined(method, stop or halted.frames(1)[0]) is None
        before = session.halted.step_again(halted.id)
        if before is None or before.skips != step.skips:
            if before is not None:
                before.cancel()
            session.halted.stepping(halted.id, [self._steps(step, halted, how), *more])
            return
        # To make a request in the agent and to remove it takes as long as to use it. The thread may
        # have made the step before the message that begins it returns.
        session.halted.stepping(halted.id, [before, *more])
        if resumes:
            session.conversation.hold_until_answered()
        try:
            arrives = self._arrives(step)
            begun = before.begin_another(how, by, arrives, stop, halted.stack, resumes)
        except BaseException:
            session.halted.end_step(halted.id)
            raise
        if begun is not None:
            # Its Python thread takes the agent's reply, and the next stop, while this one answers.
            session.halted.resume(halted, begun)

    @property
    def skipped_classes(self) -> str | None:
        """Patterns for the classes that steps pass over, one a line."""
        return self._step_filters().classes

    def _step_filters(self) -> StepFilters:
        """The filters of the configuration, with what they know of methods."""
        configuration = self._session.configuration
        if self._filters is None or self._filters[0] is not configuration:
            given = configuration.inner("stepFilters")
            self._filters = (
                configuration,
                StepFilters(
                    given.texts("skipClasses") if given.has("skipClasses") else [JDK],
                    skip_synthetics=given.flag("skipSynthetics", True),
                    skip_constructors=given.flag("skipConstructors"),
                    skip_static_initializers=given.flag("skipStaticInitializers"),
                ),
            )
        return self._filters[1]

    def _steps(self, step: _Step, at: HaltedThread | Stop, how: str) -> Steps:
        """The VM's part of a step, or the next of them."""
        stop, stack = (at.stop, at.stack) if isinstance(at, HaltedThread) else (at, None)
        return Steps(
            self._session.vm,
            at.thread,
            how,
            step.by,
            self._arrives(step),
            single=True,
            at=stop,
            needs=self._session,
            skips=step.skips,
            stack=stack,
        )

    def _arrives(self, step: _Step) -> Callable[[Stop], None]:
        """The function for a stop where the VM's part of a step ends."""
        return lambda stop: self._arrived(step, stop)

    def _arrived(self, step: _Step, stop: Stop) -> None:
        """The VM has made a step, which may not end here."""
        if step.filters is not None and not stop.is_at_end:
            is_back, step.is_leaving = step.is_leaving, False
            try:
                if step.filters.skips(stop.method):
                    if self._leave(step, stop):
                        return
                elif is_back and step.how == "into":
                    # From the middle of the line, into the next call.
                    self._session.halted.next_steps(
                        step.thread, lambda: [self._steps(step, stop, "into")]
                    )
                    return
            except Error as error:
                self._session.halt(
                    stop, "step", step.thread, description=f"the step ends here: {error}"
                )
                return
        inlined = self._inlined(stop.method, stop) if step.by == "line" else None
        if inlined == _MARK or (inlined is not None and step.passes_inlined):
            how = "into" if step.how == "into" else "over"
            self._session.halted.next_steps(step.thread, lambda: [self._steps(step, stop, how)])
            return
        self._stepped(step.thread, stop)

    def _inlined(self, method: Method, at: Stop | Frame) -> str | None:
        """The file that code at a place is from, where a compiler has put it there; or ``None``.

        Kotlin's says it in its maps.
        """
        if method is self._of_java:
            return None
        if is_of_java(method.source_file):
            self._of_java = method
            return None
        found = self._session.vm.source_path.source_map_of(method)
        if found is None or _CALLS not in found.strata or (line := at.line) is None:
            return None
        original = found.original(line)
        if original is None:
            return None
        is_so = original.file == _MARK or found.original(line, _CALLS) is not None
        return original.file if is_so else None

    def _leave(self, step: _Step, stop: Stop) -> bool:
        """Run out of a method that steps pass over; false if the step has ended meanwhile."""
        step.is_leaving = True

        def make() -> list[StopRequest]:
            requests: list[StopRequest] = [self._steps(step, stop, "out")]
            if step.how != "out" and not step.has_entries:
                # What runs there may call code of the line that the step began at, or this again.
                step.has_entries = True
                for one in step.called_back():
                    requests.append(
                        one.breakpoint(
                            thread=stop.thread, do=lambda stop: self._stepped(step.thread, stop)
                        )
                    )
            return requests

        return self._session.halted.next_steps(step.thread, make)

    def _stepped(self, thread: int, stop: Stop) -> None:
        self._session.halt(stop, "step", thread, description=end_in_words(stop))

    @answers("gotoTargets", "goto")
    def goto(self, given: Arguments) -> None:
        """Refused: no JVM has a function for it."""
        raise RequestFailed(
            "no JVM lets a debugger continue a thread at another line; restartFrame begins its "
            "method again, and returnEarly leaves it"
        )

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
                    entries.append(
                        one.breakpoint(
                            thread=halted.thread, do=lambda stop: self._stepped(halted.id, stop)
                        )
                    )
                self.begin(halted, "over", "line", *entries)
            except BaseException:
                for entry in entries:
                    entry.cancel()
                raise

        session.run(halted, begin)
        self.let_run(halted, given)


__all__ = ["CalledMethod", "RunRequests"]
