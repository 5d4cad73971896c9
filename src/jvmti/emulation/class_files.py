"""Parts of class files that the VM does not keep, read again through their class loaders.

The VM also provides the file of a loaded class, but rebuilds it from what it has kept: without the
source debug extension, with the methods in its own order. So this uses it only to check that the
loader's file is still the one that was loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from jvmti.classfile.reading import MalformedClassFile
from jvmti.emulation.declared import Emulated
from jvmti.emulation.natively import Native
from jvmti.emulation.threads import named
from jvmti.interface.capabilities import Capabilities
from jvmti.interface.errors import AbsentInformation, UnmodifiableClass
from jvmti.text import modified_utf8

if TYPE_CHECKING:
    from jvmti.classfile import ClassFile
    from jvmti.emulation.emulated_vm import EmulatedVM
    from jvmti.env.environment import Env
    from jvmti.refs import Class, Method

_EXTENSION = "SourceDebugExtension"
_LINES = "LineNumberTable"
_NO_LINES = b"\0\0"
_FROM_LOADER = (
    "the class loader is asked for the class file, which runs Java code; classes without one, such "
    "as hidden, generated and redefined ones,"
)


class ClassFileEngine:
    """Reads class files."""

    name: ClassVar[str] = "the class file"
    emulated: ClassVar[tuple[Emulated, ...]] = (
        Emulated(
            Capabilities.can_get_source_debug_extension,
            ("get_source_debug_extension",),
            differs={"get_source_debug_extension": f"{_FROM_LOADER} give ABSENT_INFORMATION"},
        ),
        Emulated(
            Capabilities.can_maintain_original_method_order,
            ("get_class_methods",),
            differs={"get_class_methods": f"{_FROM_LOADER} keep the VM's order"},
        ),
    )

    def __init__(self, vm: EmulatedVM) -> None:
        self._vm = vm

    @property
    def emulates(self) -> Capabilities:
        """Both, once the VM is live."""
        if self._vm.held:
            return Capabilities(0)
        return Capabilities.of(*(one.capability for one in self.emulated))

    def released(self, env: Env, capabilities: Capabilities) -> None:
        """Nothing stays behind."""

    def get_source_debug_extension(self, env: Env, klass: Class) -> str:
        """The attribute's text.

        JVM TI: RetransformClasses, ClassFileLoadHook.  JNI: CallObjectMethod.
        """
        with named("get_source_debug_extension"):
            Native(env).get_class_modifiers(klass)  # refuses what is no class
            file = self._file(klass)
            if file is None or _EXTENSION not in file.attributes:
                raise AbsentInformation
            return modified_utf8.decode(file.attributes[_EXTENSION])

    def get_class_methods(self, env: Env, klass: Class) -> list[Method]:
        """The methods of a class in the order of its class file.

        JVM TI: GetClassMethods, RetransformClasses, ClassFileLoadHook.  JNI: CallObjectMethod.
        """
        methods = Native(env).get_class_methods(klass)
        file = self._file(klass) if len(methods) > 1 else None
        if file is None:
            return methods
        order = {(one.name, one.descriptor): at for at, one in enumerate(file.methods)}
        names = self._vm.lookup_env.map.get_method_name(methods)
        keys = zip(names.name, names.signature, strict=True)
        places = [order.get(key, len(order)) for key in keys]
        return [methods[at] for at in sorted(range(len(methods)), key=places.__getitem__)]

    def _file(self, klass: Any) -> ClassFile | None:
        """The class file that the class was loaded from; ``None`` if it is gone."""
        from jvmti.classfile import ClassFile  # imported at its first use

        data = self._resource(klass)
        if data is None:
            return None
        try:
            file = ClassFile(data)
            known: ClassFile = klass.class_file_before_probes
            return file if _invariants(file) == _invariants(known) else None
        except (UnmodifiableClass, MalformedClassFile):
            return None

    def _resource(self, klass: Any) -> bytes | None:
        """The class loader's resource with the name of the class file."""
        jni, cls = self._vm.jni, self._vm.bootstrap_class
        name = Native(self._vm.lookup_env).get_class_signature(klass).signature
        if not name.startswith("L"):
            return None
        find = jni.get_method_id(
            cls("java/lang/Class"),
            "getResourceAsStream",
            "(Ljava/lang/String;)Ljava/io/InputStream;",
        )
        read = jni.get_method_id(cls("java/io/InputStream"), "readAllBytes", "()[B")
        close = jni.get_method_id(cls("java/io/InputStream"), "close", "()V")
        stream: Any = jni.call_object_method(klass, find, [jni.new_string(f"/{name[1:-1]}.class")])
        if stream is None:
            return None
        try:
            found: Any = jni.call_object_method(stream, read)
            length = jni.get_array_length(found)
            return bytes(jni.get_byte_array_region(found, 0, length))
        finally:
            jni.call_void_method(stream, close)


def _invariants(file: ClassFile) -> set[Any]:
    """The parts of a class file that stay the same when the VM rebuilds it."""
    return {
        (
            one.name,
            one.descriptor,
            None if code is None else (len(code.bytecodes), code.attributes.get(_LINES, _NO_LINES)),
        )
        for one in file.methods
        for code in (one.code,)
    }


__all__ = ["ClassFileEngine"]
