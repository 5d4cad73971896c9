"""The heap walks of version 1.0; those in `jvmti.env.objects.heap` report more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jvmti.interface.calling import Calling
from jvmti.interface.constants import HeapObjectFilter
from jvmti.interface.declaration import LIVE, CallbackOf, function
from jvmti.interface.types import StoredObject
from jvmti.refs import Class, Object


class Heap10Functions(Calling):
    """The functions of the chapter "Heap (1.0)"."""

    __slots__ = ()

    @function(
        109,
        phase=LIVE,
        capabilities=("can_tag_objects",),
        callback=CallbackOf.HEAP_WALK,
        overridden=True,
    )
    def iterate_over_objects_reachable_from_object(
        self,
        object: Object,
        object_reference_callback: Callable[..., Any],
        user_data: StoredObject = None,
    ) -> None:
        """Report each reference on the ways from one object to all that it reaches.

        Args:
            object: where to begin.
            object_reference_callback: called for each reference; returns an `IterationControl`,
                whether to continue.
            user_data: an extra last argument for each callback; ``None`` is none.

        Raises:
            InvalidObject: `object` is not an object of the target, or was released.
            MustPossessCapability: ``can_tag_objects`` has not been added.

        Example:
            >>> from jvmti.interface.constants import IterationControl
            >>> kinds = []
            >>> def reference(kind, class_tag, size, tag, referrer_tag, index):
            ...     kinds.append(kind.name)
            ...     return IterationControl.IGNORE
            >>> env.iterate_over_objects_reachable_from_object(order, reference)
            >>> sorted(kinds)
            ['CLASS', 'FIELD']

        JVM TI: IterateOverObjectsReachableFromObject.
        """

    @function(
        110,
        phase=LIVE,
        capabilities=("can_tag_objects",),
        callback=CallbackOf.HEAP_WALK,
        overridden=True,
    )
    def iterate_over_reachable_objects(
        self,
        heap_root_callback: Callable[..., Any] | None = None,
        stack_ref_callback: Callable[..., Any] | None = None,
        object_ref_callback: Callable[..., Any] | None = None,
        user_data: StoredObject = None,
    ) -> None:
        """Report the roots of the heap, then each reference among the objects reachable from them.

        Args:
            heap_root_callback: called for each root that is not on a stack.
            stack_ref_callback: called for each root on a stack, local variables and JNI locals.
            object_ref_callback: called for each reference; ``None`` ends the walk after the roots.
            user_data: an extra last argument for each callback; ``None`` is none.

        Raises:
            MustPossessCapability: ``can_tag_objects`` has not been added.

        Example:
            >>> from jvmti.interface.constants import IterationControl
            >>> roots = set()
            >>> def root(kind, class_tag, size, tag):
            ...     roots.add(kind.name)
            ...     return IterationControl.IGNORE
            >>> env.iterate_over_reachable_objects(root)
            >>> "SYSTEM_CLASS" in roots
            True

        JVM TI: IterateOverReachableObjects.
        """

    @function(
        111,
        phase=LIVE,
        capabilities=("can_tag_objects",),
        callback=CallbackOf.HEAP_WALK,
        overridden=True,
    )
    def iterate_over_heap(
        self,
        object_filter: HeapObjectFilter | str,
        heap_object_callback: Callable[..., Any],
        user_data: StoredObject = None,
    ) -> None:
        """Visit the objects in the heap, reachable or not.

        Args:
            object_filter: whether to report tagged objects, untagged ones or both.
            heap_object_callback: called for each object; returns an `IterationControl`, whether to
                continue.
            user_data: an extra last argument for each callback; ``None`` is none.

        Raises:
            IllegalArgument: `object_filter` is not a valid filter.
            MustPossessCapability: ``can_tag_objects`` has not been added.

        Example:
            >>> from jvmti.interface.constants import HeapObjectFilter, IterationControl
            >>> env.set_tag(order, 7)
            >>> found = []
            >>> def visit(class_tag, size, tag):
            ...     found.append(tag.value)
            ...     return IterationControl.CONTINUE
            >>> env.iterate_over_heap(HeapObjectFilter.TAGGED, visit)
            >>> found
            [7]
            >>> env.set_tag(order, 0)

        JVM TI: IterateOverHeap.
        """

    @function(
        112,
        phase=LIVE,
        capabilities=("can_tag_objects",),
        callback=CallbackOf.HEAP_WALK,
        overridden=True,
    )
    def iterate_over_instances_of_class(
        self,
        klass: Class,
        object_filter: HeapObjectFilter | str,
        heap_object_callback: Callable[..., Any],
        user_data: StoredObject = None,
    ) -> None:
        """Visit the instances of a class and of its subclasses, reachable or not.

        Args:
            klass: the class.
            object_filter: whether to report tagged objects, untagged ones or both.
            heap_object_callback: called for each object; returns an `IterationControl`, whether to
                continue.
            user_data: an extra last argument for each callback; ``None`` is none.

        Raises:
            IllegalArgument: `object_filter` is not a valid filter.
            InvalidClass: `klass` is not a class.
            MustPossessCapability: ``can_tag_objects`` has not been added.

        Example:
            >>> from jvmti.interface.constants import HeapObjectFilter, IterationControl
            >>> sizes = []
            >>> def visit(class_tag, size, tag):
            ...     sizes.append(size)
            ...     return IterationControl.CONTINUE
            >>> env.iterate_over_instances_of_class(order_class, HeapObjectFilter.EITHER, visit)
            >>> len(sizes)
            1

        JVM TI: IterateOverInstancesOfClass.
        """
