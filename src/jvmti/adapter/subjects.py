"""The requests of all subjects, and the state that they share."""

from __future__ import annotations

from jvmti.adapter.code.class_replacement import ReplacementRequests
from jvmti.adapter.code.code_addresses import CodeAddresses
from jvmti.adapter.code.disassembly import DisassemblyRequests
from jvmti.adapter.code.saved_sources import SavedSources
from jvmti.adapter.code.source_places import SourcePlaces
from jvmti.adapter.debug_session import DebugSession
from jvmti.adapter.initialization import Initialization
from jvmti.adapter.launching import LaunchRequests
from jvmti.adapter.preloading import preload
from jvmti.adapter.protocol.conversation import Conversation
from jvmti.adapter.protocol.requests import answers_of
from jvmti.adapter.showing.evaluation import EvaluateRequests, Evaluation
from jvmti.adapter.showing.memory import ArrayMemory
from jvmti.adapter.showing.modules import ModuleRequests
from jvmti.adapter.showing.stacks import StackRequests
from jvmti.adapter.showing.threads import ThreadRequests
from jvmti.adapter.showing.variables import VariableRequests
from jvmti.adapter.stopping.breakpoints import BreakpointRequests
from jvmti.adapter.stopping.data_breakpoints import DataBreakpointRequests
from jvmti.adapter.stopping.exceptions import ExceptionRequests
from jvmti.adapter.stopping.leaving_frames import LeavingRequests
from jvmti.adapter.stopping.stepping import RunRequests


class Subjects:
    """All that answers requests, by subject.

    Args:
        conversation: with the client.
        initialization: answers the first request, and is one of them.
        token: what ``launch`` and ``attach`` must have as their ``token``.
    """

    def __init__(
        self, conversation: Conversation, initialization: Initialization, token: str | None
    ) -> None:
        preload()
        session = DebugSession(conversation, initialization)
        evaluation = Evaluation(session)
        sources = SourcePlaces(session)
        addresses = CodeAddresses()
        variables = VariableRequests(session, evaluation)
        replacement = ReplacementRequests(session)
        saved = SavedSources(session, sources, replacement)
        self._launching = LaunchRequests(session, saved, token)
        breakpoints = BreakpointRequests(session, evaluation, sources)
        running = RunRequests(session)
        self.answers = answers_of(
            [
                initialization,
                self._launching,
                breakpoints,
                ExceptionRequests(session, breakpoints),
                DataBreakpointRequests(session, breakpoints, variables),
                DisassemblyRequests(session, breakpoints, addresses),
                ThreadRequests(session),
                StackRequests(session, sources, variables, addresses),
                variables,
                running,
                LeavingRequests(session, evaluation, running),
                ModuleRequests(session),
                replacement,
                EvaluateRequests(session, evaluation, variables),
                sources,
                ArrayMemory(session, variables),
            ]
        )

    def leave(self) -> None:
        """Let stopped threads run on, and end a program that was launched."""
        self._launching.leave()


__all__ = ["Subjects"]
