"""How a profile was made, and what it lacks."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from jvmti.profile.tables import Kind
from jvmti.text.printable import escaped, escaped_lines
from jvmti.text.quantities import duration

__all__ = ["Limits"]


@dataclass(frozen=True)
class Limits:
    """How the samples of one kind were taken in one process, and what they lack.

    A number is ``None`` where it is unknown, as in files of other programs.
    """

    kind: Kind
    """The samples that this is about."""
    engine: str = ""
    """The engine that took them: ``perf``, ``timer``, ``events``, ``jfr``, or a file's name."""
    reason: str = ""
    """Why this engine, and not a better one; empty if it is the best there is."""
    process: str = ""
    """The process, as in `jvmti.profile.Threads`."""
    began: int = 0
    """When sampling began, in nanoseconds since the epoch; 0 if unknown."""
    ended: int = 0
    """When it ended."""
    interval: float | None = None
    """The interval that was asked for, in seconds, in bytes for memory, or a number."""
    effective: float | None = None
    """The interval that the samples had on average, in the same unit."""
    inlined_exact: bool | None = None
    """Whether the frames of methods that are compiled into others are exact. They are not if the
    code was compiled without debug information between safepoints."""
    safepoint_biased: bool | None = None
    """Whether samples are taken only at safepoints, so that some methods get the time of others."""
    failed: int | None = None
    """Samples whose stack could not be walked: it is empty, or has the library alone in which the
    thread was."""
    truncated: int | None = None
    """Samples whose stack was deeper than the limit."""
    cut: int | None = None
    """Samples whose outermost callers are missing: the walk lost its way there."""
    lost: int | None = None
    """Samples that were dropped: there was no memory left for them."""
    virtual_threads: bool | None = None
    """Whether virtual threads are kept apart from their carriers."""
    notes: tuple[str, ...] = ()
    """Further sentences."""

    @property
    def duration(self) -> float:
        """For how long samples were taken, in seconds."""
        return max(self.ended - self.began, 0) / 1e9

    def complaints(self) -> list[str]:
        """Sentences to read before you believe the profile; best none."""
        found = []
        if self.reason:
            found.append(f"The engine is {self.engine or 'unknown'}: {self.reason}.")
        if self.safepoint_biased:
            found.append(
                "Samples are taken only at safepoints, so some methods get the time of others."
            )
        if self.inlined_exact is False:
            found.append("Frames of inlined methods are not exact.")
        if self.virtual_threads is False:
            found.append("Virtual threads appear as their carriers.")
        for number, what in (
            (self.failed, "Samples whose stack could not be walked"),
            (self.truncated, "Samples with a cut stack, which was too deep"),
            (self.cut, "Samples without their outermost callers, where the walk lost its way"),
            (self.lost, "Samples that were dropped, because there was no memory for them"),
        ):
            if number:
                found.append(f"{what}: {number:,}.")
        interval, effective = self.interval, self.effective
        if interval and self.kind in (Kind.CPU, Kind.WALL) and 0 < self.duration < interval:
            found.append(
                f"The profile took {duration(self.duration)}, less than the "
                f"{self._amount(interval)} from one sample to the next."
            )
        elif interval and effective and not 0.5 <= effective / interval <= 2:
            found.append(
                f"Samples came every {self._amount(effective)}, not every {self._amount(interval)}."
            )
        return found + list(self.notes)

    def _amount(self, interval: float) -> str:
        return self.kind.amount(interval * 1e9 if self.kind.unit == "ns" else interval)

    def as_json(self) -> dict[str, Any]:
        """An object for JSON, without what is unknown."""
        found = {
            name: value
            for name, value in dataclasses.asdict(self).items()
            if value is not None and value != "" and value != ()
        }
        return found | {"kind": self.kind.name.lower()}

    @classmethod
    def from_json(cls, given: dict[str, Any]) -> Limits:
        """The limits of an object for JSON; names that are unknown here are left out.

        Raises:
            KeyError: there is no such kind.
        """
        known = {one.name for one in dataclasses.fields(cls)}
        values = {name: value for name, value in given.items() if name in known}
        values["kind"] = Kind[str(given["kind"]).upper()]
        values["notes"] = tuple(map(str, given.get("notes", ())))
        return cls(**values)

    @escaped_lines
    def __str__(self) -> str:
        return "\n".join([repr(self)[1:-1], *self.complaints()])

    @escaped
    def __repr__(self) -> str:
        parts = [f"{self.kind.name.lower()} samples"]
        if self.engine:
            parts.append(f"by {self.engine}")
        if self.interval:
            parts.append(f"every {self._amount(self.interval)}")
        if self.duration:
            parts.append(f"for {duration(self.duration)}")
        if self.process:
            parts.append(f"of {self.process}")
        return f"<Limits: {' '.join(parts)}>"
