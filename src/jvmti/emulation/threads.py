"""Thread arguments of JVM TI functions: named or current, alive, and suspended for a moment."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from jvmti import refs
from jvmti.emulation.natively import Native
from jvmti.interface.constants import ThreadState
from jvmti.interface.errors import (
    ErrorCode,
    InvalidThread,
    JvmtiError,
    NotAvailable,
    ThreadNotAlive,
    ThreadNotSuspended,
    error_for,
)

if TYPE_CHECKING:
    from jvmti.env.environment import Env


@contextmanager
def named(function: str) -> Iterator[None]:
    """Report errors of calls inside the block as errors of the emulated function."""
    try:
        yield
    except JvmtiError as error:
        if error.function == function:
            raise
        raise error_for(error.code, function, error.detail) from error


def alive(env: Env, thread: refs.Thread | None) -> Any:
    """The thread, or the current one for ``None``.

    Raises:
        InvalidThread: it is not a thread.
        ThreadNotAlive: it has not started or has ended.
    """
    native = Native(env)
    found: Any = native.get_current_thread() if thread is None else thread
    if not native.get_thread_state(found) & ThreadState.ALIVE:
        raise ThreadNotAlive(ErrorCode.THREAD_NOT_ALIVE)
    return found


def check_suspended(env: Env, thread: refs.Thread) -> None:
    """Check that a thread is the current one, or suspended.

    Raises:
        ThreadNotSuspended: it is another one, which runs.
    """
    native = Native(env)
    if native.get_thread_state(thread) & ThreadState.SUSPENDED:
        return
    if thread != native.get_current_thread():
        raise ThreadNotSuspended


@contextmanager
def still(thread: Any) -> Iterator[None]:
    """Keep a thread from running during the block.

    The thread that makes the call does not run anyway, nor do this package's other ones while they
    wait for a call. Where another agent holds ``can_suspend``, the thread may run on.
    """
    suspension = thread.suspended()
    try:
        suspension.__enter__()
    except (InvalidThread, NotAvailable):
        yield
        return
    try:
        yield
    finally:
        suspension.resume()


__all__ = ["alive", "check_suspended", "named", "still"]
