"""A snapshot of a running VM, whose objects can be found in the VM again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jvmti.heap.snapshot import Snapshot

if TYPE_CHECKING:
    from jvmti.heap.objects import Object, Objects
    from jvmti.liveheap.live_objects import LiveObjects
    from jvmti.liveheap.passes import Progress
    from jvmti.liveheap.scan import LiveRows

__all__ = ["LiveSnapshot"]


class LiveSnapshot(Snapshot):
    """The result of ``vm.heap.snapshot``; otherwise like the snapshot of a file."""

    _live: LiveObjects

    def live(
        self,
        objects: Object | Objects,
        *,
        content: bool = False,
        timeout: float | None = 60.0,
        progress: Progress | None = None,
    ) -> LiveRows:
        """The live objects of the VM for objects of this snapshot, if it was just taken.

        Objects that classes and threads lead to are found along those references, without stopping
        the program; each step must reach an object of the same class and length. For objects that
        only stacks or JNI hold, for unreachable ones, and for those whose references have changed,
        a pass over the heap takes the object at the same position among those of its class, if it
        has the same length. A pass stops the program for about 50 ms per million objects, and finds
        20,000 of them. New objects and collections change these positions: `LiveRows.coverage` is
        the share that was found, and `LiveRows.collections` the number of collections. Objects of
        class names that several loaders have, and classes themselves, are not found.

        With `content` they must also have the contents of the snapshot: text, the elements of a
        primitive array, primitive fields. If a reference leads to an object with other contents,
        the pass looks for it as well, because another object may have replaced it;
        `LiveRows.changed` has the rows for which only other contents were found. Contents are read
        as columns, in some twenty messages and one for each 8 MB.

        Args:
            objects: some of the snapshot.
            content: whether contents must be equal, too.
            timeout: seconds after which the passes end.
            progress: called now and then with the number of objects done.

        Raises:
            TypeError: they are not objects of a snapshot.
            ValueError: the objects are of another snapshot.
            PassOverran: the passes overran the timeout.
            SessionClosed: the session of the snapshot is closed.

        JVM TI and JNI: GetObjectField and similar; IterateThroughHeap; with `content`
        GetStringRegion, GetIntArrayRegion, GetIntField and similar.
        """
        column = self._column_of(objects)
        return self._live.find(column, content, timeout, progress)
