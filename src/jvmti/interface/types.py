"""The types that declarations use.

A declaration annotates its parameters and results with these names.  A type checker sees ordinary
Python types (``Int`` is ``int``); for the codec and the generator of the agent's thunks, the marker
inside ``Annotated`` says which C type it is and how it travels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from jvmti.interface.frozen import frozen

if TYPE_CHECKING:
    import numpy

    NumPyArray = numpy.ndarray[Any, Any]
else:
    NumPyArray = object


class Marker:
    """Base of everything that a declaration may put inside ``Annotated``."""

    __slots__ = ()


@frozen
class Primitive(Marker):
    """A number of fixed width: its C type and its code in the ``struct`` module (and NumPy)."""

    c: str
    code: str


@frozen
class ModifiedUTF8(Marker):
    """A C string in modified UTF-8 (``char *``); ``str`` in Python."""


@frozen
class UTF16(Marker):
    """A counted buffer of UTF-16 units (``jchar *`` and ``jsize``); ``str`` in Python."""


@frozen
class Blob(Marker):
    """A counted buffer of bytes (``unsigned char *`` and a length); ``bytes`` in Python.

    ``buffer_first`` says that the C function takes the pointer before the length.
    """

    buffer_first: bool = False


@frozen
class Elements(Marker):
    """Elements of a Java primitive array as a NumPy array; ``c`` is the element's C type.

    In a result, ``length`` names the parameter with the number of elements.
    """

    c: str
    length: str | None = None


@frozen
class MethodArguments(Marker):
    """Arguments of a Java method (``const jvalue *``), checked against its signature."""


@frozen
class Stored(Marker):
    """Any Python object that the controller keeps; the VM holds a token (``void *``)."""


@frozen
class Native(Marker):
    """An address in the target, for information only; never an input.

    ``const`` says how an event's C callback declares it.
    """

    const: bool = True


@frozen
class JValue(Marker):
    """A value of any Java type (``jvalue``): a number, a ``bool``, a handle or ``None``.

    ``given_by`` names the parameter that says which: a type character, a `PrimitiveType`, or a
    method, whose return type it is.
    """

    given_by: str


@frozen
class TypeCharacter(Marker):
    """The character of a Java type in signatures (C ``char``); one-letter ``str``."""


@frozen
class InliningRecords(Marker):
    """The records of ``jvmticmlr.h`` behind a pointer: which methods are inlined where."""


@frozen
class CapabilityBits(Marker):
    """``jvmtiCapabilities``, also written as names."""


# How a list result is laid out in the C parameter list.  Without a marker: a pointer to the
# count, then a pointer to an array that the VM allocates and the agent frees.


@frozen
class ArrayBeforeCount(Marker):
    """The pointer to the allocated array comes first, the pointer to the count second."""


@frozen
class CountIs(Marker):
    """The VM allocates the array; its length is that of the input list ``parameter``."""

    parameter: str


@frozen
class CallerBuffer(Marker):
    """The caller provides the array: ``capacity`` elements, then a pointer to the count."""

    capacity: str


@frozen
class ResultPerItem(Marker):
    """The caller provides an array with one element for each item of the input ``parameter``."""

    parameter: str


@frozen
class SameCount(Marker):
    """An allocated array whose length is that of the list result before it."""


@frozen
class DeclaredBy(Marker):
    """Methods or fields of the class given as ``parameter``."""

    parameter: str


@frozen
class CountField(Marker):
    """Inside a structure: the C member that holds this list's length.

    ``owned`` is false where the items share the allocation of the structure around them.
    """

    member: str
    owned: bool = True


Byte = Annotated[int, Primitive("jbyte", "b")]
Short = Annotated[int, Primitive("jshort", "h")]
Char = Annotated[str, Primitive("jchar", "H")]
"""One UTF-16 unit as text; an argument may also be its number."""
Int = Annotated[int, Primitive("jint", "i")]
Long = Annotated[int, Primitive("jlong", "q")]
Float = Annotated[float, Primitive("jfloat", "f")]
Double = Annotated[float, Primitive("jdouble", "d")]
Boolean = Annotated[bool, Primitive("jboolean", "?")]
Location = Annotated[int, Primitive("jlocation", "q")]
Address = Annotated[int, Native()]
Text = Annotated[str, ModifiedUTF8()]
UnicodeText = Annotated[str, UTF16()]
Bytes = Annotated[bytes, Blob()]
Arguments = Annotated[Sequence[Any], MethodArguments()]
StoredObject = Annotated[Any, Stored()]

__all__ = [
    "UTF16",
    "Address",
    "Arguments",
    "ArrayBeforeCount",
    "Blob",
    "Boolean",
    "Byte",
    "Bytes",
    "CallerBuffer",
    "CapabilityBits",
    "Char",
    "CountField",
    "CountIs",
    "DeclaredBy",
    "Double",
    "Elements",
    "Float",
    "InliningRecords",
    "Int",
    "JValue",
    "Location",
    "Long",
    "Marker",
    "MethodArguments",
    "ModifiedUTF8",
    "Native",
    "NumPyArray",
    "Primitive",
    "ResultPerItem",
    "SameCount",
    "Short",
    "Stored",
    "StoredObject",
    "Text",
    "TypeCharacter",
    "UnicodeText",
]
