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
from jvmti.env.interface import FUNCTIONS
from jvmti.interface.capabilities import SOLO, Capabilities
from jvmti.interface.errors import Error, NotAvailable

if TYPE_CHECKING:
    from jvmti.interface.declaration import Declaration
    from jvmti.model.vm import VM


class CapabilityPool:
    """The environments of a session, and which of them has the model's capabilities."""

    def __init__(self, vm: VM) -> None:
        self._vm = vm
        self._own: Env | None = None
        self._held = Capabilities(0)
        self._others: weakref.WeakSet[Env] = weakref.WeakSet()
        self._lock = threading.RLock()

    def add(self, env: Env) -> Env:
        """Remember an environment in which the program may take capabilities."""
        self._others.add(env)
        return env

    def environment_with(self, wanted: Capabilities) -> Env | None:
        """An environment of the program's that has all of these."""
        for env in [self._vm.env, *self._others]:
            try:
                if not wanted & ~env.get_capabilities():
                    return env
            except Error:
                self._others.discard(env)  # disposed of
        return None

    def environment(self, wanted: Capabilities, *, emulated: bool = True) -> Env:
        """An environment that has all of these: the model's own, or one of the program's.

        Args:
            wanted: the capabilities.
            emulated: take what only an engine gives, too.

        Raises:
            NotAvailable: they are not available now.
        """
        with self._lock:
            own = self._own
            if (
                own is not None
                and not wanted & ~self._held
                and self._qualifies(own, wanted, emulated)
            ):
                return own
            env = self.environment_with(wanted)
            if env is not None and self._qualifies(env, wanted, emulated):
                return env
            if own is None:
                own = self._own = self._vm.own_env()
            if emulated:
                own.add_capabilities(wanted)
            else:
                self._add(own, wanted)
            self._held |= wanted
            return own

    def _qualifies(self, env: Env, wanted: Capabilities, emulated: bool) -> bool:
        return emulated or not wanted & self._vm.emulation.held(env)

    @contextmanager
    def borrowed(self, wanted: Capabilities) -> Iterator[Env]:
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
                solo = self.environment_with(wanted & SOLO) if wanted & SOLO else None
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
        """Call a function that requests capabilities, as if the model's environments had none.

        What the VM does not grant, and an engine emulates, comes from there: for the model's own
        environments always, for those of the program in a session opened with ``emulate=True``.
        """
        emulation = self._vm.emulation
        emulates = emulation.emulates
        if declaration.name != "add_capabilities":
            potential = self.potential(env)
            return potential | emulates if self._may_emulate(env) else potential
        wanted = Capabilities.of(arguments[0])
        if not wanted & emulates:
            return self._add(env, wanted)
        beyond = wanted & emulates & ~self.potential(env)
        if beyond and not self._may_emulate(env):
            try:
                return self._add(env, wanted)
            except NotAvailable as error:
                how = f"jvmti.attach(…, emulate=True) gives {beyond} emulated"
                raise NotAvailable(error.code, error.function, f"{error.detail}; {how}") from None
        self._add(env, wanted & ~beyond)
        if beyond:
            emulation.add(env, beyond)

    def _may_emulate(self, env: Env) -> bool:
        return self._vm.emulation.open or env not in self._others

    def potential(self, env: Env) -> Capabilities:
        """The capabilities that the VM would grant an environment without the model's own."""
        given: Capabilities = self._natively(env, "get_potential_capabilities")
        if env not in self._others:
            return given
        return given | (self._held & SOLO) | self._vm.breakpoints.could_give

    def _add(self, env: Env, wanted: Capabilities) -> None:
        try:
            self._natively(env, "add_capabilities", wanted)
        except NotAvailable:
            if not self._given_back(env, wanted):
                raise
            self._natively(env, "add_capabilities", wanted)

    def _natively(self, env: Env, name: str, *arguments: Any) -> Any:
        session = self._vm._session
        return session.call(FUNCTIONS[name], env._number, arguments, env._timeout)

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


__all__ = ["CapabilityPool"]
