"""The objects of a call that a trace has held: the call can be made once more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jvmti.interface.signatures import parameters_of, result_of
from jvmti.refs import String
from jvmti.tracing.records.sites import RecordedObject
from jvmti.tracing.traced_vm import TracedVM

_PRIMITIVES = {"boolean", "byte", "char", "short", "int", "long", "float", "double", "void"}
TIME_LIMIT = 30.0
"""Seconds that a call may take when it is made again."""


class HeldObjects:
    """The receiver and the arguments of a call, as handles.

    Attributes:
        method: the method.
        receiver: the object that it was called on; ``None`` of a static method.
        recorded: the arguments as the record has them.
        arguments: the same, with handles in place of what is only recorded.
    """

    def __init__(
        self, vm: TracedVM, method: Any, descriptor: str, array: Any, recorded: Sequence[Any]
    ) -> None:
        jni = vm.jni
        count = jni.get_array_length(array)
        self._vm = vm
        self._descriptor = descriptor
        self.method = method
        self.receiver, *objects = (jni.get_object_array_element(array, at) for at in range(count))
        self.recorded = tuple(recorded)
        types = parameters_of(descriptor)
        known = [*recorded, *[RecordedObject] * (len(types) - len(recorded))]
        self._handed = [
            self._primitive(of, one, box) if of in _PRIMITIVES else box
            for of, one, box in zip(types, known, objects, strict=True)
        ]
        self.arguments = tuple(
            self._python_value(handed, one, of)
            for of, one, handed in zip(types, known, self._handed, strict=True)
        )

    def _primitive(self, type_: str, recorded: Any, box: Any) -> Any:
        """A number; from its box where the record had no space for it."""
        value = box.value if recorded is RecordedObject else recorded
        return ord(value) if type_ == "char" else value

    def _python_value(self, handed: Any, recorded: Any, type_: str) -> Any:
        if isinstance(handed, String):
            return self._vm.jni.get_string_chars(handed)
        if type_ in _PRIMITIVES and recorded is RecordedObject:
            return chr(handed) if type_ == "char" else handed
        if recorded is RecordedObject or isinstance(recorded, RecordedObject):
            return handed
        return recorded

    def call(self, timeout: float | None) -> Any:
        """Make the call once more; see `Call.again`."""
        jni = self._vm.jni.with_timeout(timeout)
        owner = self.method.declaring_class
        result = result_of(self._descriptor)
        kind = result if result in _PRIMITIVES else "object"
        if self.method.name == "<init>":
            return jni.new_object(owner, self.method, self._handed)
        if self.receiver is None:
            function = getattr(jni, f"call_static_{kind}_method")
            found = function(owner, self.method, self._handed)
        else:
            function = getattr(jni, f"call_nonvirtual_{kind}_method")
            found = function(self.receiver, owner, self.method, self._handed)
        if isinstance(found, String):
            return self._vm.jni.get_string_chars(found)
        if result == "char":
            return chr(found)
        return bool(found) if result == "boolean" else found


__all__ = ["TIME_LIMIT", "HeldObjects"]
