"""Whether code still needs what a local variable holds."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from jvmti.classfile.opcodes import Instruction, instructions

_ENDS = frozenset("ireturn lreturn freturn dreturn areturn return athrow ret".split())
_JUMPS = frozenset("goto goto_w jsr jsr_w tableswitch lookupswitch".split())
_TYPES = "ilfda"


@functools.lru_cache(256)
def _by_location(code: bytes) -> dict[int, Instruction]:
    return {one.location: one for one in instructions(code)}


def is_read_again(code: bytes, location: int, slot: int) -> bool:
    """Whether code may still read a slot from a location on, before it stores to it.

    What only handlers of exceptions read does not count, so compiled code keeps each variable for
    which this is true.

    Args:
        code: the method's bytecodes.
        location: where an instruction begins.
        slot: the slot where the variable begins.
    """
    known = _by_location(code)
    seen: set[int] = set()
    waiting = [location]
    while waiting:
        at = waiting.pop()
        one = known.get(at)
        if one is None or at in seen:
            continue
        seen.add(at)
        name = one.name.removesuffix("_w")
        kind, rest = name[:1], name[1:]
        if (kind in _TYPES and rest.startswith(("load", "store"))) or name in ("iinc", "ret"):
            first = int(name[-1]) if one.local is None else one.local
            is_wide = kind in "ld" and name != "iinc"
            if not rest.startswith("store"):
                if first == slot:
                    return True
            elif first == slot or (is_wide and first + 1 == slot):
                continue
        waiting += _next(one)
    return False


def _next(one: Instruction) -> Iterator[int]:
    if one.name in _ENDS or one.name == "ret_w":
        return
    if one.target is not None:
        yield one.target
    if one.cases is not None:
        yield from one.cases.values()
    if one.name not in _JUMPS:
        yield one.location + one.size


__all__ = ["is_read_again"]
