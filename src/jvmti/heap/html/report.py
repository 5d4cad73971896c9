"""A report of a snapshot: one HTML file that needs nothing else, no network and no JVM.

Each section calls a function that programs can call, too. Elements form a tree that is escaped when
it is written, so no name of the heap can inject markup, and a policy in the page forbids it to load
anything or to run another script. The page works without scripts; they sort tables and open areas
of the map.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import string
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from jvmti.heap import files
from jvmti.heap.analyses.containers import Collections, collections
from jvmti.heap.analyses.deployments import LoaderSuspect, class_loader_leaks
from jvmti.heap.analyses.duplicates import duplicate_arrays, duplicate_strings
from jvmti.heap.analyses.leaks import Suspect, find_leaks
from jvmti.heap.analyses.pruned_dominators import Branch, pruned_dominator_tree
from jvmti.heap.analyses.suspects import (
    direct_buffers,
    finalizer_queue,
    reference_queues,
    thread_locals,
)
from jvmti.heap.errors import HeapError
from jvmti.heap.html.elements import (
    Content,
    Element,
    and_more,
    element,
    in_bytes,
    paragraph,
    percentage,
    table,
    to_html,
)
from jvmti.heap.html.treemap import Area, squarified, treemap
from jvmti.text.quantities import quantity

if TYPE_CHECKING:
    from jvmti.heap.objects import Object
    from jvmti.heap.snapshot import Snapshot

__all__ = ["STEP", "label", "named", "page", "path", "summary", "suspect", "write"]

STEP = 4
"""The step number that progress functions receive for the report."""

_ROWS = 50
"""Rows of most tables."""
_CLASSES = 500
_PACKAGES = 100
_FRAMES = 50
_PATH = (25, 10)
"""Steps of a path from a root to show, at both ends."""
_TEXT = 200
"""Characters of a string to show."""
_HUES = (212, 150, 28, 280, 340, 180, 50, 250, 100, 310)


def write(
    snapshot: Snapshot, path: str | os.PathLike[str], *, title: str, force: bool = False
) -> None:
    """See `Snapshot.report`."""
    with files.created(path, force=force) as descriptor:
        files.write_all(descriptor, memoryview(page(snapshot, title).encode()))


def page(snapshot: Snapshot, title: str) -> str:
    """The text of the file."""
    sections: list[tuple[str, str, Callable[[Snapshot], list[Content]]]] = [
        ("map", "What holds the heap", _map),
        ("suspects", "Leak suspects", _suspects),
        ("tree", "Dominator tree", _tree),
        ("accumulation-points", "Accumulation points", _accumulation_points),
        ("classes", "Classes", _classes),
        ("packages", "Packages", _packages),
        ("threads", "Threads", _threads),
        ("thread-locals", "Thread-local variables", _thread_locals),
        ("loaders", "Class loaders", _loaders),
        ("strings", "Duplicate strings", _strings),
        ("arrays", "Duplicate arrays", _arrays),
        ("collections", "Collections", _collections),
        ("queues", "Finalizer and reference queues", _queues),
        ("buffers", "Direct buffers", _buffers),
    ]
    main = element("main")
    contents = element("nav", **{"aria-label": "Contents"})
    for number, (name, heading, make) in enumerate(sections):
        if snapshot._report is not None:
            snapshot._report(STEP, number, len(sections))
        contents.append(element("a", heading, href=f"#{name}"))
        try:
            content = make(snapshot)
        except HeapError as error:  # in a damaged dump a class may lack what all VMs have
            content = [element("p", f"Not available: {error}", class_="fault")]
        main.append(element("section", element("h2", heading), *content, id=name))
    if snapshot._report is not None:
        snapshot._report(STEP, len(sections), len(sections))
    header = element("header", element("h1", title), *summary(snapshot), contents)
    template = string.Template(Path(__file__).with_suffix(".html").read_text("utf-8"))
    script = Path(__file__).with_suffix(".js").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return template.substitute(
        title=to_html(element("title", title)),
        header=to_html(header),
        main=to_html(main),
        style=Path(__file__).with_suffix(".css").read_text("utf-8"),
        script=script,
        digest=digest,
    )


def label(obj: Object) -> str:
    """An object in words, without its number."""
    return repr(obj)[1:-1].partition(": ")[2]


def named(obj: Object) -> Element:
    """An object in words, with its number."""
    return element("span", label(obj), element("small", f" #{obj.index}"), class_="object")


# Sections


def summary(snapshot: Snapshot) -> list[Content]:
    """The size of the heap, and damage of the dump."""
    pairs = [
        ("objects", f"{len(snapshot):,}"),
        ("bytes", f"{snapshot.size:,}"),
        ("classes", f"{len(snapshot.classes):,}"),
        ("class loaders", f"{len(snapshot.loaders):,}"),
        ("threads", f"{len(snapshot.threads):,}"),
        ("roots", f"{len(snapshot.roots):,}"),
        (
            "garbage" if snapshot.unreachable == "drop" else "garbage, included",
            quantity(snapshot.unreachable_count, "object"),
        ),
        ("dumped", time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(snapshot.time))),
    ]
    if snapshot.pause:
        pairs.append(("program stopped for at most", f"{snapshot.pause:.2g} s"))
    found: list[Content] = [
        element(
            "dl",
            *(element("div", element("dt", name), element("dd", value)) for name, value in pairs),
        )
    ]
    if snapshot.fault is not None:
        found.append(element("p", f"The dump is damaged {snapshot.fault}", class_="fault"))
    return found


def _map(snapshot: Snapshot) -> list[Content]:
    whole = treemap(snapshot)
    hues = {
        area.name: hue
        for area, hue in zip((one for one in whole.areas if not one.is_rest), _HUES, strict=False)
    }
    box = element("div", class_="map", id="treemap")
    _draw(box, whole, whole.retained, 1200, 620, hues)
    return [
        paragraph(
            "Retained bytes as areas: packages, in them the objects that only roots hold, and in "
            "each place the objects that it holds. Click on a place, or press Enter, to open it; "
            "Escape goes back."
        ),
        element(
            "p",
            element("button", "Whole heap", type="button", id="out", hidden=""),
            element("output", f"All: {in_bytes(whole.retained)}", id="area"),
            class_="readout",
        ),
        box,
    ]


def _draw(
    into: Element,
    area: Area,
    whole: int,
    width: float,
    height: float,
    hues: dict[str, int],
    level: int = 0,
) -> None:
    """Draw the inside of an area, in fractions of its width and height."""
    own = area.retained - sum(one.retained for one in area.areas)
    sizes = [float(one.retained) for one in area.areas] + ([float(own)] if own > 0 else [])
    for one, place in zip(area.areas, squarified(sizes, width, height), strict=False):
        count = quantity(one.count, "place") if one.is_rest else quantity(one.count, "object")
        what = f"{one.name}: {in_bytes(one.retained)}, {percentage(one.retained, whole)}, {count}"
        style = (
            f"left:{100 * place.left / width:.3f}%;top:{100 * place.top / height:.3f}%;"
            f"width:{100 * place.width / width:.3f}%;height:{100 * place.height / height:.3f}%"
        )
        hue = hues.get(one.name) if level == 0 and not one.is_rest else None
        if hue is not None:
            style += f";--hue:{hue};--colour:1"
        box = element("div", class_="area", style=style, title=what)
        if place.width > 24 and place.height > 13:
            box.append(element("span", one.name if level == 0 else _short(one.name)))
        size = place.width - 4, place.height - 20
        if one.areas and size[0] > 8 and size[1] > 8:
            inside = element("div", class_="inside")
            _draw(inside, one, whole, *size, hues, level + 1)
            box.append(inside)
        into.append(box)


def _short(name: str) -> str:
    """The name of a place without packages."""
    return re.sub(r"[^\s.]+\.", "", name)


def path(steps: list[tuple[str, Object]]) -> Element:
    """A path from a root: each reference, and its object."""
    first, last = _PATH
    items = [element("li", element("code", name), " ", named(one)) for name, one in steps]
    if len(items) > first + last:
        left = len(items) - first - last
        items[first:-last] = [element("li", f"… {left:,} steps …")]
    return element("ol", *items, class_="path")


def _suspects(snapshot: Snapshot) -> list[Content]:
    found: list[Content] = [
        paragraph(
            "Objects that hold a twentieth of the heap or more in many parts, by what accumulates "
            "and the field of the program that holds it, with a path from a root. Class loaders "
            "that were replaced or closed, but are still reachable."
        )
    ]
    leaks = find_leaks(snapshot)
    found += map(suspect, leaks.suspects)
    found += map(_out_of_use, leaks.loaders)
    if not leaks.suspects and not leaks.loaders:
        found.append(element("p", "None.", class_="none"))
    return found


def _out_of_use(one: LoaderSuspect) -> Element:
    """A class loader that stays, with a path to it."""
    assert one.loader.object is not None
    why = ", ".join(filter(None, (one.age, one.stopped)))
    return element(
        "article",
        element(
            "h3",
            named(one.loader.object),
            f" is out of use ({why}) and holds {in_bytes(one.retained)} in {one.owner}",
        ),
        path(one.path),
    )


def suspect(one: Suspect) -> Element:
    """A suspect with a path to it from a root."""
    pieces = f"{one.children:,} of {one.children_class}" if one.children else label(one.object)
    return element(
        "article",
        element("h3", f"{one.where} holds {in_bytes(one.retained)} ({one.part:.1%}) in {pieces}"),
        path(one.path),
        **{"data-object": str(one.object.index), "data-retained": str(one.retained)},
    )


def _tree(snapshot: Snapshot) -> list[Content]:
    top = pruned_dominator_tree(snapshot)
    return [
        paragraph(
            "What each object retains: its own size, and that of all objects freed with it. "
            "Shows the largest objects, and the sum of the others."
        ),
        element("ul", *_branches(snapshot, top, top.retained, 0), class_="tree"),
    ]


def _branches(snapshot: Snapshot, above: Branch, whole: int, level: int) -> list[Element]:
    rows = [_branch(snapshot, above, one, whole, level) for one in above.branches]
    if above.others:
        most = f", {above.others_of_class:,} of them"
        rows.append(
            element(
                "li",
                _measure(above.others_retained, whole),
                f"{'others' if above.branches else 'not shown'}: {above.others:,} objects"
                f"{most if above.others_of_class < above.others else ''}"
                f" of class {above.others_class}",
                class_="others",
            )
        )
    return rows


def _branch(snapshot: Snapshot, above: Branch, branch: Branch, whole: int, level: int) -> Element:
    assert branch.object is not None
    if above.object is None:
        reference = snapshot.roots.describe(branch.object)
        # An object that several roots lead to is dominated by none of them.
        reference = "" if reference == "no root" else reference
    else:
        reference = snapshot.reference_name(above.object, branch.object).replace("?", "")
    content: list[Content] = [_measure(branch.retained, whole)]
    if reference:
        content += [element("code", reference), " "]
    content.append(named(branch.object))
    if not branch.children:
        return element("li", *content)
    unfolded = {"open": ""} if level < 3 and branch.retained > whole / 5 else {}
    below = _branches(snapshot, branch, whole, level + 1)
    return element(
        "li", element("details", element("summary", *content), element("ul", *below), **unfolded)
    )


def _measure(retained: int, whole: int) -> Element:
    part = retained / max(whole, 1)
    return element(
        "span",
        element("b", f"{part:.1%}"),
        element("data", f"{retained:,}", value=str(retained)),
        class_="measure",
        style=f"--part:{part:.2%}",
    )


def _accumulation_points(snapshot: Snapshot) -> list[Content]:
    tree = snapshot.dominators()
    points = tree.accumulation_points(limit=_ROWS)
    return [
        paragraph(
            "Objects that retain more than the largest object below them, by a hundredth of the "
            "heap or more."
        ),
        table(
            ["retained", "of all", "largest below", "objects below", "object"],
            [
                (
                    one.retained,
                    one.retained / max(tree.total, 1),
                    one.largest_child,
                    one.children,
                    named(one.object),
                )
                for one in points
            ],
        ),
    ]


def _classes(snapshot: Snapshot) -> list[Content]:
    histogram = snapshot.histogram(retained=True)
    rows = histogram.top(_CLASSES, by="retained")
    rest = ""
    if len(histogram) > len(rows):
        rest = (
            f"and {len(histogram) - len(rows):,} more classes with "
            f"{quantity(histogram.total_count - rows.total_count, 'object')}, "
            f"{quantity(histogram.total_bytes - rows.total_bytes, 'byte')}"
        )
    return [
        paragraph(
            "Objects of each class, their shallow bytes, and the bytes that they retain one by "
            "one, none counted twice. What they retain only together is not included."
        ),
        table(
            ["objects", "bytes", "retained", "class", "loader"],
            [
                (
                    row.count,
                    row.bytes,
                    row.retained,
                    row.name,
                    None if row.loader is None else element("small", row.loader),
                )
                for row in rows
            ],
            rest,
        ),
    ]


def _packages(snapshot: Snapshot) -> list[Content]:
    found = snapshot.histogram(by="package", retained=True)
    rows = [
        (row.count, row.bytes, row.retained or 0, row.name)
        for row in found.top(len(found), by="retained")
    ]
    return [
        paragraph(
            "The same by package. A class itself, with what its static fields hold, counts as an "
            "object of its own package in what is retained."
        ),
        table(
            ["objects", "bytes", "retained", "package"],
            rows[:_PACKAGES],
            and_more(len(rows), _PACKAGES, "packages"),
        ),
    ]


def _threads(snapshot: Snapshot) -> list[Content]:
    threads = sorted(snapshot.threads, key=lambda one: -one.object.retained)
    rows: list[tuple[object, ...]] = []
    for one in threads[: 2 * _ROWS]:
        stack: object = None
        if one.frames:
            lines = [element("li", str(frame)) for frame in one.frames[:_FRAMES]]
            if len(one.frames) > _FRAMES:
                lines.append(element("li", and_more(len(one.frames), _FRAMES, "frames")))
            stack = element(
                "details",
                element("summary", str(one.frames[0])),
                element("ol", *lines, class_="stack"),
            )
        held = len({at for frame in one.frames for at in frame.locals.indices.tolist()})
        rows.append((one.object.retained, len(one.frames), held, one.name, stack))
    return [
        paragraph("Threads with what they retain, and how many objects their variables refer to."),
        table(
            ["retained", "frames", "in variables", "thread", "stack"],
            rows,
            and_more(len(threads), 2 * _ROWS, "threads"),
        ),
    ]


def _thread_locals(snapshot: Snapshot) -> list[Content]:
    found = thread_locals(snapshot)
    names = {one.object.index: one.name for one in snapshot.threads}
    return [
        paragraph("Values of thread-local variables; stale if the variable has been collected."),
        table(
            ["retained", "thread", "variable", "value"],
            [
                (
                    one.retained,
                    names.get(one.thread.index),
                    "stale" if one.variable is None else named(one.variable),
                    named(one.value),
                )
                for one in found[:_ROWS]
            ],
            and_more(len(found), _ROWS, "values"),
        ),
    ]


def _loaders(snapshot: Snapshot) -> list[Content]:
    leaks = class_loader_leaks(snapshot)
    held = [one for one in snapshot.loaders if one.object is None or one.is_held_by_vm]
    return [
        paragraph(
            "Loaders that the VM would unload if nothing held them. Those with twins, which have "
            "classes of the same names, are leftovers of redeployments."
        ),
        table(
            ["retained", "twins", "classes", "objects of them", "loader", "loaded", "held by"],
            [
                (
                    one.retained,
                    one.twins,
                    len(one.loader.classes),
                    one.instances,
                    None if one.loader.object is None else named(one.loader.object),
                    ", ".join(filter(None, (one.age, one.stopped))),
                    element(
                        "details",
                        element("summary", one.path[0][0] if one.path else "weak references"),
                        path(one.path),
                    ),
                )
                for one in leaks[:_ROWS]
            ],
            and_more(len(leaks), _ROWS, "loaders"),
        ),
        paragraph("Loaders that the VM never unloads."),
        table(
            ["classes", "loader"],
            [
                (len(one.classes), "bootstrap" if one.object is None else named(one.object))
                for one in held
            ],
        ),
    ]


def _strings(snapshot: Snapshot) -> list[Content]:
    found = duplicate_strings(snapshot)[:_ROWS]
    return [
        paragraph("Texts with several copies, and the bytes that a single copy would save."),
        table(
            ["wasted", "strings", "text"],
            [(one.wasted, len(one.objects), _shortened(one.text or "")) for one in found],
        ),
    ]


def _shortened(text: str) -> str:
    return text if len(text) <= _TEXT else f"{text[:_TEXT]}… ({len(text):,} characters)"


def _arrays(snapshot: Snapshot) -> list[Content]:
    found = duplicate_arrays(snapshot)[:_ROWS]
    return [
        paragraph(
            "Arrays of primitive types with the same content, without those behind strings, and "
            "the bytes that a single copy would save."
        ),
        table(
            ["wasted", "arrays", "each like"],
            [
                (one.wasted, len(one.objects), named(first))
                for one in found
                if (first := one.objects[0]) is not None
            ],
        ),
    ]


def _collections(snapshot: Snapshot) -> list[Content]:
    return [
        paragraph(
            "Maps and lists with those of classes below them: how many are empty, how full their "
            "arrays are, the bytes of unused places, and how many have how many elements."
        ),
        table(
            ["wasted", "count", "empty", "elements", "capacity", "full", "by size", "class"],
            [
                (
                    one.wasted,
                    len(one.objects),
                    len(one.empty),
                    int(one.sizes.sum()),
                    int(one.capacities.sum()),
                    min(1.0, int(one.sizes.sum()) / max(int(one.capacities.sum()), 1)),
                    _sizes(one),
                    one.class_name,
                )
                for one in collections(snapshot)
            ],
        ),
    ]


def _sizes(one: Collections) -> Element:
    """How many collections have up to 0, 1, 2, 4, 8 … elements, as bars."""
    counts = one.by_size()
    most = max(counts.values(), default=1)
    text = ", ".join(
        f"{count:,} of {'up to ' if size > 2 else ''}{size:,}" for size, count in counts.items()
    )
    bars = [element("i", style=f"height:{100 * count / most:.0f}%") for count in counts.values()]
    return element("span", *bars, class_="bars", role="img", title=text, **{"aria-label": text})


def _queues(snapshot: Snapshot) -> list[Content]:
    waiting = Counter(finalizer_queue(snapshot).class_names)
    queues = list(reference_queues(snapshot).items())
    return [
        paragraph("Objects with a finalizer that has not run yet."),
        table(["objects", "class"], waiting.most_common(_ROWS)),
        paragraph("References that wait in queues."),
        table(
            ["references", "queue"],
            [(length, named(queue)) for queue, length in queues[:_ROWS]],
            and_more(len(queues), _ROWS, "queues"),
        ),
    ]


def _buffers(snapshot: Snapshot) -> list[Content]:
    found = direct_buffers(snapshot)
    count = len(found.objects)
    verb = "has" if count == 1 else "have"
    buffers, taken = quantity(count, "buffer"), quantity(found.total, "byte")
    return [
        paragraph(f"{buffers} {verb} {taken} of memory outside the heap."),
        table(
            ["bytes", "buffer"],
            [
                (capacity, named(one))
                for capacity, one in zip(
                    found.capacities[:_ROWS].tolist(), found.objects[:_ROWS], strict=True
                )
                if one is not None
            ],
            and_more(count, _ROWS, "buffers"),
        ),
    ]
