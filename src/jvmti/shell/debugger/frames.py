"""The commands that show a stopped thread: ``%where``, ``%locals``, ``%eval``, ``%list``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jvmti.shell.debugger import debugger_of
from jvmti.shell.registry import UsageError, magic, unquoted
from jvmti.text.printable import printable, printable_lines
from jvmti.text.quantities import quantity

if TYPE_CHECKING:
    from jvmti.model.vm import VM
    from jvmti.shell.debugger.debugging import Debugging

LINES = 11
"""Lines that %list shows."""

LIMIT = 10.0
"""Seconds that an expression may take."""


def show(debugger: Debugging) -> None:
    stop = debugger.stop
    with debugger.queue.on_thread(stop):
        print(debugger.described(stop, debugger.frame))


@magic()
def where(vm: VM, names: Mapping[str, Any], text: str) -> None:
    """Show the stack of the stopped thread; an arrow marks the selected frame.

    %where         all of it
    %where 5       the five topmost frames
    """
    debugger = debugger_of(vm, names)
    if text and not text.isdecimal():
        raise UsageError(f"%where takes a number of frames, not {text!r}")
    stop = debugger.stop
    frames = debugger.frames
    print(f'"{printable(stop.thread.name)}" #{stop.thread.id}')
    shown = frames[: int(text)] if text else frames
    for frame in shown:
        arrow = "→" if frame.depth == debugger.depth else " "
        print(f"{arrow} {frame.depth:>3}  {printable(str(frame))}")
    if len(shown) < len(frames):
        print(f"       {quantity(len(frames) - len(shown), 'more frame')}")


@magic()
def frame(vm: VM, names: Mapping[str, Any], text: str) -> None:
    """Select a frame of the stopped thread, and show its place.

    %frame         the selected one
    %frame 2       by its number in %where
    """
    debugger = debugger_of(vm, names)
    if text:
        if not text.isdecimal():
            raise UsageError(f"%frame takes the number of a frame, not {text!r}")
        _select(debugger, int(text))
    show(debugger)


def _select(debugger: Debugging, depth: int) -> None:
    frames = debugger.frames
    if not 0 <= depth < len(frames):
        raise UsageError(f"the thread has frames 0 to {len(frames) - 1}, not {depth}")
    debugger.select(debugger.stop, depth)


@magic()
def up(vm: VM, names: Mapping[str, Any], text: str) -> None:
    """Select the frame that called the selected one; %up 2 goes two further."""
    debugger = debugger_of(vm, names)
    _select(debugger, debugger.depth + _count(text))
    show(debugger)


@magic()
def down(vm: VM, names: Mapping[str, Any], text: str) -> None:
    """Select the frame that the selected one called; %down 2 goes two further."""
    debugger = debugger_of(vm, names)
    _select(debugger, debugger.depth - _count(text))
    show(debugger)


def _count(text: str) -> int:
    if text and not text.isdecimal():
        raise UsageError(f"a number of frames is expected, not {text!r}")
    return int(text or 1)


@magic("stopped")
def thread(vm: VM, names: Mapping[str, Any], text: str) -> None:
    """Go to another thread that has stopped; without a name, list those that have.

    %thread                the stopped threads; an arrow marks the selected one
    %thread worker-3       by name or number
    """
    debugger = debugger_of(vm, names)
    selected = debugger.selected
    stops = debugger.queue.stops
    if not text:
        if not stops:
            print("no thread has stopped")
        for stop in stops:
            arrow = "→" if stop is selected else " "
            entry = debugger.entry_of(stop)
            why = "" if entry is None else f", {entry}"
            print(f'{arrow} #{stop.thread.id} "{printable(stop.thread.name)}" '
                  f"at {printable(stop.where)}{why}")  # fmt: skip
        return
    name = unquoted(text).lstrip("#")
    for stop in stops:
        if name in (stop.thread.name, str(stop.thread.id)):
            debugger.select(stop)
            show(debugger)
            return
    there = ", ".join(printable(stop.thread.name) for stop in stops) or "none"
    raise UsageError(f"no thread {name!r} has stopped; these have: {there}")


@magic()
def locals_(vm: VM, names: Mapping[str, Any], text: str) -> None:
    """Show the variables of the selected frame.

        %locals

    `frame.locals["n"]` reads one, and writes it.
    """
    debugger = debugger_of(vm, names)
    with debugger.queue.on_thread(debugger.stop):
        selected = debugger.frame
        shown = str(selected.locals)
    none = "a native method has no variables to show" if selected.is_native else ""
    print(shown or none or "no variables are in scope")


@magic("variables")
def eval_(vm: VM, names: Mapping[str, Any], text: str) -> None:
    """Evaluate a Java expression in the selected frame.

        %eval order.items.size() > 3
        %eval order.total = 0          an assignment changes the program

    It runs on the stopped thread, for ten seconds at most. Python needs no command: `frame`, `stop`
    and `vm` are variables of the prompt.
    """
    if not text:
        raise UsageError("%eval needs an expression, as in %eval order.items.size()")
    debugger = debugger_of(vm, names)
    with debugger.queue.on_thread(debugger.stop):
        print(printable_lines(repr(value(debugger, text))))


def value(debugger: Debugging, text: str) -> Any:
    from jvmti import expressions
    from jvmti.shell.debugger.debugging import NO_GRAMMAR

    try:
        stop = debugger.stop
        return expressions.evaluated(debugger.frame, text, timeout=LIMIT, names=stop.names).value
    except ImportError as error:
        raise UsageError(NO_GRAMMAR.format(error)) from None


@magic("variables")
def set_(vm: VM, names: Mapping[str, Any], text: str) -> None:
    """Give a variable, a field or an element another value.

        %set n = 3
        %set this.total = total / 2
        %set items[0] = null

    The value is a Java expression.
    """
    from jvmti import expressions
    from jvmti.shell.debugger.debugging import NO_GRAMMAR

    name, equals, given = text.partition("=")
    if not equals or not name.strip():
        raise UsageError("%set needs a variable and a value, as in %set n = 3")
    debugger = debugger_of(vm, names)
    with debugger.queue.on_thread(debugger.stop):
        try:
            done = expressions.assign(debugger.frame, name.strip(), given.strip(), timeout=LIMIT)
        except ImportError as error:
            raise UsageError(NO_GRAMMAR.format(error)) from None
        print(printable_lines(f"{name.strip()} = {done.value!r}"))


@magic("classes")
def list_(vm: VM, names: Mapping[str, Any], text: str) -> None:
    """Show the source around the line of the selected frame; again, what follows.

        %list              around the line, then the next lines
        %list 40           around line 40
        %list 40,60        these lines
        %list dis          the bytecode, in place of the source

    `%source -p DIRECTORY` adds a place with sources; where there are none, the bytecode is shown.
    """
    from jvmti.shell.debugger.source_lines import numbered

    debugger = debugger_of(vm, names)
    with debugger.queue.on_thread(debugger.stop):
        frame = debugger.frame
        path = vm.source_path
        if text == "dis":
            found = path.code_at(frame.method, frame.location)
            number = found.marked or 1
            piece = found.part(number - LINES // 2, number + LINES // 2, found.marked)
        else:
            source = path.at(frame)
            first, count = _range(text)
            piece = debugger.listed(source, first, count)
    if not piece.lines:
        raise UsageError(f"{piece.path} ends before")
    print(printable(piece.path))
    print(numbered(piece))


def _range(text: str) -> tuple[int | None, int]:
    """The first line and the count of lines that the user asks for."""
    start, comma, end = (one.strip() for one in text.partition(","))
    if not text:
        return None, LINES
    if not start.isdecimal() or (comma and not end.isdecimal()):
        raise UsageError(f"%list takes a line, or two with a comma, not {text!r}")
    if not comma:
        return max(int(start) - LINES // 2, 1), LINES
    if int(end) < int(start):
        raise UsageError(f"line {end} is before line {start}")
    return max(int(start), 1), int(end) - max(int(start), 1) + 1


__all__: list[str] = []
