"""The contents of a frame's slots, as far as an agent can know that was attached late.

A thread that has stopped at an event says it of its own frames (`Operations.frame_slots`): objects,
and whatever else there is as 64 bits.  Of other threads a walk of the heap finds the objects.

Where compiled code does not keep a variable, because the method does not read it again, the slot
has 0; also in the interpreter, once the VM has left compiled code for it.  So a 0, or a null, is
believed only where the code still reads the variable.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jvmti.classfile.liveness import is_read_again
from jvmti.interface.errors import JavaException, NotAvailable, ThreadNotSuspended
from jvmti.operations.agent import AgentOperations

if TYPE_CHECKING:
    from jvmti.emulation.emulated_vm import EmulatedVM
    from jvmti.operations.functions import FrameSlots

MISSING = object()
"""Stands for what a slot is not known to hold."""
_NUMBER, _NULL, _OBJECT = b"NnL"
_FORMATS = {"J": "<q", "F": "<f", "D": "<d"}


class Slots:
    """The contents of the slots of a frame.

    Args:
        found: what the thread has said; ``None`` where only objects are known.
        objects: the objects, by slot.
        code: gives the bytecodes of the frame's method.
        location: the frame's place in them.

    Attributes:
        objects: the objects, by slot.
    """

    def __init__(
        self,
        found: FrameSlots | None,
        objects: dict[int, Any],
        code: Callable[[], bytes],
        location: int,
    ) -> None:
        self._found = found
        self.objects = objects
        self._code: Callable[[], bytes] | bytes = code
        self._location = location

    @property
    def has_numbers(self) -> bool:
        """Whether the thread has said what they hold, numbers among them."""
        return self._found is not None

    def is_read_again(self, slot: int) -> bool:
        """Whether the code may still read a variable."""
        if not isinstance(self._code, bytes):
            self._code = self._code()
        return is_read_again(self._code, self._location, slot)

    def get(self, slot: int, signature: str) -> Any:
        """The value of a variable, as JNI has it, or `MISSING`.

        Args:
            slot: where it begins.
            signature: its type.
        """
        if len(signature) > 1:
            found = self.objects.get(slot, MISSING)
            return None if found is MISSING and self._is_null(slot) else found
        bits = self._bits(slot + (signature in "JD"))
        if bits is None or (bits == 0 and not self.is_read_again(slot)):
            return MISSING
        data = struct.pack("<q", bits)
        return struct.unpack_from(_FORMATS.get(signature, "<i"), data)[0]

    def _bits(self, slot: int) -> int | None:
        found = self._found
        if found is None or slot >= len(found.kinds) or found.kinds[slot] != _NUMBER:
            return None
        return found.numbers[slot]

    def _is_null(self, slot: int) -> bool:
        """Whether a slot holds null; compiled code may have taken an object apart, instead."""
        found = self._found
        return (
            found is not None
            and not found.compiled
            and slot < len(found.kinds)
            and found.kinds[slot] == _NULL
            and self.is_read_again(slot)
        )


def slots_at_event(
    vm: EmulatedVM, thread: Any, depth: int, code: Callable[[], bytes], location: int
) -> Slots | None:
    """The slots of a frame of the current thread, which is at an event.

    Args:
        vm: where it is.
        thread: the thread.
        depth: the frame, 0 for the most recent one of the VM.
        code: gives the bytecodes of the frame's method.
        location: its place in them.

    Returns:
        ``None`` for any other thread, and where the thread cannot run Java code.
    """
    if vm.lookup_env._session.conversation is None:
        return None
    agent = AgentOperations(vm.lookup_env._session, vm.lookup_env._number)
    try:
        found = agent.frame_slots(thread, depth)
    except (ThreadNotSuspended, NotAvailable, JavaException):
        return None
    at = [slot for slot, kind in enumerate(found.kinds) if kind == _OBJECT]
    objects = dict(zip(at, found.objects, strict=True))
    if found.compiled and _NULL in found.kinds:
        # Objects that compiled code has taken apart look like null; the walk brings them back.
        objects = objects_on_stack(vm, thread, depth) | objects
    return Slots(found, objects, code, location)


def objects_on_stack(vm: EmulatedVM, thread: Any, depth: int) -> dict[int, Any]:
    """The objects that a frame's variables refer to, by slot.

    A slot that is missing holds a number, null, or nothing that the VM keeps.

    Args:
        vm: where it is.
        thread: the thread, suspended or at an event.
        depth: the frame, 0 for the most recent one of the VM.

    JVM TI: FollowReferences, GetObjectsWithTags.
    """
    found = vm._agent.local_objects(thread, depth)
    vm.emulation.stopped(found.stopped)
    objects = dict(zip(found.marks, found.objects, strict=True))
    places = list(found.places)
    # An object may have gone since, where another agent made the thread run on.
    return {
        slot: objects[mark]
        for mark, slot in zip(places[0::3], places[2::3], strict=True)
        if mark in objects
    }


__all__ = ["MISSING", "Slots", "objects_on_stack", "slots_at_event"]
