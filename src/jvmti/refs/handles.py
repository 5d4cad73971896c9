"""Handles: how Python names what lives in the target.

A handle is a number that the agent issued: a table index, a generation and a kind.  It is never a
pointer, and the agent checks it before use.  Each class here declares its C type, the Java class of
its objects, and the JVM TI error for a wrong one; the generator of the agent reads the same
attributes, so the two sides cannot differ.

Wrappers own what they name; `jvmti.wire.ownership` releases it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from jvmti.refs.services import EXTENSIONS, MEMORY

if TYPE_CHECKING:
    from typing import Any

INDEX_BITS = 32
KIND_SHIFT = 56

CLASSES: dict[int, type[Handle]] = {}
"""Every kind of handle, by the number in a handle's highest byte."""


class Handle:
    """Something in the target JVM, named by a number that its agent issued."""

    __slots__ = ("__weakref__", "_handle", "_session")

    KIND: ClassVar[int] = 0
    C_TYPE: ClassVar[str] = ""
    JAVA_CLASS: ClassVar[str | None] = None
    """The Java class of objects of this kind; none if the agent checks another way."""
    ERROR: ClassVar[str] = ""
    """The JVM TI error for a stale or wrong handle of this kind."""
    STANDS_FOR_ANY: ClassVar[bool] = False
    """It may be passed for another kind; the agent checks the object itself."""
    POINTER: ClassVar[bool] = False
    """It is a plain pointer of the VM; methods and fields have tables of their own."""
    LASTING: ClassVar[bool] = False
    """Never released, so its wrapper may be cached for good."""

    _session: Any
    _handle: int

    def __init_subclass__(cls, **keywords: object) -> None:
        super().__init_subclass__(**keywords)
        if "KIND" in cls.__dict__:
            CLASSES[cls.KIND] = cls

    def __init__(self, session: Any, handle: int) -> None:
        self._session = session
        self._handle = handle

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._handle & 0xFFFFFFFF}>"

    def __dir__(self) -> list[str]:
        # Hide the agent's attributes of a class from name completion.
        return [name for name in super().__dir__() if not name.isupper()]

    def __copy__(self) -> Handle:
        return self

    def __deepcopy__(self, memo: object) -> Handle:
        return self  # it names something elsewhere, which is not copied


class Object(Handle):
    """A Java object (``jobject``): a strong, owned reference.

    The object cannot be collected while this wrapper lives; `release` releases it early.
    Equality and hashing follow the identity of the Java object.
    """

    __slots__ = ("_class", "_hash", "_identity", "_identity_hash", "_keeper")

    KIND = 1
    C_TYPE = "jobject"
    ERROR = "INVALID_OBJECT"

    _keeper: Any
    """The owner of the handle if it is not this wrapper: the column that it came from."""
    _class: Any
    """The wrapper of its class, once something asked for it."""
    _hash: int
    _identity_hash: int
    """The number of `System.identityHashCode`, once it was needed."""
    _identity: Any
    """The wrapper that has the object's identity, if this one was hashed and is another."""

    def release(self) -> None:
        """Release the reference now; the wrapper cannot be used afterwards."""
        self._keeper = None
        if self._handle:
            self._session.ownership.release(self)
            self._handle = 0

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Object):
            return NotImplemented
        if other._session is not self._session or isinstance(other, WeakReference):
            return False
        if not self._handle or not other._handle:
            return False  # a released wrapper names nothing
        if self._handle == other._handle:
            return True
        return bool(self._session.same_object(self, other))

    def __hash__(self) -> int:
        # Looked up once: the number stays valid while a wrapper with the identity is kept.
        try:
            return self._hash
        except AttributeError:
            pass
        identity = self._session.identity(self)
        if identity is not self:
            self._identity = identity
        self._hash = hash(identity._handle)
        return self._hash


class Class(Object):
    """A ``java.lang.Class`` (``jclass``)."""

    __slots__ = ()
    KIND = 2
    C_TYPE = "jclass"
    JAVA_CLASS = "java/lang/Class"
    ERROR = "INVALID_CLASS"


class Thread(Object):
    """A ``java.lang.Thread`` (``jthread``), platform or virtual."""

    __slots__ = ()
    KIND = 3
    C_TYPE = "jthread"
    JAVA_CLASS = "java/lang/Thread"
    ERROR = "INVALID_THREAD"


class ThreadGroup(Object):
    """A ``java.lang.ThreadGroup`` (``jthreadGroup``)."""

    __slots__ = ()
    KIND = 4
    C_TYPE = "jthreadGroup"
    JAVA_CLASS = "java/lang/ThreadGroup"
    ERROR = "INVALID_THREAD_GROUP"


class ClassLoader(Object):
    """A ``java.lang.ClassLoader``."""

    __slots__ = ()
    KIND = 5
    JAVA_CLASS = "java/lang/ClassLoader"
    ERROR = "ILLEGAL_ARGUMENT"


class Module(Object):
    """A ``java.lang.Module``."""

    __slots__ = ()
    KIND = 6
    JAVA_CLASS = "java/lang/Module"
    ERROR = "INVALID_MODULE"


class Throwable(Object):
    """A ``java.lang.Throwable`` (``jthrowable``)."""

    __slots__ = ()
    KIND = 7
    C_TYPE = "jthrowable"
    JAVA_CLASS = "java/lang/Throwable"


class String(Object):
    """A ``java.lang.String`` (``jstring``)."""

    __slots__ = ()
    KIND = 8
    C_TYPE = "jstring"
    JAVA_CLASS = "java/lang/String"


class Array(Object):
    """A Java array of any kind (``jarray``)."""

    __slots__ = ("_length",)
    C_TYPE = "jarray"


class ObjectArray(Array):
    """A Java array of references (``jobjectArray``)."""

    __slots__ = ()
    KIND = 9
    C_TYPE = "jobjectArray"
    JAVA_CLASS = "[Ljava/lang/Object;"


class BooleanArray(Array):
    """A ``boolean[]`` (``jbooleanArray``)."""

    __slots__ = ()
    KIND = 10
    C_TYPE = "jbooleanArray"
    JAVA_CLASS = "[Z"


class ByteArray(Array):
    """A ``byte[]`` (``jbyteArray``)."""

    __slots__ = ()
    KIND = 11
    C_TYPE = "jbyteArray"
    JAVA_CLASS = "[B"


class CharArray(Array):
    """A ``char[]`` (``jcharArray``)."""

    __slots__ = ()
    KIND = 12
    C_TYPE = "jcharArray"
    JAVA_CLASS = "[C"


class ShortArray(Array):
    """A ``short[]`` (``jshortArray``)."""

    __slots__ = ()
    KIND = 13
    C_TYPE = "jshortArray"
    JAVA_CLASS = "[S"


class IntArray(Array):
    """An ``int[]`` (``jintArray``)."""

    __slots__ = ()
    KIND = 14
    C_TYPE = "jintArray"
    JAVA_CLASS = "[I"


class LongArray(Array):
    """A ``long[]`` (``jlongArray``)."""

    __slots__ = ()
    KIND = 15
    C_TYPE = "jlongArray"
    JAVA_CLASS = "[J"


class FloatArray(Array):
    """A ``float[]`` (``jfloatArray``)."""

    __slots__ = ()
    KIND = 16
    C_TYPE = "jfloatArray"
    JAVA_CLASS = "[F"


class DoubleArray(Array):
    """A ``double[]`` (``jdoubleArray``)."""

    __slots__ = ()
    KIND = 17
    C_TYPE = "jdoubleArray"
    JAVA_CLASS = "[D"


class WeakReference(Object):
    """A weak global reference (``jweak``): names an object without keeping it alive.

    Use it wherever the object may be used; once the object is collected, that raises
    INVALID_OBJECT. As it must not keep the object, it equals only itself; ``jni.is_same_object``
    compares what two references name.
    """

    __slots__ = ()
    KIND = 18
    C_TYPE = "jweak"
    STANDS_FOR_ANY = True

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self) >> 4


class Issued(Handle):
    """A handle that the session's tables keep: it owns nothing and needs no release."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Issued):
            return NotImplemented
        return self._handle == other._handle and self._session is other._session

    def __hash__(self) -> int:
        return hash(self._handle)


class Method(Issued):
    """A method (``jmethodID``) that the agent has issued."""

    __slots__ = ()
    KIND = 32
    LASTING = True
    C_TYPE = "jmethodID"
    ERROR = "INVALID_METHODID"


class Field(Issued):
    """A field of a class (``jfieldID`` together with its ``jclass``) that the agent has issued."""

    __slots__ = ()
    KIND = 33
    LASTING = True
    C_TYPE = "jfieldID"
    ERROR = "INVALID_FIELDID"


class RawMonitor(Issued):
    """A raw monitor (``jrawMonitorID``) made by this session."""

    __slots__ = ()
    KIND = 34
    POINTER = True
    C_TYPE = "jrawMonitorID"
    ERROR = "INVALID_MONITOR"


class Memory(Issued):
    """Memory of the target from ``Allocate``; freed with the session at the latest."""

    __slots__ = ()
    KIND = 35
    POINTER = True
    C_TYPE = "unsigned char*"
    ERROR = "ILLEGAL_ARGUMENT"

    def read(self, offset: int, length: int) -> bytes:
        """Read a part of it.

        Args:
            offset: of the first byte.
            length: how many bytes.

        Raises:
            IllegalArgument: it has been freed, or has no such bytes.
        """
        data: bytes = self._session.services[MEMORY].read_memory(self, offset, length)
        return data

    def write(self, offset: int, data: bytes) -> None:
        """Change a part of it.

        Args:
            offset: of the first byte.
            data: what to put there.

        Raises:
            IllegalArgument: it has been freed, or is shorter than that.
        """
        self._session.services[MEMORY].write_memory(self, offset, data)


class ExtensionFunction(Issued):
    """A function of the VM's own beyond JVM TI (``jvmtiExtensionFunction``).

    Call it with the input parameters, in the order of `ExtensionFunctionInfo.params`; it returns
    the outputs: one value, or a tuple of several.
    """

    def __call__(self, *arguments: Any) -> Any:
        """Call it."""
        return self._session.services[EXTENSIONS].call(self, arguments)

    __slots__ = ()
    KIND = 36
    POINTER = True
    C_TYPE = "jvmtiExtensionFunction"
    ERROR = "ILLEGAL_ARGUMENT"
