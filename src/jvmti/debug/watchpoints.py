"""Watchpoints: stop before a field is read or written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from jvmti.debug.stops import Stop, StopRequest
from jvmti.interface.constants import Event

if TYPE_CHECKING:
    from jvmti.model.classes.java_class import Field, Method
    from jvmti.model.threads.java_thread import Thread
    from jvmti.model.vm import VM


class Watchpoint(StopRequest):
    """Stops before a field is read or written; see `Field.watch`.

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
            raise ValueError("watch() needs read=True, write=True or both")
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

    def _described(self) -> str:
        return f"{self.field.declaring_class.name}.{self.field.name}"


__all__ = ["Watchpoint"]
