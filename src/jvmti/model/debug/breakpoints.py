"""Breakpoints, in loaded classes and in classes that are not loaded yet."""

from __future__ import annotations

import ast
import contextlib
import functools
import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NoReturn

from jvmti.instrumentation.probes import BadProbe
from jvmti.interface.constants import Event
from jvmti.interface.errors import (
    AbsentInformation,
    ClassNotPrepared,
    Error,
    ErrorCode,
    JvmtiError,
    error_for,
)
from jvmti.interface.signatures import matcher
from jvmti.layouts.probes import Site
from jvmti.model.debug import conditions
from jvmti.model.debug.condition_fields import ConditionFields
from jvmti.model.debug.late.stop_probes import exactly, stop_probe
from jvmti.model.debug.stops import Stop, StopRequest, is_pattern
from jvmti.model.debug.variables import parameters
from jvmti.text.names import suggestion
from jvmti.text.printable import printable
from jvmti.tracing.places import is_kind
from jvmti.tracing.without_code import check_has_code

if TYPE_CHECKING:
    from jvmti.env.structures import LocalVariableEntry
    from jvmti.model.classes.java_class import Class, Method
    from jvmti.model.threads.java_thread import Thread
    from jvmti.model.vm import VM

log = logging.getLogger("jvmti")

_NATIVE, _ABSTRACT = 0x0100, 0x0400
_BOXING = {
    f"java.lang.{one}"
    for one in (
        *("Boolean", "Byte", "Character", "Short", "Integer", "Long", "Float", "Double"),
        *("Number", "Object"),
    )
}
"""Classes whose methods probes call that put variables into boxes."""


class Breakpoint(StopRequest):
    """A breakpoint, or one in each method that its name matches.

    Attributes:
        places: the methods and bytecode indices where it is now, including those of classes that
            have been unloaded since.
        lost: places that a redefined class no longer has: the method, the former bytecode index
            and the reason.
        line: the requested source line.
    """

    def __init__(
        self,
        vm: VM,
        method: Method | None,
        named: tuple[str, str | None, str | None] | None,
        line: int | None,
        location: int | None,
        *,
        when: str | Callable[[Stop], object] | None,
        hits: int | str | None,
        thread: Thread | Iterable[Thread] | None,
        caller: str | Iterable[str] | Method | None,
        do: Callable[[Stop], object] | None,
        placed: Callable[[Breakpoint], object] | None = None,
        max_pause: float | None = None,
    ) -> None:
        # A function may have a part that the agent decides first, as `jvmti.expressions.condition`;
        # its `decided_at` says what probes decide at a place, which is more.
        text = when if isinstance(when, str) else getattr(when, "in_agent", None)
        self._placed = placed
        super().__init__(
            vm,
            when=None if isinstance(when, str) else when,
            hits=hits,
            thread=thread,
            caller=caller,
            do=do,
            max_pause=max_pause,
        )
        if line is not None and location is not None:
            raise ValueError("a breakpoint takes line= or location=, not both")
        for what, number in (("line", line), ("location", location)):
            if number is not None and type(number) is not int:
                raise TypeError(f"{what}= takes a number, not {number!r}")
        self.line = line
        self.places: list[tuple[Method, int]] = []
        self.lost: list[tuple[Method, int, str]] = []
        self._follows_redefinitions = False
        self._location = location
        self._text = text
        emulated = vm.breakpoints.is_emulated(Event.BREAKPOINT)
        # Probes evaluate more than that.
        self._tree: ast.expr | None = None if text is None or emulated else conditions.parse(text)
        self._named = named
        self._placing = threading.RLock()
        self._exact: Method | None = method
        self._function = self._when
        self._conditions: dict[tuple[Method, int], conditions.Condition] = {}
        """The parts of the function's condition that the agent decides, at its places."""
        self._asked = 0
        # What the agent records at a place, so that no thread waits for the function.
        self._recorder: Callable[[Method, int], Any] | None = None
        if not emulated:
            self._recorder = getattr(do, "recording", None)
        self._counts_at_places = not emulated
        if emulated:
            if self._is_decided_by_place:
                self._decide(self._part())
            elif text is not None and self._when is not None and not self._fits_probes():
                self._text = None  # the function decides all of it
            self._begin_with_probes(method)
            return
        if method is not None:
            # Find mistakes before anything changes in the VM.
            at = location_of(method, line, location)
            condition = self._condition(method, at)
            self._number = self._make(Event.BREAKPOINT)
            self._keep(lambda: self._place(method, at, condition))
            return
        assert named is not None
        _check_named(named, line)
        self._number = self._make(Event.BREAKPOINT)
        self._keep(lambda: self._wait_for(named[0]))

    @property
    def is_pending(self) -> bool:
        """Whether it waits for a class to be loaded."""
        return not self.places and not self.lost

    # ---- by probes -------------------------------------------------------------------------

    def _begin_with_probes(self, method: Method | None) -> None:
        """As `__init__`, where the VM grants no breakpoints."""
        if method is not None:
            location_of(method, self.line, self._location)  # mistakes first
            names: tuple[str, str | None, str | None]
            names = exactly(method.class_name), exactly(method.name), exactly(method.signature)
        else:
            assert self._named is not None
            _check_named(self._named, self.line)
            classes, methods, signature = self._named
            names = (classes, methods, _pattern(signature))
        self._where: dict[str, Any] = {
            "classes": names[0],
            "methods": names[1],
            "descriptors": names[2],
        }
        if self.line is not None:
            site, self._where["number"] = Site.LINE, self.line
        elif self._location:
            site, self._where["number"] = Site.INDEX, self._location
        else:
            site = Site.ENTRY
        self._site = site
        try:
            probe = stop_probe(site, self._text, **self._where)
        except BadProbe as error:
            if self._function is None:
                raise conditions.ConditionError(str(error)) from None
            self._decide(None)
            probe = stop_probe(site, None, **self._where)
        # Their probes are in front of those of sets that were opened before: a thread that is
        # stepped to a breakpoint stops there once, because of the breakpoint.
        self._vm.breakpoints.step_probes  # noqa: B018
        self._make_probes(Event.BREAKPOINT, [probe])
        if method is None:
            self._keep(lambda: self._wait_for(names[0]))
        else:
            self._keep(lambda: self._place_probes([method.declaring_class], strict=True))

    @property
    def _is_decided_by_place(self) -> bool:
        """Whether the place says how much of the condition probes can decide."""
        return hasattr(self._function, "decided_at")

    def _known_places(self) -> list[tuple[Method, int]]:
        """Its places in the loaded classes."""
        if self._exact is not None:
            return [(self._exact, location_of(self._exact, self.line, self._location))]
        assert self._named is not None
        found: list[tuple[Method, int]] = []
        for cls in self._vm.classes(self._named[0]):
            if cls.signature.startswith("L"):
                with contextlib.suppress(LookupError, ValueError, JvmtiError):
                    found += self._places_in(cls)
        return found

    def _part(self) -> tuple[str | None, str | None]:
        """The part of the condition that probes decide at all places that are known now, and the
        rest."""
        places = self._known_places() if self._vm._session.live else []
        function: Any = self._function
        return function.decided_at(self._vm, places) if places else (None, "")

    def _decide(self, part: tuple[str | None, str | None] | None) -> None:
        """Leave a part of the condition to probes, and the rest to the function."""
        self._text, rest = (None, "") if part is None else part
        self._when = None if self._text is not None and rest is None else self._function

    def _decide_again(self) -> None:
        """Other places are known than before, where probes decide more or less of it."""
        with self._placing:
            part = self._part()
            if part[0] != self._text:
                self._weave_again(part)

    def _weave_again(self, part: tuple[str | None, str | None] | None) -> None:
        """Take other probes, which decide that part of the condition."""
        old, probes = self._emulated, self._probes
        assert old is not None
        assert probes is not None
        self._decide(part)
        try:
            probe = stop_probe(self._site, self._text, **self._where)
        except BadProbe:
            self._decide(None)
            probe = stop_probe(self._site, None, **self._where)
        self._make_probes(Event.BREAKPOINT, [probe])
        classes = list(dict.fromkeys(method.declaring_class for method, _ in self.places))
        self.places.clear()
        self._place_probes(classes, strict=False)
        self._unmake(old, enabled=False)
        probes.close()

    def _fits_probes(self) -> bool:
        """Whether probes can decide the part of the condition that is meant for the agent.

        A probe that does not know a variable would find no place; so only where all places are
        known now.
        """
        text = self._text
        assert text is not None
        env = self._vm.env_with("can_access_local_variables")
        try:
            if self._named is not None and is_pattern(self._named[0]):
                return False
            places = self._known_places()
            tree = conditions.parse(text)
            for one, at in places:
                table = env.get_local_variable_table(one)
                if self._has_inexact_float(table):
                    return False
                conditions.compiled(text, tree, table, at)
        except (Error, LookupError, ValueError):
            return False
        return bool(places)

    def _has_inexact_float(self, table: Sequence[LocalVariableEntry]) -> bool:
        """Whether a ``float`` is compared with a number for which Java and the agent differ."""
        floats = {one.name for one in table if one.signature == "F"}
        return bool(floats & getattr(self._when, "not_for_float", frozenset()))

    def _place_probes(self, classes: list[Class], strict: bool, *, loaded: bool = True) -> None:
        # One thread at a time: another may find that the condition is to be decided otherwise.
        with self._placing:
            self._place_all_probes(classes, strict, loaded)

    def _place_all_probes(self, classes: list[Class], strict: bool, loaded: bool) -> None:
        probes = self._probes
        assert probes is not None
        found: dict[Class, list[tuple[Method, int]]] = {}
        for cls in classes:
            try:
                if self._exact is not None:
                    at = location_of(self._exact, self.line, self._location)
                    found[cls] = [(self._exact, at)]
                else:
                    found[cls] = self._places_in(cls)
            except ClassNotPrepared:
                self._wait_for_code(cls)
            except (LookupError, ValueError, JvmtiError):
                if strict:
                    raise
        # A class that is loading has its probes already. Of others, probes may be noted that are
        # not there: another agent changed the class meanwhile, and the VM refused its change.
        new = [cls for cls in found if loaded or not probes.has_any_in(cls)]
        if new:
            # With the same change of the class, so that steps from here have somewhere to end.
            methods = [method for cls in new for method, _ in found[cls]]
            self._vm.breakpoints.step_probes.announce(self, methods)
            probes.arm(new)
            if self._text is not None and self._function is not None:
                if not all(probes.has_any_in(cls) for cls in new):
                    # There is something that only the verifier knows.
                    self.places += [one for cls in new for one in found[cls]]
                    self._weave_again(None)
                    return
        for cls, places in found.items():
            try:
                if not probes.has_any_in(cls):
                    self._refuse_place(*places[0])
            except (Error, ValueError) as error:
                if strict:
                    raise
                log.info("no breakpoint in %s: %s", cls.name, error)
                continue
            self.places += [one for one in places if one not in self.places]

    def _refuse_place(self, method: Method, at: int) -> NoReturn:
        """Say why there is no probe in a method.

        Raises:
            InvalidLocation: there is no instruction at that bytecode index.
            ConditionError: the condition names a variable that does not exist there.
            Error: another reason.
        """
        name = f"{method.class_name}.{method.name}"
        probes = self._probes
        assert probes is not None
        probes._failed_for(name)
        if self._location and self.line is None:
            detail = f"{name} has no instruction at {self._location}"
            raise error_for(ErrorCode.INVALID_LOCATION, "breakpoint", detail)
        if method.class_name.partition("$")[0] in _BOXING:
            raise Error(
                f"{name} can have no breakpoint: probes call it themselves, to put the values of "
                "variables into boxes"
            )
        if self._text is not None:
            env = self._vm.env_with("can_access_local_variables")
            try:
                table = env.get_local_variable_table(method)
            except AbsentInformation:
                table = []
            conditions.compiled(
                self._text,
                conditions.parse(self._text),
                table,
                at,
                unnamed=() if table else parameters(method),
            )
        why = "no probe found a place there"
        if self._text is not None:
            why = f"the values that {self._text!r} compares are of other types there"
        raise Error(f"{name} can have no such breakpoint: {why}")

    def _is_place(self, method: Any) -> bool:
        exact = self._exact
        if exact is None or method == exact:
            return True
        # A frame from before its class got other probes.
        return bool(
            (method.name, method.signature, method.class_name)
            == (exact.name, exact.signature, exact.class_name)
            and self._vm.lookup_env.is_method_obsolete(method)
        )

    def _keep(self, place: Callable[[], None]) -> None:
        try:
            place()
        except BaseException:
            self.cancel()
            raise

    def _wait_for(self, classes: str) -> None:
        # The event first, so that no class is prepared unseen in between.
        self._make(Event.CLASS_PREPARE, classes=classes)
        if self._vm._session.live:
            self._find_classes()
            if self.is_pending:
                self._warn_if_not_loaded(classes)

    def _went_live(self) -> None:
        self._find_classes()
        self._report_places()

    def _find_classes(self) -> None:
        if self._named is None:
            return
        name = self._named[0]
        strict = not is_pattern(name)
        classes = [
            cls
            for cls in self._vm.classes(name)
            if not cls.is_array and cls.signature.startswith("L")
        ]
        if self._probes is not None:
            self._place_probes(classes, strict)
            if self._is_decided_by_place:
                self._decide_again()
            return
        for cls in classes:
            self._place_in(cls, strict)

    def _class_prepared(self, cls: Class) -> None:
        if self._probes is not None:
            self._place_probes([cls], strict=False, loaded=False)
            if self._is_decided_by_place:
                self._decide_again()
        else:
            self._place_in(cls, strict=False)
        self._report_places()

    def _report_places(self) -> None:
        if self._placed is not None:
            self._placed(self)

    def _place_in(self, cls: Class, strict: bool) -> None:
        """Place it in a class; a mismatch is an error only if the class was named exactly."""
        assert self._named is not None
        try:
            for method, at in self._places_in(cls):
                self._place(method, at, self._condition(method, at))
        except ClassNotPrepared:
            self._wait_for_code(cls)
        except (LookupError, ValueError, JvmtiError) as error:
            if strict:
                raise
            log.log(
                logging.DEBUG if is_pattern(self._named[0]) else logging.WARNING,
                "no breakpoint in %s: %s",
                cls.name,
                error,
            )

    def _wait_for_code(self, cls: Class) -> None:
        """A class is loaded, and its event comes before anything of it can run."""
        self.pending_reason = f"{cls.name} is loaded, and none of its code can have run yet"

    def _places_in(self, cls: Class) -> list[tuple[Method, int]]:
        assert self._named is not None
        _, name, signature = self._named
        its = _pattern(signature) or "*"
        methods = [one for one in cls.methods if fnmatchcase(one.signature, its)]
        if name is None:
            assert self.line is not None
            tables = self._vm.methods.line_tables(methods)
            starts = [[start for start, line in table if line == self.line] for table in tables]
            found = [(method, min(its)) for method, its in zip(methods, starts, strict=True) if its]
            if found:
                return found
            lines = {line for table in tables for _, line in table}
            raise ValueError(printable(f"no method of {cls.name} has {_code_at(self.line, lines)}"))
        matches = matcher(name)
        chosen = [one for one in methods if matches(one.name)]
        if not chosen:
            raise LookupError(_no_method(cls, name, signature))
        found = []
        errors: list[ValueError] = []
        for method in chosen:
            try:
                found.append((method, location_of(method, self.line, self._location)))
            except ValueError as error:
                errors.append(error)
        if not found:
            raise errors[0]
        return found

    def _condition(self, method: Method, at: int) -> conditions.Condition:
        """The part of the condition that the agent decides at a place, and what it records."""
        made = self._decision(method, at)
        if self._recorder is None or not (made.is_all or self._when is None):
            return made
        recording = self._recorder(method, at)
        if recording is None:
            return made
        records = self._vm.breakpoints.open_records()
        try:
            return conditions.recording(
                made,
                recording.values,
                functools.partial(records.number_of, recording),
                self._table(method),
                at,
                ConditionFields(self._vm, method).find,
            )
        except conditions.ConditionError as error:
            log.debug("%r is asked at each hit: %s", self, error)
            return made

    @property
    def waits(self) -> bool:
        """Whether a thread waits while the function of a hit runs, at least at one of its places;
        the agent may have recorded all hits instead."""
        conditions_there = [self._conditions.get(place) for place in self.places]
        return any(one is None or not one.records for one in conditions_there)

    def _decision(self, method: Method, at: int) -> conditions.Condition:
        if self._is_decided_by_place:
            found = self._decided_part(method, at)
            if found is not None:
                return found
        if self._tree is None or self._text is None:
            return conditions.NONE
        table = self._table(method)
        if self._has_inexact_float(table):
            return conditions.NONE
        try:
            made = self._compiled(self._text, self._tree, table, method, at)
        except conditions.ConditionError:
            if self._when is None:
                raise
            return conditions.NONE  # the function decides all of it
        return made._replace(is_all=getattr(self._function, "remaining", "") is None)

    def _decided_part(self, method: Method, at: int) -> conditions.Condition | None:
        """As much of it as the types of variables and fields let the agent decide there."""
        function: Any = self._function
        text, remaining = function.decided_at(self._vm, [(method, at)])
        if text is None:
            return None
        try:
            table = self._table(method)
            made = self._compiled(text, conditions.parse(text), table, method, at)
        except conditions.ConditionError:
            return None  # it has a class that is not loaded, or more than fits
        return made._replace(is_all=remaining is None)

    def _table(self, method: Method) -> Sequence[LocalVariableEntry]:
        env = self._vm.breakpoints.environment("can_access_local_variables")
        try:
            return env.get_local_variable_table(method)
        except AbsentInformation:
            return []

    def _compiled(
        self,
        text: str,
        tree: ast.expr,
        table: Sequence[LocalVariableEntry],
        method: Method,
        at: int,
    ) -> conditions.Condition:
        # javac -g:none leaves an empty table out; other compilers do not.
        unnamed = () if table else parameters(method)
        find_field = ConditionFields(self._vm, method).find
        return conditions.compiled(text, tree, table, at, unnamed, find_field)

    def _install(self, method: Method, at: int, condition: conditions.Condition) -> None:
        """Place it in the agent, or give it another condition there."""
        self._agent(self._number).install_breakpoint(
            self._number,
            method,
            at,
            condition.instructions,
            condition.texts,
            list(condition.fields),
            self._when is None or condition.is_all,
        )
        self._conditions[method, at] = condition

    def _place(self, method: Method, at: int, condition: conditions.Condition) -> None:
        with self._placing:
            if (method, at) in self.places:
                return
            self._install(method, at, condition)
            self.places.append((method, at))
            if not self._follows_redefinitions:
                self._follows_redefinitions = True
                classes = self._named[0] if self._named is not None else method.class_name
                self._make(Event.CLASS_FILE_LOAD_HOOK, classes=classes)

    # ---- redefined classes -----------------------------------------------------------------

    def _class_redefining(self, cls: Class) -> None:
        self._vm.breakpoints.redefinitions.begun(cls, self)

    def _place_again(self, cls: Class) -> None:
        """The VM has cleared the breakpoints of the old version of a class."""
        with self._placing:
            agent = self._agent(self._number)
            were = [one for one in self.places if one[0].declaring_class == cls]
            for method, at in were:
                agent.uninstall_breakpoint(self._number, method, at)
                self.places.remove((method, at))
                self._conditions.pop((method, at), None)
            lost = [one for one in self.lost if one[0].declaring_class == cls]
            self.lost = [one for one in self.lost if one not in lost]
            for method, at in [*were, *((method, at) for method, at, _ in lost)]:
                try:
                    now = location_of(method, self.line, self._location)
                    self._place(method, now, self._condition(method, now))
                except (ValueError, JvmtiError) as error:
                    why = str(error)
                    self.lost.append((method, at, why))
                    if (method, at) in were:
                        log.warning("%s was redefined, and a breakpoint is lost: %s", cls.name, why)
            if self._named is not None:
                self._place_in(cls, strict=False)
        self._report_places()

    def _matches(self, stop: Stop) -> bool:
        # First, by what the agent has left open of this hit.
        matches = super()._matches(stop)
        if self._is_decided_by_place or self._recorder is not None:
            self._note_asked((stop.method, stop.location))
        return matches

    def _holds_at(self, stop: Stop) -> object:
        condition = self._conditions.get((stop.method, stop.location))
        if condition is not None and condition.is_all:
            return True
        return super()._holds_at(stop)

    def _counts(self, stop: Stop) -> bool:
        if not self._counts_at_places:
            return super()._counts(stop)
        condition = self._conditions.get((stop.method, stop.location))
        if (condition is not None and condition.is_all) or (self._every, self._after) == (1, 0):
            return True
        # One count for all its places, also those where the agent decides the condition.
        return bool(self._agent(self._number).count_hit(self._number))

    def _note_asked(self, place: tuple[Method, int]) -> None:
        """The agent had to ask, which it may not have to again: classes are loaded meanwhile."""
        condition = self._conditions.get(place)
        if condition is None:
            return
        is_decided = condition.is_all or not self._is_decided_by_place
        if is_decided and (condition.records or self._recorder is None):
            return
        self._asked += 1
        # Not at each hit: this takes longer than to be asked.
        if self._asked & (self._asked - 1) == 0:
            self._decide_more(place, condition)

    def _decide_more(self, place: tuple[Method, int], before: conditions.Condition) -> None:
        """Let the agent decide what it can by now; to be called where a thread has stopped."""
        if not self._placing.acquire(blocking=False):
            return  # another thread does it
        try:
            now = self._condition(*place)
            if now == before or place not in self.places:
                return
            self._install(*place, now)
            self._report_places()
        except Error as error:
            log.debug("%r goes on to ask: %s", self, error)
        finally:
            self._placing.release()

    def _described(self) -> str:
        at = "" if self.line is None else f":{self.line}"
        if self._named is not None:
            classes = self._named[0].replace("\n", "|")
            what = f"{classes}.{self._named[1] or '*'}{at}"
            if self.is_pending:
                return f"{what}: pending, {self.pending_reason or 'no such class is loaded'}"
            lost = f", lost in {len(self.lost)}" if self.lost else ""
            return f"{what} in {len(self.places)} place{'s' * (len(self.places) != 1)}{lost}"
        if self.lost:
            method, _, _ = self.lost[0]
            return f"{method.class_name}.{method.name}{at}, lost since the class was redefined"
        if not self.places:
            return at
        method, location = self.places[0]
        return f"{method.class_name}.{method.name}{at or f' at {location}'}"


def class_patterns(classes: Any) -> str:
    """Patterns of classes, one per line.

    Raises:
        TypeError: they are something else.
        ValueError: one is a place of another kind.
    """
    patterns = [classes] if isinstance(classes, str) else classes
    if not isinstance(patterns, Iterable) or not all(isinstance(one, str) for one in patterns):
        raise TypeError(
            "a breakpoint by name takes a class or pattern such as "
            f"'com.acme.Order', or several, not {type(classes).__name__}; "
            "for a Method that you have, call its method breakpoint"
        )
    for one in patterns:
        if is_kind(one):
            raise ValueError(f"{one!r} is a kind of place: vm.stop_at({one!r}) stops threads there")
    return "\n".join(patterns)


def _check_named(named: tuple[str, str | None, str | None], line: int | None) -> None:
    """Find what is wrong before anything changes in the VM."""
    classes, method, _ = named
    check_has_code(classes.split("\n"))
    if method is not None and not isinstance(method, str):
        raise TypeError(
            f"a method has a name or a pattern, not {type(method).__name__}; a line goes as line="
        )
    if method is None and line is None:
        owner, _, last = classes.rpartition(".")
        known = owner and "\n" not in classes
        hint = f'; for a method {last} of {owner}, pass "{owner}", "{last}"' if known else ""
        raise ValueError(f"a breakpoint by name takes a method, a line, or both{hint}")


def location_of(method: Method, line: int | None, location: int | None) -> int:
    """The bytecode index of a place in a method.

    Raises:
        ValueError: it has no such place.
    """
    name = f"{method.class_name}.{method.name}"
    modifiers = method.modifiers
    if modifiers & (_NATIVE | _ABSTRACT):
        what = "native" if modifiers & _NATIVE else "abstract"
        raise ValueError(printable(f"{name} is {what}: it has no bytecode to stop at"))
    if line is None:
        return 0 if location is None else location
    entries = method.lines
    if not entries:
        raise ValueError(
            printable(
                f"{name} was compiled without line numbers (javac -g:none); use location= with a "
                "bytecode index"
            )
        )
    found = [entry.start_location for entry in entries if entry.line_number == line]
    if not found:
        raise ValueError(
            printable(f"{name} has no {_code_at(line, {one.line_number for one in entries})}")
        )
    return int(min(found))


def _code_at(line: int, lines: set[int]) -> str:
    nearest = sorted(sorted(lines, key=lambda one: abs(one - line))[:4])
    near = f"; the nearest lines with code: {', '.join(map(str, nearest))}" if nearest else ""
    return f"code at line {line}{near}"


def _is_pattern(signature: str) -> bool:
    """Whether it is a pattern for signatures, which have none of its characters."""
    return "*" in signature


def _pattern(signature: str | None) -> str | None:
    """The pattern for a signature."""
    if signature is None or _is_pattern(signature):
        return signature
    return exactly(signature)


def _no_method(cls: Class, name: str, signature: str | None) -> str:
    names = sorted({method.name for method in cls.methods})
    if signature is not None and name in names:
        found = [one for one in cls.methods if one.name == name]
        if _is_pattern(signature):
            there = ", ".join(f"{name}({', '.join(one.parameter_types)})" for one in found)
            return printable(f"{cls.name}.{name} takes other parameters: there is {there}")
        there = ", ".join(one.signature for one in found)
        return f"{cls.name}.{name} has no signature {signature}; there are {there}"
    return f"{cls.name} has no method {name!r} of its own{suggestion(name, names)}"


__all__ = ["Breakpoint", "location_of"]
