"""The code that frames run of a method whose class has got other code since."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jvmti.classfile.opcodes import Instruction, instructions
from jvmti.interface.errors import NotAvailable

if TYPE_CHECKING:
    from jvmti.classfile.constant_pool import Constant
    from jvmti.model.classes.java_class import Method

_SWITCHES = ("tableswitch", "lookupswitch")


@dataclass
class RunningCode:
    """The code of a version of a method, without our probes.

    Attributes:
        instructions: its instructions, with their locations before the method got probes.
        code: the bytes of each, as they run: the distances of jumps may span probes.
        lines: the lines that begin in it, by location.
        pool: the constants that it refers to.
    """

    instructions: list[Instruction]
    code: list[bytes]
    lines: dict[int, int]
    pool: Mapping[int, Constant]


def running_code(method: Method) -> RunningCode:
    """The code of a version of a method, also of one that new calls do not run any more.

    The VM has no class file of it, but its bytecodes and lines. Constants of earlier code keep
    their numbers when a class gets other code.

    Raises:
        NotAvailable: the places of the probes in it are not known any more.

    JVM TI: GetBytecodes, GetLineNumberTable, GetConstantPool.
    """
    code = method.bytecodes
    found = list(instructions(code))
    lines = method.lines
    targets = {place for one in found for place in _targets(one)}
    wanted = sorted({one.location for one in found} | targets | {len(code)})
    wanted += [one.start_location for one in lines]
    places = method._vm._agent.locate_before_probes([method] * len(wanted), wanted)
    before = dict(zip(wanted, map(int, places), strict=True))
    own = list(_own(found, before, before[len(code)]))
    return RunningCode(
        [_moved(one, before) for one in own],
        [code[one.location : one.location + one.size] for one in own],
        {before[one.start_location]: one.line_number for one in lines},
        method.declaring_class.constant_pool,
    )


def _own(found: list[Instruction], before: dict[int, int], end: int) -> Iterator[Instruction]:
    """The instructions that are none of probes."""
    # What a probe puts in front of an instruction has its location, too.
    last = {before[one.location]: one for one in found}
    location = 0
    while location < end:
        one = last.get(location)
        if one is None:
            raise NotAvailable(
                detail="this call runs code from before its class was redefined, and the places of "
                "the probes in it are not known any more"
            )
        yield one
        location += one.size
        if one.name in _SWITCHES:
            location += _padding(before[one.location]) - _padding(one.location)


def _padding(location: int) -> int:
    """The bytes behind the first of a switch, so that its numbers begin at a multiple of four."""
    return -(location + 1) % 4


def _targets(one: Instruction) -> Iterator[int]:
    if one.target is not None:
        yield one.target
    yield from (one.cases or {}).values()


def _moved(one: Instruction, before: dict[int, int]) -> Instruction:
    return replace(
        one,
        location=before[one.location],
        target=None if one.target is None else before[one.target],
        cases=None
        if one.cases is None
        else {value: before[target] for value, target in one.cases.items()},
    )


__all__ = ["RunningCode", "running_code"]
