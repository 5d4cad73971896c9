"""Whether two class files are of one class, as far as the VM keeps them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jvmti.classfile.structure import ClassFile, FieldInfo, MethodInfo


def is_same_class(file: ClassFile, other: ClassFile) -> bool:
    """Whether class files differ in what the VM leaves out and in the order of attributes alone.

    The VM gives the class file of a loaded class without attributes that it does not need. The
    others and the code refer to constants by their numbers, so those have to be the same; what a
    compiler has written twice of one source is.

    Args:
        file: a class file.
        other: another one.
    """
    if bytes(file) == bytes(other):
        return True
    return (
        _head(file) == _head(other)
        and dict(file.pool) == dict(other.pool)
        and _agree(file.attributes, other.attributes)
        and _same_members(file.fields, other.fields)
        and _same_members(file.methods, other.methods)
    )


def _head(file: ClassFile) -> tuple[object, ...]:
    return file.version, file.modifiers, file.name, file.superclass, file.interfaces


def _agree(some: Mapping[str, bytes], others: Mapping[str, bytes]) -> bool:
    return all(some[name] == others[name] for name in (some.keys() & others.keys()) - {"Code"})


def _same_members(
    some: Sequence[FieldInfo | MethodInfo], others: Sequence[FieldInfo | MethodInfo]
) -> bool:
    # The VM sorts methods.
    after = {(one.name, one.descriptor): one for one in others}
    return len(some) == len(after) and all(
        (found := after.get((one.name, one.descriptor))) is not None
        and one.modifiers == found.modifiers
        and _agree(one.attributes, found.attributes)
        and _same_code(one, found)
        for one in some
    )


def _same_code(one: FieldInfo | MethodInfo, other: FieldInfo | MethodInfo) -> bool:
    code = one.code if isinstance(one, MethodInfo) else None
    its = other.code if isinstance(other, MethodInfo) else None
    if code is None or its is None:
        return code is its
    return (
        (code.max_stack, code.max_locals, code.bytecodes, code.exception_table)
        == (its.max_stack, its.max_locals, its.bytecodes, its.exception_table)
    ) and _agree(code.attributes, its.attributes)


__all__ = ["is_same_class"]
