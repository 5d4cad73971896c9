"""The requests ``variables`` and ``setVariable``, and the scopes of a frame."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from jvmti import refs
from jvmti.adapter.protocol.arguments import Arguments, RequestFailed
from jvmti.adapter.protocol.framing import Encoded
from jvmti.adapter.protocol.requests import answers
from jvmti.adapter.showing.shown_values import has_parts, text_of, type_of
from jvmti.adapter.showing.value_parts import (
    ArrayParts,
    AsksProgram,
    FrameParts,
    Part,
    Parts,
    StaticParts,
    StopParts,
    parts_of,
)
from jvmti.adapter.stopped_threads import HaltedThread
from jvmti.model.objects.java_object import Object
from jvmti.model.values.views import is_opaque
from jvmti.text.printable import printable

if TYPE_CHECKING:
    from jvmti.adapter.debug_session import DebugSession
    from jvmti.adapter.showing.evaluation import Evaluation
    from jvmti.adapter.showing.stacks import FrameReference

_AT_ONCE = 100
"""Elements at most that are read without the Python thread of the stop."""
_PLAIN = frozenset((bool, int, str, type(None)))
"""Types of values that are shown alike where they are equal."""
_PAGE = 1000
"""Elements in a response, where the client does not say how many."""


class PartsReference:
    """The parts of something that has a number.

    Attributes:
        parts: the parts.
        frame: the frame that its expressions are evaluated in.
    """

    def __init__(self, parts: Parts, frame: FrameReference | None) -> None:
        self.parts = parts
        self.frame = frame


class ShownPart:
    """A part that was shown: the next stop of a stepping thread shows most of them again.

    Args:
        part: the part.
        text: as JSON, but for the end.
        parts: those of its value.
    """

    __slots__ = ("_contents", "_stays", "_value", "parts", "text")

    def __init__(self, part: Part, text: str, parts: Parts | None) -> None:
        self._value, self._contents = part.value, part.contents
        self.text = text
        self.parts = parts
        # The text of another object may say what has not been read for it.
        self._stays = _has_own_parts(part) and (
            type(part.value) in _PLAIN
            or part.contents is not None
            or (type(part.value) is Object and is_opaque(part.value))
        )

    def is_of(self, part: Part) -> bool:
        """Whether a part of that name is shown alike."""
        if not self._stays or not _has_own_parts(part) or not _is_same(self._value, part.value):
            return False
        mine, its = self._contents, part.contents
        if mine is None or its is None:
            return mine is its
        same = mine.size == its.size and len(mine.items) == len(its.items)
        return same and all(map(_is_same, mine.items, its.items))


def _has_own_parts(part: Part) -> bool:
    return part.parts is None and part.failure is None


def _is_same(one: Any, other: Any) -> bool:
    """Whether two values are one, as far as that is known without the agent."""
    if one is other:
        return True
    return type(one) in _PLAIN and type(one) is type(other) and bool(one == other)


def _has_memory(value: Any) -> bool:
    return isinstance(value, refs.Array) and not isinstance(value, refs.ObjectArray)


class VariableRequests:
    """Answers requests about variables.

    Args:
        session: what requests share.
        evaluation: evaluates what variables are set to.
    """

    def __init__(self, session: DebugSession, evaluation: Evaluation) -> None:
        self._session = session
        self._evaluation = evaluation
        self._has_explained = False
        """Whether the user knows why numbers are missing."""

    def scopes(self, halted: HaltedThread, reference: FrameReference) -> list[dict[str, Any]]:
        """The groups of variables of a frame; to be called by way of `HaltedThread.run`."""
        frame = reference.frame()
        found: list[tuple[str, Parts, str | None, bool]] = []
        if halted.stop is not None and reference.depth == 0:
            known = StopParts(halted.stop)
            if known.named:
                found.append(("Stop", known, None, False))
        # Late, those of other frames than the topmost come from a walk through the heap.
        local = FrameParts(reference.frame, is_quick=reference.depth == 0)
        if not frame.is_native:
            found.append(("Locals", local, "locals", False))
        classes = halted.shown.classes
        cls = classes.get(frame.method)
        if cls is None:
            cls = classes[frame.method] = frame.method.declaring_class
        reference.cls = cls
        static = StaticParts(self._session.vm, reference.cls)
        if static.named:
            found.append(("Static", static, None, True))
        scopes = []
        for name, parts, hint, expensive in found:
            number = self._session.references.add(halted, PartsReference(parts, reference))
            scope: dict[str, Any] = {
                "name": name,
                "variablesReference": number,
                "expensive": expensive,
            }
            if hint is not None:
                scope["presentationHint"] = hint
            scopes.append(scope)
        return scopes

    @answers("variables")
    def variables(self, given: Arguments) -> Encoded:
        """The parts of something, or a page of them."""
        halted, reference = self._get(given)
        only = given.text("filter", "")
        start = max(given.number("start", 0), 0)
        count = given.number("count", 0)
        as_hex = given.has("format") and given.inner("format").flag("hex")

        parts: Parts = reference.parts
        end = start
        if only != "named" and start < parts.indexed:
            most = count if count > 0 else _PAGE if only != "indexed" else parts.indexed
            end = min(start + most, parts.indexed)
        found: list[Part] = []
        shown: list[str] = []

        def read() -> None:
            if end > start:
                found.extend(parts.read_indexed(start, end - start))
            if only != "indexed" and (only == "named" or start == 0):
                named = parts.read_named()
                if only == "named" and (start or count > 0):
                    named = named[start : start + count if count > 0 else None]
                found.extend(named)

        def show(asks_program: bool) -> bool:
            if not found:
                read()
            try:
                for one in found[len(shown) :]:
                    shown.append(self._text(halted, one, reference.frame, as_hex, asks_program))
            except AsksProgram:
                return False
            return True

        session = self._session
        is_quick = parts.is_quick and end - start <= _AT_ONCE
        if not (is_quick and session.run_at_once(halted, lambda: show(False))):
            session.run(halted, lambda: show(True))  # the rest
        return Encoded(f'{{"variables": [{", ".join(shown)}]}}')

    def _get(self, given: Arguments) -> tuple[HaltedThread, PartsReference]:
        number = given.number("variablesReference")
        halted, reference = self._session.references.get(
            number, PartsReference, "group of variables"
        )
        return halted, reference

    def _text(
        self,
        halted: HaltedThread,
        part: Part,
        frame: FrameReference | None,
        as_hex: bool,
        asks_program: bool,
    ) -> str:
        """A part as JSON, to be called by way of `HaltedThread.run`.

        Raises:
            AsksProgram: only code of the program has it, which may not run.
        """
        key = part.name, part.path, part.signature, part.is_static, part.is_final, as_hex
        known = halted.shown.parts_before.get(key)
        if known is None or not known.is_of(part):
            described, parts = self._described(part, as_hex, asks_program=asks_program)
            known = ShownPart(part, json.dumps(described)[:-1], parts)
        halted.shown.parts[key] = known
        if known.parts is None:
            return f'{known.text}, "variablesReference": 0}}'
        number = self._session.references.add(halted, PartsReference(known.parts, frame))
        memory = f', "memoryReference": "array:{number}"' if _has_memory(part.value) else ""
        return f'{known.text}, "variablesReference": {number}{memory}}}'

    def _described(
        self, part: Part, as_hex: bool, *, asks_program: bool
    ) -> tuple[dict[str, Any], Parts | None]:
        """A part as the client shows it, but for the number of its parts; and these."""
        shown: dict[str, Any] = {"name": printable(part.name) or '""'}
        parts: Parts | None = None
        attributes = ["static"] if part.is_static else []
        if part.is_final:
            attributes.append("readOnly")
        if part.failure is not None:
            shown["value"] = f"<{printable(part.failure)}>"
            attributes.append("failedEvaluation")
            if part.why is not None and not self._has_explained:
                self._has_explained = True
                self._session.conversation.output(
                    f"some variables are not readable in threads that no event has stopped; for "
                    f"{printable(part.name)}: {printable(part.why)}\n"
                )
        elif part.parts is not None and part.value is None:
            shown["value"], parts = "", part.parts
        else:
            described, parts = self._value(part, as_hex, asks_program=asks_program)
            shown |= described
        if part.path is not None:
            shown["evaluateName"] = part.path
        if attributes:
            shown["presentationHint"] = {"attributes": attributes}
        return shown, parts

    def _value(
        self, part: Part, as_hex: bool, *, asks_program: bool
    ) -> tuple[dict[str, Any], Parts | None]:
        """The value of a part, its type, and its parts."""
        value = part.value
        text = text_of(value, part.signature, contents=part.contents, as_hex=as_hex)
        shown: dict[str, Any] = {"value": text}
        name = type_of(value, part.signature)
        if name is not None:
            shown["type"] = name
        if part.parts is None and not has_parts(value):
            return shown, None
        parts = part.parts or parts_of(
            self._session.vm, value, part.path, part.contents, asks_program=asks_program
        )
        if not parts.named and not parts.indexed:
            return shown, None
        if parts.indexed:
            shown |= {"indexedVariables": parts.indexed, "namedVariables": parts.named}
        return shown, parts

    def value(
        self, halted: HaltedThread, part: Part, frame: FrameReference | None, as_hex: bool = False
    ) -> dict[str, Any]:
        """The value of a part, its type and the numbers of its parts; to be called by way of
        `HaltedThread.run`.
        """
        shown, parts = self._value(part, as_hex, asks_program=True)
        shown["variablesReference"] = 0
        if parts is not None:
            number = self._session.references.add(halted, PartsReference(parts, frame))
            shown["variablesReference"] = number
            if _has_memory(part.value):
                shown["memoryReference"] = f"array:{number}"
        return shown

    @answers("setVariable")
    def set_variable(self, given: Arguments) -> dict[str, Any]:
        """Give a variable, field or element another value."""
        halted, reference = self._get(given)
        name, text = given.text("name"), given.text("value")

        def write() -> dict[str, Any]:
            parts: Parts = reference.parts
            frame = reference.frame or self._evaluation.top(halted)
            if isinstance(parts, FrameParts) and name in frame.frame().locals and name != "this":
                value = self._evaluation.assigned(frame, name, text).value
            else:
                value = self._evaluation.value(frame, text)
                parts.write(name, value)
            return self._after_write(halted, reference, name, value)

        written = self._session.run(halted, write)
        parts = reference.parts
        if isinstance(parts, ArrayParts) and (size := parts.element_size):
            self.report_memory(given.number("variablesReference"), int(name) * size, size)
        return written

    def report_memory(self, number: int, offset: int, count: int) -> None:
        """Once the request is answered, let the client show bytes of an array anew.

        Args:
            number: of its parts.
            offset: the first of the bytes.
            count: how many.
        """
        session = self._session
        for event, body in (
            ("memory", {"memoryReference": f"array:{number}", "offset": offset, "count": count}),
            ("invalidated", {"areas": ["variables"]}),
        ):
            if session.client.flag(f"supports{event.capitalize()}Event"):
                session.conversation.afterwards(partial(session.conversation.event, event, **body))

    def _after_write(
        self, halted: HaltedThread, reference: PartsReference, name: str, value: Any
    ) -> dict[str, Any]:
        parts = reference.parts
        if name.isdigit() and parts.indexed:
            found = parts.read_indexed(int(name), 1)
        else:
            found = [one for one in parts.read_named() if one.name == name]
        part = found[0] if found else Part(name, value)
        return self.value(halted, part, reference.frame)

    def parts(self, number: int) -> tuple[HaltedThread, Parts]:
        """The parts that a number stands for.

        Raises:
            RequestFailed: there are none.
        """
        halted, reference = self._session.references.get(
            number, PartsReference, "group of variables"
        )
        if not isinstance(reference, PartsReference):
            raise RequestFailed(f"{number} stands for no variables")
        return halted, reference.parts


__all__ = ["PartsReference", "VariableRequests"]
