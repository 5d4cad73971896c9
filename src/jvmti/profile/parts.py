"""The parts of a profile: whose samples they are, by thread, pool, state, request, …"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy
from numpy.typing import NDArray

from jvmti import display
from jvmti.profile.call_tree import added, distinct
from jvmti.profile.tables import Frames, Kind, Samples, Stacks, State
from jvmti.text.pools import pool_of
from jvmti.text.printable import escaped, escaped_lines, printable

if TYPE_CHECKING:
    from jvmti.profile.profile import Profile

__all__ = ["PARTS", "Parts", "below_parts", "code_of", "part_name"]

PARTS = ("thread", "group", "pool", "process", "state", "label", "owner", "kind")
"""Names that a profile can be split by."""


class _Part(NamedTuple):
    """A row of the table of `Parts`."""

    name: str
    samples: int
    weight: int | None
    share: float


class Parts(Mapping[str, "Profile"], display.Tabular):
    """A profile for each thread, state, request, …; those with the largest weight come first.

    Each part is made when it is asked for.  Of several kinds of samples, the parts with the most
    samples come first.

    Attributes:
        by: what the profile is split by.
        profile: the whole.
    """

    def __init__(
        self, profile: Profile, by: str, code: NDArray[numpy.integer], names: list[str]
    ) -> None:
        # A profile that runs gets further rows, at any place; these stay.
        self.profile = profile.where(slice(None))
        self.by = by
        # Rows with the same number are a slice of this order.
        self._order = numpy.argsort(code, kind="stable")
        self._ends = numpy.cumsum(numpy.bincount(code, minlength=len(names)))
        weights = added(code, profile.samples.weight, len(names))
        counts = numpy.diff(self._ends, prepend=0)
        # Nanoseconds and bytes have no sum.
        self._adds_up = by == "kind" or len(profile.kinds) <= 1
        order = numpy.lexsort((-counts, -weights if self._adds_up else -counts))
        self._numbers = {names[row]: row for row in order.tolist() if counts[row]}
        self._weights = {name: int(weights[row]) for name, row in self._numbers.items()}
        self.counts: dict[str, int] = {
            name: int(counts[row]) for name, row in self._numbers.items()
        }
        """How many samples each part has."""

    def __getitem__(self, name: str) -> Profile:
        number = self._numbers[name]
        begin = self._ends[number - 1] if number else 0
        return self.profile.where(self._order[begin : self._ends[number]])

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    @escaped
    def __repr__(self) -> str:
        return f"<Parts by {self.by}: {len(self):,}>"

    @property
    def weights(self) -> dict[str, int]:
        """The weight of each part.

        Raises:
            SeveralKinds: a part has samples of several kinds.
        """
        if not self._adds_up:
            self.profile.kind  # noqa: B018 - it raises
        return self._weights

    @property
    def shares(self) -> dict[str, float]:
        """The share of each part in the weight; in the samples, if they are of several kinds."""
        parts = self._weights if len(self.profile.kinds) <= 1 else self.counts
        whole = sum(parts.values()) or 1
        return {name: one / whole for name, one in parts.items()}

    def to_arrow(self) -> Any:
        """A row for each part: ``name``, ``samples``, ``weight`` and ``share``.

        Parts of several kinds of samples have no weight.

        Raises:
            ImportError: pyarrow is not installed.
        """
        from jvmti.profile.formats.arrow import rows_table

        shares = self.shares
        rows = [
            _Part(name, count, self._weights[name] if self._adds_up else None, shares[name])
            for name, count in self.counts.items()
        ]
        return rows_table(rows, _Part)

    @escaped_lines
    def __str__(self) -> str:
        shares = self.shares.items()
        return "\n".join(
            [
                repr(self),
                *(f"{share:6.1%}  {printable(part_name(self.by, name))}" for name, share in shares),
            ]
        )

    _repr_html_ = display.html


def code_of(profile: Profile, by: str) -> tuple[NDArray[numpy.integer], list[str]]:
    """A number for each sample, and a name for each number.

    Raises:
        ValueError: ``by`` is none of `PARTS`.
    """
    samples, threads = profile.samples, profile.threads
    if by in ("state", "kind"):
        kinds = State if by == "state" else Kind
        column: NDArray[numpy.integer] = samples.state if by == "state" else samples.kind
        return column, [one.name.lower() for one in kinds]
    if by == "label":
        return samples.label + 1, ["", *profile.labels]
    if by == "thread":
        names = _thread_names(profile)
    elif by == "owner":
        code, found = distinct(["", *_thread_names(profile)])
        return code[samples.owner + 1], found
    elif by == "group":
        names = list(threads.group)
    elif by == "pool":
        names = [pool_of(name) for name in threads.name]
    elif by == "process":
        names = list(threads.process)
    else:
        raise ValueError(f"by={by!r} is none of {', '.join(PARTS)}")
    code, found = distinct(names)
    return (code[samples.thread] if len(code) else samples.thread), found


_NOBODY = {"label": "(none)", "thread": "(no name)"}


def part_name(by: str, name: str) -> str:
    """The name of a part as it is shown: that of samples without one is in parentheses."""
    return name or _NOBODY.get(by, "(unknown)")


def below_parts(profile: Profile, by: str) -> tuple[Samples, Stacks, Frames]:
    """The samples with one more frame each, the outermost, that has the name of its part.

    Raises:
        ValueError: ``by`` is none of `PARTS`.
    """
    code, names = code_of(profile, by)
    samples, stacks, frames = profile.samples, profile.stacks, profile.frames
    both = samples.stack.astype(numpy.int64) * max(len(names), 1) + code
    pairs, number = numpy.unique(both, return_inverse=True)
    stack, part = numpy.divmod(pairs, max(len(names), 1))
    depths = stacks.depths[stack]
    offsets = numpy.concatenate([[0], numpy.cumsum(depths + 1)])
    inside = numpy.empty(offsets[-1], numpy.int32)
    outermost = offsets[1:] - 1
    inside[outermost] = len(frames) + part
    rest = numpy.ones(len(inside), numpy.bool_)
    rest[outermost] = False
    place = numpy.arange(int(depths.sum())) - numpy.repeat(numpy.cumsum(depths) - depths, depths)
    inside[rest] = stacks.frames[numpy.repeat(stacks.offsets[stack], depths) + place]
    columns = samples.columns() | {"stack": number.reshape(-1).astype(numpy.int32)}
    return (
        Samples(**columns),
        Stacks(offsets, inside),
        Frames(
            [*frames.class_name, *[""] * len(names)],
            [*frames.method, *(part_name(by, name) for name in names)],
            [*frames.descriptor, *[""] * len(names)],
            numpy.concatenate([frames.line, numpy.full(len(names), -1, numpy.int32)]),
            numpy.concatenate([frames.kind, numpy.zeros(len(names), numpy.uint8)]),
        ),
    )


def _thread_names(profile: Profile) -> list[str]:
    """The names of threads, with the process where there are several."""
    threads = profile.threads
    if len(set(threads.process)) < 2:
        return list(threads.name)
    return [
        f"{name} ({process})" for name, process in zip(threads.name, threads.process, strict=True)
    ]
