"""Local variables of a JVM that was attached to late, which can be read and not written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from jvmti.classfile import MalformedClassFile
from jvmti.classfile.slots import SEVERAL, types_of_slots
from jvmti.emulation.declared import Emulated, StandIn
from jvmti.emulation.natively import Native
from jvmti.emulation.slots import MISSING, Slots, objects_on_stack, slots_at_event
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
_NUMBERS = "numbers can be read only in the thread of the event that is being handled"
_READ_ONLY = "variables can be written only in a thread that has stopped at a probe"
_NOT_KEPT = "it is {zero}, or compiled code does not keep it: the two look the same"
_ONLY_CURRENT = (
    "OPAQUE_FRAME if the thread is not that of the event that is being handled; or if the variable "
    "is 0 and not read again, or compiled code does not keep it for that, which look the same"
)
_GETTERS = tuple(f"get_local_{kind}" for kind in _KINDS if kind != "object")


class LocalsEngine:
    """Reads variables of any frame of the current thread, and objects from any other thread's."""

    name: ClassVar[str] = "live frames and objects on the stack"
    emulated: ClassVar[tuple[Emulated, ...]] = (
        Emulated(
            Capabilities.can_access_local_variables,
            (
                "get_local_object",
                *_GETTERS,
                "get_local_instance",
                "get_local_variable_table",
            ),
            differs={
                **dict.fromkeys(_GETTERS, _ONLY_CURRENT),
                "get_local_object": "OPAQUE_FRAME if the variable is null, or if compiled code "
                "does not keep its object, which look the same; a null of an interpreted frame of "
                "the current thread is one if the code reads it again; without a variable in scope "
                "it may tell what the slot held before",
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
            item: Object | None = self._read(env, thread, depth, slot, "Ljava/lang/Object;")
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
                return self._slots(found, depth).objects.get(0)

    def _read(self, env: Env, thread: Thread | None, depth: int, slot: int, signature: str) -> Any:
        """The value of a variable.

        Raises:
            OpaqueFrame: it is not known.
        """
        found = self._still(env, thread)
        with still(found):
            self._check(found, depth, slot, signature[0])
            slots = self._slots(found, depth)
        value = slots.get(slot, signature)
        if value is not MISSING:
            return value
        if len(signature) == 1 and not slots.has_numbers:
            raise OpaqueFrame(detail=_NUMBERS)
        zero = "0" if len(signature) == 1 else "null"
        raise OpaqueFrame(detail=f"slot {slot}: {_NOT_KEPT.format(zero=zero)}")

    def _refuse(
        self, function: str, env: Env, thread: Thread | None, depth: int, slot: int
    ) -> None:
        """Raise the error of the arguments, or else that a variable cannot be written.

        Raises:
            OpaqueFrame: nothing else is wrong.
        """
        with named(function):
            found = self._still(env, thread)
            with still(found):
                self._check(found, depth, slot, _KINDS[function.rpartition("_")[2]])
        raise OpaqueFrame(function=function, detail=_READ_ONLY)

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

    def _slots(self, thread: Any, depth: int) -> Slots:
        lookup = self._vm.lookup_env
        place = lookup.get_frame_location(thread, depth)

        def code() -> bytes:
            return lookup.get_bytecodes(place.method)

        found = slots_at_event(self._vm, thread, depth, code, place.location)
        if found is not None:
            return found
        return Slots(None, objects_on_stack(self._vm, thread, depth), code, place.location)


def _reading(kind: str) -> StandIn:
    function = f"get_local_{kind}"

    def method(self: LocalsEngine, env: Env, thread: Thread | None, depth: int, slot: int) -> Any:
        with named(function):
            return self._read(env, thread, depth, slot, _KINDS[kind])

    method.__doc__ = f"The {kind} in a slot."
    return method


def _refusing(function: str) -> StandIn:
    """A method for a function that cannot be emulated."""

    def method(
        self: LocalsEngine, env: Env, thread: Thread | None, depth: int, slot: int, *value: Any
    ) -> None:
        self._refuse(function, env, thread, depth, slot)

    method.__doc__ = f"Refuses, after the checks of `{function}`."
    return method


for _kind in _KINDS:
    if _kind != "object":
        setattr(LocalsEngine, f"get_local_{_kind}", _reading(_kind))
    setattr(LocalsEngine, f"set_local_{_kind}", _refusing(f"set_local_{_kind}"))


__all__ = ["LocalsEngine"]
