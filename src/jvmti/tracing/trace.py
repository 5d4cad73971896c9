"""Traces: calls of methods in a running JVM, recorded by probes that are put into the classes."""

from __future__ import annotations

import bisect
import difflib
import threading
import time
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any

import numpy

from jvmti.instrumentation.library import plan_of
from jvmti.instrumentation.probes import BadProbe, Probe
from jvmti.interface.errors import Error, JvmtiError, OutOfMemory, ProtocolError
from jvmti.interface.signatures import java_name
from jvmti.layouts.probe_memory import TALLIES
from jvmti.layouts.probes import Site as Where
from jvmti.operations.agent import AgentOperations
from jvmti.text import modified_utf8 as text
from jvmti.text.printable import escaped
from jvmti.tracing.call_probes import RecordShape, call_probes
from jvmti.tracing.calls import Call, Calls, MethodUse
from jvmti.tracing.conditions import compiled
from jvmti.tracing.memory import HEAD, ProbeMemory, bucket_starts
from jvmti.tracing.sites import RecordedObject, Site, read_sites
from jvmti.tracing.traced_vm import TracedVM

_OUT_OF_MEMORY, _TOO_LARGE = 1, 4
"""Statuses of ``jvmti_classfile.h``."""
_FAILURES = {_TOO_LARGE: "it has no space for more constants"}

TICK = 0.05
"""Seconds between two looks at the records."""

_BATCH = 100
"""Classes that get their probes in one pause at first."""


class Trace:
    """Calls that are being recorded; leaving its ``with`` block, or `close`, ends it.

    Iterating gives calls until the trace is closed or the target ends. The classes are as they were
    when `close` returns; if this process dies, the agent puts them back.

    Attributes:
        patterns: what is traced.
        when: the condition.
        classes: the number of classes that got probes at the beginning; those that are loaded later
            get them, too.
        refused: classes that could not get any, with the reason.
        running: how many threads were in a call of which methods of these classes. Such a call goes
            on in the interpreter, and without probes, until it returns.
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
    ) -> None:
        if not patterns:
            raise BadProbe("a trace needs a pattern, such as com.acme.Order.*")
        self.patterns = tuple(patterns)
        self.classes = 0
        self.refused: dict[str, str] = {}
        self.running: dict[str, int] = {}
        self._failure: int | None = None
        self.when = when
        condition = None if when is None else compiled(when)
        self._vm = vm
        self._summary = summary
        self._limit = limit
        self._lock = threading.Lock()
        self._sites: list[Site] = []
        self._sites_read = 0
        self._class_names = ["?"]
        self._classes_read = 0
        self._threads: dict[int, str] = {}
        self._closed = False
        self._left_out = 0
        self._since = time.monotonic()
        self._taken = 0
        self._shape = RecordShape.of(text)
        probes = [
            probe
            for number, pattern in enumerate(patterns)
            for probe in call_probes(
                pattern,
                f"started {number}",
                self._shape,
                arguments=arguments,
                summary=summary,
                condition=condition,
            )
        ]
        self._memory = ProbeMemory(self._shape.size)
        self._memory.allow(limit)
        plan = plan_of(probes)
        self._plan = probes
        begins = [number for number, probe in enumerate(probes) if probe.site is Where.ENTRY]
        self._patterns_of = [bisect.bisect(begins, number) - 1 for number in range(len(probes))]
        agent = AgentOperations(vm._session, descriptor=self._memory.descriptor)
        try:
            self._number = agent.open_probes(plan, int(over * 1e9), *self._shape)
        finally:
            self._memory.close_descriptor()
        try:
            self._arm(max_pause)
            if not unloaded:
                self._check_places()
        except BaseException:
            self.close()
            raise

    # ---- the classes -----------------------------------------------------------------------------

    def _arm(self, max_pause: float | None) -> None:
        classes = self._loaded()
        self._find_running({one.name for one in classes})
        batch = _BATCH if max_pause is None else 1
        at = 0
        while at < len(classes):
            part = classes[at : at + batch]
            began = time.monotonic()
            self._place(part)
            took = time.monotonic() - began
            at += len(part)
            if max_pause is None:
                batch = len(classes)
            elif took < max_pause / 2:
                batch *= 2
            elif took > max_pause:
                batch = max(batch // 2, 1)
        counts = self._vm._agent.count_probes(self._number)
        self.classes = int(counts.classes)
        if counts.failed:
            self._failure = int(counts.reason)
        if self._summary and counts.sites >= TALLIES.COUNT:
            raise Error(
                f"{self.patterns} takes more than {TALLIES.COUNT:,} places: narrow the pattern"
            )

    def _find_running(self, names: set[str]) -> None:
        for thread in self._vm.threads.snapshot():
            inside = {frame.method for frame in thread.frames if frame.location >= 0}
            for method in inside:
                if method.class_name in names:
                    name = f"{method.class_name}.{method.name}"
                    self.running[name] = self.running.get(name, 0) + 1

    def _check_places(self) -> None:
        """Refuse a pattern that takes nothing, with names that are like it."""
        self._read_sites()
        taken = {
            self._patterns_of[site.probe]
            for site in self._sites
            if self._plan[site.probe].site is not Where.ENTRY
        }
        for number, pattern in enumerate(self.patterns):
            if number in taken:
                continue
            classes, _, method = pattern.partition("(")[0].rpartition(".")
            found = self._vm.classes(classes)
            if not len(found):
                alike = self._vm.classes.near(classes)
                hint = f"; similar ones: {', '.join(alike)}" if alike else ""
                raise LookupError(
                    f"no loaded class matches {classes!r}{hint}; to wait for one, say so (unloaded)"
                )
            refused = "; ".join(f"{name}: {why}" for name, why in list(self.refused.items())[:3])
            if refused:
                raise Error(f"no class of {pattern!r} could get probes: {refused}")
            if self._failure == _OUT_OF_MEMORY:
                raise OutOfMemory(None, "trace", f"no memory for the probes of {pattern!r}")
            if self._failure is not None:
                why = _FAILURES.get(self._failure, "its code makes no sense")
                raise Error(f"a class of {pattern!r} can have no probes: {why}")
            if self.when is not None:
                raise LookupError(
                    f"no method of {pattern!r} has the values of the condition {self.when!r}; "
                    "arg0 and so on are there also where a class was compiled without -g"
                )
            names = {one.name for cls in found[:20] for one in cls.methods}
            alike = difflib.get_close_matches(method, names, 3) or sorted(names)[:5]
            raise LookupError(
                f"{classes!r} is loaded, and has no method {method!r} with code: it has "
                f"{', '.join(alike)}"
            )

    def _loaded(self) -> list[Any]:
        """The loaded classes whose names match, and that can be changed."""
        names = [probe.classes for probe in self._plan if probe.site is Where.ENTRY]
        every = list({one for name in names for one in self._vm.classes(name or "*")})
        if not every:
            return []
        modifiable = self._vm.env.map.is_modifiable_class(every).check().value
        return [one for one, is_modifiable in zip(every, modifiable, strict=True) if is_modifiable]

    def _place(self, classes: list[Any]) -> None:
        """Give classes their probes; one that is refused does not keep the others from it."""
        if not classes:
            return
        try:
            self._vm._agent.place_probes(self._number, classes)
        except JvmtiError as error:
            if len(classes) == 1:
                self.refused[classes[0].name] = str(error)
                return
            middle = len(classes) // 2
            self._place(classes[:middle])
            self._place(classes[middle:])

    # ---- reading ---------------------------------------------------------------------------------

    @property
    def dropped(self) -> int:
        """Calls that were left out: there were more than the limit, or than were read in time."""
        return self._memory.dropped + self._memory.lost + self._left_out

    def read(self, timeout: float | None = 0.0) -> Calls:
        """The calls that have ended since the last time, in the order in which they ended.

        Args:
            timeout: seconds to wait for one; ``None`` is for ever.

        Raises:
            ProtocolError: what the target has written makes no sense.
        """
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            ended = self._closed or self._vm._session.closed is not None
            with self._lock:
                found = self._take()
            if found or ended or self._gone():
                return found
            left = TICK if until is None else min(TICK, until - time.monotonic())
            if left <= 0:
                return found
            time.sleep(left)

    def __iter__(self) -> Iterator[Call]:
        """Calls as they end, until the trace is closed or the target ends."""
        while True:
            found = self.read(1.0)
            yield from found
            if not found and (self._closed or self._gone()):
                return

    @property
    def ended(self) -> bool:
        """Whether the trace is closed, or the target is gone."""
        return self._closed or self._gone()

    @property
    def methods(self) -> int:
        """How many methods have probes so far."""
        with self._lock:
            self._read_sites()
        return len({(site.name, site.descriptor) for site in self._sites})

    def _gone(self) -> bool:
        session = self._vm._session
        return session.closed is not None or session.gone()

    def _take(self) -> Calls:
        now = time.monotonic()
        if now - self._since >= 1:
            self._since, self._taken = now, 0
        allowed = None if self._limit is None else max(self._limit - self._taken, 0)
        rows = self._memory.take()
        # Where there are enough for this second, the program writes no more either.
        self._memory.allow(None if allowed is None else max(allowed - len(rows), 0))
        if not len(rows):
            return Calls()
        heads = rows[:, :HEAD].copy().view(_HEAD)[:, 0]
        # A frame may go on with the probes of a set that had this one's place before.
        ours = heads["probes"] == self._number
        rows, heads = rows[ours], heads[ours]
        order = numpy.argsort(heads["time"], kind="stable")[:allowed]
        self._left_out += len(rows) - len(order)
        self._taken += len(order)
        rows, heads = rows[order], heads[order]
        self._learn(heads)
        found = Calls()
        for row, head in zip(rows, heads.tolist(), strict=True):
            _, _, ended, started, thread, site, _ = head
            if site >= len(self._sites):
                if self.ended:  # of a class that was loaded at the very end
                    self._left_out += 1
                    continue
                raise ProtocolError("a record is from a place that has no probe")
            found.append(self._call(self._sites[site], memoryview(row), ended, started, thread))
        return found

    def _call(self, site: Site, row: memoryview, ended: int, started: int, thread: int) -> Call:
        result, *arguments = (
            None if slot is None else slot.read(row, self._class_names, self._shape.text_size)
            for slot in site.slots
        )
        if site.omitted:
            arguments = [one for one, slot in zip(arguments, site.slots[1:], strict=True) if slot]
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
        )

    def _learn(self, heads: Any) -> None:
        """Ask for the names behind numbers that are new."""
        if not len(heads):
            return
        if int(heads["site"].max()) >= len(self._sites):
            self._read_sites()
        self._read_classes()
        unknown = set(heads["thread"].tolist()) - set(self._threads)
        if unknown and not self._closed and not self._gone():
            threads = self._vm.threads
            live = list(threads)
            ids = threads.ids(live)
            names = [one.name for one in live]
            self._threads.update(zip(ids, names, strict=True))
        for number in unknown:
            self._threads.setdefault(number, f"#{number}")

    def _read_sites(self) -> None:
        data = self._ask("read_probe_sites", self._sites_read)
        self._sites_read += len(data)
        for site in read_sites(data):
            if site.probe >= len(self._plan):
                raise ProtocolError("a place is of a probe that there is not")
            site.lay_out(self._shape.text_size)
            self._sites.append(site)

    def _read_classes(self) -> None:
        data = self._ask("read_recorded_classes", self._classes_read)
        self._classes_read += len(data)
        self._class_names += [java_name(text.decode(one)) for one in data.split(b"\0")[:-1]]

    def _ask(self, operation: str, offset: int) -> bytes:
        if self._closed or self._vm._session.closed is not None:
            return b""
        found: bytes = getattr(self._vm._agent, operation)(self._number, offset)
        return found

    def summary(self) -> list[MethodUse]:
        """Calls, failures and durations by method, the most expensive first.

        Only for traces that were opened with ``summary=True``: they add up in the target, which
        costs less than recording, and count every call.

        Raises:
            ValueError: the trace records calls.
        """
        if not self._summary:
            raise ValueError("this trace records calls; open one with summary=True")
        with self._lock:
            self._read_sites()
            return _added_up(self._memory.tallies(len(self._sites)), self._sites, self._plan)

    # ---- the end ---------------------------------------------------------------------------------

    def close(self) -> None:
        """Take the probes out of the classes; what was recorded can be read still."""
        if self._closed:
            return
        session = self._vm._session
        try:
            if session.closed is None:
                with self._lock:
                    self._read_sites()
                    self._read_classes()
                self._vm._agent.close_probes(self._number)
        except Error:
            if session.closed is None and not session.gone():
                raise
        finally:
            self._closed = True

    def __enter__(self) -> Trace:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @escaped
    def __repr__(self) -> str:
        state = ", closed" if self._closed else ""
        return f"<Trace of {', '.join(self.patterns)} in {self.classes:,} classes{state}>"


_HEAD = numpy.dtype(
    [
        ("sequence", "<i8"),
        ("claimed", "<i8"),
        ("time", "<i8"),
        ("started", "<i8"),
        ("thread", "<i8"),
        ("site", "<u4"),
        ("probes", "<u4"),
    ]
)


def _within(part: float, running: Any, ends: Any, longest: int) -> float:
    """The end of the bucket that has a part of all calls."""
    return float(min(ends[int(numpy.searchsorted(running, part * running[-1]))], longest))


def _added_up(tallies: Any, sites: list[Site], plan: list[Probe]) -> list[MethodUse]:
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
