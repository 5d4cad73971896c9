"""Stops at whatever kind of place in code: returns, calls, new objects, handlers, monitors.

The VM has no events for most of them, so probes stop the threads in every JVM.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from jvmti.instrumentation.probes import Operand, Probe, Step
from jvmti.interface.constants import Event
from jvmti.interface.signatures import parameters_of, signature_of
from jvmti.layouts.probes import Operand as Kind
from jvmti.layouts.probes import Site
from jvmti.model.debug.late.stop_probes import ProbedFrame, stopping
from jvmti.model.debug.stops import Stop, StopRequest
from jvmti.tracing.conditions import uses
from jvmti.tracing.places import Place, condition_at

if TYPE_CHECKING:
    from jvmti.model.classes.java_class import Class, Method
    from jvmti.model.threads.java_thread import Thread
    from jvmti.model.vm import VM

_OBJECT = "Ljava/lang/Object;"


class ValuesAtPlace:
    """The values at a place besides variables, read at the first use.

    Attributes:
        member: the class and name of the field, the called method or the class of the new object;
            empty at other places.
        stop: the stop that they are of, as soon as there is one.

    Args:
        probed: the frame that has stopped.
        words: the names of the values in the array, in its order.
    """

    stop: Stop | None = None

    def __init__(self, probed: ProbedFrame, words: Sequence[str]) -> None:
        self._probed = probed
        self._words = words
        self._site = probed.place.site
        self.member = self._site.member

    def line_of_throw(self, method: Method) -> int | None:
        """The line of a method that the exception leaves: of where it was made, or of the call.

        ``None`` if the exception has no stack trace.
        """
        thrown = self.value
        name = method.class_name, method.name
        for one in () if thrown is None else thrown.stack_trace:
            if (one.class_name, one.method) == name:
                line: int | None = one.line
                return line
        return None

    @functools.cached_property
    def value(self) -> Any:
        """The value that is returned, thrown, caught, read, written or made; else ``None``.

        A number, a truth value, a text, ``None`` for null, or an object.

        Raises:
            StopOver: the thread has resumed.
        """
        name = next((one for one in self._words if one in ("value", "exception")), None)
        return None if name is None else self._plain(self._read(name), self._type_of_value)

    @functools.cached_property
    def target(self) -> Any:
        """The object whose field, method or monitor it is; ``None`` where it is static, and at
        other places.

        Raises:
            StopOver: the thread has resumed.
        """
        return self._read("target") if "target" in self._words else None

    @functools.cached_property
    def passed(self) -> list[Any]:
        """The arguments of the call; empty at other places.

        Raises:
            StopOver: the thread has resumed.
        """
        if "passed" not in self._words:
            return []
        found = list(self._read("passed"))
        return [
            self._plain(one, its) for one, its in zip(found, self._types_of_passed, strict=True)
        ]

    @property
    def names(self) -> dict[str, tuple[Any, str]]:
        """Its values by the names that logpoints have for them, each with its signature.

        ``value`` or ``exception``, ``target`` and ``passed0``, ``passed1`` and so on.
        """
        found: dict[str, tuple[Any, str]] = {}
        for name in self._words:
            if name in ("value", "exception"):
                found[name] = self.value, self._type_of_value or _class_of(self.value)
            elif name == "target":
                found[name] = self.target, _class_of(self.target)
            elif name == "passed":
                types = self._types_of_passed
                for number, pair in enumerate(zip(self.passed, types, strict=True)):
                    found[f"passed{number}"] = pair
        return found

    def _read(self, name: str) -> Any:
        at = 1 + self._words.index(name)
        if self.stop is None:
            return self._probed.values[at]
        with self.stop._conversing():
            return self._probed.values[at]

    def _plain(self, value: Any, signature: str) -> Any:
        """A value of the array, whose numbers are in boxes, as its type means it."""
        return value.value if len(signature) == 1 and value is not None else value

    @property
    def _type_of_value(self) -> str:
        """The declared type of the value; empty where there is none."""
        site = self._site
        match self._probed.place.probe.site:
            case Site.RETURN:
                return site.descriptor.partition(")")[2]
            case Site.CALLED:
                return site.member_descriptor.partition(")")[2]
            case Site.READ | Site.WRITE:
                return site.member_descriptor
        return ""

    @property
    def _types_of_passed(self) -> list[str]:
        return [signature_of(one) for one in parameters_of(self._site.member_descriptor)]

    def __str__(self) -> str:
        place = self._probed.place.probe.site
        match place:
            case Site.RETURN:
                return "returns" if self._type_of_value == "V" else f"returns {self.value!r}"
            case Site.UNWIND:
                return f"is left by {self.value!r}"
            case Site.THROW:
                return f"throws {self.value!r}"
            case Site.CATCH:
                return f"catches {self.value!r}"
            case Site.READ:
                return f"reads {self.member}: {self.value!r}"
            case Site.WRITE:
                return f"writes {self.member}: {self.value!r}"
            case Site.CALL:
                return f"calls {self.member}({', '.join(map(repr, self.passed))})"
            case Site.CALLED:
                value = "" if self._type_of_value == "V" else f": {self.value!r}"
                return f"has called {self.member}{value}"
            case Site.NEW:
                return f"has made {self.value!r}"
            case Site.MONITOR_ENTER:
                return f"enters the monitor of {self.target!r}"
            case Site.MONITOR_EXIT:
                return f"leaves the monitor of {self.target!r}"
        return ""


def _class_of(value: Any) -> str:
    if isinstance(value, str):
        return "Ljava/lang/String;"
    return _OBJECT if value is None else str(value.cls.signature)


def words_at(place: Place) -> list[str]:
    """The names of the values that the array of a stop has; the member is known by the place."""
    return [name for name, one in place.words.items() if one.kind is not Kind.MEMBER]


def probes_at(place: Place, condition: Sequence[Step]) -> list[Probe]:
    """Probes that stop threads at a place, with the values of its words in front of the variables.

    Args:
        place: the place.
        condition: where it holds.
    """
    known = [
        Operand(one.kind, "A" if one.kind is Kind.ALL_PASSED else "L")
        for one in (place.words[name] for name in words_at(place))
    ]
    return place.probes(stopping(*known), condition, times=uses(condition, Kind.TOOK))


class Stoppoint(StopRequest):
    """Stops threads at a place in code; see `VM.stop_at`.

    Attributes:
        place: the place.
        when: the condition, as a text.
    """

    def __init__(
        self,
        vm: VM,
        place: str,
        *,
        when: str | Callable[[Stop], object] | None,
        over: float,
        hits: int | str | None,
        thread: Thread | Iterable[Thread] | None,
        caller: str | Iterable[str] | Method | None,
        do: Callable[[Stop], object] | None,
        max_pause: float | None,
        unloaded: bool,
    ) -> None:
        if not isinstance(place, str):
            raise TypeError(f"a place is a text such as 'return com.acme.Order.add', not {place!r}")
        self.place = place
        self.when = when if isinstance(when, str) else None
        self._at = Place.of(place)
        self._words = words_at(self._at)
        steps = condition_at(self.when, over, self._at.words)
        super().__init__(
            vm,
            when=None if isinstance(when, str) else when,
            hits=hits,
            thread=thread,
            caller=caller,
            do=do,
            max_pause=max_pause,
        )
        self._plan = probes_at(self._at, steps)
        self._opening = threading.Lock()
        self._waiting: int | None = None
        if not vm._session.live:
            patterns = [classes for classes, _ in self._at.owners]
            named = None if None in patterns else "\n".join(map(str, patterns))
            self._waiting = self._make(Event.CLASS_PREPARE, classes=named)
            return
        try:
            self._open()
            assert self._probes is not None
            try:
                self._probes.check_place(self._at, place, self.when)
            except LookupError as error:
                if not unloaded:
                    raise
                self.pending_reason = str(error).removesuffix(self._probes.WAITING)
        except BaseException:
            self.cancel()
            raise

    def _open(self) -> None:
        """Put the probes into the classes."""
        breakpoints = self._vm.breakpoints
        by_probes = breakpoints.is_emulated(Event.SINGLE_STEP)
        if by_probes:
            # As for breakpoints: in front of the probes of sets that were opened before.
            breakpoints.step_probes  # noqa: B018
        self._make_probes(Event.BREAKPOINT, self._plan)
        assert self._probes is not None
        self._probes.arm_all()
        if by_probes:
            self._probes.cover(self)

    def _class_prepared(self, cls: Class) -> None:
        if self._vm._session.live:
            self._went_live()

    def _went_live(self) -> None:
        # Once: the probes themselves see what is loaded from then on.
        with self._opening:
            waiting, self._waiting = self._waiting, None
            if waiting is None or self._cancelled:
                return
            self._open()
        self._unmake(waiting)

    @property
    def places(self) -> int:
        """The number of places that have it so far, also in classes that were loaded since."""
        return 0 if self._probes is None else len(self._probes.sites)

    @property
    def is_pending(self) -> bool:
        """Whether no loaded class has such a place yet."""
        return not self.places

    def _about_probe(self, probed: ProbedFrame) -> dict[str, Any]:
        known = ValuesAtPlace(probed, self._words)
        about: dict[str, Any] = {"at_place": known}
        if "exception" in self._words:
            about["exception"] = known.value
        if self._at.site in (Site.RETURN, Site.UNWIND):
            # The probes of steps are in front of this one there.
            about |= {"is_at_end": True, "is_thrown": self._at.site is Site.UNWIND}
        return about

    def _described(self) -> str:
        return f"at {self.place}"


__all__ = ["Stoppoint", "ValuesAtPlace", "probes_at"]
