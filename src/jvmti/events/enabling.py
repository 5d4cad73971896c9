"""Enabled events of the VM, and their users: handlers and streams may share one."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from jvmti.interface.constants import EventMode
from jvmti.interface.errors import Error, MustPossessCapability, SessionClosed, TargetLost

if TYPE_CHECKING:
    from jvmti.env.environment import Env
    from jvmti.env.events import EventDeclaration
    from jvmti.refs import Thread
    from jvmti.wire.session import Session

log = logging.getLogger("jvmti")


class Enabling:
    """Counts users of an environment's events: the first enables one, and the last disables it.

    Attributes:
        lock: held during changes of the handlers and streams of an event.
        scope: during a change, patterns for the classes whose events the user wants, one a line;
            ``None`` for all. Where the VM itself sends the event it makes no difference.
        max_pause: during a change, the seconds that the program may be stopped at a time while
            classes get probes; ``None`` without a limit.
        is_scoped: whether an event is made only for the classes that its users want.
        changes: what is to change in probes while `together` collects it, else ``None``.
        apply: makes such changes, with a limit for each pause in seconds.
    """

    def __init__(self, session: Session) -> None:
        self.lock = threading.RLock()
        self._session = session
        self.scope: str | None = None
        self.max_pause: float | None = None
        self.is_scoped: Callable[[Env, EventDeclaration], bool] = lambda env, declaration: False
        self.changes: list[Any] | None = None
        self.apply: Callable[[list[Any], float | None], None] = lambda changes, max_pause: None
        self._wanted: dict[tuple[int, int, Any, str | None], int] = {}

    @contextmanager
    def within(
        self, env: Env, declaration: EventDeclaration, scope: str | None
    ) -> Iterator[str | None]:
        """Set the scope during a change, if it makes a difference; yields it."""
        with self.lock:
            before = self.scope
            self.scope = scope if scope and self.is_scoped(env, declaration) else None
            try:
                yield self.scope
            finally:
                self.scope = before

    @contextmanager
    def together(self, max_pause: float | None = None) -> Iterator[None]:
        """Change several events, for which classes get other probes only once, at the end.

        After an exception nothing is changed, so the caller disables what it has enabled.
        """
        with self.lock:
            self.changes = []
            try:
                yield
                changes, self.changes = self.changes, None
                if changes:
                    self.apply(changes, max_pause)
            finally:
                self.changes = None

    def enable(
        self,
        env: Env,
        declaration: EventDeclaration,
        thread: Thread | None,
        scope: str | None = None,
        max_pause: float | None = None,
    ) -> None:
        """Enable an event, of one thread or of all."""
        with self.within(env, declaration, scope) as scoped:
            key = (env._number, declaration.number, thread, scoped)
            if not self._wanted.get(key):
                before, self.max_pause = self.max_pause, max_pause
                try:
                    env.set_event_notification_mode(EventMode.ENABLE, declaration.constant, thread)
                except MustPossessCapability as error:
                    names = ", ".join(f'"{capability}"' for capability in declaration.capabilities)
                    needs = f"{declaration.name} needs env.add_capabilities({{{names}}})"
                    raise MustPossessCapability(error.code, error.function, needs) from None
                finally:
                    self.max_pause = before
            self._wanted[key] = self._wanted.get(key, 0) + 1

    def disable_all(
        self, env: Env, enabled: Iterable[tuple[EventDeclaration, Thread | None, str | None]]
    ) -> None:
        """Disable events of threads and scopes, unless someone else uses them."""
        try:
            with self.together():
                for declaration, thread, scope in enabled:
                    self.disable(env, declaration, thread, scope)
        except (SessionClosed, TargetLost):
            pass
        except Error as error:
            log.debug("disabling events: %s", error)

    def disable(
        self,
        env: Env,
        declaration: EventDeclaration,
        thread: Thread | None,
        scope: str | None = None,
    ) -> None:
        """Disable it, unless someone else uses it."""
        with self.within(env, declaration, scope) as scoped:
            key = (env._number, declaration.number, thread, scoped)
            left = self._wanted.get(key, 0) - 1
            if left > 0:
                self._wanted[key] = left
                return
            self._wanted.pop(key, None)
            if self._session.closed is not None:
                return
            try:
                env.set_event_notification_mode(EventMode.DISABLE, declaration.constant, thread)
            except (SessionClosed, TargetLost):
                pass
            except Error as error:
                # A thread that has ended, or a disposed environment, sends nothing.
                log.debug("disabling %s: %s", declaration.name, error)
