"""The monitors that a platform thread has locked, as ``ThreadMXBean`` has them: without objects.

It names class, identity hash code and depth of each, so it knows of an object that compiled code
keeps in no variable.  It needs the module ``java.management``, which not every runtime has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from jvmti.deferred import numpy
from jvmti.interface.errors import JavaException, JvmtiError

if TYPE_CHECKING:
    from jvmti.emulation.emulated_vm import EmulatedVM

_INFO = "java/lang/management/ThreadInfo"
_MONITOR = "java/lang/management/MonitorInfo"
_LOCK = "java/lang/management/LockInfo"
_HELPER = "sun/management/ManagementFactoryHelper"
_THREADS = "sun/management/ThreadImpl"


class Locked(NamedTuple):
    """A monitor that a frame has locked."""

    class_name: str
    """The class of its object, as ``Class.getName`` has it."""
    hash_code: int
    """The identity hash code of its object."""
    depth: int
    """The depth of the frame."""


class ThreadInfos:
    """Asks for them, where the class library has them."""

    def __init__(self, vm: EmulatedVM) -> None:
        self._vm = vm
        self._dump: Any = None
        self._fields: dict[str, Any] = {}
        self._is_looked_up = False

    def locked(self, thread: Any) -> list[Locked] | None:
        """The monitors of a thread, the most recent frame first; ``None`` without the module."""
        if not self._is_looked_up:
            self._is_looked_up = True
            try:
                self._look_up()
            except (JavaException, JvmtiError):
                self._dump = None  # a runtime without the module, or of another kind
        if self._dump is None:
            return None
        vm, jni = self._vm, self._vm.jni
        ids: Any = jni.new_long_array(1)
        jni.set_long_array_region(ids, 0, numpy.array([thread.id], "<i8"))
        infos: Any = jni.call_static_object_method(
            vm.bootstrap_class(_THREADS), self._dump, [ids, True, False, 0x7FFF_FFFF]
        )
        info: Any = jni.get_object_array_element(infos, 0)
        if info is None:
            return None
        monitors: Any = jni.get_object_field(info, self._fields["lockedMonitors"])
        found = []
        for index in range(jni.get_array_length(monitors)):
            one: Any = jni.get_object_array_element(monitors, index)
            name: Any = jni.get_object_field(one, self._fields["className"])
            found.append(
                Locked(
                    jni.get_string_chars(name),
                    jni.get_int_field(one, self._fields["identityHashCode"]),
                    jni.get_int_field(one, self._fields["stackDepth"]),
                )
            )
        return found

    def _look_up(self) -> None:
        vm, jni = self._vm, self._vm.jni
        fields = (
            (_INFO, "lockedMonitors", f"[L{_MONITOR};"),
            (_MONITOR, "stackDepth", "I"),
            (_LOCK, "className", "Ljava/lang/String;"),
            (_LOCK, "identityHashCode", "I"),
        )
        for cls, name, signature in fields:
            self._fields[name] = jni.get_field_id(vm.bootstrap_class(cls), name, signature)
        # Naming a method initializes the class, which loads the library of the native method.
        jni.get_static_method_id(
            vm.bootstrap_class(_HELPER), "getThreadMXBean", "()Ljava/lang/management/ThreadMXBean;"
        )
        self._dump = jni.get_static_method_id(
            vm.bootstrap_class(_THREADS), "dumpThreads0", f"([JZZI)[L{_INFO};"
        )


__all__ = ["Locked", "ThreadInfos"]
