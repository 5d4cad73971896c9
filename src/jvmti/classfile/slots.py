"""The types in the slots of a method's frame, from its parameters and its code."""

from __future__ import annotations

from jvmti.classfile.opcodes import instructions
from jvmti.interface.signatures import parameters_of, signature_of

SEVERAL = "?"
"""A slot that holds different types at different places of the code."""

_STORES = {"i": "I", "l": "J", "f": "F", "d": "D", "a": "L"}
_NARROW = frozenset("ZBCS")


def types_of_slots(code: bytes, descriptor: str, *, is_static: bool) -> dict[int, str]:
    """The type in each slot where a variable begins.

    Args:
        code: the method's bytecodes.
        descriptor: its parameters and result: ``(IJ)V``.
        is_static: whether it has no receiver.

    Returns:
        ``I`` for all types that are ints in bytecode, ``J``, ``F``, ``D``, ``L`` for all objects,
        or `SEVERAL`.
    """
    found: dict[int, str] = {} if is_static else {0: "L"}
    slot = len(found)
    for name in parameters_of(descriptor):
        kind = signature_of(name)[0]
        kind = "I" if kind in _NARROW else "L" if kind == "[" else kind
        found[slot] = kind
        slot += 2 if kind in "JD" else 1
    for one in instructions(code):
        operation = one.name.removesuffix("_w")
        if operation[1:6] != "store" or operation[0] not in _STORES:
            continue
        slot = int(operation[-1]) if one.local is None else one.local
        kind = _STORES[operation[0]]
        found[slot] = kind if found.get(slot, kind) == kind else SEVERAL
    return found


__all__ = ["SEVERAL", "types_of_slots"]
