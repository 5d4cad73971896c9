"""Values of expressions while they are evaluated, with their static types.

Types are signatures: ``I``, ``Ljava/lang/String;``, ``[J``; that of ``null`` is `NULL`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from jvmti.interface.signatures import BOXED, STRING, java_name
from jvmti.model.values.conversion import OBJECT

NULL = "null"
"""The type of ``null``."""

LAMBDA = "lambda"
"""The type of a lambda or a method reference, whose interface its context decides."""

UNKNOWN: Any = object()
"""Stands for the value where only types are asked for."""


class Text:
    """A string that Python has, and the VM only where it is needed there.

    Attributes:
        text: its characters.
        is_constant: whether the language makes it the same object wherever it is written.
        handle: the object in the VM, once there is one.
    """

    __slots__ = ("handle", "is_constant", "text")

    def __init__(self, text: str, is_constant: bool = False) -> None:
        self.text = text
        self.is_constant = is_constant
        self.handle: Any = None


class Value(NamedTuple):
    """A value and its static type."""

    type: str
    """The signature of its type."""
    data: Any
    """A number (of a ``char`` its UTF-16 unit), a ``bool``, ``None``, a handle, a `Text`, or
    `UNKNOWN`."""
    is_open: bool = False
    """Whether the declared type is a type variable, so that the object itself says what it is."""
    is_constant: bool = False
    """Whether the language calls it a constant expression."""

    @property
    def is_primitive(self) -> bool:
        """Whether its type is primitive, or ``void``."""
        return len(self.type) == 1

    @property
    def primitive(self) -> str | None:
        """The letter of its type, or of what its box holds; ``None`` for other objects."""
        return self.type if len(self.type) == 1 else BOXED.get(self.type)

    @property
    def is_known(self) -> bool:
        """Whether there is a value, and not only its type."""
        return self.data is not UNKNOWN

    @property
    def type_name(self) -> str:
        """The name of its type, as Java writes it."""
        return name_of_type(self.type)


def name_of_type(signature: str) -> str:
    """The name of a type, as Java writes it."""
    if signature == LAMBDA:
        return "a lambda"
    return "null" if signature == NULL else java_name(signature)


def is_array(signature: str) -> bool:
    """Whether a type is one of arrays."""
    return signature.startswith("[")


def is_variable(generic: str | None) -> bool:
    """Whether a generic signature says a type variable, or an array of one, for its result."""
    return bool(generic) and str(generic).rpartition(")")[2].lstrip("[").startswith("T")


VOID = Value("V", None)
NOTHING = Value(NULL, None)

__all__ = [
    "LAMBDA",
    "NOTHING",
    "NULL",
    "OBJECT",
    "STRING",
    "UNKNOWN",
    "VOID",
    "Text",
    "Value",
    "is_array",
    "is_variable",
    "name_of_type",
]
