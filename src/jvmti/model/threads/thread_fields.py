"""The fields of many threads, in a few messages: their names, numbers, priorities and carriers.

GetThreadInfo has most of it, too. But a VM that has virtual threads looks at all threads before it
answers for one: 10,000 answers took seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from jvmti.interface.errors import JavaException

if TYPE_CHECKING:
    from jvmti.model.threads.java_thread import Thread
    from jvmti.model.vm import VM
    from jvmti.wire.columns import HandleColumn

    ManyThreads: TypeAlias = list[Thread] | HandleColumn

_HOLDER = "java/lang/Thread$FieldHolder"
_NORMAL = 5
"""``Thread.NORM_PRIORITY``."""
FEW = 500
"""For so few threads GetThreadInfo is faster than the messages that the fields take."""


class ThreadFields:
    """The fields of the threads of one VM, each looked up once."""

    def __init__(self, vm: VM) -> None:
        self._vm = vm
        self._found: dict[tuple[str, str], Any] = {}
        self._has_holder: bool | None = None

    def ids(self, threads: ManyThreads) -> list[int]:
        """The ``Thread.threadId`` of each thread."""
        if not len(threads):
            return []
        # Package-private since Java 1.0, and the same in every release.
        return self._vm.map.get_long_field(threads, self._field("tid", "J")).listed()

    def names(self, threads: ManyThreads) -> list[str]:
        """The name of each thread; empty if it has none."""
        if not len(threads):
            return []
        field = self._field("name", "Ljava/lang/String;")
        texts = self._vm.map.get_object_field(threads, field).value
        names = list(self._vm.map.get_string_chars(texts).value)
        texts.release()
        return names

    def described(self, threads: ManyThreads) -> Iterator[tuple[str, int, bool]]:
        """For each thread its name, its priority, and whether it is a daemon."""
        if len(threads) <= FEW or not self._with_holder():
            return self._asked(threads)
        return zip(self.names(threads), *self._held(threads), strict=True)

    def _asked(self, threads: ManyThreads) -> Iterator[tuple[str, int, bool]]:
        about = self._vm.env.map.get_thread_info(threads)
        names = (name or "" for name in about.name)
        daemons = map(bool, about.listed("is_daemon"))
        return zip(names, about.listed("priority"), daemons, strict=True)

    def _held(self, threads: ManyThreads) -> tuple[list[int], list[bool]]:
        """The priorities and daemons; a virtual thread has no holder, and always the same ones."""
        vm = self._vm
        holding = vm.map.get_object_field(threads, self._field("holder", f"L{_HOLDER};")).value
        priorities = vm.map.get_int_field(holding, self._field("priority", "I", _HOLDER)).listed()
        daemons = vm.map.get_boolean_field(holding, self._field("daemon", "Z", _HOLDER)).listed()
        held = [number != 0 for number in holding.numbers()]
        holding.release()
        return (
            [one if its else _NORMAL for one, its in zip(priorities, held, strict=True)],
            [bool(one) or not its for one, its in zip(daemons, held, strict=True)],
        )

    def carrier(self, thread: Thread) -> Thread | None:
        """The thread that a virtual thread is mounted on."""
        # Private, and the same in every release that has virtual threads.
        field = self._field("carrierThread", "Ljava/lang/Thread;", "java/lang/VirtualThread")
        return self._vm.jni.get_object_field(thread, field)  # type: ignore[return-value]

    def _with_holder(self) -> bool:
        """Whether a thread has a holder, as in every release that has virtual threads."""
        if self._has_holder is None:
            try:
                self._vm.bootstrap_class(_HOLDER)
                self._has_holder = True
            except JavaException:
                self._has_holder = False
        return self._has_holder

    def _field(self, name: str, signature: str, cls: str = "java/lang/Thread") -> Any:
        if (cls, name) not in self._found:
            declaring = self._vm.bootstrap_class(cls)
            self._found[cls, name] = self._vm.jni.get_field_id(declaring, name, signature)
        return self._found[cls, name]


__all__ = ["FEW", "ThreadFields"]
