"""The class files of loaded classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jvmti.env.structures import ClassDefinition
from jvmti.interface.capabilities import Capabilities
from jvmti.interface.errors import UnmodifiableClass

if TYPE_CHECKING:
    from jvmti.classfile import ClassFile
    from jvmti.env.environment import Env
    from jvmti.model.classes.java_class import Class
    from jvmti.model.vm import VM


class _TemporaryEnvironment:
    """An environment for one piece of work, with a capability of its own."""

    def __init__(self, vm: VM, capability: str) -> None:
        self.env: Env = vm.own_env()
        self.capability = capability

    def __enter__(self) -> Env:
        try:
            self.env.add_capabilities(Capabilities.of(self.capability))
        except BaseException:
            self.env.dispose_environment()
            raise
        return self.env

    def __exit__(self, *exception: object) -> None:
        self.env.dispose_environment()


def read_class_file(cls: Class, *, before_probes: bool = False) -> ClassFile:
    """The class file of a loaded class, as `Class.class_file` has it.

    Args:
        cls: the class.
        before_probes: without our probes, as `Class.class_file_before_probes` has it.
    """
    from jvmti.classfile import ClassFile  # imported at its first use

    _modifiable(cls, "it has no class file")
    try:
        return ClassFile(cls._vm._agent.read_class_file(cls, before_probes))
    finally:
        cls._vm.breakpoints.redefinitions.settle(cls)


def redefine(cls: Class, class_file: bytes) -> None:
    """Give a class another class file, as `Class.redefine` does."""
    if not isinstance(class_file, bytes | bytearray | memoryview):
        raise TypeError(
            f"a class file must be bytes, not {type(class_file).__name__}; "
            "pathlib.Path(…).read_bytes() reads one"
        )
    _modifiable(cls, "it cannot be redefined")
    with _TemporaryEnvironment(cls._vm, "can_redefine_classes") as env:
        try:
            env.redefine_classes([ClassDefinition(cls, bytes(class_file))])
        finally:
            cls._vm.source_path.forget_code(cls)
            cls._vm.breakpoints.redefinitions.settle(cls)


def retransform(cls: Class) -> None:
    """Let all agents change a class again, as `Class.retransform` does."""
    _modifiable(cls, "it cannot be retransformed")
    with _TemporaryEnvironment(cls._vm, "can_retransform_classes") as env:
        try:
            env.retransform_classes([cls])
        finally:
            cls._vm.breakpoints.redefinitions.settle(cls)


def _modifiable(cls: Class, so: str) -> None:
    """Refuse in advance what the VM would refuse, with a reason."""
    if cls._vm.env.is_modifiable_class(cls):
        return
    if cls.is_array:
        why = "is an array class"
    elif cls.is_primitive:
        why = "is a primitive type"
    elif cls.is_hidden:
        why = "is hidden, made by the VM or a framework (a lambda, a method handle, a proxy)"
    else:
        why = "may not be changed in this VM"
    raise UnmodifiableClass(detail=f"{cls.name} {why}: {so}")


__all__ = ["read_class_file", "redefine", "retransform"]
