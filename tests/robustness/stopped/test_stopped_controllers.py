"""A controller that is stopped, as by Ctrl-Z or a debugger, does not keep the program waiting."""

from __future__ import annotations

import os
import signal
import struct
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import jvmti
from robustness import steady
from robustness.controllers import SOON, Controller
from robustness.stopped import standing
from robustness.stopped.stopped_controller import HANDLED, SLEEPS, STEADY_EVENTS, WALKS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import programs
    from jvms import Jvm

SCRIPT = Path(__file__).with_name("stopped_controller.py")

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def target(shared_java_program: programs.JavaPrograms) -> steady.Steady:
    return steady.launch(shared_java_program)


@pytest.fixture
def controller(target: steady.Steady) -> Iterator[Callable[..., Controller]]:
    started: list[Controller] = []

    def start(what: str, limit: float | str) -> Controller:
        started.append(Controller(SCRIPT, target.pid, what, limit))
        return started[-1]

    yield start
    for one in started:
        one.process.send_signal(signal.SIGCONT)
        one.kill()
    with jvmti.attach(target.pid, timeout=60) as vm:
        assert steady.wait_until(lambda: vm.stats.agent.sessions == 1, SOON)
    assert target.goes_on()
    assert target.prey_runs()


def stop(controller: Controller) -> None:
    """Stop its process, wherever it is, and see that it stands."""
    standing.Signal().stop(controller.process.pid)


def moves(target: steady.Steady) -> bool:
    """Whether the thread comes on whose events are handled: a whole round has many of them."""
    with jvmti.attach(target.pid, timeout=60) as vm:
        vm.timeout = SOON
        thread = vm.threads["prey-0"]
        places: set[str] = set()

        def is_elsewhere() -> bool:
            places.add(str(thread.frames))
            return len(places) > 2

        return steady.wait_until(is_elsewhere, SOON)


@pytest.fixture(params=["v1", "v2"])
def group(request: pytest.FixtureRequest) -> Iterator[standing.Group]:
    """A control group that can be frozen, as the container of a controller is."""
    try:
        made = standing.Group(request.param)
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    yield made
    made.close()


def leave(controller: Controller) -> None:
    """Let it go on, and see that its session is good."""
    controller.process.send_signal(signal.SIGCONT)
    controller.write()
    controller.says("usable")
    controller.write()
    assert controller.process.wait(SOON) == 0


@pytest.mark.parametrize("walk", WALKS)
def test_a_walk_whose_controller_is_stopped_gives_the_vm_back(
    walk: str, target: steady.Steady, controller: Callable[..., Controller]
) -> None:
    stop_a_walk(target, controller(walk, 1))


@pytest.mark.oldest_and_newest
def test_a_walk_without_a_limit_of_its_own_has_one(
    target: steady.Steady, controller: Callable[..., Controller]
) -> None:
    walking = controller("follow_references", "default")
    stop_a_walk(target, walking)
    said = walking.says("raised CallTimeout")
    assert "has been ended before its limit of 60 s: this process was stopped" in said


def stop_a_walk(target: steady.Steady, walking: Controller) -> None:
    walking.says("busy")
    stop(walking)
    gives_the_vm_back(target, walking, lambda: walking.process.send_signal(signal.SIGCONT))


def gives_the_vm_back(
    target: steady.Steady, walking: Controller, let_go: Callable[[], None]
) -> None:
    """The program goes on long before the limit; the controller learns of it when it goes on."""
    begun = time.monotonic()
    assert target.goes_on()
    let_go()
    assert "has been ended" in walking.says("raised CallTimeout")
    assert time.monotonic() - begun < 30
    leave(walking)


@pytest.mark.oldest_and_newest
def test_a_walk_whose_controller_is_frozen_gives_the_vm_back(
    target: steady.Steady, controller: Callable[..., Controller], group: standing.Group
) -> None:
    """Long before the limit of a walk that has none of its own, which is a minute."""
    walking = controller("iterate_through_heap", "default")
    walking.says("busy")
    group.stop(walking.process.pid)
    gives_the_vm_back(target, walking, lambda: group.let_go(walking.process.pid))


@pytest.mark.oldest_and_newest
@pytest.mark.parametrize("walk", ["iterate_through_heap", "iterate_over_reachable_objects"])
def test_a_walk_gives_the_vm_back_at_its_limit_whatever_its_callback_does(
    walk: str, target: steady.Steady, controller: Callable[..., Controller]
) -> None:
    walking = controller(SLEEPS + walk, 1)
    walking.says("busy")
    assert target.goes_on()
    assert "awake" not in walking.lines
    walking.write()
    said = walking.says("raised CallTimeout")
    assert "did not return within 1 s and has been ended: its callbacks took" in said
    # It slept, and was not stopped; a busy machine may make that long.
    assert "was stopped" not in said
    leave(walking)


@pytest.mark.parametrize(
    "event", [event for event in STEADY_EVENTS if event != "ClassFileLoadHook"]
)
def test_a_handler_whose_controller_is_stopped_lets_threads_go_on_at_its_limit(
    event: str, jvm: Jvm, target: steady.Steady, controller: Callable[..., Controller]
) -> None:
    if jvm.name == "zero" and event == "Breakpoint":
        pytest.skip("the interpreter-only VM cannot have breakpoints")
    handling = controller(HANDLED + event, 0.05)
    handling.says("busy")
    stop(handling)
    # A round has one of these, where the thread stands nearly all the time; of others it has many.
    assert target.prey_runs() if event == "FieldModification" else moves(target)
    leave(handling)


@pytest.mark.oldest_and_newest
def test_a_handler_whose_controller_is_frozen_lets_threads_go_on_at_its_limit(
    target: steady.Steady, controller: Callable[..., Controller], group: standing.Group
) -> None:
    handling = controller(HANDLED + "MethodEntry", 0.05)
    handling.says("busy")
    group.stop(handling.process.pid)
    assert moves(target)
    group.let_go(handling.process.pid)
    leave(handling)


def large_class(name: str) -> bytes:
    """A class file of a megabyte: a class with nothing in it but unused constants."""

    def text(value: bytes) -> bytes:
        return b"\x01" + struct.pack(">H", len(value)) + value

    constants = [text(name.encode()), b"\x07\x00\x01", text(b"java/lang/Object"), b"\x07\x00\x03"]
    constants += [text(b"%05d" % number + b"x" * 60_000) for number in range(18)]
    head = struct.pack(">IHHH", 0xCAFEBABE, 0, 52, len(constants) + 1)
    return head + b"".join(constants) + struct.pack(">HHHHHHH", 0x21, 2, 4, 0, 0, 0, 0)


def test_an_event_larger_than_the_socket_waits_no_longer_than_its_limit(
    target: steady.Steady, controller: Callable[..., Controller]
) -> None:
    handling = controller(HANDLED + "ClassFileLoadHook", 1)
    handling.says("busy")
    stop(handling)
    with jvmti.attach(target.pid, timeout=60) as vm:
        vm.timeout = SOON
        begun = time.monotonic()
        loader = vm.find_class("Steady").loader
        vm.jni.define_class("Large", loader, large_class("Large"))
        # It took as long as the controller stood: the limit did not cover the sending.
        assert time.monotonic() - begun < SOON / 2
    leave(handling)


def test_an_answer_larger_than_the_socket_waits_no_longer_than_the_handler(
    jvm: Jvm, target: steady.Steady, controller: Callable[..., Controller]
) -> None:
    if jvm.name == "zero":
        pytest.skip("the interpreter-only VM cannot have breakpoints")
    handling = controller("answer", 1.5)
    handling.says("busy")
    time.sleep(0.5)
    stop(handling)
    assert moves(target)
    leave(handling)


@pytest.mark.oldest_and_newest
def test_nobody_waits_for_ever_for_a_stream_that_is_not_read(
    target: steady.Steady, controller: Callable[..., Controller]
) -> None:
    recording = controller("stream", "default")
    recording.says("busy")
    stop(recording)
    assert steady.wait_until(target.prey_runs, SOON)
    leave(recording)


def test_a_controller_that_is_continued_at_once_has_lost_nothing(
    target: steady.Steady, controller: Callable[..., Controller]
) -> None:
    handling = controller(HANDLED + "MethodEntry", "default")
    handling.says("busy")
    for _ in range(20):
        os.kill(handling.process.pid, signal.SIGSTOP)
        os.kill(handling.process.pid, signal.SIGCONT)
    assert target.goes_on()
    leave(handling)
