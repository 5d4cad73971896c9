"""The probes that a trace puts into methods."""

from __future__ import annotations

from typing import Any, NamedTuple

from jvmti.instrumentation.probes import BadProbe, Operand, Probe
from jvmti.layouts.probes import PLAN, RECORDED, RECORDED_OBJECT, Outcome, Site
from jvmti.layouts.probes import Operand as Kind
from jvmti.tracing.conditions import Condition

HELPER = "java.lang.JvmtiProbes"
"""The name in plans of the class that probes call; the agent replaces it by its own."""

_NUMBERS = 24
"""Space for numbers in a record, besides its objects."""


class RecordShape(NamedTuple):
    """The space in a record of a set."""

    size: int
    """Its bytes, a power of two."""
    text_size: int
    """Bytes of the text of an object, a multiple of eight."""

    @staticmethod
    def of(text: int, objects: int = 2, frames: int = 0) -> RecordShape:
        """With space for some numbers, and for objects with texts of a length in bytes."""
        if text < 0:
            raise BadProbe("the length of a text cannot be negative")
        objects += frames > 0
        text_size = min(max(-(-max(text, 4 * frames) // 8) * 8, 8), PLAN.LONGEST_TEXT)
        size = RECORDED.size + objects * (RECORDED_OBJECT.size + text_size) + _NUMBERS * 8
        return RecordShape(min(1 << (size - 1).bit_length(), PLAN.LARGEST_RECORD), text_size)


def call_probes(
    pattern: str,
    name: str,
    shape: RecordShape,
    *,
    arguments: bool = True,
    summary: bool = False,
    condition: Condition | None = None,
    stack: bool = False,
) -> list[Probe]:
    """The probes for calls of the methods that match a pattern.

    The first keeps the time when a call begins, the others record or count it when it ends. It
    keeps none if a condition on arguments fails: such a call costs hardly anything.

    Args:
        pattern: as for `jvmti.VM.trace`.
        name: the name of the time, a different one for each pattern of a plan.
        shape: of the records.
        arguments: record the arguments of calls.
        summary: count calls instead.
        condition: record only calls that match it.
        stack: record the callers, after the value.

    Raises:
        BadProbe: the pattern is invalid.
    """
    place = place_of(pattern)
    number = Operand(Kind.NUMBER, "I", 0)
    early = () if condition is None else condition.entry_steps
    found = [
        Probe(
            **place,
            site=Site.ENTRY,
            name="start",
            operands=(number,),
            outcome=Outcome.KEEP,
            result="J",
            keeps=name,
            condition=early,
            conditional=bool(early),
        )
    ]
    begin = (number, Operand(Kind.SITE, "I"), Operand(Kind.KEPT, "J", text=name))
    values = (
        Operand(Kind.VALUE, "X"),
        *[Operand(Kind.STACK, "X")] * stack,
        *[Operand(Kind.ARGUMENTS, "X")] * arguments,
    )
    for site in (Site.RETURN, Site.UNWIND):
        if condition is not None:
            if not (condition.at_returns if site is Site.RETURN else condition.at_exceptions):
                continue
            late = condition.end_steps
            place |= {"condition": late, "conditional": bool(late)}
        if summary:
            found.append(Probe(**place, site=site, name="tally", operands=begin))
        else:
            found.append(_recording(place, site, (*begin, *values), shape))
    return found


def place_of(pattern: str) -> dict[str, Any]:
    """The common part of the probes for methods that match a pattern.

    Raises:
        BadProbe: the pattern is invalid.
    """
    try:
        where = Probe.parse(f"entry {pattern} -> {HELPER}.start(int 0)")
    except BadProbe:
        raise BadProbe(
            f"{pattern!r} is not CLASS.METHOD, such as com.acme.Order.add or com.acme.*.*"
        ) from None
    return {
        "classes": where.classes,
        # Not constructors and initializers, unless the pattern names them.
        "methods": where.methods or "[!<]*",
        "descriptors": where.descriptors,
        "annotated": where.annotated,
        "extends": where.extends,
        "helper": HELPER,
    }


def _recording(
    place: dict[str, Any], site: Site, operands: tuple[Operand, ...], shape: RecordShape
) -> Probe:
    return Probe(
        **place,
        site=site,
        name="begin",
        operands=operands,
        outcome=Outcome.RECORD,
        result="J",
        record_size=shape.size,
        text_size=shape.text_size,
    )


__all__ = ["HELPER", "RecordShape", "call_probes", "place_of"]
