"""Which thread holds which lock, which threads wait for it, and deadlocks.

Monitors come from JVM TI if the VM allows it. After a late attach, those of deadlocks are emulated,
for the threads that wait; others come from HotSpot's own thread dump, over the attach mechanism,
which stops no single thread. Locks of ``java.util.concurrent`` come from the objects
themselves: from ``Thread.parkBlocker`` to ``AbstractOwnableSynchronizer.exclusiveOwnerThread``.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jvmti import display
from jvmti.interface.capabilities import Capabilities
from jvmti.interface.constants import ThreadState
from jvmti.interface.errors import JavaException, JvmtiError, NotAvailable
from jvmti.interface.frozen import frozen
from jvmti.interface.signatures import java_name
from jvmti.target.errors import AttachError
from jvmti.target.hotspot import command
from jvmti.text.printable import escaped, escaped_lines

if TYPE_CHECKING:
    from jvmti.env.environment import Env
    from jvmti.model.threads.frames import Frame
    from jvmti.model.threads.java_thread import Thread, ThreadSnapshot
    from jvmti.model.vm import VM

log = logging.getLogger("jvmti")

_MONITORS = Capabilities.of("can_get_owned_monitor_info", "can_get_current_contended_monitor")

_HEAD = re.compile(r'"(?P<name>.*)" #(?P<id>\d+)\b')
_MONITOR = re.compile(
    r"\s*- (?P<what>locked|waiting to lock|waiting to re-lock in wait\(\)|waiting on|"
    r"eliminated) <(?P<key>0x[0-9a-f]+)> \(a (?P<cls>.+)\)"
)


@frozen
class Lock:
    """A monitor, or a lock of ``java.util.concurrent``."""

    #: ``monitor`` or ``synchronizer``.
    kind: str
    #: The class of the object.
    class_name: str
    #: The identity hash code of the object in hexadecimal digits, as Java prints it; or its
    #: address, valid in this snapshot only, if only the VM's own dump reports it.
    key: str

    @escaped
    def __str__(self) -> str:
        return f"{self.class_name}@{self.key}"


@dataclass
class ThreadLocks:
    """The locks that one thread holds and waits for."""

    #: The locks that it holds.
    owned: list[Lock] = field(default_factory=list)
    #: The lock that it waits to get, or the object that it is parked or waits on.
    waits_for: Lock | None = None
    #: The id of the thread that holds that.
    owner: int | None = None


@frozen
class LockSnapshot:
    """The locks of all threads at about one moment."""

    #: The locks that each thread holds and waits for, by its id.
    threads: dict[int, ThreadLocks]
    #: The source of the monitors: ``jvmti``, ``emulated`` (those that threads wait for), ``dump``,
    #: or empty if there was none.
    source: str
    #: Why the monitors are unknown, if they are.
    reason: str = ""

    def cycles(self) -> list[list[int]]:
        """The ids of threads that wait for each other in a circle."""
        found = []
        seen: set[int] = set()
        for start in self.threads:
            path: list[int] = []
            at: int | None = start
            while at is not None and at not in seen:
                seen.add(at)
                path.append(at)
                locks = self.threads.get(at)
                at = locks.owner if locks else None
            if at is not None and at in path:
                found.append(path[path.index(at) :])
        return found


@frozen
class Waiting:
    """A thread of a deadlock, and the lock that it waits for."""

    #: The thread.
    thread: Thread
    #: Its ``Thread.threadId``.
    id: int
    #: Its name.
    name: str
    #: The lock that it waits for.
    waits_for: Lock
    #: The thread that holds that, the next one of the circle.
    owner: Thread
    #: The name of that thread.
    owner_name: str
    #: Where it waits, the most recent frame first.
    frames: list[Frame]

    @escaped
    def __str__(self) -> str:
        return (
            f'"{self.name}" #{self.id} waits for {self.waits_for.kind} {self.waits_for}, held by '
            f'"{self.owner_name}"'
        )


@frozen
class Deadlock:
    """A deadlock: threads that wait for each other for ever."""

    #: The threads, each waiting for the next one, the last for the first.
    waiting: list[Waiting]

    @property
    def threads(self) -> list[Thread]:
        """The threads alone."""
        return [one.thread for one in self.waiting]

    @escaped
    def __repr__(self) -> str:
        return f"<Deadlock of {', '.join(one.name for one in self.waiting)}>"

    _repr_html_ = display.html

    @escaped_lines
    def __str__(self) -> str:
        lines = [f"{len(self.waiting)} threads wait for each other:"]
        for one in self.waiting:
            lines.append(f"    {one}")
            lines += [f"        at {frame}" for frame in one.frames]
        return "\n".join(lines)


class LockFinder:
    """Finds the locks of a VM's threads; keeps the environment for that."""

    def __init__(self, vm: VM) -> None:
        self._vm = vm
        self._env: Env | None = None
        with suppress(NotAvailable):
            self._env = vm.env_with(*_MONITORS.names(), emulated=False)
        self._fields: tuple[Any, Any, Any] | None = None

    def sample(
        self,
        threads: Sequence[ThreadSnapshot],
        timeout: float = 10.0,
        *,
        only_waiting: bool = False,
        contended: bool = False,
    ) -> LockSnapshot:
        """Find out which locks these threads hold and wait for.

        Args:
            threads: the threads.
            timeout: seconds that the VM's own dump may take where it is needed.
            only_waiting: look up monitors only if a thread waits to enter one.
            contended: those that threads wait for are enough; after a late attach they are
                emulated, and each thread that waits is suspended for a moment.
        """
        found = {thread.id: ThreadLocks() for thread in threads}
        source, reason = "jvmti", ""
        blocked = any(thread.state & ThreadState.BLOCKED_ON_MONITOR_ENTER for thread in threads)
        if only_waiting and not blocked:
            source = ""
        elif self._env is not None:
            self._monitors(self._env, threads, found)
        elif contended and self._contended(threads, found):
            source = "emulated"
        else:
            source, reason = self._dump(found, timeout)
        self._synchronizers(threads, found)
        return LockSnapshot(found, source, reason)

    def deadlocks(self, threads: Sequence[ThreadSnapshot], locks: LockSnapshot) -> list[list[int]]:
        """The circles that a second sample confirms.

        A sample is not one moment: threads move on while others are examined. A deadlock stays.
        """
        circles = locks.cycles()
        if not circles:
            return []
        wanted = {number for circle in circles for number in circle}
        again = self.sample([one for one in threads if one.id in wanted], contended=True)
        stand = {frozenset(circle) for circle in again.cycles()}
        return [circle for circle in circles if frozenset(circle) in stand]

    def found(self, timeout: float = 10.0) -> list[Deadlock]:
        """The deadlocks among all threads."""
        threads = self._vm.threads.snapshot()
        locks = self.sample(threads, timeout, contended=True)
        known = {thread.id: thread for thread in threads}
        found: list[Deadlock] = display.Rows()
        for circle in self.deadlocks(threads, locks):
            waiting = []
            for number in circle:
                its = locks.threads[number]
                assert its.waits_for is not None
                assert its.owner is not None
                one, owner = known[number], known[its.owner]
                waiting.append(
                    Waiting(
                        one.thread,
                        one.id,
                        one.name,
                        its.waits_for,
                        owner.thread,
                        owner.name,
                        one.frames,
                    )
                )
            found.append(Deadlock(waiting))
        return found

    # ---- monitors --------------------------------------------------------------------------

    def _monitors(
        self, env: Env, threads: Sequence[ThreadSnapshot], found: dict[int, ThreadLocks]
    ) -> None:
        handles = [thread.thread for thread in threads]
        owned = env.map.get_owned_monitor_info(handles)
        contended = env.map.get_current_contended_monitor(handles)
        objects: list[Any] = []
        rows: list[tuple[int, bool]] = []
        for at, thread in enumerate(threads):
            if not owned.status[at]:
                for monitor in owned.value[at]:
                    objects.append(monitor)
                    rows.append((thread.id, True))
            if not contended.status[at] and contended.value[at] is not None:
                objects.append(contended.value[at])
                rows.append((thread.id, False))
        locks = self._locks("monitor", objects)
        owners = {}
        for (number, owns), lock in zip(rows, locks, strict=True):
            if owns:
                if lock not in found[number].owned:
                    found[number].owned.append(lock)
                owners[lock] = number
            else:
                found[number].waits_for = lock
        for thread in threads:
            its = found[thread.id]
            # A thread in Object.wait waits to be notified, not for the owner.
            if thread.state & ThreadState.BLOCKED_ON_MONITOR_ENTER and its.waits_for:
                its.owner = owners.get(its.waits_for)

    def _contended(self, threads: Sequence[ThreadSnapshot], found: dict[int, ThreadLocks]) -> bool:
        """Find the monitors that threads wait for, and their owners; false if the VM refuses."""
        waiting = [one for one in threads if one.state & ThreadState.BLOCKED_ON_MONITOR_ENTER]
        try:
            env = self._vm.env_with("can_get_current_contended_monitor")
            handles = [one.thread for one in waiting]
            objects = env.map.get_current_contended_monitor(handles).check().value
        except JvmtiError as error:
            log.debug("the thread dump has to tell of monitors: %s", error)
            return False
        pairs = [(one, item) for one, item in zip(waiting, objects, strict=True) if item]
        ids = {one.thread: one.id for one in threads}
        usages = self._vm.lookup_env.map.get_object_monitor_usage([item for _, item in pairs])
        locks = self._locks("monitor", [item for _, item in pairs])
        for (one, _), lock, owner in zip(pairs, locks, list(usages.owner), strict=True):
            found[one.id].waits_for = lock
            found[one.id].owner = ids.get(owner)
            if owner in ids and lock not in found[ids[owner]].owned:
                found[ids[owner]].owned.append(lock)
        return True

    def _dump(self, found: dict[int, ThreadLocks], timeout: float) -> tuple[str, str]:
        try:
            text = command(self._vm.process, "threaddump", "-l", timeout=timeout)
        except AttachError as error:
            return "", f"{error}"
        current: ThreadLocks | None = None
        blocked: list[tuple[ThreadLocks, Lock]] = []
        owners: dict[str, int] = {}
        number = 0
        for line in text.splitlines():
            head = _HEAD.match(line)
            if head:
                number = int(head["id"])
                current = found.get(number)
                continue
            if current is None:
                continue
            monitor = _MONITOR.match(line)
            if monitor:
                what = monitor["what"]
                lock = Lock("monitor", monitor["cls"], monitor["key"])
                if what == "locked":
                    # The dump says so even of a monitor that the thread released in Object.wait.
                    if current.waits_for != lock and lock not in current.owned:
                        current.owned.append(lock)
                        owners[lock.key] = number
                elif what != "eliminated" and current.waits_for is None:
                    current.waits_for = lock
                    if what != "waiting on":
                        blocked.append((current, lock))
        for locks, lock in blocked:
            locks.owner = owners.get(lock.key)
        return "dump", ""

    # ---- locks of java.util.concurrent -----------------------------------------------------

    def _synchronizers(
        self, threads: Sequence[ThreadSnapshot], found: dict[int, ThreadLocks]
    ) -> None:
        parked = [thread for thread in threads if thread.state & ThreadState.PARKED]
        if not parked:
            return
        vm = self._vm
        if self._fields is None:
            jni = vm.jni
            thread_class = jni.find_class("java/lang/Thread")
            try:
                synchronizer = jni.find_class(
                    "java/util/concurrent/locks/AbstractOwnableSynchronizer"
                )
                self._fields = (
                    jni.get_field_id(thread_class, "parkBlocker", "Ljava/lang/Object;"),
                    synchronizer,
                    jni.get_field_id(synchronizer, "exclusiveOwnerThread", "Ljava/lang/Thread;"),
                )
            except JavaException:  # a class library of another kind
                return
        blocker_field, synchronizer, owner_field = self._fields
        blockers = list(
            vm.map.get_object_field([thread.thread for thread in parked], blocker_field).value
        )
        known = [
            (thread, blocker)
            for thread, blocker in zip(parked, blockers, strict=True)
            if blocker is not None
        ]
        if not known:
            return
        objects = [blocker for _, blocker in known]
        locks = self._locks("synchronizer", objects)
        ownable = vm.map.is_instance_of(objects, synchronizer).listed()
        owners: list[int | None] = [None] * len(known)
        rows = [at for at, flag in enumerate(ownable) if flag]
        if rows:
            holding = list(vm.map.get_object_field([objects[at] for at in rows], owner_field).value)
            held = [(at, one) for at, one in zip(rows, holding, strict=True) if one is not None]
            numbers = vm.threads.ids([one for _, one in held])
            for (at, _), number in zip(held, numbers, strict=True):
                owners[at] = number
        for (thread, _), lock, owner, flag in zip(known, locks, owners, ownable, strict=True):
            its = found[thread.id]
            its.waits_for = lock
            its.owner = owner
            if flag and owner is not None and owner in found and lock not in found[owner].owned:
                found[owner].owned.append(lock)

    def _locks(self, kind: str, objects: list[Any]) -> list[Lock]:
        if not objects:
            return []
        vm = self._vm
        classes = vm.map.get_object_class(objects)
        signatures = vm.env.map.get_class_signature(classes.value).signature
        # What Java prints after the `@`, so that it is the same in every sample and elsewhere.
        hashes = vm.env.map.get_object_hash_code(objects).listed()
        keys = [f"{one & 0xFFFFFFFF:x}" for one in hashes]
        return [
            Lock(kind, java_name(signature), key)
            for signature, key in zip(signatures, keys, strict=True)
        ]


def locks_of_stack(thread: Thread, frames: list[Frame]) -> dict[int, list[str]]:
    """The monitors that a platform thread holds and waits for, in words, by the depth of the frame.

    They come from the VM's own dump, so this needs no capability; frames are matched by number.
    Monitors without a known frame have depth -1.
    """
    if thread.is_virtual:
        return {}
    vm = thread._vm
    try:
        text = command(vm.process, "threaddump", timeout=vm._patience)
    except AttachError as error:
        return {-1: [f"its monitors are unknown: {error}"]}
    number = thread.id
    depth = -1
    inside = False
    found: dict[int, list[str]] = {}
    for line in text.splitlines():
        head = _HEAD.match(line)
        if head or not line.strip():
            if inside:
                break
            inside = head is not None and int(head["id"]) == number
        elif inside and line.strip().startswith("at "):
            depth += 1
        elif inside and line.strip().startswith("- "):
            found.setdefault(max(depth, 0), []).append(line.strip()[2:])
    if depth + 1 != len(frames):
        flat = [lock for locks in found.values() for lock in locks]
        return {-1: ["it has moved on meanwhile", *flat]} if flat else {}
    return found


__all__ = [
    "Deadlock",
    "Lock",
    "LockFinder",
    "ThreadLocks",
    "LockSnapshot",
    "Waiting",
    "locks_of_stack",
]
