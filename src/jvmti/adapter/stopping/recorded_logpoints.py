"""Logpoints whose texts the agent records, so that no thread waits; the client gets to see them.

They take the place of stops where all values in a text are variables or fields that have a number
or a text. In a JVM that was attached to, probes record them, otherwise the agent does at
breakpoints of the VM.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from jvmti.adapter.showing.shown_values import text_of
from jvmti.interface.errors import Error
from jvmti.interface.signatures import BOXED, STRING
from jvmti.text.quantities import quantity

if TYPE_CHECKING:
    from jvmti.adapter.protocol.conversation import Conversation
    from jvmti.expressions.agent_values import AgentValue
    from jvmti.model.classes.java_class import Method
    from jvmti.model.vm import VM
    from jvmti.tracing.logpoint import Logpoint

log = logging.getLogger("jvmti")

_TICK = 0.02
"""Seconds between two looks for records."""
_LIMIT = 20_000
"""Records a second of a logpoint; more than an editor shows."""
_TEXT, _TEXTS = 256, 2048
"""Bytes of a text, and of all texts of a record."""
_LINES = 500
"""Lines in a message to the client at most."""
_RECORDED = {*BOXED.values(), *BOXED, STRING}


class RecordedText(NamedTuple):
    """A text to log, as the agent records its values."""

    template: str
    """As `jvmti.VM.logpoint` takes it: only the values."""
    size: int
    """Bytes that a text among the values may have."""
    parts: tuple[tuple[str, int | None], ...]
    """Literal text, and the position of the value behind it."""
    values: tuple[str, ...]
    """The values, in the agent's words."""
    line: int
    """The line of the place, for the client."""

    def filled(self, values: Sequence[Any]) -> str:
        """The text with these values."""
        found = []
        for literal, place in self.parts:
            found.append(literal)
            if place is not None:
                value = values[place]
                found.append(value if isinstance(value, str) else text_of(value))
        return "".join(found)


def recorded_text(
    parts: Sequence[tuple[str, str | None]],
    line: int,
    vm: VM,
    places: Sequence[tuple[Method, int]],
) -> RecordedText | None:
    """A text whose values the agent records at places; ``None`` if it cannot.

    Args:
        parts: literal text, and the expression behind it.
        line: the line of the places, for the client.
        vm: the VM.
        places: methods and bytecode indices.
    """
    values: list[AgentValue] = []
    found: list[tuple[str, int | None]] = []
    for literal, expression in parts:
        value = None if expression is None else _value_at(expression, vm, places)
        if expression is not None and value is None:
            return None
        if value is not None and value not in values:
            values.append(value)
        found.append((literal, None if value is None else values.index(value)))
    # Small records, of which more fit.
    has_texts = any(value.signature == STRING for value in values)
    size = min(_TEXT, _TEXTS // len(values)) if has_texts else 0
    texts = tuple(value.text for value in values)
    return RecordedText("".join(f"{{{one}}}" for one in texts), size, tuple(found), texts, line)


def _value_at(text: str, vm: VM, places: Sequence[tuple[Method, int]]) -> AgentValue | None:
    """The value that the agent reads at places; ``None`` if it differs, or cannot be read."""
    from jvmti.expressions.agent_values import CodePlace, NotReadable
    from jvmti.expressions.errors import ExpressionError
    from jvmti.expressions.parsing import parsed

    try:
        expression = parsed(text)
        values = {CodePlace(vm, *one).value(expression, expression.root) for one in places}
    except (NotReadable, ExpressionError):
        return None
    value = values.pop()
    return value if not values and value.signature in _RECORDED else None


class Said(NamedTuple):
    """A text for the client."""

    time: int
    """When, in nanoseconds of ``CLOCK_MONOTONIC``."""
    text: str
    """The text."""
    line: int | None
    """Its line; ``None`` if it belongs to none."""


def _dropped(count: int, time: int, line: int | None) -> Iterator[Said]:
    if count > 0:
        yield Said(time, f"({quantity(count, 'hit')} came too fast to be shown)", line)


class RecordedLogpoint:
    """A logpoint of the client that probes record.

    Args:
        source: the probes.
        text: the text.
        owner: those that are read.
    """

    def __init__(self, source: Logpoint, text: RecordedText, owner: RecordedLogpoints) -> None:
        self._source = source
        self._text = text
        self._owner = owner
        self._reported = 0
        self.running = source.running
        self.places = source.places

    @property
    def lost(self) -> Sequence[tuple[Any, int, str]]:
        """Places that it had; a logpoint has none of these."""
        return ()

    @property
    def is_active(self) -> bool:
        """Whether it records."""
        return not self._source.ended

    def cancel(self) -> None:
        """End it."""
        self._owner.remove(self)
        self._source.close()

    def take(self) -> Iterator[Said]:
        """The texts recorded since the last call, and how many were not."""
        line = self._text.line
        time = 0
        for hit in self._source.read():
            time = hit.time
            yield Said(time, self._text.filled(list(hit.values.values())), line)
        dropped = self._source.dropped
        yield from _dropped(dropped - self._reported, time, line)
        self._reported = dropped


class RecordedLogpoints:
    """The logpoints of a session that the agent records: by probes, or at breakpoints of the VM.

    Args:
        conversation: with the client, which gets to know what they say.
    """

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._active: list[RecordedLogpoint] = []
        self._vm: VM | None = None
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def open(
        self, vm: VM, place: str, text: RecordedText, *, when: str | None, every: int
    ) -> RecordedLogpoint:
        """Record a text at a place, by probes.

        Args:
            vm: the VM.
            place: as `jvmti.VM.logpoint` takes it.
            text: the text.
            when: a condition in the agent's words.
            every: only each n-th hit.

        Raises:
            BadProbe: the agent does not take the text, or the condition.
            LookupError: there is no such place, or no such value there.
        """
        source = vm.logpoint(
            place,
            text.template,
            when=when,
            every=every,
            limit=_LIMIT,
            text_size=text.size,
        )
        made = RecordedLogpoint(source, text, self)
        with self._lock:
            self._active.append(made)
        self.follow(vm)
        return made

    def follow(self, vm: VM) -> None:
        """Pass on what is recorded from now on."""
        with self._lock:
            self._vm = vm
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._serve, name="jvmti logpoints", daemon=True
                )
                self._thread.start()

    def remove(self, one: RecordedLogpoint) -> None:
        """Pass on the last of one's texts, and read it no more."""
        with self._lock:
            self._flush()
            self._active = [other for other in self._active if other is not one]

    def flush(self) -> None:
        """Pass on the records so far, in their order."""
        if self._vm is None:
            return  # the agent records nothing
        with self._lock:
            self._flush()

    def _serve(self) -> None:
        while not self._conversation.is_over.wait(_TICK):
            self.flush()

    def _flush(self) -> None:
        said: list[Said] = []
        try:
            said += self._at_breakpoints()
        except Error as error:
            log.warning("the records of logpoints are lost: %s", error)
        for one in list(self._active):
            try:
                said += one.take()
            except Error as error:
                log.debug("the records of a logpoint are lost: %s", error)
                self._active.remove(one)
        said.sort(key=lambda one: one.time)
        for at in range(0, len(said), _LINES):
            part = said[at : at + _LINES]
            lines = {one.line for one in part}
            self._conversation.event(
                "output",
                category="stdout",
                output="".join(f"{one.text}\n" for one in part),
                line=lines.pop() if len(lines) == 1 else None,
            )

    def _at_breakpoints(self) -> Iterator[Said]:
        records = None if self._vm is None else self._vm.breakpoints.records
        if records is None:
            return
        time = 0
        for time, text, values in records.take():
            yield Said(time, text.filled(values), text.line)
        yield from _dropped(records.take_dropped(), time, None)


__all__ = ["RecordedLogpoint", "RecordedLogpoints", "RecordedText", "recorded_text"]
