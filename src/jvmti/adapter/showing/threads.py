"""The request ``threads``: those of the program, of large pools and of virtual threads a few."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jvmti.adapter.protocol.arguments import Arguments, RequestFailed
from jvmti.adapter.protocol.requests import answers
from jvmti.adapter.showing.thread_pools import without_rest_of_pools
from jvmti.adapter.stopped_threads import HaltedThread, PausedThread
from jvmti.interface.errors import ThreadNotAlive
from jvmti.text.printable import printable
from jvmti.text.quantities import quantity

if TYPE_CHECKING:
    from jvmti.adapter.debug_session import DebugSession
    from jvmti.model.threads.java_thread import Thread

_VIRTUAL = 100
"""Virtual threads that are listed, unless the configuration says otherwise."""
_INEXACT = 32
"""Their count may be wrong by a few platform threads."""
_MORE = (1 << 53) - 1
"""The number of those that are not listed."""
_MANY = 500
"""Of this many platform threads, or fewer, all are listed."""
_OF_POOL = 20
"""Threads of each pool in the list of more, unless the configuration says otherwise."""


class ThreadRequests:
    """Answers requests about threads as such.

    Args:
        session: what requests share.
    """

    def __init__(self, session: DebugSession) -> None:
        self._session = session
        session.halted.on_demand = self._suspended_with_others
        self._listed: list[Thread] = []
        self._more = 0
        """About how many virtual threads are not listed."""
        self._pools: dict[str, int] = {}
        """The numbers that stand for the threads of pools that are not listed."""

    @answers("threads")
    def threads(self, given: Arguments) -> dict[str, Any]:
        """The platform threads, the virtual ones that are stopped, and some more of these."""
        session = self._session
        vm = session.vm
        if vm.held or vm.closed:
            return {"threads": []}
        threads = list(iter(vm.threads))  # of themselves it would ask their number first
        known = set(vm.threads.ids(threads))
        stopped = {halted.id: halted.thread for halted in session.halted.all()}
        threads += [thread for number, thread in stopped.items() if number not in known]
        threads += self._virtual(known | stopped.keys())
        numbers = vm.threads.ids(threads)
        named = [
            (number, printable(name) or f"virtual thread {number}")
            for number, name in zip(numbers, vm.threads.names(threads), strict=True)
        ]
        left: dict[str, int] = {}
        most = session.configuration.number("poolThreads", _OF_POOL)
        is_wanted = session.configuration.has("poolThreads") or len(known) > _MANY
        if is_wanted and most > 0:
            named, left = without_rest_of_pools(named, most, stopped)
        listed = [{"id": number, "name": name} for number, name in named]
        for pool, count in left.items():
            number = self._pools.setdefault(pool, _MORE - 1 - len(self._pools))
            listed.append({"id": number, "name": f"… {quantity(count, 'more thread')} {pool}"})
        if self._more:
            listed.append({"id": _MORE, "name": f"… about {self._more:,} more virtual threads"})
        return {"threads": listed}

    def _virtual(self, known: set[int]) -> list[Thread]:
        most = self._session.configuration.number("virtualThreads", _VIRTUAL)
        if most <= 0:
            return []
        vm = self._session.vm
        # Listing them runs Java code, which may need a lock of a suspended thread.
        if not self._session.halted.whole.is_stopped:
            self._listed = vm.threads.some_virtual(most)
            more = vm.threads.virtual_count - len(self._listed)
            self._more = more if more > _INEXACT else 0
        found = self._listed
        return [
            one
            for one, number in zip(found, vm.threads.ids(found), strict=True)
            if number not in known
        ]

    def find(self, number: int) -> Thread:
        """A thread of the program by its number.

        Raises:
            RequestFailed: there is none.
        """
        vm = self._session.vm
        halted = self._session.halted.find(number)
        if halted is not None:
            return halted.thread
        if number == _MORE:
            raise RequestFailed(
                "these virtual threads are not listed; virtualThreads in the configuration says "
                "how many are"
            )
        if number in self._pools.values():
            raise RequestFailed(
                "these threads are not listed; poolThreads in the configuration says how many of a "
                "pool are"
            )
        lists: list[Callable[[], list[Thread]]] = [lambda: list(vm.threads), lambda: self._listed]
        if not self._session.halted.whole.is_stopped:
            lists.append(lambda: vm.threads.virtual)
        for listed in lists:
            threads = listed()
            numbers = vm.threads.ids(threads)
            if number in numbers:
                return threads[numbers.index(number)]
        raise RequestFailed(f"there is no thread {number}; it may have ended")

    @answers("pause")
    def pause(self, given: Arguments) -> None:
        """Suspend a thread wherever it is."""
        session = self._session
        number = given.number("threadId")
        all_stopped = session.halted.whole.stop(session.vm)
        halted = session.halted.find(number)
        if halted is None:
            halted = self._suspend(number)
        reason = halted.reason
        session.conversation.afterwards(
            lambda: session.conversation.event(
                "stopped", reason=reason, threadId=number, allThreadsStopped=all_stopped
            )
        )

    def _suspend(self, number: int) -> HaltedThread:
        """Suspend a thread, or take the stop that it has come to meanwhile.

        Raises:
            RequestFailed: it has ended, or that stop is over.
        """
        threads = self._session.halted
        try:
            paused = PausedThread(self.find(number), number)
        except ThreadNotAlive:
            raise RequestFailed(f"thread {number} has ended") from None
        if not threads.add(paused):
            paused.resume()
        halted = threads.find(number)
        if halted is None:
            raise RequestFailed(f"thread {number} has stopped meanwhile and runs again; try again")
        return halted

    def _suspended_with_others(self, number: int) -> HaltedThread:
        """A thread that is suspended because another has stopped.

        Raises:
            RequestFailed: it runs, or there is none.
        """
        session = self._session
        if session.vm.closed:
            raise RequestFailed("the program has ended")
        if session.halted.whole.holds(number):
            return self._suspend(number)
        raise RequestFailed(f"thread {number} runs, or has ended; pause it to look into it")


__all__ = ["ThreadRequests"]
