"""Catchpoints: stop where exceptions are thrown."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from jvmti.instrumentation.probes import Operand
from jvmti.interface.constants import Event
from jvmti.interface.errors import NotAvailable
from jvmti.interface.signatures import in_any_package
from jvmti.layouts.probes import Operand as Kind
from jvmti.layouts.probes import Site
from jvmti.layouts.stops import Caught
from jvmti.model.debug.late.stop_probes import stop_probe
from jvmti.model.debug.stops import Stop, StopRequest, is_pattern
from jvmti.text.printable import printable
from jvmti.tracing.without_code import check_has_code

_THROWABLE = "java.lang.Throwable"

if TYPE_CHECKING:
    from jvmti.model.classes.java_class import Method
    from jvmti.model.debug.late.stop_probes import ProbedFrame
    from jvmti.model.threads.java_thread import Thread
    from jvmti.model.vm import VM


class Catchpoint(StopRequest):
    """Stops where exceptions are thrown; see `VM.catch`.

    Attributes:
        exceptions: the class name or pattern; see `VM.catch`.
    """

    def __init__(
        self,
        vm: VM,
        exceptions: str,
        caught: bool,
        uncaught: bool,
        *,
        when: str | Callable[[Stop], object] | None,
        hits: int | str | None,
        thread: Thread | Iterable[Thread] | None,
        caller: str | Iterable[str] | Method | None,
        do: Callable[[Stop], object] | None,
    ) -> None:
        if not isinstance(exceptions, str):
            raise TypeError(f"exceptions= takes a class name, not {type(exceptions).__name__}")
        _check_thrown(vm, exceptions)
        emulated = vm.breakpoints.is_emulated(Event.EXCEPTION)
        if emulated:
            _check_late(when, caught, uncaught)
        super().__init__(vm, when=when, hits=hits, thread=thread, caller=caller, do=do)
        if not caught and not uncaught:
            raise ValueError("catch() needs caught=True, uncaught=True or both")
        self.exceptions = exceptions
        meant = "\n".join(one for name in exceptions.split("\n") for one in in_any_package(name))
        if emulated:
            self._begin_with_probes(meant)
            return
        self._make(
            Event.EXCEPTION,
            kinds=(Caught.CAUGHT if caught else 0) | (Caught.UNCAUGHT if uncaught else 0),
            classes=meant,
        )
        self._warn_if_not_loaded(exceptions, meant)

    # ---- by probes -------------------------------------------------------------------------

    def _begin_with_probes(self, meant: str) -> None:
        throwable = self._vm.find_class("java.lang.Throwable")
        probe = stop_probe(
            Site.RETURN,
            None,
            Operand(Kind.THIS, "L"),
            classes="java.lang.Throwable",
            methods="<init>",
        )
        self._make_probes(Event.EXCEPTION, [probe], classes=meant)
        try:
            assert self._probes is not None
            self._probes.arm([throwable])
            self._probes.check_installed(throwable, "java.lang.Throwable")
        except BaseException:
            self.cancel()
            raise
        self._warn_if_not_loaded(self.exceptions, meant)

    def _about_probe(self, probed: ProbedFrame) -> dict[str, Any]:
        return {"exception": probed.values[1]}

    def _described(self) -> str:
        unseen = f": {self.pending_reason}" if self.pending_reason and not self.hits else ""
        return f"{self.exceptions}{unseen}"


def _check_thrown(vm: VM, name: str) -> None:
    """Refuse the name of what nobody can throw.

    Raises:
        LookupError: it is a primitive type, an array class, or a loaded class that is no exception.
    """
    check_has_code([name])
    if is_pattern(name) or not vm._session.live:
        return
    found = vm.classes.named(name)
    if found and not any(one.name == _THROWABLE for cls in found for one in cls.superclasses):
        if name != _THROWABLE:
            raise LookupError(printable(f"{name} is no exception: it does not extend {_THROWABLE}"))


def _check_late(when: Any, caught: bool, uncaught: bool) -> None:
    """Refuse what probes cannot know about an exception.

    Raises:
        NotAvailable: the agent was attached late.
    """
    if isinstance(when, str):
        raise NotAvailable(
            detail="an agent that was attached late cannot evaluate a condition on variables where "
            "an exception is thrown; pass a function, which takes the stop"
        )
    if caught != uncaught:
        raise NotAvailable(
            detail="an agent that was attached late sees exceptions as they are made, before it is "
            "known whether they are caught; ask for both kinds"
        )


__all__ = ["Catchpoint"]
