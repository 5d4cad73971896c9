"""Modules and class loaders."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from jvmti import refs
from jvmti.interface.errors import Error
from jvmti.interface.frozen import frozen
from jvmti.model.objects.java_object import Attributes
from jvmti.text.names import loader_name, suggestion
from jvmti.text.printable import escaped

if TYPE_CHECKING:
    from jvmti.model.classes.loaded_classes import ClassList
    from jvmti.model.vm import VM


class ClassLoader(Attributes, refs.ClassLoader):
    """A ``java.lang.ClassLoader``; the bootstrap loader is ``None`` where a loader is expected."""

    __slots__ = ()

    @property
    def name(self) -> str | None:
        """Its name: ``app``, ``platform``; ``None`` for most others.

        Reading it does not run Java code of a subclass.
        """
        text: str | None = _text(self._vm, self, "java/lang/ClassLoader", "name")
        return text

    @property
    def type(self) -> str:
        """The name of its class: ``java.net.URLClassLoader``."""
        return self.cls.name

    @property
    def description(self) -> str:
        """Its name in listings: ``platform``, ``app``, or its name or class and identity hash."""
        return loader_name(self.name, self.type, self.identity_hash)

    @property
    def parent(self) -> ClassLoader | None:
        """Its parent, which it asks first; ``None`` is the bootstrap loader."""
        found: Any = _field(
            self._vm, self, "java/lang/ClassLoader", "parent", "Ljava/lang/ClassLoader;"
        )
        return found  # type: ignore[no-any-return]

    @property
    def unnamed_module(self) -> Module:
        """The module of its classes that have no named module."""
        found: Any = _field(
            self._vm, self, "java/lang/ClassLoader", "unnamedModule", "Ljava/lang/Module;"
        )
        return found  # type: ignore[no-any-return]

    @property
    def classes(self) -> ClassList:
        """The classes that it has defined, and arrays of them; not those that its parents defined.

        JVM TI: GetLoadedClasses, GetClassLoader.
        """
        from jvmti.model.classes.loaded_classes import ClassList

        vm = self._vm
        every = vm.classes()
        loaders = vm.env.map.get_class_loader(every).check().value
        same = vm.map.is_same_object(loaders, self).check().value
        chosen = ClassList(
            cls for cls, mine, own in zip(every, same, loaders.array, strict=True) if mine and own
        )
        loaders.release()
        return chosen

    @escaped
    def __str__(self) -> str:
        return self.description

    @escaped
    def __repr__(self) -> str:
        return _short_repr(self, super().__repr__())


@frozen
class ClassLoaderSummary:
    """A class loader in a list of them.

    Attributes:
        loader: the loader; ``None`` is the bootstrap loader.
        name: its name: ``bootstrap``, ``platform``, ``app`` or its name.
        type: the name of its class; ``None`` for the bootstrap loader.
        parent: the name of its parent; ``None`` for the bootstrap loader.
        classes: the number of classes it has defined, with their arrays.
    """

    loader: ClassLoader | None
    name: str
    type: str | None
    parent: str | None
    classes: int


class Module(Attributes, refs.Module):
    """A ``java.lang.Module``.

    To find out what it exports, opens and reads, Java methods of the module and its layer run on
    this thread's service thread.
    """

    __slots__ = ()

    @property
    def name(self) -> str | None:
        """Its name; ``None`` for the unnamed module of a class loader."""
        text: str | None = _text(self._vm, self, "java/lang/Module", "name")
        return text

    @property
    def is_named(self) -> bool:
        """Whether it has a name."""
        return self.name is not None

    @property
    def loader(self) -> ClassLoader | None:
        """The class loader of its classes; ``None`` is the bootstrap loader."""
        found: Any = _field(self._vm, self, "java/lang/Module", "loader", "Ljava/lang/ClassLoader;")
        return found  # type: ignore[no-any-return]

    @property
    def packages(self) -> list[str]:
        """The packages that it has, in order: ``java.util``.

        Java: Module.getPackages.
        """
        return sorted(_strings(self._vm, _call(self, "getPackages", "()Ljava/util/Set;")))

    @property
    def exports(self) -> list[str]:
        """Its packages that are exported to every module.

        Java: Module.isExported.
        """
        return [one for one in self.packages if self._is("isExported", one)]

    @property
    def opens(self) -> list[str]:
        """Its packages that are open to every module.

        Java: Module.isOpen.
        """
        return [one for one in self.packages if self._is("isOpen", one)]

    def exports_to(self, package: str, other: Module) -> bool:
        """Whether it exports a package to a module.

        Java: Module.isExported.
        """
        return self._is("isExported", package, other)

    def opens_to(self, package: str, other: Module) -> bool:
        """Whether it opens a package to a module.

        Java: Module.isOpen.
        """
        return self._is("isOpen", package, other)

    @property
    def reads(self) -> list[Module]:
        """The named modules that it reads, itself included; an unnamed one reads all.

        Java: Module.canRead.
        """
        jni = self._vm.jni
        method = jni.get_method_id(
            self._vm.bootstrap_class("java/lang/Module"), "canRead", "(Ljava/lang/Module;)Z"
        )
        return [
            other
            for other in self._vm.modules
            if other.is_named and jni.call_boolean_method(self, method, [other])
        ]

    def _is(self, question: str, package: str, other: Module | None = None) -> bool:
        jni = self._vm.jni
        more = "Ljava/lang/Module;" if other is not None else ""
        method = jni.get_method_id(
            self._vm.bootstrap_class("java/lang/Module"), question, f"(Ljava/lang/String;{more})Z"
        )
        arguments = [jni.new_string(package), *([] if other is None else [other])]
        return jni.call_boolean_method(self, method, arguments)

    @escaped
    def __str__(self) -> str:
        name = self.name
        return name if name is not None else f"unnamed module of {self.loader or 'bootstrap'}"

    @escaped
    def __repr__(self) -> str:
        return _short_repr(self, super().__repr__())


class Modules(list[Module]):
    """The modules: a list that is also indexed by name, ``vm.modules["java.base"]``."""

    def __init__(self, modules: Iterable[Module]) -> None:
        super().__init__(modules)

    def __getitem__(self, which: Any) -> Any:
        if not isinstance(which, str):
            return super().__getitem__(which)
        names: list[str] = []
        for module in self:
            name = module.name
            if name == which:
                return module
            if name is not None:
                names.append(name)
        raise KeyError(f"no module {which!r}{suggestion(which, names)}")

    def __contains__(self, which: object) -> bool:
        if isinstance(which, str):
            return any(module.name == which for module in self)
        return super().__contains__(which)


def class_loaders(vm: VM) -> list[ClassLoaderSummary]:
    """The class loaders that have defined classes, the bootstrap loader first."""
    table = vm.classes.names()
    counts = [0] * len(table.loaders)
    for number in table.loader_of.tolist():
        counts[number] += 1
    found = [ClassLoaderSummary(None, table.loaders[0], None, None, counts[0])]
    for loader, count in zip(table.loader_objects, counts[1:], strict=True):
        parent = loader.parent
        found.append(
            ClassLoaderSummary(
                loader,
                loader.description,
                loader.type,
                "bootstrap" if parent is None else parent.description,
                count,
            )
        )
    return found


def _short_repr(thing: Any, otherwise: str) -> str:
    """A short text with the name, or without it if the VM is gone."""
    try:
        return f"<{type(thing).__name__} {thing}>" if thing._handle else otherwise
    except Error:
        return otherwise


# ---- reading fields of the JDK's classes ----------------------------------------------------


def _field(vm: VM, obj: Any, cls: str, name: str, signature: str) -> Any:
    return vm.jni.get_object_field(
        obj, vm.jni.get_field_id(vm.bootstrap_class(cls), name, signature)
    )


def _text(vm: VM, obj: Any, cls: str, name: str) -> Any:
    string = _field(vm, obj, cls, name, "Ljava/lang/String;")
    return None if string is None else vm.jni.get_string_chars(string)


def _call(obj: Any, name: str, signature: str) -> Any:
    jni = obj._vm.jni
    method = jni.get_method_id(obj._vm.bootstrap_class("java/lang/Module"), name, signature)
    return jni.call_object_method(obj, method)


def _strings(vm: VM, collection: Any) -> list[str]:
    """The strings in a ``java.util.Collection``."""
    jni = vm.jni
    method = jni.get_method_id(
        vm.bootstrap_class("java/util/Collection"), "toArray", "()[Ljava/lang/Object;"
    )
    array: Any = jni.call_object_method(collection, method)
    length = jni.get_array_length(array)
    column = vm.map.get_object_array_element(array, list(range(length))).check().value
    texts = list(vm.map.get_string_chars(column).check().value)
    column.release()
    return texts


__all__ = ["ClassLoader", "ClassLoaderSummary", "Module", "Modules", "class_loaders"]
