"""Access flags of classes, methods and fields, as in the class file format.

The same bit means one thing for a class and another for a method, so each has flags of its own.
They are still numbers; ``str()`` returns Java's keywords for them, in the order of ``javap``.
"""

from __future__ import annotations

import enum


class ClassModifiers(enum.IntFlag):
    """Access flags of a class or interface."""

    PUBLIC = 0x0001
    PRIVATE = 0x0002
    PROTECTED = 0x0004
    STATIC = 0x0008
    FINAL = 0x0010
    SUPER = 0x0020
    INTERFACE = 0x0200
    ABSTRACT = 0x0400
    SYNTHETIC = 0x1000
    ANNOTATION = 0x2000
    ENUM = 0x4000
    MODULE = 0x8000

    def __str__(self) -> str:
        return _words(self, "PUBLIC PRIVATE PROTECTED STATIC FINAL ABSTRACT")


class MethodModifiers(enum.IntFlag):
    """Access flags of a method or constructor."""

    PUBLIC = 0x0001
    PRIVATE = 0x0002
    PROTECTED = 0x0004
    STATIC = 0x0008
    FINAL = 0x0010
    SYNCHRONIZED = 0x0020
    BRIDGE = 0x0040
    VARARGS = 0x0080
    NATIVE = 0x0100
    ABSTRACT = 0x0400
    STRICT = 0x0800
    SYNTHETIC = 0x1000

    def __str__(self) -> str:
        words = _words(
            self, "PUBLIC PRIVATE PROTECTED STATIC FINAL SYNCHRONIZED NATIVE ABSTRACT STRICT"
        )
        return words.replace("strict", "strictfp")


class FieldModifiers(enum.IntFlag):
    """Access flags of a field."""

    PUBLIC = 0x0001
    PRIVATE = 0x0002
    PROTECTED = 0x0004
    STATIC = 0x0008
    FINAL = 0x0010
    VOLATILE = 0x0040
    TRANSIENT = 0x0080
    SYNTHETIC = 0x1000
    ENUM = 0x4000

    def __str__(self) -> str:
        return _words(self, "PUBLIC PRIVATE PROTECTED STATIC FINAL VOLATILE TRANSIENT")


def _words(flags: enum.IntFlag, order: str) -> str:
    kind = type(flags)
    return " ".join(name.lower() for name in order.split() if flags & kind[name])


def flag_names(flags: enum.IntFlag) -> list[str]:
    """The names of the flags that are set, as the class file format has them: ``ACC_PUBLIC``."""
    return [f"ACC_{one.name}" for one in type(flags) if flags & one]


__all__ = ["ClassModifiers", "FieldModifiers", "MethodModifiers", "flag_names"]
