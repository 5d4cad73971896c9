"""Python's own prompt on a JVM, for users without IPython."""

from __future__ import annotations

import code
import re
import sys
import traceback
from typing import TYPE_CHECKING, Any

from jvmti.interface.errors import Error
from jvmti.shell import magics
from jvmti.shell.completion import Completer
from jvmti.shell.debugger import debugging
from jvmti.shell.descriptions import describe
from jvmti.shell.expressions import evaluate
from jvmti.shell.tracebacks import without_our_frames
from jvmti.text.printable import printable

if TYPE_CHECKING:
    from jvmti.model.vm import VM

_MAGIC = re.compile(r"\s*%(\w+)\s*(.*)")
_QUESTION = re.compile(r"\s*(?:\?\s*(\S.*)|(\S.*?)\s*\?)\s*")


def prompt(vm: VM | None, names: dict[str, Any]) -> None:
    """Run a prompt on a JVM, or on the objects behind the names, until the user leaves.

    Args:
        vm: the JVM, if there is one.
        names: the initial variables; new definitions go here, too.
    """
    names.setdefault("__name__", "__main__")
    names.setdefault("__doc__", None)
    if vm is not None:
        debugging.at_prompt(vm, names)
    _complete(None if vm is None else Completer(vm, names), names)
    displayhook = sys.displayhook
    sys.displayhook = _display
    try:
        Prompt(vm, names).interact(banner="", exitmsg="")
    except SystemExit:
        pass  # exit() at the prompt
    finally:
        sys.displayhook = displayhook


class Prompt(code.InteractiveConsole):
    """Python's prompt, with the shell's commands and question marks."""

    def __init__(self, vm: VM | None, names: dict[str, Any]) -> None:
        super().__init__(names)
        self._vm = vm
        self._variables = names

    def runsource(self, source: str, filename: str = "<console>", symbol: str = "single") -> bool:
        """Run a piece of input; returns whether it is incomplete."""
        if self._vm is None:
            return super().runsource(source, filename, symbol)
        debugging.attend(self._vm)
        command, question = _MAGIC.fullmatch(source), _QUESTION.fullmatch(source)
        if command:
            try:
                magics.run(self._vm, self._variables, command[1], command[2])
            except (LookupError, Error) as error:
                message = error.args[0] if isinstance(error, KeyError) else str(error)
                print(f"UsageError: {printable(message)}", file=sys.stderr)
            return False
        if question and "#" not in source:
            self._describe(question[1] or question[2])
            return False
        return super().runsource(source, filename, symbol)

    def showtraceback(self) -> None:
        """Print the exception, without our own frames."""
        kind, value, trace = sys.exc_info()
        # The first frame is that of the console.
        trace = without_our_frames(trace.tb_next if trace else None)
        lines = traceback.format_exception(kind, value, trace)
        for line in "".join(lines).rstrip("\n").split("\n"):
            print(printable(line), file=sys.stderr)

    def _describe(self, text: str) -> None:
        if text.startswith("%"):
            one = magics.MAGICS.get(text[1:])
            print(one.help if one else f"there is no {text}")
            return
        try:
            thing = evaluate(text, self._variables)
        except (LookupError, AttributeError, Error) as error:
            print(f"{printable(text)}: {printable(str(error))}")
            return
        description = describe(thing)
        if description is None:
            help(thing)
        else:
            print(description)


def _display(value: Any) -> None:
    import builtins

    if value is None:
        return
    builtins._ = value  # type: ignore[attr-defined]
    for line in repr(value).split("\n"):
        print(printable(line))


def _complete(completer: Completer | None, names: dict[str, Any]) -> None:
    """Add Tab completion if Python has GNU readline."""
    try:
        import readline
        import rlcompleter
    except ImportError:
        return
    python = rlcompleter.Completer(names)
    found: list[str] = []

    def complete(word: str, state: int) -> str | None:
        if state:
            return found[state] if state < len(found) else None
        text = readline.get_line_buffer()[: readline.get_endidx()]
        java = None if completer is None else completer.complete(text)
        if java is None:
            found[:] = []
            at = 0
            while (name := python.complete(word, at)) is not None:
                found.append(name)
                at += 1
        else:
            # readline replaces a word, which may begin within the name.
            found[:] = [name[len(java.typed) - len(word) :] for name in java.names]
        return found[0] if found else None

    readline.set_completer(complete)
    readline.parse_and_bind("tab: complete")


__all__ = ["Prompt", "prompt"]
