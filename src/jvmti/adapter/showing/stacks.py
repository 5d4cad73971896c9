"""The requests ``stackTrace`` and ``scopes``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from operator import is_
from typing import TYPE_CHECKING, Any

from jvmti.adapter.protocol.arguments import Arguments
from jvmti.adapter.protocol.framing import Encoded
from jvmti.adapter.protocol.requests import answers
from jvmti.adapter.stopped_threads import HaltedThread, Shown
from jvmti.model.threads.frames import Frame
from jvmti.text.printable import printable

if TYPE_CHECKING:
    from jvmti.adapter.code.code_addresses import CodeAddresses
    from jvmti.adapter.code.source_places import SourcePlaces
    from jvmti.adapter.debug_session import DebugSession
    from jvmti.adapter.showing.variables import VariableRequests
    from jvmti.model.classes.java_class import Class

_LEVELS = 1000
"""Frames in a response, where the client does not say how many."""
_STAYS = '"canRestart": false, '


class FrameReference:
    """A frame that has a number.

    Attributes:
        halted: its thread.
        depth: its place in the stack, 0 for the topmost.
        cls: the class of its method, once it has been shown; what is known of it stays known.
    """

    cls: Class | None = None

    def __init__(self, halted: HaltedThread, depth: int) -> None:
        self.halted = halted
        self.depth = depth

    def frame(self) -> Frame:
        """The frame; to be called by way of `HaltedThread.run`."""
        return self.halted.frames(self.depth + 1)[self.depth]


class StackRequests:
    """Answers requests about stacks.

    Args:
        session: what requests share.
        sources: finds the sources of methods.
        variables: shows variables.
        addresses: the addresses of instructions.
    """

    def __init__(
        self,
        session: DebugSession,
        sources: SourcePlaces,
        variables: VariableRequests,
        addresses: CodeAddresses,
    ) -> None:
        self._session = session
        self._sources = sources
        self._variables = variables
        self._addresses = addresses

    @answers("stackTrace")
    def stack_trace(self, given: Arguments) -> Encoded:
        """A part of the stack of a stopped thread."""
        session = self._session
        halted = session.halted.get(given.number("threadId"))
        start = max(given.number("startFrame", 0), 0)
        levels = given.number("levels", 0)
        most = start + (levels if levels > 0 else _LEVELS)
        as_parameters = not given.has("format") or given.inner("format").flag(
            "parameterTypes", True
        )

        def read() -> Encoded:
            page = halted.frames(most)[start:]
            # A page behind the end of the stack has no numbers, however far behind it begins.
            count = start + len(page) if page else 0
            numbers = self._numbers(halted, count)[start:count]
            texts = self._texts(halted.shown, page, as_parameters)
            last = self._restartable(halted) - start
            shown = [
                f'{{"id": {number}, {"" if place < last else _STAYS}{text}'
                for place, (number, text) in enumerate(zip(numbers, texts, strict=True))
            ]
            depth = 0 if halted.stack is None else halted.stack.depth
            return Encoded(f'{{"stackFrames": [{", ".join(shown)}], "totalFrames": {depth}}}')

        return session.run_at_once(halted, read)

    def _restartable(self, halted: HaltedThread) -> int:
        """How many frames from the topmost on the request ``restartFrame`` takes.

        Of late agents it takes the one that a probe has stopped, if that can begin again.
        """
        stack = halted.stack
        assert stack is not None
        if not self._session.is_late:
            native = (place for place, one in enumerate(stack.frames) if one.is_native)
            return next(native, stack.depth) - 1
        table = self._session.vm.breakpoints
        probed = None if halted.stop is None else table.probed(halted.thread)
        if probed is None or probed.place.cannot_restart is not None:
            return 0
        return int(table.step_probes.covers(stack.frames[0].method))

    def _numbers(self, halted: HaltedThread, count: int) -> list[int]:
        """The numbers of the first frames, as long as their thread is stopped."""
        known = halted.frame_numbers
        first = len(known)
        if first < count:
            known += self._session.references.add_range(
                halted, count - first, lambda place: FrameReference(halted, first + place)
            )
        return known

    def _texts(self, shown: Shown, page: Sequence[Frame], as_parameters: bool) -> list[str]:
        """Frames as JSON, but for their numbers and the brace before them."""
        before, texts = shown.page
        if as_parameters and len(before) == len(page) and all(map(is_, before[1:], page[1:])):
            texts = [self._text(shown, one, True) for one in page[:1]] + texts[1:]
        else:
            texts = [self._text(shown, one, as_parameters) for one in page]
        shown.page = (page, texts) if as_parameters else ((), [])
        return texts

    def _text(self, shown: Shown, frame: Frame, as_parameters: bool) -> str:
        # By its handle: to hash a method takes Python code.
        key = frame.method._handle, frame.location, frame.line, as_parameters
        text = shown.frames.get(key)
        if text is None:
            text = shown.frames[key] = json.dumps(self._shown(frame, as_parameters))[1:]
        return text

    def _shown(self, frame: Frame, as_parameters: bool) -> dict[str, Any]:
        """A frame as the protocol has it, but for its number."""
        method, place = frame.method, frame.before_probes
        assert place is not None
        name = f"{method.class_name.rpartition('.')[2]}.{method.name}"
        if as_parameters:
            types = (one.rpartition(".")[2] for one in method.parameter_types)
            name += f"({', '.join(types)})"
        found, line = self._sources.at(frame, place)
        shown: dict[str, Any] = {
            "name": printable(name),
            "line": self._session.to_client(line),
            "column": self._session.first_column,
        }
        if found is not None:
            shown["source"] = found
        if found is None or line is None:
            shown["line"], shown["column"] = 0, 0
            shown["presentationHint"] = "subtle"
        if not frame.is_native:
            shown["instructionPointerReference"] = self._addresses.of(method, place)
        return shown

    @answers("scopes")
    def scopes(self, given: Arguments) -> dict[str, Any]:
        """The groups of variables of a frame."""
        halted, reference = self._session.references.get(
            given.number("frameId"), FrameReference, "frame"
        )
        return {
            "scopes": self._session.run_at_once(
                halted, lambda: self._variables.scopes(halted, reference)
            )
        }


__all__ = ["FrameReference", "StackRequests"]
