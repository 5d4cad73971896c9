"""The rows of each view of `jvmti top`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from jvmti.commands.top.watching import INTERVALS
from jvmti.text.quantities import duration, quantity, size

if TYPE_CHECKING:
    from jvmti.commands.top.watching import Picture
    from jvmti.profile.profile import Profile

__all__ = ["VIEWS", "Row", "View", "as_json", "head", "part_of", "rows"]


class View(NamedTuple):
    """One of the tables.

    Attributes:
        kind: the samples that it is about.
        by: what a row is, as in `jvmti.Profile.top`, or ``"thread"``.
        columns: the headings.
    """

    kind: str
    by: str
    columns: tuple[str, ...]


VIEWS = {
    "methods": View("cpu", "method", (">CPU", ">OWN", ">WITH CALLEES", "METHOD")),
    "threads": View("cpu", "thread", (">CPU", ">TIME", "THREAD", "MOSTLY IN")),
    "allocation": View("alloc", "method", (">A SECOND", ">OWN", ">WITH CALLEES", "METHOD")),
    "locks": View("lock", "method", (">WAITED", ">OWN", ">WITH CALLEES", "METHOD")),
}


class Row(NamedTuple):
    """A row of a view.

    Attributes:
        name: the method or the thread.
        cells: its cells.
        own: its own weight, in nanoseconds or bytes.
        total: the weight with what it calls.
    """

    name: str
    cells: tuple[str, ...]
    own: int
    total: int


def rows(picture: Picture, view: str, most: int | None, *, total: bool = False) -> list[Row]:
    """The rows of a view, the largest first.

    Args:
        picture: the JVM in an interval.
        view: one of `VIEWS`.
        most: how many; ``None`` for all.
        total: sort by the weight with callees in place of the own one.
    """
    kind, by, _ = VIEWS[view]
    profile = picture.profiles.get(kind)
    if profile is None:
        return []
    length = picture.seconds or 1

    def amount(weight: int) -> str:
        if kind == "cpu":
            return f"{weight / 1e9 / length:.1%}"
        return f"{size(int(weight / length))}/s" if kind == "alloc" else duration(weight / 1e9)

    if by == "thread":
        found = [
            _of_thread(profile, name, weight, amount(weight))
            for name, weight in list(profile.by("thread").weights.items())[:most]
        ]
    else:
        uses = list(profile.top(None))
        if total:
            uses.sort(key=lambda one: -one.total)
        found = [
            Row(
                one.name,
                (amount(one.own), f"{one.own_share:.1%}", f"{one.share:.1%}", one.name),
                one.own,
                one.total,
            )
            for one in uses[:most]
        ]
    return found


def _of_thread(profile: Profile, name: str, weight: int, amount: str) -> Row:
    top = profile.by("thread")[name].top(1)
    mostly = top[0].name if top else "?"
    return Row(name, (amount, duration(weight / 1e9), name, mostly), weight, weight)


def part_of(picture: Picture, view: str, name: str) -> Profile | None:
    """The samples of a row.

    Args:
        picture: the JVM in an interval.
        view: one of `VIEWS`.
        name: the row's.
    """
    profile = picture.profiles.get(VIEWS[view].kind)
    if profile is None:
        return None
    if VIEWS[view].by == "thread":
        parts = profile.by("thread")
        return parts[name] if name in parts else None
    return profile.with_frame(name)


def head(picture: Picture) -> list[str]:
    """The lines above the table.

    Args:
        picture: the JVM in an interval.
    """
    length = picture.seconds or 1
    use = f"{picture.processors:.2f} processors (jvmti {picture.agent:.2f})"
    parts = [use, f"{quantity(picture.threads, 'thread')}"]
    parts.append(f"resident {size(picture.resident)}")
    if picture.allocated is not None:
        least = size(int(INTERVALS["alloc"] / length))
        rate = f"{size(int(picture.allocated))}/s" if picture.allocated else f"below {least}/s"
        parts.append(f"allocates {rate}")
    line = []
    if picture.heap is not None:
        heap = {name: size(value) for name, value in picture.heap.items()}
        line.append(f"heap {heap['used']} of {heap['committed']}, at most {heap['maximum']}")
    else:
        line.append("heap unknown")
    if picture.pauses is not None and picture.paused is not None:
        share = picture.paused / length
        line.append(f"{quantity(picture.pauses, 'collection pause')}, {share:.1%} of the time")
    else:
        line.append("collection pauses unknown")
    return [", ".join(parts), "; ".join(line)]


def as_json(picture: Picture, most: int | None) -> dict[str, Any]:
    """Everything, for JSON; the names end in the unit.

    Args:
        picture: the JVM in an interval.
        most: rows of each view.
    """
    found: dict[str, Any] = {
        "ended_epoch_seconds": round(picture.ended, 3),
        "length_seconds": round(picture.seconds, 3),
        "processors": round(picture.processors, 3),
        "agent_processors": round(picture.agent, 3),
        "threads": picture.threads,
        "resident_bytes": picture.resident,
        "heap_bytes": picture.heap,
        "collection_pauses": picture.pauses,
        "collection_pause_seconds": None if picture.paused is None else round(picture.paused, 6),
        "allocated_bytes_per_second": picture.allocated,
        "allocation_sampled_bytes": INTERVALS["alloc"],
        "views": {},
        "missing": picture.missing,
    }
    for name, view in VIEWS.items():
        if view.kind in picture.profiles:
            unit, word = (1, "bytes") if view.kind == "alloc" else (1e9, "seconds")
            found["views"][name] = [
                {"name": one.name, f"own_{word}": one.own / unit, f"total_{word}": one.total / unit}
                for one in rows(picture, name, most)
            ]
    return found
