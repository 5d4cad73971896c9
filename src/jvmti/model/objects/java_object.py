"""Java objects of every kind, with their common attributes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from jvmti import display, refs
from jvmti.model.objects import arrays
from jvmti.model.objects.attribute_errors import no_attribute
from jvmti.model.objects.layouts import Place, layout_of
from jvmti.model.objects.monitors import MonitorHold
from jvmti.model.objects.reading import read_fields, values_of
from jvmti.model.session_vm import MODEL
from jvmti.model.values import calls, views
from jvmti.model.values.conversion import PRIMITIVE_NAMES, to_java
from jvmti.text.printable import escaped, escaped_lines, printable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from jvmti.env.structures import MonitorUsage
    from jvmti.liveheap.passes import Progress
    from jvmti.liveheap.referrers import Referrers, Retained, RootPath
    from jvmti.model.classes.java_class import Class
    from jvmti.model.vm import VM


class Attributes:
    """The attributes of every Java object."""

    __slots__ = ()

    _repr_html_ = display.html

    _session: Any
    _handle: int
    _class: Class
    _identity_hash: int

    @property
    def _vm(self) -> VM:
        vm: VM = self._session.services[MODEL]
        return vm

    if not TYPE_CHECKING:  # which would take any name for an attribute

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_") or hasattr(type(self), name):
                return object.__getattribute__(self, name)  # raises again what it did
            raise self._no_attribute(name)

    def _no_attribute(self, name: str) -> AttributeError:
        return no_attribute(self, name, static=False)

    @property
    def cls(self) -> Class:
        """The object's class."""
        try:
            return self._class
        except AttributeError:
            found: Any = self._vm.jni.get_object_class(self)  # type: ignore[arg-type]
            self._class = found  # type: ignore[misc]
            return self._class

    # ---- fields ----------------------------------------------------------------------------

    def _ipython_key_completions_(self) -> list[str]:
        return list(layout_of(self.cls).names)

    def __getitem__(self, name: Any) -> Any:
        """The value of a field: its own, inherited, private or static ones.

        Of fields of one name the nearest is meant; ``obj["Base.total"]`` is that of a class.

        Raises:
            KeyError: there is no such field; the message suggests similar names.
            InvalidObject: the handle was released, or was weak and its object has been collected.

        JNI: Get<Type>Field.
        """
        place = _place(self, name)
        return read_fields(self._vm, self, [place.field])[0]

    def __setitem__(self, name: Any, value: Any) -> None:
        """Change a field, from a Python value or an object of the model.

        Raises:
            KeyError: there is no such field; the message suggests similar names.
            TypeError: the value cannot be converted to the field's type, or the field is final.
            OverflowError: a number does not fit the field's type.

        JNI: Set<Type>Field.
        """
        place = _place(self, name)
        write_field(self, self.cls, place, value)

    __iter__: Any = None

    def fields(self) -> dict[str, Any]:
        """All its fields at once: names and values, those of superclasses first.

        A field that a subclass hides is there as ``Owner.field``.  It takes one message, once the
        class is known, and runs no Java code; static fields are ``cls.fields``'.

        JNI: Get<Type>Field.
        """
        layout = layout_of(self.cls)
        found: dict[str, Any] = layout.keys.copy()  # grows no more
        found.update(zip(layout.names, values_of(layout.all.of(self)), strict=True))
        return found

    # ---- calls -----------------------------------------------------------------------------

    def call(
        self,
        name: str,
        *arguments: Any,
        signature: str | None = None,
        timeout: float | None = calls.TIME_LIMIT,
    ) -> Any:
        """Call a method of the object, and wait for its result.

        The method runs in the program, on the thread of the agent's that serves this Python thread
        (docs/calling.md); private and static methods can be called as well.

        Args:
            name: the method's name.
            arguments: Python values and objects of the model; docs/values.md describes conversion
                and overload resolution.
            signature: the parameter types, to choose one:
                ``"int, java.lang.String"``.
            timeout: seconds; ``None`` waits for ever.

        Returns:
            A Python value for numbers, characters, text and null, else an object of the model.

        Raises:
            LookupError: no such method; the message suggests similar names.
            TypeError: no method accepts the arguments, or the call is ambiguous.
            JavaException: the method threw an exception.
            CallTimeout: it did not return in time, and still runs; the message says what it is
                doing.

        JNI: Call<Type>MethodA.
        """
        return calls.call(self, self.cls, name, arguments, signature, timeout)

    def to_string(self, *, timeout: float | None = calls.TIME_LIMIT) -> str | None:
        """The result of the object's ``toString``; it runs the program's code.

        Raises:
            JavaException: it threw an exception.
            CallTimeout: it did not return in time.
        """
        text: str | None = self.call("toString", signature="()", timeout=timeout)
        return text

    @property
    def value(self) -> Any:
        """The Python value that the object represents.

        A number, truth value or character for a box, text for a string, the name of an enum
        constant, ``dict``, ``list`` or ``set`` for a collection, the content of an ``Optional``, a
        ``dict`` of the components of a record, a list or NumPy array for an array, a ``UUID``, date
        or time for one of Java's.  Boxes and strings inside become Python values, everything else
        objects of the model. Collections of the JDK are read without running Java code; for others,
        ``toArray`` or ``entrySet`` is called.

        Raises:
            TypeError: it has no such value; ``fields()`` has its parts.
            ValueError: Python has no such date, or no dict with such keys.
        """
        return views.value_of(self)

    def table(self, most: int = 200) -> str:
        """Its fields, elements or entries, one per line.

        Args:
            most: lines at most.
        """
        return views.full(self, most)

    # ---- monitor and tag -------------------------------------------------------------------

    @property
    def monitor(self) -> MonitorUsage:
        """The owner of the object's monitor, how often it has entered, and the waiting threads.

        HotSpot counts the entries of Java frames only, not those of `locked`.

        JVM TI: GetObjectMonitorUsage.
        """
        return self._vm.lookup_env.get_object_monitor_usage(self)  # type: ignore[arg-type]

    def locked(self, timeout: float | None = 10.0) -> MonitorHold:
        """Hold the object's monitor while the ``with`` block lasts, as ``synchronized`` does.

        The agent's thread that serves this Python thread enters the monitor; calls of this thread
        inside the block may enter it again. Threads of the program wait meanwhile.

        Args:
            timeout: seconds to wait for it.

        Raises:
            CallTimeout: another thread has it; the agent releases it as soon as it gets it.

        JNI: MonitorEnter, MonitorExit.
        """
        return MonitorHold(self._vm, self, timeout)

    @property
    def tag(self) -> int:
        """The object's tag in ``vm.tag_env``, the model's own environment for tags; 0 is none.

        JVM TI: GetTag.
        """
        return self._vm.tag_env.get_tag(self)  # type: ignore[arg-type]

    @tag.setter
    def tag(self, tag: int) -> None:
        self._vm.tag_env.set_tag(self, tag)  # type: ignore[arg-type]

    # ---- the heap --------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """The object's own bytes in the heap, without those of objects that it refers to."""
        return self._vm.env.get_object_size(self)  # type: ignore[arg-type]

    @property
    def identity_hash(self) -> int:
        """``System.identityHashCode`` of the object."""
        try:
            return self._identity_hash
        except AttributeError:
            found = self._vm.env.get_object_hash_code(self)  # type: ignore[arg-type]
            self._identity_hash = found  # type: ignore[misc]
            return self._identity_hash

    def referrers(
        self,
        limit: int = 1000,
        *,
        weak: bool = True,
        timeout: float | None = 60.0,
        max_pause: float | None = None,
        progress: Progress | None = None,
    ) -> Referrers:
        """The references to the object from objects that are reachable from a GC root.

        One pass over all references stops the program: about 0.15 s for each million objects.
        It leaves out references of this package.

        Args:
            limit: how many references to list at most; ``total`` counts them all.
            weak: list weak and phantom references, too.
            timeout: seconds after which the pass ends.
            max_pause: refuse in advance if the program would stop for more seconds.
            progress: called regularly with the number of references visited, from another thread.

        Raises:
            CallTimeout: the time is over.
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
        """A shortest path from a GC root to the object: why it is not collected.

        The search goes back from the object step by step. Each step is a pass over all references,
        which stops the program: about 0.15 s for each million objects. Between the passes the
        program runs.  A list of a thousand links would take as many passes: `timeout` ends it.

        Args:
            weak: follow weak and phantom references, too.
            most: how many objects to search at most.
            timeout: seconds after which it ends.
            max_pause: refuse in advance if a pass would stop the program for more seconds.
            progress: called regularly with the number of references visited, from another thread.

        Raises:
            CallTimeout: the time is over.
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
        """The size of the object and of all that only it keeps reachable.

        A first pass tags what is reachable from it, up to classes and class loaders that are never
        unloaded; a second pass over all references, which stops at the object, finds what else
        keeps these reachable.  The program stops for about 0.15 s for each million objects in the
        heap and 1 s for each million that can be reached.  Weak and phantom references do not
        count, and neither do those of this package.

        Args:
            most: how many reachable objects to visit at most.
            timeout: seconds after which it ends.
            max_pause: refuse in advance if the program would stop for more seconds.
            progress: called regularly with the number of references visited, from another thread.

        Raises:
            CallTimeout: the time is over.
            PauseTooLong: it would take longer than `max_pause`.
            TooManyObjects: more than `most` objects are reachable from it.

        JVM TI: FollowReferences, GetObjectSize.
        """
        return self._vm.heap.retained_size(
            self, most=most, timeout=timeout, max_pause=max_pause, progress=progress
        )

    @escaped
    def __repr__(self) -> str:
        return views.short(self)

    def __str__(self) -> str:
        return repr(self)


_ENTRIES = "to read the entries of a collection, use .value"


def _place(item: Any, name: Any) -> Place:
    try:
        return layout_of(item.cls).find(_name(name, item))
    except KeyError as error:
        if not {"java.util.Map", "java.util.Collection"} & {
            one.name for one in item.cls.all_interfaces
        }:
            raise
        raise KeyError(f"{error.args[0]}; {_ENTRIES}") from None


def _name(name: Any, item: Any) -> str:
    if isinstance(name, str):
        return name
    raise TypeError(f"{item!r}[…] takes the name of a field, not {type(name).__name__}; {_ENTRIES}")


def write_field(item: Any, cls: Any, place: Place, value: Any) -> None:
    """Change a field of an object, or of a class."""
    vm: VM = cls._vm
    if place.is_final:
        raise TypeError(
            printable(
                f"{place.owner}.{place.name} is final: code of the program may have its value "
                "built in; the functions of vm.jni write it nevertheless"
            )
        )
    try:
        made = to_java(vm, value, place.signature)
    except (TypeError, OverflowError) as error:
        raise type(error)(printable(f"field {place.owner}.{place.name}: {error}")) from None
    kind = PRIMITIVE_NAMES.get(place.signature, "object")
    if place.is_static:
        getattr(vm.jni, f"set_static_{kind}_field")(cls, place.field, made)
    else:
        getattr(vm.jni, f"set_{kind}_field")(item, place.field, made)


class Object(Attributes, refs.Object):
    """A Java object of no special kind.

    A map or another collection has a length and can be iterated: a map by its entries, as pairs, so
    that ``dict(obj)`` is one.  Brackets read a field.
    """

    __slots__ = ()

    def __len__(self) -> int:
        """How many elements or entries a collection has.

        Collections of the JDK are read without running Java code; for others, ``size`` is called.

        Raises:
            TypeError: it is not a collection.
        """
        return views.size_of(self)

    def __iter__(self) -> Iterator[Any]:
        """The elements of a collection, or the entries of a map as pairs; read as for `value`.

        Raises:
            TypeError: it is not a collection.
        """
        return iter(views.held_by(self))

    def __contains__(self, item: object) -> bool:
        return item in self.value

    def __bool__(self) -> bool:
        return True

    @escaped_lines
    def __str__(self) -> str:
        return views.in_print(self)


class Throwable(Attributes, refs.Throwable):
    """A ``java.lang.Throwable``."""

    __slots__ = ()

    @escaped_lines
    def __str__(self) -> str:
        return views.full(self)

    @property
    def message(self) -> str | None:
        """The message that it was created with; runs no Java code (``call("getMessage")`` does)."""
        text: str | None = self["java.lang.Throwable.detailMessage"]
        return text

    @property
    def cause(self) -> Throwable | None:
        """Its cause, from its constructor or ``initCause``."""
        found: Any = self["java.lang.Throwable.cause"]
        return None if found == self else found  # Throwable.cause refers to itself until it is set

    @property
    def stack_trace(self) -> list[views.StackTraceElement]:
        """Where it was created; the innermost call first.

        Runs code of the JDK, which creates the elements at the first request.
        """
        return views.stack_trace(self)


class String(Attributes, refs.String):
    """A ``java.lang.String``; ``str()`` gives its text."""

    __slots__ = ()

    def __str__(self) -> str:
        return self._vm.jni.get_string_chars(self)

    def __len__(self) -> int:
        return self._vm.jni.get_string_length(self)


class ObjectArray(Attributes, refs.ObjectArray):
    """A Java array of references: it has a length, elements and slices, like a list."""

    __slots__ = ()

    def __len__(self) -> int:
        return arrays.length_of(self)

    def __getitem__(self, place: Any) -> Any:
        """An element, or a list of those of a slice, which takes one message.

        Raises:
            IndexError: there is no such element.

        JNI: GetObjectArrayElement.
        """
        return arrays.get_objects(self, place)

    def __setitem__(self, place: Any, value: Any) -> None:
        """Change an element, or those of a slice.

        Raises:
            IndexError: there is no such element.
            TypeError: the value cannot be converted to the element type.
            ValueError: the number of values differs from the number of elements.

        JNI: SetObjectArrayElement.
        """
        arrays.set_objects(self, place, value)

    def __iter__(self) -> Iterator[Any]:
        return iter(self[:])

    def fields(self) -> dict[str, Any]:
        """An array has none."""
        return {}


class PrimitiveArray(Attributes):
    """A Java array of numbers, characters or truth values: it can be used like a NumPy array.

    Slices are NumPy arrays with a copy of the elements; assigning to a slice writes them.
    """

    __slots__ = ()

    LETTER = ""
    """That of its element type."""

    def __len__(self) -> int:
        return arrays.length_of(self)

    def numpy(self) -> NDArray[Any]:
        """A copy of all elements, in one message; a ``char`` is a ``uint16``.

        JNI: Get<Type>ArrayElements.
        """
        return arrays.get_all(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("the elements are in another process, so this must copy")
        return self.numpy() if dtype is None else self.numpy().astype(dtype, copy=False)

    def __getitem__(self, place: Any) -> Any:
        """An element, or the elements of a slice as a NumPy array.

        Raises:
            IndexError: there is no such element.

        JNI: Get<Type>ArrayRegion.
        """
        return arrays.get_numbers(self, place)

    def __setitem__(self, place: Any, value: Any) -> None:
        """Change an element, or those of a slice, from one value or as many.

        Raises:
            IndexError: there is no such element.
            TypeError: the values are not of the element type.
            OverflowError: a number does not fit the element type.
            ValueError: the number of values differs from the number of elements.

        JNI: Set<Type>ArrayRegion.
        """
        arrays.set_numbers(self, place, value)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.value)

    def fields(self) -> dict[str, Any]:
        """An array has none."""
        return {}


class BooleanArray(PrimitiveArray, refs.BooleanArray):
    """A ``boolean[]``."""

    __slots__ = ()
    LETTER = "Z"


class ByteArray(PrimitiveArray, refs.ByteArray):
    """A ``byte[]``."""

    __slots__ = ()
    LETTER = "B"


class CharArray(PrimitiveArray, refs.CharArray):
    """A ``char[]``."""

    __slots__ = ()
    LETTER = "C"


class ShortArray(PrimitiveArray, refs.ShortArray):
    """A ``short[]``."""

    __slots__ = ()
    LETTER = "S"


class IntArray(PrimitiveArray, refs.IntArray):
    """An ``int[]``."""

    __slots__ = ()
    LETTER = "I"


class LongArray(PrimitiveArray, refs.LongArray):
    """A ``long[]``."""

    __slots__ = ()
    LETTER = "J"


class FloatArray(PrimitiveArray, refs.FloatArray):
    """A ``float[]``."""

    __slots__ = ()
    LETTER = "F"


class DoubleArray(PrimitiveArray, refs.DoubleArray):
    """A ``double[]``."""

    __slots__ = ()
    LETTER = "D"


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
    "write_field",
]
