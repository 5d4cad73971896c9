"""The commands that request stops: ``%break``, ``%watch``, ``%catch``, ``%delete``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from jvmti.interface.errors import NotAvailable
from jvmti.shell.debugger import debugger_of
from jvmti.shell.registry import UsageError, magic
from jvmti.text.printable import printable
from jvmti.text.quantities import quantity

if TYPE_CHECKING:
    from jvmti.expressions import JavaCondition, PythonCondition
    from jvmti.model.debug.breakpoints import Breakpoint
    from jvmti.model.debug.stops import Stop, StopRequest
    from jvmti.model.vm import VM
    from jvmti.shell.debugger.break_places import Wanted
    from jvmti.shell.debugger.debugging import Debugging

_MOST_NAMED = 5
"""Methods in a message."""


@magic()
def go(vm: VM, names: Mapping[str, Any], text: str) -> None:
    """Start the program that `jvmti shell --hold` holds.

        %go

    Until then none of its code has run, and none of the JDK's. Breakpoints in classes that are not
    loaded yet, such as `%break com.acme.Main.main`, are in place before those run.
    `vm.proceed()` does the same.
    """
    if not vm.held:
        raise UsageError(
            "the program is not held; %go is for `jvmti shell --hold -- java …`, and %continue "
            "lets a thread go on that has stopped"
        )
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
        %break return com.acme.Order.add              where it returns; other kinds of places are
                                                      `unwind`, `throw`, `monitor-enter` METHOD;
                                                      `call` METHOD, `called` METHOD, `new` CLASS,
                                                      `catch` CLASS, `read` FIELD, `write` FIELD,
                                                      each with `in` METHOD behind it or not; there
                                                      conditions know `value`, `exception`,
                                                      `target` and `passed0`
        %break com.acme.Order:42 log n={n}            print a text, and stop nothing; expressions
                                                      that call methods take longer

    The agent decides conditions that compare variables with constants, and a false one costs next
    to nothing. Others are Java expressions, evaluated while the thread waits; `if =py EXPRESSION`
    is Python, with the names `stop`, `frame`, and yours. Classes need not be loaded yet.

    The prompt stays free. When a thread stops, the shell says so; then %where, %locals, %eval,
    %next, %step, %finish and %continue are about it. `vm.breakpoint(…)` gives stops to a program.
    """
    debugger = debugger_of(vm, names)
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
    from jvmti.shell.debugger import break_places
    from jvmti.tracing.places import is_kind

    debugger = debugger_of(vm, names)
    wanted = break_places.wanted(text)
    selected = debugger.selected
    place = break_places.place_text(vm, wanted.place, debugger.frame if selected else None)
    if wanted.log is not None:
        if wanted.thread is not None:
            raise UsageError("a logpoint takes `every N` and `if CONDITION`")
        _set_logpoint(debugger, names, place, wanted)
        return
    if is_kind(place):
        _set_at(debugger, names, text, wanted, once=once)
        return
    made, condition = _placed(debugger, names, place, wanted)
    entry = debugger.add("breakpoint", text, made, once=once, condition=condition)
    _print_places(entry, place, made)


def _set_at(
    debugger: Debugging, names: Mapping[str, Any], text: str, wanted: Wanted, *, once: bool
) -> None:
    """A breakpoint at another kind of place."""
    from jvmti.instrumentation.probes import BadProbe
    from jvmti.shell.debugger.debugging import deciding
    from jvmti.tracing.places import Place

    Place.of(wanted.place)
    how = _how(debugger, names, wanted.condition, wanted.hits, wanted.thread)
    condition: JavaCondition | PythonCondition | None = None
    if how["when"] is not wanted.condition:
        condition = how["when"]
    try:
        made = debugger.vm.stop_at(wanted.place, **how, unloaded=True)
    except BadProbe:
        if wanted.condition is None:
            raise
        # More than the agent can decide: it is evaluated while the thread waits.
        condition = deciding(wanted.condition, names)
        how["when"] = condition.__call__
        made = debugger.vm.stop_at(wanted.place, **how, unloaded=True)
    entry = debugger.add("breakpoint", text, made, once=once, condition=condition)
    where = quantity(made.places, "place")
    if made.is_pending:
        where = f"pending: {made.pending_reason or 'no such class is loaded yet'}"
    print(printable(f"{entry}: {wanted.place}, {where}"))
    _print_running(made)


def _placed(
    debugger: Debugging,
    names: Mapping[str, Any],
    place: str,
    wanted: Wanted,
    do: Callable[[Stop], object] | None = None,
) -> tuple[Breakpoint, JavaCondition | PythonCondition | None]:
    """A breakpoint, and its condition where the agent does not decide it alone."""
    from jvmti.model.debug.conditions import ConditionError
    from jvmti.shell.debugger import break_places
    from jvmti.shell.debugger.debugging import deciding

    vm = debugger.vm
    how = _how(debugger, names, wanted.condition, wanted.hits, wanted.thread)
    how["do"] = do
    condition: JavaCondition | PythonCondition | None = None
    if how["when"] is not wanted.condition:
        condition = how["when"]
    try:
        made = break_places.placed(vm, place, **how)
    except ConditionError:
        if wanted.condition is None:
            raise
        # More than the agent can decide: the rest is evaluated while the thread waits.
        condition = decides = how["when"] = deciding(wanted.condition, names)
        try:
            made = break_places.placed(vm, place, **how)
        except ConditionError:
            # The agent knows a variable of the condition by no name, or decides it in no part.
            how["when"] = decides.__call__
            made = break_places.placed(vm, place, **how)
    return made, condition


def _print_places(entry: object, place: str, made: Breakpoint) -> None:
    where = f"pending: {made.pending_reason or 'no such class is loaded yet'}"
    if not made.is_pending:
        where = quantity(len(made.places), "place")
    print(printable(f"{entry}: {place}, {where}"))
    _print_running(made)


def _print_running(made: StopRequest) -> None:
    if made.running:
        several = sorted(made.running)
        more = len(several) - _MOST_NAMED
        calls = ", ".join(several[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
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
    if condition is not None:
        from jvmti.expressions import PYTHON
        from jvmti.shell.debugger.debugging import deciding

        when = deciding(condition, names) if condition.startswith(PYTHON) else condition
    chosen = None
    if thread is not None:
        found = [one.thread for one in vm.threads.snapshot(0) if str(one.id) == thread]
        chosen = found[0] if found else vm.threads[thread]
    return {"when": when, "hits": hits, "thread": chosen}


def _set_logpoint(
    debugger: Debugging, names: Mapping[str, Any], place: str, wanted: Wanted
) -> None:
    from jvmti.instrumentation.probes import BadProbe
    from jvmti.model.debug.conditions import ConditionError
    from jvmti.shell.debugger import logpoints

    assert wanted.log is not None
    every = logpoints.check_every(wanted.hits)
    text = f"{place} log {wanted.log}"
    try:
        log = debugger.vm.logpoint(
            place, wanted.log, when=wanted.condition, every=every, unloaded=True
        )
    except (BadProbe, ConditionError, NotAvailable):
        # More than the agent can record: it is evaluated while the thread waits.
        show = logpoints.printing(debugger.vm, wanted.log, names)
        made, condition = _placed(debugger, names, place, wanted, show)
        _print_places(debugger.add("logpoint", text, made, condition=condition), place, made)
        return
    entry = debugger.add("logpoint", text, log)
    print(printable(f"{entry}: {place}, {quantity(log.places, 'place')}"))
    logpoints.print_hits(log, str(entry))


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
    debugger = debugger_of(vm, names)
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
    %catch com.acme.OrderError if n > 1000       if a condition holds where it is thrown;
                                                 it may use `exception`
    """
    from jvmti.shell.debugger import break_places

    debugger = debugger_of(vm, names)
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
    place = wanted.place or "java.lang.Throwable"
    try:
        made = vm.catch(place, **{**how, **fate})
    except NotAvailable:
        if not isinstance(how["when"], str):
            raise
        # Late, it is evaluated while the thread waits.
        from jvmti.shell.debugger.debugging import deciding

        how["when"] = deciding(how["when"], names)
        made = vm.catch(place, **{**how, **fate})
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
    from jvmti.shell.debugger import break_places

    debugger = debugger_of(vm, names)
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
    from jvmti.expressions import PYTHON
    from jvmti.model.debug.conditions import ConditionError, parse
    from jvmti.shell.debugger.debugging import deciding

    if not condition.startswith(PYTHON):
        try:
            parse(condition)
        except ConditionError:
            pass
        else:
            return condition
    return deciding(condition, names)
