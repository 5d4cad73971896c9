"""A profile whose samples Flight Recorder takes in the target."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import os
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy

from jvmti.interface.errors import NotAvailable
from jvmti.profile.files import open_profile
from jvmti.profile.limits import Limits
from jvmti.profile.profile import Profile
from jvmti.profile.tables import Frames, Kind, Samples, Stacks, Threads
from jvmti.text.printable import escaped
from jvmti.text.quantities import quantity

if TYPE_CHECKING:
    from jvmti.profiling.profiled_vm import ProfiledVM

_numbers = itertools.count(1)

_EVENTS = {
    Kind.CPU: ("jdk.ExecutionSample", "jdk.CPUTimeSample"),
    Kind.WALL: ("jdk.NativeMethodSample",),
    Kind.ALLOC: ("jdk.ObjectAllocationSample",),
    Kind.LOCK: ("jdk.JavaMonitorEnter", "jdk.ThreadPark"),
}
_MOST = "500m"
"""The most of a recording on the target's disk; the oldest part goes first."""


class FlightRecording(Profile):
    """A profile of a running JVM by its Flight Recorder; leaving its block, or `stop`, ends it.

    It has the settings of the JDK's ``profile`` configuration, but for intervals that you choose.
    Its views show what `update` or `stop` has read last. If this process dies, the recording goes
    on until ``jcmd PID JFR.stop``.

    Args:
        vm: the VM.
        kinds: what is sampled.
        intervals: seconds from one sample to the next, or the shortest wait, of the kinds whose
            interval is not that of the configuration.

    Raises:
        NotAvailable: the VM has no Flight Recorder, refuses, or cannot write a file that this
            process can read.
        ValueError: there is no such kind in a recording, or its interval cannot be chosen.
    """

    def __init__(
        self, vm: ProfiledVM, kinds: Sequence[Kind], intervals: Mapping[Kind, float]
    ) -> None:
        for kind in kinds:
            if kind not in _EVENTS:
                raise ValueError(f"recordings have no samples of kind {kind.name.lower()}")
        self._vm = vm
        self._kinds_wanted = list(kinds)
        self._name = f"jvmti-{os.getpid()}-{next(_numbers)}"
        self._stopped = False
        if vm.process.foreign_namespaces & {"mnt", "user"} or vm.process.changed_root:
            raise NotAvailable(
                None, "profile", "the target's files are not those of this process; use jcmd there"
            )
        settings = " ".join(self._settings(intervals))
        self._folder = tempfile.mkdtemp(prefix="jvmti-jfr-")
        self._file = os.path.join(self._folder, "recording.jfr")
        try:
            owner = os.stat(f"/proc/{vm.process.pid}").st_uid
            if owner != os.geteuid():
                os.chown(self._folder, owner, -1)
            line = f"JFR.start name={self._name} settings=profile maxsize={_MOST}"
            line += f" dumponexit=true filename={self._file}"
            answer = self._run(f"{line} {settings}".rstrip())
            # Without the module, some commands exist all the same, and say so.
            if "Started recording" not in answer:
                raise NotAvailable(
                    None, "profile", f"Flight Recorder does not start: {' '.join(answer.split())}"
                )
        except BaseException:
            self._remove()
            raise
        self._began_at = time.time_ns()
        tables = Samples([], [], [], []), Stacks([0], []), Frames([], []), Threads([], [])
        began = self._began_at
        limits = [Limits(kind, engine="JFR", began=began, ended=began) for kind in kinds]
        super().__init__(*tables, limits)

    def _settings(self, intervals: Mapping[Kind, float]) -> list[str]:
        found = []
        for kind, interval in intervals.items():
            if kind is Kind.ALLOC:
                raise ValueError("Flight Recorder takes samples of allocations a second, not bytes")
            if kind is not Kind.LOCK and interval < 0.001:
                raise ValueError(f"interval={interval!r}: Flight Recorder takes 1 ms at least")
            if self._vm.version.major < 17:
                raise ValueError("an interval needs Flight Recorder of Java 17 or later")
            setting = "threshold" if kind is Kind.LOCK else "period"
            events = _EVENTS[kind]
            if kind is Kind.CPU:
                events = events[:1]
            # Of times as long as samples need the VM takes whole milliseconds only.
            length = f"{interval * 1e6:.0f}us" if kind is Kind.LOCK else f"{interval * 1e3:.0f}ms"
            found += [f"{event}#{setting}={length}" for event in events]
        return found

    def _run(self, line: str) -> str:
        try:
            text: str = self._vm.diagnostic_command(line)
        except KeyError:
            raise NotAvailable(
                None, "profile", "this VM has no Flight Recorder (module jdk.jfr)"
            ) from None
        except ValueError as error:
            raise NotAvailable(None, "profile", f"Flight Recorder refuses: {error}") from None
        return text

    # ---- its life --------------------------------------------------------------------------------

    @property
    def running(self) -> bool:
        """Whether it still records."""
        return not self._stopped and not self._vm._session.has_ended()

    def update(self) -> FlightRecording:
        """Read the samples up to now, so that the views show them; returns the profile itself."""
        if not self._stopped:
            self._read("JFR.dump")
        return self

    def stop(self) -> FlightRecording:
        """End the recording and read it; again it does nothing.

        Of a VM that has ended, the profile has what it wrote at its end. One that was killed writes
        nothing: the profile has what was read until then.
        """
        if self._stopped:
            return self
        self._stopped = True
        try:
            if not self._vm._session.gone():
                self._read("JFR.stop")
            elif os.path.exists(self._file) and os.path.getsize(self._file):
                self._load()
            else:
                note = "The VM ended without writing its recording."
                self._limits = tuple(
                    dataclasses.replace(one, ended=time.time_ns(), notes=(*one.notes, note))
                    for one in self._limits
                )
        finally:
            self._remove()
        return self

    def __enter__(self) -> FlightRecording:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def _read(self, verb: str) -> None:
        self._run(f"{verb} name={self._name} filename={self._file}")
        self._load()

    def _load(self) -> None:
        try:
            whole = open_profile(self._file)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._file)
        part = whole.where(numpy.isin(whole.samples.kind, self._kinds_wanted))
        for name in ("kinds", "stack_weights"):
            self.__dict__.pop(name, None)
        limits = [one for one in part.limits if one.kind in self._kinds_wanted]
        limits += [
            self._without_samples(kind)
            for kind in self._kinds_wanted
            if all(one.kind != kind for one in limits)
        ]
        super().__init__(
            *(part.samples, part.stacks, part.frames, part.threads), limits, part.labels
        )

    def _without_samples(self, kind: Kind) -> Limits:
        """The limits of a kind that was recorded, but has no samples."""
        events = " and ".join(one.removeprefix("jdk.") for one in _EVENTS[kind])
        return Limits(
            kind,
            engine="JFR",
            began=self._began_at,
            ended=time.time_ns(),
            notes=(f"Flight Recorder recorded none of its events {events}.",),
        )

    def _remove(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def where(self, rows: Any) -> Profile:
        """The profile of some samples; it shares the other tables in their present state.

        Args:
            rows: a slice, an array of row numbers, or of a truth value for each sample.
        """
        return Profile(
            *(self.samples, self.stacks, self.frames, self.threads), self.limits, self.labels
        ).where(rows)

    @escaped
    def __repr__(self) -> str:
        if self._stopped:
            return f"{super().__repr__()[:-1]}, stopped>"
        kinds = " and ".join(kind.name.lower() for kind in self._kinds_wanted)
        seconds = (time.time_ns() - self._began_at) / 1e9
        read = f"{quantity(len(self), 'sample')} read; update() reads more"
        return f"<Profile of {kinds} by Flight Recorder, running for {seconds:.3g} s: {read}>"

    def _repr_html_(self) -> str | None:
        # Of one that runs, a flame graph would be empty.
        return None if self.running and not len(self) else super()._repr_html_()


__all__ = ["FlightRecording"]
