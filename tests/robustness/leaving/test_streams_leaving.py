"""However a stream ends, the program goes on as before, and no event stays enabled."""

from __future__ import annotations

import threading
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest

import jvmti
from jvmti.interface.constants import Event
from jvmti.interface.errors import MustPossessCapability
from jvmti.target.agent_library import own_library
from prepared import attaching

if TYPE_CHECKING:
    from programs import JavaProgram, JavaPrograms

CONTROLLER = """
import jvmti, sys, time
vm = jvmti.attach(int(sys.argv[1]))
vm.env.add_capabilities({"can_generate_method_entry_events", "can_generate_method_exit_events"})
stream = vm.env.stream(["MethodEntry", "MethodExit"], policy=sys.argv[2], size=1 << 16,
                       stack=int(sys.argv[3]))
if sys.argv[2] == "drop":
    stream.read()
print("streaming", flush=True)
time.sleep(600)
"""


@pytest.fixture
def program(java_program: JavaPrograms) -> JavaProgram:
    """A program in which a late attach gets everything."""
    started = java_program("Streamed", jvm_args=[f"-agentpath:{own_library()}=reserve"])
    started.expect("ready")
    return started


def rate(program: JavaProgram) -> int:
    return max(int(program.ask("rate")) for _ in range(5))


@pytest.mark.parametrize(("policy", "stack"), [("wait", 0), ("drop", 0), ("wait", 4)])
def test_a_killed_controller_lets_the_program_go_on(
    program: JavaProgram, policy: str, stack: int
) -> None:
    before = rate(program)
    program.ask("storm")
    for _ in range(2):
        with attaching("-c", CONTROLLER, program.pid, policy, stack) as controller:
            assert controller.stdout.readline() == "streaming\n"
            time.sleep(0.1)
            controller.kill()
    program.ask("rate")  # comes back, even where threads were waiting
    for _ in range(10):
        if rate(program) >= before / 4:  # the storm has a processor of its own
            break
    else:
        pytest.fail(f"{rate(program)} calls instead of {before}")
    with jvmti.attach(program.pid) as vm:
        stats = vm.stats.agent
        assert stats is not None
        assert (stats.sessions, stats.streams) == (1, 0)


def test_streams_come_and_go_in_the_middle_of_a_storm(program: JavaProgram) -> None:
    program.ask("storm")
    with jvmti.attach(program.pid) as vm:
        vm.env.add_capabilities(
            {"can_generate_method_entry_events", "can_generate_method_exit_events"}
        )
        for i in range(60):
            policy = ("drop", "wait")[i % 2]
            it = vm.env.stream(
                ["MethodEntry", "MethodExit"][: 1 + i % 3 % 2],
                classes="Streamed",
                policy=policy,
                size=1 << (10 + i % 8),
                stack=i % 5,
            )
            if i % 3:
                assert it.read(5)
            it.close()
        stats = vm.stats.agent
        assert stats is not None
        assert stats.streams == 0
    first = int(program.ask("storms"))
    time.sleep(0.1)
    assert int(program.ask("storms")) > first


def test_a_waiting_thread_is_let_go_by_close_and_by_detach(program: JavaProgram) -> None:
    for way in ("close", "detach", "dispose"):
        vm = jvmti.attach(program.pid)
        env = vm.new_env()
        env.add_capabilities({"can_generate_method_entry_events"})
        it = env.stream("MethodEntry", classes="Streamed", policy="wait", size=1024)
        program.send("call 100000 2")
        deadline = time.monotonic() + 20
        while it.recorded < 32 and time.monotonic() < deadline:
            time.sleep(0.01)
        if way == "close":
            it.close()
        elif way == "dispose":
            env.dispose_environment()
        if way != "detach":
            assert program.read_line() == "called 200000"
        vm.detach()
        if way == "detach":
            assert program.read_line() == "called 200000"


def test_the_end_of_the_target_ends_the_reading(program: JavaProgram) -> None:
    with jvmti.attach(program.pid) as vm:
        vm.env.add_capabilities({"can_generate_method_entry_events"})
        it = vm.env.stream("MethodEntry", classes="Streamed", methods="work")
        program.ask("call 5 1")
        program.kill()
        deadline = time.monotonic() + 20
        assert len(it.read(10)) == 5
        assert not it.read()
        assert time.monotonic() < deadline
        it.close()


def test_a_detached_session_ends_the_reading(program: JavaProgram) -> None:
    vm = jvmti.attach(program.pid)
    vm.env.add_capabilities({"can_generate_method_entry_events"})
    it = vm.env.stream("MethodEntry", classes="Streamed", methods="work")
    program.ask("call 5 1")
    threading.Timer(0.3, vm.detach).start()
    assert len(it.read()) == 5
    assert not it.read()
    assert not it.read()
    it.close()


@pytest.mark.since(17)
@pytest.mark.timeout(120)
def test_a_stream_ends_while_the_vm_reports_freed_objects(java_program: JavaPrograms) -> None:
    """HotSpot would stand still: the agent keeps the event on until the environment has gone."""
    program = java_program("Holdings", jvm_args=["-Xmx48m", "-XX:+UseSerialGC"])
    program.expect("ready")
    program.ask("busy")
    texts = [f"text {i}" for i in range(20_000)]
    for _ in range(3):
        with jvmti.attach(program.pid) as vm:
            vm.env.add_capabilities({"can_tag_objects", "can_generate_object_free_events"})
            for _ in range(4):
                with vm.env.stream("ObjectFree"):
                    made = vm.map.new_string(texts)
                    vm.env.map.set_tag(made.value, list(range(1, 1 + len(texts))))
                    del made
                    vm.env.force_garbage_collection()
        assert program.ask("add 1")


def test_freed_objects_are_reported_while_the_event_is_on(program: JavaProgram) -> None:
    freed: list[int] = []
    with jvmti.attach(program.pid) as vm:
        env = vm.new_env()
        for mode in ("ENABLE", "DISABLE"):
            with pytest.raises(MustPossessCapability) if mode == "ENABLE" else nullcontext():
                env.set_event_notification_mode(mode, Event.OBJECT_FREE)
        env.add_capabilities({"can_tag_objects", "can_generate_object_free_events"})
        env.set_event_callbacks({Event.OBJECT_FREE: lambda event: freed.append(event.tag)})
        for mode, tag in (("ENABLE", 1), ("DISABLE", 2), ("ENABLE", 3)):
            env.set_event_notification_mode(mode, Event.OBJECT_FREE)
            made = vm.jni.new_string(f"text {tag}")
            env.set_tag(made, tag)
            made.release()
            until = time.monotonic() + (1 if mode == "DISABLE" else 20)
            while freed[-1:] != [tag] and time.monotonic() < until:
                env.force_garbage_collection()
                time.sleep(0.05)
        # An event that is enabled without a callback does no harm.
        env.add_capabilities({"can_generate_exception_events"})
        env.set_event_notification_mode("ENABLE", Event.EXCEPTION)
        program.ask("call 1 10")
        env.dispose_environment()
    assert freed == [1, 3]
    assert program.running()
