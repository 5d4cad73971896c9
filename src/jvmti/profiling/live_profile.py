"""A profile of a running JVM, which grows until it is stopped."""

from __future__ import annotations

import logging
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any

from jvmti.interface.errors import Error, NotAvailable
from jvmti.layouts.profiles import PROFILES
from jvmti.profile.limits import Limits
from jvmti.profile.profile import Profile
from jvmti.profile.tables import Kind, Samples
from jvmti.profiling.event_samples import EventSource
from jvmti.profiling.requests import Requests
from jvmti.profiling.sources import SampleSource, SignalSource
from jvmti.text.printable import escaped

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


class LiveProfile(Profile):
    """A profile of a running JVM; leaving its ``with`` block, or `stop`, ends it.

    Its views show what `update` or `stop` has read last. If this process dies, the agent stops
    taking samples.

    Args:
        vm: the VM.
        kind: what is sampled.
        interval: seconds, or bytes, from one sample to the next; of locks the shortest wait.
        engine: what takes the samples; ``None`` is the best that works.
        depth: frames of a stack at most.
        exact: have inlined methods right, where the VM must compile anew for that.
        by: the method that handles requests, and the value that names one.

    Raises:
        BadProbe: ``by`` is malformed.
        LookupError: there is no such method, or it has no such value.
        NotAvailable: no engine works, or another profile has what it needs.
        ValueError: there is no such kind or engine, or the interval is not positive.
    """

    def __init__(
        self,
        vm: ProfiledVM,
        kind: str | Kind,
        *,
        interval: float | None = None,
        engine: str | None = None,
        depth: int = 512,
        exact: bool = True,
        by: str | None = None,
    ) -> None:
        try:
            self._kind = Kind[kind.upper()] if isinstance(kind, str) else Kind(kind)
        except KeyError:
            known = ", ".join(one.name.lower() for one in Kind)
            raise ValueError(f"kind={kind!r} is none of {known}") from None
        interval = INTERVALS[self._kind] if interval is None else interval
        if interval <= 0:
            raise ValueError(f"interval={interval!r} is not positive")
        if not 1 <= depth <= PROFILES.DEPTH:
            raise ValueError(f"depth={depth!r} is not from 1 to {PROFILES.DEPTH:,}")
        self._vm = vm
        self._interval = interval
        self._lock = threading.Lock()
        self._leaving = threading.Event()
        self._stopped = False
        # First, so that a wrong name leaves no profile behind.
        self._requests = None if by is None else Requests(vm, by)
        try:
            self._source = self._opened(engine, depth, exact)
        except BaseException:
            if self._requests is not None:
                self._requests.close()
            raise
        self._began_at = self._ended_at = time.time_ns()
        self._build()
        self._reader = threading.Thread(
            target=self._read_on, name=f"profile of {self._kind.name.lower()}", daemon=True
        )
        self._reader.start()

    def _opened(self, engine: str | None, depth: int, exact: bool) -> SampleSource:
        vm, kind = self._vm, self._kind
        if kind is Kind.CPU:
            return SignalSource(vm, kind, engine, max(round(self._interval * 1e9), 1), depth, exact)
        if kind not in (Kind.ALLOC, Kind.LOCK):
            raise NotAvailable(
                None,
                "profile",
                f"a running JVM is sampled for cpu, alloc and lock; {kind.name.lower()} is for "
                "recordings (jvmti.profile.open)",
            )
        if engine is not None or self._requests is not None:
            raise ValueError(f"engine= and by= are for processor time, not for {kind.name.lower()}")
        return EventSource(vm, kind, self._interval, depth)

    # ---- its life --------------------------------------------------------------------------------

    @property
    def running(self) -> bool:
        """Whether samples are still taken."""
        return not self._stopped and not self._vm._session.gone()

    def update(self) -> LiveProfile:
        """Read the samples up to now, so that the views show them; returns the profile itself."""
        if not self._stopped:
            self._read()
            self._ended_at = time.time_ns()
        self._build()
        return self

    def stop(self) -> LiveProfile:
        """Take no more samples, and read those that there are; again it does nothing.

        Of a VM that has ended, the profile has what was read until then.
        """
        if self._stopped:
            return self
        self._leaving.set()
        self._reader.join()
        if self._requests is not None:
            self._requests.close()
            self._requests.update()
        try:
            self._source.stop()
            self._ended_at = time.time_ns()
            self._read()
            self._source.close()
        except Error:
            if not self._vm._session.gone():
                raise
            self._ended_at = time.time_ns()
        finally:
            self._stopped = True
        self._build()
        return self

    def __enter__(self) -> LiveProfile:
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
            self._source.read()
        self._read_requests()

    def _read_requests(self) -> None:
        if self._requests is not None and not self._stopped:
            self._requests.update()

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

    def _build(self) -> None:
        with self._lock:
            tables = self._source.tables()
            # The first sample may be there before the agent's answer is.
            first = int(tables[0].time.min(initial=self._began_at))
            self._began_at = min(self._began_at, first)
            limits = self._limits_now(len(tables[0]), int(tables[0].weight.sum()))
        labels: list[str] = []
        if self._requests is not None:
            samples, stacks, frames, threads = tables
            label = self._requests.label(samples, threads)
            labels = self._requests.labels
            samples = Samples(**{**samples.columns(), "label": label})
            tables = (samples, stacks, frames, threads)
        for name in ("kinds", "stack_weights"):
            self.__dict__.pop(name, None)
        super().__init__(*tables, [limits], labels)

    def where(self, rows: Any) -> Profile:
        """The profile of some samples; it shares the other tables, as they are now.

        Args:
            rows: a slice, an array of row numbers, or of a truth value for each sample.
        """
        part = Profile.__new__(Profile)
        part.__dict__.update(
            {name: value for name, value in self.__dict__.items() if name in _TABLES}
        )
        return Profile.where(part, rows)

    # ---- limits ----------------------------------------------------------------------------------

    def _limits_now(self, samples: int, weight: int) -> Limits:
        lacking = self._source.limits()
        notes = lacking.pop("notes", ())
        if self._requests is not None and self._requests.dropped:
            missing = f"{self._requests.dropped:,} beginnings and ends of requests are missing"
            notes += (f"{missing}: there were more than could be read.",)
        return Limits(
            self._kind,
            engine=self._source.engine,
            reason=self._source.reason,
            began=self._began_at,
            ended=self._ended_at,
            interval=self._interval,
            effective=weight / samples / 1e9 if self._kind is Kind.CPU and samples else None,
            notes=notes,
            **lacking,
        )

    @escaped
    def __repr__(self) -> str:
        state = "stopped" if self._stopped else "running"
        return f"{super().__repr__()[:-1]}, {state}>"


_TABLES = {"_samples", "_columns", "_threads", "_limits", "_labels"}

__all__ = ["INTERVALS", "LiveProfile"]
