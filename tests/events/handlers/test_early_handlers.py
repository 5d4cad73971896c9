"""Handlers before the VM is live, when there is one connection for all of its threads.

A handler there can wait for itself: it calls Java code that waits for another thread, and that
thread has an event to tell, for which it needs the connection that the handler has.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

import compiler

if TYPE_CHECKING:
    from collections.abc import Callable

    import jvms
    import jvmti


def begin_and_join(vm: jvmti.VM) -> None:
    """Start a Java thread and wait for its end."""
    jni = vm.jni
    cls = jni.find_class("java/lang/Thread")
    constructor = jni.get_method_id(cls, "<init>", "(Ljava/lang/String;)V")
    thread = jni.new_object(cls, constructor, [jni.new_string("early")])
    jni.call_void_method(thread, jni.get_method_id(cls, "start", "()V"), [])
    jni.call_void_method(thread, jni.get_method_id(cls, "join", "()V"), [])


@pytest.mark.parametrize(
    "limit",
    [0.5, pytest.param(None, marks=pytest.mark.oldest_and_newest)],  # the default: 10 s
)
def test_a_handler_that_waits_for_a_thread_that_waits_for_it_comes_to_its_end(
    limit: float | None, launched: Callable[..., Any]
) -> None:
    """The other thread's event continues without its handler, is counted and reported."""
    one = launched("Lives", "end")
    vm = one.vm
    joined: list[float] = []
    main = threading.Event()

    def start(event: Any) -> None:
        begun = time.monotonic()
        begin_and_join(vm)
        joined.append(time.monotonic() - begun)

    def started(event: Any) -> None:
        if vm.env.get_phase().name == "LIVE" and event.thread.name == "worker":
            main.set()

    stats = []
    vm.env.on("VMStart", start, timeout=None)
    vm.env.on("ThreadStart", started, timeout=limit)
    vm.env.on("VMDeath", lambda event: stats.append(vm.stats.agent))
    assert one.run() == 0
    assert one.output == ["main", "hook"]
    assert vm.handler_errors == []
    assert len(joined) == 1
    assert (0.5 if limit else 9) < joined[0] < 30
    assert [one.events_overran for one in stats] == [1]
    # It was that one event; the handler is called for all others.
    assert main.is_set()


KILLED = """
import sys
import jvmti
sys.path.insert(0, sys.argv[1])
from events.handlers.test_early_handlers import begin_and_join
vm = jvmti.launch(sys.argv[2:], hold=True)
def start(event):
    print("joins", flush=True)
    begin_and_join(vm)
vm.env.on("VMStart", start, timeout=None)
vm.env.on("ThreadStart", lambda event: None, timeout=None)
vm.proceed()
"""


@pytest.mark.not_sanitized(reason="a JVM of another process does not preload the runtime")
def test_the_program_goes_on_when_such_a_controller_is_killed(jvm: jvms.Jvm) -> None:
    tests = compiler.__file__.rpartition("/")[0]
    java = [jvm.java, *jvm.args, "-cp", str(compiler.classes("Lives")), "Lives", "end"]
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, tests, *java], stdout=subprocess.PIPE, text=True
    ) as controller:
        assert controller.stdout is not None
        assert controller.stdout.readline() == "joins\n"
        time.sleep(0.3)  # so that they mostly wait for each other; the outcome is the same
        os.kill(controller.pid, signal.SIGKILL)
        begun = time.monotonic()
        # The program has the same output; it ends with the program.
        assert controller.stdout.read().splitlines() == ["main", "hook"]
        assert time.monotonic() - begun < 8
