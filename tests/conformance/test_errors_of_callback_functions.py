"""The errors of the functions that take a Python function."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

import jvms
import jvmti
from conformance.evidence import Evidence
from conformance.test_errors_by_declaration import expected
from jvmti.env.structures import HeapCallbacks
from jvmti.interface.constants import (
    Event,
    HeapFilter,
    HeapObjectFilter,
    HeapVisitControl,
    IterationControl,
    ThreadPriority,
)
from jvmti.refs import Class, Object, Thread


def visited(*_: Any) -> HeapVisitControl:
    return HeapVisitControl(0)


def went_on(*_: Any) -> IterationControl:
    return IterationControl.CONTINUE


ITERATION = HeapCallbacks(heap_iteration_callback=visited)
REFERENCES = HeapCallbacks(heap_reference_callback=visited)
NONE = HeapFilter(0)
EITHER = HeapObjectFilter.EITHER

Call = Callable[[jvmti.Env, Any, Any], Any]
#: Each walk, with a class and an object to begin with.
WALKS: dict[str, Call] = {
    "follow_references": lambda env, klass, thing: env.follow_references(
        NONE, klass, thing, REFERENCES
    ),
    "iterate_through_heap": lambda env, klass, _: env.iterate_through_heap(NONE, klass, ITERATION),
    "iterate_over_objects_reachable_from_object": lambda env, _, thing: (
        env.iterate_over_objects_reachable_from_object(thing, went_on)
    ),
    "iterate_over_reachable_objects": lambda env, *_: env.iterate_over_reachable_objects(
        went_on, went_on, went_on
    ),
    "iterate_over_heap": lambda env, *_: env.iterate_over_heap(EITHER, went_on),
    "iterate_over_instances_of_class": lambda env, klass, _: env.iterate_over_instances_of_class(
        klass, EITHER, went_on
    ),
}
OTHERS: dict[str, Call] = {
    "run_agent_thread": lambda env, _, thread: env.run_agent_thread(
        thread, went_on, None, ThreadPriority.NORM_PRIORITY
    ),
    "set_jni_function_table": lambda env, *_: env.set_jni_function_table({}),
    "set_event_callbacks": lambda env, *_: env.set_event_callbacks({Event.VM_DEATH: went_on}),
    "set_extension_event_callback": lambda env, *_: env.set_extension_event_callback(0, None),
}
WITH_CLASS = ["follow_references", "iterate_through_heap", "iterate_over_instances_of_class"]
WITH_OBJECT = ["follow_references", "iterate_over_objects_reachable_from_object"]


@pytest.fixture
def klass(vm: jvmti.VM) -> Class:
    found: Class = vm.jni.find_class("java/lang/Object")
    return found


@pytest.fixture
def thing(vm: jvmti.VM, klass: Class) -> Object:
    made: Object = vm.jni.alloc_object(klass)
    return made


def refused(error: str, evidence: Evidence, name: str, call: Callable[[], Any]) -> None:
    with pytest.raises(expected(error)):
        call()
    evidence.provokes(name, error)


@pytest.mark.parametrize("name", WALKS)
def test_a_walk_needs_the_capability(
    name: str, bare_env: jvmti.Env, klass: Class, thing: Object, evidence: Evidence
) -> None:
    refused("MUST_POSSESS_CAPABILITY", evidence, name, lambda: WALKS[name](bare_env, klass, thing))


@pytest.mark.parametrize("name", [*WALKS, *OTHERS])
def test_a_disposed_environment_refuses(
    name: str, vm: jvmti.VM, klass: Class, thing: Object, evidence: Evidence
) -> None:
    env = vm.new_env()
    env.dispose_environment()
    first = thing
    if name == "run_agent_thread":
        threads = vm.jni.find_class("java/lang/Thread")
        first = vm.jni.new_object(threads, vm.jni.get_method_id(threads, "<init>", "()V"), [])
    refused(
        "INVALID_ENVIRONMENT",
        evidence,
        name,
        lambda: (WALKS | OTHERS)[name](env, klass, first),
    )


@pytest.mark.parametrize("name", WITH_CLASS)
def test_a_released_class_is_refused(
    name: str, vm: jvmti.VM, env: jvmti.Env, thing: Object, evidence: Evidence
) -> None:
    released = vm.jni.get_object_class(vm.jni.new_object_array(1, vm.find_class("Witness"), None))
    released.release()
    refused("INVALID_CLASS", evidence, name, lambda: WALKS[name](env, released, thing))


@pytest.mark.parametrize("name", WITH_OBJECT)
def test_a_released_object_is_refused(
    name: str, env: jvmti.Env, klass: Class, thing: Object, evidence: Evidence
) -> None:
    thing.release()
    refused("INVALID_OBJECT", evidence, name, lambda: WALKS[name](env, None, thing))


@pytest.mark.parametrize("name", ["iterate_over_heap", "iterate_over_instances_of_class"])
def test_an_unknown_filter_is_refused(
    name: str, env: jvmti.Env, klass: Class, evidence: Evidence
) -> None:
    unknown: Any = 99
    calls = {
        "iterate_over_heap": lambda: env.iterate_over_heap(unknown, went_on),
        "iterate_over_instances_of_class": lambda: env.iterate_over_instances_of_class(
            klass, unknown, went_on
        ),
    }
    refused("ILLEGAL_ARGUMENT", evidence, name, calls[name])


@pytest.mark.parametrize(
    "name", ["iterate_over_reachable_objects", "iterate_through_heap", "iterate_over_heap"]
)
def test_the_onload_phase_is_too_early_for_a_walk(
    name: str, held_vm: jvmti.VM, evidence: Evidence
) -> None:
    refused("WRONG_PHASE", evidence, name, lambda: WALKS[name](held_vm.env, None, None))


def test_the_onload_phase_is_too_early_to_follow_references(
    held_vm: jvmti.VM, evidence: Evidence
) -> None:
    refused(
        "WRONG_PHASE",
        evidence,
        "follow_references",
        lambda: WALKS["follow_references"](held_vm.env, None, None),
    )


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("iterate_over_objects_reachable_from_object", Object),
        ("iterate_over_instances_of_class", Class),
        ("run_agent_thread", Thread),
    ],
)
def test_the_onload_phase_is_too_early_for_what_needs_an_object(
    name: str, kind: type[Object], held_vm: jvmti.VM, evidence: Evidence
) -> None:
    # There is none yet, so one is made up.
    nothing = kind(held_vm._session, kind.KIND << 56 | 1 << 32)
    refused(
        "WRONG_PHASE",
        evidence,
        name,
        lambda: (WALKS | OTHERS)[name](held_vm.env, nothing, nothing),
    )


def test_callbacks_are_not_set_in_the_start_phase(jvm: jvms.Jvm, evidence: Evidence) -> None:
    given: dict[str, Exception] = {}
    vm = jvmti.launch([jvm.java, *jvm.args, "-version"], hold=True, stderr=subprocess.DEVNULL)

    def started(event: Any) -> None:
        env = event.env
        try:
            env.set_event_callbacks({Event.VM_DEATH: went_on})
        except jvmti.JvmtiError as error:
            given["set_event_callbacks"] = error

    vm.env.on("VMStart", started)
    with contextlib.suppress(jvmti.TargetLost):  # it has nothing to do and may be gone already
        vm.proceed()
    vm.detach()
    assert vm.popen is not None
    vm.popen.wait(timeout=60)
    assert isinstance(given.get("set_event_callbacks"), jvmti.errors.WrongPhase), given
    evidence.provokes("set_event_callbacks", "WRONG_PHASE")


def test_a_thread_that_has_ended_cannot_be_an_agent_thread(vm: jvmti.VM, env: jvmti.Env) -> None:
    threads = vm.jni.find_class("java/lang/Thread")
    ended = vm.jni.new_object(threads, vm.jni.get_method_id(threads, "<init>", "()V"), [])
    vm.jni.call_void_method(ended, vm.jni.get_method_id(threads, "start", "()V"), [])
    vm.jni.call_void_method(ended, vm.jni.get_method_id(threads, "join", "()V"), [])
    with pytest.raises(jvmti.errors.InvalidThread):
        OTHERS["run_agent_thread"](env, None, ended)


@pytest.mark.parametrize("name", ["follow_references", "iterate_through_heap"])
def test_a_walk_without_callbacks_is_a_mistake_of_types(name: str, env: jvmti.Env) -> None:
    nothing: Any = None
    arguments = {"heap_filter": NONE, "klass": None, "callbacks": nothing}
    if name == "follow_references":
        arguments["initial_object"] = None
    with pytest.raises(TypeError):
        getattr(env, name)(**arguments)


def test_the_onload_phase_is_too_early_for_another_jni_table(
    held_vm: jvmti.VM, evidence: Evidence
) -> None:
    refused(
        "WRONG_PHASE",
        evidence,
        "set_jni_function_table",
        lambda: held_vm.env.set_jni_function_table({}),
    )
