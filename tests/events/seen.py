"""What a test notes of the events that its handlers are given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jvmti
from jvmti.refs import Method


class Seen(list[Any]):
    """A handler that keeps the events it is given.

    Args:
        wanted: whether an event is kept, where others come too.
        note: what is kept of it, where that is not the event itself.
    """

    def __init__(
        self,
        wanted: Callable[[Any], bool] | None = None,
        note: Callable[[Any], Any] | None = None,
    ) -> None:
        super().__init__()
        self.wanted = wanted
        self.note = note

    def __call__(self, event: Any) -> None:
        if self.wanted is None or self.wanted(event):
            self.append(event if self.note is None else self.note(event))

    @property
    def only(self) -> Any:
        """The one thing that was seen."""
        assert len(self) == 1, self
        return self[0]


class Code:
    """The methods of a class of the program, by name."""

    def __init__(self, vm: jvmti.VM, name: str) -> None:
        self.cls = vm.jni.find_class(name)
        self.vm = vm
        # In any order: an environment that emulates that of the file would read the file for it.
        found = vm.lookup_env.get_class_methods(self.cls)
        vm.methods.look_up(found)
        self.methods = {method.name: method for method in found}

    def __getitem__(self, name: str) -> Method:
        return self.methods[name]

    def field(self, name: str) -> Any:
        """A field that the class itself declares."""
        return next(field for field in self.cls.fields if field.name == name)

    def static(self, name: str, signature: str) -> Any:
        """What a static field of an object type holds."""
        jni = self.vm.jni
        return jni.get_static_object_field(
            self.cls, jni.get_static_field_id(self.cls, name, signature)
        )

    def line_of(self, method: str, location: int) -> int:
        """The line that a location lies in."""
        entries = self.vm.env.get_line_number_table(self[method])
        return max(
            (e.start_location, e.line_number) for e in entries if e.start_location <= location
        )[1]
