"""The commands of the debugger: ``%break``, ``%next``, ``%locals``, with the words that gdb has."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jvmti.shell.registry import UsageError, magic, unquoted
from jvmti.text.printable import printable, printable_lines
from jvmti.text.quantities import quantity

if TYPE_CHECKING:
    from jvmti.expressions import JavaCondition
    from jvmti.model.threads.frames import Frame
    from jvmti.model.vm import VM
    from jvmti.shell.debugging import Debugging
    from jvmti.tracing.logpoint import Logpoint

LINES = 11
"""Lines that %list shows."""

LIMIT = 10.0
"""Seconds that an expression may take."""


def _debugging(vm: VM, names: Mapping[str, Any]) -> Debugging:
    from jvmti.shell.debugging import debugging  # with its first use

    return debugging(vm, names)


# ---- requests ---------------------------------------------------------------------------------


@magic()
def go(vm: VM, names: Mapping[str, Any], text: str) -> None:
    """Start the program that `jvmti shell --hold` holds.

        %go

    Until then none of its code has run, and none of the JDK's. Breakpoints in classes that are not
    loaded yet, such as `%break com.acme.Main.main`, are in place before those run.
    `vm.proceed()` does the same.
    """
    if not vm.held:
        raise UsageError("the program is not held; %go is for `jvmti shell --hold -- java …`")
    vm.proceed()


@magic("places")
def break_(vm: VM, names: Mapping[str, Any], text: str) -> None:
    """Stop threads at a place; without one, list what there is.

        %break com.acme.Order.add                     where the method begins
        %break com.acme.Order.add:42                  at a line of it
        %break com.acme.Order:42                      at a line of a class
        %break Order.java:42                          at a line of a file
        %break :42                                    at a line of the class where a thread stopped
        %break com.acme.Order.add(int,String)         one of several methods of a name
        %break com.acme.Order.add@17                  at a bytecode index
        %break com.acme.Order.add if n > 1000         if a condition holds
        %break com.acme.Order.add every 10            each tenth time; `after 10`, `hit 10`
        %break com.acme.Order.add thread worker-3     one thread
        %break com.acme.Order:42 log n={n}            print a text, and stop nothing

    The agent decides conditions that compare variables with constants, and a false one costs next
    to nothing. Others are Java expressions, evaluated while the thread waits; `if =py EXPRESSION`
    is Python, with the names `stop`, `frame`, and yours. Classes need not be loaded yet.

    The prompt stays free. When a thread stops, the shell says so; then %where, %locals, %eval,
    %next, %step, %finish and %continue are about it. `vm.breakpoint(…)` gives stops to a program.
    """
    debugger = _debugging(vm, names)
    if not text:
        _print_entries(debugger)
        return
    _set(vm, names, text, once=False)


@magic("places")
def tbreak(vm: VM, names: Mapping[str, Any], text: str) -> None:
    """Stop a thread at a place once, as %break does; then the breakpoint goes.

    %tbreak com.acme.Order.add:42 if n > 1000
    """
    _set(vm, names, text, once=True)


def _set(vm: VM, names: Mapping[str, Any], text: str, *, once: bool) -> None:
    from jvmti.shell import break_places

    debugger = _debugging(vm, names)
    wanted = break_places.wanted(text)
    selected = debugger.selected
    place = break_places.place_text(vm, wanted.place, debugger.frame if selected else None)
    if wanted.log is not None:
        if wanted.thread is not None or isinstance(wanted.hits, int):
            raise UsageError("a logpoint takes `every N` and `if CONDITION`")
        _set_logpoint(debugger, place, wanted)
        return
    how = _how(debugger, names, wanted.condition, wanted.hits, wanted.thread)
    from jvmti.debug.conditions import ConditionError
    from jvmti.shell.debugging import PythonCondition, deciding

    condition: JavaCondition | PythonCondition | None = None
    if isinstance(how["when"], PythonCondition):
        condition = how["when"]
    try:
        made = break_places.placed(vm, place, **how)
    except ConditionError:
        if wanted.condition is None:
            raise
        # More than the agent can decide: the rest is evaluated while the thread waits.
        condition = decides = how["when"] = deciding(vm, wanted.condition, names)
        try:
            made = break_places.placed(vm, place, **how)
        except ConditionError:
            # The agent knows a variable of the condition by no name, or decides it in no part.
            how["when"] = decides.__call__
            made = break_places.placed(vm, place, **how)
    entry = debugger.add("breakpoint", text, made, once=once, condition=condition)
    where = f"pending: {made.pending_reason or 'no such class is loaded yet'}"
    if not made.is_pending:
        where = quantity(len(made.places), "place")
    print(printable(f"{entry}: {place}, {where}"))
    if made.running:
        calls = ", ".join(sorted(made.running))
        print(printable(f"calls that run do not stop before the next call: {calls}"))


def _how(
    debugger: Debugging,
    names: Mapping[str, Any],
    condition: str | None,
    hits: int | str | None,
    thread: str | None,
) -> dict[str, Any]:
    """The arguments of a request, from the words of the user."""
    vm = debugger.vm
    when: Any = condition
    from jvmti.shell.debugging import PYTHON, deciding

    if condition is not None and condition.startswith(PYTHON):
        when = deciding(vm, condition, names)
    chosen = None
    if thread is not None:
        found = [one.thread for one in vm.threads.snapshot(0) if str(one.id) == thread]
        chosen = found[0] if found else vm.threads[thread]
    return {"when": when, "hits": hits, "thread": chosen}


def _set_logpoint(debugger: Debugging, place: str, wanted: Any) -> None:
    every = 1
    if wanted.hits is not None:
        kind, _, number = str(wanted.hits).partition(" ")
        if kind != "every":
            raise UsageError("a logpoint takes `every N` and `if CONDITION`")
        every = int(number)
    log = debugger.vm.logpoint(place, wanted.log, when=wanted.condition, every=every, unloaded=True)
    entry = debugger.add("logpoint", f"{place} log {wanted.log}", log)
    print(printable(f"{entry}: {place}, {quantity(log.places, 'place')}"))
    threading.Thread(target=_print_hits, args=(log,), name=str(entry), daemon=True).start()


def _print_hits(log: Logpoint) -> None:
    from jvmti.interface.errors import Error
    from jvmti.shell.notices import notice

    try:
        while not log.ended:
            found = log.read(1.0)
            if found:
                notice("\n".join(printable(str(hit)) for hit in found))
    except Error as error:
        notice(printable(f"the logpoint ends: {error}"))


def _print_entries(debugger: Debugging) -> None:
    from jvmti.report.tables import print_table

    if not debugger.entries:
        print("no breakpoints; %break CLASS.METHOD sets one")
        return
    rows = []
    for entry in debugger.entries.values():
        request: Any = entry.request
        hits = getattr(request, "hits", None)
        pending = getattr(request, "is_pending", False)
        state = "pending" if pending else "once" if entry.once else ""
        rows.append([str(entry.number), entry.kind, "" if hits is None else f"{hits:,}", state,
                     entry.text])  # fmt: skip
    print_table([">NUMBER", "KIND", ">HITS", "STATE", "WHERE"], rows)


@magic("requests")
def delete(vm: VM, names: Mapping[str, Any], text: str) -> None:
    """End breakpoints, watchpoints, catchpoints and logpoints.

        %delete 1 3        these; %break lists them
        %delete all

    Threads that have stopped at one stay stopped.
    """
    debugger = _debugging(vm, names)
    words = text.replace(",", " ").split()
    numbers = list(debugger.entries) if words == ["all"] else []
    for word in words if words != ["all"] else []:
        if not word.isdecimal():
            raise UsageError(f"%delete takes numbers, or all, not {word!r}; %break lists them")
        numbers.append(int(word))
    if not words:
        raise UsageError("%delete takes numbers, or all; %break lists them")
    for number in numbers:
        debugger.remove(number)


@magic("types")
def catch(vm: VM, names: Mapping[str, Any], text: str) -> None:
    """Stop threads where exceptions are thrown.

    %catch                                       any
    %catch java.lang.IllegalStateException       of a class, or of its subclasses
    %catch com.acme.OrderError uncaught          that no Java method catches; or `caught`
    %catch com.acme.OrderError if n > 1000       if a condition holds where it is thrown
    """
    from jvmti.shell import break_places

    debugger = _debugging(vm, names)
    fate = {"caught": True, "uncaught": True}
    words = []
    head, found, condition = text.partition(" if ")
    for word in head.split():
        if word in fate:
            fate = {"caught": word == "caught", "uncaught": word == "uncaught"}
        else:
            words.append(word)
    wanted = break_places.wanted(f"{' '.join(words)}{found}{condition}")
    how = _how(debugger, names, wanted.condition, wanted.hits, wanted.thread)
    how["when"] = _evaluated(vm, names, wanted.condition)
    made = vm.catch(wanted.place or "java.lang.Throwable", **{**how, **fate})
    decides = None if isinstance(how["when"], str) else how["when"]
    entry = debugger.add("catchpoint", text or "java.lang.Throwable", made, condition=decides)
    print(f"{entry}: {printable(text or 'java.lang.Throwable')}")
    if made.pending_reason:
        print(printable(made.pending_reason))


@magic("types")
def watch(vm: VM, names: Mapping[str, Any], text: str) -> None:
    """Stop threads before they change a field.

    %watch com.acme.Order.total                  before it is written
    %watch com.acme.Order.total read             before it is read; `access` is both
    %watch total                                 a field of the class where a thread stopped
    %watch com.acme.Order.total if n > 1000      if a condition holds
    """
    from jvmti.shell import break_places

    debugger = _debugging(vm, names)
    modes = {"read": (True, False), "write": (False, True), "access": (True, True)}
    mode = "write"
    words: list[str] = []
    head, found, condition = text.partition(" if ")
    for word in head.split():
        if word in modes and words:
            mode = word
        else:
            words.append(word)
    wanted = break_places.wanted(f"{' '.join(words)}{found}{condition}")
    owner, _, name = wanted.place.rpartition(".")
    if not name:
        raise UsageError("%watch needs a field, as in %watch com.acme.Order.total")
    how = _how(debugger, names, wanted.condition, wanted.hits, wanted.thread)
    how["when"] = _evaluated(vm, names, wanted.condition)
    how["read"], how["write"] = modes[mode]
    if owner in ("", "this"):
        cls = debugger.frame.method.declaring_class
        owners = [cls, *cls.superclasses]
        field = next((one.fields[name] for one in owners if name in one.fields), None)
        made = (field or cls.fields[name]).watch(**how)  # whose error suggests similar names
        owner = cls.name if field is None else field.declaring_class.name
    else:
        made = vm.watch(owner, name, **how)
    place = f"{owner}.{name}"
    decides = None if isinstance(how["when"], str) else how["when"]
    entry = debugger.add("watchpoint", f"{place} {mode}", made, condition=decides)
    print(f"{entry}: {printable(place)}, {mode}")
    if made.pending_reason:
        print(printable(made.pending_reason))


def _evaluated(vm: VM, names: Mapping[str, Any], condition: str | None) -> Any:
    """A condition of an exception or a field, which the agent does not decide."""
    if condition is None:
        return None
    from jvmti.debug.conditions import ConditionError, parse
    from jvmti.shell.debugging import PYTHON, deciding

    if not condition.startswith(PYTHON):
        try:
            parse(condition)
        except ConditionError:
            pass
        else:
            return condition
    return deciding(vm, condition, names)


# ---- running ----------------------------------------------------------------------------------


@magic()
def wait(vm: VM, names: Mapping[str, Any], text: str) -> None:
    """Wait until a thread stops, where the prompt shall not be free.

        %wait          without limit; Ctrl-C ends the wait
        %wait 10       for ten seconds

    In a script, this is how it goes on after %break and %continue.
    """
    debugger = _debugging(vm, names)
    try:
        limit = float(text) if text else None
    except ValueError:
        raise UsageError(f"%wait takes seconds, not {text!r}") from None
    if debugger.selected is None and debugger.wait(limit) is None:
        if vm.closed or vm._session.has_ended():
            raise UsageError("the JVM has ended")
        raise UsageError(f"no thread has stopped within {text} s")
    _show(debugger)


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
    debugger = _debugging(vm, names)
    selected = debugger.stop
    for stop in debugger.queue.stops if text else [selected]:
        debugger.resume(stop)
    _show_next(debugger)


def _show_next(debugger: Debugging) -> None:
    """Go to the next thread that waits, if one does."""
    if debugger.selected is not None:
        _show(debugger)


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
def finish(vm: VM, names: Mapping[str, Any], text: str) -> None:
    """Run until the method returns to its caller.

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
    debugger = _debugging(vm, names)
    if text and (not text.isdecimal() or not int(text)):
        raise UsageError(f"a step is taken a number of times, not {text!r}")
    if debugger.step(how, by, int(text or 1)) is None:
        print("the thread has ended")
        _show_next(debugger)
        return
    _show(debugger)
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
    debugger = _debugging(vm, names)
    stop = debugger.stop
    with debugger.queue.on_thread(stop):
        if text:
            stop.frame.return_(_value(debugger, text))
        else:
            stop.frame.return_()
    print("the method returns when the thread runs on: %continue, or %next")


# ---- looking around ---------------------------------------------------------------------------


def _show(debugger: Debugging) -> None:
    stop = debugger.stop
    with debugger.queue.on_thread(stop):
        print(debugger.described(stop, debugger.frame))


@magic()
def where(vm: VM, names: Mapping[str, Any], text: str) -> None:
    """Show the stack of the stopped thread; an arrow marks the selected frame.

    %where         all of it
    %where 5       the five topmost frames
    """
    debugger = _debugging(vm, names)
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
    debugger = _debugging(vm, names)
    if text:
        if not text.isdecimal():
            raise UsageError(f"%frame takes the number of a frame, not {text!r}")
        _select(debugger, int(text))
    _show(debugger)


def _select(debugger: Debugging, depth: int) -> None:
    frames = debugger.frames
    if not 0 <= depth < len(frames):
        raise UsageError(f"the thread has frames 0 to {len(frames) - 1}, not {depth}")
    debugger.select(debugger.stop, depth)


@magic()
def up(vm: VM, names: Mapping[str, Any], text: str) -> None:
    """Select the frame that called the selected one; %up 2 goes two further."""
    debugger = _debugging(vm, names)
    _select(debugger, debugger.depth + _count(text))
    _show(debugger)


@magic()
def down(vm: VM, names: Mapping[str, Any], text: str) -> None:
    """Select the frame that the selected one called; %down 2 goes two further."""
    debugger = _debugging(vm, names)
    _select(debugger, debugger.depth - _count(text))
    _show(debugger)


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
    debugger = _debugging(vm, names)
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
            _show(debugger)
            return
    there = ", ".join(printable(stop.thread.name) for stop in stops) or "none"
    raise UsageError(f"no thread {name!r} has stopped; these have: {there}")


@magic()
def locals_(vm: VM, names: Mapping[str, Any], text: str) -> None:
    """Show the variables of the selected frame.

        %locals

    `frame.locals["n"]` reads one, and writes it.
    """
    debugger = _debugging(vm, names)
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
    debugger = _debugging(vm, names)
    with debugger.queue.on_thread(debugger.stop):
        print(printable_lines(repr(_value(debugger, text))))


def _value(debugger: Debugging, text: str) -> Any:
    from jvmti import expressions
    from jvmti.shell.debugging import NO_GRAMMAR

    try:
        return expressions.evaluate(debugger.frame, text, timeout=LIMIT)
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
    from jvmti.shell.debugging import NO_GRAMMAR

    name, equals, given = text.partition("=")
    if not equals or not name.strip():
        raise UsageError("%set needs a variable and a value, as in %set n = 3")
    debugger = _debugging(vm, names)
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
    from jvmti.shell.source_lines import numbered

    debugger = _debugging(vm, names)
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
