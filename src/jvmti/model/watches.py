"""Watched fields, and exceptions where they are thrown."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from jvmti.model.stops import Stop, Stops
from jvmti.spec.constants import Event

if TYPE_CHECKING:
    from jvmti.model.classes import Field, Method
    from jvmti.model.threads import Thread
    from jvmti.model.vm import VM

_CAUGHT, _UNCAUGHT = 1, 2


class Watch(Stops):
    """A watched field.

    Attributes:
        field: the field.
    """

    def __init__(
        self,
        vm: VM,
        field: Field,
        read: bool,
        write: bool,
        *,
        when: str | Callable[[Stop], object] | None,
        hits: int | str | None,
        thread: Thread | Iterable[Thread] | None,
        caller: str | Iterable[str] | Method | None,
        do: Callable[[Stop], object] | None,
    ) -> None:
        super().__init__(vm, when=when, hits=hits, thread=thread, caller=caller, do=do)
        if not read and not write:
            raise ValueError("a field is watched for read=True, write=True or both")
        self.field = field
        cls = field.declaring_class
        try:
            for wanted, event in ((read, Event.FIELD_ACCESS), (write, Event.FIELD_MODIFICATION)):
                if wanted:
                    number = self._make(event)
                    self._agent(number).place_watch(number, cls, field)
        except BaseException:
            self.cancel()
            raise

    def _what(self) -> str:
        return f"{self.field.declaring_class.name}.{self.field.name}"


class Catch(Stops):
    """Exceptions where they are thrown.

    Attributes:
        exceptions: the class, or the pattern for classes.
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
            raise TypeError(f"exceptions are named by class, not by {type(exceptions).__name__}")
        super().__init__(vm, when=when, hits=hits, thread=thread, caller=caller, do=do)
        if not caught and not uncaught:
            raise ValueError("exceptions are stopped at with caught=True, uncaught=True or both")
        self.exceptions = exceptions
        self._make(
            Event.EXCEPTION,
            kinds=(_CAUGHT if caught else 0) | (_UNCAUGHT if uncaught else 0),
            classes=exceptions,
        )
        self._say_if_not_loaded(exceptions)

    def _what(self) -> str:
        unseen = f": {self.awaited}" if self.awaited and not self.hits else ""
        return f"{self.exceptions}{unseen}"


__all__ = ["Catch", "Watch"]
