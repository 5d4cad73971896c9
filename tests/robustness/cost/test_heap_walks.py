"""A walk of the heap, for which the VM is stopped, always ends, whatever its controller does."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from typing import TYPE_CHECKING

import pytest

import jvmti
from interrupts import interrupted_after, lost_ones
from jvmti.env.callbacks import TagCell
from jvmti.env.structures import HeapCallbacks
from jvmti.interface.constants import HeapFilter, HeapVisitControl
from jvmti.interface.errors import CallTimeout
from prepared import attaching
from robustness import steady

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    import programs

GO_ON = HeapVisitControl(0)
NONE = HeapFilter(0)


@pytest.fixture(scope="module")
def target(shared_java_program: programs.JavaPrograms) -> steady.Steady:
    return steady.launch(shared_java_program)


@pytest.fixture
def vm(target: steady.Steady) -> Iterator[jvmti.VM]:
    with jvmti.attach(target.pid, capabilities=["can_tag_objects"]) as attached:
        yield attached


def in_blocks(delay: float, made: list[int] | None = None) -> Callable[..., HeapVisitControl]:
    def visit(class_tag: int, size: int, tag: TagCell, length: int) -> HeapVisitControl:
        time.sleep(delay)
        if made is not None:
            made.append(size)
        return GO_ON

    return visit


def at_once(delay: float, made: list[int] | None = None) -> Callable[..., HeapVisitControl]:
    def visit(*given: Any) -> HeapVisitControl:
        time.sleep(delay)
        if made is not None:
            made.append(0)
        return GO_ON

    return visit


@pytest.mark.parametrize("how", [in_blocks, at_once])
def test_ctrl_c_in_a_callback_ends_the_walk(how: Any, vm: jvmti.VM) -> None:
    callbacks = HeapCallbacks(heap_iteration_callback=how(0.001))
    for _ in range(5):
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            vm.env.iterate_through_heap(NONE, None, callbacks)
            time.sleep(5)
        assert len(vm.env.get_all_threads()) > 5


@lost_ones
def test_ctrl_c_at_any_moment_of_a_walk_leaves_the_session_usable(
    vm: jvmti.VM, target: steady.Steady
) -> None:
    callbacks = HeapCallbacks(heap_iteration_callback=at_once(0))
    interrupted = 0
    for number in range(60):
        try:
            with interrupted_after(0.001 + number % 13 / 1000):
                while True:
                    vm.env.iterate_through_heap(NONE, None, callbacks)
        except KeyboardInterrupt:
            interrupted += 1
    assert interrupted == 60
    assert len(vm.env.get_all_threads()) > 5
    assert target.program.running(), target.program.crash()


@pytest.mark.parametrize("how", [in_blocks, at_once])
def test_a_walk_that_overruns_its_limit_is_ended(how: Any, vm: jvmti.VM) -> None:
    made: list[int] = []
    callbacks = HeapCallbacks(heap_iteration_callback=how(0.002, made))
    limited = vm.env.with_timeout(0.2)
    with pytest.raises(
        CallTimeout, match=r"^iterate_through_heap\(\) did .* and has been ended"
    ) as raised:
        limited.iterate_through_heap(NONE, None, callbacks)
    # The callbacks were slow, and nobody was stopped.
    said = str(raised.value)
    assert re.search(r"did not return within 0\.2 s and has been ended: its callbacks took", said)
    assert "stopped" not in said
    assert not raised.value.is_early
    # Not those of all objects, and not even those of one block of 4,096.
    assert 0 < len(made) <= 100 + 32
    begun = time.monotonic()
    assert len(vm.env.get_all_threads()) > 5, "the VM runs"
    assert time.monotonic() - begun < 5
    assert steady.wait_until(lambda: vm.stats.running == ())


KILLED = """
import sys, time
import jvmti
from jvmti.env.structures import HeapCallbacks
from jvmti.interface.constants import HeapFilter, HeapVisitControl

def visit(*given):
    print("walking", flush=True)
    time.sleep(60)
    return HeapVisitControl(0)

vm = jvmti.attach(int(sys.argv[1]), capabilities=["can_tag_objects"])
vm.env.iterate_through_heap(HeapFilter(0), None, HeapCallbacks(heap_iteration_callback=visit))
"""


def test_a_controller_that_is_killed_in_a_callback_lets_the_vm_go_on(
    target: steady.Steady,
) -> None:
    with attaching("-c", KILLED, target.pid) as controller:
        assert controller.stdout.readline() == "walking\n"
        controller.kill()
    with jvmti.attach(target.pid) as vm:
        assert len(vm.env.get_all_threads()) > 5
        assert steady.wait_until(lambda: vm.stats.agent.sessions == 1)
    assert target.prey_runs()


def test_another_thread_may_leave_the_session_in_the_middle_of_a_walk(
    target: steady.Steady,
) -> None:
    walking = threading.Event()
    ended: list[BaseException] = []

    def visit(class_tag: int, size: int, tag: TagCell, length: int) -> HeapVisitControl:
        walking.set()
        time.sleep(0.001)
        return GO_ON

    def walk() -> None:
        try:
            callbacks = HeapCallbacks(heap_iteration_callback=visit)
            vm.env.iterate_through_heap(NONE, None, callbacks)
        except BaseException as error:
            ended.append(error)

    vm = jvmti.attach(target.pid, capabilities=["can_tag_objects"])
    thread = threading.Thread(target=walk)
    thread.start()
    assert walking.wait(30)
    vm.detach()
    thread.join(30)
    assert not thread.is_alive()
    assert len(ended) == 1
    assert isinstance(ended[0], jvmti.Error)
    assert target.prey_runs()
