"""The request ``initialize``, which is answered before what the other requests need is imported."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jvmti.adapter.protocol.arguments import Arguments, RequestFailed
from jvmti.adapter.protocol.requests import answers

if TYPE_CHECKING:
    from jvmti.adapter.protocol.conversation import Conversation

_CONDITION = (
    "classes or patterns, as java.lang.IllegalStateException, com.acme.*; then, after `if`, "
    "an expression"
)


def exception_filter(name: str, label: str, text: str) -> dict[str, Any]:
    """A choice of exceptions that the client offers its user.

    Args:
        name: what requests call it.
        label: what the user sees.
        text: which exceptions it stops at.
    """
    return {
        "filter": name,
        "label": label,
        "description": f"Stop where an exception {text}",
        "default": False,
        "supportsCondition": True,
        "conditionDescription": _CONDITION,
    }


FILTERS = [
    exception_filter("caught", "Caught exceptions", "is thrown that the program catches"),
    exception_filter(
        "uncaught",
        "Uncaught exceptions",
        "is thrown that nothing catches, as far as the VM can foresee",
    ),
]
CAPABILITIES: dict[str, Any] = {
    "supportsConfigurationDoneRequest": True,
    "supportsFunctionBreakpoints": True,
    "supportsBreakpointLocationsRequest": True,
    "supportsConditionalBreakpoints": True,
    "supportsHitConditionalBreakpoints": True,
    "supportsLogPoints": True,
    "supportsEvaluateForHovers": True,
    "supportsSetVariable": True,
    "supportsSetExpression": True,
    "supportsLoadedSourcesRequest": True,
    "supportsModulesRequest": True,
    "supportsExceptionInfoRequest": True,
    "supportsExceptionFilterOptions": True,
    "exceptionBreakpointFilters": FILTERS,
    "supportsDataBreakpoints": True,
    "supportsDisassembleRequest": True,
    "supportsInstructionBreakpoints": True,
    "supportsRestartFrame": True,
    "supportsStepInTargetsRequest": True,
    "supportsCompletionsRequest": True,
    "completionTriggerCharacters": ["."],
    "supportsClipboardContext": True,
    "supportsSingleThreadExecutionRequests": True,
    "supportsTerminateRequest": True,
    "supportTerminateDebuggee": True,
    "supportsDelayedStackTraceLoading": True,
    "supportsSteppingGranularity": True,
    "supportsReadMemoryRequest": True,
    "supportsWriteMemoryRequest": True,
    "supportsCancelRequest": True,
    "supportsValueFormattingOptions": True,
}


class Initialization:
    """Answers the first request of a session.

    Args:
        conversation: with the client.
        prepare: is called as soon as the client has the answer.

    Attributes:
        client: what the client said of itself.
    """

    def __init__(self, conversation: Conversation, prepare: Callable[[], object]) -> None:
        self._conversation = conversation
        self._prepare = prepare
        self._is_done = False
        self.client = Arguments("initialize", None)

    @answers("initialize")
    def initialize(self, given: Arguments) -> dict[str, Any]:
        """Tell each other what we can do."""
        if self._is_done:
            raise RequestFailed("initialize comes once, at the beginning of a session")
        self._is_done = True
        self.client = given
        if given.flag("supportsProgressReporting"):
            self._conversation.progress.turn_on()
        self._conversation.afterwards(self._prepare)
        return dict(CAPABILITIES)


__all__ = ["CAPABILITIES", "FILTERS", "Initialization", "exception_filter"]
