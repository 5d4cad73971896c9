"""Errors of reaching a JVM; `jvmti.errors` lists the whole tree."""

from __future__ import annotations

from collections.abc import Sequence

from jvmti.interface.errors import Error

__all__ = [
    "AgentLibraryMissing",
    "AgentLoadFailed",
    "AttachDisabled",
    "AttachError",
    "AttachProtocolError",
    "AttachRefused",
    "AttachTimeout",
    "DynamicLoadingRefused",
    "JvmDied",
    "JvmStopped",
    "LaunchFailed",
    "NoMatch",
    "NoSuchProcess",
    "NotAJvm",
    "NotPermitted",
    "OptionsError",
    "OptionsTooLong",
    "OwnProcess",
    "SeveralMatch",
    "SuspiciousFile",
    "TargetExhausted",
    "TargetNotFound",
]


class AttachError(Error):
    """A JVM is not reachable. The message says what was tried and what to do."""


class TargetNotFound(AttachError):
    """The target names no process, or no JVM, that is visible from here."""


class NoSuchProcess(TargetNotFound):
    """There is no process with this pid."""


class NotAJvm(TargetNotFound):
    """The process exists but does not run a JVM."""


class NoMatch(TargetNotFound):
    """No JVM has this text in the name of its main class or jar."""


class SeveralMatch(TargetNotFound):
    """More than one JVM has this text in its name; ``candidates`` describes each of them."""

    def __init__(self, message: str, candidates: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.candidates = tuple(candidates)


class AttachRefused(AttachError):
    """The JVM, or the operating system, does not allow it."""


_START_WITH_AGENT = (
    "Start it without that option, or with the agent: `jvmti shell -- java …`, `jvmti.launch` in "
    "Python, or what `jvmti agent-options --listen` prints"
)


class AttachDisabled(AttachRefused):
    """The JVM was started with ``-XX:+DisableAttachMechanism``."""

    def __init__(self, pid: int) -> None:
        super().__init__(
            f"JVM {pid} cannot be attached to: it was started with -XX:+DisableAttachMechanism. "
            + _START_WITH_AGENT
        )


class DynamicLoadingRefused(AttachRefused):
    """The JVM was started with ``-XX:-EnableDynamicAgentLoading``."""

    def __init__(self, pid: int) -> None:
        super().__init__(
            f"JVM {pid} refuses agents while it runs: it was started with "
            "-XX:-EnableDynamicAgentLoading. " + _START_WITH_AGENT
        )


class OwnProcess(AttachRefused):
    """The JVM is in the caller's own process, which cannot be its own controller."""


class NotPermitted(AttachRefused):
    """The caller's user, group or namespace lacks the permission."""


class SuspiciousFile(AttachRefused):
    """A file, directory or socket has the wrong type or owner."""


class TargetExhausted(AttachRefused):
    """The JVM can open no more descriptors, or start no more threads; no request was sent."""


class AttachTimeout(AttachError, TimeoutError):
    """The JVM did not answer in time."""


class JvmStopped(AttachTimeout):
    """The process is stopped (by SIGSTOP, a terminal or a debugger) and cannot answer."""


class JvmDied(AttachError):
    """The JVM ended while it was being attached to."""


class AgentLibraryMissing(AttachError):
    """There is no agent library for the C library and processor of the target."""


class AgentLoadFailed(AttachError):
    """The JVM could not load the agent library, or the agent refused to start.

    ``code`` is the result of the agent's entry point, None if it was never called.
    """

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        self.code = code


class OptionsTooLong(AttachError):
    """An argument is longer than this JVM's attach protocol can carry."""


class AttachProtocolError(AttachError):
    """The JVM's answer does not follow the attach protocol."""


class LaunchFailed(AttachError):
    """The started program ended, or ran on, without connecting.

    ``returncode`` is its exit status (negative: the signal), None if it was still running.
    """

    def __init__(self, message: str, returncode: int | None = None) -> None:
        super().__init__(message)
        self.returncode = returncode


class OptionsError(Error, ValueError):
    """An agent option string breaks the grammar; the message quotes the part that does."""
