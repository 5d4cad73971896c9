"""Classes, methods and fields.

Names of methods never change, so they are looked up once in a session, many at a time.  Line
numbers do change when a class is redefined, and are asked for anew each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from jvmti import refs
from jvmti.model.breakpoints import Breakpoint
from jvmti.model.objects import Attributes
from jvmti.model.watches import Watch
from jvmti.spec.constants import ClassStatus
from jvmti.spec.errors import AbsentInformation, NativeMethod
from jvmti.spec.signatures import fitting, java_name, parameters_of, signature_of
from jvmti.wire.columns import HandleColumn

if TYPE_CHECKING:
    from jvmti.env.structures import LineNumberEntry
    from jvmti.heap.scan import Where
    from jvmti.model.objects import ClassLoader
    from jvmti.model.stops import Stop
    from jvmti.model.threads import Thread
    from jvmti.model.vm import VM


class Class(Attributes, refs.Class):
    """A ``java.lang.Class``: a class, interface, array class or primitive type."""

    __slots__ = ("_signature",)

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
        """The generic signature, where the class has type parameters or parametrised ancestors."""
        return self._vm.env.get_class_signature(self).generic

    @property
    def status(self) -> ClassStatus:
        """How far the class has come: verified, prepared, initialized."""
        return self._vm.env.get_class_status(self)

    @property
    def modifiers(self) -> int:
        """The access flags, as in the class file format."""
        return self._vm.env.get_class_modifiers(self)

    @property
    def loader(self) -> ClassLoader | None:
        """The class loader that defined it; ``None`` is the bootstrap loader."""
        return self._vm.env.get_class_loader(self)  # type: ignore[return-value]

    @property
    def superclass(self) -> Class | None:
        """The class it extends."""
        return self._vm.jni.get_superclass(self)  # type: ignore[return-value]

    @property
    def interfaces(self) -> list[Class]:
        """The interfaces it implements directly, or extends."""
        return self._vm.env.get_implemented_interfaces(self)  # type: ignore[return-value]

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
        """The source file that the class file names, without a directory; ``None`` if none."""
        try:
            return self._vm.lookup_env.get_source_file_name(self)
        except AbsentInformation:
            return None

    @property
    def methods(self) -> list[Method]:
        """The methods and constructors that it declares itself, names already looked up.

        Raises:
            ClassNotPrepared: it is loaded, not yet prepared.
        """
        found: Any = self._vm.env.get_class_methods(self)
        self._vm.methods.look_up(found)
        return found  # type: ignore[no-any-return]

    @property
    def fields(self) -> list[Field]:
        """The fields that it declares itself.

        Raises:
            ClassNotPrepared: it is loaded, not yet prepared.
        """
        vm = self._vm
        found: list[Any] = list(vm.env.get_class_fields(self))
        names = vm.env.map.get_field_name(self, found) if found else None
        if names is not None:
            for field, name, signature in zip(found, names.name, names.signature, strict=True):
                field._class, field._name, field._signature = self, name, signature
        return found

    def instances(
        self,
        where: Where | None = None,
        limit: int | None = None,
        *,
        timeout: float | None = 60.0,
        max_pause: float | None = None,
    ) -> list[Any]:
        """The objects of exactly this class, garbage that is not collected yet among them.

        One pass over the heap stops the program; with a predicate it is two (`LiveHeap.scan` and
        `Scan.live`), and objects that could not be found again in the second one are left out.

        Args:
            where: which of them: called once with all of them as columns, fields, texts and
                elements included, it gives a mask: ``lambda them: them["total"] > 1000``.
            limit: how many at most; the pass ends as soon as there are as many.
            timeout: seconds after which a pass ends.
            max_pause: refuse beforehand what would stop the program for more seconds than these.

        Raises:
            CallTimeout: the time has passed.
            PauseTooLong: it would take longer than `max_pause`.
            ValueError: more than 20,000 fit the predicate.

        JVM TI: IterateThroughHeap, GetObjectsWithTags.
        """
        return self._vm.heap.instances(self, where, limit, timeout=timeout, max_pause=max_pause)

    def __repr__(self) -> str:
        known = getattr(self, "_signature", None)
        return f"<Class {java_name(known)}>" if known else super().__repr__()


class MethodNames(NamedTuple):
    """What is known of a method once and for all."""

    name: str
    signature: str
    generic_signature: str | None
    class_name: str
    source_file: str | None


_UNLOADED = MethodNames("?", "()V", None, "<unloaded class>", None)


class Method(refs.Method):
    """A method or constructor."""

    __slots__ = ("_names",)

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
        vm: VM = self._session.model
        return vm

    @property
    def name(self) -> str:
        """Its name; ``<init>`` for a constructor, ``?`` if its class has been unloaded."""
        try:
            return self._names.name  # stacks ask for thousands that are known
        except AttributeError:
            return self._known.name

    @property
    def signature(self) -> str:
        """The types of its parameters and its result: ``(ILjava/lang/String;)V``."""
        return self._known.signature

    @property
    def generic_signature(self) -> str | None:
        """The generic signature, where it has one."""
        return self._known.generic_signature

    @property
    def parameter_types(self) -> list[str]:
        """The Java names of its parameter types."""
        return parameters_of(self.signature)

    @property
    def class_name(self) -> str:
        """The name of the declaring class, without a handle that would keep the class loaded."""
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
    def modifiers(self) -> int:
        """The access flags, as in the class file format."""
        return self._vm.env.get_method_modifiers(self)

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
        """A breakpoint: where the method begins, at a line, or at an instruction.

        The method runs in the interpreter for as long as it has one.

        Args:
            line: the source line; where it has code in several places, the first of them.
            location: the bytecode index, instead of the line.
            when: a condition; as text, such as ``"n > 1000 and name == 'Host'"``, local variables
                are compared with constants by the agent, without asking this process; a function
                is asked with each `Stop` while the thread waits.
            hits: of the times that all else holds, every so many-th; ``"after 10"`` all beyond so
                many.
            thread: stop this thread only, or these.
            caller: stop only where this method calls, or one that fits a shell pattern:
                ``"com.acme.Order.*"``.
            do: a function that is called with each `Stop` while the thread waits.

        Returns:
            The breakpoint, which is active already; `Stops` says how to use it.

        Raises:
            ValueError: the method has no code, no lines, or no code at that line; the message names
                the nearest lines that have some.
            ConditionError: the agent cannot evaluate the condition; the message names the part.
            NotAvailable: this JVM does not give breakpoints, or somebody else has them.

        JVM TI: SetBreakpoint, Breakpoint.
        """
        return Breakpoint(
            self._vm,
            self,
            None,
            line,
            location,
            when=when,
            hits=hits,
            thread=thread,
            caller=caller,
            do=do,
        )

    @property
    def lines(self) -> list[LineNumberEntry]:
        """Bytecode locations with their source lines; empty where there is no such table."""
        try:
            return self._vm.lookup_env.get_line_number_table(self)
        except (AbsentInformation, NativeMethod):
            return []

    def __repr__(self) -> str:
        known = getattr(self, "_names", None)
        return f"<Method {known.class_name}.{known.name}>" if known else super().__repr__()


class Field(refs.Field):
    """A field, together with its class."""

    __slots__ = ("_class", "_name", "_signature")

    _class: Class
    _name: str
    _signature: str

    @property
    def declaring_class(self) -> Class:
        """The class that it was found in.

        Raises:
            LookupError: it did not come from ``cls.fields``.
        """
        try:
            return self._class
        except AttributeError:
            raise LookupError("only fields from cls.fields know their class") from None

    @property
    def name(self) -> str:
        """Its name."""
        self._look_up()
        return self._name

    @property
    def signature(self) -> str:
        """The signature of its type."""
        self._look_up()
        return self._signature

    @property
    def type(self) -> str:
        """The Java name of its type."""
        return java_name(self.signature)

    @property
    def modifiers(self) -> int:
        """The access flags, as in the class file format."""
        owner = self.declaring_class
        return owner._vm.env.get_field_modifiers(owner, self)

    def watch(
        self,
        *,
        read: bool = False,
        write: bool = True,
        when: Callable[[Stop], object] | None = None,
        hits: int | str | None = None,
        thread: Thread | Iterable[Thread] | None = None,
        caller: str | Iterable[str] | Method | None = None,
        do: Callable[[Stop], object] | None = None,
    ) -> Watch:
        """A stop where the field is about to be read or written, by Java code or through JNI.

        Code that does so runs in the interpreter for as long as that lasts.

        Args:
            read: stop before it is read.
            write: stop before it is written.
            when, hits, thread, caller, do: as for `Method.breakpoint`; ``when`` takes a function.

        Raises:
            LookupError: the field did not come from ``cls.fields``.
            ValueError: neither reads nor writes are wanted.
            NotAvailable: this JVM does not give watches, or somebody else has them.

        JVM TI: SetFieldAccessWatch, SetFieldModificationWatch, FieldAccess, FieldModification.
        """
        return Watch(
            self.declaring_class._vm,
            self,
            read,
            write,
            when=when,
            hits=hits,
            thread=thread,
            caller=caller,
            do=do,
        )

    def _look_up(self) -> None:
        if not hasattr(self, "_name"):
            owner = self.declaring_class
            found = owner._vm.env.get_field_name(owner, self)
            self._name, self._signature = found.name, found.signature

    def __repr__(self) -> str:
        known = getattr(self, "_name", None)
        return f"<Field {known}>" if known else super().__repr__()


class Methods:
    """The methods that a session has met, with their names."""

    def __init__(self, vm: VM) -> None:
        self._vm = vm
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
        """Look up the names of methods that are not known yet."""
        methods = [method for method in methods if not hasattr(method, "_names")]
        if not methods:
            return
        handles = numpy.array([method._handle for method in methods], "<u8")
        env = self._vm.lookup_env.map
        names = env.get_method_name(handles)
        classes = env.get_method_declaring_class(handles)
        signatures = env.get_class_signature(classes.value)
        sources = env.get_source_file_name(classes.value)
        classes.value.release()
        for method, status, name, signature, generic, cls, source in zip(
            methods,
            (names.status | classes.status | signatures.status).tolist(),
            names.name,
            names.signature,
            names.generic,
            signatures.signature,
            sources.value,
            strict=True,
        ):
            if status:
                # The class was unloaded since; its id is good for nothing any more.
                method._names = _UNLOADED
            else:
                method._names = MethodNames(name, signature, generic, java_name(cls), source)
            self._known[method._handle] = method

    def lines(
        self,
        distinct: numpy.ndarray[Any, Any],
        rows: numpy.ndarray[Any, Any],
        locations: numpy.ndarray[Any, Any],
    ) -> list[int | None]:
        """The source line of each location, in one message.

        Args:
            distinct: handles of methods.
            rows: for each location, which of them it is in.
            locations: bytecode indices.
        """
        if not len(rows):
            return []
        tables = self._vm.lookup_env.map.get_line_number_table(distinct)
        counts = numpy.maximum(tables.value.counts, 0)
        starts = tables.value.items["start_location"].astype(numpy.int64)
        numbers = tables.value.items["line_number"]
        # One table over all methods: the method's row above, the location below.
        keys = numpy.repeat(numpy.arange(len(distinct), dtype=numpy.int64), counts) << 32 | starts
        order = numpy.argsort(keys, kind="stable")
        keys, numbers = keys[order], numbers[order]
        rows = rows.astype(numpy.int64)
        at = numpy.searchsorted(keys, rows << 32 | numpy.maximum(locations, 0), "right") - 1
        found = (at >= 0) & (locations >= 0)
        if len(keys):
            found &= keys[numpy.maximum(at, 0)] >> 32 == rows
            lines = numpy.where(found, numbers[numpy.maximum(at, 0)], -1)
        else:
            lines = numpy.full(len(rows), -1)
        return [line if line >= 0 else None for line in lines.tolist()]


def classes(vm: VM, pattern: str) -> list[Class]:
    """The loaded classes whose Java names match a shell pattern."""
    column = vm.env.map.get_loaded_classes().check().value.items
    signatures = vm.env.map.get_class_signature(column)
    names = [None if text is None else java_name(text) for text in signatures.signature]
    if pattern == "*":
        chosen = numpy.array([name is not None for name in names], bool)
    else:
        fits = fitting(pattern)
        chosen = numpy.array([name is not None and bool(fits(name)) for name in names], bool)
    return _keep(vm, column, signatures.signature, chosen)


def classes_named(vm: VM, name: str) -> list[Class]:
    """The loaded classes of that very name; several loaders may each have one."""
    # Release 11 writes a hidden class with a slash, later ones with a dot.
    wanted = {signature_of(name), f"L{name.replace('.', '/')};"}
    column = vm.env.map.get_loaded_classes().check().value.items
    signatures = vm.env.map.get_class_signature(column)
    chosen = numpy.array([text in wanted for text in signatures.signature], bool)
    return _keep(vm, column, signatures.signature, chosen)


def _keep(
    vm: VM, column: HandleColumn, signatures: Sequence[str], chosen: numpy.ndarray[Any, Any]
) -> list[Class]:
    """The chosen ones of a column; the others are given up, so that they can be unloaded."""
    kept = HandleColumn(vm._session, column.array[chosen])
    column.array = column.array[~chosen]
    column.release()
    texts = [text for text, keep in zip(signatures, chosen.tolist(), strict=True) if keep]
    found = []
    for at, signature in enumerate(texts):
        cls: Class = kept[at]
        cls._signature = signature
        found.append(cls)
    return found


__all__ = ["Class", "Field", "Method", "MethodNames", "Methods", "classes", "classes_named"]
