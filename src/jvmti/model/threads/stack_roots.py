"""Local variables in a JVM to which the agent was attached late.

JVM TI reads variables and their names with a capability that HotSpot grants only while it starts.
Three things are always available: the objects that frames refer to, because they are GC roots; all
that the frames of a thread hold that has stopped at an event, because it can walk its own stack;
and the class file, where the compiler wrote names and slots.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from jvmti.classfile import MalformedClassFile, instructions
from jvmti.emulation.slots import Slots, objects_on_stack, slots_at_event
from jvmti.interface.errors import JvmtiError
from jvmti.model.threads.suspension import Suspension

if TYPE_CHECKING:
    from jvmti.classfile import ClassFile
    from jvmti.classfile.structure import LocalVariable
    from jvmti.model.classes.java_class import Class, Method
    from jvmti.model.threads.frames import Frame


def slots_of(frame: Frame) -> Slots:
    """The contents of a frame's slots: objects, and at an event of its thread numbers, too.

    Native methods have no slots.  Any other thread is suspended for the moment, and the VM stopped
    for a part of it.

    Raises:
        FrameGone: the thread has moved on.

    JVM TI: FollowReferences, GetObjectsWithTags, where the thread does not walk its own stack.
    """
    vm, thread = frame._vm, frame.thread

    def code() -> bytes:
        return frame.method.bytecodes

    if vm._session.conversation is not None:
        depth = frame.find(vm.lookup_env)
        found = slots_at_event(vm, thread, depth, code, frame.location)
        if found is not None:
            return found
    with Suspension(vm, [thread]):
        depth = frame.find(vm.lookup_env)
        objects = objects_on_stack(vm, thread, depth)
    return Slots(None, objects, code, frame.location)


def variables_of(method: Method) -> list[LocalVariable]:
    """The variables of a method with their names, from the class file; none where it has none.

    The class file of the VM is read once for each class.  One that is for other code, as after a
    redefinition that the frame is older than, says nothing about this; one whose code has lost its
    probes, or has others since, does.

    JVM TI: GetBytecodes, and as for `Class.class_file`.
    """
    known = method._vm.methods.variables
    code = method.bytecodes
    if not _same(code, known.get(method._handle, _NOTHING)[0]):
        try:
            _read(method.declaring_class)
        except (JvmtiError, LookupError, MalformedClassFile):
            pass  # hidden, unloaded or changed meanwhile: it stays without names
        if not _same(code, known.get(method._handle, _NOTHING)[0]):
            known[method._handle] = (code, _of_earlier_probes(method, code))
    return known[method._handle][1]


_NOTHING: tuple[bytes, list[LocalVariable]] = (b"", [])


def _read(cls: Class) -> None:
    """Note the code and the variables of all methods of a class."""
    file: ClassFile = cls.class_file
    known = cls._vm.methods.variables
    for method in cls.methods:
        code = file.method(method.name, method.signature).code
        if code is not None:
            known[method._handle] = (code.bytecodes, code.local_variables)


def _of_earlier_probes(method: Method, code: bytes) -> list[LocalVariable]:
    """The variables of a method whose code has probes that its class has no longer; none where it
    is other code.

    Where lines begin, a variable is there or not as in the code without probes; one that begins
    within a line is there from the next one on.
    """
    try:
        file = method.declaring_class.class_file_before_probes
        before = file.method(method.name, method.signature).code
        lines = sorted((one.start_location, one.line_number) for one in method.lines)
    except (JvmtiError, LookupError, MalformedClassFile):
        return []
    if before is None:
        return []
    first = sorted(before.lines)
    if not first or [line for _, line in first] != [line for _, line in lines]:
        return []
    if not _is_within(before.bytecodes, code):
        return []
    starts = [start for start, _ in first] + [len(before.bytecodes)]
    places = [start for start, _ in lines] + [len(code)]

    def place(index: int) -> int:
        return places[bisect.bisect_left(starts, index)] if index else 0

    return [
        one._replace(
            start=place(one.start), length=place(one.start + one.length) - place(one.start)
        )
        for one in before.local_variables
    ]


def _is_within(code: bytes, probed: bytes) -> bool:
    """Whether the instructions of code are among others in the same order, as if these had been put
    between them.
    """
    names = iter(_names(probed))
    return all(name in names for name in _names(code))  # each search goes on where one has ended


def _names(code: bytes) -> Iterator[str]:
    # A jump, or the number of a constant, may have become wide.
    return (one.name.removesuffix("_w") for one in instructions(code))


def _same(code: bytes, other: bytes) -> bool:
    """Whether code is the same but for the numbers of constants, which a redefinition changes."""
    return code == other or (
        len(code) == len(other)
        and [replace(one, constant=None) for one in instructions(code)]
        == [replace(one, constant=None) for one in instructions(other)]
    )


__all__ = ["slots_of", "variables_of"]
