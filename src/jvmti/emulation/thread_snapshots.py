"""Thread data from ``jdk.internal.vm.ThreadSnapshot``, from Java 25 on.

Its native method reports the objects that each frame has locked and what the thread waits for, of
platform and virtual threads, in a handshake with the thread alone.  It counts frames without the
hidden ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jvmti.env.structures import MonitorStackDepthInfo
from jvmti.interface.errors import JavaException, JvmtiError
from jvmti.interface.signatures import java_name

if TYPE_CHECKING:
    from jvmti.emulation.emulated_vm import EmulatedVM
    from jvmti.refs import Object

_SNAPSHOT = "jdk/internal/vm/ThreadSnapshot"
_LOCK = f"{_SNAPSHOT}$ThreadLock"
_BLOCKER = f"{_SNAPSHOT}$BlockerLockType"
_OWNED = f"{_SNAPSHOT}$OwnedLockType"
_ELEMENT = "java/lang/StackTraceElement"


class ThreadSnapshots:
    """Takes thread snapshots, if the class library has them."""

    def __init__(self, vm: EmulatedVM) -> None:
        self._vm = vm
        self._searched = False
        self._classes: dict[str, Any] = {}
        self._fields: dict[tuple[str, str], Any] = {}
        self._create: Any = None
        self._parked = -1
        self._locked = -1

    def owned(self, thread: Any) -> list[MonitorStackDepthInfo] | None:
        """The monitors that frames of a thread have locked, each once, the most recent first.

        ``None`` if this class library does not report them.
        """
        taken = self._take(thread)
        if taken is None:
            return None
        jni = self._vm.jni
        locks = self._get(taken, "locks", f"[L{_LOCK};")
        found: dict[Any, int] = {}
        waited = self._waited(taken)  # its frames locked that, and the wait has released it
        for index in range(jni.get_array_length(locks) if locks is not None else 0):
            lock = jni.get_object_array_element(locks, index)
            owned = self._get(lock, "obj", "Ljava/lang/Object;", _LOCK)
            kind = self._get(lock, "typeOrdinal", "I", _LOCK)
            if owned is None or owned == waited or kind != self._locked:
                continue
            depth = self._get(lock, "depth", "I", _LOCK)
            found[owned] = min(depth, found.get(owned, depth))
        depths = self._depths(thread, taken) if found else []
        return [
            MonitorStackDepthInfo(item, depths[depth] if depth < len(depths) else -1)
            for item, depth in sorted(found.items(), key=lambda one: one[1])
        ]

    def contended(self, thread: Any) -> Object | None:
        """The object whose monitor a thread waits for; ``None`` if it is not reported."""
        taken = self._take(thread)
        found: Object | None = None if taken is None else self._waited(taken)
        return found

    def _waited(self, taken: Any) -> Any:
        if self._get(taken, "blockerTypeOrdinal", "I") == self._parked:
            return None
        return self._get(taken, "blockerObject", "Ljava/lang/Object;")

    def _take(self, thread: Any) -> Any:
        if not self._searched:
            self._searched = True
            try:
                self._look_up()
            except (JavaException, JvmtiError):
                self._create = None  # another release of the class library: do without
        if self._create is None:
            return None
        return self._vm.jni.call_static_object_method(
            self._classes[_SNAPSHOT], self._create, [thread]
        )

    def _look_up(self) -> None:
        vm, jni = self._vm, self._vm.jni
        create = f"(Ljava/lang/Thread;)L{_SNAPSHOT};"
        for name in (_SNAPSHOT, _LOCK, _BLOCKER, _OWNED, _ELEMENT):
            self._classes[name] = vm.bootstrap_class(name)
        for cls, name, signature in (
            (_SNAPSHOT, "locks", f"[L{_LOCK};"),
            (_SNAPSHOT, "blockerObject", "Ljava/lang/Object;"),
            (_SNAPSHOT, "blockerTypeOrdinal", "I"),
            (_SNAPSHOT, "stackTrace", f"[L{_ELEMENT};"),
            (_LOCK, "depth", "I"),
            (_LOCK, "typeOrdinal", "I"),
            (_LOCK, "obj", "Ljava/lang/Object;"),
            (_ELEMENT, "declaringClass", "Ljava/lang/String;"),
            (_ELEMENT, "methodName", "Ljava/lang/String;"),
        ):
            self._fields[cls, name] = jni.get_field_id(self._classes[cls], name, signature)
        self._parked = self._ordinal(_BLOCKER, "PARK_BLOCKER")
        self._locked = self._ordinal(_OWNED, "LOCKED")
        self._create = jni.get_static_method_id(self._classes[_SNAPSHOT], "create", create)

    def _ordinal(self, cls: str, name: str) -> int:
        jni = self._vm.jni
        field = jni.get_static_field_id(self._classes[cls], name, f"L{cls};")
        constant: Any = jni.get_static_object_field(self._classes[cls], field)
        method = jni.get_method_id(self._vm.bootstrap_class("java/lang/Enum"), "ordinal", "()I")
        return jni.call_int_method(constant, method)

    def _get(self, item: Any, name: str, signature: str, cls: str = _SNAPSHOT) -> Any:
        jni, field = self._vm.jni, self._fields[cls, name]
        if signature == "I":
            return jni.get_int_field(item, field)
        return jni.get_object_field(item, field)

    def _depths(self, thread: Any, taken: Any) -> list[int]:
        """The depth in the stack of each frame of the snapshot, which leaves out hidden ones."""
        vm, jni = self._vm, self._vm.jni
        trace = self._get(taken, "stackTrace", f"[L{_ELEMENT};")
        frames = vm.lookup_env.get_stack_trace(thread, 0, 1 << 20)
        count = jni.get_array_length(trace)
        if count >= len(frames):
            return list(range(len(frames)))
        elements = [jni.get_object_array_element(trace, at) for at in range(count)]
        texts = [
            [
                jni.get_string_chars(one)
                for one in vm.map.get_object_field(elements, self._fields[_ELEMENT, name]).value
            ]
            for name in ("declaringClass", "methodName")
        ]
        methods = [frame.method for frame in frames]
        names = vm.lookup_env.map.get_method_name(methods).name
        classes = vm.lookup_env.map.get_method_declaring_class(methods).value
        signatures = vm.lookup_env.map.get_class_signature(classes).signature
        real = [
            (java_name(signature), name) for signature, name in zip(signatures, names, strict=True)
        ]
        found: list[int] = []
        at = 0
        for wanted in zip(*texts, strict=True):
            while at < len(real) and real[at] != wanted:
                at += 1
            found.append(at if at < len(real) else -1)
            at += 1
        return found


__all__ = ["ThreadSnapshots"]
