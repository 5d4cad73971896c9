"""``run_agent_thread``: a Java thread of the controller's own, whose work is a Python function."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

import jvms
import jvmti
import programs
from conformance.evidence import Evidence
from conformance.finding import kept, thread_named
from jvmti.interface.constants import ThreadState
from jvmti.refs import Thread


def new_thread(vm: jvmti.VM, name: str) -> Thread:
    """A thread that has not been started."""
    jni = vm.jni
    cls = jni.find_class("java/lang/Thread")
    constructor = jni.get_method_id(cls, "<init>", "(Ljava/lang/String;)V")
    made = jni.new_object(cls, constructor, [jni.new_string(name)])
    assert isinstance(made, Thread)
    return made


def ended(env: jvmti.Env, thread: Thread) -> bool:
    """Whether a thread ends within half a minute."""
    deadline = time.monotonic() + 30
    while env.get_thread_state(thread) != ThreadState.TERMINATED:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def test_the_function_runs_with_its_own_java_thread(
    vm: jvmti.VM, env: jvmti.Env, witness: programs.JavaProgram, evidence: Evidence
) -> None:
    evidence.proves("run_agent_thread")
    thread = new_thread(vm, "of Python")
    argument: dict[str, Any] = {}
    leave = threading.Event()
    running = threading.Event()

    def proc(arg: dict[str, Any]) -> None:
        arg["thread"] = env.get_current_thread()
        arg["info"] = env.get_thread_info()
        arg["identifier"] = vm.jni.call_long_method(
            thread, vm.jni.get_method_id(vm.jni.find_class("java/lang/Thread"), "getId", "()J"), []
        )
        running.set()
        leave.wait(30)

    env.run_agent_thread(thread, proc, argument, 7)
    assert running.wait(30)
    assert argument["thread"] == thread
    info = argument["info"]
    assert (info.name, info.priority, info.is_daemon) == ("of Python", 7, True)
    assert thread in env.get_all_threads()
    assert env.get_current_thread() != thread, "other calls stay where they are"
    assert "of\\u0020Python" not in witness.ask("threads"), "Java code does not see it"
    leave.set()
    assert ended(env, thread)


def test_a_monitor_that_it_leaves_entered_is_let_go(vm: jvmti.VM, env: jvmti.Env) -> None:
    monitor = env.create_raw_monitor("of a thread")
    thread = new_thread(vm, "forgetful")
    env.run_agent_thread(thread, env.raw_monitor_enter, monitor, 5)
    assert ended(env, thread)
    env.raw_monitor_enter(monitor)
    env.raw_monitor_exit(monitor)
    env.destroy_raw_monitor(monitor)


def test_a_function_that_raises_is_reported_and_its_thread_ends(
    vm: jvmti.VM, env: jvmti.Env, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(arg: None) -> None:
        raise LookupError("on purpose")

    thread = new_thread(vm, "failing")
    env.run_agent_thread(thread, fails, None, 5)
    assert ended(env, thread)
    assert "on purpose" in caplog.text


def test_only_a_new_thread_can_be_run(vm: jvmti.VM, env: jvmti.Env, evidence: Evidence) -> None:
    evidence.provokes("run_agent_thread", "INVALID_THREAD", "INVALID_PRIORITY")
    thread = new_thread(vm, "once")
    env.run_agent_thread(thread, lambda arg: None, None, 5)
    assert ended(env, thread)
    for used in (thread, thread_named(env, "busy")):
        with pytest.raises(jvmti.errors.InvalidThread):
            env.run_agent_thread(used, lambda arg: None, None, 5)
    for priority in (0, 11, -1):
        with pytest.raises(jvmti.errors.InvalidPriority):
            env.run_agent_thread(new_thread(vm, "odd"), lambda arg: None, None, priority)
    with pytest.raises(TypeError, match="must be Thread|must be a Thread"):
        env.run_agent_thread(None, lambda arg: None, None, 5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="proc must be callable"):
        env.run_agent_thread(new_thread(vm, "idle"), 5, None, 5)  # type: ignore[arg-type]


def test_a_virtual_thread_cannot_be_run(
    vm: jvmti.VM, env: jvmti.Env, jvm: jvms.Jvm, evidence: Evidence
) -> None:
    if jvm.feature < 21:
        pytest.skip("no virtual threads")
    evidence.provokes("run_agent_thread", "UNSUPPORTED_OPERATION")
    virtual = kept(vm, "virtual", of="threads")
    with pytest.raises(jvmti.errors.UnsupportedOperation):
        env.run_agent_thread(virtual, lambda arg: None, None, 5)  # type: ignore[arg-type]


def test_the_thread_ends_with_its_session(
    vm: jvmti.VM, env: jvmti.Env, witness: programs.JavaProgram
) -> None:
    running = threading.Event()
    stopped = threading.Event()

    def calls(other: jvmti.VM) -> None:
        running.set()
        try:
            while True:
                other.env.get_phase()
        finally:
            stopped.set()

    with jvmti.attach(witness.pid) as other:
        other.env.run_agent_thread(new_thread(other, "left behind"), calls, other, 5)
        assert running.wait(30)
        thread = thread_named(env, "left behind")
    assert stopped.wait(30)
    assert ended(env, thread)
