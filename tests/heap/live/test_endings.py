"""However a pass over the heap ends, the program goes on and nothing of the pass remains."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import jvmti
import programs
from interrupts import interrupted_after, lost_ones
from jvmti.interface.errors import IllegalArgument, JvmtiError
from jvmti.liveheap.passes import PassMemory, run
from jvmti.operations.functions import Operations
from prepared import attaching

CONTROLLER = Path(__file__).parent / "scanning_controller.py"


def memfds(pid: int) -> list[str]:
    names = []
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            names.append(os.readlink(link))
    mapped = Path(f"/proc/{pid}/maps").read_text().splitlines()
    return [one for one in [*names, *mapped] if "memfd:jvmti" in one]


@pytest.mark.parametrize("delay", [0.0, 0.013, 0.03, 0.07, 0.15, 0.31])
def test_a_controller_that_is_killed_in_a_pass(program: programs.JavaProgram, delay: float) -> None:
    with attaching(CONTROLLER, program.pid) as controller:
        assert controller.stdout.readline() == "attached\n"
        controller.stdout.readline()
        time.sleep(delay)
        controller.kill()
    assert program.ask("add 0") == "1000"
    until = time.monotonic() + 20
    while memfds(program.pid) and time.monotonic() < until:
        time.sleep(0.01)
    assert memfds(program.pid) == []
    with jvmti.attach(program.pid) as vm:
        stats = vm.stats.agent
        assert stats is not None
        assert len(vm.heap.scan("Holdings$Order")) == 1000
        while stats.sessions > 1 and time.monotonic() < until:
            stats = vm.stats.agent
            assert stats is not None
        assert stats.sessions == 1


@lost_ones
def test_control_c_ends_a_pass(
    changing: programs.JavaProgram, rounds: Callable[[int, int], int]
) -> None:
    changing.ask("fill 500000")
    count = rounds(12, 60)
    with jvmti.attach(changing.pid) as vm:
        interrupted = 0
        for number in range(count):
            try:
                # Up to 0.16 s, in which there are several passes.
                with interrupted_after(number / count / 6):
                    while True:
                        vm.heap.scan(strings=True, arrays=True)
            except KeyboardInterrupt:
                interrupted += 1
            assert len(vm.heap.scan("Holdings$Order")) == 1000
        assert interrupted == count
    assert changing.ask("add 0") == "1000"
    assert memfds(changing.pid) == []


def operation(
    vm: jvmti.VM,
    one: Callable[..., Any],
    *arguments: Any,
    memory: PassMemory | None = None,
) -> Any:
    return run(vm._session, one, arguments, memory=memory)


def test_the_agent_believes_nothing(vm: jvmti.VM, program: programs.JavaProgram) -> None:
    cls = vm.find_class("Holdings$Order")
    small = PassMemory()
    impossible = [
        [-1, 0, 0, 0, 0],
        [1, 0, 0, 0, -1],
        [1, 0, 0, 0],
        [1 << 62, 0, 0, 0, 0],
        [1 << 47, 1 << 47, 1 << 47, 1 << 47, 1 << 47],
        [1000, 0, 0, 0, 0],  # larger than the memory
        [0, 0, 0, 0, 1 << 40],
    ]
    for room in impossible:
        with pytest.raises(IllegalArgument):
            operation(vm, Operations.scan_heap, [cls], False, 0, True, [1], room, memory=small)
    for number in (-1, 2, 1 << 30):
        with pytest.raises(IllegalArgument):
            operation(
                vm, Operations.scan_heap, [cls], False, number, True, [1], [0] * 5, memory=small
            )
    for number in (-1, 0, 2):
        with pytest.raises(IllegalArgument):
            operation(
                vm, Operations.scan_heap, [cls], False, 0, True, [number], [0] * 5, memory=small
            )
    wrong: list[tuple[list[int], list[int], list[int], list[int]]] = [
        ([0], [0], [16], [-1]),
        ([2], [0], [16], [-1]),
        ([1], [-1], [16], [-1]),
        ([1, 1], [3, 3], [16, 16], [-1, -1]),
        ([1, 1], [3, 2], [16, 16], [-1, -1]),
        ([1], [0, 1], [16], [-1]),
        ([1], [0], [], [-1]),
        ([1], [0], [16], []),
    ]
    for rows in wrong:
        with pytest.raises(IllegalArgument):
            operation(vm, Operations.find_in_heap, [cls], *rows)
    descriptor = os.memfd_create("unsealed")
    try:
        small.close()
        small.descriptor = descriptor
        os.ftruncate(descriptor, 1 << 20)
        with pytest.raises(IllegalArgument, match="sealed|memfd"):
            operation(
                vm, Operations.scan_heap, [cls], False, 0, True, [1], [1, 0, 0, 0, 0], memory=small
            )
    finally:
        small.close()
    # Too little room is no mistake: what does not fit is counted.
    for room in ([0] * 5, [3, 0, 0, 0, 0], [300, 1, 10, 100, 10]):
        memory = PassMemory(1 << 20)
        string = vm.find_class("java.lang.String")
        scanned = operation(
            vm, Operations.scan_heap, [cls, string], False, 2, True, [1], room, memory=memory
        )
        memory.close()
        assert scanned.whole
        assert scanned.rows == room[0]
        assert scanned.rows + scanned.missed > 2000
        contents = scanned.strings, scanned.text, scanned.values, scanned.elements
        assert contents <= tuple(room[1:])
        assert not memory.bytes[4096 + 3 * 4 * 300 + 1000 :].any()
    assert operation(vm, Operations.find_in_heap, [cls], [], [], [], []).objects == []
    assert operation(vm, Operations.take_instances, [], 10).objects == []
    with pytest.raises((JvmtiError, TypeError)):
        operation(vm, Operations.take_instances, [None], 10)
    assert program.ask("add 0") == "1000"
