"""Sets of probes in a JVM: puts them into classes, and removes them."""

from __future__ import annotations

import fnmatch
import re
import threading
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, NoReturn, TypeVar

from jvmti import display
from jvmti.deferred import difflib
from jvmti.instrumentation.plans import plan_of
from jvmti.instrumentation.probes import BadProbe, Probe
from jvmti.interface.constants import ClassStatus
from jvmti.interface.errors import Error, JvmtiError, OutOfMemory, ProtocolError
from jvmti.interface.signatures import result_of
from jvmti.layouts.probe_memory import TALLIES
from jvmti.layouts.probes import LeftOut, Outcome
from jvmti.layouts.probes import Operand as Kind
from jvmti.layouts.probes import Site as Where
from jvmti.operations.agent import AgentOperations
from jvmti.refs import ClassLoader
from jvmti.text.names import suggestion
from jvmti.tracing.arming import announce, announce_places, count_methods, in_steps, running_calls
from jvmti.tracing.call_probes import RecordShape, is_call_pattern, place_of
from jvmti.tracing.declared_values import check_values
from jvmti.tracing.records.memory import ProbeMemory
from jvmti.tracing.records.sites import Site, read_sites
from jvmti.tracing.selection import check_loader, named, referring, selected
from jvmti.tracing.traced_vm import TracedVM
from jvmti.tracing.unmatched import check_conditions, unmatched_place
from jvmti.tracing.without_code import check_takes_probes

_OUT_OF_MEMORY, _TOO_LARGE, _TOO_MANY = 1, 4, 5
"""Statuses of ``jvmti_classfile.h``."""
_FAILURES = {
    _OUT_OF_MEMORY: "the JVM has no memory for its probes",
    _TOO_LARGE: "it has no space for more constants",
    _TOO_MANY: "there are more places than a set of probes can have",
}

_SERVING = ("java.lang.JvmtiProbes", "jdk.internal.misc.Unsafe")
"""The class that probes call gets none."""
MOST = (1 << 62) - 1
_LONGEST = 9e9
"""The number of classes that get probes in the first pause."""

_IN_ALL_METHODS = {Where.ENTRY, Where.RETURN, Where.UNWIND}
"""The kinds of places that every method has."""

Self = TypeVar("Self", bound="ProbeSet")


def values_of(condition: str | None) -> str | None:
    """The requirement of a condition on a method, if there is one."""
    if condition is None:
        return None
    return (
        f"has the values of the condition {condition!r}; arg0 and so on are available even if a "
        "class was compiled without -g"
    )


def _named_in_code(probe: Probe) -> bool:
    """Whether a probe is about something that code names by constants."""
    return probe.owners is not None or probe.members is not None


def _choice(probe: Probe) -> tuple[str | None, str | None, str | None]:
    """The patterns that choose classes without their files."""
    return probe.classes, probe.extends, probe.loader


def _too_many() -> Error:
    return Error(
        f"the patterns have more places than there are tallies for, {TALLIES.COUNT:,}: one for "
        "each return of a method and one for its exceptions; narrow them"
    )


_OPERANDS_BY_PLACE = 3
"""How many operands a tally has that counts by the place itself."""
_MOST_READ = 20
"""Classes whose methods are read for a message."""
_MOST_NAMED = 5
"""Methods in a message."""


class ProbeSet:
    """A set of probes in a JVM; leaving its ``with`` block, or `close`, removes them.

    Args:
        vm: the VM.
        probes: the probes.
        shape: of their records.
        over: seconds that what is recorded or counted must have taken.
        every: only each n-th is recorded or changed.
        times: how many changes there are at most.
        objects: of how many calls the objects are held.
        loader: only classes of this loader get probes.

    Attributes:
        classes: the number of classes that got probes at the beginning; classes that are loaded
            later get them, too.
        pauses: with ``max_pause=`` the seconds that each step has stopped the program.
        left_out: the number of loaded classes that could not get any because of their code, or
            because there are too many places; `why_left_out` is the reason of the last.
        refused: classes that the VM refused to change, with the reason.
        running: for methods of these classes, the number of threads in a call. Such a call
            continues in the interpreter, and without probes, until it returns.
    """

    WAITING = "; to wait for one, use --unloaded (unloaded=True)"
    """The hint behind a class that is not loaded; empty where nothing waits for one."""

    def __init__(
        self,
        vm: TracedVM,
        probes: Sequence[Probe],
        shape: RecordShape,
        *,
        over: float = 0.0,
        every: int = 1,
        times: int = MOST,
        objects: int = 0,
        loader: ClassLoader | None = None,
    ) -> None:
        check_loader(loader)
        self._loader = loader
        self.classes = 0
        self.left_out = 0
        self.refused: dict[str, str] = {}
        self.running: dict[str, int] = {}
        self.pauses: list[float] = []
        self._vm = vm
        self._plan = probes
        self._shape = shape
        self._failure: int | None = None
        self._is_too_large = False
        self._lock = threading.Lock()
        self._sites: list[Site] = []
        self._sites_read = 0
        self._classes_of: dict[tuple[str | None, ...], Sequence[Any]] = {}
        self._closed = False
        if every < 1 or times < 1:
            raise BadProbe("every= and times= count from 1")
        if not 0 <= over <= _LONGEST:
            raise BadProbe("over= is a number of seconds")
        self._choice = every, times, objects
        self._number = self._open(plan_of(probes), over)

    def _open(self, plan: bytes, over: float) -> int:
        """Have the agent make the set; return its number."""
        check_takes_probes(self._vm, {one.classes for one in self._plan if one.classes})
        every, times, objects = self._choice
        self._memory = ProbeMemory(self._shape.size)
        self._memory.choose(every, times)
        agent = AgentOperations(self._vm._session, descriptor=self._memory.descriptor)
        try:
            least = int(over * 1e9)
            return int(agent.open_probes(plan, least, *self._shape, objects, self._loader))
        finally:
            self._memory.close_descriptor()

    # ---- the classes -----------------------------------------------------------------------------

    def _arm(self, max_pause: float | None) -> None:
        """Put probes into the loaded classes."""
        classes = self._loaded()
        self._check_fields(classes)
        self._check_tallies()
        self._find_running({one.name for one in classes})
        announce(
            self._vm,
            classes,
            [
                (probe.classes, probe.methods, probe.descriptors)
                for probe in self._plan
                if probe.site in _IN_ALL_METHODS
                and not (probe.annotated or probe.extends or probe.loader)
            ],
            stepwise=max_pause is not None,
            records=any(probe.outcome is Outcome.RECORD for probe in self._plan),
        )
        if max_pause is None:
            self._place(classes)
        else:
            self.pauses = in_steps(self._vm, classes, max_pause, self._place)
        self._count()
        if self._failure == _TOO_MANY:
            raise _too_many()
        if any(probe.site not in _IN_ALL_METHODS for probe in self._plan):
            with self._lock:  # a thread may have stopped already, whose place is looked up
                self._read_sites()
            plan = [self._plan[site.probe] for site in self._sites]
            announce_places(
                sum(
                    one.site not in _IN_ALL_METHODS and one.outcome is not Outcome.KEEP
                    for one in plan
                ),
                self.classes,
            )

    def _count(self) -> None:
        """Ask the agent what has come of the probes."""
        counts = self._vm._agent.count_probes(self._number)
        self.classes = int(counts.classes)
        self.left_out = int(counts.failed)
        if self.left_out:
            self._failure = int(counts.reason)
        self._is_too_large = counts.left_out == LeftOut.TOO_LARGE

    def _check_tallies(self) -> None:
        """Refuse patterns whose methods alone have more places than there are tallies.

        Raises:
            Error: they have; no class has probes yet.
        """
        places = 0
        for probe in self._plan:
            counts_by_place = probe.name == "tally" and len(probe.operands) == _OPERANDS_BY_PLACE
            if not counts_by_place or probe.site not in _IN_ALL_METHODS or probe.annotated:
                continue
            patterns = [(None, probe.methods, probe.descriptors)]
            found, _ = count_methods(self._vm, self._classes_of[_choice(probe)], patterns)
            places += found
        if places > TALLIES.COUNT:
            raise _too_many()

    def _check_fields(self, classes: Sequence[Any]) -> None:
        """Refuse a field that none of a pattern's classes has, and comparisons that never hold.

        Raises:
            BadProbe: there is one; no class has probes yet.
        """
        checked = {
            probe.classes
            for probe in self._plan
            if probe.condition or any(one.path for one in probe.operands)
        }
        for name in checked:
            probes = [probe for probe in self._plan if probe.classes == name]
            check_values(probes, named(classes, name))

    def _find_running(self, names: set[str]) -> None:
        self.running = running_calls(self._vm, lambda method: method.class_name in names)

    def _loaded(self) -> list[Any]:
        """The loaded classes whose names match, and that can be changed."""
        choices = {
            (*_choice(probe), probe.owners, probe.members): probe for probe in self._plan
        }.values()
        # One list for all choices: whether two objects are the same class costs a message each.
        names = {probe.classes or "*" for probe in choices}
        loaded = self._vm.classes("*" if "*" in names else "\n".join(names))
        found: dict[int, Any] = {}
        self._classes_of.clear()
        for probe in choices:
            name, extends, pattern = _choice(probe)
            classes = named(loaded, name)
            if _named_in_code(probe):
                classes = self._referring(probe, classes)
            chosen = selected(self._vm, classes, extends, pattern, self._loader)
            found.update((id(one), one) for one in chosen)
            self._classes_of[_choice(probe)] = chosen
        every = [one for one in found.values() if not one.name.startswith(_SERVING)]
        if not every:
            return []
        modifiable = self._vm.env.map.is_modifiable_class(every).check().listed()
        states = self._vm.env.map.get_class_status(every).check().listed()
        changed = []
        for one, is_modifiable, state in zip(every, modifiable, states, strict=True):
            if state & ClassStatus.ERROR:
                # HotSpot would refuse all that are changed with it, too.
                self.refused[one.name] = "its initialization failed, so none of its code runs"
            elif is_modifiable:
                changed.append(one)
        return changed

    def _referring(self, probe: Probe, classes: Sequence[Any]) -> Sequence[Any]:
        """The classes whose code may refer to what a probe is about."""
        if probe.classes is not None and not set(probe.classes) & set("*?["):
            return classes
        return referring(self._vm, classes, probe.owners, probe.members)

    def _place(self, classes: Sequence[Any]) -> None:
        """Put probes into classes; one that is refused does not affect the others."""
        if not classes:
            return
        try:
            self._vm._agent.place_probes(self._number, classes)
        except JvmtiError as error:
            if len(classes) == 1:
                self.refused[classes[0].name] = str(error)
                return
            middle = len(classes) // 2
            self._place(classes[:middle])
            self._place(classes[middle:])
        else:
            for one in classes if self.refused else ():
                self.refused.pop(one.name, None)

    def _failed_for(self, pattern: str) -> None:
        """Raise the reason why classes of a pattern, which are loaded, have no probes, if any.

        Raises:
            Error: there is one.
        """
        refused = "; ".join(f"{name}: {why}" for name, why in list(self.refused.items())[:3])
        if refused:
            raise Error(f"no class of {pattern!r} could get probes: {refused}")
        if self._failure == _OUT_OF_MEMORY:
            raise OutOfMemory(None, "trace", f"no memory for the probes of {pattern!r}")
        if self._failure is not None:
            raise Error(f"a class of {pattern!r} can have no probes: {self.why_left_out}")
        if self._is_too_large:
            raise Error(
                f"{pattern} can have no probes: with them the method would be larger than the "
                "65,535 bytes that a method may have"
            )

    @property
    def why_left_out(self) -> str | None:
        """The reason why the last of the `left_out` classes got no probes, if there is one."""
        if self._failure is None:
            return None
        return _FAILURES.get(self._failure, "its code is invalid")

    def _check_patterns(
        self, patterns: Sequence[str], of_probe: Mapping[int, int], needed: str | None
    ) -> None:
        """Refuse a pattern that matches nothing.

        Args:
            patterns: the patterns.
            of_probe: of probes that each of its methods has to have, the pattern that each is for.
            needed: what a method must be or have to get one, as the end of a sentence.

        Raises:
            LookupError: there is no such class or method, or none that meets the condition.
            Error: the class could not get probes.
        """
        self._read_sites()
        taken = {of_probe[site.probe] for site in self._sites if site.probe in of_probe}
        for number, pattern in enumerate(patterns):
            if number not in taken:
                place = place_of(pattern)
                method = place["methods"] or "*"
                classes = self._classes_named([place["classes"] or "*"], pattern)
                self._failed_for(pattern)
                check_conditions(self._vm, classes, place, self._loader)
                if is_call_pattern(pattern):
                    why = unmatched_place(self._vm, pattern, place, classes, needed)
                    raise LookupError(why + self.WAITING)
                self._refuse(pattern, classes, method, needed)

    def _classes_named(self, names: Sequence[str], whole: str = "") -> list[Any]:
        """The loaded classes that match patterns.

        Args:
            names: the patterns.
            whole: what they were cut off from, which may name a class itself.

        Raises:
            LookupError: there is none; the message has similar names.
        """
        found = [one for name in names for one in self._vm.classes(name)]
        if not found:
            # A source file stands for patterns of several classes.
            each = [one for name in names for one in name.split("\n")]
            names = [one for one in each if "*" not in one] or each
            alike = [one for name in names for one in self._vm.classes.near(name)]
            hint = f"; similar ones: {', '.join(alike)}" if alike else ""
            if re.fullmatch(r"[\w.$]+", whole) and len(self._vm.classes(whole)):
                hint = f"; {whole!r} is a class, and {f'{whole}.*'!r} its methods"
            elif re.fullmatch(r"[\w.$]+", names[0]) and len(self._vm.classes(f"{names[0]}.*")):
                hint = f"; {names[0]!r} is a package, and {f'{names[0]}.*.*'!r} all its methods"
            raise LookupError(
                f"no loaded class matches {' or '.join(map(repr, names))}{hint}{self.WAITING}"
            )
        return found

    def _refuse(self, what: str, classes: list[Any], method: str, needed: str | None) -> NoReturn:
        """Raise the reason why nothing in the loaded classes has a probe.

        Raises:
            LookupError: they have no such method, or none that meets the condition.
            Error: they could not get probes.
        """
        self._failed_for(what)
        if all(one.is_array or one.is_hidden for one in classes):
            raise LookupError(f"{what!r} matches only arrays and hidden classes: no probe can be "
                              f"put into {classes[0].name}")  # fmt: skip
        methods = _methods(classes)
        names = {one.name for one in methods}
        if needed is not None and any(fnmatch.fnmatchcase(name, method) for name in names):
            raise LookupError(f"no method of {what!r} {needed}{self._variables(methods, method)}")
        same = [one for one in methods if fnmatch.fnmatchcase(one.name, method)]
        if same and all(one.is_native or one.is_abstract for one in same):
            kind = "native" if same[0].is_native else "abstract"
            raise LookupError(
                f"{same[0].class_name}.{same[0].name} is {kind}: it has no code for probes"
            )
        if same:
            there = ", ".join(
                f"{one.name}({', '.join(one.parameter_types)})" for one in same[:_MOST_NAMED]
            )
            raise LookupError(
                f"{classes[0].name} is loaded, and has no method for {what!r}: it has {there}"
            )
        if inherited := _inherited(classes[0], method):
            raise LookupError(
                f"{classes[0].name} has the method {method!r} from {inherited.class_name}, "
                f"where its code is: use {f'{inherited.class_name}.{method}'!r}"
            )
        alike = difflib.get_close_matches(method, names, 3) or sorted(names)[:_MOST_NAMED]
        raise LookupError(
            f"{classes[0].name} is loaded, and has no method {method!r} with code: it has "
            f"{', '.join(alike)}"
        )

    def _variables(self, methods: Sequence[Any], pattern: str) -> str:
        """The variables of methods, where a condition or a value is about none of them."""
        named = [one for one in methods if fnmatch.fnmatchcase(one.name, pattern)]
        if len({one.class_name for one in named}) > _MOST_NAMED:
            return ""
        at_begin = {Where.LINE, Where.INDEX}.isdisjoint(probe.site for probe in self._plan)
        names = {
            variable.name: None
            for one in named
            if not (one.is_native or one.is_abstract)
            for variable in one.local_variables
            if not (at_begin and variable.start)
        }
        used = [
            operand.text
            for probe in self._plan
            for operand in (*(step.operand for step in probe.condition), *probe.operands)
            if operand is not None and operand.kind in (Kind.NAMED, Kind.LOCAL)
        ]
        unknown = next((one for one in used if one not in names), None)
        return "" if unknown is None else f"; {unknown!r} is none{suggestion(unknown, names)}"

    @property
    def methods(self) -> int:
        """The number of methods with probes so far."""
        with self._lock:
            self._read_sites()
        return len({(site.name, site.descriptor) for site in self._sites})

    @property
    def ended(self) -> bool:
        """Whether the probes have been removed, or the target is gone."""
        return self._closed or self._vm._session.has_ended()

    def _read_sites(self) -> None:
        # A large list comes in parts, whose last place may be cut off.
        while data := self._ask("read_probe_sites", self._sites_read):
            sites, size = read_sites(data)
            for site in sites:
                if not self._is_known(site):
                    raise ProtocolError("a place has the number of an unknown probe")
                self._note(site)
            self._sites_read += size
            if not size:
                raise ProtocolError("a place of a probe is invalid")

    def _is_known(self, site: Site) -> bool:
        return site.probe < len(self._plan)

    def _note(self, site: Site) -> None:
        site.lay_out(self._shape.text_size)
        self._sites.append(site)

    def _ask(self, operation: str, offset: int) -> bytes:
        if self.ended:
            return b""
        try:
            found: bytes = getattr(self._vm._agent, operation)(self._number, offset)
        except Error:
            if not self._vm._session.gone():
                raise
            return b""
        return found

    # ---- the end ---------------------------------------------------------------------------------

    def close(self) -> None:
        """Remove the probes from the classes; recorded data can still be read."""
        if self._closed:
            return
        session = self._vm._session
        try:
            if session.closed is None:
                with self._lock:
                    self._read_rest()
                self._vm._agent.close_probes(self._number)
        except Error:
            if session.closed is None and not session.gone():
                raise
        finally:
            self._closed = True

    def _read_rest(self) -> None:
        """Read the data that is lost afterwards."""
        self._read_sites()

    _repr_html_ = display.html

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _methods(classes: Sequence[Any]) -> list[Any]:
    """The methods that a message about these classes may name."""
    return [one for cls in classes[:_MOST_READ] for one in cls.methods]


def _inherited(cls: Any, method: str) -> Any:
    """The method of a name that a class has from its nearest ancestor; ``None`` without one."""
    for one in (*cls.superclasses, *cls.all_interfaces):
        for found in one.methods:
            if found.name == method and not (found.is_abstract or found.is_native):
                return found
    return None


def results_of(classes: Sequence[Any], method: str) -> list[str]:
    """The types that the methods of a name, or a pattern, return."""
    return sorted(
        {
            result_of(one.signature)
            for one in _methods(classes)
            if fnmatch.fnmatchcase(one.name, method)
        }
    )


__all__ = ["MOST", "ProbeSet", "results_of", "values_of"]
