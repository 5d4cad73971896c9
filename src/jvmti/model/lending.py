"""Capabilities that only one environment can hold: the model gives way to the program.

The model takes capabilities for its own work, such as ``can_suspend``, in an environment of its
own. When another environment of the session requests one, the model relinquishes it, and from then
on works through that environment.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from jvmti.env.environment import Env
from jvmti.interface.capabilities import SOLO, Capabilities
from jvmti.interface.errors import Error, NotAvailable

if TYPE_CHECKING:
    from jvmti.interface.declaration import Declaration
    from jvmti.model.vm import VM


class Lending:
    """The environments of a session, and which of them has what the model needs."""

    def __init__(self, vm: VM) -> None:
        self._vm = vm
        self._own: Env | None = None
        self._held = Capabilities(0)
        self._others: weakref.WeakSet[Env] = weakref.WeakSet()
        self._lock = threading.RLock()

    def note(self, env: Env) -> Env:
        """Remember an environment in which the program may take capabilities."""
        self._others.add(env)
        return env

    def holder(self, wanted: Capabilities) -> Env | None:
        """An environment of the program's that has all of these."""
        for env in [self._vm.env, *self._others]:
            try:
                if not wanted & ~env.get_capabilities():
                    return env
            except Error:
                self._others.discard(env)  # disposed of
        return None

    def environment(self, wanted: Capabilities) -> Env:
        """An environment that has all of these: the model's own, or one of the program's.

        Raises:
            NotAvailable: they are not available now.
        """
        with self._lock:
            if self._own is not None and not wanted & ~self._held:
                return self._own
            env = self.holder(wanted)
            if env is not None:
                return env
            if self._own is None:
                self._own = self._vm.own_env()
            self._own.add_capabilities(wanted)
            self._held |= wanted
            return self._own

    @contextmanager
    def lent(self, wanted: Capabilities) -> Iterator[Env]:
        """An environment that has all of these, during a ``with`` block.

        If the holder of an exclusive capability lacks others, it gets them meanwhile.

        Raises:
            NotAvailable: they are not available now.
        """
        missing = Capabilities(0)
        with self._lock:
            try:
                env = self.environment(wanted)
            except NotAvailable:
                solo = self.holder(wanted & SOLO) if wanted & SOLO else None
                if solo is None:
                    raise
                env = solo
                missing = wanted & ~env.get_capabilities()
                env.add_capabilities(missing)
        try:
            yield env
        finally:
            if missing:
                with suppress(Error):
                    env.relinquish_capabilities(missing)

    def call(self, env: Env, declaration: Declaration, arguments: tuple[Any, ...]) -> Any:
        """Call a function that requests capabilities, as if the model's environments had none."""
        session = self._vm._session
        adds = declaration.name == "add_capabilities"
        try:
            given = session.call(declaration, env._number, arguments, env._timeout)
        except NotAvailable:
            if not adds or not self._given_back(env, Capabilities.of(arguments[0])):
                raise
            return session.call(declaration, env._number, arguments, env._timeout)
        if adds or env not in self._others:
            return given
        return given | (self._held & SOLO) | self._vm.breakpoints.could_give

    def make_way(self, env: Env) -> None:
        """Relinquish all exclusive capabilities that nothing needs now."""
        self._given_back(env, SOLO)

    def _given_back(self, env: Env, wanted: Capabilities) -> bool:
        """Relinquish what another environment requests; ``False`` if there is nothing."""
        if env not in self._others:
            return False
        with self._lock:
            gives = wanted & self._held & SOLO
            if gives and self._own is not None:
                self._own.relinquish_capabilities(gives)
                self._held &= ~gives
            return bool(gives) | self._vm.breakpoints.give_back(wanted)


__all__ = ["Lending"]
