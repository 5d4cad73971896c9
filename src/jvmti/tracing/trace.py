"""Traces: calls of methods in a running JVM, recorded by probes in the classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jvmti.instrumentation.probes import BadProbe, Probe
from jvmti.interface.errors import Error, IllegalArgument
from jvmti.layouts.probes import Outcome
from jvmti.layouts.probes import Site as Where
from jvmti.refs import ClassLoader
from jvmti.text.printable import escaped
from jvmti.text.quantities import quantity
from jvmti.tracing.call_probes import RecordShape, call_probes, is_call_pattern
from jvmti.tracing.conditions import compiled
from jvmti.tracing.probe_set import values_of
from jvmti.tracing.records.call_table import CallTable
from jvmti.tracing.records.calls import Call, Calls
from jvmti.tracing.records.held_objects import HeldObjects
from jvmti.tracing.records.recorder import Recorder
from jvmti.tracing.records.sites import RecordedObject, Site
from jvmti.tracing.summaries import Grouping
from jvmti.tracing.traced_vm import TracedVM

_MOST_OBJECTS = 1 << 16


class Trace(Recorder[Call, Calls]):
    """An open trace of calls; leaving its ``with`` block, or `close`, ends it.

    Iterating gives calls until the trace is closed or the target ends. The classes are as they were
    when `close` returns; if this process dies, the agent puts them back.

    Attributes:
        patterns: the traced methods.
        when: the condition.
    """

    def __init__(
        self,
        vm: TracedVM,
        patterns: Sequence[str],
        *,
        over: float,
        arguments: bool,
        text: int,
        limit: int | None,
        summary: bool,
        by: str | None,
        max_pause: float | None,
        unloaded: bool,
        when: str | None,
        every: int,
        stack: int,
        objects: int,
        loader: ClassLoader | None,
    ) -> None:
        if not patterns:
            raise BadProbe("a trace needs a pattern, such as com.acme.Order.*")
        if objects and (summary or by is not None):
            raise BadProbe("objects= is for calls that are recorded, not for a summary")
        if not 0 <= objects <= _MOST_OBJECTS:
            raise BadProbe(f"objects= is a number of calls, at most {_MOST_OBJECTS:,}")
        if objects and any(map(is_call_pattern, patterns)):
            raise BadProbe("objects= is for methods, not for calls where they are made")
        if objects and not arguments:
            raise BadProbe("objects= needs the arguments: leave out arguments=False")
        self.patterns = tuple(patterns)
        self.when = when
        condition = None if when is None else compiled(when)
        grouping = Grouping.of(by or "method") if summary or by is not None else None
        self._frames = stack
        self._holds = objects > 0
        shape = RecordShape.of(text, frames=stack, objects=2 + self._holds)
        probes: list[Probe] = []
        ends: dict[int, int] = {}
        for number, pattern in enumerate(patterns):
            for probe in call_probes(
                pattern,
                f"started {number}",
                shape,
                arguments=arguments,
                by=grouping,
                condition=condition,
                stack=stack > 0,
                objects=self._holds,
            ):
                if probe.outcome is not Outcome.KEEP:
                    ends[len(probes)] = number
                probes.append(probe)
        super().__init__(
            *(vm, probes, shape),
            limit=limit,
            by=grouping,
            over=over,
            every=every,
            objects=objects,
            loader=loader,
        )
        try:
            self._arm(max_pause)
            if not unloaded:
                needed = values_of(when)
                if grouping is not None and grouping.operand is not None:
                    needed = f"has a value {by!r}" + ("" if needed is None else f", and {needed}")
                self._check_patterns(patterns, ends, needed)
        except BaseException:
            self.close()
            raise

    def read_table(self, timeout: float | None = 0.0) -> CallTable:
        """The calls since the last read as columns, in order.

        `read` makes an object of each call; this does not, and keeps up with many more calls. It is
        for `to_arrow`, pandas and polars.

        Args:
            timeout: seconds to wait for one; ``None`` is no limit.

        Raises:
            ValueError: the trace holds the objects of calls, which a table does not have.
            ProtocolError: the target wrote invalid data.
        """
        if self._holds:
            raise ValueError("a table has no objects: open the trace without objects=")
        return self._wait(self._take_table, timeout)

    def _take_table(self) -> CallTable:
        rows, heads = self._take_rows()
        sites = list(self._sites)
        return CallTable(
            rows,
            heads,
            sites,
            [self._plan[site.probe].site for site in sites],
            dict(self._threads),
            lambda slot, row: slot.read(row, self._class_names, self._shape.text_size),
            self._shape.text_size,
            self._frames,
        )

    def _records(self, found: list[Call]) -> Calls:
        return Calls(found)

    def _record(self, site: Site, row: memoryview, ended: int, started: int, thread: int) -> Call:
        result, *arguments = self._values(site, row)
        stack = arguments.pop(0) if self._frames else ()
        held = arguments.pop(0) if self._holds else 0
        if site.omitted:
            slots = site.slots[1 + bool(self._frames) + self._holds :]
            arguments = [one for one, slot in zip(arguments, slots, strict=True) if slot]
        where = self._plan[site.probe].site
        unwound = where is Where.UNWIND
        exception = result if unwound and isinstance(result, RecordedObject) else None
        frames = stack[: self._frames] if isinstance(stack, tuple) else ()
        name, descriptor = site.called, site.called_descriptor
        if where is Where.CALLED and frames:
            frames = (f"{site.name}:{site.line}", *frames)[: self._frames]
        class_name, _, method = name.rpartition(".")
        objects = self._objects(held, descriptor, arguments)
        return Call(
            ended,
            ended - started,
            self._threads.get(thread, f"#{thread}"),
            thread,
            class_name,
            method,
            descriptor,
            0 if unwound else site.line,
            tuple(arguments) if objects is None else objects.arguments,
            site.omitted if objects is None else 0,
            None if unwound else result,
            exception,
            frames,
            objects,
        )

    def _objects(self, held: Any, descriptor: str, recorded: list[Any]) -> HeldObjects | None:
        """The objects of a call; ``None`` where the agent holds them no longer."""
        if not held or self.ended:
            return None
        try:
            method, array = self._vm._agent.take_held_call(self._number, held)
        except IllegalArgument:
            return None
        except Error:
            if not self._vm._session.gone():
                raise
            return None
        return HeldObjects(self._vm, method, descriptor, array, recorded)

    @escaped
    def __repr__(self) -> str:
        state = ", closed" if self._closed else ""
        return f"<Trace of {', '.join(self.patterns)} in {quantity(self.classes, 'class')}{state}>"


__all__ = ["Trace"]
