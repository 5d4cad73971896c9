"""The heap: following references, walking all objects, tags, and garbage collection.

During a walk nothing is allocated or collected, and threads that need the VM wait.  Its callbacks
run in the order of the visits, and none after one that answered ABORT or raised; the walk raises a
callback's exception. To write a tag, assign to the ``value`` of the `TagCell`: later callbacks for
that object see it.

The VM waits for each call whose answer it needs: those of ``heap_reference_callback``, and those
that may write a tag. If a callback's code only reads ``tag.value``, its calls travel in blocks,
about twenty times as fast, and the VM sees an ABORT at the end of the block.

This package holds JNI global references for handles in Python, like any agent, and walks report
them as roots; release handles that you do not want to see there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

from jvmti.env.structures import HeapCallbacks
from jvmti.interface.calling import Calling
from jvmti.interface.constants import HeapFilter
from jvmti.interface.declaration import LIVE, START, CallbackOf, function
from jvmti.interface.types import Long, SameCount, StoredObject
from jvmti.refs import Class, Object


class TaggedObjects(NamedTuple):
    """Tagged objects, and the tag of each at the same index."""

    objects: list[Object]
    tags: Annotated[list[Long], SameCount()]


class HeapFunctions(Calling):
    """The functions of the chapter "Heap"."""

    __slots__ = ()

    @function(
        115,
        phase=LIVE,
        since="1.1",
        capabilities=("can_tag_objects",),
        errors=("INVALID_CLASS", "INVALID_OBJECT"),
        callback=CallbackOf.HEAP_WALK,
        overridden=True,
    )
    def follow_references(
        self,
        heap_filter: HeapFilter | str,
        klass: Class | None,
        initial_object: Object | None,
        callbacks: HeapCallbacks,
        user_data: StoredObject = None,
    ) -> None:
        """Walk the graph of references from the roots or from one object, reporting each reference.

        Every reference of a visited object is reported once, cycles or not.

        Args:
            heap_filter: which objects and primitive values not to report, by tag of object and
                class.
            klass: report objects of exactly this class only; ``None`` is all classes.
            initial_object: where to begin; ``None`` is the roots of the heap.
            callbacks: what to call for references and primitive values.
            user_data: an extra last argument for each callback; ``None`` is none.

        Raises:
            InvalidClass: `klass` is not a class.
            InvalidObject: `initial_object` is not an object.
            MustPossessCapability: ``can_tag_objects`` has not been added.

        Example:
            >>> from jvmti.env.structures import HeapCallbacks
            >>> from jvmti.interface.constants import HeapFilter, HeapVisitControl
            >>> kinds = []
            >>> def reference(kind, info, class_tag, *tags_and_sizes):
            ...     kinds.append(kind.name)
            ...     return HeapVisitControl(0)  # not to what that refers to
            >>> callbacks = HeapCallbacks(heap_reference_callback=reference)
            >>> env.follow_references(HeapFilter(0), None, order, callbacks)
            >>> kinds[:2]
            ['CLASS', 'FIELD']

        JVM TI: FollowReferences.
        """

    @function(
        116,
        phase=LIVE,
        since="1.1",
        capabilities=("can_tag_objects",),
        errors=("INVALID_CLASS",),
        callback=CallbackOf.HEAP_WALK,
        overridden=True,
    )
    def iterate_through_heap(
        self,
        heap_filter: HeapFilter | str,
        klass: Class | None,
        callbacks: HeapCallbacks,
        user_data: StoredObject = None,
    ) -> None:
        """Visit all objects in the heap, reachable or not, in no particular order.

        Args:
            heap_filter: which objects and primitive values not to report, by tag of object and
                class.
            klass: report objects of exactly this class only; ``None`` is all classes.
            callbacks: what to call for objects and primitive values.
            user_data: an extra last argument for each callback; ``None`` is none.

        Raises:
            InvalidClass: `klass` is not a class.
            MustPossessCapability: ``can_tag_objects`` has not been added.

        Example:
            >>> from jvmti.env.structures import HeapCallbacks
            >>> from jvmti.interface.constants import HeapFilter, HeapVisitControl
            >>> sizes = []
            >>> def visit(class_tag, size, tag, length):
            ...     sizes.append(size)
            ...     return HeapVisitControl(0)
            >>> callbacks = HeapCallbacks(heap_iteration_callback=visit)
            >>> env.iterate_through_heap(HeapFilter(0), order_class, callbacks)
            >>> len(sizes)  # there is one order
            1

        JVM TI: IterateThroughHeap.
        """

    @function(106, phase=START, capabilities=("can_tag_objects",))
    def get_tag(self, object: Object) -> Long:
        """Return the tag of an object within this environment.

        Args:
            object: the object.

        Returns:
            The tag; 0 is none.

        Raises:
            InvalidObject: `object` is not an object of the target, or was released.
            MustPossessCapability: ``can_tag_objects`` has not been added.

        Example:
            >>> env.get_tag(order)
            0

        JVM TI: GetTag.
        """

    @function(107, phase=START, capabilities=("can_tag_objects",))
    def set_tag(self, object: Object, tag: Long) -> None:
        """Tag an object with a number within this environment.

        Tags do not keep objects alive.

        Args:
            object: the object.
            tag: the number; 0 removes the tag.

        Raises:
            InvalidObject: `object` is not an object of the target, or was released.
            MustPossessCapability: ``can_tag_objects`` has not been added.

        Example:
            >>> env.set_tag(order, 7)
            >>> env.get_tag(order)
            7
            >>> env.set_tag(order, 0)

        JVM TI: SetTag.
        """

    @function(
        114,
        phase=LIVE,
        capabilities=("can_tag_objects",),
        errors=("ILLEGAL_ARGUMENT",),
        guard="tags_to_find",
    )
    def get_objects_with_tags(self, tags: Sequence[Long]) -> TaggedObjects:
        """Return all live objects that carry one of the given tags.

        Args:
            tags: the tags to look for; 0 is not allowed.

        Returns:
            The objects and their tags, in no particular order.

        Raises:
            IllegalArgument: 0 is among `tags`.
            MustPossessCapability: ``can_tag_objects`` has not been added.

        Example:
            >>> env.set_tag(order, 7)
            >>> found = env.get_objects_with_tags([7])
            >>> found.objects == [order], list(found.tags)
            (True, [7])
            >>> env.set_tag(order, 0)

        JVM TI: GetObjectsWithTags.
        """

    @function(108, phase=LIVE)
    def force_garbage_collection(self) -> None:
        """Run a garbage collection as complete as the VM can make it, and wait for it to end.

        Finalizers do not run, and ``ObjectFree`` events may arrive after the return.

        Example:
            >>> env.force_garbage_collection()

        JVM TI: ForceGarbageCollection.
        """
