"""Type signatures of the VM and the names that Java programmers know."""

from __future__ import annotations

import fnmatch
import functools
import re
from collections.abc import Callable

_PRIMITIVE = {
    "Z": "boolean",
    "B": "byte",
    "C": "char",
    "S": "short",
    "I": "int",
    "J": "long",
    "F": "float",
    "D": "double",
    "V": "void",
}
DTYPES = {
    "Z": "|b1",
    "B": "|i1",
    "C": "<u2",
    "S": "<i2",
    "I": "<i4",
    "J": "<i8",
    "F": "<f4",
    "D": "<f8",
}
"""The codes of NumPy's types by the letters of Java's."""
_SIGNATURES = {name: letter for letter, name in _PRIMITIVE.items()}
PRIMITIVES = frozenset(_SIGNATURES)
"""The names of primitive types, and ``void``."""
STRING = "Ljava/lang/String;"
BOXED = {
    f"Ljava/lang/{name};": letter
    for name, letter in {
        "Boolean": "Z",
        "Byte": "B",
        "Character": "C",
        "Short": "S",
        "Integer": "I",
        "Long": "J",
        "Float": "F",
        "Double": "D",
    }.items()
}
"""The types of boxes, with the primitive type of what is in them."""
RANGES = {
    "Z": (0, 1),
    "B": (-(1 << 7), (1 << 7) - 1),
    "C": (0, (1 << 16) - 1),
    "S": (-(1 << 15), (1 << 15) - 1),
    "I": (-(1 << 31), (1 << 31) - 1),
    "J": (-(1 << 63), (1 << 63) - 1),
}
"""The least and the greatest number of a type."""
_SWAPPED = str.maketrans("/.", "./")
_HIDDEN = re.compile(r"/(0x[0-9a-f]+|[0-9]+)\Z")


@functools.lru_cache(4096)
def java_name(signature: str) -> str:
    """The name of a type as in source code: ``java.util.Map``, ``int[]``.

    A hidden class keeps the slash before its suffix, as ``Class.getName`` shows it.
    """
    dimensions = len(signature) - len(signature.lstrip("["))
    element = signature[dimensions:]
    if element[:1] == "L" and element[-1:] == ";":
        # The VM writes a hidden class Lp/C.0x1;, Java p.C/0x1. Release 11 has a slash in both.
        name = _HIDDEN.sub(r".\1", element[1:-1]).translate(_SWAPPED)
    else:
        name = _PRIMITIVE.get(element, element)
    return name + "[]" * dimensions


def a_type(signature: str) -> str:
    """The name of a type with its article: ``an int``, ``a java.util.Map``."""
    name = java_name(signature)
    return f"{'an' if name == 'int' or name.startswith('int[') else 'a'} {name}"


def is_hidden(signature: str) -> bool:
    """Whether a type is a hidden class, in Java 11 an anonymous class of the VM: lambdas' glue."""
    element = signature.lstrip("[")
    return "." in element or _HIDDEN.search(element[1:-1]) is not None


def signature_of(name: str) -> str:
    """The signature of a type, from its name in source code or a class file."""
    dimensions = 0
    while name.endswith("[]"):
        name = name[:-2]
        dimensions += 1
    if name in _SIGNATURES:
        return "[" * dimensions + _SIGNATURES[name]
    if name.startswith("["):
        return "[" * dimensions + name.replace(".", "/")
    if _HIDDEN.search(name):
        return "[" * dimensions + f"L{name.translate(_SWAPPED)};"
    return "[" * dimensions + f"L{name.replace('.', '/')};"


def parameters_of(signature: str) -> list[str]:
    """The Java names of a method's parameter types."""
    found = []
    at = signature.find("(") + 1
    while at < len(signature) and signature[at] != ")":
        start = at
        while signature[at : at + 1] == "[":
            at += 1
        if signature[at : at + 1] == "L":
            end = signature.find(";", at)
            at = end if end >= 0 else len(signature) - 1
        at += 1
        found.append(java_name(signature[start:at]))
    return found


def result_of(signature: str) -> str:
    """The Java name of a method's result type."""
    return java_name(signature[signature.rfind(")") + 1 :])


def matcher(pattern: str) -> Callable[[str], object]:
    """Matches names of types against a shell pattern, in which `[]` means an array.

    Several patterns stand on lines of their own, as in the agent.
    """
    patterns = pattern.replace("[]", "[[]]").split("\n")
    return re.compile("|".join(map(fnmatch.translate, patterns))).match


def in_any_package(pattern: str) -> list[str]:
    """The patterns that one for classes stands for: without a dot, it is of any package.

    Users leave out the package of NumberFormatException, and the class around Shop$NoMoney.
    """
    if "." in pattern or pattern.startswith("*"):
        return [pattern]
    return [pattern, f"*.{pattern}", f"*${pattern}"]


__all__ = [
    "BOXED",
    "PRIMITIVES",
    "RANGES",
    "STRING",
    "a_type",
    "in_any_package",
    "is_hidden",
    "java_name",
    "matcher",
    "parameters_of",
    "result_of",
    "signature_of",
]
