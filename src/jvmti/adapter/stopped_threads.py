"""Threads that are stopped for the client: at a stop, or because it paused them.

A thread at a stop waits in a function of `jvmti.model.debug`, on a Python thread that may use it.
That Python thread runs what the requests ask for, one after the other, until the client lets the
thread resume. For a paused thread, which is suspended wherever it is, the thread that answers the
requests asks the VM itself.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from jvmti.adapter.protocol.arguments import RequestFailed
from jvmti.adapter.protocol.conversation import Conversation, RequestCancelled
from jvmti.adapter.protocol.references import References
from jvmti.adapter.stopping.whole_program import WholeProgram
from jvmti.interface.errors import CallTimeout, Error
from jvmti.model.debug.late.step_probes import DEEPEST
from jvmti.model.debug.stepping import Steps
from jvmti.model.debug.stops import Stop, StopRequest
from jvmti.model.threads.frames import read_stack

if TYPE_CHECKING:
    from jvmti.adapter.showing.variables import ShownPart
    from jvmti.model.classes.java_class import Class, Method
    from jvmti.model.threads.frames import Frame, Stack
    from jvmti.model.threads.java_thread import Thread

log = logging.getLogger("jvmti")

T = TypeVar("T")

_PATIENCE = 60.0
"""Seconds that a request waits for its thread; the calls themselves have shorter limits."""
_CHECK_EVERY = 0.05
"""Seconds between two checks whether the client still waits."""


class _Job:
    """Something to do on the Python thread of a stopped thread."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function = function
        self._done = threading.Event()
        self._result: Any = None
        self._error: BaseException | None = None

    def run(self) -> None:
        try:
            self._result = self._function()
        except BaseException as error:
            self._error = error
        self._done.set()

    def refuse(self, error: Error) -> None:
        self._error = error
        self._done.set()

    def result(self, conversation: Conversation) -> Any:
        until = time.monotonic() + _PATIENCE
        while not self._done.wait(_CHECK_EVERY):
            if conversation.is_cancelled:
                raise RequestCancelled("cancelled")
            if time.monotonic() > until:
                raise RequestFailed(
                    "the stopped thread has not answered in a minute; it may still run what an "
                    "earlier request asked for"
                )
        if self._error is not None:
            raise self._error
        return self._result


class Shown:
    """The texts shown of a thread at its stop, and at those before that it has stepped from.

    Attributes:
        frames: of frames, as JSON, by their places.
        page: the frames that were asked for last, and this of each.
        stack: the last stack that was read.
        parts: of variables, as JSON.
        parts_before: the same at the stop before.
        classes: the classes of methods.
    """

    def __init__(self) -> None:
        self.frames: dict[Hashable, str] = {}
        self.page: tuple[Sequence[Frame], list[str]] = (), []
        self.stack: Stack | None = None
        self.parts: dict[Hashable, ShownPart] = {}
        self.parts_before: dict[Hashable, ShownPart] = {}
        self.classes: dict[Method, Class] = {}

    def begin_stop(self) -> None:
        """The thread has stopped again."""
        self.parts_before, self.parts = self.parts, {}


class HaltedThread:
    """A thread that is stopped for the client; base of `StoppedThread` and `PausedThread`.

    Attributes:
        thread: the thread.
        id: its ``Thread.threadId``, which is its number for the client.
        stop: where it has stopped; ``None`` if it was paused.
        reason: why, in the protocol's words.
        stack: as far as it is known.
        text: more of the reason.
        frame_numbers: the numbers of its first frames.
        shown: what was shown of it; see `HaltedThreads.add`.
    """

    stop: Stop | None = None
    is_removed = False
    """Whether it is none of `HaltedThreads` any more."""

    def __init__(self, thread: Thread, number: int, reason: str, text: str | None = None) -> None:
        self.thread = thread
        self.id = number
        self.reason = reason
        self.text = text
        self.stack: Stack | None = None
        self.frame_numbers: list[int] = []
        self.shown = Shown()

    def run(self, function: Callable[[], T], conversation: Conversation) -> T:
        """Run a function where it can use the thread, and return its result.

        Raises:
            RequestFailed: the thread has resumed, or does not answer.
            RequestCancelled: the client does not wait for it any more.
        """
        raise NotImplementedError

    def run_at_once(self, function: Callable[[], T], conversation: Conversation) -> T:
        """The same on the calling Python thread where that can use the thread, too.

        To wake another Python thread takes longer than most of what is asked for. The function must
        not run code of the program, which may stop again or take long.
        """
        return self.run(function, conversation)

    def resume(self, begun: Callable[[], None] | None = None) -> None:
        """Let the thread run; further calls do nothing.

        Args:
            begun: where a step has let it run: waits until that has begun. If it raises, the
                thread stays where it is.
        """
        raise NotImplementedError

    def frames(self, most: int) -> list[Frame]:
        """The first frames of its stack; to be called by way of `run`."""
        known = self.stack
        if known is None or len(known.frames) < min(most, known.depth):
            # A step from here may go by as many.
            most_read, last = max(most, DEEPEST), self.shown.stack
            known = read_stack(self.thread, most_read, before=True, last=last)
            self.stack = self.shown.stack = known
        return known.frames[:most]


class StoppedThread(HaltedThread):
    """A thread at a stop."""

    def __init__(self, stop: Stop, number: int, reason: str, text: str | None = None) -> None:
        super().__init__(stop.thread, number, reason, text)
        self.stop = self._stop = stop
        stop.foresee()
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._begun: Callable[[], None] | None = None
        self._using = threading.Lock()
        """Held while a Python thread uses the Java thread."""
        self._is_over = False

    def serve(self) -> None:
        """Run what requests ask for, until the thread is to resume.

        Raises:
            Error: the step that was to let it resume has not begun.
        """
        while (job := self._jobs.get()) is not None:
            with self._using:
                job.run()
        with self._using:
            self._is_over = True
        while not self._jobs.empty():
            left = self._jobs.get()
            if left is not None:
                left.refuse(_resumed(self.id))
        if self._begun is not None:
            self._begun()

    def run(self, function: Callable[[], T], conversation: Conversation) -> T:
        """See `HaltedThread.run`."""
        if self._is_over:
            raise _resumed(self.id)
        self._stop.forget_foreseen()  # it may change anything
        conversation.read_meanwhile()  # it may be cancelled

        def checked() -> T:
            try:
                self._stop.check_answers()
            except CallTimeout:
                raise _busy() from None
            return function()

        job = _Job(checked)
        self._jobs.put(job)
        if self._has_left():
            job.refuse(_resumed(self.id))
        result: T = job.result(conversation)
        return result

    def _has_left(self) -> bool:
        return self._is_over

    def run_at_once(self, function: Callable[[], T], conversation: Conversation) -> T:
        """See `HaltedThread.run_at_once`."""
        if not self._using.acquire(blocking=False):
            return self.run(function, conversation)
        try:
            if self._is_over:
                raise _resumed(self.id)
            return self._stop.lend(function)
        except CallTimeout as error:
            if error.has_begun:
                raise
            raise _busy() from None
        finally:
            self._using.release()

    def resume(self, begun: Callable[[], None] | None = None) -> None:
        """See `HaltedThread.resume`."""
        if begun is not None:
            self._begun = begun
        self._jobs.put(None)


class PausedThread(HaltedThread):
    """A thread that the client has suspended."""

    def __init__(self, thread: Thread, number: int) -> None:
        super().__init__(thread, number, "pause")
        self._suspension = thread.suspended()
        self._is_over = False
        self._suspension.__enter__()

    def run(self, function: Callable[[], T], conversation: Conversation) -> T:
        """See `HaltedThread.run`."""
        if self._is_over:
            raise _resumed(self.id)
        return function()

    def resume(self, begun: Callable[[], None] | None = None) -> None:
        """See `HaltedThread.resume`."""
        if not self._is_over:
            self._is_over = True
            self._suspension.resume()


def _resumed(number: int) -> RequestFailed:
    return RequestFailed(f"thread {number} runs; pause it to look into it")


def _busy() -> RequestFailed:
    return RequestFailed(
        "the thread still runs an earlier expression; ask again when that has returned"
    )


def _none(number: int) -> NoReturn:
    raise _resumed(number)


class HaltedThreads:
    """The threads that are stopped for the client.

    Args:
        references: the numbers of their frames and variables.

    Attributes:
        whole: the threads that are suspended with them.
        on_demand: gives one of these as a stopped thread by its number, or raises RequestFailed.
    """

    def __init__(self, references: References) -> None:
        self._references = references
        self.whole = WholeProgram()
        self.on_demand: Callable[[int], HaltedThread] = _none
        self._threads: dict[int, HaltedThread] = {}
        self._lock = threading.Lock()
        self._closed = False
        self._steps: dict[int, Sequence[StopRequest]] = {}
        self._ended: dict[int, Steps] = {}
        """Single steps that have ended at the stops of their threads, which may make another."""
        self._kept: dict[int, tuple[HaltedThread, list[Any]]] = {}
        """The last stop of each thread that steps from it, with what was shown there."""

    def add(self, halted: HaltedThread) -> bool:
        """Note a thread; false if none may stop any more, or it is at a stop already.

        A thread may come to a stop in the moment when it is paused: then it is at the stop.

        While a thread steps, the objects and classes that were shown at its last stop are kept for
        the next, where most are shown again: what is known of them need not be asked for anew.
        """
        with self._lock:
            if self._closed:
                return False
            before = self._threads.get(halted.id)
            if before is not None and isinstance(halted, PausedThread):
                return False
            self._threads[halted.id] = halted
            if halted.id in self._kept:
                last, _ = self._kept[halted.id]
                halted.shown = last.shown
                halted.shown.begin_stop()
        if before is not None:
            self._references.forget(before)
            before.resume()
        return True

    def remove(self, halted: HaltedThread) -> None:
        """Forget a thread, and the numbers of its frames and variables; once."""
        with self._lock:
            if halted.is_removed:
                return
            halted.is_removed = True
            if self._threads.get(halted.id) is halted:
                del self._threads[halted.id]
            shown = self._references.forget(halted)
            if halted.id not in self._steps:
                self._kept.pop(halted.id, None)
            elif shown or self._kept.get(halted.id, (None,))[0] is not halted:
                self._kept[halted.id] = halted, shown

    def all(self) -> list[HaltedThread]:
        """Those that are stopped now."""
        with self._lock:
            return list(self._threads.values())

    def find(self, number: int) -> HaltedThread | None:
        """The one of a number; ``None`` if it runs."""
        with self._lock:
            return self._threads.get(number)

    def get(self, number: int) -> HaltedThread:
        """The one of a number.

        Raises:
            RequestFailed: it runs, or there is none.
        """
        return self.find(number) or self.on_demand(number)

    def resume(self, halted: HaltedThread, begun: Callable[[], None] | None = None) -> None:
        """Let a thread run; see `HaltedThread.resume`."""
        self.remove(halted)
        halted.resume(begun)

    def forget_shown_frames(self) -> None:
        """Classes or sources are others than before: frames are shown anew."""
        with self._lock:
            for one in [*self._threads.values(), *(halted for halted, _ in self._kept.values())]:
                one.shown = Shown()
                one.stack = None

    def close(self) -> None:
        """Let all threads run; none stops from now on."""
        try:
            self.whole.close()
        except Error as error:
            log.debug("the session ends, and all threads resume: %s", error)
        with self._lock:
            self._closed = True
            steps, self._steps = list(self._steps.values()), {}
            steps += [[one] for one in self._ended.values()]
            self._ended.clear()
            self._kept.clear()
        for halted in self.all():
            try:
                self.resume(halted)
            except Error as error:
                log.debug("the session ends, and its threads resume: %s", error)
        for one in steps:
            _cancel(one)

    # ---- steps -----------------------------------------------------------------------------

    def stepping(self, number: int, requests: Sequence[StopRequest]) -> None:
        """Note the requests for the next stop of a thread: the first to stop it ends all."""
        with self._lock:
            self._steps[number] = requests

    def next_steps(self, number: int, make: Callable[[], Sequence[StopRequest]]) -> bool:
        """A step goes on with other requests in place of its first; false if it has ended.

        The first ends before: two cannot step one thread.
        """
        with self._lock:
            before = self._steps.get(number)
        if before is None:
            return False
        _cancel(before[:1])
        made = make()
        with self._lock:
            is_on = self._steps.get(number) is before
            if is_on:
                self._steps[number] = [*made, *before[1:]]
        if not is_on:
            _cancel(made)
        return is_on

    def end_step(self, number: int, by: StopRequest | None = None) -> None:
        """A thread has stopped, or is to do something else: it steps no more.

        Args:
            number: the thread's number.
            by: what has stopped it; a single step may make another, see `step_again`.
        """
        ended: list[StopRequest] = []
        with self._lock:
            ended += self._steps.pop(number, ())
            before = self._ended.pop(number, None)
            if before is not None:
                ended.append(before)
            if isinstance(by, Steps) and by in ended and not self._closed:
                ended.remove(by)
                self._ended[number] = by
        if ended:
            _cancel(ended)

    def step_again(self, number: int) -> Steps | None:
        """The step that ended where a thread is now, if it can make another; it is the caller's.

        What else stepped the thread ends.
        """
        with self._lock:
            found = self._ended.pop(number, None)
            others = self._steps.pop(number, ())
        if others:
            _cancel(others)
        return found if found is not None and found.is_active else None


def _cancel(requests: Sequence[StopRequest]) -> None:
    for one in requests:
        try:
            one.cancel()
        except Error as error:
            log.debug("%r ends with its thread: %s", one, error)


__all__ = ["HaltedThread", "HaltedThreads", "PausedThread", "Shown", "StoppedThread"]
