"""Calls by reflection that a stepped thread is about to make, where the agent was attached late."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jvmti.interface.constants import Event
from jvmti.layouts.probes import Site
from jvmti.model.debug.late.stop_probes import stop_probe
from jvmti.model.debug.stops import Stop, StopRequest

if TYPE_CHECKING:
    from jvmti.model.classes.java_class import Class, Method
    from jvmti.model.threads.java_thread import Thread
    from jvmti.model.vm import VM

_METHOD = "java.lang.reflect.Method"
_REFLECTED = {_METHOD: "invoke", "java.lang.reflect.Constructor": "newInstance*"}
"""The methods that all calls by reflection come by; ``Class.newInstance`` calls one of them."""


class ReflectedCalls(StopRequest):
    """Passes what a thread is about to call by reflection to a function, while the thread waits.

    Args:
        vm: the JVM.
        thread: the thread.
        found: the function, which takes the method or constructor, and the class of its receiver.
    """

    def __init__(
        self, vm: VM, thread: Thread, found: Callable[[Method, Class | None], object]
    ) -> None:
        super().__init__(vm, when=None, hits=None, thread=thread, caller=None, do=self._look)
        self._found = found
        probes = [
            stop_probe(Site.ENTRY, None, classes=owner, methods=name)
            for owner, name in _REFLECTED.items()
        ]
        self._make_probes(Event.BREAKPOINT, probes)
        try:
            assert self._probes is not None
            self._probes.arm([vm.find_class(owner) for owner in _REFLECTED])
        except BaseException:
            self.cancel()
            raise

    def _look(self, stop: Stop) -> None:
        is_method = stop.method.class_name == _METHOD
        reflected, receiver = stop.locals[0], stop.locals[1] if is_method else None
        member: Any = self._vm.jni.from_reflected_method(reflected)
        cls: Any = None if receiver is None else self._vm.jni.get_object_class(receiver)
        self._found(member, cls)

    def _described(self) -> str:
        return "reflection"


__all__ = ["ReflectedCalls"]
