"""Events of a stream as lines for people and machines, and as a summary."""

from __future__ import annotations

import datetime
import json
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy

from jvmti.events.names import NameColumn
from jvmti.report.text import printable

if TYPE_CHECKING:
    from jvmti.events.records import Records

_PLACES = ("method", "catch_method")
_ASIDE = frozenset(
    {"event", "time", "thread", "stack", "duration"}
    | {f"{place}{suffix}" for place in _PLACES for suffix in ("", "_class", "_signature", "_file")}
    | {"location", "line", "catch_location", "catch_line"}
)
"""Columns that have a place of their own in a line; the others follow as name and value."""
_MOST_TEXT = 120


class Clock:
    """Turns the times of records into times of the day.

    Args:
        monotonic: a moment of the clock that records have, in nanoseconds.
        wall: the same moment as seconds since 1970.
    """

    def __init__(self, monotonic: int, wall: float) -> None:
        self._offset = wall - monotonic / 1e9

    def text(self, time: int) -> str:
        """A time of the day with microseconds."""
        moment = datetime.datetime.fromtimestamp(self._offset + time / 1e9)
        return moment.strftime("%H:%M:%S.%f")

    def seconds(self, time: int) -> float:
        """Seconds since 1970."""
        return round(self._offset + time / 1e9, 6)


def line_of(row: dict[str, Any], clock: Clock) -> str:
    """One event as a line: time, thread, event, method and line, values."""
    parts = [clock.text(row["time"])]
    thread = row.get("thread")
    if thread is not None:
        # Not cut: pools number their threads at the end of the name.
        parts.append(f"[{printable(thread)}]")
    parts.append(str(row["event"]))
    if row.get("method") is not None:
        parts.append(_place(row, "method", "line"))
    parts += [f"{name}={_value(value)}" for name, value in _others(row)]
    if row.get("catch_method") is not None:
        parts.append(f"caught in {_place(row, 'catch_method', 'catch_line')}")
    if row.get("duration"):
        parts.append(f"<{row['duration'] / 1e9:.6f} s>")
    lines = [" ".join(parts)]
    lines += [f"    at {printable(frame)}" for frame in row.get("stack") or ()]
    return "\n".join(lines)


def _place(row: dict[str, Any], method: str, line: str) -> str:
    name = f"{row.get(f'{method}_class')}.{row[method]}"
    file, number = row.get(f"{method}_file"), row.get(line)
    if file is None:
        return printable(name)
    where = file if number is None or number < 0 else f"{file}:{number}"
    return printable(f"{name}({where})")


def _others(row: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in row.items():
        # A value that is no fraction is not a number in the column for fractions.
        if name not in _ASIDE and value is not None and value == value:
            yield name, value


def _value(value: Any) -> str:
    return printable(str(value), _MOST_TEXT)


def json_of(row: dict[str, Any], clock: Clock) -> str:
    """One event as a line of JSON, ASCII only; without what it does not have."""
    made = {"time": clock.seconds(row["time"]), "event": row["event"]}
    for name, value in row.items():
        unknown = value is None or value != value or (name.endswith("line") and value == -1)
        if name not in made and not unknown:
            made[name] = value
    return json.dumps(made, ensure_ascii=True)


class Summary:
    """Counts of events by kind, class, method, thread, exception, object and stack.

    Attributes:
        kinds: for each of these, a `Counter` of ``(event, name)``; by event alone it is the event.
    """

    def __init__(self) -> None:
        self.total = 0
        self.kinds: dict[str, Counter[Any]] = {
            kind: Counter()
            for kind in ("event", "class", "method", "thread", "exception", "object", "stack")
        }
        self.first: int | None = None
        self.last = 0

    def add(self, records: Records) -> None:
        """Count records."""
        if not len(records):
            return
        self.total += len(records)
        times = records["time"]
        self.first = min(int(times.min()), int(times.max()) if self.first is None else self.first)
        self.last = max(int(times.max()), self.last)
        events = records["event"]
        for name, count in events.counts().items():
            self.kinds["event"][name] += count
        for kind in ("thread", "exception"):
            if kind in records:
                self._count(kind, events, records[kind])
        if "object" in records and isinstance(records["object"], NameColumn):
            self._count("object", events, records["object"])
        if "stack" in records:
            stacks = records["stack"]
            self._count("stack", events, stacks)
        if "method" in records:
            methods, classes = records["method"], records["method_class"]
            named = [
                None if method is None else f"{owner}.{method}"
                for owner, method in zip(classes.names, methods.names, strict=False)
            ]
            self._count("method", events, NameColumn(methods.codes, named))
            self._count("class", events, classes)
        for column in ("klass", "object_klass"):
            if column in records:
                self._count("class", events, records[column])

    def _count(self, kind: str, events: NameColumn, names: NameColumn) -> None:
        both = events.codes.astype(numpy.int64) << 32 | names.codes.astype(numpy.int64)
        codes, counts = numpy.unique(both, return_counts=True)
        for code, count in zip(codes.tolist(), counts.tolist(), strict=True):
            name = names.names[code & 0xFFFFFFFF]
            if name is not None:
                self.kinds[kind][events.names[code >> 32], name] += count

    @property
    def seconds(self) -> float:
        """Between the first event and the last."""
        return 0.0 if self.first is None else (self.last - self.first) / 1e9

    def rows(self, kind: str, most: int | None = None) -> list[dict[str, Any]]:
        """The most frequent of a kind: what, how often, and how often a second."""
        found = []
        for key, count in self.kinds[kind].most_common(most):
            row: dict[str, Any] = {"event": key} if kind == "event" else {"event": key[0]}
            if kind != "event":
                row[kind] = key[1]
            rate = round(count / self.seconds, 1) if self.seconds > 0 else None
            found.append({**row, "count": count, "per_second": rate})
        return found


__all__ = ["Clock", "Summary", "json_of", "line_of"]
