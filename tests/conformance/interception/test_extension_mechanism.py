"""The chapter "Extension Mechanism": what HotSpot has beyond the specification."""

from __future__ import annotations

import time
from typing import Any

import pytest

import jvms
import jvmti
from conformance.evidence import Evidence
from conformance.finding import kept
from jvmti.interface.constants import ParamKind, ParamTypes
from jvmti.refs import Thread

UNLOADING = "com.sun.hotspot.functions.IsClassUnloadingEnabled"
CLASS_UNLOAD = "com.sun.hotspot.events.ClassUnload"


def test_the_extensions_are_those_in_the_vms_own_library(
    env: jvmti.Env, jvm: jvms.Jvm, evidence: Evidence
) -> None:
    evidence.proves("get_extension_functions", "get_extension_events")
    variant = "zero" if jvm.name == "zero" else "server"
    library = (jvm.home / "lib" / variant / "libjvm.so").read_bytes()
    functions = {function.id: function for function in env.get_extension_functions()}
    events = {event.id: event for event in env.get_extension_events()}
    assert UNLOADING in functions
    assert CLASS_UNLOAD in events
    for identifier in [*functions, *events]:
        assert identifier.encode() + b"\0" in library


def test_an_extension_describes_its_parameters(env: jvmti.Env) -> None:
    function = next(one for one in env.get_extension_functions() if one.id == UNLOADING)
    (parameter,) = function.params
    assert parameter.kind is ParamKind.OUT
    assert parameter.base_type is ParamTypes.JBOOLEAN
    assert not parameter.null_ok
    event = next(one for one in env.get_extension_events() if one.id == CLASS_UNLOAD)
    assert event.params[0].base_type is ParamTypes.JNIENV
    assert event.short_description


def test_an_extension_function_is_called_with_its_parameters(
    env: jvmti.Env, vm: jvmti.VM, jvm: jvms.Jvm
) -> None:
    functions = {function.id: function.func for function in env.get_extension_functions()}
    assert functions[UNLOADING]() is True
    with pytest.raises(jvmti.errors.IllegalArgument):
        functions[UNLOADING](1)
    carrier = functions.get("com.sun.hotspot.functions.GetCarrierThread")
    if carrier is None:
        assert jvm.feature < 21
        return
    virtual = kept(vm, "virtual", of="threads")
    assert carrier(virtual) is None, "it is parked"
    with pytest.raises(jvmti.errors.IllegalArgument):
        carrier(5)
    with pytest.raises(jvmti.errors.InvalidThread):
        carrier(kept(vm, "array"))


def test_the_callback_of_an_extension_event_is_given_its_parameters(
    env: jvmti.Env, vm: jvmti.VM, jvm: jvms.Jvm, evidence: Evidence
) -> None:
    evidence.proves("set_extension_event_callback")
    evidence.provokes("set_extension_event_callback", "ILLEGAL_ARGUMENT")
    events = {event.id: event for event in env.get_extension_events()}
    reported: list[Any] = []
    for event in events.values():
        env.set_extension_event_callback(
            event.extension_event_index,
            lambda *given, name=event.id: reported.append((name, given)),
        )
    if jvm.feature >= 21:
        jni = vm.jni
        cls = jni.find_class("java/lang/Thread")
        start = jni.get_static_method_id(
            cls, "startVirtualThread", "(Ljava/lang/Runnable;)Ljava/lang/Thread;"
        )
        nothing = jni.new_object(cls, jni.get_method_id(cls, "<init>", "()V"), [])
        started = jni.call_static_object_method(cls, start, [nothing])
        join = jni.get_method_id(cls, "join", "()V")
        jni.call_void_method(started, join, [])
        deadline = time.monotonic() + 10
        while len(reported) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
    for event in events.values():
        env.set_extension_event_callback(event.extension_event_index, None)
    names = {name.rpartition(".")[2] for name, _ in reported}
    if jvm.feature >= 21:
        assert {"VirtualThreadMount", "VirtualThreadUnmount"} <= names
        assert all(isinstance(given[0], Thread) for name, given in reported if "Virtual" in name)
    known = len(reported)
    env.force_garbage_collection()
    assert len(reported) == known
    with pytest.raises(jvmti.errors.IllegalArgument):
        env.set_extension_event_callback(12345, reported.append)
    with pytest.raises(TypeError, match="callable or None"):
        env.set_extension_event_callback(12345, "callback")  # type: ignore[arg-type]
