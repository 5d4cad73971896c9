"""The commands that let a thread run: ``%wait``, ``%continue``, ``%next``, ``%return``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jvmti.shell.debugger import debugger_of
from jvmti.shell.debugger.frames import show, value
from jvmti.shell.registry import UsageError, magic
from jvmti.text.printable import printable

if TYPE_CHECKING:
    from jvmti.model.threads.frames import Frame
    from jvmti.model.vm import VM
    from jvmti.shell.debugger.debugging import Debugging


@magic()
def wait(vm: VM, names: Mapping[str, Any], text: str) -> None:
    """Wait until a thread stops, where the prompt shall not be free.

        %wait          without limit; Ctrl-C ends the wait
        %wait 10       for ten seconds

    In a script, this is how it goes on after %break and %continue.
    """
    debugger = debugger_of(vm, names)
    try:
        limit = float(text) if text else None
    except ValueError:
        raise UsageError(f"%wait takes seconds, not {text!r}") from None
    if debugger.selected is None and debugger.wait(limit) is None:
        if vm.closed or vm._session.has_ended():
            raise UsageError("the JVM has ended")
        raise UsageError(f"no thread has stopped within {text} s")
    show(debugger)


@magic()
def continue_(vm: VM, names: Mapping[str, Any], text: str) -> None:
    """Let the stopped thread run on; a held program starts.

    %continue          the selected thread
    %continue all      every thread that has stopped
    """
    if vm.held:
        vm.proceed()
        return
    if text not in ("", "all"):
        raise UsageError(f"%continue takes nothing or all, not {text!r}")
    debugger = debugger_of(vm, names)
    selected = debugger.stop
    for stop in debugger.queue.stops if text else [selected]:
        debugger.resume(stop)
    _show_next(debugger)


def _show_next(debugger: Debugging) -> None:
    """Go to the next thread that waits, if one does."""
    if debugger.selected is not None:
        show(debugger)


@magic()
def next_(vm: VM, names: Mapping[str, Any], text: str) -> None:
    """Run to the next line, over calls.

        %next          one line
        %next 5        five

    A breakpoint on the way ends it. Ctrl-C does, too; then the thread runs on.
    """
    _step(vm, names, "over", "line", text)


@magic()
def step(vm: VM, names: Mapping[str, Any], text: str) -> None:
    """Run to the next line, into calls.

    %step          one line
    %step 5        five
    """
    _step(vm, names, "into", "line", text)


@magic()
def skip(vm: VM, names: Mapping[str, Any], text: str) -> None:
    """Choose what %next, %step and %finish pass over.

        %skip                             lists it; at first the classes of the JDK
        %skip $JDK org.hibernate.*        these instead: patterns for classes, and the JDK's
        %skip none                        nothing

    A step that begins in such a class stays in it. %stepi and %nexti pass over nothing.
    """
    from jvmti.model.classes.step_filters import StepFilters

    debugger = debugger_of(vm, names)
    words = text.replace(",", " ").split()
    if words:
        skipped = [] if words == ["none"] else words
        debugger.filters = StepFilters(skipped, skip_synthetics=bool(skipped))
        debugger.skipped = skipped
    print(printable(f"steps pass over: {' '.join(debugger.skipped) or 'nothing'}"))


@magic()
def finish(vm: VM, names: Mapping[str, Any], text: str) -> None:
    """Run until the method returns to its caller, or to the next one that %skip leaves.

    %finish
    """
    _step(vm, names, "out", "line", text)


@magic()
def stepi(vm: VM, names: Mapping[str, Any], text: str) -> None:
    """Run one bytecode, into calls; %stepi 5 runs five.

    Not in a JVM that was attached to late.
    """
    _step(vm, names, "into", "instruction", text)


@magic()
def nexti(vm: VM, names: Mapping[str, Any], text: str) -> None:
    """Run one bytecode, over calls; %nexti 5 runs five.

    Not in a JVM that was attached to late.
    """
    _step(vm, names, "over", "instruction", text)


def _step(vm: VM, names: Mapping[str, Any], how: str, by: str, text: str) -> None:
    debugger = debugger_of(vm, names)
    if text and (not text.isdecimal() or not int(text)):
        raise UsageError(f"a step is taken a number of times, not {text!r}")
    if debugger.step(how, by, int(text or 1)) is None:
        print("the thread has ended")
        _show_next(debugger)
        return
    show(debugger)
    if by == "instruction":
        _print_instruction(debugger.frame)


def _print_instruction(frame: Frame) -> None:
    for one in frame.method.instructions:
        if one.location == frame.location:
            print(printable(f"  {one.location}: {one.name}"))


@magic()
def return_(vm: VM, names: Mapping[str, Any], text: str) -> None:
    """Leave the method now, with a value that the rest of it has no part in.

        %return            a method without a result
        %return n * 2      the value of a Java expression

    It takes effect when the thread runs on. `finally` blocks do not run.
    """
    debugger = debugger_of(vm, names)
    stop = debugger.stop
    with debugger.queue.on_thread(stop):
        if text:
            stop.frame.return_(value(debugger, text))
        else:
            stop.frame.return_()
    print("the method returns when the thread runs on: %continue, or %next")
