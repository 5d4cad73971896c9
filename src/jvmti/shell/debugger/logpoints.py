"""Logpoints of the prompt: by the agent's records, or evaluated while the thread waits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from jvmti.interface.errors import Error
from jvmti.shell.notices import notice
from jvmti.shell.registry import UsageError
from jvmti.text.printable import printable

if TYPE_CHECKING:
    from jvmti.model.debug.stops import Stop
    from jvmti.model.vm import VM
    from jvmti.tracing.logpoint import Logpoint


def print_hits(log: Logpoint, name: str) -> None:
    """Print what a logpoint records, above the prompt, until it ends.

    Args:
        log: the logpoint.
        name: what it is called.
    """
    threading.Thread(target=_print_hits, args=(log,), name=name, daemon=True).start()


def _print_hits(log: Logpoint) -> None:
    try:
        while not log.ended:
            found = log.read(1.0)
            if found:
                notice("\n".join(printable(str(hit)) for hit in found))
    except Error as error:
        notice(printable(f"the logpoint ends: {error}"))


def printing(vm: VM, text: str, names: Mapping[str, Any]) -> Callable[[Stop], None]:
    """A function that prints a text at each hit, while the thread waits.

    Args:
        vm: the JVM.
        text: the text, with expressions in braces: Java's, or Python's behind ``=py``.
        names: the variables of the prompt, for the latter.

    Raises:
        UsageError: one of them is no expression.
    """
    from jvmti.expressions.errors import ExpressionError
    from jvmti.expressions.parsing import text_parts
    from jvmti.shell.debugger.debugging import NO_GRAMMAR

    try:
        parts = text_parts(text)
    except ExpressionError as error:
        raise UsageError(str(error)) from None
    except ImportError as error:
        raise UsageError(NO_GRAMMAR.format(error)) from None

    def value(stop: Stop, expression: str) -> str:
        from jvmti.expressions import evaluated

        try:
            found = evaluated(stop.frame, expression, names=stop.names).value
        except (Error, LookupError, ValueError, TypeError, ArithmeticError) as error:
            return f"<{error}>"
        return found if isinstance(found, str) else repr(found)

    def show(stop: Stop) -> None:
        shown = "".join(
            before + ("" if expression is None else value(stop, expression))
            for before, expression in parts
        )
        notice(printable(f'"{stop.thread.name}" {stop.frame}: {shown}'))

    return show


def check_every(hits: int | str | None) -> int:
    """The number of hits of which each last one is printed.

    Raises:
        UsageError: others are meant.
    """
    if hits is None:
        return 1
    kind, _, number = str(hits).partition(" ")
    if kind != "every":
        raise UsageError("a logpoint takes `every N` and `if CONDITION`")
    return int(number)


__all__ = ["check_every", "print_hits", "printing"]
