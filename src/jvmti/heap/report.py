"""A report of a snapshot: one HTML file that needs nothing else, no network and no JVM.

What it says comes from the same functions that a program would call; each section here has one.
Elements are built as a tree and escaped when that is written, so no name of the heap can become a
part of the page, and a policy in the page forbids it to load anything or to run another script.
The page can be read without scripts; with them tables are sorted and areas of the map opened.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import string
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from jvmti.heap import files
from jvmti.heap.containers import Collections, collections
from jvmti.heap.duplicates import duplicate_arrays, duplicate_strings
from jvmti.heap.errors import HeapError
from jvmti.heap.outline import Branch, outline
from jvmti.heap.suspects import (
    class_loader_leaks,
    direct_buffers,
    finalizer_queue,
    leak_suspects,
    reference_queues,
    thread_locals,
)
from jvmti.heap.treemap import Area, squarified, treemap
from jvmti.target.processes import printable

if TYPE_CHECKING:
    from jvmti.heap.objects import Object
    from jvmti.heap.snapshot import Snapshot

__all__ = ["STEP", "page", "write"]

STEP = 4
"""The number of the step as which the making of a report is told to progress functions."""

_ROWS = 50
"""Rows of most tables."""
_CLASSES = 500
_PACKAGES = 100
_FRAMES = 50
_PATH = (25, 10)
"""Steps of a way to a root that are shown, from the root and from the object."""
_TEXT = 200
"""Characters of a string that are shown."""
_HUES = (212, 150, 28, 280, 340, 180, 50, 250, 100, 310)

Element = ElementTree.Element
Content = str | Element


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
        ("drops", "Where much is held together", _drops),
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
    main = _element("main")
    contents = _element("nav", **{"aria-label": "Contents"})
    for number, (name, heading, make) in enumerate(sections):
        if snapshot._report is not None:
            snapshot._report(STEP, number, len(sections))
        contents.append(_element("a", heading, href=f"#{name}"))
        try:
            content = make(snapshot)
        except HeapError as error:  # in a damaged dump a class may lack what all VMs have
            content = [_element("p", f"This cannot be told: {error}", class_="fault")]
        main.append(_element("section", _element("h2", heading), *content, id=name))
    if snapshot._report is not None:
        snapshot._report(STEP, len(sections), len(sections))
    header = _element("header", _element("h1", title), *_facts(snapshot), contents)
    template = string.Template(Path(__file__).with_suffix(".html").read_text("utf-8"))
    script = Path(__file__).with_suffix(".js").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return template.substitute(
        title=_written(_element("title", title)),
        header=_written(header),
        main=_written(main),
        style=Path(__file__).with_suffix(".css").read_text("utf-8"),
        script=script,
        digest=digest,
    )


# Elements


def _element(tag: str, *content: Content, **attributes: str) -> Element:
    made = Element(tag, {name.rstrip("_"): printable(text) for name, text in attributes.items()})
    last: Element | None = None
    for one in content:
        if not isinstance(one, str):
            made.append(one)
            last = one
        elif last is None:
            made.text = (made.text or "") + printable(one)
        else:
            last.tail = (last.tail or "") + printable(one)
    return made


def _written(element: Element) -> str:
    return ElementTree.tostring(element, encoding="unicode", method="html")


def _said(text: str) -> Element:
    return _element("p", text)


def _size(size: int) -> str:
    """Bytes for people."""
    number = float(size)
    for unit in ("bytes", "kB", "MB", "GB"):
        if number < 999.5 or unit == "GB":
            break
        number /= 1000
    return f"{size:,} bytes" if unit == "bytes" else f"{number:.3g} {unit}"


def _part(size: int, whole: int) -> str:
    return f"{size / max(whole, 1):.1%}"


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]], rest: str = "") -> Element:
    """A table; numbers stand on the right, and are what their column is sorted by."""
    body = _element("tbody")
    for row in rows:
        line = ElementTree.SubElement(body, "tr")
        for cell in row:
            match cell:
                case None:
                    line.append(_element("td", "–"))
                case int():
                    line.append(_element("td", f"{cell:,}", class_="n"))
                case float():
                    line.append(_element("td", f"{cell:.1%}", class_="n"))
                case Element():
                    line.append(_element("td", cell))
                case _:
                    line.append(_element("td", str(cell)))
    if not len(body):
        return _element("p", "None.", class_="none")
    first = body[0]
    head = _element("tr")
    for text, cell in zip(heads, first, strict=True):
        head.append(_element("th", text, class_=cell.get("class", ""), scope="col"))
    scrolled = _element(
        "div",
        _element("table", _element("thead", head), body),
        class_="table",
        tabindex="0",
        role="region",
    )
    return _element("div", scrolled, *([_element("p", rest, class_="rest")] if rest else []))


def _more(all_: int, shown: int, what: str) -> str:
    return f"and {all_ - shown:,} more {what}" if all_ > shown else ""


def _label(obj: Object) -> str:
    """An object in words, without its number."""
    return repr(obj)[1:-1].partition(": ")[2]


def _named(obj: Object) -> Element:
    return _element("span", _label(obj), _element("small", f" #{obj.index}"), class_="object")


# Sections


def _facts(snapshot: Snapshot) -> list[Content]:
    pairs = [
        ("objects", f"{len(snapshot):,}"),
        ("bytes", f"{snapshot.size:,}"),
        ("classes", f"{len(snapshot.classes):,}"),
        ("class loaders", f"{len(snapshot.loaders):,}"),
        ("threads", f"{len(snapshot.threads):,}"),
        ("roots", f"{len(snapshot.roots):,}"),
        (
            "garbage" if snapshot.unreachable == "drop" else "garbage, included",
            f"{snapshot.unreachable_count:,} objects",
        ),
        ("dumped", time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(snapshot.time))),
    ]
    if snapshot.pause:
        pairs.append(("program stopped for at most", f"{snapshot.pause:.2g} s"))
    found: list[Content] = [
        _element(
            "dl",
            *(
                _element("div", _element("dt", name), _element("dd", value))
                for name, value in pairs
            ),
        )
    ]
    if snapshot.fault is not None:
        found.append(_element("p", f"The dump is damaged {snapshot.fault}", class_="fault"))
    return found


def _map(snapshot: Snapshot) -> list[Content]:
    whole = treemap(snapshot)
    hues = {
        area.name: hue
        for area, hue in zip((one for one in whole.areas if not one.is_rest), _HUES, strict=False)
    }
    drawn = _element("div", class_="map", id="treemap")
    _draw(drawn, whole, whole.retained, 1200, 620, hues)
    return [
        _said(
            "The bytes that are retained, as areas: packages, in them what only roots hold, and in "
            "each place what that holds in turn. Click on a place, or press Enter, to open it; "
            "Escape goes back."
        ),
        _element(
            "p",
            _element("button", "Whole heap", type="button", id="out", hidden=""),
            _element("output", f"All: {_size(whole.retained)}", id="area"),
            class_="readout",
        ),
        drawn,
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
    """Draw what is inside of an area, in parts of its own width and height."""
    own = area.retained - sum(one.retained for one in area.areas)
    sizes = [float(one.retained) for one in area.areas] + ([float(own)] if own > 0 else [])
    for one, place in zip(area.areas, squarified(sizes, width, height), strict=False):
        count = f"{one.count:,} places" if one.is_rest else f"{one.count:,} objects"
        what = f"{one.name}: {_size(one.retained)}, {_part(one.retained, whole)}, {count}"
        style = (
            f"left:{100 * place.left / width:.3f}%;top:{100 * place.top / height:.3f}%;"
            f"width:{100 * place.width / width:.3f}%;height:{100 * place.height / height:.3f}%"
        )
        hue = hues.get(one.name) if level == 0 and not one.is_rest else None
        if hue is not None:
            style += f";--hue:{hue};--colour:1"
        drawn = _element("div", class_="area", style=style, title=what)
        if place.width > 24 and place.height > 13:
            drawn.append(_element("span", one.name if level == 0 else _short(one.name)))
        room = place.width - 4, place.height - 20
        if one.areas and room[0] > 8 and room[1] > 8:
            inside = _element("div", class_="inside")
            _draw(inside, one, whole, *room, hues, level + 1)
            drawn.append(inside)
        into.append(drawn)


def _short(name: str) -> str:
    """The name of a place without packages."""
    return re.sub(r"[^\s.]+\.", "", name)


def _path(path: list[tuple[str, Object]]) -> Element:
    first, last = _PATH
    steps = [_element("li", _element("code", name), " ", _named(one)) for name, one in path]
    if len(steps) > first + last:
        left = len(steps) - first - last
        steps[first:-last] = [_element("li", f"… {left:,} steps …")]
    return _element("ol", *steps, class_="path")


def _suspects(snapshot: Snapshot) -> list[Content]:
    found: list[Content] = [
        _said(
            "Objects that hold a twentieth of the heap or more, of which no single object below "
            "holds the most; with a way to each from a root."
        )
    ]
    suspects = leak_suspects(snapshot)
    for one in suspects:
        pieces = f" in {one.children:,} of {one.children_class}" if one.children else " by itself"
        found.append(
            _element(
                "article",
                _element(
                    "h3",
                    _named(one.object),
                    f" holds {_size(one.retained)} ({one.part:.1%}){pieces}",
                ),
                _path(one.path),
                **{"data-object": str(one.object.index), "data-retained": str(one.retained)},
            )
        )
    if not suspects:
        found.append(_element("p", "None.", class_="none"))
    return found


def _tree(snapshot: Snapshot) -> list[Content]:
    top = outline(snapshot)
    return [
        _said(
            "What each object retains: its own size, and that of all that would be freed with it. "
            "The largest objects are here, what is too small is summed."
        ),
        _element("ul", *_branches(snapshot, top, top.retained, 0), class_="tree"),
    ]


def _branches(snapshot: Snapshot, above: Branch, whole: int, level: int) -> list[Element]:
    rows = [_branch(snapshot, above, one, whole, level) for one in above.branches]
    if above.others:
        most = f", {above.others_of_class:,} of them"
        rows.append(
            _element(
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
        # What several roots lead to is dominated by none of them.
        reference = "" if reference == "no root" else reference
    else:
        reference = snapshot.reference_name(above.object, branch.object).replace("?", "")
    content: list[Content] = [_measure(branch.retained, whole)]
    if reference:
        content += [_element("code", reference), " "]
    content.append(_named(branch.object))
    if not branch.children:
        return _element("li", *content)
    unfolded = {"open": ""} if level < 3 and branch.retained > whole / 5 else {}
    below = _branches(snapshot, branch, whole, level + 1)
    return _element(
        "li", _element("details", _element("summary", *content), _element("ul", *below), **unfolded)
    )


def _measure(retained: int, whole: int) -> Element:
    part = retained / max(whole, 1)
    return _element(
        "span",
        _element("b", f"{part:.1%}"),
        _element("data", f"{retained:,}", value=str(retained)),
        class_="measure",
        style=f"--part:{part:.2%}",
    )


def _drops(snapshot: Snapshot) -> list[Content]:
    tree = snapshot.dominators()
    drops = tree.drops(limit=_ROWS)
    return [
        _said(
            "Objects at which what is retained falls by a hundredth of the heap or more to the "
            "largest object below."
        ),
        _table(
            ["retained", "of all", "largest below", "objects below", "object"],
            [
                (
                    one.retained,
                    one.retained / max(tree.total, 1),
                    one.largest_child,
                    one.children,
                    _named(one.object),
                )
                for one in drops
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
            f"{histogram.total_count - rows.total_count:,} objects, "
            f"{histogram.total_bytes - rows.total_bytes:,} bytes"
        )
    return [
        _said(
            "Objects of each class, the bytes that they take themselves, and those that they "
            "retain one by one, none counted twice. What they retain only together comes on top."
        ),
        _table(
            ["objects", "bytes", "retained", "class", "loader"],
            [
                (
                    row.count,
                    row.bytes,
                    row.retained,
                    row.name,
                    None if row.loader is None else _element("small", row.loader),
                )
                for row in rows
            ],
            rest,
        ),
    ]


def _packages(snapshot: Snapshot) -> list[Content]:
    found = snapshot.histogram(by="package", retained=True)
    table = [
        (row.count, row.bytes, row.retained or 0, row.name)
        for row in found.top(len(found), by="retained")
    ]
    return [
        _said(
            "The same by package. A class itself, with what its static fields hold, counts as an "
            "object of its own package in what is retained."
        ),
        _table(
            ["objects", "bytes", "retained", "package"],
            table[:_PACKAGES],
            _more(len(table), _PACKAGES, "packages"),
        ),
    ]


def _threads(snapshot: Snapshot) -> list[Content]:
    threads = sorted(snapshot.threads, key=lambda one: -one.object.retained)
    rows: list[tuple[object, ...]] = []
    for one in threads[: 2 * _ROWS]:
        stack: object = None
        if one.frames:
            lines = [_element("li", str(frame)) for frame in one.frames[:_FRAMES]]
            if len(one.frames) > _FRAMES:
                lines.append(_element("li", _more(len(one.frames), _FRAMES, "frames")))
            stack = _element(
                "details",
                _element("summary", str(one.frames[0])),
                _element("ol", *lines, class_="stack"),
            )
        held = len({at for frame in one.frames for at in frame.locals.indices.tolist()})
        rows.append((one.object.retained, len(one.frames), held, one.name, stack))
    return [
        _said("Threads with what they retain, and how many objects their variables refer to."),
        _table(
            ["retained", "frames", "in variables", "thread", "stack"],
            rows,
            _more(len(threads), 2 * _ROWS, "threads"),
        ),
    ]


def _thread_locals(snapshot: Snapshot) -> list[Content]:
    found = thread_locals(snapshot)
    names = {one.object.index: one.name for one in snapshot.threads}
    return [
        _said("Values of thread-local variables; those of a variable that is gone are stale."),
        _table(
            ["retained", "thread", "variable", "value"],
            [
                (
                    one.retained,
                    names.get(one.thread.index),
                    "stale" if one.variable is None else _named(one.variable),
                    _named(one.value),
                )
                for one in found[:_ROWS]
            ],
            _more(len(found), _ROWS, "values"),
        ),
    ]


def _loaders(snapshot: Snapshot) -> list[Content]:
    leaks = class_loader_leaks(snapshot)
    held = [one for one in snapshot.loaders if one.object is None or one.is_held_by_vm]
    return [
        _said(
            "Loaders that would go if nothing held them. Those with twins, which have classes of "
            "the same names, are what redeploying leaves behind."
        ),
        _table(
            ["retained", "twins", "classes", "objects of them", "loader", "held by"],
            [
                (
                    one.retained,
                    one.twins,
                    len(one.loader.classes),
                    one.instances,
                    None if one.loader.object is None else _named(one.loader.object),
                    _element(
                        "details",
                        _element("summary", one.path[0][0] if one.path else "weak references"),
                        _path(one.path),
                    ),
                )
                for one in leaks[:_ROWS]
            ],
            _more(len(leaks), _ROWS, "loaders"),
        ),
        _said("Loaders that the VM never gives up."),
        _table(
            ["classes", "loader"],
            [
                (len(one.classes), "bootstrap" if one.object is None else _named(one.object))
                for one in held
            ],
        ),
    ]


def _strings(snapshot: Snapshot) -> list[Content]:
    found = duplicate_strings(snapshot)[:_ROWS]
    return [
        _said("Texts that are there more than once, and the bytes that one of each would save."),
        _table(
            ["wasted", "strings", "text"],
            [(one.wasted, len(one.objects), _cut(one.text or "")) for one in found],
        ),
    ]


def _cut(text: str) -> str:
    return text if len(text) <= _TEXT else f"{text[:_TEXT]}… ({len(text):,} characters)"


def _arrays(snapshot: Snapshot) -> list[Content]:
    found = duplicate_arrays(snapshot)[:_ROWS]
    return [
        _said(
            "Arrays of primitive types with the same content, without those behind strings, and "
            "the bytes that one of each would save."
        ),
        _table(
            ["wasted", "arrays", "each like"],
            [
                (one.wasted, len(one.objects), _named(first))
                for one in found
                if (first := one.objects[0]) is not None
            ],
        ),
    ]


def _collections(snapshot: Snapshot) -> list[Content]:
    return [
        _said(
            "Maps and lists with those of classes below them: how many are empty, how full their "
            "arrays are, what the unused places take, and how many have how many elements."
        ),
        _table(
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
    bars = [_element("i", style=f"height:{100 * count / most:.0f}%") for count in counts.values()]
    return _element("span", *bars, class_="bars", role="img", title=text, **{"aria-label": text})


def _queues(snapshot: Snapshot) -> list[Content]:
    waiting = Counter(finalizer_queue(snapshot).class_names)
    queues = list(reference_queues(snapshot).items())
    return [
        _said("Objects with a finalizer that has not run yet."),
        _table(["objects", "class"], waiting.most_common(_ROWS)),
        _said("References in queues from which nobody has taken them."),
        _table(
            ["references", "queue"],
            [(length, _named(queue)) for queue, length in queues[:_ROWS]],
            _more(len(queues), _ROWS, "queues"),
        ),
    ]


def _buffers(snapshot: Snapshot) -> list[Content]:
    found = direct_buffers(snapshot)
    count = len(found.objects)
    return [
        _said(f"{count:,} buffers have {found.total:,} bytes of memory outside the heap."),
        _table(
            ["bytes", "buffer"],
            [
                (capacity, _named(one))
                for capacity, one in zip(
                    found.capacities[:_ROWS].tolist(), found.objects[:_ROWS], strict=True
                )
                if one is not None
            ],
            _more(count, _ROWS, "buffers"),
        ),
    ]
