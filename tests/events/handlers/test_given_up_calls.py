"""A call that was given up still runs in the VM, and what it runs into is still handled."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

import jvmti
from jvmti.target.agent_library import own_library

if TYPE_CHECKING:
    from collections.abc import Callable

    from programs import JavaPrograms


def until(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 30
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.005)
    return condition()


def test_a_breakpoint_in_a_call_that_overran_its_limit_is_handled(
    java_program: JavaPrograms,
) -> None:
    program = java_program("Storm", jvm_args=[f"-agentpath:{own_library()}=reserve"])
    program.expect("ready")
    with jvmti.attach(program.pid) as vm:
        if not vm.env.get_potential_capabilities().can_generate_breakpoint_events:
            pytest.skip("this VM has no breakpoints")
        vm.env.add_capabilities({"can_generate_breakpoint_events"})
        storm = vm.find_class("Storm")
        calls = vm.jni.get_static_method_id(
            storm, "answer", "([Ljava/lang/String;)Ljava/lang/String;"
        )
        words = vm.jni.new_object_array(3, vm.find_class("java.lang.String"), None)
        for index, word in enumerate(("calls", "1", "5")):
            vm.jni.set_object_array_element(words, index, vm.jni.new_string(word))
        hit = vm.jni.get_static_method_id(storm, "hit", "()V")
        stops: list[Any] = []
        given_up = threading.Event()

        def stopped(event: Any) -> None:
            stops.append(event.thread.name)
            given_up.wait(30)

        # The call itself waits for its thread, and runs into another breakpoint after that.
        done = vm.jni.get_method_id(
            vm.find_class("java.util.concurrent.atomic.AtomicLong"), "get", "()J"
        )
        vm.env.set_breakpoint(hit, 0)
        vm.env.set_breakpoint(done, 0)
        with vm.env.on("Breakpoint", stopped):
            with pytest.raises(jvmti.errors.CallTimeout):
                vm.jni.with_timeout(0.2).call_static_object_method(storm, calls, [words])
            assert vm.stats.running == ("call_static_object_method",)
            given_up.set()
            assert until(lambda: vm.stats.running == ())
        assert stops[:5] == ["caller-0"] * 5
        assert stops[5:]
        assert "jvmti channel" in stops[5:][-1]
        assert vm.handler_errors == []
