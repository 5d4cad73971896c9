"""Probes that stop threads, where the VM grants no breakpoints because the agent came late.

The agent weaves them into methods (`jvmti.layouts.probes`, `Outcome.STOP`). A thread that reaches
one puts its variables into an array and waits; afterwards the variables are what the array has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from jvmti.instrumentation.probes import Operand, Probe, Step
from jvmti.interface.errors import (
    Error,
    Internal,
    OpaqueFrame,
    ProtocolError,
    StopOver,
    UnmodifiableClass,
)
from jvmti.layouts.probes import Operand as Kind
from jvmti.layouts.probes import Outcome
from jvmti.layouts.probes import Site as Where
from jvmti.operations.agent import AgentOperations
from jvmti.tracing.arming import in_steps, running_calls
from jvmti.tracing.call_probes import HELPER, RecordShape
from jvmti.tracing.conditions import compiled
from jvmti.tracing.declared_values import check_values
from jvmti.tracing.places import Place, at_place
from jvmti.tracing.probe_set import ProbeSet
from jvmti.tracing.records.sites import Site
from jvmti.tracing.unplaced import refuse_place

if TYPE_CHECKING:
    from jvmti.model.debug.stops import StopRequest
    from jvmti.model.debug.variables import Variable
    from jvmti.model.vm import VM

MOST_METHODS = 32
"""A request that stops threads in more methods prepares none of them for steps."""
OWN_FRAMES = 2
"""Frames of the helper class on top of one that has stopped."""

_PARTS = 5

_STAYS = {"M": "it has a `synchronized` block", "N": "its object is not initialized yet"}
"""Why a thread cannot leave a method early, by the first letter of a place's description."""
_CANNOT_RESTART = {
    **_STAYS,
    "N": "it is a constructor",
    "C": "it is a constructor",
    "U": "an exception leaves it",
    "J": "it has `jsr`",
}
"""Why it cannot begin it again."""


class ProbedVariable(NamedTuple):
    """A variable of a frame that has stopped at a probe."""

    place: int
    """Its position in the array."""
    slot: int
    """Its slot."""
    letter: str
    """Its type as the array has it: ``I J F D``, or ``L`` for any object."""
    signature: str
    """Its type; empty where the class file does not say."""
    name: str
    """Its name; empty where the class file does not say."""
    takes: str
    """The signature of the values that it takes; empty if it cannot be written."""


class ProbedPlace(NamedTuple):
    """The contents of the array of a thread that stopped at a site."""

    probe: Probe
    """The probe there."""
    site: Site
    """The place itself: its class, method and line, and what it is about."""
    stays: str | None
    """Why the thread cannot leave the method early; ``None`` if it can."""
    cannot_restart: str | None
    """Why it cannot begin the method again; ``None`` if it can."""
    variables: list[ProbedVariable]
    """The variables that have a value there."""
    named: list[tuple[Variable, ProbedVariable]]
    """Those with names, once somebody has asked for them."""
    is_bare: bool
    """Whether the array has no variables, because the method would be too large with them."""

    @staticmethod
    def of(site: Site, probe: Probe, first: int) -> ProbedPlace:
        """The place of a site.

        Args:
            site: the site.
            probe: its probe.
            first: the position of the first variable in the array.

        Raises:
            ProtocolError: its shape is malformed.
        """
        letter, *parts = site.shape.split(".")
        head = letter.upper()
        if head not in ("P", *_CANNOT_RESTART) or len(parts) % _PARTS:
            raise ProtocolError("the agent described a place of a probe wrongly")
        found = []
        for number, at in enumerate(range(0, len(parts), _PARTS)):
            slot, letter, signature, name, cast = parts[at : at + _PARTS]
            takes = cast if not cast or cast.startswith("[") else f"L{cast};"
            if letter != "L":
                takes = signature or letter
            found.append(ProbedVariable(first + number, int(slot), letter, signature, name, takes))
        stays, cannot_restart = _STAYS.get(head), _CANNOT_RESTART.get(head)
        is_bare = letter.islower()
        return ProbedPlace(probe, site, stays, cannot_restart, found, [], is_bare)


def stop_probe(site: Where, condition: str | None, *more: Operand, **where: Any) -> Probe:
    """A probe that stops threads.

    Args:
        site: the kind of place.
        condition: the thread stops only if it holds.
        more: further values for the array, before the variables.
        where: which classes, methods and so on, as `Probe` has it.

    Raises:
        BadProbe: a probe cannot evaluate the condition.
    """
    steps: Sequence[Step] = () if condition is None else _at_place(compiled(condition, {}).steps)
    return Probe(
        site=site,
        helper=HELPER,
        condition=steps,
        conditional=bool(steps),
        **stopping(*more),
        **where,
    )


def stopping(*more: Operand) -> dict[str, Any]:
    """The call that a probe which stops threads makes, and what it uses of it.

    Args:
        more: further values for the array, before the variables.
    """
    return {
        "name": "stop",
        "operands": (Operand(Kind.NUMBER, "I", 0), Operand(Kind.SITE, "I"), *more),
        "outcome": Outcome.STOP,
        "result": "A",
    }


def _at_place(steps: Sequence[Step]) -> list[Step]:
    """The same about the variables as they are there, even of a parameter that was assigned to."""
    return [
        one if one.operand is None else one._replace(operand=at_place(one.operand)) for one in steps
    ]


def exactly(name: str) -> str:
    """A pattern that matches a name, whatever characters it has, and nothing else."""
    return "".join(f"[{one}]" if one in "*?[" else one for one in name)


class StopProbes(ProbeSet):
    """The probes of one request to stop threads.

    Args:
        vm: the VM.
        environment: the number of the environment of the request.
        request: the number of the request in the agent.
        probes: the probes; those that stop threads have the same operands.
        max_pause: seconds that the program may be stopped at a time while classes get them;
            ``None`` for all classes at once.
    """

    WAITING = "; to wait for one, use unloaded=True"

    def __init__(
        self,
        vm: VM,
        environment: int,
        request: int,
        probes: Sequence[Probe],
        *,
        max_pause: float | None = None,
    ) -> None:
        self._max_pause = max_pause
        self._environment = environment
        self._request = request
        self._places: list[ProbedPlace | None] = []
        """The contents of the arrays of sites; ``None`` where threads do not stop."""
        self._first = 1 + len(probes[-1].operands) - 2
        super().__init__(vm, probes, RecordShape(0, 0))

    def _open(self, plan: bytes, over: float) -> int:
        agent = AgentOperations(self._vm._session, self._environment)
        return int(agent.open_stop_probes(plan, self._request))

    def arm(self, classes: Sequence[Any]) -> None:
        """Put the probes into loaded classes.

        Raises:
            PauseTooLong: a single class would stop the program for longer than ``max_pause``.
            UnmodifiableClass: the VM lets nobody change the only one of them.
            BadProbe: the condition is about a field that none of them has.
        """
        modifiable = self._vm.env.map.is_modifiable_class(list(classes)).check().listed()
        chosen = [one for one, is_so in zip(classes, modifiable, strict=True) if is_so]
        if len(classes) == 1 and not chosen:
            why = "is hidden" if classes[0].is_hidden else "may not be changed in this VM"
            raise UnmodifiableClass(
                detail=f"{classes[0].name} {why}, so an agent that was attached late cannot stop "
                "in it"
            )
        check_values(self._plan, chosen)
        names = {one.name for one in chosen}
        self.running = running_calls(self._vm, lambda method: method.class_name in names)
        if self._max_pause is None:
            self._place(chosen)
        else:
            self.pauses = in_steps(self._vm, chosen, self._max_pause, self._place)
        self._count()

    def arm_all(self) -> None:
        """Put the probes into all loaded classes that match their patterns.

        Raises:
            PauseTooLong: a single class would stop the program for longer than ``max_pause``.
            BadProbe: the condition is about a field that none of them has.
        """
        self._arm(self._max_pause)
        there = {site.name for site in self.sites}
        self.running = {name: many for name, many in self.running.items() if name in there}

    def check_place(self, place: Place, text: str, when: str | None) -> None:
        """Refuse a place that no loaded class has.

        Args:
            place: the place.
            text: the same as its user wrote it.
            when: the condition there.

        Raises:
            LookupError: there is none; the message has similar names.
            Error: the classes could not get probes.
        """
        if not self.sites:
            refuse_place(self, place, text, when)

    @property
    def sites(self) -> list[Site]:
        """The places where threads stop, so far."""
        with self._lock:
            self._read_sites()
            stops = [self._plan[site.probe].outcome is Outcome.STOP for site in self._sites]
            return [site for site, is_stop in zip(self._sites, stops, strict=True) if is_stop]

    def cover(self, request: StopRequest) -> None:
        """Let steps begin where they stop threads, if there are not many such methods.

        Args:
            request: the request that the probes are of.
        """
        named = {(site.class_name, site.method, site.descriptor) for site in self.sites}
        if len(named) > MOST_METHODS:
            return
        found = [
            one
            for name in dict.fromkeys(name for name, _, _ in named)
            for cls in self._vm.classes(exactly(name))
            for one in cls.methods
            if (name, one.name, one.signature) in named
        ]
        request._vm.breakpoints.step_probes.cover(request, found)

    @property
    def class_names(self) -> set[str]:
        """The classes that have probes."""
        with self._lock:
            self._read_sites()
            return {site.class_name for site in self._sites}

    def has_any_in(self, cls: Any) -> bool:
        """Whether there is a probe in a class of this name, and the VM took its latest change."""
        if cls.name in self.refused:
            return False
        with self._lock:
            self._read_sites()
            return any(site.class_name == cls.name for site in self._sites)

    def check_installed(self, cls: Any, what: str) -> None:
        """Refuse a class without any probe.

        Raises:
            Error: it has none; the message says why.
        """
        if self.has_any_in(cls):
            return
        self._failed_for(what)
        raise Error(f"no probe found a place in {what}: the method has no such variable there")

    def place(self, site: int) -> ProbedPlace:
        """The contents of the array at a site.

        Raises:
            ProtocolError: there is no such site.
        """
        if site < len(self._places) and (known := self._places[site]) is not None:
            return known
        with self._lock:
            if site >= len(self._sites):
                self._read_sites()
            if site >= len(self._sites):
                raise ProtocolError("a thread has stopped at an unknown place")
            for one in self._sites[len(self._places) :]:
                probe = self._plan[one.probe]
                stops = probe.outcome is Outcome.STOP
                self._places.append(ProbedPlace.of(one, probe, self._first) if stops else None)
            found = self._places[site]
            if found is None:
                raise ProtocolError("a thread has stopped where no probe stops it")
            return found

    def _note(self, site: Site) -> None:
        self._sites.append(site)

    @property
    def number(self) -> int:
        """Its number in the agent."""
        return self._number


class ProbedFrame:
    """The frame of a thread that has stopped at a probe: its variables, and how to leave it.

    Args:
        vm: the VM.
        place: the contents of the array.
        values: the array, or the number to ask the agent for it with, at the first use.
        at_event: see below.

    Attributes:
        place: the contents of the array.
        at_event: whether the probe reports an event, so that the agent knows the array by the
            thread.
        leaves: whether the method is to return early, so that it comes by no more probes.
    """

    leaves = False

    def __init__(self, vm: VM, place: ProbedPlace, values: Any, *, at_event: bool = False) -> None:
        self.at_event = at_event
        self.place = place
        self._values = values
        self._vm = vm

    @property
    def values(self) -> Any:
        """The array.

        Raises:
            StopOver: the thread has resumed.
        """
        if type(self._values) is int:
            found = self._vm._agent.get_stopped_values(self._values)
            if found is None:
                raise StopOver("the thread has resumed from its stop, so its variables are gone")
            self._values = found
        return self._values

    def variable(self, slot: int) -> ProbedVariable | None:
        """The variable in a slot; ``None`` where none has a value."""
        return next((one for one in self.place.variables if one.slot == slot), None)

    def get(self, place: int) -> Any:
        """A value of the array, as an object: numbers are boxed, a text is a handle."""
        return self._vm.jni.get_object_array_element(self.values, place)

    def put(self, place: int, value: Any) -> None:
        """Change a value of the array.

        Args:
            place: which.
            value: an object, or ``None``.
        """
        self._vm.jni.set_object_array_element(self.values, place, value)

    def leave(self, value: Any) -> None:
        """Make the method return a value, an object, when the thread resumes.

        Raises:
            Internal: the thread is to leave the frame already, or to begin it again.
        """
        objects = self._vm.find_class("java.lang.Object")
        self.check_stays()
        self.put(0, self._vm.jni.new_object_array(1, objects, value))
        self.leaves = True

    def restart(self) -> None:
        """Begin the method again when the thread resumes.

        Raises:
            OpaqueFrame: this method cannot begin again here.
            Internal: the thread is to leave the frame already, or to begin it again.
        """
        why = self.place.cannot_restart
        if why is not None:
            raise OpaqueFrame(
                detail=f"an agent that was attached late cannot begin this method again: {why}"
            )
        objects = self._vm.find_class("java.lang.Object")
        self.check_stays()
        self.put(0, self._vm.jni.new_object_array(0, objects))

    def check_stays(self) -> None:
        """Refuse a second request to leave the frame.

        Raises:
            Internal: the thread is to leave the frame already, or to begin it again.
        """
        if self.get(0) is not None:
            raise Internal(
                detail="the thread has a request to leave a frame already, and has not run since"
            )


__all__ = [
    "MOST_METHODS",
    "OWN_FRAMES",
    "ProbedFrame",
    "ProbedPlace",
    "ProbedVariable",
    "StopProbes",
    "exactly",
    "stop_probe",
]
