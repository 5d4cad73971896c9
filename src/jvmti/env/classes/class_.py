"""Classes: listing them, what they declare, and replacing their definitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

from jvmti.env.structures import ClassDefinition
from jvmti.interface.calling import Calling
from jvmti.interface.constants import ClassStatus
from jvmti.interface.declaration import LIVE, START, function
from jvmti.interface.types import Boolean, Bytes, DeclaredBy, Int, Text
from jvmti.refs import Class, ClassLoader, Field, Method


class ClassSignature(NamedTuple):
    """The type signature of a class, and its generic signature where it has one."""

    signature: Text
    generic: Text | None


class ClassVersionNumbers(NamedTuple):
    """The version of the class file format that a class was compiled to, in the file's order."""

    minor_version: Int
    major_version: Int


class ConstantPool(NamedTuple):
    """The constant pool of a class: the entry count plus one, and the raw entries."""

    constant_pool_count: Int
    constant_pool_bytes: Bytes


class ClassFunctions(Calling):
    """The functions of the chapter "Class"."""

    __slots__ = ()

    @function(78, phase=LIVE)
    def get_loaded_classes(self) -> list[Class]:
        """Return all classes and interfaces in the VM, hidden ones and arrays included.

        Returns:
            One handle for each; primitive types such as ``int`` are not listed.

        Example:
            >>> shop in env.get_loaded_classes()
            True

        JVM TI: GetLoadedClasses.
        """

    @function(79, phase=LIVE)
    def get_class_loader_classes(self, initiating_loader: ClassLoader | None = None) -> list[Class]:
        """Return the classes that a class loader can find by name.

        Args:
            initiating_loader: the loader; ``None`` is the bootstrap loader.

        Returns:
            Those it defined and those it got from other loaders; no hidden classes.

        Raises:
            IllegalArgument: it is not a class loader.

        Example:
            >>> shop in env.get_class_loader_classes(env.get_class_loader(shop))
            True
            >>> shop in env.get_class_loader_classes(None)
            False

        JVM TI: GetClassLoaderClasses.
        """

    @function(48, phase=START)
    def get_class_signature(self, klass: Class) -> ClassSignature:
        """Return the name of a class as a type signature, and its generic signature.

        Args:
            klass: the class, interface, array class or primitive type.

        Returns:
            The signature, as ``Ljava/util/List;``, ``[I`` or ``I``; that of a hidden class has a
            dot before its suffix.  `generic` is ``None`` if the class has none.

        Raises:
            InvalidClass: `klass` is not a class.

        Example:
            >>> env.get_class_signature(shop)
            ClassSignature(signature='LShop;', generic=None)
            >>> env.get_class_signature(jni.find_class("java/lang/Iterable")).generic
            '<T:Ljava/lang/Object;>Ljava/lang/Object;'

        JVM TI: GetClassSignature.
        """

    @function(49, phase=START)
    def get_class_status(self, klass: Class) -> ClassStatus:
        """Return how far a class has come: verified, prepared, initialized.

        Args:
            klass: the class.

        Returns:
            The flags; ``ARRAY`` and ``PRIMITIVE`` stand alone.

        Raises:
            InvalidClass: `klass` is not a class.

        Example:
            >>> env.get_class_status(shop)
            <ClassStatus.VERIFIED|PREPARED|INITIALIZED: 7>

        JVM TI: GetClassStatus.
        """

    @function(
        50, phase=START, capabilities=("can_get_source_file_name",), errors=("ABSENT_INFORMATION",)
    )
    def get_source_file_name(self, klass: Class) -> Text:
        """Return the name of the source file of a class.

        Args:
            klass: the class.

        Returns:
            The file's name without a directory.

        Raises:
            InvalidClass: `klass` is not a class.
            AbsentInformation: the class file names none, or it is an array class or primitive type.
            MustPossessCapability: ``can_get_source_file_name`` has not been added.

        Example:
            >>> env.get_source_file_name(shop)
            'Shop.java'

        JVM TI: GetSourceFileName.
        """

    @function(51, phase=START)
    def get_class_modifiers(self, klass: Class) -> Int:
        """Return the access flags of a class.

        Args:
            klass: the class.

        Returns:
            The bits of the class file format.

        Raises:
            InvalidClass: `klass` is not a class.

        Example:
            >>> env.get_class_modifiers(shop) & 0x0001  # ACC_PUBLIC
            1

        JVM TI: GetClassModifiers.
        """

    @function(52, phase=START, errors=("CLASS_NOT_PREPARED",))
    def get_class_methods(self, klass: Class) -> Annotated[list[Method], DeclaredBy("klass")]:
        """Return the methods that a class itself declares.

        Args:
            klass: the class.

        Returns:
            Methods, constructors and the static initializer, nothing inherited; in the order of the
            class file under ``can_maintain_original_method_order``.  Empty for arrays and primitive
            types.

        Raises:
            InvalidClass: `klass` is not a class.
            ClassNotPrepared: the class is loaded, not yet prepared.

        Example:
            >>> price in env.get_class_methods(shop)
            True
            >>> sorted(method.name for method in env.get_class_methods(order_class))[:3]
            ['<init>', 'cents', 'customer']

        JVM TI: GetClassMethods.
        """

    @function(53, phase=START, errors=("CLASS_NOT_PREPARED",))
    def get_class_fields(self, klass: Class) -> Annotated[list[Field], DeclaredBy("klass")]:
        """Return the fields that a class itself declares, in the order of the class file.

        Args:
            klass: the class.

        Returns:
            Static and instance fields, nothing inherited.  Empty for arrays and primitive types.

        Raises:
            InvalidClass: `klass` is not a class.
            ClassNotPrepared: the class is loaded, not yet prepared.

        Example:
            >>> fields = env.get_class_fields(order_class)
            >>> [env.get_field_name(order_class, field).name for field in fields][:3]
            ['paid', 'shelf', 'size']

        JVM TI: GetClassFields.
        """

    @function(54, phase=START, errors=("CLASS_NOT_PREPARED",))
    def get_implemented_interfaces(self, klass: Class) -> list[Class]:
        """Return the interfaces that a class implements directly, or an interface extends.

        Args:
            klass: the class or interface.

        Returns:
            The interfaces; empty for arrays and primitive types.

        Raises:
            InvalidClass: `klass` is not a class.
            ClassNotPrepared: the class is loaded, not yet prepared.

        Example:
            >>> integer = jni.find_class("java/lang/Integer")
            >>> env.get_implemented_interfaces(integer)[0].name
            'java.lang.Comparable'

        JVM TI: GetImplementedInterfaces.
        """

    @function(145, phase=START, since="1.1", errors=("ABSENT_INFORMATION",))
    def get_class_version_numbers(self, klass: Class) -> ClassVersionNumbers:
        """Return the version of the class file format of a class.

        Args:
            klass: the class.

        Returns:
            Minor and major number, in that order; a major number of 61 is Java 17.

        Raises:
            InvalidClass: `klass` is not a class.
            AbsentInformation: it is an array class or primitive type.

        Example:
            >>> env.get_class_version_numbers(shop).major_version
            55

        JVM TI: GetClassVersionNumbers.
        """

    @function(
        146,
        phase=START,
        since="1.1",
        capabilities=("can_get_constant_pool",),
        errors=("ABSENT_INFORMATION",),
    )
    def get_constant_pool(self, klass: Class) -> ConstantPool:
        """Return the constant pool that the bytecodes of a class refer to.

        It may differ from that of the class file, and redefinition may change it.

        Args:
            klass: the class.

        Returns:
            The count as in the class file, which is one more than the entries, and their bytes.

        Raises:
            InvalidClass: `klass` is not a class.
            AbsentInformation: it is an array class or primitive type.
            MustPossessCapability: ``can_get_constant_pool`` has not been added.

        Example:
            >>> pool = env.get_constant_pool(shop)
            >>> b"Corner shop" in pool.constant_pool_bytes
            True

        JVM TI: GetConstantPool.
        """

    @function(55, phase=START)
    def is_interface(self, klass: Class) -> Boolean:
        """Return whether a class is an interface.

        Args:
            klass: the class.

        Returns:
            True for interfaces, annotation types included.

        Raises:
            InvalidClass: `klass` is not a class.

        Example:
            >>> env.is_interface(jni.find_class("java/util/List"))
            True

        JVM TI: IsInterface.
        """

    @function(56, phase=START)
    def is_array_class(self, klass: Class) -> Boolean:
        """Return whether a class is an array class.

        Args:
            klass: the class.

        Returns:
            True for arrays of any element type.

        Raises:
            InvalidClass: `klass` is not a class.

        Example:
            >>> env.is_array_class(jni.get_object_class(wares))
            True

        JVM TI: IsArrayClass.
        """

    @function(45, phase=START, since="1.1")
    def is_modifiable_class(self, klass: Class) -> Boolean:
        """Return whether a class may be redefined or retransformed.

        The capabilities ``can_redefine_any_class`` and ``can_retransform_any_class`` allow more
        classes.

        Args:
            klass: the class.

        Returns:
            Never true for primitive types, arrays and some classes of the VM's choice.

        Raises:
            InvalidClass: `klass` is not a class.

        Example:
            >>> env.is_modifiable_class(shop)
            True
            >>> env.is_modifiable_class(jni.get_object_class(prices))  # int[]
            False

        JVM TI: IsModifiableClass.
        """

    @function(57, phase=START, guard="loaded_class")
    def get_class_loader(self, klass: Class) -> ClassLoader | None:
        """Return the loader that defined a class.

        Args:
            klass: the class.

        Returns:
            The loader; ``None`` is the bootstrap loader, or none at all for a primitive type.

        Raises:
            InvalidClass: `klass` is not a class.

        Example:
            >>> env.get_class_loader(shop).cls.name
            'jdk.internal.loader.ClassLoaders$AppClassLoader'
            >>> env.get_class_loader(jni.find_class("java/lang/String"))  # the bootstrap loader's

        JVM TI: GetClassLoader.
        """

    @function(
        90,
        phase=START,
        capabilities=("can_get_source_debug_extension",),
        errors=("ABSENT_INFORMATION",),
    )
    def get_source_debug_extension(self, klass: Class) -> Text:
        """Return the debug extension of a class file, as compilers of other languages write it.

        Args:
            klass: the class.

        Returns:
            The attribute's text.

        Raises:
            InvalidClass: `klass` is not a class.
            AbsentInformation: the class file has none.
            MustPossessCapability: ``can_get_source_debug_extension`` has not been added.

        Example:
            >>> env.get_source_debug_extension(shop)  # what compilers of other languages write
            Traceback (most recent call last):
            jvmti.errors.AbsentInformation: ...

        JVM TI: GetSourceDebugExtension.
        """

    @function(
        152,
        phase=LIVE,
        since="1.1",
        capabilities=("can_retransform_classes",),
        errors=(
            "UNMODIFIABLE_CLASS",
            "INVALID_CLASS",
            "UNSUPPORTED_VERSION",
            "INVALID_CLASS_FORMAT",
            "CIRCULAR_CLASS_DEFINITION",
            "FAILS_VERIFICATION",
            "NAMES_DONT_MATCH",
            "UNSUPPORTED_REDEFINITION_METHOD_ADDED",
            "UNSUPPORTED_REDEFINITION_SCHEMA_CHANGED",
            "UNSUPPORTED_REDEFINITION_HIERARCHY_CHANGED",
            "UNSUPPORTED_REDEFINITION_METHOD_DELETED",
            "UNSUPPORTED_REDEFINITION_CLASS_ATTRIBUTE_CHANGED",
            "UNSUPPORTED_REDEFINITION_CLASS_MODIFIERS_CHANGED",
            "UNSUPPORTED_REDEFINITION_METHOD_MODIFIERS_CHANGED",
        ),
        guard="loaded_classes",
        overridden=True,
        runs_java=True,
    )
    def retransform_classes(self, classes: Sequence[Class]) -> None:
        """Send classes through the ``ClassFileLoadHook`` handlers again and install the result.

        It begins from the original class files.  Either all classes get a new definition or none
        does. Frames already running keep the old code, and breakpoints in the classes are cleared.

        Args:
            classes: the classes.

        Raises:
            UnmodifiableClass: one of them cannot be changed.
            InvalidClass: one of them is not a class.
            UnsupportedVersion: a class file is of a version that the VM does not know.
            InvalidClassFormat: a class file is malformed.
            CircularClassDefinition: a class would become its own ancestor.
            FailsVerification: a class file does not pass the verifier.
            NamesDontMatch: a class file defines a class of another name.
            UnsupportedRedefinitionMethodAdded: a method would be added.
            UnsupportedRedefinitionMethodDeleted: a method would be removed.
            UnsupportedRedefinitionSchemaChanged: a field would be added, removed or changed.
            UnsupportedRedefinitionHierarchyChanged: the superclass or the interfaces would change.
            UnsupportedRedefinitionClassAttributeChanged: an attribute that must stay would change,
                as that of nest, record or permitted subclasses.
            UnsupportedRedefinitionClassModifiersChanged: the access flags of a class would change.
            UnsupportedRedefinitionMethodModifiersChanged: those of a method would change.
            MustPossessCapability: ``can_retransform_classes`` has not been added.

        Example:
            >>> def loaded(event):
            ...     print(event.name, event.class_data[:4].hex())
            >>> with env.on("ClassFileLoadHook", loaded):
            ...     env.retransform_classes([shop])
            Shop cafebabe

        JVM TI: RetransformClasses.
        """

    @function(
        87,
        phase=LIVE,
        capabilities=("can_redefine_classes",),
        errors=(
            "NULL_POINTER",
            "UNMODIFIABLE_CLASS",
            "INVALID_CLASS",
            "UNSUPPORTED_VERSION",
            "INVALID_CLASS_FORMAT",
            "CIRCULAR_CLASS_DEFINITION",
            "FAILS_VERIFICATION",
            "NAMES_DONT_MATCH",
            "UNSUPPORTED_REDEFINITION_METHOD_ADDED",
            "UNSUPPORTED_REDEFINITION_SCHEMA_CHANGED",
            "UNSUPPORTED_REDEFINITION_HIERARCHY_CHANGED",
            "UNSUPPORTED_REDEFINITION_METHOD_DELETED",
            "UNSUPPORTED_REDEFINITION_CLASS_ATTRIBUTE_CHANGED",
            "UNSUPPORTED_REDEFINITION_CLASS_MODIFIERS_CHANGED",
            "UNSUPPORTED_REDEFINITION_METHOD_MODIFIERS_CHANGED",
            "UNMODIFIABLE_MODULE",
        ),
        guard="classes_to_redefine",
        overridden=True,
        runs_java=True,
    )
    def redefine_classes(self, class_definitions: Sequence[ClassDefinition]) -> None:
        """Replace the definitions of classes with other class files.

        Either all classes get a new definition or none does.  Frames already running keep the old
        code, breakpoints in the classes are cleared, and no initializer runs.

        Args:
            class_definitions: each class with the bytes of its new class file.

        Raises:
            UnmodifiableClass: one of the classes cannot be changed.
            UnmodifiableModule: one of their modules cannot be changed.
            InvalidClass: one of them is not a class.
            NullPointer: a definition is without bytes.
            UnsupportedVersion: a class file is of a version that the VM does not know.
            InvalidClassFormat: a class file is malformed.
            CircularClassDefinition: a class would become its own ancestor.
            FailsVerification: a class file does not pass the verifier.
            NamesDontMatch: a class file defines a class of another name.
            UnsupportedRedefinitionMethodAdded: a method would be added.
            UnsupportedRedefinitionMethodDeleted: a method would be removed.
            UnsupportedRedefinitionSchemaChanged: a field would be added, removed or changed.
            UnsupportedRedefinitionHierarchyChanged: the superclass or the interfaces would change.
            UnsupportedRedefinitionClassAttributeChanged: an attribute that must stay would change,
                as that of nest, record or permitted subclasses.
            UnsupportedRedefinitionClassModifiersChanged: the access flags of a class would change.
            UnsupportedRedefinitionMethodModifiersChanged: those of a method would change.
            MustPossessCapability: ``can_redefine_classes`` has not been added.

        Example:
            >>> from jvmti.env.structures import ClassDefinition
            >>> seen = []
            >>> with env.on("ClassFileLoadHook", lambda event: seen.append(event.class_data)):
            ...     env.retransform_classes([shop])  # gives its present class file
            >>> old, new = bytes.fromhex("08 3c 1a 1b 68"), bytes.fromhex("07 3c 1a 1b 68")
            >>> changed = seen[0].replace(old, new)  # iconst_5 at the beginning of price: iconst_4
            >>> env.redefine_classes([ClassDefinition(shop, changed)])
            >>> jni.call_static_int_method(shop, price, [3])
            12
            >>> env.redefine_classes([ClassDefinition(shop, seen[0])])

        JVM TI: RedefineClasses.
        """
