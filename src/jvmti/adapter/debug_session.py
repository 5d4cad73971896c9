"""The state that requests share: the program, the client's wishes, and the stopped threads."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from jvmti.adapter.initialization import Initialization
from jvmti.adapter.protocol.arguments import Arguments, RequestFailed
from jvmti.adapter.protocol.conversation import Conversation, explained
from jvmti.adapter.protocol.references import References
from jvmti.adapter.stopped_threads import HaltedThread, HaltedThreads, StoppedThread
from jvmti.adapter.stopping.recorded_logpoints import RecordedLogpoints
from jvmti.interface.constants import Event
from jvmti.interface.errors import CallTimeout, Error

if TYPE_CHECKING:
    from jvmti.model.debug.stops import Stop
    from jvmti.model.vm import VM

log = logging.getLogger("jvmti")

T = TypeVar("T")


class DebugSession:
    """One client and one program.

    Args:
        conversation: with the client.
        initialization: the first request.

    Attributes:
        configuration: the arguments of ``launch`` or ``attach``.
        references: the numbers of frames and variables.
        halted: the threads that are stopped.
        logpoints: those that the agent records.
        is_late: whether probes stand in for what the VM grants only while it starts.
    """

    def __init__(self, conversation: Conversation, initialization: Initialization) -> None:
        self.conversation = conversation
        self._initialization = initialization
        self.configuration = Arguments("launch", None)
        self.references = References()
        self.halted = HaltedThreads(self.references)
        self.logpoints = RecordedLogpoints(conversation)
        self.is_late = False
        self._vm: VM | None = None
        self._has_stopped = False
        self._local = threading.local()

    @property
    def client(self) -> Arguments:
        """The arguments of its first request."""
        return self._initialization.client

    @property
    def is_helix(self) -> bool:
        """Whether it is Helix, some of whose faults cost its user a stop."""
        return self.client.text("clientID", "") == "hx"

    @property
    def vm(self) -> VM:
        """The program's JVM.

        Raises:
            RequestFailed: there is none yet.
        """
        if self._vm is None:
            raise RequestFailed("there is no program yet: send launch or attach first")
        return self._vm

    @vm.setter
    def vm(self, vm: VM) -> None:
        self._vm = vm
        self.is_late = vm.breakpoints.is_emulated(Event.SINGLE_STEP)

    @property
    def has_vm(self) -> bool:
        """Whether there is a program."""
        return self._vm is not None

    # ---- lines -----------------------------------------------------------------------------

    def from_client(self, line: int) -> int:
        """A line's number as class files have it, from 1."""
        return line if self.client.flag("linesStartAt1", True) else line + 1

    def to_client(self, line: int | None) -> int:
        """A line's number as the client wants it; of an unknown line, the lowest."""
        first = 1 if self.client.flag("linesStartAt1", True) else 0
        return first if line is None else line - 1 + first

    @property
    def first_column(self) -> int:
        """The number of a line's first column."""
        return 1 if self.client.flag("columnsStartAt1", True) else 0

    # ---- stops -----------------------------------------------------------------------------

    def halt(
        self,
        stop: Stop,
        reason: str,
        number: int | None = None,
        *,
        description: str | None = None,
        text: str | None = None,
        breakpoints: Sequence[int] | None = None,
    ) -> None:
        """Keep a thread at its stop until the client lets it resume.

        It is called in the function of a stop request, on the Python thread of the stop.

        Args:
            stop: the stop.
            reason: why, in the protocol's words.
            number: the thread's number, where it is known.
            description: the same in words for the user.
            text: more of it.
            breakpoints: the numbers of the breakpoints that were hit.
        """
        before: Stop | None = getattr(self._local, "stop", None)
        if before is not None and before.is_same_hit(stop):
            return  # of another request at this place, whose stop the client had
        self._local.stop = stop
        with self.conversation.held():
            pass  # the request that has let it run has been answered, and its last stop is over
        if number is None:
            number = self._number_of(stop)
        self.halted.end_step(number, stop.request)
        is_over = False
        while not is_over:
            halted = StoppedThread(stop, number, reason, text)
            all_stopped = self.halted.whole.stop_with(self.vm, stop.thread, number)
            if not self.halted.add(halted):
                return
            try:
                self.logpoints.flush()  # what was said before this stop comes before it
                for _ in range(self._times_sent()):
                    self.conversation.event(
                        "stopped",
                        reason=reason,
                        description=description,
                        text=text,
                        threadId=number,
                        allThreadsStopped=all_stopped,
                        hitBreakpointIds=None if breakpoints is None else list(breakpoints),
                    )
                halted.serve()
                is_over = True
            except Error as error:
                # The client takes it for a thread that runs.
                with self.conversation.held():
                    pass
                self.halted.end_step(number)
                self.conversation.output(f"{explained(error)}\n", "important")
                is_over = not stop.is_waiting or self.vm.closed
            finally:
                self.halted.remove(halted)

    def _times_sent(self) -> int:
        """The number of times that the client gets the event of a stop.

        Helix 25.07 has no current session before its first stop, which it does not show therefore,
        and refuses to step from. After the same event again it does, and other versions take no
        harm.
        """
        is_first, self._has_stopped = not self._has_stopped, True
        return 2 if is_first and self.is_helix else 1

    def _number_of(self, stop: Stop) -> int:
        while True:
            try:
                return self.vm.threads.ids([stop.thread])[0]
            except CallTimeout:
                # It was paused on its way here, and answers when the client lets it go on.
                log.debug("%r is suspended at a stop", stop.thread)

    def run(self, halted: HaltedThread, function: Callable[[], T]) -> T:
        """Run a function where it can use a stopped thread; see `HaltedThread.run`."""
        return halted.run(function, self.conversation)

    def run_at_once(self, halted: HaltedThread, function: Callable[[], T]) -> T:
        """Run one that needs no code of the program; see `HaltedThread.run_at_once`."""
        return halted.run_at_once(function, self.conversation)


__all__ = ["DebugSession"]
