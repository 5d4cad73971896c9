"""What the VM's single steps say about places in code: the witness of logpoints there.

The VM reports each instruction that a thread comes to, calls that begin and end, and exceptions
that are thrown and caught. What happens at each kind of place follows from that and from the class
files alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from jvmti.classfile import ClassFile
from jvmti.classfile.opcodes import Instruction, instructions
from jvmti.interface.signatures import java_name

EVENTS = ("SingleStep", "MethodEntry", "MethodExit", "Exception", "ExceptionCatch")
COLUMNS = (
    *("event", "method_class", "method", "method_signature", "location", "line"),
    *("was_popped_by_exception", "exception"),
)
Row = tuple[Any, ...]


class Kind(NamedTuple):
    """A kind of place: how a logpoint names it, and what the VM does there."""

    place: str
    """What a logpoint has behind the name of the kind; braces stand for the class."""
    text: str = ""
    """The text of the logpoint, with what it records."""
    instructions: str = ""
    """A pattern for the names of the instructions that it is at; none where an event is."""
    is_behind: bool = False
    """Whether it is where the thread comes to next, if the instruction throws nothing."""


_CALL = "constructor|invoke(virtual|special|static|interface)"
KINDS = {
    "entry": Kind("{}.?*"),
    "return": Kind("{}.?*", instructions="[ilfda]?return"),
    "unwind": Kind("{}.?*"),
    "index": Kind("{}.*", instructions=".*"),
    "throw": Kind("{}.*", "{type(exception)}", "athrow"),
    "catch": Kind("* in {}.*", "{type(exception)}"),
    "read": Kind("*.* in {}.*", "{member}", "get(field|static)", is_behind=True),
    "write": Kind("*.* in {}.*", "{member}", "put(field|static)"),
    "call": Kind("*.* in {}.*", "{member}", _CALL),
    "called": Kind("*.* in {}.*", "{member}", _CALL, is_behind=True),
    "new": Kind("* in {}.*", "{type(value)}", "constructor|(|a|multia)newarray", is_behind=True),
    "monitor-enter": Kind("{}.*", instructions="monitorenter", is_behind=True),
    "monitor-exit": Kind("{}.*", instructions="monitorexit"),
}
"""All kinds but lines, of which breakpoints are the witness; ``?*`` takes constructors, too."""
_SAID = {"{member}": "member", "{type(value)}": "made"}


class Described(NamedTuple):
    """An instruction: what a logpoint there says of it."""

    name: str
    """Its name; ``constructor`` for a call that makes an object."""
    size: int
    """Its bytes."""
    member: str = ""
    """The field or method that it names."""
    made: str = ""
    """The class of what it makes."""


Code = dict[int, Described]
"""The instructions of a method by location."""
Codes = Mapping[str, Mapping[tuple[str, str], Code]]
"""The methods of classes, by their names and descriptors."""


def codes_of(file: ClassFile) -> dict[tuple[str, str], Code]:
    """The code of each method of a class, by its name and descriptor."""
    return {
        (one.name, one.descriptor): dict(_described(file, instructions(one.code.bytecodes)))
        for one in file.methods
        if one.code is not None
    }


def _described(file: ClassFile, code: Iterable[Instruction]) -> Iterator[tuple[int, Described]]:
    pending = 0
    for one in code:
        name, member, made = one.name, "", ""
        value = None if one.constant is None else file.pool[one.constant].value
        if re.match("(get|put|invoke)(?!dynamic)", name):
            owner = java_name(f"L{value.class_name};")
            member = f"{owner}.{value.name}"
            if name == "invokespecial" and value.name == "<init>" and pending:
                # this(…) and super(…) make no object: compilers nest what does.
                name, made, pending = "constructor", owner, pending - 1
        elif name == "newarray":
            made = f"{one.array_type}[]"
        elif name == "anewarray":
            made = java_name(value if value.startswith("[") else f"L{value};") + "[]"
        elif name == "multianewarray":
            made = java_name(value)
        pending += name == "new"
        yield one.location, Described(name, one.size, member, made)


class Frame:
    """A call that the VM reported, and where it has come to."""

    def __init__(self, method: tuple[str, str, str], code: Code) -> None:
        self.method = method
        self.code = code
        self.before: tuple[int, int] | None = None
        """The location and the line of the step before, unless it threw."""
        self.is_implied = False
        """Whether the VM may have left that step out."""

    def step(self, here: tuple[int, int]) -> Iterator[tuple[str, Row]]:
        """The kinds of places that a step to a location and a line is at, with their rows."""
        for kind, one in KINDS.items():
            at = self.before if one.is_behind else here
            if not one.instructions or at is None:
                continue
            described = self.code[at[0]]
            is_there = at[0] + described.size * one.is_behind == here[0]
            if is_there and re.fullmatch(one.instructions, described.name):
                yield kind, (*self.method, at[1], getattr(described, _SAID.get(one.text, ""), ""))
        self.before = here

    def ends_where(self, ended: Frame) -> bool:
        """Whether an inner call of the same method ended where it returns to.

        HotSpot takes the step there for the same step, and reports it once.
        """
        if ended.method != self.method or self.before is None or ended.before is None:
            return False
        return self.before[0] + self.code[self.before[0]].size == ended.before[0]


def by_steps(events: Iterable[Row], codes: Codes) -> dict[str, list[Row]]:
    """What the VM's events say that happened at each kind of place: method, line, and what there.

    Args:
        events: rows of ``COLUMNS``, of a thread that was in none of the methods.
        codes: all methods of their classes.
    """
    found: dict[str, list[Row]] = {kind: [] for kind in KINDS}
    stack: list[Frame] = []
    for said, *names, location, line, is_thrown, exception in events:
        method = (names[0], names[1], names[2])
        if said == "MethodEntry":
            stack.append(Frame(method, codes[names[0]][names[1], names[2]]))
            found["entry"].append((*method, line, ""))
            continue
        frame = stack[-1]
        assert frame.method == method, (frame.method, method)
        steps: Iterable[tuple[str, Row]] = ()
        if said == "MethodExit":
            stack.pop()
            if is_thrown:
                found["unwind"].append((*method, 0, ""))
            elif stack and frame.before and stack[-1].ends_where(frame):
                steps = stack[-1].step(frame.before)
                stack[-1].is_implied = True
        elif said == "ExceptionCatch":
            frame.before = None
            found["catch"].append((*method, line, exception))
        elif said == "SingleStep":
            if not frame.is_implied or frame.before != (location, line):
                steps = frame.step((location, line))
            frame.is_implied = False
        elif frame.code[location].name == "athrow":
            found["throw"][-1] = (*method, line, exception)  # behind its step
        for kind, row in steps:
            found[kind].append(row)
    return found
