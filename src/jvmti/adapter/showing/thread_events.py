"""Reports threads that start and end to the client.

The VM records them in memory, so no thread waits. Those that live shorter than a moment are left
out, and so are virtual threads, of which there may be a million.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from jvmti.interface.errors import Error

if TYPE_CHECKING:
    from jvmti.adapter.debug_session import DebugSession

log = logging.getLogger("jvmti")

_LATER = 1.0
"""Seconds until the VM records; what starts or ends before is noticed then. To read what it records
takes NumPy, for whose import the first stop of a session need not wait."""
_TOGETHER = 0.3
"""Seconds of which the changes are reported together."""
_AT_ONCE = 200
"""Changes that are reported at most; a client that shows a list reads it again anyway."""
_RING = 1 << 14
"""Bytes for the records of a thread: each starts or ends a few others."""


class ThreadEvents:
    """Sends the event ``thread``.

    Args:
        session: what requests share.
    """

    def __init__(self, session: DebugSession) -> None:
        self._session = session
        self._known: set[int] = set()

    def begin(self) -> None:
        """Begin, once the program runs.

        Helix takes the thread of each event for the one that its user looks at, who loses his stop.
        """
        if self._session.is_helix:
            return
        threading.Thread(target=self._run, name="jvmti thread events", daemon=True).start()

    def _run(self) -> None:
        vm, over = self._session.vm, self._session.conversation.is_over
        try:
            self._known = self._now()
            if over.wait(_LATER):
                return
            with vm.env.stream(
                ["ThreadStart", "ThreadEnd"], size=_RING, timestamps=False
            ) as stream:
                self._report()
                while not over.is_set() and not stream.closed:
                    if not stream.read(timeout=1.0):
                        continue
                    over.wait(_TOGETHER)
                    stream.read(timeout=0)
                    self._report()
        except Error as error:
            log.debug("no more events of threads: %s", error)

    def _now(self) -> set[int]:
        threads = self._session.vm.threads
        return set(threads.ids(list(threads)))

    def _report(self) -> None:
        before, self._known = self._known, self._now()
        changes = [("exited", one) for one in before - self._known]
        changes += [("started", one) for one in self._known - before]
        for reason, number in changes[:_AT_ONCE]:
            with self._session.conversation.held():
                # The client knows a thread that is stopped: for Neovim, one that starts now runs.
                if reason == "exited" or self._session.halted.find(number) is None:
                    self._session.conversation.event("thread", reason=reason, threadId=number)


__all__ = ["ThreadEvents"]
