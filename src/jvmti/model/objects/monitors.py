"""Monitors of objects, held during a ``with`` block and always released afterwards.

The agent keeps track of them by a key that Python chooses before the request: naming the key
releases the monitor, and doing so twice has no effect. So Ctrl-C may come before or after a reply,
as with `jvmti.model.threads.suspension`.
"""

from __future__ import annotations

import itertools
import logging
from typing import TYPE_CHECKING, Any

from jvmti.interface.errors import CallTimeout, Error
from jvmti.model.values import calls
from jvmti.operations.agent import AgentOperations
from jvmti.wire.session import Conversation

if TYPE_CHECKING:
    from jvmti.model.vm import VM

log = logging.getLogger("jvmti")

_keys = itertools.count(1)


class MonitorHold:
    """Holds an object's monitor during a ``with`` block; see ``obj.locked``."""

    def __init__(self, vm: VM, item: Any, timeout: float | None) -> None:
        self._vm = vm
        self._item = item
        self._timeout = timeout
        self._key = 0
        self._conversation: Conversation | None = None
        """With the thread of the VM that has entered: no other one can leave."""

    def __enter__(self) -> None:
        session = self._vm._session
        self._key = next(_keys)
        self._conversation = session.conversation or Conversation(session.channel(), 0)
        try:
            with session.within(self._conversation):
                AgentOperations(session, timeout=self._timeout).enter_monitor(self._item, self._key)
        except BaseException as error:
            # If the thread still waits for the monitor, leave it alone; it will release the monitor
            # itself.
            session.attend()
            self.__exit__()
            if isinstance(error, CallTimeout):
                raise calls.explained(self._vm, error, self._item, self._timeout) from None
            raise

    def __exit__(self, *raised: object) -> None:
        interrupt: KeyboardInterrupt | None = None
        while self._conversation is not None:
            try:
                self._leave(self._conversation)
                self._conversation = None
            except KeyboardInterrupt as error:
                interrupt = error  # until it is certain that the monitor is left
        if interrupt is not None:
            raise interrupt

    def _leave(self, conversation: Conversation) -> None:
        session = self._vm._session
        if session.is_attended(conversation.channel):
            return  # it ends with the abandoned call, and releases what it holds
        # A thread that is at something else leaves as soon as it has come back from there.
        timeout = 0.0 if conversation.channel.late else None
        try:
            with session.within(conversation):
                AgentOperations(session, timeout=timeout).leave_monitor(self._key)
        except Error as error:
            log.debug("the monitor is left with what held it: %s", error)


__all__ = ["MonitorHold"]
