"""IPython's prompt on a JVM.

It starts without IPython's application and reads no profile, so that the prompt appears at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from IPython.core.completer import SimpleCompletion, context_matcher
from IPython.core.error import UsageError
from IPython.terminal.interactiveshell import TerminalInteractiveShell
from prompt_toolkit.filters import Condition
from traitlets.config import Config

from jvmti import heap
from jvmti.interface.errors import Error
from jvmti.model.threads.frames import Frame
from jvmti.model.vm import VM
from jvmti.refs.handles import Handle
from jvmti.shell import magics
from jvmti.shell.completion import Completer
from jvmti.shell.debugger import debugging
from jvmti.shell.descriptions import describe
from jvmti.shell.tracebacks import without_our_frames
from jvmti.text.printable import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

_COLOUR = re.compile(r"(\x1b\[[0-9;]*m)")


def prompt(vm: VM | None, names: dict[str, Any]) -> None:
    """Run a prompt on a JVM, or on the objects behind the names, until the user leaves.

    Args:
        vm: the JVM, if there is one.
        names: the initial variables; new definitions go here, too.
    """
    config = Config()
    config.TerminalInteractiveShell.confirm_exit = False
    config.TerminalInteractiveShell.banner1 = ""
    about = "heap" if vm is None else str(vm.process.pid)
    config.TerminalInteractiveShell.term_title_format = f"jvmti {about}"
    config.Completer.use_jedi = False  # it reads sources, and knows nothing of a live JVM
    shell = Prompt.instance(config=config, user_ns=names)
    shell.attend(vm)
    shell.mainloop()


class Prompt(TerminalInteractiveShell):
    """IPython's shell, which completes Java names and escapes them."""

    def attend(self, vm: VM | None) -> None:
        """Add this package's magics, completion, question marks and escaped display."""
        _leave_by_late_end_of_input(self)
        plain = self.display_formatter.formatters["text/plain"]
        for dumped in (heap.Class, heap.Leaks, heap.Object, heap.Objects, heap.Suspect):
            plain.for_type(dumped, _escaped)
        if vm is None:
            return
        for name, one in magics.MAGICS.items():
            self.register_magic_function(
                _line_magic(vm, self.user_ns, name, one.help), "line", name
            )
        self.Completer.custom_matchers.append(_matcher(Completer(vm, self.user_ns)))
        debugging.at_prompt(vm, self.user_ns)
        self.events.register("pre_run_cell", lambda _: debugging.attend(vm))
        self._python_describe = self.inspector.pinfo
        self.inspector.pinfo = self._pinfo
        for kind in (Handle, Frame, VM):
            plain.for_type(kind, _escaped)

    def _pinfo(self, thing: Any, *rest: Any, **named: Any) -> None:
        text = None
        try:
            text = describe(thing)
        except Error as error:
            text = str(error)
        if text is None:
            self._python_describe(thing, *rest, **named)
        else:
            print(text)

    def _get_exc_info(self, exc_tuple: Any = None) -> Any:
        kind, value, trace = super()._get_exc_info(exc_tuple)
        return kind, value, without_our_frames(trace)

    def _showtraceback(self, etype: Any, evalue: Any, stb: Any) -> None:
        super()._showtraceback(etype, evalue, [_escaped_text(part) for part in stb])


def _leave_by_late_end_of_input(shell: Prompt) -> None:
    """Leave at Ctrl-D even while a message is printed above the prompt.

    The terminal is not in raw mode for that moment, and what is typed then arrives as a zero byte.
    """

    @shell.pt_app.key_bindings.add(
        "c-@", filter=Condition(lambda: not shell.pt_app.default_buffer.text), eager=True
    )
    def _(event: Any) -> None:
        event.app.exit(exception=EOFError)


def _line_magic(vm: VM, names: Mapping[str, Any], name: str, text: str) -> Callable[[str], None]:
    def run(line: str) -> None:
        try:
            magics.run(vm, names, name, line)
        except (LookupError, Error) as error:
            message = error.args[0] if isinstance(error, KeyError) else str(error)
            raise UsageError(printable(message)) from None

    run.__doc__ = text
    run.__name__ = name
    return run


def _matcher(completer: Completer) -> Any:
    @context_matcher()
    def java_names(context: Any) -> Any:
        lines = context.full_text.split("\n")
        before = lines[: context.cursor_line]
        text = "\n".join([*before, lines[context.cursor_line][: context.cursor_position]])
        found = completer.complete(text)
        if found is None or not found.names:
            return {"completions": []}
        return {
            "completions": [SimpleCompletion(text=name, type="java") for name in found.names],
            "matched_fragment": found.typed,
            "suppress": True,
            "ordered": True,
        }

    return java_names


def _escaped(thing: Any, printer: Any, cycle: bool) -> None:
    printer.text("\n".join(map(printable, repr(thing).split("\n"))))


def _escaped_text(text: str) -> str:
    """Text with our colours and names from the target, which are escaped."""
    return "\n".join(
        "".join(
            part if _COLOUR.fullmatch(part) else printable(part) for part in _COLOUR.split(line)
        )
        for line in text.split("\n")
    )


__all__ = ["Prompt", "prompt"]
