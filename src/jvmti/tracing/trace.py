"""Traces: calls of methods in a running JVM, recorded by probes in the classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from jvmti.instrumentation.probes import BadProbe, Probe
from jvmti.interface.errors import Error
from jvmti.layouts.probe_memory import TALLIES
from jvmti.layouts.probes import PLAN
from jvmti.layouts.probes import Site as Where
from jvmti.text.printable import escaped
from jvmti.tracing.call_probes import RecordShape, call_probes
from jvmti.tracing.calls import Call, Calls, MethodUse
from jvmti.tracing.conditions import compiled
from jvmti.tracing.memory import bucket_starts
from jvmti.tracing.probe_set import values_of
from jvmti.tracing.recorder import Recorder
from jvmti.tracing.sites import RecordedObject, Site
from jvmti.tracing.traced_vm import TracedVM

_MOST_FRAMES = PLAN.LONGEST_TEXT // 4


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
        max_pause: float | None,
        unloaded: bool,
        when: str | None,
        stack: int,
    ) -> None:
        if not patterns:
            raise BadProbe("a trace needs a pattern, such as com.acme.Order.*")
        if not 0 <= stack <= _MOST_FRAMES:
            raise BadProbe(f"stack= is a number of callers, at most {_MOST_FRAMES}")
        self.patterns = tuple(patterns)
        self.when = when
        condition = None if when is None else compiled(when)
        self._summary = summary
        self._frames = stack
        shape = RecordShape.of(text, frames=stack)
        probes: list[Probe] = []
        ends: dict[int, int] = {}
        for number, pattern in enumerate(patterns):
            for probe in call_probes(
                pattern,
                f"started {number}",
                shape,
                arguments=arguments,
                summary=summary,
                condition=condition,
                stack=stack > 0,
            ):
                if probe.site is not Where.ENTRY:
                    ends[len(probes)] = number
                probes.append(probe)
        super().__init__(vm, probes, shape, limit=limit, over=over)
        try:
            self._arm(max_pause)
            if summary and self._counted_sites >= TALLIES.COUNT:
                raise Error(
                    f"{self.patterns} takes more than {TALLIES.COUNT:,} places: narrow the pattern"
                )
            if not unloaded:
                self._check_patterns(patterns, ends, values_of(when))
        except BaseException:
            self.close()
            raise

    def _records(self, found: list[Call]) -> Calls:
        return Calls(found)

    def _record(self, site: Site, row: memoryview, ended: int, started: int, thread: int) -> Call:
        result, *arguments = self._values(site, row)
        stack = arguments.pop(0) if self._frames else ()
        slots = site.slots[2 if self._frames else 1 :]
        if site.omitted:
            arguments = [one for one, slot in zip(arguments, slots, strict=True) if slot]
        unwound = self._plan[site.probe].site is Where.UNWIND
        exception = result if unwound and isinstance(result, RecordedObject) else None
        return Call(
            ended,
            ended - started,
            self._threads.get(thread, f"#{thread}"),
            thread,
            site.class_name,
            site.method,
            site.descriptor,
            0 if unwound else site.line,
            tuple(arguments),
            site.omitted,
            None if unwound else result,
            exception,
            stack[: self._frames] if isinstance(stack, tuple) else (),
        )

    def summary(self) -> list[MethodUse]:
        """Calls, failures and durations by method, the most expensive first.

        Only for traces opened with ``summary=True``: they add up in the target, which costs less
        than recording, and count every call.

        Raises:
            ValueError: the trace records calls.
        """
        if not self._summary:
            raise ValueError("this trace records calls; open one with summary=True")
        with self._lock:
            self._read_sites()
            return _added_up(self._memory.tallies(len(self._sites)), self._sites, self._plan)

    @escaped
    def __repr__(self) -> str:
        state = ", closed" if self._closed else ""
        return f"<Trace of {', '.join(self.patterns)} in {self.classes:,} classes{state}>"


def _within(part: float, running: Any, ends: Any, longest: int) -> float:
    """The end of the bucket at a fraction of all calls."""
    return float(min(ends[int(numpy.searchsorted(running, part * running[-1]))], longest))


def _added_up(tallies: Any, sites: list[Site], plan: Sequence[Probe]) -> list[MethodUse]:
    starts = bucket_starts()
    by_method: dict[tuple[str, str], tuple[Any, int, int, int]] = {}
    buckets = tallies[:, :, : TALLIES.BUCKETS].sum(axis=0)
    sums = tallies[:, :, TALLIES.BUCKETS].sum(axis=0)
    longest = tallies[:, :, TALLIES.BUCKETS + 1].max(axis=0) if len(sites) else sums
    for number, site in enumerate(sites):
        count = int(buckets[number].sum())
        if not count:
            continue
        key = (site.name, site.descriptor)
        before = by_method.get(key, (numpy.zeros(TALLIES.BUCKETS, numpy.int64), 0, 0, 0))
        failed = count if plan[site.probe].site is Where.UNWIND else 0
        by_method[key] = (
            before[0] + buckets[number],
            before[1] + failed,
            before[2] + int(sums[number]),
            max(before[3], int(longest[number])),
        )
    found = []
    for (name, descriptor), (counts, failures, total, most) in by_method.items():
        calls = int(counts.sum())
        running = numpy.cumsum(counts)
        ends = numpy.append(starts[1:], numpy.inf)

        found.append(
            MethodUse(
                name,
                descriptor,
                calls,
                failures,
                total,
                total / calls,
                _within(0.5, running, ends, most),
                _within(0.99, running, ends, most),
                most,
            )
        )
    return sorted(found, key=lambda one: -one.total)


__all__ = ["Trace"]
