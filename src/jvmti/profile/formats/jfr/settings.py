"""Settings of the recorder of a chunk: who it is, and how often it took samples.

Flight Recorder writes an event ``jdk.ActiveSetting`` for each setting of each type of events, and
async-profiler does the same with its options.
"""

from __future__ import annotations

import re

import numpy
from numpy.typing import NDArray

from jvmti.profile.formats.jfr.recording import Chunk
from jvmti.profile.tables import Kind

__all__ = ["SETTING", "Settings"]

SETTING = "jdk.ActiveSetting"
_RECORDING = "jdk.ActiveRecording"
_EXECUTION = "jdk.ExecutionSample"
_UNITS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}

_AT_ONCE = 100_000_000
"""Nanoseconds between settings that are written together, at most."""
_DEFAULT_PERIOD = 20_000_000
"""Flight Recorder's period unless it says another, in nanoseconds."""
_CPU, _WALL, _ALLOC = 10_000_000, 50_000_000, 524_287
"""async-profiler's intervals where an option is 0: nanoseconds, the last one bytes."""
_CLOCKS = ("cpu", "itimer", "ctimer", "cpu-clock", "task-clock")
"""The events of async-profiler that are processor time; ``wall`` is the one of wall-clock time."""


class Settings:
    """The settings of one chunk.

    Attributes:
        profiler: the version, ``async-profiler 4.5``; empty if Flight Recorder made the chunk.
    """

    def __init__(self, chunk: Chunk) -> None:
        self._values: dict[tuple[str, str], str] = {}
        self._periods: dict[str, list[tuple[int, int]]] = {}
        wanted = {"startTime", "id", "name", "value"}
        settings = chunk.events(SETTING, wanted)
        if settings is not None and wanted <= {*settings}:
            names = chunk.texts(SETTING, "name", settings["name"])
            values = chunk.texts(SETTING, "value", settings["value"])
            times = chunk.nanoseconds(settings["startTime"]).tolist()
            rows = zip(times, settings["id"].tolist(), names, values, strict=True)
            for time, number, name, value in sorted(rows, key=lambda row: row[0]):
                of = chunk.types.get(number)
                if of is None:
                    continue
                self._values[of.name, name] = value
                if name == "period":
                    self._note_period(of.name, time, value)
        version = self._values.get((_RECORDING, "version"))
        self.profiler = "" if version is None else f"async-profiler {version}"

    def _note_period(self, event: str, time: int, text: str) -> None:
        found = re.fullmatch(r"(\d+) (ns|us|ms|s)", text)
        if found is None:
            return
        period = int(found[1]) * _UNITS[found[2]]
        known = self._periods.setdefault(event, [])
        # JFR of some releases writes those of each recording, and samples for the quickest.
        if known and time - known[-1][0] < _AT_ONCE:
            period = min(period, known.pop()[1])
        known.append((time, period))

    @property
    def event(self) -> str:
        """Event that async-profiler sampled: ``cpu``, ``wall``, ``page-faults``, …"""
        return self._values.get((_RECORDING, "event"), "")

    @property
    def engine(self) -> str:
        """The engine of async-profiler that took samples of processor time; empty if unknown."""
        return self._values.get((_RECORDING, "engine"), "")

    @property
    def counts_events(self) -> bool:
        """Whether the execution samples count something else than time."""
        return bool(self.profiler) and self.event not in (*_CLOCKS, "wall", "")

    @property
    def has_wall(self) -> bool:
        """Whether async-profiler took samples of wall-clock time."""
        return self.event == "wall" or (_EXECUTION, "wall") in self._values

    def period(self, event: str) -> int | None:
        """The time from one sample of a thread to the next in nanoseconds, as the chunk begins;
        ``None`` if unknown.

        Args:
            event: the type of events.
        """
        known = self._periods.get(event)
        return known[0][1] if known else None

    def periods(self, event: str, times: NDArray[numpy.int64]) -> NDArray[numpy.int64]:
        """The same at each of some times; where it is unknown, Flight Recorder's own.

        Args:
            event: the type of events.
            times: nanoseconds since the epoch.
        """
        known = self._periods.get(event) or [(0, _DEFAULT_PERIOD)]
        began, periods = numpy.array(known, numpy.int64).T
        at = numpy.searchsorted(began, times, "right") - 1
        found: NDArray[numpy.int64] = periods[numpy.maximum(at, 0)]
        return found

    @property
    def interval(self) -> int:
        """The interval of async-profiler's execution samples: nanoseconds, or events."""
        return self._number("interval") or (1 if self.counts_events else _CPU)

    @property
    def wall_interval(self) -> int:
        """The interval of async-profiler's samples of wall-clock time, in nanoseconds."""
        return self._number("interval" if self.event == "wall" else "wall") or _WALL

    @property
    def alloc_interval(self) -> int:
        """The bytes from one of async-profiler's sampled objects to the next."""
        for event in ("jdk.ObjectAllocationInNewTLAB", "profiler.LiveObject"):
            if found := self._number("alloc", event):
                return found
        return _ALLOC

    def interval_of(self, kind: Kind, event: str) -> int | None:
        """The interval of the samples of a kind, in its unit; ``None`` if unknown or if there is
        none.

        Args:
            kind: the kind.
            event: the type of events that they are from.
        """
        if not self.profiler:
            return self.period(event) if kind in (Kind.CPU, Kind.WALL) else None
        intervals = {
            Kind.CPU: self.interval,
            Kind.COUNT: self.interval,
            Kind.WALL: self.wall_interval,
            Kind.ALLOC: self.alloc_interval,
            Kind.LIVE: self.alloc_interval,
        }
        return intervals.get(kind)

    def _number(self, name: str, event: str = _EXECUTION) -> int:
        text = self._values.get((event, name), "")
        return int(text) if text.isdigit() and len(text) < 19 else 0
