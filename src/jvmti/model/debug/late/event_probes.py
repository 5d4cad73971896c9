"""Probes that report events of JVM TI, where the VM grants them only while it starts.

One set of probes serves all environments of a session. Its plan grows and shrinks with the events
that these ask for, and the affected classes are woven again, once for each change.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jvmti.instrumentation.plans import plan_of
from jvmti.instrumentation.probes import Operand, Probe
from jvmti.interface.constants import Event
from jvmti.interface.errors import Error, ProtocolError
from jvmti.layouts.probes import Site as Where
from jvmti.model.debug.late.stop_probes import OWN_FRAMES, ProbedFrame, ProbedPlace, stop_probe
from jvmti.tracing.arming import announce, check_step, in_steps
from jvmti.tracing.call_probes import RecordShape
from jvmti.tracing.probe_set import ProbeSet
from jvmti.tracing.records.sites import Site

if TYPE_CHECKING:
    from jvmti.model.vm import VM

log = logging.getLogger("jvmti")

_SERVING = ("Ljava/lang/JvmtiProbes", "Ljdk/internal/misc/Unsafe")


class HaltedFrame:
    """The frame of a thread whose event a probe has reported, while handlers have it.

    Args:
        probed: reads the variables; called at the first use.
        above: how many frames are above it.
        descriptor: gives the descriptor of its method; called where it is needed.
    """

    def __init__(
        self,
        probed: Callable[[], ProbedFrame | None],
        above: int,
        descriptor: Callable[[], str],
    ) -> None:
        self._read: Callable[[], ProbedFrame | None] | None = probed
        self._probed: ProbedFrame | None = None
        self.above = above
        self._descriptor = descriptor

    @property
    def descriptor(self) -> str:
        """The descriptor of its method."""
        return self._descriptor()

    @property
    def leaves(self) -> bool:
        """Whether its method is to return early."""
        return self._probed is not None and self._probed.leaves

    @property
    def probed(self) -> ProbedFrame | None:
        """Its variables, and how to leave it; ``None`` if the probe is in a frame further up, such
        as a constructor of the exception that it throws.
        """
        if self._read is not None:
            self._probed, self._read = self._read(), None
        return self._probed


def event_probe(site: Where, event: Event, *more: Operand, about: int = 0, **where: Any) -> Probe:
    """A probe that reports an event.

    Args:
        site: the kind of place.
        event: the event.
        more: what the event brings, before the variables.
        about: the number of the watched field.
        where: which classes, methods and so on, as `Probe` has it.
    """
    return stop_probe(site, None, *more, event=int(event), about=about, **where)


class EventProbes(ProbeSet):
    """The probes of a session that report events.

    Attributes:
        wanted: the probes, by what they are for.
    """

    def __init__(self, vm: VM) -> None:
        self.wanted: dict[Hashable, Sequence[Probe]] = {}
        self._places: dict[int, ProbedPlace] = {}
        """The contents of the arrays of sites, whose numbers are used once."""
        super().__init__(vm, [], RecordShape(0, 0))

    def _open(self, plan: bytes, over: float) -> int:
        return int(self._vm._agent.open_event_probes(plan))

    @property
    def number(self) -> int:
        """Its number in the agent."""
        return self._number

    def change(
        self,
        adds: Mapping[Hashable, Sequence[Probe]],
        removes: Iterable[Hashable],
        classes: Sequence[Any],
        max_pause: float | None = None,
    ) -> None:
        """Add probes, remove others, and weave their classes again.

        Args:
            adds: new probes, by what they are for.
            removes: what no probe is for any more.
            classes: the loaded classes with their places.
            max_pause: seconds that the program may be stopped at a time; ``None`` weaves all
                classes at once.

        Raises:
            PauseTooLong: a single class stops it for longer; no class has the new probes.
            UnmodifiableClass: the only class cannot be changed; then nothing is.
        """
        before = dict(self.wanted)
        woven: list[Any] = []
        for key in removes:
            self.wanted.pop(key, None)
        self.wanted.update(adds)
        if self.wanted == before:
            return
        try:
            self._send()
            self._weave(classes, max_pause, woven)
        except Error:
            self.wanted = before
            self._send()
            self._place(woven)
            raise

    def _send(self) -> None:
        self._plan = [probe for probes in self.wanted.values() for probe in probes]
        self._vm._agent.change_event_probes(self._number, plan_of(self._plan))

    def _weave(self, classes: Sequence[Any], max_pause: float | None, woven: list[Any]) -> None:
        """Weave classes; in steps, notes those that are done."""
        if len(classes) == 1:
            if max_pause is not None:
                check_step(self._vm, max_pause)
            self._vm._agent.place_probes(self._number, list(classes))
            return
        places = self.modifiable(classes)
        if max_pause is None:
            announce(self._vm, places)
            self._place(places)
            self._warn_of_large_methods()
            return

        def place(part: Sequence[Any]) -> None:
            woven.extend(part)
            self._place(part)

        self.pauses = in_steps(self._vm, places, max_pause, place)
        self._warn_of_large_methods()

    def _warn_of_large_methods(self) -> None:
        """Log a warning once if a method has no probes, even without its variables."""
        was_known = self._is_too_large
        self._count()
        if self._is_too_large and not was_known:
            log.warning(
                "at least one method reports no events, because it would be larger than 65,535 "
                "bytes with their probes: often one that fills a large table"
            )

    def modifiable(self, classes: Sequence[Any]) -> list[Any]:
        """Those of some classes that can get probes."""
        listed = [
            one
            for one in classes
            if (signature := one.signature).startswith("L") and not signature.startswith(_SERVING)
        ]
        if not listed:
            return []
        answers = self._vm.env.map.is_modifiable_class(listed).check().listed()
        return [one for one, is_so in zip(listed, answers, strict=True) if is_so]

    # ---- places ------------------------------------------------------------------------------

    def _note(self, site: Site) -> None:
        self._sites.append(site)

    def _is_known(self, site: Site) -> bool:
        return True  # the plan has changed since

    def site(self, number: int) -> Site:
        """A place of a probe.

        Raises:
            ProtocolError: there is none of that number.
        """
        with self._lock:
            if number >= len(self._sites):
                self._read_sites()
            if number >= len(self._sites):
                raise ProtocolError("a thread is at an unknown place")
            return self._sites[number]

    def places(self) -> int:
        """How many places there have been so far."""
        with self._lock:
            self._read_sites()
            return len(self._sites)

    def is_placed(self, since: int, name: tuple[str, str, str], index: int) -> bool:
        """Whether there is a new place.

        Args:
            since: how many there were.
            name: the names of class and method, and the descriptor.
            index: its bytecode index, before the class got probes.
        """
        with self._lock:
            self._read_sites()
            return any(
                (one.class_name, one.method, one.descriptor) == name and one.index == index
                for one in self._sites[since:]
            )

    def halted(self, found: Any) -> HaltedFrame:
        """The frame of a thread at one of these probes.

        Args:
            found: what the agent says of the thread.
        """

        def probed() -> ProbedFrame | None:
            if found.depth != OWN_FRAMES:
                return None
            place = self._places.get(found.site)
            if place is None:
                site = self.site(found.site)
                first = self._first_variable(found.values, site)
                place = ProbedPlace.of(site, self._no_probe, first)
                self._places[found.site] = place
            return ProbedFrame(self._vm, place, found.values, at_event=True)  # type: ignore[arg-type]

        return HaltedFrame(probed, found.depth, lambda: self.site(found.site).descriptor)

    def _first_variable(self, values: Any, site: Site) -> int:
        """The position of the first variable in an array; what the event brings is before it."""
        return int(self._vm.jni.get_array_length(values)) - site.shape.count(".") // 5

    _no_probe: Any = None

    def before(self, method: Any, locations: Sequence[int]) -> list[int]:
        """Bytecode indices as they were before a method got probes."""
        if not locations:
            return []
        methods = [method] * len(locations)
        return list(self._vm._agent.locate_before_probes(methods, list(locations)))


__all__ = ["EventProbes", "HaltedFrame", "event_probe"]
