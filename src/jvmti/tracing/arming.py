"""The cost of putting probes into classes: the pause of the program, estimated and measured."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from jvmti.classfile.opcodes import instructions
from jvmti.deferred import numpy
from jvmti.interface.errors import ClassNotPrepared, Error, PauseTooLong
from jvmti.refs import ClassLoader
from jvmti.text.names import suggestion
from jvmti.text.quantities import duration, quantity
from jvmti.tracing.call_probes import is_call_pattern, place_of
from jvmti.tracing.selection import check_loader, named, referring, selected
from jvmti.tracing.traced_vm import TracedVM
from jvmti.tracing.unmatched import check_conditions, unmatched_place

log = logging.getLogger("jvmti")

_ANY = 0.001
_PER_LOADED = 2e-6
_PER_CLASS = 1.5e-4
"""Seconds that the program stops: at all, for each class that is loaded, and for each that gets
probes. Measured on JDK 17 and 25; a busy machine takes longer."""
_MANY = 50
"""Fewer classes never stop the program for long, and do not have many methods."""
MANY_METHODS = 2000
"""The number of methods from which on they are announced."""
LONG = 1.0
"""Seconds from which on a pause is announced."""
_PATIENCE = 3
"""How many classes, one after the other, may take longer than they should before arming ends."""
_INTERVAL = 0.0002
_NO_CODE = 0x0100 | 0x0400
"""Modifiers of native and abstract methods."""

MethodPatterns = tuple[str | None, str | None, str | None]
"""Shell patterns for a class, its methods and their descriptors; ``None`` for all."""


def estimated_pause(classes: int, loaded: int) -> float:
    """The estimated time in seconds that the program stops while classes get probes at once.

    Args:
        classes: how many get probes.
        loaded: how many are loaded.
    """
    return _ANY + _PER_LOADED * loaded + _PER_CLASS * classes if classes else 0.0


def announce(
    vm: TracedVM,
    classes: Sequence[Any],
    places: Iterable[MethodPatterns] = (),
    *,
    stepwise: bool = False,
    records: bool = False,
) -> None:
    """Log a warning if probes will stop the program for long, or slow many methods down.

    Args:
        vm: the VM.
        classes: the classes that get probes.
        places: patterns for the methods that do.
        stepwise: whether they get them in steps, each of which is short.
        records: whether the probes record, where they could count.
    """
    if len(classes) < _MANY:
        return
    pause = 0.0 if stepwise else estimated_pause(len(classes), len(vm.classes()))
    methods, of_all = count_methods(vm, classes, places)
    many = methods > MANY_METHODS
    if not many and pause <= LONG:
        return
    what = quantity(len(classes), "class")
    costs, remedies = [], ["a narrower pattern takes fewer"]
    if pause:
        costs.append(f"stop the program for about {pause:.2g} s")
    if many:
        least = "" if of_all else "at least "
        what = f"{least}{quantity(methods, 'method')} of {what}"
        costs.append("make each of their calls some 50 ns slower, or 100 with objects")
        remedies += ["counting (--by method, by=) costs less"] * records
    if pause > LONG:
        remedies.append("max_pause or --max-pause does it in steps")
    log.warning(
        "putting probes into %s will %s; %s", what, " and ".join(costs), ", ".join(remedies)
    )


def announce_places(places: int, classes: int) -> None:
    """Log a warning if probes are at many places in methods: calls, fields, lines and so on.

    Args:
        places: how many there are; only the probes themselves find out.
        classes: how many have them.
    """
    if places > MANY_METHODS:
        log.warning(
            "%s in %s have probes, each of which makes the program some 60 ns slower when it is "
            "reached; 'in CLASS.METHOD' behind the place takes fewer",
            *(quantity(places, "place"), quantity(classes, "class")),
        )


def count_methods(
    vm: TracedVM, classes: Sequence[Any], places: Iterable[MethodPatterns]
) -> tuple[int, bool]:
    """How many methods of some classes have code and match a pattern.

    Returns:
        The number; and whether it counts all classes: the VM lists no methods of one that it has
        not prepared yet, as probes make it do.
    """
    patterns = list(dict.fromkeys(places))
    if not patterns:
        return 0, True
    env = vm.lookup_env.map
    answer = env.get_class_methods(classes)
    listed = answer.value
    names = env.get_method_name(listed.items)
    modifiers = env.get_method_modifiers(listed.items).value
    owners = numpy.repeat(numpy.arange(len(classes)), listed.counts).tolist()
    inside = [
        ({id(cls) for cls in named(classes, owner)}, one, other) for owner, one, other in patterns
    ]
    number = sum(
        not modifier & _NO_CODE
        and any(
            id(classes[owner]) in its
            and fnmatchcase(name, method or "*")
            and fnmatchcase(descriptor, descriptors or "*")
            for its, method, descriptors in inside
        )
        for owner, name, descriptor, modifier in zip(
            owners, names.name, names.signature, modifiers.tolist(), strict=True
        )
    )
    return number, not answer.status.any()


class Cost(NamedTuple):
    """The cost of a trace, estimated without changing anything."""

    classes: int
    """The loaded classes that would get probes; without those that the VM has not prepared."""
    methods: int
    """Their methods that would; at most, if a pattern asks for an annotation."""
    running: dict[str, int]
    """How many threads are in a call of which of these methods, which would go on in the
    interpreter and without probes until it returns."""
    pause: float
    """Seconds that the program would stop, if all classes got their probes at once."""
    step: float
    """Seconds that it would stop for a single class: the least that ``max_pause=`` can be."""

    def __str__(self) -> str:
        running = sum(self.running.values())
        return (
            f"{quantity(self.methods, 'method')} of {quantity(self.classes, 'class')};"
            f" stops the program for about "
            f"{duration(self.pause)}, in steps for {duration(self.step)} each; "
            f"{quantity(running, 'running call')} would go on in the interpreter"
        )


def running_calls(vm: TracedVM, wanted: Callable[[Any], bool]) -> dict[str, int]:
    """How many threads are in a call of which methods, by name."""
    found: dict[str, int] = {}
    for method, threads in vm.threads.running_methods().items():
        if wanted(method):
            name = f"{method.class_name}.{method.name}"
            found[name] = found.get(name, 0) + threads
    return found


def cost_of(
    vm: TracedVM,
    patterns: Sequence[str],
    loader: ClassLoader | None = None,
    *,
    unloaded: bool = False,
) -> Cost:
    """The cost of a trace of some patterns.

    Args:
        vm: the VM.
        patterns: the patterns.
        loader: of the classes.
        unloaded: a pattern may match nothing.

    Raises:
        BadProbe: a pattern is malformed.
        LookupError: one matches nothing.
    """
    check_loader(loader)
    methods: set[Any] = set()
    classes: set[Any] = set()
    for pattern in patterns:
        place = place_of(pattern)
        taken: set[Any] = set()
        named = vm.classes(place["classes"] or "*")
        chosen = _modifiable(vm, selected(vm, named, place["extends"], place["loader"], loader))
        is_call = is_call_pattern(pattern)
        if is_call and chosen:
            chosen = list(referring(vm, chosen, place["owners"], place["members"]))
        for cls in chosen:
            try:
                listed = cls.methods
            except ClassNotPrepared:
                continue  # its methods are not there yet
            inside = [
                one
                for one in listed
                if not one.modifiers & _NO_CODE
                and fnmatchcase(one.name, place["methods"] or "*")
                and fnmatchcase(one.signature, place["descriptors"] or "*")
            ]
            if is_call:
                pool = cls.constant_pool
                inside = [one for one in inside if _calls(one, pool, place)]
            if inside:
                classes.add(cls)
                taken.update(inside)
        methods |= taken
        if not taken and not unloaded:
            raise LookupError(_why_nothing(vm, pattern, place, loader))
    loaded = len(vm.classes())
    names = {(one.class_name, one.name) for one in methods}
    running = running_calls(vm, lambda method: (method.class_name, method.name) in names)
    pause, step = (estimated_pause(n, loaded) for n in (len(classes), min(len(classes), 1)))
    return Cost(len(classes), len(methods), running, pause, step)


def _calls(method: Any, pool: Any, place: Mapping[str, Any]) -> bool:
    """Whether the code of a method has a call that matches a pattern."""
    for one in instructions(method.bytecodes):
        if one.constant is None or not one.name.startswith("invoke"):
            continue
        constant = pool[one.constant]
        if constant.kind not in ("Methodref", "InterfaceMethodref"):
            continue
        member = constant.value
        wanted = (place[name] or "*" for name in ("owners", "members", "member_descriptors"))
        its = member.class_name.replace("/", "."), member.name, member.descriptor
        if all(map(fnmatchcase, its, wanted)):
            return True
    return False


def _why_nothing(
    vm: TracedVM, pattern: str, place: Mapping[str, Any], loader: ClassLoader | None
) -> str:
    wanted = place["classes"] or "*"
    loaded = vm.classes(wanted)
    if not len(loaded):
        return f"no loaded class matches {wanted!r}{suggestion(wanted, vm.classes.near(wanted))}"
    check_conditions(vm, loaded, place, loader)
    return unmatched_place(vm, pattern, place, loaded, None)


def _modifiable(vm: TracedVM, classes: Iterable[Any]) -> list[Any]:
    listed = list(classes)
    if not listed:
        return []
    answers = vm.env.map.is_modifiable_class(listed).check().listed()
    return [one for one, is_modifiable in zip(listed, answers, strict=True) if is_modifiable]


class Witness:
    """Sees how long the VM does not answer, from another thread, within a ``with`` block.

    Attributes:
        longest: seconds of the longest answer since it was set to 0.
    """

    def __init__(self, vm: TracedVM) -> None:
        self.longest = 0.0
        self._env = vm.lookup_env
        self._asked = time.monotonic()
        self._ended = threading.Event()
        self._answered = threading.Event()
        self._thread = threading.Thread(target=self._sample, name="jvmti witness", daemon=True)

    def _sample(self) -> None:
        while not self._ended.wait(_INTERVAL):
            began = time.monotonic()
            try:
                self._env.get_available_processors()
            except Error:
                return  # the target has ended, as others see, too
            self.longest = max(self.longest, time.monotonic() - began)
            self._answered.set()

    def pause(self, action: Callable[[], None]) -> float:
        """Seconds of the longest answer that began before the end of an action."""
        self.longest = 0.0
        action()
        # One that has begun ends before the next look does.
        for _ in range(2):
            self._answered.clear()
            self._answered.wait(1.0)
        return self.longest

    def __enter__(self) -> Witness:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._ended.set()
        self._thread.join()


def check_step(vm: TracedVM, max_pause: float) -> None:
    """Check that the program may be stopped for as long as a single class takes.

    Raises:
        PauseTooLong: it takes longer, by the estimate.
    """
    step = estimated_pause(1, len(vm.classes()))
    if step > max_pause:
        raise PauseTooLong("putting probes into one class", step, max_pause)


def in_steps(
    vm: TracedVM, classes: Sequence[Any], max_pause: float, place: Callable[[Sequence[Any]], None]
) -> list[float]:
    """Put probes into classes, a few at a time.

    Args:
        vm: the VM.
        classes: the classes.
        max_pause: seconds that a step may stop the program.
        place: puts probes into some of them.

    Returns:
        How long each step has stopped the program, in seconds.

    Raises:
        PauseTooLong: a single class takes longer, by the estimate before anything is done, or
            as measured.
    """
    check_step(vm, max_pause)
    pauses: list[float] = []
    batch = 1
    too_long = 0
    at = 0
    with Witness(vm) as witness:
        while at < len(classes):
            part = classes[at : at + batch]
            pause = witness.pause(lambda part=part: place(part))  # type: ignore[misc]
            pauses.append(pause)
            at += len(part)
            too_long = too_long + 1 if pause > max_pause and len(part) == 1 else 0
            if too_long == _PATIENCE and at < len(classes):
                raise PauseTooLong("putting probes into one class", pause, max_pause)
            # Towards two thirds of what is allowed.
            wanted = int(len(part) * max_pause / max(1.5 * pause, 1e-6))
            batch = max(1, min(wanted, 2 * len(part)))
    return pauses


__all__ = [
    "LONG",
    "MANY_METHODS",
    "Cost",
    "Witness",
    "announce",
    "announce_places",
    "check_step",
    "cost_of",
    "count_methods",
    "estimated_pause",
    "in_steps",
    "running_calls",
]
