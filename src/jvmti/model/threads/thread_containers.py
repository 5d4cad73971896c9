"""The JDK's registry of thread containers, which knows the virtual threads since Java 21."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from jvmti.deferred import numpy
from jvmti.interface.errors import JavaException

if TYPE_CHECKING:
    from jvmti.model.vm import VM


class ThreadContainers:
    """The registry of one VM. JVM TI has no function for it: a few lines of Java code run.

    Raises:
        JavaException: this release has none.
    """

    def __init__(self, vm: VM) -> None:
        self._vm = vm
        jni = vm.jni
        self._class = jni.find_class("jdk/internal/vm/ThreadContainers")
        container = jni.find_class("jdk/internal/vm/ThreadContainer")
        stream = jni.find_class("java/util/stream/Stream")
        self._root = jni.get_static_method_id(
            self._class, "root", "()Ljdk/internal/vm/ThreadContainer;"
        )
        self._count = jni.get_method_id(container, "threadCount", "()J")
        self._threads = jni.get_method_id(container, "threads", "()Ljava/util/stream/Stream;")
        self._children = jni.get_method_id(container, "children", "()Ljava/util/stream/Stream;")
        self._to_array = jni.get_method_id(stream, "toArray", "()[Ljava/lang/Object;")
        self._limit = jni.get_method_id(stream, "limit", "(J)Ljava/util/stream/Stream;")

    def __iter__(self) -> Iterator[Any]:
        """Each container, the root first; children are looked up when the next one is wanted."""
        waiting: list[Any] = [self._vm.jni.call_static_object_method(self._class, self._root)]
        while waiting:
            one = waiting.pop()
            yield one
            waiting += self._items(one, self._children, None)

    def count(self, container: Any) -> int:
        """About how many threads a container has, without its children's."""
        return self._vm.jni.call_long_method(container, self._count)

    def threads(self, container: Any, most: int | None) -> list[Any]:
        """The threads of a container, platform ones too; ``None`` for all of them."""
        its = self._items(container, self._threads, most)
        return [thread for thread in its if thread is not None]

    def _items(self, container: Any, method: Any, most: int | None) -> list[Any]:
        jni = self._vm.jni
        stream: Any = jni.call_object_method(container, method)
        if most is not None:
            stream = jni.call_object_method(stream, self._limit, [most])
        array: Any = jni.call_object_method(stream, self._to_array)
        length = jni.get_array_length(array)
        if not length:
            return []
        return list(self._vm.map.get_object_array_element(array, numpy.arange(length)).value)


def containers_of(vm: VM) -> ThreadContainers | None:
    """The registry; ``None`` before Java 21, which brought virtual threads."""
    try:
        return ThreadContainers(vm)
    except JavaException:
        return None


__all__ = ["ThreadContainers", "containers_of"]
