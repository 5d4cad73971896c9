"""A breakpoint at a line of a source, in all classes that have code of it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from jvmti.interface.errors import Error
from jvmti.interface.signatures import matcher
from jvmti.model.debug.breakpoints import Breakpoint
from jvmti.model.debug.late.stop_probes import exactly
from jvmti.model.debug.prepared_classes import PreparedClasses

if TYPE_CHECKING:
    from jvmti.adapter.code.mapped_lines import MappedLines
    from jvmti.adapter.stopping.recorded_logpoints import RecordedLogpoint
    from jvmti.model.classes.java_class import Class, Method
    from jvmti.model.vm import VM

log = logging.getLogger("jvmti")

Place = Callable[[str | Sequence[str], int, Callable[[object], None]], Breakpoint]
"""Makes a breakpoint in classes, at a line number, that calls a function when it has new places."""


class LineBreakpoint:
    """A breakpoint in the classes that a source declares, and in those that have code of it by way
    of their source maps.

    Args:
        vm: the JVM.
        declared: patterns of the classes that the source declares.
        line: the line.
        recorded: records a text in these; ``None`` if a breakpoint is to stop threads.
        place: makes a breakpoint.
        mapped: the lines that classes have by way of maps; ``None`` if there are none.
        changed: is called with this when there are new places.

    Attributes:
        own: what stops threads, or records a text, in the classes that the source declares.
    """

    def __init__(
        self,
        vm: VM,
        declared: Sequence[str],
        line: int,
        recorded: RecordedLogpoint | None,
        place: Place,
        mapped: MappedLines | None,
        changed: Callable[[LineBreakpoint], None],
    ) -> None:
        self.own: Breakpoint | RecordedLogpoint
        self._declares = matcher("\n".join(declared))
        self._line = line
        self._place = place
        self._mapped = mapped
        self._changed = changed
        self._lock = threading.RLock()
        self._others: dict[tuple[str, int], Breakpoint] = {}
        self._watch: PreparedClasses | None = None
        self._is_ready = False
        self.own = recorded or place(declared, line, self._notify)
        if mapped is not None:
            self._watch = PreparedClasses(vm, mapped.patterns, self._look_into)
        self._is_ready = True

    def _notify(self, _: object = None) -> None:
        if self._is_ready:
            self._changed(self)

    def record(self, recorded: RecordedLogpoint) -> None:
        """Record a text in the classes that the source declares, and stop no thread there."""
        before, self.own = self.own, recorded
        before.cancel()

    def _look_into(self, cls: Class) -> None:
        assert self._mapped is not None
        is_new = False
        for number in self._mapped.numbers(cls, self._line):
            key = cls.name, number
            with self._lock:
                if key in self._others or (number == self._line and self._declares(cls.name)):
                    continue
                try:
                    self._others[key] = self._place(exactly(cls.name), number, self._notify)
                except (Error, LookupError, ValueError) as error:
                    log.info("no breakpoint at line %d of %s: %s", number, cls.name, error)
                    continue
            is_new = True
        if is_new:
            self._notify()

    @property
    def _all(self) -> list[Breakpoint | RecordedLogpoint]:
        with self._lock:
            return [self.own, *self._others.values()]

    @property
    def places(self) -> int:
        """The number of places where it is now."""
        counts = (one.places for one in self._all)
        return sum(one if isinstance(one, int) else len(one) for one in counts)

    @property
    def running(self) -> dict[str, int]:
        """See `StopRequest.running`."""
        return {name: count for one in self._all for name, count in one.running.items()}

    @property
    def lost(self) -> list[tuple[Method, int, str]]:
        """See `Breakpoint.lost`."""
        return [place for one in self._all for place in one.lost]

    @property
    def waits(self) -> bool:
        """See `Breakpoint.waits`; nobody waits where probes record a text."""
        return any(one.waits for one in self._all if isinstance(one, Breakpoint) and one.places)

    @property
    def is_active(self) -> bool:
        """Whether it is in effect."""
        return self.own.is_active

    def cancel(self) -> None:
        """Remove it from the program."""
        if self._watch is not None:
            self._watch.cancel()
        for one in self._all:
            one.cancel()


__all__ = ["LineBreakpoint"]
