"""Events of a stream as lines for people and machines, and as a summary."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy

from jvmti.events.streams.names import NameColumn
from jvmti.text.printable import printable

if TYPE_CHECKING:
    from jvmti.events.streams.records import Records

_PLACES = ("method", "catch_method")
_ASIDE = frozenset(
    {"event", "time", "thread", "stack", "duration", "place", "unfinished", "object_hash"}
    | {f"{place}{suffix}" for place in _PLACES for suffix in ("", "_class", "_signature", "_file")}
    | {"location", "line", "catch_location", "catch_line"}
)
"""Columns with a place of their own in a line; the others follow as name and value."""
_TYPES = {"return_value": "return_value_type", "new_value": "signature_type"}
"""Values of Java, and the columns that have their types."""
_MOST_TEXT = 120


class Clock:
    """Converts the times of records to times of the day.

    Args:
        monotonic: a time of the records' clock, in nanoseconds.
        wall: the same time in seconds since 1970.
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
    if row.get("place"):
        parts.append(f"at {printable(row['place'])}")
    if row.get("catch_method") is not None:
        parts.append(f"caught in {_place(row, 'catch_method', 'catch_line')}")
    if row.get("unfinished"):
        parts.append(f"<still waiting after {row['duration'] / 1e9:.6f} s>")
    elif row.get("duration", -1) >= 0:
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
    hidden = {"was_popped_by_exception"} if row.get("was_popped_by_exception") is False else set()
    for name, type_ in _TYPES.items():
        if type_ not in row:
            continue
        # For an object only its class may be known; void has nothing.
        hidden |= {name, f"{name}_class", type_}
        value = row.get(f"{name}_class") if row[type_] in ("L", "[") else row.get(name)
        if value is not None:
            yield name, value
    for name, value in row.items():
        if name not in hidden and name not in _ASIDE and value is not None:
            if name == "object" and row.get("object_hash"):
                value = object_name(value, row["object_hash"])
            yield name, value


def _value(value: Any) -> str:
    return printable(str(value), _MOST_TEXT)


def json_of(row: dict[str, Any], clock: Clock) -> str:
    """One event as a line of JSON, ASCII only, without absent values."""
    made = {"time": clock.seconds(row["time"]), "event": row["event"]}
    for name, value in row.items():
        unknown = value is None or value != value
        unknown = unknown or (value == -1 and (name.endswith("line") or name == "duration"))
        if name not in made and not unknown:
            made[name] = value
    return json.dumps(made, ensure_ascii=True)


def object_name(class_name: str, hash_code: int) -> str:
    """The name of an object: its class, and the identity hash code as Java prints it."""
    return f"{class_name}@{hash_code & 0xFFFFFFFF:x}"


@dataclass
class Tally:
    """A count and, if known, the total duration in nanoseconds."""

    count: int = 0
    #: How many of them were measured.
    measured: int = 0
    total: int = 0
    most: int = 0
    #: How many have not ended; the sum includes their time until now.
    unfinished: int = 0


class Summary:
    """Counts events by kind, class, method, thread, exception, object, place and stack, and adds up
    their durations if known.

    Attributes:
        kinds: for each of these, a `Tally` by ``(event, name)``; by event alone it is the event.
        seconds: the length of the recording, for rates.
    """

    def __init__(self) -> None:
        self.total = 0
        self.seconds = 0.0
        self.kinds: dict[str, dict[Any, Tally]] = {
            kind: {}
            for kind in (
                "event",
                "object",
                "place",
                "class",
                "method",
                "thread",
                "exception",
                "stack",
            )
        }

    def add(self, records: Records, stacks: bool = True) -> None:
        """Count records.

        Args:
            records: events that have ended.
            stacks: count by stack, too.
        """
        if not len(records):
            return
        self.total += len(records)
        events = records["event"]
        took = None
        if "duration" in records:
            took = records["duration"].copy()
            missing = records.missing("duration")
            if missing is not None:
                took[missing] = -1
        self._count(
            "event", events, NameColumn(events.codes.astype(numpy.uint32), [""] * 256), took
        )
        for kind in ("thread", "exception", "place"):
            if kind in records:
                self._count(kind, events, records[kind], took)
        if "object" in records and isinstance(records["object"], NameColumn):
            self._count("object", events, _objects(records), took)
        if stacks and "stack" in records:
            self._count("stack", events, records["stack"], took)
        if "method" in records:
            methods, classes = records["method"], records["method_class"]
            named = [
                None if method is None else f"{owner}.{method}"
                for owner, method in zip(classes.names, methods.names, strict=False)
            ]
            self._count("method", events, NameColumn(methods.codes, named), took)
            self._count("class", events, classes, took)
        for column in ("klass", "object_klass"):
            if column in records:
                self._count("class", events, records[column], took)

    def add_unfinished(self, row: dict[str, Any], event: str) -> None:
        """Count an unfinished wait as an event that has not come yet."""
        self.total += 1
        name = object_name(row["object"], row["object_hash"]) if row.get("object") else None
        for kind, key in (
            ("event", event),
            ("object", name and (event, name)),
            ("place", row.get("place") and (event, row["place"])),
            ("thread", row.get("thread") and (event, row["thread"])),
        ):
            if key:
                tally = self.kinds[kind].setdefault(key, Tally())
                tally.count += 1
                tally.measured += 1
                tally.unfinished += 1
                tally.total += row["duration"]
                tally.most = max(tally.most, row["duration"])

    def _count(self, kind: str, events: NameColumn, names: NameColumn, took: Any) -> None:
        both = events.codes.astype(numpy.int64) << 32 | names.codes.astype(numpy.int64)
        codes, inverse, counts = numpy.unique(both, return_inverse=True, return_counts=True)
        sums = most = measured = numpy.zeros(len(codes), numpy.int64)
        if took is not None:
            known = took >= 0
            measured = numpy.bincount(inverse[known], minlength=len(codes))
            sums, most = sums.copy(), most.copy()
            numpy.add.at(sums, inverse[known], took[known])
            numpy.maximum.at(most, inverse[known], took[known])
        for at, code in enumerate(codes.tolist()):
            event, name = events.names[code >> 32], names.names[code & 0xFFFFFFFF]
            if name is not None:
                key = event if kind == "event" else (event, name)
                tally = self.kinds[kind].setdefault(key, Tally())
                tally.count += int(counts[at])
                tally.measured += int(measured[at])
                tally.total += int(sums[at])
                tally.most = max(tally.most, int(most[at]))

    def rows(self, kind: str, most: int | None = None) -> list[dict[str, Any]]:
        """The top of a kind: name, count, count per second, and duration.

        Sorted by total duration if known, otherwise by count.
        """
        ordered = sorted(
            self.kinds[kind].items(), key=lambda item: (-item[1].total, -item[1].count)
        )
        found = []
        for key, tally in ordered[:most]:
            row: dict[str, Any] = {"event": key} if kind == "event" else {"event": key[0]}
            if kind != "event":
                row[kind] = key[1]
            rate = round(tally.count / self.seconds, 1) if self.seconds > 0 else None
            row |= {"count": tally.count, "per_second": rate}
            if tally.measured:
                row["total_seconds"] = round(tally.total / 1e9, 9)
                row["mean_seconds"] = round(tally.total / tally.measured / 1e9, 9)
                row["max_seconds"] = round(tally.most / 1e9, 9)
            if tally.unfinished:
                row["unfinished"] = tally.unfinished
            found.append(row)
        return found


def _objects(records: Records) -> NameColumn:
    """The objects of records: their classes, with the identity hash code if recorded."""
    classes: NameColumn = records["object"]
    if "object_hash" not in records:
        return classes
    both = classes.codes.astype(numpy.int64) << 32 | (
        records["object_hash"].astype(numpy.int64) & 0xFFFFFFFF
    )
    pairs, codes = numpy.unique(both, return_inverse=True)
    named: list[Any] = []
    for pair in pairs.tolist():
        name = classes.names[pair >> 32]
        named.append(object_name(name, pair) if name and pair & 0xFFFFFFFF else name)
    return NameColumn(codes.astype(numpy.uint32), named)


__all__ = ["Clock", "Summary", "Tally", "json_of", "line_of", "object_name"]
