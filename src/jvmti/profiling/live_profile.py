"""A profile of a running JVM, which grows until it is stopped."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import threading
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from jvmti import display
from jvmti.interface.errors import Error
from jvmti.layouts.profiles import PROFILES
from jvmti.profile.limits import Limits
from jvmti.profile.merging import Merged
from jvmti.profile.profile import Profile
from jvmti.profile.tables import Kind
from jvmti.profiling.requests import Requests
from jvmti.profiling.sources import AgentSource, SampleSource
from jvmti.text.printable import escaped
from jvmti.text.quantities import quantity

if TYPE_CHECKING:
    from jvmti.profiling.profiled_vm import ProfiledVM

log = logging.getLogger("jvmti")

READ_EVERY = 0.5
"""Seconds between two reads of the samples, so that the target keeps few."""
READ_REQUESTS_EVERY = 0.05
"""The same of requests, for which there is less space."""

INTERVALS = {
    Kind.CPU: 0.01,
    Kind.WALL: 0.02,
    Kind.ALLOC: 512 * 1024,
    Kind.LIVE: 512 * 1024,
    Kind.LOCK: 0.00001,
}
"""The intervals unless you ask for another: seconds, bytes, and the shortest wait in seconds."""
LONGEST = 86_400
"""The longest interval in seconds."""
ENGINES = {Kind.CPU: ("perf", "timer", "deltas"), Kind.WALL: ("deltas",)}
"""The engines that can take the samples of a kind, where there is a choice or a name for it."""


class _Part:
    """The samples of one kind, of a profile that may have several."""

    def __init__(self, kind: Kind, interval: float, source: SampleSource) -> None:
        self.kind = kind
        self.interval = interval
        self.source = source


class LiveProfile(Profile):
    """A profile of a running JVM; leaving its ``with`` block, or `stop`, ends it.

    Its views show what `update` or `stop` has read last. If this process dies, the agent stops
    taking samples.

    Args:
        vm: the VM.
        kinds: what is sampled.
        interval: seconds, or bytes, from one sample to the next; of locks the shortest wait. For
            several kinds a dictionary, whose keys are their names.
        engine: what takes the samples; ``None`` is the best that works.
        depth: frames of a stack at most.
        exact: have inlined methods right, where the VM must compile anew for that.
        by: the method that handles requests, and the value that names one.
        threads: patterns for the names of the threads to look at.
        max_pause: seconds that the program may be stopped at a time by the probes of ``by``.

    Raises:
        BadProbe: ``by`` is malformed.
        LookupError: there is no such method, or it has no such value.
        PauseTooLong: a single class would stop the program for longer than ``max_pause``.
        NotAvailable: no engine works, or another profile has what it needs.
        ValueError: there is no such kind or engine, or the interval is not positive, longer than a
            day, or shorter than 0.1 ms of processor or wall-clock time.
    """

    def __init__(
        self,
        vm: ProfiledVM,
        kinds: Sequence[str | Kind],
        *,
        interval: float | Mapping[str, float] | None = None,
        engine: str | None = None,
        depth: int = 512,
        exact: bool = True,
        by: str | None = None,
        threads: str | Sequence[str] | None = None,
        max_pause: float | None = None,
    ) -> None:
        wanted = list(dict.fromkeys(map(kind_of, kinds))) or [Kind.CPU]
        intervals = intervals_of(wanted, interval)
        if not 1 <= depth <= PROFILES.DEPTH:
            raise ValueError(f"depth={depth!r} is not from 1 to {PROFILES.DEPTH:,}")
        _check_engine(wanted, engine)
        if max_pause is not None and by is None:
            raise ValueError("max_pause= is for the probes of by=, without which nothing stops")
        if threads is not None and wanted != [Kind.WALL]:
            raise ValueError("threads= is for wall-clock time only, which is called wall")
        if threads is not None and not all(
            [threads] if isinstance(threads, str) else threads or [""]
        ):
            raise ValueError(f"threads={threads!r} has no pattern for a thread's name")
        self._vm = vm
        self._lock = threading.Lock()
        self._leaving = threading.Event()
        self._stopped = False
        self._views: list[display.LiveView] = []
        # First, so that a wrong name leaves no profile behind.
        self._requests = None if by is None else Requests(vm, by, max_pause)
        self._parts: list[_Part] = []
        try:
            for kind in wanted:
                source = self._opened(kind, intervals[kind], engine, depth, exact, threads)
                self._parts.append(_Part(kind, intervals[kind], source))
        except BaseException:
            for part in self._parts:
                part.source.stop()
                part.source.close()
            if self._requests is not None:
                self._requests.close()
            raise
        self._began_at = self._ended_at = time.time_ns()
        self._build()
        # A short program would end with half of its samples unread.
        self._at_death = vm.env.on("VMDeath", lambda event: self._read())
        names = " and ".join(kind.name.lower() for kind in wanted)
        self._reader = threading.Thread(
            target=self._read_on, name=f"profile of {names}", daemon=True
        )
        self._reader.start()

    def _opened(
        self,
        kind: Kind,
        interval: float,
        engine: str | None,
        depth: int,
        exact: bool,
        threads: str | Sequence[str] | None,
    ) -> SampleSource:
        if kind in (Kind.CPU, Kind.WALL):
            nanoseconds = max(round(interval * 1e9), 1)
            if engine not in ENGINES[kind]:
                engine = None  # it is for another kind
            return AgentSource(self._vm, kind, engine, nanoseconds, depth, exact, threads)
        amount = max(round(interval if kind.unit == "bytes" else interval * 1e9), 1)
        return AgentSource(self._vm, kind, None, amount, depth, exact, None)

    # ---- its life --------------------------------------------------------------------------------

    @property
    def running(self) -> bool:
        """Whether samples are still taken."""
        return not self._stopped and not self._vm._session.has_ended()

    def update(self) -> LiveProfile:
        """Read the samples up to now, so that the views show them; returns the profile itself."""
        if not self._stopped:
            self._read()
            self._rename_threads()
            self._ended_at = time.time_ns()
        self._build()
        return self

    def stop(self) -> LiveProfile:
        """Take no more samples, and read those that there are; again it does nothing.

        Of a VM that has ended, the profile has the samples up to its end, and of one that was
        killed those of all but the last half second.
        """
        if self._stopped:
            return self
        self._leaving.set()
        self._reader.join()
        try:
            try:
                self._at_death.cancel()
                for part in self._parts:
                    part.source.stop()
                self._ended_at = time.time_ns()
            finally:
                # Not before: a sample after its probes' end would have no request.
                if self._requests is not None:
                    self._requests.close()
                    self._requests.update()
            self._read()
            self._rename_threads()
            for part in self._parts:
                part.source.close()
        except Error:
            if not self._vm._session.gone():
                raise
            self._ended_at = time.time_ns()
        finally:
            # Also after Ctrl-C: what was read is there.
            self._stopped = True
            self._build()
        for view in self._views:
            view.refresh()
        return self

    def __enter__(self) -> LiveProfile:
        self._show()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    # ---- reading ---------------------------------------------------------------------------------

    def _read(self) -> None:
        with self._lock:
            for part in self._parts:
                part.source.read()
        self._read_requests()

    def _read_requests(self) -> None:
        if self._requests is not None and not self._stopped:
            self._requests.update()

    def _rename_threads(self) -> None:
        """Give threads their present names, where these have changed since their first samples."""
        threads = self._vm.threads
        live = list(threads)
        names = dict(zip(threads.ids(live), threads.names(live), strict=True))
        with self._lock:
            for part in self._parts:
                part.source.rename_threads(names)

    def _read_on(self) -> None:
        every = READ_EVERY if self._requests is None else READ_REQUESTS_EVERY
        until = time.monotonic() + READ_EVERY
        while not self._leaving.wait(every):
            try:
                if time.monotonic() < until:
                    self._read_requests()
                    continue
                until = time.monotonic() + READ_EVERY
                self._read()
            except Error as error:
                # The target has ended, or `stop` will raise it.
                log.debug("a profile is read no longer: %s", error)
                return

    def now(self) -> Profile:
        """The samples up to now, as a profile that does not change; this one stays as it is."""
        if not self._stopped:
            self._read()
            self._ended_at = time.time_ns()
        return Profile(*self._tables())

    def _ipython_display_(self) -> None:
        if not self._show():
            print(repr(self))

    def _show(self) -> bool:
        """Show it in a notebook, once in a cell; whether this is one."""
        if any(view.in_this_cell() for view in self._views):
            return True
        view = display.follow(self)
        if view is not None:
            self._views.append(view)
        return view is not None

    def _build(self) -> None:
        tables = self._tables()
        for name in ("kinds", "stack_weights"):
            self.__dict__.pop(name, None)
        super().__init__(*tables)

    def _tables(self) -> tuple[Any, ...]:
        merged = Merged()
        for part in self._parts:
            with self._lock:
                tables = part.source.tables()
                # The first sample may be there before the agent's answer is.
                first = int(tables[0].time.min(initial=self._began_at))
                self._began_at = min(self._began_at, first)
                limits = self._limits_now(part, len(tables[0]), int(tables[0].weight.sum()))
            labels: list[str] = []
            if self._requests is not None:
                samples, stacks, frames, threads = tables
                whole = samples
                samples, nameless = self._requests.labelled(whole, threads)
                labels = self._requests.labels
                note = self._requests.note(whole, nameless, stacks, frames)
                if note is not None:
                    limits = dataclasses.replace(limits, notes=(*limits.notes, note))
                tables = (samples, stacks, frames, threads)
            if len(self._parts) > 1:
                merged.add(*tables, [limits], labels)
        if len(self._parts) > 1:
            return merged.tables()
        return (*tables, [limits], labels)

    def where(self, rows: Any) -> Profile:
        """The profile of some samples; it shares the other tables in their present state.

        Args:
            rows: a slice, an array of row numbers, or of a truth value for each sample.
        """
        part = Profile.__new__(Profile)
        part.__dict__.update(
            {name: value for name, value in self.__dict__.items() if name in _TABLES}
        )
        return Profile.where(part, rows)

    # ---- limits ----------------------------------------------------------------------------------

    def _limits_now(self, part: _Part, samples: int, weight: int) -> Limits:
        lacking = part.source.limits()
        notes = lacking.pop("notes", ())
        effective = lacking.pop("effective", None)
        if part.kind is Kind.CPU and samples:
            effective = weight / samples / 1e9
        if self._requests is not None and self._requests.dropped:
            missing = (
                f"beginnings or ends of requests are missing, {self._requests.dropped:,} in all"
            )
            notes += (f"{missing}: there were more than could be read.",)
        return Limits(
            part.kind,
            engine=part.source.engine,
            reason=part.source.reason,
            began=self._began_at,
            ended=self._ended_at,
            interval=part.interval,
            effective=effective,
            notes=notes,
            **lacking,
        )

    @escaped
    def __repr__(self) -> str:
        if self._stopped:
            return f"{super().__repr__()[:-1]}, stopped>"
        # The views may be of long ago, or of the beginning.
        with self._lock:
            count = sum(len(part.source) for part in self._parts)
        kinds = " and ".join(dict.fromkeys(part.kind.name.lower() for part in self._parts))
        samples = quantity(count, f"{kinds} sample")
        seconds = (time.time_ns() - self._began_at) / 1e9
        return f"<Profile: {samples} up to now, running for {seconds:.3g} s>"


def kind_of(kind: str | Kind) -> Kind:
    """The kind of a name.

    Raises:
        ValueError: there is none.
    """
    with contextlib.suppress(KeyError):
        found = Kind[kind.upper()] if isinstance(kind, str) else Kind(kind)
        if found in INTERVALS:
            return found
    known = ", ".join(one.name.lower() for one in INTERVALS)
    raise ValueError(f"kind={kind!r} is none of {known}")


def intervals_of(kinds: list[Kind], given: float | Mapping[str, float] | None) -> dict[Kind, float]:
    """The interval of each kind.

    Args:
        kinds: the kinds.
        given: what was asked for, as in `jvmti.VM.profile`.

    Raises:
        TypeError: an interval is no number.
        ValueError: an interval is not positive or too short, or it is not clear whose it is.
    """
    if isinstance(given, Mapping):
        chosen = {kind_of(name): value for name, value in given.items()}
        for kind in chosen:
            if kind not in kinds:
                raise ValueError(f"interval={given!r} has {kind.name.lower()}, which is no kind")
    elif given is None:
        chosen = {}
    elif len(kinds) > 1:
        raise ValueError("of several kinds interval= takes a dictionary: {'cpu': 0.01}")
    else:
        chosen = {kinds[0]: given}
    found = {kind: chosen.get(kind, INTERVALS[kind]) for kind in kinds}
    for kind, value in found.items():
        _check_interval(kind, value)
    if len({found[kind] for kind in kinds if kind.unit == "bytes"}) > 1:
        raise ValueError(
            f"alloc and live share the samples of the VM, which has one interval for both: give "
            f"each the same, not {found[Kind.ALLOC]:,} and {found[Kind.LIVE]:,} bytes"
        )
    return found


def _check_interval(kind: Kind, value: object) -> None:
    """Check the interval of a kind.

    Raises:
        TypeError: it is no number.
        ValueError: no profile can have it.
    """
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError(f"interval={value!r} is no number")
    if not value > 0:
        raise ValueError(f"interval={value!r} is not positive")
    if kind.unit == "bytes":
        if not 1 <= value < 1 << 31:
            raise ValueError(f"interval={value!r} is not from 1 byte to 2 GB")
        return
    if value > LONGEST:
        raise ValueError(f"interval={value!r} is longer than {LONGEST:,} s")
    if kind in (Kind.CPU, Kind.WALL) and value * 1e9 < PROFILES.SHORTEST:
        raise ValueError(
            f"interval={value!r} is shorter than {PROFILES.SHORTEST / 1e9} s: "
            "it would leave the program no time"
        )


def _check_engine(kinds: list[Kind], engine: str | None) -> None:
    """Check that a kind of samples can be taken by this engine.

    Raises:
        ValueError: none can.
    """
    if engine is None:
        return
    known = [name for kind in kinds for name in ENGINES.get(kind, ())]
    if not known:
        names = " and ".join(kind.name.lower() for kind in kinds)
        raise ValueError(f"engine= is for processor and wall-clock time, not for {names}")
    if engine not in known:
        names = " and ".join(kind.name.lower() for kind in kinds if kind in ENGINES)
        raise ValueError(
            f"engine={engine!r} is none of {', '.join(dict.fromkeys(known))}, which take {names}"
        )


_TABLES = {"_samples", "_columns", "_threads", "_limits", "_labels"}

__all__ = ["INTERVALS", "LiveProfile", "intervals_of", "kind_of"]
