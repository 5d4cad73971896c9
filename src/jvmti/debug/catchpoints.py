"""Catchpoints: stop where exceptions are thrown."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from jvmti.debug.stops import Stop, StopRequest
from jvmti.interface.constants import Event
from jvmti.layouts.stops import Caught

if TYPE_CHECKING:
    from jvmti.model.classes.java_class import Method
    from jvmti.model.threads.java_thread import Thread
    from jvmti.model.vm import VM


class Catchpoint(StopRequest):
    """Stops where exceptions are thrown; see `VM.catch`.

    Attributes:
        exceptions: the class name or pattern.
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
        super().__init__(vm, when=when, hits=hits, thread=thread, caller=caller, do=do)
        if not caught and not uncaught:
            raise ValueError("catch() needs caught=True, uncaught=True or both")
        self.exceptions = exceptions
        self._make(
            Event.EXCEPTION,
            kinds=(Caught.CAUGHT if caught else 0) | (Caught.UNCAUGHT if uncaught else 0),
            classes=exceptions,
        )
        self._warn_if_not_loaded(exceptions)

    def _described(self) -> str:
        unseen = f": {self.pending_reason}" if self.pending_reason and not self.hits else ""
        return f"{self.exceptions}{unseen}"


__all__ = ["Catchpoint"]
