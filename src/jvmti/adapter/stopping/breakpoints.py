"""The requests that set breakpoints of all kinds.

Each request gives all breakpoints of its kind, or of a file. Those that are the same as before
stay, so that a client that adds one does not disturb the others.
"""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from jvmti.adapter.code.mapped_lines import MappedLines
from jvmti.adapter.protocol.arguments import Arguments, RequestFailed
from jvmti.adapter.protocol.conversation import explained
from jvmti.adapter.protocol.requests import answers
from jvmti.adapter.stopping.hit_rules import Rule, RuleFunctions
from jvmti.adapter.stopping.line_breakpoint import LineBreakpoint
from jvmti.instrumentation.probes import parameters_of
from jvmti.interface.constants import Event
from jvmti.interface.errors import Error
from jvmti.model.debug.breakpoints import Breakpoint
from jvmti.model.debug.late.stop_probes import exactly
from jvmti.text.printable import printable
from jvmti.tracing.places import is_kind

if TYPE_CHECKING:
    from jvmti.adapter.code.source_places import Shown, SourcePlaces
    from jvmti.adapter.debug_session import DebugSession
    from jvmti.adapter.showing.evaluation import Evaluation
    from jvmti.adapter.stopping.recorded_logpoints import RecordedLogpoint
    from jvmti.model.classes.java_class import Class, Method
    from jvmti.model.debug.stops import Stop, StopRequest

log = logging.getLogger("jvmti")

_WAITS = (
    "threads wait at each hit while the text is made: the agent records only variables, fields and "
    "lengths"
)
_EXPECTED = (Error, LookupError, ValueError, TypeError, ImportError)


class ClientBreakpoint:
    """A breakpoint as the client knows it.

    Attributes:
        number: its number.
        request: what stops threads, or records a text; ``None`` if there is nothing, and why.
        message: why it does not stop threads, or not yet.
        line: the line where it is, as class files count.
        source: the source that it is in, for the client.
        is_verified: whether it does what the client wants.
        is_logpoint: whether it logs a text instead of stopping threads.
        has_failed: whether its condition asks for what nobody can read where threads stop.
        unknown: what to say of a name in its condition that means nothing at its places.
        watch: waits for its class to be loaded, if its request does not.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.request: StopRequest | LineBreakpoint | None = None
        self.message: str | None = None
        self.line: int | None = None
        self.source: dict[str, Any] | None = None
        self.is_verified = False
        self.is_logpoint = False
        self.has_failed = False
        self.unknown: str | None = None
        self.watch: StopRequest | None = None

    def cancel(self) -> None:
        """Remove it from the program."""
        if self.watch is not None:
            self.watch.cancel()
        if self.request is not None:
            self.request.cancel()


Create = Callable[[ClientBreakpoint], None]
"""Fills in a breakpoint's request and what is known of it, or raises."""


class BreakpointRequests:
    """Answers requests that set breakpoints by line and by function.

    Args:
        session: what requests share.
        evaluation: evaluates conditions.
        sources: knows the classes of a source.
    """

    def __init__(
        self, session: DebugSession, evaluation: Evaluation, sources: SourcePlaces
    ) -> None:
        self._session = session
        self._evaluation = evaluation
        self._sources = sources
        self._numbers = itertools.count(1)
        self._sets: dict[Hashable, dict[Hashable, ClientBreakpoint]] = {}
        self._lock = threading.Lock()

    def replace(
        self, which: Hashable, wanted: Sequence[tuple[Hashable, Create]]
    ) -> list[ClientBreakpoint]:
        """Make a set of breakpoints what the client wants; return them in its order.

        Args:
            which: the set.
            wanted: for each breakpoint what makes it the same as before, and how to create it.
        """
        before = self._sets.get(which, {})
        creates = dict(_numbered(wanted))
        found: dict[Hashable, ClientBreakpoint] = {}
        for key in before.keys() - creates.keys():
            before[key].cancel()
        new: list[tuple[ClientBreakpoint, Create]] = []
        for key, create in creates.items():
            one = before.get(key)
            if one is None or (one.request is None or not one.request.is_active):
                one = ClientBreakpoint(next(self._numbers))
                new.append((one, create))
            found[key] = one
        if len(new) > 1 and self._session.vm.breakpoints.is_emulated(Event.BREAKPOINT):
            new.reverse()  # the probes that come last are in front of the others of a place
        for one, create in new:
            try:
                create(one)
            except _EXPECTED as error:
                one.message = explained(error)
        self._sets[which] = found
        return list(found.values())

    def shown(self, one: ClientBreakpoint) -> dict[str, Any]:
        """A breakpoint as the protocol has it."""
        shown: dict[str, Any] = {"id": one.number, "verified": one.is_verified}
        if one.message is not None:
            shown["message"] = one.message
            if not one.is_verified:
                is_pending = one.request is not None and not one.has_failed
                shown["reason"] = "pending" if is_pending else "failed"
        if one.line is not None:
            shown["line"] = self._session.to_client(one.line)
        if one.source is not None:
            shown["source"] = one.source
        return shown

    def response(self, found: Sequence[ClientBreakpoint]) -> dict[str, Any]:
        """The body of a response that has these breakpoints."""
        return {"breakpoints": [self.shown(one) for one in found]}

    def functions(
        self, one: ClientBreakpoint, rule: Rule, reason: str, **more: Callable[[Stop], str | None]
    ) -> RuleFunctions:
        """The functions for a breakpoint that stops threads for a reason.

        Args:
            one: the breakpoint.
            rule: its rule.
            reason: in the protocol's words.
            more: further parts of the event, by their names in the protocol.
        """

        one.is_logpoint = bool(rule.message)

        def reached(stop: Stop) -> None:
            details = {name: text(stop) for name, text in more.items()}
            self._session.halt(stop, reason, None, breakpoints=[one.number], **details)

        def unreadable(why: str) -> None:
            one.is_verified, one.has_failed = False, True
            one.message = f"it stops threads whether or not its condition holds: {why}"
            self.changed(one)

        return RuleFunctions(self._session, self._evaluation, rule, reached, unreadable)

    # ---- by line ---------------------------------------------------------------------------

    @answers("setBreakpoints")
    def set_breakpoints(self, given: Arguments) -> dict[str, Any]:
        """The breakpoints of a source."""
        self._session.vm  # noqa: B018 - without one there is nothing to set them in
        source = given.inner("source")
        number = source.number("sourceReference", 0)
        path = source.text("path", "")
        if number:
            shown = self._sources.numbered(number)
            body = shown.body
            patterns = [exactly(_outermost(shown.cls)), exactly(_outermost(shown.cls)) + "$*"]
            path = shown.source.path.rpartition("!")[2]
        elif path:
            shown, body = None, {"path": path}
            patterns = self._sources.classes_in(path)
        else:
            raise RequestFailed("setBreakpoints: the source has neither a path nor a reference")
        mapped = self._mapped(path)
        wanted: list[tuple[Hashable, Create]] = []
        items = list(given.each("breakpoints"))
        if not items:
            items = [Arguments(given.command, {"line": one}) for one in given.numbers("lines")]
        for item in items:
            line = self._session.from_client(item.number("line"))
            rule = Rule.of(item)
            if shown is not None and shown.is_disassembly:
                create = self._at_code(shown, line, rule)
            else:
                create = self._at_line(body, patterns, mapped, line, rule)
            wanted.append(((line, rule), create))
        return self.response(self.replace(("source", number, path), wanted))

    @answers("breakpointLocations")
    def breakpoint_locations(self, given: Arguments) -> dict[str, Any]:
        """The lines of a range that have code, in the loaded classes of a source."""
        self._session.vm  # noqa: B018 - without one there are no classes
        path = given.inner("source").text("path", "")
        first = self._session.from_client(given.number("line"))
        last = self._session.from_client(given.number("endLine", given.number("line")))
        lines = self._lines(self._sources.classes_in(path), self._mapped(path)) if path else set()
        found = sorted(one for one in lines if first <= one <= last)
        return {"breakpoints": [{"line": self._session.to_client(one)} for one in found]}

    def _mapped(self, path: str) -> MappedLines | None:
        """The lines of a source that classes have by way of their maps, if they may have some."""
        return MappedLines(self._session.vm, path) if MappedLines.may_have(path) else None

    def _at_code(self, shown: Shown, line: int, rule: Rule) -> Create:
        """A breakpoint in a disassembly: at the first instruction from a line on."""

        def create(one: ClientBreakpoint) -> None:
            one.line, one.source = line, shown.body
            disassembly = shown.disassembly
            code = disassembly.first_code(line)
            if code is None:
                raise RequestFailed("there is no code from this line on")
            (method,) = (
                method
                for method in shown.cls.methods
                if (method.name, method.signature) == (code.method, code.descriptor)
            )
            functions = self.functions(one, rule, "breakpoint")
            one.request = method.breakpoint(
                location=code.location,
                when=functions.when,
                hits=functions.hits,
                do=functions,
            )
            one.line = disassembly.number_of(code.method, code.descriptor, code.location)
            one.is_verified = True

        return create

    def _at_line(
        self,
        body: dict[str, Any],
        patterns: Sequence[str],
        mapped: MappedLines | None,
        line: int,
        rule: Rule,
    ) -> Create:
        vm = self._session.vm

        def create(one: ClientBreakpoint) -> None:
            one.line, one.source = line, body
            functions = self.functions(one, rule, "breakpoint")

            def place(
                classes: str | Sequence[str], number: int, placed: Callable[[object], None]
            ) -> Breakpoint:
                return vm.breakpoint(
                    classes,
                    line=number,
                    when=functions.when,
                    hits=functions.hits,
                    do=functions,
                    placed=placed,
                )

            def changed(request: LineBreakpoint) -> None:
                one.unknown = self._unknown(patterns, line, rule)
                self._placed(one, request)
                if one.request is request and isinstance(request.own, Breakpoint):
                    recorded = self._recorded(patterns, line, functions)
                    if recorded is not None:
                        request.record(recorded)
                        self._note(one, request)

            recorded = self._recorded(patterns, line, functions)
            one.request = request = LineBreakpoint(
                vm, patterns, line, recorded, place, mapped, changed
            )
            one.unknown = self._unknown(patterns, line, rule)
            self._note(one, request)
            if not one.is_verified:
                one.message = self._why_not(self._lines(patterns, mapped), line)

        return create

    def _recorded(
        self, patterns: Sequence[str], line: int, functions: RuleFunctions
    ) -> RecordedLogpoint | None:
        """Let the agent record the text of a logpoint, if it can."""
        vm = self._session.vm
        # Where the VM has breakpoints, other probes in a class would take them from calls that run.
        if not functions.is_logpoint or not vm.breakpoints.is_emulated(Event.BREAKPOINT):
            return None
        rule = functions.recorded_at(vm, self._places(patterns, line))
        if rule is None:
            return None
        place = f"{'|'.join(patterns)}:{line}"
        try:
            return self._session.logpoints.open(
                vm, place, rule.text, when=rule.when, every=rule.every
            )
        except (Error, LookupError) as error:
            log.debug("the agent does not record %s: %s", place, error)
            return None

    def _places(self, patterns: Sequence[str], line: int) -> list[tuple[Method, int]]:
        """The methods of the loaded classes of a source that have a line, and where it begins."""
        places: dict[Method, int] = {}
        for method, at, its_line in self._code(patterns):
            if its_line == line:
                places[method] = min(places.get(method, at), at)
        return list(places.items())

    def _unknown(self, patterns: Sequence[str], line: int, rule: Rule) -> str | None:
        """Words for a name in a condition that means nothing at its places."""
        if not rule.condition:
            return None
        from jvmti.expressions.agent_values import unknown_name

        name = unknown_name(self._session.vm, rule.condition, self._places(patterns, line))
        if name is None:
            return None
        return printable(
            f"there is no variable or field {name!r} here: where the condition needs it, threads "
            "stop, and the console says so"
        )

    def _code(
        self, patterns: Sequence[str], mapped: MappedLines | None = None
    ) -> Iterator[tuple[Method, int, int]]:
        """The methods of the loaded classes of a source: where in them which lines begin."""
        vm = self._session.vm
        if vm.held:
            return
        classes = dict.fromkeys(vm.classes("\n".join(patterns)))
        if mapped is not None:
            classes |= dict.fromkeys(mapped.classes())
        for cls in classes:
            try:
                if not cls.is_array:
                    methods = list(cls.methods)
                    for method, table in zip(methods, vm.methods.line_tables(methods), strict=True):
                        yield from ((method, start, line) for start, line in table)
            except Error as error:
                log.debug("the lines of %s are unknown: %s", cls.name, error)

    def _lines(self, patterns: Sequence[str], mapped: MappedLines | None) -> set[int]:
        """The lines with code of the loaded classes of a source."""
        if mapped is None:
            return {line for _, _, line in self._code(patterns)}
        code = self._code(patterns, mapped)
        found = (mapped.line(method, line) for method, _, line in code)
        return {one for one in found if one is not None}

    def _why_not(self, lines: set[int], line: int) -> str:
        if not lines:
            return "no class of this source is loaded yet, or they have no line numbers"
        near = sorted(sorted(lines, key=lambda number: abs(number - line))[:4])
        numbers = ", ".join(str(self._session.to_client(one)) for one in near)
        return printable(
            f"no class of this source that is loaded has code at this line; the nearest lines "
            f"with code: {numbers}"
        )

    def _note(self, one: ClientBreakpoint, request: Breakpoint | LineBreakpoint) -> bool:
        """Note where a breakpoint is now; return whether that is news."""
        was = one.is_verified, one.message
        one.is_verified = bool(request.places)
        if one.is_verified:
            notes = [] if one.unknown is None else [one.unknown]
            if request.running:
                calls = ", ".join(sorted(request.running)[:3])
                notes.append(f"calls that run already do not stop: {calls}")
            if one.is_logpoint and request.waits:
                notes.append(_WAITS)
            one.message = "; ".join(notes) or None
        elif request.lost:
            one.message = request.lost[0][2]
        return (one.is_verified, one.message) != was

    def _placed(self, one: ClientBreakpoint, request: Breakpoint | LineBreakpoint) -> None:
        """A class was loaded, or redefined: say where the breakpoint is now."""
        if self._note(one, request):
            self.changed(one)

    def changed(self, one: ClientBreakpoint) -> None:
        """Let the client know what a breakpoint is now."""
        self._session.conversation.event("breakpoint", reason="changed", breakpoint=self.shown(one))

    # ---- by function -----------------------------------------------------------------------

    @answers("setFunctionBreakpoints")
    def set_function_breakpoints(self, given: Arguments) -> dict[str, Any]:
        """The breakpoints at the beginnings of methods, and at other kinds of places."""
        self._session.vm  # noqa: B018 - without one there is nothing to set them in
        wanted: list[tuple[Hashable, Create]] = []
        for item in given.each("breakpoints"):
            name, rule = item.text("name").strip(), Rule.of(item)
            create = self._at_place if is_kind(name) else self._at_method
            wanted.append(((name, rule), create(name, rule)))
        return self.response(self.replace("functions", wanted))

    def _at_method(self, name: str, rule: Rule) -> Create:
        def create(one: ClientBreakpoint) -> None:
            plain, signature = parameters_of(name, name)
            classes, _, method = plain.rpartition(".")
            if not classes or not method:
                raise RequestFailed(
                    f"a function breakpoint names class and method, as com.acme.Order.add; not "
                    f"{name!r}"
                )
            functions = self.functions(one, rule, "function breakpoint")
            one.request = request = self._session.vm.breakpoint(
                classes,
                method,
                signature=signature,
                when=functions.when,
                hits=functions.hits,
                do=functions,
                placed=lambda request: self._placed(one, request),
            )
            self._note(one, request)
            if not one.is_verified:
                one.message = request.pending_reason or "no method of that name is loaded yet"

        return create

    def _at_place(self, name: str, rule: Rule) -> Create:
        """A breakpoint at another kind of place, as ``return com.acme.Order.add``."""

        def create(one: ClientBreakpoint) -> None:
            functions = self.functions(one, rule, "function breakpoint", description=_at_place)

            def reached(stop: Stop) -> None:
                if not one.is_verified:  # a class with such a place was loaded meanwhile
                    one.is_verified, one.message = True, None
                    self.changed(one)
                functions(stop)

            one.request = request = self._session.vm.stop_at(
                name, when=functions.when, hits=functions.hits, do=reached, unloaded=True
            )
            one.is_verified = not request.is_pending
            if not one.is_verified:
                one.message = request.pending_reason or "no class that is loaded has such a place"
            elif request.running:
                calls = ", ".join(sorted(request.running)[:3])
                one.message = f"calls that run already do not stop: {calls}"

        return create


def _at_place(stop: Stop) -> str | None:
    """The event at the place of a stop, in words."""
    return printable(str(stop.at_place), 200) if stop.at_place is not None else None


def _outermost(cls: Class) -> str:
    return cls.name.partition("$")[0]


def _numbered(wanted: Sequence[tuple[Hashable, Create]]) -> list[tuple[Hashable, Create]]:
    """The same with keys that differ, where a client asks for two at one place."""
    counts: dict[Hashable, int] = {}
    found: list[tuple[Hashable, Create]] = []
    for key, create in wanted:
        counts[key] = counts.get(key, 0) + 1
        found.append(((key, counts[key]), create))
    return found


__all__ = ["BreakpointRequests", "ClientBreakpoint", "Create"]
