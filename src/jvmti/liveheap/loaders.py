"""The loaded classes with their names and class loaders, in a handful of messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from jvmti.interface.errors import Error
from jvmti.interface.signatures import java_name
from jvmti.text.names import BOOTSTRAP, loader_name, place_in_words
from jvmti.wire.columns import HandleColumn

if TYPE_CHECKING:
    from jvmti.liveheap.running_vm import RunningVM


class LoadedClasses:
    """The loaded classes, or some of them; they stay loaded until `release`.

    Args:
        vm: the VM.
        handles: handles of classes, which this object then owns; by default of all.

    Attributes:
        handles: a handle for each.
        names: as Java writes them; ``None`` for a class that was unloaded meanwhile.
    """

    def __init__(self, vm: RunningVM, handles: HandleColumn | None = None) -> None:
        self._vm = vm
        if handles is None:
            handles = vm.env.map.get_loaded_classes().check().value.items
        self.handles: HandleColumn = handles
        signatures = vm.env.map.get_class_signature(self.handles).signature
        self.names = [None if text is None else java_name(text) for text in signatures]

    @classmethod
    def only(cls, vm: RunningVM, classes: list[Any]) -> LoadedClasses:
        """Some classes, with handles of their own."""
        return cls(vm, vm.map.new_global_ref(classes).check().value)

    def __len__(self) -> int:
        return len(self.names)

    def release(self) -> None:
        """Release the handles."""
        self.handles.release()

    def keep(self, chosen: list[bool]) -> None:
        """Release the handles of all but some."""
        mask = numpy.array(chosen, bool)
        given_up = HandleColumn(self._vm._session, self.handles.array[~mask])
        self.handles.array = self.handles.array[mask]
        self.names = [name for name, kept in zip(self.names, chosen, strict=True) if kept]
        given_up.release()

    def loaders(self, known: dict[int, str]) -> list[str]:
        """The class loader of each: ``bootstrap``, ``platform``, ``app``, or its own name.

        A loader without a name has its class and its identity hash, as in ``com.acme.PluginLoader
        @1b2c3d``; a named one outside the JDK has both.

        Args:
            known: names by identity hash; this adds more.
        """
        loaders: HandleColumn = self._vm.env.map.get_class_loader(self.handles).value
        array = loaders.array
        hashes = numpy.zeros(len(array), numpy.int64)
        there = numpy.flatnonzero(array)
        if len(there):
            hashes[there] = self._vm.env.map.get_object_hash_code(array[there]).value
        distinct, first = numpy.unique(hashes, return_index=True)
        for number, at in zip(distinct.tolist(), first.tolist(), strict=True):
            if array[at] and number not in known:
                known[number] = _name_of(self._vm, loaders[at], number)
        loaders.release()
        return [known.get(number, BOOTSTRAP) for number in hashes.tolist()]


def ages(names: list[str | None], loaders: list[str]) -> dict[tuple[str, str | None], str]:
    """The age of classes that share a name, by their order of loading.

    Args:
        names: of classes in the VM's order, the newest first.
        loaders: the class loader of each.
    """
    places: dict[str, list[int]] = {}
    for at, name in enumerate(names):
        if name is not None:
            places.setdefault(name, []).append(at)
    return {
        (name, loaders[at]): place_in_words(place, len(several))
        for name, several in places.items()
        if len(several) > 1
        for place, at in enumerate(reversed(several), 1)
    }


def _name_of(vm: RunningVM, loader: Any, number: int) -> str:
    """Reads the loader's field, because its method `getName` may be overridden."""
    jni = vm.jni
    cls = java_name(vm.env.get_class_signature(jni.get_object_class(loader)).signature)
    text = None
    try:
        base = jni.find_class("java/lang/ClassLoader")
        field = jni.get_field_id(base, "name", "Ljava/lang/String;")
        name: Any = jni.get_object_field(loader, field)
        text = None if name is None else jni.get_string_chars(name)
    except Error:
        pass  # the field is internal to the JDK
    return loader_name(text, cls, number)


__all__ = ["LoadedClasses", "ages"]
