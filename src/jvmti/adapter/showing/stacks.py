"""The requests ``stackTrace`` and ``scopes``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jvmti.adapter.protocol.arguments import Arguments
from jvmti.adapter.protocol.requests import answers
from jvmti.adapter.stopped_threads import HaltedThread
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
    def stack_trace(self, given: Arguments) -> dict[str, Any]:
        """A part of the stack of a stopped thread."""
        session = self._session
        halted = session.halted.get(given.number("threadId"))
        start = max(given.number("startFrame", 0), 0)
        levels = given.number("levels", 0)
        most = start + (levels if levels > 0 else _LEVELS)
        as_parameters = given.inner("format").flag("parameterTypes", True)

        def read() -> dict[str, Any]:
            page = halted.frames(most)[start:]
            known = halted.shown_frames
            for one in page:
                key = one.method, one.location, one.line, as_parameters
                if key not in known:
                    known[key] = self._shown(one, as_parameters)
            shown = [
                {
                    "id": self._number(halted, one),
                    **known[one.method, one.location, one.line, as_parameters],
                }
                for one in page
            ]
            depth = 0 if halted.stack is None else halted.stack.depth
            return {"stackFrames": shown, "totalFrames": depth}

        return session.run_at_once(halted, read)

    def _number(self, halted: HaltedThread, frame: Frame) -> int:
        """The number of a frame, as long as its thread is stopped."""
        number = halted.frame_numbers.get(frame.depth)
        if number is None:
            reference = FrameReference(halted, frame.depth)
            number = self._session.references.add(halted, reference)
            halted.frame_numbers[frame.depth] = number
        return number

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
