"""Monitors that a thread owns or waits for, in a JVM that was attached to late.

A thread's stack refers to the objects that it has locked, or it could not unlock them. The
variables of frames are roots of the heap, which a walk visits; ``GetObjectMonitorUsage`` reports
the owner of each object. The bytecodes show which frame has locked it.  From Java 25 on the VM has
all that in one call, which also knows virtual threads.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from jvmti.classfile import MalformedClassFile
from jvmti.classfile.monitors import UNKNOWN, entered
from jvmti.emulation.declared import Emulated
from jvmti.emulation.thread_infos import Locked, ThreadInfos
from jvmti.emulation.thread_snapshots import ThreadSnapshots
from jvmti.emulation.threads import alive, named, still
from jvmti.env.structures import MonitorStackDepthInfo
from jvmti.interface.capabilities import Capabilities
from jvmti.interface.constants import ThreadState
from jvmti.interface.errors import JvmtiError, NotAvailable, PauseTooLong
from jvmti.interface.modifiers import MethodModifiers

if TYPE_CHECKING:
    from jvmti.emulation.emulated_vm import EmulatedVM
    from jvmti.env.environment import Env
    from jvmti.refs import Object, Thread

log = logging.getLogger("jvmti")

_NO_FRAME = -1
_RECEIVER = 0
_WAITS = ThreadState.BLOCKED_ON_MONITOR_ENTER | ThreadState.IN_OBJECT_WAIT

_SEARCH_PAUSE = 0.1
"""Seconds that the VM may be stopped to look for an object that no variable refers to."""

_LOST = (
    "a monitor is missed if native code has entered it and keeps no local reference; up to Java "
    "24, if compiled code of a synchronized method keeps its receiver in no variable, and the "
    "thread is virtual, or the runtime has no module java.management, or finding the object in the "
    "heap would take longer than 0.1 s"
)
_FROM_CODE = "the bytecodes of its methods say which frame has locked a monitor"


class _Candidate(NamedTuple):
    """An object that a thread's stack refers to."""

    item: Any
    places: list[tuple[int, int]]
    """Frames and slots that refer to it."""


class MonitorEngine:
    """Finds monitors by what refers to their objects."""

    name: ClassVar[str] = "objects on the stack, and who owns their monitors"
    emulated: ClassVar[tuple[Emulated, ...]] = (
        Emulated(
            Capabilities.can_get_owned_monitor_info,
            ("get_owned_monitor_info",),
            differs={"get_owned_monitor_info": _LOST},
        ),
        Emulated(
            Capabilities.can_get_owned_monitor_stack_depth_info,
            ("get_owned_monitor_stack_depth_info",),
            differs={"get_owned_monitor_stack_depth_info": f"{_LOST}; {_FROM_CODE}"},
        ),
        Emulated(
            Capabilities.can_get_current_contended_monitor,
            ("get_current_contended_monitor",),
            differs={
                "get_current_contended_monitor": "NOT_AVAILABLE if no frame of the thread refers "
                "to the object"
            },
        ),
    )

    def __init__(self, vm: EmulatedVM) -> None:
        self._vm = vm
        self._snapshots = ThreadSnapshots(vm)
        self._infos = ThreadInfos(vm)

    @property
    def emulates(self) -> Capabilities:
        """All of it, once the VM is live."""
        if self._vm.held:
            return Capabilities(0)
        return Capabilities.of(*(one.capability for one in self.emulated))

    def released(self, env: Env, capabilities: Capabilities) -> None:
        """Nothing stays behind."""

    # ---- the functions ---------------------------------------------------------------------

    def get_owned_monitor_info(self, env: Env, thread: Thread | None) -> list[Object]:
        """The objects whose monitors a thread owns.

        JVM TI: FollowReferences, GetObjectMonitorUsage.
        """
        with named("get_owned_monitor_info"):
            return [one.monitor for one in self._owned(env, thread)]

    def get_owned_monitor_stack_depth_info(
        self, env: Env, thread: Thread | None
    ) -> list[MonitorStackDepthInfo]:
        """The same with the depth of the most recent frame that has locked each.

        JVM TI: FollowReferences, GetObjectMonitorUsage, GetBytecodes.
        """
        with named("get_owned_monitor_stack_depth_info"):
            return self._owned(env, thread)

    def get_current_contended_monitor(self, env: Env, thread: Thread | None) -> Object | None:
        """The object whose monitor a thread waits for.

        JVM TI: FollowReferences, GetObjectMonitorUsage.
        """
        with named("get_current_contended_monitor"):
            found = alive(env, thread)
            lookup = self._vm.lookup_env
            if not lookup.get_thread_state(found) & _WAITS:
                return None
            with still(found):
                if not lookup.get_thread_state(found) & _WAITS:
                    return None
                return self._contended(found)

    # ---- finding them ----------------------------------------------------------------------

    def _owned(self, env: Env, thread: Thread | None) -> list[MonitorStackDepthInfo]:
        found = alive(env, thread)
        with still(found):
            known = self._snapshots.owned(found)
            if known is None:
                return self._owned_by_stack(found)
            if (waited := self._waited(found)) is not None:
                # Its frames have locked that, and the wait has released it.
                known = [one for one in known if one.monitor != waited]
            if found.is_virtual:
                return known
            if not self._may_have_entered(found, thread is None):
                return known
            mine = {one.monitor for one in known}
            native = [
                one
                for one in self._owned_of(found, self._candidates(found, only_native=True))
                if one.item not in mine
            ]
        return known + [MonitorStackDepthInfo(one.item, _NO_FRAME) for one in native]

    def _may_have_entered(self, thread: Any, is_current: bool) -> bool:
        """Whether native code may have entered a monitor: that of the program, or this package's.

        Native methods of the class library do not stay inside with a monitor of theirs.
        """
        lookup = self._vm.lookup_env
        frames = lookup.get_stack_trace(thread, 0, 1 << 20)
        if is_current or not frames:
            return True
        native = list({frame.method for frame in frames if frame.location == -1})
        if not native:
            return False
        classes = lookup.map.get_method_declaring_class(native).value
        return any(one is not None for one in lookup.map.get_class_loader(classes).value)

    def _owned_by_stack(self, thread: Any) -> list[MonitorStackDepthInfo]:
        frames = self._vm.lookup_env.get_stack_trace(thread, 0, 1 << 20)
        candidates = self._candidates(thread)
        stack = _Locks(self._vm, frames)
        candidates += stack.classes({one.item for one in candidates})
        owned = self._owned_of(thread, candidates)
        if stack.has_lost(candidates) and not thread.is_virtual:
            exact = self._infos.locked(thread)
            if exact is not None:
                return self._found(exact, owned)
        return stack.located(owned)

    def _found(self, exact: list[Locked], owned: list[_Candidate]) -> list[MonitorStackDepthInfo]:
        """The VM's report, which lacks objects, with the objects."""
        hashes = self._vm.lookup_env.map.get_object_hash_code([one.item for one in owned])
        known = dict(zip(hashes.listed(), [one.item for one in owned], strict=True))
        found: dict[int, MonitorStackDepthInfo] = {}
        for one in exact:
            item = known.get(one.hash_code) or self._search(one.class_name, one.hash_code)
            if item is not None:
                found.setdefault(one.hash_code, MonitorStackDepthInfo(item, one.depth))
        rest = [MonitorStackDepthInfo(known[code], _NO_FRAME) for code in known.keys() - found]
        return [*found.values(), *rest]

    def _search(self, class_name: str, hash_code: int) -> Any:
        """The object of a class with an identity hash code; ``None`` if there is none, or no time.

        JVM TI: FollowReferences, GetObjectHashCode.
        """
        for cls in self._vm.classes(class_name):
            try:
                items = self._vm.heap.instances(cls, max_pause=_SEARCH_PAUSE)
            except PauseTooLong as refused:
                log.warning("a monitor of class %s is left out: %s", class_name, refused)
                return None
            hashes = self._vm.lookup_env.map.get_object_hash_code(items)
            for item, code in zip(items, hashes.listed(), strict=True):
                if code == hash_code:
                    return item
        return None

    def _waited(self, thread: Any) -> Any:
        """The object that a thread waits for in ``Object.wait``; ``None`` if it is not waiting
        there."""
        if not self._vm.lookup_env.get_thread_state(thread) & ThreadState.IN_OBJECT_WAIT:
            return None
        try:
            return self._contended(thread)
        except NotAvailable:
            return None  # no frame refers to it, so none is known to have locked it

    def _receiver_of_wait(self, thread: Any) -> Object | None:
        """The receiver of the frames of ``Object.wait`` at the top of a stack."""
        lookup = self._vm.lookup_env
        methods = [one.method for one in lookup.get_stack_trace(thread, 0, 3)]
        names = lookup.map.get_method_name(methods).name
        waits = {at for at, name in enumerate(names) if name in ("wait", "wait0")}
        for one in self._candidates(thread):
            if any(depth in waits and slot == _RECEIVER for depth, slot in one.places):
                item: Object = one.item
                return item
        return None

    def _contended(self, thread: Any) -> Object | None:
        found = self._snapshots.contended(thread)
        if found is not None:
            return found
        candidates = self._candidates(thread)
        top = self._vm.lookup_env.get_stack_trace(thread, 0, 1)
        candidates += _Locks(self._vm, top).classes({one.item for one in candidates})
        for one, usage in zip(candidates, self._usages(candidates), strict=True):
            if usage is not None and thread in (*usage.waiters, *usage.notify_waiters):
                item: Object = one.item
                return item
        found = self._receiver_of_wait(thread)
        if found is not None:
            return found
        raise NotAvailable(
            detail="no frame of the thread refers to the object that it waits for: compiled or "
            "native code has the only reference"
        )

    def _candidates(self, thread: Any, *, only_native: bool = False) -> list[_Candidate]:
        """The objects that the thread's frames refer to, and what its native code does."""
        found = self._vm._agent.local_objects(thread, -1)
        self._vm.emulation.stopped(found.stopped)
        places: dict[int, list[tuple[int, int]]] = {}
        numbers = list(found.places)
        for mark, depth, slot in zip(numbers[0::3], numbers[1::3], numbers[2::3], strict=True):
            if not only_native or slot < 0:
                places.setdefault(mark, []).append((depth, slot))
        return [
            _Candidate(item, places[mark])
            for item, mark in zip(found.objects, found.marks, strict=True)
            if mark in places
        ]

    def _owned_of(self, thread: Any, candidates: list[_Candidate]) -> list[_Candidate]:
        usages = self._usages(candidates)
        owners = {thread, thread.carrier} - {None}
        return [
            one
            for one, usage in zip(candidates, usages, strict=True)
            if usage is not None and usage.owner in owners
        ]

    def _usages(self, candidates: list[_Candidate]) -> list[Any]:
        """The users of each monitor; ``None`` for an object that is gone."""
        with self._vm.lookup_env.batch() as batch:
            pending = [batch.get_object_monitor_usage(one.item) for one in candidates]
        found: list[Any] = []
        for one in pending:
            try:
                found.append(one.result())
            except JvmtiError:
                found.append(None)  # collected meanwhile: nobody has it locked
        return found


class _Locks:
    """The monitors that the frames of a stack have locked, by their code."""

    def __init__(self, vm: EmulatedVM, frames: list[Any]) -> None:
        self._vm = vm
        self._frames = frames
        self._synchronized: dict[int, Any] = {}
        """Frames of synchronized methods: the class for a static one, else ``None``."""
        methods = list(dict.fromkeys(frame.method for frame in frames))
        modifiers = vm.lookup_env.map.get_method_modifiers(methods) if methods else None
        flags = dict(zip(methods, modifiers.listed(), strict=True)) if modifiers else {}
        for depth, frame in enumerate(frames):
            flag = flags[frame.method]
            if not flag & MethodModifiers.SYNCHRONIZED:
                continue
            owner = None
            if flag & MethodModifiers.STATIC:
                owner = vm.lookup_env.get_method_declaring_class(frame.method)
            self._synchronized[depth] = owner

    def has_lost(self, candidates: list[_Candidate]) -> bool:
        """Whether a synchronized method has a receiver that no variable of its frame refers to."""
        found = {depth for one in candidates for depth, slot in one.places if slot == _RECEIVER}
        return any(cls is None and at not in found for at, cls in self._synchronized.items())

    def classes(self, known: set[Any]) -> list[_Candidate]:
        """The classes that static synchronized methods lock, without known ones."""
        found = {one for one in self._synchronized.values() if one is not None} - known
        return [_Candidate(one, []) for one in found]

    def located(self, owned: list[_Candidate]) -> list[MonitorStackDepthInfo]:
        """Each with the depth of the most recent frame that has locked it."""
        depths: dict[int, int] = {}
        free = {depth for depth, cls in self._synchronized.items() if cls is None}
        for number, one in enumerate(owned):
            receiving = {depth for depth, slot in one.places if slot == _RECEIVER}
            free -= receiving
            found = {
                depth
                for depth, cls in self._synchronized.items()
                if cls == one.item or (cls is None and depth in receiving)
            }
            found |= {
                depth
                for depth in {depth for depth, slot in one.places if slot >= 0}
                if self._locks(depth, [slot for at, slot in one.places if at == depth])
            }
            if found:
                depths[number] = min(found)
        for number, one in enumerate(owned):
            # Compiled code of a synchronized method may have dropped its receiver.
            if number not in depths and free and any(slot >= 0 for _, slot in one.places):
                depths[number] = min(free)
                free.discard(depths[number])
        found_all = [
            MonitorStackDepthInfo(one.item, depths.get(number, _NO_FRAME))
            for number, one in enumerate(owned)
        ]
        return sorted(found_all, key=lambda one: one.stack_depth & 0xFFFF_FFFF)

    def _locks(self, depth: int, slots: list[int]) -> bool:
        """Whether a frame has locked what is in one of these slots."""
        frame = self._frames[depth]
        try:
            code = self._vm.lookup_env.get_bytecodes(frame.method)
            held = entered(code, frame.location)
        except (JvmtiError, MalformedClassFile):
            return False  # a native method, or one that is gone: it has no bytecodes
        return UNKNOWN in held or not {*slots}.isdisjoint(held)


__all__ = ["MonitorEngine"]
