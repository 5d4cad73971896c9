"""Changes: calls in a running JVM that return something else, throw, or take longer."""

from __future__ import annotations

import struct
import time
from collections.abc import Sequence
from typing import Any, NoReturn

from jvmti.instrumentation.probes import BadProbe, Operand, Probe, Step
from jvmti.interface.errors import Error
from jvmti.layouts.probes import Operand as Kind
from jvmti.layouts.probes import Outcome, Test
from jvmti.layouts.probes import Site as Where
from jvmti.refs import ClassLoader
from jvmti.text.printable import escaped
from jvmti.text.quantities import quantity
from jvmti.tracing.call_probes import RecordShape, is_call_pattern, noting, place_of
from jvmti.tracing.conditions import CALLS, STARTED, compiled, over_steps, since, uses
from jvmti.tracing.places import WORDS
from jvmti.tracing.probe_set import MOST, ProbeSet, results_of, values_of
from jvmti.tracing.traced_vm import TracedVM

_WHOLE = {"B": 7, "S": 15, "I": 31, "J": 63}
"""Bits of signed numbers."""
_TEXTS = tuple(f"Ljava/lang/{name};" for name in ("String", "Object", "CharSequence", "Comparable"))
UNCHANGED = ...
"""Instead of a new result: no change."""


def _bits(packing: str, unpacking: str, value: float) -> int:
    return int(struct.unpack(unpacking, struct.pack(packing, value))[0])


def _returning(value: object) -> list[tuple[str, str, tuple[Operand, ...]]]:
    """For each possible type of the value: its descriptor, the VM's type, and the constant.

    Raises:
        BadProbe: there is none.
    """
    number = Operand(Kind.NUMBER, "I")
    match value:
        case None:
            return [("L*", "L", ()), ("[*", "L", ())]
        case bool():
            return [("Z", "I", (number._replace(number=int(value)),))]
        case int():
            found = [
                (letter, "J" if letter == "J" else "I")
                for letter, bits in _WHOLE.items()
                if -(1 << bits) <= value < 1 << bits
            ]
            if 0 <= value < 1 << 16:
                found.append(("C", "I"))
            if not found:
                raise BadProbe(f"{value} does not fit a long")
            whole = [(letter, held, (Operand(Kind.NUMBER, held, value),)) for letter, held in found]
            return [*whole, *_returning(float(value))]
        case float():
            single = _bits("<f", "<i", value) if abs(value) < 3.4e38 or value != value else None
            double = ("D", "D", (Operand(Kind.NUMBER, "J", _bits("<d", "<q", value)),))
            if single is None:
                return [double]
            return [double, ("F", "F", (Operand(Kind.NUMBER, "I", single),))]
        case str():
            constant = (Operand(Kind.TEXT, "S", text=value),)
            return [(one, "L", constant) for one in _TEXTS]
    raise BadProbe(f"{value!r} cannot be returned: a number, a text, True, False or None")


def _probes(
    pattern: str,
    returns: object,
    throws: tuple[str, str] | None,
    delay: float,
    steps: Sequence[Step],
    began: str,
) -> list[Probe]:
    place = place_of(pattern)
    is_call = is_call_pattern(pattern)
    before, after = (Where.CALL, Where.CALLED) if is_call else (Where.ENTRY, Where.RETURN)
    begin = Operand(Kind.NUMBER, "I", 0)
    always: dict[str, Any] = {"condition": since(steps, began), "conditional": True}
    found = []
    if uses(steps, Kind.TOOK):
        found.append(Probe(**place, site=before, **noting(began)))
    if delay:
        wait = Operand(Kind.NUMBER, "J", int(delay * 1e9))
        found.append(Probe(**place, **always, site=before, name="delay", operands=(begin, wait)))
    if throws is not None:
        texts = [Operand(Kind.TEXT, "S", text=one) for one in throws]
        found.append(Probe(**place, **always, site=before, name="fail", operands=(begin, *texts)))
    if returns is not UNCHANGED:
        typed = "member_descriptors" if is_call else "descriptors"
        given = place.get(typed)
        if given is not None:
            given = given.removesuffix("*")
        for descriptor, held, constant in _returning(returns):
            found.append(
                Probe(
                    **{**place, typed: f"{given or '(*)'}{descriptor}"},
                    **always,
                    site=after,
                    name="changed",
                    operands=(begin, Operand(Kind.VALUE, held), *constant),
                    outcome=Outcome.REPLACE,
                    result=held,
                )
            )
    return found


def _thrown(text: str) -> tuple[str, str]:
    """The class and the message of an exception.

    Raises:
        BadProbe: the text names no class.
    """
    if not isinstance(text, str):
        raise TypeError(f"throws= is a text such as 'java.io.IOException: no route', not {text!r}")
    name, _, message = text.partition(":")
    if not name.strip():
        raise BadProbe(f"throws={text!r} names no class: java.io.IOException: no route")
    return name.strip(), message.strip()


class Change(ProbeSet):
    """A change of calls; leaving its ``with`` block, or `close`, ends it at once.

    If this process dies, the agent ends it.

    Attributes:
        patterns: the methods.
        when: the condition.
        classes: the number of classes that got probes at the beginning; classes that are loaded
            later get them, too.
        refused: classes that could not get any, with the reason.
        running: for methods of these classes, the number of threads in a call, which continues
            unchanged.
        pauses: with ``max_pause=`` the seconds that each step has stopped the program.
    """

    def __init__(
        self,
        vm: TracedVM,
        patterns: Sequence[str],
        *,
        returns: object,
        throws: str | None,
        delay: float,
        when: str | None,
        every: int,
        over: float,
        times: int | None,
        max_pause: float | None,
        unloaded: bool,
        loader: ClassLoader | None,
    ) -> None:
        if not patterns:
            raise BadProbe("a change needs a pattern, such as com.acme.Order.total")
        if returns is UNCHANGED and throws is None and not delay:
            raise BadProbe("say what changes: returns=, throws= or delay=")
        if throws is not None and returns is not UNCHANGED:
            raise BadProbe("a call that throws returns nothing: use either returns= or throws=")
        if delay and (throws is not None or returns is not UNCHANGED):
            raise BadProbe("one change at a time: delay= alone, or open another one for it")
        if not 0 <= delay <= 3600:
            raise BadProbe("a delay is of 0 to 3,600 seconds")
        self.patterns = tuple(patterns)
        self.when = when
        self._every = every
        self._times = MOST if times is None else min(times, MOST)
        self._returns = returns
        are_calls = [is_call_pattern(one) for one in patterns]
        if any(are_calls) != all(are_calls):
            raise BadProbe("methods and calls where they are made are different changes: open two")
        words = {**CALLS, **WORDS[Where.CALLED]} if any(are_calls) else CALLS
        condition = None if when is None else compiled(when, words)
        steps = [] if condition is None else list(condition.steps)
        if over:
            steps += [*over_steps(over), *[Step(Test.AND)] * bool(steps)]
        if returns is UNCHANGED and uses(steps, Kind.TOOK):
            raise BadProbe("where a call begins it has taken no time: over= goes with returns=")
        if condition is not None and returns is UNCHANGED:
            if not (condition.at_returns and condition.at_exceptions):
                raise BadProbe(f"{when!r}: when a call begins nothing is returned or thrown yet")
        elif condition is not None and not condition.at_returns:
            raise BadProbe(f"{when!r}: a call that returns has thrown nothing")
        thrown = None
        if throws is not None:
            thrown = _thrown(throws)
            self._check_exception(vm, thrown[0])
        probes: list[Probe] = []
        of_probe: dict[int, int] = {}
        for number, pattern in enumerate(patterns):
            began = f"{STARTED} {number}"
            for probe in _probes(pattern, returns, thrown, delay, steps, began):
                if probe.outcome is not Outcome.KEEP:
                    of_probe[len(probes)] = number
                probes.append(probe)
        needed = values_of(when)
        if returns is not UNCHANGED:
            needed = f"can return {returns!r}" + ("" if needed is None else f", and {needed}")
        super().__init__(
            *(vm, probes, RecordShape.of(8)), every=every, times=self._times, loader=loader
        )
        try:
            self._arm(max_pause)
            if not unloaded:
                self._check_patterns(patterns, of_probe, needed)
        except BaseException:
            self.close()
            raise

    def _refuse(self, what: str, classes: list[Any], method: str, needed: str | None) -> NoReturn:
        if self._returns is not UNCHANGED:
            types = results_of(classes, method)
            if types:
                needed = f"{needed}: what they return is {' or '.join(types)}"
        super()._refuse(what, classes, method, needed)

    def _check_exception(self, vm: TracedVM, name: str) -> None:
        """Refuse the name of a class that is unknown, or of no exception.

        Raises:
            LookupError: no class of that name is loaded, and the VM's own have none.
            BadProbe: it is no subclass of Throwable.
        """
        jni = vm.jni
        try:
            found = list(vm.classes(name)) or [jni.find_class(name.replace(".", "/"))]
        except (Error, ValueError):
            alike = vm.classes.near(name)
            hint = f"; similar ones: {', '.join(alike)}" if alike else ""
            raise LookupError(f"no class {name!r} is loaded{hint}") from None
        throwable = jni.find_class("java/lang/Throwable")
        if not any(jni.is_assignable_from(one, throwable) for one in found):
            raise BadProbe(f"{name} is no exception: its class is not below Throwable")

    @property
    def reached(self) -> int:
        """Calls that matched the condition so far."""
        return self._memory.changes_reached

    @property
    def made(self) -> int:
        """Calls that were changed so far."""
        due = -(-self.reached // self._every)
        return max(min(due, self._times) - self.failed, 0)

    @property
    def failed(self) -> int:
        """Changes that failed: the exception's class cannot be found or instantiated from there."""
        return self._memory.changes_failed

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until all ``times`` changes are made.

        Returns false if the timeout, in seconds, passes first, or the target ends.
        """
        until = None if timeout is None else time.monotonic() + timeout
        while self.made + self.failed < self._times:
            if self.ended or (until is not None and time.monotonic() >= until):
                return False
            time.sleep(0.02)
        return True

    @escaped
    def __repr__(self) -> str:
        state = ", closed" if self._closed else ""
        return (
            f"<Change of {', '.join(self.patterns)}: {quantity(self.made, 'call')} so far{state}>"
        )


__all__ = ["UNCHANGED", "Change"]
