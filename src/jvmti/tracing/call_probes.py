"""The probes that a trace puts into methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from jvmti.instrumentation.probes import CONDITIONS, BadProbe, Operand, Probe, conditions_of
from jvmti.layouts.probes import PLAN, RECORDED, RECORDED_OBJECT, Outcome, Site
from jvmti.layouts.probes import Operand as Kind
from jvmti.tracing.conditions import Condition, since

if TYPE_CHECKING:
    from jvmti.tracing.summaries import Grouping

MOST_FRAMES = PLAN.LONGEST_TEXT // 4
"""The most frames of a stack in a record."""

HELPER = "java.lang.JvmtiProbes"
"""The name in plans of the class that probes call; the agent replaces it by its own."""

NO_BEGIN = Operand(Kind.NUMBER, "J", 1)
"""The begin of a record that does not tell of one."""
_PLACES = {site.name.lower().replace("_", "-") for site in Site}
"""The words for kinds of places."""
_NUMBERS = 24
"""Space for numbers in a record, besides its objects."""


class RecordShape(NamedTuple):
    """The space in a record of a set."""

    size: int
    """Its bytes, a power of two."""
    text_size: int
    """Bytes of the text of an object, a multiple of eight."""

    @staticmethod
    def of(text: int, objects: int = 2, frames: int = 0, numbers: int = _NUMBERS) -> RecordShape:
        """With space for some numbers, for objects with texts of a length in bytes, and a stack.

        Raises:
            BadProbe: a record has no space for the frames, or the length is negative.
        """
        if not 0 <= frames <= MOST_FRAMES:
            raise BadProbe(f"stack= is a number of frames, at most {MOST_FRAMES}")
        if text < 0:
            raise BadProbe("the length of a text cannot be negative")
        objects += frames > 0
        text_size = min(max(-(-max(text, 4 * frames) // 8) * 8, 8), PLAN.LONGEST_TEXT)
        size = RECORDED.size + objects * (RECORDED_OBJECT.size + text_size) + numbers * 8
        return RecordShape(min(1 << (size - 1).bit_length(), PLAN.LARGEST_RECORD), text_size)


def call_probes(
    pattern: str,
    name: str,
    shape: RecordShape,
    *,
    arguments: bool = True,
    by: Grouping | None = None,
    condition: Condition | None = None,
    stack: bool = False,
    objects: bool = False,
) -> list[Probe]:
    """The probes for calls of the methods that match a pattern.

    The first keeps the time when a call begins, the others record or count it when it ends. It
    keeps none if a condition on arguments fails: such a call costs hardly anything.

    Args:
        pattern: as for `jvmti.VM.trace`.
        name: the name of the time, a different one for each pattern of a plan.
        shape: of the records.
        arguments: record the arguments of calls.
        by: count calls by this instead.
        condition: record only calls that match it.
        stack: record the callers, after the value.
        objects: hold the objects of calls, behind these.

    Raises:
        BadProbe: the pattern is invalid.
    """
    is_call = is_call_pattern(pattern)
    place = place_of(pattern)
    early = () if condition is None else condition.entry_steps
    first = Site.CALL if is_call else Site.ENTRY
    started = noting(name)
    found = [Probe(**place, **started, site=first, condition=early, conditional=bool(early))]
    began = Operand(Kind.KEPT, "J", text=name)
    begin = (Operand(Kind.NUMBER, "I", 0), Operand(Kind.SITE, "I"), began)
    values = (
        Operand(Kind.VALUE, "X"),
        *[Operand(Kind.STACK, "X")] * stack,
        *[Operand(Kind.HELD, "X")] * objects,
        *[Operand(Kind.ALL_PASSED if is_call else Kind.ARGUMENTS, "X")] * arguments,
    )
    for site in (Site.CALLED,) if is_call else (Site.RETURN, Site.UNWIND):
        if condition is not None:
            if not (condition.at_exceptions if site is Site.UNWIND else condition.at_returns):
                continue
            late = since(condition.end_steps, name)
            place |= {"condition": late, "conditional": bool(late)}
        if by is not None:
            ends = {"failed": site is Site.UNWIND, "returns": site is Site.RETURN}
            counted = by.operands(began, **ends)
            found.append(Probe(**place, site=site, name="tally", operands=counted))
        else:
            found.append(Probe(**place, site=site, **recorded((*begin, *values), shape)))
    return found


def noting(name: str) -> dict[str, Any]:
    """The call of a probe that notes, under a name, when a call begins."""
    return {
        "name": "start",
        "operands": (Operand(Kind.NUMBER, "I", 0),),
        "outcome": Outcome.KEEP,
        "result": "J",
        "keeps": name,
    }


def is_call_pattern(pattern: str) -> bool:
    """Whether it takes calls where they are made, instead of methods."""
    return pattern.lstrip().startswith("call ")


def place_of(pattern: str) -> dict[str, Any]:
    """The common part of the probes for methods that match a pattern.

    Raises:
        BadProbe: the pattern is invalid.
    """
    is_call = is_call_pattern(pattern)
    bare, _ = conditions_of(pattern)
    word, space, _ = bare.strip().partition(" ")
    if space and not is_call and word in _PLACES:
        raise BadProbe(
            f"{pattern!r} is a place, as logpoints take it; this takes methods, CLASS.METHOD, or "
            "calls where they are made, 'call CLASS.METHOD in CLASS.METHOD'"
        )
    try:
        where = Probe.parse(f"{'' if is_call else 'entry '}{pattern} -> {HELPER}.start(int 0)")
    except BadProbe:
        if is_call:
            raise
        raise BadProbe(
            f"{pattern!r} is not CLASS.METHOD, such as com.acme.Order.add or com.acme.*.*"
        ) from None
    return {
        "classes": where.classes,
        "methods": where.methods if is_call else method_pattern(where.methods),
        "descriptors": where.descriptors,
        **{name: getattr(where, name) for name in CONDITIONS},
        "helper": HELPER,
        "owners": where.owners,
        "members": where.members,
        "member_descriptors": where.member_descriptors,
    }


def method_pattern(pattern: str | None) -> str:
    """A pattern for methods that matches constructors and initializers only if it names them."""
    return "[!<]*" if pattern is None or pattern == "*" else pattern


def recorded(operands: tuple[Operand, ...], shape: RecordShape) -> dict[str, Any]:
    """The call of a probe that records some values."""
    return {
        "name": "begin",
        "operands": operands,
        "outcome": Outcome.RECORD,
        "result": "J",
        "record_size": shape.size,
        "text_size": shape.text_size,
    }


__all__ = [
    "HELPER",
    "MOST_FRAMES",
    "NO_BEGIN",
    "RecordShape",
    "call_probes",
    "is_call_pattern",
    "method_pattern",
    "noting",
    "place_of",
    "recorded",
]
