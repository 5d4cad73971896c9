"""The requests that a program works for, so that a profile falls apart into them.

Probes in the method that handles a request record when a call begins, with a value of that moment
such as its path, and when it ends. What a thread does between the two is for this request.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from jvmti.instrumentation.probes import BadProbe, Operand, Probe
from jvmti.layouts.probes import Operand as Kind
from jvmti.layouts.probes import Site as Where
from jvmti.profile.tables import Frames, Samples, Stacks, Threads
from jvmti.profile.tables import Kind as Profiled
from jvmti.tracing.call_probes import NO_BEGIN, RecordShape, noting, place_of, recorded
from jvmti.tracing.conditions import EVERYWHERE, parsed, value_of
from jvmti.tracing.declared_values import check_values
from jvmti.tracing.records.recorder import Recorder
from jvmti.tracing.records.sites import RecordedObject, Site
from jvmti.tracing.summaries import OTHERS, key_name
from jvmti.tracing.traced_vm import TracedVM

_BY = re.compile(r"(?P<method>[^()\s]+)(?:\((?P<value>\w*)\)(?P<path>(?:\.\w+)*))?")
_MOST_LABELS = 10_000
_LONGEST_NAME = 448
"""Bytes of a name; with its head, the record of a request has 512."""
_NOTED = 0.01
"""The part of samples from which on a sentence says what they lack."""
_STARTED = "request started"
_NEVER = numpy.iinfo(numpy.int64).max

Spans = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
"""When requests of one thread began, when they ended, and the numbers of their labels."""


class Requests(Recorder[Any, Any]):
    """The calls of a method that handles requests.

    Args:
        vm: the VM.
        by: the method and a value that names the request, as for `jvmti.VM.profile`.
        max_pause: seconds that the program may be stopped at a time while classes get probes.

    Raises:
        BadProbe: ``by`` is malformed, or no class has a field of ``this`` that it names.
        LookupError: there is no such method, or it has no such value.
        PauseTooLong: a single class stops it for longer.
    """

    WAITING = ""

    def __init__(self, vm: TracedVM, by: str, max_pause: float | None = None) -> None:
        match = _BY.fullmatch(by.strip())
        if match is None or "." not in match["method"]:
            raise BadProbe(
                f"by={by!r} is not CLASS.METHOD, or with a value that names the request, such as "
                "com.acme.Server.handle(request).path"
            )
        self.by = by
        self._method = match["method"]
        operands: tuple[Operand, ...] = ()
        if match["value"]:
            text = match["value"] + match["path"]
            tree = parsed(text)
            if tree is None:
                raise BadProbe(f"by={by!r}: {text!r} is not a value")
            operand, path = value_of(tree, by, words=EVERYWHERE)
            if operand.kind is Kind.TOOK:
                raise BadProbe(f"by={by!r}: a request that begins has taken no time")
            if operand.kind is Kind.THREAD and path is None:
                path = "name"
            operands = (operand._replace(path=path),)
        elif match["path"]:
            raise BadProbe(f"by={by!r}: say whose field it is, as in run(this).name")
        shape = RecordShape.of(_LONGEST_NAME, objects=1, numbers=0)
        place = place_of(match["method"])
        head = (Operand(Kind.NUMBER, "I", 0), Operand(Kind.SITE, "I"))
        began = Operand(Kind.KEPT, "J", text=_STARTED)
        entered = recorded((*head, NO_BEGIN, *operands), shape)
        left = recorded((*head, began), shape)
        probes = [
            Probe(**place, **noting(_STARTED), site=Where.ENTRY),
            Probe(**place, **entered, site=Where.ENTRY),
            *[Probe(**place, **left, site=site) for site in (Where.RETURN, Where.UNWIND)],
        ]
        self._entries: list[tuple[NDArray[Any], ...]] = []
        self._calls: list[tuple[NDArray[Any], ...]] = []
        self._labels: dict[str, int] = {}
        self._cut_name = False
        super().__init__(vm, probes, shape, limit=None)
        try:
            self._arm(max_pause)
            needed = f"has a value {match['value']!r}" if operands else None
            self._check_patterns([match["method"]], {1: 0}, needed)
            self._check_value(by)
        except BaseException:
            self.close()
            raise

    def _check_fields(self, classes: Sequence[Any]) -> None:
        """Refuse a name for requests that is a field of ``this``, which the class lacks."""
        check_values(self._plan, classes)

    def _check_value(self, by: str) -> None:
        entered = [site for site in self._sites if site.probe == 1]
        if any(site.slots for site in entered) and all(
            site.slots[0] is None for site in entered if site.slots
        ):
            raise LookupError(
                f"by={by!r}: the method has no such value; arg0 and so on are known even if a "
                "class was compiled without -g"
            )

    def _record(self, site: Site, row: memoryview, ended: int, started: int, thread: int) -> Any:
        raise NotImplementedError("requests are read as columns")

    def _records(self, found: list[Any]) -> Any:
        return found

    # ---- reading ---------------------------------------------------------------------------------

    def update(self) -> None:
        """Take what is recorded over."""
        with self._lock:
            rows, heads = self._take_rows()
            if not len(rows):
                return
            sites = heads["site"]
            probes = numpy.array([site.probe for site in self._sites])[sites]
            begins = probes == 1
            labels = numpy.full(len(rows), -1, numpy.int32)
            for number in numpy.unique(sites[begins]).tolist():
                at = numpy.flatnonzero(sites == number)
                labels[at] = self._labels_of(self._sites[number], rows[at])
            now = heads["time"]
            self._entries.append((heads["thread"][begins], now[begins], labels[begins]))
            self._calls.append((heads["thread"][~begins], heads["started"][~begins], now[~begins]))

    def _labels_of(self, site: Site, rows: NDArray[Any]) -> NDArray[numpy.int32]:
        """The numbers of the texts that name the requests."""
        slot = site.slots[0] if site.slots else None
        if slot is None:
            return numpy.full(len(rows), self._number_of(site.called), numpy.int32)
        size = slot.size(self._shape.text_size)
        cells = numpy.ascontiguousarray(rows[:, slot.at : slot.at + size]).view(f"V{size}").ravel()
        distinct, inverse = numpy.unique(cells, return_inverse=True)
        start = type(slot)(slot.letter, 0)
        found = []
        for one in distinct:
            value = start.read(memoryview(one.tobytes()), self._class_names, self._shape.text_size)
            self._cut_name |= isinstance(value, RecordedObject) and value.is_cut
            found.append(self._number_of(key_name(value)))
        return numpy.array(found, numpy.int32)[inverse]

    def _number_of(self, text: str) -> int:
        if text not in self._labels and len(self._labels) >= _MOST_LABELS:
            text = OTHERS
        return self._labels.setdefault(text, len(self._labels))

    @property
    def labels(self) -> list[str]:
        """The texts that name requests; the numbers of `label` count them."""
        return list(self._labels)

    def note(
        self, samples: Samples, nameless: NDArray[Any], stacks: Stacks, frames: Frames
    ) -> str | None:
        """A sentence on what names do not say; ``None`` if they say all.

        Args:
            samples: the samples of one kind.
            nameless: which of them are in no known request, as `labelled` says.
            stacks: their stacks.
            frames: the stacks' frames.
        """
        # An object whose class nobody knows beforehand may have the field or not.
        if set(self._labels) == {"?"}:
            return f"No request has a name: none had a value for by={self.by!r}."
        early = self._early(samples, nameless, stacks, frames)
        if early >= _NOTED:
            return (
                f"{early:.0%} of the samples in requests are of some that began before the "
                "profile: these have no name."
            )
        if not self._labels:
            return f"No request began: {self._method} was not called."
        if self._cut_name:
            return (
                f"Names of requests that end with … had more than {_LONGEST_NAME} bytes: those "
                "that differ only behind that count as one."
            )
        return None

    def _early(
        self, samples: Samples, nameless: NDArray[Any], stacks: Stacks, frames: Frames
    ) -> float:
        """The part of what has the method on the stack that belongs to no known request."""
        called = {site.called for site in self._sites}
        here = numpy.array([name in called for name in frames.names()], numpy.int64)
        before = numpy.concatenate([[0], numpy.cumsum(here[stacks.frames])])
        inside = numpy.diff(before[stacks.offsets]) > 0
        weights = samples.weight * inside[samples.stack]
        return float(weights[nameless].sum() / max(weights.sum(), 1))

    # ---- samples ---------------------------------------------------------------------------------

    def labelled(self, samples: Samples, threads: Threads) -> tuple[Samples, NDArray[Any]]:
        """The samples with the number of their request in `labels`; -1 outside of any.

        Of requests within requests the outermost counts. A sample of wall-clock time ends at its
        moment, is as long as its weight, and is split where a request begins or ends.

        Args:
            samples: the samples of one kind, with times since the epoch.
            threads: their threads.

        Returns:
            The samples, and which of those that were given are in no known request. The stack of
            wall-clock time is some time after the sample's moment, if the machine is busy: only
            samples well before the first request of a thread are in none.
        """
        label = numpy.full(len(samples), -1, numpy.int32)
        with self._lock:
            entries = [numpy.concatenate(parts) for parts in zip(*self._entries, strict=True)]
            calls = [numpy.concatenate(parts) for parts in zip(*self._calls, strict=True)]
        columns = samples.columns() | {"label": label}
        if not entries:
            return Samples(**columns), label < 0
        # Records have the monotonic clock.
        since = time.time_ns() - time.monotonic_ns()
        ids = threads.id[samples.thread]
        passed = samples.kind == Profiled.WALL
        cut: list[dict[str, NDArray[Any]]] = []
        whole = numpy.ones(len(samples), numpy.bool_)
        nameless = whole.copy()
        for thread in numpy.unique(entries[0]).tolist():
            mine = numpy.flatnonzero(ids == thread)
            if not len(mine):
                continue
            here, there = entries[0] == thread, calls[0] == thread
            known = entries[1][here], entries[2][here], calls[1][there], calls[2][there]
            spans = _spans(*known, complete=not self.dropped)
            starts, ends, labels = spans
            if not len(starts):  # the records that go with those that there are were dropped
                continue
            moments = samples.time[mine] - since
            at = numpy.searchsorted(starts, moments, "right") - 1
            within = (at >= 0) & (moments <= ends[at])
            label[mine[within]] = labels[at[within]]
            nameless[mine] = ~within
            if not passed[mine[0]]:
                continue
            nameless[mine] = at < 0
            # A virtual thread's sample stands for others, too, and is as long as nobody knows.
            if not threads.virtual[samples.thread[mine[0]]]:
                nameless[mine] = moments + samples.weight[mine] < starts[0]
                cut.append(_cut(samples.take(mine), since, spans))
                whole[mine] = False
        parts = [{name: column[whole] for name, column in columns.items()}, *cut]
        columns = {name: numpy.concatenate([part[name] for part in parts]) for name in columns}
        return Samples(**columns), nameless


def _cut(samples: Samples, since: int, spans: Spans) -> dict[str, NDArray[Any]]:
    """The columns of one thread's samples, cut where requests begin and end."""
    starts, ends, labels = spans
    # Between two edges everything is of one request, or of none.
    edges = numpy.empty(2 * len(starts), numpy.int64)
    edges[::2], edges[1::2] = starts, ends
    between = numpy.full(2 * len(starts) + 1, -1, numpy.int32)
    between[1::2] = labels
    last = samples.time - since
    first = last - samples.weight
    begin = numpy.searchsorted(edges, first, "right")
    end = numpy.maximum(numpy.searchsorted(edges, last, "left"), begin)
    pieces = end - begin + 1
    row = numpy.repeat(numpy.arange(len(samples)), pieces)
    place = numpy.arange(len(row)) - numpy.repeat(numpy.cumsum(pieces) - pieces, pieces)
    gap = begin[row] + place
    padded = numpy.concatenate([[numpy.iinfo(numpy.int64).min], edges, [_NEVER]])
    left = numpy.maximum(padded[gap], first[row])
    right = numpy.minimum(padded[gap + 1], last[row])
    columns = {name: column[row] for name, column in samples.columns().items()}
    columns |= {"time": right + since, "weight": right - left, "label": between[gap]}
    kept = right > left
    return {name: column[kept] for name, column in columns.items()}


def _spans(
    entered: NDArray[Any],
    labels: NDArray[Any],
    started: NDArray[Any],
    ended: NDArray[Any],
    complete: bool,
) -> Spans:
    """The outermost calls of one thread: when they began and ended, and their labels.

    Args:
        entered: when calls began, by the records of their beginnings.
        labels: the numbers of these calls' names.
        started: when calls that have ended began, by the records of their ends.
        ended: when they ended.
        complete: whether no record is missing.
    """
    order = numpy.argsort(entered, kind="stable")
    entered, labels = entered[order], labels[order]
    order = numpy.argsort(started, kind="stable")
    started, ended = started[order], ended[order]
    latest = ended.max(initial=-1)
    # The record of a call's entry is the first one after its start; it may have been dropped.
    first = numpy.searchsorted(entered, started)
    known = first < len(entered)
    known[known] = entered[first[known]] <= ended[known]
    started, ended, first = started[known], ended[known], first[known]
    # Those without an end are running, with the calls in them that have ended; or their ends were
    # dropped, if others ended later.
    running = numpy.setdiff1d(numpy.arange(len(entered)), first)
    if not complete:
        running = running[entered[running] > latest]
    running = running[:1]
    starts = numpy.concatenate([started, entered[running]])
    ends = numpy.concatenate([ended, numpy.full(len(running), _NEVER)])
    found = numpy.concatenate([labels[first], labels[running]])
    order = numpy.argsort(starts, kind="stable")
    starts, ends, found = starts[order], ends[order], found[order]
    until = numpy.maximum.accumulate(ends) if len(ends) else ends
    outer = numpy.ones(len(starts), numpy.bool_)
    outer[1:] = starts[1:] >= until[:-1]
    return starts[outer], ends[outer], found[outer]


__all__ = ["Requests"]
