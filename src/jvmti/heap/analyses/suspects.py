"""Objects that the VM's own mechanisms hold: thread-local variables, queues, direct buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy

from jvmti.heap.errors import NoSuchClass
from jvmti.heap.library import NONE
from jvmti.heap.objects import Object, Objects

if TYPE_CHECKING:
    from jvmti.heap.snapshot import Snapshot

__all__ = [
    "DirectBuffers",
    "ThreadLocalValue",
    "direct_buffers",
    "finalizer_queue",
    "reference_queues",
    "thread_locals",
]


class ThreadLocalValue(NamedTuple):
    """The value of a thread-local variable.

    Attributes:
        thread: the ``java.lang.Thread``.
        variable: the ``ThreadLocal``; ``None`` if it was collected and its value remains.
        value: the value.
        retained: bytes that the value retains.
    """

    thread: Object
    variable: Object | None
    value: Object
    retained: int


class DirectBuffers(NamedTuple):
    """Buffers outside the heap.

    Attributes:
        objects: the ``java.nio.DirectByteBuffer`` objects that own memory, largest first.
        capacities: bytes of each.
    """

    objects: Objects
    capacities: numpy.ndarray[tuple[int], numpy.dtype[numpy.int64]]

    @property
    def total(self) -> int:
        """Bytes of all of them."""
        return int(self.capacities.sum())


def thread_locals(snapshot: Snapshot) -> list[ThreadLocalValue]:
    """The values of thread-local variables, those that retain most first."""
    found = []
    for thread in snapshot.threads:
        for field in ("threadLocals", "inheritableThreadLocals"):
            if thread.object.cls.field(field) is None:
                continue
            table = thread.object[field]
            entries = None if table is None else table["table"]
            for entry in () if entries is None else entries.references:
                assert entry is not None
                # The table's class may be the first thing that an array refers to.
                if entry.as_class is not None or entry["value"] is None:
                    continue
                value = entry["value"]
                found.append(
                    ThreadLocalValue(thread.object, entry["referent"], value, value.retained)
                )
    return sorted(found, key=lambda one: one.retained, reverse=True)


def finalizer_queue(snapshot: Snapshot) -> Objects:
    """Objects that wait for their finalizer: the thread that runs finalizers does not keep up."""
    finalizers = _objects(snapshot, "java.lang.ref.Finalizer")
    if not len(finalizers):
        return finalizers
    # The VM takes the reference out of its own queue when it has been enqueued.
    queues = finalizers["queue"]
    waiting: Objects = finalizers[_is_enqueued_marker(queues)]
    if not len(waiting):
        return waiting
    referents: Objects = waiting["referent"]
    return referents.present()


def reference_queues(snapshot: Snapshot) -> dict[Object, int]:
    """Reference queues with the number of references that wait in each."""
    found: dict[Object, int] = {}
    queues = _objects(snapshot, "java.lang.ref.ReferenceQueue", subclasses=True)
    for queue in queues:
        assert queue is not None
        if queue.cls.field("queueLength") is None:
            continue
        length = int(queue["queueLength"])
        if length > 0:
            found[queue] = length
    return dict(sorted(found.items(), key=lambda item: item[1], reverse=True))


def direct_buffers(snapshot: Snapshot) -> DirectBuffers:
    """Direct buffers that own memory, without views of others."""
    buffers = _objects(snapshot, "java.nio.DirectByteBuffer", subclasses=True)
    if len(buffers):
        owns = buffers["cleaner"].indices != NONE
        # Those that channels keep for each thread have had no cleaner since Java 25, because they
        # no longer count against the limit of direct memory.
        caches = _objects(snapshot, "sun.nio.ch.Util$BufferCache")
        if len(caches):
            _, buffers_held = caches["buffers"].elements()
            owns |= snapshot._mask(buffers_held)[buffers.indices]
        buffers = buffers[owns]
    if not len(buffers):
        return DirectBuffers(buffers, numpy.zeros(0, numpy.int64))
    capacities = numpy.asarray(buffers["capacity"]).astype(numpy.int64)
    order = numpy.argsort(capacities)[::-1]
    return DirectBuffers(buffers[order], capacities[order])


def _objects(snapshot: Snapshot, name: str, *, subclasses: bool = False) -> Objects:
    try:
        return snapshot.objects(name, subclasses=subclasses)
    except NoSuchClass:
        return Objects(snapshot, numpy.zeros(0, numpy.uint32))


def _is_enqueued_marker(queues: Objects) -> numpy.ndarray[tuple[int], numpy.dtype[numpy.bool_]]:
    """Which queues are the marker ``ReferenceQueue.ENQUEUED``."""
    snapshot = queues._snapshot
    for cls in snapshot.classes["java.lang.ref.ReferenceQueue"]:
        for field in cls.fields:
            if field.static and field.name == "ENQUEUED":
                marker = cls["ENQUEUED"]
                if marker is not None:
                    return numpy.asarray(queues.indices == marker.index)
    return numpy.zeros(len(queues), numpy.bool_)
