"""Threads that stay suspended for a while, and always resume afterwards.

The agent keeps track of them by a key that Python chooses before the request: naming the key
resumes the threads, once or twice, before or after the request has arrived.  So Ctrl-C may come at
any moment.  If the controller dies, the agent resumes the threads.
"""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any

from jvmti.interface.capabilities import Capabilities
from jvmti.interface.errors import (
    CallTimeout,
    Error,
    ErrorCode,
    SessionClosed,
    TargetLost,
    error_for,
)
from jvmti.operations.agent import AgentOperations

if TYPE_CHECKING:
    from jvmti.env.environment import Env
    from jvmti.model.threads.java_thread import Thread
    from jvmti.model.vm import VM
    from jvmti.wire.session import Conversation

log = logging.getLogger("jvmti")

_keys = itertools.count(1)


class Suspension:
    """Suspends threads during a ``with`` block.

    Blocks nest: a thread resumes at the end of the outermost block that suspended it.  Threads that
    others have suspended stay suspended.  Skips threads that have ended, and the thread that makes
    the call: the event's thread in a handler.

    Attributes:
        threads: those that are suspended, by this or already.
    """

    def __init__(self, vm: VM, threads: Sequence[Thread]) -> None:
        self._vm = vm
        self._wanted = list(threads)
        self._key = 0
        self._conversation: Conversation | None = None
        """The one that suspended them: its thread is none of them."""
        self.threads: list[Thread] = []

    def suspend(self) -> list[ErrorCode]:
        """Begin; the outcome for each thread."""
        self._key = next(_keys)
        self._conversation = self._vm._session.conversation
        return self._more(self._wanted)

    def _able(self, *, virtual: bool = False) -> AbstractContextManager[Env]:
        """The environment that may suspend and resume now; it may be another one later."""
        virtual = virtual or any(thread.is_virtual for thread in self._wanted)
        more = ("can_support_virtual_threads",) if virtual else ()
        return self._vm._capability_pool.borrowed(Capabilities.of("can_suspend", *more))

    def _more(self, threads: Sequence[Thread]) -> list[ErrorCode]:
        with self._able() as env:
            agent = AgentOperations(self._vm._session, env._number)
            outcomes = [ErrorCode(code) for code in agent.suspend(list(threads), self._key)]
        done = (ErrorCode.NONE, ErrorCode.THREAD_SUSPENDED)
        self.threads += [one for one, code in zip(threads, outcomes, strict=True) if code in done]
        return outcomes

    def resume(self) -> None:
        """End; doing so twice does no harm."""
        if not self._key:
            return
        interrupt: KeyboardInterrupt | None = None
        session = self._vm._session
        conversation = session.conversation
        # The thread of another conversation may be one of them, and would never answer.
        route = conversation if conversation is self._conversation else None
        while True:
            try:
                with session.within(route):
                    self._resume()
                break
            except KeyboardInterrupt as error:
                interrupt = error  # until it is certain that the threads run on
        self._key = 0
        if interrupt is not None:
            raise interrupt

    def _resume(self) -> None:
        _certainly(self._resume_by_key, self._key)

    def _resume_by_key(self, key: int) -> None:
        with self._able() as env:
            AgentOperations(self._vm._session, env._number).resume(key)

    def __enter__(self) -> Suspension:
        try:
            self.check(self.suspend())
        except BaseException:
            self.resume()
            raise
        return self

    def check(self, outcomes: Sequence[ErrorCode]) -> None:
        """Raise the error of a single thread that could not be suspended."""
        if len(self._wanted) == 1 and not self.threads:
            raise error_for(outcomes[0], "suspend_thread")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.resume()


_OF_THE_VM = frozenset(
    ("Signal Dispatcher", "Attach Listener", "Service Thread", "Monitor Deflation Thread")
)
"""Threads that run no Java code of the program, and that other tools need."""


class SuspensionOfAll(Suspension):
    """Suspends all threads during a ``with`` block, including those that start meanwhile.

    The agent's threads, the VM's own, and any in ``leave`` run on.
    """

    def __init__(self, vm: VM, leave: Sequence[Thread], virtual: bool) -> None:
        super().__init__(vm, [])
        self._leave = list(leave)
        self._virtual = virtual
        self._already: list[Thread] | None = None
        """The virtual threads that are not to be resumed; ``None`` where none was suspended."""

    def suspend(self) -> list[ErrorCode]:
        """Suspend all; there are no errors of single threads."""
        super().suspend()
        threads = self._vm.threads
        spared = set(threads.ids(self._leave))
        if self._virtual:
            self._suspend_virtual()
        while True:
            # A thread that is not suspended yet may start another one.
            found = list(threads)
            numbers = threads.ids(found)
            names = threads.names(found)
            new = [
                thread
                for thread, number, name in zip(found, numbers, names, strict=True)
                if number not in spared and name not in _OF_THE_VM
            ]
            spared.update(numbers)
            if not new:
                return []
            self._more(new)

    def _suspend_virtual(self) -> None:
        # Listing them runs Java code, which needs locks: before anything is suspended.
        virtual = self._vm.threads.virtual
        if not virtual:
            return
        leave = [thread for thread in self._leave if thread.is_virtual]
        self._already = [one for one in virtual if one.is_suspended] + leave
        with self._able(virtual=True) as env:
            env.suspend_all_virtual_threads(leave)

    def _resume(self) -> None:
        super()._resume()
        if self._already is not None:
            _certainly(self._resume_virtual, self._already)
            self._already = None

    def _resume_virtual(self, leave: list[Thread]) -> None:
        with self._able(virtual=True) as env:
            env.resume_all_virtual_threads(leave)


def _certainly(function: Callable[[Any], object], argument: Any) -> None:
    """Call the function that resumes threads, until it succeeds."""
    try:
        function(argument)
    except (SessionClosed, TargetLost):
        pass  # the agent resumes what a session leaves behind
    except CallTimeout as late:
        log.warning("threads are resumed late: %s", late)
    except Error as error:
        # As in a handler that has overrun its time: its thread is no way any more.
        log.debug("resumed by another thread: %s", error)
        another = threading.Thread(target=function, args=(argument,))
        another.start()
        another.join()


__all__ = ["Suspension", "SuspensionOfAll"]
