"""Summaries: what probes have counted in the target, by place or by a value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from jvmti import display
from jvmti.deferred import numpy
from jvmti.instrumentation.probes import BadProbe, Operand
from jvmti.interface.signatures import parameters_of, result_of
from jvmti.layouts.probe_memory import TALLIES
from jvmti.layouts.probes import Operand as Kind
from jvmti.layouts.probes import RecordedKind
from jvmti.tracing.conditions import CALLS, EVERYWHERE, parsed, value_of
from jvmti.tracing.records.calls import value_text
from jvmti.tracing.records.memory import bucket_starts
from jvmti.tracing.records.sites import RecordedObject, Site

OTHERS = "others"
"""The name for calls whose value found no place."""
MISSING = "?"
"""The name for calls without a value: the object is of a class that has no such field."""
_PLACES: Mapping[str, Callable[[Site], str]] = {
    "method": lambda site: site.called,
    "place": lambda site: f"{site.name}:{site.line or '?'}",
}
_VALUES = {
    "class": Operand(Kind.THIS, "X", path="class"),
    "thread": EVERYWHERE["thread"]._replace(path="name"),
}


class Use(NamedTuple):
    """Calls added up: those of a method, or those with a value."""

    name: str
    """The class and the method, with a dot between them; or the value."""
    descriptor: str
    """The method's descriptor; nothing where calls are counted by something else."""
    calls: int
    """How many have ended."""
    failures: int
    """How many of them an exception has left."""
    total: int
    """Nanoseconds, all together."""
    mean: float
    """Nanoseconds."""
    p50: float
    """Nanoseconds within which half of them ended, a fifth too much at most."""
    p99: float
    """The same of 99 in 100."""
    longest: int
    """Nanoseconds of the longest."""


class Uses(display.Rows[Use], display.Tabular):
    """A summary, the most expensive first: a list, and a table with the fields of `Use`."""

    def labels(self) -> list[str]:
        """The name of each row, made longer where methods share it.

        By the types of the parameters, then, for the bridges that a compiler makes, by that of
        the result.
        """
        names = [one.name for one in self]
        for longer in (_parameters, _result):
            shared = Counter(names)
            names = [
                name + longer(use.descriptor) if shared[name] > 1 and use.descriptor else name
                for name, use in zip(names, self, strict=True)
            ]
        return names

    def to_arrow(self) -> Any:
        """The summary as a ``pyarrow.Table``.

        Raises:
            ImportError: pyarrow is not installed; ``pip install 'jvmti[arrow]'`` does.
        """
        import pyarrow

        types = [pyarrow.string()] * 2 + [pyarrow.int64()] * 3 + [pyarrow.float64()] * 3
        return pyarrow.table(
            {
                name: pyarrow.array([one[place] for one in self], type_)
                for place, (name, type_) in enumerate(
                    zip(Use._fields, [*types, pyarrow.int64()], strict=True)
                )
            }
        )


class Grouping(NamedTuple):
    """The key by which calls are counted.

    A place, or a value at it.
    """

    text: str
    """The user's text."""
    operand: Operand | None
    """Where the value comes from; ``None`` for places."""

    @staticmethod
    def of(text: str, words: Mapping[str, Operand] = CALLS) -> Grouping:
        """The grouping behind a text.

        ``method``, ``place``, ``class`` (of the receiver), ``thread``, ``caller``, or a value.

        Args:
            text: the text.
            words: what has a name at such a place.

        Raises:
            BadProbe: it is none.
        """
        if text in _PLACES:
            return Grouping(text, None)
        if text in _VALUES:
            return Grouping(text, _VALUES[text])
        tree = parsed(text)
        if tree is None:
            raise BadProbe(
                f"by={text!r}: method, place, class, thread, caller, or a value such as "
                "order.customer.name"
            )
        operand, path = value_of(tree, text, words=words)
        if operand.kind is Kind.TOOK:
            raise BadProbe("a summary has how long calls took; count them by something else")
        return Grouping(text, operand._replace(path=path))

    def operands(
        self, began: Operand, *, failed: bool = False, returns: bool = False
    ) -> tuple[Operand, ...]:
        """The arguments of ``tally``.

        Args:
            began: when the call began.
            failed: it counts calls that fail.
            returns: it counts calls that return, for which a method may have many places.
        """
        number = Operand(Kind.NUMBER, "I", 0)
        if self.operand is None:
            # The number of tallies is limited.
            whole = returns and self.text == "method"
            return number, Operand(Kind.METHOD_SITE if whole else Kind.SITE, "I"), began
        return (
            *(number, number._replace(number=int(failed)), began),
            *(self.operand._replace(type="L"), Operand(Kind.POSITION, "I")),
        )

    def name(self, site: Site) -> str:
        """The name of counts at a place."""
        return _PLACES[self.text](site)


def _parameters(descriptor: str) -> str:
    return f"({', '.join(_simple(name) for name in parameters_of(descriptor))})"


def _result(descriptor: str) -> str:
    return f": {_simple(result_of(descriptor))}"


def _simple(name: str) -> str:
    return name.rpartition(".")[2]


def key_name(value: Any) -> str:
    """The name of counts by a value."""
    if isinstance(value, tuple):
        return value[0] if value else MISSING
    if isinstance(value, str):
        return value
    if isinstance(value, RecordedObject):
        if value.kind is RecordedKind.STRING:
            return f"{value.text}…" if value.is_cut else f"{value.text}"
        if value.kind is RecordedKind.CLASS:
            return f"{value.text}"
        if value.text is None and value.kind is not RecordedKind.ABSENT:
            return value.class_name
    return value_text(value)


class _Sum:
    def __init__(self) -> None:
        self.counts = numpy.zeros(TALLIES.BUCKETS, numpy.int64)
        self.failures = self.total = self.longest = 0

    def add(self, buckets: Any, total: int, longest: int, *, failed: bool) -> None:
        self.counts += buckets
        self.failures += int(buckets.sum()) if failed else 0
        self.total += total
        self.longest = max(self.longest, longest)


def added_up(tallies: Any, names: Sequence[tuple[str, str]], failed: Sequence[bool]) -> Uses:
    """The summary of tallies.

    Args:
        tallies: as `jvmti.layouts.probe_memory.TALLIES` lays them out, for each stripe.
        names: what each of them is about: a name and a descriptor.
        failed: whether it counts calls that failed.
    """
    if not len(names):
        return Uses()
    sums: dict[tuple[str, str], _Sum] = {}
    buckets = tallies[:, :, : TALLIES.BUCKETS].sum(axis=0)
    totals = tallies[:, :, TALLIES.BUCKETS].sum(axis=0)
    longest = tallies[:, :, TALLIES.BUCKETS + 1].max(axis=0, initial=0)
    for number in numpy.flatnonzero(buckets.sum(axis=1)).tolist():
        sums.setdefault(names[number], _Sum()).add(
            buckets[number], int(totals[number]), int(longest[number]), failed=failed[number]
        )
    ends = numpy.append(bucket_starts()[1:], numpy.inf)
    found = []
    for (name, descriptor), one in sums.items():
        calls = int(one.counts.sum())
        running = numpy.cumsum(one.counts)
        within = [
            float(min(ends[int(numpy.searchsorted(running, part * calls))], one.longest))
            for part in (0.5, 0.99)
        ]
        found.append(
            Use(
                *(name, descriptor, calls, one.failures, one.total, one.total / calls),
                *(within[0], within[1], one.longest),
            )
        )
    return Uses(sorted(found, key=lambda use: (-use.total, -use.calls)))


__all__ = ["MISSING", "OTHERS", "Grouping", "Use", "Uses", "added_up", "key_name"]
