"""Steps: a thread runs one line or one instruction at a time."""

from __future__ import annotations

import enum
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

from jvmti import refs
from jvmti.interface.constants import Event
from jvmti.interface.errors import Error, InvalidLocation, NotAvailable
from jvmti.interface.signatures import matcher
from jvmti.model.debug.called_methods import declared
from jvmti.model.debug.foreseen_calls import Call, encoded
from jvmti.model.debug.late.reflected_calls import ReflectedCalls
from jvmti.model.debug.stops import Stop, StopRequest
from jvmti.operations.functions import OPERATIONS
from jvmti.text.printable import printable
from jvmti.wire.codecs import codec_of

if TYPE_CHECKING:
    from jvmti.model.classes.java_class import Class, Method
    from jvmti.model.debug.late.step_probes import StepProbes
    from jvmti.model.threads.frames import Stack
    from jvmti.model.threads.java_thread import Thread
    from jvmti.model.vm import VM


class How(enum.IntEnum):
    """How a thread is stepped."""

    INTO = 1
    OVER = 2
    OUT = 3


_STEP = OPERATIONS["step_thread"]
_HOWS = {one.name.lower(): one for one in How}


class Steps(StopRequest):
    """Steps a thread: each iteration is one step.

    The first step begins where the thread is if it waits at a stop or is suspended, otherwise at
    the next instruction that it executes.  The iteration ends with the thread.

    Attributes:
        thread: the thread.
        how: into calls, over them, or out of methods.
        by_line: whether a step ends at another line, instead of another instruction.
        skips: patterns for classes that steps into calls pass over.
        foreseen: the calls that it takes along, see `ForeseenCalls`.
        began: the stop where the last step began.
        unprobed_caller: the caller of the stepped method, if that call began before it got probes:
            the step ends at the end of the method then, see `Stop.is_at_end`.

    Args:
        vm: the JVM.
        thread: the thread.
        how: see above.
        by: ``"line"`` or ``"instruction"``.
        do: a function that receives the stops.
        single: make one step only.
        at: the stop that the first step begins at.
        needs: what the probes for it are kept for, in a JVM that was attached to late; by default
            the steps, or the loop that received the stop.
        skips: patterns for classes that steps into calls pass over, one a line: they end in what
            these call, unless that is passed over, too.
        stack: the stack that the first step begins with, where it is known.
    """

    _by_probes: StepProbes | None = None
    _reflected: StopRequest | None = None
    """Gives probes to what the thread is about to call by reflection, until the step has ended."""
    unprobed_caller: Method | None = None
    foreseen: Sequence[Call] = ()
    _calls = b""
    _sent: tuple[tuple[Any, ...], bytes] | None = None
    """The arguments of the last call of the agent, and how they are encoded."""

    def __init__(
        self,
        vm: VM,
        thread: Thread,
        how: str,
        by: str,
        do: Callable[[Stop], object] | None = None,
        single: bool = False,
        at: Stop | None = None,
        needs: Hashable = None,
        skips: str | None = None,
        stack: Stack | None = None,
    ) -> None:
        if not isinstance(thread, refs.Thread):
            raise TypeError(f"step() takes a thread, not {type(thread).__name__}")
        super().__init__(vm, when=None, hits=None, thread=None, caller=None, do=do)
        self.thread = thread
        self._choose(how, by)
        self._single = single
        self.skips = skips
        self._skips_class = None if skips is None else matcher(skips)
        self._from = None if single else vm.breakpoints.held_by_caller(thread)
        self._at = at or self._from
        within = None if at is None else at._within
        self._needs: Hashable = needs if needs is not None else within or self
        if vm.breakpoints.is_emulated(Event.SINGLE_STEP):
            self._check_by_line()
            self._by_probes = vm.breakpoints.step_probes
            self._number = self._make_emulated(Event.SINGLE_STEP)
        else:
            if self._at is not None and self._at.at_place is not None and not self.by_line:
                raise NotAvailable(
                    detail="a probe has stopped the thread, and the next instructions are those of "
                    "the probe: step by line"
                )
            self._number = self._make(Event.SINGLE_STEP, classes=skips)
        try:
            self._begin(stack)
        except BaseException:
            self.cancel()
            raise

    def _choose(self, how: str, by: str) -> None:
        found = _HOWS.get(how) or _HOWS.get(str(how).lower())
        if found is None:
            raise ValueError(f'a step is "into", "over" or "out", not {how!r}')
        if by not in ("line", "instruction"):
            raise ValueError(f'a step is by "line" or by "instruction", not {by!r}')
        self.how = found
        self.by_line = by == "line"

    def _check_by_line(self) -> None:
        if not self.by_line:
            raise NotAvailable(
                detail="an agent that was attached late steps threads by line; probes at every "
                "instruction would make the methods too large"
            )

    def begin_another(
        self,
        how: str,
        by: str,
        do: Callable[[Stop], object],
        at: Stop | None,
        stack: Stack | None = None,
        resumes: bool = False,
    ) -> Callable[[], None] | None:
        """Make another step, after a single one that has ended.

        Args:
            how, by, do, at, stack: as for the class.
            resumes: the thread resumes from ``at`` with the message that begins the step.
                `Stop.is_alone` says whether it can.

        Returns:
            Where the thread resumes: what the receiver of ``at`` has to call, to wait until the
            step has begun. It raises what this does, and the thread waits on then.

        Raises:
            ValueError, NotAvailable: as for the class; it is cancelled then.
        """
        try:
            self._choose(how, by)
            if self._by_probes is not None:
                self._check_by_line()
            self._do, self._at = do, at
            if not resumes:
                self._begin(stack)
                return None
            environment, payload = self._prepare(stack)
            finish = self._vm._session.begin_last(_STEP, environment, payload)
        except BaseException:
            self.cancel()
            raise

        def finished() -> None:
            try:
                try:
                    finish()
                except InvalidLocation:
                    if stack is None:
                        raise
                    self._begin()  # a class has got other code since
            except BaseException:
                self.cancel()
                raise

        return finished

    def _begin(self, stack: Stack | None = None) -> None:
        try:
            self._call_agent(stack)
        except InvalidLocation:
            if stack is None:
                raise
            self._call_agent(None)  # a class has got other code since

    def _call_agent(self, stack: Stack | None) -> None:
        environment, payload = self._prepare(stack)
        self._vm._session.call_encoded(_STEP, environment, payload, None)

    def _prepare(self, stack: Stack | None) -> tuple[int, bytes]:
        """The environment of the agent's call for a step, and its encoded arguments."""
        probes, ends, code, how = 0, False, -1, self.how
        if self._by_probes is not None:
            probes = self._by_probes.number
            leaves = self._vm.breakpoints.leaves_early(self.thread)
            if leaves and how is How.OVER:
                how = How.OUT  # it comes by no more lines of its method
            callers = self._by_probes.prepare(
                self._needs, self.thread, how, self._skips_class, stack
            )
            code = callers.code
            ends = callers.lacking is not None or not callers.has_any
            self.unprobed_caller = callers.lacking
            if ends and how is not How.INTO and not leaves:
                self._check_place()
            self._end_reflected()
            if callers.reflects:
                self._reflected = ReflectedCalls(self._vm, self.thread, self._add_reflected)
            at = self._current or self._at
            if leaves or (at is not None and at.is_at_end):
                if not callers.has_any:
                    method = "the method" if at is None else at.method
                    raise NotAvailable(
                        detail=f"{method} is about to end, and its callers began before "
                        "their classes got probes: put a breakpoint where the thread comes by next"
                    )
                ends = False
        self.began = self._current or self._at
        foreseen = None if self._at is None else self._at.foreseen
        made = [] if foreseen is None else list(foreseen.made)
        if made != self.foreseen:  # as a rule they are those of the step before
            self.foreseen, self._calls = made, encoded(made)
        calls = self._calls
        arguments = self._number, self.thread, how, self.by_line, probes, ends, code, calls
        if self._sent is None or self._sent[0] != arguments:  # as a rule the last step had the same
            self._sent = arguments, codec_of(_STEP).encode(self._vm._session, arguments)
        env, _ = self._numbers[self._number]
        return env._number, self._sent[1]

    def _check_place(self) -> None:
        """Refuse a step that nothing can end: it would stop in a later call, as if in this one."""
        assert self._by_probes is not None
        at = self._current or self._at
        if at is None or isinstance(at.request, Steps):
            return
        for frame in self.thread.get_frames(1):
            if not self._by_probes.has_probes(frame):
                raise NotAvailable(
                    detail=f"this call of {printable(frame.method.name)} began before it got the "
                    "probes that end steps, and so did its callers: later calls have them, so step "
                    "from the next stop, or put a breakpoint where the thread comes by next"
                )

    def _add_reflected(self, method: Method, receiver: Class | None) -> None:
        """The thread is about to call a method by reflection."""
        assert self._by_probes is not None
        owner = method.declaring_class if method.is_static or receiver is None else receiver
        found = declared(owner, method.name, method.signature)
        skips = self._skips_class
        wanted = [one for one in found if skips is None or not skips(one.class_name)]
        self._by_probes.add(self._needs, wanted)

    def _end_reflected(self) -> None:
        found, self._reflected = self._reflected, None
        if found is not None:
            found.cancel()

    def cancel(self) -> None:
        """Remove the request and let its waiting threads resume; further calls do nothing."""
        self._end_reflected()
        super().cancel()

    def _step_again(self) -> None:
        if self._cancelled or self._single:
            return
        try:
            self._begin()
        except (Error, KeyError):
            if not self._cancelled:  # by another thread meanwhile
                raise

    def _resume(self) -> None:
        current = self._current
        if current is not None and current.is_waiting:
            with current._conversing():
                self._step_again()
        super()._resume()
        if self._from is not None:
            self._from._release()
            self._from = None

    def _take(self, timeout: float | None, thread: Thread | None = None) -> Stop | None:
        return super()._take(timeout, self.thread)

    def _hit(self, stop: Stop) -> bool:
        self._end_reflected()
        if super()._hit(stop):
            return True
        self._step_again()
        return False

    def _described(self) -> str:
        return f"{self.how.name.lower()} by {'line' if self.by_line else 'instruction'}"


def end_in_words(stop: Stop) -> str | None:
    """Why a step ended where its method does; ``None`` if the stop is elsewhere."""
    if not stop.is_at_end:
        return None
    by = " by an exception" if stop.is_thrown else ""
    caller = stop.request.unprobed_caller if isinstance(stop.request, Steps) else None
    if caller is None:
        return f"about to leave the method{by}"
    return about_to_leave(caller, by)


def about_to_leave(caller: Method, by: str = "") -> str:
    """Words for a thread that no step stops in its caller.

    Args:
        caller: the method, whose call began before it got probes.
        by: how the thread leaves for it.
    """
    name = printable(f"{caller.class_name}.{caller.name}")
    return f"about to leave{by} for {name}, which began before it got probes: no step stops in it"


__all__ = ["How", "Steps", "about_to_leave", "end_in_words"]
