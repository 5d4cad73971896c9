"""A profile: samples of stacks, and what they say."""

from __future__ import annotations

import dataclasses
import datetime
import os
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import NDArray

from jvmti import display
from jvmti.profile.call_tree import NO_STACK, CallTree, Columns, added, distinct
from jvmti.profile.difference import Difference
from jvmti.profile.errors import SeveralKinds
from jvmti.profile.limits import Limits
from jvmti.profile.merging import Merged
from jvmti.profile.parts import Parts, below_parts, code_of
from jvmti.profile.tables import FrameKind, Frames, Kind, Samples, Stacks, Threads, within
from jvmti.profile.tree_nodes import TreeNodes
from jvmti.profile.uses import Top, Use
from jvmti.stacks.tree import StackTree
from jvmti.text.names import package_of
from jvmti.text.printable import escaped
from jvmti.text.quantities import quantity

if TYPE_CHECKING:
    from jvmti.profile.formats.flame import FlameGraph

__all__ = ["Profile"]

Moment = float | datetime.datetime | numpy.datetime64


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
        """How each kind was sampled in each process, and what it lacks, even without samples."""
        return self._limits

    def __len__(self) -> int:
        return len(self._samples)

    def _contents(self) -> tuple[Any, ...]:
        """The arguments that make an equal profile; of one that runs, its state at this moment."""
        now = self.where(slice(None))
        return (
            now.samples,
            now.stacks,
            now.frames,
            now.threads,
            tuple(now.limits),
            tuple(now.labels),
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Profile):
            return NotImplemented
        return self is other or self._contents() == other._contents()

    __hash__ = None  # type: ignore[assignment] # one that runs changes

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy in another process has neither the VM of one that runs nor what is counted anew.
        return Profile, self._contents()

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
        """The samples of one kind; none if it was profiled and nothing of it happened.

        Args:
            kind: ``"cpu"``, ``"wall"``, ``"alloc"``, ``"live"``, ``"lock"`` or
                ``"count"``.

        Raises:
            KeyError: this kind was not profiled.
        """
        try:
            wanted = Kind[kind.upper()] if isinstance(kind, str) else Kind(kind)
        except (KeyError, ValueError):
            wanted = None
        its = [one for one in self._limits if one.kind == wanted]
        if wanted is None or (wanted not in self.kinds and not its):
            there = ", ".join(one.name.lower() for one in self.kinds) or "no samples"
            raise KeyError(f"this profile has no samples of {kind!r}; it has {there}")
        if self.kinds == (wanted,) and len(its) == len(self._limits):
            return self
        found = self.where(self._samples.kind == wanted)
        found._limits = tuple(its)
        return found

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
        """The sum of the weights of all samples: nanoseconds, bytes, or a number.

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

        Raises:
            ValueError: the end is before the beginning.
        """
        time = self._samples.time
        first = self.began if begin is None else self._moment(begin)
        last = max(self.ended, int(time.max(initial=0))) + 1 if end is None else self._moment(end)
        if end is not None and last < first:
            raise ValueError(f"{end!r} is before {self.began if begin is None else begin!r}")
        part = self.where((time >= first) & (time < last))
        part._limits = tuple(
            dataclasses.replace(
                one, began=max(one.began, first), ended=max(min(one.ended, last), first)
            )
            for one in self._limits
        )
        return part

    def _moment(self, given: Moment) -> int:
        if isinstance(given, datetime.datetime):
            whole, rest = divmod(given.timestamp(), 1)
            return int(whole) * 1_000_000_000 + round(rest * 1e9)
        if isinstance(given, numpy.datetime64):
            return int(given.astype("datetime64[ns]").astype(numpy.int64))
        return self.began + round(given * 1e9)

    def by(self, what: str) -> Parts:
        """The profile split: a mapping from names to profiles, the largest first.

        Args:
            what: ``"thread"``, ``"group"``, ``"pool"`` (threads whose names differ in the last
                number), ``"process"``, ``"state"``, ``"label"`` (such as the request), ``"owner"``
                of the lock, or ``"kind"`` of the samples.

        Raises:
            ValueError: it is something else.
        """
        return Parts(self, what, *code_of(self, what))

    def below(self, what: str) -> Profile:
        """The same samples with the name of their part as the outermost frame of each.

        Flame graphs, trees and files then show the parts side by side::

            profile.below("thread").save("threads.html")

        Args:
            what: as for `by`.

        Raises:
            ValueError: it is something else.
        """
        return Profile(*below_parts(self, what), self._threads, self._limits, self._labels)

    def merge(self, *others: Profile, processes: Sequence[str] | None = None) -> Profile:
        """This profile and others as one; samples stay in this order.

        Args:
            others: the other profiles.
            processes: a name for the process of each, this one first; by default threads keep what
                they have.

        Raises:
            ValueError: there is not one name for each profile.
        """
        names = [None] * (1 + len(others)) if processes is None else processes
        if len(names) != 1 + len(others):
            raise ValueError(f"processes= has {len(names)} names for {1 + len(others)} profiles")
        merged = Merged()
        for one, name in zip((self, *others), names, strict=True):
            merged.add(
                one.samples, one.stacks, one.frames, one.threads, one._limits, one.labels, name
            )
        return Profile(*merged.tables())

    def diff(self, after: Profile, per: str | None = None) -> Difference:
        """Compare this profile with a later one.

        Args:
            after: the later profile.
            per: what amounts are compared: ``"second"``, seconds of threads or bytes in each
                second, or ``"share"`` of the whole; by default seconds, if both profiles know how
                long they took.

        Raises:
            ValueError: the profiles are of different kinds, or a duration is missing.
            SeveralKinds: a profile has samples of several kinds.
        """
        return Difference(self, after, per)

    # Files

    def to_arrow(self) -> Any:
        """The samples as a ``pyarrow.Table``, with names in place of most numbers.

        Its columns: ``time``, ``kind``, ``thread``, ``state``, ``weight``, ``method`` (the
        innermost), ``line``, ``label`` and ``owner`` where there are any, and ``stack`` and
        ``thread_row``, the rows of `stacks` and `threads`.

        Raises:
            ImportError: pyarrow is not installed.
        """
        from jvmti.profile.formats.arrow import samples_table

        return samples_table(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file, in the format of its name's ending.

        ``.parquet`` keeps everything, for `jvmti.profile.open` and as a table for other programs.
        For pictures and other tools: ``.html`` (a flame graph), ``.collapsed`` or ``.txt``,
        ``.pb.gz`` or ``.pprof``, ``.speedscope.json``, ``.perfetto-trace`` or ``.pftrace``,
        ``.json`` or ``.json.gz`` (Firefox profiler), ``.otlp``.

        Args:
            path: the file; one that is there is replaced.

        Raises:
            ValueError: the name has another ending.
            SeveralKinds: the format has one kind of samples only, and this profile several.
            ImportError: the format needs pyarrow, which is not installed.
            OSError: the file cannot be written.
        """
        from jvmti.profile.files import save_profile

        save_profile(self, path)

    # Views

    def flame(self, title: str = "") -> FlameGraph:
        """A flame graph: a page with search, zoom, threads and time; `save` writes it.

        ::

            profile.flame().save("flame.html")

        Args:
            title: its title; by default what the profile is.
        """
        from jvmti.profile.formats.flame import profile_graph

        return profile_graph(self, title)

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
        stacks, methods = self._columns.methods_on_stacks
        found = numpy.zeros(len(self.stacks), numpy.bool_)
        found[stacks[self._matching(pattern)[methods]]] = True
        return found

    def _matching(self, pattern: str) -> NDArray[numpy.bool_]:
        """Which methods match."""
        names = self._columns.names
        return numpy.array([fnmatchcase(name, pattern) for name in names], numpy.bool_)

    def with_frame(self, pattern: str) -> Profile:
        """The samples that have a method on the stack.

        Args:
            pattern: as for `share`.
        """
        return self.where(self._stacks_with(pattern)[self._samples.stack])

    def top(self, most: int | None = 20, by: str = "method") -> Top:
        """The largest users, those with the largest own weight first.

        Args:
            most: how many rows; ``None`` for all.
            by: ``"method"``, ``"line"``, ``"class"``, ``"package"``, ``"kind"`` of code, or
                ``"type"``: the class that was allocated, or of the lock.

        Raises:
            SeveralKinds: the samples are of several kinds.
            ValueError: ``by`` is something else, or ``most`` is not positive.
        """
        if most is not None and most < 1:
            raise ValueError(f"most={most!r} is not positive; None is for all rows")
        code, names = self._code(by)
        weights = self.stack_weights
        innermost = self._columns.innermost(skip_types=by != "type")
        own = numpy.zeros(len(names), numpy.int64)
        has = innermost >= 0
        if by == "type":
            has[has] = self.frames.kind[innermost[has]] == FrameKind.TYPE
        numpy.add.at(own, code[innermost[has]], weights[has])
        if by == "type":
            total = own
        else:
            stacks, codes = (
                self._columns.methods_on_stacks if by == "method" else self._columns.on_stacks(code)
            )
            total = added(codes, weights[stacks], len(names))
            lacking = weights[~has].sum()
            if lacking:
                names = [*names, NO_STACK]
                own, total = numpy.append(own, lacking), numpy.append(total, lacking)
        order = numpy.lexsort((-total, -own))
        order = order[total[order] > 0][:most]
        whole = self.weight or 1
        rows = zip(order.tolist(), own[order].tolist(), total[order].tolist(), strict=True)
        return Top(
            (Use(names[row], mine, all_, mine / whole, all_ / whole) for row, mine, all_ in rows),
            self.amount,
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

    @property
    def amount(self) -> Callable[[int], str]:
        """Formats a weight: a duration, a number of bytes, or a number.

        Raises:
            SeveralKinds: the samples are of several kinds.
        """
        return self.kind.amount

    def tree(self, *, inverted: bool = False) -> StackTree:
        """The stacks as one tree, whose counts are weights.

        Args:
            inverted: from the innermost frames on, so that the callers of each method are below it.

        Raises:
            SeveralKinds: the samples are of several kinds.
        """
        tree = self._columns.inverted if inverted else self._columns.tree
        return self._as_tree(tree, self.stack_weights)

    def callers(self, pattern: str) -> StackTree:
        """The callers of a method: a tree from it outwards, whose counts are weights.

        Where a method calls itself, its outermost call counts.

        Args:
            pattern: as for `share`.

        Raises:
            SeveralKinds: the samples are of several kinds.
        """
        stacks, weights = self._from(pattern, outwards=True)
        return self._as_tree(CallTree(stacks, self._columns.method, inverted=True), weights)

    def callees(self, pattern: str) -> StackTree:
        """The methods that a method calls: a tree from its outermost call on; counts are weights.

        Args:
            pattern: as for `share`.

        Raises:
            SeveralKinds: the samples are of several kinds.
        """
        stacks, weights = self._from(pattern, outwards=False)
        return self._as_tree(CallTree(stacks, self._columns.method), weights)

    def _from(self, pattern: str, *, outwards: bool) -> tuple[Stacks, NDArray[numpy.int64]]:
        """The parts of stacks from a method on, and the weight of each."""
        stacks, code = self.stacks, self._columns.method
        matches = self._matching(pattern)[code[stacks.frames]]
        place = numpy.arange(len(matches))
        row = numpy.repeat(numpy.arange(len(stacks)), stacks.depths)
        outermost = numpy.full(len(stacks), -1, numpy.int64)
        numpy.maximum.at(outermost, row[matches], place[matches])
        inside = (outermost >= 0)[row] & (
            place >= outermost[row] if outwards else place <= outermost[row]
        )
        depths = numpy.bincount(row[inside], minlength=len(stacks))
        offsets = numpy.concatenate([[0], numpy.cumsum(depths)])
        weights = numpy.where(outermost >= 0, self.stack_weights, 0)
        return Stacks(offsets, stacks.frames[inside]), weights

    def _as_tree(self, tree: CallTree, weights: NDArray[numpy.int64]) -> StackTree:
        total, own = tree.counted(weights)
        parent, code, names = tree.parent, tree.name, self._columns.names
        if own[0]:
            parent = numpy.append(parent, 0)
            code, names = numpy.append(code, len(names)), [*names, NO_STACK]
            total, own = numpy.append(total, own[0]), numpy.append(own, own[0])
            own[0] = 0
        nodes = TreeNodes(parent, code, names, total, own)
        found = StackTree.of_nodes(nodes, int(total[0]), int(own[0]))
        found.samples = len(self)
        found.seconds = (self.ended - self.began) / 1e9
        found.amount = self.amount
        return found

    def _sampled_threads(self) -> int:
        """How many threads have samples; the table may have others, as of a part of a profile."""
        return int(numpy.count_nonzero(numpy.bincount(self.samples.thread)))

    @escaped
    def __repr__(self) -> str:
        kinds = " and ".join(kind.name.lower() for kind in self.kinds) or "no"
        seconds = (self.ended - self.began) / 1e9
        return (
            f"<Profile: {quantity(len(self), f'{kinds} sample')} of "
            f"{quantity(self._sampled_threads(), 'thread')} "
            f"in {seconds:.3g} s>"
        )

    _repr_html_ = display.html
