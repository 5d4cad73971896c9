"""Names the fields and methods in which a class file differs from the loaded class."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from jvmti.interface.signatures import java_name, parameters_of
from jvmti.text.printable import printable

if TYPE_CHECKING:
    from jvmti.classfile.structure import ClassFile
    from jvmti.model.classes.java_class import Class

_MOST = 5
"""Members that are named at most."""


def changed_members(cls: Class, file: ClassFile) -> str:
    """The fields and methods that a class file adds and leaves out, as a text to put behind others.

    Args:
        cls: the loaded class.
        file: the class file that is to replace its code.

    Returns:
        As `` (adds int price; leaves out lambda$0())``; empty if it has the same.

    Raises:
        JvmtiError: the class cannot be looked at any more.
    """
    before = {_field(one.name, one.signature) for one in cls.fields}
    before |= {_method(one.name, one.signature) for one in cls.methods}
    after = {_field(one.name, one.descriptor) for one in file.fields}
    after |= {_method(one.name, one.descriptor) for one in file.methods}
    parts = [
        f"{verb} {_listed(members)}"
        for verb, members in (("adds", after - before), ("leaves out", before - after))
        if members
    ]
    return f" ({'; '.join(parts)})" if parts else ""


def _field(name: str, descriptor: str) -> str:
    return f"{java_name(descriptor)} {name}"


def _method(name: str, descriptor: str) -> str:
    result = java_name(descriptor.rpartition(")")[2])
    return f"{result} {name}({', '.join(parameters_of(descriptor))})"


def _listed(members: Iterable[str]) -> str:
    shown = sorted(members)
    more = [f"and {len(shown) - _MOST} more"] if len(shown) > _MOST else []
    return ", ".join([*(printable(one, 200) for one in shown[:_MOST]), *more])


__all__ = ["changed_members"]
