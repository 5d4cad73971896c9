"""The methods that a line of code may call, for steps into them.

A step of a late agent ends at a probe, so what is called must have one before. No instruction names
what the JDK calls for the program: by reflection, method handles and proxies.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from jvmti.classfile.opcodes import instructions
from jvmti.classfile.reading import MalformedClassFile
from jvmti.interface.errors import ClassNotPrepared, Error
from jvmti.interface.modifiers import MethodModifiers
from jvmti.model.debug.late.stop_probes import exactly
from jvmti.tracing.call_probes import HELPER

if TYPE_CHECKING:
    from jvmti.model.classes.java_class import Class, Method
    from jvmti.model.threads.frames import Frame
    from jvmti.model.vm import VM

_NO_CODE = MethodModifiers.NATIVE | MethodModifiers.ABSTRACT
_MOST_TARGETS = 64
"""The number of classes below that of a call, which get probes for a step into it."""
_DEEPEST = 4
"""The number of method handles within each other that are looked through."""
_REFLECTION = {
    ("java.lang.reflect.Method", "invoke"),
    ("java.lang.reflect.Constructor", "newInstance"),
    ("java.lang.Class", "newInstance"),
}
_PROXY, _HANDLER = "java.lang.reflect.Proxy", "java.lang.reflect.InvocationHandler"
_HANDLED = "Ljava/lang/Object;Ljava/lang/reflect/Method;[Ljava/lang/Object;)Ljava/lang/Object;"
"""The end of the descriptors of what handles calls of proxies."""
_HANDLE, _MEMBER = "java.lang.invoke.MethodHandle", "java.lang.invoke.MemberName"


def called_from(vm: VM, frame: Frame) -> list[Method]:
    """The methods that calls on a frame's current line may run.

    Of method handles those are among them that the frame can read, and of proxies what any handler
    of their calls may run. What native code calls is not, and see `calls_reflection`.
    """
    cls = frame.method.declaring_class
    found: dict[Method, None] = {}
    for opcode, member in _calls_at(frame):
        name = member.class_name.replace("/", ".")
        if name == _HANDLE and member.name.startswith("invoke"):
            for owner, method in _handled_at(frame):
                found |= dict.fromkeys(_overriding(owner, method))
        owners = list(vm.classes(exactly(name)))
        if opcode in ("invokevirtual", "invokeinterface"):
            below = [one for owner in owners for one in owner.subclasses()]
            # The program's own first.
            below.sort(key=lambda one: one.loader is None)
            below = below[:_MOST_TARGETS]
            owners += below
            found |= dict.fromkeys(_handlers_of(vm, below))
            found |= dict.fromkeys(one for each in below for one in _lambdas_of(vm, each))
        if opcode != "invokespecial":
            found |= dict.fromkeys(one for one in cls.methods if one.name.startswith("lambda$"))
        for owner in owners:
            found |= dict.fromkeys(declared(owner, member.name, member.descriptor))
    return list(found)


def calls_reflection(frame: Frame) -> bool:
    """Whether a call on a frame's current line calls another method by reflection."""
    return any(
        (member.class_name.replace("/", "."), member.name) in _REFLECTION
        for _, member in _calls_at(frame)
    )


def _calls_at(frame: Frame) -> Iterator[tuple[str, Any]]:
    # A frame may be in a version of the method from before its class got other probes.
    for one in frame.method.declaring_class.methods:
        if (one.name, one.signature) == (frame.method.name, frame.method.signature):
            yield from calls_on_line(one, frame.line)


def _overriding(owner: Class, name: str) -> Iterator[Method]:
    """The methods of a name that a class has or inherits, and those in the classes below."""
    for one in owner.methods.named(name):
        for cls in (owner, *([] if one.is_static else owner.subclasses()[:_MOST_TARGETS])):
            yield from declared(cls, one.name, one.signature)


def calls_on_line(method: Method, line: int | None) -> Iterator[tuple[str, Any]]:
    """The calls in a line of a method: the instruction, and the constant that names the callee."""
    entries = sorted(method.lines, key=lambda entry: entry.start_location)
    starts = [one.start_location for one in entries]
    pool = method.declaring_class.constant_pool
    try:
        listed = list(instructions(method.bytecodes))
    except MalformedClassFile:
        return
    for one in listed:
        if one.constant is None or not one.name.startswith("invoke"):
            continue
        before = [at for at, start in enumerate(starts) if start <= one.location]
        if not before or entries[before[-1]].line_number != line:
            continue
        constant = pool[one.constant]
        if constant.kind in ("Methodref", "InterfaceMethodref"):
            if not constant.value.class_name.replace("/", ".").startswith(HELPER):
                yield one.name, constant.value


def declared(cls: Class, name: str, descriptor: str) -> list[Method]:
    """The method of that name that objects of a class have, where the class or one above has code
    for it."""
    at: Class | None = cls
    while at is not None:
        for one in _methods_of(at):
            if one.name == name and one.signature == descriptor:
                return [] if one.modifiers & _NO_CODE else [one]
        at = at.superclass
    return []


def _handlers_of(vm: VM, classes: Iterable[Class]) -> list[Method]:
    """The methods that calls of proxies among some classes may run."""
    if not any(one.superclass is not None and one.superclass.name == _PROXY for one in classes):
        return []
    found = []
    for cls in vm.find_class(_HANDLER).subclasses():
        found += [one for one in _methods_of(cls) if one.name == "invoke"] + _lambdas_of(vm, cls)
    return [one for one in found if one.signature.endswith(_HANDLED)]


def _lambdas_of(vm: VM, cls: Class) -> list[Method]:
    """The lambdas in the class for which a hidden class was made that stands for one of them."""
    written, is_one, _ = cls.name.partition("$$Lambda")
    owners = vm.classes.named(written) if is_one else ()
    return [one for owner in owners for one in _methods_of(owner) if one.name.startswith("lambda$")]


def _methods_of(cls: Class) -> Sequence[Method]:
    """The methods of a class; none while it is not prepared, so that nothing of it can run."""
    try:
        return cls.methods
    except ClassNotPrepared:
        return ()


def _handled_at(frame: Frame) -> set[tuple[Class, str]]:
    """Classes and names of the methods that method handles are for, which a frame has in its
    variables, in the fields of `this` and in the static fields of its class.
    """
    cls = frame.method.declaring_class
    handle = f"L{_HANDLE.replace('.', '/')};"
    values = [cls[one.name] for one in cls.fields if one.is_static and one.signature == handle]
    with contextlib.suppress(Error):  # a late agent cannot read all frames
        values += frame.locals.read().values()
        values += [] if frame.this is None else frame.this.fields().values()
    found: set[tuple[Class, str]] = set()
    for one in values:
        _look_through(one, found, _DEEPEST)
    return found


def _look_through(value: Any, found: set[tuple[Class, str]], left: int) -> None:
    cls = getattr(value, "cls", None)
    if cls is None or left == 0:
        return
    if cls.name == _MEMBER:
        found.add((value["clazz"], value["name"]))
    elif _is_handle(cls):
        for one in value.fields().values():
            _look_through(one, found, left - 1)


def _is_handle(cls: Class | None) -> bool:
    """Whether a class is one of method handles."""
    while cls is not None and cls.name != _HANDLE:
        cls = cls.superclass
    return cls is not None


__all__ = ["called_from", "calls_on_line", "calls_reflection", "declared"]
