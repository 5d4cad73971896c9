"""The monitors that a method has entered at a location, by the slots of its variables.

A compiler keeps the object of ``synchronized`` in a variable of its own, so that it can leave the
monitor on every path.
"""

from __future__ import annotations

from collections.abc import Iterator

from jvmti.classfile.opcodes import Instruction, instructions

UNKNOWN = -1
"""Stands for a monitor whose object does not come from a variable."""

_NO_NEXT = frozenset(
    ("goto", "goto_w", "athrow", "tableswitch", "lookupswitch", "ret", "ret_w")
    + tuple(f"{kind}return" for kind in ("", "a", "d", "f", "i", "l"))
)


def entered(code: bytes, location: int) -> list[int]:
    """The slots of the objects whose monitors a method has entered at a location, in their order.

    Nested monitors are exact; in an exception handler they are those whose instructions enclose it.
    The monitor of a ``synchronized`` method is not included.

    Args:
        code: the method's bytecodes.
        location: its location: at a call, or at the ``monitorenter`` where it waits.
    """
    if b"\xc2" not in code:
        return []
    listed = list(instructions(code))
    known = _followed(listed)
    held = known.get(location)
    return list(_around(listed, location) if held is None else held)


def _followed(listed: list[Instruction]) -> dict[int, tuple[int, ...]]:
    """The monitors entered before each instruction that is reachable without an exception."""
    at = {one.location: index for index, one in enumerate(listed)}
    found: dict[int, tuple[int, ...]] = {}
    left: list[tuple[int, tuple[int, ...]]] = [(0, ())]
    while left:
        index, held = left.pop()
        while index < len(listed) and listed[index].location not in found:
            one = listed[index]
            found[one.location] = held
            if one.name == "monitorenter":
                held = (*held, _entered_slot(listed, index))
            elif one.name == "monitorexit":
                held = _without(held, _loaded(listed[index - 1]))
            left += [(at[target], held) for target in _targets(one) if target in at]
            if one.name in _NO_NEXT:
                break
            index += 1
    return found


def _around(listed: list[Instruction], location: int) -> Iterator[int]:
    """The monitors entered before a location in the order of the code, and left after it."""
    for index, one in enumerate(listed):
        if one.name != "monitorenter" or one.location >= location:
            continue
        slot = _entered_slot(listed, index)
        for later, other in enumerate(listed[index + 1 :], index + 1):
            if other.name == "monitorenter" and _entered_slot(listed, later) == slot:
                break
            if other.name == "monitorexit" and other.location >= location:
                if _loaded(listed[later - 1]) == slot:
                    yield slot
                    break


def _entered_slot(listed: list[Instruction], index: int) -> int:
    """The variable of a ``monitorenter``: it was stored, or loaded, just before."""
    before = listed[index - 1]
    if before.name.startswith("astore"):
        return _slot(before)
    return _loaded(before)


def _loaded(one: Instruction) -> int:
    return _slot(one) if one.name.startswith("aload") else UNKNOWN


def _slot(one: Instruction) -> int:
    return int(one.name[-1]) if one.local is None else one.local


def _without(held: tuple[int, ...], slot: int) -> tuple[int, ...]:
    """Remove one: the latest of that slot, otherwise the latest of all."""
    if slot not in held:
        return held[:-1]
    last = len(held) - 1 - held[::-1].index(slot)
    return held[:last] + held[last + 1 :]


def _targets(one: Instruction) -> list[int]:
    targets = [] if one.target is None else [one.target]
    return targets + list((one.cases or {}).values())


__all__ = ["UNKNOWN", "entered"]
