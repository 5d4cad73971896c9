"""The callbacks that functions of JVM TI take, as protocols.

A callback is any callable that accepts the arguments in this order. The environment is not among
them; ``user_data``, if any, follows them.  Callbacks of heap walks run while the VM is stopped, on
the thread that made the walk, and may call only functions that are declared callback-safe. Only
tags distinguish objects there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Protocol, TypeVar

from jvmti.env.structures import HeapReferenceInfo
from jvmti.interface.constants import (
    HeapReferenceKind,
    HeapRootKind,
    HeapVisitControl,
    IterationControl,
    ObjectReferenceKind,
    PrimitiveType,
)
from jvmti.interface.errors import ErrorCode
from jvmti.interface.frozen import frozen
from jvmti.interface.types import (
    Elements,
    Int,
    JValue,
    Long,
    Marker,
    NumPyArray,
    StoredObject,
    UnicodeText,
)
from jvmti.refs import Method
from jvmti.text.printable import escaped

if TYPE_CHECKING:
    from collections.abc import Callable


@frozen
class InOut(Marker):
    """A pointer to a value that the callback may read and replace; ``c`` is the value's type."""

    c: str


class TagCell:
    """An object's tag, which a heap callback may read and replace; 0 means untagged."""

    __slots__ = ("value",)

    def __init__(self, value: int = 0) -> None:
        self.value = value

    @escaped
    def __repr__(self) -> str:
        return f"TagCell({self.value})"


Tag = Annotated[TagCell, InOut("jlong")]


class Callback(Protocol):
    """Base of the callbacks."""

    __c_type__: ClassVar[str]
    """The C type of the function."""
    __since__: ClassVar[str]
    """The version that introduced it."""


C = TypeVar("C", bound=type[Callback])


def callback(c: str, *, since: str = "1.0") -> Callable[[C], C]:
    """Declare the C function type of a protocol, and its first version."""

    def mark(cls: C) -> C:
        cls.__c_type__ = c
        cls.__since__ = since
        return cls

    return mark


@callback("jvmtiStartFunction")
class StartFunction(Callback, Protocol):
    """The function that ``run_agent_thread`` runs on the new thread; the thread ends when it
    returns."""

    def __call__(self, arg: StoredObject, /) -> None:
        """Run.

        Args:
            arg: the object passed to ``run_agent_thread``.
        """


# Heap walks


@callback("jvmtiHeapIterationCallback", since="1.1")
class HeapIterationCallback(Callback, Protocol):
    """Called by ``iterate_through_heap`` for each object that passes the filters."""

    def __call__(self, class_tag: Long, size: Long, tag: Tag, length: Int, /) -> HeapVisitControl:
        """Visit an object.

        Args:
            class_tag: the tag of its class; 0 without one.
            size: its size in bytes.
            tag: its own tag.
            length: how many elements it has; -1 if it is not an array.

        Returns:
            `HeapVisitControl.ABORT` to end the walk, ``HeapVisitControl(0)`` to go on.
        """
        ...


@callback("jvmtiHeapReferenceCallback", since="1.1")
class HeapReferenceCallback(Callback, Protocol):
    """Called by ``follow_references`` for each reference that passes the filters."""

    def __call__(
        self,
        reference_kind: HeapReferenceKind,
        reference_info: HeapReferenceInfo | None,
        class_tag: Long,
        referrer_class_tag: Long,
        size: Long,
        tag: Tag,
        referrer_tag: Tag | None,
        length: Int,
        /,
    ) -> HeapVisitControl:
        """Visit a reference.

        Args:
            reference_kind: how the object is referred to, or which kind of root it is.
            reference_info: the details; ``None`` for kinds that have none.
            class_tag: the tag of the object's class; 0 without one.
            referrer_class_tag: the tag of the referrer's class; 0 without one and for roots.
            size: the object's size in bytes.
            tag: the object's tag; the same cell as ``referrer_tag`` if it refers to itself.
            referrer_tag: the referrer's tag; ``None`` for roots.
            length: how many elements the object has; -1 if it is not an array.

        Returns:
            `HeapVisitControl.OBJECTS` to follow what the object refers to, `ABORT` to end the
            walk, ``HeapVisitControl(0)`` to go on elsewhere.
        """
        ...


@callback("jvmtiPrimitiveFieldCallback", since="1.1")
class PrimitiveFieldCallback(Callback, Protocol):
    """Called by both walks for each primitive field, static or not, of a visited object."""

    def __call__(
        self,
        kind: HeapReferenceKind,
        info: HeapReferenceInfo,
        object_class_tag: Long,
        object_tag: Tag,
        value: Annotated[Any, JValue("value_type")],
        value_type: PrimitiveType,
        /,
    ) -> HeapVisitControl:
        """Visit a field.

        Args:
            kind: `FIELD` or `STATIC_FIELD`.
            info: which field.
            object_class_tag: the tag of the object's class; 0 without one.
            object_tag: the object's tag; for a static field that of the class object.
            value: the field's value.
            value_type: its type.

        Returns:
            `HeapVisitControl.ABORT` to end the walk, ``HeapVisitControl(0)`` to go on.
        """
        ...


@callback("jvmtiArrayPrimitiveValueCallback", since="1.1")
class ArrayPrimitiveValueCallback(Callback, Protocol):
    """Called by both walks for each visited array of primitive values."""

    def __call__(
        self,
        class_tag: Long,
        size: Long,
        tag: Tag,
        element_count: Int,
        element_type: PrimitiveType,
        elements: Annotated[NumPyArray, Elements("void", length="element_count")],
        /,
    ) -> HeapVisitControl:
        """Visit an array.

        Args:
            class_tag: the tag of its class; 0 without one.
            size: its size in bytes.
            tag: its own tag.
            element_count: how many elements it has.
            element_type: their type.
            elements: a copy of them, of the NumPy type for ``element_type``.

        Returns:
            `HeapVisitControl.ABORT` to end the walk, ``HeapVisitControl(0)`` to go on.
        """
        ...


@callback("jvmtiStringPrimitiveValueCallback", since="1.1")
class StringPrimitiveValueCallback(Callback, Protocol):
    """Called by both walks for each visited string."""

    def __call__(
        self, class_tag: Long, size: Long, tag: Tag, value: UnicodeText, /
    ) -> HeapVisitControl:
        """Visit a string.

        Args:
            class_tag: the tag of the class ``String``; 0 without one.
            size: the string's size in bytes, without that of the array behind it.
            tag: its own tag.
            value: its text.

        Returns:
            `HeapVisitControl.ABORT` to end the walk, ``HeapVisitControl(0)`` to go on.
        """
        ...


@callback("jvmtiReservedCallback", since="1.1")
class ReservedCallback(Callback, Protocol):
    """Reserved for callbacks of later versions; never called."""

    def __call__(self) -> HeapVisitControl:
        """Do nothing."""
        ...


# Heap walks of version 1.0


@callback("jvmtiHeapObjectCallback")
class HeapObjectCallback(Callback, Protocol):
    """Called by ``iterate_over_heap`` and ``iterate_over_instances_of_class`` for each object."""

    def __call__(self, class_tag: Long, size: Long, tag: Tag, /) -> IterationControl:
        """Visit an object.

        Args:
            class_tag: the tag of its class; 0 without one.
            size: its size in bytes.
            tag: its own tag.

        Returns:
            How to go on.
        """
        ...


@callback("jvmtiHeapRootCallback")
class HeapRootCallback(Callback, Protocol):
    """Called by ``iterate_over_reachable_objects`` for each root that is not on a stack."""

    def __call__(
        self, root_kind: HeapRootKind, class_tag: Long, size: Long, tag: Tag, /
    ) -> IterationControl:
        """Visit a root.

        Args:
            root_kind: what keeps the object alive.
            class_tag: the tag of its class; 0 without one.
            size: its size in bytes.
            tag: its own tag.

        Returns:
            How to go on.
        """
        ...


@callback("jvmtiStackReferenceCallback")
class StackReferenceCallback(Callback, Protocol):
    """Called by ``iterate_over_reachable_objects`` for each root on a stack."""

    def __call__(
        self,
        root_kind: HeapRootKind,
        class_tag: Long,
        size: Long,
        tag: Tag,
        thread_tag: Long,
        depth: Int,
        method: Method | None,
        slot: Int,
        /,
    ) -> IterationControl:
        """Visit a root.

        Args:
            root_kind: `STACK_LOCAL` or `JNI_LOCAL`.
            class_tag: the tag of the object's class; 0 without one.
            size: the object's size in bytes.
            tag: the object's tag.
            thread_tag: the tag of the stack's thread; 0 without one.
            depth: the depth of the frame, 0 for the top one.
            method: the method that runs in the frame; ``None`` if there is none.
            slot: the slot of the variable; -1 for a JNI local reference.

        Returns:
            How to go on.
        """
        ...


@callback("jvmtiObjectReferenceCallback")
class ObjectReferenceCallback(Callback, Protocol):
    """Called by the walks along references for each reference from one object to another."""

    def __call__(
        self,
        reference_kind: ObjectReferenceKind,
        class_tag: Long,
        size: Long,
        tag: Tag,
        referrer_tag: Long,
        referrer_index: Int,
        /,
    ) -> IterationControl:
        """Visit a reference.

        Args:
            reference_kind: how the object is referred to.
            class_tag: the tag of the object's class; 0 without one.
            size: the object's size in bytes.
            tag: the object's tag.
            referrer_tag: the referrer's tag; 0 without one.
            referrer_index: which field, element or constant pool entry; -1 for other kinds.

        Returns:
            How to go on.
        """
        ...


# Extensions


@callback("jvmtiExtensionFunction")
class ExtensionFunction(Callback, Protocol):
    """An extension function; `ExtensionFunctionInfo` lists its parameters."""

    def __call__(self, *arguments: Any) -> ErrorCode:
        """Call it."""
        ...


@callback("jvmtiExtensionEvent")
class ExtensionEvent(Callback, Protocol):
    """The handler of an extension event; `ExtensionEventInfo` lists its parameters."""

    def __call__(self, *arguments: Any) -> None:
        """Handle the event."""


CALLBACKS: dict[str, type[Callback]] = {
    cls.__c_type__: cls
    for cls in (
        StartFunction,
        HeapIterationCallback,
        HeapReferenceCallback,
        PrimitiveFieldCallback,
        ArrayPrimitiveValueCallback,
        StringPrimitiveValueCallback,
        ReservedCallback,
        HeapObjectCallback,
        HeapRootCallback,
        StackReferenceCallback,
        ObjectReferenceCallback,
        ExtensionFunction,
        ExtensionEvent,
    )
}
"""Every callback by the name of its C type."""

__all__ = [
    "CALLBACKS",
    "ArrayPrimitiveValueCallback",
    "Callback",
    "ExtensionEvent",
    "ExtensionFunction",
    "HeapIterationCallback",
    "HeapObjectCallback",
    "HeapReferenceCallback",
    "HeapRootCallback",
    "InOut",
    "ObjectReferenceCallback",
    "PrimitiveFieldCallback",
    "ReservedCallback",
    "StackReferenceCallback",
    "StartFunction",
    "StringPrimitiveValueCallback",
    "Tag",
    "TagCell",
    "callback",
]
