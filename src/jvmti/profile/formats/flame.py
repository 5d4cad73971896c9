"""Flame graphs: one page of HTML without anything from elsewhere.

The page gets the tree of methods, and *cells*: the weight of one kind, thread and moment that ends
in one node.  So it can show any thread, time and direction without the samples.  Names of the
target are data in it, never markup, and its policy allows no script but its own.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from functools import cache
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy
from numpy.typing import NDArray

from jvmti.profile.call_tree import Columns, distinct, sorted_rows
from jvmti.profile.tables import FrameKind, Samples
from jvmti.text.pools import pool_of
from jvmti.text.printable import escaped, printable
from jvmti.text.quantities import duration, quantity

if TYPE_CHECKING:
    from jvmti.profile.difference import Difference
    from jvmti.profile.profile import Profile

__all__ = ["FlameGraph", "difference_graph", "profile_graph", "write"]

_BUCKETS = (240, 60, 12, 1)
"""Into how many moments a profile is divided: as many as there is room for. Each number divides the
one before."""
_CELLS = 400_000
_EXACT_CELLS = 20_000
"""With fewer cells the page has their exact weights."""
_THREADS = 250
"""With more threads, those of a pool are one."""
_HEIGHT = 640


class FlameGraph:
    """A flame graph as a page; a notebook shows it.

    Attributes:
        html: the whole page.
        title: its title.
    """

    def __init__(self, html: str, title: str) -> None:
        self.html = html
        self.title = title

    def save(self, path: str) -> None:
        """Write the page.

        Raises:
            OSError: the file cannot be written.
        """
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.html)

    def _repr_html_(self) -> str:
        # In a frame of its own, so that neither its style nor its script touches the notebook.
        return (
            f'<iframe sandbox="allow-scripts" style="width:100%;height:{_HEIGHT}px;border:0" '
            f'srcdoc="{escape(self.html)}"></iframe>'
        )

    @escaped
    def __repr__(self) -> str:
        return f"<FlameGraph: {self.title}>"


class _Part(NamedTuple):
    """One of the things that the widths can be."""

    name: str
    unit: str
    samples: Samples
    scale: float
    """The factor of weights."""


def write(profile: Profile, path: str, name: str) -> None:
    """Write the page of a profile."""
    profile_graph(profile, title=Path(name).name).save(path)


def profile_graph(profile: Profile, title: str = "") -> FlameGraph:
    """The flame graph of a profile; its kinds of samples can be chosen in it."""
    parts = []
    for kind in profile.kinds or (profile.kind,):
        samples = profile[kind].samples if len(profile) else profile.samples
        parts.append(_Part(kind.name.lower(), kind.unit, samples, 1.0))
    complaints = [f"{one!r:.200}"[1:-1] for one in profile.limits]
    for one in profile.limits:
        complaints += one.complaints()
    seconds = duration((profile.ended - profile.began) / 1e9)
    about = (
        f"{quantity(len(profile), 'sample')} of "
        f"{quantity(profile._sampled_threads(), 'thread')} in {seconds}"
    )
    return _graph(profile, parts, title or about, [about, *complaints])


def difference_graph(difference: Difference, title: str = "") -> FlameGraph:
    """The flame graph of two profiles: red has grown, blue has shrunk."""
    unit = "share" if difference.per == "share" else f"{difference.kind.unit}/s"
    parts = [
        _Part(name, unit.replace("ns", "s"), profile.samples, scale)
        for name, profile, scale in zip(
            ("before", "after"),
            (difference.before, difference.after),
            difference._scales,
            strict=True,
        )
    ]
    about = f"What changed, in amounts per {difference.per}: red has grown, blue has shrunk."
    limits = [text for one in difference.before.limits for text in one.complaints()]
    return _graph(difference.before, parts, title or "Difference", [about, *limits], compare=True)


def _graph(
    profile: Profile, parts: list[_Part], title: str, about: list[str], *, compare: bool = False
) -> FlameGraph:
    columns = profile._columns
    tree = columns.tree
    thread, threads = _threads(profile)
    began, ended = profile.began, profile.ended
    timed = ended > began and not compare
    finest = _BUCKETS[0] if timed else 1
    counted = [
        _Counted(one.samples, tree.end, len(tree), thread, began, ended, finest) for one in parts
    ]
    buckets = next(
        one
        for one in (_BUCKETS if timed else (1,))
        if one == 1 or sum(part.number(one) for part in counted) <= _CELLS
    )
    slots, kinds, cells = [], [], []
    for number, (part, count) in enumerate(zip(parts, counted, strict=True)):
        slot, node, weight = count.cells(buckets)
        slots.append(slot + number * buckets * len(threads))
        divisor = _divisor(weight)
        kinds.append({"name": part.name, "unit": part.unit, "scale": part.scale * divisor})
        cells.append((node, numpy.rint(weight / divisor)))
    packed = _all_packed(
        up=numpy.arange(len(tree)) - tree.parent,
        name=numpy.maximum(tree.name, 0),
        slot=numpy.diff(numpy.concatenate(slots), prepend=0),
        node=numpy.concatenate([node for node, _ in cells]),
        weight=numpy.concatenate([weight for _, weight in cells]),
    )
    data = {
        "names": [printable(name) for name in columns.names],
        "kindOfName": _kinds(columns),
        "threads": [printable(name) for name in threads],
        "kinds": kinds,
        "buckets": buckets,
        "seconds": (ended - began) / 1e9,
        "whole": "all",
        "compare": compare,
        "limits": about,
        **packed,
    }
    page, style, script = _assets()
    # No text of the target can end the element that it is in.
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c").replace("&", "\\u0026")
    html = page.substitute(
        title=escape(printable(title)),
        style=style,
        script=script,
        styledigest=_digest(style),
        scriptdigest=_digest(script),
        data=text,
    )
    return FlameGraph(html, title)


class _Counted:
    """Samples ordered once, so that each number of moments has its cells without another sort.

    Cells are keyed by thread, node and moment, the moment last: cells of one thread and node follow
    each other in time, and longer moments merge neighbours.
    """

    def __init__(
        self,
        samples: Samples,
        end: NDArray[numpy.int64],
        nodes: int,
        thread: NDArray[numpy.int32],
        began: int,
        ended: int,
        finest: int,
    ) -> None:
        self._finest = finest
        self._nodes = nodes
        key = end[samples.stack]
        if len(samples):
            key += thread[samples.thread].astype(numpy.int64) * nodes
        if finest > 1:
            bucket = samples.time - began
            bucket //= max(ended - began, 1) // finest + 1
            key *= finest
            key += numpy.clip(bucket, 0, finest - 1, out=bucket)
        self._keys, order = sorted_rows(key)
        self._weights = samples.weight[order]

    def _merged(self, buckets: int) -> NDArray[numpy.int64]:
        longer = self._finest // buckets
        return self._keys if longer == 1 else self._keys // longer

    def number(self, buckets: int) -> int:
        """How many cells there are with this many moments."""
        keys = self._merged(buckets)
        return int(numpy.count_nonzero(keys[1:] != keys[:-1])) + bool(len(keys))

    def cells(
        self, buckets: int
    ) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64], NDArray[numpy.int64]]:
        """The slot (thread and moment) of each cell, its node, and its weight; slots ascend."""
        keys = self._merged(buckets)
        first = numpy.flatnonzero(numpy.diff(keys, prepend=-1))
        weights = numpy.add.reduceat(self._weights, first) if len(first) else self._weights
        pair, bucket = numpy.divmod(keys[first], buckets)
        thread, node = numpy.divmod(pair, self._nodes)
        slot_and_node, order = sorted_rows((thread * buckets + bucket) * self._nodes + node)
        slot, node = numpy.divmod(slot_and_node, self._nodes)
        return slot, node, weights[order]


def _divisor(weights: NDArray[numpy.int64]) -> float:
    """The divisor that makes the weights of cells whole numbers of 32 bits.

    With many cells a thousandth of the mean is exact enough: what is rounded up here is rounded
    down there, and the page is half as large.
    """
    least = max(1.0, float(weights.max(initial=0)) / 0xFFFFFFFF)
    if len(weights) < _EXACT_CELLS:
        return least
    return max(least, float(weights.mean()) / 1000)


def _threads(profile: Profile) -> tuple[NDArray[numpy.int32], list[str]]:
    """A number for each thread, and the names of these; the busiest threads come first."""
    names = list(profile.threads.name)
    processes = profile.threads.process
    if len(set(processes)) > 1:
        names = [f"{name} ({one})" for name, one in zip(names, processes, strict=True)]
    code, found = distinct(names)
    if len(found) > _THREADS:
        code, found = distinct([pool_of(name) for name in names])
    if not found:
        return numpy.zeros(1, numpy.int32), [""]
    samples = numpy.bincount(profile.samples.thread, minlength=len(names))
    order = numpy.argsort(-numpy.bincount(code, samples, len(found)), kind="stable")
    rank = numpy.empty(len(order), numpy.int32)
    rank[order] = numpy.arange(len(order))
    kept = order[:_THREADS].tolist()
    if len(order) > _THREADS:
        rank = numpy.minimum(rank, _THREADS)
        return rank[code], [found[row] for row in kept] + ["(other threads)"]
    return rank[code], [found[row] for row in kept]


def _kinds(columns: Columns) -> list[str]:
    """The kind of code of each method; its first frame decides."""
    kinds = [""] * len(columns.names)
    words = [one.name.lower() if one else "" for one in FrameKind]
    for code, kind in zip(
        columns.method[::-1].tolist(), columns.frames.kind[::-1].tolist(), strict=True
    ):
        kinds[code] = words[kind]
    return kinds


def _all_packed(**columns: NDArray[Any]) -> dict[str, str]:
    """Columns by their names; zlib lets another thread run while it deflates many numbers."""
    if sum(map(len, columns.values())) < _EXACT_CELLS:
        return {name: _packed(column) for name, column in columns.items()}
    from concurrent.futures import ThreadPoolExecutor  # a small page needs none

    with ThreadPoolExecutor(2) as threads:
        return dict(zip(columns, threads.map(_packed, columns.values()), strict=True))


def _packed(numbers: NDArray[Any]) -> str:
    """Numbers of 32 bits, deflated: the lowest bytes of all first, which compresses best.

    Then nothing but runs repeats, and to look for more takes longer and finds none.
    """
    column = numpy.ascontiguousarray(numbers).astype("<u4")
    planes = column.view(numpy.uint8).reshape(-1, 4).T.tobytes()
    deflating = zlib.compressobj(1, strategy=zlib.Z_RLE)
    return base64.b64encode(deflating.compress(planes) + deflating.flush()).decode()


@cache
def _assets() -> tuple[Template, str, str]:
    here = Path(__file__)
    return (
        Template(here.with_suffix(".html").read_text("utf-8")),
        here.with_suffix(".css").read_text("utf-8"),
        here.with_suffix(".js").read_text("utf-8"),
    )


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
