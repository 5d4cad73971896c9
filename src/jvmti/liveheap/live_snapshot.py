"""A snapshot of a running VM: objects of it can be found in the VM again."""

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
    """A heap as ``vm.heap.snapshot`` has taken it; everything else is as for a file."""

    _live: LiveObjects

    def live(
        self,
        objects: Object | Objects,
        *,
        content: bool = False,
        timeout: float | None = 60.0,
        progress: Progress | None = None,
    ) -> LiveRows:
        """The objects of the VM behind some of this snapshot, if it was just taken.

        What classes and threads lead to is found along those references, without stopping the
        program; each step must come to an object of the same class and length.  For what only
        stacks or JNI hold, for garbage, and for what has got other references meanwhile, there is a
        pass over the heap that takes the object at the same place among those of its class, if it
        has the same length; about 50 ms for each million objects, which stop the program,
        and one for each 20,000 that are looked for.  What the program has made
        meanwhile, and what a collection has moved, changes these places: `LiveRows.coverage` is the
        share that was found, and `LiveRows.collections` how many collections there were.  Of
        classes that several loaders have, and of classes themselves, none is found.

        With `content` they must also have the contents that the snapshot has of them: text, the
        elements of a primitive array, primitive fields.  What lies where a reference leads now, but
        has other contents, is looked for by the pass as well, for another object may have taken the
        place; `LiveRows.changed` tells for which rows only other contents were found.  They are
        read over columns, in some twenty messages and one for each 8 MB.

        Args:
            objects: some of the snapshot.
            content: whether contents must be the same as well.
            timeout: seconds after which the passes end.
            progress: called now and then with how many objects are done with.

        Raises:
            TypeError: they are not objects of a snapshot.
            ValueError: the objects are of another snapshot.
            PassOverran: the time is over.
            SessionClosed: the session that it was taken in is over.

        JVM TI and JNI: GetObjectField and its like; IterateThroughHeap; with `content`
        GetStringRegion, GetIntArrayRegion, GetIntField and their like.
        """
        column = self._column_of(objects)
        return self._live.find(column, content, timeout, progress)
