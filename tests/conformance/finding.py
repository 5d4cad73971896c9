"""Finds things of the program Witness through JVM TI: threads, classes, methods and fields."""

from __future__ import annotations

from typing import Any

import jvmti
from jvmti.refs import Class, Field, Method, Object, Thread


def thread_named(env: jvmti.Env, name: str) -> Thread:
    """The live platform thread of that name."""
    return next(
        thread for thread in env.get_all_threads() if env.get_thread_info(thread).name == name
    )


def loaded_class(env: jvmti.Env, name: str) -> Class:
    """The loaded class of that name (``Witness$Base``), which is not initialised by this."""
    signature = name if name.startswith("[") else f"L{name.replace('.', '/')};"
    classes = env.get_loaded_classes()
    signatures = env.map.get_class_signature(classes).signature
    return next(cls for cls, one in zip(classes, signatures, strict=True) if one == signature)


def method_named(env: jvmti.Env, klass: Class, name: str, signature: str | None = None) -> Method:
    """A method that the class itself declares."""
    for method in env.get_class_methods(klass):
        found = env.get_method_name(method)
        if found.name == name and signature in (None, found.signature):
            return method
    raise LookupError(f"{name}{signature or ''}")


def field_named(env: jvmti.Env, klass: Class, name: str) -> Field:
    """A field that the class itself declares."""
    for field in env.get_class_fields(klass):
        if env.get_field_name(klass, field).name == name:
            return field
    raise LookupError(name)


def kept(vm: jvmti.VM, name: str, of: str = "kept") -> Object:
    """The object that the Witness keeps under a name; ``of="threads"`` for its threads."""
    witness = loaded_class(vm.env, "Witness")
    jni: Any = vm.jni
    field = jni.get_static_field_id(witness, of, "Ljava/util/Map;")
    objects = jni.get_static_object_field(witness, field)
    get = jni.get_method_id(
        jni.get_object_class(objects), "get", "(Ljava/lang/Object;)Ljava/lang/Object;"
    )
    found = jni.call_object_method(objects, get, [jni.new_string_utf(name)])
    assert found is not None, f"the Witness keeps nothing as {name}"
    return found  # type: ignore[no-any-return]
