"""A thread that waits for a handler may hold what the start of a service thread needs.

Up to JDK 18 a new `Thread` takes the lock of its thread group.  The agent's control thread starts
one for each Python thread that calls; meanwhile it neither accepts channels for handlers nor sees
that its controller has gone.
"""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import jvmti
import jvmti.errors
from jvmti.target.agent_library import library_for_executable
from prepared import attaching
from robustness import steady

if TYPE_CHECKING:
    import programs
    from jvms import Jvm

pytestmark = [pytest.mark.stress, pytest.mark.timeout(180)]


def test_a_handler_whose_thread_holds_the_lock_of_its_group_keeps_nobody_for_ever(
    jvm: Jvm, java_program: programs.JavaPrograms
) -> None:
    library = library_for_executable(jvm.java)
    options = [f"-agentpath:{library}=reserve", "-XX:+StartAttachListener"]
    program = java_program("GroupLock", jvm_args=options)
    program.expect("ready")
    answered: list[str] = []
    with jvmti.attach(program.pid) as vm:
        vm.handler_limit = 1
        is_outside, may_go_on = threading.Event(), threading.Event()

        def ask() -> None:
            # The channel may come too late for the first call, but not for the next.
            for _ in range(3):
                with contextlib.suppress(jvmti.errors.CallTimeout):
                    answered.append(vm.env.get_phase().name)
                    return

        def handle(stop: Any) -> None:
            if stop.method.name == "outside":
                is_outside.set()
                assert may_go_on.wait(60)
                # The thread that waits for this handler has the lock that a channel needs.
                caller = threading.Thread(target=ask)
                caller.start()
                caller.join(60)

        for name in ("outside", "inside"):
            vm.find_class("GroupLock").methods[name].breakpoint(do=handle)
        program.send("go")
        program.expect("started")
        assert is_outside.wait(30)
        program.send("go")
        program.expect("locked")
        may_go_on.set()
        program.expect("left", timeout=60)
        assert steady.wait_until(lambda: answered == ["LIVE"], 60)


def test_a_thread_suspended_with_the_lock_of_its_group_goes_on_when_its_controller_is_killed(
    jvm: Jvm, java_program: programs.JavaPrograms
) -> None:
    """Only the end of the session resumes it, and the JVM can be attached to all the time."""
    library = library_for_executable(jvm.java)
    options = [f"-agentpath:{library}=reserve", "-XX:+StartAttachListener"]
    program = java_program("GroupLock", jvm_args=options)
    program.expect("ready")
    with attaching(Path(__file__).with_name("group_suspender.py"), program.pid) as controller:
        assert controller.stdout.readline() == "placed\n"
        program.send("go")
        program.expect("started")
        program.send("go")
        program.expect("locked")
        assert controller.stdout.readline() == "suspended\n"
        with jvmti.attach(program.pid, timeout=30) as vm:
            assert vm.env.get_phase().name == "LIVE"
        assert controller.stdout.readline() == "answered LIVE\n"  # on a channel of its own
        controller.kill()
    program.expect("left", timeout=60)
