"""Java objects of every kind, with what can be asked of any of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jvmti import refs

if TYPE_CHECKING:
    from jvmti.heap.holders import Referrers, Retained, RootPath
    from jvmti.heap.passes import Progress
    from jvmti.model.classes import Class
    from jvmti.model.vm import VM


class Attributes:
    """What every Java object has, whatever its kind."""

    __slots__ = ()

    _session: Any
    _handle: int

    @property
    def _vm(self) -> VM:
        vm: VM = self._session.model
        return vm

    @property
    def cls(self) -> Class:
        """The object's class."""
        found: Any = self._vm.jni.get_object_class(self)  # type: ignore[arg-type]
        return found  # type: ignore[no-any-return]

    @property
    def size(self) -> int:
        """The bytes that the object itself takes in the heap, without what it refers to."""
        return self._vm.env.get_object_size(self)  # type: ignore[arg-type]

    @property
    def identity_hash(self) -> int:
        """``System.identityHashCode`` of the object."""
        return self._vm.env.get_object_hash_code(self)  # type: ignore[arg-type]

    def referrers(
        self,
        limit: int = 1000,
        *,
        weak: bool = True,
        timeout: float | None = 60.0,
        max_pause: float | None = None,
        progress: Progress | None = None,
    ) -> Referrers:
        """What refers to the object, of all that can be reached from a root of the heap.

        One pass over all references stops the program: about 0.15 s for each million objects.
        References that this package holds are left out.

        Args:
            limit: how many references to list at most; ``total`` counts them all.
            weak: list weak and phantom references, too.
            timeout: seconds after which the pass ends.
            max_pause: refuse beforehand what would stop the program for more seconds than these.
            progress: called now and then with the number of references visited, from another
                thread.

        Raises:
            CallTimeout: the time has passed.
            PauseTooLong: it would take longer than `max_pause`.
            InvalidObject: the handle was released, or was weak and its object has been collected.

        JVM TI: FollowReferences, GetObjectsWithTags.
        """
        return self._vm.heap.referrers(
            self, limit, weak=weak, timeout=timeout, max_pause=max_pause, progress=progress
        )

    def path_to_root(
        self,
        *,
        weak: bool = False,
        most: int = 100_000,
        timeout: float | None = 60.0,
        max_pause: float | None = None,
        progress: Progress | None = None,
    ) -> RootPath:
        """A shortest path from a root of the heap to the object: why it is not collected.

        It goes back from the object step by step, and each step is a pass over all references,
        which stops the program: about 0.15 s for each million objects.  Between the passes the
        program goes on.  A list of a thousand links would take as many passes: `timeout` ends it.

        Args:
            weak: let it lead through weak and phantom references, too.
            most: how many objects to go back from at most.
            timeout: seconds after which it ends.
            max_pause: refuse beforehand where a pass would stop the program for more seconds.
            progress: called now and then with the number of references visited, from another
                thread.

        Raises:
            CallTimeout: the time has passed.
            PauseTooLong: a pass would take longer than `max_pause`.
            TooManyObjects: more than `most` objects hold it, directly or not.

        JVM TI: FollowReferences, GetObjectsWithTags.
        """
        return self._vm.heap.path_to_root(
            self, weak=weak, most=most, timeout=timeout, max_pause=max_pause, progress=progress
        )

    def retained_size(
        self,
        *,
        most: int = 1_000_000,
        timeout: float | None = 60.0,
        max_pause: float | None = None,
        progress: Progress | None = None,
    ) -> Retained:
        """What would be freed if the object were not there: itself, and what only it holds.

        A first pass tags what can be reached from it, up to classes and class loaders that are
        never unloaded; a second one over all references that stops at the object sees what of that
        is held otherwise.  The program stands still for about 0.15 s for each million objects in
        the heap and 1 s for each million that can be reached.  Weak and phantom references hold
        nothing, nor do those of this package.

        Args:
            most: how many objects that can be reached from it to look at.
            timeout: seconds after which it ends.
            max_pause: refuse beforehand what would stop the program for more seconds than these.
            progress: called now and then with the number of references visited, from another
                thread.

        Raises:
            CallTimeout: the time has passed.
            PauseTooLong: it would take longer than `max_pause`.
            TooManyObjects: more than `most` objects can be reached from it.

        JVM TI: FollowReferences, GetObjectSize.
        """
        return self._vm.heap.retained_size(
            self, most=most, timeout=timeout, max_pause=max_pause, progress=progress
        )

    def __repr__(self) -> str:
        if self._handle == 0:
            return f"<{type(self).__name__}, released>"
        return f"<{type(self).__name__} {self._handle & 0xFFFFFFFF}>"


class Object(Attributes, refs.Object):
    """A Java object that is none of the special kinds."""

    __slots__ = ()


class Throwable(Attributes, refs.Throwable):
    """A ``java.lang.Throwable``."""

    __slots__ = ()


class String(Attributes, refs.String):
    """A ``java.lang.String``; ``str()`` gives its text."""

    __slots__ = ()

    def __str__(self) -> str:
        return self._vm.jni.get_string_chars(self)


class ObjectArray(Attributes, refs.ObjectArray):
    """A Java array of references."""

    __slots__ = ()

    def __len__(self) -> int:
        return self._vm.jni.get_array_length(self)


class PrimitiveArray(Attributes):
    """A Java array of numbers, characters or truth values; JNI reads and writes it."""

    __slots__ = ()

    def __len__(self) -> int:
        return self._vm.jni.get_array_length(self)  # type: ignore[arg-type]


class BooleanArray(PrimitiveArray, refs.BooleanArray):
    """A ``boolean[]``."""

    __slots__ = ()


class ByteArray(PrimitiveArray, refs.ByteArray):
    """A ``byte[]``."""

    __slots__ = ()


class CharArray(PrimitiveArray, refs.CharArray):
    """A ``char[]``."""

    __slots__ = ()


class ShortArray(PrimitiveArray, refs.ShortArray):
    """A ``short[]``."""

    __slots__ = ()


class IntArray(PrimitiveArray, refs.IntArray):
    """An ``int[]``."""

    __slots__ = ()


class LongArray(PrimitiveArray, refs.LongArray):
    """A ``long[]``."""

    __slots__ = ()


class FloatArray(PrimitiveArray, refs.FloatArray):
    """A ``float[]``."""

    __slots__ = ()


class DoubleArray(PrimitiveArray, refs.DoubleArray):
    """A ``double[]``."""

    __slots__ = ()


PRIMITIVE_ARRAYS = (
    BooleanArray,
    ByteArray,
    CharArray,
    ShortArray,
    IntArray,
    LongArray,
    FloatArray,
    DoubleArray,
)

__all__ = [
    "PRIMITIVE_ARRAYS",
    "Attributes",
    "BooleanArray",
    "ByteArray",
    "CharArray",
    "DoubleArray",
    "FloatArray",
    "IntArray",
    "LongArray",
    "Object",
    "ObjectArray",
    "PrimitiveArray",
    "ShortArray",
    "String",
    "Throwable",
]
