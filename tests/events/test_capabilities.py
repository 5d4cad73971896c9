"""Capabilities together: all of them, a debugger's, a profiler's; and two controllers at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

import jvms
import jvmti
import programs
from conformance.evidence import Evidence
from events.seen import Code, Seen
from jvmti.env.events import EVENTS
from jvmti.interface.capabilities import SOLO
from jvmti.interface.constants import Event
from jvmti.interface.errors import JvmtiError

#: What comes so often that nobody wants all of it from Python.
FREQUENT = {"SingleStep", "MethodEntry", "MethodExit", "SampledObjectAlloc", "VMObjectAlloc"}


def test_a_program_runs_with_all_capabilities_and_nearly_all_events(
    launched: Callable[..., Any], jvm: jvms.Jvm
) -> None:
    one = launched("Lives", "end", capabilities="all")
    env = one.env
    assert env.get_capabilities() == env.get_potential_capabilities() | env.get_capabilities()
    counts: Counter[str] = Counter()
    for event in EVENTS.values():
        declaration = event.declaration
        too_new = int(declaration.since.split(".")[0]) > jvm.feature
        if declaration.vm_stopped or event.__name__ in FREQUENT or too_new:
            continue
        env.on(event.__name__, lambda event: counts.update([type(event).__name__]))
    assert one.run() == 0
    assert one.output == ["main", "hook"]
    assert one.vm.handler_errors == []
    for name in ("VMStart", "VMInit", "VMDeath"):
        assert counts[name] == 1
    for name in ("ThreadStart", "ClassFileLoadHook", "ClassLoad", "ClassPrepare"):
        assert counts[name] > 1


@pytest.mark.parametrize("event", ["ClassLoad", "ClassFileLoadHook", "ClassPrepare"])
def test_threads_that_wait_while_others_load_classes_do_not_stop_the_start(
    event: str, launched: Callable[..., Any]
) -> None:
    """There is one channel before the VM is live, and several threads that run into events."""
    one = launched("Lives", "end", capabilities="all")
    counts: Counter[str] = Counter()
    for name in (event, "MonitorWait", "MonitorWaited"):
        one.env.on(name, lambda event: counts.update([type(event).__name__]))
    assert one.run() == 0
    assert counts[event] > 1
    assert one.vm.handler_errors == []


def test_a_debugger_s_capabilities_work_together(
    launched: Callable[..., Any], jvm: jvms.Jvm
) -> None:
    """Breakpoint, step, variable, frame pop, watch and exception in the main thread's start."""
    one = launched(
        "Lives",
        "uncaught",
        capabilities={
            "can_generate_breakpoint_events",
            "can_generate_single_step_events",
            "can_generate_frame_pop_events",
            "can_generate_exception_events",
            "can_generate_field_modification_events",
            "can_access_local_variables",
            "can_get_line_numbers",
            "can_suspend",
        },
    )
    env = one.env
    order: list[str] = []

    def prepared(event: Any) -> None:
        if event.klass.name != "Lives":
            return
        main = next(method for method in event.klass.methods if method.name == "main")
        env.set_breakpoint(main, 0)
        stage = next(field for field in event.klass.fields if field.name == "stage")
        env.set_field_modification_watch(event.klass, stage)

    def stopped(event: Any) -> None:
        words = env.get_local_object(event.thread, 0, 0)
        order.append(f"main has {one.vm.jni.get_array_length(words)} word")
        env.notify_frame_pop(event.thread, 0)

    env.on("ClassPrepare", prepared)
    env.on("Breakpoint", stopped)
    env.on("FieldModification", lambda event: order.append(f"stage is {event.new_value}"))
    env.on(
        "Exception",
        lambda event: (
            order.append(f"{event.exception.cls.name} is not caught")
            if event.exception.cls.name == "Lives$Quiet"
            else None
        ),
    )
    env.on(
        "FramePop",
        lambda event: order.append(f"main is left by exception: {event.was_popped_by_exception}"),
    )
    assert one.run() == 1
    assert one.vm.handler_errors == []
    assert order == [
        "stage is begun",
        "main has 1 word",
        "stage is main",
        "stage is worked",
        "Lives$Quiet is not caught",
        "main is left by exception: True",
        "stage is hook",
    ]


def test_a_profiler_s_capabilities_are_had_late_and_together(
    java_program: programs.JavaPrograms, jvm: jvms.Jvm
) -> None:
    """On a JVM that nothing was reserved in."""
    program = java_program("Events", jvm_args=["-XX:+StartAttachListener"])
    program.expect("ready", timeout=60)
    wanted = {
        "can_generate_sampled_object_alloc_events",
        "can_generate_compiled_method_load_events",
        "can_generate_vm_object_alloc_events",
        "can_generate_monitor_events",
        "can_generate_garbage_collection_events",
        "can_get_thread_cpu_time",
        "can_tag_objects",
    }
    with jvmti.attach(program.pid, capabilities=wanted, timeout=30) as vm:
        counts: Counter[str] = Counter()

        def count(event: Any) -> None:
            counts[type(event).__name__] += 1

        vm.env.set_heap_sampling_interval(64 * 1024)
        names = ("SampledObjectAlloc", "CompiledMethodLoad", "VMObjectAlloc", "ThreadStart")
        for name in (*names, "MonitorContendedEnter", "ThreadEnd"):
            vm.env.on(name, count)
        assert program.ask("thread allocating allocate 5000", timeout=60) == "5000"
        assert program.ask("contend holder wanting") == "held entered"
        assert program.ask("copy 5").startswith("[J ")
        program.ask("heat")
        assert counts["SampledObjectAlloc"] > 10
        assert counts["VMObjectAlloc"] >= 1
        assert counts["ThreadStart"] >= 3
        assert counts["MonitorContendedEnter"] >= 1
        if jvm.name != "zero":
            vm.env.generate_events(Event.COMPILED_METHOD_LOAD)
            assert counts["CompiledMethodLoad"] > 10
        assert vm.handler_errors == []


def test_what_can_be_had_only_early_is_refused_late_with_its_name(
    java_program: programs.JavaPrograms,
) -> None:
    program = java_program("Events", jvm_args=["-XX:+StartAttachListener"])
    program.expect("ready", timeout=60)
    with jvmti.attach(program.pid, timeout=30) as vm:
        with pytest.raises(jvmti.errors.NotAvailable, match="can_generate_single_step_events"):
            vm.env.add_capabilities({"can_generate_single_step_events"})
        with pytest.raises(JvmtiError, match="can_generate_single_step_events"):
            vm.env.on("SingleStep", print)


def test_each_of_two_controllers_receives_what_it_asked_for(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code, evidence: Evidence
) -> None:
    first, second = Seen(), Seen()
    with jvmti.attach(program.pid, timeout=30) as other:
        wanted = {"can_generate_method_entry_events", "can_generate_exception_events"}
        other.env.add_capabilities(wanted)
        theirs = Code(other, "Events")
        first.wanted = lambda event: event.method == code["straight"]
        second.wanted = lambda event: event.method == theirs["straight"]
        with (
            vm.env.on("MethodEntry", first, thread=vm.threads["main"]),
            other.env.on("MethodEntry", second, thread=other.threads["main"]),
        ):
            assert program.ask("calculate 1") == "4"
        with vm.env.on("MethodEntry", first, thread=vm.threads["main"]):
            assert program.ask("calculate 1") == "4"
    assert (len(first), len(second)) == (2, 1)
    assert program.ask("calculate 1") == "4"


def test_one_controller_s_handler_is_an_event_to_nobody_else_s_surprise(
    program: programs.JavaProgram, vm: jvmti.VM, code: Code
) -> None:
    """What a handler of one controller does is the program's doing to the other."""
    straight = vm.jni.get_static_method_id(code.cls, "straight", "(I)I")
    vm.env.set_breakpoint(code["inner"], 0)
    seen: list[int] = []
    with jvmti.attach(program.pid, timeout=30) as other:
        other.env.add_capabilities(
            {"can_generate_method_entry_events", "can_access_local_variables"}
        )
        theirs = Code(other, "Events")["straight"]

        def note(event: Any) -> None:
            if event.method == theirs:
                seen.append(other.env.get_local_int(event.thread, 0, 0))

        with (
            vm.env.on(
                "Breakpoint",
                lambda event: vm.jni.call_static_int_method(code.cls, straight, [77]),
            ),
            other.env.on("MethodEntry", note, thread=other.threads["main"]),
        ):
            assert program.ask("nested 4") == "11"
        assert other.handler_errors == []
    assert seen == [77]


# What one environment has at a time --------------------------------------------------------


def test_a_solo_capability_is_had_by_one_environment_and_the_error_says_by_which(
    launched: Callable[..., Any],
) -> None:
    one = launched("Lives", "end")
    vm, env = one.vm, one.env
    other = vm.new_env()
    for capability in (str(solo.name) for solo in SOLO):
        env.add_capabilities({capability})
        assert capability not in str(other.get_potential_capabilities())
        with pytest.raises(
            jvmti.errors.NotAvailable, match=f"{capability}: held by another environment of this"
        ):
            other.add_capabilities({capability})
        # An error takes none of those that were asked for together.
        with pytest.raises(jvmti.errors.NotAvailable, match=capability):
            other.add_capabilities({capability, "can_tag_objects"})
        assert not other.get_capabilities()
        env.relinquish_capabilities({capability})
        other.add_capabilities({capability})
        with pytest.raises(jvmti.errors.NotAvailable, match=capability):
            env.add_capabilities({capability})
        other.relinquish_capabilities({capability})
    assert one.run() == 0
    assert one.output == ["main", "hook"]
