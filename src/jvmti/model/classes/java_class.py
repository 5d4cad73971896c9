"""Classes, methods and fields.

Names of methods never change, so a session looks them up once, many at a time. Line numbers change
when a class is redefined, so they are read again each time.
"""

from __future__ import annotations

import bisect
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from jvmti import display, refs
from jvmti.deferred import numpy
from jvmti.interface.constants import ClassStatus
from jvmti.interface.errors import (
    AbsentInformation,
    ClassNotPrepared,
    Error,
    NativeMethod,
    UnmodifiableClass,
)
from jvmti.interface.modifiers import ClassModifiers, FieldModifiers, MethodModifiers
from jvmti.interface.signatures import is_hidden, java_name, parameters_of, result_of
from jvmti.model.classes.class_files import (
    read_class_file,
    redefine,
    retransform,
)
from jvmti.model.classes.members import Fields
from jvmti.model.classes.members import Methods as MethodList
from jvmti.model.debug.breakpoints import Breakpoint
from jvmti.model.debug.watchpoints import Watchpoint
from jvmti.model.objects.attribute_errors import no_attribute
from jvmti.model.objects.class_objects import ClassObject
from jvmti.model.objects.java_object import Attributes, write_field
from jvmti.model.objects.layouts import layout_of
from jvmti.model.objects.reading import read_fields
from jvmti.model.session_vm import MODEL
from jvmti.model.values import calls
from jvmti.sources.source import Source, declaration_line, last_line
from jvmti.text.printable import Lines, escaped
from jvmti.wire.columns import FEW_ROWS, packed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jvmti.classfile import (
        Annotation,
        ClassFile,
        ConstantPool,
        FieldInfo,
        Instruction,
        MethodInfo,
    )
    from jvmti.classfile.constant_pool import Constant
    from jvmti.classfile.structure import LocalVariable, RecordComponent
    from jvmti.env.structures import LineNumberEntry
    from jvmti.liveheap.scan import Where
    from jvmti.model.classes.loaded_classes import ClassList
    from jvmti.model.classes.modules import ClassLoader, Module
    from jvmti.model.debug.stops import Stop
    from jvmti.model.objects.layouts import Layout
    from jvmti.model.threads.java_thread import Thread
    from jvmti.model.values.overloads import Overload
    from jvmti.model.vm import VM


class Class(Attributes, refs.Class):
    """A ``java.lang.Class``: a class, interface, array class or primitive type."""

    __slots__ = ("_layout", "_lineage", "_overloads", "_signature")

    _layout: Layout
    _lineage: dict[str, frozenset[str]]
    _overloads: dict[str, list[Overload]]
    _signature: str

    @property
    def signature(self) -> str:
        """The type signature: ``Ljava/util/Map;``, ``[I``."""
        try:
            return self._signature
        except AttributeError:
            self._signature = self._vm.env.get_class_signature(self).signature
            return self._signature

    @property
    def name(self) -> str:
        """The name as Java writes it: ``java.util.Map$Entry``, ``int[]``."""
        return java_name(self.signature)

    @property
    def generic_signature(self) -> str | None:
        """The generic signature, if the class has type parameters or parametrised ancestors."""
        return self._vm.env.get_class_signature(self).generic

    @property
    def status(self) -> ClassStatus:
        """The status of the class: verified, prepared, initialized."""
        return self._vm.env.get_class_status(self)

    @property
    def modifiers(self) -> ClassModifiers:
        """The access flags; for a nested class those of its declaration; ``str()`` is keywords.

        JVM TI: GetClassModifiers.
        """
        return ClassModifiers(self._vm.env.get_class_modifiers(self))

    @property
    def is_public(self) -> bool:
        """Whether it is public."""
        return bool(self.modifiers & ClassModifiers.PUBLIC)

    @property
    def is_abstract(self) -> bool:
        """Whether it is abstract; interfaces are."""
        return bool(self.modifiers & ClassModifiers.ABSTRACT)

    @property
    def is_final(self) -> bool:
        """Whether it is final; array classes are."""
        return bool(self.modifiers & ClassModifiers.FINAL)

    @property
    def is_static(self) -> bool:
        """Whether it is a nested class without an enclosing object."""
        return bool(self.modifiers & ClassModifiers.STATIC)

    @property
    def is_enum(self) -> bool:
        """Whether it is an enum."""
        return bool(self.modifiers & ClassModifiers.ENUM)

    @property
    def is_annotation(self) -> bool:
        """Whether it is the interface of an annotation."""
        return bool(self.modifiers & ClassModifiers.ANNOTATION)

    @property
    def is_record(self) -> bool:
        """Whether it is a record."""
        parent = self.superclass
        return parent is not None and parent.name == "java.lang.Record"

    @property
    def is_primitive(self) -> bool:
        """Whether it is a primitive type, or ``void``."""
        return len(self.signature) == 1

    @property
    def is_hidden(self) -> bool:
        """Whether it is hidden, as for lambdas; in Java 11, a VM-anonymous class."""
        return is_hidden(self.signature)

    @property
    def package(self) -> str | None:
        """The package, for an array that of its elements; ``None`` for the unnamed one."""
        return self.name.replace("[]", "").rpartition(".")[0] or None

    @property
    def module(self) -> Module:
        """Its module; for an array that of its elements.

        JNI: GetModule.
        """
        return self._vm.jni.get_module(self)  # type: ignore[return-value]

    @property
    def loader(self) -> ClassLoader | None:
        """The class loader that defined it; ``None`` is the bootstrap loader."""
        return self._vm.env.get_class_loader(self)  # type: ignore[return-value]

    @property
    def superclass(self) -> Class | None:
        """The class it extends; ``None`` for ``Object``, interfaces and primitive types."""
        return self._vm.jni.get_superclass(self)  # type: ignore[return-value]

    @property
    def superclasses(self) -> list[Class]:
        """The classes it extends, the nearest first, ``Object`` last."""
        found: list[Class] = []
        at = self.superclass
        while at is not None:
            found.append(at)
            at = at.superclass
        return found

    @property
    def interfaces(self) -> list[Class]:
        """The interfaces it implements directly, or extends."""
        return self._vm.env.get_implemented_interfaces(self)  # type: ignore[return-value]

    @property
    def all_interfaces(self) -> list[Class]:
        """All interfaces that it implements, inherited ones included, each once."""
        found: dict[str, Class] = {}
        waiting = [self, *self.superclasses]
        while waiting:
            for interface in _interfaces(waiting.pop(0)):
                if interface.signature not in found:
                    found[interface.signature] = interface
                    waiting.append(interface)
        return list(found.values())

    def subclasses(self, *, direct: bool = False) -> ClassList:
        """The loaded classes and interfaces that extend or implement it, without arrays.

        Args:
            direct: only those that name it in their own declaration.

        JVM TI: GetLoadedClasses.  JNI: IsAssignableFrom.
        """
        from jvmti.model.classes.loaded_classes import ClassList

        every = self._vm.classes()
        below = self._vm.map.is_assignable_from(every, self).check().value
        found = ClassList(
            cls
            for cls, is_below in zip(every, below, strict=True)
            if is_below and not cls.is_array and cls._handle != self._handle and cls != self
        )
        return ClassList(_naming(self, found)) if direct else found

    def is_assignable_to(self, other: Class) -> bool:
        """Whether its objects can be assigned to a variable of the other class.

        Raises:
            TypeError: the other is not a class.

        JNI: IsAssignableFrom.
        """
        return self._vm.jni.is_assignable_from(self, other)

    @property
    def is_interface(self) -> bool:
        """Whether it is an interface."""
        return self._vm.env.is_interface(self)

    @property
    def is_array(self) -> bool:
        """Whether it is an array class."""
        return self.signature.startswith("[")

    @property
    def source_file(self) -> str | None:
        """The name of the source file, without a directory; ``None`` if unknown."""
        try:
            return self._vm.lookup_env.get_source_file_name(self)
        except AbsentInformation:
            return None

    @property
    def methods(self) -> MethodList:
        """The methods and constructors that it declares itself, names already looked up.

        The list is also indexed by name: ``cls.methods["put"]``, and among overloads
        ``cls.methods["put(Object,Object)"]``.

        Raises:
            ClassNotPrepared: it is loaded, not yet prepared.

        JVM TI: GetClassMethods, GetMethodName.
        """
        found: Any = self._vm.env.get_class_methods(self)
        self._vm.methods.look_up(found)
        return MethodList(found, self.name)

    @property
    def fields(self) -> Fields:  # type: ignore[override]
        """The fields that it declares itself, also indexed by name: ``cls.fields["size"]``.

        Raises:
            ClassNotPrepared: it is loaded, not yet prepared.

        JVM TI: GetClassFields, GetFieldName.
        """
        vm = self._vm
        found: list[Any] = list(vm.env.get_class_fields(self))
        names = vm.env.map.get_field_name(self, found) if found else None
        if names is not None:
            for field, name, signature, generic in zip(
                found, names.name, names.signature, names.generic, strict=True
            ):
                field._names = FieldNames(name, signature, generic)
        return Fields(found, self.name)

    @property
    def all_methods(self) -> MethodList:
        """Its methods, and those it inherits and does not override, the nearest first.

        Private methods and constructors of ancestors are not inherited.
        """
        found = list(self.methods)
        seen = {(one.name, one.signature) for one in found}
        for cls in (*self.superclasses, *self.all_interfaces):
            theirs = list(cls.methods)
            flags = _modifiers_of(self._vm, theirs)
            for one, modifiers in zip(theirs, flags, strict=True):
                key = (one.name, one.signature)
                private = modifiers & MethodModifiers.PRIVATE
                if key not in seen and not private and not one.name.startswith("<"):
                    seen.add(key)
                    found.append(one)
        return MethodList(found, self.name)

    @property
    def all_fields(self) -> Fields:
        """Its fields, and those of all its ancestors, private ones too: an object has them all."""
        found = list(self.fields)
        for cls in (*self.superclasses, *self.all_interfaces):
            found += cls.fields
        return Fields(found, self.name)

    # ---- the class file --------------------------------------------------------------------

    @property
    def class_file(self) -> ClassFile:
        """The class file that the VM runs, as bytes that also give access to its parts.

        To read it, the model starts a retransformation and aborts it, in an environment of its own:
        the class does not change, and no code is discarded. It takes about a millisecond, and the
        VM loses as much memory as the class file is long. It includes changes by agents. The VM
        reconstructs the file, so the order of attributes may differ from the file on disk, and
        attributes that the VM does not need are missing.

        Raises:
            UnmodifiableClass: it is an array class, a primitive type or hidden; ``constant_pool``
                and ``method.bytecodes`` work for hidden classes too.

        JVM TI: RetransformClasses, ClassFileLoadHook.
        """
        return read_class_file(self)

    @property
    def class_file_before_probes(self) -> ClassFile:
        """The class file that the VM would run without the probes of this package's agent.

        It is what a reader of the program wants to see while it is debugged or traced: `class_file`
        has the probes. It includes changes by other agents that came first.

        Raises:
            UnmodifiableClass: as for `class_file`.

        JVM TI: RetransformClasses, ClassFileLoadHook.
        """
        return read_class_file(self, before_probes=True)

    @property
    def constant_pool(self) -> Mapping[int, Constant]:
        """The constants that its code refers to, by number.

        Raises:
            ClassNotPrepared: it is loaded, not yet linked.
            UnmodifiableClass, AbsentInformation: it is an array class or a primitive type.

        JVM TI: GetConstantPool.
        """
        raw = self._vm.lookup_env.get_constant_pool(self)
        from jvmti.classfile.constant_pool import constants

        pool: ConstantPool = constants(raw.constant_pool_bytes, raw.constant_pool_count)
        return pool

    @property
    def annotations(self) -> list[Annotation]:
        """Its annotations, including those that reflection does not show; from `class_file`."""
        return self.class_file.annotations

    @property
    def inner_classes(self) -> list[str]:
        """The names of the classes that are declared as its members; from `class_file`."""
        file = self.class_file
        return [java_name(f"L{one.name};") for one in file.inner_classes if one.outer == file.name]

    @property
    def outer_class(self) -> Class | None:
        """The class in which it is declared, as a member or locally; ``None`` if top-level.

        Java: Class.getEnclosingClass.
        """
        return self._ask("getEnclosingClass", "()Ljava/lang/Class;")  # type: ignore[no-any-return]

    @property
    def enclosing_method(self) -> Method | None:
        """The method or constructor in which a local or anonymous class is declared.

        Java: Class.getEnclosingMethod, Class.getEnclosingConstructor.
        """
        for kind in ("Method", "Constructor"):
            found = self._ask(f"getEnclosing{kind}", f"()Ljava/lang/reflect/{kind};")
            if found is not None:
                return self._vm.jni.from_reflected_method(found)  # type: ignore[return-value]
        return None

    def _ask(self, method: str, signature: str) -> Any:
        """Call a method of ``java.lang.Class`` without parameters."""
        jni = self._vm.jni
        method_id = jni.get_method_id(
            self._vm.bootstrap_class("java/lang/Class"), method, signature
        )
        return jni.call_object_method(self, method_id)

    @property
    def nest_host(self) -> str:
        """The name of its nest host, which may be itself."""
        file = self.class_file
        return java_name(f"L{file.nest_host or file.name};")

    @property
    def nest_members(self) -> list[str]:
        """The names of the other classes in its nest, if it is the host."""
        return [java_name(f"L{name};") for name in self.class_file.nest_members]

    @property
    def permitted_subclasses(self) -> list[str]:
        """The names of the classes that may extend it; empty if it is not sealed."""
        return [java_name(f"L{name};") for name in self.class_file.permitted_subclasses]

    @property
    def record_components(self) -> list[RecordComponent]:
        """The components of a record, with name, descriptor, generic signature and annotations."""
        return self.class_file.record_components

    def disassemble(self, *, verbose: bool = False) -> str:
        """The class with its code, as ``javap -c -p`` writes it, without our probes.

        Args:
            verbose: as ``javap -v``: with constants, lines and local variables.

        Raises:
            UnmodifiableClass: as for `class_file`; the methods of a hidden class can be
                disassembled one by one.
        """
        from jvmti.classfile import disassemble

        return Lines(disassemble(self.class_file_before_probes, verbose=verbose))

    def redefine(self, class_file: bytes) -> None:
        """Replace the class file; frames that run old methods continue with them.

        Compiled code that depends on the class is discarded. The end of the session does not undo
        this.

        Args:
            class_file: the whole file.  Most VMs allow changes of code and constants only.

        Raises:
            TypeError: the class file is not ``bytes``.
            UnmodifiableClass: it is an array class, a primitive type or hidden.
            JvmtiError: the VM rejects it: `InvalidClassFormat`, `FailsVerification`, one of
                the ``UnsupportedRedefinition`` errors.

        JVM TI: RedefineClasses.
        """
        redefine(self, class_file)

    def retransform(self) -> None:
        """Let every agent transform the class again, starting from the file as loaded.

        Raises:
            UnmodifiableClass: it is an array class, a primitive type or hidden.

        JVM TI: RetransformClasses.
        """
        retransform(self)

    @property
    def source(self) -> Source:
        """The source file, from ``vm.source_path``.

        Raises:
            SourceNotFound: there is none; the message lists the searched places.
        """
        return self._vm.source_path.of(self, disassembly=False)

    def instances(
        self,
        where: Where | None = None,
        limit: int | None = None,
        *,
        timeout: float | None = 60.0,
        max_pause: float | None = None,
    ) -> list[Any]:
        """The objects of exactly this class, including uncollected garbage.

        Those of ``java.lang.Class`` are the loaded classes, without others of the VM's archive.

        One pass over the heap stops the program. With a predicate there are two (`LiveHeap.scan`
        and `Scan.live`), and objects that the second one does not find again are left out.

        Args:
            where: a predicate: called once with all objects as columns (fields, texts and elements
                included), it returns a mask: ``lambda them: them["total"] > 1000``.
            limit: how many at most; the pass ends as soon as it has found them.
            timeout: seconds after which a pass ends.
            max_pause: refuse in advance if the program would stop for more seconds.

        Raises:
            CallTimeout: the time is over.
            PauseTooLong: it would take longer than `max_pause`.
            ValueError: more than 20,000 match the predicate.

        JVM TI: IterateThroughHeap, GetObjectsWithTags.
        """
        return self._vm.heap.instances(self, where, limit, timeout=timeout, max_pause=max_pause)

    def _no_attribute(self, name: str) -> AttributeError:
        return no_attribute(self, name, static=True)

    def _ipython_key_completions_(self) -> list[str]:
        return [field.name for field in self.fields if field.is_static]

    def __getitem__(self, name: Any) -> Any:
        """The value of a static field, including inherited and private ones.

        Reading does not initialise the class; before that, fields are null or 0.

        Raises:
            KeyError: there is no such field; the message suggests similar names.

        JNI: GetStatic<Type>Field.
        """
        place = layout_of(self).find(name, static=True)
        return read_fields(self._vm, self, [place.field])[0]

    def __setitem__(self, name: Any, value: Any) -> None:
        """Change a static field, from a Python value or an object of the model.

        Raises:
            KeyError: there is no such field; the message suggests similar names.
            TypeError: the value cannot be converted to the field's type, or the field is final.
            OverflowError: a number does not fit the field's type.

        JNI: SetStatic<Type>Field.
        """
        write_field(self, self, layout_of(self).find(name, static=True), value)

    def call(
        self,
        name: str,
        *arguments: Any,
        signature: str | None = None,
        timeout: float | None = calls.TIME_LIMIT,
    ) -> Any:
        """Call a static method of the class, and wait for its result; as ``obj.call``.

        This initialises the class if necessary.  The methods of ``java.lang.Class`` itself are
        those of `class_object`.

        JNI: CallStatic<Type>MethodA.
        """
        return calls.call(self, self, name, arguments, signature, timeout, static=True)

    @property
    def class_object(self) -> ClassObject:
        """The ``java.lang.Class`` object: ``cls.class_object.call("getSimpleName")``."""
        return ClassObject(self)

    def to_string(self, *, timeout: float | None = calls.TIME_LIMIT) -> str:
        """The result of ``Class.toString``: ``class java.lang.String``."""
        return self.class_object.to_string(timeout=timeout)

    def new(
        self,
        *arguments: Any,
        signature: str | None = None,
        timeout: float | None = calls.TIME_LIMIT,
    ) -> Any:
        """Create an object with the constructor that accepts the arguments.

        Args:
            arguments: Python values and objects of the model, as for ``obj.call``.
            signature: the parameter types, to choose a constructor.
            timeout: seconds; ``None`` waits for ever.

        Raises:
            LookupError: there is no such constructor.
            TypeError: no constructor accepts the arguments, the call is ambiguous, or the class is
                abstract.
            JavaException: the constructor threw an exception.
            CallTimeout: it did not return in time, and still runs.

        JNI: NewObjectA.
        """
        return calls.new(self, arguments, signature, timeout)

    @escaped
    def __repr__(self) -> str:
        try:
            return f"<Class {self.name}>"
        except (Error, AttributeError, RuntimeError):  # printing must not fail
            return refs.Class.__repr__(self)


class MethodNames(NamedTuple):
    """A method's names and signatures, which never change."""

    name: str
    signature: str
    generic_signature: str | None
    class_name: str
    source_file: str | None


_UNLOADED = MethodNames("?", "()V", None, "<unloaded class>", None)


class Method(refs.Method):
    """A method or constructor."""

    __slots__ = ("_names",)

    _repr_html_ = display.html

    _names: MethodNames

    @property
    def _known(self) -> MethodNames:
        try:
            return self._names
        except AttributeError:
            self._vm.methods.look_up([self])
            return self._names

    @property
    def _vm(self) -> VM:
        vm: VM = self._session.services[MODEL]
        return vm

    @property
    def name(self) -> str:
        """Its name; ``<init>`` for a constructor, ``?`` if its class has been unloaded."""
        try:
            return self._names.name  # stacks need thousands of known names
        except AttributeError:
            return self._known.name

    @property
    def signature(self) -> str:
        """The types of its parameters and its result: ``(ILjava/lang/String;)V``."""
        return self._known.signature

    @property
    def generic_signature(self) -> str | None:
        """The generic signature, if it has one."""
        return self._known.generic_signature

    @property
    def parameter_types(self) -> list[str]:
        """The Java names of its parameter types."""
        return parameters_of(self.signature)

    @property
    def class_name(self) -> str:
        """The name of the declaring class; does not keep the class loaded."""
        try:
            return self._names.class_name
        except AttributeError:
            return self._known.class_name

    @property
    def source_file(self) -> str | None:
        """The source file of the declaring class."""
        return self._known.source_file

    @property
    def declaring_class(self) -> Class:
        """The class that declares it."""
        return self._vm.env.get_method_declaring_class(self)  # type: ignore[return-value]

    @property
    def result_type(self) -> str:
        """The Java name of its result type."""
        return result_of(self.signature)

    @property
    def modifiers(self) -> MethodModifiers:
        """The access flags; ``str()`` gives words."""
        return MethodModifiers(self._vm.env.get_method_modifiers(self))

    @property
    def is_public(self) -> bool:
        """Whether it is public."""
        return bool(self.modifiers & MethodModifiers.PUBLIC)

    @property
    def is_private(self) -> bool:
        """Whether it is private."""
        return bool(self.modifiers & MethodModifiers.PRIVATE)

    @property
    def is_static(self) -> bool:
        """Whether it is static."""
        return bool(self.modifiers & MethodModifiers.STATIC)

    @property
    def is_final(self) -> bool:
        """Whether it is final."""
        return bool(self.modifiers & MethodModifiers.FINAL)

    @property
    def is_abstract(self) -> bool:
        """Whether it is abstract."""
        return bool(self.modifiers & MethodModifiers.ABSTRACT)

    @property
    def is_synchronized(self) -> bool:
        """Whether it is synchronized."""
        return bool(self.modifiers & MethodModifiers.SYNCHRONIZED)

    @property
    def is_synthetic(self) -> bool:
        """Whether the compiler generated it."""
        return bool(self.modifiers & MethodModifiers.SYNTHETIC)

    @property
    def is_varargs(self) -> bool:
        """Whether it takes a variable number of arguments."""
        return bool(self.modifiers & MethodModifiers.VARARGS)

    @property
    def is_constructor(self) -> bool:
        """Whether it is a constructor."""
        return self.name == "<init>"

    @property
    def is_native(self) -> bool:
        """Whether it is native."""
        return self._vm.env.is_method_native(self)

    def breakpoint(
        self,
        line: int | None = None,
        *,
        location: int | None = None,
        when: str | Callable[[Stop], object] | None = None,
        hits: int | str | None = None,
        thread: Thread | Iterable[Thread] | None = None,
        caller: str | Iterable[str] | Method | None = None,
        do: Callable[[Stop], object] | None = None,
    ) -> Breakpoint:
        """Stop at the beginning of the method, at a line, or at an instruction.

        The method runs in the interpreter while it has a breakpoint.

        Args:
            line: the source line; if it has code in several places, the first of them.
            location: the bytecode index, instead of the line.
            when: a condition.  As a text, such as ``"n > 1000 and name == 'Host'"``, it compares
                local variables with constants, in the agent, without a round trip.  A function
                takes the `Stop` while the thread waits.
            hits: stop at every n-th hit that matches everything else; ``"after 10"`` skips the
                first ten, ``"only 10"`` is for the tenth alone.
            thread: stop only this thread, or these.
            caller: stop only if this method is the caller, or one that matches a shell pattern:
                ``"com.acme.Order.*"``.
            do: a function to call with each `Stop` while the thread waits.

        Returns:
            The breakpoint, already active; `StopRequest` says how to use it.

        Raises:
            ValueError: the method has no code, no lines, or no code at that line; the message names
                the nearest lines with code.
            ConditionError: the agent cannot evaluate the condition; the message names the part.
            NotAvailable: breakpoints are not available in this JVM now, or another agent holds the
                capability.

        JVM TI: SetBreakpoint, Breakpoint.
        """
        return Breakpoint(
            self._vm,
            self._as_called(),
            None,
            line,
            location,
            when=when,
            hits=hits,
            thread=thread,
            caller=caller,
            do=do,
        )

    def _as_called(self) -> Method:
        """The version that calls run: a frame's may be from before its class got other code."""
        if not self._vm.lookup_env.is_method_obsolete(self):
            return self
        its = (self.name, self.signature)
        newer = (one for one in self.declaring_class.methods if (one.name, one.signature) == its)
        return next(newer, self)

    @property
    def lines(self) -> list[LineNumberEntry]:
        """Bytecode locations with their source lines; empty if there is no line table."""
        try:
            return self._vm.lookup_env.get_line_number_table(self)
        except (AbsentInformation, NativeMethod):
            return []

    @property
    def bytecodes(self) -> bytes:
        """The bytes of its code; empty for an abstract or native method.

        JVM TI: GetBytecodes.
        """
        if self.modifiers & (MethodModifiers.ABSTRACT | MethodModifiers.NATIVE):
            return b""
        return self._vm.lookup_env.get_bytecodes(self)

    @property
    def instructions(self) -> list[Instruction]:
        """Its code, instruction by instruction; empty for an abstract or native method."""
        from jvmti.classfile import instructions

        return list(instructions(self.bytecodes))

    @property
    def class_file(self) -> MethodInfo:
        """Its part of `Class.class_file`.

        Raises:
            UnmodifiableClass: its class is hidden.
        """
        return self.declaring_class.class_file.method(self.name, self.signature)

    @property
    def annotations(self) -> list[Annotation]:
        """Its annotations; read from the class file."""
        return self.class_file.annotations

    @property
    def parameter_annotations(self) -> list[list[Annotation]]:
        """The annotations of each parameter; empty if there are none."""
        return self.class_file.parameter_annotations

    @property
    def annotation_default(self) -> Any:
        """The default value of an annotation's element, or ``None``."""
        return self.class_file.annotation_default

    @property
    def exceptions(self) -> list[str]:
        """The Java names of its declared exceptions."""
        return [java_name(f"L{name};") for name in self.class_file.exceptions]

    @property
    def local_variables(self) -> list[LocalVariable]:
        """Its local variables with their slots, if it was compiled with ``-g``.

        They come from the class file, because JVM TI gives them only to agents that were present at
        the start.
        """
        code = self.class_file.code
        return [] if code is None else code.local_variables

    def disassemble(self, *, verbose: bool = False) -> str:
        """Its declaration and code, as ``javap -c -p`` writes them, without our probes.

        For a method of a hidden class, which has no class file, the instructions only.

        Args:
            verbose: as ``javap -v``: with lines and local variables.
        """
        from jvmti.classfile.disassembly import disassemble_code, disassemble_method

        owner = self.declaring_class
        try:
            file = owner.class_file_before_probes
        except UnmodifiableClass:
            code = disassemble_code(self.bytecodes, owner.constant_pool, owner.signature[1:-1])
            return Lines(f"{self};\n{code}")
        method = file.method(self.name, self.signature)
        return Lines(disassemble_method(file, method, verbose=verbose))

    @property
    def source(self) -> Source:
        """The lines of its source, from ``vm.source_path``.

        They go from its name, searched upwards from its first statement, to the brace after its
        last one; the class file knows the lines of statements only.

        Raises:
            SourceNotFound: there is no source, or the class file has no line numbers for it.
        """
        return method_source(self)

    @escaped
    def __str__(self) -> str:
        from jvmti.classfile.disassembly import method_declaration

        in_interface = bool(
            self.declaring_class.modifiers & ClassModifiers.INTERFACE
            and not self.name.startswith("<")
        )
        return method_declaration(
            self.modifiers,
            self.class_name,
            self.name,
            self.generic_signature or self.signature,
            [],
            in_interface=in_interface,
        )

    @escaped
    def __repr__(self) -> str:
        try:
            return f"<Method {self.class_name}.{self.name}>"
        except (Error, AttributeError, RuntimeError):
            return super().__repr__()


class FieldNames(NamedTuple):
    """A field's names and signatures, which never change."""

    name: str
    signature: str
    generic_signature: str | None


class Field(refs.Field):
    """A field, together with the class in which it was found."""

    __slots__ = ("_names",)

    _repr_html_ = display.html

    _names: FieldNames

    @property
    def _vm(self) -> VM:
        vm: VM = self._session.services[MODEL]
        return vm

    @property
    def _found_in(self) -> Class:
        # Read each time: the field lasts as long as the session, and must not keep its class
        # loaded.
        return self._vm._agent.class_of_field(self)  # type: ignore[return-value]

    @property
    def _known(self) -> FieldNames:
        try:
            return self._names
        except AttributeError:
            found = self._vm.env.get_field_name(self._found_in, self)
            self._names = FieldNames(found.name, found.signature, found.generic)
            return self._names

    @property
    def declaring_class(self) -> Class:
        """The class that declares it.

        Raises:
            InvalidFieldID: the class has been unloaded.

        JVM TI: GetFieldDeclaringClass.
        """
        return self._vm.env.get_field_declaring_class(self._found_in, self)  # type: ignore[return-value]

    @property
    def name(self) -> str:
        """Its name."""
        return self._known.name

    @property
    def signature(self) -> str:
        """The signature of its type."""
        return self._known.signature

    @property
    def generic_signature(self) -> str | None:
        """The generic signature of its type, if it has one."""
        return self._known.generic_signature

    @property
    def type(self) -> str:
        """The Java name of its type."""
        return java_name(self.signature)

    @property
    def modifiers(self) -> FieldModifiers:
        """The access flags; ``str()`` gives words."""
        return FieldModifiers(self._vm.env.get_field_modifiers(self._found_in, self))

    @property
    def is_static(self) -> bool:
        """Whether it is static."""
        return bool(self.modifiers & FieldModifiers.STATIC)

    @property
    def is_final(self) -> bool:
        """Whether it is final."""
        return bool(self.modifiers & FieldModifiers.FINAL)

    @property
    def is_public(self) -> bool:
        """Whether it is public."""
        return bool(self.modifiers & FieldModifiers.PUBLIC)

    @property
    def is_private(self) -> bool:
        """Whether it is private."""
        return bool(self.modifiers & FieldModifiers.PRIVATE)

    @property
    def is_volatile(self) -> bool:
        """Whether it is volatile."""
        return bool(self.modifiers & FieldModifiers.VOLATILE)

    @property
    def is_transient(self) -> bool:
        """Whether it is transient."""
        return bool(self.modifiers & FieldModifiers.TRANSIENT)

    @property
    def class_file(self) -> FieldInfo:
        """Its part of `Class.class_file`.

        Raises:
            UnmodifiableClass: its class is hidden.
        """
        return self.declaring_class.class_file.field(self.name, self.signature)

    @property
    def annotations(self) -> list[Annotation]:
        """Its annotations; read from the class file."""
        return self.class_file.annotations

    @property
    def constant_value(self) -> Any:
        """The constant value of a static final field, or ``None``."""
        return self.class_file.constant_value

    @escaped
    def __str__(self) -> str:
        from jvmti.classfile.disassembly import field_declaration

        known = self._known
        return field_declaration(
            self.modifiers, known.name, known.generic_signature or known.signature
        )

    def watch(
        self,
        *,
        read: bool = False,
        write: bool = True,
        when: str | Callable[[Stop], object] | None = None,
        hits: int | str | None = None,
        thread: Thread | Iterable[Thread] | None = None,
        caller: str | Iterable[str] | Method | None = None,
        do: Callable[[Stop], object] | None = None,
        max_pause: float | None = None,
    ) -> Watchpoint:
        """Stop before Java code or JNI reads or writes the field.

        Code that accesses the field runs in the interpreter while the watchpoint is active.

        Args:
            read: stop before it is read.
            write: stop before it is written.
            when: a condition on local variables of the accessing method, as for
                `Method.breakpoint`, but the controller evaluates it while the thread waits; it is
                false in methods without such variables.  Or a function that takes the stop.
            hits, thread, caller, do: as for `Method.breakpoint`.
            max_pause: as for `VM.breakpoint`.

        Raises:
            PauseTooLong: a single class would stop the program for longer than ``max_pause``.
            LookupError: the field did not come from ``cls.fields``.
            ValueError: both read and write are false, or the condition is malformed.
            NotAvailable: watchpoints or, for a condition, local variables are not available in this
                JVM now, or another agent holds the capability.

        JVM TI: SetFieldAccessWatch, SetFieldModificationWatch, FieldAccess, FieldModification.
        """
        return Watchpoint(
            self.declaring_class._vm,
            self,
            read,
            write,
            when=when,
            hits=hits,
            thread=thread,
            caller=caller,
            do=do,
            max_pause=max_pause,
        )

    @escaped
    def __repr__(self) -> str:
        try:
            return f"<Field {self.name}>"
        except (Error, AttributeError, RuntimeError):
            return super().__repr__()


class Methods:
    """The methods that a session has seen, with their names.

    Attributes:
        variables: the local variables of methods from class files, by handle, with the code to
            which they belong; see `jvmti.model.threads.stack_roots`.
    """

    def __init__(self, vm: VM) -> None:
        self._vm = vm
        self.variables: dict[int, tuple[bytes, list[LocalVariable]]] = {}
        # Strong references: a method id is the agent's for the whole session anyway.
        self._known: dict[int, Method] = {}

    def of(self, handles: list[int]) -> list[Method]:
        """The methods with these handles, names looked up, in five messages at most."""
        session = self._vm._session
        known = self._known
        unknown = [handle for handle in handles if handle not in known]
        if unknown:
            self.look_up([session.wrap(handle) for handle in unknown])
        return [known[handle] for handle in handles]

    def look_up(self, methods: Sequence[Method]) -> None:
        """Look up the names of unknown methods."""
        methods = [method for method in methods if not hasattr(method, "_names")]
        if not methods:
            return
        handles = packed(method._handle for method in methods)
        env = self._vm.lookup_env.map
        names = env.get_method_name(handles)
        classes = env.get_method_declaring_class(handles)
        signatures = env.get_class_signature(classes.value)
        sources = env.get_source_file_name(classes.value)
        classes.value.release()
        for method, status, name, signature, generic, cls, source in zip(
            methods,
            map(max, names.status_list(), classes.status_list(), signatures.status_list()),
            names.name,
            names.signature,
            names.generic,
            signatures.signature,
            sources.value,
            strict=True,
        ):
            if status:
                # The class was unloaded since, so its id is invalid.
                method._names = _UNLOADED
            else:
                method._names = MethodNames(name, signature, generic, java_name(cls), source)
            self._known[method._handle] = method

    def lines(
        self,
        handles: Sequence[int],
        rows: Sequence[int] | numpy.ndarray[Any, Any],
        locations: Sequence[int] | numpy.ndarray[Any, Any],
    ) -> list[int | None]:
        """The source line of each location, in one message.

        Args:
            handles: of methods.
            rows: for each location, the index of its method; an array is faster for many.
            locations: bytecode indices, likewise.
        """
        if not len(rows):
            return []
        if len(rows) <= FEW_ROWS:
            return list(_lines(self._line_tables(handles), rows, locations))
        tables = self._vm.lookup_env.map.get_line_number_table(packed(handles))
        counts = numpy.maximum(tables.value.counts, 0)
        starts = tables.value.items["start_location"].astype(numpy.int64)
        numbers = tables.value.items["line_number"]
        # One table for all methods: the method's row in the upper bits, the location in the lower.
        keys = numpy.repeat(numpy.arange(len(handles), dtype=numpy.int64), counts) << 32 | starts
        order = numpy.argsort(keys, kind="stable")
        keys, numbers = keys[order], numbers[order]
        of = numpy.asarray(rows, numpy.int64)
        places = numpy.asarray(locations, numpy.int64)
        at = numpy.searchsorted(keys, of << 32 | numpy.maximum(places, 0), "right") - 1
        found = (at >= 0) & (places >= 0)
        if len(keys):
            found &= keys[numpy.maximum(at, 0)] >> 32 == of
            lines = numbers[numpy.maximum(at, 0)].astype(object)
            lines[~found] = None
        else:
            lines = numpy.full(len(rows), None)
        return lines.tolist()  # type: ignore[no-any-return]

    def line_tables(self, methods: Sequence[Method]) -> list[list[tuple[int, int]]]:
        """Bytecode locations and source lines of each method, in one message.

        They are empty where there is no line table.
        """
        return self._line_tables([method._handle for method in methods])

    def _line_tables(self, handles: Sequence[int]) -> list[list[tuple[int, int]]]:
        if not handles:
            return []
        tables = self._vm.lookup_env.map.get_line_number_table(packed(handles)).value
        starts, lines = (tables.items.listed(one) for one in ("start_location", "line_number"))
        entries = list(zip(starts, lines, strict=True))
        return [entries[start:end] for start, end in itertools.pairwise(tables.ends)]


def _lines(
    tables: list[list[tuple[int, int]]], rows: Iterable[int], locations: Iterable[int]
) -> Iterator[int | None]:
    """The line of each location, by the table of its row."""
    sorted_tables: dict[int, tuple[list[int], list[int]]] = {}
    for row, location in zip(rows, locations, strict=True):
        known = sorted_tables.get(row)
        if known is None:
            table = sorted(tables[row], key=operator.itemgetter(0))
            known = [start for start, _ in table], [line for _, line in table]
            sorted_tables[row] = known
        starts, lines = known
        at = bisect.bisect_right(starts, location) - 1 if location >= 0 else -1
        yield lines[at] if at >= 0 else None


def method_source(method: Method) -> Source:
    """The lines of a method's source, as `Method.source` has them."""
    from jvmti.sources.source import SourceNotFound

    lines = method.lines
    if not lines:
        raise SourceNotFound(
            f"the class file has no line numbers for {method.class_name}.{method.name}: it is "
            f"native, "
            "abstract, or was compiled without them",
            [],
        )
    source = method.declaring_class.source
    name = method.name
    if name == "<init>":
        name = method.class_name.rpartition(".")[2].rpartition("$")[2]
    # A constructor also has the lines of the fields that it initialises, after the first one.
    first = min(lines, key=lambda entry: entry.start_location).line_number
    last = max(entry.line_number for entry in lines)
    if name != "<clinit>":
        first = declaration_line(source, name, first)
    return source.part(first, last_line(source, max(first, last)))


def _interfaces(cls: Class) -> list[Class]:
    """The direct interfaces of a class; none before it is linked."""
    try:
        return [] if cls.is_primitive else cls.interfaces
    except ClassNotPrepared:
        return []


def _naming(parent: Class, classes: list[Class]) -> list[Class]:
    """The classes that name another one in their own declaration."""
    if not classes:
        return []
    vm = parent._vm
    supers = vm.map.get_superclass(classes).check().value
    direct = vm.map.is_same_object(supers, parent).check().value.astype(bool)
    # Classes that are not linked yet have none.
    interfaces = vm.env.map.get_implemented_interfaces(classes).value
    if len(interfaces.items):
        same = vm.map.is_same_object(interfaces.items, parent).check().value
        rows = numpy.repeat(numpy.arange(len(classes)), numpy.maximum(interfaces.counts, 0))
        direct[rows[same != 0]] = True
        interfaces.items.release()
    supers.release()
    return [cls for cls, is_direct in zip(classes, direct, strict=True) if is_direct]


def _modifiers_of(vm: VM, methods: list[Method]) -> list[int]:
    if not methods:
        return []
    flags: list[int] = vm.env.map.get_method_modifiers(methods).check().listed()
    return flags


__all__ = ["Class", "Field", "FieldNames", "Method", "MethodNames", "Methods"]
