"""A profile of a running JVM, which grows until it is stopped."""

from __future__ import annotations

import logging
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any

from jvmti.interface.errors import Error
from jvmti.layouts.profiles import PROFILES, ProfiledKind, ProfileEngine
from jvmti.profile.limits import Limits
from jvmti.profile.profile import Profile
from jvmti.profile.tables import Kind, Samples
from jvmti.profiling.parts import Parts
from jvmti.profiling.requests import Requests
from jvmti.text.printable import escaped

if TYPE_CHECKING:
    from jvmti.profiling.profiled_vm import ProfiledVM

log = logging.getLogger("jvmti")

READ_EVERY = 0.5
"""Seconds between two reads of the samples, so that the target keeps few."""
READ_REQUESTS_EVERY = 0.05
"""The same of requests, for which there is less space."""

ENGINES = {
    None: ProfileEngine.BEST,
    "perf": ProfileEngine.PERF,
    "timer": ProfileEngine.TIMER,
    "cpu deltas": ProfileEngine.DELTAS,
    "events": ProfileEngine.EVENTS,
}
_NAMES = {number: name for name, number in ENGINES.items()}

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
        if engine not in ENGINES:
            known = ", ".join(map(str, ENGINES))
            raise ValueError(f"engine={engine!r} is none of {known}")
        interval = INTERVALS[self._kind] if interval is None else interval
        if interval <= 0:
            raise ValueError(f"interval={interval!r} is not positive")
        if not 1 <= depth <= PROFILES.DEPTH:
            raise ValueError(f"depth={depth!r} is not from 1 to {PROFILES.DEPTH:,}")
        self._vm = vm
        self._interval = interval
        self._parts = Parts()
        self._lock = threading.Lock()
        self._leaving = threading.Event()
        self._stopped = False
        self._exact_asked = exact
        # First, so that a wrong name leaves no profile behind.
        self._requests = None if by is None else Requests(vm, by)
        self._began_at = self._ended_at = time.time_ns()
        in_bytes = self._kind.unit == "bytes"
        try:
            opened = vm._agent.open_profile(
                ProfiledKind(self._kind),
                ENGINES[engine],
                max(round(interval if in_bytes else interval * 1e9), 1),
                depth,
                exact,
            )
        except BaseException:
            if self._requests is not None:
                self._requests.close()
            raise
        self._number = opened.number
        self._engine = ProfileEngine(opened.engine)
        self._reason = opened.reason
        self._began_at = self._ended_at = time.time_ns()
        self._exact = self._inlined_exact()
        self._build()
        self._reader = threading.Thread(
            target=self._read_on, name=f"profile {self._number}", daemon=True
        )
        self._reader.start()

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
        agent = self._vm._agent
        try:
            agent.stop_profile(self._number)
            self._ended_at = time.time_ns()
            self._read()
            agent.close_profile(self._number)
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
            while self._parts.add(self._vm._agent.read_profile(self._number)):
                pass
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
            tables = self._parts.tables(self._kind)
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
        parts = self._parts
        notes = []
        if self._requests is not None and self._requests.dropped:
            notes.append(
                f"{self._requests.dropped:,} beginnings and ends of requests are missing: there "
                "were more than could be read."
            )
        if parts.unfollowed:
            notes.append(
                f"{parts.unfollowed:,} threads have no samples: the kernel gave nothing to follow "
                "them by (see ulimit -n and ulimit -i)."
            )
        if parts.unresolved:
            notes.append(
                f"{parts.unresolved:,} methods have no name: their class was unloaded too early."
            )
        seconds = self._kind in (Kind.CPU, Kind.WALL)
        return Limits(
            self._kind,
            engine=_NAMES[self._engine] or "",
            reason=self._reason,
            began=self._began_at,
            ended=self._ended_at,
            interval=self._interval,
            effective=weight / samples / 1e9 if seconds and samples else None,
            inlined_exact=self._exact,
            safepoint_biased=self._engine is ProfileEngine.DELTAS,
            failed=parts.failed,
            truncated=parts.truncated,
            lost=parts.lost,
            virtual_threads=None if self._vm.version.major < 21 else False,
            notes=tuple(notes),
        )

    def _inlined_exact(self) -> bool | None:
        if self._engine not in (ProfileEngine.PERF, ProfileEngine.TIMER):
            return None
        # HotSpot up to 17 is made to compile with debug information.
        if self._exact_asked and self._vm.version.major <= 17:
            return True
        # A flag that is not among them is diagnostic, and off.
        return any(
            flag.name == "DebugNonSafepoints" and flag.value is True
            for flag in self._vm.flags.all()
        )

    @escaped
    def __repr__(self) -> str:
        state = "stopped" if self._stopped else "running"
        return f"{super().__repr__()[:-1]}, {state}>"


_TABLES = {"_samples", "_columns", "_threads", "_limits", "_labels"}

__all__ = ["ENGINES", "INTERVALS", "LiveProfile"]
