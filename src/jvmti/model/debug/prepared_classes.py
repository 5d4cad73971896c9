"""Classes as they are loaded: something is to be done with each before its code runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from jvmti.interface.constants import Event
from jvmti.model.debug.stops import StopRequest

if TYPE_CHECKING:
    from jvmti.model.classes.java_class import Class
    from jvmti.model.vm import VM


class PreparedClasses(StopRequest):
    """Passes the classes that have been loaded to a function, and each that is loaded later.

    The thread that loads a class waits meanwhile. Of a class that is loaded just now, the function
    may get to know twice.

    Args:
        vm: the JVM.
        classes: patterns of their names, one per line.
        found: the function.
    """

    def __init__(self, vm: VM, classes: str, found: Callable[[Class], object]) -> None:
        super().__init__(vm, when=None, hits=None, thread=None, caller=None, do=None)
        self._classes = classes
        self._found = found
        # The event first, so that no class is prepared unseen in between.
        self._make(Event.CLASS_PREPARE, classes=classes)
        if vm._session.live:
            self._went_live()

    def _went_live(self) -> None:
        for cls in self._vm.classes(self._classes):
            if not cls.is_array:
                self._found(cls)

    def _class_prepared(self, cls: Class) -> None:
        self._found(cls)

    def _described(self) -> str:
        return self._classes.replace("\n", "|")


__all__ = ["PreparedClasses"]
