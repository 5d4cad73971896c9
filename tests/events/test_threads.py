"""Events of threads that begin and end, platform and virtual ones."""

from __future__ import annotations

from typing import Any

import pytest

import jvms
import jvmti
import programs
from conformance.evidence import Evidence
from events.seen import Seen


def test_a_thread_that_starts_and_ends_is_the_current_one(
    program: programs.JavaProgram, vm: jvmti.VM, evidence: Evidence
) -> None:
    evidence.shows("ThreadStart", "ThreadEnd")
    env = vm.env
    order: list[tuple[str, str, bool]] = []

    def noting(what: str) -> Any:
        def note(event: Any) -> None:
            name = env.get_thread_info(event.thread).name
            if name in ("first", "second"):
                order.append((what, name, env.get_current_thread() == event.thread))

        return note

    with env.on("ThreadStart", noting("start")), env.on("ThreadEnd", noting("end")):
        assert program.ask("thread first me") == "first"
        assert program.ask("thread second me") == "second"
    assert program.ask("thread first me") == "first"
    assert order == [
        ("start", "first", True),
        ("end", "first", True),
        ("start", "second", True),
        ("end", "second", True),
    ]


def test_a_new_thread_has_no_frames_and_an_ending_one_has_none_left(
    program: programs.JavaProgram, vm: jvmti.VM
) -> None:
    counts = Seen(
        lambda event: event.thread.name == "first",
        lambda event: vm.env.get_frame_count(event.thread),
    )
    with vm.env.on("ThreadStart", counts), vm.env.on("ThreadEnd", counts):
        program.ask("thread first me")
    assert counts == [0, 0]


def test_the_end_of_one_thread_can_be_waited_for(
    program: programs.JavaProgram, vm: jvmti.VM, code: Any
) -> None:
    """The end of the thread that hit the breakpoint, and of no other."""
    env = vm.env
    ended = Seen(note=lambda event: event.thread.name)
    watching: list[Any] = []
    env.set_breakpoint(code["straight"], 0)

    def watch(event: Any) -> None:
        watching.append(env.on("ThreadEnd", ended, thread=event.thread))

    with env.on("Breakpoint", watch):
        assert program.ask("thread watched calculate 1") == "4"
        assert program.ask("thread other me") == "other"
    assert ended == ["watched"]
    watching[0].cancel()


@pytest.mark.parametrize("event", ["ThreadStart", "VMDeath", "ClassFileLoadHook"])
def test_some_events_cannot_be_had_for_one_thread(event: str, vm: jvmti.VM) -> None:
    with pytest.raises(jvmti.errors.IllegalArgument):
        vm.env.on(event, print, thread=vm.threads["main"])


def test_a_virtual_thread_starts_and_ends(
    program: programs.JavaProgram, vm: jvmti.VM, jvm: jvms.Jvm, evidence: Evidence
) -> None:
    if jvm.feature < 21:
        with pytest.raises((jvmti.JvmtiError, jvmti.errors.NotInThisVersion)):
            vm.env.on("VirtualThreadStart", print)
        return
    evidence.shows("VirtualThreadStart", "VirtualThreadEnd")
    env = vm.env
    order: list[tuple[str, str, bool, bool]] = []

    def noting(what: str) -> Any:
        def note(event: Any) -> None:
            thread = event.virtual_thread
            order.append(
                (
                    what,
                    thread.name,
                    vm.jni.is_virtual_thread(thread),
                    env.get_current_thread() == thread,
                )
            )

        return note

    platform = Seen(lambda event: event.thread.name == "light")
    with (
        env.on("VirtualThreadStart", noting("start")),
        env.on("VirtualThreadEnd", noting("end")),
        env.on("ThreadStart", platform),
    ):
        assert program.ask("virtual light me") == "light"
    assert order == [("start", "light", True, True), ("end", "light", True, True)]
    assert platform == []


def test_processor_time_of_a_virtual_thread_is_not_known(
    program: programs.JavaProgram, vm: jvmti.VM, jvm: jvms.Jvm, code: Any, evidence: Evidence
) -> None:
    if jvm.feature < 21:
        pytest.skip("this release has no virtual threads")
    evidence.provokes("get_current_thread_cpu_time", "UNSUPPORTED_OPERATION")
    errors: list[type] = []

    def ask(event: Any) -> None:
        try:
            vm.env.get_current_thread_cpu_time()
        except jvmti.JvmtiError as error:
            errors.append(type(error))

    vm.env.set_breakpoint(code["straight"], 0)
    with vm.env.on("Breakpoint", ask):
        assert program.ask("virtual light calculate 1") == "4"
    assert errors == [jvmti.errors.UnsupportedOperation]
