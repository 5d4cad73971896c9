"""Classes, methods and fields as Java source code declares them."""

from __future__ import annotations

from jvmti.model.classes import Class, Field, Method
from jvmti.spec.signatures import result_of

_WORDS = (
    (0x0001, "public"),
    (0x0002, "private"),
    (0x0004, "protected"),
    (0x0400, "abstract"),
    (0x0008, "static"),
    (0x0010, "final"),
)
_OF_METHODS = (*_WORDS, (0x0020, "synchronized"), (0x0100, "native"))
_OF_FIELDS = (*_WORDS, (0x0040, "volatile"), (0x0080, "transient"))
_VARARGS = 0x0080
_INTERFACE, _ANNOTATION, _ENUM = 0x0200, 0x2000, 0x4000


def class_declaration(cls: Class) -> str:
    """``public class java.util.HashMap extends java.util.AbstractMap implements java.util.Map``."""
    flags = cls.modifiers
    if flags & _INTERFACE:
        flags &= ~0x0400  # every interface is abstract
    kind = "class"
    if flags & _INTERFACE:
        kind = "@interface" if flags & _ANNOTATION else "interface"
    elif flags & _ENUM:
        kind = "enum"
    parts = [*_in_words(flags, _WORDS), kind, cls.name]
    above = cls.superclass
    if above is not None and above.name not in ("java.lang.Object", "java.lang.Enum"):
        parts += ["extends", above.name]
    names = [one.name for one in cls.interfaces]
    if names:
        parts += ["extends" if flags & _INTERFACE else "implements", ", ".join(names)]
    return " ".join(parts)


def method_declaration(method: Method, *, qualified: bool = True) -> str:
    """``public java.lang.Object java.util.HashMap.get(java.lang.Object)``."""
    flags = method.modifiers
    types = list(method.parameter_types)
    if flags & _VARARGS and types:
        types[-1] = types[-1].removesuffix("[]") + "..."
    parameters = f"({', '.join(types)})"
    words = _in_words(flags, _OF_METHODS)
    if method.name == "<clinit>":
        return f"static {{}} of {method.class_name}" if qualified else "static {}"
    if method.name == "<init>":
        name = method.class_name if qualified else method.class_name.rpartition(".")[2]
        return " ".join([*words, name + parameters])
    name = f"{method.class_name}.{method.name}" if qualified else method.name
    return " ".join([*words, result_of(method.signature), name + parameters])


def field_declaration(field: Field) -> str:
    """``private final int limit``."""
    return " ".join([*_in_words(field.modifiers, _OF_FIELDS), field.type, field.name])


def _in_words(flags: int, words: tuple[tuple[int, str], ...]) -> list[str]:
    return [word for bit, word in words if flags & bit]


__all__ = ["class_declaration", "field_declaration", "method_declaration"]
