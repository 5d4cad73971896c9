"""Objects in local variables of a JVM that was attached to late.

The object of a variable is a root of the heap, which a walk visits with its frame and slot. Such a
walk sees no numbers, and cannot distinguish null from an object that compiled code has dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from jvmti.classfile import MalformedClassFile
from jvmti.classfile.slots import SEVERAL, types_of_slots
from jvmti.emulation.declared import Emulated, StandIn
from jvmti.emulation.natively import Native
from jvmti.emulation.threads import alive, check_suspended, named, still
from jvmti.env.structures import LocalVariableEntry
from jvmti.interface.capabilities import Capabilities
from jvmti.interface.errors import (
    AbsentInformation,
    IllegalArgument,
    InvalidSlot,
    NativeMethod,
    NoMoreFrames,
    OpaqueFrame,
    TypeMismatch,
    UnmodifiableClass,
)
from jvmti.interface.modifiers import MethodModifiers

if TYPE_CHECKING:
    from jvmti.emulation.emulated_vm import EmulatedVM
    from jvmti.env.environment import Env
    from jvmti.refs import Method, Object, Thread

_KINDS = {"object": "L", "int": "I", "long": "J", "float": "F", "double": "D"}
_NUMBERS = "numbers can be read only in a thread that has stopped at a probe"
_READ_ONLY = "variables can be written only in a thread that has stopped at a probe"
_REFUSED = {f"get_local_{kind}": _NUMBERS for kind in _KINDS if kind != "object"}
_REFUSED |= {f"set_local_{kind}": _READ_ONLY for kind in _KINDS}


class LocalObjectEngine:
    """Reads objects from variables of any frame."""

    name: ClassVar[str] = "objects on the stack"
    emulated: ClassVar[tuple[Emulated, ...]] = (
        Emulated(
            Capabilities.can_access_local_variables,
            (
                "get_local_object",
                "get_local_instance",
                "get_local_variable_table",
            ),
            differs={
                "get_local_object": "OPAQUE_FRAME if the variable is null, or if compiled code "
                "does not keep its object, which look the same; without a variable in scope it "
                "may tell what the slot held before",
                "get_local_instance": "OPAQUE_FRAME for native methods",
                "get_local_variable_table": "read from the class file: ABSENT_INFORMATION for "
                "hidden classes, and for methods whose class has been redefined",
            },
        ),
    )

    def __init__(self, vm: EmulatedVM) -> None:
        self._vm = vm

    @property
    def emulates(self) -> Capabilities:
        """The capability, once the VM is live."""
        return Capabilities(0) if self._vm.held else self.emulated[0].capability

    def released(self, env: Env, capabilities: Capabilities) -> None:
        """Nothing stays behind."""

    # ---- values ----------------------------------------------------------------------------

    def get_local_object(
        self, env: Env, thread: Thread | None, depth: int, slot: int
    ) -> Object | None:
        """The object in a slot.

        JVM TI: FollowReferences, GetObjectsWithTags.
        """
        with named("get_local_object"):
            found = self._still(env, thread)
            with still(found):
                self._check(found, depth, slot, "L")
                item: Object | None = self._objects(found, depth).get(slot)
            if item is None:
                raise OpaqueFrame(
                    detail=f"slot {slot} is null, or compiled code does not keep its object: an "
                    "agent that was attached late cannot distinguish these"
                )
            return item

    def get_local_instance(self, env: Env, thread: Thread | None, depth: int) -> Object | None:
        """The receiver of a frame's method; ``None`` if compiled code has dropped it.

        JVM TI: FollowReferences, GetObjectsWithTags.
        """
        with named("get_local_instance"):
            found = self._still(env, thread)
            with still(found):
                modifiers = self._frame(found, depth)[1]
                if modifiers & MethodModifiers.STATIC:
                    raise InvalidSlot(detail="a static method has no instance")
                if modifiers & MethodModifiers.NATIVE:
                    raise OpaqueFrame(
                        detail="an agent that was attached late sees no variables of native methods"
                    )
                return self._objects(found, depth).get(0)

    def _refuse(
        self, function: str, env: Env, thread: Thread | None, depth: int, slot: int
    ) -> None:
        """Raise the error of the arguments, or else that a heap walk cannot do it.

        Raises:
            OpaqueFrame: nothing else is wrong.
        """
        reads = function.startswith("get")
        with named(function):
            found = self._still(env, thread)
            with still(found):
                self._check(found, depth, slot, _KINDS[function.rpartition("_")[2]])
        raise OpaqueFrame(function=function, detail=_NUMBERS if reads else _READ_ONLY)

    # ---- names -----------------------------------------------------------------------------

    def get_local_variable_table(self, env: Env, method: Method) -> list[LocalVariableEntry]:
        """The variables of a method, from the class file.

        JVM TI: RetransformClasses, ClassFileLoadHook.
        """
        with named("get_local_variable_table"):
            native = Native(self._vm.lookup_env)
            if native.is_method_native(method):
                raise NativeMethod
            name, descriptor, _ = native.get_method_name(method)
            if native.is_method_obsolete(method):
                raise AbsentInformation(detail="the class file is that of a later version")
            cls: Any = native.get_method_declaring_class(method)
            try:
                info = cls.class_file.method(name, descriptor)
            except (UnmodifiableClass, MalformedClassFile, LookupError) as error:
                raise AbsentInformation(
                    detail=f"there is no class file to read: {error}"
                ) from error
            if info.code is None or "LocalVariableTable" not in info.code.attributes:
                raise AbsentInformation
            return [
                LocalVariableEntry(
                    one.start, one.length, one.name, one.descriptor, one.signature, one.slot
                )
                for one in info.code.local_variables
            ]

    # ---- frames ----------------------------------------------------------------------------

    def _still(self, env: Env, thread: Thread | None) -> Any:
        """The thread; a virtual one must be suspended or current, as the VM requires."""
        found = alive(env, thread)
        if thread is None or not found.is_virtual:
            return found
        check_suspended(self._vm.lookup_env, found)
        return found

    def _frame(self, thread: Any, depth: int) -> tuple[Any, int]:
        """The method of a frame, and its modifiers."""
        if depth < 0:
            raise IllegalArgument(detail=f"the depth is {depth}, not 0 or more")
        lookup = self._vm.lookup_env
        if depth >= lookup.get_frame_count(thread):
            raise NoMoreFrames
        method = lookup.get_frame_location(thread, depth).method
        return method, lookup.get_method_modifiers(method)

    def _check(self, thread: Any, depth: int, slot: int, kind: str) -> None:
        """Refuse a slot that has no variable of that type."""
        method, modifiers = self._frame(thread, depth)
        if modifiers & MethodModifiers.NATIVE:
            raise OpaqueFrame(detail="it is the frame of a native method")
        lookup = self._vm.lookup_env
        types = types_of_slots(
            lookup.get_bytecodes(method),
            lookup.get_method_name(method).signature,
            is_static=bool(modifiers & MethodModifiers.STATIC),
        )
        if slot not in types:
            raise InvalidSlot(detail=f"no variable begins at slot {slot}")
        if types[slot] not in (kind, SEVERAL):
            raise TypeMismatch(detail=f"slot {slot} holds type {types[slot]}")

    def _objects(self, thread: Any, depth: int) -> dict[int, Any]:
        found = self._vm._agent.local_objects(thread, depth)
        self._vm.emulation.stopped(found.stopped)
        objects = dict(zip(found.marks, found.objects, strict=True))
        numbers = list(found.places)
        return {
            slot: objects[mark]
            for mark, slot in zip(numbers[0::3], numbers[2::3], strict=True)
            if mark in objects
        }


def _refusing(function: str) -> StandIn:
    """A method for a function that cannot be emulated."""

    def method(
        self: LocalObjectEngine, env: Env, thread: Thread | None, depth: int, slot: int, *value: Any
    ) -> None:
        self._refuse(function, env, thread, depth, slot)

    method.__doc__ = f"Refuses, after the checks of `{function}`."
    return method


for _name in _REFUSED:
    setattr(LocalObjectEngine, _name, _refusing(_name))


__all__ = ["LocalObjectEngine"]
