"""Annotations of class files."""

from __future__ import annotations

from typing import Any, NamedTuple

from jvmti.classfile.constant_pool import ConstantPool
from jvmti.classfile.reading import MalformedClassFile, Reader
from jvmti.interface.frozen import frozen
from jvmti.interface.signatures import java_name
from jvmti.text.printable import escaped


class EnumConstant(NamedTuple):
    """A constant of an enum as the value of an annotation's element."""

    type: str
    """The Java name of the enum."""
    name: str
    """The name of the constant."""

    @escaped
    def __str__(self) -> str:
        return f"{self.type}.{self.name}"


class ClassLiteral(NamedTuple):
    """A class as the value of an annotation's element."""

    name: str
    """The Java name of the class: ``int[]``, ``java.util.Map$Entry``, ``void``."""

    @escaped
    def __str__(self) -> str:
        return f"{self.name}.class"


@frozen
class Annotation:
    """An annotation.

    Attributes:
        type: the Java name of its interface: ``java.lang.Deprecated``.
        elements: the explicit values, without defaults.  A value is a
            `bool`, `int`, `float`, `str` (of one character for a char), an `EnumConstant`, a
            `ClassLiteral`, another `Annotation`, or a list of one of these.
        visible: whether Java code can see it at run time.
    """

    type: str
    elements: dict[str, Any]
    visible: bool = True

    def __getitem__(self, name: str) -> Any:
        try:
            return self.elements[name]
        except KeyError:
            given = ", ".join(self.elements) or "none"
            raise KeyError(
                f"@{self.type} has no explicit {name!r} here; it has: {given} (defaults are in the "
                "methods of the annotation's interface, method.annotation_default)"
            ) from None

    @escaped
    def __str__(self) -> str:
        given = ", ".join(f"{name}={_text(value)}" for name, value in self.elements.items())
        return f"@{self.type}({given})" if given else f"@{self.type}"


@frozen
class TypeAnnotation:
    """An annotation of the use of a type.

    Attributes:
        annotation: the annotation.
        target: the kind of use, by its number in the class file format.
        path: into the type, pairs of a kind of step and a type argument.
    """

    annotation: Annotation
    target: int
    path: tuple[tuple[int, int], ...]


def _text(value: Any) -> str:
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "{" + ", ".join(map(_text, value)) + "}"
    return str(value)


def read_annotations(reader: Reader, pool: ConstantPool, visible: bool) -> list[Annotation]:
    """Read a counted list of annotations."""
    return [_annotation(reader, pool, visible) for _ in range(reader.u2())]


def _annotation(reader: Reader, pool: ConstantPool, visible: bool, depth: int = 0) -> Annotation:
    kind = java_name(pool.text(reader.u2()))
    elements = {}
    for _ in range(reader.u2()):
        name = pool.text(reader.u2())
        elements[name] = read_element(reader, pool, visible, depth)
    return Annotation(kind, elements, visible)


def read_element(reader: Reader, pool: ConstantPool, visible: bool = True, depth: int = 0) -> Any:
    """Read the value of an annotation's element."""
    if depth > 100:
        raise MalformedClassFile("annotations are nested more than 100 deep")
    tag = chr(reader.u1())
    match tag:
        case "B" | "S" | "I" | "J" | "F" | "D" | "s":
            return pool[reader.u2()].value
        case "Z":
            return bool(pool[reader.u2()].value)
        case "C":
            return chr(pool[reader.u2()].value & 0xFFFF)
        case "e":
            return EnumConstant(java_name(pool.text(reader.u2())), pool.text(reader.u2()))
        case "c":
            return ClassLiteral(java_name(pool.text(reader.u2())))
        case "@":
            return _annotation(reader, pool, visible, depth + 1)
        case "[":
            return [read_element(reader, pool, visible, depth + 1) for _ in range(reader.u2())]
    raise MalformedClassFile(f"an annotation has an element of the unknown kind {tag!r}")


_TARGET_SIZES = {0x00: 1, 0x01: 1, 0x10: 2, 0x11: 2, 0x12: 2, 0x13: 0, 0x14: 0, 0x15: 0, 0x16: 1}
_TARGET_SIZES |= {0x17: 2, 0x42: 2, 0x43: 2, 0x44: 2, 0x45: 2, 0x46: 2}
_TARGET_SIZES |= {0x47: 3, 0x48: 3, 0x49: 3, 0x4A: 3, 0x4B: 3}


def read_type_annotations(
    reader: Reader, pool: ConstantPool, visible: bool
) -> list[TypeAnnotation]:
    """Read a counted list of type annotations."""
    found = []
    for _ in range(reader.u2()):
        target = reader.u1()
        if target in (0x40, 0x41):
            reader.take(6 * reader.u2())
        elif target in _TARGET_SIZES:
            reader.take(_TARGET_SIZES[target])
        else:
            raise MalformedClassFile(f"a type annotation has the unknown target 0x{target:02x}")
        path = tuple((reader.u1(), reader.u1()) for _ in range(reader.u1()))
        found.append(TypeAnnotation(_annotation(reader, pool, visible), target, path))
    return found


__all__ = [
    "Annotation",
    "ClassLiteral",
    "EnumConstant",
    "TypeAnnotation",
    "read_annotations",
    "read_element",
    "read_type_annotations",
]
