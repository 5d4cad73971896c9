"""Events of allocation: what the VM itself allocates, and samples of everything."""

from __future__ import annotations

import pytest

import jvmti
import programs
from conformance.evidence import Evidence
from events.seen import Seen


def test_what_the_vm_allocates_by_itself_is_reported(
    program: programs.JavaProgram, vm: jvmti.VM, evidence: Evidence
) -> None:
    evidence.shows("VMObjectAlloc")
    seen = Seen(
        lambda event: event.object_klass.name == "long[]",
        lambda event: (
            event.thread,
            vm.jni.get_array_length(event.object),
            event.size == vm.env.get_object_size(event.object),
            vm.env.get_object_hash_code(event.object),
            vm.jni.get_object_class(event.object) == event.object_klass,
        ),
    )
    with vm.env.on("VMObjectAlloc", seen):
        name, hash_code = program.ask("copy 123").split()
    assert name == "[J"
    assert seen == [(vm.threads["main"], 123, True, int(hash_code), True)]


def test_with_an_interval_of_nothing_every_allocation_is_sampled(
    program: programs.JavaProgram, vm: jvmti.VM, evidence: Evidence
) -> None:
    evidence.shows("SampledObjectAlloc")
    evidence.proves("set_heap_sampling_interval")
    env = vm.env
    sampled = vm.jni.find_class("Events$Sampled")
    seen = Seen(
        lambda event: event.object_klass == sampled,
        lambda event: (
            event.thread.name,
            event.size == env.get_object_size(event.object),
            vm.jni.get_object_class(event.object) == sampled,
        ),
    )
    program.ask("allocate 1")
    env.set_heap_sampling_interval(0)
    with env.on("SampledObjectAlloc", seen):
        # A thread that begins now samples from its first allocation on.
        assert program.ask("thread allocating allocate 200") == "200"
    assert set(seen) == {("allocating", True, True)}
    assert len(seen) >= 199


@pytest.mark.parametrize("interval", [16 * 1024, 64 * 1024])
def test_samples_are_an_interval_apart_on_average(
    interval: int, program: programs.JavaProgram, vm: jvmti.VM, evidence: Evidence
) -> None:
    evidence.proves("set_heap_sampling_interval")
    env = vm.env
    sampled, array = vm.jni.find_class("Events$Sampled"), vm.jni.find_class("[J")
    classes = (sampled, array)
    seen = Seen(
        lambda event: event.thread.name == "allocating" and event.object_klass in classes,
        lambda event: event.size,
    )
    env.set_heap_sampling_interval(interval)
    with env.on("SampledObjectAlloc", seen):
        count = interval // 1024 * 400
        assert program.ask(f"thread allocating allocate {count}", timeout=60) == str(count)
    # Each of them is an array of 1016 bytes and an object of 16 (or 24).
    expected = count * 1032 / interval
    assert expected * 0.75 < len(seen) < expected * 1.3


def test_only_one_environment_has_samples(vm: jvmti.VM) -> None:
    second = vm.new_env()
    with pytest.raises(jvmti.errors.NotAvailable, match="can_generate_sampled_object_alloc_events"):
        second.add_capabilities({"can_generate_sampled_object_alloc_events"})
    vm.env.relinquish_capabilities({"can_generate_sampled_object_alloc_events"})
    second.add_capabilities({"can_generate_sampled_object_alloc_events"})
