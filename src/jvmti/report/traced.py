"""Tables of traced calls, hits and summaries for notebooks."""

from __future__ import annotations

from collections.abc import Sequence

from jvmti.heap.html.elements import Content, and_more, element, table
from jvmti.tracing.logpoint import Hit
from jvmti.tracing.probe_set import ProbeSet
from jvmti.tracing.records.calls import Call, spent, value_text
from jvmti.tracing.records.recorder import Recorder
from jvmti.tracing.summaries import Uses

__all__ = ["call_table", "hit_table", "probe_view", "use_table"]

_ROWS = 50
_STACK = 3
"""Callers of a call or a place."""


def _moment(record: Call | Hit) -> str:
    return f"{record.moment:%H:%M:%S.%f}"


def call_table(calls: Sequence[Call]) -> Content:
    """The first calls."""
    rows: list[tuple[object, ...]] = []
    for one in calls[:_ROWS]:
        handed = one.arguments if one.objects is None else one.objects.recorded
        listed = ", ".join([*map(value_text, handed), *["…"] * bool(one.omitted)])
        outcome = one.outcome.removeprefix("= ")
        callers = ", ".join(one.stack[:_STACK])
        rows.append((_moment(one), one.thread, one.name, listed, outcome, spent(one.duration)))
        if callers:
            rows.append(("", "", element("small", f"from {callers}"), "", "", ""))
    heads = ["ended", "thread", "method", "arguments", "outcome", "took"]
    return table(heads, rows, and_more(len(calls), _ROWS, "calls"))


def hit_table(hits: Sequence[Hit]) -> Content:
    """The first hits."""
    rows: list[tuple[object, ...]] = []
    for one in hits[:_ROWS]:
        place = f"{one.class_name}.{one.method}:{one.line}"
        rows.append((_moment(one), one.thread, place, one.text))
        if callers := ", ".join(one.stack[1 : 1 + _STACK]):
            rows.append(("", "", element("small", f"from {callers}"), ""))
    return table(["time", "thread", "place", "text"], rows, and_more(len(hits), _ROWS, "hits"))


def use_table(uses: Uses) -> Content:
    """The most expensive rows of a summary."""
    rows = [
        (
            *(label, one.calls, one.failures),
            *(spent(round(t)) for t in (one.total, one.mean, one.p50, one.p99, one.longest)),
        )
        for label, one in zip(uses.labels()[:_ROWS], uses, strict=False)
    ]
    heads = ["", "calls", "failed", "total", "mean", "p50", "p99", "longest"]
    return table(heads, rows, and_more(len(uses), _ROWS, "rows"))


def probe_view(probes: ProbeSet) -> list[Content]:
    """Elements for a set of probes, with the summary of one that counts."""
    content: list[Content] = [element("p", element("code", repr(probes)))]
    if isinstance(probes, Recorder) and probes.counts:
        content.append(use_table(probes.summary()))
    return content
