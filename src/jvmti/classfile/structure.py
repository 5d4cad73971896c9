"""A class file, parsed on demand."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

from jvmti.classfile.annotations import (
    Annotation,
    TypeAnnotation,
    read_annotations,
    read_element,
    read_type_annotations,
)
from jvmti.classfile.constant_pool import Constant, ConstantPool
from jvmti.classfile.opcodes import Instruction, instructions
from jvmti.classfile.reading import MalformedClassFile, Reader
from jvmti.interface.frozen import frozen
from jvmti.interface.modifiers import ClassModifiers, FieldModifiers, MethodModifiers
from jvmti.interface.signatures import java_name
from jvmti.text.printable import escaped, printable
from jvmti.text.quantities import quantity


class ExceptionHandler(NamedTuple):
    """An entry of a method's exception table."""

    start: int
    """The first location that it guards."""
    end: int
    """The location after the last one."""
    handler: int
    """The location of the handler."""
    catches: str | None
    """The internal name of the class of exceptions; ``None`` for all, as for ``finally``."""


class LocalVariable(NamedTuple):
    """A local variable in a part of a method's code."""

    start: int
    """The first location at which it has a value."""
    length: int
    """How many bytes of code from there on."""
    slot: int
    """Its slot in the frame."""
    name: str
    """Its name."""
    descriptor: str
    """Its type: ``I``, ``Ljava/lang/String;``."""
    signature: str | None
    """Its generic type, if it has one."""


class InnerClass(NamedTuple):
    """A class that is declared within another one, and that the class file mentions."""

    name: str
    """Its internal name."""
    outer: str | None
    """The internal name of the class it is a member of; ``None`` for local ones."""
    simple_name: str | None
    """Its name in the source; ``None`` for an anonymous one."""
    modifiers: ClassModifiers
    """Its modifiers as they are in the source, `PRIVATE` and `STATIC` among them."""


class EnclosingMethod(NamedTuple):
    """Where a local or anonymous class is declared."""

    class_name: str
    """The internal name of the class."""
    method: str | None
    """The name of the method; ``None`` in an initialiser."""
    descriptor: str | None
    """The descriptor of the method."""


class BootstrapMethod(NamedTuple):
    """A method that makes call sites or constants when they are first used."""

    method: Constant
    """The method handle."""
    arguments: list[Constant]
    """Its static arguments."""


class Parameter(NamedTuple):
    """A parameter, from the attribute that ``javac -parameters`` writes."""

    name: str | None
    """Its name."""
    flags: int
    """0x10 final, 0x1000 synthetic, 0x8000 mandated."""


class _Attributed:
    """The attributes that classes, fields, methods, record components and code have.

    Attributes:
        attributes: the contents of the attributes by name; the first of several with one name.
    """

    pool: ConstantPool
    attributes: dict[str, bytes]

    def _read(self, name: str, read: Callable[[Reader], Any], missing: Any = None) -> Any:
        data = self.attributes.get(name)
        if data is None:
            return missing
        try:
            return read(Reader(data))
        except KeyError as error:  # the attribute names a missing constant
            raise MalformedClassFile(f"{name}: {error.args[0]}") from None

    def _list(self, name: str, item: Callable[[Reader], Any]) -> list[Any]:
        read = self._read(name, lambda reader: [item(reader) for _ in range(reader.u2())], [])
        found: list[Any] = read
        return found

    @property
    def generic_signature(self) -> str | None:
        """The generic signature, if there is one."""
        found: str | None = self._read("Signature", lambda r: self.pool.text(r.u2()))
        return found

    @property
    def annotations(self) -> list[Annotation]:
        """Its annotations; those visible to Java code come first."""
        pool = self.pool
        seen = self._read(
            "RuntimeVisibleAnnotations", lambda r: read_annotations(r, pool, True), []
        )
        unseen = self._read(
            "RuntimeInvisibleAnnotations", lambda r: read_annotations(r, pool, False), []
        )
        return [*seen, *unseen]

    @property
    def type_annotations(self) -> list[TypeAnnotation]:
        """The annotations of types that it uses."""
        pool = self.pool
        return [
            *self._read(
                "RuntimeVisibleTypeAnnotations", lambda r: read_type_annotations(r, pool, True), []
            ),
            *self._read(
                "RuntimeInvisibleTypeAnnotations",
                lambda r: read_type_annotations(r, pool, False),
                [],
            ),
        ]

    @property
    def is_deprecated(self) -> bool:
        """Whether the compiler marked it as deprecated."""
        return "Deprecated" in self.attributes


def _attributes(reader: Reader, pool: ConstantPool) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for _ in range(reader.u2()):
        name = pool.text(reader.u2())
        data = reader.take(reader.u4())
        if name in ("LineNumberTable", "LocalVariableTable", "LocalVariableTypeTable"):
            # A compiler may write several; together they are one.
            if name in found:
                count = int.from_bytes(found[name][:2], "big") + int.from_bytes(data[:2], "big")
                data = count.to_bytes(2, "big") + found[name][2:] + data[2:]
            found[name] = data
        else:
            found.setdefault(name, data)
    return found


@frozen
class Code(_Attributed):
    """The code of a method.

    Attributes:
        max_stack: how deep its operand stack gets.
        max_locals: how many slots its locals take.
        bytecodes: the instructions.
        exception_table: the exception handlers; the first match counts.
    """

    pool: ConstantPool
    attributes: dict[str, bytes]
    max_stack: int
    max_locals: int
    bytecodes: bytes
    exception_table: list[ExceptionHandler]

    @property
    def instructions(self) -> list[Instruction]:
        """The decoded instructions."""
        return list(instructions(self.bytecodes))

    @property
    def lines(self) -> list[tuple[int, int]]:
        """Locations with the source lines that begin there."""
        return self._list("LineNumberTable", lambda r: (r.u2(), r.u2()))

    @property
    def local_variables(self) -> list[LocalVariable]:
        """The local variables, if the compiler wrote them (``javac -g``)."""
        text = self.pool.text

        def variable(r: Reader) -> tuple[int, int, str, str, int]:
            return r.u2(), r.u2(), text(r.u2()), text(r.u2()), r.u2()

        generic = {
            (start, length, slot): signature
            for start, length, _, signature, slot in self._list("LocalVariableTypeTable", variable)
        }
        return [
            LocalVariable(start, length, slot, name, kind, generic.get((start, length, slot)))
            for start, length, name, kind, slot in self._list("LocalVariableTable", variable)
        ]

    @escaped
    def __repr__(self) -> str:
        return f"<Code of {quantity(len(self.bytecodes), 'byte')}>"


@frozen
class Member(_Attributed):
    """A field or method of a class file.

    Attributes:
        modifiers: its access flags.
        name: its name.
        descriptor: its type: ``I``, ``(I)V``.
    """

    pool: ConstantPool
    attributes: dict[str, bytes]
    modifiers: Any
    name: str
    descriptor: str

    @escaped
    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}:{self.descriptor}>"


class FieldInfo(Member):
    """A field of a class file."""

    modifiers: FieldModifiers

    @property
    def constant_value(self) -> Any:
        """The constant of a static final field: a number or text; ``None`` if none."""
        return self._read("ConstantValue", lambda r: self.pool[r.u2()].value)


class RecordComponent(Member):
    """A component of a record; it has no modifiers."""


class MethodInfo(Member):
    """A method of a class file."""

    modifiers: MethodModifiers

    @property
    def code(self) -> Code | None:
        """Its code; ``None`` for an abstract or native method."""
        found: Code | None = self._read("Code", self._code)
        return found

    def _code(self, reader: Reader) -> Code:
        pool = self.pool
        stack, slots = reader.u2(), reader.u2()
        bytecodes = reader.take(reader.u4())
        table = [
            ExceptionHandler(
                reader.u2(), reader.u2(), reader.u2(), pool.class_name_or_none(reader.u2())
            )
            for _ in range(reader.u2())
        ]
        return Code(pool, _attributes(reader, pool), stack, slots, bytecodes, table)

    @property
    def exceptions(self) -> list[str]:
        """The internal names of the exceptions that it is declared to throw."""
        return self._list("Exceptions", lambda r: self.pool.class_name(r.u2()))

    @property
    def parameters(self) -> list[Parameter]:
        """Its parameters, if the compiler wrote their names."""
        text = self.pool.text_or_none
        read = self._read(
            "MethodParameters",
            lambda r: [Parameter(text(r.u2()), r.u2()) for _ in range(r.u1())],
            [],
        )
        found: list[Parameter] = read
        return found

    @property
    def parameter_annotations(self) -> list[list[Annotation]]:
        """The annotations of each parameter; empty if no parameter has any."""
        found: list[list[Annotation]] = []
        for name, visible in (
            ("RuntimeVisibleParameterAnnotations", True),
            ("RuntimeInvisibleParameterAnnotations", False),
        ):
            each = self._read(name, self._of_parameters(visible), [])
            found += [[] for _ in range(len(each) - len(found))]
            for place, some in enumerate(each):
                found[place] += some
        return found

    def _of_parameters(self, visible: bool) -> Callable[[Reader], list[list[Annotation]]]:
        return lambda r: [read_annotations(r, self.pool, visible) for _ in range(r.u1())]

    @property
    def annotation_default(self) -> Any:
        """The default of an annotation's element; ``None`` if there is none."""
        return self._read("AnnotationDefault", lambda r: read_element(r, self.pool))


class ClassFile(bytes, _Attributed):
    """The bytes of a class file, with its structure as attributes.

    They are parsed on first use, so that bytes which are only written to a file cost nothing. Names
    of classes are internal ones, as in the file: ``java/util/Map``.

    Every attribute raises `MalformedClassFile` if the bytes are not a class file.
    """

    @cached_property
    def _header(self) -> dict[str, Any]:
        reader = Reader(bytes(self))
        if reader.u4() != 0xCAFEBABE:
            raise MalformedClassFile("not a class file: it does not begin with CAFEBABE")
        minor, major = reader.u2(), reader.u2()
        pool = ConstantPool(reader, reader.u2())
        try:
            return {
                "version": (major, minor),
                "constant_pool": pool,
                "modifiers": ClassModifiers(reader.u2()),
                "this": reader.u2(),
                "super": reader.u2(),
                "interfaces": [reader.u2() for _ in range(reader.u2())],
                "fields": [
                    FieldInfo(**self._member(reader, pool, FieldModifiers))
                    for _ in range(reader.u2())
                ],
                "methods": [
                    MethodInfo(**self._member(reader, pool, MethodModifiers))
                    for _ in range(reader.u2())
                ],
                "attributes": _attributes(reader, pool),
            }
        except KeyError as error:
            raise MalformedClassFile(str(error.args[0])) from None

    @staticmethod
    def _member(reader: Reader, pool: ConstantPool, flags: Any) -> dict[str, Any]:
        modifiers = flags(reader.u2())
        name, descriptor = pool.text(reader.u2()), pool.text(reader.u2())
        return {
            "pool": pool,
            "attributes": _attributes(reader, pool),
            "modifiers": modifiers,
            "name": name,
            "descriptor": descriptor,
        }

    @property
    def version(self) -> tuple[int, int]:
        """Its major and minor version; the major one is the release of Java plus 44."""
        version: tuple[int, int] = self._header["version"]
        return version

    @property
    def constant_pool(self) -> ConstantPool:
        """Its constants."""
        pool: ConstantPool = self._header["constant_pool"]
        return pool

    @property
    def pool(self) -> ConstantPool:  # type: ignore[override]
        """The same, under the name that its parts use."""
        return self.constant_pool

    @property
    def attributes(self) -> dict[str, bytes]:  # type: ignore[override]
        """The contents of its attributes by name."""
        found: dict[str, bytes] = self._header["attributes"]
        return found

    @property
    def modifiers(self) -> ClassModifiers:
        """Its access flags."""
        flags: ClassModifiers = self._header["modifiers"]
        return flags

    @property
    def name(self) -> str:
        """The internal name of the class."""
        return self.pool.class_name(self._header["this"])

    @property
    def superclass(self) -> str | None:
        """The internal name of the class that it extends; ``None`` for ``java/lang/Object``."""
        return self.pool.class_name_or_none(self._header["super"])

    @property
    def interfaces(self) -> list[str]:
        """The internal names of the interfaces that it implements, or extends."""
        return [self.pool.class_name(index) for index in self._header["interfaces"]]

    @property
    def fields(self) -> list[FieldInfo]:
        """Its fields."""
        found: list[FieldInfo] = self._header["fields"]
        return found

    @property
    def methods(self) -> list[MethodInfo]:
        """Its methods."""
        found: list[MethodInfo] = self._header["methods"]
        return found

    def method(self, name: str, descriptor: str) -> MethodInfo:
        """The method of that name and type.

        Raises:
            LookupError: there is none.
        """
        for method in self.methods:
            if (method.name, method.descriptor) == (name, descriptor):
                return method
        raise LookupError(
            printable(f"{java_name(f'L{self.name};')} has no method {name}{descriptor}")
        )

    def field(self, name: str, descriptor: str) -> FieldInfo:
        """The field of that name and type.

        Raises:
            LookupError: there is none.
        """
        for field in self.fields:
            if (field.name, field.descriptor) == (name, descriptor):
                return field
        raise LookupError(
            printable(f"{java_name(f'L{self.name};')} has no field {name} of type {descriptor}")
        )

    @property
    def source_file(self) -> str | None:
        """The name of the source file, without a directory."""
        found: str | None = self._read("SourceFile", lambda r: self.pool.text(r.u2()))
        return found

    @property
    def inner_classes(self) -> list[InnerClass]:
        """The mentioned classes that are declared within others."""
        pool = self.pool
        return self._list(
            "InnerClasses",
            lambda r: InnerClass(
                pool.class_name(r.u2()),
                pool.class_name_or_none(r.u2()),
                pool.text_or_none(r.u2()),
                ClassModifiers(r.u2()),
            ),
        )

    @property
    def enclosing_method(self) -> EnclosingMethod | None:
        """The declaring class and method, if it is a local or anonymous class."""
        found: EnclosingMethod | None = self._read("EnclosingMethod", self._enclosing)
        return found

    def _enclosing(self, reader: Reader) -> EnclosingMethod:
        name, method = self.pool.class_name(reader.u2()), reader.u2()
        found = self.pool[method].value if method else (None, None)
        return EnclosingMethod(name, *found)

    @property
    def nest_host(self) -> str | None:
        """The internal name of the host of its nest; ``None`` if it is the host."""
        found: str | None = self._read("NestHost", lambda r: self.pool.class_name(r.u2()))
        return found

    @property
    def nest_members(self) -> list[str]:
        """The internal names of the other classes of its nest, if it is the host."""
        return self._list("NestMembers", lambda r: self.pool.class_name(r.u2()))

    @property
    def permitted_subclasses(self) -> list[str]:
        """The internal names of the classes that may extend it, if it is sealed."""
        return self._list("PermittedSubclasses", lambda r: self.pool.class_name(r.u2()))

    @property
    def record_components(self) -> list[RecordComponent]:
        """The components of a record."""
        pool = self.pool
        return self._list(
            "Record",
            lambda r: RecordComponent(
                modifiers=None,
                name=pool.text(r.u2()),
                descriptor=pool.text(r.u2()),
                pool=pool,
                attributes=_attributes(r, pool),
            ),
        )

    @property
    def bootstrap_methods(self) -> list[BootstrapMethod]:
        """The methods that make its call sites and constants."""
        pool = self.pool
        return self._list(
            "BootstrapMethods",
            lambda r: BootstrapMethod(pool[r.u2()], [pool[r.u2()] for _ in range(r.u2())]),
        )

    @escaped
    def __repr__(self) -> str:
        try:
            return f"<ClassFile {self.name}, {len(self)} bytes>"
        except MalformedClassFile as error:
            return f"<ClassFile, {len(self)} bytes, {error}>"


__all__ = [
    "BootstrapMethod",
    "ClassFile",
    "Code",
    "EnclosingMethod",
    "ExceptionHandler",
    "FieldInfo",
    "InnerClass",
    "LocalVariable",
    "Member",
    "MethodInfo",
    "Parameter",
    "RecordComponent",
]
