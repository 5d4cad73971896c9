"""The commands that begin with a percent sign, by name.

Each is a plain function of the JVM, the prompt's variables and the text after its name, and prints.
At a prompt they are ``%threads http``; with IPython and without, code that is not typed has
``get_ipython().run_line_magic("threads", "http")`` for the same.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from jvmti.interface.errors import Error, WrongPhase
from jvmti.interface.frozen import frozen

if TYPE_CHECKING:
    from jvmti.model.vm import VM


class UsageError(Error):
    """A usage error of a magic; the message has the usage."""


@frozen
class Magic:
    """One of the commands."""

    function: Callable[[VM, Mapping[str, Any], str], None]
    """Its function of the JVM, the variables of the prompt and the text after its name."""
    completes: str
    """Which kind of names completes its text; empty for none."""

    @property
    def help(self) -> str:
        """Description and usage."""
        return inspect.getdoc(self.function) or ""


MAGICS: dict[str, Magic] = {}
"""The commands by name."""


def magic(
    completes: str = "",
) -> Callable[
    [Callable[[VM, Mapping[str, Any], str], None]], Callable[[VM, Mapping[str, Any], str], None]
]:
    """Make a function one of the commands, under its own name."""

    def made(
        function: Callable[[VM, Mapping[str, Any], str], None],
    ) -> Callable[[VM, Mapping[str, Any], str], None]:
        MAGICS[function.__name__.rstrip("_")] = Magic(function, completes)
        return function

    return made


def missing(name: str) -> str:
    """The sentence for a name that none has."""
    alike = get_close_matches(name, MAGICS, 1)
    hint = f"did you mean %{alike[0]}? There" if alike else "there"
    return f"there is no %{name}; {hint} are {', '.join(f'%{one}' for one in MAGICS)}"


def run(vm: VM, names: Mapping[str, Any], name: str, text: str = "") -> None:
    """Run one of the commands, or explain it if its text is a question mark.

    Raises:
        UsageError: there is no such command, or its text is invalid.
    """
    if name not in MAGICS:
        raise UsageError(missing(name))
    if text.strip() == "?":
        print(MAGICS[name].help)
        return
    try:
        MAGICS[name].function(vm, names, text.strip())
    except WrongPhase:
        if not vm.held:
            raise
        raise UsageError(f"%{name} needs a running program; %go starts it") from None


def unquoted(text: str) -> str:
    """A text without the quotes around it."""
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    return text


__all__ = ["MAGICS", "Magic", "UsageError", "magic", "missing", "run", "unquoted"]
