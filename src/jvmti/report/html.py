"""The HTML of objects in a notebook: the result of ``_repr_html_``.

Each kind has a `view`, which returns elements. Writing them escapes text of a target, and nothing
here needs a script or other resources. Objects other than snapshots query the JVM each time they
are shown, as their attributes do; docs/notebook.md lists the queries.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache, singledispatch
from itertools import islice
from pathlib import Path
from typing import Any

from jvmti.classfile import Annotation, ClassFile
from jvmti.display import Rows
from jvmti.events.streams.records import Records
from jvmti.heap.analyses.leaks import Suspect, leak_suspects
from jvmti.heap.histogram import Histogram
from jvmti.heap.html.elements import Content, Element, and_more, element, paragraph, table, to_html
from jvmti.heap.html.report import summary, suspect
from jvmti.heap.objects import Object as HeapObject
from jvmti.heap.objects import Objects
from jvmti.heap.paths import PathTree
from jvmti.heap.snapshot import Snapshot
from jvmti.heap.tables.columns import Table, display_values
from jvmti.heap.tables.columns import table as table_of
from jvmti.interface.capabilities import ALL, Capabilities
from jvmti.interface.errors import Error
from jvmti.interface.signatures import java_name
from jvmti.liveheap.referrers import Referrers, RootPath
from jvmti.liveheap.scan import Scan
from jvmti.model.classes.java_class import Class, Field, Method
from jvmti.model.classes.loaded_classes import ClassList
from jvmti.model.objects.java_object import Attributes, Object, String
from jvmti.model.objects.layouts import layout_of
from jvmti.model.objects.reading import read_fields
from jvmti.model.properties import Properties
from jvmti.model.threads.frames import Frame
from jvmti.model.threads.java_thread import Thread, Threads, ThreadSnapshot
from jvmti.model.threads.locals import Locals
from jvmti.model.threads.locks import Deadlock
from jvmti.model.values.conversion import supertypes
from jvmti.model.vm import VM
from jvmti.profile.difference import Changes, Difference
from jvmti.profile.parts import Parts
from jvmti.profile.profile import Profile
from jvmti.profile.uses import Top
from jvmti.report.flames import flames
from jvmti.report.profiles import (
    change_table,
    difference_view,
    part_table,
    profile_view,
    use_table,
)
from jvmti.report.traced import call_table, hit_table, probe_view
from jvmti.report.traced import use_table as traced_use_table
from jvmti.sources.source import Source, last_line
from jvmti.stacks.tree import StackTree
from jvmti.text.quantities import processor_time, quantity
from jvmti.tracing.logpoint import Hit
from jvmti.tracing.probe_set import ProbeSet
from jvmti.tracing.records.calls import Call
from jvmti.tracing.summaries import Use, Uses

__all__ = ["html", "view"]

_ROWS = 20
"""Rows of a long table."""
_THREADS = 200
_FRAMES = 64
_SOURCE = 400
"""Lines of source."""
_OBJECT = 50
"""Fields, or lines, of an object."""
_LISTED = frozenset(("Ljava/util/Map;", "Ljava/util/Collection;"))
"""Types that are shown by their entries, not by their fields."""
_WITHIN = 2.0
"""Seconds that reading an object may take."""
_TEXT = 200
"""Characters of a value to show."""
_SUSPECTS = 1_000_000
"""The largest snapshot, in objects, whose suspects are shown; finding them takes up to 0.1 s."""


def html(thing: object) -> str | None:
    """The HTML of an object, with its style; ``None`` if its text is as good.

    The view says so if a session is over or a thread has ended.
    """
    try:
        content = view(thing)
    except Error as error:
        content = [element("p", element("code", repr(thing)), f": {error}", class_="fault")]
    if content is None:
        return None
    return f"<style>{_style()}</style>{to_html(element('div', *content, class_='jvmti'))}"


@cache
def _style() -> str:
    return Path(__file__).with_suffix(".css").read_text("utf-8")


@singledispatch
def view(thing: Any) -> list[Content] | None:
    """The elements that show an object; ``None`` if text is as good."""
    return None


# Threads


@view.register
def _(threads: Threads) -> list[Content]:
    return _threads(threads.snapshot(_FRAMES))


@view.register
def _(rows: Rows) -> list[Content] | None:  # type: ignore[type-arg]
    match next(iter(rows), None):
        case ThreadSnapshot():
            return _threads(rows)
        case Frame():
            return [_stack(rows)]
        case Suspect():
            return [*map(suspect, rows)]
        case Deadlock():
            return [one for circle in rows for one in _deadlock(circle)]
        case Call():
            return [call_table(rows)]
        case Hit():
            return [hit_table(rows)]
        case Use():
            return [traced_use_table(Uses(rows))]
    return None


@view.register
def _(probes: ProbeSet) -> list[Content]:
    return probe_view(probes)


@view.register
def _(thread: Thread) -> list[Content]:
    frames = thread.frames
    return _thread(
        thread.name,
        thread.id,
        thread.java_state,
        thread.cpu_time,
        ["daemon"] * thread.is_daemon + ["virtual"] * thread.is_virtual,
        frames,
    )


@view.register
def _(thread: ThreadSnapshot) -> list[Content]:
    return _thread(
        thread.name,
        thread.id,
        thread.java_state,
        thread.cpu_time,
        ["daemon"] * thread.is_daemon + ["virtual"] * thread.is_virtual,
        thread.frames,
    )


@view.register
def _(frame: Frame) -> list[Content]:
    method = frame.method
    return [
        _titled(f"{method.class_name}.{method.name}"),
        _definitions(
            ("parameters", ", ".join(method.parameter_types) or "none"),
            ("source", frame.where),
            ("bytecode index", None if frame.is_native else frame.location),
            ("depth", frame.depth),
        ),
    ]


@view.register
def _(circle: Deadlock) -> list[Content]:
    return _deadlock(circle)


@view.register
def _(tree: StackTree) -> list[Content]:
    return flames(tree)


@view.register
def _(profile: Profile) -> list[Content]:
    return profile_view(profile)


@view.register
def _(top: Top) -> list[Content]:
    return [use_table(top)]


@view.register
def _(parts: Parts) -> list[Content]:
    return [part_table(parts)]


@view.register
def _(difference: Difference) -> list[Content]:
    return difference_view(difference)


@view.register
def _(changes: Changes) -> list[Content]:
    return [change_table(changes)]


def _deadlock(circle: Deadlock) -> list[Content]:
    rows = [
        (
            one.id,
            one.name,
            str(one.waits_for),
            one.owner_name,
            _folded(one.frames),
        )
        for one in circle.waiting
    ]
    heading = f"{len(rows)} threads wait for each other"
    return [
        element("article", _titled(heading),
                table(["id", "thread", "waits for", "held by", "stack"], rows))
    ]  # fmt: skip


def _threads(threads: Sequence[ThreadSnapshot]) -> list[Content]:
    rows = [
        (
            one.id,
            one.name,
            _state(one.java_state),
            element("span", processor_time(one.cpu_time)),
            _folded(one.frames),
        )
        for one in threads[:_THREADS]
    ]
    rest = and_more(len(threads), _THREADS, "threads")
    return [table(["id", "thread", "state", "processor", "stack"], rows, rest)]


def _thread(
    name: str, number: int, state: str, time: int | None, marks: list[str], frames: Sequence[Frame]
) -> list[Content]:
    heading = element("h4", f"{name} ", element("small", f"#{number}"), " ", _state(state))
    about = ", ".join([f"{processor_time(time)} of processor time", *marks])
    return [heading, paragraph(about), _stack(frames) if frames else paragraph("It has no frames.")]


def _state(name: str) -> Element:
    return element("span", name, class_=f"state {name.lower()}")


def _stack(frames: Sequence[Frame]) -> Element:
    lines = [element("li", str(one)) for one in frames[:_FRAMES]]
    if len(frames) > _FRAMES:
        lines.append(element("li", and_more(len(frames), _FRAMES, "frames")))
    return element("ol", *lines, class_="stack", start="0")


def _folded(frames: Sequence[Frame]) -> Element | None:
    if not frames:
        return None
    return element("details", element("summary", str(frames[0])), _stack(frames))


# Classes and objects


@view.register
def _(cls: Class) -> list[Content]:
    above = cls.superclass
    interfaces = [one.name for one in cls.interfaces] if not cls.is_array else []
    loader = cls.loader
    file = _class_file(cls)
    found: list[Content] = [
        _titled(cls.name),
        _definitions(
            ("extends", None if above is None else above.name),
            ("implements", ", ".join(interfaces) or None),
            ("loader", "bootstrap" if loader is None else loader.cls.name),
            ("annotations", None if file is None else _annotations(file.annotations)),
            ("source", cls.source_file),
        ),
    ]
    fields, methods = cls.fields, cls.methods
    for what, names, rows, members in (
        ("fields", ["type", "field"], [[one.type, one.name] for one in fields],
         [] if file is None else file.fields),
        ("methods", ["method", "parameters"],
         [[one.name, ", ".join(one.parameter_types)] for one in methods],
         [] if file is None else file.methods),
    ):  # fmt: skip
        annotated = {(one.name, one.descriptor): _annotations(one.annotations) for one in members}
        if any(annotated.values()):
            names.append("annotations")
            named: Iterable[Any] = fields if what == "fields" else methods
            for row, one in zip(rows, named, strict=True):
                row.append(annotated.get((one.name, one.signature)) or "")
        if rows:
            summary = element("summary", f"{len(rows):,} {what}")
            found.append(element("details", summary, table(names, rows)))
    return found + _source(lambda: _declaration(cls, list(methods)))


def _annotations(annotations: Iterable[Annotation]) -> str | None:
    return ", ".join(map(str, annotations)) or None


def _class_file(cls: Class) -> ClassFile | None:
    """The class file; ``None`` if the VM has none, as for arrays and hidden classes."""
    if cls.is_array or cls.is_primitive:
        return None
    try:
        return cls.class_file
    except Error:
        return None


def _declaration(cls: Class, methods: list[Method]) -> Source:
    """The part of its source file that declares a class, up to its last method."""
    source = cls.source
    tables = cls._vm.lookup_env.map.get_line_number_table(methods).value
    lines = tables.items["line_number"]
    if not len(lines):
        return source
    simple = re.split(r"[.$]", cls.name)[-1]
    declared = re.compile(rf"\b(?:class|interface|enum|record)\s+{re.escape(simple)}\b")
    first, last = int(lines.min()), last_line(source, int(lines.max()))
    for number in range(min(first, source.first + len(source.lines) - 1), source.first - 1, -1):
        if declared.search(source.line(number)):
            first = number
            break
    return source.part(first, last_line(source, last))


def _source(find: Callable[[], Source]) -> list[Content]:
    """The source, folded; nothing if it is not found, or is another version."""
    try:
        source = find()
    except (Error, OSError, IndexError):
        return []
    if not source.lines:
        return []
    page = source.part(source.first, source.first + _SOURCE - 1)
    width = len(str(page.first + len(page.lines)))
    numbered = [f"{number:{width}}  {line}" for number, line in enumerate(page.lines, page.first)]
    rest = and_more(len(source.lines), _SOURCE, "lines")
    return [
        element(
            "details",
            element("summary", f"source: {source.path}"),
            _lines(numbered),
            *([paragraph(rest)] if rest else []),
        )
    ]


@view.register
def _(method: Method) -> list[Content]:
    lines = [one.line_number for one in method.lines]
    file = _class_file(method.declaring_class)
    found = [one for one in ([] if file is None else file.methods)
             if (one.name, one.descriptor) == (method.name, method.signature)]  # fmt: skip
    return [
        _titled(f"{method.class_name}.{method.name}"),
        _definitions(
            ("parameters", ", ".join(method.parameter_types) or "none"),
            ("annotations", _annotations(found[0].annotations) if found else None),
            ("signature", method.generic_signature or method.signature),
            ("source", method.source_file),
            ("lines", f"{min(lines)} to {max(lines)}" if lines else None),
        ),
        *_source(lambda: method.source),
    ]


@view.register
def _(field: Field) -> list[Content]:
    return [
        _titled(field.name),
        _definitions(("type", field.type), ("class", field.declaring_class.name)),
    ]


@view.register
def _(obj: Attributes) -> list[Content]:
    cls = obj.cls
    what = repr(obj)[1:-1]
    about = _definitions(("class", cls.name), ("bytes", obj.size))
    if type(obj) is not Object or supertypes(cls) & _LISTED:
        lines = [
            _shortened(line.strip()) for line in obj.table(_OBJECT).splitlines()[1 : _OBJECT + 1]
        ]
        if not lines or isinstance(obj, String):
            return [_titled(cls.name), about, _lines([str(obj)[: _OBJECT * _TEXT]])]
        return [_titled(what.partition(": ")[0]), about, _lines(lines)]
    layout = layout_of(cls)
    values = read_fields(obj._vm, obj, layout.fields[:_OBJECT], text=_TEXT, timeout=_WITHIN)
    rows = [
        (java_name(place.signature), name, _value(one))
        for (name, place), one in zip(layout.keys.items(), values, strict=False)
    ]
    rest = and_more(len(layout.fields), _OBJECT, "fields")
    found: list[Content] = [_titled(cls.name if rows else what), about]
    return found + ([table(["type", "field", "value"], rows, rest)] if rows else [])


def _value(value: Any) -> str:
    """A Java value as a line of text; a string is longer here than within an object."""
    text = repr(value)
    return text[1:-1] if isinstance(value, Attributes) else "null" if value is None else text


@view.register
def _(variables: Locals) -> list[Content]:
    try:
        values = variables.read()
    except Error as error:
        return [paragraph(f"not known: {error}")]
    known = {str(variables._key(one)): one for one in variables.variables}
    rows = [
        (
            known[str(name)].type if str(name) in known else None,
            str(name),
            _shortened(_value(value)),
        )
        for name, value in values.items()
    ]
    return [table(["type", "variable", "value"], rows)] if rows else [paragraph("no variables")]


@view.register
def _(classes: ClassList) -> list[Content]:
    rows = [
        (one.name, one.superclass.name if one.superclass is not None else None)
        for one in classes[:_ROWS]
    ]
    rest = and_more(len(classes), _ROWS, "classes")
    return [table(["class", "extends"], rows, rest)]


@view.register
def _(properties: Properties) -> list[Content]:
    return [
        table(["property", "value"], [(name, _shortened(properties[name])) for name in properties])
    ]


# The heap


@view.register
def _(scan: Scan) -> list[Content]:
    rows = [
        (scan.names[number], size, length if length >= 0 else None)
        for number, size, length in zip(
            scan.class_number[:_ROWS].tolist(),
            scan.size[:_ROWS].tolist(),
            scan.length[:_ROWS].tolist(),
            strict=True,
        )
    ]
    return [table(["class", "bytes", "length"], rows, and_more(len(scan), _ROWS, "objects"))]


@view.register
def _(histogram: Histogram) -> list[Content]:
    retained = histogram.retained is not None
    parts = histogram.source != "diff"  # which may be negative
    whole = max(histogram.total_bytes, 1)
    rows = [
        (
            row.count,
            row.bytes,
            *([row.retained] if retained else []),
            *([_bar(row.bytes / whole)] if parts else []),
            row.name,
            row.loader,
        )
        for row in histogram[:_ROWS]
    ]
    heads = [
        "objects",
        "bytes",
        *(["retained"] if retained else []),
        *(["of all"] if parts else []),
        "name",
        "loader",
    ]
    about = (
        f"{quantity(histogram.total_count, 'object')}, {quantity(histogram.total_bytes, 'byte')}"
    )
    if histogram.pause:
        about += f"; the program was stopped for {histogram.pause:.2g} s at most"
    return [table(heads, rows, and_more(len(histogram), _ROWS, "classes")), paragraph(about)]


@view.register
def _(referrers: Referrers) -> list[Content]:
    lines = [element("li", element("code", str(one))) for one in referrers[: 2 * _ROWS]]
    rest = and_more(referrers.total, len(lines), "references")
    return [
        element("ul", *lines, class_="path"),
        paragraph(f"{rest or f'{referrers.total:,} in all'}; {_stopped(referrers.pause)}"),
    ]


@view.register
def _(way: RootPath) -> list[Content]:
    if not way.held:
        return [paragraph("held by nothing")]
    steps = [element("li", element("code", str(one))) for one in way]
    if not steps:
        steps = [element("li", "a class that is never unloaded")]
    return [element("ol", *steps, class_="path"), paragraph(_stopped(way.pause))]


@view.register
def _(snapshot: Snapshot) -> list[Content]:
    found = summary(snapshot)
    if len(snapshot) <= _SUSPECTS:
        found += [element("h4", "What holds most"), *map(suspect, leak_suspects(snapshot)[:3])]
    else:
        found.append(paragraph("jvmti.heap.leak_suspects(snapshot) finds what holds most."))
    return found


@view.register
def _(one: Suspect) -> list[Content]:
    return [suspect(one)]


@view.register
def _(way: PathTree) -> list[Content]:
    return [_lines(way.lines()), paragraph(repr(way)[1:-1])]


@view.register(Objects)
@view.register(HeapObject)
def _(objects: Objects | HeapObject) -> list[Content]:
    about = repr(objects)[1:-1]
    return [paragraph(about), *_table(table_of(objects))]


@view.register
def _(data: Table) -> list[Content]:
    return _table(data)


def _table(data: Table) -> list[Content]:
    first = data.rows(slice(0, _ROWS))
    columns = {name: map(_cell, display_values(column)) for name, column in first.items()}
    return [
        table(
            list(columns), zip(*columns.values(), strict=True), and_more(data.count, _ROWS, "rows")
        )
    ]


# The VM


@view.register
def _(vm: VM) -> list[Content]:
    process = vm.process
    if vm.closed:
        return [_titled(process.main or "JVM"), paragraph(repr(vm)[1:-1])]
    held, potential = vm.env.get_capabilities(), vm.env.get_potential_capabilities()
    emulated = vm.capabilities.status().emulated
    missing = ALL & ~potential & ~held & ~emulated
    rows: list[Content] = [
        _titled(process.main or "JVM"),
        _definitions(
            ("process", str(process.pid)),
            ("Java", process.java_version or str(vm.version.major)),
            ("phase", vm.phase.name),
            ("threads", None if vm.held else len(vm.threads)),
        ),
    ]
    for what, those in (
        ("capabilities that vm.env has", held),
        ("that are available", potential & ~held),
        ("that the model emulates", emulated),
        ("that this JVM grants only during startup, or not now", missing),
    ):
        summary = element("summary", f"{len(those)} {what}")
        rows.append(element("details", summary, *view(those) or []))
    return rows


@view.register
def _(capabilities: Capabilities) -> list[Content]:
    return [
        element("span", name, class_="chip")
        for name in sorted(one.name or "" for one in capabilities)
    ] or [paragraph("none")]


# Events


@view.register
def _(records: Records) -> list[Content]:
    rows = list(islice(records.where(slice(0, _ROWS)).rows(), _ROWS))  # type: ignore[arg-type]
    names = [name for name in records if any(row.get(name) is not None for row in rows)]
    cells = [[_cell(row.get(name)) for name in names] for row in rows]
    return [table(names, cells, and_more(len(records), _ROWS, "events"))]


# Pieces


def _titled(text: str) -> Element:
    return element("h4", text)


def _definitions(*pairs: tuple[str, object]) -> Element:
    """Names and values, without those that are ``None``."""
    return element(
        "dl",
        *(
            element("div", element("dt", name), element("dd", f"{value:,}" if isinstance(value, int)
                                                        else str(value)))
            for name, value in pairs
            if value is not None
        ),
    )  # fmt: skip


def _lines(lines: Iterable[str]) -> Element:
    return element("ul", *(element("li", line) for line in lines), class_="lines")


def _bar(part: float) -> Element:
    return element("span", f"{part:.1%}", class_="bar", style=f"--part:{part:.2%}")


def _stopped(seconds: float) -> str:
    return f"the program was stopped for {seconds:.2g} s"


def _cell(value: Any) -> object:
    """A value as the cell of a table."""
    match value:
        case None | int():
            return value
        case float():
            return element("span", f"{value:g}")
        case list() | tuple():
            return _lines([_shortened(str(one)) for one in value[:_ROWS]])
    return _shortened(str(value))


def _shortened(text: str) -> str:
    return text if len(text) <= _TEXT else f"{text[:_TEXT]}…"
