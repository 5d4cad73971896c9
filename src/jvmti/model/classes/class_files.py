"""The class files of loaded classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jvmti.env.structures import ClassDefinition
from jvmti.interface.capabilities import Capabilities
from jvmti.interface.errors import Error, ErrorCode, UnmodifiableClass, error_for

if TYPE_CHECKING:
    from jvmti.classfile import ClassFile
    from jvmti.env.environment import Env
    from jvmti.model.classes.java_class import Class
    from jvmti.model.vm import VM

_NO_CLASS_FILE = b"\xca\xfe\xba\xbe"
"""The answer to the VM: too short to be a class file."""


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


def read_class_file(cls: Class) -> ClassFile:
    """The class file of a loaded class, as `Class.class_file` has it."""
    from jvmti.classfile import ClassFile  # imported at its first use

    vm = cls._vm
    found: list[bytes] = []

    def seen(event: Any) -> bytes | None:
        if event.class_being_redefined is None or event.class_being_redefined != cls:
            return None
        found.append(event.class_data)
        # The VM rejects it and leaves the class alone. Unlike a real retransformation, this
        # discards no code and sends no frame back to the interpreter.
        return _NO_CLASS_FILE

    _modifiable(cls, "it has no class file")
    with _TemporaryEnvironment(vm, "can_retransform_classes") as env:
        # The VM asks the newest environment last, so it gets the file with the changes of all
        # others.
        with env.on("ClassFileLoadHook", seen, own=True):
            try:
                env.retransform_classes([cls])
            except Error:
                if not found:
                    raise
            finally:
                vm.breakpoints.redefinitions.settle(cls)
    if not found:
        detail = "the VM did not send the class file: the target had no memory for it"
        raise error_for(ErrorCode.OUT_OF_MEMORY, "class_file", detail)
    return ClassFile(found[-1])


def read_before_probes(cls: Class) -> ClassFile:
    """The class file of a loaded class without our probes, as `Class.class_file_before_probes`."""
    from jvmti.classfile import ClassFile

    _modifiable(cls, "it has no class file")
    try:
        return ClassFile(cls._vm._agent.read_class_file_before_probes(cls))
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


__all__ = ["read_before_probes", "read_class_file", "redefine", "retransform"]
