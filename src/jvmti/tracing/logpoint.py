"""Logpoints: a line of text with values, whenever a thread reaches a place in the code."""

from __future__ import annotations

import ast
import datetime
import string
from collections.abc import Mapping
from typing import Any, NamedTuple

from jvmti import display
from jvmti.instrumentation.probes import BadProbe, Operand
from jvmti.layouts.probes import Operand as Kind
from jvmti.layouts.probes import Outcome, RecordedKind
from jvmti.refs import ClassLoader
from jvmti.text.printable import escaped, printable
from jvmti.tracing.call_probes import RecordShape, recorded
from jvmti.tracing.conditions import parsed, uses, value_of
from jvmti.tracing.places import ELSEWHERE, Place, at_place, condition_at
from jvmti.tracing.records.calls import local_time, value_text
from jvmti.tracing.records.recorder import Recorder
from jvmti.tracing.records.sites import RecordedObject, Site
from jvmti.tracing.summaries import Grouping, key_name
from jvmti.tracing.traced_vm import TracedVM
from jvmti.tracing.unplaced import refuse_place

_BEGAN = Operand(Kind.NUMBER, "J", 1)
"""The begin time in records without a call."""
_UNTIMED = _BEGAN._replace(number=-1)
"""The same for what is only counted, which takes no time."""


class Hit(NamedTuple):
    """A hit of a logpoint."""

    time: int
    """When, in nanoseconds of ``CLOCK_MONOTONIC``."""
    thread: str
    """The name of the thread, or its number if it has ended."""
    thread_id: int
    """Its ``Thread.threadId``."""
    class_name: str
    """The class of the code."""
    method: str
    """The method's name."""
    descriptor: str
    """Its descriptor."""
    line: int
    """The line, 0 if unknown."""
    values: dict[str, Any]
    """The expressions in braces, with their values: a number, a truth value, a string, ``None``, or
    `RecordedObject` for all else."""
    text: str
    """The text with the values in it."""
    stack: tuple[str, ...] = ()
    """The stack, as deep as was asked for: the place and its callers, the innermost first, such as
    ``com.acme.Order.add:42``."""

    @property
    def moment(self) -> datetime.datetime:
        """The local time."""
        return local_time(self.time)

    @escaped
    def __str__(self) -> str:
        return printable(self.text)


class Hits(display.Rows[Hit], display.Tabular):
    """Hits of a logpoint in their order: a list, and a table.

    `to_arrow` has the columns ``time`` (nanoseconds), ``thread``, ``thread_id``, ``class``,
    ``method``, ``descriptor``, ``line``, ``text`` and ``stack``.
    """

    def to_arrow(self) -> Any:
        """The hits as a ``pyarrow.Table``.

        Raises:
            ImportError: pyarrow is not installed; ``pip install 'jvmti[arrow]'`` does.
        """
        import pyarrow

        return pyarrow.table(
            {
                "time": pyarrow.array([one.time for one in self], pyarrow.int64()),
                "thread": pyarrow.array([one.thread for one in self], pyarrow.string()),
                "thread_id": pyarrow.array([one.thread_id for one in self], pyarrow.int64()),
                "class": pyarrow.array([one.class_name for one in self], pyarrow.string()),
                "method": pyarrow.array([one.method for one in self], pyarrow.string()),
                "descriptor": pyarrow.array([one.descriptor for one in self], pyarrow.string()),
                "line": pyarrow.array([one.line for one in self], pyarrow.int32()),
                "text": pyarrow.array([one.text for one in self], pyarrow.string()),
                "stack": pyarrow.array(
                    [list(one.stack) for one in self], pyarrow.list_(pyarrow.string())
                ),
            }
        )


class Template(NamedTuple):
    """The text of a logpoint: ``n={n} total={this.total:.2f}``."""

    text: str
    """The text itself."""
    parts: tuple[tuple[str, int | None, str], ...]
    """Literal text, then the position of a value, and Python's format of it."""
    names: tuple[str, ...]
    """The expressions in braces, each once."""
    operands: tuple[Operand, ...]
    """The sources of these values."""

    @staticmethod
    def of(text: str, words: Mapping[str, Operand]) -> Template:
        """The template of a text, with values in braces; doubled braces stand for themselves.

        Args:
            text: the text.
            words: what has a name at the place.

        Raises:
            BadProbe: it is invalid; the message names the part.
        """
        parts: list[tuple[str, int | None, str]] = []
        names: list[str] = []
        operands: list[Operand] = []
        try:
            parsed = list(string.Formatter().parse(text))
        except ValueError as error:
            raise BadProbe(f"the text {text!r}: {error}") from None
        for literal, name, format_spec, conversion in parsed:
            if name is None:
                parts.append((literal, None, ""))
                continue
            if conversion:
                raise BadProbe(f"the text {text!r}: '!{conversion}' has no meaning here")
            name = name.strip()
            if name not in names:
                operands.append(_operand(name, text, words))
                names.append(name)
            parts.append((literal, names.index(name), _format(format_spec or "", text)))
        return Template(text, tuple(parts), tuple(names), tuple(operands))

    def filled(self, values: list[Any]) -> str:
        """The text with values in it."""
        found = []
        for literal, place, format_spec in self.parts:
            found.append(literal)
            if place is None:
                continue
            value = values[place]
            if format_spec:
                try:
                    found.append(format(value, format_spec))
                    continue
                except (TypeError, ValueError):
                    pass  # null, or an object: shown unformatted
            found.append(value if isinstance(value, str) else value_text(value))
        return "".join(found)


def _format(spec: str, text: str) -> str:
    """A format, if it is one of a number, a text or a truth value.

    Raises:
        BadProbe: it is none of them.
    """
    for value in (0, 0.0, ""):
        try:
            format(value, spec)
        except ValueError as error:
            why = str(error)
        else:
            return spec
    raise BadProbe(f"{spec!r} in the text {text!r} is no format: {why}")


def _operand(name: str, text: str, words: Mapping[str, Operand]) -> Operand:
    tree = parsed(name)
    if tree is None:
        raise BadProbe(f"{name!r} in the text {text!r} is not a value, such as n or this.total")
    if isinstance(tree, ast.Name) and tree.id in ELSEWHERE - set(words):
        raise BadProbe(
            f"{name!r} in the text {text!r}: it is known where calls return, fields are read and "
            "so on: 'return com.acme.Order.add', or a trace"
        )
    operand, path = value_of(tree, text, words=words)
    if operand.kind is Kind.ALL_PASSED:
        raise BadProbe(f"{name!r} in the text {text!r}: name one of them, passed0 and so on")
    if operand.kind is Kind.THREAD and path is None:
        path = "name"
    return at_place(operand)._replace(path=path)


def _known(operand: Operand, value: Any) -> Any:
    """A recorded value, as its expression means it."""
    if operand.kind is Kind.TOOK:
        return value / 1e9
    if isinstance(value, tuple):
        return "".join(value)  # the caller, a stack of one frame
    names_class = operand.path is not None and operand.path.rpartition(".")[2] == "class"
    return key_name(value) if names_class and value is not None else value


class Logpoint(Recorder[Hit, Hits]):
    """A text that a running JVM records whenever a thread reaches a place; `close` ends it.

    Iterating gives hits until the logpoint is closed or the target ends. The program never waits.

    Attributes:
        place: its place.
        text: its text.
        when: the condition.
        classes: the number of classes that got probes at the beginning.
        refused: classes that could not get any, with the reason.
        running: for methods of these classes, the number of threads in a call. Such a call
            continues in the interpreter, and without the logpoint, until it returns.
    """

    _TIMED = False

    def __init__(
        self,
        vm: TracedVM,
        place: str,
        text: str | None,
        *,
        when: str | None,
        every: int,
        over: float,
        limit: int | None,
        by: str | None,
        stack: int,
        text_size: int,
        max_pause: float | None,
        unloaded: bool,
        loader: ClassLoader | None,
    ) -> None:
        for name, value in (("place", place), ("text", text)):
            if not isinstance(value, str) and (name == "place" or value is not None):
                raise TypeError(f"the {name} of a logpoint is a text, not {value!r}")
        self.place = place
        self.when = when
        self._place_of = Place.of(place)
        words = self._place_of.words
        self.text = self._place_of.text if text is None else text
        self._template = Template.of(self.text, words)
        names = self._template.names
        if stack and by is not None:
            raise BadProbe("stack= is for hits that are recorded; by='caller' counts by the caller")
        self._frames = stack
        # Small records stay in the caches.
        shape = RecordShape.of(text_size, objects=len(names), frames=stack, numbers=0)
        grouping = None if by is None else Grouping.of(by, words)
        if grouping is not None and grouping.operand is not None:
            grouping = grouping._replace(operand=at_place(grouping.operand))
        steps = condition_at(when, over, words)
        if grouping is None:
            begin = (Operand(Kind.NUMBER, "I", 0), Operand(Kind.SITE, "I"), _BEGAN)
            callers = [Operand(Kind.STACK, "X")] * (stack > 0)
            what = recorded((*begin, *callers, *self._template.operands), shape)
        else:
            what = {"name": "tally", "operands": grouping.operands(_UNTIMED)}
        times = uses(steps, Kind.TOOK) or any(
            one.kind is Kind.TOOK for one in self._template.operands
        )
        probes = self._place_of.probes(what, steps, times=times)
        super().__init__(*(vm, probes, shape), limit=limit, by=grouping, every=every, loader=loader)
        try:
            self._arm(max_pause)
            self._read_sites()
            there = {site.name for site in self._sites if self._is_there(site)}
            self.running = {name: many for name, many in self.running.items() if name in there}
            if not unloaded:
                self._check_place()
        except BaseException:
            self.close()
            raise

    def _is_there(self, site: Site) -> bool:
        """Whether a probe is at the place itself."""
        return self._plan[site.probe].outcome is not Outcome.KEEP

    def _check_place(self) -> None:
        """Refuse a missing place, or one where a value is unknown."""
        there = [site for site in self._sites if self._is_there(site)]
        if not there:
            refuse_place(self, self._place_of, self.place, self.when)
        if self._by is not None:
            return
        for number, name in enumerate(self._template.names, self._frames > 0):
            if all(site.slots[number] is None for site in there):
                if any(site.shape[number] == "-" for site in there):
                    raise BadProbe(f"{self.text!r} has too many values for a record: {name!r}")
                raise LookupError(
                    f"there is no value {name!r} at {self.place}; arg0 and so on, and this.FIELD, "
                    "are available even if a class was compiled without -g"
                )

    @property
    def places(self) -> int:
        """The number of places that have it so far."""
        with self._lock:
            self._read_sites()
        return sum(map(self._is_there, self._sites))

    def _records(self, found: list[Hit]) -> Hits:
        return Hits(found)

    def _record(self, site: Site, row: memoryview, ended: int, started: int, thread: int) -> Hit:
        recorded_values, slots = self._values(site, row), site.slots
        stack: tuple[str, ...] = ()
        if self._frames:
            callers, *recorded_values = recorded_values
            slots = slots[1:]
            here = f"{site.name}:{site.line}" if site.line else site.name
            stack = (here, *(callers if isinstance(callers, tuple) else ()))[: self._frames]
        values = [
            RecordedObject("", RecordedKind.ABSENT) if slot is None else _known(operand, value)
            for operand, slot, value in zip(
                self._template.operands, slots, recorded_values, strict=True
            )
        ]
        named = self._threads.get(thread, f"#{thread}")
        values = [
            value or named if operand.kind is Kind.THREAD and operand.path == "name" else value
            for operand, value in zip(self._template.operands, values, strict=True)
        ]
        return Hit(
            ended,
            named,
            thread,
            site.class_name,
            site.method,
            site.descriptor,
            site.line,
            dict(zip(self._template.names, values, strict=True)),
            self._template.filled(values),
            stack,
        )

    @escaped
    def __repr__(self) -> str:
        state = ", closed" if self._closed else ""
        return f"<Logpoint at {self.place}: {self.text!r}{state}>"


__all__ = ["Hit", "Hits", "Logpoint", "Template"]
