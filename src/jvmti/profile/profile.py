"""A profile: samples of stacks, and what they say."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from jvmti import display
from jvmti.profile.call_tree import Columns, added, distinct
from jvmti.profile.errors import SeveralKinds
from jvmti.profile.limits import Limits
from jvmti.profile.tables import FrameKind, Frames, Kind, Samples, Stacks, Threads, within
from jvmti.text.names import package_of
from jvmti.text.printable import escaped

__all__ = ["Profile", "Use"]

Moment = float | datetime.datetime | numpy.datetime64
EMPTY = "(no stack)"
"""The name of samples whose stack could not be walked."""


class Use(NamedTuple):
    """A row of `Profile.top`: what a method, class or line used."""

    name: str
    """The method, class, line, …, as was asked for."""
    own: int
    """The weight of the samples in which it was the innermost frame."""
    total: int
    """The weight of the samples that have it on the stack, each counted once."""
    own_share: float
    """``own`` as a part of the whole profile, 0 to 1."""
    share: float
    """``total`` as a part of the whole profile, 0 to 1."""


class Profile(display.Tabular):
    """Samples of stacks, as columns; parts of a profile are profiles, too.

    Args:
        samples: the samples.
        stacks: the stacks.
        frames: the frames.
        threads: the threads.
        limits: how each kind of samples was taken in each process.
        labels: the texts that ``samples.label`` counts.

    Raises:
        ProfileError: a number in one table is not that of a row in another.
    """

    def __init__(
        self,
        samples: Samples,
        stacks: Stacks,
        frames: Frames,
        threads: Threads,
        limits: Sequence[Limits] = (),
        labels: Sequence[str] = (),
    ) -> None:
        within("samples.thread", samples.thread, len(threads))
        within("samples.stack", samples.stack, len(stacks))
        within("samples.label", samples.label, len(labels), -1)
        within("samples.owner", samples.owner, len(threads), -1)
        within("stacks.frames", stacks.frames, len(frames))
        self._samples = samples
        self._columns = Columns(stacks, frames)
        self._threads = threads
        self._limits = tuple(limits)
        self._labels = tuple(labels)

    @property
    def samples(self) -> Samples:
        """The samples: times, threads, stacks, weights, kinds and states."""
        return self._samples

    @property
    def stacks(self) -> Stacks:
        """The distinct stacks, also of samples outside of this part of a profile."""
        return self._columns.stacks

    @property
    def frames(self) -> Frames:
        """The distinct frames."""
        return self._columns.frames

    @property
    def threads(self) -> Threads:
        """The threads."""
        return self._threads

    @property
    def labels(self) -> tuple[str, ...]:
        """The texts that ``samples.label`` counts, such as the paths of requests."""
        return self._labels

    @property
    def limits(self) -> tuple[Limits, ...]:
        """How each kind of samples was taken in each process, and what they lack."""
        present = set(self.kinds)
        return tuple(one for one in self._limits if one.kind in present or not present)

    def __len__(self) -> int:
        return len(self._samples)

    # Kinds

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of its samples; without samples those of its limits."""
        found = numpy.flatnonzero(numpy.bincount(self._samples.kind, minlength=len(Kind)))
        if not len(found):
            return tuple(sorted({one.kind for one in self._limits}))
        return tuple(map(Kind, found.tolist()))

    @property
    def kind(self) -> Kind:
        """The kind of its samples.

        Raises:
            SeveralKinds: they are of several kinds, whose weights do not add up.
        """
        kinds = self.kinds
        if len(kinds) > 1:
            names = [one.name.lower() for one in kinds]
            raise SeveralKinds(
                f"this profile has samples of {', '.join(names)}; choose one: profile[{names[0]!r}]"
            )
        return kinds[0] if kinds else Kind.CPU

    def __getitem__(self, kind: str | Kind) -> Profile:
        """The samples of one kind.

        Args:
            kind: ``"cpu"``, ``"wall"``, ``"alloc"``, ``"live"`` or ``"lock"``.

        Raises:
            KeyError: there are no samples of this kind.
        """
        try:
            wanted = Kind[kind.upper()] if isinstance(kind, str) else Kind(kind)
        except (KeyError, ValueError):
            wanted = None
        if wanted is None or wanted not in self.kinds:
            there = ", ".join(one.name.lower() for one in self.kinds) or "no samples"
            raise KeyError(f"this profile has no samples of {kind!r}; it has {there}")
        return self if self.kinds == (wanted,) else self.where(self._samples.kind == wanted)

    # Parts

    def where(self, rows: Any) -> Profile:
        """The profile of some samples; it shares the other tables.

        Args:
            rows: a slice, an array of row numbers, or of a truth value for each sample.
        """
        part = Profile.__new__(type(self))
        part._samples = self._samples.take(rows)
        part._columns, part._threads = self._columns, self._threads
        part._limits, part._labels = self._limits, self._labels
        return part

    @property
    def began(self) -> int:
        """When the profile began, in nanoseconds since the epoch."""
        known = [one.began for one in self._limits if one.began]
        if known:
            return min(known)
        return int(self._samples.time.min()) if len(self) else 0

    @property
    def ended(self) -> int:
        """When the profile ended, in nanoseconds since the epoch."""
        known = [one.ended for one in self._limits if one.ended]
        if known:
            return max(known)
        return int(self._samples.time.max()) if len(self) else 0

    @property
    def weight(self) -> int:
        """The sum of the weights of all samples, in nanoseconds or bytes.

        Raises:
            SeveralKinds: the samples are of several kinds.
        """
        self.kind  # noqa: B018 - it raises
        return int(self._samples.weight.sum())

    def between(self, begin: Moment | None, end: Moment | None) -> Profile:
        """The samples of a time, such as of a spike.

        Args:
            begin: seconds since the profile began, or a moment; ``None`` for its beginning.
            end: likewise; the samples at this moment are not part of it.
        """
        time = self._samples.time
        inside = numpy.ones(len(time), numpy.bool_)
        if begin is not None:
            inside &= time >= self._moment(begin)
        if end is not None:
            inside &= time < self._moment(end)
        return self.where(inside)

    def _moment(self, given: Moment) -> int:
        if isinstance(given, datetime.datetime):
            whole, rest = divmod(given.timestamp(), 1)
            return int(whole) * 1_000_000_000 + round(rest * 1e9)
        if isinstance(given, numpy.datetime64):
            return int(given.astype("datetime64[ns]").astype(numpy.int64))
        return self.began + round(given * 1e9)

    # Views

    @cached_property
    def stack_weights(self) -> NDArray[numpy.int64]:
        """The weight of the samples of each stack.

        Raises:
            SeveralKinds: the samples are of several kinds.
        """
        self.kind  # noqa: B018 - it raises
        return added(self._samples.stack, self._samples.weight, len(self.stacks))

    def share(self, pattern: str) -> float:
        """The part of the weight whose samples have a method on the stack, 0 to 1.

        Args:
            pattern: ``class.method``, where ``*``, ``?`` and ``[…]`` match as in a shell.
        """
        weight = self.weight
        if not weight:
            return 0.0
        on = self._stacks_with(pattern)
        return float(self.stack_weights[on].sum() / weight)

    def _stacks_with(self, pattern: str) -> NDArray[numpy.bool_]:
        """Which stacks have a method that matches."""
        wanted = numpy.array(
            [fnmatchcase(name, pattern) for name in self._columns.names], numpy.bool_
        )
        stacks, methods = self._columns.methods_on_stacks
        found = numpy.zeros(len(self.stacks), numpy.bool_)
        found[stacks[wanted[methods]]] = True
        return found

    def with_frame(self, pattern: str) -> Profile:
        """The samples that have a method on the stack.

        Args:
            pattern: as for `share`.
        """
        return self.where(self._stacks_with(pattern)[self._samples.stack])

    def top(self, most: int | None = 20, by: str = "method") -> Sequence[Use]:
        """What used most, those with the largest own weight first.

        Args:
            most: how many rows; ``None`` for all.
            by: ``"method"``, ``"line"``, ``"class"``, ``"package"``, ``"kind"`` of code, or
                ``"type"``: the class that was allocated, or of the lock.

        Raises:
            SeveralKinds: the samples are of several kinds.
            ValueError: ``by`` is something else.
        """
        code, names = self._code(by)
        weights = self.stack_weights
        innermost = self._columns.innermost(skip_types=by != "type")
        own = numpy.zeros(len(names), numpy.int64)
        has = innermost >= 0
        if by == "type":
            has &= self.frames.kind[innermost] == FrameKind.TYPE
        numpy.add.at(own, code[innermost[has]], weights[has])
        if by == "type":
            total = own
        else:
            stacks, codes = (
                self._columns.methods_on_stacks if by == "method" else self._columns.on_stacks(code)
            )
            total = added(codes, weights[stacks], len(names))
        order = numpy.lexsort((-total, -own))
        order = order[total[order] > 0][:most]
        whole = self.weight or 1
        return display.Rows(
            Use(names[row], mine, all_, mine / whole, all_ / whole)
            for row, mine, all_ in zip(
                order.tolist(), own[order].tolist(), total[order].tolist(), strict=True
            )
        )

    def _code(self, by: str) -> tuple[NDArray[numpy.int32], list[str]]:
        """A number for each frame, and a name for each number."""
        frames = self.frames
        if by in ("method", "type"):
            return self._columns.method, self._columns.names
        if by == "line":
            names = frames.names()
            return distinct(
                [
                    name if line < 0 else f"{name}:{line}"
                    for name, line in zip(names, frames.line.tolist(), strict=True)
                ]
            )
        if by == "class":
            return distinct([cls or "(native)" for cls in frames.class_name])
        if by == "package":
            return distinct([package_of(cls) if cls else "(native)" for cls in frames.class_name])
        if by == "kind":
            return frames.kind.astype(numpy.int32), [kind.name.lower() for kind in FrameKind]
        raise ValueError(f"by={by!r} is none of method, line, class, package, kind, type")

    @escaped
    def __repr__(self) -> str:
        kinds = " and ".join(kind.name.lower() for kind in self.kinds) or "no"
        seconds = (self.ended - self.began) / 1e9
        return (
            f"<Profile: {len(self):,} {kinds} samples of {len(self.threads):,} threads "
            f"in {seconds:.3g} s>"
        )
