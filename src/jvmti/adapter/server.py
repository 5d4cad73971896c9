"""The adapter as a whole: a conversation with one client, from its first request to its last."""

from __future__ import annotations

from io import RawIOBase
from typing import BinaryIO

from jvmti.adapter.code.class_replacement import ReplacementRequests
from jvmti.adapter.code.code_addresses import CodeAddresses
from jvmti.adapter.code.disassembly import DisassemblyRequests
from jvmti.adapter.code.saved_sources import SavedSources
from jvmti.adapter.code.source_places import SourcePlaces
from jvmti.adapter.debug_session import DebugSession
from jvmti.adapter.launching import LaunchRequests
from jvmti.adapter.preloading import preload
from jvmti.adapter.protocol.conversation import Conversation
from jvmti.adapter.protocol.framing import Framing
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


def serve(reader: RawIOBase | BinaryIO, writer: BinaryIO, *, token: str | None = None) -> None:
    """Debug a program for a client, until the client goes.

    However it goes, stopped threads run on, and a program that was launched for it ends.

    Args:
        reader: where requests come from, without a buffer.
        writer: where responses and events go to.
        token: what ``launch`` and ``attach`` must have as their ``token``.
    """
    preload()
    conversation = Conversation(Framing(reader, writer))
    session = DebugSession(conversation)
    evaluation = Evaluation(session)
    sources = SourcePlaces(session)
    memory = ArrayMemory(session)
    addresses = CodeAddresses()
    variables = VariableRequests(session, evaluation, memory)
    replacement = ReplacementRequests(session)
    saved = SavedSources(session, sources, replacement)
    launching = LaunchRequests(session, saved, token)
    breakpoints = BreakpointRequests(session, evaluation, sources)
    running = RunRequests(session)
    subjects = [
        launching,
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
        memory,
    ]
    try:
        conversation.run(answers_of(subjects))
    finally:
        launching.leave()


__all__ = ["serve"]
