"""References: global, local and weak ones, and frames of local ones.

Every object that Python holds is a strong reference owned by its wrapper, whatever function
returned it; the functions here exist for programs written against JNI, and keep its rules.

An object has one wrapper, wherever it comes from. References made here are wrappers of their own,
equal to it, so that deleting one does not affect the others. If a function takes ``None`` for null,
a weak reference to a collected object is null, too.
"""

from __future__ import annotations

from jvmti.interface.calling import Calling
from jvmti.interface.constants import RefType
from jvmti.interface.declaration import jni_function
from jvmti.interface.types import Boolean, Int
from jvmti.refs import Object, WeakReference


class ReferenceFunctions(Calling):
    """The functions of the chapter "Global and local references"."""

    @jni_function(19, since="1.2", overridden=True, runs_java=False, while_pending=True, early=True)
    def push_local_frame(self, capacity: Int) -> Int:
        """Begin a frame: its end releases all objects that this thread receives until then.

        Args:
            capacity: how many objects the frame should hold; not negative.

        Returns:
            0, or a negative number if memory is short.

        Raises:
            IllegalArgument: ``capacity`` is negative.
            JavaException: ``OutOfMemoryError``.

        Example:
            >>> jni.push_local_frame(16)
            0
            >>> text = jni.new_string("given up with the frame")
            >>> jni.pop_local_frame()

        JNI: PushLocalFrame.
        """

    @jni_function(20, since="1.2", overridden=True, runs_java=False, while_pending=True, early=True)
    def pop_local_frame(self, result: Object | None = None) -> Object | None:
        """End the innermost frame of this thread and release the objects received in it.

        Their wrappers are stale from then on.  Global and weak references stay, and so do objects
        that Python had before the frame began.

        Args:
            result: an object that should outlive the frame.

        Returns:
            The same object, now of the enclosing frame; ``None`` without a ``result``.

        Raises:
            InvalidObject: ``result`` is stale.
            IllegalArgument: there is no frame to end.

        Example:
            >>> jni.push_local_frame(16)
            0
            >>> text = jni.pop_local_frame(jni.new_string("kept"))
            >>> jni.get_string_chars(text)
            'kept'

        JNI: PopLocalFrame.
        """

    @jni_function(21, overridden=True, runs_java=False, early=True)
    def new_global_ref(self, obj: Object | None) -> Object | None:
        """Make a global reference, which outlives every frame.

        Args:
            obj: the object; a weak reference becomes a strong one.

        Returns:
            The reference; ``None`` for null, or for a weak reference to a collected object.

        Raises:
            InvalidObject: ``obj`` is stale.

        Example:
            >>> reference = jni.new_global_ref(order)
            >>> reference == order
            True
            >>> jni.delete_global_ref(reference)

        JNI: NewGlobalRef.
        """

    @jni_function(22, overridden=True, runs_java=False, while_pending=True, early=True)
    def delete_global_ref(self, global_ref: Object) -> None:
        """Delete a global reference; the wrapper is stale afterwards.

        Args:
            global_ref: a reference from `new_global_ref`.

        Raises:
            InvalidObject: ``global_ref`` is stale.

        Example:
            >>> reference = jni.new_global_ref(order)
            >>> jni.delete_global_ref(reference)
            >>> jni.get_int_field(order, number)  # the other reference lasts
            7

        JNI: DeleteGlobalRef.
        """

    @jni_function(23, overridden=True, runs_java=False, while_pending=True, early=True)
    def delete_local_ref(self, local_ref: Object) -> None:
        """Release an object before the end of its frame; the wrapper is stale afterwards.

        Args:
            local_ref: the object.

        Raises:
            InvalidObject: ``local_ref`` is stale.

        Example:
            >>> text = jni.new_string("tea")
            >>> jni.delete_local_ref(text)
            >>> jni.get_string_length(text)
            Traceback (most recent call last):
            jvmti.errors.InvalidObject: ...

        JNI: DeleteLocalRef.
        """

    @jni_function(24, runs_java=False, while_pending=True, early=True)
    def is_same_object(self, ref1: Object | None, ref2: Object | None) -> Boolean:
        """Return whether two references name the same object.

        Args:
            ref1: a reference, also a weak one; ``None`` is null.
            ref2: another.

        Returns:
            Whether both name one object, or both are null.

        Raises:
            InvalidObject: one of them is stale.

        Example:
            >>> jni.is_same_object(order, jni.new_local_ref(order))
            True
            >>> jni.is_same_object(None, order)
            False

        JNI: IsSameObject.
        """

    @jni_function(25, since="1.2", overridden=True, runs_java=False, early=True)
    def new_local_ref(self, ref: Object | None) -> Object | None:
        """Make another reference to an object, in the innermost frame of this thread.

        Args:
            ref: the object, also as a weak reference.

        Returns:
            The reference; ``None`` for null, or for a weak reference to a collected object.

        Raises:
            InvalidObject: ``ref`` is stale.

        Example:
            >>> reference = jni.new_local_ref(order)
            >>> reference == order
            True
            >>> jni.delete_local_ref(reference)

        JNI: NewLocalRef.
        """

    @jni_function(26, since="1.2", runs_java=False)
    def ensure_local_capacity(self, capacity: Int) -> Int:
        """Have the VM reserve a number of local references in the current native frame.

        The agent keeps objects as global references, so nothing in this package needs it.

        Args:
            capacity: how many; not negative.

        Returns:
            0, or a negative number if memory is short.

        Raises:
            JavaException: ``OutOfMemoryError``.

        Example:
            >>> jni.ensure_local_capacity(16)
            0

        JNI: EnsureLocalCapacity.
        """

    @jni_function(226, since="1.2", overridden=True, runs_java=False, early=True)
    def new_weak_global_ref(self, obj: Object) -> WeakReference:
        """Make a weak reference, which does not keep its object from being collected.

        Args:
            obj: the object.

        Returns:
            The weak reference, which may be used like the object.  To use the object safely,
            take a strong reference with `new_local_ref` or `new_global_ref` first.

        Raises:
            InvalidObject: ``obj`` is stale.
            JavaException: ``OutOfMemoryError``.

        Example:
            >>> weak = jni.new_weak_global_ref(order)
            >>> jni.new_local_ref(weak) == order
            True
            >>> jni.delete_weak_global_ref(weak)

        JNI: NewWeakGlobalRef.
        """

    @jni_function(
        227, since="1.2", overridden=True, runs_java=False, while_pending=True, early=True
    )
    def delete_weak_global_ref(self, ref: WeakReference) -> None:
        """Delete a weak reference; the wrapper is stale afterwards.

        Args:
            ref: a reference from `new_weak_global_ref`.

        Raises:
            InvalidObject: ``ref`` is stale or not a weak reference.

        Example:
            >>> weak = jni.new_weak_global_ref(order)
            >>> jni.delete_weak_global_ref(weak)

        JNI: DeleteWeakGlobalRef.
        """

    @jni_function(232, since="1.6", overridden=True, runs_java=False, early=True)
    def get_object_ref_type(self, obj: Object) -> RefType:
        """Return the kind of a reference.

        Args:
            obj: the reference, which may be stale.

        Returns:
            Global and weak global for those made as such, local for all others; invalid for a
            stale one.

        Example:
            >>> jni.get_object_ref_type(jni.new_global_ref(order)).name
            'GLOBAL'

        JNI: GetObjectRefType.
        """
