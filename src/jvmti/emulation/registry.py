"""The emulating engines of a session, and which environment holds which emulated capability.

Calls of an environment that holds none do not pass through here.
"""

from __future__ import annotations

import logging
import threading
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from jvmti.env.interface import FUNCTIONS
from jvmti.interface.capabilities import Capabilities
from jvmti.interface.errors import NotAvailable

if TYPE_CHECKING:
    from jvmti.emulation.declared import Emulated, Engine, StandIn
    from jvmti.env.environment import Env
    from jvmti.interface.declaration import Declaration
    from jvmti.wire.session import Session

log = logging.getLogger("jvmti")

_BOOKS = ("get_capabilities", "relinquish_capabilities", "dispose_environment")
"""The functions that an environment with emulated capabilities answers here."""


class Pauses(NamedTuple):
    """How the VM was stopped by what is emulated."""

    times: int
    """How often."""
    total: float
    """For how long in all, in seconds."""
    longest: float
    """For how long at most, in seconds."""


class Emulation:
    """The emulated capabilities of one session.

    Attributes:
        open: whether the program's environments may have emulated capabilities.
        pauses: the pauses of the VM so far to look at the roots of its stacks.
    """

    def __init__(self, session: Session, *, open: bool) -> None:
        self.open = open
        self._session = session
        self._engines: list[Engine] = []
        self._held: dict[int, Capabilities] = {}
        self._lock = threading.RLock()
        self.pauses = Pauses(0, 0.0, 0.0)

    def stopped(self, nanoseconds: int) -> None:
        """Note a pause of the VM."""
        seconds = nanoseconds / 1e9
        log.debug("the VM was stopped for %.0f µs to look at its stacks", seconds * 1e6)
        with self._lock:
            times, total, longest = self.pauses
            self.pauses = Pauses(times + 1, total + seconds, max(longest, seconds))

    def register(self, engine: Engine) -> None:
        """Register an engine, before those that are registered.

        Environments that already hold a capability do not change.
        """
        self._engines.insert(0, engine)

    # ---- capabilities ----------------------------------------------------------------------

    @property
    def emulates(self) -> Capabilities:
        """The capabilities that some engine can emulate on this VM, at this moment."""
        found = Capabilities(0)
        for engine in self._engines:
            found |= engine.emulates
        return found

    def engine(self, one: Capabilities) -> Engine | None:
        """The engine that stands in for a capability; ``None`` if none does."""
        return next((engine for engine in self._engines if one in engine.emulates), None)

    def held(self, env: Env) -> Capabilities:
        """The emulated capabilities of an environment."""
        return self._held.get(env._number, Capabilities(0))

    @property
    def all_held(self) -> list[Capabilities]:
        """The emulated capabilities of each environment that has any."""
        with self._lock:
            return list(self._held.values())

    def add(self, env: Env, wanted: Capabilities) -> None:
        """Add emulated capabilities to an environment.

        Raises:
            NotAvailable: one of them is not emulated here.
        """
        if missing := wanted & ~self.emulates:
            raise NotAvailable(detail=f"{missing}: no engine emulates it on this VM")
        with self._lock:
            self._held[env._number] = self.held(env) | wanted
            self._redirect(env)

    def _redirect(self, env: Env) -> None:
        """Route the calls of an environment here, only those that need it."""
        overrides, number = self._session.overrides, env._number
        for key in [key for key in overrides if key[0] == number]:
            del overrides[key]
        held = self.held(env)
        if not held:
            self._held.pop(number, None)
            return
        for name in _BOOKS:
            overrides[number, name] = getattr(self, f"_{name}")
        for one in held:
            gated = {name for name, of in FUNCTIONS.items() if one.name in of.capabilities}
            engines = [
                (engine, emulated)
                for engine in self._engines
                for emulated in engine.emulated
                if emulated.capability == one and one in engine.emulates
            ]
            for _, emulated in engines:
                gated |= {*emulated.functions}
            for name in gated:
                overrides[number, name] = partial(self._stand_in, FUNCTIONS[name])

    def _stand_in(self, declaration: Declaration, env: Env, arguments: tuple[Any, ...]) -> Any:
        name = declaration.name
        held = self.held(env)
        why = ""
        for engine in self._engines:
            for emulated in engine.emulated:
                if emulated.capability not in held:
                    continue
                why = why or emulated.lacks.get(name, "")
                if name not in emulated.functions:
                    continue
                method: StandIn = getattr(engine, name)
                found = method(env, *arguments)
                if found is not NotImplemented:
                    return found
        if _needs(declaration) & held:
            raise NotAvailable(detail=why or f"{name}() is not emulated here")
        return env.call_natively(declaration, arguments)

    # ---- the books -------------------------------------------------------------------------

    def _get_capabilities(self, env: Env, arguments: tuple[Any, ...]) -> Capabilities:
        native: Capabilities = env.call_natively(FUNCTIONS["get_capabilities"], arguments)
        return native | self.held(env)

    def _relinquish_capabilities(self, env: Env, arguments: tuple[Any, ...]) -> None:
        gives = Capabilities.of(arguments[0])
        env.call_natively(FUNCTIONS["relinquish_capabilities"], (gives & ~self.held(env),))
        self._release(env, gives & self.held(env))

    def _dispose_environment(self, env: Env, arguments: tuple[Any, ...]) -> None:
        self._release(env, self.held(env))
        env.call_natively(FUNCTIONS["dispose_environment"], arguments)

    def _release(self, env: Env, gives: Capabilities) -> None:
        if not gives:
            return
        with self._lock:
            for engine in self._engines:
                if its := gives & _capabilities(engine.emulated):
                    engine.released(env, its)
            self._held[env._number] = self.held(env) & ~gives
            self._redirect(env)


def _needs(declaration: Declaration) -> Capabilities:
    return Capabilities.of(declaration.capabilities)


def _capabilities(emulated: tuple[Emulated, ...]) -> Capabilities:
    return Capabilities.of(*(one.capability for one in emulated))


__all__ = ["Emulation", "Pauses"]
