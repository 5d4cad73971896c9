"""Generic signatures, as in source code."""

from __future__ import annotations

from jvmti.classfile.reading import MalformedClassFile
from jvmti.interface.frozen import frozen
from jvmti.interface.signatures import java_name


@frozen
class ClassSignature:
    """The generic declaration of a class.

    Attributes:
        type_parameters: each with its bounds: ``E extends java.lang.Enum<E>``.
        superclass: its superclass: ``java.util.AbstractMap<K, V>``.
        interfaces: the interfaces that it implements, or extends.
    """

    type_parameters: list[str]
    superclass: str
    interfaces: list[str]


@frozen
class MethodSignature:
    """The generic declaration of a method.

    Attributes:
        type_parameters: each with its bounds.
        parameters: the types of its parameters.
        result: the type of its result.
        throws: its exceptions, if they include type variables.
    """

    type_parameters: list[str]
    parameters: list[str]
    result: str
    throws: list[str]


def class_signature(signature: str) -> ClassSignature:
    """Parse the generic signature of a class.

    Raises:
        MalformedClassFile: it is not a signature.
    """
    return _Signature(signature).of_class()


def method_signature(signature: str) -> MethodSignature:
    """Parse the signature of a method, generic or not.

    Raises:
        MalformedClassFile: it is not a signature.
    """
    return _Signature(signature).of_method()


def type_signature(signature: str) -> str:
    """The type of a signature, generic or not: ``java.util.List<? extends T>[]``.

    Raises:
        MalformedClassFile: it is not a signature.
    """
    parsed = _Signature(signature)
    found = parsed.type()
    parsed.finish()
    return found


class _Signature:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def wrong(self) -> MalformedClassFile:
        return MalformedClassFile(f"not a signature: {self.text!r}, at {self.at}")

    def take(self, wanted: str) -> None:
        if self.peek() != wanted:
            raise self.wrong()
        self.at += 1

    def finish(self) -> None:
        if self.at != len(self.text):
            raise self.wrong()

    def until(self, ends: str) -> str:
        start = self.at
        while self.peek() and self.peek() not in ends:
            self.at += 1
        if not self.peek():
            raise self.wrong()
        return self.text[start : self.at]

    def of_class(self) -> ClassSignature:
        parameters = self.type_parameters()
        superclass = self.type()
        interfaces = []
        while self.peek():
            interfaces.append(self.type())
        return ClassSignature(parameters, superclass, interfaces)

    def of_method(self) -> MethodSignature:
        type_parameters = self.type_parameters()
        self.take("(")
        parameters = []
        while self.peek() != ")":
            parameters.append(self.type())
        self.take(")")
        result = self.type()
        throws = []
        while self.peek() == "^":
            self.at += 1
            throws.append(self.type())
        self.finish()
        return MethodSignature(type_parameters, parameters, result, throws)

    def type_parameters(self) -> list[str]:
        if self.peek() != "<":
            return []
        self.at += 1
        found = []
        while self.peek() != ">":
            name = self.until(":>")
            bounds = []
            while self.peek() == ":":
                self.at += 1
                if self.peek() != ":":  # without a class bound there are two colons
                    bounds.append(self.type())
            if bounds[:1] == ["java.lang.Object"]:
                bounds = bounds[1:]
            found.append(name + (" extends " if bounds else "") + " & ".join(bounds))
        self.at += 1
        return found

    def type(self) -> str:
        dimensions = 0
        while self.peek() == "[":
            dimensions += 1
            self.at += 1
        kind = self.peek()
        if kind == "L":
            found = self.class_type()
        elif kind == "T":
            self.at += 1
            found = self.until(";")
            self.at += 1
        elif kind and kind in "ZBCSIJFDV":
            found = java_name(kind)
            self.at += 1
        else:
            raise self.wrong()
        return found + "[]" * dimensions

    def class_type(self) -> str:
        self.take("L")
        found = self.until("<;.").replace("/", ".")
        while True:
            if self.peek() == "<":
                found += self.type_arguments()
            if self.peek() == ";":
                self.at += 1
                return found
            self.take(".")
            found += "." + self.until("<;.")

    def type_arguments(self) -> str:
        self.take("<")
        found = []
        while self.peek() != ">":
            kind = self.peek()
            if kind == "*":
                self.at += 1
                found.append("?")
            elif kind == "+":
                self.at += 1
                found.append("? extends " + self.type())
            elif kind == "-":
                self.at += 1
                found.append("? super " + self.type())
            else:
                found.append(self.type())
        self.at += 1
        return "<" + ", ".join(found) + ">"


__all__ = [
    "ClassSignature",
    "MethodSignature",
    "class_signature",
    "method_signature",
    "type_signature",
]
