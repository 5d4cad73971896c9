"""The Java object `Witness.Recorder`, which notes what JNI calls it with.

Its methods of each type take an argument of every type, note what arrived, and return the argument
of their own type; `Witness.Overriding` overrides them with other results.
"""

from __future__ import annotations

import re
from typing import Any

import jvmti
import programs
from jvmti.refs import Class, Field, Method, Object

TYPES = {
    "boolean": "Z",
    "byte": "B",
    "char": "C",
    "short": "S",
    "int": "I",
    "long": "J",
    "float": "F",
    "double": "D",
}
"""The primitive types and their descriptors."""

PARAMETERS = "(ZBCSIJFDLjava/lang/Object;)"
PRIMITIVES = (True, -8, "Ж", -16, -32, -64, 1.5, -2.25)
"""Arguments for all parameters but the last."""
ARRIVED = "[true, -8, Ж, -16, -32, -64, 1.5, -2.25, text]"
"""What Java prints of them, and of the string "text" at the end."""

VALUES: dict[str, Any] = dict(zip(TYPES, PRIMITIVES, strict=True))
OVERRIDDEN = {
    "boolean": False,
    "byte": 8,
    "char": "З",
    "short": 16,
    "int": 32,
    "long": 64,
    "float": -1.5,
    "double": 2.25,
}


def unescaped(answer: str) -> str:
    """What the witness escaped, as it was."""
    return re.sub(r"\\u([0-9a-f]{4})", lambda match: chr(int(match[1], 16)), answer)


class Recorder:
    """One recorder, seen through JNI and through the witness."""

    def __init__(self, vm: jvmti.VM, witness: programs.JavaProgram, name: str = "Recorder") -> None:
        assert witness.ask(f"keep recorder {name}").lstrip("-").isdigit()
        self.vm = vm
        self.jni = vm.jni
        self.witness = witness
        self.base: Class = self.jni.find_class("Witness$Recorder")
        self.cls: Class = self.jni.find_class(f"Witness${name}")
        instance = self.jni.get_static_field_id(self.base, "instance", "LWitness$Recorder;")
        self.object: Object = existing(self.jni.get_static_object_field(self.base, instance))
        self.arguments = (*PRIMITIVES, self.jni.new_string("text"))

    @property
    def received(self) -> str:
        """What the last call noted."""
        return unescaped(self.witness.ask("get Recorder received"))

    def answer(self, method: str, timeout: float = 20) -> str:
        """What a Java method of the recorder says, called by the witness."""
        return unescaped(self.witness.ask(f"call recorder {method}", timeout))

    def method(self, name: str, result: str) -> Method:
        """The id of one of the noting methods."""
        return self.jni.get_method_id(self.base, name, PARAMETERS + result)

    def static_method(self, name: str, result: str) -> Method:
        """The id of one of the static noting methods."""
        return self.jni.get_static_method_id(self.base, name, PARAMETERS + result)

    def field(self, name: str, signature: str) -> Field:
        """The id of one of its fields."""
        return self.jni.get_field_id(self.base, name, signature)

    def element(self, name: str, signature: str) -> Any:
        """The object in one of its fields."""
        return existing(self.jni.get_object_field(self.object, self.field(name, signature)))


def existing(found: Any) -> Any:
    """An object that is surely there."""
    assert found is not None
    return found


def java_object(vm: jvmti.VM, name: str) -> Any:
    """What the witness keeps under a name, by way of its map."""
    jni = vm.jni
    program = jni.find_class("Witness")
    field = jni.get_static_field_id(program, "kept", "Ljava/util/Map;")
    kept = existing(jni.get_static_object_field(program, field))
    getter = jni.get_method_id(
        jni.find_class("java/util/Map"), "get", "(Ljava/lang/Object;)Ljava/lang/Object;"
    )
    return existing(jni.call_object_method(kept, getter, [jni.new_string(name)]))


def java_thread(vm: jvmti.VM, name: str) -> Any:
    """One of the witness's threads, virtual ones included."""
    jni = vm.jni
    program = jni.find_class("Witness")
    field = jni.get_static_field_id(program, "threads", "Ljava/util/Map;")
    threads = existing(jni.get_static_object_field(program, field))
    getter = jni.get_method_id(
        jni.find_class("java/util/Map"), "get", "(Ljava/lang/Object;)Ljava/lang/Object;"
    )
    return existing(jni.call_object_method(threads, getter, [jni.new_string(name)]))
